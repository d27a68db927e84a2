#!/bin/bash
# What compiling a function with its gradients costs beside the graphs themselves, against the
# bounds the project has set itself:
#   bench/aot.sh [BUILD_FOLDER]
# Processor time, the least of several runs. A call has ten inputs; BERT goes the way to its two
# graphs, before code is generated. Fails where a bound is exceeded.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/release}

least() {  # BENCHMARK: processor time in the benchmark's own unit
  "$build/ingot_bench" --benchmark_filter="^$1\$" --benchmark_repetitions=5 --benchmark_format=csv 2> /dev/null |
    awk -F, -v name="\"$1\"" '$1 == name && (best == "" || $4 < best) { best = $4 } END { if (best != "") printf "%.2f", best }'
}

over=0
row() {  # WHAT BENCHMARK BOUND UNIT
  local found
  found=$(least "$2")
  printf '%-50s %8s %s %7s %s\n' "$1" "$found" "$4" "$3" "$4"
  awk -v found="$found" -v bound="$3" 'BEGIN { exit !(found != "" && found + 0 > 0 && found + 0 <= bound) }' || over=1
}

printf '%-50s %11s %10s\n' what found bound
row 'call without gradients, over a list' inference_of_list 5 us
row 'call without gradients, over a tree' inference_of_tree 5 us
row 'call with gradients, over a list' training_of_list 5 us
row 'call with gradients, over a tree' training_of_tree 5 us
row 'of it guards, without gradients' guards_of_inference 1 us
row 'of it guards, with gradients' guards_of_training 1 us
row 'of it guards, and of ten modules' guards_of_modules 1 us
row 'of it guards, where an input is written' guards_of_a_write 1 us
row 'of it guards, a written input and open sizes' guards_of_open_sizes 1 us
row 'BERT to its forward and backward, min-cut' compile_bert 500 ms
[ "$over" = 0 ] || { echo 'a bound is exceeded, or a benchmark did not run' >&2; exit 1; }
