#!/bin/bash
# Whether every C++ file is formatted, and clang-tidy over those that differ from the last commit
# (`scripts/lint.sh all`: over all; `since:BRANCH`: over those that differ from where this branch
# left that one). With INGOT_LINT_SECONDS no file is begun after these; the rest is named.
# Needs the compile commands of a configured build that compiles each file by itself:
#   scripts/lint.sh [SCOPE] [BUILD_DIR]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

git ls-files --cached --others --exclude-standard -- '*.cpp' '*.hpp' '*.h' | xargs clang-format-19 --dry-run --Werror --style=file || {
  echo "lint: files are not formatted (make format ALL=1 does it)" >&2
  exit 1
}
scope=${1:-changed}
build=${2:-build/debug}
if [[ "$scope" == all ]] || ! git rev-parse -q --verify HEAD >/dev/null; then
  mapfile -t files < <(find src tests examples bench -name '*.cpp' 2>/dev/null | sort)
elif [[ "$scope" == since:* ]]; then
  mapfile -t files < <(scripts/changed_sources.sh "$(git merge-base HEAD "${scope#since:}")")
else
  mapfile -t files < <(scripts/changed_sources.sh)
fi
if ((${#files[@]} == 0)); then
  echo "lint: no C++ file has changed (make lint ALL=1 checks every file)"
  exit 0
fi

unchecked=$(mktemp)
trap 'rm -f "$unchecked"' EXIT
# A shell for each file, which looks at the clock before it begins.
tidy='
  if [[ -n "${INGOT_LINT_SECONDS:-}" ]] && (($(date +%s) >= $1 + INGOT_LINT_SECONDS)); then
    printf " %s" "$4" >>"$2"
  else
    clang-tidy-19 --quiet -p "$3" "$4"
  fi'
printf '%s\0' "${files[@]}" | xargs -0 -n 1 -P "${INGOT_JOBS:-$(nproc)}" \
  bash -c "$tidy" tidy "$(date +%s)" "$unchecked" "$build"
left=$(wc -w <"$unchecked")
echo "lint: clang-tidy found nothing in $((${#files[@]} - left)) of ${#files[@]} files"
((left == 0)) || echo "lint: not checked, no time was left:$(<"$unchecked")"
