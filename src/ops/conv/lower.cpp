// Convolution as loops: a product of the weights with the pixels under each of their taps.
//
// The input is copied once into an image with its padding, the pixels that one tap sees for a
// stride of s next to each other:
//   image[n, c, phase, y] = x[n, c, s*y + phase - padding]          (for each dim of space)
//   out[n, o, y] = Σ over c, tap of w[o, c, tap] * image[n, c, (d*tap) % s, y + (d*tap) // s]
// so every tap reads pixels one after the other, without a question, and the product needs no
// columns gathered (backend/cpu/product.hpp).
#include "ops/conv/conv.hpp"

#include <algorithm>

#include "ops/common/lower_rules.hpp"

namespace ingot {
namespace {

// Taps of a depthwise convolution that are written out one by one.
constexpr int64_t kMostTaps = 64;

class ConvolutionLowering {
 public:
  ConvolutionLowering(Lowering& l, const ConvolutionParams& p) : l_(l), p_(p), type_(compute_dtype(l)) {}

  void run() {
    const Expr channels = l_.size(1, 1), outputs = floor_div(l_.size(1, 0), p_.groups.expr());
    const bool is_depthwise = channels.is_const(1) && taps() > 0 && taps() <= kMostTaps;
    channels_last_ = is_depthwise && outputs.is_const(1) && l_.result(0).strides[1].same(1);
    make_image();
    const std::vector<Expr> at = variables_over(l_, l_.result(0).sizes);
    if (is_depthwise) return finish(at, depthwise(at, outputs));
    if (p_.groups.same(1)) return finish(at, sum(at, Expr(0), at[1]));
    // Groups have a dim of their own while they are computed, so that each is a product.
    std::vector<Expr> own{at[0], l_.variable(p_.groups.expr()), l_.variable(outputs)};
    own.insert(own.end(), at.begin() + 2, at.end());
    const Expr total = sum(at, own[1], own[1] * outputs + own[2]);
    const int groups = l_.temporary(own, total);
    own[1] = floor_div(at[1], outputs);
    own[2] = mod(at[1], outputs);
    finish(at, l_.load_temporary(groups, own));
  }

 private:
  Lowering& l_;
  const ConvolutionParams& p_;
  DType type_;
  bool channels_last_ = false;  // of the image, and the weights: depthwise, of a result that lies so
  int image_ = -1;              // a temporary; -1: the input is its own

  Expr kernel(int d) const { return l_.size(1, d + 2); }
  Expr stride(int d) const { return p_.stride[d].expr(); }
  Expr reach(const Expr& tap, int d) const { return tap * p_.dilation[d].expr(); }

  // Of all dims together; 0 where that is not known.
  int64_t taps() const {
    int64_t n = 1;
    for (int d = 0; d < p_.space; d++) n *= kernel(d).is_const() ? kernel(d)->i : 0;
    return n;
  }

  void make_image() {
    bool is_image = true;
    for (int d = 0; d < p_.space; d++) is_image = is_image && p_.stride[d].same(1) && p_.padding[d].same(0);
    if (is_image) return;
    std::vector<Expr> vars{l_.variable(l_.size(0, 0)), l_.variable(l_.size(0, 1))}, index = vars;
    for (int d = 0; d < p_.space; d++) vars.push_back(l_.variable(kernel(d).is_const(1) ? Expr(1) : stride(d)));
    Expr inside = true;
    for (int d = 0; d < p_.space; d++) {
      const Expr y = l_.variable(l_.result(0).sizes[d + 2].expr() + floor_div(reach(kernel(d) - 1, d), stride(d)));
      const Expr pixel = stride(d) * y + vars[static_cast<std::size_t>(d) + 2] - p_.padding[d].expr();
      vars.push_back(y);
      index.push_back(pixel);
      inside = inside && pixel >= Expr(0) && pixel < l_.size(0, d + 2);
    }
    if (channels_last_) std::rotate(vars.begin() + 1, vars.begin() + 2, vars.end());
    image_ = l_.temporary(vars, select(inside, cast(type_, l_.load(0, index)), Expr::constant(type_, 0.0)));
  }

  // What a tap sees when the result's element `at` is computed.
  Expr pixel(std::span<const Expr> at, const Expr& channel, std::span<const Expr> tap) {
    std::vector<Expr> index{at[0], channel};
    auto each = [&](auto&& f) {
      for (int d = 0; d < p_.space; d++)
        index.push_back(f(d, at[static_cast<std::size_t>(d) + 2], tap[static_cast<std::size_t>(d)]));
    };
    if (image_ < 0) {
      each([&](int d, const Expr& y, const Expr& t) { return y + reach(t, d); });
      return cast(type_, l_.load(0, index));
    }
    each([&](int d, const Expr&, const Expr& t) { return mod(reach(t, d), stride(d)); });
    each([&](int d, const Expr& y, const Expr& t) { return y + floor_div(reach(t, d), stride(d)); });
    if (channels_last_) std::rotate(index.begin() + 1, index.begin() + 2, index.end());
    return l_.load_temporary(image_, index);
  }
  Expr weight(const Expr& output, const Expr& channel, std::span<const Expr> tap) {
    std::vector<Expr> index{output, channel};
    index.insert(index.end(), tap.begin(), tap.end());
    return cast(type_, l_.load(1, index));
  }

  Expr sum(std::span<const Expr> at, const Expr& group, const Expr& output) {
    const Expr c = l_.variable(l_.size(1, 1));
    std::vector<Expr> over{c}, tap;
    for (int d = 0; d < p_.space; d++) tap.push_back(l_.variable(kernel(d)));
    over.insert(over.end(), tap.begin(), tap.end());
    return l_.fold(Accumulate::sum, over, weight(output, c, tap) * pixel(at, group * l_.size(1, 1) + c, tap));
  }

  // weights[tap, channel]: as the channels of the image lie.
  int weights_by_tap() {
    std::vector<Expr> vars;
    for (int d = 0; d < p_.space; d++) vars.push_back(l_.variable(kernel(d)));
    const Expr channel = l_.variable(l_.size(1, 0)), w = weight(channel, 0, vars);
    vars.push_back(channel);
    return l_.temporary(vars, w);
  }
  // One channel of the input for each group: no sums worth a product.
  Expr depthwise(std::span<const Expr> at, const Expr& outputs) {
    const int weights = channels_last_ ? weights_by_tap() : -1;
    Expr total = Expr::constant(type_, 0.0);
    for (int64_t t = 0; t < taps(); t++) {
      std::vector<Expr> tap(static_cast<std::size_t>(p_.space));
      int64_t rest = t;
      for (int d = p_.space; d-- > 0; rest /= kernel(d)->i) tap[static_cast<std::size_t>(d)] = rest % kernel(d)->i;
      // The sum begins at zero, as eager's does: of products that are all -0 it is 0.
      const Expr seen = pixel(at, floor_div(at[1], outputs), tap);
      if (channels_last_) tap.push_back(at[1]);
      total = total + (channels_last_ ? l_.load_temporary(weights, tap) : weight(at[1], 0, tap)) * seen;
    }
    return total;
  }

  void finish(const std::vector<Expr>& at, Expr value) {
    if (l_.call[2].is_tensor()) value = value + cast(type_, l_.load(2, {at[1]}));
    l_.define(0, at, value);
  }
};

}  // namespace

void convolution_lower(Lowering& l) {
  const ConvolutionParams p = convolution_params(l.call, l.call.tensor(0), l.call.tensor(1), 3);
  if (p.transposed || compute_dtype(l) != DType::f32) return;
  ConvolutionLowering(l, p).run();
}

}  // namespace ingot
