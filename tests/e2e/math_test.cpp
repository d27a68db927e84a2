// The error of every function of one number that compiled code computes, in units of the last
// place, against the C library's for the next wider type: a million float patterns over the whole
// range, and a hundred thousand doubles. Every float pattern, which takes minutes of one core for a
// function (CONTRIBUTING.md):
//   ingot_e2e_tests --gtest_also_run_disabled_tests --gtest_filter='*EveryFloat/lgamma'
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <numbers>
#include <random>
#include <thread>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "compiler/compiled_program.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "support/test_folder.hpp"

namespace ingot {
namespace {

using Wide = long double;

struct MathFunction {
  const char* name;
  Tensor (*compiled)(const Tensor&);
  double (*exact)(double);  // of a float's value, to well under a unit of float
  Wide (*exact_wide)(Wide);  // of a double's
  double float_ulps, double_ulps;  // the greatest errors allowed: those beside the code in codegen/math.cpp, or the C library's
  // Errors of smaller doubles count in last places of this: the function is zero where no formula
  // in double comes near.
  double least_double = 0;
};

// The derivative of lgamma, which the C library does not have: up by the recurrence to where the
// asymptotic series has all digits.
Wide digamma(Wide x) {
  if (x == 0) return std::copysign(std::numeric_limits<Wide>::infinity(), -x);
  if (x < 0) {
    if (x == std::floor(x)) return std::numeric_limits<Wide>::quiet_NaN();
    constexpr Wide kPi = std::numbers::pi_v<Wide>;
    return digamma(1 - x) - kPi / std::tan(kPi * (x - std::round(x)));
  }
  Wide sum = 0;
  for (; x < 20; x += 1) sum += 1 / x;
  if (std::isinf(x)) return x;
  const Wide y = 1 / (x * x);
  Wide tail = 0;
  for (const Wide c : {1 / 12.0L, -691 / 32760.0L, 1 / 132.0L, -1 / 240.0L, 1 / 252.0L, -1 / 120.0L, 1 / 12.0L})
    tail = (tail + c) * y;
  return std::log(x) - 1 / (2 * x) - tail - sum;
}

template <OpName Name>
Tensor op_of(const Tensor& x) {
  return aten<Name>(x);
}

// The C library's are glibc's own bounds where it says one, and what was measured where it does not
// (lgamma near its zeros below 0 is the only one past a few). glibc counts from the rounded result:
// its 1 for tan of float is up to 1.5 from the exact one, and over every float 1.48 was measured;
// of acosh 2.0002.
const MathFunction kFunctions[] = {
    {"exp", op_of<"exp">, std::exp, std::exp, 1.1, 1.1},
    {"exp2", op_of<"exp2">, std::exp2, std::exp2, 1.2, 1},
    {"expm1", op_of<"expm1">, std::expm1, std::expm1, 2, 1},
    {"log", op_of<"log">, std::log, std::log, 0.9, 0.9},
    {"log2", op_of<"log2">, std::log2, std::log2, 2, 1},
    {"log10", op_of<"log10">, std::log10, std::log10, 2, 2},
    {"log1p", op_of<"log1p">, std::log1p, std::log1p, 2, 1},
    {"tanh", op_of<"tanh">, std::tanh, std::tanh, 1.8, 2.5},
    {"erf", op_of<"erf">, std::erf, std::erf, 1.4, 1.5},
    {"sin", op_of<"sin">, std::sin, std::sin, 1, 1},
    {"cos", op_of<"cos">, std::cos, std::cos, 1, 1},
    {"tan", op_of<"tan">, std::tan, std::tan, 1.5, 1},
    {"asin", op_of<"asin">, std::asin, std::asin, 1, 1},
    {"acos", op_of<"acos">, std::acos, std::acos, 1, 1},
    {"atan", op_of<"atan">, std::atan, std::atan, 1, 1},
    {"sinh", op_of<"sinh">, std::sinh, std::sinh, 2, 2},
    {"cosh", op_of<"cosh">, std::cosh, std::cosh, 2, 2},
    {"asinh", op_of<"asinh">, std::asinh, std::asinh, 2, 2},
    {"acosh", op_of<"acosh">, std::acosh, std::acosh, 2.01, 2},
    {"atanh", op_of<"atanh">, std::atanh, std::atanh, 2, 2},
    {"erfc", op_of<"erfc">, std::erfc, std::erfc, 4, 5},
    {"lgamma", op_of<"lgamma">, std::lgamma, std::lgamma, 7, 5},
    {"digamma", op_of<"digamma">, [](double x) { return static_cast<double>(digamma(x)); }, digamma, 1, 18, 1},
};

// The width of the last place of T at x; of numbers past the largest that of the largest.
template <class T, class Exact>
Exact last_place(Exact x) {
  using Limits = std::numeric_limits<T>;
  const int e = x == 0 ? Limits::min_exponent : std::min(std::max(std::ilogb(x) + 1, Limits::min_exponent), Limits::max_exponent);
  return std::ldexp(Exact(1), e - Limits::digits);
}

// |got - exact| in last places. An overflow counts as the first number that T does not have, so
// that it is right where rounding gives it, and wrong by its distance elsewhere. Infinite for what
// no distance says: NaN, or a zero of the wrong sign.
template <class T, class Exact>
double ulps(T got, Exact exact, double least = 0) {
  constexpr double kWrong = std::numeric_limits<double>::infinity();
  if (std::isnan(got) || std::isnan(exact)) return std::isnan(got) && std::isnan(exact) ? 0 : kWrong;
  if (std::max(std::abs(Exact(got)), std::abs(exact)) < least)
    return static_cast<double>(std::abs(got - exact) / last_place<T>(Exact(least)));
  if (exact == 0) return got == 0 && std::signbit(got) == std::signbit(exact) ? 0 : kWrong;
  if (got == static_cast<T>(exact)) return 0;  // as good as it gets
  if (std::signbit(got) != std::signbit(exact)) return kWrong;
  const Exact first_past = std::ldexp(Exact(1), std::numeric_limits<T>::max_exponent);
  const Exact g = std::min(std::abs(Exact(got)), first_past), e = std::min(std::abs(exact), first_past);
  return static_cast<double>(std::abs(g - e) / last_place<T>(e));
}

template <class T>
struct Worst {
  double ulps = 0;
  T at = 0, got = 0;
};

CallableModel compiled(const std::string& path, DType dtype, const std::vector<const MathFunction*>& functions) {
  const TensorFunction all = [functions](const TensorList& in) {
    TensorList out;
    for (const MathFunction* f : functions) out.push_back(f->compiled(in[0]));
    return out;
  };
  const TensorList examples = {zeros({64}, {.dtype = dtype})};
  const std::vector<OpenSize> open = {{.input = 0, .dim = 0}};
  return aot_load("cpu", aot_compile(all, examples, path, {}, open));
}

template <class T>
class Measured {
 public:
  explicit Measured(const std::vector<const MathFunction*>& functions)
      : functions_(functions), worst_(functions.size()), model_(compiled(folder_.file("math.so"), kType, functions)) {}

  void add(std::vector<T>& x) {
    const Tensor in = from_blob(x.data(), {static_cast<int64_t>(x.size())}, kType);
    const Tree out = model_(Tree::tuple({Tree(in)}));
    for (std::size_t f = 0; f < functions_.size(); f++) {
      const T* got = out[f].leaf().tensor().template data<T>();
      for (std::size_t i = 0; i < x.size(); i++) {
        const double e = [&] {
          if constexpr (std::is_same_v<T, float>) return ulps(got[i], functions_[f]->exact(static_cast<double>(x[i])));
          else return ulps(got[i], functions_[f]->exact_wide(static_cast<Wide>(x[i])), functions_[f]->least_double);
        }();
        if (e > worst_[f].ulps) worst_[f] = {e, x[i], got[i]};
      }
    }
  }

  void add(const Measured& other) {
    for (std::size_t f = 0; f < worst_.size(); f++)
      if (other.worst_[f].ulps > worst_[f].ulps) worst_[f] = other.worst_[f];
  }

  void expect_within_bounds() const {
    for (std::size_t f = 0; f < functions_.size(); f++) {
      const MathFunction& m = *functions_[f];
      const double bound = std::is_same_v<T, float> ? m.float_ulps : m.double_ulps;
      EXPECT_LE(worst_[f].ulps, bound) << m.name << "(" << std::hexfloat << worst_[f].at << ") = " << worst_[f].got;
      ::testing::Test::RecordProperty(m.name, text(worst_[f].ulps));
    }
  }

 private:
  static constexpr DType kType = std::is_same_v<T, float> ? float32 : float64;
  const testing::TestFolder folder_;
  std::vector<const MathFunction*> functions_;
  std::vector<Worst<T>> worst_;
  CallableModel model_;
};

std::vector<const MathFunction*> all_functions() {
  std::vector<const MathFunction*> l;
  for (const MathFunction& f : kFunctions) l.push_back(&f);
  return l;
}

// Every `step`-th pattern, NaN and infinities among them, in runs of patterns that the threads take
// in turns.
void measure_floats(const std::vector<const MathFunction*>& functions, uint64_t step, unsigned threads) {
  constexpr uint64_t kAtOnce = 1 << 16;
  std::vector<std::unique_ptr<Measured<float>>> parts;
  for (unsigned k = 0; k < threads; k++) parts.push_back(std::make_unique<Measured<float>>(functions));
  {
    std::vector<std::jthread> running;
    for (unsigned k = 0; k < threads; k++)
      running.emplace_back([&, k] {
        std::vector<float> x;
        for (uint64_t first = k * kAtOnce * step; first < uint64_t{1} << 32; first += threads * kAtOnce * step) {
          x.clear();
          for (uint64_t bits = first; x.size() < kAtOnce && bits < uint64_t{1} << 32; bits += step)
            x.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
          parts[k]->add(x);
        }
      });
  }
  for (unsigned k = 1; k < threads; k++) parts[0]->add(*parts[k]);
  std::vector<float> specials = {0.0F, -0.0F, HUGE_VALF, -HUGE_VALF, 1.0F, -1.0F};
  parts[0]->add(specials);
  parts[0]->expect_within_bounds();
}

TEST(CompiledMath, AMillionFloats) { measure_floats(all_functions(), 4099, 1); }

class CompiledMathOf : public ::testing::TestWithParam<const MathFunction*> {};
// Outside of the suite: an hour on one core for all functions.
TEST_P(CompiledMathOf, DISABLED_EveryFloat) {
  measure_floats({GetParam()}, 1, std::max(1U, std::thread::hardware_concurrency()));
}
INSTANTIATE_TEST_SUITE_P(OneNumber, CompiledMathOf, ::testing::ValuesIn(all_functions()),
                         [](const auto& info) { return std::string(info.param->name); });

TEST(CompiledMath, Doubles) {
  Measured<double> measured(all_functions());
  std::mt19937_64 random(1);
  std::vector<double> x;
  for (int i = 0; i < 1 << 17; i++) {
    // Half of them patterns of the whole range, half where functions are neither 0 nor infinite.
    const uint64_t bits = random();
    x.push_back(i % 2 ? std::bit_cast<double>(bits)
                      : std::ldexp(static_cast<double>(static_cast<int64_t>(bits)), -63) * std::ldexp(1.0, i / 2 % 20 - 10));
  }
  for (const double special : {0.0, -0.0, HUGE_VAL, -HUGE_VAL, 1.0, -1.0}) x.push_back(special);
  measured.add(x);
  measured.expect_within_bounds();
}

// Functions of two numbers at the ends of their types, where squares, exponentials and quotients of
// them are no numbers any more: what eager computes, to a few units of the last place.
TEST(CompiledMath, TwoNumbersAtTheEndsOfTheirTypes) {
  const std::vector<std::pair<const char*, Tensor (*)(const Tensor&, const Tensor&)>> functions = {
      {"hypot", [](const Tensor& a, const Tensor& b) { return aten<"hypot">(a, b); }},
      {"atan2", [](const Tensor& a, const Tensor& b) { return aten<"atan2">(a, b); }},
      {"logaddexp", [](const Tensor& a, const Tensor& b) { return aten<"logaddexp">(a, b); }},
      {"logaddexp2", [](const Tensor& a, const Tensor& b) { return aten<"logaddexp2">(a, b); }},
      {"pow", [](const Tensor& a, const Tensor& b) { return aten<"pow.Tensor_Tensor">(a, b); }},
      {"fmod", [](const Tensor& a, const Tensor& b) { return aten<"fmod.Tensor">(a, b); }},
      {"remainder", [](const Tensor& a, const Tensor& b) { return aten<"remainder.Tensor">(a, b); }},
      {"maximum", [](const Tensor& a, const Tensor& b) { return aten<"maximum">(a, b); }},
      {"fmin", [](const Tensor& a, const Tensor& b) { return aten<"fmin">(a, b); }},
      {"copysign", [](const Tensor& a, const Tensor& b) { return aten<"copysign.Tensor">(a, b); }},
      {"xlogy", [](const Tensor& a, const Tensor& b) { return aten<"xlogy.Tensor">(a, b); }},
      {"xlog1py", [](const Tensor& a, const Tensor& b) { return aten<"special_xlog1py">(a, b); }},
      {"div", [](const Tensor& a, const Tensor& b) { return a / b; }},
      {"floor_divide", [](const Tensor& a, const Tensor& b) { return aten<"floor_divide">(a, b); }},
      {"heaviside", [](const Tensor& a, const Tensor& b) { return aten<"heaviside">(a, b); }},
  };
  const auto all = [&](const TensorList& in) {
    TensorList out;
    for (const auto& [name, f] : functions) out.push_back(f(in[0], in[1]));
    return out;
  };
  // Sums of terms of the size of one, which may cancel.
  const auto adds_up = [&](std::size_t k) { return std::string_view(functions[k].first).starts_with("logaddexp"); };
  for (const DType dtype : {float32, float64}) {
    const bool is_float = dtype == float32;
    const double huge = is_float ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max(),
                 tiny = is_float ? std::numeric_limits<float>::denorm_min() : std::numeric_limits<double>::denorm_min(),
                 least = is_float ? std::numeric_limits<float>::min() : std::numeric_limits<double>::min();
    std::vector<double> ends{0, tiny, least, std::sqrt(least) / 3, 0.5, 1, 3, 1e9, std::sqrt(huge) * 3, huge, HUGE_VAL, NAN};
    for (std::size_t i = 0, n = ends.size(); i < n; i++) ends.push_back(-ends[i]);
    std::vector<double> left, right;
    for (const double a : ends)
      for (const double b : ends) left.push_back(a), right.push_back(b);
    const TensorList in{tensor(left, float64).to(dtype), tensor(right, float64).to(dtype)};
    const TensorList want = all(in), found = aot_run("cpu", all, in);
    const double unit = is_float ? std::numeric_limits<float>::epsilon() : std::numeric_limits<double>::epsilon();
    for (std::size_t k = 0; k < functions.size(); k++) {
      const std::vector<double> w = want[k].to_vector<double>(), f = found[k].to_vector<double>();
      for (std::size_t i = 0; i < w.size(); i++) {
        const bool same = (std::isnan(w[i]) && std::isnan(f[i])) || (w[i] == f[i] && std::signbit(w[i]) == std::signbit(f[i])) ||
                          std::abs(w[i] - f[i]) <= 4 * unit * (std::abs(w[i]) + (adds_up(k) ? 1 : 0)) + 2 * tiny;
        EXPECT_TRUE(same) << functions[k].first << "(" << left[i] << ", " << right[i] << ") of " << name_of(dtype) << ": eager "
                          << w[i] << ", compiled " << f[i];
      }
    }
  }
}

}  // namespace
}  // namespace ingot
