#include "pass/decompose.hpp"

#include <algorithm>

#include "op/data_dependent.hpp"

namespace ingot {
namespace {

bool returns_tensors(const Op& op) {
  const auto& results = op.schema.results;
  return !results.empty() &&
         std::all_of(results.begin(), results.end(), [](const auto& r) { return r.type.kind == Kind::tensor; });
}

Decompositions make() {
  Decompositions all;
  for (const Op* op : all_ops())
    if (op->def->body && !op->def->lower && !op->comes_apart() && !op->mutates() && returns_tensors(*op) && !depends_on_data(*op))
      all.emplace(op, [](const Call& c) { return c.op.def->body(c); });
  return all;
}

}  // namespace

const Decompositions& core_decompositions() {
  static const Decompositions all = make();
  return all;
}

}  // namespace ingot
