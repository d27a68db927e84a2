// Functions with their own backward.
#include "ingot/ingot.hpp"
#include "support/error_text.hpp"
#include "support/gradient_check.hpp"
#include "support/no_leaks.hpp"
#include "tensor/impl.hpp"
#include "unit/autograd_leaf.hpp"

namespace ingot {
namespace {

using AutogradFunction = NoLeaks;

Tensor cube(const Tensor& x) {
  return custom_function(
      "Cube", {x},
      [](FunctionContext& c, const TensorList& in) {
        c.save({in[0]});
        return TensorList{in[0] * in[0] * in[0]};
      },
      [](FunctionContext& c, const TensorList& g) {
        const Tensor x = c.saved()[0];
        return TensorList{g[0] * 3 * x * x};
      })[0];
}
// exp whose backward reads its saved result.
Tensor exponential(const Tensor& x) {
  return custom_function(
      "Exponential", {x},
      [](FunctionContext& c, const TensorList& in) {
        const Tensor y = in[0].exp();
        c.save({y});
        return TensorList{y};
      },
      [](FunctionContext& c, const TensorList& g) { return TensorList{g[0] * c.saved()[0]}; })[0];
}
TensorList identity(FunctionContext&, const TensorList& in) { return {in[0].clone()}; }

TEST_F(AutogradFunction, UsesItsOwnBackward) {
  const Tensor x = leaf({2, 3}), y = cube(x);
  EXPECT_EQ(y.grad_fn_name(), "CubeBackward");
  EXPECT_EQ(values(y), (Doubles{8, 27}));
  y.backward(tensor({1, 10}, float64));
  EXPECT_EQ(values(x.grad()), (Doubles{12, 270}));
}

TEST_F(AutogradFunction, IsDifferentiableAgain) {
  const Tensor x = tensor({0.5, -1.5}, float64);
  check_gradient(cube, x, 3);
  check_gradient(exponential, x, 3);
  check_gradient([](const Tensor& t) { return cube(t * 2) * exponential(t * t); }, x, 2);
}

TEST_F(AutogradFunction, WithoutGradOnlyTheForwardRuns) {
  const Tensor plain = tensor({2}, float64);
  EXPECT_FALSE(cube(plain).requires_grad());
  const Tensor x = leaf({2});
  NoGrad off;
  EXPECT_FALSE(cube(x).requires_grad());
}

TEST_F(AutogradFunction, TheForwardRecordsNothing) {
  const Tensor x = leaf({2});
  const int64_t tensors = TensorImpl::live();
  const Tensor y = custom_function(
      "Long", {x},
      [](FunctionContext&, const TensorList& in) {
        EXPECT_FALSE(is_grad_enabled());
        Tensor t = in[0];
        for (int i = 0; i < 10; i++) t = t * t;
        return TensorList{t};
      },
      [](FunctionContext&, const TensorList& g) { return g; })[0];
  EXPECT_EQ(TensorImpl::live(), tensors + 1);
  EXPECT_TRUE(is_grad_enabled());
}

TEST_F(AutogradFunction, SeveralInputsAndOutputs) {
  const Tensor x = leaf({2}), y = leaf({3}), constant = tensor({10}, float64);
  std::vector<bool> forward_needs, backward_needs;
  auto f = [&](const Tensor& a, const Tensor& b, const Tensor& c) {
    return custom_function(
        "Mix", {a, b, c},
        [&](FunctionContext& ctx, const TensorList& in) {
          for (int i = 0; i < 3; i++) forward_needs.push_back(ctx.needs_input_grad(i));
          ctx.save({in[0], in[1], in[2]});
          return TensorList{in[0] * in[1], in[1] * in[2]};
        },
        [&](FunctionContext& ctx, const TensorList& g) {
          for (int i = 0; i < 3; i++) backward_needs.push_back(ctx.needs_input_grad(i));
          const TensorList s = ctx.saved();
          return TensorList{g[0] * s[1], g[0] * s[0] + g[1] * s[2], Tensor()};
        });
  };
  const TensorList r = f(x, y, constant);
  (r[0] + r[1] * 100).backward();
  EXPECT_EQ(x.grad().item_double(), 3);
  EXPECT_EQ(y.grad().item_double(), 2 + 1000);
  EXPECT_EQ(forward_needs, (std::vector<bool>{true, true, false}));
  EXPECT_EQ(backward_needs, (std::vector<bool>{true, true, false}));
  backward_needs.clear();
  EXPECT_EQ(grad({f(x, y, constant)[0]}, {y})[0].item_double(), 2) << "an unused result has the gradient zero";
  EXPECT_EQ(backward_needs, (std::vector<bool>{false, true, false}));
}

TEST_F(AutogradFunction, UndefinedInputsAndResults) {
  const Tensor x = leaf({2});
  const TensorList r = custom_function(
      "Some", {x, Tensor()},
      [](FunctionContext& c, const TensorList& in) {
        EXPECT_FALSE(in[1].defined());
        c.save({in[0], in[1]});
        return TensorList{in[0] * 2, Tensor()};
      },
      [](FunctionContext& c, const TensorList& g) {
        EXPECT_FALSE(c.saved()[1].defined());
        return TensorList{g[0] * 2, Tensor()};
      });
  EXPECT_FALSE(r[1].defined());
  r[0].backward();
  EXPECT_EQ(x.grad().item_double(), 2);
}

TEST_F(AutogradFunction, NonDifferentiableResults) {
  const Tensor x = leaf({3, 1, 2});
  const TensorList r = custom_function(
      "WithRank", {x},
      [](FunctionContext& c, const TensorList& in) {
        Tensor rank = tensor({2, 0, 1}, int64), flags = ones({3}, {.dtype = float64});
        c.mark_non_differentiable({flags});
        c.save({rank, flags});
        return TensorList{in[0] * 2, rank, flags};
      },
      [](FunctionContext& c, const TensorList& g) {
        EXPECT_FALSE(c.saved()[0].requires_grad());
        EXPECT_FALSE(c.saved()[1].requires_grad());
        return TensorList{g[0] * 2 + c.saved()[1]};
      });
  EXPECT_TRUE(r[0].requires_grad());
  EXPECT_FALSE(r[1].requires_grad()) << "integers never";
  EXPECT_FALSE(r[2].requires_grad());
  r[0].sum().backward();
  EXPECT_EQ(values(x.grad()), (Doubles{3, 3, 3}));
}

TEST_F(AutogradFunction, DirtyInputs) {
  auto triple_ = [](Tensor t) {
    return custom_function(
        "Triple", {t},
        [](FunctionContext& c, const TensorList& in) {
          Tensor x = in[0];
          x.mul_(3);
          c.mark_dirty({x});
          return TensorList{x};
        },
        [](FunctionContext&, const TensorList& g) { return TensorList{g[0] * 3}; })[0];
  };
  const Tensor x = leaf({2});
  Tensor y = x * 5;
  const Tensor r = triple_(y);
  EXPECT_TRUE(r.is_same(y));
  EXPECT_EQ(y.grad_fn_name(), "TripleBackward");
  EXPECT_EQ(y.version(), 1u);
  (y * 2).backward();
  EXPECT_EQ(x.grad().item_double(), 30);
  Tensor l = leaf({2});
  EXPECT_NE(error_of([&] { triple_(l); }).find("a leaf Variable that requires grad is being used in an in-place operation."),
            std::string::npos);
  // Through a view the base changes.
  check_gradient(
      [&](const Tensor& t) {
        Tensor b = t * 1;
        triple_(b.slice(0, 1, 3));
        return b * t;
      },
      tensor({0.5, -1, 2}, float64));
}

TEST_F(AutogradFunction, ADirtyInputNeedNotBeTheFirstOfEither) {
  auto f = [](const Tensor& a, const Tensor& b) {  // returns a·b and writes b += a
    return custom_function(
        "Second", {a, b},
        [](FunctionContext& c, const TensorList& in) {
          c.save({in[0], in[1].clone()});
          const Tensor product = in[0] * in[1];
          Tensor t = in[1];
          t.add_(in[0]);
          c.mark_dirty({t});
          return TensorList{product, t};
        },
        [](FunctionContext& c, const TensorList& g) {
          const TensorList s = c.saved();
          return TensorList{g[0] * s[1] + g[1], g[0] * s[0] + g[1]};
        });
  };
  const Tensor x = tensor({0.5, -1, 2}, float64);
  check_gradient(
      [&](const Tensor& t) {
        Tensor b = t * t;
        const TensorList r = f(t * 2, b);
        return r[0] + b * 3;
      },
      x, 1);
  check_gradient(
      [&](const Tensor& t) {  // and b a view
        Tensor base = t * t, b = base.slice(0, 0, 2);
        const TensorList r = f(t.slice(0, 1, 3), b);
        return r[1] * 2 + base.slice(0, 1, 3);
      },
      x, 1);
}

TEST_F(AutogradFunction, DirtyTensorsMustBeReturned) {
  const Tensor x = leaf({2});
  Tensor y = x * 5;
  EXPECT_NE(error_of([&] {
              custom_function(
                  "Bad", {y},
                  [](FunctionContext& c, const TensorList& in) {
                    c.mark_dirty({in[0]});
                    return TensorList{in[0] * 2};
                  },
                  [](FunctionContext&, const TensorList& g) { return g; });
            }).find("Some elements marked as dirty during the forward method were not returned as output."),
            std::string::npos);
}

TEST_F(AutogradFunction, AnInputReturnedAsItIs) {
  const Tensor x = leaf({2}), y = x * 3;
  const Tensor r = custom_function(
      "Same", {y}, [](FunctionContext&, const TensorList& in) { return in; },
      [](FunctionContext&, const TensorList& g) { return TensorList{g[0] * 10}; })[0];
  EXPECT_FALSE(r.is_same(y));
  EXPECT_EQ(r.data_ptr(), y.data_ptr());
  EXPECT_EQ(y.grad_fn_name(), "MulBackward0");
  r.backward();
  EXPECT_EQ(x.grad().item_double(), 30);
}

TEST_F(AutogradFunction, AViewMadeInsideCannotBeWritten) {
  const Tensor x = leaf({1, 2}), y = x * 3;
  Tensor v = custom_function(
      "Row", {y}, [](FunctionContext&, const TensorList& in) { return TensorList{in[0].slice(0, 0, 1)}; },
      [](FunctionContext&, const TensorList& g) { return TensorList{g[0].expand({2}) * 0}; })[0];
  EXPECT_EQ(
      error_of([&] { v.add_(1); }),
      "Output 0 of RowBackward is a view and is being modified inplace. This view was created inside a custom Function (or because an input "
      "was returned as-is) and the autograd logic to handle view+inplace would override the custom backward associated with the custom "
      "Function, leading to incorrect gradients. This behavior is forbidden. You can fix this by cloning the output of the custom Function.");
}

TEST_F(AutogradFunction, SavedTensorsAreChecked) {
  const Tensor x = leaf({2});
  Tensor y = x * 3;
  const Tensor z = cube(y);
  y.add_(1);
  EXPECT_NE(
      error_of([&] { z.backward(); }).find("which is output 0 of MulBackward0, is at version 1; expected version 0 instead."),
      std::string::npos);
  Tensor e = exponential(x * 1);
  e.add_(1);
  EXPECT_NE(error_of([&] {
              e.backward();
            }).find("which is output 0 of ExponentialBackward, is at version 1; expected version 0 instead."),
            std::string::npos);
}

TEST_F(AutogradFunction, TheGraphIsFreed) {
  const Tensor x = leaf({2}), y = cube(x);
  y.backward({}, true);
  y.backward();
  EXPECT_NE(error_of([&] { y.backward(); }).find("Trying to backward through the graph a second time"), std::string::npos);
}

TEST_F(AutogradFunction, GradientsAreChecked) {
  const Tensor x = leaf({1, 2});
  auto with = [&](const BackwardFunction& b) { return custom_function("Bad", {x}, identity, b)[0].sum(); };
  EXPECT_EQ(error_of([&] { with([](FunctionContext&, const TensorList&) { return TensorList{}; }).backward(); }),
            "function BadBackward returned an incorrect number of gradients (expected 1, got 0)");
  EXPECT_EQ(error_of([&] { with([](FunctionContext&, const TensorList& g) { return TensorList{g[0], g[0]}; }).backward(); }),
            "function BadBackward returned an incorrect number of gradients (expected 1, got 2)");
  EXPECT_EQ(error_of([&] {
              with([](FunctionContext&, const TensorList&) { return TensorList{ones({3}, {.dtype = float64})}; }).backward();
            }),
            "Function BadBackward returned an invalid gradient at index 0 - got [3] but expected shape compatible with [2]");
  with([](FunctionContext&, const TensorList& g) { return TensorList{g[0], Tensor()}; }).backward();  // trailing None is nothing
  EXPECT_EQ(values(x.grad()), (Doubles{1, 1}));
  x.set_grad({});
  with([](FunctionContext&, const TensorList&) { return TensorList{Tensor()}; }).backward();
  EXPECT_FALSE(x.grad().defined());
  with([](FunctionContext&, const TensorList&) { return TensorList{ones({5, 2})}; }).backward();  // summed back and converted
  EXPECT_EQ(values(x.grad()), (Doubles{5, 5}));
  EXPECT_EQ(x.grad().dtype(), float64);
}

TEST_F(AutogradFunction, KeepsOtherData) {
  const Tensor x = leaf({2});
  const Tensor y = custom_function(
      "Scale", {x},
      [](FunctionContext& c, const TensorList& in) {
        c.data = 7.0;
        return TensorList{in[0] * 7};
      },
      [](FunctionContext& c, const TensorList& g) { return TensorList{g[0] * std::any_cast<double>(c.data)}; })[0];
  y.backward();
  EXPECT_EQ(x.grad().item_double(), 7);
}

TEST_F(AutogradFunction, NothingIsKeptByAFailure) {
  const Tensor x = leaf({2});
  EXPECT_THROW(custom_function(
                   "Fails", {x},
                   [](FunctionContext& c, const TensorList& in) -> TensorList {
                     c.save({in[0]});
                     c.mark_dirty({in[0]});
                     throw UserError("no");
                   },
                   [](FunctionContext&, const TensorList& g) { return g; }),
               UserError);
  EXPECT_TRUE(is_grad_enabled());
}

TEST_F(AutogradFunction, SavingItsOwnResultMakesNoCycle) {
  const Tensor x = leaf({2});
  Tensor y = exponential(x * 1);
  (void)cube(y);
  Tensor z = x * 2;
  custom_function(
      "DirtyAndSaved", {z},
      [](FunctionContext& c, const TensorList& in) {
        Tensor t = in[0];
        t.mul_(2);
        c.mark_dirty({t});
        c.save({t});
        return TensorList{t};
      },
      [](FunctionContext& c, const TensorList& g) { return TensorList{g[0] * 2 + c.saved()[0] * 0}; });
  z.backward();
  EXPECT_EQ(x.grad().item_double(), 4);
}  // NoLeaks counts

}  // namespace
}  // namespace ingot
