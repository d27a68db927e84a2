#!/bin/sh
# What is handed on says nothing about the machine that built it, and cannot be patched once it is loaded.
#   scripts/test_binaries.sh BUILD_DIR
set -eu
build=$1
source=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
fail() { echo "$@"; failed=1; }

# A model with ops of the eager library in it has more code of ours than any other.
"$build/ingot" compile "$build/golden/entries/prefill.pt2" -o "$work/model.so" >/dev/null
for file in "$build"/ingot "$build"/lib/libingot_runtime.so "$build"/lib/libingot_host.so "$build"/lib/libingot_*_*64.a "$work/model.so"; do
  if grep -aqF "$source/" "$file"; then fail "$file names $(grep -aoF "$source/" "$file" | wc -l) files of $source"; fi
done
for file in "$build"/ingot "$build"/lib/libingot_runtime.so "$build"/lib/libingot_host.so "$work/model.so"; do
  readelf -lW "$file" >"$work/segments"
  readelf -dW "$file" >"$work/dynamic"
  grep -q GNU_RELRO "$work/segments" || fail "$file: its tables stay writable (no RELRO)"
  grep -Eq 'BIND_NOW|Flags:.*NOW' "$work/dynamic" || fail "$file: its functions are looked up late (no BIND_NOW)"
  if grep GNU_STACK "$work/segments" | grep -q E; then fail "$file: an executable stack"; fi
done
# What reads files checks that its stack is whole.
for file in "$build"/lib/libingot_io.a "$build"/lib/libingot_format.a "$build"/lib/libingot_runtime.a; do
  nm -u "$file" 2>/dev/null | grep -q __stack_chk_ || fail "$file: its stack is not guarded"
done
exit $failed
