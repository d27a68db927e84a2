// Comes before every source of the archive that model libraries are linked with (cmake/eager_archives.cmake): what is
// different there. A model runs few ops and asks for their kernels alone, so
//   - rules for gradients, vmap and lowering are left out, and with them whatever only they call;
//   - an op is found by the linker, not by a registry: `aten<"mul.Tensor">` refers to the variable of that op, and the
//     linker drops every op that no other one, and no table of a model, refers to.
#pragma once
#include <cstddef>

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
template <std::size_t N>
struct OpName;
template <OpName Name>
extern LinkedOp linked_op;  // defined where the family is (family.cpp), or in variants.cpp
const Op& op_of(LinkedOp& op);

}  // namespace ingot

#define INGOT_RULE(result, name, argument) UnusedRule name
#define INGOT_OP(name) op_of(linked_op<name>)

#ifdef __clang__
#pragma clang diagnostic ignored "-Wundefined-var-template"  // the linker finds them
#endif
