// Backward passes: gradients, accumulation, modes, leaf rules.
#include "autograd/meta.hpp"
#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "support/error_text.hpp"
#include "support/gradient_check.hpp"
#include "support/no_leaks.hpp"
#include "unit/autograd_leaf.hpp"

namespace ingot {
namespace {

using Autograd = NoLeaks;

Tensor f64(const Doubles& values) { return tensor(values, float64); }

// ---- backward
TEST_F(Autograd, ProductRule) {
  const Tensor x = leaf({2, 3}), y = leaf({5, 7});
  const Tensor z = x * y;
  EXPECT_TRUE(z.requires_grad());
  EXPECT_FALSE(z.is_leaf());
  z.backward(f64({1, 10}));
  EXPECT_EQ(values(x.grad()), (Doubles{5, 70}));
  EXPECT_EQ(values(y.grad()), (Doubles{2, 30}));
  EXPECT_FALSE(x.grad().requires_grad());
  EXPECT_FALSE(z.grad().defined()) << "only leaves keep their gradient";
}

TEST_F(Autograd, AMissingGradientIsOneForOneElement) {
  const Tensor x = leaf({2, 3});
  (x * x).sum().backward();
  EXPECT_EQ(values(x.grad()), (Doubles{4, 6}));
  const Tensor one = leaf({4}, {1, 1});
  (one * 3).backward();
  EXPECT_EQ(one.grad().item_double(), 3);
  EXPECT_EQ(error_of([&] { (x * 2).backward(); }), "grad can be implicitly created only for scalar outputs");
  const Tensor c = scalar_tensor(std::complex<double>(1, 1), {.dtype = complex128}).requires_grad_();
  EXPECT_EQ(error_of([&] { (c * c).backward(); }),
            "grad can be implicitly created only for real scalar outputs but got torch.complex128");
}

TEST_F(Autograd, GivenGradientsMustFit) {
  const Tensor x = leaf({2, 3});
  EXPECT_EQ(error_of([&] { (x * 2).backward(ones({3})); }),
            "Mismatch in shape: grad_output[0] has a shape of [3] and output[0] has a shape of [2].");
  EXPECT_NE(error_of([&] {
              (x * 2).backward(ones({2}, {.dtype = complex128}));
            }).find("For complex Tensors, both grad_output and output"),
            std::string::npos);
  EXPECT_EQ(error_of([&] { backward({x * 2, x * 3}, {ones({2})}); }), "got 2 tensors and 1 gradients");
  (x * 2).backward(ones({2}, {.dtype = float32}));  // another real type is converted
  EXPECT_EQ(values(x.grad()), (Doubles{2, 2}));
}

TEST_F(Autograd, OnlyWhatRequiresGradCanBeDifferentiated) {
  const Tensor x = f64({1, 2});
  EXPECT_EQ(error_of([&] { x.sum().backward(); }), "element 0 of tensors does not require grad and does not have a grad_fn");
  const Tensor y = leaf({1});
  EXPECT_EQ(error_of([&] { backward({y * 2, x}, {ones({1}), ones({2})}); }),
            "element 1 of tensors does not require grad and does not have a grad_fn");
  EXPECT_THROW(backward({Tensor()}), UserError);
  backward({});
}

TEST_F(Autograd, GradientsAccumulate) {
  const Tensor x = leaf({2});
  (x * 3).backward();
  (x * 4).backward();
  EXPECT_EQ(x.grad().item_double(), 7);
  x.set_grad({});
  EXPECT_FALSE(x.grad().defined());
  (x * x + x).backward();  // three uses
  EXPECT_EQ(x.grad().item_double(), 5);
}

TEST_F(Autograd, SeveralRoots) {
  const Tensor x = leaf({2}), y = leaf({3});
  const Tensor a = x * y, b = a * a;
  backward({a, b}, {f64({1}), f64({1})}, true);  // a is a root and on the way from b
  EXPECT_EQ(x.grad().item_double(), 3 + 2 * 6 * 3);
  EXPECT_EQ(y.grad().item_double(), 2 + 2 * 6 * 2);
  x.set_grad({});
  backward({a, a}, {f64({1}), f64({10})}, true);
  EXPECT_EQ(x.grad().item_double(), 33);
  x.set_grad({});
  backward({b, x, a}, {f64({1}), f64({100}), f64({1})});
  EXPECT_EQ(x.grad().item_double(), 36 + 100 + 3);
}

TEST_F(Autograd, ALeafCanBeARoot) {
  const Tensor x = leaf({2});
  x.backward();
  x.backward(f64({5}));
  EXPECT_EQ(x.grad().item_double(), 6);
}

TEST_F(Autograd, BroadcastGradientsAreSummedBack) {
  const Tensor x = leaf({1, 2, 3}), y = leaf({10, 20}, {2, 1}), z = scalar_tensor(2, {.dtype = float64}).requires_grad_();
  ((x + y) * z).backward(ones({2, 3}, {.dtype = float64}));
  EXPECT_EQ(values(x.grad()), (Doubles{4, 4, 4}));
  EXPECT_EQ(values(y.grad()), (Doubles{6, 6}));
  EXPECT_EQ(z.grad().dim(), 0);
  EXPECT_EQ(z.grad().item_double(), 2 * 6 + 3 * 30);
  const Tensor one = leaf({1}, {1, 1});
  (one * ones({3})).sum().backward();
  EXPECT_TRUE(one.grad().sizes() == (Shape{1, 1}));
}

TEST_F(Autograd, GradientsHaveTheDtypeOfTheirTensor) {
  Tensor x = tensor({1, 2}, float32).requires_grad_(), h = tensor({3}, float16).requires_grad_();
  (x * f64({5, 6}) * h).sum().backward();
  EXPECT_EQ(x.grad().dtype(), float32);
  EXPECT_EQ(values(x.grad()), (Doubles{15, 18}));
  EXPECT_EQ(h.grad().dtype(), float16);
  const Tensor w = leaf({2});
  w.to(float32).to(float16).sum().backward();
  EXPECT_EQ(w.grad().dtype(), float64);
}

TEST_F(Autograd, ARealLeafOfAComplexResultGetsARealGradient) {
  const Tensor x = leaf({3});
  const Tensor z = x * scalar_tensor(std::complex<double>(1, 2), {.dtype = complex128});
  z.backward(full({1}, std::complex<double>(1, 1), {.dtype = complex128}));
  EXPECT_EQ(x.grad().dtype(), float64);
  EXPECT_EQ(x.grad().item_double(), 3);  // Re((1+i)·conj(1+2i))
}

TEST_F(Autograd, ComplexGradientsUseTheConjugate) {
  const Tensor z = scalar_tensor(std::complex<double>(3, 4), {.dtype = complex128}).requires_grad_();
  (z * z).backward(scalar_tensor(std::complex<double>(1, 0), {.dtype = complex128}));
  EXPECT_EQ(z.grad().item().to_complex(), std::complex<double>(6, -8));
}

// ---- the graph after a run
TEST_F(Autograd, TheGraphIsFreedUnlessRetained) {
  const Tensor x = leaf({2}), y = x * x;
  y.backward({}, true);
  y.backward();
  EXPECT_EQ(x.grad().item_double(), 8);
  EXPECT_EQ(
      error_of([&] { y.backward(); }),
      "Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). Saved "
      "intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to "
      "backward through the graph a second time or if you need to access saved tensors after calling backward.");
  EXPECT_EQ(x.grad().item_double(), 8);
  const Tensor sum = x + 1;  // saves nothing
  sum.backward();
  sum.backward();
}

TEST_F(Autograd, SavedTensorsAreFreedByTheRun) {
  const int64_t before = Storage::live_bytes();
  const Tensor x = leaf(Doubles(1000, 1.0));
  Tensor y = (x * 2).exp();
  Tensor z = y * y;
  y = Tensor();
  z.sum().backward();
  EXPECT_LE(Storage::live_bytes(), before + 3 * 8000) << "x, its gradient and z are left";
}

TEST_F(Autograd, FreeingOneGraphLeavesOthers) {
  const Tensor x = leaf({2}), shared = x * x, a = shared * 3, b = shared * 4;
  a.backward();
  EXPECT_THROW(b.backward(), UserError) << "the shared part is freed";
  const Tensor c = x * x, d = x * x;
  c.backward();
  d.backward();
}

TEST_F(Autograd, ARunThatFailsCanBeRepeated) {
  const Tensor x = leaf({2});
  bool fail = true;
  const Tensor y = custom_function(
      "Sometimes", {x * x}, [](FunctionContext&, const TensorList& in) { return TensorList{in[0].clone()}; },
      [&](FunctionContext&, const TensorList& g) {
        INGOT_REQUIRE(!fail, "not now");
        return TensorList{g[0]};
      })[0];
  EXPECT_EQ(error_of([&] { y.backward(); }), "not now");
  EXPECT_FALSE(x.grad().defined());
  EXPECT_TRUE(is_grad_enabled());
  fail = false;
  y.backward();
  EXPECT_EQ(x.grad().item_double(), 4);
}

// ---- grad()
TEST_F(Autograd, GradReturnsAndDoesNotAccumulate) {
  const Tensor x = leaf({2}), y = leaf({3});
  const TensorList g = grad({x * y}, {x, y});
  EXPECT_EQ(g[0].item_double(), 3);
  EXPECT_EQ(g[1].item_double(), 2);
  EXPECT_FALSE(x.grad().defined());
  EXPECT_FALSE(y.grad().defined());
}

TEST_F(Autograd, GradOfInnerTensors) {
  const Tensor x = leaf({2}), y = x * x, z = y * y * x;
  const TensorList g = grad({z}, {y, x, y, z});
  EXPECT_EQ(g[0].item_double(), 2 * 4 * 2);
  EXPECT_EQ(g[1].item_double(), 5 * 16);
  EXPECT_EQ(g[2].item_double(), 16);
  EXPECT_EQ(g[3].item_double(), 1);
}

TEST_F(Autograd, UnusedInputs) {
  const Tensor x = leaf({2}), y = leaf({3});
  EXPECT_EQ(
      error_of([&] { grad({x * 2}, {y}); }),
      "One of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True if this is the desired behavior.");
  const TensorList g = grad({x * 2}, {y, x}, {}, {.allow_unused = true});
  EXPECT_FALSE(g[0].defined());
  EXPECT_EQ(g[1].item_double(), 2);
  EXPECT_THROW(grad({x * 2}, {x * 2}), UserError) << "another tensor of the same value";
  EXPECT_NE(error_of([&] { grad({x * 2}, {f64({1})}); }).find("One of the differentiated Tensors does not require grad"),
            std::string::npos);
  EXPECT_EQ(error_of([&] { grad({x * 2}, {}); }), "grad requires non-empty inputs.");
  EXPECT_THROW(grad({x * 2}, {Tensor()}), UserError);
}

TEST_F(Autograd, OnlyWhatIsNeededRuns) {
  int runs = 0;
  auto counted = [&](const Tensor& t) {
    return custom_function(
        "Counted", {t}, [](FunctionContext&, const TensorList& in) { return TensorList{in[0].clone()}; },
        [&](FunctionContext&, const TensorList& g) {
          runs++;
          return g;
        })[0];
  };
  const Tensor x = leaf({2}), y = leaf({3});
  const Tensor z = counted(x) * counted(y);
  grad({z}, {x}, {}, {.retain_graph = true});
  EXPECT_EQ(runs, 1);
  const Tensor middle = x * 2, end = counted(middle) * 3;
  runs = 0;
  grad({end}, {end});
  EXPECT_EQ(runs, 0);
  grad({end}, {middle});
  EXPECT_EQ(runs, 1);
}

TEST_F(Autograd, HigherOrders) {
  const Tensor x = leaf({2});
  Tensor y = x * x * x * x;
  const double expected[] = {4 * 8, 12 * 4, 24 * 2, 24};
  for (double e : expected) {
    y = grad({y}, {x}, {}, {.create_graph = true})[0];
    EXPECT_EQ(y.item_double(), e);
  }
  EXPECT_FALSE(grad({x * x}, {x})[0].requires_grad());
}

TEST_F(Autograd, BackwardWithCreateGraph) {
  const Tensor x = leaf({3});
  (x * x * x).backward({}, false, true);
  Tensor g = x.grad();
  EXPECT_TRUE(g.requires_grad());
  EXPECT_EQ(g.item_double(), 27);
  x.set_grad({});  // its history leads back to x: a cycle until it is taken away
  g.backward();
  EXPECT_EQ(x.grad().item_double(), 18);
}

TEST_F(Autograd, CreateGraphAccumulatesDifferentiably) {
  const Tensor x = leaf({3});
  (x * x).backward({}, true, true);
  (x * x * x).backward({}, true, true);
  const Tensor g = x.grad();
  x.set_grad({});
  EXPECT_EQ(g.item_double(), 6 + 27);
  EXPECT_EQ(grad({g}, {x})[0].item_double(), 2 + 18);
}

// ---- what the gradient of a leaf is made of
TEST_F(Autograd, AGradientIsNobodyElses) {
  const Tensor x = leaf({1, 2}), y = leaf({3, 4}), seed = f64({1, 1});
  (x + y).backward(seed);
  EXPECT_NE(x.grad().data_ptr(), seed.data_ptr());
  EXPECT_NE(x.grad().data_ptr(), y.grad().data_ptr());
  x.grad().mul_(10);
  EXPECT_EQ(values(seed), (Doubles{1, 1}));
  EXPECT_EQ(values(y.grad()), (Doubles{1, 1}));
  x.set_grad({});
  x.backward(seed, false, true);
  EXPECT_NE(x.grad().data_ptr(), seed.data_ptr());
}

TEST_F(Autograd, AGradientHasTheLayoutOfItsLeaf) {
  const Tensor x = f64({1, 2, 3, 4, 5, 6}).view({2, 3}).t().requires_grad_();
  EXPECT_FALSE(x.is_contiguous());
  (x * 2).backward(ones({3, 2}, {.dtype = float64}));
  EXPECT_TRUE(x.grad().strides() == x.strides());
  const Tensor wide = zeros({4, 4}, {.dtype = float64}).slice(1, 0, 2).detach().requires_grad_();  // not dense
  (wide * 2).sum().backward();
  EXPECT_TRUE(wide.grad().is_contiguous());
  const Tensor e = leaf({1, 2});
  e.expand({3, 2}).backward(ones({3, 2}, {.dtype = float64}));
  EXPECT_EQ(values(e.grad()), (Doubles{3, 3}));
}

TEST_F(Autograd, AccumulatingWritesIntoTheGradient) {
  const Tensor x = leaf({1});
  (x * 2).backward();
  const Tensor g = x.grad();
  (x * 3).backward();
  EXPECT_TRUE(x.grad().is_same(g));
  EXPECT_EQ(g.item_double(), 5);
}

TEST_F(Autograd, SetGrad) {
  const Tensor x = leaf({1, 2});
  const Tensor g = f64({10, 20});
  x.set_grad(g);
  EXPECT_TRUE(x.grad().is_same(g));
  (x * 2).sum().backward();
  EXPECT_EQ(values(g), (Doubles{12, 22}));
  EXPECT_EQ(error_of([&] { x.set_grad(f64({1})); }), "assigned grad has data of a different size: expected [2], found [1]");
  EXPECT_EQ(error_of([&] { x.set_grad(ones({2})); }),
            "assigned grad has data of a different type: expected torch.float64, found torch.float32");
  EXPECT_EQ(error_of([&] { x.set_grad(x); }), "can't assign Variable as its own grad");
}

TEST_F(Autograd, EmptyTensors) {
  const Tensor x = zeros({0, 3}, {.dtype = float64, .requires_grad = true});
  (x * 2).sum().backward();
  EXPECT_TRUE(x.grad().sizes() == (Shape{0, 3}));
}

// ---- leaves and flags
TEST_F(Autograd, Leaves) {
  Tensor x = f64({1});
  EXPECT_TRUE(x.is_leaf());
  EXPECT_FALSE(x.requires_grad());
  EXPECT_TRUE((x * 2).is_leaf()) << "without a gradient everything is a leaf";
  x.requires_grad_();
  EXPECT_TRUE(x.is_leaf());
  EXPECT_EQ(x.grad_fn_name(), "");
  const Tensor y = x * 2;
  EXPECT_FALSE(y.is_leaf());
  EXPECT_TRUE((x * 2).detach().is_leaf());
  x.requires_grad_(false);
  EXPECT_FALSE((x * 2).requires_grad());
  EXPECT_TRUE(y.requires_grad());
}

TEST_F(Autograd, WhoMayRequireGrad) {
  Tensor i = ones({2}, {.dtype = int64}), b = ones({2}, {.dtype = boolean});
  EXPECT_NE(error_of([&] { i.requires_grad_(); }).find("only Tensors of floating point and complex dtype can require gradients"),
            std::string::npos);
  EXPECT_THROW(b.requires_grad_(), UserError);
  i.requires_grad_(false);
  Tensor y = leaf({1}) * 2;
  y.requires_grad_();
  EXPECT_EQ(
      error_of([&] { y.requires_grad_(false); }),
      "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a subgraph that doesn't require "
      "differentiation use var_no_grad = var.detach().");
  const Tensor x = leaf({1.5, 2.5});
  EXPECT_FALSE(x.to(int64).requires_grad());
  EXPECT_FALSE((x > 2).requires_grad());
  EXPECT_FALSE(zeros_like(x).requires_grad());
}

TEST_F(Autograd, ALeafThatNoLongerRequiresGradGetsNone) {
  Tensor x = leaf({2});
  const Tensor y = x * 3;
  x.requires_grad_(false);
  y.backward();
  EXPECT_FALSE(x.grad().defined());
}

TEST_F(Autograd, Detach) {
  const Tensor x = leaf({1, 2}), y = x * 2;
  Tensor d = y.detach();
  EXPECT_FALSE(d.requires_grad());
  EXPECT_TRUE(d.is_leaf());
  EXPECT_FALSE(d.is_view());
  EXPECT_EQ(d.data_ptr(), y.data_ptr());
  (d * y).sum().backward();
  EXPECT_EQ(values(x.grad()), (Doubles{4, 8})) << "d is a constant";
  Tensor z = x * 3;
  z.detach_();
  EXPECT_FALSE(z.requires_grad());
  EXPECT_TRUE(z.is_leaf());
  z.requires_grad_();
  z.sum().backward();
  EXPECT_EQ(values(z.grad()), (Doubles{1, 1}));
  EXPECT_NE(error_of([&] { (x * 2).select(0, 0).detach_(); }).find("Can't detach views in-place. Use detach() instead."),
            std::string::npos);
}

// ---- modes
TEST_F(Autograd, NoGrad) {
  const Tensor x = leaf({2});
  {
    NoGrad off;
    EXPECT_FALSE(is_grad_enabled());
    EXPECT_FALSE((x * 2).requires_grad());
    EXPECT_FALSE(x.select(0, 0).requires_grad());
    {
      EnableGrad on;
      EXPECT_TRUE((x * 2).requires_grad());
      GradModeGuard again(false);
      EXPECT_FALSE((x * 2).requires_grad());
    }
    EXPECT_FALSE(is_grad_enabled());
    EXPECT_TRUE(zeros({1}, {.requires_grad = true}).requires_grad()) << "leaves may still be made";
  }
  EXPECT_TRUE(is_grad_enabled());
  try {
    NoGrad off;
    throw 1;
  } catch (int) {}
  EXPECT_TRUE(is_grad_enabled());
}

TEST_F(Autograd, BackwardWorksUnderNoGrad) {
  const Tensor x = leaf({2}), y = x * x;
  NoGrad off;
  y.backward();
  EXPECT_EQ(x.grad().item_double(), 4);
}

TEST_F(Autograd, TheBackwardRunsWithoutGradUnlessAsked) {
  const Tensor x = leaf({2});
  std::vector<bool> seen;
  auto look = [&](const Tensor& t) {
    return custom_function(
        "Look", {t}, [](FunctionContext&, const TensorList& in) { return TensorList{in[0].clone()}; },
        [&](FunctionContext&, const TensorList& g) {
          seen.push_back(is_grad_enabled());
          return g;
        })[0];
  };
  look(x).backward();
  grad({look(x)}, {x}, {}, {.create_graph = true});
  EXPECT_EQ(seen, (std::vector<bool>{false, true}));
}

TEST_F(Autograd, InferenceMode) {
  Tensor x = leaf({1, 2}), plain = f64({3, 4});
  Tensor made, view_of_plain, view_of_made;
  {
    InferenceMode mode;
    EXPECT_FALSE(is_grad_enabled());
    made = x * 2;
    EXPECT_TRUE(made->inference);
    EXPECT_FALSE(made.requires_grad());
    view_of_made = made.select(0, 0);
    EXPECT_TRUE(view_of_made->inference) << "a view is what its base is";
    view_of_plain = plain.select(0, 0);
    EXPECT_FALSE(view_of_plain->inference);
    made.add_(1);  // no counting, no refusal
    const uint32_t v = plain.version();
    plain.add_(1);
    EXPECT_EQ(plain.version(), v + 1) << "a normal tensor counts its writes everywhere";
    EXPECT_FALSE(x.detach()->inference);
    EXPECT_TRUE(made.detach()->inference);
  }
  EXPECT_TRUE(is_grad_enabled());
  EXPECT_EQ(error_of([&] { (void)made.version(); }), "Inference tensors do not track version counter.");
  EXPECT_TRUE(made.select(0, 1)->inference);
  EXPECT_TRUE(made.detach()->inference);
  EXPECT_NE(error_of([&] { made.add_(1); }).find("Inplace update to inference tensor outside InferenceMode is not allowed."),
            std::string::npos);
  EXPECT_NE(error_of([&] { made.select(0, 0).zero_(); }).find("Inplace update to inference tensor"), std::string::npos);
  EXPECT_EQ(values(made), (Doubles{3, 5})) << "a refused write must not have written";
  EXPECT_EQ(error_of([&] { made.requires_grad_(); }),
            "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.");
  EXPECT_NE(error_of([&] {
              (void)(made * x);
            }).find("Inference tensors cannot be saved for backward. To work around you can make a clone"),
            std::string::npos);
  EXPECT_TRUE((made + x).requires_grad()) << "nothing is saved";
  EXPECT_FALSE((made + 1)->inference);
  Tensor copy = made.clone();
  EXPECT_FALSE(copy->inference);
  copy.requires_grad_();
  (copy * x).sum().backward();
  EXPECT_NE(error_of([&] {
              view_of_plain.mul_(x.select(0, 0));
            }).find("A view was created in inference mode and is being modified inplace in normal mode."),
            std::string::npos);
}

TEST_F(Autograd, InferenceModeNests) {
  InferenceMode a;
  { InferenceMode b; }
  EXPECT_TRUE(ones({1})->inference);
  EXPECT_FALSE(is_grad_enabled());
}

// ---- what cannot be differentiated
TEST_F(Autograd, AnOpWithoutARule) {
  static const OpDef defs[] = {{.schema = "autograd_test::twice(Tensor self) -> Tensor",
                                .form = Form::external,
                                .body = [](const Call& c) { return Value(c.tensor(0) + c.tensor(0)); }}};
  register_ops(defs);
  const Tensor x = leaf({2});
  const Tensor y = call(op("autograd_test::twice"), {x * 3}).tensor();
  EXPECT_EQ(y.item_double(), 12);
  EXPECT_TRUE(y.requires_grad());
  EXPECT_EQ(y.grad_fn_name(), "NotImplemented");
  const char* const refusal =
      "Trying to backward through autograd_test.twice.default but no autograd formula was registered. Please use register_autograd to "
      "add one.";
  EXPECT_EQ(error_of([&] { y.backward(); }), refusal);
  EXPECT_EQ(error_of([&] { grad({y}, {x}); }), refusal);
}

TEST_F(Autograd, OutArgumentsHaveNoGradient) {
  const Tensor x = leaf({2}), out = f64({0});
  EXPECT_EQ(
      error_of([&] { call(op("add.out"), {x, 1, 1, out}); }),
      "add(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad.");
  NoGrad off;
  call(op("add.out"), {x, 1, 1, out});
  EXPECT_EQ(out.item_double(), 3);
  EXPECT_EQ(out.version(), 1u);
}

// ---- names
TEST_F(Autograd, NodesHavePyTorchsNames) {
  const Tensor x = leaf({1, 2, 3, 4, 5, 6}, {2, 3}), y = leaf({1, 2, 3, 4, 5, 6}, {2, 3});
  const std::pair<Tensor, const char*> table[] = {
      {x + y, "AddBackward0"},
      {x - y, "SubBackward0"},
      {x * y, "MulBackward0"},
      {x * 2, "MulBackward0"},
      {x / y, "DivBackward0"},
      {-x, "NegBackward0"},
      {1 - x, "RsubBackward1"},
      {x.exp(), "ExpBackward0"},
      {x.sum(), "SumBackward0"},
      {x.sum({0}), "SumBackward1"},
      {x.mean(), "MeanBackward0"},
      {x.mean({0}), "MeanBackward1"},
      {x.clone(), "CloneBackward0"},
      {x.to(float32), "ToCopyBackward0"},
      {x.view({6}), "ViewBackward0"},
      {x.t(), "TBackward0"},
      {x.transpose(0, 1), "TransposeBackward0"},
      {x.permute({1, 0}), "PermuteBackward0"},
      {x.select(0, 0), "SelectBackward0"},
      {x.slice(0, 0, 1), "SliceBackward0"},
      {x.expand({4, 2, 3}), "ExpandBackward0"},
      {x.unsqueeze(0), "UnsqueezeBackward0"},
      {x.unsqueeze(0).squeeze(), "SqueezeBackward0"},
      {x.unsqueeze(0).squeeze(0), "SqueezeBackward1"},
      {x.diagonal(), "DiagonalBackward0"},
      {x.as_strided({2}, {1}), "AsStridedBackward0"},
      {x.unbind()[0], "UnbindBackward0"},
      {x.split(1)[1], "SplitBackward0"},
  };
  for (const auto& [t, name] : table) EXPECT_EQ(t.grad_fn_name(), name);
}

TEST_F(Autograd, RulesAgreeWithDifferences) {
  const Tensor x = f64({0.5, -1.25, 2, 0.75, -0.5, 1.5}).view({2, 3});
  check_gradient([](const Tensor& t) { return t * t / (t * t + 1); }, x);
  check_gradient([](const Tensor& t) { return (t.exp() * t.sin()).sum({1}); }, x);
  check_gradient([](const Tensor& t) { return t.t().select(0, 1) * t.slice(1, 0, 2).select(1, 1); }, x);
  check_gradient([](const Tensor& t) { return t.view({3, 2}).expand({2, 3, 2}) * t.reshape({3, 2}).tanh(); }, x);
  check_gradient([](const Tensor& t) { return t.diagonal() * t.as_strided({2}, {2}, 1); }, x);
  check_gradient([](const Tensor& t) { return t.as_strided({3, 2}, {1, 1}) * t.as_strided({3, 2}, {0, 2}, 1); }, x);
  check_gradient([](const Tensor& t) { return t.unbind(1)[2] * t.split(1)[1].select(1, 0); }, x);
}

TEST_F(Autograd, StridedViewsWithoutElements) {
  const Tensor x = zeros({0, 2}).requires_grad_();
  EXPECT_EQ(grad({x.as_strided({0, 3}, {3, 4}).sum()}, {x})[0].sizes(), Shape({0, 2}));
}

}  // namespace
}  // namespace ingot
