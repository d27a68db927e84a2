// Functions and modules compiled ahead of their runs, with their gradients: the options, where
// forward and backward part and how much memory they may keep, guards, and a cache on disk.
// ingot/compile.hpp has Ingot's own compiler for them.
//
//   const aot::AotFunction step = aot::memory_efficient_fusion(loss);   // ingot/compile.hpp
//   step({x, w})[0].backward();
#pragma once
#include "ingot/aot/cache.hpp"
#include "ingot/aot/function.hpp"
#include "ingot/aot/module.hpp"
#include "ingot/aot/partition.hpp"
