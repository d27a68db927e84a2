// One call as text, with holes for what a run decides: how compiled code names a call of the eager
// library (ingot_eager_call of model/program.h). %k is tensor k, #k is integer k, ~k the double
// whose bits integer k has, the rest stands as in listings:
//   aten.topk.default(%0, #0, -1, True, True)
#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "op/op.hpp"

namespace ingot {

struct CallText {
  std::string text;
  const Op* op = nullptr;     // that the text names: a functional one
  TensorList tensors;         // what %0, %1, … stand for: each tensor once
  Values integers;            // what #0, #1, ~2, … stand for: the symbolic numbers, each once
};
// A call with fake tensors and, where sizes are open, symbolic integers. An in-place or out=
// variant is written as the functional op whose result it stores. User error for arguments that
// have no text (functions, generators).
CallText text_of(const Call& call);

// The arguments of a call as listings write them: positional ones up to the last that is not its
// default, then the keyword-only ones that are not.
std::string call_arguments_text(const Op& op, std::size_t count, const std::function<bool(std::size_t)>& is_default,
                                const std::function<std::string(std::size_t)>& text_of_argument);

// Such a text, read once and bound for every run.
class ParsedCall {
 public:
  // `find` gives the op of a name such as "topk" or "prims::sum", or null. User error for a text
  // that is no call, names an unknown op or does not fit its schema.
  using Find = const Op* (*)(std::string_view name);
  ParsedCall(std::string_view text, Find find);

  const Op& op() const { return *op_; }
  int tensors() const { return tensors_; }    // one more than the largest k of a %k
  int integers() const { return integers_; }  // … of a #k or ~k

  // One value for each argument of the schema, then what was given for its "...".
  Values arguments(std::span<const Tensor> tensors, std::span<const int64_t> integers) const;

 private:
  struct Hole {
    char kind;  // '%', '#' or '~'
    std::size_t index;
  };
  struct Argument {
    std::variant<Value, Hole, std::vector<Argument>> of;
  };
  class Reader;

  const Op* op_ = nullptr;
  int tensors_ = 0, integers_ = 0;
  std::vector<Argument> args_;

  static Value bound(const Argument& a, std::span<const Tensor> tensors, std::span<const int64_t> integers);
};

}  // namespace ingot
