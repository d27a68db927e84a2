#!/bin/bash
# clang-format over the C++ files that differ from the last commit, or over all with
# `scripts/format.sh all`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [[ "${1:-changed}" == all ]] || ! git rev-parse -q --verify HEAD >/dev/null; then
  list=(git ls-files --cached --others --exclude-standard)
else
  list=(git ls-files --modified --others --exclude-standard)
fi
"${list[@]}" -- '*.cpp' '*.hpp' '*.h' | xargs -r clang-format-19 -i --style=file
