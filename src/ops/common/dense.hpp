// Contiguous buffers for the kernels of src/kernels, which know raw memory only. A buffer is a Tensor of the dtype the
// kernel computes in. Everything here is for eager kernels: tensors have bytes and plain sizes.
#pragma once
#include <cstdlib>
#include <memory>
#include <new>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "tensor/impl.hpp"
#include "tensor/rows.hpp"

namespace ingot {

// The dtype raw kernels compute in: float for everything smaller, int64 for integers and bool, others as they are.
constexpr DType kernel_dtype(DType t) {
  if (is_reduced_floating(t)) return DType::f32;
  return is_floating(t) || is_complex(t) ? t : DType::i64;
}

// t itself if it is contiguous and of `dtype`, else a copy that is.
inline Tensor dense(const Tensor& t, DType dtype) {
  if (t.dtype() == dtype && t.is_contiguous()) return t;
  Tensor r = make_tensor(Geometry::contiguous(t.sizes(), dtype), t.device());
  copy_elements(r, t);
  return r;
}

// The same with t broadcast to `sizes`.
inline Tensor dense(const Tensor& t, DType dtype, const Shape& sizes) {
  if (t.sizes().same(sizes)) return dense(t, dtype);
  Tensor r = make_tensor(Geometry::contiguous(sizes, dtype), t.device());
  copy_elements(r, t);
  return r;
}

// The real (0) or imaginary (1) parts of a complex tensor, as a view.
inline Tensor component(const Tensor& t, int k) {
  Geometry g = t->geom;
  g.dtype = real_of(g.dtype);
  for (Int& s : g.strides) s = s * 2;
  g.offset = g.offset * 2 + k;
  return make_alias(t, std::move(g));
}

// Where a kernel writes a result: the result itself if it is contiguous and of `dtype`, else a buffer that `finish`
// converts into it.
class DenseResult {
 public:
  DenseResult(const Tensor& result, DType dtype)
      : result_(result), buffer_(result.dtype() == dtype && result.is_contiguous()
                                     ? result
                                     : make_tensor(Geometry::contiguous(result.sizes(), dtype), result.device())) {}
  const Tensor& buffer() const { return buffer_; }
  template <class T>
  T* data() const {
    return buffer_.data<T>();
  }
  void finish() const {
    if (!buffer_.is_same(result_)) copy_elements(result_, buffer_);
  }

 private:
  Tensor result_, buffer_;
};

// Memory a kernel works in, aligned to a cache line.
class Scratch {
 public:
  explicit Scratch(int64_t bytes) : p_(std::aligned_alloc(64, static_cast<std::size_t>((bytes + 127) / 64 * 64))) {
    if (!p_) throw std::bad_alloc();
  }
  void* get() const { return p_.get(); }

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  std::unique_ptr<void, Free> p_;
};

// Calls f with a value of the kernel's floating type: on_floating(t, "op", [&]<class T>(T) { … }).
template <class F>
void on_floating(DType t, std::string_view op, const F& f) {
  switch (kernel_dtype(t)) {
    case DType::f32: return f(float{});
    case DType::f64: return f(double{});
    default: throw_user_error(text("\"", op, "\" not implemented for '", scalar_type_name(t), "'"));
  }
}

}  // namespace ingot
