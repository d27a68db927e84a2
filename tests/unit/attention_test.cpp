// scaled_dot_product_attention: the kernel against its program and against written-out attention,
// and gradients of higher order.
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "base/parallel.hpp"
#include "ingot/autograd.hpp"
#include "ingot/ingot.hpp"
#include "ingot/transforms.hpp"
#include "op/call.hpp"
#include "support/gradient_check.hpp"
#include "tensor/impl.hpp"

namespace ingot {
namespace {

struct Options {
  Tensor mask{};
  bool is_causal = false;
  std::optional<double> scale{};
  bool gqa = false;
};
Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v, const Options& o) {
  return aten<"scaled_dot_product_attention">(q, k, v, o.mask, 0.0, o.is_causal, o.scale ? Value(*o.scale) : Value(), o.gqa);
}
// The same, written out of products and a softmax.
Tensor written_out(const Tensor& q, const Tensor& given_k, const Tensor& given_v, const Options& o) {
  const int64_t group = q.size(1).value() / given_k.size(1).value();
  const auto repeated = [&](const Tensor& t) { return o.gqa ? aten<"repeat_interleave.self_int">(t, group, 1) : t; };
  const Tensor k = repeated(given_k), v = repeated(given_v);
  const double scale = o.scale.value_or(1 / std::sqrt(static_cast<double>(q.size(3).value())));
  Tensor scores = matmul(q, k.transpose(-2, -1)) * scale;
  Tensor seen = o.mask;
  if (o.is_causal) seen = aten<"tril">(ones({q.size(2), k.size(2)}, {.dtype = boolean}));
  if (!seen.defined()) return matmul(scores.softmax(-1), v);
  if (seen.dtype() != boolean) return matmul((scores + seen).softmax(-1), v);
  const Tensor hidden = aten<"logical_not">(seen), empty = aten<"all.dim">(hidden, -1, true);
  scores = aten<"masked_fill.Scalar">(scores, hidden, -HUGE_VAL);
  scores = aten<"masked_fill.Scalar">(scores, empty, 0);  // a row in which nothing takes part is zero
  return matmul(aten<"masked_fill.Scalar">(scores.softmax(-1), empty, 0), v);
}

Tensor wave(const Shape& sizes, double step) { return (arange(sizes.product()).to(float64) * step).sin().view(sizes); }
Tensor some_mask() { return tensor({1, 1, 0, 0, 1, 0, 1, 1, 0, 0, 0, 0}, {3, 4}, boolean); }
const std::vector<std::pair<const char*, Options>>& all_options() {
  static const std::vector<std::pair<const char*, Options>> all{{"plain", {}},
                                                                {"causal", {.is_causal = true}},
                                                                {"scale", {.scale = -0.3}},
                                                                {"mask", {.mask = some_mask()}},
                                                                {"gqa", {.gqa = true}},
                                                                {"float mask", {.mask = wave({3, 4}, 2.1)}}};
  return all;
}
TensorList inputs(bool gqa) {
  const int64_t heads = gqa ? 2 : 4;
  return {wave({1, 4, 3, 2}, 1.3), wave({1, heads, 4, 2}, 0.7), wave({1, heads, 4, 2}, 1.1)};
}

using Attend = Tensor (*)(const Tensor&, const Tensor&, const Tensor&, const Options&);
// The gradient of the weighted sum of the gradients of the weighted sum of the results.
TensorList second_order(Attend f, const TensorList& in, const Options& o) {
  TensorList x;
  for (const Tensor& t : in) x.push_back(t.detach().clone().requires_grad_());
  const Tensor y = f(x[0], x[1], x[2], o);
  const auto weights = [](const Tensor& t, double step) { return wave(t.sizes(), step).to(t.dtype()); };
  const TensorList g = grad({(y * weights(y, 0.9)).sum()}, x, {}, {.create_graph = true});
  Tensor sum;
  for (std::size_t i = 0; i < g.size(); i++) {
    const Tensor part = (g[i] * weights(g[i], 0.4 + 0.1 * static_cast<double>(i))).sum();
    sum = sum.defined() ? sum + part : part;
  }
  return grad({sum}, x);
}

// Of each gradient the first three elements and the sum of the absolute values, by PyTorch's math
// backend.
TEST(AttentionGradients, SecondOrderIsPyTorchs) {
  const double want[6][3][4] = {{{0.058690649035, 0.134932951014, 0.428658782998, 7.221017237155},
                                 {0.122558368153, 0.007187548401, 0.350196993991, 6.4941618706},
                                 {-0.066045636187, -0.212542462858, 0.115109939956, 4.180674354143}},
                                {{0.0, 0.0, 0.230137059344, 3.381787037501},
                                 {-0.484873985427, -0.125306385603, 0.171024038136, 3.073264982592},
                                 {-0.206293512375, -0.159230440833, 0.103018198309, 2.84939329146}},
                                {{-0.031085456664, -0.045354643383, -0.077772388128, 2.469753756002},
                                 {0.044367494443, -0.007764121459, -0.130409639889, 2.160151865252},
                                 {0.009051424395, 0.023292064245, -0.035850245164, 1.732080347077}},
                                {{-0.061637283186, -0.061519993447, 0.063201757766, 3.975481687929},
                                 {0.117555949074, 0.003299615682, 0.0, 5.378670381976},
                                 {0.103276482975, -0.035161387611, 0.0, 3.463082741103}},
                                {{0.058690649035, 0.134932951014, 0.428658782998, 5.234656871785},
                                 {0.250064583853, 0.074654240959, -0.065523614879, 2.602730232749},
                                 {-0.025248620089, -0.246346831117, -0.22180545823, 2.415860801943}},
                                {{0.104171180677, 0.110950860309, 0.209666019149, 6.602059602134},
                                 {0.056890513752, -0.125544601583, 0.178050559195, 7.097289650141},
                                 {0.083136800014, -0.071052253795, -0.021747820534, 3.983601493162}}};
  for (std::size_t c = 0; c < all_options().size(); c++) {
    const auto& [name, o] = all_options()[c];
    const TensorList found = second_order(attend, inputs(o.gqa), o);
    for (std::size_t i = 0; i < 3; i++) {
      const std::vector<double> x = found[i].to_vector<double>();
      double sum = 0;
      for (const double e : x) sum += std::abs(e);
      for (std::size_t k = 0; k < 3; k++) EXPECT_NEAR(x[k], want[c][i][k], 1e-11) << name << " " << i;
      EXPECT_NEAR(sum, want[c][i][3], 1e-10) << name << " " << i;
    }
  }
}

TEST(AttentionGradients, ThreeOrdersAreDifferences) {
  for (const auto& [name, o] : all_options())
    for (std::size_t i = 0; i < 3; i++) {
      SCOPED_TRACE(text(name, " input ", i));
      check_gradient(
          [&](const Tensor& x) {
            TensorList in = inputs(o.gqa);
            in[i] = x;
            return attend(in[0], in[1], in[2], o);
          },
          inputs(o.gqa)[i], i == 0 ? 3 : 2);
    }
}

TEST(AttentionGradients, SmallerTypesAreNearDoubles) {
  for (const auto& [name, o] : all_options())
    for (const auto& [dtype, near] : {std::pair(float32, 1e-5), std::pair(float16, 3e-2), std::pair(bfloat16, 2e-1)}) {
      TensorList in, exact;
      for (const Tensor& t : inputs(o.gqa)) in.push_back(t.to(dtype)), exact.push_back(in.back().to(float64));
      Options small = o;
      if (small.mask.defined() && small.mask.dtype() != boolean) small.mask = small.mask.to(float32).to(dtype);
      Options wide = small;
      if (wide.mask.defined() && wide.mask.dtype() != boolean) wide.mask = wide.mask.to(float64);
      const TensorList want = second_order(written_out, exact, wide), found = second_order(attend, in, small);
      for (std::size_t i = 0; i < 3; i++) {
        EXPECT_EQ(found[i].dtype(), dtype);
        EXPECT_TRUE(allclose(found[i].to(float64), want[i], near, near)) << name << " " << name_of(dtype) << " " << i;
      }
    }
}

TEST(AttentionGradients, PushforwardIsThatOfWrittenOut) {
  for (const auto& [name, o] : all_options()) {
    const TensorList in = inputs(o.gqa);
    TensorList tangents;
    for (const Tensor& t : in) tangents.push_back(wave(t.sizes(), 0.37));
    const auto pushed = [&](Attend f) {
      return jvp([&](const TensorList& x) { return TensorList{f(x[0], x[1], x[2], o)}; }, in, tangents).tangents[0];
    };
    EXPECT_TRUE(allclose(pushed(attend), pushed(written_out), 1e-10, 1e-12)) << name;
  }
}

TEST(AttentionGradients, HessiansOfMembers) {
  const TensorList in = inputs(false);
  const auto hessian_of = [](Attend f) {
    return hessian([f](const TensorList& x) { return TensorList{f(x[0], x[1], x[2], {}).sin().sum()}; });
  };
  const auto members = [&](Attend f) {
    const TensorList batched{stack({in[0], in[0] * 0.5}), stack({in[1], in[1] + 0.1}), stack({in[2], in[2].cos()})};
    return vmap(hessian_of(f))(batched)[0];
  };
  EXPECT_TRUE(allclose(members(attend), members(written_out), 1e-9, 1e-11));
}

// What fits one block of rows and what takes several, in types and layouts.
TEST(AttentionKernel, EqualsWrittenOut) {
  struct Case {
    int64_t batch, heads, rows, keys, embed;
  };
  for (const Case& s :
       {Case{2, 3, 5, 7, 4}, Case{1, 1, 300, 1500, 8}, Case{1, 2, 1, 1024, 16}, Case{1, 1, 700, 400, 3}, Case{1, 1, 1, 5000, 2}})
    for (const bool is_causal : {false, true})
      for (const auto& [dtype, near] : {std::pair(float64, 1e-12), std::pair(float32, 2e-5)}) {
        manual_seed(5);
        const auto random = [&](int64_t length) {  // heads inside, as a transformer has them
          return randn({s.batch, length, s.heads, s.embed}, {.dtype = dtype}).transpose(1, 2).requires_grad_();
        };
        const TensorList in{random(s.rows), random(s.keys), random(s.keys)};
        const Options o{.is_causal = is_causal};
        const auto run = [&](Attend f) {
          const Tensor y = f(in[0], in[1], in[2], o);
          TensorList all = grad({(y * (y + 1)).sum()}, in);
          all.insert(all.begin(), y.detach());
          return all;
        };
        const TensorList want = run(written_out), found = run(attend);
        for (std::size_t i = 0; i < want.size(); i++)
          EXPECT_TRUE(allclose(found[i], want[i], near, near))
              << s.rows << " " << s.keys << " " << name_of(dtype) << " value " << i;
      }
}

// The kernel, and the program that stands for it in traces: values and layouts.
TEST(AttentionKernel, EqualsItsProgram) {
  manual_seed(6);
  const Tensor far =
      tensor({0, -HUGE_VAL, -HUGE_VAL, 1, -HUGE_VAL, 2, 0, 0, 0, -HUGE_VAL, -HUGE_VAL, -HUGE_VAL}, {3, 4}, float32);
  for (const DType dtype : {float64, float32, float16, bfloat16})
    for (const bool masked : {false, true}) {
      const auto random = [&](const Shape& sizes) { return randn(sizes).to(dtype); };
      const Tensor q = random({2, 3, 5, 3}).transpose(1, 2);
      const TensorFunction f = [&](const TensorList& x) {
        const Value mask = masked ? Value(x[3]) : Value();
        TensorList r = atens<"_scaled_dot_product_flash_attention_for_cpu">(x[0], x[1], x[2], 0.0, !masked, mask);
        for (const Tensor& t : atens<"_scaled_dot_product_flash_attention_for_cpu_backward">(x[4], x[0], x[1], x[2], r[0], r[1],
                                                                                             0.0, !masked, mask))
          r.push_back(t);
        return r;
      };
      const TensorList given{q, random({2, 5, 4, 3}), random({2, 5, 4, 3}), far.to(dtype), random({2, 5, 3, 3})},
          found = f(given);
      const double near = dtype == float64 ? 1e-12 : dtype == float32 ? 1e-5 : dtype == float16 ? 2e-3 : 2e-2;
      const Op& forward = op("_scaled_dot_product_flash_attention_for_cpu");
      const Op& backward = op("_scaled_dot_product_flash_attention_for_cpu_backward");
      const Value mask = masked ? Value(given[3]) : Value();
      const auto program_of = [](const Op& o, const Values& args) { return TensorList(o.def->body({o, args}).tensors()); };
      TensorList program = program_of(forward, {given[0], given[1], given[2], 0.0, !masked, mask, Value()});
      for (const Tensor& t :
           program_of(backward, {given[4], given[0], given[1], given[2], program[0], program[1], 0.0, !masked, mask, Value()}))
        program.push_back(t);
      for (std::size_t i = 0; i < found.size(); i++) {
        EXPECT_EQ(found[i].dtype(), program[i].dtype());
        EXPECT_EQ(found[i].strides().values(), program[i].strides().values()) << name_of(dtype) << " result " << i;
        EXPECT_TRUE(allclose(found[i], program[i], near, near)) << name_of(dtype) << " masked " << masked << " result " << i;
      }
    }
}

// The bits do not depend on how many threads there are.
TEST(AttentionKernel, X07_SameBitsOnAnyNumberOfThreads) {
  manual_seed(7);
  const TensorList in{randn({2, 2, 200, 8}).requires_grad_(), randn({2, 2, 300, 8}).requires_grad_(),
                      randn({2, 2, 300, 8}).requires_grad_()};
  const auto run = [&](int threads) {
    set_num_threads(threads);
    const Tensor y = attend(in[0], in[1], in[2], {});
    TensorList all = grad({y.sin().sum()}, in);
    all.push_back(y.detach());
    return all;
  };
  const int before = num_threads();
  const TensorList one = run(1), two = run(2);
  set_num_threads(before);
  for (std::size_t i = 0; i < one.size(); i++) EXPECT_TRUE(equal(one[i], two[i])) << i;
}

// Whoever reads infinities and NaN: a row of nothing is zero, NaN spread over their row alone.
TEST(AttentionKernel, RowsOfNothingAndOfNaN) {
  const Tensor q = ones({1, 1, 3, 2}), v = ones({1, 1, 2, 2});
  const Tensor k = ones({1, 1, 2, 2});
  const Tensor mask = tensor({-HUGE_VAL, -HUGE_VAL, NAN, -HUGE_VAL, 0, -HUGE_VAL}, {3, 2}, float32);
  const TensorList r = atens<"_scaled_dot_product_flash_attention_for_cpu">(q, k, v, 0.0, false, mask);
  const std::vector<float> y = r[0].to_vector<float>(), lse = r[1].to_vector<float>();
  EXPECT_EQ(y[0], 0);
  EXPECT_EQ(lse[0], -HUGE_VALF);
  EXPECT_TRUE(std::isnan(y[2]) && std::isnan(lse[1]));
  EXPECT_EQ(y[4], 1);
  EXPECT_NEAR(lse[2], std::sqrt(2.0f), 1e-6);
}

}  // namespace
}  // namespace ingot
