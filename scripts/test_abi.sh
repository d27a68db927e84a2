#!/bin/bash
# The C interface is the one that tests/data/abi.txt has, and scripts/check_abi.sh finds what is
# not.
#   scripts/test_abi.sh BUILD_DIR
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=$1
runtime=$build/lib/libingot_runtime.so
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$build/ingot" compile "$build/golden/models/mlp/model.pt2" -o "$work/model.so" >/dev/null
"$root/scripts/check_abi.sh" "$runtime" "$work/model.so"

# What the header declares, the library shows, and nothing else.
diff <(sed -n '/^ingot\/ingot.h$/,/^libingot_runtime.so$/s/.*\b\(ingot_[a-z_]*\)(.*/\1/p' "$root/tests/data/abi.txt" | LC_ALL=C sort) \
  <(sed -n '/^libingot_runtime.so$/,/^a model library$/s/^  \(ingot_[a-z_]*\)@@.*/\1/p' "$root/tests/data/abi.txt") ||
  { echo "test_abi: < is declared in ingot.h alone, > exported alone (cmake/runtime_library.map)" >&2; exit 1; }

# refused WORDS ARGUMENT...: with these arguments, the check fails with the words.
refused() {
  local words=$1 said
  shift
  if said=$("$root/scripts/check_abi.sh" "$@" 2>&1) || [[ "$said" != *"$words"* ]]; then
    printf 'test_abi: expected "%s", found:\n%s\n' "$words" "$said" >&2
    exit 1
  fi
}
# planted HEADER PERL WORDS: with this change of the header.
planted() {
  rm -rf "$work/include"
  mkdir "$work/include"
  cp -r "$root/include/ingot" "$work/include"
  perl -0pi -e "$2" "$work/include/ingot/$1"
  refused "$3" "$runtime" "$work/model.so" --include "$work/include"
}
planted ingot.h 's/(  int32_t rank;.*\n)(  const char\* const\* sizes;.*\n)/$2$1/' '+    byte 24, 4 long: int32_t rank'
planted ingot.h 's/  int32_t models;/  int64_t models;/' '-  ingot_options: 40 bytes'
planted ingot.h 's/int32_t threads\);/uint32_t threads);/' '-  ingot_status ingot_session_set_threads(ingot_session*, int32_t)'
planted ingot.h 's/INGOT_INTERNAL = 2/INGOT_INTERNAL = 3/' '+    INGOT_INTERNAL = 3'
planted ingot.h 's/INGOT_EXPORT ingot_status ingot_session_swap.*\n//' '-  ingot_status ingot_session_swap(ingot_session*)'
planted ingot.h 's/\z/INGOT_EXPORT int ingot_later(void);\n/' 'the C interface has grown: record it'
planted model.h 's/INGOT_FLOAT64 = 7/INGOT_FLOAT64 = 8/' '+    INGOT_FLOAT64 = 8'
planted aoti.h 's/typedef int32_t AOTIRuntimeError/typedef int64_t AOTIRuntimeError/' '-  typedef int32_t AOTIRuntimeError'
planted ingot.h 's/\z/int ingot_old_style\[2\];\n/' 'cannot read'

# A library that shows one function less, one that shows another, and one whose functions have no
# versions.
readelf -W --dyn-syms "$runtime" | awk '$7 != "UND" && $4 == "FUNC" && $5 == "GLOBAL" {sub("@.*", "", $8); print $8}' >"$work/names"
library() {  # NAME MAP FUNCTION...
  local name=$1 map=$2
  shift 2
  printf 'void %s(void) {}\n' "$@" >"$work/$name.c"
  gcc -w -shared -fPIC "$work/$name.c" -Wl,--version-script="$map" -o "$work/$name.so"
}
mapfile -t names <"$work/names"
map=$root/cmake/runtime_library.map
library less "$map" "${names[@]/#ingot_session_swap/other}"
refused '-  ingot_session_swap@@INGOT_0.1' "$work/less.so" "$work/model.so"
echo '{ global: *; };' >"$work/no_versions.map"
library bare "$work/no_versions.map" "${names[@]}"
refused '-  ingot_session_swap@@INGOT_0.1' "$work/bare.so" "$work/model.so"
sed 's/ingot_session_swap;/&\n    ingot_session_more;/' "$map" >"$work/more.map"
library more "$work/more.map" "${names[@]}" ingot_session_more
refused '+  ingot_session_more@@INGOT_0.1' "$work/more.so" "$work/model.so"
