// The contract (ingot/aot/function.hpp) with the types that it leaves to whoever makes compilers
// and partitioners.
#pragma once
#include "aot/partition.hpp"
#include "graph/trace.hpp"
#include "ingot/aot/function.hpp"
#include "nn/training_flag.hpp"
