#!/bin/bash
# Random programs, eager against every other way to run them, for some seconds each:
#   scripts/fuzz_programs.sh [SECONDS [WAY...]]
# Seeds are new each time (INGOT_SEED=N repeats a run). Programs that differ are printed as small as
# they get, in words, as C++ and as a graph, and the run fails. Needs the release build.
set -euo pipefail
export INGOT_VERIFY=1  # every graph and every loop program on the way
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seconds=${1:-30}
shift || true
seed=${INGOT_SEED:-$(date +%s)}
fuzz=build/release/ingot_program_fuzz
test -x $fuzz || { echo "fuzz_programs: $fuzz is not there; run make build first" >&2; exit 1; }
logs=build/fuzz/programs
mkdir -p $logs
run() {
  if "$fuzz" "$1" "$seconds"s "$seed" >"$logs/$1.log" 2>&1; then grep -A 40 "^$1:" "$logs/$1.log"; return; fi
  tail -n 200 "$logs/$1.log"
  echo "fuzz_programs: $1 failed from seed $seed; all it said is in $logs/$1.log"
  return 1
}
export -f run
export fuzz seconds seed logs

ways=("$@")
((${#ways[@]})) || ways=(functionalize aot aot-keep aot-min-cut aot-budget wide-functionalize wide-aot wide-aot-keep
  wide-aot-min-cut wide-aot-budget compiled compiled-grad compiled-open-grad aliases-compiled aliases-compiled-grad aliases-open
  aliases-open-grad long long-grad long-open-grad layers-functionalize layers-aot-min-cut layers-compiled layers-compiled-grad
  layers-open-grad)
printf '%s\n' "${ways[@]}" | xargs -P "${INGOT_JOBS:-$(nproc)}" -I{} bash -c 'set -euo pipefail; run {}'
