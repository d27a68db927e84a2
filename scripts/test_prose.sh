#!/bin/bash
# Prose keeps to 100 columns, and scripts/check_prose.sh finds what does not, in every kind of file;
# what need not be wrapped passes.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
"$root/scripts/check_prose.sh" "$root"

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
long=$(printf 'word %.0s' {1..25})
code="f(${long// /, }1);"

# plant FILE LINE...: the lines are a file of a tree that has no other.
plant() {
  find "$copy" -mindepth 1 -delete
  mkdir -p "$copy/$(dirname "$1")"
  printf '%s\n' "${@:2}" >"$copy/$1"
}

# refused FILE NUMBER LINE...: the check fails over line NUMBER, and no other.
refused() {
  local said
  plant "$1" "${@:3}"
  if said=$("$root/scripts/check_prose.sh" "$copy" 2>&1); then
    printf 'test_prose: %s passed the check with:\n%s\n' "$1" "$(<"$copy/$1")" >&2
    exit 1
  fi
  if [[ "$said" != "$1:$2: "*" columns"$'\n'"prose: "* ]]; then
    printf 'test_prose: expected line %s of %s to be found, found:\n%s\n' "$2" "$1" "$said" >&2
    exit 1
  fi
}
passes() {
  local said
  plant "$@"
  if ! said=$("$root/scripts/check_prose.sh" "$copy" 2>&1); then
    printf 'test_prose: expected the check to pass, found:\n%s\n' "$said" >&2
    exit 1
  fi
}

refused docs/page.md 2 "# Title" "$long"
refused docs/page.md 4 '```' "$long" '```' "- $long"
passes docs/page.md '```' "$long" '```' "# $long" "| $long |" "    $long" "https://${long// /-}"
passes docs/status.md "$long"  # a script writes it
refused src/a.cpp 2 "int a;" "  // $long"
passes src/a.cpp "//   $code" "int a;  // $long" "// NOLINTBEGIN $long" "call(\"$long\");"
# What is indented is prose where nothing of it is code, a table or a call of a program.
refused src/a.cpp 2 "// One of" "//   - $long"
refused src/a.cpp 3 "// One of" "//   - a word that" "//     $long"
refused src/a.cpp 1 "//   - the words of \`$code\`, $long"
refused src/a.cpp 1 "//   sizes >= 1 of count(n) elements; $long"
for line in "x = $long" "scripts/a.sh --quick $long" "name    $long" "{$long}" "a::b $long" "word(1)->$long"; do
  passes src/a.cpp "//   $line"
  passes scripts/a.py "#   $line"
done
refused include/ingot/a.h 1 "/* $long */"
refused src/a.c 2 "/* one" " * $long" " *   $code */" "int a; /* $long */"
refused src/a.c 2 "/* one" " *   - $long */"
refused src/a.c 4 "/* one" " * two */" "f(\"$long\");" "  /* $long */"
passes src/a.c "/* one" " *   $code" " */" "f(\"$long\");" "/* two */ f(\"$long\");"
for file in CMakeLists.txt cmake/a.cmake scripts/a.sh Makefile .ci/run .clang-tidy tests/a.supp; do
  refused "$file" 1 "# $long" "#   $code" "command $long  # $long"
  refused "$file" 2 "# One of" "#   - $long"
done
refused scripts/a.py 1 "# $long"
refused scripts/a.py 1 "\"\"\"$long" "    $long" "\"\"\"" "text = \"\"\"$long" "$long" "\"\"\""
refused scripts/a.py 3 "def f():" '    """One.' "    $long" '    """' "    f(\"$long\")"
