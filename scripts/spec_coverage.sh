#!/bin/bash
# Which ids of a specification do tests name? scripts/spec_coverage.sh prints one line a specification; with --missing it
# lists the ids no test names. Exit status 1 if there are any.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

missing_wanted=${1:-}
status=0
cover() {  # FILE LETTER: ids are defined as **P001** and named in the names of tests as P001_…
  local ids covered missing
  ids=$(grep -oE "\*\*$2[0-9]{3}\*\*" "$1" | tr -d '*' | sort -u)
  covered=$(grep -rhoE "TEST(_F|_P)?\([^)]*\)" tests | grep -oE "\b$2[0-9]{3}|_$2[0-9]{3}" | tr -d _ | sort -u || true)
  missing=$(comm -23 <(echo "$ids") <(echo "$covered"))
  echo "$1: $(comm -12 <(echo "$ids") <(echo "$covered") | wc -l) of $(echo "$ids" | wc -l) ids are named by a test"
  if [[ -n $missing ]]; then
    status=1
    [[ $missing_wanted == --missing ]] && echo "$missing"
  fi
  return 0
}
cover docs/spec/pt2_format.md P
exit $status
