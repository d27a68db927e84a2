// Samples of distributions given by tensors: Poisson, binomial, multinomial.
#include <cmath>
#include <numeric>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "kernels/philox.hpp"
#include "op/call.hpp"
#include "ingot/op/vjp.hpp"
#include "ops/batch/rules.hpp"
#include "ops/common/dense.hpp"
#include "kernels/special.hpp"
#include "ops/family.hpp"
#include "ops/random/random_rows.hpp"
#include "tensor/geometry.hpp"

namespace ingot {
namespace {

// As many uniform numbers of (0, 1) as element i asks for: it owns a range of the draw's numbers.
class ElementStream {
 public:
  ElementStream(Draw d, int64_t element) : draw_(d), next_(static_cast<uint64_t>(element) << 20) {}
  double uniform() {
    const double u = kernels::uniform_double(draw_.seed, draw_.offset, next_++);
    return u == 0 ? 0x1p-54 : u;
  }

 private:
  Draw draw_;
  uint64_t next_;
};

// Hörmann's transformed rejection (PTRS) where the mean is large, else counts uniform factors of
// exp(-rate).
double poisson_sample(double rate, ElementStream s) {
  if (rate == 0) return 0;
  if (rate < 10) {
    const double limit = std::exp(-rate);
    double product = s.uniform(), k = 0;
    for (; product > limit; k++) product *= s.uniform();
    return k;
  }
  const double b = 0.931 + 2.53 * std::sqrt(rate), a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), accept = 0.9277 - 3.6224 / (b - 2), log_rate = std::log(rate);
  while (true) {
    const double u = s.uniform() - 0.5, v = s.uniform(), us = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / us + b) * u + rate + 0.43);
    if (us >= 0.07 && v <= accept) return k;
    if (k < 0 || (us < 0.013 && v > us)) continue;
    if (std::log(v) + std::log(inverse_alpha) - std::log(a / (us * us) + b) <= k * log_rate - rate - kernels::log_gamma(k + 1))
      return k;
  }
}

// Hörmann's BTRS where count * p is large, else sums geometric waiting times. Requires 0 < p <=
// 0.5.
double binomial_sample(double count, double p, ElementStream s) {
  if (count * p < 10) {
    const double log_fail = std::log1p(-p);
    double trials = 0, successes = 0;
    while ((trials += std::ceil(std::log(s.uniform()) / log_fail)) <= count) successes++;
    return successes;
  }
  const double deviation = std::sqrt(count * p * (1 - p)), b = 1.15 + 2.53 * deviation, a = -0.0873 + 0.0248 * b + 0.01 * p;
  const double center = count * p + 0.5, accept = 0.92 - 4.2 / b, alpha = (2.83 + 5.1 / b) * deviation;
  const double log_odds = std::log(p / (1 - p)), mode = std::floor((count + 1) * p);
  const double at_mode = kernels::log_gamma(mode + 1) + kernels::log_gamma(count - mode + 1);
  while (true) {
    const double u = s.uniform() - 0.5, v = s.uniform(), us = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / us + b) * u + center);
    if (us >= 0.07 && v <= accept) return k;
    if (k < 0 || k > count) continue;
    const double log_ratio = at_mode - kernels::log_gamma(k + 1) - kernels::log_gamma(count - k + 1) + (k - mode) * log_odds;
    if (std::log(v * alpha / (a / (us * us) + b)) <= log_ratio) return k;
  }
}

void poisson_kernel(const Call& c, std::span<const Tensor> r) {
  const Tensor rate = dense(c.tensor(0), DType::f64, r[0].sizes());
  const double* x = rate.data<double>();
  for (int64_t i = 0, n = rate.numel().number(); i < n; i++)
    INGOT_REQUIRE(x[i] >= 0, "invalid Poisson rate, expected rate to be non-negative, found ", x[i]);
  const Draw d = next_draw(c[1]);
  fill_numbers<double>(r[0], Compute::f64, [&](double* out, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) out[i - begin] = poisson_sample(x[i], ElementStream(d, i));
  });
}

void binomial_kernel(const Call& c, std::span<const Tensor> r) {
  const Tensor counts = dense(c.tensor(0), DType::f64, r[0].sizes()),
               probabilities = dense(c.tensor(1), DType::f64, r[0].sizes());
  const double *n = counts.data<double>(), *p = probabilities.data<double>();
  const Draw d = next_draw(c[2]);
  fill_numbers<double>(r[0], Compute::f64, [&](double* out, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
      const ElementStream s(d, i);
      if (std::isnan(p[i]) || std::isnan(n[i])) out[i - begin] = std::nan("");
      else if (n[i] <= 0 || p[i] <= 0) out[i - begin] = 0;
      else if (p[i] >= 1) out[i - begin] = n[i];
      else out[i - begin] = p[i] <= 0.5 ? binomial_sample(n[i], p[i], s) : n[i] - binomial_sample(n[i], 1 - p[i], s);
    }
  });
}

void multinomial_meta(const Call& c, Outputs& o) {
  const Tensor& self = c.tensor(0);
  const Int samples = c[1].to_int();
  INGOT_REQUIRE(self.dim() == 1 || self.dim() == 2, "prob_dist must be 1 or 2 dim, found ", self.dim());
  INGOT_REQUIRE(self.is_floating_point(),
                "multinomial only supports floating-point dtypes for input, got: ", scalar_type_name(self.dtype()));
  INGOT_REQUIRE(samples > 0, "cannot sample n_sample <= 0 samples, found ", samples);
  INGOT_REQUIRE(c[2].to_bool() || samples <= self.size(-1),
                "cannot sample n_sample > prob_dist.size(-1) samples without replacement: found ", samples, " of ",
                self.size(-1));
  Shape sizes = self.sizes();
  sizes.back() = samples;
  o.add(std::move(sizes), DType::i64);
}
// With replacement each sample inverts the row's cumulative sum. Without, categories race: the k
// smallest exponential arrival times, with the probabilities as rates, are a sample in order of
// choice.
void multinomial_kernel(const Call& c, std::span<const Tensor> r) {
  const Tensor weights = dense(c.tensor(0), DType::f64, c.tensor(0).sizes());
  const int64_t categories = weights.size(-1).number(), samples = c[1].to_int64(),
                rows = weights.dim() == 1 ? 1 : weights.size(0).number();
  const bool replacement = c[2].to_bool();
  const Draw d = next_draw(c[3]);
  int64_t* out = r[0].data<int64_t>();
  for (int64_t row = 0; row < rows; row++) {
    const double* p = weights.data<double>() + row * categories;
    std::vector<double> sum(static_cast<std::size_t>(categories));
    double total = 0;
    for (int64_t i = 0; i < categories; i++) {
      INGOT_REQUIRE(p[i] >= 0 && std::isfinite(p[i]), "probability tensor contains either `inf`, `nan` or element < 0: found ",
                    p[i]);
      sum[static_cast<std::size_t>(i)] = total += p[i];
    }
    INGOT_REQUIRE(total > 0, "invalid multinomial distribution (sum of probabilities <= 0)");
    if (replacement) {
      for (int64_t s = 0; s < samples; s++) {
        const double u = kernels::uniform_double(d.seed, d.offset, static_cast<uint64_t>(row * samples + s)) * total;
        int64_t k = std::upper_bound(sum.begin(), sum.end(), u) - sum.begin();
        if (k == categories) k = std::lower_bound(sum.begin(), sum.end(), total) - sum.begin();  // u rounded up to the total
        out[row * samples + s] = k;
      }
      continue;
    }
    std::vector<double> arrival(static_cast<std::size_t>(categories));
    for (int64_t i = 0; i < categories; i++) {
      const double u = kernels::uniform_double(d.seed, d.offset, static_cast<uint64_t>(row * categories + i));
      arrival[static_cast<std::size_t>(i)] = p[i] > 0 ? -std::log1p(-u) / p[i] : HUGE_VAL;
    }
    std::vector<int64_t> order(static_cast<std::size_t>(categories));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return arrival[static_cast<std::size_t>(a)] < arrival[static_cast<std::size_t>(b)];
    });
    std::copy_n(order.begin(), samples, out + row * samples);
  }
}

void zero_vjp(Vjp& v) {
  for (int i = 0; i < 2 && i < static_cast<int>(v.needs.size()); i++)
    if (v.need(i)) v.set(i, aten<"new_zeros">(v.grad(), v.sizes(i), v.geom(i).dtype));
}
void require_floating(const Call& c, int i) {
  INGOT_REQUIRE(c.tensor(i).is_floating_point(), "\"", c.op.schema.name, "\" not implemented for '",
                scalar_type_name(c.tensor(i).dtype()), "'");
}

// Rows of probabilities: the batch joins them.
Value batch_multinomial(const Batching& b) {
  if (b.randomness != Randomness::different || b.rank(0) == 1) return batch_random_of_values(b);
  Values args = b.args;
  args[0] = merge_dims(b.front(0), 0);
  return split_dim(call(b.op, args).tensor(), 0, b.size, b.sizes(0)[0]);
}

constexpr OpDef kSamplingOps[] = {
    {.schema = "aten::poisson(Tensor self, Generator? generator=None) -> Tensor",
     .form = Form::random,
     .meta =
         [](const Call& c, Outputs& o) {
           require_floating(c, 0);
           o.add(c.tensor(0).sizes(), c.tensor(0).dtype());
         },
     .kernel = poisson_kernel,
     .vjp = zero_vjp,
     .batch = batch_random_of_values},
    {.schema = "aten::binomial(Tensor count, Tensor prob, Generator? generator=None) -> Tensor",
     .form = Form::random,
     .meta =
         [](const Call& c, Outputs& o) {
           require_floating(c, 0);
           require_floating(c, 1);
           const Shape b = broadcast_shapes(c.tensor(0).sizes(), c.tensor(1).sizes(), "binomial");
           INGOT_REQUIRE(b == c.tensor(0).sizes(), "binomial: prob of shape ", c.tensor(1).sizes(),
                         " does not broadcast to count of shape ", c.tensor(0).sizes());
           o.add(b, c.tensor(0).dtype());
         },
     .kernel = binomial_kernel,
     .batch = batch_random_of_values},
    {.schema =
         "aten::multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, Generator? generator=None) -> Tensor",
     .form = Form::random,
     .meta = multinomial_meta,
     .kernel = multinomial_kernel,
     .grad = {.none = true},
     .batch = batch_multinomial},
};

}  // namespace

INGOT_FAMILY(sampling, kSamplingOps)

}  // namespace ingot
