#include "ops/index/indexing.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "base/half.hpp"
#include "ops/common/dense.hpp"
#include "ops/pointwise/scalar_math.hpp"
#include "tensor/geometry.hpp"

namespace ingot {
namespace {

constexpr int64_t kChunk = 256;

// The element a part's index value adds.
int64_t offset_of(const Indexing::Part& p, bool wraps, int64_t value) {
  const int64_t i = wraps && value < 0 ? value + p.size : value;
  INGOT_REQUIRE_INDEX(i >= 0 && i < p.size, "index ", value, " is out of bounds for dimension ", p.dim, " with size ", p.size);
  return i * p.stride;
}

// A walk's operands: the caller's, then the index tensors.
std::vector<Walked> with_parts(std::vector<Walked> operands, const Indexing& ix) {
  for (const Indexing::Part& p : ix.parts) operands.push_back({p.index->bytes(), p.walk, p.index->element_size()});
  return operands;
}
Walked base_walk(const Indexing& ix, const Tensor& base) { return {base->bytes(), ix.base_strides, base->element_size()}; }

// What the index tensors add to the places of n points of a row from `begin` on. `data` and
// `stride` are those of the parts. Returns 0 if one offset holds for all of them, else the distance
// of their offsets, 1.
int64_t row_offsets(const Indexing& ix, char* const* data, const int64_t* stride, int64_t begin, int64_t n, int64_t* offsets) {
  bool uniform = true;
  for (std::size_t k = 0; k < ix.parts.size(); k++) uniform &= stride[k] == 0;
  const int64_t count = uniform ? 1 : n;
  std::fill_n(offsets, count, 0);
  for (std::size_t k = 0; k < ix.parts.size(); k++) {
    const auto* index = reinterpret_cast<const int64_t*>(data[k]) + begin * stride[k];
    for (int64_t i = 0; i < count; i++) offsets[i] += offset_of(ix.parts[k], ix.wraps, index[i * stride[k]]);
  }
  return uniform ? 0 : 1;
}

template <class T, class F>
void write_points(const Indexing& ix, const Tensor& base, const Tensor& source, const F& combine) {
  // Points are visited in row-major order whatever the layouts: where several write one element the
  // last one wins, and sums of floats are always taken in the same order. The first operand is that
  // order; it has no bytes.
  Walked order{base->bytes(), std::vector<int64_t>(ix.sizes.size()), 0};
  int64_t next = 1;
  for (std::size_t d = ix.sizes.size(); d-- > 0; next *= ix.sizes[d]) order.strides[d] = next;
  walk_rows(ix.sizes, with_parts({order, walked(source, ix.sizes), base_walk(ix, base)}, ix), false,
            [&](char* const* data, const int64_t* stride, int64_t n) {
              int64_t offsets[kChunk];
              for (int64_t b = 0; b < n; b += kChunk) {
                const int64_t m = std::min(kChunk, n - b), step = row_offsets(ix, data + 3, stride + 3, b, m, offsets);
                const T* from = reinterpret_cast<const T*>(data[1]) + b * stride[1];
                T* to = reinterpret_cast<T*>(data[2]) + b * stride[2];
                for (int64_t i = 0; i < m; i++) combine(to[i * stride[2] + offsets[i * step]], from[i * stride[1]]);
              }
            });
}

}  // namespace

Indexing index_elements(const Tensor& base, int64_t dim, const Tensor& index) {
  const int d = wrap_dim(dim, static_cast<int>(base.dim()));
  const bool scalar = base.dim() == 0;
  Indexing ix;
  ix.sizes = at_least_1d(index.sizes()).values();
  ix.base_strides = scalar ? std::vector<int64_t>{0} : base.strides().values();
  const Tensor at = dense(index, DType::i64);
  std::vector<int64_t> walk = index.dim() == 0 ? std::vector<int64_t>{0} : at.strides().values();
  ix.parts.push_back({at, std::move(walk), scalar ? 1 : base.size(d).number(), ix.base_strides[static_cast<std::size_t>(d)], d});
  ix.base_strides[static_cast<std::size_t>(d)] = 0;
  return ix;
}

Indexing index_slices(const Tensor& base, int64_t dim, const Tensor& index) {
  const int d = wrap_dim(dim, static_cast<int>(base.dim()));
  const bool scalar = base.dim() == 0;
  Indexing ix;
  ix.sizes = at_least_1d(base.sizes()).values();
  ix.base_strides = scalar ? std::vector<int64_t>{0} : base.strides().values();
  const Tensor at = dense(index, DType::i64);
  std::vector<int64_t> walk(ix.sizes.size());
  walk[static_cast<std::size_t>(d)] = 1;
  ix.sizes[static_cast<std::size_t>(d)] = at.numel().number();
  ix.parts.push_back({at, std::move(walk), scalar ? 1 : base.size(d).number(), ix.base_strides[static_cast<std::size_t>(d)], d});
  ix.base_strides[static_cast<std::size_t>(d)] = 0;
  return ix;
}

Indexing index_flat(const Tensor& base, const Tensor& index) {
  Indexing ix;
  ix.sizes = {index.numel().number()};
  ix.base_strides = {0};
  ix.parts.push_back({dense(index, DType::i64), {1}, base.numel().number(), 1, 0});
  ix.wraps = true;
  return ix;
}

void require_in_bounds(const Indexing& ix) {
  for (const Indexing::Part& p : ix.parts) {
    const Tensor index = dense(p.index, DType::i64);
    for (int64_t i = 0, n = index.numel().number(); i < n; i++) offset_of(p, ix.wraps, index.data<int64_t>()[i]);
  }
}

void read_indexed(const Indexing& ix, const Tensor& base, const Tensor& out) {
  const int64_t bytes = base->element_size();
  on_bytes(bytes, [&]<class T>(T) {
    walk_rows(ix.sizes, with_parts({walked(out, ix.sizes), base_walk(ix, base)}, ix), true,
              [&](char* const* data, const int64_t* stride, int64_t n) {
                int64_t offsets[kChunk];
                for (int64_t b = 0, m; b < n; b += m) {
                  m = std::min(kChunk, n - b);
                  const int64_t step = row_offsets(ix, data + 2, stride + 2, b, m, offsets);
                  if (step == 0) m = n - b;  // one offset for the whole row
                  T* to = reinterpret_cast<T*>(data[0]) + b * stride[0];
                  const T* from = reinterpret_cast<const T*>(data[1]) + b * stride[1];
                  if (step == 0 && stride[0] == 1 && stride[1] == 1)
                    std::memcpy(to, from + offsets[0], static_cast<std::size_t>(m) * sizeof(T));
                  else
                    for (int64_t i = 0; i < m; i++) to[i * stride[0]] = from[i * stride[1] + offsets[i * step]];
                }
              });
  });
}

Combine combine_of(std::string_view reduce, std::string_view op) {
  if (reduce == "sum" || reduce == "add" || reduce == "mean") return Combine::add;
  if (reduce == "prod" || reduce == "multiply") return Combine::multiply;
  if (reduce == "amax") return Combine::maximum;
  if (reduce == "amin") return Combine::minimum;
  throw_user_error(text(op, "(): reduce argument must be one of sum, prod, mean, amax, amin (add, multiply for scatter), found '",
                        reduce, "'"));
}

void write_indexed(const Indexing& ix, const Tensor& base, const Tensor& source, Combine combine) {
  INGOT_ENSURE(base.dtype() == source.dtype(), "a ", source.dtype(), " source for a ", base.dtype(), " base");
  if (combine == Combine::assign)
    return on_bytes(base->element_size(),
                    [&]<class T>(T) { write_points<T>(ix, base, source, [](T& to, const T& x) { to = x; }); });
  on_compute_dtype(base.dtype(), [&]<class T>(T) {
    switch (combine) {
      case Combine::assign: break;
      case Combine::add:
        if constexpr (std::is_same_v<T, bool>) write_points<T>(ix, base, source, [](T& to, T x) { to = to || x; });
        else if constexpr (std::is_same_v<T, int64_t>)  // wraps
          write_points<T>(ix, base, source,
                          [](T& to, T x) { to = static_cast<T>(static_cast<uint64_t>(to) + static_cast<uint64_t>(x)); });
        else write_points<T>(ix, base, source, [](T& to, T x) { to += x; });
        break;
      case Combine::multiply:
        if constexpr (std::is_same_v<T, bool>) write_points<T>(ix, base, source, [](T& to, T x) { to = to && x; });
        else if constexpr (std::is_same_v<T, int64_t>)
          write_points<T>(ix, base, source,
                          [](T& to, T x) { to = static_cast<T>(static_cast<uint64_t>(to) * static_cast<uint64_t>(x)); });
        else write_points<T>(ix, base, source, [](T& to, T x) { to *= x; });
        break;
      case Combine::maximum:
      case Combine::minimum:
        if constexpr (std::is_same_v<T, std::complex<double>>)
          throw_user_error("amax and amin are not defined for complex numbers");
        else if (combine == Combine::maximum) write_points<T>(ix, base, source, [](T& to, T x) { to = max(to, x); });
        else write_points<T>(ix, base, source, [](T& to, T x) { to = min(to, x); });
        break;
    }
  });
}

DType compute_dtype(DType t) {
  switch (compute_type(t)) {
    case Compute::f32: return DType::f32;
    case Compute::f64: return DType::f64;
    case Compute::i64: return DType::i64;
    case Compute::b8: return DType::b8;
    case Compute::c128: return DType::c128;
  }
  return t;
}

namespace {

// The neutral element of a combination, and 0-dim tensors of one number.
Tensor number_tensor(DType dtype, const Scalar& v) {
  Tensor t = make_tensor(Geometry::contiguous({}, dtype));
  fill_elements(t, v);
  return t;
}
Scalar neutral(Combine combine, DType dtype) {
  if (combine == Combine::multiply) return 1;
  if (combine == Combine::add || combine == Combine::assign) return 0;
  const bool largest = combine == Combine::minimum;
  if (dtype == DType::b8) return largest;
  if (dtype == DType::i64) return largest ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
  return largest ? HUGE_VAL : -HUGE_VAL;
}

// Adds with every sum rounded to `t`. False: sums of the buffer's dtype are that already.
bool add_rounded(const Indexing& ix, const Tensor& base, const Tensor& source, DType t) {
  switch (t) {
    case DType::bf16:
      write_points<float>(ix, base, source, [](float& to, float x) { to = to_float(to_bfloat16(to + x)); });
      return true;
    case DType::f16:
      write_points<float>(ix, base, source, [](float& to, float x) { to = to_float(to_half(to + x)); });
      return true;
    case DType::c64:
      write_points<std::complex<double>>(ix, base, source, [](std::complex<double>& to, std::complex<double> x) {
        to = std::complex<double>(std::complex<float>(to + x));
      });
      return true;
    default: return false;
  }
}

// x /= how many elements went into it, rounded down for integers.
void divide_by_counts(const Tensor& x, const Tensor& counts) {
  const int64_t* n = counts.data<int64_t>();
  on_compute_dtype(x.dtype(), [&]<class T>(T) {
    T* p = x.data<T>();
    for (int64_t i = 0, size = x.numel().number(); i < size; i++) {
      if (n[i] <= 1) continue;
      if constexpr (std::is_same_v<T, int64_t>) p[i] = p[i] / n[i] - (p[i] % n[i] < 0);
      else if constexpr (!std::is_same_v<T, bool>)
        p[i] /= static_cast<std::conditional_t<std::is_same_v<T, float>, float, double>>(n[i]);
    }
  });
}

}  // namespace

void reduce_indexed(const Tensor& result, const Tensor& self, const Tensor& source, std::string_view reduce, bool include_self,
                    const std::function<Indexing(const Tensor&)>& index) {
  const Combine combine = combine_of(reduce, "scatter_reduce");
  const DType compute = compute_dtype(result.dtype());
  const DenseResult work(result, compute);
  copy_elements(work.buffer(), self);
  const Indexing ix = index(work.buffer());
  if (!include_self) write_indexed(ix, work.buffer(), number_tensor(compute, neutral(combine, compute)), Combine::assign);
  write_indexed(ix, work.buffer(), dense(source, compute), combine);
  if (reduce == "mean") {
    const Tensor counts = make_tensor(Geometry::contiguous(result.sizes(), DType::i64));
    fill_elements(counts, include_self ? 1 : 0);
    write_indexed(ix, counts, number_tensor(DType::i64, 1), Combine::add);
    divide_by_counts(work.buffer(), counts);
  }
  work.finish();
}

void combine_indexed(const Tensor& result, const Tensor& self, const Value& source, Combine combine,
                     const std::function<Indexing(const Tensor&)>& index, SumsAre sums) {
  const DType compute = combine == Combine::assign ? result.dtype() : compute_dtype(result.dtype());
  const DenseResult work(result, compute);
  copy_elements(work.buffer(), self);
  const Tensor from = source.is_tensor() ? dense(source.tensor(), compute) : number_tensor(compute, source.to_scalar());
  const Indexing ix = index(work.buffer());
  if (combine != Combine::add || sums == SumsAre::wide || !add_rounded(ix, work.buffer(), from, result.dtype()))
    write_indexed(ix, work.buffer(), from, combine);
  work.finish();
}

void require_index_dtype(std::string_view op, const Tensor& index) {
  INGOT_REQUIRE(index.dtype() == DType::i64 || index.dtype() == DType::i32, op,
                "(): Expected dtype int32/int64 for index, but got ", index.dtype());
}

}  // namespace ingot
