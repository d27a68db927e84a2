// The harness V finds what a compiled function does otherwise: programs that do one thing when they
// are called eagerly, and another when they are recorded.
#include <gtest/gtest-spi.h>

#include "ingot/ingot.hpp"
#include "support/aot_harness.hpp"

namespace ingot::aot {
namespace {

class AotHarnessFinds : public AotHarness {
 protected:
  // What the harness says of functions that differ: the first call is the eager one.
  using Eagerly = std::function<Tree(const Tree&, bool is_eager)>;
  std::string found(const Eagerly& f, const TensorList& inputs, V flags = {.keep = true, .derived = false}) {
    int calls = 0;
    const TreeFunction both = [&](const Tree& in) { return f(in, calls++ == 0); };
    return failures_of([&] { verify_tree(both, Values(inputs.begin(), inputs.end()), flags); });
  }
  std::string found(const std::function<Tensor(const TensorList&, bool is_eager)>& f, const TensorList& inputs,
                    V flags = {.keep = true, .derived = false}) {
    const Eagerly one_result = [&](const Tree& in, bool is_eager) {
      TensorList tensors;
      for (const Tree& t : in.children()) tensors.push_back(t.leaf().tensor());
      return Tree::tuple({f(tensors, is_eager)});
    };
    return found(one_result, inputs, flags);
  }
  // The same of two tensors.
  static std::string found(const Tensor& want, const Tensor& got) {
    return failures_of([&] { expect_same(want, got, "it"); });
  }
  static ::testing::AssertionResult says(const std::string& found, const std::string& words) {
    if (found.find(words) != std::string::npos) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "expected words with '" << words << "', found '" << found << "'";
  }

 private:
  template <class F>
  static std::string failures_of(const F& f) {
    ::testing::TestPartResultArray seen;
    {
      const ::testing::ScopedFakeTestPartResultReporter reporter(
          ::testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &seen);
      f();
    }
    std::string all;
    for (int k = 0; k < seen.size(); k++)
      if (seen.GetTestPartResult(k).failed()) all += seen.GetTestPartResult(k).message();
    return all;
  }
};

TEST_F(AotHarnessFinds, NothingInWhatIsTheSame) {
  const auto f = [](const TensorList& in, bool) {
    Tensor(in[0]).mul_(2);
    return in[0] * in[1];
  };
  EXPECT_EQ(found(f, {ones({2, 3}), rand({2, 3}).requires_grad_()}), "");
  EXPECT_EQ(found(f, {ones({2, 3}), rand({2, 3}).requires_grad_()}, {.mut = true, .keep = true, .derived = false}), "");
}

TEST_F(AotHarnessFinds, AValueThatIsOff) {
  const auto off_by = [](double off) {
    return [off](const TensorList& in, bool is_eager) { return in[0] + (is_eager ? 0.0 : off); };
  };
  EXPECT_TRUE(says(found(off_by(1e-6), {ones({3}, {.dtype = float64})}), "output 0 element 0"));
  EXPECT_TRUE(says(found(off_by(-1e-6), {ones({3}, {.dtype = float64})}), "output 0 element 0"));
  EXPECT_EQ(found(off_by(1e-8), {ones({3}, {.dtype = float64})}), "");
  EXPECT_TRUE(says(found(off_by(1e-4), {ones({3})}), "output 0 element 0"));
  EXPECT_TRUE(says(found(off_by(1e-2), {ones({3}, {.dtype = float16})}), "output 0 element 0"));
  EXPECT_TRUE(says(found(off_by(0.1), {ones({3}, {.dtype = bfloat16})}), "output 0 element 0"));
  EXPECT_TRUE(says(found(off_by(1e-4), {ones({3}, {.dtype = complex64})}), "output 0 element 0"));
}

TEST_F(AotHarnessFinds, AnIntegerThatADoubleIsNot) {
  constexpr int64_t kBig = int64_t{1} << 53;
  const auto f = [](const TensorList& in, bool is_eager) { return in[0] + (is_eager ? 0 : 1); };
  EXPECT_TRUE(says(found(f, {tensor(std::vector<int64_t>{kBig, 7})}), "output 0 element 0"));
  EXPECT_TRUE(says(found(tensor(std::vector<int64_t>{7, kBig + 1}), tensor(std::vector<int64_t>{7, kBig})), "it element 1"));
  const Tensor truth = tensor(std::vector<int64_t>{1, 0}, boolean);
  EXPECT_TRUE(says(found(truth, aten<"logical_not">(truth)), "it element 0"));
  EXPECT_EQ(found(tensor(std::vector<int64_t>{kBig + 1}), tensor(std::vector<int64_t>{kBig + 1})), "");
}

TEST_F(AotHarnessFinds, OtherSizesAndTypes) {
  EXPECT_TRUE(says(found(ones({2, 3}), ones({3, 2})), "it"));
  EXPECT_TRUE(says(found(ones({2}), ones({2}, {.dtype = float64})), "it"));
  EXPECT_TRUE(says(found(ones({2}), Tensor()), "it"));
}

TEST_F(AotHarnessFinds, AListForATuple) {
  const auto f = [](const Tree& in, bool is_eager) {
    const Tree result(in[0].leaf().tensor() * 2);
    return is_eager ? Tree::tuple({result}) : Tree::list({result});
  };
  EXPECT_TRUE(says(found(f, {ones({3})}), "nesting"));
}

TEST_F(AotHarnessFinds, AResultTooMany) {
  const auto f = [](const Tree& in, bool is_eager) {
    const Tensor& x = in[0].leaf().tensor();
    return is_eager ? Tree::tuple({x * 2}) : Tree::tuple({x * 2, x * 3});
  };
  EXPECT_TRUE(says(found(f, {ones({3})}), "outputs.size()"));
}

TEST_F(AotHarnessFinds, AGradientThatIsMissingOrOff) {
  const TensorList tracked_one{ones({3}).requires_grad_()};
  const auto missing = [](const TensorList& in, bool is_eager) { return is_eager ? in[0] * 2 : in[0].detach() * 2; };
  EXPECT_TRUE(says(found(missing, tracked_one), "gradient 0"));
  // Of the same value, and of the same history to look at.
  const auto off = [](const TensorList& in, bool is_eager) { return is_eager ? in[0] * 2 : in[0] + in[0].detach(); };
  EXPECT_TRUE(says(found(off, tracked_one), "gradient 0"));
}

TEST_F(AotHarnessFinds, AnInputThatIsWritten) {
  const auto f = [](const TensorList& in, bool is_eager) {
    if (!is_eager) Tensor(in[0]).add_(1);
    return in[1] * 2;
  };
  EXPECT_TRUE(says(found(f, {zeros({2, 2}), ones({2})}), "leaf 0 element 0"));
  EXPECT_TRUE(says(found(f, {zeros({2, 2}), ones({2})}, {.mut = true, .keep = true, .derived = false}), "input 0 element 0"));
}

// The values of a square of zeros are those of its transpose.
TEST_F(AotHarnessFinds, AnInputThatLiesOtherwise) {
  const auto f = [](const TensorList& in, bool is_eager) {
    if (is_eager) aten_value<"t_">(in[0]);
    return in[1] * 2;
  };
  EXPECT_TRUE(says(found(f, {zeros({2, 2}), ones({2})}), "strides()"));
}

TEST_F(AotHarnessFinds, AnInputWithAnotherHistory) {
  const V mut = {.mut = true, .keep = true, .derived = false};
  // What the function is given is made of what is tracked, and so no leaf.
  const auto detaches = [](const TensorList& in, bool is_eager) {
    if (is_eager) Tensor(in[0]).detach_();
    return in[1] * 2;
  };
  const std::string detached_input = found(detaches, {ones({2}).requires_grad_(), ones({2})}, mut);
  EXPECT_TRUE(says(detached_input, "requires_grad(w)"));
  EXPECT_TRUE(says(detached_input, "is_leaf(w)"));
  const auto accumulates = [](const TensorList& in, bool is_eager) {
    if (is_eager) in[0].set_grad(ones({2}));
    return in[1] * 2;
  };
  EXPECT_TRUE(says(found(accumulates, {ones({2}), ones({2})}, mut), "what input 0 accumulated"));
}

TEST_F(AotHarnessFinds, AViewThatIsNone) {
  const auto f = [](const TensorList& in, bool is_eager) { return is_eager ? in[0].view({4}) : in[0].view({4}).clone(); };
  EXPECT_TRUE(says(found(f, {ones({2, 2})}), "looks_at_input"));
}

TEST_F(AotHarnessFinds, ARefusalInOtherWords) {
  const auto f = [](const TensorList& in, bool is_eager) {
    if (!is_eager) throw UserError("other words");
    return in[0] * 2;
  };
  const V flags = {.keep = true, .derived = false, .error = "these words"};
  EXPECT_TRUE(says(found(f, {ones({2})}, flags), "other words"));
  EXPECT_TRUE(says(found([](const TensorList& in, bool) { return in[0] * 2; }, {ones({2})}, flags), "no error"));
}

}  // namespace
}  // namespace ingot::aot
