#!/bin/bash
# Whether every C++ file is formatted, and clang-tidy over those that differ from the last commit
# (`scripts/lint.sh all`: over all; `since:BRANCH`: over those that differ from where this branch
# left that one).
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
base=HEAD
if [[ "$scope" == since:* ]]; then
  base=$(git merge-base HEAD "${scope#since:}")
fi
changed_files() {
  git diff --name-only --diff-filter=d "$base"
  git ls-files --others --exclude-standard
}
if [[ "$scope" == all ]] || ! git rev-parse -q --verify HEAD >/dev/null; then
  mapfile -t files < <(find src tests examples bench -name '*.cpp' 2>/dev/null | sort)
else
  mapfile -t files < <(changed_files | grep -E '^(src|tests|examples|bench)/.*\.cpp$' | sort -u)
fi
if ((${#files[@]} == 0)); then
  echo "lint: no C++ file has changed (make lint ALL=1 checks every file)"
  exit 0
fi
printf '%s\0' "${files[@]}" | xargs -0 -n 1 -P "${INGOT_JOBS:-$(nproc)}" clang-tidy-19 --quiet -p "$build"
