#!/bin/bash
# The large run of docs/fuzzing.md: 527 100 random programs, all ways, on all cores. Takes about an
# hour of 2 cores, five minutes of 16:
#   scripts/fuzz_large.sh SEED [PROGRAM]
# PROGRAM is build/release/ingot_program_fuzz, or one that was carried to a larger machine. A count
# of each way is cut into pieces, the longest first, so that no core is left with the last of them.
# Prints the rows of the table, and what differed; fails if something did. Everything that was said
# is in build/fuzz/large.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seed=${1:?the first seed is missing; take one that no run had}
fuzz=${2:-build/release/ingot_program_fuzz}
test -x "$fuzz" || { echo "fuzz_large: $fuzz is not there; run make build first" >&2; exit 1; }
export fuzz INGOT_VERIFY=1  # every graph and every loop program on the way
export logs=build/fuzz/large
rm -rf $logs
mkdir -p $logs

pieces() {  # WAY COUNT IN_A_PIECE
  local from
  for ((from = 0; from < $2; from += $3)); do echo "$1 $(($2 - from < $3 ? $2 - from : $3)) $((seed + from))"; done
}
all() {
  local way
  for way in long long-grad long-open-grad; do pieces $way 500 63; done
  for way in compiled compiled-grad; do pieces $way 5000 313; done
  pieces compiled-open-grad 1000 63
  pieces aliases-open-grad 8000 500
  pieces aliases-open 12000 750
  for way in aliases-compiled aliases-compiled-grad; do pieces $way 10000 625; done
  for way in layers-compiled layers-compiled-grad; do pieces $way 2000 125; done
  pieces layers-open-grad 600 38
  for way in layers-functionalize layers-aot-min-cut; do pieces $way 10000 1250; done
  for way in wide-aot wide-aot-keep wide-aot-min-cut wide-aot-budget wide-functionalize; do pieces $way 54000 3375; done
  for way in functionalize aot aot-keep aot-min-cut aot-budget; do pieces $way 36000 4500; done
}
run() { "$fuzz" "$1" "$2" "$3" >"$logs/$1.$3" 2>&1 || echo "$1 $2 $3" >>$logs/differ; }
export -f run
all | xargs -P "${INGOT_JOBS:-$(nproc)}" -L 1 bash -c 'run "$@"' _

# A program's line begins with how many, up to the tables of gradients and of sizes.
for way in $(all | cut -d' ' -f1 | awk '!seen[$0]++'); do
  awk -v way="$way" '
    $0 ~ "^" way ": [0-9]+ programs" { programs += $2; counts = 1; next }
    /^[a-z]/ { counts = 0 }
    !counts || $1 !~ /^[0-9]+$/ { next }
    $2 == "agree" { agree += $1; next }
    $2 == "refused:" { refused += $1; next }
    $2 == "refused" { both += $1; next }
    { other += $1 }
    END { printf "| `%s` | %d | %d | %d | %d |%s\n", way, programs, agree, both, refused, other ? " " other " differ" : "" }
  ' $logs/"$way".[0-9]*
done
[[ ! -s $logs/differ ]] || { echo "fuzz_large: these had programs that differ (way, count, seed):"; cat $logs/differ; exit 1; }
