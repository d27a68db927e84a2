// x.index({…}), x.index_put_({…}, v) and x[mask] = v: indices that are no tensors become views, the
// rest is the op index or index_put_.
#include "ingot/indexing.hpp"

#include <span>
#include <utility>

#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"

namespace ingot {
namespace {

using Kind = TensorIndex::Kind;
using Indices = std::span<const TensorIndex>;

bool is_mask(const Tensor& t) { return t.dtype() == DType::b8 || t.dtype() == DType::u8; }

// How many dims of the tensor an index is for.
int64_t dims_of(const TensorIndex& index) {
  switch (index.kind()) {
    case Kind::integer:
    case Kind::slice: return 1;
    case Kind::tensor: return is_mask(index.tensor()) ? index.tensor().dim() : 1;
    default: return 0;
  }
}

// The tensor after the indices that are no tensors, and for each of its dims up to the last one
// with an index the tensor there; undefined for all of a dim.
struct Indexed {
  Tensor view;
  TensorList tensors;
  bool has_tensors() const { return !tensors.empty(); }
};
Indexed apply(const Tensor& self, Indices indices) {
  int64_t specified = 0;
  for (const TensorIndex& i : indices) specified += dims_of(i);
  INGOT_REQUIRE_INDEX(specified <= self.dim(), "too many indices for tensor of dimension ", self.dim());

  Indexed r{self, {}};
  int64_t dim = 0;
  const auto at_dim = [&](const Tensor& index) {
    r.tensors.resize(static_cast<std::size_t>(dim));
    r.tensors.push_back(index);
  };
  for (const TensorIndex& i : indices) {
    switch (i.kind()) {
      case Kind::none: r.view = r.view.unsqueeze(dim++); break;
      case Kind::ellipsis:
        dim += self.dim() - specified;
        specified = self.dim();
        break;
      case Kind::integer: r.view = r.view.select(dim, i.integer()); break;
      case Kind::boolean:
        r.view = r.view.unsqueeze(dim);
        at_dim(tensor({Scalar(i.integer() != 0)}));
        dim++;
        break;
      case Kind::slice:
        INGOT_REQUIRE(i.slice().step > 0, "step must be greater than zero, found ", i.slice().step);
        r.view = r.view.slice(dim++, i.slice().start, i.slice().stop, i.slice().step);
        break;
      case Kind::tensor: {
        const bool is_truth = is_mask(i.tensor()) && i.tensor().dim() == 0;  // as a bool
        if (is_truth) r.view = r.view.unsqueeze(dim);
        at_dim(is_truth ? i.tensor().unsqueeze(0) : i.tensor());
        dim += is_truth ? 1 : dims_of(i);
        break;
      }
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

void write(const Tensor& self, Indices indices, const Tensor& values) {
  Indexed r = apply(self, indices);
  if (r.has_tensors()) aten_value<"index_put_">(r.view, r.tensors, without_leading_ones(values));
  else r.view.copy_(values.dim() > r.view.dim() ? without_leading_ones(values) : values);
}
void write(const Tensor& self, Indices indices, const Scalar& value) {
  Indexed r = apply(self, indices);
  if (r.has_tensors()) aten_value<"index_put_">(r.view, r.tensors, scalar_tensor(value, {self.dtype(), self.device()}));
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
    : Tensor(aten<"index.Tensor">(from, TensorList{index})), from_(std::move(from)), index_(std::move(index)) {}
Selected& Selected::operator=(const Tensor& values) && {
  from_.index_put_({index_}, values);
  return *this;
}
Selected& Selected::operator=(const Scalar& value) && {
  from_.index_put_({index_}, value);
  return *this;
}
// clang-format off
#define COMPOUND(symbol)                                                                                                         \
  Selected& Selected::operator symbol##=(const Tensor& o) && { return from_.index_put_({index_}, *this symbol o), *this; }       \
  Selected& Selected::operator symbol##=(const Scalar& o) && { return from_.index_put_({index_}, *this symbol o), *this; }
COMPOUND(+) COMPOUND(-) COMPOUND(*) COMPOUND(/)
#undef COMPOUND
// clang-format on

}  // namespace ingot
