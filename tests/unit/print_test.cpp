// Tensors print as PyTorch prints them: every expected text here is PyTorch's.
#include <cmath>
#include <limits>

#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "support/no_leaks.hpp"
#include "tensor/print.hpp"

namespace ingot {
namespace {

using Print = NoLeaks;
constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

Tensor counting(const Shape& sizes, DType dtype = int64) {
  const Tensor t = zeros(sizes, {.dtype = float64});
  auto* p = t.data<double>();
  for (int64_t i = 0; i < t.numel().value(); i++) p[i] = static_cast<double>(i);
  return t.to(dtype);
}

TEST_F(Print, IntegerVectorsAlignToTheWidest) {
  EXPECT_EQ(tensor({1, 2}, int64).to_string(), "tensor([1, 2])");
  EXPECT_EQ(tensor({1, -2}, int64).to_string(), "tensor([ 1, -2])");
  EXPECT_EQ(tensor({1, 1010}, int64).to_string(), "tensor([   1, 1010])");
  EXPECT_EQ(tensor({1000000000}, int64).to_string(), "tensor([1000000000])");
  EXPECT_EQ(scalar_tensor(int64_t{2341234123412341}, {.dtype = int64}).to_string(), "tensor(2341234123412341)");
}

TEST_F(Print, OtherIntegersSayTheirDtype) {
  EXPECT_EQ(tensor({1, 2}, int32).to_string(), "tensor([1, 2], dtype=torch.int32)");
  EXPECT_EQ(tensor({-128, 127}, int8).to_string(), "tensor([-128,  127], dtype=torch.int8)");
  EXPECT_EQ(tensor({0, 255}, uint8).to_string(), "tensor([  0, 255], dtype=torch.uint8)");
  EXPECT_EQ(tensor({3}, int16).to_string(), "tensor([3], dtype=torch.int16)");
  EXPECT_EQ(tensor({7}, uint16).to_string(), "tensor([7], dtype=torch.uint16)");
  EXPECT_EQ(tensor({7}, uint32).to_string(), "tensor([7], dtype=torch.uint32)");
  Tensor big = zeros({1}, {.dtype = uint64});
  *big.data<uint64_t>() = std::numeric_limits<uint64_t>::max();
  EXPECT_EQ(big.to_string(), "tensor([18446744073709551615], dtype=torch.uint64)");
}

TEST_F(Print, Booleans) {
  EXPECT_EQ(tensor({1}, boolean).to_string(), "tensor([True])");
  EXPECT_EQ(tensor({1, 0}, boolean).to_string(), "tensor([ True, False])");
  EXPECT_EQ(scalar_tensor(true, {.dtype = boolean}).to_string(), "tensor(True)");
}

TEST_F(Print, WholeFloatsHaveABarePoint) {
  EXPECT_EQ(tensor({1., 2}).to_string(), "tensor([1., 2.])");
  EXPECT_EQ(tensor({1., 1000}).to_string(), "tensor([   1., 1000.])");
  EXPECT_EQ(tensor({-1., 0, 10}).to_string(), "tensor([-1.,  0., 10.])");
  EXPECT_EQ(tensor({0., 0}).to_string(), "tensor([0., 0.])");
  EXPECT_EQ(tensor({-0.0, 1}).to_string(), "tensor([-0., 1.])");
  EXPECT_EQ(scalar_tensor(3.0).to_string(), "tensor(3.)");
}

TEST_F(Print, FixedDigits) {
  EXPECT_EQ(tensor({0.5, 100}).to_string(), "tensor([  0.5000, 100.0000])");
  EXPECT_EQ(tensor({0.1, 0.2}).to_string(), "tensor([0.1000, 0.2000])");
  EXPECT_EQ(tensor({-1.5, 2.25}).to_string(), "tensor([-1.5000,  2.2500])");
  EXPECT_EQ(tensor({1.12345}).to_string(), "tensor([1.1235])");
  EXPECT_EQ(scalar_tensor(-0.25).to_string(), "tensor(-0.2500)");
}

TEST_F(Print, ScientificWhenFarApartBigOrSmall) {
  EXPECT_EQ(tensor({1e28, 1e-28}).to_string(), "tensor([1.0000e+28, 1.0000e-28])");
  EXPECT_EQ(tensor({0.01, 11}).to_string(), "tensor([1.0000e-02, 1.1000e+01])");
  EXPECT_EQ(tensor({1., 1010}).to_string(), "tensor([1.0000e+00, 1.0100e+03])");
  EXPECT_EQ(tensor({123456789.}).to_string(), "tensor([1.2346e+08])");
  EXPECT_EQ(tensor({0.00002}).to_string(), "tensor([2.0000e-05])");
  EXPECT_EQ(scalar_tensor(0.00002).to_string(), "tensor(2.0000e-05)");
  EXPECT_EQ(tensor({-1e10, 0, 1}).to_string(), "tensor([-1.0000e+10,  0.0000e+00,  1.0000e+00])");
}

TEST_F(Print, NotFinite) {
  EXPECT_EQ(tensor({4, kInf, 1.5, -kInf, 0, kNan, 1}).to_string(),
            "tensor([4.0000,    inf, 1.5000,   -inf, 0.0000,    nan, 1.0000])");
  EXPECT_EQ(tensor({kInf, -kInf, kNan}).to_string(), "tensor([inf, -inf, nan])");
  EXPECT_EQ(tensor({1, kNan}).to_string(), "tensor([1., nan])");
  EXPECT_EQ(tensor({1e-10, kNan, kInf}).to_string(), "tensor([1.0000e-10,        nan,        inf])");
  EXPECT_EQ(tensor({-kNan}).to_string(), "tensor([nan])");
}

TEST_F(Print, OtherFloatsSayTheirDtype) {
  EXPECT_EQ(tensor({1.5}, float64).to_string(), "tensor([1.5000], dtype=torch.float64)");
  EXPECT_EQ(tensor({1.5}, float16).to_string(), "tensor([1.5000], dtype=torch.float16)");
  EXPECT_EQ(tensor({0.1}, bfloat16).to_string(), "tensor([0.1001], dtype=torch.bfloat16)");
  EXPECT_EQ(tensor({2}, float8_e4m3fn).to_string(), "tensor([2.], dtype=torch.float8_e4m3fn)");
  EXPECT_EQ(tensor({0.25}, float8_e5m2).to_string(), "tensor([0.2500], dtype=torch.float8_e5m2)");
  EXPECT_EQ(tensor({5e-324, 9.8813e-324, 9.8813e-323, 1e307, 1e308, kInf}, float64).to_string(),
            "tensor([4.9407e-324, 9.8813e-324, 9.8813e-323, 1.0000e+307, 1.0000e+308,\n"
            "                inf], dtype=torch.float64)");
}

TEST_F(Print, TheDefaultDtypeIsNotSaid) {
  Scoped<DType> f64(thread_state().default_dtype, float64);
  EXPECT_EQ(tensor({1.5}, float64).to_string(), "tensor([1.5000])");
  EXPECT_EQ(tensor({1.5}, float32).to_string(), "tensor([1.5000], dtype=torch.float32)");
  EXPECT_EQ(tensor({1.5}, complex128).to_string(), "tensor([1.5000+0.j])");
  EXPECT_EQ(tensor({1.5}, complex64).to_string(), "tensor([1.5000+0.j], dtype=torch.complex64)");
}

TEST_F(Print, ComplexPartsHaveFormatsOfTheirOwn) {
  auto complex = [](std::vector<std::complex<double>> v) {
    Tensor t = zeros({static_cast<int64_t>(v.size())}, {.dtype = complex128});
    std::copy(v.begin(), v.end(), t.data<std::complex<double>>());
    return t.to(complex64);
  };
  EXPECT_EQ(complex({{1, 2}}).to_string(), "tensor([1.+2.j])");
  EXPECT_EQ(complex({{1, -2}, {0.5, 10}}).to_string(), "tensor([1.0000-2.j, 0.5000+10.j])");
  EXPECT_EQ(complex({{4, 0}, {kInf, 0}, {1.5, kInf}, {-kInf, 4}, {0, 0}, {kNan, kInf}, {3, kNan}}).to_string(),
            "tensor([4.0000+0.j,    inf+0.j, 1.5000+infj,   -inf+4.j, 0.0000+0.j,    nan+infj,\n        3.0000+nanj])");
  EXPECT_EQ(complex({{0.00002, 0.00002}}).to_string(), "tensor([2.0000e-05+2.0000e-05j])");
  EXPECT_EQ(complex({{0, 1}}).select(0, 0).to_string(), "tensor(0.+1.j)");
  EXPECT_EQ(complex({{0, -0.0}}).to_string(), "tensor([0.-0.j])");
  EXPECT_EQ(complex({{1, 2}}).to(complex128).to_string(), "tensor([1.+2.j], dtype=torch.complex128)");
}

TEST_F(Print, NestedBrackets) {
  EXPECT_EQ(counting({2, 3}).to_string(), "tensor([[0, 1, 2],\n        [3, 4, 5]])");
  EXPECT_EQ(counting({2, 3}).t().to_string(), "tensor([[0, 3],\n        [1, 4],\n        [2, 5]])");
  EXPECT_EQ(counting({2, 2, 2}).to_string(), "tensor([[[0, 1],\n         [2, 3]],\n\n        [[4, 5],\n         [6, 7]]])");
  EXPECT_EQ(counting({1, 2, 1, 2}).to_string(), "tensor([[[[0, 1]],\n\n         [[2, 3]]]])");
  EXPECT_EQ(counting({2, 1, 1, 1}).to_string(), "tensor([[[[0]]],\n\n\n        [[[1]]]])");
  EXPECT_EQ(counting({3}).expand({2, 3}).to_string(), "tensor([[0, 1, 2],\n        [0, 1, 2]])");
  EXPECT_EQ(counting({2, 3}, float32).slice(1, 1, 3).to_string(), "tensor([[1., 2.],\n        [4., 5.]])");
}

TEST_F(Print, LongRowsBreak) {
  EXPECT_EQ(counting({30}).to_string(),
            "tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,\n"
            "        18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29])");
  EXPECT_EQ(full({1, 12}, 0.5).to_string(),
            "tensor([[0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000,\n"
            "         0.5000, 0.5000, 0.5000]])");
}

TEST_F(Print, BigTensorsAreSummarised) {
  EXPECT_EQ(zeros({10000}).to_string(), "tensor([0., 0., 0.,  ..., 0., 0., 0.])");
  EXPECT_EQ(counting({1001}).to_string(), "tensor([   0,    1,    2,  ...,  998,  999, 1000])");
  EXPECT_EQ(counting({40, 30}).to_string(),
            "tensor([[   0,    1,    2,  ...,   27,   28,   29],\n"
            "        [  30,   31,   32,  ...,   57,   58,   59],\n"
            "        [  60,   61,   62,  ...,   87,   88,   89],\n"
            "        ...,\n"
            "        [1110, 1111, 1112,  ..., 1137, 1138, 1139],\n"
            "        [1140, 1141, 1142,  ..., 1167, 1168, 1169],\n"
            "        [1170, 1171, 1172,  ..., 1197, 1198, 1199]])");
  const std::string pair = "[[1., 1., 1.,  ..., 1., 1., 1.],\n         [1., 1., 1.,  ..., 1., 1., 1.]]", gap = ",\n\n        ";
  EXPECT_EQ(ones({100, 2, 2, 10}).as_strided({100, 2, 10}, {40, 20, 1}).to_string(),
            "tensor([" + pair + gap + pair + gap + pair + gap + "..." + gap + pair + gap + pair + gap + pair + "])");
  // A hidden element decides nothing.
  Tensor t = ones({2000});
  t.slice(0, 1000, 1001).fill_(1e-9);
  EXPECT_EQ(t.to_string(), "tensor([1., 1., 1.,  ..., 1., 1., 1.])");
  EXPECT_EQ(counting({1000}).to_string().find("..."), std::string::npos);
}

TEST_F(Print, EmptyTensorsSayTheirSize) {
  EXPECT_EQ(zeros({0}).to_string(), "tensor([])");
  EXPECT_EQ(zeros({0, 3}).to_string(), "tensor([], size=(0, 3))");
  EXPECT_EQ(zeros({2, 0, 3}).to_string(), "tensor([], size=(2, 0, 3))");
  EXPECT_EQ(zeros({0}, {.dtype = int64}).to_string(), "tensor([], dtype=torch.int64)");
  EXPECT_EQ(zeros({0, 3}, {.dtype = boolean}).to_string(), "tensor([], size=(0, 3), dtype=torch.bool)");
}

TEST_F(Print, History) {
  Tensor x = tensor({123.}).requires_grad_();
  EXPECT_EQ(x.to_string(), "tensor([123.], requires_grad=True)");
  EXPECT_EQ((x * 2).to_string(), "tensor([246.], grad_fn=<MulBackward0>)");
  EXPECT_EQ((x + x).to(float64).to_string(), "tensor([246.], dtype=torch.float64, grad_fn=<ToCopyBackward0>)");
  EXPECT_EQ(x.detach().to_string(), "tensor([123.])");
  EXPECT_EQ(x.select(0, 0).to_string(), "tensor(123., grad_fn=<SelectBackward0>)");
  EXPECT_EQ(zeros({0}, {.requires_grad = true}).to_string(), "tensor([], requires_grad=True)");
  NoGrad off;
  EXPECT_EQ((x * 2).to_string(), "tensor([246.])");
}

TEST_F(Print, LongSuffixesGoToTheNextLine) {
  Tensor x = full({9}, 0.5, {.requires_grad = true});
  EXPECT_EQ(x.to_string(),
            "tensor([0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000],\n       requires_grad=True)");
  Tensor y = full({7}, 0.5, {.dtype = float64, .requires_grad = true});
  EXPECT_EQ(y.to_string(),
            "tensor([0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000],\n       dtype=torch.float64, requires_grad=True)");
}

TEST_F(Print, FakeTensorsShowTheirSize) {
  const Tensor t = make_tensor(Geometry::contiguous({2, 3}, float32), {}, true);
  EXPECT_EQ(t.to_string(), "FakeTensor(..., size=(2, 3))");
  EXPECT_EQ(make_tensor(Geometry::contiguous({4}, int64), {}, true).to_string(), "FakeTensor(..., size=(4,), dtype=torch.int64)");
  EXPECT_EQ(make_tensor(Geometry::contiguous({}, float32), {DeviceType::cuda, 0}, true).to_string(),
            "FakeTensor(..., device='cuda:0', size=())");
}

TEST_F(Print, Options) {
  const Tensor t = counting({4, 4}, float32);
  EXPECT_EQ(tensor_text(t, float32, {}, {.threshold = 5, .edge_items = 1}),
            "tensor([[ 0.,  ...,  3.],\n        ...,\n        [12.,  ..., 15.]])");
  EXPECT_EQ(tensor_text(tensor({1.12345}), float32, {}, {.precision = 2}), "tensor([1.12])");
  EXPECT_EQ(tensor_text(counting({4}), float32, {}, {.line_width = 13}), "tensor([0, 1,\n        2, 3])");
}

TEST_F(Print, AnUndefinedTensorIsAUserError) { EXPECT_THROW((void)Tensor().to_string(), std::runtime_error); }

}  // namespace
}  // namespace ingot
