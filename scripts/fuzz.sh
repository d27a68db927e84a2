#!/bin/bash
# Builds the fuzz targets (tests/fuzz/*_fuzz.cpp) and runs each for some seconds:
#   scripts/fuzz.sh [SECONDS [TARGET...]]
# Needs the libraries of the release build. What a run learns is kept in build/fuzz/corpus; an input
# that breaks something is left in build/fuzz, and the run fails.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seconds=${1:-30}
shift || true
build=build/fuzz
jobs=${INGOT_JOBS:-$(nproc)}
test -f $build/build.ninja ||
  cmake -S tests/fuzz -B $build -G Ninja -DCMAKE_CXX_COMPILER=clang++-19 -DINGOT_RELEASE="$PWD/build/release" >/dev/null
cmake --build $build -j "$jobs"

# Code of the release build does not annotate its containers.
export ASAN_OPTIONS=detect_container_overflow=0:detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1
run() {
  local name=$1 seeds=tests/fuzz/corpus/${1%_fuzz} dict=tests/fuzz/dict/${1%_fuzz}.dict
  test -f "$dict" || dict=tests/fuzz/dict/json.dict
  mkdir -p $build/corpus/"$name" "$seeds"
  # In parts: expressions live as long as their process (src/expr), which would run out of memory.
  local left=$seconds part inputs=0
  while ((left > 0)); do
    part=$((left < 100 ? left : 100))
    left=$((left - part))
    if ! $build/"$name" -max_total_time="$part" -timeout=10 -rss_limit_mb=2048 -malloc_limit_mb=1024 -max_len=65536 \
        -dict="$dict" -print_final_stats=1 -verbosity=0 -artifact_prefix=$build/"$name"- \
        $build/corpus/"$name" "$seeds" >$build/"$name".log 2>&1; then
      tail -n 60 $build/"$name".log
      echo "fuzz: $name failed; its input is beside $build/$name.log"
      return 1
    fi
    inputs=$((inputs + $(sed -n 's/^stat::number_of_executed_units: *//p' $build/"$name".log)))
  done
  echo "fuzz: $name ran $inputs inputs in ${seconds} s"
}
export -f run
export seconds build

targets=("$@")
((${#targets[@]})) || mapfile -t targets < <(cd tests/fuzz && ls -- *_fuzz.cpp | sed 's/\.cpp$//')
printf '%s\n' "${targets[@]}" | xargs -P "$jobs" -I{} bash -c 'set -euo pipefail; run {}'
