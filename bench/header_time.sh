#!/bin/bash
# How long the compiler reads the public headers of the C++ API: of a source that includes one of
# them, and of one that includes all that users write programs with. Best of several, processor time
# of -fsyntax-only -O0. With --check it fails where all of them take more than a second and a half,
# which is meant for a machine that does nothing else.
#   bench/header_time.sh [--check] [BUILD_DIR]
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
is_check=0
[[ "${1:-}" == --check ]] && { is_check=1; shift; }
build=${1:-$root/build/release}
compiler=${CXX:-g++}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# seconds FILE: the least processor time of five.
seconds() {
  local TIMEFORMAT='%U %S' best=""
  for _ in 1 2 3 4 5; do
    best=$( { time "$compiler" -std=c++20 -O0 -fsyntax-only -I"$root/include" -I"$build/include" "$1" >&2; } 2>&1 |
      awk -v best="$best" '{ t = $1 + $2; print (best == "" || t < best) ? t : best }')
  done
  echo "$best"
}

headers="tensor ingot ops nn optim transforms control_flow sparse state"
echo '#include <complex>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <variant>
#include <vector>' >"$work/standard.cpp"
printf '%-24s %s s\n' "standard headers" "$(seconds "$work/standard.cpp")"
for header in $headers; do
  echo "#include \"ingot/$header.hpp\"" >"$work/$header.cpp"
  cat "$work/$header.cpp" >>"$work/all.cpp"
  printf '%-24s %s s\n' "ingot/$header.hpp" "$(seconds "$work/$header.cpp")"
done
all=$(seconds "$work/all.cpp")
printf '%-24s %s s\n' "all of them" "$all"
if ((is_check)) && ! awk -v t="$all" 'BEGIN { exit !(t <= 1.5) }'; then
  echo "header_time: all headers take $all s, more than 1.5" >&2
  exit 1
fi
