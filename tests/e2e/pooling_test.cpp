// Pooling as loops against eager: every way to slide a window, over what no maximum is simple of,
// and open sizes.
#include <limits>

#include "check/compare.hpp"
#include "e2e/compiled_model.hpp"

namespace ingot {
namespace {

struct Case {
  const char* name;
  Shape input;
  Shape kernel, stride, padding{0}, dilation{1};
  bool ceil_mode = false;
  DType dtype = float32;
  std::vector<OpenSize> open = {};
};

const std::vector<OpenSize> kOpenImage = {
    {.input = 0, .dim = 0, .name = "batch"}, {.input = 0, .dim = 2, .name = "height"}, {.input = 0, .dim = 3, .name = "width"}};

const Case kCases[] = {
    {"halves", {2, 3, 16, 34}, {2}, {2}},
    {"a residual network's", {1, 4, 28, 36}, {3}, {2}, {1}},
    {"an uneven image", {2, 3, 15, 37}, {3}, {2}, {1}},
    {"windows that end outside", {1, 3, 16, 35}, {3}, {2}, {0}, {1}, true},
    {"the same, padded", {1, 3, 18, 38}, {3}, {2}, {1}, {1}, true},
    {"windows that overlap", {1, 2, 20, 40}, {5}, {1}, {2}},
    {"windows apart", {1, 2, 31, 64}, {2}, {3}, {1}},
    {"a window like no other", {1, 2, 19, 45}, {4, 7}, {3, 2}, {2, 3}},
    {"one line", {1, 2, 9, 70}, {1, 3}, {1, 2}, {0, 1}},
    {"one column", {1, 2, 40, 11}, {3, 1}, {2, 1}, {1, 0}},
    {"a long row", {1, 2, 4, 200}, {2, 40}, {2, 20}, {1, 20}},
    {"the whole image", {3, 5, 7, 9}, {7, 9}, {1}},
    {"many taps", {1, 2, 30, 41}, {12}, {3}, {6}},
    {"dilation", {1, 3, 20, 36}, {3}, {1}, {0}, {2}},
    {"dilation and padding", {1, 3, 20, 36}, {3}, {2}, {2}, {3}},
    {"no batch", {3, 14, 40}, {3}, {2}, {1}},
    {"an image of one element", {1, 4, 1, 1}, {3}, {2}, {1}},
    {"three dims", {1, 2, 7, 9, 36}, {3}, {2}, {1}},
    {"three dims that differ", {1, 2, 6, 11, 20}, {1, 2, 3}, {1, 2, 2}, {0, 1, 1}, {1}, true},
    {"double", {1, 2, 13, 21}, {3}, {2}, {1}, {1}, false, float64},
    {"bfloat16", {1, 2, 13, 40}, {3}, {2}, {1}, {1}, false, bfloat16},
    {"half", {1, 2, 13, 40}, {3}, {2}, {1}, {1}, false, float16},
    {"integers", {1, 2, 13, 40}, {3}, {2}, {1}, {1}, false, int64},
    {"open image", {2, 3, 16, 24}, {3}, {2}, {1}, {1}, false, float32, kOpenImage},
    {"open image, ends outside", {2, 3, 16, 24}, {3}, {2}, {1}, {1}, true, float32, kOpenImage},
};

// Numbers among which are equal ones and, of a maximum, all that have no place in an order.
Tensor image(const Case& c, int64_t more, bool is_wild) {
  Shape sizes = c.input;
  for (const OpenSize& o : c.open) sizes[o.dim] = sizes[o.dim] + more;
  manual_seed(11);
  const Tensor x = aten<"round">(randn(sizes) * 8);
  if (is_wild && is_floating(c.dtype)) {
    const double odd[] = {std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity(),
                          std::numeric_limits<double>::infinity(), -0.0};
    const Tensor flat = x.view({-1});
    for (int64_t i = 0; i < flat.numel().value(); i += 13) aten<"fill_.Scalar">(flat.select(0, i), odd[i % 4]);
    if (x.dim() > 3) aten<"fill_.Scalar">(x.select(1, 1), -std::numeric_limits<double>::infinity());
  }
  return x.to(c.dtype);
}
int space_of(const Case& c) { return c.input.dim() == 5 ? 3 : 2; }

std::string eager_calls(const TensorFunction& f, const TensorList& in) {
  std::string lowered;
  CompileOptions options;
  options.after = [&](const StageDone& done) {
    if (done.name == "lower") lowered = done.text();
  };
  aot_run("cpu", f, in, options);
  return lowered.find("eager ") == std::string::npos ? "" : lowered;
}

void expect_as_eager(const Case& c, const TensorFunction& f, bool is_wild, Tolerance tolerance) {
  SCOPED_TRACE(c.name);
  std::vector<TensorList> lists;
  for (const int64_t more : c.open.empty() ? std::vector<int64_t>{0} : std::vector<int64_t>{0, 1, 10})
    lists.push_back({image(c, more, is_wild)});
  const std::vector<TensorList> found = aot_run_multiple("cpu", f, lists, {}, c.open);
  for (std::size_t k = 0; k < lists.size(); k++) {
    const TensorList want = f(lists[k]);
    for (std::size_t r = 0; r < want.size(); r++) {
      EXPECT_EQ(compare(found[k][r], want[r], tolerance).message, "") << "result " << r;
      EXPECT_EQ(to_text(found[k][r].strides()), to_text(want[r].strides())) << "result " << r;
    }
  }
}

TEST(CompiledPooling, MaximaEqualEager) {
  for (const Case& c : kCases) {
    const TensorFunction f = [&](const TensorList& in) -> TensorList {
      const auto both = [&](const Tensor& x) {
        return space_of(c) == 3 ? atens<"max_pool3d_with_indices">(x, c.kernel, c.stride, c.padding, c.dilation, c.ceil_mode)
                                : atens<"max_pool2d_with_indices">(x, c.kernel, c.stride, c.padding, c.dilation, c.ceil_mode);
      };
      const TensorList read = both(in[0]);
      return {both(in[0] + in[0])[0], read[0], read[1]};  // of one nobody reads where the maxima stand
    };
    expect_as_eager(c, f, true, {});
  }
}

TEST(CompiledPooling, AveragesEqualEager) {
  for (const Case& c : kCases) {
    if (!c.dilation[0].same(1)) continue;
    const TensorFunction f = [&](const TensorList& in) -> TensorList {
      const auto average = [&](bool counts_padding, const Value& divisor) {
        return space_of(c) == 3 ? aten<"avg_pool3d">(in[0], c.kernel, c.stride, c.padding, c.ceil_mode, counts_padding, divisor)
                                : aten<"avg_pool2d">(in[0], c.kernel, c.stride, c.padding, c.ceil_mode, counts_padding, divisor);
      };
      return {average(true, Value()), average(false, Value()), average(true, 7)};
    };
    // A last place or two.
    const double last = c.dtype == bfloat16 ? 8e-3 : c.dtype == float16 ? 1e-3 : c.dtype == float64 ? 1e-14 : 1e-6;
    expect_as_eager(c, f, false, {last, last});
  }
}

// A library that pools needs nothing of the eager one, unless it is told where maxima stand.
TEST(CompiledPooling, IsLoops) {
  const TensorList in{randn({1, 2, 9, 20})};
  const auto max_pool = [](const Tensor& x) { return atens<"max_pool2d_with_indices">(x, Shape{3}, Shape{2}, Shape{1}); };
  EXPECT_EQ(eager_calls([&](const TensorList& x) { return TensorList{max_pool(x[0])[0]}; }, in), "");
  EXPECT_EQ(
      eager_calls([&](const TensorList& x) { return TensorList{aten<"avg_pool2d">(x[0], Shape{3}, Shape{2}, Shape{1})}; }, in),
      "");
  EXPECT_NE(eager_calls([&](const TensorList& x) { return max_pool(x[0]); }, in), "");
}

}  // namespace
}  // namespace ingot
