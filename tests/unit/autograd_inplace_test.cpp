// In-place writes under autograd: what is refused, version counters, gradients through views and
// bases.
#include <functional>
#include <random>

#include "autograd/meta.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "support/error_text.hpp"
#include "support/gradient_check.hpp"
#include "support/no_leaks.hpp"
#include "unit/autograd_leaf.hpp"

namespace ingot {
namespace {

using AutogradInplace = NoLeaks;

Tensor matrix() { return tensor({0.5, -1.25, 2, 0.75, -0.5, 1.5, 1.25, -2, 0.25}, {3, 3}, float64); }
void inplace(const char* name, const Tensor& self, std::initializer_list<Value> rest = {}) {
  Values args{self};
  args.insert(args.end(), rest.begin(), rest.end());
  call(op(name), args);
}

// ---- refusals
TEST_F(AutogradInplace, LeavesThatRequireGrad) {
  Tensor x = leaf({1, 2});
  const std::string text = "a leaf Variable that requires grad is being used in an in-place operation.";
  EXPECT_NE(error_of([&] { x.add_(1); }).find(text), std::string::npos);
  EXPECT_NE(error_of([&] { x.zero_(); }).find(text), std::string::npos);
  EXPECT_NE(error_of([&] { inplace("unsqueeze_", x, {0}); }).find(text), std::string::npos);
  EXPECT_NE(error_of([&] {
              x.select(0, 0).add_(1);
            }).find("a view of a leaf Variable that requires grad is being used in an in-place operation."),
            std::string::npos);
  EXPECT_EQ(values(x), (Doubles{1, 2})) << "a refused write must not have written";
  EXPECT_EQ(x.version(), 0u);
  EXPECT_EQ(x.dim(), 1);
  {
    NoGrad off;
    x.add_(1);
    x.select(0, 0).mul_(10);
  }
  EXPECT_EQ(values(x), (Doubles{20, 3}));
  EXPECT_TRUE(x.is_leaf());
  (x * x).sum().backward();
  EXPECT_EQ(values(x.grad()), (Doubles{40, 6}));
}

TEST_F(AutogradInplace, LeavesWithoutGradBecomeInner) {
  const Tensor x = leaf({3});
  Tensor y = tensor({2}, float64);
  y.mul_(x);
  EXPECT_TRUE(y.requires_grad());
  EXPECT_EQ(y.grad_fn_name(), "MulBackward0");
  y.backward();
  EXPECT_EQ(x.grad().item_double(), 2);
}

TEST_F(AutogradInplace, MultiOutputViews) {
  const Tensor x = leaf({1, 2});
  const std::string text =
      " This view is the output of a function that returns multiple views. Such functions do not allow the output views to be "
      "modified inplace. You should replace the inplace operation by an out-of-place one.";
  Tensor y = x * 2;
  TensorList parts = y.unbind();
  EXPECT_EQ(error_of([&] { parts[1].add_(1); }), "Output 1 of UnbindBackward0 is a view and is being modified inplace." + text);
  EXPECT_NE(error_of([&] { parts[1].view({1}).add_(1); }).find("Such functions do not allow the output views"), std::string::npos)
      << "nor a view of it";
  y.add_(1);
  EXPECT_EQ(error_of([&] { (void)parts[0].grad_fn_name(); }),
            "Output 0 of UnbindBackward0 is a view and its base or another view of its base has been modified inplace." + text);
  EXPECT_NE(parts[0].to_string().find("grad_fn=<Invalid>"), std::string::npos);
  TensorList halves = (x * 2).split(1);
  EXPECT_NE(error_of([&] { halves[0].mul_(2); }).find("Output 0 of SplitBackward0 is a view and is being modified inplace."),
            std::string::npos);
  TensorList chunks = (x * 2).chunk(2);
  EXPECT_THROW(chunks[0].mul_(2), UserError);
  // Without a gradient there is nothing to get wrong.
  Tensor plain = tensor({1, 2}, float64);
  plain.unbind()[0].add_(5);
  EXPECT_EQ(values(plain), (Doubles{6, 2}));
  {
    NoGrad off;
    (x * 2).unbind()[0].add_(1);
  }
}

// An op that changes how a tensor lies, and none of its elements, is refused where a write of one
// of several views is.
TEST_F(AutogradInplace, InPlaceViewsAreRefusedAsWritesAre) {
  const Tensor x = leaf({1, 2, 3, 4}).view({2, 2});
  const std::function<void(Tensor)> changes[] = {
      [](Tensor t) { aten_value<"t_">(t); }, [](Tensor t) { aten_value<"unsqueeze_">(t, 0); },
      [](Tensor t) { aten_value<"as_strided_">(t, Shape{2}, Shape{1}); }, [](Tensor t) { aten_value<"transpose_">(t, 0, 1); }};
  for (const auto& change : changes) {
    for (const Tensor& part : {(x * 2).split(1)[0], (x * 2).split(1)[0].slice(1, 0, 1)})
      EXPECT_NE(error_of([&] { change(part); }).find("Such functions do not allow the output views"), std::string::npos);
    change((x * 2).slice(0, 0, 1));
    change(tensor({1, 2}, float64).view({2, 1}).split(1)[0]);
    NoGrad off;
    change((x * 2).split(1)[0]);
  }
}

TEST_F(AutogradInplace, ViewsMadeWithoutGrad) {
  const Tensor x = leaf({1, 2});
  Tensor y = x * 2, v;
  {
    NoGrad off;
    v = y.select(0, 0);
    v.add_(1);
  }
  EXPECT_FALSE(v.requires_grad());
  const std::string text =
      "A view was created in no_grad mode and is being modified inplace with grad mode enabled. Given that this use case is "
      "ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the view and the inplace either both "
      "inside the no_grad block (if you don't want the inplace to be tracked) or both outside (if you want the inplace to be "
      "tracked).";
  EXPECT_EQ(error_of([&] { v.mul_(x.select(0, 0)); }), text);
  Tensor u;
  {
    NoGrad off;
    u = y.unbind()[0];
  }
  EXPECT_EQ(error_of([&] { u.mul_(x.select(0, 0)); }), text) << "made without grad comes before multi-output";
}

TEST_F(AutogradInplace, ExpandedTensorsCannotBeWritten) {
  const Tensor x = leaf({2});
  Tensor e = (x * 2).expand({3});
  EXPECT_NE(
      error_of([&] { e.add_(1); }).find("more than one element of the written-to tensor refers to a single memory location"),
      std::string::npos);
}

// ---- versions of saved tensors
TEST_F(AutogradInplace, ASavedInputThatWasWritten) {
  const Tensor x = leaf({1, 2});
  Tensor y = x * 2;
  const Tensor z = y * y;
  y.add_(1);
  EXPECT_EQ(y.version(), 1u);
  EXPECT_NE(
      error_of([&] { z.sum().backward(); })
          .find(
              "one of the variables needed for gradient computation has been modified by an inplace operation: [torch.DoubleTensor [2]], "
              "which is output 0 of MulBackward0, is at version 1; expected version 0 instead."),
      std::string::npos);
  y.sum().backward();  // the rest of the graph is fine
  EXPECT_EQ(values(x.grad()), (Doubles{2, 2}));
}

TEST_F(AutogradInplace, ASavedLeafThatWasWritten) {
  Tensor x = leaf({1, 2});
  const Tensor z = (x * x).sum();
  {
    NoGrad off;
    x.add_(1);
  }
  EXPECT_NE(error_of([&] { z.backward(); }).find("[torch.DoubleTensor [2]] is at version 1; expected version 0 instead."),
            std::string::npos);
}

TEST_F(AutogradInplace, ASavedResultThatWasWritten) {
  const Tensor x = leaf({1, 2});
  Tensor y = x.exp();
  y.add_(1);
  EXPECT_NE(error_of([&] {
              y.sum().backward();
            }).find("which is output 0 of ExpBackward0, is at version 1; expected version 0 instead."),
            std::string::npos);
}

TEST_F(AutogradInplace, WritesThroughAnyAliasCount) {
  const Tensor x = leaf({1, 2});
  for (int way = 0; way < 4; way++) {
    Tensor y = x * 2;
    const Tensor z = (y * y).sum();
    if (way == 0) y.detach().add_(1);
    if (way == 1) y.select(0, 1).add_(1);
    if (way == 2) {
      NoGrad off;
      y.view({2, 1}).zero_();
    }
    if (way == 3) call(op("add.out"), {ones({2}, {.dtype = float64}), 1, 1, y.detach()});
    EXPECT_THROW(z.backward(), UserError) << way;
  }
}

TEST_F(AutogradInplace, WhatIsNotSavedMayBeWritten) {
  const Tensor x = leaf({1, 2});
  Tensor y = x + 1;
  const Tensor z = y * 3;
  y.mul_(5);
  (z + y).sum().backward();
  EXPECT_EQ(values(x.grad()), (Doubles{8, 8}));
}

TEST_F(AutogradInplace, SavedOnlyForTheGradientsAskedFor) {
  const Tensor x = leaf({1, 2});
  Tensor c = tensor({3, 4}, float64);
  const Tensor z = x * c;
  c.add_(1);
  EXPECT_THROW(z.sum().backward(), UserError) << "d/dx needs c";
  Tensor y = x * 1;
  const Tensor w = y * c;  // d/dy needs c, nothing needs y
  y.add_(1);
  w.sum().backward();
  EXPECT_EQ(values(x.grad()), (Doubles{4, 5}));
}

// ---- gradients of plain writes
TEST_F(AutogradInplace, GradientsThroughWrites) {
  const Tensor x = matrix();
  // clang-format off
  check_gradient([](const Tensor& t) { Tensor y = t * 1; y.mul_(3); return y; }, x);
  check_gradient([](const Tensor& t) { Tensor y = t * 1; y.mul_(t); return y; }, x);
  check_gradient([](const Tensor& t) { Tensor y = t * t; y.mul_(y.clone()); return y * t; }, x);
  check_gradient([](const Tensor& t) { Tensor y = t * t; y.add_(t, 2); y.div_(t * t + 1); return y; }, x);
  check_gradient([](const Tensor& t) { Tensor y = t * 2; y.copy_(t.t()); return y * y; }, x);
  check_gradient([](const Tensor& t) { Tensor y = t * t; const Tensor z = y + 1; y.zero_(); return y * t + z; }, x);
  check_gradient([](const Tensor& t) { Tensor y = t * t; y.fill_(3); return y * t; }, x);
  check_gradient([](const Tensor& t) { Tensor y = t * t; inplace("exp_", y); return y; }, x);
  check_gradient([](const Tensor& t) { Tensor y = t * t; inplace("square_", y); return y; }, x);  // a program of another op
  check_gradient([](const Tensor& t) { Tensor y = zeros({3, 3}, {.dtype = float64}); y.add_(t); y.mul_(t); return y; }, x);
  check_gradient([](const Tensor& t) { Tensor y = t * 1; y.add_(t.select(0, 1)); return y * y; }, x);  // the other one is broadcast
  // clang-format on
}

// ---- views and bases. Each program runs with views known by geometry and by replay.
class AutogradViews : public NoLeaks, public ::testing::WithParamInterface<bool> {
 protected:
  void check(const CheckedFunction& f, const Tensor& x = matrix(), int orders = 2) {
    Scoped<bool> replay(thread_state().view_replay, GetParam());
    check_gradient(f, x, orders);
  }
};
INSTANTIATE_TEST_SUITE_P(Replay, AutogradViews, ::testing::Bool());

TEST_P(AutogradViews, WritingAViewChangesTheBase) {
  // clang-format off
  check([](const Tensor& t) { Tensor y = t * 1; y.select(0, 1).mul_(3); return y; });
  check([](const Tensor& t) { Tensor y = t * 1; y.select(0, 1).mul_(t.select(1, 0)); return y * t; });
  check([](const Tensor& t) { Tensor y = t * 1; y.slice(1, 0, 3, 2).mul_(t.slice(0, 1).t().slice(0, 0, 3)); return y * y; });
  check([](const Tensor& t) { Tensor y = t * 1; y.t().mul_(t); return y * t; });
  check([](const Tensor& t) { Tensor y = t * 1; y.view({-1}).slice(0, 0, {}, 2).mul_(t.view({9}).slice(0, 4)); return y; });
  check([](const Tensor& t) { Tensor y = t * 1; y.diagonal().add_(t.select(0, 0) * t.select(1, 1)); return y * t; });
  check([](const Tensor& t) { Tensor y = t * 1; y.as_strided({2, 2}, {3, 1}, 1).mul_(t.slice(0, 0, 2).slice(1, 0, 2)); return y; });
  check([](const Tensor& t) { Tensor y = t * 1; y.unsqueeze(0).squeeze(0).permute({1, 0}).mul_(t); return y; });
  check([](const Tensor& t) { Tensor y = t * 1; y.select(0, 0).copy_(t.select(0, 1) * 2); return y * y; });
  check([](const Tensor& t) { Tensor y = t * t; y.select(0, 0).zero_(); return y; });
  check([](const Tensor& t) { Tensor y = t * t; y.select(1, 2).fill_(7); return y * t; });
  // clang-format on
}

TEST_P(AutogradViews, WritingTheBaseChangesTheView) {
  // clang-format off
  check([](const Tensor& t) { Tensor y = t * 1; Tensor v = y.select(0, 0); y.mul_(t); return v * v; });
  check([](const Tensor& t) { Tensor y = t * 1; Tensor v = y.t().slice(0, 1, 3).select(1, 0); y.mul_(t); return v * t.slice(0, 0, 1).select(0, 0).slice(0, 0, 2); });
  check([](const Tensor& t) { Tensor y = t * 1; Tensor v = y.diagonal(); y.add_(t).mul_(t); return v; });
  check([](const Tensor& t) { Tensor y = t * 1; Tensor v = y.view({9}).slice(0, 1, 8, 3); const Tensor old = v * 1; y.mul_(t); return v + old; });
  // clang-format on
}

TEST_P(AutogradViews, SiblingsSeeEachOther) {
  check([](const Tensor& t) {
    Tensor y = t * 1;
    Tensor a = y.select(0, 0), b = y.slice(0, 0, 2);
    a.mul_(t.select(1, 0));
    b.mul_(t.slice(0, 1, 3));
    return b * y.slice(0, 0, 2) + a;
  });
  check([](const Tensor& t) {
    Tensor y = t * 1;
    Tensor a = y.t().select(0, 0), b = y.diagonal(), c = y.view({9}).slice(0, 0, 3);
    a.mul_(2);
    b.add_(a.clone() * t.select(0, 0));
    c.mul_(b.clone());
    a.add_(c);
    return y * t + a;
  });
}

TEST_P(AutogradViews, ChainsOfViews) {
  check([](const Tensor& t) {
    Tensor y = t * 1;
    y.t().slice(0, 1, 3).select(1, 0).mul_(t.slice(1, 0, 2).select(0, 2));
    return y;
  });
  check([](const Tensor& t) {
    Tensor y = t * 1;
    Tensor a = y.slice(0, 1), b = a.t(), c = b.slice(0, 1).select(1, 1);
    c.mul_(t.select(0, 0).slice(0, 0, 2));
    b.mul_(t.slice(1, 0, 2));
    return a * a + c.select(0, 0);
  });
  check([](const Tensor& t) {
    Tensor y = t * 1;
    for (int i = 0; i < 3; i++) y.select(0, i).mul_(y.select(0, (i + 1) % 3).clone());
    return y;
  });
}

TEST_P(AutogradViews, ABaseWithoutGradGetsOne) {
  // clang-format off
  check([](const Tensor& t) { Tensor b = zeros({4, 3}, {.dtype = float64}); b.slice(0, 0, 3).copy_(t * t); return b * 2; });
  check([](const Tensor& t) { Tensor b = ones({3}, {.dtype = float64}); b.select(0, 1).mul_(t.select(0, 0).select(0, 0)); return b * b; });
  // clang-format on
  check([](const Tensor& t) {
    Tensor b = ones({3}, {.dtype = float64});
    Tensor before = b.slice(0, 0, 2);  // taken before b has a gradient
    b.select(0, 1).mul_(t.select(0, 0).select(0, 0));
    return before * before;
  });
}

TEST_P(AutogradViews, WritesWithoutGradAreConstants) {
  Scoped<bool> replay(thread_state().view_replay, GetParam());
  const Tensor x = leaf({1, 2});
  Tensor y = x * 3;
  {
    NoGrad off;
    y.select(0, 0).mul_(10);
  }
  y.sum().backward();
  EXPECT_EQ(values(x.grad()), (Doubles{3, 3}));
}

TEST_P(AutogradViews, DetachedAliasesWriteConstants) {
  Scoped<bool> replay(thread_state().view_replay, GetParam());
  const Tensor x = leaf({1, 2});
  Tensor y = x + 1;
  y.detach().mul_(10);
  EXPECT_EQ(values(y), (Doubles{20, 30}));
  (y * 2).sum().backward();
  EXPECT_EQ(values(x.grad()), (Doubles{2, 2}));
}

// They change no data: views taken before and after must keep their gradients.
TEST_P(AutogradViews, InPlaceViewOps) {
  // clang-format off
  check([](const Tensor& t) { Tensor y = t * 1; inplace("t_", y); return y * t; });
  check([](const Tensor& t) { Tensor y = t * 1; inplace("unsqueeze_", y, {0}); inplace("squeeze_", y); return y * t; });
  check([](const Tensor& t) { Tensor y = t.slice(0, 0, 2) * 1; inplace("transpose_", y, {0, 1}); return y * t.slice(1, 0, 2); });
  check([](const Tensor& t) { Tensor y = t * 1; Tensor v = y.select(0, 0); inplace("unsqueeze_", v, {0}); v.mul_(t.slice(0, 1, 2)); return y; });
  if (!GetParam()) return;  // a base that changes its shape under a view needs the view's steps
  check([](const Tensor& t) { Tensor y = t * 1; Tensor v = y.select(0, 0); inplace("t_", y); v.mul_(t.select(0, 1)); return y * t; });
  check([](const Tensor& t) { Tensor y = t * 1; Tensor v = y.select(0, 0); inplace("unsqueeze_", y, {0}); v.mul_(t.select(0, 1)); return y * t; });
  // clang-format on
  check([](const Tensor& t) {
    Tensor y = t * 1;
    Tensor v = y.select(0, 0);
    inplace("t_", y);
    Tensor w = y.select(0, 0);
    v.mul_(t.select(0, 1));
    w.mul_(t.select(0, 2));
    return v * w + y.select(1, 1);
  });
}

TEST_P(AutogradViews, HistoriesHavePyTorchsNames) {
  Scoped<bool> replay(thread_state().view_replay, GetParam());
  const Tensor x = leaf({1, 2, 3});
  Tensor y = x * 1, v = y.slice(0, 1), w = v.select(0, 0);
  EXPECT_TRUE(v.is_view());
  EXPECT_FALSE(y.is_view());
  EXPECT_EQ(w.grad_fn_name(), "SelectBackward0");
  v.mul_(2);
  EXPECT_EQ(y.grad_fn_name(), "CopySlices");
  EXPECT_EQ(v.grad_fn_name(), GetParam() ? "SliceBackward0" : "AsStridedBackward0");
  EXPECT_EQ(w.grad_fn_name(), GetParam() ? "SelectBackward0" : "AsStridedBackward0");
  y.mul_(2);
  EXPECT_EQ(y.grad_fn_name(), "MulBackward0");
  w.backward();
  EXPECT_EQ(values(x.grad()), (Doubles{0, 4, 0}));
}

TEST_P(AutogradViews, TheGraphIsFreedOnceHere) {
  Scoped<bool> replay(thread_state().view_replay, GetParam());
  const Tensor x = leaf({1, 2, 3});
  Tensor y = x * 1;
  y.select(0, 1).mul_(x.select(0, 0));
  y.sum().backward({}, true);
  y.sum().backward();
  EXPECT_THROW(y.sum().backward(), UserError) << "the writer inside CopySlices was freed";
  EXPECT_EQ(values(x.grad()), (Doubles{6, 2, 2}));
}

TEST_P(AutogradViews, NoCycles) {
  Scoped<bool> replay(thread_state().view_replay, GetParam());
  Tensor x = leaf({1, 2, 3});
  {
    Tensor y = x * 2, z = x * 3;
    y.mul_(z);
    z.add_(y);
    Tensor v = y.slice(0, 0, 2);
    v.mul_(z.slice(0, 1));
    y.mul_(y);
    v.add_(v);
    z.slice(0, 0, 2).copy_(v);
  }
  {
    Tensor plain = tensor({1, 2, 3}, float64), y = x * 2;
    y.mul_(plain);
    plain.add_(y);  // plain → node → y's node, which saved plain
  }
}  // NoLeaks counts

// ---- random programs
class Program {
 public:
  explicit Program(unsigned seed) : seed_(seed) {}

  // Writes and views of a few tensors over two bases, then a mix of them all.
  Tensor operator()(const Tensor& x) {
    rng_.seed(seed_);  // the same program at every x
    TensorList live = {x * 1, x * x};
    const int steps = 3 + pick(6);
    for (int i = 0; i < steps; i++) {
      const Tensor t = live[static_cast<std::size_t>(pick(static_cast<int>(live.size())))];
      if (pick(2)) live.push_back(view(t));
      else write(t, x);
    }
    Tensor r = zeros({}, {.dtype = float64});
    for (std::size_t i = 0; i < live.size(); i++) r = r + (live[i] * live[i]).sum() * (0.5 + static_cast<double>(i));
    return r;
  }

 private:
  const unsigned seed_;
  std::mt19937 rng_;

  int pick(int n) { return static_cast<int>(rng_() % static_cast<unsigned>(n)); }

  Tensor view(const Tensor& t) {
    const int64_t rank = t.dim();
    if (rank == 0) return t.unsqueeze(0);
    const int64_t d = pick(static_cast<int>(rank)), n = t.size(d).value();
    switch (pick(7)) {
      case 0: return t.select(d, pick(static_cast<int>(n)));
      case 1: return t.slice(d, pick(static_cast<int>(n)), {}, 1 + pick(2));
      case 2: return t.transpose(d, pick(static_cast<int>(rank)));
      case 3: return t.unsqueeze(d);
      case 4: return t.is_contiguous() ? t.view({-1}) : t.squeeze();
      case 5: return rank >= 2 ? t.diagonal() : t.slice(0, 0, n);
      default: return t.narrow(d, 0, 1 + pick(static_cast<int>(n)));
    }
  }
  void write(Tensor t, const Tensor& x) {
    const Tensor other = x.view({-1}).select(0, pick(9)) * 0.5 + 0.75;
    switch (pick(6)) {
      case 0: t.mul_(other); break;
      case 1: t.add_(other); break;
      case 2: t.mul_(t.clone()); break;
      case 3: t.copy_(other); break;
      case 4: t.mul_(1.25); break;
      default: t.dim() > 0 ? t.select(0, 0).zero_() : t.zero_(); break;
    }
  }
};

TEST_P(AutogradViews, RandomPrograms) {
  for (unsigned seed = 0; seed < 60; seed++) {
    SCOPED_TRACE(seed);
    auto p = std::make_shared<Program>(seed);
    check([p](const Tensor& t) { return (*p)(t); }, matrix(), seed % 4 == 0 ? 2 : 1);
    if (HasFailure()) break;
  }
}

// A view with elements of another type is no strided part of its base: after a write to either, it
// is made again by the way it was made.
TEST_F(AutogradInplace, ViewsOfAnotherTypeFollowWritesToTheirBase) {
  const auto complex_leaf = [] { return aten<"complex">(full({2}, 1.0), full({2}, 2.0)).requires_grad_(); };
  const auto parts = [](const Tensor& g) { return aten<"view_as_real">(aten<"resolve_conj">(g)).to_vector<double>(); };
  using Parts = std::vector<double>;
  {
    const Tensor leaf = complex_leaf(), x = leaf * 1.0, v = aten<"imag">(x);
    Tensor(x).add_(1);
    EXPECT_EQ(parts(grad({v}, {leaf}, {full({2}, 1.0)})[0]), (Parts{0, 1, 0, 1}));
  }
  {  // of a part of the base
    const Tensor leaf = complex_leaf(), x = leaf * 1.0, v = aten<"view_as_real">(x.slice(0, 1));
    Tensor(x).mul_(2);
    EXPECT_EQ(parts(grad({v}, {leaf}, {full({1, 2}, 1.0)})[0]), (Parts{0, 0, 2, 2}));
  }
  {  // and the base follows a write to the view
    const Tensor leaf = complex_leaf(), x = leaf * 1.0;
    aten<"real">(x.slice(0, 1)).mul_(3);
    const Tensor seed = aten<"complex">(full({2}, 1.0), full({2}, 1.0));
    EXPECT_EQ(parts(grad({x}, {leaf}, {seed})[0]), (Parts{1, 1, 3, 1}));
  }
}

// PyTorch's eager gradient comes in the order from before, or does not fit; its compiled functions
// have this one.
TEST_F(AutogradInplace, AnInPlaceViewUnderNoGradIsInTheHistory) {
  const Tensor leaf = ones({2, 3}).requires_grad_();
  Tensor x = leaf * 1;
  {
    const NoGrad off;
    aten_value<"transpose_">(x, 0, 1);
  }
  const Tensor seed = aten<"arange">(6, DType::f32).view({3, 2});
  EXPECT_EQ(grad({x}, {leaf}, {seed})[0].to_vector<double>(), (std::vector<double>{0, 2, 4, 1, 3, 5}));
}

}  // namespace
}  // namespace ingot
