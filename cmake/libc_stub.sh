#!/bin/bash
# libc_stub.sh COMPILER READELF LIBRARY OUTPUT: a shared library without code that has the name, the
# symbols and the symbol versions of the compiler's LIBRARY (libc.so.6, libm.so.6). Models are
# linked against it, on machines that have neither a compiler nor the target's libc; without
# versions they would be bound to the oldest form of every function. libc's has the loader's symbols
# too (__tls_get_addr): libc needs the loader, so they are found wherever libc is, and a library
# that uses thread-local variables need not name the loader.
set -euo pipefail
export LC_ALL=C
compiler=$1 readelf=$2 library=$3 output=$4

real=$("$compiler" -print-file-name="$library")
if [[ ! -f "$real" ]]; then
  echo "libc_stub: $compiler does not know $library" >&2
  exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Lines of readelf: number, value, size, type, binding, visibility, section, name@@VERSION (one @ if
# it is not the default). The versions themselves are listed among them (section ABS).
loader=
if [[ $library == libc.so.6 ]]; then
  loader=$("$readelf" -d "$real" | sed -n 's/.*(NEEDED).*\[\(ld-linux.*\)\]/\1/p')
  loader=$("$compiler" -print-file-name="$loader")
fi
"$readelf" -W --dyn-syms "$real" ${loader:+"$loader"} | awk -v asm="$work/stub.s" -v map="$work/stub.map" '
  $4 ~ /^(FUNC|IFUNC|OBJECT)$/ && $7 !~ /^(UND|ABS)$/ && $8 ~ /@@GLIBC_[0-9.]+$/ {
    split($8, part, "@@")
    kind = $4 == "OBJECT" ? "object" : "function"
    printf ".globl stub_%d\n.type stub_%d, %%%s\nstub_%d: .byte 0\n.size stub_%d, %d\n", NR, NR, kind, NR, NR, $3 > asm
    printf ".symver stub_%d, %s, remove\n", NR, $8 > asm
    versions[part[2]] = 1
  }
  END {
    print ".section .note.GNU-stack,\"\",%progbits" > asm
    for (v in versions) printf "%s {};\n", v > map
  }'
sort -o "$work/stub.map" "$work/stub.map"
"$compiler" -shared -s -nostdlib -Wl,-soname,"$library" -Wl,--version-script="$work/stub.map" -Wl,--build-id=none \
  -o "$output" "$work/stub.s"
