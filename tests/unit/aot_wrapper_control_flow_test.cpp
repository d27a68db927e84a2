// Control flow over wrapper tensors, compiled: its functions run ops on wrappers, and its graphs
// are of the inner tensors.
#include "ingot/control_flow.hpp"
#include "support/aot_harness.hpp"

namespace ingot::aot {
namespace {

using testing::is_two_tensor;
using testing::two;

class AotWrapperControlFlow : public AotHarness {
 protected:
  std::string forward;
  // Results and gradients of the function and of what it is compiled to, which are the same.
  TensorList expect_same_results(const TensorFunction& f) {
    const auto use = [](const TensorFunction& g) {
      TensorList in{two({1, -2, 3}, {3}).requires_grad_(), two({0.5, 2, 4}, {3}).requires_grad_()};
      TensorList all = g(in);
      for (std::size_t k = 0, n = all.size(); k < n; k++)
        if (all[k].requires_grad()) ingot::backward({all[k].sum()}, {}, true);
      for (const Tensor& t : in)
        if (t.grad().defined()) all.push_back(t.grad());
      return all;
    };
    const AotFunction compiled = aot_function(f, {.forward = capture(forward)});
    const TensorList want = use(f), found = use([&](const TensorList& in) { return compiled(in); });
    EXPECT_EQ(want.size(), found.size());
    for (std::size_t k = 0; k < std::min(want.size(), found.size()); k++) {
      EXPECT_EQ(is_two_tensor(want[k]), is_two_tensor(found[k])) << "tensor " << k;
      if (is_two_tensor(want[k]) == is_two_tensor(found[k])) expect_same(want[k], found[k], text("tensor ", k));
    }
    return found;
  }
  static void expect_refused(const TensorFunction& f, const std::string& words) {
    const std::string error = error_of([&] { aot_function(f, {})(TensorList{two({1, -2, 3}, {3}), two({0.5, 2, 4}, {3})}); });
    EXPECT_NE(error.find(words), std::string::npos) << error;
  }
};

Tensor counter() { return aten<"zeros">(Shape{}, DType::i64); }

// What is carried beside wrappers stays plain.
TEST_F(AotWrapperControlFlow, ALoopCarriesPlainTensorsBesideWrappers) {
  const TensorList r = expect_same_results([](const TensorList& in) {
    return while_loop([](const TensorList& x) { return TensorList{aten<"lt.Scalar">(x[0], 3)}; },
                      [](const TensorList& x) { return TensorList{x[0] + 1, x[1] * 0.5 + x[2]}; }, {counter(), in[0].detach()},
                      {in[1].detach()});
  });
  EXPECT_FALSE(is_two_tensor(r[0]));
  EXPECT_TRUE(is_two_tensor(r[1]));
  EXPECT_NE(forward.find("while_loop(while_loop_cond_graph_0, while_loop_body_graph_0, [zeros, "), std::string::npos) << forward;
}

// Also what they bring along, which the functions see as the wrapper it is.
TEST_F(AotWrapperControlFlow, FunctionsBringWrappersAlong) {
  expect_same_results([](const TensorList& in) {
    const Tensor along = in[1].sin();
    return cond(
        ones({}) > 0, [along](const TensorList& x) { return TensorList{x[0] * along}; },
        [along](const TensorList& x) { return TensorList{x[0] - along}; }, {in[0]});
  });
}

TEST_F(AotWrapperControlFlow, RowsOfWrappersWithGradients) {
  expect_same_results([](const TensorList& in) {
    return map([](const TensorList& x) { return TensorList{x[0].sin() + x[1]}; }, {in[0]}, {in[1]});
  });
  expect_same_results([](const TensorList& in) {
    const Scanned s = scan(
        [](const TensorList& x) {
          const Tensor next = x[0] * 0.5 + x[1].sin();
          return TensorList{next, next * 2};
        },
        {aten<"zeros_like">(in[0].select(0, 0))}, {in[0]});
    return TensorList{s.stacked[0]};  // nobody asks for the gradient of what is carried
  });
}

// The class would answer for one of its tensors, or for none: PyTorch has no control flow of
// subclasses at all.
TEST_F(AotWrapperControlFlow, AConditionIsAPlainTensor) {
  const std::string words = " and subclass TwoTensor: its condition is one";
  expect_refused(
      [](const TensorList& in) {
        const auto same = [](const TensorList& x) { return TensorList{x[0].sin()}; };
        return cond(in[0].sum() > 0, same, same, {in[1]});
      },
      "There was no rule registered for HOP cond" + words);
  expect_refused(
      [](const TensorList& in) {
        return while_loop([](const TensorList& x) { return TensorList{x[0].sum() < 9}; },
                          [](const TensorList& x) { return TensorList{x[0] + 1}; }, {in[0]}, {});
      },
      "There was no rule registered for HOP while_loop" + words);
}
TEST_F(AotWrapperControlFlow, AClassThatDataWouldDecideIsRefused) {
  expect_refused(
      [](const TensorList& in) {
        return cond(
            ones({}) > 0, [](const TensorList& x) { return TensorList{x[0] * 2}; },
            [](const TensorList&) { return TensorList{ones({3})}; }, {in[0]});
      },
      "value 0 is TwoTensor(a=Tensor, b=Tensor) of the true branch and Tensor of the false branch");
  expect_refused(
      [](const TensorList& in) {
        return while_loop([](const TensorList& x) { return TensorList{aten<"lt.Scalar">(x[0], 3)}; },
                          [](const TensorList& x) { return TensorList{x[0] + 1, x[1] + x[2]}; }, {counter(), ones({3})}, {in[0]});
      },
      "value 1 is Tensor of what is carried and TwoTensor(a=Tensor, b=Tensor) of the function");
}

}  // namespace
}  // namespace ingot::aot
