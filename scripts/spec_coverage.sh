#!/bin/bash
# How far is each id of the specifications covered? docs/spec/ids_LETTER.tsv says it, a row an id:
# the id, its state, a text.
#   full     a test named after the id checks everything that the entry lists; the text is a remark or empty
#   partial  a test named after it checks a part; the text says what is missing
#   cannot   the entry cannot apply here; the text says why
#   cuda     the entry needs a GPU; the text says what waits for one
# scripts/spec_coverage.sh prints the counts by state, a line a specification; with --table every id
# with its tests, state and text instead.
# What is wrong goes to stderr, and the exit status is 1: an id without a row or with two, a row of
# no id or without its reason, an id that is full or partial and that no test names.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

wanted=${1:-}
[[ -z $wanted || $wanted == --table ]] || { echo "usage: scripts/spec_coverage.sh [--table]" >&2; exit 2; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Every test with the ids that its name, or its table of parameters, has, and whether it runs the
# harness V, whose variants .F and .C it has then as well: "A022 AotDispatch.A022_InputMutation V".
# Ids stand in names as A022_… or _A022, in tables as {"A022", ….
tests_by_id() {  # LETTER
  awk -v letter="$1" '
    function flush(  id) {
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

# NAME LETTER, and the ids on stdin: one specification.
specification() {
  local rows=docs/spec/ids_$2.tsv
  if [[ ! -f $rows ]]; then
    echo "$rows is not there: no id of $1 has a state" >&2
    touch "$scratch/failed"
    rows=/dev/null
  fi
  sort -u > "$scratch/ids"
  tests_by_id "$2" > "$scratch/tests"
  awk -v name="$1" -v letter="$2" -v wanted="$wanted" -v rows="$rows" -v failed="$scratch/failed" '
    function wrong(what) { print what > "/dev/stderr"; print what > failed }
    function in_table(text) { gsub(/\|/, "\\|", text); return text }
    FILENAME ~ /ids$/ { ids[++count] = $1; known[$1] = 1; next }
    FILENAME ~ /tests$/ { tests[$1] = tests[$1] (tests[$1] == "" ? "" : ", ") "`" $2 "`"; if ($3 == "V") v[$1] = 1; next }
    {
      n = split($0, field, "\t"); id = field[1]; where = rows ":" FNR ": "
      if (n != 3 && n != 2) { wrong(where "expected an id, a state and a text with a tab between them, found " n " fields"); next }
      if (!(id in known)) { wrong(where id " is no id of " name); next }
      if (id in state) { wrong(where id " has a row already"); next }
      if (field[2] !~ /^(full|partial|cannot|cuda)$/) wrong(where id ": the state is full, partial, cannot or cuda, not \"" field[2] "\"")
      state[id] = field[2]; text[id] = n == 3 ? field[3] : ""
      if (state[id] != "full" && text[id] !~ /[^ ]/) wrong(where id " is \"" state[id] "\" and does not say why")
      if (state[id] ~ /^(full|partial)$/ && !(id in tests)) wrong(where id " is \"" state[id] "\" and no test is named after it")
      ++counts[state[id]]
    }
    END {
      if (wanted == "--table") {
        variants = letter == "A" ? " .F | .C |" : ""
        printf "\n| %s | tests |%s state | what is missing, or why |\n|---|---|%s---|---|\n", name, variants, variants == "" ? "" : "---|---|"
      }
      for (k = 1; k <= count; ++k) {
        id = ids[k]; number = substr(id, 2) + 0; extra = ""
        if (!(id in state)) { ++counts["without a state"]; if (rows != "/dev/null") wrong(rows ": " id " has no row") }
        if (letter == "A") extra = number < 15 || number > 137 ? " | |" : v[id] ? " in V | in V |" : " the same | the same |"
        if (wanted == "--table")
          printf "| %s | %s |%s %s | %s |\n", id, tests[id], extra, id in state ? state[id] : "without a state", in_table(text[id])
      }
      if (wanted == "--table") exit
      line = name " (" count " ids):"
      n = split("full,partial,cannot,cuda,without a state", order, ",")
      for (k = 1; k <= n; ++k) if (counts[order[k]]) line = line (found++ ? ", " : " ") counts[order[k]] " " order[k]
      print line
    }' "$scratch/ids" "$scratch/tests" "$rows"
}

# LETTER PAGE: the ids that a page of the specifications defines, as **R001** or, over a section of
# its own, as "#### A001".
ids() { grep -oE "\*\*$1[0-9]{3}\*\*|^#+ $1[0-9]{3}\b" "docs/spec/$2.md" | tr -d '*# '; }

ids A aotdispatch | specification "tests of AOT dispatch" A
ids R aot_autograd | specification "requirements of the AOT layer" R
ids I aoti_runtime | specification "requirements of compiled models" I
ids P pt2_format | specification "exported programs, docs/spec/pt2_format.md" P
[[ ! -e $scratch/failed ]]
