#!/bin/bash
# Whether prose keeps to 100 columns: documents (but for code, tables, titles, and docs/status.md,
# which a script writes), comments that have lines of their own, in C++, C, CMake, shell scripts,
# Makefile and Python, and Python's docstrings. What is indented in a comment is prose, too, such as
# the entries of a list, unless it has what prose has not: signs of code, or gaps as in tables and
# before remarks. Such a line is as wide as it has to be. Prints what is longer, and then fails.
#   scripts/check_prose.sh [ROOT]
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"

# What git has, or would take; every file where there is no repository.
files() {
  git ls-files --cached --others --exclude-standard 2>/dev/null || find . -type f -not -path './build/*' | sed 's|^\./||'
}

files | perl -CSD -ne '
  # The prose in a line of a comment that is indented; "" where it is code or a part of a table.
  sub indented {
    local $_ = shift;
    s/`[^`]*`/quoted/g;
    s/ [<>]=? -?\d+//g;  # n >= 1
    s/\b\w+(<\w+>)?\([\w, ]*\)/call/g;
    return /\S {2,}\S|;$|[{}=<>|\\\$]|::|->|\w\(|(^| )--?\w/ ? "" : $_;
  }

  # What a line says as prose, without the mark of a comment; "" where it is something else.
  sub prose {
    local $_ = shift;
    if ($kind eq "document") {
      $inside = !$inside if /^\s*```/;
      return $inside || /^(\||#|    )/ ? "" : $_;
    }
    if ($kind eq "hashes" || $kind eq "python") {
      return $1 ? indented($2) : $2 if !$inside && /^\s*# ( *)(\S.*)/;
      return "" if $kind ne "python";
      my $quotes = () = /"""/g;
      my ($indent, $text) = /^(\s*)(?:""")?(.*)/;
      my $opens = !$inside && $quotes && /^\s*"""/;
      $at = length $indent if $opens;
      my $flush = $opens || $inside && length $indent == $at;
      $inside = !$inside if $quotes % 2 && ($inside || $opens);
      return $flush ? $text : "";
    }
    if (!$inside && !m{^\s*/\*}) {
      return "" if /clang-format|NOLINT/ || !m{^\s*// ( *)(\S.*)};
      return $1 ? indented($2) : $2;
    }
    $inside = !m{\*/};
    return "" if m{\*/\s*\S} || !m{^\s*+(?:/?\*+)?+ ?+( *)(\S.*)};
    return $1 ? indented($2 =~ s{ *\*/$}{}r) : $2;
  }

  chomp($file = $_);
  next if $file eq "docs/status.md";
  $kind = $file =~ /\.md$/ ? "document"
        : $file =~ /\.py$/ ? "python"
        : $file =~ /\.([ch]|[ch]pp|mjs|list)$/ ? "slashes"
        : $file =~ m{(\.(cmake|sh|supp)|(^|/)(CMakeLists\.txt|Makefile|\.clang-\w+|\.ci/run))$} ? "hashes" : next;
  open F, "<", $file or next;  # git knows files that are gone
  $inside = 0;
  while (<F>) {
    chomp;
    my $text = prose($_);
    next if length() <= 100 || $text !~ /\S\s+\S/;  # one word cannot be wrapped
    print "$file:$.: ", length, " columns\n";
    $failed = 1;
  }
  close F;
  END { if ($failed) { print "prose: wrap it at 100 columns\n"; $? = 1 } }
' >&2
