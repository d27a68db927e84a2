#!/bin/bash
# What four sessions of a compiled model take next to one, and a first run next to the runs after:
#   bench/memory.sh [BUILD_FOLDER] [MODEL...]
# Models are those of the golden zoo (bert_base), or files: programs (.pt2) or libraries (.so).
# Those of the zoo get their weights from bench/peers/materialize.py (python3 with numpy).
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/release}
models=("${@:2}")
[ ${#models[@]} -gt 0 ] || models=(bert_base)
work=$build/peers
mkdir -p "$work"
${CC:-cc} -std=c11 -D_DEFAULT_SOURCE -O2 -Iinclude bench/memory.c -o "$work/memory" -L"$build/lib" -lingot_runtime \
  -Wl,-rpath,"$(realpath "$build")/lib"
for m in "${models[@]}"; do
  library=$m
  if [ ! -f "$m" ]; then
    [ -f "$work/$m/model.pt2" ] || python3 bench/peers/materialize.py "$build/golden/zoo/$m" "$work/$m" > /dev/null
    m=$work/$m/model.pt2
  fi
  if [[ $m == *.pt2 ]]; then
    library=$work/$(basename "$(dirname "$m")")_memory.so
    "$build/ingot" compile "$m" -o "$library" > /dev/null
  fi
  echo "$library"
  "$work/memory" "$(realpath "$library")"
done
