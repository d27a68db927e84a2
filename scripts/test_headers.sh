#!/bin/bash
# The C headers compile by themselves, as C99, C11 and C++, by g++ and clang, without a warning; and
# what no compiler but these knows stays behind a condition. A header that does not is found.
#   scripts/test_headers.sh [INCLUDE_DIR]     only the check, of the headers in that folder
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
include=${1:-$root/include}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

headers=$(cd "$include" && echo ingot/*.h)
for header in $headers; do echo "#include \"$header\""; done >"$work/all.c"
# Other compilers know no __attribute__: without __GNUC__, the headers that are the compiler's own
# and libc's ask for none of ours.
cat >"$work/plain.c" <<'END'
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#define __attribute__(words) refused
#include "all.c"
int any;
END

# compile COMPILER LANGUAGE STANDARD FILE
compile() {
  "$1" -x "$2" -std="$3" -Wall -Wextra -Werror -pedantic -I"$include" -fsyntax-only "$4" ||
    { echo "test_headers: $4 as $3 by $1"; return 1; }
}
failed=0
for header in $headers all; do
  file=$work/all.c
  if [[ $header != all ]]; then
    file=$work/$(basename "$header" .h)_alone.c
    printf '#include "%s"\nint any;\n' "$header" >"$file"
  fi
  for standard in c99 c11; do
    for cc in gcc clang-19; do compile "$cc" c "$standard" "$file" || failed=1; done
  done
  for cc in g++ clang++-19; do compile "$cc" c++ c++11 "$file" || failed=1; done
done
gcc -std=c99 -U__GNUC__ -w -I"$include" -I"$work" -fsyntax-only "$work/plain.c" ||
  { echo "test_headers: __attribute__ for a compiler that does not say __GNUC__"; failed=1; }
((failed == 0)) || exit 1
(($# == 0)) || exit 0

# expect WORDS TEXT: with the text at the end of ingot.h, the check fails with the words.
expect() {
  local said
  rm -rf "$work/include"
  mkdir -p "$work/include"
  cp -r "$root/include/ingot" "$work/include"
  printf '%s\n' "$2" >>"$work/include/ingot/ingot.h"
  if said=$("$0" "$work/include" 2>&1) || [[ "$said" != *"$1"* ]]; then
    printf 'test_headers: expected "%s" of %s, found:\n%s\n' "$1" "$2" "$said" >&2
    exit 1
  fi
}
expect "as c99 by gcc" 'typedef struct { } ingot_nothing;'
expect "as c++11 by clang++-19" 'static inline int* ingot_converted(void* p) { return p; }'
expect "__attribute__ for a compiler" 'int ingot_attribute(void) __attribute__((pure));'
