#!/bin/bash
# Which ids of a specification do tests name? scripts/spec_coverage.sh prints one line a specification; with --missing it also
# lists the ids no test names, with --table every id with its tests and state. Exit status 1 if an id has no test that must have
# one by now; others are open.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

missing_wanted=${1:-}
status=0

# Ids are named in the names of tests, as P001_… or _P001, and of their parameters, as {"A001", …: those with the letter $1.
named() {
  { grep -rhoE "TEST(_F|_P)?\([^)]*\)" tests; grep -rhoE "\{\"$1[0-9]{3}\"," tests/unit; } | grep -oE "(\b|_|\")$1[0-9]{3}" | tr -d '_"' | sort -u || true
}
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
# Every test with the ids that its name, or its table of parameters, has, and whether it runs the harness V, whose variants .F and .C it
# has then as well: "A022 AotDispatch.A022_InputMutation V".
tests_by_id() {
  awk -v letter="$1" '
    function flush(  rest, id) {
      for (id in in_test) print id, test, (uses_v ? "V" : "-")
      split("", in_test); uses_v = 0
    }
    function note(line,  rest) {
      rest = line
      while (match(rest, letter "[0-9][0-9][0-9]")) { in_test[substr(rest, RSTART, 4)] = 1; rest = substr(rest, RSTART + 4) }
    }
    FNR == 1 { flush(); split("", in_table) }
    match($0, "[{]\"" letter "[0-9][0-9][0-9]\",") { in_table[substr($0, RSTART + 2, 4)] = 1 }
    match($0, /^(TYPED_)?TEST(_F|_P)?\([^)]*\)/) {
      flush()
      head = substr($0, RSTART, RLENGTH)
      test = head; sub(/^[A-Z_]*\(/, "", test); sub(/\)$/, "", test); sub(/, */, ".", test)
      note(head)
      if (head ~ /_P\(/) { for (id in in_table) in_test[id] = 1; split("", in_table) }
    }
    /verify(_tree|_module|_layer)?\(/ { uses_v = 1 }
    END { flush() }' $(find tests -name "*_test.cpp" | sort) | sort -u
}
# NAME LETTER IDS OPEN: a table of the ids.
table() {
  local variants=""
  [[ $2 == A ]] && variants=" .F | .C |"
  printf '\n| %s | tests |%s state |\n|---|---|%s---|\n' "$1" "$variants" "${variants:+---|---|}"
  tests_by_id "$2" | awk -v ids="$3" -v open="$4" -v letter="$2" '
    { tests[$1] = tests[$1] (tests[$1] == "" ? "" : ", ") "`" $2 "`"; if ($3 == "V") v[$1] = 1 }
    END {
      n = split(ids, all, "\n")
      for (k = 1; k <= n; k++) {
        id = all[k]; number = substr(id, 2) + 0
        state = tests[id] != "" ? "tested" : index(open, id) ? "open" : "without a test"
        extra = ""
        if (letter == "A") extra = number < 15 || number > 137 ? " | |" : v[id] ? " in V | in V |" : " the same | the same |"
        printf "| %s | %s |%s %s |\n", id, tests[id], extra, state
      }
    }'
}
ids() { printf "$1%03d\n" $(seq "$2" "$3"); }  # LETTER FIRST LAST

# Ids that a file of the specification defines, as **P001**.
defined=$(grep -oE "\*\*P[0-9]{3}\*\*" docs/spec/pt2_format.md | tr -d '*' | sort -u)
report docs/spec/pt2_format.md P "$defined" "$defined"
without() { grep -vxF -f <(tr ' ' '\n' <<< "$1"); }  # IDS, of lines
# PyTorch's tests of ahead-of-time dispatch, by number. A143 is an expected failure of the reference whose listing belongs to another
# program, A197 is skipped there: neither can apply.
dispatch=$(ids A 1 197 | without "A143 A197")
report "tests of AOT dispatch (A143, A197 cannot apply)" A "$dispatch" "$dispatch"
# The requirements of the layer. R152 is about compiled autograd, which Ingot does not have.
requirements=$(ids R 1 202 | without R152)
report "requirements of the AOT layer (R152 cannot apply)" R "$requirements" "$requirements"
# The model library, its host, runner and packages.
report "requirements of compiled models" I "$(ids I 1 118)" "$(ids I 1 118)"
if [[ $missing_wanted == --table ]]; then
  table "AOT dispatch" A "$dispatch" ""
  table "AOT layer" R "$requirements" ""
fi
exit $status
