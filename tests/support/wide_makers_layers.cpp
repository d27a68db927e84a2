// Families of layers: convolutions of one to three dims with groups and a bias, batch
// normalization, buffers that are updated, scatters of a source, control flow on every floating
// type.
#include <algorithm>

#include "base/dtype.hpp"
#include "op/call.hpp"
#include "support/wide_makers.hpp"

namespace ingot::testing {
namespace {

// A vector of n numbers of the type, or -1.
int vector_of(Draft& d, DType t, const Int& n) {
  return d.any([&](const Tensor& v, int) { return v.dim() == 1 && v.dtype() == t && v.size(0) == n; });
}

Made convolved_in_groups(Draft& d) {
  const int x = d.any([](const Tensor& t, int) { return t.dim() >= 3 && t.dim() <= 5 && is_floating(t.dtype()); });
  if (x < 0) return none();
  const int64_t rank = d.at(x).dim();
  const auto is_kernel = [&](const Tensor& t, int k) { return k != x && t.dim() == rank && t.dtype() == d.at(x).dtype(); };
  const int64_t channels = d.at(x).size(1).value();
  Shape stride, pad, dilation, more;
  for (int64_t k = 2; k < rank; k++) {
    stride.push_back(1 + d.pick(2));
    pad.push_back(d.pick(3));
    dilation.push_back(1 + d.pick(4) / 3);
    more.push_back(0);
  }
  const bool has_bias = d.pick(2);
  const auto bias = [&](const Int& n) { return tensor_arg(has_bias ? vector_of(d, d.at(x).dtype(), n) : -1); };
  if (d.pick(3) == 0) {
    static constexpr const char* kOps[] = {"conv_transpose1d", "conv_transpose2d.input", "conv_transpose3d.input"};
    const int w = d.any([&](const Tensor& t, int k) { return is_kernel(t, k) && t.size(0) == channels; });
    if (w < 0) return none();
    const int groups = channels % 2 == 0 && d.pick(2) ? 2 : 1;
    return Step{kOps[rank - 3],
                {tensor_arg(x), tensor_arg(w), bias(d.at(w).size(1) * groups), stride, pad, more, groups, dilation}};
  }
  static constexpr const char* kOps[] = {"conv1d", "conv2d", "conv3d"};
  const int w = d.any([&](const Tensor& t, int k) {
    if (!is_kernel(t, k) || t.size(1).value() == 0 || channels % t.size(1).value()) return false;
    return t.size(0).value() % std::max<int64_t>(1, channels / t.size(1).value()) == 0;
  });
  if (w < 0 || channels == 0) return none();
  const int64_t groups = channels / d.at(w).size(1).value();
  return Step{kOps[rank - 3], {tensor_arg(x), tensor_arg(w), bias(d.at(w).size(0)), stride, pad, dilation, groups}};
}

// What is around a number above zero can stand for a variance: those are the inputs that nothing
// but a normalization writes.
Made batch_normalized(Draft& d) {
  const int x = d.any([](const Tensor& t, int) { return t.dim() >= 2 && t.dim() <= 5 && is_floating(t.dtype()); });
  if (x < 0 || d.buffers < 0) return none();
  const int mean = d.buffers, var = mean + 1;
  const Int channels = d.at(x).size(1);
  if (d.at(mean).dim() != 1 || !(d.at(mean).size(0) == channels)) return none();
  const DType of_state = d.at(mean).dtype();
  const bool has_state = d.pick(5), trains = !has_state || d.pick(3), is_affine = d.pick(3);
  const auto state = [&](int k) { return tensor_arg(has_state ? k : -1); };
  const int weight = is_affine ? vector_of(d, of_state, channels) : -1, bias = is_affine ? vector_of(d, of_state, channels) : -1;
  const auto is_state = [&](int k) {
    return k >= 0 && (shares_storage(d.at(k), d.at(mean)) || shares_storage(d.at(k), d.at(var)));
  };
  if (is_state(weight) || is_state(bias) || is_state(x)) return none();
  const bool instance = d.pick(6) == 0 && d.at(x).dim() >= 3;
  return Step{instance ? "instance_norm" : "batch_norm",
              {tensor_arg(x), tensor_arg(weight), tensor_arg(weight < 0 ? -1 : bias), state(mean), state(var), trains, 0.25, 1e-3,
               false}};
}

// A place that is written twice holds either number: only along dims of one index each place is
// written once, whatever the indices.
Made scattered(Draft& d) {
  const int x = d.any_of_rank(1);
  if (x < 0) return none();
  const int dim = d.dim_of(x);
  const int i =
      d.any([&](const Tensor& t, int) { return t.dtype() == DType::i64 && t.dim() == d.at(x).dim() && t.size(dim) == 1; });
  const int source = d.any([&](const Tensor& t, int) { return t.dtype() == d.at(x).dtype() && t.dim() == d.at(x).dim(); });
  if (i < 0 || source < 0) return none();
  const bool in_place = d.options.writes && d.pick(4) == 0;
  return Step{in_place ? "scatter_.src" : "scatter.src", {tensor_arg(x), dim, tensor_arg(i), tensor_arg(source)}};
}

// The mean of a module's own making, or how often it was called.
Made buffer_updated(Draft& d) {
  if (!d.options.writes || d.buffers < 0) return none();
  const int mean = d.buffers, count = mean + 2;
  if (d.at(mean).dim() != 1) return none();  // an in-place view changed its looks
  Step s;
  switch (d.pick(4)) {
    case 0: s = Step::of("add_.Tensor", {count, count}); break;
    case 1: s = Step::of("add_.Scalar", {count}, {1}); break;
    case 2: {
      const int v = vector_of(d, d.at(mean).dtype(), d.at(mean).size(0));
      s = Step::of("lerp_.Scalar", {mean, v < 0 ? mean : v}, {0.25});
      break;
    }
    default: {
      const int v = vector_of(d, d.at(mean).dtype(), d.at(mean).size(0));
      s = Step::of("copy_", {mean, v < 0 ? mean : v});
    }
  }
  s.no_grad = true;
  return s;
}

Made control_on_any(Draft& d) { return control_flow(d, is_floating, 16); }

}  // namespace

const std::vector<Family>& layer_families() {
  static const std::vector<Family> kAll = [] {
    std::vector<Family> l = families();
    l.push_back({"convolution in groups", 14, convolved_in_groups});
    l.push_back({"batch normalization", 14, batch_normalized});
    l.push_back({"scatter", 5, scattered, true});
    l.push_back({"buffer", 6, buffer_updated});
    l.push_back({"control flow on every type", 3, control_on_any});
    return l;
  }();
  return kAll;
}

}  // namespace ingot::testing
