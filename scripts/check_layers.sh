#!/bin/bash
# Holds every #include under src/, in quotes or angle brackets, against the table of folders in
# docs/architecture.md: a folder may use what its row names, and all that those may use. A file
# belongs to the innermost folder around it that has a row. Any folder may use the public headers
# (ingot/…): they need none of the folders, and what is called through one is a symbol, which
# scripts/check_links.sh holds to the same table. Prints what no row allows, and then fails: as for
# a public header that includes one that is not, and for a file past 600 lines that somebody writes,
# be it a source, a script, a build file or a page of docs/.
#   scripts/check_layers.sh [ROOT]
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"

awk '
  # The folder of a path (under src/) that has a row; the outermost one where none has.
  function row_of(path,  at) {
    for (at = path; sub(/\/[^\/]*$/, "", at);) if (at in allowed) return at
    sub(/\/.*$/, "", path)
    return path
  }
  FNR == NR {  # the table: | `src/NAME/` | what lives there | may use |
    if ($0 !~ /^\| `src\//) next
    n = split($0, cell, "|")
    folder = cell[2]; gsub(/[` ]/, "", folder); sub(/^src\//, "", folder); sub(/\/$/, "", folder)
    uses = cell[n - 1]; gsub(/[` ]/, "", uses)
    sub(/everythingabove/, above, uses)
    above = above (above == "" ? "" : ",") folder
    allowed[folder] = folder
    for (i = split(uses, use, ","); i > 0; i--)
      allowed[folder] = allowed[folder] "," (use[i] in allowed ? allowed[use[i]] : use[i])
    next
  }
  {  # src/NAME/file.cpp:12:#include "other/file.hpp"
    split($0, at, ":"); file = at[1]; sub(/^src\//, "", file); folder = row_of(file)
    header = $0; sub(/^[^"<]*["<]/, "", header); sub(/[">].*$/, "", header)
    used = row_of(header)
    # Angle brackets find our folders as quotes do; other names in them are of libraries.
    outside = $0 ~ /^[^"]*</ && !(used in allowed) && used != "ingot"
    wrong = ""
    if (file ~ /^include\//) { if (!outside && used != "ingot") wrong = "a public header includes one that is not" }
    else if (outside) { if ((used == "llvm" || used == "lld") && folder != "codegen" && folder != "backend") wrong = "codegen and backend alone include LLVM" }
    else if (!(folder in allowed)) wrong = "the table has no row for src/" folder
    else if (header ~ /\// && used != "ingot" && index("," allowed[folder] ",", "," used ",") == 0 &&
             index("," allowed[folder] ",", "," header ",") == 0) wrong = "src/" folder " may not use " used
    if (wrong != "") { print at[1] ":" at[2] ": #include of " header ": " wrong > "/dev/stderr"; failed = 1 }
    seen++
  }
  END {
    if (seen < 100) { print "check_layers: " seen + 0 " includes found; is this the root of the sources?" > "/dev/stderr"; failed = 1 }
    exit failed
  }
' docs/architecture.md <(grep -rnE --include='*.cpp' --include='*.hpp' --include='*.h' '^ *# *include *["<]' src include | LC_ALL=C sort)

longest=600
if find $(ls -d src include tests bench examples cmake scripts docs CMakeLists.txt Makefile .ci 2>/dev/null) -type f \
    ! -path 'docs/spec/*' ! -path docs/status.md \
    \( -name '*.[ch]' -o -name '*.[ch]pp' -o -name '*.md' -o -name '*.sh' -o -name '*.py' -o -name '*.mjs' -o -name '*.cmake' \
      -o -name CMakeLists.txt -o -name Makefile -o -path '.ci/*' \) -print0 | xargs -0 wc -l |
  awk -v longest=$longest '$2 != "total" && $1 > longest {print $2 ": " $1 " lines, more than " longest; found = 1} END {exit !found}' >&2; then
  exit 1
fi
