#!/bin/bash
# The C++ sources that differ from a commit (at first the last one), one a line, those that changed
# last first: scripts/changed_sources.sh [COMMIT]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

base=${1:-HEAD}
differ=$(git diff --name-only --diff-filter=d "$base"; git ls-files --others --exclude-standard)
{
  git diff --name-only HEAD
  git log --name-only --format= "$base..HEAD"
  printf '%s\n' "$differ"
} | grep -E '^(src|tests|examples|bench)/.*\.cpp$' | awk '
  FNR == NR { differs[$0]; next }
  $0 in differs && !seen[$0]++
' <(printf '%s\n' "$differ") - || true
