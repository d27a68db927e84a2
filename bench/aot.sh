#!/bin/bash
# What compiling a function with its gradients costs beside the graphs themselves, against the
# bounds the project has set itself:
#   bench/aot.sh [BUILD_FOLDER] [OLD_BUILD_FOLDER]
# Processor time, the least of several runs. A call has ten inputs; BERT goes the way to its two
# graphs, before code is generated, and from there to the loaded library of both, by all threads.
# What that may take is no number but 0.6 of what an older build takes, which is measured in turn
# where it is given; it needs the benchmark bert_in_one_library, which 88acd12 does not have.
# Fails where a bound is exceeded.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/release} old=${2:-}

least() {  # BUILD_FOLDER BENCHMARK [REPETITIONS]: processor time in the benchmark's own unit; nothing where it did not run
  "$1/ingot_bench" --benchmark_filter="^$2\$" --benchmark_repetitions="${3:-5}" --benchmark_format=csv 2> /dev/null |
    awk -F, -v name="\"$2\"" '$1 == name && $4 > 0 && (best == "" || $4 < best) { best = $4 } END { if (best != "") printf "%.2f", best }' ||
    true
}
less() { awk -v a="$1" -v b="$2" 'BEGIN { print (a == "" || (b != "" && b + 0 < a + 0)) ? b : a }'; }

over=0
row() {  # WHAT FOUND BOUND UNIT
  printf '%-50s %8s %2s %7s %2s\n' "$1" "$2" "$4" "$3" "$4"
  awk -v found="$2" -v bound="$3" 'BEGIN { exit !(found + 0 > 0 && (bound == "none" || found + 0 <= bound + 0)) }' || over=1
}
measured() {  # WHAT BENCHMARK BOUND UNIT
  row "$1" "$(least "$build" "$2")" "$3" "$4"
}

printf '%-50s %11s %10s\n' what found bound
measured 'call without gradients, over a list' inference_of_list 5 us
measured 'call without gradients, over a tree' inference_of_tree 5 us
measured 'call with gradients, over a list' training_of_list 5 us
measured 'call with gradients, over a tree' training_of_tree 5 us
measured 'of it guards, without gradients' guards_of_inference 1 us
measured 'of it guards, with gradients' guards_of_training 1 us
measured 'of it guards, and of ten modules' guards_of_modules 1 us
measured 'of it guards, where an input is written' guards_of_a_write 1 us
measured 'of it guards, a written input and open sizes' guards_of_open_sizes 1 us
measured 'BERT to its forward and backward, min-cut' compile_bert 500 ms
pair=bert_in_one_library/process_time
if [ -z "$old" ]; then
  measured 'from there to one library of both' $pair none ms
else
  new='' before=''
  for _ in 1 2 3 4 5; do
    new=$(less "$new" "$(least "$build" $pair 1)")
    before=$(less "$before" "$(least "$old" $pair 1)")
  done
  row 'from there to one library of both' "$new" none ms
  row "the same of $old" "$before" none ms
  row 'ratio of both' "$(awk -v a="$new" -v b="$before" 'BEGIN { if (a > 0 && b > 0) printf "%.2f", a / b }')" 0.60 ''
fi
[ "$over" = 0 ] || { echo 'a bound is exceeded, or a benchmark did not run' >&2; exit 1; }
