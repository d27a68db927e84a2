#!/bin/bash
# Each public C++ header compiles by itself, without a warning, and is light: no header of streams,
# files or regular expressions, and no more lines after the preprocessor than `most`.
# ingot/session.hpp is C++17. A header that is not so is found.
#   scripts/test_cpp_headers.sh BUILD_DIR                  those of include/ and those that the build made
#   scripts/test_cpp_headers.sh INCLUDE_DIR HEADER...      only the check, of those headers
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
most=75000 # libstdc++'s <functional>, <map> and <vector> are 45000 of them
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(($# > 0)) || { echo "test_cpp_headers: say which build folder" >&2; exit 2; }
if (($# > 1)); then
  include=$1
  shift
  headers=("$@")
else
  include=$work/all
  cp -r "$root/include" "$include"
  cp -r "$1/include/ingot" "$include"
  # Those in folders are parts of one of the same name, and tensor_methods.hpp is the inside of a
  # class.
  mapfile -t headers < <(cd "$include" && find ingot -maxdepth 1 -name '*.hpp' ! -name tensor_methods.hpp | LC_ALL=C sort)
fi

# check HEADER STANDARD
check() {
  local source lines
  source=$work/$(tr '/' '_' <<<"$1").$2.cpp
  printf '#include "%s"\n#include "%s"\n' "$1" "$1" >"$source"
  { g++ -std="$2" -I"$include" -E "$source" >"$source.i" &&
      g++ -std="$2" -Wall -Wextra -Werror -pedantic -fsyntax-only -x c++-cpp-output "$source.i"; } ||
    { echo "test_cpp_headers: $1 does not compile by itself as $2" >&2; return 1; }
  if grep -oE '^# 1 "[^"]*/(iostream|fstream|filesystem|regex)"' "$source.i" | head -1 | grep .; then
    echo "test_cpp_headers: $1 includes that" >&2
    return 1
  fi
  lines=$(grep -cvE '^(#.*)?$' "$source.i")
  ((lines <= most)) || { echo "test_cpp_headers: $1 is $lines lines after the preprocessor, more than $most" >&2; return 1; }
}
failed=0
for header in "${headers[@]}"; do check "$header" c++20 || failed=1; done
[[ " ${headers[*]} " != *" ingot/session.hpp "* ]] || check ingot/session.hpp c++17 || failed=1
((failed == 0)) || exit 1
[[ $include == "$work/all" ]] || exit 0

# expect WORDS TEXT: with the text in a header, the check fails with the words.
expect() {
  local said
  rm -rf "$work/include"
  cp -r "$work/all" "$work/include"
  printf '%s\n' "$2" >>"$work/include/ingot/threads.hpp"
  if said=$("$0" "$work/include" ingot/threads.hpp 2>&1) || [[ "$said" != *"$1"* ]]; then
    printf 'test_cpp_headers: expected "%s" of %s, found:\n%s\n' "$1" "$2" "$said" >&2
    exit 1
  fi
}
expect "does not compile by itself" 'std::vector<int> numbers();'
expect "includes that" '#include <iostream>'
