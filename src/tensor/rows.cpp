#include "tensor/rows.hpp"

#include <algorithm>
#include <complex>
#include <cstring>
#include <numeric>

#include "base/error.hpp"
#include "base/float_to_int.hpp"
#include "base/half.hpp"
#include "base/parallel.hpp"
#include "tensor/device_elements.hpp"

namespace ingot {
namespace {

using C64 = std::complex<float>;
using C128 = std::complex<double>;

// An element as the value it stands for.
template <class T> T decode(T v) { return v; }
inline float decode(Half v) { return to_float(v); }
inline float decode(BFloat16 v) { return to_float(v); }
inline float decode(Float8E4M3FN v) { return to_float(v); }
inline float decode(Float8E5M2 v) { return to_float(v); }

template <class To, class From>
To convert(From v) {
  constexpr bool from_complex = std::is_same_v<From, C64> || std::is_same_v<From, C128>;
  if constexpr (std::is_same_v<To, bool>) return v != From(0);
  else if constexpr (std::is_same_v<To, C64> || std::is_same_v<To, C128>) {
    using R = typename To::value_type;
    if constexpr (from_complex) return To(static_cast<R>(v.real()), static_cast<R>(v.imag()));
    else return To(static_cast<R>(v), R(0));
  } else if constexpr (from_complex) return convert<To>(v.real());
  else if constexpr (std::is_same_v<To, Half>) return to_half(static_cast<float>(v));
  else if constexpr (std::is_same_v<To, BFloat16>) return to_bfloat16(static_cast<float>(v));
  else if constexpr (std::is_same_v<To, Float8E4M3FN>) return to_float8_e4m3fn(static_cast<float>(v));
  else if constexpr (std::is_same_v<To, Float8E5M2>) return to_float8_e5m2(static_cast<float>(v));
  else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) return float_to_int<To>(v);
  else return static_cast<To>(v);
}

template <class F>
void with_dtype(DType t, const F& f) {
  switch (t) {
    case DType::u8: return f(uint8_t{});
    case DType::i8: return f(int8_t{});
    case DType::i16: return f(int16_t{});
    case DType::i32: return f(int32_t{});
    case DType::i64: return f(int64_t{});
    case DType::u16: return f(uint16_t{});
    case DType::u32: return f(uint32_t{});
    case DType::u64: return f(uint64_t{});
    case DType::f16: return f(Half{});
    case DType::bf16: return f(BFloat16{});
    case DType::f8e4m3fn: return f(Float8E4M3FN{});
    case DType::f8e5m2: return f(Float8E5M2{});
    case DType::f32: return f(float{});
    case DType::f64: return f(double{});
    case DType::c64: return f(C64{});
    case DType::c128: return f(C128{});
    case DType::b8: return f(bool{});
  }
}
template <class F>
void with_compute(Compute c, const F& f) {
  switch (c) {
    case Compute::f32: return f(float{});
    case Compute::f64: return f(double{});
    case Compute::i64: return f(int64_t{});
    case Compute::b8: return f(bool{});
    case Compute::c128: return f(C128{});
  }
}

}  // namespace

void load_row(DType from, const void* src, int64_t stride, int64_t n, Compute to, void* dst) {
  with_dtype(from, [&]<class S>(S) {
    with_compute(to, [&]<class D>(D) {
      auto* s = static_cast<const S*>(src);
      auto* d = static_cast<D*>(dst);
      if (stride == 1)
        for (int64_t i = 0; i < n; i++) d[i] = convert<D>(decode(s[i]));
      else
        for (int64_t i = 0; i < n; i++) d[i] = convert<D>(decode(s[i * stride]));
    });
  });
}

void store_row(Compute from, const void* src, int64_t n, DType to, void* dst, int64_t stride) {
  with_compute(from, [&]<class S>(S) {
    with_dtype(to, [&]<class D>(D) {
      auto* s = static_cast<const S*>(src);
      auto* d = static_cast<D*>(dst);
      if (stride == 1)
        for (int64_t i = 0; i < n; i++) d[i] = convert<D>(s[i]);
      else
        for (int64_t i = 0; i < n; i++) d[i * stride] = convert<D>(s[i]);
    });
  });
}

Walked walked(const Tensor& t, const std::vector<int64_t>& sizes) {
  const TensorImpl& m = *t.impl();
  if (!is_on_cpu(t)) [[unlikely]]
    refuse_elements_of_device(m.device());
  Walked w{m.bytes(), std::vector<int64_t>(sizes.size(), 0), m.element_size()};
  const std::size_t lead = sizes.size() - m.geom.sizes.size();
  for (std::size_t i = 0; i < m.geom.sizes.size(); i++)
    if (m.geom.sizes[i].number() != 1) w.strides[lead + i] = m.geom.strides[i].number();
  return w;
}

void walk_rows(std::vector<int64_t> sizes, std::vector<Walked> ops, bool parallel, RowFn row, void* ctx) {
  for (int64_t s : sizes)
    if (s == 0) return;
  // Drop size-1 dims, order the rest so that the first operand's smallest stride is innermost, then
  // merge neighbours.
  std::vector<std::size_t> order;
  for (std::size_t d = 0; d < sizes.size(); d++)
    if (sizes[d] != 1) order.push_back(d);
  auto before = [&](std::size_t a, std::size_t b) {  // a is further out than b
    for (const Walked& w : ops) {
      const int64_t x = std::abs(w.strides[a]), y = std::abs(w.strides[b]);
      if (x && y && x != y) return x > y;
    }
    return a < b;
  };
  // Insertion sort: `before` is not a strict weak order when strides are 0, and ranks are small.
  for (std::size_t i = 1; i < order.size(); i++)
    for (std::size_t j = i; j > 0 && before(order[j], order[j - 1]); j--) std::swap(order[j], order[j - 1]);
  std::vector<int64_t> dims;
  std::vector<std::vector<int64_t>> strides;  // [dim][operand]
  for (std::size_t d : order) {
    std::vector<int64_t> s;
    for (const Walked& w : ops) s.push_back(w.strides[d]);
    if (!dims.empty()) {
      bool merge = true;
      for (std::size_t k = 0; k < ops.size(); k++) merge &= strides.back()[k] == s[k] * sizes[d];
      if (merge) {
        dims.back() *= sizes[d];
        strides.back() = s;
        continue;
      }
    }
    dims.push_back(sizes[d]);
    strides.push_back(std::move(s));
  }
  std::vector<char*> base;
  for (const Walked& w : ops) base.push_back(w.data);
  if (dims.empty()) {
    const std::vector<int64_t> none(ops.size(), 0);
    return row(ctx, base.data(), none.data(), 1);
  }
  const int64_t inner = dims.back();
  const std::vector<int64_t> inner_strides = strides.back();
  dims.pop_back();
  strides.pop_back();
  int64_t outer = 1;
  for (int64_t d : dims) outer *= d;

  constexpr int64_t kElementsPerThread = 1 << 15;
  auto run_outer = [&](int64_t begin, int64_t end) {
    std::vector<int64_t> at(dims.size());
    std::vector<char*> p = base;
    int64_t rest = begin;
    for (std::size_t d = dims.size(); d-- > 0;) {
      at[d] = rest % dims[d];
      rest /= dims[d];
      for (std::size_t k = 0; k < p.size(); k++) p[k] += at[d] * strides[d][k] * ops[k].itemsize;
    }
    for (int64_t i = begin; i < end; i++) {
      row(ctx, p.data(), inner_strides.data(), inner);
      for (std::size_t d = dims.size(); d-- > 0;) {
        for (std::size_t k = 0; k < p.size(); k++) p[k] += strides[d][k] * ops[k].itemsize;
        if (++at[d] < dims[d]) break;
        for (std::size_t k = 0; k < p.size(); k++) p[k] -= dims[d] * strides[d][k] * ops[k].itemsize;
        at[d] = 0;
      }
    }
  };
  if (!parallel || outer * inner <= kElementsPerThread) return run_outer(0, outer);
  if (outer == 1)
    return parallel_for(0, inner, kElementsPerThread, [&](int64_t b, int64_t e) {
      std::vector<char*> p = base;
      for (std::size_t k = 0; k < p.size(); k++) p[k] += b * inner_strides[k] * ops[k].itemsize;
      row(ctx, p.data(), inner_strides.data(), e - b);
    });
  parallel_for(0, outer, std::max<int64_t>(1, kElementsPerThread / inner), run_outer);
}

namespace {
constexpr int64_t kChunk = 512;
}

void copy_elements(const Tensor& dst, const Tensor& src) {
  if (!is_on_cpu(dst) || !is_on_cpu(src)) [[unlikely]]
    return copy_elements_between_devices(dst, src);
  const std::vector<int64_t> sizes = dst.sizes().values();
  const DType from = src.dtype(), to = dst.dtype();
  const int64_t bytes = size_of(to);
  const Compute through = compute_type(from);
  walk_rows(sizes, {walked(dst, sizes), walked(src, sizes)}, true, [&](char* const* p, const int64_t* s, int64_t n) {
    if (from == to && s[0] == 1 && s[1] == 1) {
      std::memmove(p[0], p[1], static_cast<std::size_t>(n * bytes));
      return;
    }
    if (from == to) {
      auto move = [&]<class T>(T) {
        auto* d = reinterpret_cast<T*>(p[0]);
        auto* x = reinterpret_cast<const T*>(p[1]);
        for (int64_t i = 0; i < n; i++) d[i * s[0]] = x[i * s[1]];
      };
      if (bytes == 1) move(uint8_t{});
      else if (bytes == 2) move(uint16_t{});
      else if (bytes == 4) move(uint32_t{});
      else if (bytes == 8) move(uint64_t{});
      else move(C128{});
      return;
    }
    alignas(16) char buffer[kChunk * 16];
    for (int64_t b = 0; b < n; b += kChunk) {
      const int64_t m = std::min(kChunk, n - b);
      load_row(from, p[1] + b * s[1] * size_of(from), s[1], m, through, buffer);
      store_row(through, buffer, m, to, p[0] + b * s[0] * bytes, s[0]);
    }
  });
}

void fill_elements(const Tensor& dst, const Scalar& value) {
  const std::vector<int64_t> sizes = dst.sizes().values();
  const DType to = dst.dtype();
  alignas(16) char one[16];
  auto put = [&]<class S>(Compute c, S v) { store_row(c, &v, 1, to, one, 1); };
  if (value.is_complex()) put(Compute::c128, value.to_complex());
  else if (value.is_float()) put(Compute::f64, value.to_double());
  else put(Compute::i64, value.to_int().value());
  if (!is_on_cpu(dst)) [[unlikely]]
    return fill_elements_on_device(dst, value, one);
  const int64_t bytes = size_of(to);
  walk_rows(sizes, {walked(dst, sizes)}, true, [&](char* const* p, const int64_t* s, int64_t n) {
    for (int64_t i = 0; i < n; i++) std::memcpy(p[0] + i * s[0] * bytes, one, static_cast<std::size_t>(bytes));
  });
}

}  // namespace ingot
