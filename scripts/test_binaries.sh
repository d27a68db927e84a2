#!/bin/sh
# What is handed on says nothing about the machine that built it, cannot be patched once it is
# loaded, and tells processor and loader what of its control flow they may guard.
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
for file in "$build"/ingot "$build"/lib/libingot_runtime.so "$build"/lib/libingot_host.so "$build"/lib/libingot.so "$build"/lib/libingot_*_*64.a "$work/model.so"; do
  if grep -aqF "$source/" "$file"; then fail "$file names $(grep -aoF "$source/" "$file" | wc -l) files of $source"; fi
done
for file in "$build"/ingot "$build"/lib/libingot_runtime.so "$build"/lib/libingot_host.so "$build"/lib/libingot.so "$work/model.so"; do
  readelf -lW "$file" >"$work/segments"
  readelf -dW "$file" >"$work/dynamic"
  grep -q GNU_RELRO "$work/segments" || fail "$file: its tables stay writable (no RELRO)"
  grep -Eq 'BIND_NOW|Flags:.*NOW' "$work/dynamic" || fail "$file: its functions are looked up late (no BIND_NOW)"
  if grep GNU_STACK "$work/segments" | grep -q E; then fail "$file: an executable stack"; fi
done
# What SECURITY.md says has guarded stacks. The sources of an archive have the same flags, so that
# one that calls the guard speaks for all; but for op, of which those that read texts are looked at.
# Programs are linked with what is guarded: their own objects are looked at.
stack_guarded() {  # WHAT FILE...
  what=$1
  shift
  nm -u "$@" 2>/dev/null | grep -q __stack_chk_ || fail "$what: its stack is not guarded"
}
for part in io format program graph loop expr check runtime runner nn pass compiler; do
  stack_guarded "libingot_$part.a" "$build/lib/libingot_$part.a"
done
for file in "$source"/src/op/text_*.cpp; do
  member=$(basename "$file").o
  ar p "$build/lib/libingot_op.a" "$member" >"$work/$member"
  stack_guarded "$member of libingot_op.a" "$work/$member"
done
for target in ingot ingot_runtime_shared; do
  stack_guarded "$target" $(find "$build/CMakeFiles/$target.dir" -name '*.o')
done

# Returns are guarded by a shadow stack (SHSTK) or signatures (PAC), calls through pointers by marks
# where they may go (IBT, BTI).
guarded() {
  readelf -nW "$1" | grep -Eq "feature: $2(,|\$)" ||
    fail "$1: not marked $2, but '$(readelf -nW "$1" | sed -n 's/.*feature: //p')'"
}
all_guarded() {  # of an archive, what is compiled here
  readelf -nW "$1" | awk -v marks="feature: ($2)(,|\$)" '
    /^File: / { ours = /\.cpp\.o\)$/; members += ours }
    ours && $0 ~ marks { marked++ }
    END { if (!members || marked != members) { print marked + 0 " of " members + 0; exit 1 } }' >"$work/marked" ||
    fail "$1: $(cat "$work/marked") members are marked $2"
}
all_guarded "$build/lib/libingot_eager_x86_64.a" 'SHSTK|IBT, SHSTK'
all_guarded "$build/lib/libingot_eager_aarch64.a" 'PAC|BTI, PAC'
for target in x86_64:'IBT, SHSTK' aarch64:'BTI, PAC'; do
  arch=${target%%:*}
  marks=${target#*:}
  all_guarded "$build/lib/libingot_model_$arch.a" "$marks"
  all_guarded "$build/lib/libingot_kernels_$arch.a" "$marks"
  "$build/ingot" compile "$build/golden/models/mlp/model.pt2" --target "$arch-linux-gnu" -o "$work/$arch.so" >/dev/null
  guarded "$work/$arch.so" "$marks"
done
if [ "$(uname -m)" = x86_64 ]; then  # of aarch64 the C++ runtime decides
  for file in "$build"/ingot "$build"/lib/libingot_runtime.so "$build"/lib/libingot_host.so "$build"/lib/libingot.so "$work/model.so"; do
    guarded "$file" SHSTK
  done
fi
exit $failed
