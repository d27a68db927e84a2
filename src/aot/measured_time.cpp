#include "aot/measured_time.hpp"

#include <algorithm>
#include <chrono>

#include "aot/loop_form.hpp"
#include "base/error.hpp"
#include "ingot/autograd.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"

namespace ingot::aot {
namespace {

constexpr int kRuns = 3;

Value with_data(const Value& v) {
  if (v.is_tensor()) {
    Shape sizes;
    for (int d = 0; d < v.tensor().dim(); d++) sizes.push_back(hinted(v.tensor().size(d), kUnknownElements));
    return zeros(sizes, {.dtype = v.tensor().dtype()});
  }
  if (v.is_int()) return hinted(v.to_int(), kUnknownElements);
  return v;
}

Value with_data(const Argument& a) {
  if (a.is_node()) return with_data(a.node()->meta);
  if (a.is_value()) return with_data(a.value());
  Values elements;
  for (const Argument& e : a.elements()) elements.push_back(with_data(e));
  return elements;
}

}  // namespace

double measured_nanoseconds(const Node& n) {
  if (n.kind != NodeKind::call) return 0;
  const NoGrad no_grad;
  try {
    Values arguments;
    for (const Argument& a : n.args) arguments.push_back(with_data(a));
    double least = 0;
    for (int run = 0; run < kRuns; run++) {
      const auto start = std::chrono::steady_clock::now();
      call(*n.op, arguments);
      const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
      least = run == 0 ? took.count() : std::min(least, took.count());
    }
    return least;
  } catch (const UserError&) {
    return estimated_steps(n);
  }
}

}  // namespace ingot::aot
