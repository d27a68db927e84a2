#!/bin/bash
# Which ids of a specification do tests name? scripts/spec_coverage.sh prints one line a specification; with --missing it also
# lists the ids no test names. Exit status 1 if an id has no test that must have one by now; others are open.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

missing_wanted=${1:-}
status=0

# Ids are named in the names of tests, as P001_… or _P001: those with the letter $1.
named() { grep -rhoE "TEST(_F|_P)?\([^)]*\)" tests | grep -oE "(\b|_)$1[0-9]{3}" | tr -d _ | sort -u || true; }
# Lines of ids as ranges: A015–A018, A020.
ranges() {
  awk '{n = substr($0, 2) + 0
        if (first != "" && n == last + 1) { last = n; end = $0; next }
        if (first != "") out = out (out == "" ? "" : ", ") first (end == first ? "" : "–" end)
        first = end = $0; last = n}
       END {if (first != "") print out (out == "" ? "" : ", ") first (end == first ? "" : "–" end)}'
}
# NAME LETTER IDS REQUIRED: two lists of ids, a line each.
report() {
  local covered open failed
  covered=$(comm -12 <(echo "$3") <(named "$2"))
  open=$(comm -23 <(echo "$3") <(named "$2"))
  failed=$(comm -12 <(echo "$open") <(echo "$4"))
  echo "$1: $(grep -c . <<< "$covered") of $(grep -c . <<< "$3") ids are named by a test"
  if [[ -n $failed ]]; then
    status=1
    [[ $missing_wanted == --missing ]] && echo "$1: without a test: $(ranges <<< "$failed")"
  fi
  open=$(comm -23 <(echo "$open") <(echo "$4"))
  [[ -n $open && $missing_wanted == --missing ]] && echo "$1: open: $(ranges <<< "$open")"
  return 0
}
ids() { printf "$1%03d\n" $(seq "$2" "$3"); }  # LETTER FIRST LAST

# Ids that a file of the specification defines, as **P001**.
defined=$(grep -oE "\*\*P[0-9]{3}\*\*" docs/spec/pt2_format.md | tr -d '*' | sort -u)
report docs/spec/pt2_format.md P "$defined" "$defined"
# PyTorch's tests of ahead-of-time dispatch, by number, and the requirements of the layer. Required are those of the parts that are
# there: tracing with the transforms, and functionalization.
report "tests of AOT dispatch" A "$(ids A 1 197)" "$(ids A 1 14)"
report "requirements of the AOT layer" R "$(ids R 1 202)" "$(ids R 48 63)"
# The model library, its host, runner and packages.
report "requirements of compiled models" I "$(ids I 1 118)" ""
exit $status
