#!/bin/sh
# Two models as object files, in one C program for each architecture: they compute what PyTorch
# computed, nothing of one collides with the other, and their headers are plain C and C++.
#   scripts/test_objects.sh BUILD_DIR
set -eu
build=$1
source=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
models=$build/golden/models
entries=$build/golden/entries
native=$(uname -m)
fail() { echo "$@"; exit 1; }

# The functions that the object shows, all with its prefix, are those that its header declares.
check_names() {  # OBJECT HEADER PREFIX
  nm -g --defined-only "$1" | awk 'NF == 3 {print $3}' | LC_ALL=C sort >"$work/shown"
  sed -n "s/^INGOT_EXPORT .*\b\($3_[A-Za-z_]*\)(.*/\1/p; s/^\($3_AOTInductor[A-Za-z]*\)(.*/\1/p" "$2" | LC_ALL=C sort >"$work/declared"
  [ -s "$work/shown" ] || fail "$1 shows no functions"
  diff "$work/declared" "$work/shown" >&2 || fail "$1: < is declared alone, > defined alone"
}

for arch in x86_64 aarch64; do
  folder=$work/$arch
  mkdir "$folder"
  # mlp has the name of its file, lm the one that it is given; lm goes into an archive.
  "$build/ingot" compile "$models/mlp/model.pt2" --emit=object --target "$arch-linux-gnu" -o "$folder/mlp.o" >/dev/null
  "$build/ingot" compile prefill="$entries/prefill.pt2" decode="$entries/decode.pt2" --emit=object --prefix lm \
    --target "$arch-linux-gnu" -o "$folder/liblm.a" >/dev/null
  mv "$folder/liblm.h" "$folder/lm.h"
  check_names "$folder/mlp.o" "$folder/mlp.h" mlp
  check_names "$folder/liblm.a" "$folder/lm.h" lm
  cp "$folder/liblm.a" "$folder/before.a"
  "$build/ingot" compile prefill="$entries/prefill.pt2" decode="$entries/decode.pt2" --emit=object --prefix lm \
    --target "$arch-linux-gnu" -o "$folder/liblm.a" >/dev/null
  cmp "$folder/before.a" "$folder/liblm.a"

  runner= cc=$arch-linux-gnu-gcc
  if [ "$arch" = "$native" ]; then
    cc=cc
  else
    command -v "qemu-$arch" >/dev/null || { echo "no qemu-$arch: programs for $arch are linked and not run"; runner=:; }
    runner=${runner:-qemu-$arch -L /usr/$arch-linux-gnu}
  fi
  for standard in c99 c11; do
    "$cc" -std=$standard -Wall -Wextra -Werror -pedantic -c -I"$folder" "$source/tests/objects/two_models.c" -o "$folder/two_models.o"
  done
  "$cc" "$folder/two_models.o" "$folder/mlp.o" -L"$folder" -llm -lm -pthread -o "$folder/two_models"
  $runner "$folder/two_models" "$models/mlp/case0.safetensors" "$entries/cases.safetensors"
  # The linker of the program may leave out what it does not use, and put the models into a library.
  "$cc" -O1 "$folder/two_models.o" "$folder/mlp.o" -L"$folder" -llm -lm -pthread -Wl,--gc-sections -o "$folder/small"
  $runner "$folder/small" "$models/mlp/case0.safetensors" "$entries/cases.safetensors"
  "$cc" -shared -fPIC "$folder/mlp.o" -L"$folder" -Wl,--whole-archive -llm -Wl,--no-whole-archive -lm -pthread -Wl,-z,defs -o "$folder/both.so"
done

# Both headers, Ingot's own, and a C++ compiler.
printf '#include "mlp.h"\n#include "ingot/model.h"\n#include "lm.h"\nint main() { return mlp_model_name() == lm_model_name() || !ingot_model_name; }\n' \
  >"$work/headers.cpp"
c++ -std=c++11 -Wall -Wextra -Werror -pedantic -fsyntax-only -I"$work/$native" -I"$source/include" "$work/headers.cpp" \
  -Wno-address
