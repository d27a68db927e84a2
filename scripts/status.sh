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
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
# Checks a set of golden cases once: a line for every case, the counts last.
check() {  # SET OPTIONS...
  "$ingot" check --suite "$golden/$1" -j "$(nproc)" --verbose "${@:2}" > "$results/$1" || true
}
check ops --grad --strides
check models
check train --grad
check zoo
# The same compiled.
check_compiled() { "$ingot" check --suite "$golden/$1" -j "$(nproc)" --verbose --compiled > "$results/compiled_$1" || true; }
for set in ops models zoo; do check_compiled $set; done
check_gradients() { "$ingot" check --suite "$golden/$1" -j "$(nproc)" --verbose --compiled --grad > "$results/gradients_$1" || true; }
for set in ops train; do check_gradients $set; done
golden_row() { echo "| $2 | $(tail -n 1 "$results/$1") |"; }  # SET WHAT
not_passed() {  # SET: a bullet for every case that did not pass
  sed -nE "s#^(FAILED|skipped)  ([^:]+): (.*)\$#- \\1: $1/\\2: \\3#p" "$results/$1" | sed -E 's# \([0-9.]+ (s|ms|µs)\)$##; s#^(.{220}).*#\1…#'
}
# Cases of which a part was compared, by the reason.
in_part() {  # SET
  sed -nE 's#^passed  ([^:]+): largest difference .* of it; (.*) \([0-9.]+ (s|ms|µs)\)$#\2\t\1#p' "$results/$1" | sort |
    awk -F'\t' '$1 != reason {if (reason) print line; reason = $1; line = "- " $1 ":"} {line = line " " $2} END {if (reason) print line}'
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
  for form in pointwise reduction view factory random external composite higher-order; do echo "| $form | $(count "$form") |"; done
  echo "| op samples (tests/samples) | $lines |"
  echo "| bad calls with checked messages | $bad |"
  echo "| calls that PyTorch does not differentiate, with its words | $refusals |"
  echo
  echo "## Specifications"
  echo
  scripts/spec_coverage.sh | sed 's/^/- /' || true
  echo
  echo "## Golden cases (what PyTorch computed), run eagerly"
  echo
  echo "| set | result |"
  echo "|---|---|"
  golden_row ops "operators, with gradients and strides"
  golden_row models "models, every case file"
  golden_row train "training: loss and gradients"
  golden_row zoo "published architectures"
  echo
  echo "Compared in part, of the operators: $(sed -nE 's#^passed .* of it; .*\)$#x#p' "$results/ops" | wc -l) cases, by the reason."
  echo
  in_part ops
  echo
  echo "Compiled (one library a case, \`ingot check --compiled\`):"
  echo
  echo "| set | result |"
  echo "|---|---|"
  golden_row compiled_ops "operators"
  golden_row compiled_models "models, every case file on one library"
  golden_row compiled_zoo "published architectures"
  golden_row gradients_ops "operators that have gradients, forward and backward (\`--grad\`)"
  golden_row gradients_train "training: loss and gradients (\`--grad\`)"
  echo
  echo "Bounds wider than the usual ones, with reasons: the table in src/check/compare.cpp. Not passed:"
  echo
  for set in ops models train zoo compiled_ops compiled_models compiled_zoo gradients_ops gradients_train; do not_passed $set; done
  echo
  echo "## Ops"
  echo
  echo '```'
  "$ingot" ops
  echo '```'
  echo
  echo "## Ids and tests"
  echo
  echo "Variants .F and .C of A015 to A137: where the test runs the harness V (H01 to H13), V runs them; where it does not, they are the test itself."
  echo "States: full (a test checks everything that the entry lists), partial, cannot (it does not apply here), cuda (it waits for a GPU)."
  scripts/spec_coverage.sh --table || true
} > "$results/status.md"
mv "$results/status.md" docs/status.md
