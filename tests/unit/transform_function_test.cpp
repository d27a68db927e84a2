// Custom functions under transforms in any nesting: the same numbers as their formula written with
// ops, whose rules know vmap.
#include <gtest/gtest.h>

#include <cmath>

#include "ingot/autograd.hpp"
#include "ingot/control_flow.hpp"
#include "ingot/ingot.hpp"
#include "ingot/transforms.hpp"
#include "op/call.hpp"
#include "support/error_text.hpp"
#include "support/no_leaks.hpp"
#include "support/transform_nestings.hpp"

namespace ingot::testing {
namespace {

class TransformedFunction : public NoLeaks {};

// ---- custom functions, and below the same formulas of ops alone
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
Tensor exponential(const Tensor& x) {  // its backward reads its result
  return custom_function(
      "Exponential", {x},
      [](FunctionContext& c, const TensorList& in) {
        const Tensor y = in[0].exp();
        c.save({y});
        return TensorList{y};
      },
      [](FunctionContext& c, const TensorList& g) { return TensorList{g[0] * c.saved()[0]}; })[0];
}
// Gradients only where they are asked for.
Tensor product(const Tensor& a, const Tensor& b) {
  return custom_function(
      "Product", {a, b},
      [](FunctionContext& c, const TensorList& in) {
        c.save({c.needs_input_grad(1) ? in[0] : Tensor(), c.needs_input_grad(0) ? in[1] : Tensor()});
        return TensorList{in[0] * in[1]};
      },
      [](FunctionContext& c, const TensorList& g) {
        const TensorList s = c.saved();
        return TensorList{c.needs_input_grad(0) ? g[0] * s[1] : Tensor(), c.needs_input_grad(1) ? g[0] * s[0] : Tensor()};
      })[0];
}
// Two results, of which the first does not know x.
TensorList square_and_product(const Tensor& x, const Tensor& w) {
  return custom_function(
      "Mixed", {x, w},
      [](FunctionContext& c, const TensorList& in) {
        c.save({in[0], in[1]});
        return TensorList{in[1] * in[1], in[0] * in[1]};
      },
      [](FunctionContext& c, const TensorList& g) {
        const TensorList s = c.saved();
        return TensorList{g[1] * s[1], g[0] * 2 * s[1] + g[1] * s[0]};
      });
}
TensorList with_sign(const Tensor& x) {
  return custom_function(
      "WithSign", {x},
      [](FunctionContext& c, const TensorList& in) {
        const Tensor sign = aten<"sign">(in[0]), order = aten<"argsort">(in[0]);
        c.mark_non_differentiable({sign});
        return TensorList{in[0] * 2, sign, order, Tensor()};
      },
      [](FunctionContext&, const TensorList& g) { return TensorList{g[0] * 2}; });
}
Tensor triple_(const Tensor& x) {
  return custom_function(
      "Triple", {x},
      [](FunctionContext& c, const TensorList& in) {
        Tensor t = in[0];
        t.mul_(3);
        c.mark_dirty({t});
        return TensorList{t};
      },
      [](FunctionContext&, const TensorList& g) { return TensorList{g[0] * 3}; })[0];
}
Tensor ten_times_the_gradient(const Tensor& x) {  // returns its input as it came
  return custom_function(
      "Same", {x}, [](FunctionContext&, const TensorList& in) { return in; },
      [](FunctionContext&, const TensorList& g) { return TensorList{g[0] * 10}; })[0];
}

const std::vector<SameFunction>& pairs() {
  static const std::vector<SameFunction> list = {
      {"Cube", [](auto& x, auto& w) { return cube(x) * w; }, [](auto& x, auto& w) { return x * x * x * w; }},
      {"CubeOfTheWeight", [](auto& x, auto& w) { return cube(w) * x; }, [](auto& x, auto& w) { return w * w * w * x; }},
      {"Exponential", [](auto& x, auto& w) { return exponential(x * w); }, [](auto& x, auto& w) { return (x * w).exp(); }},
      {"Product", [](auto& x, auto& w) { return product(x.sin(), w); }, [](auto& x, auto& w) { return x.sin() * w; }},
      {"ProductOfASquare", [](auto& x, auto& w) { return product(w, product(x, x)); },
       [](auto& x, auto& w) { return w * x * x; }},
      {"ResultsThatDifferInBatch",
       [](auto& x, auto& w) {
         const TensorList r = square_and_product(x, w);
         return r[0] * r[1];
       },
       [](auto& x, auto& w) { return w * w * (x * w); }},
      {"AResultThatIsNotUsed", [](auto& x, auto& w) { return square_and_product(x, w)[0] * x; },
       [](auto& x, auto& w) { return w * w * x; }},
      {"ResultsWithoutAGradient",
       [](auto& x, auto& w) {
         const TensorList r = with_sign(x * w);
         return r[0] * r[1] * (r[2] + 1).to(float64);
       },
       [](auto& x, auto& w) {
         const Tensor y = x * w;
         return y * 2 * aten<"sign">(y).detach() * (aten<"argsort">(y) + 1).to(float64);
       }},
      {"ADirtyInput",
       [](auto& x, auto& w) {
         const Tensor y = x * w, r = triple_(y);
         return r * y;
       },
       [](auto& x, auto& w) { return x * w * (x * w) * 9; }},
      {"ADirtyView",
       [](auto& x, auto& w) {
         const Tensor y = x * w;
         triple_(y.slice(0, 1, 2));
         return y * y;
       },
       [](auto& x, auto& w) {
         const Tensor y = x * w * tensor({1, 3}, float64);
         return y * y;
       }},
      {"TheInputAsItCame", [](auto& x, auto& w) { return ten_times_the_gradient(x * w) * x; },
       [](auto& x, auto& w) {
         const Tensor y = x * w;
         return (y * 10 - (y * 9).detach()) * x;
       }},
      {"AViewOfTheInput",
       [](auto& x, auto& w) {
         return custom_function(
                    "Row", {x * w}, [](FunctionContext&, const TensorList& in) { return TensorList{in[0].slice(0, 1, 2)}; },
                    [](FunctionContext&, const TensorList& g) {
                      return TensorList{aten<"cat">(TensorList{g[0] * 0, g[0]}, 0)};
                    })[0] *
                x;
       },
       [](auto& x, auto& w) { return (x * w).slice(0, 1, 2) * x; }},
      {"ABroadcastGradient",
       [](auto& x, auto& w) {
         return custom_function(
                    "Broadcast", {w}, [](FunctionContext&, const TensorList& in) { return TensorList{in[0] * 5}; },
                    [](FunctionContext&, const TensorList& g) { return TensorList{g[0].expand({5, 2})}; })[0] *
                x * w;
       },
       [](auto& x, auto& w) { return w * 5 * x * w; }},
      {"AGradientThatIsTheSameForAllMembers",
       [](auto& x, auto& w) {
         return custom_function(
                    "Add", {x * 0 + w, w},
                    [](FunctionContext&, const TensorList& in) { return TensorList{in[0].detach() + in[1]}; },
                    [](FunctionContext&, const TensorList& g) {
                      return TensorList{Tensor(), g[0] * 0 + ones({2}, {.dtype = float64}) * g[0]};
                    })[0] *
                x;
       },
       [](auto& x, auto& w) { return ((x * 0 + w).detach() + w) * x; }},
      {"ATensorBroughtAlong",
       [](auto& x, auto& w) {
         return custom_function(
             "Closure", {w * w}, [&](FunctionContext&, const TensorList& in) { return TensorList{in[0] * x.detach()}; },
             [x](FunctionContext&, const TensorList& g) { return TensorList{g[0] * x.detach()}; })[0];
       },
       [](auto& x, auto& w) { return w * w * x.detach(); }},
      {"TensorsAmongOtherData",
       [](auto& x, auto& w) {
         return custom_function(
             "Data", {x, w, Tensor()},
             [](FunctionContext& c, const TensorList& in) {
               c.data = std::pair(in[0], in[1]);
               c.save({Tensor(), in[0]});
               return TensorList{Tensor(), in[0].sin() * in[1]};
             },
             [](FunctionContext& c, const TensorList& g) {
               EXPECT_FALSE(c.saved()[0].defined());
               const auto [x, w] = std::any_cast<std::pair<Tensor, Tensor>>(c.data);
               return TensorList{g[1] * x.cos() * w, g[1] * c.saved()[1].sin(), Tensor()};
             })[1];
       },
       [](auto& x, auto& w) { return x.sin() * w; }},
      {"AFunctionInABackward",
       [](auto& x, auto& w) {
         return custom_function(
             "Outer", {x, w},
             [](FunctionContext& c, const TensorList& in) {
               c.save({in[0], in[1]});
               return TensorList{product(cube(in[0]), in[1])};
             },
             [](FunctionContext& c, const TensorList& g) {
               const Tensor x = c.saved()[0], w = c.saved()[1];
               return TensorList{product(g[0] * 3 * w, product(x, x)), product(g[0], cube(x))};
             })[0];
       },
       [](auto& x, auto& w) { return x * x * x * w; }},
      {"AnotherDtypeInside",
       [](auto& x, auto& w) {
         return custom_function(
                    "Single", {x}, [](FunctionContext&, const TensorList& in) { return TensorList{in[0].to(float32)}; },
                    [](FunctionContext&, const TensorList& g) { return TensorList{g[0]}; })[0]
                    .to(float64) *
                w;
       },
       [](auto& x, auto& w) { return x.to(float32).to(float64) * w; }},
  };
  return list;
}

TEST_F(TransformedFunction, IsItsFormulaInEveryNesting) { expect_same_in_every_nesting(pairs()); }

TEST_F(TransformedFunction, ComposeInRandomNestings) { expect_same_in_random_nestings(pairs(), 300, 1); }

// jvp differentiates the backward: one that hides from the tape has no derivative.
TEST_F(TransformedFunction, AJvpThatWouldBeLostIsRefused) {
  const auto function = [](bool recorded) -> TensorFunction {
    return [recorded](const TensorList& in) {
      return custom_function(
          "Hiding", {in[0]}, [](FunctionContext&, const TensorList& t) { return TensorList{t[0] * 2}; },
          [recorded](FunctionContext&, const TensorList& g) {
            const GradModeGuard mode(recorded);
            return TensorList{g[0] * 2};
          });
    };
  };
  const Tensor x = counted({3, 2});
  expect_near(jvp(function(true), {x}, {x}).tangents[0], x * 2);
  const auto lost = [](const std::string& error) { return error.find("jvp: the backward of Hiding returned a gradient") == 0; };
  EXPECT_TRUE(lost(error_of([&] { jvp(function(false), {x}, {x}); })));
  EXPECT_TRUE(lost(error_of([&] { jacfwd(function(false))({x}); })));
  EXPECT_TRUE(lost(error_of([&] { vmap([&](const TensorList& in) { return jvp(function(false), in, in).tangents; })({x}); })));
  expect_near(vjp(function(false), {x}).pull({x})[0], x * 2);
}

TEST_F(TransformedFunction, DifferencesSayTheSame) {
  const Tensor x = counted({3, 2}), w = tensor({0.7, -1.3}, float64);
  for (const SameFunction& p : pairs()) {
    if (std::string_view(p.name) == "TheInputAsItCame" || std::string_view(p.name) == "AnotherDtypeInside" ||
        std::string_view(p.name) == "AGradientThatIsTheSameForAllMembers" || std::string_view(p.name) == "ATensorBroughtAlong")
      continue;  // their gradient is none of the value's
    SCOPED_TRACE(p.name);
    const TensorFunction f = total(vmap(vector_of(p.special), kFirst));
    const TensorList g = grad(f, {0, 1})({x, w});
    for (std::size_t a = 0; a < 2; a++) {
      const std::vector<double> found = g[a].to_vector<double>();
      for (std::size_t i = 0; i < found.size(); i++) {
        const auto shifted = [&](double by) {
          TensorList in{x.clone(), w.clone()};
          in[a].data<double>()[i] += by;
          return f(in)[0].item_double();
        };
        const double want = (shifted(1e-5) - shifted(-1e-5)) / 2e-5;
        EXPECT_NEAR(found[i], want, 1e-6 * (1 + std::abs(want))) << "argument " << a << ", element " << i;
      }
    }
  }
}

TEST_F(TransformedFunction, SeesMembers) {
  const Tensor x = counted({3, 2}), w = tensor({0.7, -1.3}, float64);
  std::vector<std::vector<bool>> needs;
  int forwards = 0, backwards = 0;
  const TensorFunction f = [&](const TensorList& in) {
    return TensorList{custom_function(
                          "Watched", {in[0], in[1]},
                          [&](FunctionContext& c, const TensorList& t) {
                            forwards++;
                            EXPECT_EQ(t[0].sizes(), Shape({2}));
                            EXPECT_FALSE(is_grad_enabled());
                            needs.push_back({c.needs_input_grad(0), c.needs_input_grad(1)});
                            c.save({t[0], t[1]});
                            return TensorList{t[0] * t[1]};
                          },
                          [&](FunctionContext& c, const TensorList& g) {
                            backwards++;
                            EXPECT_EQ(g[0].sizes(), Shape({2}));
                            EXPECT_EQ(c.saved()[0].sizes(), Shape({2}));
                            needs.push_back({c.needs_input_grad(0), c.needs_input_grad(1)});
                            return TensorList{g[0] * c.saved()[1], g[0] * c.saved()[0]};
                          })[0]
                          .sum()};
  };
  const TensorList g = vmap(grad(f), kFirst)({x, w});
  expect_near(g[0], w.expand({3, 2}));
  EXPECT_EQ(forwards, 1);
  EXPECT_EQ(backwards, 1);
  EXPECT_EQ(needs, (std::vector<std::vector<bool>>{{true, false}, {true, false}}));
  const NoGrad off;
  needs.clear();
  vmap(f, kFirst)({x.clone().requires_grad_(), w});
  EXPECT_EQ(needs, (std::vector<std::vector<bool>>{{false, false}}));
}

TEST_F(TransformedFunction, RandomnessIsTheVmaps) {
  const TensorFunction f = [](const TensorList& in) {
    return custom_function(
        "Noise", {in[0]}, [](FunctionContext&, const TensorList& t) { return TensorList{t[0] * aten<"rand_like">(t[0])}; },
        [](FunctionContext&, const TensorList& g) { return TensorList{g[0] * aten<"rand_like">(g[0])}; });
  };
  const Tensor x = ones({4, 3}, {.dtype = float64});
  EXPECT_NE(error_of([&] { vmap(f)({x}); }).find("vmap: called random operation while in randomness error mode"),
            std::string::npos);
  const auto gradient = [&](Randomness r) { return grad(total(vmap(f, {.randomness = r})))({x})[0]; };
  const auto rows_differ = [](const Tensor& g) {
    const std::vector<double> a = g[0].to_vector<double>(), b = g[1].to_vector<double>();
    return a != b;
  };
  EXPECT_TRUE(rows_differ(vmap(f, {.randomness = Randomness::different})({x})[0]));
  EXPECT_FALSE(rows_differ(vmap(f, {.randomness = Randomness::same})({x})[0]));
  EXPECT_FALSE(rows_differ(gradient(Randomness::same)));
  EXPECT_TRUE(rows_differ(gradient(Randomness::different))) << "also after the vmap has returned";
}

TEST_F(TransformedFunction, RefusesAGradientItCannotKnow) {
  const Tensor x = counted({3, 2}), w = tensor({0.7, -1.3}, float64);
  // The function and its gradient have nothing to do with the batch, but for what its backward
  // brings along.
  const TensorFunction f = [](const TensorList& in) {
    const Tensor y = custom_function(
        "Hidden", {in[1]}, [](FunctionContext&, const TensorList& t) { return TensorList{t[0] * 2}; },
        [x = in[0]](FunctionContext&, const TensorList& g) { return TensorList{g[0] * x}; })[0];
    return TensorList{y * in[0]};
  };
  EXPECT_NE(error_of([&] { grad(total(vmap(f, kFirst)), {1})({x, w}); }).find("vmap"), std::string::npos);
  const Tensor leaf = w.clone().requires_grad_();
  const TensorFunction inside = [&](const TensorList& in) {
    const Tensor y = custom_function(
        "Hidden", {leaf}, [](FunctionContext&, const TensorList& t) { return TensorList{t[0] * 2}; },
        [x = in[0]](FunctionContext&, const TensorList& g) { return TensorList{g[0] * x}; })[0];
    return grad({y.sum()}, {leaf});
  };
  EXPECT_NE(error_of([&] { vmap(inside)({x}); }).find("the backward of Hidden returned a gradient that differs by member"),
            std::string::npos);
  // An input that all members share cannot be written beside others that they do not.
  const TensorFunction g = [](const TensorList& in) {
    return custom_function(
        "Write", {in[0], in[1] * 1},
        [](FunctionContext& c, const TensorList& t) {
          Tensor w = t[1];
          w.mul_(2);
          c.mark_dirty({w});
          return TensorList{t[0] * 2, w};
        },
        [](FunctionContext&, const TensorList& g) { return TensorList{g[0] * 2, g[1] * 2}; });
  };
  EXPECT_NE(error_of([&] { grad(total(vmap(g, kFirst)), {1})({x, w}); }).find("vmap: Write writes an input in place"),
            std::string::npos);
}

TEST_F(TransformedFunction, ChecksAreThoseOfThePlainTape) {
  const Tensor x = counted({3, 2});
  const auto with = [&](const BackwardFunction& b) {
    return error_of([&] {
      vmap(grad([&](const TensorList& in) {
        return TensorList{
            custom_function(
                "Bad", {in[0]}, [](FunctionContext&, const TensorList& t) { return TensorList{t[0].clone()}; }, b)[0]
                .sum()};
      }))({x});
    });
  };
  EXPECT_EQ(with([](FunctionContext&, const TensorList&) { return TensorList{}; }),
            "function BadBackward returned an incorrect number of gradients (expected 1, got 0)");
  EXPECT_EQ(with([](FunctionContext&, const TensorList& g) { return TensorList{g[0], g[0]}; }),
            "function BadBackward returned an incorrect number of gradients (expected 1, got 2)");
  EXPECT_EQ(with([](FunctionContext&, const TensorList&) { return TensorList{ones({3}, {.dtype = float64})}; }),
            "Function BadBackward returned an invalid gradient at index 0 - got [3] but expected shape compatible with [2]");
  EXPECT_NE(error_of([&] {
              vmap(grad([&](const TensorList& in) {
                Tensor y = in[0] * 3;
                const Tensor z = cube(y);
                y.add_(1);
                return TensorList{z.sum()};
              }))({x});
            }).find("has been modified by an inplace operation"),
            std::string::npos);
}

// A function of a higher-order op may bring along what only a custom function uses.
TEST_F(TransformedFunction, InsideABranchOfARecordedCond) {
  const Tensor x = counted({3, 2}), w = tensor({0.7, -1.3}, float64);
  const auto f = [](bool custom) -> TensorFunction {
    return [custom](const TensorList& in) {
      const Tensor w = in[1], third = in[0] * in[0] * in[0];
      const auto yes = [w, custom](const TensorList& t) { return TensorList{(custom ? cube(w) : w * w * w) * t[0]}; };
      const auto no = [](const TensorList& t) { return TensorList{t[0] * 1}; };
      const Tensor y = cond(in[0].sum() > -100., yes, no, {third})[0];
      return TensorList{(y * y).sum()};
    };
  };
  for (const bool traced : {false, true}) {
    SCOPED_TRACE(traced);
    const auto run = [&](const TensorFunction& g, const TensorList& in) { return traced ? make_fx(g, in)(in) : g(in); };
    for (std::size_t k = 0; k < 2; k++) {
      expect_near(run(grad(f(true), {0, 1}), {x[0], w})[k], run(grad(f(false), {0, 1}), {x[0], w})[k]);
      expect_near(run(vmap(grad(f(true), {0, 1}), kFirst), {x, w})[k], run(vmap(grad(f(false), {0, 1}), kFirst), {x, w})[k]);
      expect_near(run(grad(total(vmap(f(true), kFirst)), {0, 1}), {x, w})[k],
                  run(grad(total(vmap(f(false), kFirst)), {0, 1}), {x, w})[k]);
      expect_near(run(grad(total(grad(f(true), {0, 1})), {0, 1}), {x[0], w})[k],
                  run(grad(total(grad(f(false), {0, 1})), {0, 1}), {x[0], w})[k]);
    }
  }
}

}  // namespace
}  // namespace ingot::testing
