// Losses of class scores against class indices.
#include "base/dtype.hpp"
#include "ops/batch/rules.hpp"
#include "ops/common/composite.hpp"
#include "ops/family.hpp"
#include "ops/loss/loss_reduction.hpp"
#include "tensor/geometry.hpp"
#include "tensor/rows.hpp"

namespace ingot {
namespace {

using enum LossReduction;

// ---- negative log likelihood: (self, target, weight, reduction, ignore_index)

// Scores of shape (C), (N, C) or (N, C, d1, …) as N x C x inner.
struct Scores {
  int64_t n = 1, classes = 1, inner = 1;
  explicit Scores(const Tensor& self) {
    const std::vector<int64_t> s = self.sizes().values();
    const std::size_t at = s.size() == 1 ? 0 : 1;
    if (at == 1) n = s[0];
    classes = s[at];
    for (std::size_t i = at + 1; i < s.size(); i++) inner *= s[i];
  }
};

Shape target_shape(const Shape& self) {
  Shape s = self;
  s.erase(self.dim() == 1 ? 0 : 1);
  return s;
}
void check_nll(const Call& c, const Tensor& self, const Tensor& target, const Tensor& weight) {
  const bool spatial = c.op.schema.name.find("2d") != std::string::npos;
  INGOT_REQUIRE(self.is_floating_point(), "\"", c.op.schema.name, "\" not implemented for '", scalar_type_name(self.dtype()),
                "'");
  INGOT_REQUIRE(target.dtype() == DType::i64 || target.dtype() == DType::u8, "expected target dtype to be Long or Byte, but got ",
                scalar_type_name(target.dtype()));
  if (spatial) {
    INGOT_REQUIRE(target.dim() == 3,
                  "only batches of spatial targets supported (3D tensors) but got targets of dimension: ", target.dim());
    INGOT_REQUIRE(self.dim() == 4,
                  "only batches of spatial inputs supported (4D tensors), but got input of dimension: ", self.dim());
  } else {
    INGOT_REQUIRE(self.dim() == 1 || self.dim() == 2, "input tensor should be 1D or 2D, found ", self.sizes());
  }
  const Shape want = target_shape(self.sizes());
  const bool single = self.dim() == 1 && target.dim() == 1 && target.numel() == 1;
  INGOT_REQUIRE(target.dim() == want.dim() || single, "multi-target not supported: expected a target of shape ", want, ", found ",
                target.sizes());
  INGOT_REQUIRE(single || target.sizes() == want, "size mismatch (got input: ", self.sizes(),
                spatial ? " , target: " : ", target: ", target.sizes(), ")");
  const Int classes = self.size(self.dim() == 1 ? 0 : 1);
  const bool fits = !weight.defined() || (weight.dim() == 1 && weight.numel() == classes);
  INGOT_REQUIRE(fits || !spatial, "weight tensor should be defined either for all or no classes");
  INGOT_REQUIRE(fits, "weight tensor should be defined either for all ", classes,
                " classes or no classes but got weight tensor of shape: ", weight.sizes());
}
bool is_reduced(const Tensor& self, const Value& reduction) { return self.dim() == 1 || loss_reduction(reduction) != none; }

void nll_meta(const Call& c, Outputs& o) {
  const Tensor& self = c.tensor(0);
  check_nll(c, self, c.tensor(1), c[2].tensor_or_none());
  o.add(is_reduced(self, c[3]) ? Shape{} : target_shape(self.sizes()), self.dtype());
  o.add(Shape{}, self.dtype());
}

int64_t checked_class(int64_t t, int64_t classes) {
  INGOT_REQUIRE_INDEX(t >= 0 && t < classes, "Target ", t, " is out of bounds.");
  return t;
}
std::vector<double> weights_of(const Tensor& weight, int64_t classes) {
  return weight.defined() ? weight.to_vector<double>() : std::vector<double>(static_cast<std::size_t>(classes), 1.0);
}
Tensor dense_copy(const Tensor& t) {
  if (t.is_contiguous()) return t;
  Tensor r = make_tensor(Geometry::contiguous(t.sizes(), t.dtype()));
  copy_elements(r, t);
  return r;
}
double element(const Tensor& dense, int64_t at) {
  double v;
  load_row(dense.dtype(), static_cast<const char*>(dense.data_ptr()) + at * size_of(dense.dtype()), 1, 1, Compute::f64, &v);
  return v;
}

void nll_kernel(const Call& c, std::span<const Tensor> r) {
  const Tensor self = dense_copy(c.tensor(0));
  const Scores s(self);
  const std::vector<int64_t> target = c.tensor(1).to_vector<int64_t>();
  const std::vector<double> weight = weights_of(c[2].tensor_or_none(), s.classes);
  const int64_t ignore = c[4].to_int64();
  const bool reduced = is_reduced(self, c[3]);
  std::vector<double> losses(target.size());
  double total = 0, total_weight = 0;
  for (int64_t i = 0; i < s.n; i++)
    for (int64_t j = 0; j < s.inner; j++) {
      const auto at = static_cast<std::size_t>(i * s.inner + j);
      if (target[at] == ignore) continue;
      const int64_t t = checked_class(target[at], s.classes);
      const double w = weight[static_cast<std::size_t>(t)];
      losses[at] = -w * element(self, (i * s.classes + t) * s.inner + j);
      total += losses[at];
      total_weight += w;
    }
  if (!reduced) {
    store_row(Compute::f64, losses.data(), static_cast<int64_t>(losses.size()), self.dtype(), r[0].data_ptr(), 1);
    total_weight = 0;
  } else {
    fill_elements(r[0], Scalar(loss_reduction(c[3]) == mean ? total / total_weight : total));
  }
  fill_elements(r[1], Scalar(total_weight));
}

// grad_output, self, target, weight, reduction, ignore_index, total_weight
void nll_backward_meta(const Call& c, Outputs& o) {
  const Tensor &grad = c.tensor(0), &self = c.tensor(1);
  check_nll(c, self, c.tensor(2), c[3].tensor_or_none());
  const Shape want = is_reduced(self, c[4]) ? Shape{} : target_shape(self.sizes());
  INGOT_REQUIRE(grad.numel() == want.product(), c.op.schema.name, ": expected grad_output of shape ", want, ", found ",
                grad.sizes());
  o.add(self.sizes(), self.dtype());
}
void nll_backward_kernel(const Call& c, std::span<const Tensor> r) {
  const Scores s(c.tensor(1));
  const std::vector<int64_t> target = c.tensor(2).to_vector<int64_t>();
  const std::vector<double> grad = c.tensor(0).to_vector<double>(), weight = weights_of(c[3].tensor_or_none(), s.classes);
  const bool reduced = is_reduced(c.tensor(1), c[4]);
  const double scale = reduced && loss_reduction(c[4]) == mean ? 1 / c.tensor(6).item_double() : 1;
  const int64_t ignore = c[5].to_int64(), bytes = size_of(r[0].dtype());
  fill_elements(r[0], 0);
  for (int64_t i = 0; i < s.n; i++)
    for (int64_t j = 0; j < s.inner; j++) {
      const auto at = static_cast<std::size_t>(i * s.inner + j);
      if (target[at] == ignore) continue;
      const int64_t t = checked_class(target[at], s.classes);
      const double g = -weight[static_cast<std::size_t>(t)] * grad[reduced ? 0 : at] * scale;
      store_row(Compute::f64, &g, 1, r[0].dtype(),
                static_cast<char*>(r[0].data_ptr()) + ((i * s.classes + t) * s.inner + j) * bytes, 1);
    }
}
template <OpName Backward>
void nll_vjp(Vjp& v) {
  if (v.need(0) && v.grad(0).defined())
    v.set(0, aten<Backward>(v.grad(0), v.saved(0), v.saved(1), v.saved(2), v.arg(3), v.arg(4), v.result(1)));
}
template <OpName Forward>
void nll_backward_vjp(Vjp& v) {
  if (v.need(0)) v.set(0, aten<Forward>(v.grad(), v.saved(2), v.saved(3), v.arg(4), v.arg(5)));
  if (v.need(1)) v.set(1, aten<"zeros_like">(v.grad()));
}

Value nll_loss_nd(const Call& c) {
  const Tensor &self = c.tensor(0), &target = c.tensor(1);
  INGOT_REQUIRE(self.dim() >= 1, "Expected 1 or more dimensions (got ", self.dim(), ")");
  if (self.dim() > 1)
    INGOT_REQUIRE(target.dim() > 0 && self.size(0) == target.size(0), "Expected input batch_size (", self.size(0),
                  ") to match target batch_size (", target.dim() > 0 ? target.size(0) : Int(1), ").");
  if (self.dim() <= 2) return aten<"nll_loss">(self, target, c[2], c[3], c[4]);
  if (self.dim() == 4) return aten<"nll_loss2d">(self, target, c[2], c[3], c[4]);
  const Shape want = target_shape(self.sizes());
  INGOT_REQUIRE(target.sizes() == want, "Expected target size ", want, ", got ", target.sizes());
  // Everything behind the classes is one row of an image.
  const Int n = self.size(0), pixels = self.sizes().sub(2, self.sizes().size()).product();
  const Tensor flat = aten<"reshape">(aten<"contiguous">(self), Shape{n, self.size(1), 1, pixels});
  const Tensor loss =
      aten<"nll_loss2d">(flat, aten<"reshape">(aten<"contiguous">(target), Shape{n, 1, pixels}), c[2], c[3], c[4]);
  return loss_reduction(c[3]) == none ? aten<"view">(loss, want) : loss;
}

// ---- cross entropy: (self, target, weight, reduction, ignore_index, label_smoothing)

// Class weights so that they broadcast to scores.
Tensor class_weights(const Tensor& weight, const Tensor& scores) {
  if (scores.dim() <= 1) return weight;
  Shape s = Shape::filled(scores.sizes().size(), 1);
  s[1] = weight.size(0);
  return aten<"view">(weight, s);
}
Tensor over_class_count(const Tensor& t, double smoothing, Int classes) {
  return classes.is_number() ? aten<"mul.Tensor">(t, smoothing / static_cast<double>(classes.number()))
                             : aten<"div.Tensor">(t * smoothing, classes);
}

Tensor against_probabilities(const Call& c, const Tensor& log_p, int class_dim) {
  const Tensor weight = c[2].tensor_or_none();
  const Int classes = log_p.size(class_dim);
  const double smoothing = c[5].to_double();
  Tensor target = c.tensor(1);
  if (smoothing > 0)
    target = classes.is_number() ? target * (1 - smoothing) + smoothing / static_cast<double>(classes.number())
                                 : target * (1 - smoothing) + over_class_count(aten<"ones_like">(target), smoothing, classes);
  Tensor product = log_p * target;
  if (weight.defined()) product = product * class_weights(weight, log_p);
  switch (loss_reduction(c[3])) {
    case mean: return aten<"div.Tensor">(-aten<"sum">(product), floor_div(log_p.numel(), classes));
    case sum: return -aten<"sum">(product);
    default: return -aten<"sum.dim_IntList">(product, Shape{class_dim});
  }
}
Tensor with_label_smoothing(const Call& c, const Tensor& log_p, int class_dim) {
  const Tensor &target = c.tensor(1), weight = c[2].tensor_or_none();
  const double smoothing = c[5].to_double();
  INGOT_REQUIRE(smoothing <= 1, "label_smoothing must be between 0.0 and 1.0. Got: ", smoothing);
  const Tensor nll = aten<"nll_loss_nd">(log_p, target, weight, c[3], c[4]);
  Tensor smooth = -aten<"sum.dim_IntList">(weight.defined() ? log_p * class_weights(weight, log_p) : log_p, Shape{class_dim});
  const Tensor ignored = aten<"eq.Scalar">(target, c[4]);
  smooth = aten<"masked_fill.Scalar">(smooth, ignored, 0.0);
  if (loss_reduction(c[3]) == sum) smooth = aten<"sum">(smooth);
  if (loss_reduction(c[3]) == mean) {
    Tensor count;
    if (weight.defined()) {
      const Tensor classes = aten<"flatten.using_ints">(aten<"masked_fill.Scalar">(target, ignored, 0));
      const Tensor taken = aten<"gather">(weight, 0, classes);
      count = aten<"sum">(aten<"masked_fill.Scalar">(taken, aten<"flatten.using_ints">(ignored), 0));
    } else {
      count = aten<"sum">(aten<"logical_not">(ignored));
    }
    smooth = aten<"sum">(smooth) / count;
  }
  return nll * (1 - smoothing) + over_class_count(smooth, smoothing, log_p.size(class_dim));
}
Value cross_entropy_loss(const Call& c) {
  const Tensor &self = c.tensor(0), &target = c.tensor(1);
  const int class_dim = self.dim() == 1 ? 0 : 1;
  INGOT_REQUIRE(self.dim() >= 1, "cross_entropy_loss: expected an input with at least 1 dimension, found ", self.sizes());
  auto log_p = [&] { return aten<"log_softmax.int">(self, class_dim, self.dtype()); };
  if (self.dim() == target.dim() && self.sizes() == target.sizes()) {
    INGOT_REQUIRE(target.is_floating_point(), "Expected floating point type for target with class probabilities, got ",
                  scalar_type_name(target.dtype()));
    INGOT_REQUIRE(c[4].to_int() < 0, "ignore_index is not supported for floating point target");
    return against_probabilities(c, log_p(), class_dim);
  }
  if (c[5].to_double() > 0) return with_label_smoothing(c, log_p(), class_dim);
  return aten<"nll_loss_nd">(log_p(), target, c[2], c[3], c[4]);
}

// ---- multi margin: mean over other classes j of max(0, margin - x[y] + x[j])^p

// Everything as rows of classes: (N, C), target (N, 1).
struct MarginTerms {
  Tensor x, target, is_other, distance;  // distance: margin - x[y] + x
  MarginTerms(const Call& c, const Tensor& self, const Tensor& targets, const Value& p, const Value& margin,
              const Tensor& weight) {
    INGOT_REQUIRE(self.dim() <= 2 && targets.dim() <= 1, c.op.schema.name, ": expected an input of shape (C) or (N, C), found ",
                  self.sizes());
    INGOT_REQUIRE(p.to_double() == 1 || p.to_double() == 2, "only p == 1 and p == 2 supported");
    x = aten<"reshape">(self, Shape{targets.numel(), -1});
    const Int classes = x.size(1);
    INGOT_REQUIRE(!weight.defined() || weight.numel() == classes, c.op.schema.name, ": expected one weight a class (", classes,
                  "), found ", weight.sizes());
    target = aten<"reshape">(targets, Shape{-1, 1});
    const Tensor index = aten<"expand">(aten<"arange">(classes, DType::i64, Value(), x.device()), x.sizes());
    is_other = aten<"ne.Tensor">(index, target);
    distance = margin.to_double() - aten<"gather">(x, 1, target) + x;
  }
};
Tensor target_weights(const Tensor& weight, const Tensor& target) {
  return aten<"index_select">(weight, 0, aten<"reshape">(target, Shape{-1}));
}

Value multi_margin_loss(const Call& c) {  // self, target, p, margin, weight, reduction
  const Tensor weight = c[4].tensor_or_none();
  const MarginTerms m(c, c.tensor(0), c.tensor(1), c[2], c[3], weight);
  Tensor z = aten<"clamp_min">(m.distance, 0);
  if (c[2].to_double() == 2) z = z * z;
  if (weight.defined()) z = z * aten<"reshape">(target_weights(weight, m.target), Shape{-1, 1});
  z = aten<"where.ScalarOther">(m.is_other, z, 0);
  if (loss_reduction(c[5]) == mean) return aten<"mean">(z);
  if (loss_reduction(c[5]) == sum) return aten<"sum">(z) / Scalar(z.size(1));
  return aten<"reshape">(aten<"mean.dim">(z, Shape{1}), c.tensor(1).sizes());
}
Value multi_margin_loss_backward(const Call& c) {  // grad_output, self, target, p, margin, weight, reduction
  const Tensor weight = c[5].tensor_or_none();
  const MarginTerms m(c, c.tensor(1), c.tensor(2), c[3], c[4], weight);
  const Tensor active = aten<"gt.Scalar">(m.distance, 0);
  Tensor slope = c[3].to_double() == 1 ? aten<"ones_like">(m.distance) : m.distance * 2;
  slope = aten<"where.ScalarOther">(aten<"logical_and">(active, m.is_other), slope, 0) / Scalar(m.x.size(1));
  if (weight.defined()) slope = slope * aten<"reshape">(target_weights(weight, m.target), Shape{-1, 1});
  slope = per_element(slope, m.x.size(0), c[6]) *
          (loss_reduction(c[6]) == none ? aten<"reshape">(c.tensor(0), Shape{-1, 1}) : c.tensor(0));
  const Tensor own = -aten<"sum.dim_IntList">(slope, Shape{1}, true);
  return aten<"reshape">(aten<"where.self">(m.is_other, slope, own), c.tensor(1).sizes());
}

// ---- multilabel margin: targets of a row up to the first -1 are its labels
struct Labels {
  int64_t n, classes;
  explicit Labels(const Tensor& self) {
    const std::vector<int64_t> s = self.sizes().values();
    n = s.size() == 2 ? s[0] : 1;
    classes = s.empty() ? 1 : s.back();
  }
};
void check_multilabel(const Call& c, const Tensor& self, const Tensor& target) {
  INGOT_REQUIRE(self.dim() <= 2 && self.is_floating_point(), c.op.schema.name,
                ": Expected non-empty vector or matrix with optional 0-dim batch size, but got: ", self.sizes());
  INGOT_REQUIRE(target.sizes() == self.sizes() && target.dtype() == DType::i64, "inconsistent target size: ", target.sizes(),
                " for input of size: ", self.sizes());
}
// Calls f(row, labels of the row).
template <class F>
void each_label_row(const Labels& l, const std::vector<int64_t>& target, const F& f) {
  for (int64_t i = 0; i < l.n; i++) {
    std::vector<int64_t> labels;
    for (int64_t j = 0; j < l.classes; j++) {
      const int64_t t = target[static_cast<std::size_t>(i * l.classes + j)];
      if (t == -1) break;
      INGOT_REQUIRE_INDEX(t >= 0 && t < l.classes, "target is out of range: found ", t, " for ", l.classes, " classes");
      labels.push_back(t);
    }
    f(i, labels);
  }
}
void multilabel_kernel(const Call& c, std::span<const Tensor> r) {
  const Labels l(c.tensor(0));
  const std::vector<double> x = c.tensor(0).to_vector<double>();
  std::vector<double> is_target(x.size()), losses(static_cast<std::size_t>(l.n));
  each_label_row(l, c.tensor(1).to_vector<int64_t>(), [&](int64_t i, const std::vector<int64_t>& labels) {
    const auto row = static_cast<std::size_t>(i * l.classes);
    for (int64_t t : labels) is_target[row + static_cast<std::size_t>(t)] = 1;
    for (int64_t t : labels)
      for (std::size_t j = 0; j < static_cast<std::size_t>(l.classes); j++)
        if (is_target[row + j] == 0)
          losses[static_cast<std::size_t>(i)] += std::max(0.0, 1 - x[row + static_cast<std::size_t>(t)] + x[row + j]);
    losses[static_cast<std::size_t>(i)] /= static_cast<double>(l.classes);
  });
  if (r[0].dim() == 0) {
    double total = 0;
    for (double v : losses) total += v;
    fill_elements(r[0], Scalar(loss_reduction(c[2]) == mean ? total / static_cast<double>(l.n) : total));
  } else {
    store_row(Compute::f64, losses.data(), l.n, r[0].dtype(), r[0].data_ptr(), 1);
  }
  store_row(Compute::f64, is_target.data(), static_cast<int64_t>(is_target.size()), r[1].dtype(), r[1].data_ptr(), 1);
}
void multilabel_backward_kernel(const Call& c, std::span<const Tensor> r) {  // grad_output, self, target, reduction, is_target
  const Labels l(c.tensor(1));
  const std::vector<double> grad = c.tensor(0).to_vector<double>(), x = c.tensor(1).to_vector<double>(),
                            is_target = c.tensor(4).to_vector<double>();
  std::vector<double> out(x.size());
  double scale = 1 / static_cast<double>(l.classes);
  if (loss_reduction(c[3]) == mean) scale /= static_cast<double>(l.n);
  each_label_row(l, c.tensor(2).to_vector<int64_t>(), [&](int64_t i, const std::vector<int64_t>& labels) {
    const auto row = static_cast<std::size_t>(i * l.classes);
    const double g = scale * (grad.size() == 1 ? grad[0] : grad[static_cast<std::size_t>(i)]);
    for (int64_t t : labels)
      for (std::size_t j = 0; j < static_cast<std::size_t>(l.classes); j++)
        if (is_target[row + j] == 0 && 1 - x[row + static_cast<std::size_t>(t)] + x[row + j] > 0) {
          out[row + static_cast<std::size_t>(t)] -= g;
          out[row + j] += g;
        }
  });
  store_row(Compute::f64, out.data(), static_cast<int64_t>(out.size()), r[0].dtype(), r[0].data_ptr(), 1);
}

// ---- batching of nll_loss: the batch joins the samples, of which each has its own loss

Tensor joined(const Tensor& t, bool samples) { return samples ? merge_dims(t, 0) : t; }
template <OpName Forward>
Value batch_nll(const Batching& b) {
  if (b.batched(2) || b.rank(1) >= b.rank(0)) return batch_loop(b);
  (void)b.member_results();
  const bool samples = b.rank(0) > 1;
  const Tensor target = joined(b.front(1), samples);
  const Tensor each = atens<Forward>(joined(b.front(0), samples), target, b[2], static_cast<int64_t>(none), b[4])[0];
  const Shape losses = b.with_batch(b.sizes(1));
  const LossReduction reduction = loss_reduction(b[3]);
  if (samples && reduction == none) return TensorList{aten<"reshape">(each, losses), aten<"new_zeros">(each, Shape{b.size})};
  const Tensor counted = aten<"ne.Scalar">(target, b[4]);
  Tensor weight = aten<"to.dtype">(counted, each.dtype());
  if (b[2].is_tensor()) {
    const Tensor known = aten<"reshape">(aten<"masked_fill.Scalar">(target, aten<"logical_not">(counted), 0), Shape{-1});
    weight = weight * aten<"reshape">(aten<"index_select">(b.tensor(2), 0, aten<"to.dtype">(known, DType::i64)), target.sizes());
  }
  const auto total = [&](const Tensor& t) {
    return aten<"sum.dim_IntList">(aten<"reshape">(t, Shape{b.size, b.sizes(1).product()}), Shape{1});
  };
  const Tensor total_weight = total(weight), loss = total(each);
  return TensorList{reduction == mean ? loss / total_weight : loss, total_weight};
}
// (grad_output, self, target, weight, reduction, ignore_index, total_weight)
Value batch_nll_backward(const Batching& b) {
  if (b.batched(3) || b.rank(2) >= b.rank(1)) return batch_loop(b);
  (void)b.member_results();
  const bool samples = b.rank(1) > 1;
  const LossReduction reduction = loss_reduction(b[4]);
  Tensor grad = b.front(0);
  if (reduction == mean) grad = grad / b.front(6);
  if (!samples || reduction != none)
    grad = aten<"expand">(aten<"reshape">(grad, b.with_batch(Shape::filled(b.sizes(2).size(), 1))), b.with_batch(b.sizes(2)));
  const Tensor r = call(b.op, {joined(grad, samples), joined(b.front(1), samples), joined(b.front(2), samples), b[3],
                               static_cast<int64_t>(none), b[5], aten<"new_ones">(grad, Shape{})})
                       .tensor();
  return samples ? split_dim(r, 0, b.size, b.sizes(1)[0]) : r;
}

#define NLL_ARGS "(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100) -> Tensor"
#define NLL_FORWARD_ARGS \
  "(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index) -> (Tensor output, Tensor total_weight)"
#define NLL_BACKWARD_ARGS \
  "(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index, Tensor total_weight) -> Tensor"

constexpr OpDef nll_forward(std::string_view schema, void (*vjp)(Vjp&), BatchRule batch) {
  return {.schema = schema,
          .meta = nll_meta,
          .kernel = nll_kernel,
          .vjp = vjp,
          .saves = {{0}, {1}, {2}, {kResult - 1}},
          .grad = {.refuses = 0b100, .results = 1},
          .batch = batch};
}
constexpr OpDef nll_backward(std::string_view schema, void (*vjp)(Vjp&)) {
  return {.schema = schema,
          .meta = nll_backward_meta,
          .kernel = nll_backward_kernel,
          .vjp = vjp,
          .saves = {{2}, {3}},
          .grad = {.refuses = 0b1001000},
          .batch = batch_nll_backward};
}

constexpr OpDef kClassLossOps[] = {
    nll_forward("aten::nll_loss_forward" NLL_FORWARD_ARGS, nll_vjp<"nll_loss_backward">, batch_nll<"nll_loss_forward">),
    nll_backward("aten::nll_loss_backward" NLL_BACKWARD_ARGS, nll_backward_vjp<"nll_loss">),
    nll_forward("aten::nll_loss2d_forward" NLL_FORWARD_ARGS, nll_vjp<"nll_loss2d_backward">, batch_nll<"nll_loss2d_forward">),
    nll_backward("aten::nll_loss2d_backward" NLL_BACKWARD_ARGS, nll_backward_vjp<"nll_loss2d">),
    composite_loss("aten::nll_loss" NLL_ARGS,
                   [](const Call& c) -> Value { return atens<"nll_loss_forward">(c[0], c[1], c[2], c[3], c[4])[0]; }),
    composite_loss("aten::nll_loss2d" NLL_ARGS,
                   [](const Call& c) -> Value { return atens<"nll_loss2d_forward">(c[0], c[1], c[2], c[3], c[4])[0]; }),
    composite("aten::nll_loss_nd" NLL_ARGS, nll_loss_nd),
    composite_loss(
        "aten::cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100, float "
        "label_smoothing=0.) -> Tensor",
        cross_entropy_loss),
    {.schema =
         "aten::multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, int reduction=1) -> Tensor",
     .body = multi_margin_loss,
     .vjp =
         [](Vjp& v) {
           v.set(0,
                 aten<"multi_margin_loss_backward">(v.grad(), v.saved(0), v.saved(1), v.arg(2), v.arg(3), v.saved(4), v.arg(5)));
         },
     .saves = {{0}, {1}, {4}},
     .grad = {.refuses = 0b10000},
     .autocast = Autocast::float32},
    {.schema =
         "aten::multi_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, Scalar p, Scalar margin, Tensor? weight=None, int "
         "reduction=1) -> Tensor",
     .body = multi_margin_loss_backward},
    {.schema =
         "aten::multilabel_margin_loss_forward(Tensor self, Tensor target, int reduction) -> (Tensor output, Tensor is_target)",
     .meta =
         [](const Call& c, Outputs& o) {
           const Tensor& self = c.tensor(0);
           check_multilabel(c, self, c.tensor(1));
           o.add(self.dim() <= 1 || loss_reduction(c[2]) != none ? Shape{} : Shape{self.size(0)}, self.dtype());
           o.add(self.sizes(), self.dtype());
         },
     .kernel = multilabel_kernel,
     .vjp =
         [](Vjp& v) {
           if (v.grad(0).defined())
             v.set(0, aten<"multilabel_margin_loss_backward">(v.grad(0), v.saved(0), v.saved(1), v.arg(2), v.result(1)));
         },
     .saves = {{0}, {1}, {kResult - 1}},
     .grad = {.results = 1},
     .autocast = Autocast::float32},
    {.schema =
         "aten::multilabel_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, Tensor is_target) -> Tensor",
     .meta =
         [](const Call& c, Outputs& o) {
           check_multilabel(c, c.tensor(1), c.tensor(2));
           INGOT_REQUIRE(c.tensor(4).sizes() == c.tensor(1).sizes(), "inconsistent is_target size: ", c.tensor(4).sizes());
           const bool each = c.tensor(1).dim() == 2 && loss_reduction(c[3]) == none;
           INGOT_REQUIRE(c.tensor(0).numel() == (each ? c.tensor(1).size(0) : Int(1)), c.op.schema.name,
                         ": grad_output has shape ", c.tensor(0).sizes());
           o.add(c.tensor(1).sizes(), c.tensor(1).dtype());
         },
     .kernel = multilabel_backward_kernel},
    composite_loss("aten::multilabel_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
                   [](const Call& c) -> Value { return atens<"multilabel_margin_loss_forward">(c[0], c[1], c[2])[0]; }),
};

}  // namespace

INGOT_FAMILY(class_loss, kClassLossOps)

}  // namespace ingot
