// Contiguous buffers for the kernels of src/kernels, which know raw memory only. A buffer is a
// Tensor of the dtype the kernel computes in. Everything here is for eager kernels: tensors have
// bytes and plain sizes.
#pragma once
#include <cstdlib>
#include <memory>
#include <string_view>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "tensor/cpu_memory.hpp"
#include "tensor/impl.hpp"
#include "tensor/rows.hpp"

namespace ingot {

// The dtype raw kernels compute in: float for everything smaller, int64 for integers and bool,
// others as they are.
constexpr DType kernel_dtype(DType t) {
  if (is_reduced_floating(t)) return DType::f32;
  return is_floating(t) || is_complex(t) ? t : DType::i64;
}

// t itself if it is contiguous and of `dtype`, else a copy that is.
Tensor dense(const Tensor& t, DType dtype);
// The same with t broadcast to `sizes`.
Tensor dense(const Tensor& t, DType dtype, const Shape& sizes);

// The real (0) or imaginary (1) parts of a complex tensor, as a view.
Tensor component(const Tensor& t, int k);

// Where a kernel writes a result: the result itself if it is contiguous and of `dtype`, else a
// buffer that `finish` converts into it.
class DenseResult {
 public:
  DenseResult(const Tensor& result, DType dtype);
  ~DenseResult();
  DenseResult(const DenseResult&) = delete;
  DenseResult& operator=(const DenseResult&) = delete;
  const Tensor& buffer() const { return buffer_; }
  template <class T>
  T* data() const {
    return buffer_.data<T>();
  }
  void finish() const;

 private:
  Tensor result_, buffer_;
};

// Memory a kernel works in, aligned to a cache line.
class Scratch {
 public:
  explicit Scratch(int64_t bytes) : p_(allocate_on_cpu(static_cast<std::size_t>(bytes) + kCpuAlignment)) {}
  void* get() const { return p_.get(); }

 private:
  struct Free {
    void operator()(void* p) const { free_on_cpu(p); }
  };
  std::unique_ptr<void, Free> p_;
};

// Refuses an op of this dtype, in PyTorch's words.
[[noreturn]] void refuse_dtype(std::string_view op, DType t);

// Calls f with a value of the kernel's floating type: on_floating(t, "op", [&]<class T>(T) { … }).
template <class F>
void on_floating(DType t, std::string_view op, const F& f) {
  switch (kernel_dtype(t)) {
    case DType::f32: return f(float{});
    case DType::f64: return f(double{});
    default: refuse_dtype(op, t);
  }
}

}  // namespace ingot
