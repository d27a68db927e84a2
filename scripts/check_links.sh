#!/bin/bash
# Holds the symbols of every static library against what CMake lets it link: a library may need what
# those that it uses define, and nothing of a library above it. Prints what reaches up, and then
# fails.
#   scripts/check_links.sh BUILD_DIR [LAYERS]
# LAYERS has a line a library, after those that it uses: NAME USED... CMake writes it
# (BUILD_DIR/layers.txt).
set -euo pipefail
libraries=$1/lib
layers=${2:-$1/layers.txt}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

while read -r name _; do
  archive=$libraries/libingot_$name.a
  [[ -f $archive ]] || { echo "check_links: $archive is not built" >&2; exit 1; }
  nm --defined-only -A "$archive" | awk -v name="$name" 'NF > 2 { print "defines", name, $NF }'
  nm --undefined-only "$archive" | awk -v name="$name" '$1 == "U" { print "needs", name, $NF }'
done <"$layers" >"$work/symbols"
[[ $(wc -l <"$layers") -ge 10 ]] || { echo "check_links: $layers lists too few libraries" >&2; exit 1; }

awk '
  FNR == NR {
    allowed[$1] = " " $1 " "
    for (i = 2; i <= NF; i++) allowed[$1] = allowed[$1] allowed[$i]
    next
  }
  $1 == "defines" { by[$3] = by[$3] " " $2; next }
  { needs[$2 " " $3] }
  END {
    for (n in needs) {
      split(n, part, " ")
      count = split(by[part[2]], owners, " ")
      for (i = 1; i <= count && !index(allowed[part[1]], " " owners[i] " "); i++);
      if (count && i > count) print "libingot_" part[1] ".a needs " part[2] ", which it may not use of libingot_" owners[1] ".a"
    }
  }
' "$layers" "$work/symbols" | LC_ALL=C sort | c++filt >"$work/found"
cat "$work/found" >&2
[[ ! -s $work/found ]]
