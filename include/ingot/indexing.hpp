// What x.index({…}), x.index_put_({…}, value) and x[…] take, with the names of torch::indexing:
//
//   using namespace ingot::indexing;
//   x.index({Slice(1, None, 2), "...", 0});               // Python's x[1::2, ..., 0], a view
//   x.index({mask});                                      // x[mask], a copy
//   x.index_put_({None, Slice(), 3}, 0);                  // x[None, :, 3] = 0
//   x[mask] = 0;  x[0] = y;
#pragma once
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "ingot/tensor.hpp"

namespace ingot {
namespace indexing {

inline constexpr std::nullopt_t None = std::nullopt;  // a new dim; of a Slice: its natural end
struct EllipsisType {};
inline constexpr EllipsisType Ellipsis{};             // all dims that no other index is for; "..." is the same

// start:stop:step. User error for a step that is not positive, as in PyTorch.
struct Slice {
  Slice(std::optional<Int> first = {}, std::optional<Int> last = {}, Int by = 1) : start(first), stop(last), step(by) {}
  std::optional<Int> start, stop;
  Int step;
};

}  // namespace indexing

// One index of several. A mask (a bool or uint8 tensor) is for as many dims as it has; a bool for
// none: it adds one of size 1 or 0.
class TensorIndex {
 public:
  enum class Kind : uint8_t { none, ellipsis, integer, boolean, slice, tensor };

  TensorIndex(std::nullopt_t) {}
  TensorIndex(indexing::EllipsisType) : kind_(Kind::ellipsis) {}
  TensorIndex(const char* dots);  // user error for a text other than "..."
  TensorIndex(Int index) : kind_(Kind::integer), slice_(index) {}
  template <std::integral T>
  TensorIndex(T index) : kind_(std::same_as<T, bool> ? Kind::boolean : Kind::integer), slice_(Int(index)) {}
  TensorIndex(indexing::Slice slice) : kind_(Kind::slice), slice_(slice) {}
  TensorIndex(Tensor index) : kind_(Kind::tensor), tensor_(std::move(index)) {}

  Kind kind() const { return kind_; }
  Int integer() const { return *slice_.start; }  // of an integer, or a bool as 0 or 1
  const indexing::Slice& slice() const { return slice_; }
  const Tensor& tensor() const { return tensor_; }

 private:
  Kind kind_ = Kind::none;
  indexing::Slice slice_;
  Tensor tensor_;
};

// x[index], read already, which remembers where from: an assignment to it writes x. index_put_
// writes without the read.
class Selected : public Tensor {
 public:
  Selected(Tensor from, Tensor index);

  Selected& operator=(const Tensor& values) &&;
  Selected& operator=(const Scalar& value) &&;
  // clang-format off
  Selected& operator+=(const Tensor& o) &&;
  Selected& operator+=(const Scalar& o) &&;
  Selected& operator-=(const Tensor& o) &&;
  Selected& operator-=(const Scalar& o) &&;
  Selected& operator*=(const Tensor& o) &&;
  Selected& operator*=(const Scalar& o) &&;
  Selected& operator/=(const Tensor& o) &&;
  Selected& operator/=(const Scalar& o) &&;
  // clang-format on

 private:
  Tensor from_, index_;
};

}  // namespace ingot
