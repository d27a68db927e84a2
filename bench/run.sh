#!/bin/bash
# How long a run of a compiled model takes, next to ONNX Runtime on the same machine, in the same
# minutes:
#   bench/run.sh [BUILD_FOLDER] [THREADS] [MODEL...]
# or next to what another build of Ingot makes of it, with the time that both compile for and the
# size of both libraries, without weights:
#   bench/run.sh --against OLD_BUILD_FOLDER [BUILD_FOLDER] [THREADS] [MODEL...]
# THREADS may be several numbers (1,4). Models are those of the golden zoo that have an ONNX file.
# Each is measured INGOT_ROUNDS=3 times in turn with its peer, INGOT_SECONDS=2 long; what counts is
# the best median of each, since machines are shared, and the fastest compile. A ratio is that of
# BUILD_FOLDER to its peer: below 1, BUILD_FOLDER is faster or smaller. Beside the time of ONNX
# Runtime stands how far its outputs are from PyTorch's. Needs python3 with numpy and, for ONNX
# Runtime, onnx (Debian: python3-numpy python3-onnx), and where it has no onnxruntime, node and npm;
# keeps what it makes in BUILD_FOLDER/peers.
set -euo pipefail
cd "$(dirname "$0")/.."
old=
if [ "${1:-}" = --against ]; then
  [ -x "${2:-}/ingot" ] || { echo "run.sh: --against: expected a build folder, found '${2:-}', which has no program 'ingot'" >&2; exit 2; }
  old=$2
  shift 2
fi
build=${1:-build/release} thread_counts=${2:-1} rounds=${INGOT_ROUNDS:-3} seconds=${INGOT_SECONDS:-2}
models=("${@:3}")
[ ${#models[@]} -gt 0 ] || models=(resnet18 resnet50 mobilenet_v3_large efficientnet_b0 convnext_tiny vit_b_16 bert_base gpt2 llama_160m)
work=$build/peers
mkdir -p "$work"

# The first python3 that has the modules: one of the user's may hide the system's.
python_with() {
  local python
  for python in python3 /usr/bin/python3; do
    if "$python" -c "import $1" 2> /dev/null; then echo "$python"; return; fi
  done
}

number() { grep -oE "\"$1\": *[0-9.e-]+" | grep -oE '[0-9.e-]+$' | awk 'NR == 1'; }  # the first of that name
less() { awk -v a="$1" -v b="$2" 'BEGIN { print (a == "" || b + 0 < a + 0) ? b : a }'; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", a / b }'; }

# The median, in milliseconds.
run_time() {  # BUILD_FOLDER LIBRARY CASE THREADS
  "$1/ingot" bench "$2" --input "$3" --threads "$4" --seconds "$seconds" --json | number median_s | awk '{ print 1000 * $1 }'
}
compile_time() {  # BUILD_FOLDER MODEL LIBRARY THREADS: of the whole process, in milliseconds
  local start end
  start=${EPOCHREALTIME/./}
  "$1/ingot" compile "$work/$2/model.pt2" --weights none --threads "$4" -o "$3" > /dev/null
  end=${EPOCHREALTIME/./}
  awk -v t=$((end - start)) 'BEGIN { print t / 1000 }'
}

against_old() {  # THREADS
  local m case round builds name k
  builds=("$build" "$old")
  printf '%-20s %9s %9s %6s %11s %9s %6s %11s %9s %6s\n' \
    "$1 thread(s)" 'run ms' 'old ms' ratio 'compile ms' 'old ms' ratio 'library KB' 'old KB' ratio
  for m in "${models[@]}"; do
    case=$build/golden/zoo/$m/case0.safetensors
    [ -f "$work/$m/model.pt2" ] || "$(python_with numpy)" bench/peers/materialize.py "$build/golden/zoo/$m" "$work/$m" > /dev/null
    local runs=('' '') compiles=('' '') bytes=(0 0)
    for k in 0 1; do
      name=$work/$m.$k
      "${builds[k]}/ingot" compile "$work/$m/model.pt2" -o "$name.so" > /dev/null
    done
    for ((round = 0; round < rounds; ++round)); do
      for k in 0 1; do
        name=$work/$m.$k
        compiles[k]=$(less "${compiles[k]}" "$(compile_time "${builds[k]}" "$m" "$name.none.so" "$1")")
        runs[k]=$(less "${runs[k]}" "$(run_time "${builds[k]}" "$name.so" "$case" "$1")")
        bytes[k]=$(stat -c %s "$name.none.so")
      done
    done
    printf '%-20s %9.2f %9.2f %6s %11.1f %9.1f %6s %11.1f %9.1f %6s\n' "$m" \
      "${runs[@]}" "$(ratio "${runs[@]}")" "${compiles[@]}" "$(ratio "${compiles[@]}")" \
      "$(ratio "${bytes[0]}" 1000)" "$(ratio "${bytes[1]}" 1000)" "$(ratio "${bytes[@]}")"
    rm -f "$work/$m."[01].so "$work/$m."[01].none.so
  done
}

with_ort=
install_peer() {
  with_ort=$(python_with onnxruntime)
  if [ -z "$with_ort" ] && ! [ -d "$work/node_modules/onnxruntime-node" ]; then
    (cd "$work" && npm install --silent --ignore-scripts onnxruntime-node@1.30.0)
  fi
}
# Prints a line of JSON about MODEL.
run_peer() {  # MODEL CASE THREADS
  if [ -n "$with_ort" ]; then
    "$with_ort" bench/peers/ort.py "$work/$1/model.onnx" "$2" "$3" "$seconds"
  else
    (cd "$work" && node "$OLDPWD/bench/peers/ort.mjs" "$1/model.onnx" "$OLDPWD/$2" "$3" "$seconds")
  fi
}
against_ort() {  # THREADS
  local m case round line ours theirs difference
  printf '%-20s %12s %14s %8s %12s\n' "$1 thread(s)" 'ingot ms' 'onnxruntime ms' ratio difference
  for m in "${models[@]}"; do
    case=$build/golden/zoo/$m/case0.safetensors
    [ -f "$work/$m/model.onnx" ] || "$(python_with numpy,onnx)" bench/peers/materialize.py "$build/golden/zoo/$m" "$work/$m" > /dev/null
    "$build/ingot" compile "$work/$m/model.pt2" -o "$work/$m.so" > /dev/null
    ours='' theirs='' difference=''
    for ((round = 0; round < rounds; ++round)); do
      ours=$(less "$ours" "$(run_time "$build" "$work/$m.so" "$case" "$1")")
      line=$(run_peer "$m" "$case" "$1")
      theirs=$(less "$theirs" "$(number median_ms <<< "$line")")
      difference=$(number maxdiff <<< "$line")
    done
    printf '%-20s %12.2f %14.2f %8s %12.1e\n' "$m" "$ours" "$theirs" "$(ratio "$ours" "$theirs")" "$difference"
  done
}

[ -n "$old" ] || install_peer
for threads in ${thread_counts//,/ }; do
  if [ -n "$old" ]; then against_old "$threads"; else against_ort "$threads"; fi
done
