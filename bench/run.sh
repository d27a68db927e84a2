#!/bin/bash
# How long a run of a compiled model takes, next to ONNX Runtime on the same machine, in the same
# minutes:
#   bench/run.sh [BUILD_FOLDER] [THREADS] [MODEL...]
# Models are those of the golden zoo that have an ONNX file. Each is measured INGOT_ROUNDS=3 times
# in turn with its peer, INGOT_SECONDS=2 long; what counts is the best median of each, since
# machines are shared. Beside the peer's time stands how far its outputs are from PyTorch's. Needs
# python3 with numpy and onnx (Debian: python3-numpy python3-onnx), and where it has no onnxruntime,
# node and npm; keeps what it makes in BUILD_FOLDER/peers.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/release} threads=${2:-1} rounds=${INGOT_ROUNDS:-3} seconds=${INGOT_SECONDS:-2}
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
with_ort=$(python_with onnxruntime)
if [ -z "$with_ort" ] && ! [ -d "$work/node_modules/onnxruntime-node" ]; then
  (cd "$work" && npm install --silent --ignore-scripts onnxruntime-node@1.30.0)
fi

# Prints a line of JSON about MODEL.
run_peer() {  # MODEL CASE
  if [ -n "$with_ort" ]; then
    "$with_ort" bench/peers/ort.py "$work/$1/model.onnx" "$2" "$threads" "$seconds"
  else
    (cd "$work" && node "$OLDPWD/bench/peers/ort.mjs" "$1/model.onnx" "$OLDPWD/$2" "$threads" "$seconds")
  fi
}

number() { grep -oE "\"$1\": *[0-9.e-]+" | grep -oE '[0-9.e-]+$'; }
less() { awk -v a="$1" -v b="$2" 'BEGIN { print (a == "" || b < a) ? b : a }'; }

printf '%-20s %12s %14s %8s %12s\n' "$threads thread(s)" 'ingot ms' 'onnxruntime ms' ratio difference
for m in "${models[@]}"; do
  case=$build/golden/zoo/$m/case0.safetensors
  [ -f "$work/$m/model.onnx" ] || "$(python_with numpy,onnx)" bench/peers/materialize.py "$build/golden/zoo/$m" "$work/$m" > /dev/null
  "$build/ingot" compile "$work/$m/model.pt2" -o "$work/$m.so" > /dev/null
  ours='' theirs='' difference=''
  for ((round = 0; round < rounds; ++round)); do
    t=$("$build/ingot" bench "$work/$m.so" --input "$case" --threads "$threads" --seconds "$seconds" --json | number median_s)
    ours=$(less "$ours" "$(awk -v t="$t" 'BEGIN { print 1000 * t }')")
    line=$(run_peer "$m" "$case")
    theirs=$(less "$theirs" "$(number median_ms <<< "$line")")
    difference=$(number maxdiff <<< "$line")
  done
  printf '%-20s %12.2f %14.2f %8.2f %12.1e\n' "$m" "$ours" "$theirs" "$(awk -v a="$ours" -v b="$theirs" 'BEGIN { print a / b }')" "$difference"
done
