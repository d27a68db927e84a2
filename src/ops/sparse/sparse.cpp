// Sparse tensors in coordinate form, and gradients that are. What the ops do with one its class
// says (sparse_tensor.cpp): here they meet dense tensors.
#include "base/dtype.hpp"
#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "ingot/sparse.hpp"
#include "op/call.hpp"
#include "ingot/op/vjp.hpp"
#include "ops/index/embedding_bag.hpp"
#include "ops/family.hpp"
#include "ops/sparse/sparse_tensor.hpp"

namespace ingot {
namespace {

// (indices, values, size, dtype, …, is_coalesced)
Value unchecked(const Call& c) {
  INGOT_REQUIRE(c[3].is_none() || c[3].dtype() == c.tensor(1).dtype(),  // a conversion here would be in no graph
                "_sparse_coo_tensor_unsafe: expected values of type ", c[3].dtype(), ", found ", c.tensor(1).dtype());
  return make_sparse(c.tensor(0), c.tensor(1), c[2].ints(), !c[7].is_none() && c[7].to_bool());
}
Value checked(const Call& c) {
  const Tensor &indices = c.tensor(0), &values = c.tensor(1);
  const Shape& size = c[2].ints();
  INGOT_REQUIRE(indices.dim() == 2 && is_integral(indices.dtype()),
                "sparse_coo_tensor: expected indices of whole numbers in a matrix [sparse dims, n], found ", indices.dtype(), " ",
                indices.sizes());
  const int64_t sparse = indices.size(0).value(), dense = values.dim() - 1;
  INGOT_REQUIRE(sparse > 0 && dense >= 0 && sparse + dense == size.dim(), "number of dimensions must be sparse_dim (", sparse,
                ") + dense_dim (", dense, "), but got ", size.dim());
  INGOT_REQUIRE(values.size(0) == indices.size(1),
                "indices and values must have same nnz, but got nnz from indices: ", indices.size(1),
                ", nnz from values: ", values.size(0));
  for (int64_t d = 0; d < dense; d++)
    INGOT_REQUIRE(values.size(d + 1) == size[static_cast<std::size_t>(sparse + d)], "values has incorrect size, expected size ",
                  size, " behind the first dim, got ", values.sizes());
  if (!indices->is_fake() && indices.numel() > 0)
    for (int64_t d = 0; d < sparse; d++) {
      const Int bound = size[static_cast<std::size_t>(d)];
      const Tensor row = indices.select(0, d);
      const int64_t least = aten<"min">(row).item_int(), most = row.max().item_int();
      INGOT_REQUIRE_INDEX(least >= 0 && most < bound, "size is inconsistent with indices: for dim ", d, ", size is ", bound,
                          " but found index ", least < 0 ? least : most);
    }
  return aten<"_sparse_coo_tensor_unsafe">(aten<"_to_copy">(indices, DType::i64),
                                           c[3].is_none() ? values : values.to(c[3].dtype()), size, c[3], c[4], c[5], c[6], c[7]);
}

Value refuse_dense(const Call& c) {
  throw_user_error(text(c.op.schema.name, ": expected a sparse tensor (sparse_coo), found a dense one"));
}

// (grad, indices, num_weights, padding_idx, scale_grad_by_freq): row k of the gradient at the place
// indices[k].
Value embedding_backward(const Call& c) {
  Tensor grad = c.tensor(0), indices = c.tensor(1);
  INGOT_REQUIRE(!c[4].to_bool(), "embedding_backward: scale_grad_by_freq not supported with sparse gradients");
  if (const int64_t padding = c[3].to_int64(); padding != -1) {
    const TensorList kept{indices != Scalar(padding)};
    grad = aten<"index.Tensor">(grad, kept);
    indices = aten<"index.Tensor">(indices, kept);
  }
  const Int width = grad.size(-1);
  return aten<"_sparse_coo_tensor_unsafe">(indices.reshape({1, -1}), grad.reshape({-1, width}), Shape{c[2].to_int(), width});
}

// (grad, indices, offsets, offset2bag, bag_size, num_weights, scale_grad_by_freq, mode,
// per_sample_weights, padding_idx)
Value bag_backward(const Call& c) {
  const auto mode = static_cast<BagMode>(c[7].to_int64());
  INGOT_REQUIRE(mode != BagMode::max, "max mode does not support sparse weights");
  const Tensor bag = offset2bag_of(c.tensor(3), c.tensor(1), c.tensor(2));
  Tensor grad = aten<"index_select">(c[0], 0, bag);
  if (mode == BagMode::mean) grad = grad / aten<"index_select">(c[4], 0, bag).unsqueeze(1);
  if (c[8].is_tensor()) grad = grad * c.tensor(8).unsqueeze(1);
  return aten<"embedding_sparse_backward">(grad, c[1], c[5], c[9], c[6]);
}

#define SPARSE_OPTIONS \
  "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool? is_coalesced=None"

constexpr OpDef kSparseOps[] = {
    {.schema = "aten::_sparse_coo_tensor_unsafe(Tensor indices, Tensor values, SymInt[] size, " SPARSE_OPTIONS ") -> Tensor",
     .body = unchecked,
     .vjp = [](Vjp& v) { v.set(1, aten<"index.Tensor">(aten<"to_dense">(v.grad()), v.saved(0).unbind(0))); },
     .saves = {{0}},
     .result = {.is_wrapper = true}},
    {.schema = "aten::sparse_coo_tensor.indices_size(Tensor indices, Tensor values, int[] size, " SPARSE_OPTIONS ") -> Tensor",
     .form = Form::composite,
     .body = checked},
    {.schema = "aten::_indices(Tensor(a) self) -> Tensor(a)", .body = refuse_dense, .grad = {.none = true}},
    {.schema = "aten::_values(Tensor(a) self) -> Tensor(a)", .body = refuse_dense, .grad = {.none = true}},
    // Of any wrapper tensor (op/wrapper.hpp): its own layer answers, so what comes here is none.
    {.schema = "ingot::inner_tensor(Tensor self, str name) -> Tensor",
     .body = [](const Call& c) -> Value {
       throw_user_error(text("inner_tensor('", c[1].string(), "'): expected a wrapper tensor, found a plain one"));
     },
     .grad = {.none = true},
     .result = {.reads_wrapper = true}},
    {.schema = "aten::_nnz(Tensor self) -> int", .body = refuse_dense},
    {.schema = "aten::is_coalesced(Tensor self) -> bool", .body = refuse_dense},
    {.schema = "aten::_coalesce(Tensor self) -> Tensor", .body = refuse_dense, .vjp = [](Vjp& v) { v.set(0, v.grad()); }},
    {.schema = "aten::coalesce(Tensor(a) self) -> Tensor(a)",
     .form = Form::composite,
     .body = [](const Call& c) -> Value { return aten<"_coalesce">(c[0]); }},
    {.schema = "aten::_to_dense(Tensor self, ScalarType? dtype=None, bool? masked_grad=None) -> Tensor",
     .body = [](const Call& c) -> Value { return aten<"_to_copy">(c[0], c[1]); },
     .vjp = [](Vjp& v) { v.set(0, aten<"sparse_mask">(v.grad(), v.saved(0))); },
     .saves = {{0}}},
    // Of a dense mask: every place is in it.
    {.schema = "aten::sparse_mask(Tensor self, Tensor mask) -> Tensor",
     .body = [](const Call& c) -> Value { return aten<"clone">(c[0]); },
     .vjp = [](Vjp& v) { v.set(0, aten<"to_dense">(v.grad())); }},
    {.schema = "aten::to_dense(Tensor self, ScalarType? dtype=None, *, bool? masked_grad=None) -> Tensor",
     .form = Form::composite,
     .body = [](const Call& c) -> Value {
       if (c.tensor(0)->layers) return aten<"_to_dense">(c[0], c[1], c[2]);  // sparse, or what stands for a sparse one
       return c[1].is_none() ? c.tensor(0) : c.tensor(0).to(c[1].dtype());
     },
     .result = {.may_alias = true}},
    {.schema =
         "aten::embedding_sparse_backward(Tensor grad, Tensor indices, int num_weights, int padding_idx, bool scale_grad_by_freq) -> Tensor",
     .form = Form::composite,
     .body = embedding_backward},
    {.schema =
         "aten::_embedding_bag_sparse_backward(Tensor grad, Tensor indices, Tensor offsets, Tensor offset2bag, Tensor bag_size, SymInt num_weights, bool "
         "scale_grad_by_freq, int mode, Tensor? per_sample_weights, int padding_idx=-1) -> Tensor",
     .form = Form::composite,
     .body = bag_backward},
};

}  // namespace

INGOT_FAMILY(sparse, kSparseOps)

}  // namespace ingot
