#include "pass/decompose.hpp"

#include <algorithm>

namespace ingot {
namespace {

bool returns_tensors(const Op& op) {
  const auto& results = op.schema.results;
  return !results.empty() && std::all_of(results.begin(), results.end(), [](const auto& r) { return r.type.kind == Kind::tensor; });
}

// The program of such an op looks at elements to know what to do.
bool depends_on_data(const Op& op) {
  const std::string_view tags = aten_schema_tags(op.name);
  return tags.find("dynamic_output_shape") != tags.npos || tags.find("data_dependent_output") != tags.npos;
}

Decompositions make() {
  Decompositions all;
  for (const Op* op : all_ops())
    if (op->def->body && !op->comes_apart() && !op->mutates() && returns_tensors(*op) && !depends_on_data(*op))
      all.emplace(op, [](const Call& c) { return c.op.def->body(c); });
  return all;
}

}  // namespace

const Decompositions& core_decompositions() {
  static const Decompositions all = make();
  return all;
}

}  // namespace ingot
