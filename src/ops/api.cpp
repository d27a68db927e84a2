// The functions and Tensor members of include/ingot: each is one call of the op of its name.
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "ops/common/followed.hpp"
#include "tensor/device_elements.hpp"
#include "tensor/rows.hpp"
#include "tensor/stand_in.hpp"

namespace ingot {
namespace {

Tensor finish(Tensor t, const TensorOptions& o) {
  if (o.requires_grad) t.requires_grad_();
  return t;
}
DType dtype_of(const TensorOptions& o) { return o.dtype.value_or(DType::f32); }
// A number where the op takes a tensor: it stays a number through every layer.
Value number(const Scalar& s) { return Value(s); }

}  // namespace

// ---- making tensors
Tensor empty(const Shape& s, TensorOptions o) {
  return finish(aten<"empty.memory_format">(s, dtype_of(o), Value(), o.device), o);
}
Tensor zeros(const Shape& s, TensorOptions o) { return finish(aten<"zeros">(s, dtype_of(o), Value(), o.device), o); }
Tensor ones(const Shape& s, TensorOptions o) { return finish(aten<"ones">(s, dtype_of(o), Value(), o.device), o); }
Tensor full(const Shape& s, const Scalar& v, TensorOptions o) {
  return finish(aten<"full">(s, number(v), o.dtype.value_or(v.dtype()), Value(), o.device), o);
}
Tensor eye(Int n, TensorOptions o) { return finish(aten<"eye">(n, dtype_of(o), Value(), o.device), o); }
Tensor arange(const Scalar& end) { return aten<"arange">(number(end)); }
Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step) {
  return aten<"arange.start_step">(number(start), number(end), number(step));
}
Tensor linspace(const Scalar& a, const Scalar& b, Int n, TensorOptions o) {
  return finish(aten<"linspace">(number(a), number(b), n, dtype_of(o), Value(), o.device), o);
}
Tensor scalar_tensor(const Scalar& v, TensorOptions o) {
  return finish(aten<"scalar_tensor">(number(v), dtype_of(o), Value(), o.device), o);
}
namespace {

// A tensor of this shape for as many values.
Tensor for_values(std::size_t count, const Shape& size, DType dtype) {
  INGOT_REQUIRE(size.product() == static_cast<int64_t>(count), "tensor(): ", count, " values do not fill the shape ", size);
  return make_tensor(Geometry::contiguous(size, dtype));
}
// The type that holds all of them: bool, integer, real, complex, in this order.
DType dtype_of_all(std::initializer_list<Scalar> values) {
  const auto rank = [](const Scalar& s) { return s.is_complex() ? 3 : s.is_float() ? 2 : s.is_int() ? 1 : 0; };
  const Scalar* widest = nullptr;
  for (const Scalar& v : values)
    if (!widest || rank(v) > rank(*widest)) widest = &v;
  return widest ? widest->dtype() : thread_state().default_dtype;
}
Shape vector_of(std::size_t count) { return {static_cast<int64_t>(count)}; }

[[noreturn]] void refuse_overflow(std::string_view type) {
  throw_user_error(text("value cannot be converted to type ", type, " without overflow"));
}

// The value as an integer of so many bytes, an unsigned one of 8 by its bits. It is refused where
// PyTorch refuses it: a real that is past the largest integer by less than one, too. An unsigned
// integer takes a negative one from behind, as far down as it goes up. `type` is for the message.
int64_t integer_of_size(const Scalar& value, int bytes, bool is_signed, std::string_view type = {}) {
  const auto refuse = [&] {
    refuse_overflow(type.empty() ? text(is_signed ? "int" : "uint", 8 * bytes, "_t") : std::string(type));
  };
  const int bits = 8 * bytes - is_signed;
  if (value.is_float() || value.is_complex()) {
    const double number = value.to_double(), end = std::ldexp(1.0, bits);
    const bool fits = number >= (is_signed ? -end : 0) && (bits < 53 ? number <= end - 1 : number < end);
    if (!fits) refuse();
    return is_signed ? static_cast<int64_t>(number) : static_cast<int64_t>(static_cast<uint64_t>(number));
  }
  const int64_t number = value.to_int().value();
  if (bits >= 63) return number;
  const int64_t most = (int64_t{1} << bits) - 1;
  if (number > most || number < (is_signed ? -most - 1 : -most)) refuse();
  return number;
}

void store(const Scalar& value, DType dtype, void* to) {
  const auto as = [&](Compute type, auto v) { store_row(type, &v, 1, dtype, to, 1); };
  if (is_integral(dtype))
    return as(Compute::i64, integer_of_size(value, size_of(dtype), is_signed_integral(dtype), name_of(dtype)));
  if (value.is_bool()) return as(Compute::b8, value.to_bool());
  if (value.is_complex() && is_complex(dtype)) return as(Compute::c128, value.to_complex());
  if (value.is_float() || value.is_complex()) return as(Compute::f64, value.to_double());
  as(Compute::i64, value.to_int().value());
}

}  // namespace

Tensor tensor(std::initializer_list<Scalar> values) { return tensor(values, dtype_of_all(values)); }
Tensor tensor(std::initializer_list<Scalar> values, DType dtype) { return tensor(values, vector_of(values.size()), dtype); }
Tensor tensor(std::initializer_list<Scalar> values, const Shape& size) { return tensor(values, size, dtype_of_all(values)); }
Tensor tensor(std::initializer_list<Scalar> values, const Shape& size, DType dtype) {
  Tensor t = for_values(values.size(), size, dtype);
  char* to = static_cast<char*>(t.data_ptr());
  for (const Scalar& v : values) store(v, dtype, std::exchange(to, to + size_of(dtype)));
  return t;
}
Tensor tensor(const Scalar& value) { return tensor({value}, Shape()); }
Tensor tensor(const Scalar& value, DType dtype) { return tensor({value}, Shape(), dtype); }
Tensor tensor(const std::vector<double>& values, DType dtype) { return tensor(values, vector_of(values.size()), dtype); }
Tensor tensor(const std::vector<double>& values, const Shape& size, DType dtype) {
  Tensor t = for_values(values.size(), size, dtype);
  store_row(Compute::f64, values.data(), static_cast<int64_t>(values.size()), dtype, t.data_ptr(), 1);
  return t;
}
Tensor tensor(const std::vector<int64_t>& values, DType dtype) { return tensor(values, vector_of(values.size()), dtype); }
Tensor tensor(const std::vector<int64_t>& values, const Shape& size, DType dtype) {
  Tensor t = for_values(values.size(), size, dtype);
  store_row(Compute::i64, values.data(), static_cast<int64_t>(values.size()), dtype, t.data_ptr(), 1);
  return t;
}
namespace {
template <class Wide, class T>
std::vector<Wide> widened(const std::vector<T>& values) {
  return {values.begin(), values.end()};
}
}  // namespace
Tensor tensor(const std::vector<float>& values, DType dtype) { return tensor(widened<double>(values), dtype); }
Tensor tensor(const std::vector<float>& values, const Shape& size, DType dtype) {
  return tensor(widened<double>(values), size, dtype);
}
Tensor tensor(const std::vector<int>& values, DType dtype) { return tensor(widened<int64_t>(values), dtype); }
Tensor tensor(const std::vector<int>& values, const Shape& size, DType dtype) {
  return tensor(widened<int64_t>(values), size, dtype);
}
Tensor from_blob(void* data, const Shape& size, DType dtype, std::function<void()> release) {
  Geometry g = Geometry::contiguous(size, dtype);
  auto storage = Storage::wrap(data, size.product().value() * size_of(dtype), release ? std::move(release) : [] {});
  return Tensor(Ref<TensorImpl>(new TensorImpl(std::move(storage), std::move(g))));
}
Tensor empty_like(const Tensor& t) { return aten<"empty_like">(t); }
Tensor zeros_like(const Tensor& t) { return aten<"zeros_like">(t); }
Tensor ones_like(const Tensor& t) { return aten<"ones_like">(t); }
Tensor full_like(const Tensor& t, const Scalar& v) { return aten<"full_like">(t, number(v)); }

Tensor rand(const Shape& s, TensorOptions o) { return finish(aten<"rand">(s, dtype_of(o), Value(), o.device), o); }
Tensor randn(const Shape& s, TensorOptions o) { return finish(aten<"randn">(s, dtype_of(o), Value(), o.device), o); }
Tensor randint(Int lo, Int hi, const Shape& s, TensorOptions o) {
  return aten<"randint.low">(lo, hi, s, o.dtype.value_or(DType::i64), Value(), o.device);
}
Tensor randperm(Int n) { return aten<"randperm">(n); }
Tensor dropout(const Tensor& t, double p, bool train) { return aten<"dropout">(t, p, train); }

// ---- operators
Tensor operator+(const Tensor& a, const Tensor& b) { return aten<"add.Tensor">(a, b); }
Tensor operator+(const Tensor& a, const Scalar& b) { return aten<"add.Tensor">(a, number(b)); }
Tensor operator+(const Scalar& a, const Tensor& b) { return aten<"add.Tensor">(b, number(a)); }
Tensor operator-(const Tensor& a, const Tensor& b) { return aten<"sub.Tensor">(a, b); }
Tensor operator-(const Tensor& a, const Scalar& b) { return aten<"sub.Tensor">(a, number(b)); }
Tensor operator-(const Scalar& a, const Tensor& b) { return aten<"rsub.Scalar">(b, number(a)); }
Tensor operator*(const Tensor& a, const Tensor& b) { return aten<"mul.Tensor">(a, b); }
Tensor operator*(const Tensor& a, const Scalar& b) { return aten<"mul.Tensor">(a, number(b)); }
Tensor operator*(const Scalar& a, const Tensor& b) { return aten<"mul.Tensor">(b, number(a)); }
Tensor operator/(const Tensor& a, const Tensor& b) { return aten<"div.Tensor">(a, b); }
Tensor operator/(const Tensor& a, const Scalar& b) { return aten<"div.Tensor">(a, number(b)); }
Tensor operator/(const Scalar& a, const Tensor& b) { return aten<"mul.Tensor">(aten<"reciprocal">(b), number(a)); }
Tensor operator-(const Tensor& a) { return aten<"neg">(a); }
// clang-format off
#define COMPARE(symbol, name)                                                                          \
  Tensor operator symbol(const Tensor& a, const Tensor& b) { return aten<name ".Tensor">(a, b); }      \
  Tensor operator symbol(const Tensor& a, const Scalar& b) { return aten<name ".Scalar">(a, number(b)); }
COMPARE(==, "eq") COMPARE(!=, "ne") COMPARE(<, "lt") COMPARE(<=, "le") COMPARE(>, "gt") COMPARE(>=, "ge")
// clang-format on
#undef COMPARE

// ---- functions of one tensor, as free functions; those that are members too are both
// clang-format off
#define UNARY(name) Tensor name(const Tensor& t) { return aten<#name>(t); }
UNARY(abs) UNARY(neg) UNARY(sign) UNARY(exp) UNARY(expm1) UNARY(log) UNARY(log1p) UNARY(sqrt) UNARY(rsqrt) UNARY(square) UNARY(reciprocal)
UNARY(sin) UNARY(cos) UNARY(tanh) UNARY(erf) UNARY(floor) UNARY(round) UNARY(sigmoid) UNARY(relu) UNARY(silu) UNARY(prod) UNARY(any) UNARY(all)
UNARY(sum) UNARY(mean)
#undef UNARY
#define MEMBER(name) Tensor Tensor::name() const { return aten<#name>(*this); }
MEMBER(neg) MEMBER(abs) MEMBER(exp) MEMBER(log) MEMBER(sqrt) MEMBER(sin) MEMBER(cos) MEMBER(tanh) MEMBER(sigmoid) MEMBER(relu) MEMBER(sum) MEMBER(mean)
MEMBER(max) MEMBER(clone) MEMBER(t) MEMBER(squeeze)
#undef MEMBER
// clang-format on
Tensor leaky_relu(const Tensor& t, double s) { return aten<"leaky_relu">(t, s); }
Tensor elu(const Tensor& t, double a) { return aten<"elu">(t, a); }
Tensor gelu(const Tensor& t, const std::string& approximate) { return aten<"gelu">(t, approximate); }
Tensor softplus(const Tensor& t, double beta, double threshold) { return aten<"softplus">(t, beta, threshold); }

Tensor pow(const Tensor& a, const Scalar& b) { return aten<"pow.Tensor_Scalar">(a, number(b)); }
Tensor pow(const Tensor& a, const Tensor& b) { return aten<"pow.Tensor_Tensor">(a, b); }
Tensor maximum(const Tensor& a, const Tensor& b) { return aten<"maximum">(a, b); }
Tensor minimum(const Tensor& a, const Tensor& b) { return aten<"minimum">(a, b); }
Tensor where(const Tensor& c, const Tensor& a, const Tensor& b) { return aten<"where.self">(c, a, b); }
Tensor where(const Tensor& c, const Tensor& a, const Scalar& b) { return aten<"where.ScalarOther">(c, a, number(b)); }
Tensor where(const Tensor& c, const Scalar& a, const Tensor& b) { return aten<"where.ScalarSelf">(c, number(a), b); }
Tensor clamp(const Tensor& t, std::optional<Scalar> lo, std::optional<Scalar> hi) { return aten<"clamp">(t, lo, hi); }
Tensor masked_fill(const Tensor& t, const Tensor& m, const Scalar& v) { return aten<"masked_fill.Scalar">(t, m, number(v)); }

// ---- reductions
Tensor sum(const Tensor& t, const Shape& d, bool keep) { return aten<"sum.dim_IntList">(t, d, keep); }
Tensor mean(const Tensor& t, const Shape& d, bool keep) { return aten<"mean.dim">(t, d, keep); }
Tensor var(const Tensor& t, const OptionalShape& d, const std::optional<Scalar>& correction, bool keep) {
  return aten<"var.correction">(t, d ? Value(*d) : Value(), correction, keep);
}
Tensor amax(const Tensor& t, const Shape& d, bool keep) { return aten<"amax">(t, d, keep); }
Tensor amin(const Tensor& t, const Shape& d, bool keep) { return aten<"amin">(t, d, keep); }
Tensor logsumexp(const Tensor& t, const Shape& d, bool keep) { return aten<"logsumexp">(t, d, keep); }
Tensor softmax(const Tensor& t, int64_t dim) { return aten<"softmax.int">(t, dim); }
Tensor log_softmax(const Tensor& t, int64_t dim) { return aten<"log_softmax.int">(t, dim); }
Tensor cumsum(const Tensor& t, int64_t dim) { return aten<"cumsum">(t, dim); }
bool equal(const Tensor& a, const Tensor& b) { return aten_value<"equal">(a, b).to_bool(); }
bool allclose(const Tensor& a, const Tensor& b, double rtol, double atol, bool nan) {
  return aten_value<"allclose">(a, b, rtol, atol, nan).to_bool();
}

// ---- joining, indexing
Tensor cat(const TensorList& l, int64_t dim) { return aten<"cat">(l, dim); }
Tensor stack(const TensorList& l, int64_t dim) { return aten<"stack">(l, dim); }
Tensor index_select(const Tensor& t, int64_t dim, const Tensor& i) { return aten<"index_select">(t, dim, i); }
Tensor gather(const Tensor& t, int64_t dim, const Tensor& i) { return aten<"gather">(t, dim, i); }
Tensor index(const Tensor& t, const TensorList& i) { return aten<"index.Tensor">(t, i); }
Tensor embedding(const Tensor& w, const Tensor& i) { return aten<"embedding">(w, i); }
Tensor tril(const Tensor& t, int64_t d) { return aten<"tril">(t, d); }
Tensor triu(const Tensor& t, int64_t d) { return aten<"triu">(t, d); }
std::tuple<Tensor, Tensor> sort(const Tensor& t, int64_t dim, bool descending) {
  TensorList r = atens<"sort">(t, dim, descending);
  return {r[0], r[1]};
}
std::tuple<Tensor, Tensor> topk(const Tensor& t, Int k, int64_t dim, bool largest) {
  TensorList r = atens<"topk">(t, k, dim, largest);
  return {r[0], r[1]};
}

// ---- linear algebra and neural networks
Tensor matmul(const Tensor& a, const Tensor& b) { return aten<"matmul">(a, b); }
Tensor einsum(const std::string& equation, const TensorList& l) { return aten<"einsum">(equation, l); }
Tensor linear(const Tensor& x, const Tensor& w, const Tensor& b) { return aten<"linear">(x, w, b); }
Tensor conv2d(const Tensor& x, const Tensor& w, const Tensor& b, const Shape& stride, const Shape& padding, const Shape& dilation,
              Int groups) {
  return aten<"conv2d">(x, w, b, stride, padding, dilation, groups);
}
Tensor max_pool2d(const Tensor& x, const Shape& k, const Shape& s, const Shape& p) { return aten<"max_pool2d">(x, k, s, p); }
Tensor avg_pool2d(const Tensor& x, const Shape& k, const Shape& s, const Shape& p) { return aten<"avg_pool2d">(x, k, s, p); }
Tensor layer_norm(const Tensor& x, const Shape& shape, const Tensor& w, const Tensor& b, double eps) {
  return aten<"layer_norm">(x, shape, w, b, eps);
}
Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, bool causal) {
  return aten<"scaled_dot_product_attention">(q, k, v, mask, 0.0, causal);
}
Tensor mse_loss(const Tensor& x, const Tensor& y) { return aten<"mse_loss">(x, y); }
Tensor cross_entropy(const Tensor& x, const Tensor& y) { return aten<"cross_entropy_loss">(x, y); }
Tensor nll_loss(const Tensor& x, const Tensor& y) { return aten<"nll_loss_nd">(x, y); }

// ---- members
Tensor Tensor::view(const Shape& s) const { return aten<"view">(*this, s); }
Tensor Tensor::view(DType t) const { return aten<"view.dtype">(*this, t); }
Tensor Tensor::reshape(const Shape& s) const { return aten<"reshape">(*this, s); }
Tensor Tensor::expand(const Shape& s) const { return aten<"expand">(*this, s); }
Tensor Tensor::transpose(int64_t a, int64_t b) const { return aten<"transpose.int">(*this, a, b); }
Tensor Tensor::permute(const Shape& d) const { return aten<"permute">(*this, d); }
Tensor Tensor::select(int64_t d, Int i) const { return aten<"select.int">(*this, d, i); }
Tensor Tensor::slice(int64_t d, std::optional<Int> b, std::optional<Int> e, Int s) const {
  return aten<"slice.Tensor">(*this, d, b, e, s);
}
Tensor Tensor::narrow(int64_t d, Int b, Int n) const { return aten<"narrow">(*this, d, b, n); }
Tensor Tensor::squeeze(int64_t d) const { return aten<"squeeze.dim">(*this, d); }
Tensor Tensor::unsqueeze(int64_t d) const { return aten<"unsqueeze">(*this, d); }
Tensor Tensor::flatten(int64_t b, int64_t e) const { return aten<"flatten.using_ints">(*this, b, e); }
Tensor Tensor::diagonal(int64_t o, int64_t a, int64_t b) const { return aten<"diagonal">(*this, o, a, b); }
Tensor Tensor::as_strided(const Shape& s, const Shape& st, std::optional<Int> o) const {
  return aten<"as_strided">(*this, s, st, o);
}
TensorList Tensor::unbind(int64_t d) const { return atens<"unbind.int">(*this, d); }
TensorList Tensor::split(Int n, int64_t d) const { return atens<"split.Tensor">(*this, n, d); }
TensorList Tensor::chunk(int64_t n, int64_t d) const { return atens<"chunk">(*this, n, d); }
Tensor Tensor::contiguous(MemoryFormat f) const { return aten<"contiguous">(*this, f); }
Tensor Tensor::to(DType t) const { return aten<"to.dtype">(*this, t); }
Tensor Tensor::to(Device d) const { return aten<"to.device">(*this, d, dtype()); }
Tensor Tensor::add(const Tensor& o, const Scalar& alpha) const { return aten<"add.Tensor">(*this, o, number(alpha)); }
Tensor Tensor::sub(const Tensor& o, const Scalar& alpha) const { return aten<"sub.Tensor">(*this, o, number(alpha)); }
Tensor Tensor::mul(const Tensor& o) const { return aten<"mul.Tensor">(*this, o); }
Tensor Tensor::div(const Tensor& o) const { return aten<"div.Tensor">(*this, o); }
Tensor Tensor::matmul(const Tensor& o) const { return aten<"matmul">(*this, o); }
Tensor Tensor::mm(const Tensor& o) const { return aten<"mm">(*this, o); }
Tensor Tensor::pow(const Scalar& e) const { return ingot::pow(*this, e); }
Tensor Tensor::softmax(int64_t d) const { return ingot::softmax(*this, d); }
Tensor Tensor::sum(const Shape& d, bool keep) const { return ingot::sum(*this, d, keep); }
Tensor Tensor::mean(const Shape& d, bool keep) const { return ingot::mean(*this, d, keep); }
Tensor Tensor::argmax(std::optional<int64_t> d, bool keep) const { return aten<"argmax">(*this, d, keep); }

Tensor& Tensor::add_(const Tensor& o, const Scalar& alpha) { return aten_value<"add_.Tensor">(*this, o, number(alpha)), *this; }
Tensor& Tensor::add_(const Scalar& o) { return aten_value<"add_.Tensor">(*this, number(o)), *this; }
Tensor& Tensor::sub_(const Tensor& o, const Scalar& alpha) { return aten_value<"sub_.Tensor">(*this, o, number(alpha)), *this; }
Tensor& Tensor::mul_(const Tensor& o) { return aten_value<"mul_.Tensor">(*this, o), *this; }
Tensor& Tensor::mul_(const Scalar& o) { return aten_value<"mul_.Tensor">(*this, number(o)), *this; }
Tensor& Tensor::div_(const Tensor& o) { return aten_value<"div_.Tensor">(*this, o), *this; }
Tensor& Tensor::copy_(const Tensor& o) { return aten_value<"copy_">(*this, o), *this; }
Tensor& Tensor::fill_(const Scalar& v) { return aten_value<"fill_.Scalar">(*this, number(v)), *this; }
Tensor& Tensor::zero_() { return aten_value<"zero_">(*this), *this; }

namespace detail {
int64_t to_integer(const Scalar& value, int bytes, bool is_signed) { return integer_of_size(value, bytes, is_signed); }
float to_float32(const Scalar& value) {
  const double number = value.to_double();
  if (std::isfinite(number) && std::abs(number) > std::numeric_limits<float>::max()) refuse_overflow("float");
  return static_cast<float>(number);
}
}  // namespace detail

Scalar Tensor::item() const {
  INGOT_REQUIRE(numel() == 1, "a Tensor with ", numel(), " elements cannot be converted to Scalar");
  if (is_followed(*this)) return aten_value<"_local_scalar_dense">(*this).to_scalar();
  if (!is_on_cpu(*this)) return elements_on_cpu(*this).item();
  const char* p = static_cast<const char*>(data_ptr());
  if (is_complex()) {
    std::complex<double> v;
    load_row(dtype(), p, 1, 1, Compute::c128, &v);
    return v;
  }
  if (is_floating_point()) {
    double v;
    load_row(dtype(), p, 1, 1, Compute::f64, &v);
    return v;
  }
  int64_t v;
  load_row(dtype(), p, 1, 1, Compute::i64, &v);
  return dtype() == DType::b8 ? Scalar(v != 0) : Scalar(v);
}

namespace {
template <class T>
std::vector<T> elements(const Tensor& t, DType as) {
  const Int n = t.numel();
  if (is_followed(t)) {
    const Tensor flat = t.flatten();
    std::vector<T> v;
    for (int64_t i = 0; i < n; i++) {
      const Scalar s = flat[i].item();
      if constexpr (std::is_same_v<T, bool>) v.push_back(s.to_bool());
      else if constexpr (std::is_integral_v<T>) v.push_back(s.to_int().value());
      else v.push_back(static_cast<T>(s.to_double()));
    }
    return v;
  }
  require_current(*t->storage, "to_vector");
  Tensor dense = make_tensor(Geometry::contiguous(t.sizes(), as));
  copy_elements(dense, t);
  const T* p = dense.data<T>();
  return std::vector<T>(p, p + n.number());
}
}  // namespace
template <> std::vector<float> Tensor::to_vector<float>() const { return elements<float>(*this, DType::f32); }
template <> std::vector<double> Tensor::to_vector<double>() const { return elements<double>(*this, DType::f64); }
template <> std::vector<int64_t> Tensor::to_vector<int64_t>() const { return elements<int64_t>(*this, DType::i64); }
template <> std::vector<bool> Tensor::to_vector<bool>() const { return elements<bool>(*this, DType::b8); }

}  // namespace ingot
