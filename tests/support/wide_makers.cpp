// Families that compute.
#include "support/wide_makers.hpp"

#include <algorithm>
#include <cmath>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "ingot/autograd.hpp"
#include "op/call.hpp"
#include "tensor/impl.hpp"

namespace ingot::testing {

bool shares_storage(const Tensor& x, const Tensor& y) {
  if (is_two_tensor(x) && is_two_tensor(y)) return shares_storage(a(x), a(y));
  return x->storage == y->storage;
}

int Draft::any_of_rank(int64_t low, int64_t high) {
  return any([&](const Tensor& t, int) { return t.dim() >= low && t.dim() <= high; });
}
int Draft::any_floating(int64_t rank) {
  return any([&](const Tensor& t, int) { return is_floating(t.dtype()) && t.dim() >= rank; });
}
int Draft::any_index() {
  return any([&](const Tensor& t, int) { return t.dtype() == DType::i64; });
}
int Draft::broadcasts_with(int self) {
  const Shape& s = at(self).sizes();
  const int k = any([&](const Tensor& t, int other) {
    if (other == self && pick(3)) return false;
    const Shape& o = t.sizes();
    for (std::size_t i = 0; i < std::min(s.size(), o.size()); i++) {
      const Int &x = s[s.size() - 1 - i], &y = o[o.size() - 1 - i];
      if (!(x == y) && !(x == 1) && !(y == 1)) return false;
    }
    return true;
  });
  return k < 0 ? self : k;
}

namespace {

Made unary(Draft& d) {
  static constexpr const char* kOps[] = {"sin",     "cos",      "tanh", "sigmoid",    "exp",   "erf",          "gelu",
                                         "silu",    "softplus", "atan", "asinh",      "expm1", "square",       "rsqrt",
                                         "sqrt",    "log",      "neg",  "reciprocal", "log1p", "exp2",         "tan",
                                         "sinh",    "cosh",     "erfc", "log2",       "elu",   "log_sigmoid",  "mish",
                                         "logit",   "lgamma",   "sinc", "acos",       "asin",  "atanh",        "i0",
                                         "digamma", "log10",    "selu", "deg2rad",    "abs",   "conj_physical"};
  const char* op = d.one_of(kOps);
  const int k = d.any([&](const Tensor& t, int) { return is_differentiable(t.dtype()); });
  if (k < 0 || (std::string(op) == "abs" && !is_complex(d.at(k).dtype()))) return none();  // of complex numbers it is smooth
  return Step::of(op, {k});
}

Made unary_kinked(Draft& d) {
  static constexpr const char* kOps[] = {"relu",    "abs",         "sign",        "floor",       "ceil",
                                         "round",   "trunc",       "hardtanh",    "leaky_relu",  "hardswish",
                                         "isnan",   "logical_not", "bitwise_not", "hardsigmoid", "relu6",
                                         "signbit", "nan_to_num",  "frac",        "celu",        "angle"};
  if (d.pick(4) == 0) return Step::of("clamp", {d.any()}, {-0.5, 1.25});
  if (d.pick(6) == 0) return Step::of("threshold", {d.any()}, {0.25, -1});
  const std::string_view op = d.one_of(kOps);  // first: a compiler evaluates the arguments of a call in an order of its own
  Step s = Step::of(std::string(op), {d.any()});
  s.rounds = op == "celu" || op == "angle";  // the others are exact on either side of their kinks
  return s;
}

Made binary(Draft& d) {
  static constexpr const char* kOps[] = {"add.Tensor", "add.Tensor", "sub.Tensor", "mul.Tensor", "mul.Tensor",
                                         "div.Tensor", "atan2",      "hypot",      "logaddexp",  "xlogy"};
  const int x = d.any(), y = d.broadcasts_with(x);
  switch (d.pick(8)) {
    case 0: return Step::of("add.Scalar", {x}, {d.pick(2) ? Value(0.75) : Value(3)});
    case 1: return Step::of("mul.Scalar", {x}, {d.pick(2) ? Value(-1.5) : Value(2)});
    case 2: return Step::of("rsub.Scalar", {x}, {1.5});
    case 3: return Step::of("pow.Tensor_Scalar", {x}, {d.pick(2) ? Value(2) : Value(d.pick(2) ? 3.0 : 1.5)});
    case 4: {
      const int z = d.broadcasts_with(x);
      static constexpr const char* kThree[] = {"addcmul", "addcdiv", "lerp.Tensor"};
      return Step::of(d.one_of(kThree), {x, y, z});
    }
    default: return Step::of(d.one_of(kOps), {x, y});
  }
}

Made binary_kinked(Draft& d) {
  static constexpr const char* kOps[] = {"maximum",
                                         "minimum",
                                         "eq.Tensor",
                                         "lt.Tensor",
                                         "ge.Tensor",
                                         "ne.Tensor",
                                         "fmax",
                                         "fmin",
                                         "floor_divide",
                                         "remainder.Tensor",
                                         "fmod.Tensor",
                                         "bitwise_and.Tensor",
                                         "bitwise_or.Tensor",
                                         "bitwise_xor.Tensor",
                                         "logical_and",
                                         "logical_or",
                                         "logical_xor",
                                         "copysign.Tensor",
                                         "heaviside",
                                         "gcd"};
  const int x = d.any(), y = d.broadcasts_with(x);
  switch (d.pick(6)) {
    case 0: return Step::of("gt.Scalar", {x}, {0.25});
    case 1: {
      const int c = d.any([](const Tensor& t, int) { return t.dtype() == DType::b8; });
      return c < 0 ? none() : Step::of("where.self", {c, d.broadcasts_with(c), d.broadcasts_with(c)});
    }
    case 2: return Step::of("remainder.Scalar", {x}, {d.pick(2) ? Value(3) : Value(0.75)});
    default: return Step::of(d.one_of(kOps), {x, y});
  }
}

// Whether some of the elements, multiplied first, are more than a double holds: a zero among the
// others then makes the product a NaN or not, by the order in which it is taken.
bool may_overflow(const Tensor& t) {
  if (is_complex(t.dtype()) || !t.numel().is_number()) return false;
  const NoGrad no_grad;
  double bits = 0;
  try {
    for (const double x : t.to_vector<double>()) bits += std::log2(std::max(1.0, std::abs(x)));
  } catch (const UserError&) {  // what nobody may read any more
    return true;
  }
  return !(bits < 1000);
}

Made reduced(Draft& d) {
  const int x = d.any_of_rank(1);
  if (x < 0) return none();
  const int dim = d.dim_of(x);
  const bool keep = d.pick(2);
  switch (d.pick(13)) {
    case 0: return Step::of("sum.dim_IntList", {x}, {Shape{dim}, keep});
    case 1: return Step::of("mean.dim", {x}, {Shape{dim}, keep});
    case 2: return Step::of("var.correction", {x}, {Shape{dim}, d.pick(2), keep});
    case 3: return Step::of("logsumexp", {x}, {Shape{dim}, keep});
    case 4: return may_overflow(d.at(x)) ? none() : Step::of("prod.dim_int", {x}, {dim, keep});
    case 5: return Step::of("cumsum", {x}, {dim});
    case 6: return Step::of("cumprod", {x}, {dim});
    case 7: return Step::of("sum", {x});
    case 8: return Step::of("mean", {x});
    case 9: return Step::of("linalg_vector_norm", {x}, {2, Shape{dim}, keep});
    case 10: return Step::of("logcumsumexp", {x}, {dim});
    case 11: return Step::of("std.correction", {x}, {Shape{dim}, 1, keep});
    default: return Step::of("sum.dim_IntList", {x}, {d.at(x).dim() > 1 ? Shape{0, -1} : Shape{0}, keep});
  }
}

Made reduced_kinked(Draft& d) {
  const int x = d.any_of_rank(1);
  if (x < 0) return none();
  const int dim = d.dim_of(x);
  const bool keep = d.pick(2);
  switch (d.pick(11)) {
    case 0: return Step::of("amax", {x}, {Shape{dim}, keep});
    case 1: return Step::of("amin", {x}, {Shape{dim}, keep});
    case 2: return Step::of("argmax", {x}, {dim, keep});
    case 3: return Step::of("argmin", {x}, {dim, keep});
    case 4: return Step::of("any.dim", {x}, {dim, keep});
    case 5: return Step::of("all.dim", {x}, {dim, keep});
    case 6: return Step::of("max.dim", {x}, {dim, keep});
    case 7: return Step::of("min.dim", {x}, {dim, keep});
    case 8: return Step::of("cummax", {x}, {dim});
    case 9: return Step::of("count_nonzero.dim_IntList", {x}, {Shape{dim}});
    default: return Step::of("max", {x});
  }
}

Made normalized(Draft& d) {
  const int x = d.any_floating(1);
  if (x < 0) return none();
  const int last = static_cast<int>(d.at(x).dim()) - 1;
  switch (d.pick(6)) {
    case 0: return Step::of("softmax.int", {x}, {d.dim_of(x)});
    case 1: return Step::of("log_softmax.int", {x}, {d.dim_of(x)});
    case 2: {
      Step s{"layer_norm", {tensor_arg(x), sizes_arg({{x, last}})}};
      const int w = d.any(
          [&](const Tensor& t, int) { return t.dim() == 1 && t.dtype() == d.at(x).dtype() && t.size(0) == d.at(x).size(last); });
      if (w >= 0) s.args.push_back(tensor_arg(w));
      return s;
    }
    case 3: {
      const int y = d.any([&](const Tensor& t, int) { return is_floating(t.dtype()) && t.sizes().same(d.at(x).sizes()); });
      return y < 0 ? none() : Step::of(d.pick(2) ? "mse_loss" : "binary_cross_entropy_with_logits", {x, y});
    }
    case 4: {
      if (d.at(x).dim() < 3) return none();
      return Step::of("group_norm", {x}, {1});
    }
    default: {
      const int y =
          d.any([&](const Tensor& t, int) { return t.dtype() == DType::i64 && t.dim() == 1 && t.size(0) == d.at(x).size(0); });
      return y < 0 || d.at(x).dim() != 2 ? none() : Step::of("cross_entropy_loss", {x, y});
    }
  }
}

Made product(Draft& d) {
  const int x = d.any([](const Tensor& t, int) { return t.dim() >= 1 && t.dtype() != DType::b8; });
  if (x < 0) return none();
  const auto fits = [&](int64_t rank, auto&& test) {
    return d.any([&](const Tensor& t, int) { return t.dtype() == d.at(x).dtype() && t.dim() == rank && test(t); });
  };
  const int64_t rank = d.at(x).dim();
  const Int last = d.at(x).size(-1);
  switch (d.pick(8)) {
    case 0: {
      const int y = rank == 2 ? fits(2, [&](const Tensor& t) { return t.size(0) == last; }) : -1;
      return y < 0 ? none() : Step::of("mm", {x, y});
    }
    case 1: {
      const int y = rank == 3 ? fits(3, [&](const Tensor& t) { return t.size(0) == d.at(x).size(0) && t.size(1) == last; }) : -1;
      return y < 0 ? none() : Step::of("bmm", {x, y});
    }
    case 2: {
      const int y = rank == 2 ? fits(2, [&](const Tensor& t) { return t.size(0) == last; }) : -1;
      return y < 0 ? none() : Step::of("addmm", {d.broadcasts_with(x), x, y});
    }
    case 3: {
      const int y = fits(2, [&](const Tensor& t) { return t.size(1) == last; });
      return y < 0 ? none() : Step::of("linear", {x, y});
    }
    case 4: {
      const int y = rank == 1 ? fits(1, [](const Tensor&) { return true; }) : -1;
      return y < 0 ? none() : Step::of(d.pick(2) ? "outer" : "dot", {x, y});
    }
    case 5: {
      if (rank < 3 || !is_floating(d.at(x).dtype())) return none();
      const int y = fits(rank, [&](const Tensor& t) { return t.sizes().same(d.at(x).sizes()); });
      return y < 0 ? none() : Step::of("scaled_dot_product_attention", {x, y, y});
    }
    default: {
      const int y = fits(1 + d.pick(3), [&](const Tensor& t) { return t.size(t.dim() == 1 ? 0 : t.dim() - 2) == last; });
      return y < 0 ? none() : Step::of("matmul", {x, y});
    }
  }
}

Made convolved(Draft& d) {
  const int x = d.any_of_rank(4, 4);
  if (x < 0) return none();
  const int w = d.any([&](const Tensor& t, int k) { return k != x && t.dim() == 4 && t.dtype() == d.at(x).dtype(); });
  if (w < 0) return none();
  const Shape stride{1 + d.pick(2), 1 + d.pick(2)}, pad{d.pick(3), d.pick(2)}, dilation{1, 1 + d.pick(2)};
  if (d.pick(3) == 0) {
    Step s = Step::of("conv_transpose2d.input", {x, w}, {Value(), stride, pad});
    return s;
  }
  return Step::of("conv2d", {x, w}, {Value(), stride, pad, dilation});
}

Made pooled(Draft& d) {
  const int x = d.any_floating(3);
  if (x < 0 || d.at(x).dim() > 4) return none();
  switch (d.pick(5)) {
    case 0: return Step::of("avg_pool2d", {x}, {Shape{2, 2}, Shape{1 + d.pick(2), 2}, Shape{d.pick(2), 0}});
    case 1: return Step::of("adaptive_avg_pool2d", {x}, {Shape{2, 1 + d.pick(3)}});
    case 2: return d.at(x).dim() == 4 ? Step::of("upsample_nearest2d", {x}, {Shape{4, 5}}) : none();
    case 3: return d.at(x).dim() == 4 ? Step::of("upsample_bilinear2d", {x}, {Shape{4, 5}, d.pick(2) == 0}) : none();
    default: return d.at(x).dim() == 3 ? Step::of("avg_pool1d", {x}, {Shape{2}}) : none();
  }
}
Made pooled_kinked(Draft& d) {
  const int x = d.any_floating(3);
  if (x < 0 || d.at(x).dim() > 4) return none();
  switch (d.pick(3)) {
    case 0: return Step::of("max_pool2d", {x}, {Shape{2, 2}, Shape{1, 2}, Shape{d.pick(2), 0}});
    case 1: return Step::of("max_pool2d_with_indices", {x}, {Shape{2, 3}});
    default: return Step::of("adaptive_max_pool2d", {x}, {Shape{2, 2}});
  }
}

Made complex_parts(Draft& d) {
  const int x = d.any([](const Tensor& t, int) { return is_complex(t.dtype()); });
  if (x < 0) {
    const int re = d.any([](const Tensor& t, int) { return t.dtype() == DType::f32 || t.dtype() == DType::f64; });
    if (re < 0) return none();
    const int im = d.any([&](const Tensor& t, int) { return t.dtype() == d.at(re).dtype() && t.sizes().same(d.at(re).sizes()); });
    return Step::of("complex", {re, im < 0 ? re : im});
  }
  static constexpr const char* kOps[] = {"real", "imag", "view_as_real", "conj", "resolve_conj", "_conj_physical"};
  return Step::of(d.one_of(kOps), {x});
}

Made drawn(Draft& d) {
  if (!d.options.random) return none();
  const int x = d.any_floating();
  if (x < 0) return none();
  switch (d.pick(5)) {
    case 0:  // of no elements it is its argument, and a program for open sizes is made for some
      return d.options.open ? Step::of("native_dropout", {x}, {0.5, true}) : Step::of("dropout", {x}, {0.5, true});
    case 1: return Step::of("rand_like", {x});
    case 2: return Step::of("randn_like", {x});
    case 3: return Step::of("bernoulli.p", {x}, {0.25});
    default: return Step::of("native_dropout", {x}, {0.25, true});
  }
}

Made factory(Draft& d) {
  const int x = d.any();
  switch (d.pick(7)) {
    case 0: return Step::of("zeros_like", {x});
    case 1: return Step::of("ones_like", {x});
    case 2: return Step::of("full_like", {x}, {d.pick(2) ? Value(2) : Value(0.5)});
    case 3: return d.at(x).dim() > 0 ? std::optional<Step>(Step{"arange", {size_arg(x, d.dim_of(x))}}) : none();
    case 4: return d.at(x).dim() > 0 ? std::optional<Step>(Step{"zeros", {sizes_arg({{x, d.dim_of(x)}, 2})}}) : none();
    case 5: return d.at(x).dim() > 0 ? std::optional<Step>(Step{"eye", {size_arg(x, d.dim_of(x))}}) : none();
    default: return Step::of("scalar_tensor", {}, {1.25});
  }
}

Made control(Draft& d) {
  return control_flow(d, [](DType t) { return t == DType::f32 || t == DType::f64; }, 64);
}

}  // namespace

Made control_flow(Draft& d, bool (*is_type)(DType), int64_t most_rows) {
  const int x = d.any([&](const Tensor& t, int) { return is_type(t.dtype()); });
  if (x < 0) return none();
  const int y = d.any([&](const Tensor& t, int) { return t.dtype() == d.at(x).dtype() && t.sizes().same(d.at(x).sizes()); });
  if (y < 0) return none();
  const bool has_rows = d.at(x).dim() > 0 && d.at(x).size(0) > 0 && d.at(x).size(0) <= most_rows;
  switch (d.pick(4)) {
    case 0: {
      const int c = d.any([&](const Tensor&, int k) { return d.exact[static_cast<std::size_t>(k)]; });
      return c < 0 ? none() : Step::of("cond", {c, x, y});
    }
    case 1: {
      const int row = d.any([&](const Tensor& t, int) { return t.dtype() == d.at(x).dtype() && t.dim() + 1 <= d.at(x).dim(); });
      return row < 0 || !has_rows ? none() : Step::of("map", {x, row});
    }
    case 2: return has_rows ? Step::of("scan", {x}) : none();
    default: return Step::of("while_loop", {x, y});
  }
}

const std::vector<Family>& families() {
  static const std::vector<Family> kAll = {
      // name, weight, maker, moves, draws, needs exact operands
      {"unary", 5, unary},
      {"unary, kinked", 4, unary_kinked, true, false, true},
      {"binary", 6, binary},
      {"binary, kinked", 4, binary_kinked, true, false, true},
      {"reduction", 4, reduced},
      {"reduction, kinked", 3, reduced_kinked, true, false, true},
      {"normalization and loss", 3, normalized},
      {"product", 5, product},
      {"convolution", 4, convolved},
      {"pooling", 3, pooled},
      {"pooling, kinked", 2, pooled_kinked, true, false, true},
      {"complex", 1, complex_parts, true},
      {"random", 2, drawn, false, true},
      {"factory", 2, factory, true},
      {"control flow", 1, control},
      {"view", 8, move_by_view, true},
      {"copy", 4, move_by_copy, true},
      {"indexing", 3, index_read, true},
      {"indexing, sums", 3, index_sum},
      {"indexing, moves", 2, index_write, true},
      {"sort", 2, sorted, true, false, true},
      {"conversion", 3, converted, true},
      {"write", 3, write_rounding},
      {"write, moves", 3, write_moving, true},
      {"write, kinked", 1, write_kinked, true, false, true},
      {"view in place", 1, view_in_place, true},
  };
  return kAll;
}

const Family& random_family(Draft& d) {
  const std::vector<Family>& all = d.options.layers ? layer_families() : families();
  int total = 0;
  for (const Family& f : all) total += f.weight;
  int k = d.pick(total);
  for (const Family& f : all)
    if ((k -= f.weight) < 0) return f;
  return all.back();
}

}  // namespace ingot::testing
