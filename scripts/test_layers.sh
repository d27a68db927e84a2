#!/bin/bash
# The sources keep to the table of docs/architecture.md, and scripts/check_layers.sh finds includes
# that do not.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
"$root/scripts/check_layers.sh" "$root"

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
mkdir "$copy/docs"
cp "$root/docs/architecture.md" "$copy/docs"
cp -r "$root/src" "$root/include" "$copy"

# expect FILE INCLUDE WORDS: with the include at the end of the file, the check fails with the
# words.
expect() {
  local said
  cp "$copy/$1" "$copy/before"
  printf '#include %s\n' "$2" >>"$copy/$1"
  if said=$("$root/scripts/check_layers.sh" "$copy" 2>&1); then
    echo "test_layers: $1 with #include $2 passed the check" >&2
    exit 1
  fi
  if [[ "$said" != "$1:"*"$3"* ]]; then
    printf 'test_layers: expected "%s", found:\n%s\n' "$3" "$said" >&2
    exit 1
  fi
  cp "$copy/before" "$copy/$1"
}
expect src/op/call.cpp '"autograd/meta.hpp"' "src/op may not use autograd"
expect src/expr/scalar.hpp '"tensor/storage.hpp"' "src/expr may not use tensor"
expect src/op/call.cpp '"model/container.h"' "src/op may not use model"  # its row names one header of that folder
expect src/compiler/pipeline.cpp '"format/pt2/spelling.hpp"' "src/compiler may not use format"  # it comes after it in the table
expect src/base/error.cpp '<compiler/pipeline.hpp>' "src/base may not use compiler"  # angle brackets find it as well
expect src/loop/lower.cpp '<llvm/IR/Module.h>' "codegen and backend alone include LLVM"
expect src/loop/schedule.cpp '"codegen/target.hpp"' "src/loop may not use codegen"  # what a machine is, a backend says
expect src/codegen/level.cpp '"backend/backend.hpp"' "src/codegen may not use backend"
mkdir "$copy/src/attic"
echo > "$copy/src/attic/old.cpp"
expect src/attic/old.cpp '"base/error.hpp"' "the table has no row for src/attic"
expect src/host/session.cpp '"host/torch/handle.hpp"' "src/host may not use host/torch"  # a folder in a folder has a row of its own
expect include/ingot/ingot.hpp '"op/call.hpp"' "a public header includes one that is not"  # users have no such file
expect include/ingot/ingot.hpp '<op/call.hpp>' "a public header includes one that is not"

# too_long FILE: the check fails over the file, if it has 601 lines.
too_long() {
  local said
  mkdir -p "$(dirname "$copy/$1")"
  seq -f '// line %g' 601 >"$copy/$1"
  if said=$("$root/scripts/check_layers.sh" "$copy" 2>&1) || [[ "$said" != "$1: 601 lines"* ]]; then
    printf 'test_layers: expected 601 lines of %s to be found, found:\n%s\n' "$1" "$said" >&2
    exit 1
  fi
  rm "$copy/$1"
}
for file in src/base/long.cpp docs/long.md scripts/long.sh scripts/gpu/long.py cmake/long.cmake cmake/archives/CMakeLists.txt .ci/run; do
  too_long "$file"
done
# What a script writes, or others wrote, is as long as it is.
mkdir "$copy/docs/spec"
seq 601 | tee "$copy/docs/status.md" >"$copy/docs/spec/long.md"
"$root/scripts/check_layers.sh" "$copy"
