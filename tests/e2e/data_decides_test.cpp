// What data decides in a compiled program: where a tensor is split or sliced, numbers in formulas,
// whether two sizes are equal and whether an assertion holds.
#include "compiler/aot_compiler.hpp"
#include "e2e/compiled_model.hpp"
#include "graph/shape_env.hpp"
#include "ingot/autograd.hpp"
#include "host/torch/model_container_runner.hpp"
#include "support/error_text.hpp"

namespace ingot {
namespace {

using DataDecides = CompiledModel;

Tensor numbers(const std::vector<double>& v) { return tensor(v, int64); }

TensorList split(const TensorList& in) {
  const TensorList pieces = call(op("tensor_split.tensor_indices_or_sections"), {in[0], in[1]}).tensors();
  TensorList r;
  for (const Tensor& t : pieces) r.push_back(t * 2);
  r.push_back(pieces[1].sum());
  return r;
}

TEST_F(DataDecides, TensorSplitCompiles) {
  const Tensor x = randn({7, 3});
  ModelContainerRunner model(aot_compile(split, {x, numbers({2, 5})}, path("f.so")));
  // In the tensor, at its ends, beyond it, from behind, one before the other: what a slice takes.
  for (const std::vector<double>& at :
       std::vector<std::vector<double>>{{2, 5}, {0, 7}, {3, 3}, {0, 9}, {-3, -1}, {5, 2}, {-20, 20}})
    expect_close(split({x, numbers(at)}), model.run({x, numbers(at)}));
}

TEST_F(DataDecides, TensorSplitCompilesForOpenSizes) {
  ModelContainerRunner model(aot_compile(split, {randn({7, 3}), numbers({2, 5})}, path("f.so"), {}, kOpen));
  for (const int64_t n : {2, 6, 50}) {
    const TensorList in = {randn({n, 3}), numbers({1, 4})};
    expect_close(split(in), model.run(in));
  }
}

// A piece between others of its row has gaps around it that data decides: of such a one no shortcut
// is taken.
TEST_F(DataDecides, TensorSplitCompilesAlongAnyDim) {
  const auto split_rows = [](const TensorList& in) {
    TensorList r;
    for (const int64_t dim : {1, -1}) {
      const TensorList pieces = call(op("tensor_split.tensor_indices_or_sections"), {in[0], in[1], dim}).tensors();
      for (const Tensor& t : pieces) {
        r.push_back(t * 2);
        r.push_back(t.clone());
        r.push_back(t.t().contiguous());
        r.push_back(t.sum({0}));
      }
    }
    return r;
  };
  const Tensor x = randn({3, 7});
  ModelContainerRunner model(aot_compile(split_rows, {x, numbers({2, 5})}, path("f.so")));
  for (const std::vector<double>& at : std::vector<std::vector<double>>{{2, 5}, {0, 7}, {3, 3}, {-3, -1}, {5, 2}, {1, 2}})
    expect_close(split_rows({x, numbers(at)}), model.run({x, numbers(at)}));
}

Tensor one(double v) { return scalar_tensor(v, {.dtype = int64}); }
Int number_of(const Tensor& t) { return t.item().to_int(); }

// A slice by numbers that are nowhere promised to be in the tensor, or to be positive.
TEST_F(DataDecides, SlicesByNumbersCompile) {
  const auto f = [](const TensorList& in) -> TensorList {
    const Int a = number_of(in[1]), b = number_of(in[2]);
    const Tensor part = in[0].slice(1, a, b);
    return {part * 2,
            part.sum({1}),
            in[0].slice(1, a, std::nullopt).clone(),
            in[0].slice(1, std::nullopt, b, 2) + 1,
            part.t().contiguous(),
            aten<"slice_scatter">(in[0], part * 5, 1, a, b)};
  };
  const Tensor x = randn({3, 7});
  const auto inputs = [&](double a, double b) { return TensorList{x, one(a), one(b)}; };
  ModelContainerRunner fixed(aot_compile(f, inputs(2, 5), path("f.so")));
  ModelContainerRunner open(aot_compile(f, inputs(2, 5), path("g.so"), {}, kOpen));
  for (const double a : {-9, -7, -2, 0, 3, 7, 8})
    for (const double b : {-8, -6, -1, 0, 2, 5, 7, 11}) {
      const TensorList in = inputs(a, b);
      expect_close(f(in), fixed.run(in));
      expect_close(f(in), open.run(in));
    }
}

// A real number goes where an integer goes: into formulas, factories, conditions, and, rounded,
// into sizes.
TEST_F(DataDecides, FloatsAreNumbersOfTheProgram) {
  const auto f = [](const TensorList& in) -> TensorList {
    const Scalar k = in[1].sum().item(), m = in[1].max().item();
    return {in[0] * k,
            aten<"add.Scalar">(in[0], 1, k),
            aten<"where.ScalarOther">(in[0] > m, in[0], k),
            full({2}, m),
            aten<"linspace">(k, m, 4),
            in[0].slice(1, 0, m.to_int()) * 2,
            aten<"arange">(m),
            aten<"to.dtype">(in[0] * k, float64) * m};
  };
  const Tensor x = randn({3, 7});
  ModelContainerRunner fixed(aot_compile(f, {x, ones({2})}, path("f.so")));
  ModelContainerRunner open(aot_compile(f, {x, ones({2})}, path("g.so"), {}, kOpen));
  for (const double v : {0.25, 2.5, 5.0}) {
    const TensorList in = {x, tensor({v, 0.125}, float32)};
    expect_close(f(in), fixed.run(in));
    expect_close(f(in), open.run(in));
  }
  EXPECT_NE(error_of([&] { fixed.run({x, -ones({2})}); }).find("arange: upper bound"), std::string::npos);
}

// Where an op needs two sizes of the data to be equal, the run finds out.
TEST_F(DataDecides, SizesThatAnOpNeedsToBeEqualAreChecked) {
  const auto f = [](const TensorList& in) -> TensorList {
    const Tensor a = aten<"masked_select">(in[0], in[0] > 0), b = aten<"masked_select">(in[1], in[1] > 0);
    return {a + b, a.sum(), cat({a, b})};
  };
  const Tensor x = tensor({1, -1, 2, 3}, float32);
  ModelContainerRunner model(aot_compile(f, {x, x.clone()}, path("f.so")));
  for (const TensorList& in : {TensorList{x, aten<"flip">(x, Shape{0}) * 2}, TensorList{-x, -x}, TensorList{x * 0, x * 0}})
    expect_close(f(in), model.run(in));
  const std::string message = error_of([&] { model.run({x, -x}); });
  EXPECT_NE(message.find("Runtime assertion failed for expression u0 == u1"), std::string::npos) << message;
  EXPECT_NE(message.find("aten::add.Tensor"), std::string::npos) << message;
  // Of two elements at most two are selected, and rules of ops take sizes to be two at least: that
  // makes nothing equal.
  const Tensor two = tensor({1, 2}, float32), one = tensor({1, -2}, float32);
  ModelContainerRunner small(aot_compile(f, {two, two.clone()}, path("g.so")));
  for (const Tensor& t : {two, one, -two}) expect_close(f({t, t.clone()}), small.run({t, t.clone()}));
  const std::string refused = error_of([&] { small.run({two, one}); });
  EXPECT_NE(refused.find("Runtime assertion failed for expression u0 == u1"), std::string::npos) << refused;
}

// Rows that a mask picks, computed with and written back where they were: the gradient takes them
// out once more, and has to find as many. Of two rows at most two are picked: that does not make
// them two.
TEST_F(DataDecides, WritesAtAMaskHaveGradients) {
  const TensorFunction f = [](const TensorList& in) -> TensorList {
    const Tensor &x = in[0], &w = in[1], mask = aten<"gt.Scalar">(in[2], 0);
    const Tensor picked = aten<"index.Tensor">(x, TensorList{mask});
    const Tensor y = aten<"relu">(aten<"linear">(picked, w)) + picked;
    return {aten<"index_put">(x * 2, TensorList{mask}, y.view({-1, 3, 2}).reshape({-1, 6}))};
  };
  for (const int64_t rows : {2, 5}) {
    const Tensor w = randn({6, 6}), x = randn({rows, 6});
    const aot::AotFunction compiled = aot::memory_efficient_fusion(f);
    for (const int64_t picked : {2, 1, 0, 2}) {
      SCOPED_TRACE(text(picked, " of ", rows));
      const Tensor which = (arange(rows) < picked).to(float32);
      const auto gradients = [&](const auto& g) {
        Tensor leaf = x.clone().requires_grad_(), weight = w.clone().requires_grad_();
        const Tensor y = TensorList(g(TensorList{leaf, weight, which}))[0];
        TensorList all = grad({(y * y).sum()}, {leaf, weight});
        all.push_back(y.detach());
        return all;
      };
      expect_close(gradients(f), gradients(compiled));
    }
  }
}

// What a program asserts of its numbers is checked, though from there on it is known and nothing
// asks for it.
TEST_F(DataDecides, AssertionsOfNumbersAreChecked) {
  const auto f = [](const TensorList& in) -> TensorList {
    const Int a = number_of(in[1]), b = number_of(in[2]), c = number_of(in[3]);
    check(eq(a.expr(), b.expr()), "a should be b");
    check(eq(c.expr(), Expr(3)), "c should be 3");
    check(le(a.expr(), Expr(5)), "a is at most 5");
    check_is_size(a);
    return {full({b}, 2.0), in[0] * c, in[0].slice(0, 0, a).sum()};
  };
  const Tensor x = randn({5});
  const auto inputs = [&](double a, double b, double c) { return TensorList{x, one(a), one(b), one(c)}; };
  ModelContainerRunner model(aot_compile(f, inputs(2, 2, 3), path("f.so")));
  expect_close(f(inputs(4, 4, 3)), model.run(inputs(4, 4, 3)));
  const auto says = [&](const TensorList& in) {
    const std::string message = error_of([&] { model.run(in); });
    return message.substr(0, message.find(" ("));
  };
  EXPECT_EQ(says(inputs(3, 4, 3)), "a should be b");
  EXPECT_EQ(says(inputs(4, 4, 2)), "c should be 3");
  EXPECT_EQ(says(inputs(7, 7, 3)), "a is at most 5");
  EXPECT_TRUE(says(inputs(-2, -2, 3)).starts_with("Invalid value range"));
}

TensorList asserted(const TensorList& in) {
  call(op("_assert_async.msg"), {aten<"gt.Scalar">(in[0].sum(), 0), "the sum must be positive"});
  return {in[0] * 2};
}

// The runner's error is what the user is told: it begins with the program's words, and nobody
// prints it as well.
TEST_F(DataDecides, AFailedAssertionIsSaidOnceAsAUserError) {
  ModelContainerRunner model(aot_compile(asserted, {ones({3})}, path("f.so")));
  expect_close({full({3}, 2.0)}, model.run({ones({3})}));
  ::testing::internal::CaptureStderr();
  const std::string message = error_of([&] { model.run({-ones({3})}); });
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_TRUE(message.starts_with("the sum must be positive")) << message;
  EXPECT_EQ(message.find("the sum must be positive", 1), std::string::npos) << message;
}

TEST_F(DataDecides, AFailedAssertionOfAFunctionCompiledInPlace) {
  const aot::AotFunction f = aot::memory_efficient_fusion(asserted);
  expect_close({full({3}, 2.0)}, f(TensorList{ones({3})}));
  ::testing::internal::CaptureStderr();
  const std::string message = error_of([&] { f(TensorList{-ones({3})}); });
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_TRUE(message.starts_with("the sum must be positive")) << message;
}

// A host that asks for nothing is told on standard error, as by every library of that ABI.
TEST_F(DataDecides, AHostInPlainCIsTold) {
  aot_compile(asserted, {ones({3})}, path("f.so"));
  write(0, -ones({3}));
  const std::string command = text(INGOT_MODEL_RUNNER, " ", path("f.so"), " ", path(""), " 2>", path("log"));
  EXPECT_NE(std::system(command.c_str()), 0);
  const Bytes bytes = read("log");
  EXPECT_NE(std::string(bytes.begin(), bytes.end()).find("the sum must be positive"), std::string::npos);
}

}  // namespace
}  // namespace ingot
