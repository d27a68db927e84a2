// Tensor: a reference-counted handle to a strided view of shared storage. Copying a Tensor copies
// the handle. The member functions below are the ones a reader of PyTorch expects, with PyTorch's
// names, defaults and results; what is not a member is a free function in `ingot/ingot.hpp`.
#pragma once
#include <complex>
#include <concepts>
#include <initializer_list>
#include <iosfwd>
#include <optional>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "ingot/dtype.hpp"
#include "ingot/float.hpp"
#include "ingot/ref.hpp"
#include "ingot/shape.hpp"

namespace ingot {

struct TensorImpl;
class Selected;     // ingot/indexing.hpp
class TensorIndex;  // the same
class Tensor;
using TensorList = std::vector<Tensor>;

// A number that has not chosen a dtype yet: integer or real (both possibly symbolic), bool or
// complex.
class Scalar {
 public:
  Scalar() : v_(Int(0)) {}
  Scalar(Int v) : v_(v) {}
  Scalar(bool v) : v_(v) {}
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Scalar(T v) : v_(Int(v)) {}
  template <std::floating_point T>
  Scalar(T v) : v_(Float(static_cast<double>(v))) {}
  Scalar(Float v) : v_(v) {}
  Scalar(std::complex<double> v) : v_(v) {}

  bool is_int() const { return std::holds_alternative<Int>(v_); }
  bool is_float() const { return std::holds_alternative<Float>(v_); }
  bool is_bool() const { return std::holds_alternative<bool>(v_); }
  bool is_complex() const { return std::holds_alternative<std::complex<double>>(v_); }
  Int to_int() const;                     // truncates a real; a complex with an imaginary part is a user error
  Float to_float() const;                   // the same without a question about what is symbolic
  double to_double() const;               // a complex with an imaginary part is a user error
  bool to_bool() const;                   // non-zero
  std::complex<double> to_complex() const;
  // The dtype a tensor made of it alone would have: int64, the default float type, bool or its
  // complex type.
  DType dtype() const;

 private:
  std::variant<Int, Float, bool, std::complex<double>> v_;
};

std::string to_text(const Scalar& s);

namespace detail {
int64_t to_integer(const Scalar& value, int bytes, bool is_signed);
float to_float32(const Scalar& value);
}  // namespace detail

struct TensorOptions {
  std::optional<DType> dtype = {};  // else float32; of full the value's type, of randint int64
  Device device = {};
  bool requires_grad = false;
};

class Tensor {
 public:
  Tensor() = default;
  Tensor(const Tensor&) = default;
  Tensor(Tensor&&) = default;
  // A variable becomes another handle …
  Tensor& operator=(const Tensor&) & = default;
  Tensor& operator=(Tensor&&) & = default;
  // … and what an expression returned is written: x[0] = y, x.index({Slice(1, None)}) = 0.
  Tensor& operator=(const Tensor& source) &&;
  Tensor& operator=(const Scalar& value) &&;
  bool defined() const { return static_cast<bool>(impl_); }
  explicit operator bool() const = delete;  // say defined() or item()
  bool is_same(const Tensor& o) const { return impl_ == o.impl_; }

  // ---- geometry. A negative `dim` counts from the end.
  int64_t dim() const;
  const Shape& sizes() const;
  const Shape& strides() const;
  Int size(int64_t dim) const;
  Int stride(int64_t dim) const;
  Int storage_offset() const;
  Int numel() const;
  DType dtype() const;
  Device device() const;
  int64_t itemsize() const;
  bool is_contiguous(MemoryFormat format = MemoryFormat::contiguous) const;
  bool is_floating_point() const;
  bool is_complex() const;

  // ---- data. `data_ptr` is the address of the first element; a user error for a tensor without
  // bytes (a fake one).
  void* data_ptr() const;
  template <class T> T* data() const { return static_cast<T*>(data_ptr()); }
  template <class T> T* data_ptr() const { return data<T>(); }
  Scalar item() const;                         // the one element of a one-element tensor
  // The same as a number of C++: float, double, an integer, bool, std::complex<double>. User error
  // for a value that the type cannot hold.
  template <class T>
  T item() const {
    if constexpr (std::same_as<T, bool>) return item().to_bool();
    else if constexpr (std::integral<T>) return static_cast<T>(detail::to_integer(item(), sizeof(T), std::signed_integral<T>));
    else if constexpr (std::same_as<T, float>) return detail::to_float32(item());
    else if constexpr (std::floating_point<T>) return static_cast<T>(item().to_double());
    else return T(item().to_complex());
  }
  double item_double() const { return item().to_double(); }
  int64_t item_int() const { return item().to_int().value(); }
  template <class T> std::vector<T> to_vector() const;  // row-major elements, converted; float, double, int64_t, bool

  // ---- autograd
  bool requires_grad() const;
  Tensor& requires_grad_(bool on = true);
  bool is_leaf() const;
  bool is_view() const;                        // a differentiable view of another tensor
  Tensor grad() const;                         // undefined when there is none
  void set_grad(const Tensor& g) const;
  std::string grad_fn_name() const;            // "MulBackward0"; empty for a leaf
  uint32_t version() const;                    // how often the storage was written
  void backward(const Tensor& gradient = {}, bool retain_graph = false, bool create_graph = false) const;
  Tensor detach() const;
  Tensor& detach_();

  // ---- views
  Tensor view(const Shape& size) const;
  Tensor view(DType dtype) const;
  Tensor reshape(const Shape& shape) const;
  Tensor expand(const Shape& size) const;
  Tensor t() const;
  Tensor transpose(int64_t dim0, int64_t dim1) const;
  Tensor permute(const Shape& dims) const;
  Tensor select(int64_t dim, Int index) const;
  Tensor slice(int64_t dim, std::optional<Int> start = {}, std::optional<Int> end = {}, Int step = 1) const;
  Tensor narrow(int64_t dim, Int start, Int length) const;
  Tensor squeeze() const;
  Tensor squeeze(int64_t dim) const;
  Tensor unsqueeze(int64_t dim) const;
  Tensor flatten(int64_t start_dim = 0, int64_t end_dim = -1) const;
  Tensor diagonal(int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1) const;
  Tensor as_strided(const Shape& size, const Shape& stride, std::optional<Int> offset = {}) const;
  std::vector<Tensor> unbind(int64_t dim = 0) const;
  std::vector<Tensor> split(Int split_size, int64_t dim = 0) const;
  std::vector<Tensor> chunk(int64_t chunks, int64_t dim = 0) const;
  Tensor operator[](Int index) const { return select(0, index); }
  // By a mask or by integers, along the first dims; x[mask] = 0 writes x. By one integer: a view.
  Selected operator[](const Tensor& index) const;
  // As x[…] of Python: x.index({mask, None, Slice(1, None), "..."}); a view where no index is a
  // tensor. ingot/indexing.hpp has the indices.
  Tensor index(std::initializer_list<TensorIndex> indices) const;
  Tensor index(const std::vector<TensorIndex>& indices) const;
  // Writes there; values are broadcast.
  Tensor& index_put_(std::initializer_list<TensorIndex> indices, const Tensor& values);
  Tensor& index_put_(const std::vector<TensorIndex>& indices, const Tensor& values);
  Tensor& index_put_(std::initializer_list<TensorIndex> indices, const Scalar& value);
  Tensor& index_put_(const std::vector<TensorIndex>& indices, const Scalar& value);

  // ---- copies and conversions
  Tensor clone() const;
  Tensor contiguous(MemoryFormat format = MemoryFormat::contiguous) const;
  Tensor to(DType dtype) const;
  Tensor to(Device device) const;

  // ---- arithmetic (more in ingot.hpp)
  Tensor add(const Tensor& o, const Scalar& alpha = 1) const;
  Tensor sub(const Tensor& o, const Scalar& alpha = 1) const;
  Tensor mul(const Tensor& o) const;
  Tensor div(const Tensor& o) const;
  Tensor matmul(const Tensor& o) const;
  Tensor mm(const Tensor& o) const;
  Tensor neg() const;
  Tensor abs() const;
  Tensor exp() const;
  Tensor log() const;
  Tensor sqrt() const;
  Tensor sin() const;
  Tensor cos() const;
  Tensor tanh() const;
  Tensor sigmoid() const;
  Tensor relu() const;
  Tensor pow(const Scalar& exponent) const;
  Tensor softmax(int64_t dim) const;
  Tensor sum() const;
  Tensor sum(const Shape& dims, bool keepdim = false) const;
  Tensor mean() const;
  Tensor mean(const Shape& dims, bool keepdim = false) const;
  Tensor max() const;
  Tensor argmax(std::optional<int64_t> dim = {}, bool keepdim = false) const;

  // ---- in place: they write this tensor's storage and return it
  Tensor& add_(const Tensor& o, const Scalar& alpha = 1);
  Tensor& add_(const Scalar& o);
  Tensor& sub_(const Tensor& o, const Scalar& alpha = 1);
  Tensor& mul_(const Tensor& o);
  Tensor& mul_(const Scalar& o);
  Tensor& div_(const Tensor& o);
  Tensor& copy_(const Tensor& src);
  Tensor& fill_(const Scalar& value);
  Tensor& zero_();
  // clang-format off
  Tensor& operator+=(const Tensor& o) { return add_(o); }
  Tensor& operator+=(const Scalar& o) { return add_(o); }
  Tensor& operator-=(const Tensor& o) { return sub_(o); }
  Tensor& operator-=(const Scalar& o);
  Tensor& operator*=(const Tensor& o) { return mul_(o); }
  Tensor& operator*=(const Scalar& o) { return mul_(o); }
  Tensor& operator/=(const Tensor& o) { return div_(o); }
  Tensor& operator/=(const Scalar& o);
  Tensor& operator%=(const Tensor& o);
  Tensor& operator%=(const Scalar& o);
  Tensor& operator&=(const Tensor& o);
  Tensor& operator|=(const Tensor& o);
  Tensor& operator^=(const Tensor& o);
  // clang-format on

  // ---- the other ops that are methods in PyTorch: a list that the build makes (src/generate)
#include "ingot/tensor_methods.hpp"

  std::string to_string() const;  // as PyTorch prints it: "tensor([1., 2.], grad_fn=<MulBackward0>)"

  // For Ingot's own folders.
  explicit Tensor(Ref<TensorImpl> impl);
  TensorImpl* impl() const;
  TensorImpl* operator->() const { return impl(); }

 private:
  Ref<Counted> impl_;  // always a TensorImpl; its definition stays out of users' sight
};

// As Python prints them: std::cout << x << x.sizes() << x.dtype().
std::ostream& operator<<(std::ostream& out, const Tensor& t);
std::ostream& operator<<(std::ostream& out, const Scalar& s);
std::ostream& operator<<(std::ostream& out, const Shape& s);
std::ostream& operator<<(std::ostream& out, Int v);
std::ostream& operator<<(std::ostream& out, DType t);
std::ostream& operator<<(std::ostream& out, Device d);

}  // namespace ingot
