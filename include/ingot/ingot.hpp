// Ingot's C++ API. It reads like PyTorch's:
//
//   Tensor x = randn({32, 64}), w = randn({64, 10}).requires_grad_(), b = zeros({10}).requires_grad_();
//   Tensor y = relu(x.matmul(w) + b);
//   y.sum().backward();            // w.grad(), b.grad()
//
// Names, argument orders, defaults, results and error texts are PyTorch's. Modules are in
// ingot/nn.hpp, optimizers in ingot/optim.hpp. Every function here is one call of the op of that
// name.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <tuple>
#include <vector>

#include "ingot/autograd.hpp"
#include "ingot/dtype.hpp"
#include "ingot/error.hpp"
#include "ingot/indexing.hpp"
#include "ingot/int.hpp"
#include "ingot/shape.hpp"
#include "ingot/tensor.hpp"

namespace ingot {

// ---- making tensors
Tensor empty(const Shape& size, TensorOptions o = {});
Tensor zeros(const Shape& size, TensorOptions o = {});
Tensor ones(const Shape& size, TensorOptions o = {});
Tensor full(const Shape& size, const Scalar& value, TensorOptions o = {});  // of the value's type, if none is given
Tensor eye(Int n, TensorOptions o = {});
Tensor arange(const Scalar& end);                        // int64 if all numbers are integers, else float32
Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step = 1);
Tensor linspace(const Scalar& start, const Scalar& end, Int steps, TensorOptions o = {});
// tensor({1., 2, 3}): 1-dim, or of the size given. Without a dtype the values' own: bool, int64,
// float32 or complex64, whichever holds them all. Integers are taken exactly.
Tensor tensor(std::initializer_list<Scalar> values);
Tensor tensor(std::initializer_list<Scalar> values, DType dtype);
Tensor tensor(std::initializer_list<Scalar> values, const Shape& size);
Tensor tensor(std::initializer_list<Scalar> values, const Shape& size, DType dtype);
Tensor tensor(const std::vector<double>& values, DType dtype = float32);
Tensor tensor(const std::vector<double>& values, const Shape& size, DType dtype = float32);
Tensor tensor(const std::vector<float>& values, DType dtype = float32);
Tensor tensor(const std::vector<float>& values, const Shape& size, DType dtype = float32);
Tensor tensor(const std::vector<int64_t>& values, DType dtype = int64);
Tensor tensor(const std::vector<int64_t>& values, const Shape& size, DType dtype = int64);
Tensor tensor(const std::vector<int>& values, DType dtype = int64);
Tensor tensor(const std::vector<int>& values, const Shape& size, DType dtype = int64);
Tensor tensor(const Scalar& value);                                                   // 0-dim
Tensor tensor(const Scalar& value, DType dtype);
Tensor scalar_tensor(const Scalar& value, TensorOptions o = {});                      // 0-dim
Tensor from_blob(void* data, const Shape& size, DType dtype, std::function<void()> release = {});  // no copy
Tensor empty_like(const Tensor& t);
Tensor zeros_like(const Tensor& t);
Tensor ones_like(const Tensor& t);
Tensor full_like(const Tensor& t, const Scalar& value);

// ---- random numbers: the same seed gives the same numbers on every machine and thread count
void manual_seed(uint64_t seed);
Tensor rand(const Shape& size, TensorOptions o = {});    // uniform in [0, 1)
Tensor randn(const Shape& size, TensorOptions o = {});   // normal
Tensor randint(Int low, Int high, const Shape& size, TensorOptions o = {});
Tensor randperm(Int n);
Tensor dropout(const Tensor& t, double p = 0.5, bool train = true);

// ---- arithmetic with broadcasting
Tensor operator+(const Tensor& a, const Tensor& b);
Tensor operator+(const Tensor& a, const Scalar& b);
Tensor operator+(const Scalar& a, const Tensor& b);
Tensor operator-(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& a, const Scalar& b);
Tensor operator-(const Scalar& a, const Tensor& b);
Tensor operator*(const Tensor& a, const Tensor& b);
Tensor operator*(const Tensor& a, const Scalar& b);
Tensor operator*(const Scalar& a, const Tensor& b);
Tensor operator/(const Tensor& a, const Tensor& b);
Tensor operator/(const Tensor& a, const Scalar& b);
Tensor operator/(const Scalar& a, const Tensor& b);
Tensor operator-(const Tensor& a);
Tensor operator%(const Tensor& a, const Tensor& b);      // remainder: it has the sign of b
Tensor operator%(const Tensor& a, const Scalar& b);
Tensor operator~(const Tensor& a);                       // not, bit by bit; of a mask its opposite
Tensor operator&(const Tensor& a, const Tensor& b);
Tensor operator&(const Tensor& a, const Scalar& b);
Tensor operator|(const Tensor& a, const Tensor& b);
Tensor operator|(const Tensor& a, const Scalar& b);
Tensor operator^(const Tensor& a, const Tensor& b);
Tensor operator^(const Tensor& a, const Scalar& b);
Tensor operator==(const Tensor& a, const Tensor& b);
Tensor operator==(const Tensor& a, const Scalar& b);
Tensor operator!=(const Tensor& a, const Tensor& b);
Tensor operator!=(const Tensor& a, const Scalar& b);
Tensor operator<(const Tensor& a, const Tensor& b);
Tensor operator<(const Tensor& a, const Scalar& b);
Tensor operator<=(const Tensor& a, const Tensor& b);
Tensor operator<=(const Tensor& a, const Scalar& b);
Tensor operator>(const Tensor& a, const Tensor& b);
Tensor operator>(const Tensor& a, const Scalar& b);
Tensor operator>=(const Tensor& a, const Tensor& b);
Tensor operator>=(const Tensor& a, const Scalar& b);
// With the number first: 0 < x is x > 0.
inline Tensor operator==(const Scalar& a, const Tensor& b) { return b == a; }
inline Tensor operator!=(const Scalar& a, const Tensor& b) { return b != a; }
inline Tensor operator<(const Scalar& a, const Tensor& b) { return b > a; }
inline Tensor operator<=(const Scalar& a, const Tensor& b) { return b >= a; }
inline Tensor operator>(const Scalar& a, const Tensor& b) { return b < a; }
inline Tensor operator>=(const Scalar& a, const Tensor& b) { return b <= a; }
Tensor pow(const Tensor& base, const Scalar& exponent);
Tensor pow(const Tensor& base, const Tensor& exponent);
Tensor maximum(const Tensor& a, const Tensor& b);
Tensor minimum(const Tensor& a, const Tensor& b);
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
Tensor where(const Tensor& condition, const Tensor& a, const Scalar& b);
Tensor where(const Tensor& condition, const Scalar& a, const Tensor& b);
Tensor clamp(const Tensor& t, std::optional<Scalar> min, std::optional<Scalar> max = {});
Tensor masked_fill(const Tensor& t, const Tensor& mask, const Scalar& value);

// ---- elementwise functions
Tensor abs(const Tensor& t);
Tensor neg(const Tensor& t);
Tensor sign(const Tensor& t);
Tensor exp(const Tensor& t);
Tensor expm1(const Tensor& t);
Tensor log(const Tensor& t);
Tensor log1p(const Tensor& t);
Tensor sqrt(const Tensor& t);
Tensor rsqrt(const Tensor& t);
Tensor square(const Tensor& t);
Tensor reciprocal(const Tensor& t);
Tensor sin(const Tensor& t);
Tensor cos(const Tensor& t);
Tensor tanh(const Tensor& t);
Tensor erf(const Tensor& t);
Tensor floor(const Tensor& t);
Tensor round(const Tensor& t);
Tensor sigmoid(const Tensor& t);
Tensor relu(const Tensor& t);
Tensor leaky_relu(const Tensor& t, double negative_slope = 0.01);
Tensor elu(const Tensor& t, double alpha = 1.0);
Tensor gelu(const Tensor& t, const std::string& approximate = "none");
Tensor silu(const Tensor& t);
Tensor softplus(const Tensor& t, double beta = 1.0, double threshold = 20.0);

// ---- reductions; without dims over everything
Tensor sum(const Tensor& t);
Tensor sum(const Tensor& t, const Shape& dims, bool keepdim = false);
Tensor mean(const Tensor& t);
Tensor mean(const Tensor& t, const Shape& dims, bool keepdim = false);
Tensor var(const Tensor& t, const OptionalShape& dims = {}, const std::optional<Scalar>& correction = {}, bool keepdim = false);
Tensor amax(const Tensor& t, const Shape& dims = {}, bool keepdim = false);
Tensor amin(const Tensor& t, const Shape& dims = {}, bool keepdim = false);
Tensor prod(const Tensor& t);
Tensor logsumexp(const Tensor& t, const Shape& dims, bool keepdim = false);
Tensor softmax(const Tensor& t, int64_t dim);
Tensor log_softmax(const Tensor& t, int64_t dim);
Tensor cumsum(const Tensor& t, int64_t dim);
Tensor any(const Tensor& t);
Tensor all(const Tensor& t);
bool equal(const Tensor& a, const Tensor& b);            // same shape and elements
bool allclose(const Tensor& a, const Tensor& b, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false);

// ---- joining, indexing
Tensor cat(const TensorList& tensors, int64_t dim = 0);
Tensor stack(const TensorList& tensors, int64_t dim = 0);
Tensor index_select(const Tensor& t, int64_t dim, const Tensor& index);
Tensor gather(const Tensor& t, int64_t dim, const Tensor& index);
Tensor index(const Tensor& t, const TensorList& indices);  // t[i, j, …]; an undefined entry is ':'
Tensor embedding(const Tensor& weight, const Tensor& indices);
Tensor tril(const Tensor& t, int64_t diagonal = 0);
Tensor triu(const Tensor& t, int64_t diagonal = 0);
std::tuple<Tensor, Tensor> sort(const Tensor& t, int64_t dim = -1, bool descending = false);
std::tuple<Tensor, Tensor> topk(const Tensor& t, Int k, int64_t dim = -1, bool largest = true);

// ---- linear algebra and neural networks
Tensor matmul(const Tensor& a, const Tensor& b);
Tensor einsum(const std::string& equation, const TensorList& operands);
Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias = {});
Tensor conv2d(const Tensor& input, const Tensor& weight, const Tensor& bias = {}, const Shape& stride = {1, 1},
              const Shape& padding = {0, 0}, const Shape& dilation = {1, 1}, Int groups = 1);
Tensor max_pool2d(const Tensor& input, const Shape& kernel, const Shape& stride = {}, const Shape& padding = {0, 0});
Tensor avg_pool2d(const Tensor& input, const Shape& kernel, const Shape& stride = {}, const Shape& padding = {0, 0});
Tensor layer_norm(const Tensor& input, const Shape& normalized_shape, const Tensor& weight = {}, const Tensor& bias = {},
                  double eps = 1e-5);
Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask = {},
                                    bool is_causal = false);
Tensor mse_loss(const Tensor& input, const Tensor& target);
Tensor cross_entropy(const Tensor& logits, const Tensor& target);
Tensor nll_loss(const Tensor& log_probabilities, const Tensor& target);

}  // namespace ingot
