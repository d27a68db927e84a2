#include "support/compare_aot.hpp"

#include <exception>

#include "aot/aot.hpp"
#include "aot/min_cut.hpp"
#include "base/error.hpp"

namespace ingot::testing {
namespace {

aot::Partitioner partitioner(AotWay way) {
  if (way == AotWay::min_cut) return [](const aot::Joint& j) { return aot::partition_min_cut(j); };
  if (way == AotWay::budget) return [](const aot::Joint& j) { return aot::partition_min_cut(j, {.activation_bytes = 0}); };
  return aot::partition_default;
}

}  // namespace

Comparison compare_aot(const Program& p, AotWay way) {
  try {
    return compare_transformed(p, [&](const TensorFunction& f) -> TensorFunction {
      const aot::AotFunction compiled =
          aot::aot_function(f, {.partition = partitioner(way), .keep_inference_input_mutations = way == AotWay::keep});
      return [compiled](const TensorList& in) { return compiled(in); };
    });
  } catch (const std::exception& e) {
    return {Agreement::differs, text("threw ", e.what())};
  }
}

}  // namespace ingot::testing
