// Ops: called by name, and defined, with schema, shape rule, kernel, gradient, lowering and
// batching.
#pragma once
#include "ingot/error.hpp"  // what rules throw
#include "ingot/op/batching.hpp"
#include "ingot/op/call.hpp"
#include "ingot/op/definition.hpp"
#include "ingot/op/lowering.hpp"
#include "ingot/op/vjp.hpp"
