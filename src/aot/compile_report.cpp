#include "aot/compile_report.hpp"

#include <utility>

#include "aot/loop_form.hpp"
#include "base/error.hpp"
#include "tensor/impl.hpp"

namespace ingot::aot {
namespace {

thread_local CompileReport* listener = nullptr;

}  // namespace

void report_output_strides(OutputStrides strides) {
  if (listener) listener->strides = std::move(strides);
}

void report_artifact(std::string key) {
  if (listener) listener->artifact = std::move(key);
}

CompileReportScope::CompileReportScope() : old_(std::exchange(listener, &report_)) {}
CompileReportScope::~CompileReportScope() { listener = old_; }

Tensor with_strides(const Tensor& fake, const std::optional<Shape>& strides) {
  if (!strides) return fake;
  INGOT_REQUIRE(strides->dim() == fake.dim(), "a compiler reported strides ", *strides, " for an output of sizes ", fake.sizes());
  bool same = true;
  for (int d = 0; d < fake.dim(); d++) same = same && hinted((*strides)[d], -1) == hinted(fake.strides()[d], -1);
  if (same) return fake;
  Geometry g = fake->geom;
  g.strides = *strides;
  return make_tensor(std::move(g), fake->device(), true);
}

}  // namespace ingot::aot
