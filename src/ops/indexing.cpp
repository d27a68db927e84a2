// x.index({…}), x.index_put_({…}, v) and x[mask] = v: indices that are no tensors become views, the
// rest is the op index or index_put_.
#include "ingot/indexing.hpp"

#include <algorithm>
#include <ranges>
#include <span>
#include <utility>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "ops/common/followed.hpp"
#include "ops/index/masked.hpp"

namespace ingot {
namespace {

using Kind = TensorIndex::Kind;
using Indices = std::span<const TensorIndex>;

// How many dims of the tensor an index is for.
int64_t dims_of(const TensorIndex& index) {
  switch (index.kind()) {
    case Kind::integer:
    case Kind::slice: return 1;
    case Kind::tensor: return is_mask(index.tensor()) ? index.tensor().dim() : 1;
    default: return 0;
  }
}

// A tensor that stands for an integer.
bool is_integer(const Tensor& t) { return t.dim() == 0 && is_integral(t.dtype()) && !is_mask(t); }

// A copy of from[indices], which is written back.
struct Copied {
  Tensor from;
  TensorList indices;
  Tensor copy;
};

// The tensor after the indices that change its geometry, and the list for the op after it: of each
// dim the tensor there, undefined for all of a dim. A mask is one entry for all of its dims.
struct Indexed {
  Tensor view;
  TensorList tensors;
  std::vector<Copied> copies;  // `view` is of the last one, which is from the one before it
  bool has_tensors() const { return !tensors.empty(); }
};
Indexed apply(const Tensor& self, Indices indices) {
  int64_t specified = 0;
  for (const TensorIndex& i : indices) specified += dims_of(i);
  INGOT_REQUIRE_INDEX(specified <= self.dim(), "too many indices for tensor of dimension ", self.dim());

  // Integers alone may stay in the list: they add no dims whose place the others could change.
  const bool adds_dims = std::ranges::any_of(indices, [](const TensorIndex& i) {
    return i.kind() == Kind::boolean || (i.kind() == Kind::tensor && !is_integer(i.tensor()));
  });

  Indexed r{self, {}, {}};
  int64_t dim = 0, entry = 0;  // the next dim of the view, and its place in the list
  const auto pass = [&](int64_t dims) {
    dim += dims;
    entry += dims;
  };
  const auto take = [&](const Tensor& index, int64_t dims) {
    r.tensors.resize(static_cast<std::size_t>(entry++));
    r.tensors.push_back(index);
    dim += dims;
  };
  for (const TensorIndex& i : indices) {
    switch (i.kind()) {
      case Kind::none:
        r.view = r.view.unsqueeze(dim);
        pass(1);
        break;
      case Kind::ellipsis:
        pass(self.dim() - specified);
        specified = self.dim();
        break;
      case Kind::integer: r.view = r.view.select(dim, i.integer()); break;
      case Kind::boolean:
        r.view = r.view.unsqueeze(dim);
        take(tensor({Scalar(i.integer() != 0)}), 1);
        break;
      case Kind::slice:
        INGOT_REQUIRE(i.slice().step > 0, "step must be greater than zero, found ", i.slice().step);
        r.view = r.view.slice(dim, i.slice().start, i.slice().stop, i.slice().step);
        pass(1);
        break;
      case Kind::tensor:
        if (!is_integer(i.tensor())) {
          const bool is_truth = is_mask(i.tensor()) && i.tensor().dim() == 0;  // as a bool
          if (is_truth) r.view = r.view.unsqueeze(dim);
          take(is_truth ? i.tensor().unsqueeze(0) : i.tensor(), is_truth ? 1 : dims_of(i));
        } else if (!is_followed(i.tensor())) {
          r.view = r.view.select(dim, i.tensor().item().to_int());
        } else if (!adds_dims) {
          take(i.tensor(), 1);
        } else {
          TensorList at(static_cast<std::size_t>(dim));
          at.push_back(i.tensor());
          const Tensor copy = aten<"index.Tensor">(r.view, at);
          r.copies.push_back({std::exchange(r.view, copy), std::move(at), copy});
        }
        break;
    }
  }
  return r;
}

Tensor read(const Tensor& self, Indices indices) {
  Indexed r = apply(self, indices);
  if (r.has_tensors()) return aten<"index.Tensor">(r.view, r.tensors);
  // As in PyTorch an index that changes nothing makes a view all the same.
  return r.view.is_same(self) ? aten<"alias">(self) : r.view;
}

// PyTorch drops dims of one element in front of values that have more dims than what they are
// written to.
Tensor without_leading_ones(const Tensor& values) {
  Tensor v = values;
  while (v.dim() > 0 && v.size(0) == 1) v = v.squeeze(0);
  return v;
}

void put(const Indexed& r, const Tensor& values) {
  aten_value<"index_put_">(r.view, r.tensors, values);
  for (const Copied& c : std::views::reverse(r.copies)) aten_value<"index_put_">(c.from, c.indices, c.copy);
}

void write(const Tensor& self, Indices indices, const Tensor& values) {
  Indexed r = apply(self, indices);
  if (r.has_tensors()) put(r, without_leading_ones(values));
  else r.view.copy_(values.dim() > r.view.dim() ? without_leading_ones(values) : values);
}
void write(const Tensor& self, Indices indices, const Scalar& value) {
  Indexed r = apply(self, indices);
  if (r.has_tensors()) put(r, scalar_tensor(value, {self.dtype(), self.device()}));
  else r.view.fill_(value);
}

Indices span_of(std::initializer_list<TensorIndex> l) { return {l.begin(), l.size()}; }

}  // namespace

TensorIndex::TensorIndex(const char* dots) : kind_(Kind::ellipsis) {
  INGOT_REQUIRE(std::string_view(dots) == "...", "the only text that is an index is \"...\", found \"", dots, "\"");
}

Tensor Tensor::index(std::initializer_list<TensorIndex> indices) const { return read(*this, span_of(indices)); }
Tensor Tensor::index(const std::vector<TensorIndex>& indices) const { return read(*this, indices); }
Tensor& Tensor::index_put_(std::initializer_list<TensorIndex> indices, const Tensor& values) {
  return write(*this, span_of(indices), values), *this;
}
Tensor& Tensor::index_put_(const std::vector<TensorIndex>& indices, const Tensor& values) {
  return write(*this, indices, values), *this;
}
Tensor& Tensor::index_put_(std::initializer_list<TensorIndex> indices, const Scalar& value) {
  return write(*this, span_of(indices), value), *this;
}
Tensor& Tensor::index_put_(const std::vector<TensorIndex>& indices, const Scalar& value) {
  return write(*this, indices, value), *this;
}

Selected Tensor::operator[](const Tensor& index) const { return {*this, index}; }
Selected::Selected(Tensor from, Tensor index)
    : Tensor(from.index({TensorIndex(index)})), from_(std::move(from)), index_(std::move(index)) {}
void Selected::operator=(const Selected& values) && { std::move(*this) = static_cast<const Tensor&>(values); }
void Selected::operator=(const Tensor& values) && {
  if (from_.defined()) from_.index_put_({index_}, values);
  else copy_(values);
}
void Selected::operator=(const Scalar& value) && {
  if (from_.defined()) from_.index_put_({index_}, value);
  else fill_(value);
}
Selected& Selected::operator=(const Tensor& other) & {
  Tensor::operator=(other);
  from_ = index_ = Tensor();
  return *this;
}
void Selected::put_back() {
  const bool is_view = !from_.defined() || (is_integer(index_) && !is_followed(index_));
  if (!is_view) from_.index_put_({index_}, *this);
}

}  // namespace ingot
