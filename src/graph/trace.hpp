// Runs a function on fake tensors and records every operator call: the trace layer of `call`.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "expr/guards.hpp"
#include "graph/graph.hpp"

namespace ingot {

using TensorFunction = std::function<TensorList(const TensorList&)>;

// Size `dim` of input `input` stays open: it is the symbol `name`, in [lo, hi]. Sizes of one name are one symbol. Zero and
// one are left out of the default range, as PyTorch does, so that no rule need ask whether a size broadcasts.
struct OpenSize {
  int input = 0;
  int dim = 0;
  std::string name = "s0";
  int64_t lo = 2;
  int64_t hi = kUnbounded;
};

// What the function did for the example's sizes, and for all sizes for which every guard of `sizes` has its answer.
struct Traced {
  Graph graph;
  HintEnv sizes;
};

// `f` sees fake tensors with the examples' sizes, strides and dtypes, open sizes as symbols with the example's value for
// a hint. Composites have come apart, so nodes are ops with rules of their own; the node's `meta` is its fake result. A
// tensor that `f` brings along becomes an attribute of the graph. A symbolic number in an argument becomes sym_size and
// scalar nodes, made at its first use.
// User errors: a call that writes to a tensor (functionalize will take those away), a traced value read as a number, an
// open size that does not fit its example.
Traced trace(const TensorFunction& f, const TensorList& examples, const std::vector<OpenSize>& open = {});

}  // namespace ingot
