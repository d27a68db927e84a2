// Reductions of consecutive segments of one axis, given by their lengths or by their offsets.
#include <cmath>
#include <limits>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "ingot/op/vjp.hpp"
#include "ops/family.hpp"
#include "ops/common/kept_small.hpp"
#include "tensor/geometry.hpp"
#include "tensor/rows.hpp"

namespace ingot {
namespace {

enum class Kind : uint8_t { sum, mean, max, min, prod };
Kind kind_of(const std::string& name) {
  const char* names[] = {"sum", "mean", "max", "min", "prod"};
  for (int k = 0; k < 5; k++)
    if (name == names[k]) return static_cast<Kind>(k);
  throw_user_error(text("segment_reduce(): reduce must be one of sum, mean, max, min, prod, found ", name));
}

// Data is outer x length x inner, results outer x segments x inner.
struct Segments {
  int64_t outer = 1, length = 1, inner = 1, count = 0;
  std::vector<int64_t> starts;  // outer x (count + 1)

  // `given`: the lengths or offsets argument. `whole`: lengths have to reach to the end.
  Segments(const Tensor& data, const Tensor& given, bool offsets, int axis, bool whole) {
    const std::vector<int64_t> s = data.sizes().values(), numbers = given.to_vector<int64_t>();
    for (int d = 0; d < static_cast<int>(s.size()); d++)
      (d < axis ? outer : d == axis ? length : inner) *= s[static_cast<std::size_t>(d)];
    const int64_t columns = given.size(-1).value();
    count = offsets ? columns - 1 : columns;
    for (int64_t o = 0; o < outer; o++) {
      int64_t at = 0;
      for (int64_t k = 0; k <= count; k++) {
        if (offsets) at = numbers[static_cast<std::size_t>(o * columns + k)];
        const int64_t before = k == 0 ? 0 : starts.back();
        INGOT_REQUIRE(at >= before && at <= length, "segment_reduce(): segments must lie in [0, ", length,
                      ") one after the other, found one that ends at ", at);
        starts.push_back(at);
        if (!offsets && k < count) {
          const int64_t n = numbers[static_cast<std::size_t>(o * columns + k)];
          INGOT_REQUIRE(n >= 0, "segment_reduce(): lengths contains negative value!");
          at += n;
        }
      }
      INGOT_REQUIRE(offsets || !whole || starts.back() == length,
                    "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when "
                    "!unsafe.");
    }
  }
  // f(index of the result, first element, one past the last, distance of elements)
  template <class F>
  void each(const F& f) const {
    for (int64_t o = 0; o < outer; o++)
      for (int64_t k = 0; k < count; k++) {
        const auto at = static_cast<std::size_t>(o * (count + 1) + k);
        for (int64_t i = 0; i < inner; i++)
          f(static_cast<std::size_t>((o * count + k) * inner + i),
            static_cast<std::size_t>((o * length + starts[at]) * inner + i),
            static_cast<std::size_t>((o * length + starts[at + 1]) * inner + i), static_cast<std::size_t>(inner));
      }
  }
};

double identity(Kind kind) {
  switch (kind) {
    case Kind::max: return -std::numeric_limits<double>::infinity();
    case Kind::min: return std::numeric_limits<double>::infinity();
    case Kind::prod: return 1;
    default: return 0;
  }
}

// data, reduce, lengths, indices, offsets, axis, unsafe, initial
void segment_meta(const Call& c, Outputs& o) {
  const Tensor& data = c.tensor(0);
  kind_of(c[1].string());
  INGOT_REQUIRE(c[3].is_none(), "segment_reduce(): indices based reduction is not supported yet.");
  INGOT_REQUIRE(c[2].is_tensor() || c[4].is_tensor(), "segment_reduce(): Either lengths or offsets must be defined.");
  INGOT_REQUIRE(data.is_floating_point(), "\"segment_reduce\" not implemented for '", scalar_type_name(data.dtype()), "'");
  const bool offsets = !c[2].is_tensor();
  const Tensor& given = c.tensor(offsets ? 4 : 2);
  const int axis = wrap_dim(c[5].to_int64(), static_cast<int>(data.dim()));
  INGOT_REQUIRE(given.dim() == axis + 1,
                "segment_reduce(): Expected axis to be the last dimension of lengths or offsets but got axis ", axis,
                " and shape ", given.sizes());
  Shape sizes = data.sizes();
  for (int i = 0; i < axis; i++)
    INGOT_REQUIRE(given.sizes()[static_cast<std::size_t>(i)] == sizes[static_cast<std::size_t>(i)],
                  "segment_reduce(): lengths or offsets of shape ", given.sizes(), " do not fit data of shape ", sizes);
  sizes[static_cast<std::size_t>(axis)] = offsets ? given.size(-1) - 1 : given.size(-1);
  o.add(sizes, data.dtype());
}
void segment_kernel(const Call& c, std::span<const Tensor> r) {
  const Kind kind = kind_of(c[1].string());
  const bool offsets = !c[2].is_tensor();
  const Segments s(c.tensor(0), c.tensor(offsets ? 4 : 2), offsets,
                   wrap_dim(c[5].to_int64(), static_cast<int>(c.tensor(0).dim())), !c[6].to_bool());
  const DType dtype = r[0].dtype();
  const std::vector<double> x = c.tensor(0).to_vector<double>();
  std::vector<double> out(static_cast<std::size_t>(s.outer * s.count * s.inner));
  s.each([&](std::size_t result, std::size_t begin, std::size_t end, std::size_t step) {
    double a = rounded_number(c[7].double_or(identity(kind)), dtype);
    for (std::size_t i = begin; i < end; i += step) {
      if (kind == Kind::max) a = x[i] != x[i] || x[i] > a ? x[i] : a;
      else if (kind == Kind::min) a = x[i] != x[i] || x[i] < a ? x[i] : a;
      else if (kind == Kind::prod) a *= x[i];
      else a += x[i];
      a = rounded_number(a, dtype);  // PyTorch keeps half sums and products half
    }
    if (kind == Kind::mean) {
      if (begin == end) a = c[7].is_none() ? std::nan("") : a;
      else a /= static_cast<double>((end - begin) / step);
    }
    out[result] = a;
  });
  store_row(Compute::f64, out.data(), static_cast<int64_t>(out.size()), r[0].dtype(), r[0].data_ptr(), 1);
}

// grad, output, data, reduce, lengths, offsets, axis, initial
void segment_backward_kernel(const Call& c, std::span<const Tensor> r) {
  const Kind kind = kind_of(c[3].string());
  const bool offsets = !c[4].is_tensor();
  const Segments s(c.tensor(2), c.tensor(offsets ? 5 : 4), offsets,
                   wrap_dim(c[6].to_int64(), static_cast<int>(c.tensor(2).dim())), false);
  const std::vector<double> grad = c.tensor(0).to_vector<double>(), output = c.tensor(1).to_vector<double>(),
                            x = c.tensor(2).to_vector<double>();
  std::vector<double> out(x.size());
  s.each([&](std::size_t result, std::size_t begin, std::size_t end, std::size_t step) {
    const double g = grad[result], y = output[result];
    auto chosen = [&](std::size_t i) { return x[i] != x[i] || x[i] == y; };
    double share = 0;
    if (kind == Kind::max || kind == Kind::min)
      for (std::size_t i = begin; i < end; i += step) share += chosen(i);
    for (std::size_t i = begin; i < end; i += step) {
      if (kind == Kind::sum) out[i] = g;
      else if (kind == Kind::mean) out[i] = g / static_cast<double>((end - begin) / step);
      else if (kind == Kind::prod) {
        double others = c[7].double_or(1);  // not y / x: x may be zero
        for (std::size_t j = begin; j < end; j += step)
          if (j != i) others *= x[j];
        out[i] = g * others;
      } else if (chosen(i)) out[i] = g / share;
    }
  });
  store_row(Compute::f64, out.data(), static_cast<int64_t>(out.size()), r[0].dtype(), r[0].data_ptr(), 1);
}

constexpr OpDef kSegmentReduceOps[] = {
    {.schema =
         "aten::segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, Tensor? offsets=None, int axis=0, bool "
         "unsafe=False, Scalar? initial=None) -> Tensor",
     .meta = segment_meta,
     .kernel = segment_kernel,
     .vjp =
         [](Vjp& v) {
           v.set(0, aten<"_segment_reduce_backward">(v.grad(), v.result(), v.saved(0), v.arg(1), v.saved(2), v.saved(4), v.arg(5),
                                                     v.arg(7)));
         },
     .saves = {{0}, {2}, {4}, {kResult}}},
    {.schema =
         "aten::_segment_reduce_backward(Tensor grad, Tensor output, Tensor data, str reduce, *, Tensor? lengths=None, Tensor? offsets=None, int axis=0, "
         "Scalar? initial=None) -> Tensor",
     .meta =
         [](const Call& c, Outputs& o) {
           INGOT_REQUIRE(c.tensor(0).sizes() == c.tensor(1).sizes(), "_segment_reduce_backward: grad ", c.tensor(0).sizes(),
                         " and output ", c.tensor(1).sizes(), " must have the same shape");
           INGOT_REQUIRE(c[4].is_tensor() || c[5].is_tensor(),
                         "_segment_reduce_backward: Either lengths or offsets must be defined.");
           o.add(c.tensor(2).sizes(), c.tensor(2).dtype());
         },
     .kernel = segment_backward_kernel},
};

}  // namespace

INGOT_FAMILY(segment_reduce, kSegmentReduceOps)

}  // namespace ingot
