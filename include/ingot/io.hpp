// Tensors in files and to other libraries: safetensors, npy and npz, DLPack. Modules have save and
// load of their own (ingot/nn/module.hpp), optimizers a state of tensors by name.
//
//   save_safetensors("weights.safetensors", net.state());
//   Tensor w = SafeTensors::open("weights.safetensors").get("hidden.weight");
//   save_npy("x.npy", x);
//   Tensor shared = from_dlpack(given_by_numpy);   // no copy
#pragma once
#include "ingot/dlpack.hpp"
#include "ingot/npy.hpp"
#include "ingot/safetensors.hpp"
