// C++ functions as values, for the ops that call functions.
#pragma once
#include <functional>
#include <vector>

#include "op/op.hpp"

namespace ingot {

Value make_function(std::function<Values(Args)> f);

// The same value with f(function) in the place of each function, also in lists.
template <class F>
Value map_functions(const Value& v, const F& f) {
  if (v.is_function()) return f(v);
  if (!v.is_values()) return v;
  Values l;
  for (const Value& e : v.values()) l.push_back(map_functions(e, f));
  return l;
}

// How an op calls the functions it is given.
enum class Control : uint8_t {
  choose,  // one of two functions, once
  repeat,  // the second with what it returned last, while the first says so
  each_row,  // once for each row, results stacked
  carry_rows,  // the same, row after row, with values handed on
  combine,  // of neighbours, as a tree
  element,  // once for each element of a result: data does not decide which run
};

// The same in detail, so that the call can be recorded without knowing which of the functions run,
// or how often.
struct CallingConvention {
  Control control;
  std::string_view node_name{};  // in listings; empty: the op's
  std::vector<std::string_view> functions;  // what their graphs are called: "true_graph"
  std::vector<int> closures;  // of each, the list argument that takes what it brings along
  // What the function of this number is called with: of a tensor that is gone along, one row.
  Values (*operands)(const Call&, std::size_t function) = nullptr;
  // What the op returns, given what each function returned for these operands; user error where
  // they do not fit. On fakes.
  Values (*results)(const Call&, const std::vector<Values>& returned) = nullptr;
};
// OpDef::convention. Null for an op that runs its function once, here and now: it comes apart also
// when it is traced.
const CallingConvention* calling_convention(const Op& op);

// Whether whoever records this thread's calls wants the op's program in the place of this call.
bool taken_apart(const Op& op, Args args);
// Whether it wants a program that repeats itself row by row as a call of scan.
bool loops_are_kept();

}  // namespace ingot
