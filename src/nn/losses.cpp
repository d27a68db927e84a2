#include "ingot/nn.hpp"
#include "op/call.hpp"

namespace ingot::nn {
namespace {
int64_t code(Reduction r) { return static_cast<int64_t>(r); }
constexpr int64_t kNoIgnoredIndex = -100;
}  // namespace

Tensor mse_loss(const Tensor& x, const Tensor& y, Reduction r) { return aten<"mse_loss">(x, y, code(r)); }
Tensor l1_loss(const Tensor& x, const Tensor& y, Reduction r) { return aten<"l1_loss">(x, y, code(r)); }
Tensor smooth_l1_loss(const Tensor& x, const Tensor& y, double beta, Reduction r) {
  return aten<"smooth_l1_loss">(x, y, code(r), beta);
}
Tensor cross_entropy(const Tensor& x, const Tensor& y, Reduction r, double smoothing) {
  return aten<"cross_entropy_loss">(x, y, Value(), code(r), kNoIgnoredIndex, smoothing);
}
Tensor nll_loss(const Tensor& x, const Tensor& y, Reduction r) { return aten<"nll_loss_nd">(x, y, Value(), code(r)); }
Tensor binary_cross_entropy(const Tensor& x, const Tensor& y, Reduction r) {
  return aten<"binary_cross_entropy">(x, y, Value(), code(r));
}
Tensor binary_cross_entropy_with_logits(const Tensor& x, const Tensor& y, Reduction r) {
  return aten<"binary_cross_entropy_with_logits">(x, y, Value(), Value(), code(r));
}
Tensor kl_div(const Tensor& x, const Tensor& y, Reduction r) { return aten<"kl_div">(x, y, code(r)); }

}  // namespace ingot::nn
