#!/bin/bash
# How long a run of a compiled model takes, next to ONNX Runtime on the same machine, in the same
# minutes:
#   bench/run.sh [BUILD_FOLDER] [THREADS] [MODEL...]
# Models are those of the golden zoo that have an ONNX file. Each is measured three times in turn
# with its peer; what counts is the best median of each, since machines are shared. Outputs of both
# are compared with PyTorch's. Needs node and npm, and python3 with numpy and onnx (Debian: npm
# python3-numpy python3-onnx); keeps what it makes in BUILD_FOLDER/peers.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/release} threads=${2:-1}
models=("${@:3}")
[ ${#models[@]} -gt 0 ] || models=(resnet18 resnet50 mobilenet_v3_large efficientnet_b0 convnext_tiny vit_b_16 bert_base gpt2 llama_160m)
work=$build/peers
mkdir -p "$work"
[ -d "$work/node_modules/onnxruntime-node" ] || (cd "$work" && npm install --silent --ignore-scripts onnxruntime-node@1.30.0)

number() { grep -oE "\"$1\": *[0-9.e-]+" | grep -oE '[0-9.e-]+$'; }
less() { awk -v a="$1" -v b="$2" 'BEGIN { print (a == "" || b < a) ? b : a }'; }

printf '%-20s %12s %14s %8s\n' "$threads thread(s)" 'ingot ms' 'onnxruntime ms' ratio
for m in "${models[@]}"; do
  case=$build/golden/zoo/$m/case0.safetensors
  [ -f "$work/$m/model.onnx" ] || /usr/bin/python3 bench/peers/materialize.py "$build/golden/zoo/$m" "$work/$m" > /dev/null
  "$build/ingot" compile "$work/$m/model.pt2" -o "$work/$m.so" > /dev/null
  ours='' theirs=''
  for _ in 1 2 3; do
    t=$("$build/ingot" bench "$work/$m.so" --input "$case" --threads "$threads" --seconds 2 --json | number median_s)
    ours=$(less "$ours" "$(awk -v t="$t" 'BEGIN { print 1000 * t }')")
    t=$(cd "$work" && node "$OLDPWD/bench/peers/ort.mjs" "$m/model.onnx" "$OLDPWD/$case" "$threads" 2 | number median_ms)
    theirs=$(less "$theirs" "$t")
  done
  printf '%-20s %12.2f %14.2f %8.2f\n' "$m" "$ours" "$theirs" "$(awk -v a="$ours" -v b="$theirs" 'BEGIN { print a / b }')"
done
