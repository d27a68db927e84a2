#!/bin/bash
# Whether prose keeps to 100 columns: that of the documents (but for code, tables, and docs/status.md, which a script writes), and lines
# of C++ that are a comment (but for what is indented in it, such as code).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

long=$(perl -CSD -ne '
  $code = !$code if /^\s*```/;
  chomp;
  print "$ARGV:$.: ", length, " columns\n" if !$code && length > 100 && !/^(\||    )/;
  if (eof) { close ARGV; $code = 0 }
' *.md $(ls docs/*.md | grep -v docs/status.md))
long+=$(git ls-files '*.cpp' '*.hpp' '*.h' 2>/dev/null | xargs -r perl -CSD -ne '
  chomp;
  print "$ARGV:$.: ", length, " columns\n" if length > 100 && m{^\s*// \S.* } && !/clang-format|NOLINT/;
  close ARGV if eof;
')
[[ -z "$long" ]] || { printf '%s\n' "$long" "prose: wrap it at 100 columns"; exit 1; }
