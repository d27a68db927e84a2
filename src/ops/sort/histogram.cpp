// Counts of values: histc, bincount and histograms of any number of dims.
#include <cmath>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "ingot/expr.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "ingot/op/vjp.hpp"
#include "ops/batch/rules.hpp"
#include "ops/family.hpp"
#include "ops/common/kept_small.hpp"
#include "ops/index/masked.hpp"
#include "tensor/rows.hpp"

namespace ingot {
namespace {

void require_floating(const Call& c) {
  INGOT_REQUIRE(c.tensor(0).is_floating_point(), "\"", c.op.schema.name, "\" not implemented for '",
                scalar_type_name(c.tensor(0).dtype()), "'");
}
void require_bins(const Call& c, int64_t bins) {
  INGOT_REQUIRE(bins > 0, c.op.schema.name, "(): bins must be > 0, found ", bins);
}

struct Range {
  double lo = 0, hi = 0;
};
// As given, or that of the data where both ends are equal; widened on both sides if it is one
// value.
Range value_range(const Call& c, const std::vector<double>& values, Range r, double widen) {
  if (r.lo == r.hi && !values.empty()) {
    const auto [a, b] = std::minmax_element(values.begin(), values.end());
    r = {*a, *b};
  }
  if (r.lo == r.hi) r.lo -= widen, r.hi += widen;
  INGOT_REQUIRE(std::isfinite(r.lo) && std::isfinite(r.hi), c.op.schema.name, ": range of [", r.lo, ", ", r.hi,
                "] is not finite");
  INGOT_REQUIRE(r.lo < r.hi, c.op.schema.name, ": max must be larger than min, found [", r.lo, ", ", r.hi, "]");
  return r;
}

// ---- one dim: places are numbers of the input's dtype, so that what lies on an edge falls where
// PyTorch has it. Counts are not, which there depend on the number of threads once they pass what a
// half type can count.
void histc_kernel(const Call& c, std::span<const Tensor> r) {
  const std::vector<double> x = c.tensor(0).to_vector<double>();
  const int64_t bins = c[1].to_int64();
  const Range range = value_range(c, x, {c[2].to_double(), c[3].to_double()}, 1);
  std::vector<double> counts(static_cast<std::size_t>(bins));
  on_kept_small(c.tensor(0).dtype(), "histc", [&]<class T, class A>(T, A) {
    const A lo(range.lo), hi(range.hi);
    for (double number : x) {
      const A v(number);
      if (!(v >= lo && hi >= v)) continue;
      const auto at = static_cast<int64_t>((v - lo) * A(bins) / (hi - lo));
      counts[static_cast<std::size_t>(std::min(bins - 1, at))]++;
    }
  });
  store_row(Compute::f64, counts.data(), bins, r[0].dtype(), r[0].data_ptr(), 1);
}

Value bincount(const Call& c) {
  const Tensor &self = c.tensor(0), weights = c[1].tensor_or_none();
  INGOT_REQUIRE(self.dim() == 1 && is_integral(self.dtype()), "bincount only supports 1-d non-negative integral inputs.");
  INGOT_REQUIRE(!weights.defined() || weights.sizes() == self.sizes(), "weights should be 1-d and have the same length as input");
  int64_t size = c[2].to_int64();
  INGOT_REQUIRE(size >= 0, "minlength should be >= 0");
  const DType dtype = !weights.defined() ? DType::i64 : weights.dtype() == DType::f32 ? DType::f32 : DType::f64;
  if (self->is_fake())
    return make_tensor(Geometry::contiguous({data_dependent_size("bincount", kUnbounded, size)}, dtype), self.device(), true);
  const std::vector<int64_t> x = self.to_vector<int64_t>();
  for (int64_t v : x) {
    INGOT_REQUIRE(v >= 0, "bincount only supports 1-d non-negative integral inputs.");
    size = std::max(size, v + 1);
  }
  const std::vector<double> w = weights.defined() ? weights.to_vector<double>() : std::vector<double>(x.size(), 1.0);
  std::vector<double> sums(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < x.size(); i++) sums[static_cast<std::size_t>(x[i])] += w[i];
  const Tensor r = make_tensor(Geometry::contiguous({size}, dtype), self.device());
  store_row(Compute::f64, sums.data(), size, dtype, r.data_ptr(), 1);
  return r;
}

// ---- any number of dims: samples are the rows of self

using Edges = std::vector<std::vector<double>>;  // ascending, one list a dim

// `bins` equal bins a dim, over `range` (two numbers a dim, or None).
Edges even_edges(const Call& c, const std::vector<double>& x, const Shape& bins, const Value& range) {
  const std::size_t dims = bins.size();
  std::vector<double> ends;
  if (range.is_floats()) ends = range.floats();
  else if (range.is_ints())
    for (Int i : range.ints()) ends.push_back(static_cast<double>(i.value()));
  INGOT_REQUIRE(range.is_none() || ends.size() == 2 * dims, c.op.schema.name, ": range should have ", 2 * dims,
                " elements, but got ", ends.size());
  Edges edges(dims);
  for (std::size_t d = 0; d < dims; d++) {
    std::vector<double> column;
    for (std::size_t i = d; i < x.size(); i += dims) column.push_back(x[i]);
    const Range by_values = column.empty() ? Range{0, 1} : Range{};
    const Range r = value_range(c, column, ends.empty() ? by_values : Range{ends[2 * d], ends[2 * d + 1]}, 0.5);
    const auto n = static_cast<double>(bins[d].value());
    for (int64_t i = 0; i <= bins[d].value(); i++)
      edges[d].push_back(i == bins[d].value() ? r.hi : r.lo + (r.hi - r.lo) * static_cast<double>(i) / n);
  }
  return edges;
}
Edges given_edges(const TensorList& bins) {
  Edges edges;
  for (const Tensor& t : bins) edges.push_back(t.to_vector<double>());
  return edges;
}
// The last bin of a dim holds its right edge too; samples outside count nowhere.
void fill_histogram(const std::vector<double>& x, const Tensor& weight, bool density, const Edges& edges, const Tensor& result) {
  const std::size_t dims = edges.size(), samples = x.size() / dims;
  const std::vector<double> w = weight.defined() ? weight.to_vector<double>() : std::vector<double>(samples, 1.0);
  INGOT_REQUIRE(w.size() == samples, "histogram: expected one weight a sample (", samples, "), found ", w.size());
  std::vector<double> counts(static_cast<std::size_t>(result.numel().value()));
  double total = 0;
  for (std::size_t i = 0; i < samples; i++) {
    std::size_t at = 0;
    bool inside = true;
    for (std::size_t d = 0; inside && d < dims; d++) {
      const std::vector<double>& e = edges[d];
      const double v = x[i * dims + d];
      inside = v >= e.front() && v <= e.back();
      const auto bin =
          std::min<std::size_t>(static_cast<std::size_t>(std::upper_bound(e.begin(), e.end(), v) - e.begin()) - 1, e.size() - 2);
      at = at * (e.size() - 1) + bin;
    }
    if (!inside) continue;
    counts[at] += w[i];
    total += w[i];
  }
  if (density)
    for (std::size_t i = 0; i < counts.size(); i++) {
      double volume = 1;
      std::size_t rest = i;
      for (std::size_t d = dims; d-- > 0;) {
        const std::size_t bins = edges[d].size() - 1, bin = rest % bins;
        rest /= bins;
        volume *= edges[d][bin + 1] - edges[d][bin];
      }
      counts[i] /= total * volume;
    }
  store_row(Compute::f64, counts.data(), static_cast<int64_t>(counts.size()), result.dtype(), result.data_ptr(), 1);
}
void store_edges(const std::vector<double>& edges, const Tensor& to) {
  store_row(Compute::f64, edges.data(), static_cast<int64_t>(edges.size()), to.dtype(), to.data_ptr(), 1);
}

void histogram_count_kernel(const Call& c, std::span<const Tensor> r) {  // self, bins, range, weight, density
  const std::vector<double> x = c.tensor(0).to_vector<double>();
  const Edges edges = even_edges(c, x, Shape{c[1].to_int()}, c[2]);
  fill_histogram(x, c[3].tensor_or_none(), c[4].to_bool(), edges, r[0]);
  store_edges(edges[0], r[1]);
}
void histogram_edges_kernel(const Call& c, std::span<const Tensor> r) {  // self, bins, weight, density
  const Edges edges = given_edges({c.tensor(1)});
  fill_histogram(c.tensor(0).to_vector<double>(), c[2].tensor_or_none(), c[3].to_bool(), edges, r[0]);
  store_edges(edges[0], r[1]);
}

void check_samples(const Call& c, std::size_t dims) {
  require_floating(c);
  const Tensor& self = c.tensor(0);
  INGOT_REQUIRE(self.dim() >= 2 && self.size(-1) == static_cast<int64_t>(dims), c.op.schema.name,
                ": expected input to have at least 2 dimensions and ", dims, " elements in its innermost one, but got shape ",
                self.sizes());
}
void check_edges(const Call& c, const Tensor& t) {
  INGOT_REQUIRE(t.dim() == 1 && t.numel() > 1, c.op.schema.name,
                "(): bins tensor should have one dimension and at least 2 elements, but got ", t.sizes());
}
Value histogramdd(const Call& c) {  // self, bins, range, weight, density
  if (c[1].is_tensors()) return Values{aten<"_histogramdd_from_bin_tensors">(c[0], c[1], c[3], c[4]), c[1]};
  const Value bins =
      c[1].is_int() ? Value(Shape::filled(static_cast<std::size_t>(c.tensor(0).size(-1).value()), c[1].to_int())) : c[1];
  return Values{aten<"_histogramdd_from_bin_cts">(c[0], bins, c[2], c[3], c[4]),
                aten_value<"_histogramdd_bin_edges">(c[0], bins, c[2], c[3], c[4])};
}

using MetaRule = void (*)(const Call&, Outputs&);
using KernelRule = void (*)(const Call&, std::span<const Tensor>);
constexpr OpDef counting(std::string_view schema, MetaRule meta, KernelRule kernel) {
  return {.schema = schema, .meta = meta, .kernel = kernel};
}

constexpr OpDef kHistogramOps[] = {
    {.schema = "aten::histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor",
     .meta =
         [](const Call& c, Outputs& o) {
           require_floating(c);
           require_bins(c, c[1].to_int64());
           o.add(Shape{c[1].to_int()}, c.tensor(0).dtype());
         },
     .kernel = histc_kernel,
     .grad = {.none = true}},
    {.schema = "aten::bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor",
     .body = bincount,
     .batch = refuse_dynamic_shape},
    counting(
        "aten::histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor "
        "bin_edges)",
        [](const Call& c, Outputs& o) {
          require_floating(c);
          require_bins(c, c[1].to_int64());
          o.add(Shape{c[1].to_int()}, c.tensor(0).dtype());
          o.add(Shape{c[1].to_int() + 1}, c.tensor(0).dtype());
        },
        histogram_count_kernel),
    counting(
        "aten::histogram.bins_tensor(Tensor self, Tensor bins, *, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor bin_edges)",
        [](const Call& c, Outputs& o) {
          require_floating(c);
          check_edges(c, c.tensor(1));
          o.add(Shape{c.tensor(1).numel() - 1}, c.tensor(0).dtype());
          o.add(Shape{c.tensor(1).numel()}, c.tensor(0).dtype());
        },
        histogram_edges_kernel),
    counting(
        "aten::_histogramdd_bin_edges(Tensor self, int[] bins, *, float[]? range=None, Tensor? weight=None, bool density=False) -> Tensor[]",
        [](const Call& c, Outputs& o) {
          check_samples(c, c[1].ints().size());
          for (Int b : c[1].ints()) require_bins(c, b.value()), o.add(Shape{b + 1}, c.tensor(0).dtype());
        },
        [](const Call& c, std::span<const Tensor> r) {
          const Edges edges = even_edges(c, c.tensor(0).to_vector<double>(), c[1].ints(), c[2]);
          for (std::size_t d = 0; d < edges.size(); d++) store_edges(edges[d], r[d]);
        }),
    counting(
        "aten::_histogramdd_from_bin_cts(Tensor self, int[] bins, *, float[]? range=None, Tensor? weight=None, bool density=False) -> Tensor",
        [](const Call& c, Outputs& o) {
          check_samples(c, c[1].ints().size());
          for (Int b : c[1].ints()) require_bins(c, b.value());
          o.add(c[1].ints(), c.tensor(0).dtype());
        },
        [](const Call& c, std::span<const Tensor> r) {
          const std::vector<double> x = c.tensor(0).to_vector<double>();
          fill_histogram(x, c[3].tensor_or_none(), c[4].to_bool(), even_edges(c, x, c[1].ints(), c[2]), r[0]);
        }),
    counting(
        "aten::_histogramdd_from_bin_tensors(Tensor self, Tensor[] bins, *, Tensor? weight=None, bool density=False) -> Tensor",
        [](const Call& c, Outputs& o) {
          check_samples(c, c[1].tensors().size());
          Shape sizes;
          for (const Tensor& t : c[1].tensors()) check_edges(c, t), sizes.push_back(t.numel() - 1);
          o.add(sizes, c.tensor(0).dtype());
        },
        [](const Call& c, std::span<const Tensor> r) {
          fill_histogram(c.tensor(0).to_vector<double>(), c[2].tensor_or_none(), c[3].to_bool(), given_edges(c[1].tensors()),
                         r[0]);
        }),
    {.schema =
         "aten::histogramdd(Tensor self, int[] bins, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor[] bin_edges)",
     .form = Form::composite,
     .body = histogramdd},
    {.schema =
         "aten::histogramdd.int_bins(Tensor self, int bins, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor[] "
         "bin_edges)",
     .form = Form::composite,
     .body = histogramdd},
    {.schema =
         "aten::histogramdd.TensorList_bins(Tensor self, Tensor[] bins, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, "
         "Tensor[] bin_edges)",
     .form = Form::composite,
     .body = histogramdd},
};

}  // namespace

INGOT_FAMILY(histogram, kHistogramOps)

}  // namespace ingot
