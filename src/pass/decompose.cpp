#include "pass/decompose.hpp"

#include <algorithm>

#include "op/applied.hpp"
#include "op/data_dependent.hpp"
#include "op/function.hpp"
#include "ops/shape/metadata_assertion.hpp"
#include "ops/higher_order/random_state.hpp"

namespace ingot {
namespace {

bool returns_tensors(const Op& op) {
  const auto& results = op.schema.results;
  return !results.empty() &&
         std::all_of(results.begin(), results.end(), [](const auto& r) { return r.type.kind == Kind::tensor; });
}

// A higher-order op of which it is known what runs: the functional form of a call, functions of elements, a call beside the random
// stream; and what is said about a tensor's looks.
bool runs_in_any_case(const Op& op) {
  const CallingConvention* convention = op.form() == Form::higher_order ? calling_convention(op) : nullptr;
  return keywords_argument(op) >= 0 || calls_beside_stream(op) || asserts_metadata(op) ||
         (convention && convention->control == Control::element);
}

Decompositions make() {
  Decompositions all;
  for (const Op* op : all_ops())
    if (runs_in_any_case(*op)) all.emplace(op, [](const Call& c) { return c.op.def->body(c); });
    else if (op->def->body && !op->def->lower && !op->comes_apart() && !op->mutates() && returns_tensors(*op) &&
             !depends_on_data(*op))
      all.emplace(op, [](const Call& c) { return c.op.def->body(c); });
  return all;
}

}  // namespace

const Decompositions& core_decompositions() {
  static const Decompositions all = make();
  return all;
}

}  // namespace ingot
