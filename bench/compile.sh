#!/bin/bash
# How long compiling takes, weights excluded, and how long from exec to the first output through the
# C interface:
#   bench/compile.sh [BUILD_FOLDER]
# The least of several runs; the bounds are those the project has set itself, for two cores.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/release}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

least() {  # COUNT COMMAND...: milliseconds of the fastest run
  local count=$1 best=999999999 start end
  shift
  for ((i = 0; i < count; i++)); do
    start=${EPOCHREALTIME/./}
    "$@" > "$work/out"
    end=${EPOCHREALTIME/./}
    ((end - start < best)) && best=$((end - start))
  done
  echo "$((best / 1000)).$(printf %03d $((best % 1000)) | cut -c1)"
}

printf '%-34s %10s %10s\n' what found bound
for row in models/mlp:60 zoo/resnet18:1500 zoo/bert_base:2500; do
  name=${row%:*}
  printf '%-34s %7s ms %7s ms\n' "compile ${name#*/}" \
    "$(least 5 "$build/ingot" compile "$build/golden/$name/model.pt2" --weights none -o "$work/model.so")" "${row#*:}"
done
"$build/ingot" compile "$build/golden/models/mlp/model.pt2" -o "$work/mlp.so" > "$work/out"
cc -O1 -Iinclude examples/c/run_model.c -L"$build/lib" -lingot_runtime -Wl,-rpath,"$PWD/$build/lib" -o "$work/run_model"
printf '%-34s %7s ms %7s ms\n' 'mlp from exec to first output' "$(least 20 "$work/run_model" "$work/mlp.so")" 10
