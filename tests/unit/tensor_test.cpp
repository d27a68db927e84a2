// Storage, tensors without ops, and moving elements between dtypes and layouts.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <thread>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "support/error_text.hpp"
#include "support/no_leaks.hpp"
#include "tensor/geometry.hpp"
#include "tensor/rows.hpp"

namespace ingot {
namespace {

using StorageTest = NoLeaks;
using TensorBasics = NoLeaks;
using Elements = NoLeaks;

std::vector<DType> all_dtypes() {
  std::vector<DType> v;
  for (int i = 0; i < kDTypes; i++) v.push_back(static_cast<DType>(i));
  return v;
}

// ---- storage
TEST_F(StorageTest, CountsItsBytes) {
  const int64_t before = Storage::live_bytes();
  {
    const Ref<Storage> a = Storage::allocate(100), b = Storage::allocate(0);
    EXPECT_EQ(Storage::live_bytes(), before + 100);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(a->data()) % 64, 0u);
    EXPECT_NE(b->data(), nullptr);
    EXPECT_EQ(a->nbytes().number(), 100);
    EXPECT_FALSE(a->is_fake());
  }
  EXPECT_EQ(Storage::live_bytes(), before);
}

TEST_F(StorageTest, FakeHasASizeAndNoBytes) {
  const int64_t before = Storage::live_bytes();
  const Ref<Storage> s = Storage::fake(int64_t{1} << 50);
  EXPECT_TRUE(s->is_fake());
  EXPECT_EQ(s->data(), nullptr);
  EXPECT_EQ(Storage::live_bytes(), before);
  s->resize(10);
  EXPECT_EQ(s->nbytes().number(), 10);
}

TEST_F(StorageTest, WrappedBytesAreReleasedOnceAndNotCounted) {
  const int64_t before = Storage::live_bytes();
  int released = 0;
  char bytes[64];
  {
    const Ref<Storage> s = Storage::wrap(bytes, 64, [&] { released++; });
    const Ref<Storage> same = s;
    EXPECT_EQ(s->data(), bytes);
    EXPECT_EQ(Storage::live_bytes(), before);
    EXPECT_THROW(s->resize(128), UserError);
  }
  EXPECT_EQ(released, 1);
  Storage::wrap(bytes, 64, {});
  EXPECT_EQ(Storage::live_bytes(), before);
}

TEST_F(StorageTest, ResizeKeepsTheCommonPart) {
  const Ref<Storage> s = Storage::allocate(4);
  std::memcpy(s->data(), "abcd", 4);
  s->resize(1000);
  EXPECT_EQ(std::memcmp(s->data(), "abcd", 4), 0);
  s->resize(2);
  EXPECT_EQ(s->nbytes().number(), 2);
  s->resize(3);
  EXPECT_EQ(std::memcmp(s->data(), "ab", 2), 0);
}

TEST_F(StorageTest, ImpossibleSizesAreUserErrors) {
  EXPECT_THROW(Storage::allocate(-1), UserError);
  EXPECT_NE(error_of([] { Storage::allocate(int64_t{1} << 60); }).find("out of memory"), std::string::npos);
  EXPECT_THROW(Storage::allocate(8, {DeviceType::cuda, 0}), UserError);
}

TEST_F(StorageTest, CountsWrites) {
  Tensor t = zeros({4});
  const uint32_t v = t.version();
  t.add_(1);
  EXPECT_EQ(t.version(), v + 1);
  const Tensor view = t.slice(0, 1, 3), d = t.detach();
  EXPECT_EQ(view.version(), v + 1) << "a view shares the counter";
  view.select(0, 0).fill_(7);
  EXPECT_EQ(t.version(), v + 2);
  EXPECT_EQ(d.version(), v + 2);
  EXPECT_EQ((t + 1).version(), 0u);
  EXPECT_EQ(t.version(), v + 2) << "reading is not writing";
}

// ---- tensors
TEST_F(TensorBasics, HandlesShareOneTensor) {
  const int64_t before = TensorImpl::live();
  Tensor a = make_tensor(Geometry::contiguous({2, 3}, float32));
  EXPECT_EQ(TensorImpl::live(), before + 1);
  const Tensor b = a;
  EXPECT_TRUE(a.is_same(b));
  EXPECT_EQ(a->use_count(), 2u);
  EXPECT_EQ(TensorImpl::live(), before + 1);
  const Tensor c = make_alias(a, a->geom);
  EXPECT_FALSE(a.is_same(c));
  EXPECT_EQ(a.data_ptr(), c.data_ptr());
  EXPECT_EQ(TensorImpl::live(), before + 2);
  a = Tensor();
  EXPECT_FALSE(a.defined());
  EXPECT_TRUE(b.defined());
}

TEST_F(TensorBasics, Facts) {
  const Tensor t = zeros({2, 3}, {.dtype = float64});
  EXPECT_EQ(t.dim(), 2);
  EXPECT_EQ(t.size(-1).number(), 3);
  EXPECT_EQ(t.stride(0).number(), 3);
  EXPECT_EQ(t.numel().number(), 6);
  EXPECT_EQ(t.itemsize(), 8);
  EXPECT_EQ(t.device(), Device{});
  EXPECT_TRUE(t.is_floating_point());
  EXPECT_FALSE(t.is_complex());
  EXPECT_TRUE(t.is_contiguous());
  EXPECT_FALSE(t.t().is_contiguous());
  EXPECT_THROW((void)t.size(2), IndexError);
  EXPECT_EQ(t.select(0, 1).storage_offset().number(), 3);
}

TEST_F(TensorBasics, AnUndefinedTensorSaysSo) {
  const Tensor t;
  EXPECT_FALSE(t.defined());
  EXPECT_FALSE(t.requires_grad());
  EXPECT_THROW((void)t.dim(), UserError);
  EXPECT_THROW((void)t.sizes(), UserError);
  EXPECT_THROW((void)t.dtype(), UserError);
  EXPECT_THROW((void)t.data_ptr(), UserError);
  EXPECT_THROW((void)t.version(), UserError);
  EXPECT_THROW((void)(t + 1), UserError);
  EXPECT_THROW((void)t.clone(), UserError);
  EXPECT_THROW((void)t.item(), UserError);
  EXPECT_THROW((void)t.to_vector<float>(), UserError);
  EXPECT_THROW((void)t.is_leaf(), UserError);
  EXPECT_THROW((void)t.is_view(), UserError);
  EXPECT_THROW((void)t.grad(), UserError);
  EXPECT_THROW((void)t.grad_fn_name(), UserError);
  EXPECT_THROW(t.set_grad(Tensor()), UserError);
  EXPECT_THROW(t.backward(), UserError);
  EXPECT_THROW((void)t.detach(), UserError);
}

TEST_F(TensorBasics, ImpossibleSizesAreUserErrors) {
  EXPECT_NE(error_of([] { zeros({2, -1}); }).find("negative"), std::string::npos);
  EXPECT_NE(error_of([] { zeros({int64_t{1} << 40, int64_t{1} << 40}); }).find("overflow"), std::string::npos);
  EXPECT_NE(error_of([] { zeros({int64_t{1} << 50}); }).find("out of memory"), std::string::npos);
}

TEST_F(TensorBasics, ZeroDim) {
  const Tensor t = scalar_tensor(2.5);
  EXPECT_EQ(t.dim(), 0);
  EXPECT_EQ(t.numel().number(), 1);
  EXPECT_EQ(t.item_double(), 2.5);
  EXPECT_TRUE(t.is_contiguous());
  EXPECT_EQ((t + t).dim(), 0);
  EXPECT_EQ((t + t).item_double(), 5);
  EXPECT_EQ((t + ones({2})).to_vector<float>(), (std::vector<float>{3.5, 3.5}));
  EXPECT_EQ(t.reshape({1, 1}).dim(), 2);
  EXPECT_EQ(t.expand({3}).to_vector<float>(), (std::vector<float>{2.5, 2.5, 2.5}));
  EXPECT_EQ(t.unsqueeze(0).dim(), 1);
  EXPECT_EQ(t.squeeze().dim(), 0);
  EXPECT_EQ(t.t().dim(), 0);
  EXPECT_THROW((void)t.select(0, 0), IndexError);
  EXPECT_THROW((void)t.unbind(), IndexError);
  EXPECT_THROW((void)t.slice(0, 0, 1), UserError);
  Tensor w = scalar_tensor(1);
  w.fill_(9).add_(t);
  EXPECT_EQ(w.item_double(), 11.5);
}

TEST_F(TensorBasics, ZeroSize) {
  for (const Shape& sizes : {Shape{0}, Shape{0, 3}, Shape{3, 0}, Shape{2, 0, 4}}) {
    const Tensor t = zeros(sizes);
    EXPECT_EQ(t.numel().number(), 0);
    EXPECT_TRUE((t + 1).sizes() == sizes);
    EXPECT_TRUE((t * t).sizes() == sizes);
    EXPECT_TRUE(t.clone().sizes() == sizes);
    EXPECT_TRUE(t.to(int32).sizes() == sizes);
    EXPECT_TRUE(t.to_vector<float>().empty());
    EXPECT_EQ(t.reshape({-1}).size(0).number(), 0);
    Tensor w = zeros(sizes);
    w.add_(1).copy_(t).zero_();
    EXPECT_EQ(error_of([&] { (void)t.item(); }), "a Tensor with 0 elements cannot be converted to Scalar");
  }
  EXPECT_TRUE((zeros({0, 1}) + zeros({3})).sizes() == (Shape{0, 3}));
  EXPECT_TRUE(zeros({0}).unbind().empty());
  EXPECT_TRUE(zeros({3, 0}).select(0, 1).sizes() == Shape{0});
  EXPECT_THROW((void)zeros({0, 3}).select(0, 0), IndexError);
}

TEST_F(TensorBasics, FakeTensorsComputeShapesOnly) {
  const Tensor f = make_tensor(Geometry::contiguous({2, 3}, float32), {}, true);
  EXPECT_NE(error_of([&] { (void)f.data_ptr(); }).find("fake"), std::string::npos);
  EXPECT_THROW((void)f.to_vector<float>(), UserError);
  const Tensor r = (f.t() * 2 + ones({2})).select(1, 0);
  EXPECT_TRUE(r->is_fake());
  EXPECT_TRUE(r.sizes() == Shape{3});
  Tensor w = f;
  w.add_(1);
  EXPECT_EQ(f.version(), 1u);
  const int64_t bytes = Storage::live_bytes();
  const Tensor huge = make_tensor(Geometry::contiguous({int64_t{1} << 30, int64_t{1} << 30}, float32), {}, true);
  EXPECT_EQ((huge + 1).numel().number(), int64_t{1} << 60);
  EXPECT_EQ(Storage::live_bytes(), bytes);
}

TEST_F(TensorBasics, Items) {
  EXPECT_TRUE(tensor({3}, int32).item().is_int());
  EXPECT_TRUE(tensor({3}, float16).item().is_float());
  EXPECT_TRUE(tensor({1}, boolean).item().is_bool());
  EXPECT_TRUE(tensor({1}, complex64).item().is_complex());
  EXPECT_EQ(tensor({3., 4, 5}, {1, 3}).slice(1, 1, 2).item_int(), 4);
  EXPECT_EQ(error_of([] { (void)ones({2}).item(); }), "a Tensor with 2 elements cannot be converted to Scalar");
}

TEST_F(TensorBasics, FromBlob) {
  float data[6] = {0, 1, 2, 3, 4, 5};
  int released = 0;
  {
    Tensor t = from_blob(data, {2, 3}, float32, [&] { released++; });
    const Tensor row = t.select(0, 1);
    t.mul_(10);
    t = Tensor();
    EXPECT_EQ(row.to_vector<float>(), (std::vector<float>{30, 40, 50}));
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
  EXPECT_EQ(data[5], 50);
  EXPECT_EQ(from_blob(data, {}, float32).item_double(), 0);
}

TEST_F(TensorBasics, ValuesMustFillTheShape) {
  EXPECT_THROW(tensor({1., 2, 3}, {2, 2}), UserError);
  EXPECT_EQ(tensor({1., 2, 3, 4}, {2, 2}).select(1, 1).to_vector<float>(), (std::vector<float>{2, 4}));
}

TEST_F(TensorBasics, HandlesMayBeCopiedByThreads) {
  const Tensor t = ones({8});
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++)
    threads.emplace_back([&] {
      for (int k = 0; k < 1000; k++) {
        const Tensor copy = t;
        const Tensor view = copy.slice(0, k % 8);
        ASSERT_EQ(view.numel().number(), 8 - k % 8);
      }
    });
  for (auto& x : threads) x.join();
  EXPECT_EQ(t->use_count(), 1u);
}

// ---- elements
TEST_F(Elements, EveryDtypeConvertsToEveryOther) {
  // 0 and 1 are in every type; 2 and 3 in all but bool.
  const std::vector<double> values = {0, 1, 2, 3};
  for (DType from : all_dtypes())
    for (DType to : all_dtypes()) {
      SCOPED_TRACE(to_text(from) + " to " + to_text(to));
      const Tensor x = tensor(values, from).to(to);
      EXPECT_EQ(x.dtype(), to);
      const bool through_bool = from == boolean || to == boolean;
      const std::vector<double> want = through_bool ? std::vector<double>{0, 1, 1, 1} : values;
      EXPECT_EQ(x.to_vector<double>(), want);
    }
}

TEST_F(Elements, ConversionsAreCs) {
  EXPECT_EQ(tensor({1.9, -1.9, 2.5}).to(int64).to_vector<int64_t>(), (std::vector<int64_t>{1, -1, 2}));
  EXPECT_EQ(tensor({300., -1}).to(uint8).to_vector<int64_t>(), (std::vector<int64_t>{44, 255}));
  EXPECT_EQ(tensor({300, -200}, int32).to(int8).to_vector<int64_t>(), (std::vector<int64_t>{44, 56}));
  EXPECT_EQ(tensor({0.5, 0, -0.0, NAN}).to(boolean).to_vector<int64_t>(), (std::vector<int64_t>{1, 0, 0, 1}));
  EXPECT_EQ(tensor({1e10}, float64).to(float16).item_double(), INFINITY);
  EXPECT_EQ(tensor({1.0 / 3}, float64).to(bfloat16).item_double(), 0.333984375);
  EXPECT_EQ(tensor({2}, int64).to(complex64).item().to_complex(), std::complex<double>(2, 0));
  Tensor big = zeros({1}, {.dtype = int64});
  *big.data<int64_t>() = (int64_t{1} << 53) + 1;
  EXPECT_EQ(big.clone().item_int(), (int64_t{1} << 53) + 1) << "integers do not pass through floats";
  EXPECT_EQ((big + 1).item_int(), (int64_t{1} << 53) + 2);
}

TEST_F(Elements, CopiesBetweenAllLayouts) {
  const Tensor base = arange(2 * 3 * 4).to(float32).view({2, 3, 4});
  const TensorList sources = {base, base.transpose(0, 2).contiguous().transpose(0, 2),
                              base.permute({1, 0, 2}).contiguous().permute({1, 0, 2}),
                              base.unsqueeze(3).expand({2, 3, 4, 2}).contiguous().select(3, 1)};
  for (const Tensor& src : sources) {
    ASSERT_EQ(src.to_vector<float>(), base.to_vector<float>());
    for (const Shape& strides : {Shape{12, 4, 1}, Shape{1, 2, 6}, Shape{4, 8, 1}, Shape{100, 20, 5}}) {
      const Tensor dst = zeros({300}).as_strided({2, 3, 4}, strides, 7);
      copy_elements(dst, src);
      EXPECT_EQ(dst.to_vector<float>(), base.to_vector<float>()) << to_text(strides);
      const Tensor other = zeros({300}, {.dtype = float64}).as_strided({2, 3, 4}, strides, 7);
      copy_elements(other, src);
      EXPECT_EQ(other.to_vector<float>(), base.to_vector<float>()) << to_text(strides);
    }
  }
}

TEST_F(Elements, CopiesBroadcast) {
  Tensor t = zeros({2, 3});
  t.copy_(tensor({1., 2, 3}));
  EXPECT_EQ(t.to_vector<float>(), (std::vector<float>{1, 2, 3, 1, 2, 3}));
  t.copy_(tensor({7., 8}, {2, 1}));
  EXPECT_EQ(t.to_vector<float>(), (std::vector<float>{7, 7, 7, 8, 8, 8}));
  t.copy_(scalar_tensor(5, {.dtype = int64}));
  EXPECT_EQ(t.to_vector<float>(), std::vector<float>(6, 5));
  EXPECT_THROW(t.copy_(ones({4})), UserError);
  EXPECT_THROW(t.copy_(ones({1, 2, 3})), UserError);
}

TEST_F(Elements, BigTensorsInParallel) {
  const int64_t n = 300'000;
  const Tensor t = arange(n);
  const Tensor wide = t.to(float64);
  EXPECT_EQ(wide.data<double>()[n - 1], static_cast<double>(n - 1));
  const Tensor m = wide.view({300, 1000}).t().contiguous();
  for (int64_t i : {0, 17, 999}) EXPECT_EQ(m.data<double>()[i * 300 + 299], static_cast<double>(299 * 1000 + i));
  Tensor f = zeros({n});
  f.fill_(3);
  for (float v : f.to_vector<float>()) ASSERT_EQ(v, 3);
}

TEST_F(Elements, OverlappingWritesAreRefused) {
  Tensor t = ones({1}).expand({4});
  EXPECT_NE(
      error_of([&] { t.add_(1); }).find("more than one element of the written-to tensor refers to a single memory location"),
      std::string::npos);
  Tensor one = ones({1, 3}).expand({1, 3});
  one.add_(1);  // nothing is repeated
  EXPECT_EQ(one.to_vector<float>()[2], 2);
}

TEST_F(Elements, WritesFromAnOverlappingViewReadTheOldValues) {
  Tensor t = arange(5).to(float32);
  Tensor tail = t.slice(0, 1, 5);
  tail.copy_(t.slice(0, 0, 4));
  EXPECT_EQ(t.to_vector<float>(), (std::vector<float>{0, 0, 1, 2, 3}));
  Tensor m = arange(4).to(float32).view({2, 2});
  m.add_(m.t());
  EXPECT_EQ(m.to_vector<float>(), (std::vector<float>{0, 3, 3, 6}));
}

// Integers of literals never go through a float: beyond 2^53 every second one would be another.
TEST(TensorLiterals, IntegersAreExact) {
  constexpr int64_t big = 9007199254740993;  // 2^53 + 1
  EXPECT_EQ(tensor({9007199254740993}, int64).to_vector<int64_t>(), std::vector<int64_t>{big});
  EXPECT_EQ(tensor({big, -big, INT64_MAX, INT64_MIN}, {2, 2}, int64).to_vector<int64_t>(),
            (std::vector<int64_t>{big, -big, INT64_MAX, INT64_MIN}));
  EXPECT_EQ(tensor(std::vector<int64_t>{big, 7}).to_vector<int64_t>(), (std::vector<int64_t>{big, 7}));
  EXPECT_EQ(tensor(std::vector<int64_t>{big, 7}).dtype(), int64);
  EXPECT_EQ(tensor({big}, float64).to_vector<double>(), std::vector<double>{9007199254740992.0});
  EXPECT_EQ(full({1}, big, {.dtype = int64}).to_vector<int64_t>(), std::vector<int64_t>{big});
}

TEST(TensorLiterals, TakeWhatPyTorchTakes) {
  EXPECT_EQ(tensor({1, 2.5, true}).to_vector<double>(), (std::vector<double>{1, 2.5, 1}));
  EXPECT_EQ(tensor({1.5, -1.5}, int64).to_vector<int64_t>(), (std::vector<int64_t>{1, -1}));
  EXPECT_EQ(tensor({-1}, uint8).to_vector<int64_t>(), std::vector<int64_t>{255});
  EXPECT_EQ(to_text(tensor({}).sizes()), "[0]");
  EXPECT_EQ(tensor({std::complex<double>(1, 2)}, complex64).item().to_complex(), std::complex<double>(1, 2));
  EXPECT_EQ(error_of([] { tensor({300}, int8); }), "value cannot be converted to type int8 without overflow");
  EXPECT_EQ(tensor({-255, 255}, uint8).to_vector<int64_t>(), (std::vector<int64_t>{1, 255}));
  EXPECT_EQ(tensor({2.5}, uint8).to_vector<int64_t>(), std::vector<int64_t>{2});
  EXPECT_EQ(error_of([] { tensor({-300}, uint8); }), "value cannot be converted to type uint8 without overflow");
  for (const double refused : {-1.5, 255.5, 300.0, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_THROW(tensor({refused}, uint8), UserError) << refused;
  EXPECT_THROW(tensor({-256}, uint8), UserError);
  EXPECT_THROW(tensor({std::ldexp(1.0, 63)}, int64), UserError);
  EXPECT_EQ(error_of([] { tensor({1., 2, 3}, {2, 2}); }), "tensor(): 3 values do not fill the shape [2, 2]");
}

// PyTorch's Scalar::to refuses the same.
TEST_F(TensorBasics, AnItemThatItsTypeCannotHold) {
  EXPECT_EQ(tensor(255).item<uint8_t>(), 255);
  EXPECT_EQ(tensor(-1).item<uint8_t>(), 255);
  EXPECT_EQ(tensor(-128).item<int8_t>(), -128);
  EXPECT_EQ(tensor(2.75).item<int>(), 2);
  EXPECT_EQ(tensor(-2.75).item<int>(), -2);
  EXPECT_EQ(tensor(true).item<int>(), 1);
  EXPECT_EQ(tensor(int64_t{1} << 40).item<int64_t>(), int64_t{1} << 40);
  EXPECT_EQ(error_of([] { tensor(300).item<uint8_t>(); }), "value cannot be converted to type uint8_t without overflow");
  EXPECT_THROW(tensor(int64_t{1} << 40).item<int>(), UserError);
  EXPECT_THROW(tensor(-300).item<uint8_t>(), UserError);
  EXPECT_THROW(tensor(-129).item<int8_t>(), UserError);
  EXPECT_THROW(tensor(1e20).item<int64_t>(), UserError);
  EXPECT_THROW(tensor(std::numeric_limits<double>::quiet_NaN()).item<int>(), UserError);
  EXPECT_THROW(tensor(1e300, float64).item<float>(), UserError);
  EXPECT_EQ(tensor(std::numeric_limits<double>::infinity()).item<float>(), std::numeric_limits<float>::infinity());
}

}  // namespace
}  // namespace ingot
