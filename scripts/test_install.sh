#!/bin/sh
# Installs what deployers get into a folder of its own, builds both examples against it, and runs
# them on a model.
#   scripts/test_install.sh CMAKE BUILD_DIR LIBDIR
set -eu
cmake=$1 build=$2 libdir=$3
source=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$cmake" --install "$build" --component runtime --prefix "$work/moved" >/dev/null
mv "$work/moved" "$work/prefix" # an installation may be moved
prefix=$work/prefix

"$build/ingot" compile "$build/golden/models/mlp/model.pt2" -o "$work/mlp.so" --metadata version=3 >/dev/null
"$build/ingot" package "$work/mlp.so" -o "$work/mlp.pt2" >/dev/null

# C, through pkg-config; nothing of C++ is needed.
export PKG_CONFIG_PATH="$prefix/$libdir/pkgconfig"
cc -std=c11 -Wall -Wextra -Werror -pedantic "$source/examples/c/run_model.c" $(pkg-config --cflags --libs ingot) -o "$work/run_model"
export LD_LIBRARY_PATH="$prefix/$libdir"
"$work/run_model" "$work/mlp.so" | tee "$work/library.txt"
"$work/run_model" "$work/mlp.pt2" >"$work/package.txt"
cmp "$work/library.txt" "$work/package.txt"

entries=$build/golden/entries
"$build/ingot" compile prefill="$entries/prefill.pt2" decode="$entries/decode.pt2" evaluate="$entries/evaluate.pt2" \
  cached="$entries/cached.pt2" -o "$work/lm.so" >/dev/null

# The interface as C sees it, version by version. It writes nothing by itself.
cc -std=c11 -Wall -Wextra -Werror -pedantic "$source/tests/install/interface.c" $(pkg-config --cflags --libs ingot) -o "$work/interface"
"$work/interface" "$(pkg-config --modversion ingot)" "$work/mlp.so" "$work/mlp.pt2" "$work/lm.so" 2>"$work/said"
[ ! -s "$work/said" ] || { echo "libingot_runtime.so wrote to standard error:" && cat "$work/said" && exit 1; }

# Four entry points of one library at the same time, over one set of weights and caches: each run
# returns what the entry returned alone.
cc -std=c11 -Wall -Wextra -Werror -pedantic "$source/examples/c/run_entries.c" $(pkg-config --cflags --libs ingot) -pthread -o "$work/run_entries"
"$work/run_entries" "$work/lm.so" >"$work/entries.txt" || { cat "$work/entries.txt" && exit 1; }
[ "$(sort "$work/entries.txt" | tr '\n' ' ')" = "cached: 100 runs decode: 100 runs evaluate: 100 runs prefill: 100 runs " ] ||
  { cat "$work/entries.txt" && exit 1; }
# One that reads the caches before there is anything in them sees what the others have written
# since, and the program tells.
"$build/ingot" compile cached="$entries/cached.pt2" prefill="$entries/prefill.pt2" -o "$work/early.so" >/dev/null
! "$work/run_entries" "$work/early.so" >"$work/entries.txt" || { cat "$work/entries.txt" && exit 1; }
grep -qx "cached: 0 runs, then run 0: element 0 of output 0 is not what it was" "$work/entries.txt" || { cat "$work/entries.txt" && exit 1; }
grep -qx "prefill: 100 runs" "$work/entries.txt" || { cat "$work/entries.txt" && exit 1; }

# A library that AOTInductor might have made, in a program that has no host: libingot_host.so comes
# with it, and no libtorch.
cat >"$work/foreign.c" <<'END'
#include <stdio.h>
#include <string.h>
#include "ingot/ingot.h"
int main(int argc, char** argv) {
  float x[2] = {1, 2};
  int64_t size = 2;
  DLTensor in = {.data = x, .device = {kDLCPU, 0}, .ndim = 1, .dtype = {kDLFloat, 32, 1}, .shape = &size};
  const DLTensor* inputs[] = {&in};
  DLManagedTensorVersioned* out[4];
  ingot_session* session;
  if (argc != 2 || ingot_session_open(argv[1], NULL, &session) || ingot_session_run(session, inputs, 1, out, 4))
    return puts(ingot_error()), 1;
  const int is_well = !out[0] && memcmp(out[3]->dl_tensor.data, x, sizeof x) == 0;
  for (int k = 1; k < 4; k++) out[k]->deleter(out[k]);
  ingot_session_close(session);
  return !is_well;
}
END
cc -std=c11 -Wall -Wextra -Werror "$work/foreign.c" $(pkg-config --cflags --libs ingot) -o "$work/foreign"
"$work/foreign" "$build/stub_models/stub_torch.so"

# C++, through find_package.
"$cmake" -S "$source/examples/cpp" -B "$work/cpp" -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
"$cmake" --build "$work/cpp" >/dev/null
"$work/cpp/swap_weights" "$work/mlp.so" 8 64

# The library stands on libc's feet, and shows nothing but its interface.
needs=$(readelf -dW "$prefix/$libdir/libingot_runtime.so" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p')
for name in $needs; do
  case $name in
  libc.so.* | libm.so.* | libdl.so.* | libpthread.so.* | ld-linux*) ;;
  *) echo "libingot_runtime.so needs $name" && exit 1 ;;
  esac
done
readelf -W --dyn-syms "$prefix/$libdir/libingot_runtime.so" | awk '$7 != "UND" && $5 == "GLOBAL" {print $8}' >"$work/exports"
others=$(grep -vE '^(ingot_[a-z_]+@@)?INGOT_[0-9]+\.[0-9]+$' "$work/exports" || true)
[ -z "$others" ] || { echo "libingot_runtime.so exports $others" && exit 1; }
# A program says which version it needs of each function, so that the loader refuses an older
# library.
readelf -W --dyn-syms "$work/interface" | grep -q 'ingot_session_open@INGOT_0.1' ||
  { echo "a program does not name the version of the functions that it calls" && exit 1; }
