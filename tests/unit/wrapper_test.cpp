// Wrapper tensors: what ops do with them, what aliases, gradients, several classes in one call.
#include "op/wrapper.hpp"

#include "autograd/meta.hpp"
#include "ingot/ingot.hpp"
#include "support/error_text.hpp"
#include "support/no_leaks.hpp"
#include "support/wrappers.hpp"
#include "tensor/geometry.hpp"

namespace ingot {
namespace {

using testing::a;
using testing::b;
using testing::constant_attribute;
using testing::is_metadata_tensor;
using testing::is_two_tensor;
using testing::metadata_tensor;
using testing::Numbers;
using testing::two;
using testing::two_tensor;
using testing::values;

class Wrapper : public NoLeaks {};

const Tensor& elem(const Tensor& t) { return inner_tensor(t, "elem"); }

void expect_two(const Tensor& t, const Numbers& want_a, const Numbers& want_b) {
  ASSERT_TRUE(is_two_tensor(t));
  EXPECT_EQ(values(a(t)), want_a);
  EXPECT_EQ(values(b(t)), want_b);
  EXPECT_TRUE(t->geom.same(a(t)->geom)) << "outer " << to_text(t.sizes()) << ", a " << to_text(a(t).sizes());
}

TEST_F(Wrapper, LooksAsItsFirstPart) {
  const Tensor base = ones({4, 3}, {.dtype = float64});
  const Tensor part = base.slice(0, 1, 3).t();
  const Tensor w = two_tensor(part, part.clone());
  EXPECT_TRUE(w.sizes().same({3, 2}));
  EXPECT_TRUE(w.strides().same({1, 3}));
  EXPECT_EQ(w.storage_offset().value(), 3);
  EXPECT_EQ(w.dtype(), float64);
  EXPECT_FALSE(w.requires_grad());
  EXPECT_FALSE(w->storage == part->storage);
  EXPECT_TRUE(wrapper_state(w));
  EXPECT_FALSE(wrapper_state(part));
  EXPECT_FALSE(wrapper_state(Tensor()));
  EXPECT_TRUE(two_tensor(ones({2}).requires_grad_(), ones({2})).requires_grad());
}

TEST_F(Wrapper, OpsRunOnEveryPart) {
  const Tensor x = two({1, 2, 3, 4}, {2, 2});
  expect_two(x + x, {2, 4, 6, 8}, {-2, -4, -6, -8});
  expect_two(x * 3, {3, 6, 9, 12}, {-3, -6, -9, -12});
  expect_two(x + ones({2, 2}), {2, 3, 4, 5}, {0, -1, -2, -3});
  expect_two(ones({2, 2}) - x, {0, -1, -2, -3}, {2, 3, 4, 5});
  expect_two(x.mm(x), {7, 10, 15, 22}, {7, 10, 15, 22});
  expect_two(x.sum(), {10}, {-10});
  expect_two(softmax(x * 0, 1), {.5, .5, .5, .5}, {.5, .5, .5, .5});  // a program of several ops
  expect_two(cat({x, x}), {1, 2, 3, 4, 1, 2, 3, 4}, {-1, -2, -3, -4, -1, -2, -3, -4});
  expect_two(zeros_like(x), {0, 0, 0, 0}, {0, 0, 0, 0});
  EXPECT_EQ(x.sum().dim(), 0);
}

TEST_F(Wrapper, SeveralResults) {
  const Tensor x = two({1, 2, 3, 4}, {2, 2});
  const TensorList m = atens<"max.dim">(x, 1, false);
  expect_two(m[0], {2, 4}, {-1, -3});
  expect_two(m[1], {1, 1}, {0, 0});
  const TensorList rows = x.unbind(0);
  ASSERT_EQ(rows.size(), 2u);
  expect_two(rows[1], {3, 4}, {-3, -4});
  EXPECT_TRUE(rows[0]->storage == x->storage && rows[1]->storage == x->storage);
}

TEST_F(Wrapper, ResultsThatAreNoTensorsAreThoseOfTheFirstPart) {
  EXPECT_EQ(aten_value<"sym_size.int">(two({1, 2, 3, 4}, {2, 2}), 1).to_int64(), 2);
  EXPECT_EQ(two({5}, {}).item_double(), 5);
}

TEST_F(Wrapper, ViewsShareTheOuterStorageAndItsVersion) {
  const Tensor x = two({1, 2, 3, 4}, {2, 2});
  Tensor row = x.select(0, 1);
  EXPECT_TRUE(row.is_view());
  EXPECT_TRUE(row->storage == x->storage);
  expect_two(row, {3, 4}, {-3, -4});
  EXPECT_EQ(row.storage_offset().value(), 2);
  const uint32_t before = x.version(), inner_before = a(x).version();
  Tensor& same = row.mul_(Scalar(10));
  EXPECT_TRUE(same.is_same(row));
  expect_two(x, {1, 2, 30, 40}, {-1, -2, -30, -40});
  EXPECT_EQ(x.version(), before + 1);
  EXPECT_EQ(a(x).version(), inner_before) << "the outer tensor alone counts writes";
  Tensor other = x.detach();
  EXPECT_FALSE(other.is_same(x));
  EXPECT_TRUE(other->storage == x->storage);
  other.fill_(7);
  expect_two(x, {7, 7, 7, 7}, {7, 7, 7, 7});
  EXPECT_EQ(row.version(), before + 2);
}

TEST_F(Wrapper, InPlaceReturnsTheTensorThatWasWritten) {
  const Tensor x = two({1, 2}, {2});
  const Tensor part = a(x);
  EXPECT_TRUE(aten_value<"add_.Tensor">(x, x).tensor().is_same(x));
  EXPECT_TRUE(aten_value<"copy_">(x, ones({2})).tensor().is_same(x)) << "a plain tensor is written to both parts";
  EXPECT_TRUE(a(x).is_same(part)) << "written, not replaced";
  expect_two(x, {1, 1}, {1, 1});
  EXPECT_TRUE(aten_value<"fill_diagonal_">(two({1, 2, 3, 4}, {2, 2}), 0).is_tensor());
}

TEST_F(Wrapper, InPlaceViewsChangeTheLook) {
  const Tensor x = two({1, 2, 3, 4, 5, 6}, {2, 3});
  const Tensor handle = detached(x);
  EXPECT_TRUE(aten_value<"t_">(x).tensor().is_same(x));
  EXPECT_TRUE(x.sizes().same({3, 2}));
  expect_two(x, {1, 4, 2, 5, 3, 6}, {-1, -4, -2, -5, -3, -6});
  expect_two(handle, {1, 2, 3, 4, 5, 6}, {-1, -2, -3, -4, -5, -6});
  aten_value<"unsqueeze_">(x, 0);
  EXPECT_TRUE(x.sizes().same({1, 3, 2}) && a(x).sizes().same({1, 3, 2}));
}

TEST_F(Wrapper, OutResizeAndSet) {
  const Tensor x = two({1, 2}, {2}), out = two({0}, {1});
  EXPECT_TRUE(call(op("add.out"), {x, x, 1, out}).tensor().is_same(out));
  expect_two(out, {2, 4}, {-2, -4});
  aten_value<"resize_">(out, Shape{1});
  expect_two(out, {2}, {-2});
  aten_value<"set_.source_Tensor">(out, x);
  EXPECT_TRUE(out->storage == x->storage);
  expect_two(out, {1, 2}, {-1, -2});
  Tensor(out).add_(Scalar(1));
  expect_two(x, {2, 3}, {0, -1});
}

TEST_F(Wrapper, APlainTensorCannotBeWrittenWithTwoParts) {
  Tensor plain = ones({2});
  const Tensor x = two({1, 2}, {2});
  EXPECT_EQ(
      error_of([&] { plain.add_(x); }),
      "add_: a plain tensor cannot take what a TwoTensor has several of; write into a TwoTensor of it, or use the op without the write");
  EXPECT_EQ(values(plain), Numbers({1, 1}));
  plain.add_(metadata_tensor(ones({2})));
  EXPECT_EQ(values(plain), Numbers({2, 2})) << "one part is one write";
}

TEST_F(Wrapper, Nests) {
  const Tensor inner = two({1, 2}, {2});
  const Tensor x = two_tensor(inner, inner * 10);
  const Tensor y = x + inner;  // a level less: a plain tensor for each part
  ASSERT_TRUE(is_two_tensor(y) && is_two_tensor(a(y)));
  expect_two(a(y), {2, 4}, {0, 0});
  expect_two(b(y), {9, 18}, {-11, -22});
  Tensor view = x.slice(0, 1, 2);
  view.zero_();
  expect_two(a(x), {1, 0}, {-1, 0});
  expect_two(b(x), {10, 0}, {-10, 0});
  const Tensor handle = detached(x);
  aten_value<"unsqueeze_">(x, 0);
  EXPECT_EQ(a(a(x)).dim(), 2);
  EXPECT_EQ(a(a(handle)).dim(), 1);
}

TEST_F(Wrapper, MetadataIsTheDefaultInResults) {
  const Tensor x = metadata_tensor(metadata_tensor(ones({2}), 6), 5);
  EXPECT_EQ(constant_attribute(x), 5);
  EXPECT_EQ(constant_attribute(elem(x)), 6);
  const Tensor y = x * 3;
  ASSERT_TRUE(is_metadata_tensor(y) && is_metadata_tensor(elem(y)));
  EXPECT_EQ(constant_attribute(y), 4);
  EXPECT_EQ(constant_attribute(elem(y)), 4);
  EXPECT_EQ(values(elem(elem(y))), Numbers({3, 3}));
  Tensor z = x;
  EXPECT_EQ(constant_attribute(z.add_(x)), 5) << "a tensor that is written stays what it is";
}

TEST_F(Wrapper, HasNoDataOfItsOwn) {
  const Tensor x = two_tensor(full({1}, 1.0), full({1}, 2.0));
  EXPECT_NE(error_of([&] { x.data_ptr(); }).find("has no data of its own"), std::string::npos);
  EXPECT_EQ(x.item_double(), 1) << "its class answers, as for any op: TwoTensor with its first part";
}

TEST_F(Wrapper, RefusesWhatIsNoWrapper) {
  EXPECT_EQ(error_of([] { two_tensor(ones({2}), ones({3})); }),
            "a TwoTensor holds tensors of one shape and type, found [2] of torch.float32 and [3] of torch.float32");
  EXPECT_EQ(error_of([] { inner_tensor(ones({2}), "a"); }), "inner_tensor('a'): expected a wrapper tensor, found a plain one");
  EXPECT_EQ(error_of([] { inner_tensor(two({1}, {1}), "c"); }), "a TwoTensor has no inner tensor 'c'");
}

// ---- gradients

TEST_F(Wrapper, GradientsOfWrappersAreWrappers) {  // the program of A178
  const Tensor x = two_tensor(ones({3, 3}).requires_grad_(), ones({3, 3}) * 2);
  Tensor y = ones({3, 3}).requires_grad_();
  const Tensor r = x * 6 + y / 2;
  EXPECT_TRUE(r.requires_grad());
  expect_two(r, Numbers(9, 6.5), Numbers(9, 12.5));
  r.sum().backward();
  expect_two(x.grad(), Numbers(9, 6), Numbers(9, 6));
  expect_two(y.grad(), Numbers(9, .5), Numbers(9, .5));
  (x * x).sum().backward();
  expect_two(x.grad(), Numbers(9, 8), Numbers(9, 10));
  EXPECT_FALSE(a(x).grad().defined()) << "the parts have no history of their own";
}

TEST_F(Wrapper, GradientsOfNestedWrappersNest) {  // the program of A032
  const auto leaf = [] { return ones({4}).requires_grad_(); };
  const Tensor x = two_tensor(two_tensor(leaf(), leaf()), two_tensor(leaf(), leaf()));
  cos(sin(x)).sum().backward();
  ASSERT_TRUE(is_two_tensor(x.grad()) && is_two_tensor(a(x.grad())) && is_two_tensor(b(x.grad())));
  Tensor plain = leaf();
  cos(sin(plain)).sum().backward();
  EXPECT_EQ(values(a(b(x.grad()))), values(plain.grad()));
}

TEST_F(Wrapper, WritesAndViewsAreDifferentiated) {
  const auto f = [](const Tensor& leaf) {
    Tensor x = leaf * 1;
    Tensor row = x.select(0, 0);
    row.mul_(x.select(0, 1).clone());
    aten_value<"t_">(x);
    return (x * x).sum();
  };
  const Numbers numbers{1, 2, 3, 4};
  const Tensor x = two_tensor(tensor(numbers, {2, 2}).requires_grad_(), tensor(numbers, {2, 2}) * 2);
  f(x).backward();
  const auto plain = [&](const Tensor& t) {
    Tensor leaf = t.detach().clone().requires_grad_();
    f(leaf).backward();
    return values(leaf.grad());
  };
  expect_two(x.grad(), plain(a(x)), plain(b(x)));
}

TEST_F(Wrapper, StaleSavedTensorsAreFound) {
  const Tensor leaf = two_tensor(ones({2}).requires_grad_(), ones({2}));
  Tensor x = leaf * 2;
  const Tensor y = x * x;
  x.add_(Scalar(1));
  EXPECT_NE(error_of([&] { y.sum().backward(); }).find("modified by an inplace operation"), std::string::npos);
  EXPECT_NE(error_of([&] { Tensor(leaf).add_(Scalar(1)); }).find("a leaf Variable that requires grad"), std::string::npos);
}

TEST_F(Wrapper, SecondDerivatives) {
  const Tensor x = two_tensor(tensor({2.}).requires_grad_(), tensor({3.}));
  const Tensor g = grad({(x * x * x).sum()}, {x}, {}, {.create_graph = true})[0];
  expect_two(g, {12}, {27});
  expect_two(grad({g.sum()}, {x})[0], {12}, {18});
}

TEST_F(Wrapper, AccumulatedGradientsAreTheLeafsOwn) {
  const Tensor x = two_tensor(ones({2}).requires_grad_(), ones({2}));
  const Tensor ga = ones({2}), gb = ones({2});
  const auto f = [&] {
    return custom_function(
        "Given", {x}, [](FunctionContext&, const TensorList& in) { return TensorList{in[0] * 1}; },
        [&](FunctionContext&, const TensorList&) { return TensorList{two_tensor(ga, gb)}; })[0];
  };
  f().sum().backward();
  f().sum().backward();
  expect_two(x.grad(), {2, 2}, {2, 2});
  EXPECT_EQ(values(ga), Numbers({1, 1}));
}

// ---- several classes

// One that takes nothing but itself.
class Shy final : public WrapperClass {
 public:
  std::string name() const override { return "Shy"; }
  std::vector<std::string> inner_names(const Value&) const override { return {"x"}; }
  Tensor unflatten(const TensorList& inner, const Value& metadata, const Shape&, const Shape&) const override {
    return wrap(inner[0], metadata);
  }
  bool handles(const Op&, Args args) const override {
    for (const Value& v : args)
      if (v.is_tensor() && wrapper_state(v.tensor()) && wrapper_state(v.tensor())->cls.get() != this) return false;
    return true;
  }
  Value dispatch(const Op& op, Args args) const override {
    return run_on_components(*this, op, args, [this](const TensorList& parts) { return wrap(parts[0], Value()); });
  }
  Tensor wrap(const Tensor& t, const Value& metadata) const {
    return make_wrapper(Ref<const WrapperClass>(this), {t}, metadata, t);
  }
};

TEST_F(Wrapper, TheFirstClassThatTakesTheCallRunsIt) {
  const Tensor t = two({1, 2}, {2}), m = metadata_tensor(ones({2}));
  const Tensor tm = t + m, mt = m + t;
  ASSERT_TRUE(is_two_tensor(tm) && is_metadata_tensor(a(tm)));
  ASSERT_TRUE(is_metadata_tensor(mt) && is_two_tensor(elem(mt)));
  EXPECT_EQ(values(elem(b(tm))), Numbers({0, -1}));
  EXPECT_EQ(values(b(elem(mt))), Numbers({0, -1}));
  const auto shy = make_ref<Shy>();
  const Tensor s = shy->wrap(ones({2}), Value());
  EXPECT_TRUE(is_two_tensor(s + t)) << "the second class takes what the first does not";
  EXPECT_EQ(wrapper_state(s * 2)->cls.get(), shy.get());
}

TEST_F(Wrapper, NobodyTakesTheCall) {
  const auto one = make_ref<Shy>(), other = make_ref<Shy>();
  const Tensor x = one->wrap(ones({2}), Value()), y = other->wrap(ones({2}), Value());
  EXPECT_EQ(
      error_of([&] { x + y; }),
      "Multiple dispatch failed for 'torch.ops.aten.add.Tensor'; all __torch_dispatch__ handlers returned NotImplemented: the tensor classes "
      "Shy, Shy do not take this call. Let one of them handle the others' tensors, or convert an argument first.");
}

// A class whose outer tensor looks unlike its inner one: bytes inside, halves as numbers outside.
class Bytes final : public WrapperClass {
 public:
  std::string name() const override { return "Bytes"; }
  std::vector<std::string> inner_names(const Value&) const override { return {"codes"}; }
  Tensor unflatten(const TensorList& inner, const Value& metadata, const Shape& sizes, const Shape& strides) const override {
    return make_wrapper(Ref<const WrapperClass>(this), inner, metadata, Geometry{sizes, strides, 0, float32}, inner[0].device());
  }
  Value dispatch(const Op& op, Args args) const override {  // everything runs on the numbers and leaves the class
    Values plain;
    for (const Value& v : args) {
      const WrapperState* s = v.is_tensor() ? wrapper_state(v.tensor()) : nullptr;
      plain.push_back(s ? Value(s->inner[0].to(float32) * s->metadata.to_double()) : v);
    }
    return call(op, plain);
  }
};

TEST_F(Wrapper, TheOuterTensorMayLookOtherwise) {
  const auto cls = make_ref<Bytes>();
  const Tensor codes = tensor({2, 4, 6}, int8);
  const Tensor x = cls->unflatten({codes}, 0.5, {3}, {1});
  EXPECT_EQ(x.dtype(), float32);
  EXPECT_EQ(x->storage->nbytes().value(), 12);
  const Tensor y = x + 1;
  EXPECT_FALSE(wrapper_state(y));
  EXPECT_EQ(values(y), Numbers({2, 3, 4}));
}

}  // namespace
}  // namespace ingot
