#!/bin/sh
# Installs what C++ programs get into a folder of its own, moves it, and builds and runs a project
# that has nothing else (tests/install/project): with the shared library, with the archive, and one
# source by pkg-config.
#   scripts/test_install_project.sh CMAKE BUILD_DIR LIBDIR
set -eu
cmake=$1 build=$2 libdir=$3
source=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset INGOT_LIB_DIR LD_LIBRARY_PATH CMAKE_PREFIX_PATH

"$cmake" --install "$build" --component runtime --prefix "$work/runtime" >/dev/null
"$cmake" --install "$build" --component compiler --prefix "$work/moved" >/dev/null
mv "$work/moved" "$work/prefix" # an installation may be moved
prefix=$work/prefix
cp -r "$source/tests/install/project" "$work/project"

# run PROGRAM ARGUMENT...: in a folder of its own, which is empty at first.
run() {
  rm -rf "$work/at"
  mkdir "$work/at"
  (cd "$work/at" && "$@")
}

"$cmake" -S "$work/project" -B "$work/built" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release >/dev/null
"$cmake" --build "$work/built" >"$work/log" || { cat "$work/log" && exit 1; }
for kind in shared static; do
  run "$work/built/outside_$kind" "$build/golden/models/mlp/model.pt2" >"$work/said" || { cat "$work/said" && exit 1; }
  grep -q '^refused: ' "$work/said" || { cat "$work/said" && exit 1; }
done
# The archive leaves no library of Ingot's to find.
if readelf -dW "$work/built/outside_static" | grep -q 'NEEDED.*libingot'; then
  echo "a program that is linked statically needs a library of Ingot's" && exit 1
fi

export PKG_CONFIG_PATH="$prefix/$libdir/pkgconfig"
# shellcheck disable=SC2046
c++ -std=c++20 -Wall -Wextra -Werror "$work/project/tiny.cpp" $(pkg-config --cflags --libs ingot-compiler) -o "$work/tiny"
LD_LIBRARY_PATH="$prefix/$libdir" run "$work/tiny"

# The program of the installation finds what models are linked with, too.
run "$prefix/bin/ingot" compile "$build/golden/models/mlp/model.pt2" -o mlp.so >/dev/null

# What is not installed is named.
if "$cmake" -S "$work/project" -B "$work/without" -DCMAKE_PREFIX_PATH="$work/runtime" >/dev/null 2>"$work/said"; then
  echo "a project that asks for the compiler configured without it" && exit 1
fi
tr -s '[:space:]' ' ' <"$work/said" | grep -q "has no component 'compiler' of Ingot" || { cat "$work/said" && exit 1; }

# LLVM stays inside of the shared library: a second copy in the process would share its registries.
nm -D --defined-only "$prefix/$libdir/libingot.so" >"$work/exports"
others=$(awk '{print $3}' "$work/exports" | grep -E 'llvm|3lld|simdjson|3fmt' | grep -v ingot | head -3 || true)
[ -z "$others" ] || { echo "libingot.so exports $others" && exit 1; }
