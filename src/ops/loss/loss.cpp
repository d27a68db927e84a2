// Elementwise losses: each is a formula of input and target, reduced at the end.
#include <cmath>
#include <limits>
#include <numbers>

#include "base/dtype.hpp"
#include "ops/family.hpp"
#include "ops/loss/loss_reduction.hpp"
#include "tensor/geometry.hpp"

namespace ingot {
namespace {

Tensor scaled(const Tensor& t, double by) { return aten<"mul.Scalar">(t, by); }
Tensor zeros_where(const Tensor& mask, const Tensor& other) { return aten<"where.ScalarSelf">(mask, 0, other); }

// Gradients of a symmetric loss of self - target through its backward op: (grad, self, target,
// reduction[, parameter]).
template <OpName Backward, bool Parameter>
void difference_vjp(Vjp& v) {
  auto through = [&](const Tensor& a, const Tensor& b) {
    if constexpr (Parameter) return aten<Backward>(v.grad(), a, b, v.arg(2), v.arg(3));
    else return aten<Backward>(v.grad(), a, b, v.arg(2));
  };
  if (v.need(0)) v.set(0, through(v.saved(0), v.saved(1)));
  if (v.need(1)) v.set(1, through(v.saved(1), v.saved(0)));
}

// ---- squared error
Value mse_loss(const Call& c) {
  const Tensor d = c.tensor(0) - c.tensor(1);
  return reduce_loss(d * d, c[2]);
}
Value mse_loss_backward(const Call& c) {
  const Tensor d = c.tensor(1) - c.tensor(2);
  return per_element(scaled(d, 2), d.numel(), c[3]) * c.tensor(0);
}
void mse_loss_backward_vjp(Vjp& v) {
  const Tensor d = v.saved(1) - v.saved(2);
  if (v.need(0)) v.set(0, per_element(scaled(d * v.grad(), 2), d.numel(), v.arg(3)));
  const Tensor g = per_element(scaled(v.grad() * v.saved(0), 2), d.numel(), v.arg(3));
  if (v.need(1)) v.set(1, g);
  if (v.need(2)) v.set(2, -g);
}

// ---- smooth l1 and huber: quadratic near zero, linear beyond
Value smooth_l1_loss(const Call& c) {
  const double beta = c[3].to_double();
  INGOT_REQUIRE(beta >= 0, "smooth_l1_loss does not support negative values for beta.");
  const Tensor d = aten<"abs">(c.tensor(0) - c.tensor(1));
  if (beta == 0) return reduce_loss(d, c[2]);
  return reduce_loss(aten<"where.self">(d < beta, d * d * (0.5 / beta), d - 0.5 * beta), c[2]);
}
Value smooth_l1_loss_backward(const Call& c) {
  const double beta = c[4].to_double();
  const Tensor d = c.tensor(1) - c.tensor(2), sign = aten<"sign">(d);
  const Tensor slope = beta == 0 ? sign : aten<"where.self">(aten<"abs">(d) < beta, d / beta, sign);
  return per_element(slope, d.numel(), c[3]) * c.tensor(0);
}
Value huber_loss(const Call& c) {
  const double delta = c[3].to_double();
  INGOT_REQUIRE(delta > 0, "huber_loss does not support non-positive values for delta.");
  const Tensor d = aten<"abs">(c.tensor(0) - c.tensor(1));
  return reduce_loss(aten<"where.self">(d <= delta, d * d * 0.5, (d - 0.5 * delta) * delta), c[2]);
}
Value huber_loss_backward(const Call& c) {
  const double delta = c[4].to_double();
  const Tensor d = c.tensor(1) - c.tensor(2);
  return per_element(aten<"clamp">(d, -delta, delta), d.numel(), c[3]) * c.tensor(0);
}
// Both backward ops are linear in grad_output; their slope changes only inside the quadratic part,
// by 1 / width there.
template <bool Smooth>
void quadratic_part_vjp(Vjp& v) {
  const Tensor grad = v.saved(0), self = v.saved(1), target = v.saved(2);
  const double width = v.arg(4).to_double();
  const Tensor d = self - target;
  if (v.need(0)) {
    const Tensor ones = aten<"ones_like">(d);
    v.set(0, v.grad() * (Smooth ? aten<"smooth_l1_loss_backward">(ones, self, target, v.arg(3), width)
                                : aten<"huber_loss_backward">(ones, self, target, v.arg(3), width)));
  }
  const double slope = Smooth ? 1 / width : 1;
  const Tensor inside = Smooth ? aten<"lt.Scalar">(aten<"abs">(d), width) : aten<"le.Scalar">(aten<"abs">(d), width);
  const Tensor g = per_element(zeros_where(aten<"logical_not">(inside), scaled(v.grad() * grad, slope)), d.numel(), v.arg(3));
  if (v.need(1)) v.set(1, g);
  if (v.need(2)) v.set(2, -g);
}

// ---- binary cross entropy: -w (t log x + (1 - t) log(1 - x)), logs not below -100
Tensor maybe_weighted(const Tensor& t, const Tensor& weight) { return weight.defined() ? t * weight : t; }
constexpr double kEpsilon = 1e-12;  // keeps x (1 - x) off zero

Value binary_cross_entropy(const Call& c) {
  const Tensor &x = c.tensor(0), &t = c.tensor(1);
  INGOT_REQUIRE(x.sizes() == t.sizes(), "Using a target size (", t.sizes(), ") that is different to the input size (", x.sizes(),
                ") is deprecated. Please ensure they have the same size.");
  if (!x->is_fake() && x.numel() > 0) {
    const TensorList range = atens<"aminmax">(x);
    INGOT_REQUIRE(range[0].item_double() >= 0 && range[1].item_double() <= 1, "all elements of input should be between 0 and 1");
  }
  const Tensor log_x = aten<"clamp_min">(aten<"log">(x), -100), log_rest = aten<"clamp_min">(aten<"log1p">(-x), -100);
  return reduce_loss(maybe_weighted((t - 1) * log_rest - t * log_x, c[2].tensor_or_none()), c[3]);
}
Value binary_cross_entropy_backward(const Call& c) {
  const Tensor &g = c.tensor(0), &x = c.tensor(1), &t = c.tensor(2);
  const Tensor slope = (x - t) / aten<"clamp_min">((1 - x) * x, kEpsilon);
  return per_element(maybe_weighted(g * slope, c[3].tensor_or_none()), x.numel(), c[4]);
}
void binary_cross_entropy_vjp(Vjp& v) {
  const Tensor x = v.saved(0), t = v.saved(1), w = v.saved(2);
  if (v.need(0)) v.set(0, aten<"binary_cross_entropy_backward">(v.grad(), x, t, w, v.arg(3)));
  if (v.need(1)) v.set(1, per_element(maybe_weighted(v.grad() * (aten<"log1p">(-x) - aten<"log">(x)), w), x.numel(), v.arg(3)));
}
void binary_cross_entropy_backward_vjp(Vjp& v) {
  const Tensor g = v.saved(0), x = v.saved(1), t = v.saved(2), w = v.saved(3);
  const Tensor area = aten<"clamp_min">(x * (1 - x), kEpsilon);
  auto finish = [&](const Tensor& r) { return per_element(maybe_weighted(v.grad() * r, w), x.numel(), v.arg(4)); };
  if (v.need(0)) v.set(0, finish((x - t) / area));
  if (v.need(1)) v.set(1, finish(g * (x * x - 2 * (x * t) + t) / (area * area)));
  if (v.need(2)) v.set(2, finish(-g / area));
}

// with logits: (1 - t) x - log_sigmoid(x) (1 + (pos_weight - 1) t)
Value bce_with_logits(const Call& c) {
  const Tensor &x = c.tensor(0), &t = c.tensor(1), positive = c[3].tensor_or_none();
  Tensor log_sigmoid = aten<"log_sigmoid">(x);
  if (positive.defined()) log_sigmoid = log_sigmoid * ((positive - 1) * t + 1);
  return reduce_loss(maybe_weighted((1 - t) * x - log_sigmoid, c[2].tensor_or_none()), c[4]);
}
void bce_with_logits_vjp(Vjp& v) {
  const Tensor x = v.saved(0), t = v.saved(1), w = v.saved(2), positive = v.saved(3);
  const Int n = broadcast_shapes(x.sizes(), t.sizes(), "binary_cross_entropy_with_logits").product();
  auto finish = [&](const Tensor& r) { return per_element(maybe_weighted(r, w), n, v.arg(4)); };
  if (v.need(0)) {
    Tensor slope;
    if (positive.defined()) {
      const Tensor p = positive * t;
      slope = (p + 1 - t) * aten<"sigmoid">(x) - p;
    } else {
      slope = aten<"sigmoid">(x) - t;
    }
    v.set(0, finish(slope * v.grad()));
  }
  if (v.need(1)) {
    const Tensor slope = positive.defined() ? aten<"log_sigmoid">(-x) - positive * aten<"log_sigmoid">(x) : -x;
    v.set(1, finish(slope * v.grad()));
  }
}

// ---- soft margin: log(1 + exp(-t x))
Value soft_margin_loss(const Call& c) { return reduce_loss(aten<"log1p">(aten<"exp">(-c.tensor(0) * c.tensor(1))), c[2]); }
Value soft_margin_loss_backward(const Call& c) {
  const Tensor &x = c.tensor(1), &t = c.tensor(2), z = aten<"exp">(-t * x);
  return per_element(-t * z / (z + 1), z.numel(), c[3]) * c.tensor(0);
}
void soft_margin_loss_backward_vjp(Vjp& v) {
  const Tensor x = v.saved(1), t = v.saved(2), z = aten<"sigmoid">(-t * x);
  if (v.need(0)) v.set(0, per_element(v.grad() * -t * z, z.numel(), v.arg(3)));
  if (v.need(1)) v.set(1, per_element(v.grad() * v.saved(0) * t * t * z * (1 - z), z.numel(), v.arg(3)));
}

// ---- composites
Value kl_div(const Call& c) {
  const Tensor &x = c.tensor(0), &t = c.tensor(1);
  if (c[3].to_bool()) return reduce_loss(aten<"exp">(t) * (t - x), c[2]);
  return reduce_loss(aten<"xlogy.Tensor">(t, t) - t * x, c[2]);
}
Value poisson_nll_loss(const Call& c) {  // input, target, log_input, full, eps, reduction
  const Tensor &x = c.tensor(0), &t = c.tensor(1);
  Tensor loss = c[2].to_bool() ? aten<"exp">(x) - t * x : x - t * aten<"log">(x + c[4].to_double());
  if (c[3].to_bool()) {
    const Tensor stirling = t * aten<"log">(t) - t + 0.5 * aten<"log">(t * (2 * std::numbers::pi));
    loss = loss + aten<"masked_fill.Scalar">(stirling, aten<"le.Scalar">(t, 1), 0);
  }
  return reduce_loss(loss, c[5]);
}
Value hinge_embedding_loss(const Call& c) {  // self, target, margin, reduction
  const Tensor &x = c.tensor(0), &t = c.tensor(1), zeros = aten<"zeros_like">(x);
  const Tensor margin = aten<"where.self">(aten<"ne.Scalar">(t, 1), aten<"clamp_min">(c[2].to_double() - x, 0), zeros);
  return reduce_loss(aten<"where.self">(aten<"ne.Scalar">(t, -1), x, zeros) + margin, c[3]);
}
Value margin_ranking_loss(const Call& c) {  // input1, input2, target, margin, reduction
  return reduce_loss(aten<"clamp_min">(-c.tensor(2) * (c.tensor(0) - c.tensor(1)) + c[3].to_double(), 0), c[4]);
}
Value cosine_embedding_loss(const Call& c) {  // input1, input2, target, margin, reduction
  const Tensor &a = c.tensor(0), &b = c.tensor(1), &t = c.tensor(2);
  constexpr double eps = 1e-12;  // the square root of zero has no gradient
  INGOT_REQUIRE((t.dim() == 0 || t.dim() == 1) && a.dim() == t.dim() + 1 && b.dim() == t.dim() + 1,
                "cosine_embedding_loss: ", t.dim(), "D target tensor expects ", t.dim() + 1,
                "D input tensors, but found inputs with sizes ", a.sizes(), " and ", b.sizes());
  auto dot = [](const Tensor& x, const Tensor& y) { return aten<"sum.dim_IntList">(x * y, Shape{-1}); };
  const Tensor cosine = dot(a, b) / aten<"sqrt">((dot(a, a) + eps) * (dot(b, b) + eps)), zeros = aten<"zeros_like">(cosine);
  const Tensor positive = aten<"where.self">(aten<"eq.Scalar">(t, 1), 1 - cosine, zeros);
  const Tensor negative = aten<"where.self">(aten<"eq.Scalar">(t, -1), aten<"clamp_min">(cosine - c[3].to_double(), 0), zeros);
  return reduce_loss(positive + negative, c[4]);
}
Value cosine_similarity(const Call& c) {  // x1, x2, dim, eps
  INGOT_REQUIRE(is_differentiable(c.tensor(0).dtype()) && is_differentiable(c.tensor(1).dtype()),
                "expected common dtype to be floating point, yet common "
                "dtype is ",
                scalar_type_name(c.tensor(0).dtype()));
  const TensorList x = atens<"broadcast_tensors">(TensorList{c.tensor(0), c.tensor(1)});
  auto unit = [&](const Tensor& t) {
    const Tensor norm = aten<"linalg_vector_norm">(t, 2, Shape{c[2].to_int()}, true);
    return t / aten<"clamp_min">(norm, c[3].to_double());
  };
  return aten<"sum.dim_IntList">(unit(x[0]) * unit(x[1]), Shape{c[2].to_int()});
}
Value pairwise_distance(const Call& c) {  // x1, x2, p, eps, keepdim
  const Tensor &a = c.tensor(0), &b = c.tensor(1);
  return aten<"norm.ScalarOpt_dim">(a - b + c[3].to_double(), c[2].to_double(), Shape{std::max(a.dim(), b.dim()) - 1}, c[4]);
}
Value triplet_margin_loss(const Call& c) {  // anchor, positive, negative, margin, p, eps, swap, reduction
  const Tensor &a = c.tensor(0), &p = c.tensor(1), &n = c.tensor(2);
  INGOT_REQUIRE(a.dim() == p.dim() && p.dim() == n.dim(),
                "The anchor, positive, and negative tensors are expected to have the same number of dimensions, "
                "but got: anchor ",
                a.dim(), "D, positive ", p.dim(), "D, and negative ", n.dim(), "D inputs");
  INGOT_REQUIRE(c[3].to_double() > 0, "triplet_margin_loss: margin must be greater than 0, found ", c[3].to_double());
  auto distance = [&](const Tensor& x, const Tensor& y) { return aten<"pairwise_distance">(x, y, c[4], c[5]); };
  Tensor far = distance(a, n);
  if (c[6].to_bool()) far = aten<"minimum">(far, distance(p, n));
  return reduce_loss(aten<"clamp_min">(c[3].to_double() + distance(a, p) - far, 0), c[7]);
}

constexpr OpDef loss(std::string_view schema, Value (*body)(const Call&), void (*vjp)(Vjp&), Saves saves,
                     uint16_t refuses_grad = 0) {
  return {.schema = schema,
          .form = Form::reduction,
          .body = body,
          .vjp = vjp,
          .saves = saves,
          .grad = {.refuses = refuses_grad},
          .autocast = Autocast::float32};
}
constexpr OpDef backward(std::string_view schema, Value (*body)(const Call&), void (*vjp)(Vjp&), Saves saves,
                         uint16_t refuses_grad = 0) {
  return {.schema = schema, .form = Form::external, .body = body, .vjp = vjp, .saves = saves, .grad = {.refuses = refuses_grad}};
}

constexpr OpDef kLossOps[] = {
    loss("aten::mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor", mse_loss,
         difference_vjp<"mse_loss_backward", false>, {{0}, {1}}),
    backward("aten::mse_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) -> Tensor",
             mse_loss_backward, mse_loss_backward_vjp, {{0}, {1}, {2}}),
    composite_loss("aten::l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
                   [](const Call& c) -> Value { return reduce_loss(aten<"abs">(c.tensor(0) - c.tensor(1)), c[2]); }),
    loss("aten::smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float beta=1.) -> Tensor", smooth_l1_loss,
         difference_vjp<"smooth_l1_loss_backward", true>, {{0}, {1}}),
    backward("aten::smooth_l1_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, float beta) -> Tensor",
             smooth_l1_loss_backward, quadratic_part_vjp<true>, {{0}, {1}, {2}}),
    loss("aten::huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.) -> Tensor", huber_loss,
         difference_vjp<"huber_loss_backward", true>, {{0}, {1}}),
    backward("aten::huber_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, float delta) -> Tensor",
             huber_loss_backward, quadratic_part_vjp<false>, {{0}, {1}, {2}}),
    loss("aten::binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1) -> Tensor",
         binary_cross_entropy, binary_cross_entropy_vjp, {{0}, {1}, {2}}, 0b100),
    backward(
        "aten::binary_cross_entropy_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight=None, int reduction=1) -> Tensor",
        binary_cross_entropy_backward, binary_cross_entropy_backward_vjp, {{0}, {1}, {2}, {3}}, 0b1000),
    loss(
        "aten::binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, int reduction=1) -> Tensor",
        bce_with_logits, bce_with_logits_vjp, {{0}, {1}, {2}, {3}}, 0b1100),
    loss(
        "aten::soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor", soft_margin_loss,
        [](Vjp& v) { v.set(0, aten<"soft_margin_loss_backward">(v.grad(), v.saved(0), v.saved(1), v.arg(2))); }, {{0}, {1}},
        0b10),
    backward("aten::soft_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) -> Tensor",
             soft_margin_loss_backward, soft_margin_loss_backward_vjp, {{0}, {1}, {2}}, 0b100),
    composite_loss("aten::kl_div(Tensor self, Tensor target, int reduction=1, *, bool log_target=False) -> Tensor", kl_div),
    composite_loss(
        "aten::poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction) -> Tensor",
        poisson_nll_loss),
    composite_loss("aten::hinge_embedding_loss(Tensor self, Tensor target, float margin=1., int reduction=1) -> Tensor",
                   hinge_embedding_loss),
    composite_loss(
        "aten::margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> Tensor",
        margin_ranking_loss),
    composite_loss(
        "aten::cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> Tensor",
        cosine_embedding_loss),
    {.schema = "aten::cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor",
     .form = Form::composite,
     .body = cosine_similarity},
    {.schema =
         "aten::pairwise_distance(Tensor x1, Tensor x2, float p=2., float eps=9.9999999999999995e-07, bool keepdim=False) -> Tensor",
     .form = Form::composite,
     .body = pairwise_distance},
    composite_loss(
        "aten::triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1., float p=2., float "
        "eps=9.9999999999999995e-07, bool swap=False, int reduction=1) -> Tensor",
        triplet_margin_loss),
};

}  // namespace

INGOT_FAMILY(loss, kLossOps)

}  // namespace ingot
