// Dropout and its kin.
#include <cmath>

#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "ingot/op/vjp.hpp"
#include "op/call.hpp"
#include "ops/batch/rules.hpp"
#include "ops/common/composite.hpp"
#include "ops/family.hpp"

namespace ingot {
namespace {

void check_probability(double p) {
  INGOT_REQUIRE(p >= 0 && p <= 1, "dropout probability has to be between 0 and 1, but got ", p);
}

double keep_scale(double p) { return p == 1 ? 0 : 1 / (1 - p); }

// (input, p, train)
Value native_dropout(const Call& c) {
  const Tensor& input = c.tensor(0);
  const double p = c[1].to_double();
  check_probability(p);
  if (!c[2].bool_or(true)) return TensorList{aten<"clone">(input), aten<"ones_like">(input, DType::b8)};
  const Tensor mask = aten<"lt.Scalar">(aten<"rand_like">(input, DType::f32), 1 - p);
  return TensorList{aten<"mul.Tensor">(aten<"mul.Tensor">(input, mask), keep_scale(p)), mask};
}

// Nothing is drawn for no elements, but the random stream goes on by the draw that a program for
// open sizes takes.
void take_a_draw() { aten<"rand">(Shape{0}); }

// Run as it is, a program gets its argument back where nothing is dropped. A functional program
// gets a copy, as PyTorch's tracers have it: what a write to the result does shall not depend on a
// flag.
Value dropout(const Call& c) {
  const double p = c[1].to_double();
  check_probability(p);
  const bool functional = thread_state().active & layer_bit(Layer::functionalize);
  if (!c[2].to_bool() || p == 0) return functional ? Value(aten<"clone">(c[0])) : c[0];
  if (statically_equal(c.tensor(0).numel(), 0)) {
    take_a_draw();
    return c[0];
  }
  return atens<"native_dropout">(c[0], p, true)[0];
}

// Whole channels share one decision: noise of shape [N, C, 1, …].
Tensor feature_noise(const Tensor& input) {
  INGOT_REQUIRE(input.dim() >= 2, "Feature dropout requires at least 2 dimensions in the input, found ", input.dim());
  Shape sizes;
  for (int i = 0; i < input.dim(); i++) sizes.push_back(i < 2 ? input.sizes()[i] : Int(1));
  return aten<"new_empty">(input, sizes);
}

template <bool kFeature, bool kAlpha>
Value dropout_by_noise(const Call& c) {
  const Tensor& input = c.tensor(0);
  const double p = c[1].to_double();
  check_probability(p);
  if (!c[2].to_bool() || p == 0) return input;
  if (statically_equal(input.numel(), 0)) {
    if (p < 1) take_a_draw();
    return input;
  }
  if (p == 1) return aten<"mul.Tensor">(input, aten<"new_zeros">(input, Shape{}));
  const Tensor noise = aten<"bernoulli.p">(kFeature ? feature_noise(input) : aten<"empty_like">(input), 1 - p);
  if constexpr (kAlpha) {
    // What is dropped becomes -alpha of SELU; a and b bring mean and variance back.
    constexpr double alpha = 1.7580993408473766;
    const double a = 1 / std::sqrt((alpha * alpha * p + 1) * (1 - p));
    const Tensor b = (noise - 1) * (alpha * a) + alpha * a * p;
    return aten<"add.Tensor">(aten<"mul.Tensor">(input, noise * a), b);
  }
  return aten<"mul.Tensor">(input, aten<"div.Tensor">(noise, 1 - p));
}

// (self, noise, lower, upper, training, generator) -> (result, noise_out): slopes drawn where self
// <= 0 while training.
Value rrelu_functional(const Call& c) {
  const Tensor &self = c.tensor(0), &noise = c.tensor(1);
  const double lower = c[2].to_double(), upper = c[3].to_double();
  INGOT_REQUIRE(lower <= upper, "Lower bound should be less than or equal to the upper bound, found ", lower, " and ", upper);
  INGOT_REQUIRE(noise.sizes() == self.sizes(),
                "rrelu_with_noise: noise tensor shape must match self tensor shape. Got self.shape = ", self.sizes(),
                ", noise.shape = ", noise.sizes());
  if (!c[4].to_bool()) return TensorList{aten<"leaky_relu">(self, (lower + upper) / 2), aten<"clone">(noise)};
  const Tensor slope = aten<"where.ScalarOther">(aten<"le.Scalar">(self, 0), aten<"uniform">(noise, lower, upper, c[5]), 1);
  return TensorList{aten<"mul.Tensor">(self, slope), slope};
}

// (grad_output, self, noise, lower, upper, training, self_is_result): the noise is the slope while
// training.
bool noise_is_slope(const Value& lower, const Value& upper, const Value& training) {
  return training.to_bool() && upper.to_double() - lower.to_double() > 1e-6;
}
Value rrelu_backward(const Call& c) {
  const double lower = c[3].to_double(), upper = c[4].to_double();
  if (noise_is_slope(c[3], c[4], c[5])) return aten<"mul.Tensor">(c[0], c[2]);
  return aten<"leaky_relu_backward">(c[0], c[1], (lower + upper) / 2, c[6]);
}

// One mask for all members is drawn for the first and then applied to each.
Value batch_dropout(const Batching& b) {
  if (b.randomness != Randomness::same || !b.any()) return batch_random(b);
  const TensorList drawn = atens<"native_dropout">(aten<"ones_like">(aten<"select.int">(b.tensor(0), 0, 0)), b[1], b[2]);
  return TensorList{b.tensor(0) * drawn[0], b.repeated(drawn[1])};
}

constexpr OpDef kDropoutOps[] = {
    {.schema = "aten::native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)",
     .form = Form::random,
     .body = native_dropout,
     .vjp =
         [](Vjp& v) {
           const double scale = v.arg(2).bool_or(true) ? keep_scale(v.arg(1).to_double()) : 1;
           v.set(0, aten<"native_dropout_backward">(v.grad(), v.result(1), scale));
         },
     .saves = {{kResult - 1}},
     .batch = batch_dropout},
    {.schema = "aten::native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor",
     .form = Form::pointwise,
     .body = [](const Call& c) -> Value { return aten<"mul.Tensor">(aten<"mul.Tensor">(c[0], c[1]), c[2]); },
     .vjp =
         [](Vjp& v) {
           not_implemented_for(v, 1, "native_dropout_backward: mask");
           v.set(0, aten<"native_dropout_backward">(v.grad(), v.saved(1), v.arg(2)));
         },
     .saves = {{1}}},
    {.schema = "aten::dropout(Tensor input, float p, bool train) -> Tensor",
     .form = Form::composite,
     .body = dropout,
     .result = {.may_alias = true},
     .exported = {.frozen = true}},
    aliasing_composite("aten::feature_dropout(Tensor input, float p, bool train) -> Tensor", dropout_by_noise<true, false>),
    aliasing_composite("aten::alpha_dropout(Tensor input, float p, bool train) -> Tensor", dropout_by_noise<false, true>),
    aliasing_composite("aten::feature_alpha_dropout(Tensor input, float p, bool train) -> Tensor", dropout_by_noise<true, true>),
    {.schema =
         "aten::rrelu_with_noise_functional(Tensor self, Tensor noise, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool "
         "training=False, Generator? generator=None) -> (Tensor, Tensor noise_out)",
     .form = Form::random,
     .body = rrelu_functional,
     .vjp =
         [](Vjp& v) {
           if (v.need(0))
             v.set(0, aten<"rrelu_with_noise_backward">(v.grad(), v.saved(0), v.result(1), v.arg(2), v.arg(3), v.arg(4), false));
         },
     .saves = {{0, 0}, {kResult - 1, 0}},
     .grad = {.results = 1},
     .batch = batch_random_of_values},
    // The noise is written by copy_, so that every layer sees both steps.
    {.schema =
         "aten::rrelu_with_noise(Tensor self, Tensor(b!) noise, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, "
         "Generator? generator=None) -> Tensor",
     .form = Form::composite,
     .body = [](const Call& c) -> Value {
       const TensorList r = atens<"rrelu_with_noise_functional">(c[0], c[1], c[2], c[3], c[4], c[5]);
       aten_value<"copy_">(c[1], r[1]);
       return r[0];
     }},
    {.schema =
         "aten::rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, Generator? generator=None) -> "
         "Tensor",
     .form = Form::composite,
     .body = [](const Call& c) -> Value {
       return atens<"rrelu_with_noise_functional">(c[0], aten<"empty_like">(c[0]), c[1], c[2], c[3], c[4])[0];
     }},
    {.schema =
         "aten::rrelu_with_noise_backward(Tensor grad_output, Tensor self, Tensor noise, Scalar lower, Scalar upper, bool training, bool "
         "self_is_result) -> Tensor",
     .form = Form::pointwise,
     .body = rrelu_backward,
     .vjp =
         [](Vjp& v) {
           if (v.need(0))
             v.set(0, aten<"rrelu_with_noise_backward">(v.grad(), v.saved(1), v.saved(2), v.arg(3), v.arg(4), v.arg(5), false));
           if (v.need(1)) v.set(1, aten<"zeros_like">(v.grad()));
         },
     .saves = {{1, 0}, {2, 0}},
     .grad = {.refuses = 0b100}},
};

}  // namespace

INGOT_FAMILY(dropout, kDropoutOps)

}  // namespace ingot
