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

// One index of several. A mask (a bool or uint8 tensor) is for as many dims as it has; a bool, or a
// mask of no dims, for none: it adds one of size 1 or 0. A tensor of one integer and no dims is
// that integer; where its value must not be read (in a function that is traced or vmapped over)
// what it reads is a copy, and what is assigned is written all the same.
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

// x[index], read already, which remembers where from: what is assigned to it is written to x.
// index_put_ writes without the read. A variable of this class is the elements that were read, as
// in Python: after `auto s = x[mask]` the line `s = y` makes s another tensor, `s += y` changes s.
class Selected : public Tensor {
 public:
  Selected(Tensor from, Tensor index);
  Selected(const Selected&) = default;
  Selected(Selected&&) = default;

  // These return nothing: the elements that were read are those from before.
  void operator=(const Selected& values) &&;
  void operator=(const Tensor& values) &&;
  void operator=(const Scalar& value) &&;
  Selected& operator=(const Selected& other) & = default;
  Selected& operator=(const Tensor& other) &;
  // clang-format off
  template <class V> void operator+=(const V& v) && { Tensor::operator+=(v); put_back(); }
  template <class V> void operator-=(const V& v) && { Tensor::operator-=(v); put_back(); }
  template <class V> void operator*=(const V& v) && { Tensor::operator*=(v); put_back(); }
  template <class V> void operator/=(const V& v) && { Tensor::operator/=(v); put_back(); }
  template <class V> void operator%=(const V& v) && { Tensor::operator%=(v); put_back(); }
  template <class V> void operator&=(const V& v) && { Tensor::operator&=(v); put_back(); }
  template <class V> void operator|=(const V& v) && { Tensor::operator|=(v); put_back(); }
  template <class V> void operator^=(const V& v) && { Tensor::operator^=(v); put_back(); }
  template <class V> Tensor& operator+=(const V& v) & { return Tensor::operator+=(v); }
  template <class V> Tensor& operator-=(const V& v) & { return Tensor::operator-=(v); }
  template <class V> Tensor& operator*=(const V& v) & { return Tensor::operator*=(v); }
  template <class V> Tensor& operator/=(const V& v) & { return Tensor::operator/=(v); }
  template <class V> Tensor& operator%=(const V& v) & { return Tensor::operator%=(v); }
  template <class V> Tensor& operator&=(const V& v) & { return Tensor::operator&=(v); }
  template <class V> Tensor& operator|=(const V& v) & { return Tensor::operator|=(v); }
  template <class V> Tensor& operator^=(const V& v) & { return Tensor::operator^=(v); }
  // clang-format on

 private:
  // Writes the elements read, which were changed, to where they are from.
  void put_back();

  Tensor from_, index_;  // undefined after an assignment to a variable
};

}  // namespace ingot
