#include "autograd/above.hpp"

#include <atomic>

#include "base/error.hpp"

namespace ingot {
namespace {
std::atomic<const LayerAbove*> installed{nullptr};
thread_local int transforms = 0;
}  // namespace

void install_above(const LayerAbove& layer) { installed.store(&layer, std::memory_order_release); }
const LayerAbove& layer_above() {
  const LayerAbove* layer = installed.load(std::memory_order_acquire);
  INGOT_ENSURE(layer, "a tensor of a layer that was not installed");
  return *layer;
}

TransformScope::TransformScope() { transforms++; }
TransformScope::~TransformScope() { transforms--; }
bool inside_transform() { return transforms > 0; }

void refuse_inside_transform(std::string_view what) {
  throw_user_error(text("You are attempting to call Tensor.", what,
                        "() inside of a function being transformed by a functorch transform. This is unsupported, please attempt "
                        "to use the functorch transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call ",
                        what, "() outside of a function being transformed instead."));
}

}  // namespace ingot
