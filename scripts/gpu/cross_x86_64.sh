#!/bin/bash
# Builds Ingot and its tests for x86_64 on an aarch64 machine (Debian 12 or 13), and packs them into
# one archive that runs on an x86_64 machine without LLVM, without a compiler and without a network:
# the machines with GPUs are such.
#
#   scripts/gpu/cross_x86_64.sh [TARGET...]      (INGOT_JOBS=N: how much is compiled at once)
#
# The archive is build/x86_64.tar.xz. There, at the root of a copy of this repository:
#
#   tar xJf x86_64.tar.xz
#   for f in tests/golden/*.tar.xz; do tar xJf $f -C build/x86_64/golden; done
#   build/x86_64/ingot_golden_tests
#
# Tests are started at the root: they look for their files from there. libc must be 2.35 or newer.
# Where there is no libstdc++.so.6, which libsimdjson needs: LD_LIBRARY_PATH=build/x86_64/lib/spare.
set -euo pipefail
cd "$(dirname "$0")/../.."

jobs=${INGOT_JOBS:-$(nproc)}
targets=("$@")
((${#targets[@]})) || targets=(ingot ingot_program_fuzz ingot_exhaustive_tests ingot_golden_tests ingot_cli_tests ingot_unit_tests ingot_e2e_tests)
work=$PWD/build/cross  # what belongs to the target machine
sysroot=$work/sysroot
build=build/x86_64

scripts/setup.sh

# The target's libraries, from Debian's packages. apt gets lists of its own: the packages of this
# machine, and which architectures it installs, stay as they are, and root is not needed.
packages=(
  llvm-19-dev liblld-19-dev liblld-19 zlib1g-dev libzstd-dev libxxhash-dev libcli11-dev libgtest-dev libbenchmark-dev
  libsimdjson-dev libfmt-dev libsodium-dev
)
if [[ ! -f $work/done ]]; then
  rm -rf "$work"
  mkdir -p "$work"/{lists,cache,debs,sysroot}
  touch "$work/status"
  apt=(apt-get -qq -o APT::Architecture=amd64 -o APT::Architectures::=amd64 -o APT::Sandbox::User= -o Dir::State::Lists="$work/lists"
       -o Dir::State::status="$work/status" -o Dir::Cache="$work/cache")
  "${apt[@]}" update
  # The shared libraries of those that have no static one are named after their versions: they are
  # what the packages depend on.
  mapfile -t shared < <(apt-cache "${apt[@]:2}" depends libsimdjson-dev libfmt-dev libbenchmark-dev |
    sed -n 's/^ *Depends: \(lib\(simdjson\|fmt\|benchmark\)[0-9][^ ]*\)$/\1/p')
  (cd "$work/debs" && "${apt[@]}" download "${packages[@]}" "${shared[@]}")
  for package in "$work"/debs/*.deb; do
    dpkg -x "$package" "$sysroot"
  done
  # Links whose library is not there: what has a static library is linked statically.
  find "$sysroot/usr/lib" -xtype l -name '*.so*' -delete
  # LLVM's own list of what it needs names files of the system that it is installed in; and its
  # programs, which are not here.
  sed -i 's#/usr/lib/x86_64-linux-gnu/libz3\.so;##; s#zstd::libzstd_shared#zstd::libzstd_static#' \
    "$sysroot/usr/lib/llvm-19/lib/cmake/llvm/LLVMExports.cmake"
  sed -i '/list(APPEND _cmake_import_check_/d' "$sysroot"/usr/lib/llvm-19/lib/cmake/{llvm,lld}/*.cmake
  rm -rf "$work"/{lists,cache,debs}
  touch "$work/done"
fi

# libstdc++ draws seeds with arc4random, the only function that libc 2.35, which Ubuntu 22.04 has,
# lacks.
x86_64-linux-gnu-gcc -O2 -fPIC -x c -c -o "$work/arc4random.o" - <<EOF
#include <sys/random.h>
unsigned arc4random(void) {
  unsigned drawn;
  while (getrandom(&drawn, sizeof drawn, 0) != sizeof drawn);
  return drawn;
}
EOF

# -isystem: pkg-config leaves out /usr/include, which is not where these compilers look.
# INGOT_STATIC_ZLIB: zlib is a static library here anyhow, and libingot_runtime.so cannot take it in
# twice.
if [[ ! -f $build/build.ninja ]]; then
  cat >"$work/toolchain.cmake" <<EOF
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_LIBRARY_ARCHITECTURE x86_64-linux-gnu)
set(CMAKE_C_COMPILER x86_64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER x86_64-linux-gnu-g++)
set(CMAKE_CXX_FLAGS_INIT "-isystem $sysroot/usr/include")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-static-libstdc++ -static-libgcc $work/arc4random.o")
set(CMAKE_FIND_ROOT_PATH $sysroot)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-x86_64;-L;/usr/x86_64-linux-gnu)
set(ENV{PKG_CONFIG_LIBDIR} $sysroot/usr/lib/x86_64-linux-gnu/pkgconfig:$sysroot/usr/share/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} $sysroot)
EOF
  cmake -G Ninja -B "$build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_TOOLCHAIN_FILE="$work/toolchain.cmake" \
    -DLLVM_DIR="$sysroot/usr/lib/llvm-19/lib/cmake/llvm" -DINGOT_MOVABLE_TESTS=ON -DINGOT_STATIC_ZLIB=OFF \
    -DCMAKE_BUILD_WITH_INSTALL_RPATH=ON -DCMAKE_INSTALL_RPATH="\$ORIGIN/lib"
fi
cmake --build "$build" -j "$jobs" --target "${targets[@]}"

# What models are linked with lies in lib, beside the programs (src/codegen/link.cpp). So does
# libsimdjson, which has no static library.
pack=$work/pack
rm -rf "$pack"
mkdir -p "$pack/$build"/{golden,lib/spare}
for target in "${targets[@]}"; do
  x86_64-linux-gnu-strip -o "$pack/$build/$target" "$build/$target"
done
find "$build/lib" -name 'libingot_*_*64.a' -o -name 'lib[cm]_*.so' | xargs cp -t "$pack/$build/lib"
find "$build" -maxdepth 1 -name 'model_runner_*' | xargs -r cp -t "$pack/$build"
cp -P "$sysroot"/usr/lib/x86_64-linux-gnu/libsimdjson.so.* "$pack/$build/lib"
for library in libstdc++.so.6 libgcc_s.so.1; do
  cp "$(x86_64-linux-gnu-g++ -print-file-name=$library)" "$pack/$build/lib/spare"
done
# The programs have LLVM in common: a dictionary larger than one of them finds it again in the next.
tar --sort=name --owner=0 --group=0 -C "$pack" -c "$build" | xz --lzma2=preset=2,dict=192MiB >build/x86_64.tar.xz
ls -l build/x86_64.tar.xz
