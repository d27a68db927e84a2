// Comes before every source of the archive that model libraries are linked with
// (cmake/eager_archives.cmake): what is different there. A model runs few ops and asks for their
// kernels alone, so
//   - rules for gradients, vmap and lowering are left out, and with them whatever only they call;
//   - an op is found by the linker, not by a registry: every definition of a family is a variable
//     of its own, to which `aten<"mul.Tensor">` refers by the op's name. The linker drops every op
//     that no other one, and no table of a model, refers to.
#pragma once

// OpDef and Formula (op/op.hpp, op/formula.hpp).
#define INGOT_RULE(result, name, argument) UnusedRule name
// The op that a call in a source names (op/call.hpp).
#define INGOT_OP(name) op_of(linked_op<name>)
// The end of a file of ops (ops/family.hpp).
#define INGOT_FAMILY(family, ops)                                                         \
  namespace {                                                                             \
  constexpr auto kNames = names_of(ops);                                                  \
  }                                                                                       \
  template <OpName Name>                                                                  \
    requires(place_of(kNames, Name.text) < kNames.size())                                 \
  LinkedOp linked_op<Name>{ops[place_of(kNames, Name.text)]};                             \
  namespace { /* makes the compiler emit all of them; the linker drops the list itself */ \
  [[gnu::used]] constexpr auto kLinked = linked_ops<kNames>();                            \
  }

namespace ingot {

// Stands where a rule would, and forgets the rule it is given.
struct UnusedRule {
  constexpr UnusedRule() = default;
  template <class Rule>
  constexpr UnusedRule(const Rule&) {}
  constexpr explicit operator bool() const { return false; }
  template <class Argument>
  void operator()(Argument&) const {}
};

struct Op;
struct LinkedOp;
const Op& op_of(LinkedOp& op);
template <decltype(sizeof(0)) N>
struct OpName;
template <OpName Name>
extern LinkedOp linked_op;  // defined at the end of its family, or in variants.cpp

}  // namespace ingot

#ifdef __clang__
#pragma clang diagnostic ignored "-Wundefined-var-template"  // the linker finds them
#endif

#include "eager/linked_op.hpp"
