// C++ functions as values, for the ops that call functions.
#pragma once
#include <functional>
#include <vector>

#include "op/op.hpp"

namespace ingot {

Value make_function(std::function<Values(Args)> f);

// The gradient of a function of tensors, as a function: it takes the operands of `f` and then a gradient for each of its
// results, and returns a gradient for each operand that is `wanted`, zeros where `f` does not use it. The tape defines it
// (autograd/function_gradient.cpp).
Value gradient_function(const Value& f, std::vector<bool> wanted);

// How an op calls the functions it is given.
enum class Control : uint8_t {
  choose,      // one of two functions, once
  repeat,      // the second with what it returned last, while the first says so
  each_row,    // once for each row, results stacked
  carry_rows,  // the same, row after row, with values handed on
  combine,     // of neighbours, as a tree
};

// The same in detail, so that the call can be recorded without knowing which of the functions run, or how often. All are
// called with the same operands.
struct CallingConvention {
  Control control;
  std::string_view node_name;               // in listings; empty: the op's
  std::vector<std::string_view> functions;  // what their graphs are called: "true_graph"
  int closure = 0;                          // the list argument that takes what the functions bring along
  // What a function is called with: of a tensor that is gone along, one row.
  Values (*operands)(const Call&) = nullptr;
  // What the op returns, given what each function returned for these operands; user error where they do not fit. On fakes.
  Values (*results)(const Call&, const std::vector<Values>& returned) = nullptr;
};
// Null for an op that runs its function once, here and now: it comes apart also when it is traced. Defined beside the ops
// (ops/higher_order.cpp).
const CallingConvention* calling_convention(const Op& op);

}  // namespace ingot
