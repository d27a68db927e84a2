// Advanced indexing: t[i, :, j] with tensors and masks as indices.
#include "base/dtype.hpp"
#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "ingot/op/vjp.hpp"
#include "ops/batch/rules.hpp"
#include "ops/common/dense.hpp"
#include "ops/pointwise/result_strides.hpp"
#include "ops/family.hpp"
#include "ops/common/lower_rules.hpp"
#include "ops/index/indexing.hpp"
#include "ops/index/masked.hpp"
#include "tensor/geometry.hpp"

namespace ingot {
namespace {

// What t[indices] means: where each dim of the result comes from.
struct Selection {
  Shape sizes;              // of the result
  Shape strides;            // of self over the result's dims, 0 where the index tensors decide
  TensorList indices;       // of the indexed dims
  std::vector<int> dims;    // which those are
  Shape index_sizes;        // what the indices broadcast to …
  std::size_t at = 0;       // … and where in the result these dims stand
};

// Masks become the coordinates of their true elements.
TensorList without_masks(const Tensor& self, const TensorList& indices) {
  TensorList out;
  for (const Tensor& index : indices) {
    if (!index.defined()) {
      out.push_back(index);
      continue;
    }
    INGOT_REQUIRE_INDEX(is_mask(index) || index.dtype() == DType::i64 || index.dtype() == DType::i32,
                        "tensors used as indices must be long, int, byte or bool tensors, found ", index.dtype());
    if (!is_mask(index)) {
      out.push_back(index);
      continue;
    }
    for (int64_t d = 0; d < index.dim(); d++) {
      const auto into = static_cast<int64_t>(out.size()) + d;
      INGOT_REQUIRE_INDEX(into < self.dim() && index.size(d) == self.size(into), "The shape of the mask ", index.sizes(),
                          " at index ", d, " does not match the shape of the indexed tensor ", self.sizes(), " at index ", into);
    }
    for (Tensor& column : nonzero_columns(index, "index")) out.push_back(std::move(column));
  }
  INGOT_REQUIRE_INDEX(static_cast<int64_t>(out.size()) <= self.dim(), "too many indices for tensor of dimension ", self.dim(),
                      " (got ", out.size(), ")");
  return out;
}

Selection select_by(const Tensor& self, const TensorList& given) {
  const TensorList indices = without_masks(self, given);
  Selection s;
  bool adjacent = true;
  for (std::size_t d = 0; d < indices.size(); d++) {
    if (!indices[d].defined()) continue;
    if (s.dims.empty()) {
      s.index_sizes = indices[d].sizes();
    } else {
      adjacent &= s.dims.back() + 1 == static_cast<int>(d);
      s.index_sizes = broadcast_shapes(s.index_sizes, indices[d].sizes(),
                                       "shape mismatch: indexing tensors could not be broadcast together: index");
    }
    s.dims.push_back(static_cast<int>(d));
    s.indices.push_back(indices[d]);
  }
  // The indices' dims stand where the indexed dims stood if these are neighbours, else in front.
  s.at = adjacent && !s.dims.empty() ? static_cast<std::size_t>(s.dims[0]) : 0;
  auto place_indices = [&] {
    for (Int n : s.index_sizes) {
      s.sizes.push_back(n);
      s.strides.push_back(0);
    }
  };
  for (int d = 0, k = 0; d <= self.dim(); d++) {
    if (s.sizes.size() == s.at && k == 0 && !s.dims.empty()) {
      place_indices();
      k = 1;
    }
    if (d == self.dim() || std::find(s.dims.begin(), s.dims.end(), d) != s.dims.end()) continue;
    s.sizes.push_back(self.sizes()[static_cast<std::size_t>(d)]);
    s.strides.push_back(self.strides()[static_cast<std::size_t>(d)]);
  }
  return s;
}

// The same over the strides of `base`, for the kernels.
Indexing indexing_of(const Selection& s, const Tensor& base) {
  Indexing ix;
  ix.sizes = s.sizes.values();
  ix.wraps = true;
  std::size_t d = 0;
  for (std::size_t i = 0; i < ix.sizes.size(); i++) {
    const bool by_index = !s.dims.empty() && i >= s.at && i < s.at + s.index_sizes.size();
    if (by_index) {
      ix.base_strides.push_back(0);
      continue;
    }
    while (std::find(s.dims.begin(), s.dims.end(), static_cast<int>(d)) != s.dims.end()) d++;
    ix.base_strides.push_back(base.strides()[d++].number());
  }
  for (std::size_t k = 0; k < s.indices.size(); k++) {
    const Tensor at = dense(s.indices[k], DType::i64);
    const std::vector<int64_t> own = walked(at, s.index_sizes.values()).strides;
    std::vector<int64_t> walk(ix.sizes.size());
    std::copy(own.begin(), own.end(), walk.begin() + static_cast<std::ptrdiff_t>(s.at));
    const auto dim = static_cast<std::size_t>(s.dims[k]);
    ix.parts.push_back({at, std::move(walk), base.sizes()[dim].number(), base.strides()[dim].number(), s.dims[k]});
  }
  return ix;
}

void index_meta(const Call& c, Outputs& o) {
  const Tensor& self = c.tensor(0);
  const Selection s = select_by(self, c[1].tensors());
  // The result is laid out as an elementwise one of self seen through the indices.
  Geometry g;
  g.sizes = s.sizes;
  g.dtype = self.dtype();
  g.strides = strides_in_order_of(s.sizes, {s.strides});
  o.add(std::move(g));
}
void index_kernel(const Call& c, std::span<const Tensor> r) {
  const Tensor& self = c.tensor(0);
  read_indexed(indexing_of(select_by(self, c[1].tensors()), self), self, r[0]);
}

void index_put_meta(const Call& c, Outputs& o) {
  const Tensor& self = c.tensor(0);
  bool by_data = false;  // a mask without bytes: how many elements it selects is not known, and not needed
  for (const Tensor& t : c[1].tensors()) by_data |= t.defined() && is_mask(t) && t->is_fake();
  if (c[2].is_tensor()) {
    const Tensor& values = c.tensor(2);
    INGOT_REQUIRE(values.dtype() == self.dtype(), "Index put requires the source and destination dtypes match, got ",
                  scalar_type_name(self.dtype()), " for the destination and ", scalar_type_name(values.dtype()),
                  " for the source.");
    if (!by_data) {
      const Shape sizes = select_by(self, c[1].tensors()).sizes;
      bool fits = values.dim() <= sizes.dim();
      for (int d = 1; fits && d <= values.dim(); d++) {
        const Int have = values.size(-d), want = sizes[sizes.size() - static_cast<std::size_t>(d)];
        fits = statically_equal(have, want) || have == 1 || have == want;
      }
      INGOT_REQUIRE(fits, "shape mismatch: value tensor of shape ", values.sizes(),
                    " cannot be broadcast to indexing result of shape ", sizes);
    }
  }
  Geometry g;
  g.sizes = self.sizes();
  g.dtype = self.dtype();
  g.strides = dense_strides_like(self.sizes(), self.strides());
  o.add(std::move(g));
}
void index_put_kernel(const Call& c, std::span<const Tensor> r) {
  const Tensor& self = c.tensor(0);
  const Selection s = select_by(self, c[1].tensors());
  combine_indexed(
      r[0], self, c[2], c[3].to_bool() ? Combine::add : Combine::assign, [&](const Tensor& base) { return indexing_of(s, base); },
      SumsAre::rounded);
}

TensorList saved_indices(const Vjp& v, int i) { return v.arg(i).is_none() ? TensorList{} : v.saved_list(i); }
// Gradients write what was read and read what was written, with the same checks as the op itself.
template <OpName Put>
void index_vjp(Vjp& v) {
  v.set(0, aten<Put>(aten<"new_zeros">(v.grad(), v.sizes(0)), saved_indices(v, 1), v.grad(), true));
}
template <OpName Put, OpName Get>
void index_put_vjp(Vjp& v) {
  if (v.need(0)) {
    const bool accumulate = v.arg(3).to_bool();
    v.set(0, accumulate ? v.grad()
                        : aten<Put>(v.grad(), saved_indices(v, 1),
                                    aten<"new_zeros">(v.grad(), v.is_tensor(2) ? v.sizes(2) : Shape{}), false));
  }
  if (v.need(2)) v.set(2, aten<Get>(v.grad(), saved_indices(v, 1)));
}

// Indices brought into range: for elements that a mask hides anyway.
TensorList clamped(const Tensor& self, const TensorList& indices) {
  TensorList out;
  for (std::size_t d = 0; d < indices.size(); d++) {
    const Int n = indices[d].defined() ? self.size(static_cast<int64_t>(d)) : Int(0);
    out.push_back(indices[d].defined() ? aten<"clamp">(indices[d], -n, n - 1) : Tensor());
  }
  return out;
}
// (self, mask, indices, fill): where(mask, self[indices], fill)
Value unsafe_masked_index(const Call& c) {
  const Tensor& self = c.tensor(0);
  const Tensor hidden = aten<"logical_not">(c[1]);
  if (statically_equal(self.numel(), 0))
    return aten<"new_full">(self, broadcast_shapes(c.tensor(1).sizes(), Shape{}, "index"), c[3]);
  return aten<"masked_fill.Scalar">(aten<"_unsafe_index.Tensor">(self, clamped(self, c[2].tensors())), hidden, c[3]);
}
// (self, mask, indices, values)
Value unsafe_masked_index_put_accumulate(const Call& c) {
  const Tensor& self = c.tensor(0);
  if (statically_equal(self.numel(), 0)) return aten<"clone">(self);
  const Tensor values = aten<"masked_fill.Scalar">(c[3], aten<"logical_not">(c[1]), 0);
  return aten<"_unsafe_index_put">(self, clamped(self, c[2].tensors()), values, true);
}

// ---- batching

// How a member's indices lie among its dims.
struct IndexLayout {
  int first = -1;        // the first dim that has an index
  int count = 0;         // dims that have one
  int rank = 0;          // of the indices, broadcast
  bool adjacent = true;  // no dim without an index between them: they stand where the first one is, else in front
  bool mask = false;
};
IndexLayout index_layout(const Batching& b) {
  IndexLayout l;
  const TensorList& indices = b.tensors(1);
  int last = -1;
  for (int k = 0; k < static_cast<int>(indices.size()); k++) {
    const Tensor& t = indices[static_cast<std::size_t>(k)];
    if (!t.defined()) continue;
    if (l.first < 0) l.first = k;
    l.adjacent &= last < 0 || last == k - 1;
    last = k;
    const int rank = static_cast<int>(t.dim()) - (b.batched(1, k) ? 1 : 0);
    const bool mask = t.dtype() == DType::b8 || t.dtype() == DType::u8;
    l.mask |= mask;
    l.count += mask ? rank : 1;
    l.rank = std::max(l.rank, mask ? 1 : rank);
  }
  return l;
}
// The indices with the batch in front of what they have together; with `own` the batch is one more
// index, of the first dim.
TensorList batched_indices(const Batching& b, const IndexLayout& l, bool own) {
  TensorList r;
  if (own)
    r.push_back(raise_rank(aten<"unsqueeze">(aten<"arange">(b.size, DType::i64, Value(), b.tensor(0).device()), 1), l.rank)
                    .reshape(b.with_batch(Shape::filled(static_cast<std::size_t>(l.rank), 1))));
  for (int k = 0; k < static_cast<int>(b.tensors(1).size()); k++) {
    const Tensor& t = b.tensors(1)[static_cast<std::size_t>(k)];
    r.push_back(b.batched(1, k) ? raise_rank(t, l.rank) : t);
  }
  return r;
}
Value batch_index(const Batching& b) {
  const IndexLayout l = index_layout(b);
  Values args = b.args;
  if (!b.batched(1)) {
    TensorList indices{Tensor()};
    indices.insert(indices.end(), b.tensors(1).begin(), b.tensors(1).end());
    args[1] = indices;
    return move_dim(call(b.op, args).tensor(), l.adjacent ? 0 : l.rank, 0);
  }
  if (l.mask) return refuse_dynamic_shape(b);
  args[1] = batched_indices(b, l, b.batched(0));
  Tensor r = call(b.op, args).tensor();
  if (!l.adjacent || l.first == 0) return r;
  if (!b.batched(0)) return move_dim(r, l.first, 0);
  for (int i = 0; i < l.first; i++) r = move_dim(r, 1 + l.rank + i, 1 + i);  // [batch, indices, dims before, after]
  return r;
}
// (self, indices, values, accumulate, …)
Value batch_index_put(const Batching& b) {
  const IndexLayout l = index_layout(b);
  if (l.mask || l.count == 0) return batch_loop(b);
  Values args = b.args;
  args[0] = b.front(0);
  args[1] = batched_indices(b, l, true);
  const int rank = l.rank + b.rank(0) - l.count;
  Tensor values = b.front(2, rank);
  if (l.adjacent)
    for (int i = 0; i < l.rank; i++) values = move_dim(values, 1 + l.first + i, 1 + i);
  args[2] = values;
  return call(b.op, args);
}

// Indices that are numbers; a mask selects as many elements as its data says, which is no loop.
void index_lower(Lowering& l) {
  const Tensor& self = l.call.tensor(0);
  const TensorList& indices = l.call[1].tensors();
  for (const Tensor& t : indices)
    if (t.defined() && is_mask(t)) return;
  const Selection s = select_by(self, indices);
  const std::vector<Expr> at = variables_over(l, l.result(0).sizes);
  const std::span<const Expr> by_index = std::span(at).subspan(s.at, s.index_sizes.size());
  const Expr unread = s.sizes.product().expr() == Expr(0);  // a result without elements reads no index
  std::vector<Expr> own;
  std::size_t next = 0;
  for (int d = 0; d < self.dim(); d++) {
    if (next == s.at) next += by_index.size();
    const auto k = static_cast<std::size_t>(d);
    if (std::find(s.dims.begin(), s.dims.end(), d) == s.dims.end()) {
      own.push_back(at[next++]);
      continue;
    }
    const Expr size = l.size(0, d);
    check_indices_in_range(l, 1, d, -size, size, text("index: an index is out of bounds for dimension ", d, " with size ", size),
                           unread);
    const Expr i = cast(DType::i64, l.load_item(1, d, broadcast_index(by_index, indices[k].sizes())));
    own.push_back(wrapped_index(i, size));
  }
  l.define(0, at, l.load(0, own));
}

constexpr OpDef kAdvancedIndexOps[] = {
    {.schema = "aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
     .meta = index_meta,
     .kernel = index_kernel,
     .vjp = index_vjp<"index_put">,
     .saves = {{1}},
     .lower = index_lower,
     .batch = batch_index},
    {.schema = "aten::_unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
     .meta = index_meta,
     .kernel = index_kernel,
     .vjp = index_vjp<"_unsafe_index_put">,
     .saves = {{1}},
     .lower = index_lower,
     .batch = batch_index},
    {.schema = "aten::index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
     .meta = index_put_meta,
     .kernel = index_put_kernel,
     .vjp = index_put_vjp<"index_put", "index.Tensor">,
     .saves = {{1}},
     .batch = batch_index_put},
    {.schema = "aten::_unsafe_index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
     .meta = index_put_meta,
     .kernel = index_put_kernel,
     .vjp = index_put_vjp<"_unsafe_index_put", "_unsafe_index.Tensor">,
     .saves = {{1}},
     .batch = batch_index_put},
    {.schema =
         "aten::_index_put_impl(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False, bool unsafe=False) -> Tensor",
     .meta = index_put_meta,
     .kernel = index_put_kernel,
     .vjp = index_put_vjp<"index_put", "index.Tensor">,
     .saves = {{1}},
     .batch = batch_index_put},
    {.schema = "aten::_unsafe_masked_index(Tensor self, Tensor mask, Tensor?[] indices, Scalar fill) -> Tensor",
     .body = unsafe_masked_index,
     .vjp =
         [](Vjp& v) {
           v.set(0, aten<"_unsafe_masked_index_put_accumulate">(aten<"new_zeros">(v.grad(), v.sizes(0)), v.saved(1),
                                                                saved_indices(v, 2), v.grad()));
         },
     .saves = {{1}, {2}}},
    {.schema = "aten::_unsafe_masked_index_put_accumulate(Tensor self, Tensor mask, Tensor?[] indices, Tensor values) -> Tensor",
     .body = unsafe_masked_index_put_accumulate,
     .vjp =
         [](Vjp& v) {
           if (v.need(0)) v.set(0, v.grad());
           if (v.need(3)) v.set(3, aten<"_unsafe_masked_index">(v.grad(), v.saved(1), saved_indices(v, 2), 0));
         },
     .saves = {{1, 3}, {2, 3}}},
    // What the joint graph of a score function of flex_attention has for the gradient of what it
    // indexes.
    {.schema = "flex_lib::zeros_and_scatter(SymInt[] shape, Tensor[] indices, Tensor vals) -> Tensor",
     .form = Form::composite,
     .body = [](const Call& c) -> Value {
       const Tensor zeros = aten<"zeros">(c[0], c.tensor(2).dtype(), Value(), c.tensor(2).device());
       return aten<"index_put">(zeros, c[1], c[2], true);
     }},
};

}  // namespace

INGOT_FAMILY(advanced_index, kAdvancedIndexOps)

}  // namespace ingot
