// Where loops end: rows of every length, whose last elements are a vector that ends with them, and
// products of every number of steps, of which several are written out.
#include "e2e/compiled_model.hpp"

namespace ingot {
namespace {

std::vector<int64_t> lengths() {
  std::vector<int64_t> all;
  for (int64_t n = 1; n <= 20; n++) all.push_back(n);
  for (const int64_t n : {31, 32, 33, 47, 49, 63, 65, 80, 127, 129}) all.push_back(n);
  return all;
}

// An element that is computed twice is the same; one that is written where it was read is computed
// once.
TEST(LoopEnds, RowsOfEveryLengthEqualEager) {
  for (const DType dtype : {float32, float64, bfloat16, int64, uint8}) {
    for (const int64_t n : lengths()) {
      SCOPED_TRACE(text(short_name_of(dtype), " ", n));
      const TensorFunction f = [](const TensorList& in) {
        const Tensor &x = in[0], &y = in[1];
        const Tensor turned = (y * 2 + 1).transpose(0, 1).contiguous(), sums = y.sum({0}), row = y.slice(1, 0, 1, 1) + y;
        aten<"add_.Tensor">(x, y + 1);
        aten<"mul_.Tensor">(x, x);
        return TensorList{turned, sums, row, x + x};
      };
      manual_seed(static_cast<uint64_t>(n));
      const Tensor x = (aten<"abs">(randn({3, n})) * 5).to(dtype), y = (aten<"abs">(randn({3, n})) * 5).to(dtype);
      const TensorList eager{x.clone(), y}, compiled{x.clone(), y};
      const double relative = dtype == bfloat16 ? 8e-3 : dtype == float64 ? 1e-14 : 1e-6;
      expect_close(f(eager), aot_run("cpu", f, compiled), relative);
      expect_close({eager[0]}, {compiled[0]}, relative);
    }
  }
}

// What one loop leaves for the next in scratch memory, and folds, of which no element counts twice.
TEST(LoopEnds, FoldsOfEveryLengthEqualEager) {
  for (const int64_t n : lengths()) {
    SCOPED_TRACE(n);
    const TensorFunction f = [](const TensorList& in) {
      const Tensor y = aten<"_softmax">(in[0], 1, false);
      return TensorList{y, in[0].sum({1}), aten<"amax">(in[0], Shape{1}), y.transpose(0, 1) * 3.0};
    };
    manual_seed(static_cast<uint64_t>(n));
    const TensorList in{randn({5, n})};
    expect_close(f(in), aot_run("cpu", f, in));
  }
}

// Blocks that go through registers, of which the last ends with the matrix, and what is not a whole
// one.
TEST(LoopEnds, TurnedBlocksEqualEager) {
  const TensorFunction f = [](const TensorList& in) {
    const Tensor turned = in[0].transpose(0, 1);
    return TensorList{turned.contiguous(), aten<"constant_pad_nd">(turned * 2 + 1, Shape{0, 3}, 0)};
  };
  for (const int64_t wide : {4, 5, 7, 8, 12, 16, 17, 32, 33, 61, 64, 65})
    for (const int64_t high : {3, 4, 7, 8, 9, 16, 17, 31, 50}) {
      SCOPED_TRACE(text(wide, " by ", high));
      std::vector<DType> dtypes{float32};
      if (wide == 12 || wide == 33) dtypes = {float32, float64, bfloat16, int64, uint8, DType::b8, DType::c64};
      for (const DType dtype : dtypes) {
        const TensorList in{(arange(0, wide * high).view({wide, high}) * 3).to(dtype)};
        expect_close(f(in), aot_run("cpu", f, in));
      }
    }
}

TEST(LoopEnds, ProductsOfEveryNumberOfStepsEqualEager) {
  std::vector<int64_t> all = lengths();
  all.insert(all.end(), {128, 130, 257, 4099});
  for (const DType dtype : {float32, bfloat16})  // whose columns are packed
    for (const int64_t k : all) {
      SCOPED_TRACE(text(short_name_of(dtype), " ", k));
      const TensorFunction f = [](const TensorList& in) { return TensorList{in[0].mm(in[1]) + 1.0}; };
      manual_seed(static_cast<uint64_t>(k));
      const TensorList in{randn({26, k}).to(dtype), randn({k, 75}).to(dtype)};
      expect_close(f(in), aot_run("cpu", f, in), dtype == bfloat16 ? 8e-3 : 1e-6);
    }
}

}  // namespace
}  // namespace ingot
