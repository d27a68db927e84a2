#!/bin/bash
# Whether programs and model libraries that were compiled before still run: the C headers
# (functions, where structures have their fields, values of enumerations) and what
# libingot_runtime.so and a model library export are compared with tests/data/abi.txt.
#   scripts/check_abi.sh RUNTIME.so MODEL.so [--include DIR] [--record]     --record writes the file instead
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
runtime=$1 model=$2
shift 2
include=$root/include record=$root/tests/data/abi.txt is_recording=0
while (($#)); do
  case $1 in
  --include) include=$2 && shift 2 ;;
  --record) is_recording=1 && shift ;;
  *) echo "check_abi: unknown argument $1" >&2 && exit 2 ;;
  esac
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Writes a C program that prints what the header declares: functions without the names of their
# parameters, which callers do not see.
cat >"$work/declared.pl" <<'END'
use strict;
my ($header) = @ARGV;
my ($text, $is_ours) = ("", 0);
while (<STDIN>) {
  if (/^# \d+ "(.*)"/) { $is_ours = $1 =~ m{(^|/)\Q$header\E$}; next }
  $text .= $_ if $is_ours;
}
$text =~ s/__attribute__\s*\(\(visibility\("default"\)\)\)//g;
$text =~ s/\b_Bool\b/bool/g;
$text =~ s/\s+/ /g;
$text =~ s/ ?\* ?/* /g;       # "char *p" as "char* p"
$text =~ s/\* (?=[*,)])/*/g;  # "char**"
$text =~ s/\(\* /(*/g;
my @declarations;
my ($depth, $one) = (0, "");
for my $c (split //, $text) {
  $depth++ if $c eq "{";
  $depth-- if $c eq "}";
  if ($c eq ";" && $depth == 0) { $one =~ s/^ | $//g; push @declarations, $one; $one = "" } else { $one .= $c }
}
sub quoted { my $s = shift; $s =~ s/(["\\])/\\$1/g; return "\"$s\"" }
sub line { return "  puts(" . quoted(shift) . ");\n" }

print "#include <stddef.h>\n#include <stdio.h>\n#include \"ingot/$header\"\nint main(void) {\n", line("ingot/$header");
for my $d (@declarations) {
  if ($d =~ /^(?:typedef )?(struct|union) ?(\w*) ?\{(.*)\} ?(\w*)$/) {
    my $type = $4 || "$1 $2";
    print "  printf(\"  %s: %zu bytes, aligned to %zu\\n\", ", quoted($4 || $2), ", sizeof($type), _Alignof($type));\n";
    for my $field (grep { /\w/ } split /;/, $3) {
      $field =~ s/^ | $//g;
      my @parts = $field =~ /\(/ ? ($field) : split /, ?/, $field;
      my ($of) = $parts[0] =~ /^(.*?)[\* ]*\w+(?:\[.*\])?$/;  # of several: the type that all have
      for my $k (0 .. $#parts) {
        my $one = ($k ? "$of $parts[$k]" : $parts[$k]) =~ s/ \*/*/r;
        my ($name) = $one =~ /\( ?\* ?(\w+) ?\)/ ? $1 : $one =~ /(\w+)(?:\[.*\])?$/;
        print "  printf(\"    byte %zu, %zu long: %s\\n\", offsetof($type, $name), sizeof((($type*)0)->$name), ", quoted($one), ");\n";
      }
    }
  } elsif ($d =~ /^(?:typedef )?enum ?(\w*) ?\{(.*)\} ?(\w*)$/) {
    print line(join " ", "  enumeration", grep { $_ } $3 || $1);
    print "  printf(\"    %s = %lld\\n\", \"$_\", (long long)$_);\n" for $2 =~ /(\w+)(?: = [^,]*)?(?:,|\s*$)/g;
  } elsif ($d =~ /^typedef/ || $d =~ /^extern [^()]*$/) {
    print line("  $d");
  } elsif ($d =~ /^(.*?)(\w+)\((.*)\)$/) {
    my ($result, $name, $given) = ($1, $2, $3);
    my @parameters = map { s/^ | $//gr =~ s/(?<=[\* ])\w+$//r =~ s/ $//r } split /,/, $given;
    @parameters = ("void") if $given eq "void";
    print line("  $result$name(" . join(", ", @parameters) . ")");
  } elsif ($d =~ /\S/) {
    die "check_abi: $header: cannot read: $d\n";
  }
}
print "  return 0;\n}\n";
END

# Names that a library shows, with the versions that it gives them; these are objects, too.
exports() {
  readelf -W --dyn-syms "$1" | awk '$7 != "UND" && ($5 == "GLOBAL" || $5 == "WEAK") && ($4 != "OBJECT" || $8 ~ /^ingot_/) {print "  " $8}' | LC_ALL=C sort
}

{
  for header in abi dlpack aoti aoti_host model ingot; do
    echo "#include \"ingot/$header.h\"" | gcc -std=c11 -I"$include" -E - | perl "$work/declared.pl" "$header.h" >"$work/declared.c"
    gcc -std=c11 -w -I"$include" "$work/declared.c" -o "$work/declared"
    "$work/declared"
  done
  echo "libingot_runtime.so"
  exports "$runtime"
  echo "a model library"
  exports "$model"
} >"$work/now.txt"

if ((is_recording)); then
  cp "$work/now.txt" "$record"
  exit 0
fi
diff -U0 "$record" "$work/now.txt" | sed '1,2d; /^@@/d' >"$work/changes" || true
if [[ -s $work/changes ]]; then
  cat "$work/changes"
  if grep -q '^-' "$work/changes"; then
    echo "check_abi: the C interface changed (- is ${record#"$root"/}): programs and libraries that were compiled before may break. Keep it, and" \
      "add what is new beside it; or, where docs/compatibility.md allows the change, say it in CHANGELOG.md and record it with --record"
  else
    echo "check_abi: the C interface has grown: record it with --record, then no later version may lose it"
  fi
  exit 1
fi
