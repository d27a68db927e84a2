#!/bin/bash
# What finds mistakes in changes but takes too long to wait for with every run of the tests, for as
# many seconds as there are (none given: until all is done). First the sources that changed are
# compiled by themselves, without precompiled headers, where one that forgets an include is noticed;
# then formatting and clang-tidy; then the rest of that build (the preset debug). Warnings are
# errors. A finding fails; what there was no time for is named, and does not fail.
#   scripts/check_changes.sh [SECONDS]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

limit=${1:-0}
hours=12  # of the main branch: clang-tidy takes 10 to 60 seconds a file
jobs=${INGOT_JOBS:-$(nproc)}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

say() { printf 'changes: %s\n' "$*"; }
# How many seconds there still are; 0, as timeout has it, where there is no limit.
left() { echo $((limit == 0 ? 0 : limit - SECONDS)); }
in_time() { ((limit == 0 || limit > SECONDS)); }

# What was found, without what is the same for every file.
findings() {
  grep -vE '^\[[0-9]+/[0-9]+\] (Building|Linking)|^[0-9]+ warnings|^Suppressed |^Use -header-filter' "$log" >&2 || true
  say "$1: something was found (above)" >&2
  exit 1
}

# compile WHAT TARGET...: builds targets of the preset debug, until there is no more time.
compile() {
  local status=0
  if ! in_time; then
    say "not checked, no time was left: $1"
    return
  fi
  timeout "$(left)" ninja -C build/debug -j "$jobs" "${@:2}" >"$log" 2>&1 || status=$?
  case $status in
    0) say "compiled without precompiled headers, with warnings as errors: $1" ;;
    124) say "not checked, no time was left: $1, but for $(grep -oE '^\[[0-9]+/[0-9]+\]' "$log" | tail -n 1 || true)" ;;
    *) findings "$1" ;;
  esac
}

# The commit that HEAD is compared with: where it left the main branch, or, on that branch, the last
# one that is some hours older than HEAD.
head=$(git rev-parse HEAD)
base=$(git merge-base HEAD origin/main 2>/dev/null || echo "$head")
if [[ "$base" != "$head" ]]; then
  why="where it left origin/main"
else
  base=$(git rev-list -1 --first-parent --before=$(($(git log -1 --format=%ct) - hours * 3600)) HEAD)
  why="the last commit that is $hours hours older"
  if [[ -z "$base" ]]; then
    base=$(git rev-list --first-parent HEAD | tail -n 1)
    why="the first commit there is"
  fi
fi
mapfile -t changed < <(scripts/changed_sources.sh "$base")
say "${#changed[@]} sources of HEAD differ from $(git rev-parse --short "$base"), $why"

if ! in_time; then
  say "not checked, no time was left: clang-tidy, formatting, the preset debug"
  exit
fi
cmake --preset debug -DCMAKE_COMPILE_WARNING_AS_ERROR=ON >"$log" 2>&1 || findings "cmake --preset debug"
here=$(pwd -P)  # as CMake names it
objects=()
for source in "${changed[@]}"; do  # but for those that are compiled as parts of others
  if grep -qF "\"file\": \"$here/$source\"" build/debug/compile_commands.json; then objects+=("$here/$source^"); fi
done
if ((${#objects[@]} > 0)); then
  compile "the sources that differ" "${objects[@]}"
fi

if ! in_time; then
  say "not checked, no time was left: formatting, clang-tidy"
elif ! scripts/setup.sh lint >"$log" 2>&1; then
  say "not checked, its tools could not be installed: formatting, clang-tidy"
else
  ((limit == 0)) || export INGOT_LINT_SECONDS=$(left)
  scripts/lint.sh "since:$base" build/debug >"$log" 2>&1 || findings "formatting, clang-tidy"
  grep '^lint:' "$log"
fi

compile "all of the preset debug" all
