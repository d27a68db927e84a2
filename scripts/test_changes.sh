#!/bin/bash
# scripts/check_changes.sh chooses what it compares with, says what it has no time for, and fails
# over findings: in a small repository, with tools that say what they were asked.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
command -v git >/dev/null || { echo "test_changes: there is no git"; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PATH=$work/tools:$PATH INGOT_JOBS=1 CALLS=$work/calls
unset INGOT_LINT_SECONDS

tool() {
  printf '#!/bin/bash\n%s\n' "$2" >"$1"
  chmod +x "$1"
}
mkdir -p "$work/tools" "$work/tree/scripts" "$work/tree/src"
cp "$root"/scripts/{check_changes,changed_sources,lint}.sh "$work/tree/scripts"
cd "$work/tree"
tool scripts/setup.sh true
tool "$work/tools/cmake" 'mkdir -p build/debug
for file in src/*.cpp; do echo "  \"file\": \"$PWD/$file\","; done | grep -v part >build/debug/compile_commands.json'
tool "$work/tools/ninja" 'echo "ninja ${@:5}" >>"$CALLS"; echo "[3/7] Building"; sleep "${SLOW_NINJA:-0}"; exit ${BAD_NINJA:-0}'
tool "$work/tools/clang-format-19" 'exit ${BAD_FORMAT:-0}'
tool "$work/tools/clang-tidy-19" 'echo "tidy ${@: -1}${INGOT_LINT_SECONDS:+ in time}" >>"$CALLS"; sleep "${SLOW_TIDY:-0}"
[[ "${BAD_TIDY:-}" != "${@: -1}" ]] || { echo "a finding"; exit 1; }'

# commit HOURS FILE...: the files change, so many hours after the first commit.
commit() {
  for file in "${@:2}"; do echo "// $1" >>"$file"; done
  git add -A
  GIT_COMMITTER_DATE="$((1700000000 + $1 * 3600)) +0000" git -c user.name=t -c user.email=t@t commit -qm "at $1"
}
git init -q
echo /build/ >.gitignore
commit 0 src/old.cpp src/older.cpp
commit 20 src/a.cpp
commit 21 src/part.cpp src/b.cpp
commit 22 src/a.cpp docs.md

# expect STATUS WORDS...: check_changes.sh ends so and says all of the words.
expect() {
  local said status=0
  : >"$CALLS"
  said=$(scripts/check_changes.sh ${SECONDS_LEFT:-} 2>&1) || status=$?
  for words in "${@:2}"; do
    if [[ $status != "$1" || "$said" != *"$words"* ]]; then
      printf 'test_changes: expected status %s and "%s", found %s and:\n%s\n' "$1" "$words" "$status" "$said" >&2
      exit 1
    fi
  done
}
called() {
  if [[ "$(<"$CALLS")" != "$1" ]]; then
    printf 'test_changes: expected the calls\n%s\nfound:\n%s\n' "$1" "$(<"$CALLS")" >&2
    exit 1
  fi
}

# On the main branch, and where there is none: the last half day, what changed last first.
of_half_a_day="ninja $PWD/src/a.cpp^ $PWD/src/b.cpp^
tidy src/a.cpp
tidy src/b.cpp
tidy src/part.cpp
ninja all"
expect 0 "3 sources" "the last commit that is 12 hours older" "nothing in 3 of 3 files" "headers, with warnings as errors: all"
called "$of_half_a_day"
git update-ref refs/remotes/origin/main HEAD
expect 0 "the last commit that is 12 hours older"
called "$of_half_a_day"
# A branch, from where it left the main one.
commit 23 src/older.cpp
expect 0 "1 sources" "where it left origin/main"
called "ninja $PWD/src/older.cpp^
tidy src/older.cpp
ninja all"
git update-ref refs/remotes/origin/main HEAD

# Findings fail, and are shown.
BAD_TIDY=src/b.cpp expect 1 "a finding" "formatting, clang-tidy: something was found"
BAD_FORMAT=1 expect 1 "files are not formatted"
BAD_NINJA=2 expect 1 "the sources that differ: something was found"

# What there is no time for is said, and nothing fails.
SECONDS_LEFT=-5 expect 0 "no time was left: clang-tidy, formatting, the preset debug"
called ""
SECONDS_LEFT=4 SLOW_NINJA=60 expect 0 "the sources that differ, but for [3/7]" "left: formatting, clang-tidy" \
  "no time was left: all of the preset debug"
SECONDS_LEFT=1000 expect 0 "nothing in 4 of 4 files"
called "ninja $PWD/src/older.cpp^ $PWD/src/a.cpp^ $PWD/src/b.cpp^
tidy src/older.cpp in time
tidy src/a.cpp in time
tidy src/b.cpp in time
tidy src/part.cpp in time
ninja all"
said=$(INGOT_LINT_SECONDS=2 SLOW_TIDY=3 scripts/lint.sh since:HEAD~2)
if [[ "$said" != *"nothing in 1 of 2 files"*"no time was left: src/a.cpp"* ]]; then
  printf 'test_changes: expected lint to say what it had no time for, found:\n%s\n' "$said" >&2
  exit 1
fi
