#!/bin/bash
# What compiling a function with its gradients costs beside the graphs themselves, against the bounds the project has set itself:
#   bench/aot.sh [BUILD_FOLDER]
# Processor time, the least of several runs. A call has ten inputs; BERT goes the way to its two graphs, before code is generated.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/release}

least() {  # BENCHMARK: processor time in the benchmark's own unit
  "$build/ingot_bench" --benchmark_filter="^$1\$" --benchmark_repetitions=5 --benchmark_format=csv 2> /dev/null |
    awk -F, -v name="\"$1\"" '$1 == name && (best == "" || $4 < best) { best = $4 } END { printf "%.2f", best }'
}

printf '%-50s %11s %10s\n' what found bound
printf '%-50s %8s us %7s us\n' 'call without gradients, over a list' "$(least inference_of_list)" 5
printf '%-50s %8s us %7s us\n' 'call without gradients, over a tree' "$(least inference_of_tree)" 5
printf '%-50s %8s us %7s us\n' 'call with gradients, over a list' "$(least training_of_list)" 5
printf '%-50s %8s us %7s us\n' 'call with gradients, over a tree' "$(least training_of_tree)" 5
printf '%-50s %8s ms %7s ms\n' 'BERT to its forward and backward, min-cut' "$(least compile_bert)" 500
