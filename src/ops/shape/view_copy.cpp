// The `_copy` twins of views: the same elements in a fresh contiguous tensor, with the view's
// gradient.
#include "ingot/op/vjp.hpp"
#include "op/call.hpp"
#include "ops/family.hpp"

namespace ingot {
namespace {

Tensor fresh(const Tensor& t) { return aten<"clone">(t, MemoryFormat::contiguous); }

template <OpName View>
constexpr OpDef copy_of(std::string_view schema, uint8_t backward_index = 0) {
  return {.schema = schema,
          .form = Form::external,
          .body = [](const Call& c) -> Value {
            const Value r = call(op_ref<View>(), c.args);
            if (r.is_tensor()) return fresh(r.tensor());
            TensorList l;
            for (const Tensor& t : r.tensors()) l.push_back(fresh(t));
            return Value(std::move(l));
          },
          .vjp = [](Vjp& v) { op_ref<View>().def->vjp(v); },
          .grad = {.node_number = backward_index}};
}
// PyTorch has no derivative for detach_copy, and the bits of a float are no function of it that has
// one.
constexpr OpDef detach_copy() {
  OpDef d = copy_of<"detach">("aten::detach_copy(Tensor self) -> Tensor");
  d.vjp = nullptr;
  return d;
}
constexpr OpDef view_copy_dtype() {
  OpDef d = copy_of<"view.dtype">("aten::view_copy.dtype(Tensor self, ScalarType dtype) -> Tensor");
  d.vjp = nullptr;
  d.grad.none = true;
  return d;
}

constexpr OpDef kViewCopyOps[] = {
    copy_of<"alias">("aten::alias_copy(Tensor self) -> Tensor"),
    copy_of<"as_strided">(
        "aten::as_strided_copy(Tensor self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor"),
    detach_copy(),
    copy_of<"diagonal">("aten::diagonal_copy(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor"),
    copy_of<"expand">("aten::expand_copy(Tensor self, SymInt[] size, *, bool implicit=False) -> Tensor"),
    copy_of<"permute">("aten::permute_copy(Tensor self, int[] dims) -> Tensor"),
    copy_of<"_reshape_alias">("aten::_reshape_alias_copy(Tensor self, SymInt[] size, SymInt[] stride) -> Tensor"),
    copy_of<"select.int">("aten::select_copy.int(Tensor self, int dim, SymInt index) -> Tensor"),
    copy_of<"slice.Tensor">(
        "aten::slice_copy.Tensor(Tensor self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor"),
    copy_of<"split.Tensor">("aten::split_copy.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]"),
    copy_of<"split_with_sizes">("aten::split_with_sizes_copy(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]"),
    copy_of<"squeeze">("aten::squeeze_copy(Tensor self) -> Tensor"),
    copy_of<"squeeze.dim">("aten::squeeze_copy.dim(Tensor self, int dim) -> Tensor", 1),
    copy_of<"squeeze.dims">("aten::squeeze_copy.dims(Tensor self, int[] dim) -> Tensor", 2),
    copy_of<"t">("aten::t_copy(Tensor self) -> Tensor"),
    copy_of<"transpose.int">("aten::transpose_copy.int(Tensor self, int dim0, int dim1) -> Tensor"),
    copy_of<"unbind.int">("aten::unbind_copy.int(Tensor self, int dim=0) -> Tensor[]"),
    copy_of<"unfold">("aten::unfold_copy(Tensor self, int dimension, int size, int step) -> Tensor"),
    copy_of<"unsqueeze">("aten::unsqueeze_copy(Tensor self, int dim) -> Tensor"),
    copy_of<"view">("aten::view_copy(Tensor self, SymInt[] size) -> Tensor"),
    view_copy_dtype(),
    {.schema = "aten::narrow_copy(Tensor self, int dim, SymInt start, SymInt length) -> Tensor",
     .form = Form::external,
     .body = [](const Call& c) -> Value { return fresh(aten<"narrow">(c[0], c[1], c[2], c[3])); },
     .vjp =
         [](Vjp& v) {
           v.set(0, aten<"slice_backward">(v.grad(), v.sizes(0), v.arg(1), v.arg(2), v.arg(2).to_int() + v.arg(3).to_int(), 1));
         }},
    {.schema = "aten::_reshape_copy(Tensor self, SymInt[] size) -> Tensor",
     .form = Form::external,
     .body = [](const Call& c) -> Value { return aten<"view">(fresh(c.tensor(0)), c[1]); },
     .vjp = [](Vjp& v) { v.set(0, aten<"reshape">(v.grad(), v.sizes(0))); }},
    {.schema = "aten::lift_fresh_copy(Tensor self) -> Tensor",
     .form = Form::pointwise,
     .body = [](const Call& c) -> Value { return aten<"clone">(c[0]); },
     .vjp = [](Vjp& v) { v.set(0, v.grad()); }},
};

}  // namespace

INGOT_FAMILY(view_copy, kViewCopyOps)

}  // namespace ingot
