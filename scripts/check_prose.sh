#!/bin/bash
# Whether the prose of the documents keeps to 100 columns: all but code, tables, and docs/status.md, which a script writes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

long=$(perl -CSD -ne '
  $code = !$code if /^\s*```/;
  chomp;
  print "$ARGV:$.: ", length, " columns\n" if !$code && length > 100 && !/^(\||    )/;
  if (eof) { close ARGV; $code = 0 }
' *.md $(ls docs/*.md | grep -v docs/status.md))
[[ -z "$long" ]] || { printf '%s\n' "$long" "prose: wrap it at 100 columns"; exit 1; }
