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
refusals=$(grep -cE '=>' tests/error/refusals.txt)
golden=build/release/golden
results=$(mktemp)
trap 'rm -f "$results"' EXIT

# One row of the table of golden cases.
golden_row() {  # SET WHAT OPTIONS...
  local counts
  counts=$("$ingot" check --suite "$golden/$1" -j "$(nproc)" "${@:3}" | tail -n 1) || true
  echo "| $2 | $counts |"
}
# A bullet for every case that did not pass.
not_passed() {  # SET OPTIONS...
  "$ingot" check --suite "$golden/$1" -j "$(nproc)" "${@:2}" --verbose > "$results" || true
  sed -nE "s#^(FAILED|skipped)  ([^:]+): (.*) \\([^()]* s\\)\$#- \\1: $1/\\2: \\3#p; s#^FAILED  ([^:]+): (.*)#- failed: $1/\\1: \\2#p" "$results"
}

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
  echo "| calls that PyTorch does not differentiate, with its words | $refusals |"
  echo
  echo "## Specifications"
  echo
  scripts/spec_coverage.sh --missing | sed 's/^/- /' || true
  echo
  echo "## Golden cases (what PyTorch computed), run eagerly"
  echo
  echo "| set | result |"
  echo "|---|---|"
  golden_row ops "operators, with gradients and strides" --grad --strides
  golden_row models "models, every case file" --grad
  golden_row train "training: loss and gradients" --grad
  golden_row zoo "published architectures"
  echo
  echo "Bounds wider than the usual ones, with reasons: the table in src/check/compare.cpp. Not passed:"
  echo
  for set in ops models train; do not_passed $set --grad --strides; done
  not_passed zoo
  echo
  echo "## Ops"
  echo
  echo '```'
  "$ingot" ops
  echo '```'
} > docs/status.md
