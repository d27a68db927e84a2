#!/bin/sh
# Compiles an exported vision model and a small language model, runs both and says what it did.
# Called by `make demo`.
set -eu
cd "$(dirname "$0")/.."
build=build/${PRESET:-release}
ingot=$build/ingot
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

show() {  # NAME WHAT
  model=$build/golden/models/$1
  echo
  echo "$2"
  echo "  \$ ingot compile $1.pt2 -o $1.so"
  "$ingot" compile "$model/model.pt2" -o "$work/$1.so" | sed "s|$work/||; s/^/  /"
  echo "  \$ ingot run $1.so --input case0.safetensors"
  "$ingot" run "$work/$1.so" --input "$model/case0.safetensors" | sed 's/^/  /'
  echo "  \$ ingot check $1.so case0.safetensors --against $1.pt2      # PyTorch's own numbers"
  "$ingot" check "$work/$1.so" "$model/case0.safetensors" --against "$model/model.pt2" | sed "s|^$model/||; s/^/  /"
  echo "  \$ ingot bench $1.so --input case0.safetensors      # the same inputs, once everything is warm"
  "$ingot" bench "$work/$1.so" --input "$model/case0.safetensors" --seconds 1 | sed "s|$work/||; s/^/  /"
}

echo "Ingot compiles PyTorch exported programs to shared libraries that need nothing but libc."
show resnet_tiny "A convolutional network:"
show gpt_tiny "A language model, any batch and sequence length:"
echo
echo "Each library has the machine code, the weights and a C interface; it was made without PyTorch, Python or a C++ compiler,"
echo "and runs from C (include/ingot/ingot.h), C++, the command line, or PyTorch's own aot_load."
echo "Once \`make build\` was run, models with rarer ops compile too, and --target aarch64-linux-gnu, or x86_64-linux-gnu, makes the same"
echo "for the other architecture."
