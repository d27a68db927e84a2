#!/bin/bash
# The libraries link in one direction, and scripts/check_links.sh finds symbols that do not.
#   scripts/test_links.sh BUILD_DIR
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
"$root/scripts/check_links.sh" "$1"

layers=$(mktemp)
trap 'rm -f "$layers"' EXIT
sed 's/^pass .*/pass graph/' "$1/layers.txt" >"$layers"  # as if passes, which ask ops of a family, might not
if said=$("$root/scripts/check_links.sh" "$1" "$layers" 2>&1); then
  echo "test_links: a library that needs what it may not use passed the check" >&2
  exit 1
fi
if [[ "$said" != *"libingot_pass.a needs ingot::"*", which it may not use of libingot_ops.a"* ]]; then
  printf 'test_links: expected what libingot_pass.a needs of libingot_ops.a, found:\n%s\n' "$said" >&2
  exit 1
fi
