// Compiled sums, products, norms and variances are as accurate as eager ones, whatever their length
// and the order of their elements in memory. Truth is the same function in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "compiler/compiled_program.hpp"
#include "ingot/compile.hpp"
#include "ingot/ingot.hpp"
#include "ingot/nn.hpp"
#include "ingot/threads.hpp"
#include "op/call.hpp"
#include "support/sanitized.hpp"
#include "support/test_folder.hpp"
#include "support/tracked.hpp"

namespace ingot {
namespace {

// A function whose result is made of sums, with the sizes of its inputs for a length, and where the
// length stands.
enum class Kind : uint8_t {
  sum,  // carried in double and rounded once: every element is as near as eager's. May cancel
  spread,  // the same, of what does not cancel
  product,  // carried in float for some terms, compiled and eagerly: either may be nearer at one element, so they are compared as a whole
  softmax,  // with roundings of exponentials of its own: likewise
};
struct LongSum {
  const char* name;
  TensorFunction f;
  std::vector<std::vector<int64_t>> sizes;  // -1: the length
  Kind kind = Kind::sum;
  // Of small floats: it is several ops, or (log softmax) one that rounds a logarithm by itself, in
  // PyTorch too.
  bool rounds_between = false;
};

Tensor only(const TensorList& l) { return l[0]; }
TensorFunction one(Tensor (*f)(const TensorList&)) {
  return [f](const TensorList& in) { return TensorList{f(in)}; };
}

const std::vector<LongSum>& long_sums() {
  static const std::vector<LongSum> all = {
      {"sum of all", one([](const TensorList& in) { return in[0].sum(); }), {{-1}}},
      {"sum of rows", one([](const TensorList& in) { return in[0].sum({1}); }), {{3, -1}}},
      {"sum of columns", one([](const TensorList& in) { return in[0].sum({0}); }), {{-1, 3}}},
      {"sum of many columns", one([](const TensorList& in) { return in[0].sum({0}); }), {{-1, 40}}},
      {"sum of outer and inner dims", one([](const TensorList& in) { return in[0].sum({0, 2}); }), {{-1, 5, 3}}},
      {"sum of a transposed matrix", one([](const TensorList& in) { return in[0].t().sum({1}); }), {{-1, 7}}},
      {"mean of rows", one([](const TensorList& in) { return in[0].mean({1}); }), {{3, -1}}},
      {"mean of columns", one([](const TensorList& in) { return in[0].mean({0}); }), {{-1, 9}}},
      {"sum of squares", one([](const TensorList& in) { return (in[0] * in[0]).sum({0}); }), {{-1, 4}}, Kind::sum, true},
      {"norm",
       one([](const TensorList& in) { return aten<"linalg_vector_norm">(in[0], Scalar(2), Shape{1}); }),
       {{2, -1}},
       Kind::spread},
      {"one-norm",
       one([](const TensorList& in) { return aten<"linalg_vector_norm">(in[0], Scalar(1), Shape{0}); }),
       {{-1, 2}},
       Kind::spread},
      {"variance of rows",
       one([](const TensorList& in) { return aten<"var.correction">(in[0], Shape{1}); }),
       {{3, -1}},
       Kind::spread},
      {"variance of columns",
       one([](const TensorList& in) { return aten<"var.correction">(in[0], Shape{0}); }),
       {{-1, 3}},
       Kind::spread},
      {"deviation",
       one([](const TensorList& in) { return aten<"std.correction">(in[0], Shape{0, 1}); }),
       {{-1, 3}},
       Kind::spread},
      {"logsumexp", one([](const TensorList& in) { return aten<"logsumexp">(in[0], Shape{1}); }), {{3, -1}}, Kind::softmax, true},
      {"softmax",
       one([](const TensorList& in) { return aten<"_softmax">(in[0], 1, false).slice(1, 0, 1); }),
       {{3, -1}},
       Kind::softmax},
      {"softmax of columns",
       one([](const TensorList& in) { return aten<"_softmax">(in[0], 0, false).slice(0, 0, 1); }),
       {{-1, 5}},
       Kind::softmax},
      {"log softmax",
       one([](const TensorList& in) { return aten<"_log_softmax">(in[0], 1, false).slice(1, 0, 1); }),
       {{3, -1}},
       Kind::softmax,
       true},
      {"dot", one([](const TensorList& in) { return aten<"dot">(in[0], in[1]); }), {{-1}, {-1}}, Kind::product},
      {"matrix times vector", one([](const TensorList& in) { return aten<"mv">(in[0], in[1]); }), {{5, -1}, {-1}}, Kind::product},
      {"vector times matrix", one([](const TensorList& in) { return in[0].mm(in[1]); }), {{1, -1}, {-1, 20}}, Kind::product},
      {"product", one([](const TensorList& in) { return in[0].mm(in[1]); }), {{9, -1}, {-1, 33}}, Kind::product},
      {"product of a few rows", one([](const TensorList& in) { return in[0].mm(in[1]); }), {{3, -1}, {-1, 5}}, Kind::product},
      {"gradient of a weight", one([](const TensorList& in) { return in[0].t().mm(in[1]); }), {{-1, 8}, {-1, 16}}, Kind::product},
      {"products of a batch",
       one([](const TensorList& in) { return aten<"bmm">(in[0], in[1]); }),
       {{2, 5, -1}, {2, -1, 24}},
       Kind::product},
  };
  return all;
}

struct Data {
  const char* name;
  double mean, spread;
};
constexpr Data kData[] = {{"of either sign", 0, 1}, {"positive", 3, 0.5}, {"far from zero", 1000, 1}};

int64_t elements_of(const LongSum& s, int64_t length) {
  int64_t all = 0;
  for (const std::vector<int64_t>& sizes : s.sizes) {
    int64_t elements = 1;
    for (const int64_t n : sizes) elements *= n < 0 ? length : n;
    all += elements;
  }
  return all;
}

// Of a long one the sizes beside the length are 1 where there would be too many elements.
TensorList inputs(const LongSum& s, int64_t length, const Data& data) {
  constexpr int64_t kMostElements = kSanitized ? 4'000'000 : 20'000'000;
  const bool fits = length <= 1'000'000 || elements_of(s, length) <= kMostElements;
  TensorList in;
  for (std::vector<int64_t> sizes : s.sizes) {
    for (int64_t& n : sizes) n = n < 0 ? length : fits ? n : 1;
    in.push_back(randn(Shape(sizes)).mul_(data.spread).add_(data.mean));
  }
  return in;
}
std::vector<OpenSize> open_sizes(const LongSum& s) {
  std::vector<OpenSize> open;
  for (std::size_t k = 0; k < s.sizes.size(); k++)
    for (std::size_t d = 0; d < s.sizes[k].size(); d++)
      if (s.sizes[k][d] < 0) open.push_back({.input = static_cast<int>(k), .dim = static_cast<int>(d)});
  return open;
}
TensorList in_double(const TensorList& in) {
  TensorList r;
  for (const Tensor& t : in) r.push_back(t.to(float64));
  return r;
}
TensorList magnitudes(const TensorList& in) {
  TensorList r;
  for (const Tensor& t : in) r.push_back(aten<"abs">(t));
  return r;
}

// What an error is relative to: what cancels is judged by what it was made of.
std::vector<double> scale_of(const LongSum& s, const TensorList& in, const std::vector<double>& truth) {
  const bool cancels = s.kind == Kind::sum || s.kind == Kind::product;
  return cancels ? only(s.f(in_double(magnitudes(in)))).to_vector<double>() : truth;
}

struct Errors {
  double largest = 0, squares = 0;  // relative to the sum of magnitudes
};
Errors errors(const std::vector<double>& found, const std::vector<double>& truth, const std::vector<double>& scale) {
  Errors e;
  for (std::size_t i = 0; i < truth.size(); i++) {
    const double x = std::abs(found[i] - truth[i]) / std::max(std::abs(scale[i]), 1e-30);
    e.largest = std::max(e.largest, x);
    e.squares += x * x;
  }
  return e;
}

// Compiled for exactly these sizes.
Tensor compiled(const TensorFunction& f, const TensorList& in) { return only(aot_run("cpu", f, in)); }

// The means of the squares of errors of several results, added up.
struct Squares {
  double compiled = 0, eager = 0;
};
// Compares what was compiled with eager and with the truth at one length.
void compare(const LongSum& s, const TensorList& in, const Tensor& by_compiler, Squares& squares) {
  const std::vector<double> truth = only(s.f(in_double(in))).to_vector<double>(), scale = scale_of(s, in, truth);
  const std::vector<double> c = by_compiler.to_vector<double>(), e = only(s.f(in)).to_vector<double>();
  const Errors by_compiled = errors(c, truth, scale), by_eager = errors(e, truth, scale);
  EXPECT_LE(by_compiled.largest, 1e-6) << "eager: " << by_eager.largest;
  squares.compiled += by_compiled.squares / static_cast<double>(truth.size());
  squares.eager += by_eager.squares / static_cast<double>(truth.size());
  if (s.kind == Kind::product || s.kind == Kind::softmax) return;
  for (std::size_t i = 0; i < truth.size(); i++) {  // one rounding apart at the most, and that only where two are as near
    const double rounding = std::abs(truth[i]) * 0x1p-24;
    EXPECT_LE(std::abs(c[i] - truth[i]), std::max(std::abs(e[i] - truth[i]), 1.001 * rounding)) << "element " << i;
  }
}

class CompiledAccuracy : public ::testing::TestWithParam<std::size_t> {};

const double kLongestExponent = std::log(kSanitized ? 2e6 : 1e7);  // the longest are in TensOfMillionsOfElements

// How large the mean error may be, as a part of eager's, over all data or one kind of it. Sums are
// eager's, to the bit but for ties. Of products the order of the terms differs: 0.74 (dot) to 0.99
// was measured over 1200 lengths, but the noise of a hundred lengths of one kind of data is several
// percent. Of softmax the exponentials differ, each rounded its own way (inline code of 1.1 units
// of the last place at the most, against the C library's 1): 0.996 (softmax), 1.002 (of columns),
// 1.003 (log softmax) and 1.009 (logsumexp) over 1200 lengths, 0.95 to 1.05 over 100 of one kind.
double most_of_eagers(Kind kind, bool all_data) {
  if (kind == Kind::sum || kind == Kind::spread) return 1.0001;
  return !all_data ? 1.1 : kind == Kind::product ? 1 : 1.05;
}

// Short ones compiled once for all lengths; of each function a long one, compiled for its sizes.
TEST_P(CompiledAccuracy, IsEagersAtRandomLengths) {
  const LongSum& s = long_sums()[GetParam()];
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  const auto random_length = [&](double least_exponent, double most_exponent) {
    return 2 + static_cast<int64_t>(std::exp(std::uniform_real_distribution<double>(least_exponent, most_exponent)(random)));
  };
  std::vector<int64_t> lengths{5, 2, 3, 255, 256, 257, 4095, 4097};
  for (int k = 0; k < 6; k++) lengths.push_back(random_length(0, 13));
  for (int k = 0; k < 100; k++) lengths.push_back(random_length(0, 7));
  std::vector<TensorList> in;
  for (const Data& data : kData) {
    manual_seed(GetParam());
    for (const int64_t n : lengths) in.push_back(inputs(s, n, data));
  }
  const std::vector<TensorList> results = aot_run_multiple("cpu", s.f, in, {}, open_sizes(s));
  Squares all;
  for (std::size_t d = 0; d < std::size(kData); d++) {
    const Data& data = kData[d];
    Squares squares;
    for (std::size_t k = 0; k < lengths.size(); k++) {
      SCOPED_TRACE(text(s.name, " of ", lengths[k], " elements ", data.name));
      const std::size_t at = d * lengths.size() + k;
      compare(s, in[at], only(results[at]), squares);
    }
    if (d == GetParam() % std::size(kData)) {
      const int64_t length = random_length(13, kLongestExponent);
      SCOPED_TRACE(text(s.name, " of ", length, " elements ", data.name));
      const TensorList long_in = inputs(s, length, data);
      compare(s, long_in, compiled(s.f, long_in), squares);
    }
    EXPECT_LE(std::sqrt(squares.compiled), most_of_eagers(s.kind, false) * std::sqrt(squares.eager))
        << s.name << " " << data.name;
    all.compiled += squares.compiled;
    all.eager += squares.eager;
  }
  EXPECT_LE(std::sqrt(all.compiled), most_of_eagers(s.kind, true) * std::sqrt(all.eager)) << s.name;
}

// The nearest number of a small float type, the even one of two.
double rounded(double x, DType t) {
  if (x == 0 || !std::isfinite(x)) return x;
  const bool half = t == float16;
  const double unit = std::ldexp(1.0, std::max(std::ilogb(x), half ? -14 : -126) - (half ? 10 : 7));
  const double r = std::nearbyint(x / unit) * unit;
  return std::abs(r) >= (half ? 0x1p16 : 0x1p128) ? std::copysign(HUGE_VAL, r) : r;
}

// Sums are the truth rounded once; products and softmax so, or the other neighbour where the truth
// is as good as between two.
void compare_small(const LongSum& s, DType t, const TensorList& in, const Tensor& by_compiler) {
  const std::vector<double> truth = only(s.f(in_double(in))).to_vector<double>(), scale = scale_of(s, in, truth),
                            c = by_compiler.to_vector<double>(), e = only(s.f(in)).to_vector<double>();
  const bool in_double = s.kind == Kind::sum || s.kind == Kind::spread;
  for (std::size_t i = 0; i < truth.size(); i++) {
    const double nearest = rounded(truth[i], t);
    if (s.rounds_between) EXPECT_EQ(c[i], e[i]) << "element " << i;
    else if (in_double || !std::isfinite(nearest) || !std::isfinite(c[i])) EXPECT_EQ(c[i], nearest) << "element " << i;
    else EXPECT_LE(std::abs(c[i] - truth[i]), std::abs(nearest - truth[i]) + 1e-7 * scale[i]) << "element " << i;
    EXPECT_FALSE(std::abs(c[i] - truth[i]) > std::abs(e[i] - truth[i]))
        << "element " << i << ": eager " << e[i] << ", got " << c[i];
  }
}

// Nothing is rounded to the type of the elements but the result, and what rounds between is eager's
// to the bit.
TEST_P(CompiledAccuracy, RoundsSmallFloatsOnce) {
  const LongSum& s = long_sums()[GetParam()];
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  std::uniform_real_distribution<double> exponent(0, 13), long_exponent(13, kLongestExponent - 1);
  std::vector<int64_t> lengths{5, 257, 4097};
  for (int k = 0; k < 3; k++) lengths.push_back(2 + static_cast<int64_t>(std::exp(exponent(random))));
  const auto long_length = static_cast<int64_t>(std::exp(long_exponent(random)));
  std::size_t which = GetParam();
  for (const DType t : {float16, bfloat16}) {
    const auto in_type = [&](TensorList l) {
      for (Tensor& x : l) x = x.to(t);
      return l;
    };
    manual_seed(GetParam());
    std::vector<TensorList> in;
    for (const Data& data : kData)
      for (const int64_t n : lengths) in.push_back(in_type(inputs(s, n, data)));
    std::vector<TensorList> results = aot_run_multiple("cpu", s.f, in, {}, open_sizes(s));
    in.push_back(in_type(inputs(s, long_length, kData[which++ % std::size(kData)])));
    results.push_back({compiled(s.f, in.back())});
    for (std::size_t k = 0; k < in.size(); k++) {
      SCOPED_TRACE(text(s.name, " of ", name_of(t), ", inputs ", k, " of ", in[k][0].sizes()));
      ASSERT_EQ(only(results[k]).dtype(), t);
      compare_small(s, t, in[k], only(results[k]));
    }
  }
}

std::string plain_name(const ::testing::TestParamInfo<std::size_t>& info) {
  std::string name = long_sums()[info.param].name;
  std::replace_if(name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
}
// Where the products and softmax begin, which come last: two suites, so that neither takes too long
// under a sanitizer.
std::size_t first_product() {
  const auto is_product = [](const LongSum& s) { return s.kind == Kind::product || s.kind == Kind::softmax; };
  const std::vector<LongSum>& all = long_sums();
  return static_cast<std::size_t>(std::find_if(all.begin(), all.end(), is_product) - all.begin());
}
INSTANTIATE_TEST_SUITE_P(Sums, CompiledAccuracy, ::testing::Range(std::size_t{0}, first_product()), plain_name);
INSTANTIATE_TEST_SUITE_P(Products, CompiledAccuracy, ::testing::Range(first_product(), long_sums().size()), plain_name);

TEST(CompiledAccuracy, CountsPastWhatAFloatCounts) {
  const auto sum = one([](const TensorList& in) { return in[0].sum({0}); });
  const Tensor x = ones({34000000, 3});
  for (const double v : compiled(sum, {x}).to_vector<double>()) EXPECT_EQ(v, 34000000);
  const auto all = one([](const TensorList& in) { return in[0].sum(); });
  EXPECT_EQ(compiled(all, {x.reshape({-1})}).item().to_double(), 102000000);
}

TEST(CompiledAccuracy, CountsInHalf) {
  const auto mean = one([](const TensorList& in) { return in[0].mean({0}); });
  for (const DType t : {float16, bfloat16})
    for (const double v : compiled(mean, {ones({300000, 4}).to(t)}).to_vector<double>()) EXPECT_EQ(v, 1);
}

TEST(CompiledAccuracy, VarianceOfManySamplesFarFromZero) {
  manual_seed(1);
  const Tensor x = randn({20000000}) + 1000;
  const auto var = one([](const TensorList& in) { return aten<"var.correction">(in[0], Shape{0}); });
  const double truth = only(var({x.to(float64)})).item().to_double();
  EXPECT_NEAR(compiled(var, {x}).item().to_double(), truth, truth * 0x1p-23);
}

// Where nothing cancels every result is the truth rounded once, and no further from it than
// eager's.
void expect_no_further_off_than_eager(const TensorFunction& f, const TensorList& in) {
  const TensorList truth = f(in_double(in)), by_compiler = aot_run("cpu", f, in), by_eager = f(in);
  ASSERT_EQ(by_compiler.size(), truth.size());
  for (std::size_t k = 0; k < truth.size(); k++) {
    const std::vector<double> t = truth[k].to_vector<double>();
    const double of_compiled = errors(by_compiler[k].to_vector<double>(), t, t).largest,
                 of_eager = errors(by_eager[k].to_vector<double>(), t, t).largest;
    EXPECT_LE(of_compiled, 1e-7) << "result " << k;
    EXPECT_LE(of_compiled, of_eager) << "result " << k;
  }
}

// The example of issue 18, which was off by 2e-5 once.
TEST(CompiledAccuracy, SumOfAMillionRowsOfEightColumns) {
  manual_seed(7);
  expect_no_further_off_than_eager(one([](const TensorList& in) { return in[0].sum({0}); }), {rand({1'000'000, 8})});
}

TEST(CompiledAccuracy, VarianceAndNormOfColumnsPastAMillionRows) {
  manual_seed(8);
  const TensorFunction f = [](const TensorList& in) {
    return TensorList{aten<"var.correction">(in[0], Shape{0}), aten<"std.correction">(in[0], Shape{0}),
                      aten<"linalg_vector_norm">(in[0], Scalar(2), Shape{0}), in[0].mean({0})};
  };
  expect_no_further_off_than_eager(f, {randn({1'500'000, 6}) + 3});
}

// Options that compile a forward and its backward as one library, and count how often that was
// done.
aot::AotOptions together(int& pairs) {
  aot::AotOptions options = aot::fusing_options();
  options.together = [compile = aot::ingot_pair_compiler(), &pairs](const aot::GraphPair& graphs) {
    aot::BoxedPair made = compile(graphs);
    pairs += made.backward ? 1 : 0;
    return made;
  };
  return options;
}

TEST(CompiledAccuracy, GradientsOfALinearLayerCompiledWithItsBackward) {
  manual_seed(9);
  const Tensor x = rand({2'000'000, 4}), g = rand({2'000'000, 3});
  int pairs = 0;
  const auto gradients = [&](bool is_compiled) {
    nn::Linear layer(4, 3);
    (is_compiled ? aot::aot_module(layer, together(pairs))(x) : layer(x)).backward(g);
    return TensorList{layer.weight.grad(), layer.bias.grad()};
  };
  const TensorList by_compiler = gradients(true), by_eager = gradients(false);
  EXPECT_EQ(pairs, 1) << "the backward is code";
  const Tensor wide = g.to(float64);
  const TensorList truth{wide.t().mm(x.to(float64)), wide.sum({0})};
  for (std::size_t k = 0; k < truth.size(); k++) {
    SCOPED_TRACE(k == 0 ? "weight" : "bias");
    const std::vector<double> t = truth[k].to_vector<double>();
    const double of_compiled = errors(by_compiler[k].to_vector<double>(), t, t).largest,
                 of_eager = errors(by_eager[k].to_vector<double>(), t, t).largest;
    EXPECT_LE(of_compiled, 1e-7);
    // The weight's is a product, whose terms come in another order: of two that are as good as
    // rounded once, either may be nearer.
    EXPECT_LE(of_compiled, k == 0 ? std::max(of_eager, 1.001 * 0x1p-24) : of_eager);
  }
}

TEST(CompiledAccuracy, GradientOfALinearLayerOverMillionsOfRows) {
  manual_seed(2);
  const TensorList in{rand({2000000, 4}), rand({2000000, 8})};
  const auto product = one([](const TensorList& l) { return l[0].t().mm(l[1]); });
  const std::vector<double> truth = only(product(in_double(in))).to_vector<double>(),
                            c = compiled(product, in).to_vector<double>(), e = only(product(in)).to_vector<double>();
  EXPECT_LE(errors(c, truth, truth).largest, 1e-7);
  EXPECT_LE(errors(c, truth, truth).largest, errors(e, truth, truth).largest);
}

// One of each kind at the long end. Nothing cancels, and of so many terms the result's own rounding
// is all that is left.
TEST(CompiledAccuracy, TensOfMillionsOfElements) {
  constexpr int64_t kMost = kSanitized ? 4'000'000 : 100'000'000;
  std::mt19937 random(3);
  const auto some = [&] {
    return static_cast<int64_t>(std::exp(std::uniform_real_distribution<double>(std::log(kMost / 2.5), std::log(kMost))(random)));
  };
  struct Case {
    const char* name;
    int64_t length;
    TensorFunction f;
  };
  const std::vector<Case> cases = {
      {"sum", kMost, one([](const TensorList& in) { return in[0].sum(); })},
      {"dot", kMost, one([](const TensorList& in) { return aten<"dot">(in[0], in[0]); })},
      {"mean", some(), one([](const TensorList& in) { return in[0].mean({0}); })},
      {"norm", some(), one([](const TensorList& in) { return aten<"linalg_vector_norm">(in[0], Scalar(2), Shape{0}); })},
      {"variance", some(), one([](const TensorList& in) { return aten<"var.correction">(in[0], Shape{0}); })},
      {"logsumexp", some(), one([](const TensorList& in) { return aten<"logsumexp">(in[0], Shape{0}); })},
      {"softmax", some(), one([](const TensorList& in) { return aten<"_softmax">(in[0], 0, false).slice(0, 0, 1); })},
      {"product", some(), one([](const TensorList& in) { return in[0].view({1, -1}).mm(in[0].view({-1, 1})); })},
  };
  manual_seed(3);
  const Tensor all = rand({kMost}), all_in_double = all.to(float64);
  for (const Case& k : cases) {
    SCOPED_TRACE(text(k.name, " of ", k.length));
    const TensorList in{all.slice(0, 0, k.length)};
    const double truth = only(k.f({all_in_double.slice(0, 0, k.length)})).to_vector<double>()[0],
                 c = compiled(k.f, in).to_vector<double>()[0], e = only(k.f(in)).to_vector<double>()[0];
    EXPECT_LE(std::abs(c - truth), std::max(std::abs(e - truth), 1.001 * 0x1p-24 * truth));
    EXPECT_NEAR(c, truth, truth * 1e-7);
    EXPECT_NEAR(e, truth, truth * 1e-7);
  }
}

TEST(CompiledAccuracy, ProductsOfTenMillionTerms) {
  manual_seed(5);
  const TensorList in{rand({2, 10000000}), rand({10000000, 3})};
  const auto product = one([](const TensorList& l) { return l[0].mm(l[1]); });
  const std::vector<double> truth = only(product(in_double(in))).to_vector<double>();
  EXPECT_LE(errors(compiled(product, in).to_vector<double>(), truth, truth).largest, 1e-7);
  EXPECT_LE(errors(only(product(in)).to_vector<double>(), truth, truth).largest, 1e-7);
}

// All terms are positive, where rounding has the most to say, and no more than a few times as many
// as are added up in one go (kTermsOfOneSum), so that little of it averages out.
TEST(CompiledAccuracy, ProductsOfHundredsOfPositiveTerms) {
  const auto product = one([](const TensorList& l) { return l[0].mm(l[1]); });
  for (const int64_t terms : {128, 160, 192, 256, 384}) {
    for (uint64_t seed = 0; seed < 8; seed++) {
      SCOPED_TRACE(text(terms, " terms, seed ", seed));
      manual_seed(seed);
      const TensorList in{randn({100, terms}).mul_(0.5).add_(3), randn({terms, 100}).mul_(0.5).add_(3)};
      const std::vector<double> truth = only(product(in_double(in))).to_vector<double>();
      EXPECT_LE(errors(compiled(product, in).to_vector<double>(), truth, truth).largest, 1e-6);
      EXPECT_LE(errors(only(product(in)).to_vector<double>(), truth, truth).largest, 1e-6);
    }
  }
}

// ---- no sum is cut by threads

constexpr int kNumbersOfThreads[] = {1, 2, 7, 16};

std::vector<std::string> bits_of(const TensorList& results) {
  std::vector<std::string> all;
  for (const Tensor& t : results) {
    const Tensor packed = t.contiguous();
    all.emplace_back(static_cast<const char*>(packed.data_ptr()),
                     static_cast<std::size_t>(packed.numel().value() * packed.itemsize()));
  }
  return all;
}
// The results of `run` have the same bits on any number of threads.
void expect_same_bits(const std::function<TensorList(int threads)>& run) {
  std::vector<std::string> first;
  for (const int threads : kNumbersOfThreads) {
    const std::vector<std::string> found = bits_of(run(threads));
    if (first.empty()) first = found;
    ASSERT_EQ(found.size(), first.size());
    for (std::size_t k = 0; k < found.size(); k++)  // no text of megabytes where they differ
      EXPECT_TRUE(found[k] == first[k]) << "result " << k << " on " << threads << " threads";
  }
}
void expect_same_bits(const TensorFunction& f, const TensorList& in) {
  const testing::TestFolder folder;
  const auto runner = aot_load_runner("cpu", aot_compile(f, in, folder.file("f.so")));
  expect_same_bits([&](int threads) {
    runner->set_threads(threads);
    return runner->run(in);
  });
}

TEST(CompiledAccuracy, DoesNotDependOnTheNumberOfThreads) {
  manual_seed(4);
  const TensorFunction f = [](const TensorList& l) {
    const Tensor y = l[0].mm(l[1]);
    return TensorList{y.sum({0}),
                      aten<"var.correction">(y, Shape{1}),
                      l[0].t().mm(l[0]),
                      y.sum(),
                      aten<"_softmax">(y, 0, false),
                      aten<"_softmax">(y, 1, false),
                      aten<"logsumexp">(y, Shape{0}),
                      aten<"logsumexp">(y, Shape{1}),
                      aten<"linalg_vector_norm">(y, Scalar(2), Shape{0}),
                      aten<"linalg_vector_norm">(y, Scalar(2), Shape{1}),
                      l[2].sum({0}),
                      l[2].sum({1}),
                      l[2].sum()};
  };
  expect_same_bits(f, {randn({100000, 16}), randn({16, 24}), randn({100000, 16}).to(bfloat16)});
}

// One row is all there is to share out.
TEST(CompiledAccuracy, ALongRowDoesNotDependOnTheNumberOfThreads) {
  manual_seed(5);
  const Tensor x = rand({kSanitized ? 2'000'000 : 20'000'000});
  const TensorFunction f = [](const TensorList& l) {
    return TensorList{l[0].sum(),
                      aten<"linalg_vector_norm">(l[0], Scalar(2), Shape{0}),
                      aten<"var.correction">(l[0], Shape{0}),
                      aten<"logsumexp">(l[0], Shape{0}),
                      aten<"_softmax">(l[0], 0, false),
                      aten<"dot">(l[0], l[0]),
                      l[1].sum()};
  };
  expect_same_bits(f, {x, x.to(bfloat16)});
}

// A function with gradients is compiled once for each number: a library takes the number that holds
// when it is loaded.
TEST(CompiledAccuracy, ABackwardDoesNotDependOnTheNumberOfThreads) {
  struct Threads {
    const int before = num_threads();
    ~Threads() { set_num_threads(before); }
  } const restored;
  const TensorFunction f = [](const TensorList& in) {
    const Tensor h = gelu(in[0].matmul(in[1]) + in[2]), n = aten<"layer_norm">(h, Shape{16}, in[3], in[4], 1e-5);
    return TensorList{n.softmax(-1)};
  };
  manual_seed(6);
  const TensorList leaves{randn({50000, 8}), randn({8, 16}), randn({16}), randn({16}), randn({16})};
  const Tensor g = randn({50000, 16});
  int pairs = 0;
  expect_same_bits([&](int threads) {
    set_num_threads(threads);
    TensorList in;
    for (const Tensor& t : leaves) in.push_back(tracked(t.clone()));
    const Tensor y = aot::aot_function(f, together(pairs))(in)[0];
    y.backward(g);
    TensorList all{y.detach()};
    for (const Tensor& t : in) all.push_back(t.grad());
    return all;
  });
  EXPECT_EQ(pairs, static_cast<int>(std::size(kNumbersOfThreads))) << "the backward is code";
}

}  // namespace
}  // namespace ingot
