#!/bin/bash
# How long compiling takes, weights excluded, and how long from exec to the first output through the
# C interface, against the bounds the project has set itself, which are for two cores:
#   bench/compile.sh [BUILD_FOLDER]
# The least of several runs. Fails where a bound is exceeded.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/release}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

least() {  # COUNT COMMAND...: milliseconds of the fastest run; nothing where one fails
  local count=$1 best=999999999 start end
  shift
  for ((i = 0; i < count; i++)); do
    start=${EPOCHREALTIME/./}
    "$@" > "$work/out" || return 0
    end=${EPOCHREALTIME/./}
    ((end - start < best)) && best=$((end - start))
  done
  echo "$((best / 1000)).$(printf %03d $((best % 1000)) | cut -c1)"
}

over=0
row() {  # WHAT FOUND BOUND UNIT
  printf '%-34s %7s %s %7s %s\n' "$1" "$2" "$4" "$3" "$4"
  awk -v found="$2" -v bound="$3" 'BEGIN { exit !(found != "" && found + 0 > 0 && found + 0 <= bound) }' || over=1
}

printf '%-34s %10s %10s\n' what found bound
for model in models/mlp:60 zoo/resnet18:1500 zoo/bert_base:2500; do
  name=${model%:*}
  row "compile ${name#*/}" \
    "$(least 5 "$build/ingot" compile "$build/golden/$name/model.pt2" --weights none -o "$work/model.so")" "${model#*:}" ms
done
"$build/ingot" compile "$build/golden/models/mlp/model.pt2" -o "$work/mlp.so" > "$work/out"
cc -O1 -Iinclude examples/c/run_model.c -L"$build/lib" -lingot_runtime -Wl,-rpath,"$PWD/$build/lib" -o "$work/run_model"
row 'mlp from exec to first output' "$(least 20 "$work/run_model" "$work/mlp.so")" 10 ms
[ "$over" = 0 ] || { echo 'a bound is exceeded, or a command failed' >&2; exit 1; }
