// scaled_dot_product_attention: the kernel against its program and against written-out attention.
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

using Attend = Tensor (*)(const Tensor&, const Tensor&, const Tensor&, const Options&);
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
