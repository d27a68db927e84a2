#!/bin/bash
# Writes docs/status.md from what the built binaries say. Run after `make build`.
set -euo pipefail
cd "$(dirname "$0")/.."
ingot=build/release/ingot
[[ -x $ingot ]] || { echo "status: $ingot is not there; run make build first" >&2; exit 1; }

count() { "$ingot" ops | awk -v form="$1" '$2 == form' | wc -l; }
core=$(awk -F'\t' '{n = split($2, t, " "); for (i = 1; i <= n; i++) if (t[i] == "core") c++} END {print c}' data/aten_schemas.tsv)
lines=$(cat tests/samples/*.txt | grep -cvE '^ *(#|$)')
bad=$(grep -cE '=>' tests/error/bad_calls.txt)

{
  echo "# Status"
  echo
  echo "Made by \`scripts/status.sh\`; do not edit."
  echo
  echo "| what | count |"
  echo "|---|---|"
  echo "| ops with rules of their own | $("$ingot" ops | wc -l) |"
  echo "| of the $core core ops | $("$ingot" ops --json | grep -c '"core": true') (and derived variants; \`CoreOps\` tests that none is missing) |"
  for form in pointwise reduction view factory random external composite; do echo "| $form | $(count "$form") |"; done
  echo "| op samples (tests/samples) | $lines |"
  echo "| bad calls with checked messages | $bad |"
  echo
  echo "## Ops"
  echo
  echo '```'
  "$ingot" ops
  echo '```'
} > docs/status.md
