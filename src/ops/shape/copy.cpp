// Copies and conversions.
#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "ingot/op/vjp.hpp"
#include "ops/batch/rules.hpp"
#include "ops/pointwise/result_strides.hpp"
#include "ops/family.hpp"
#include "ops/common/lower_rules.hpp"
#include "tensor/geometry.hpp"
#include "tensor/rows.hpp"

namespace ingot {
namespace {

// Geometry of a copy of t: `preserve` keeps dense strides, or lays a non-dense input out as
// TensorIterator would.
Geometry copy_geometry(const Tensor& t, const Value& format, DType dtype) {
  const MemoryFormat f = format.is_none() ? MemoryFormat::preserve : format.memory_format();
  Geometry g;
  g.sizes = t.sizes();
  g.dtype = dtype;
  g.strides = f == MemoryFormat::preserve ? dense_strides_like(t.sizes(), t.strides()) : strides_for(t.sizes(), f);
  return g;
}

void copy_argument_0(const Call& c, std::span<const Tensor> r) { copy_elements(r[0], c.tensor(0)); }

// to.* : self where nothing changes, else _to_copy.
Value to_like(const Tensor& self, DType dtype, Device device, bool copy, const Value& format) {
  const bool same_format =
      format.is_none() || format.memory_format() == MemoryFormat::preserve || self.is_contiguous(format.memory_format());
  if (!copy && dtype == self.dtype() && device == self.device() && same_format) return Value(self);
  return aten<"_to_copy">(self, dtype, Value(), device, Value(), false, format);
}

// fill wants a 0-dim value: one that differs by member is broadcast instead.
Value batch_fill(const Batching& b) {
  if (!b[1].is_tensor() || !b.batched(1)) return call(b.op, b.args);
  INGOT_REQUIRE(b.rank(1) == 0, "fill_ only supports 0-dimension value tensor but got tensor with ", b.rank(1), " dimensions.");
  return aten<"clone">(
      aten<"expand">(raise_rank(aten<"to.dtype">(b.tensor(1), b.tensor(0).dtype()), b.rank(0)), b.with_batch(b.sizes(0))),
      MemoryFormat::contiguous);
}

constexpr OpDef kCopyOps[] = {
    {.schema = "aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor",
     .form = Form::pointwise,
     .meta = [](const Call& c, Outputs& o) { o.add(copy_geometry(c.tensor(0), c[1], c.tensor(0).dtype())); },
     .kernel = copy_argument_0,
     .vjp = [](Vjp& v) { v.set(0, v.grad()); },
     .lower = copy_lower<0>,
     .result = {.only_moved = true}},
    {.schema = "aten::copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor",
     .form = Form::pointwise,
     .meta =
         [](const Call& c, Outputs& o) {
           const Tensor& self = c.tensor(0);
           if (c[1].is_tensor()) {
             const Shape b = broadcast_shapes(self.sizes(), c.tensor(1).sizes(), "copy_");
             INGOT_REQUIRE(b == self.sizes(), "copy_: output with shape ", self.sizes(), " doesn't match the broadcast shape ",
                           b);
           }
           o.add(copy_geometry(self, Value(), self.dtype()));
         },
     .kernel =
         [](const Call& c, std::span<const Tensor> r) {
           if (c[1].is_tensor()) copy_elements(r[0], c.tensor(1));
           else fill_elements(r[0], c[1].to_scalar());
         },
     .vjp =
         [](Vjp& v) {
           if (v.need(0)) v.set(0, aten<"zeros_like">(v.grad()));
           if (v.need(1)) v.set(1, v.grad());
         },
     .grad = {.variants = GradVariants::inplace},  // PyTorch differentiates copy_ alone
     .lower = copy_lower<1>,
     .result = {.only_moved = true}},
    {.schema =
         "aten::_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool "
         "non_blocking=False, MemoryFormat? memory_format=None) -> Tensor",
     .form = Form::pointwise,
     .meta =
         [](const Call& c, Outputs& o) {
           if (c[3].is_device()) o.device = c[3].device();
           o.add(copy_geometry(c.tensor(0), c[6], c[1].dtype_or(c.tensor(0).dtype())));
         },
     .kernel = copy_argument_0,
     .vjp = [](Vjp& v) { v.set(0, v.grad()); },
     .lower = copy_lower<0>,
     .result = {.only_moved = true},
     .exported = {.frozen = true}},
    {.schema = "aten::contiguous(Tensor(a) self, *, MemoryFormat memory_format=0) -> Tensor(a)",
     .form = Form::composite,
     .body = [](const Call& c) -> Value {
       const MemoryFormat f = c[1].memory_format();
       INGOT_REQUIRE(f != MemoryFormat::preserve, "preserve memory format is unsupported by the contiguous operator");
       if (c.tensor(0).is_contiguous(f)) return c[0];
       return aten<"clone">(c.tensor(0), f);
     }},
    {.schema =
         "aten::to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> "
         "Tensor(a)",
     .form = Form::composite,
     .body = [](const Call& c) { return to_like(c.tensor(0), c[1].dtype(), c.tensor(0).device(), c[3].to_bool(), c[4]); },
     .exported = {.copy_argument = 3}},
    {.schema =
         "aten::to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, "
         "bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
     .form = Form::composite,
     .body =
         [](const Call& c) {
           const Tensor& t = c.tensor(0);
           return to_like(t, c[1].dtype_or(t.dtype()), c[3].is_none() ? t.device() : c[3].device(), c[6].to_bool(), c[7]);
         },
     .exported = {.copy_argument = 6}},
    {.schema =
         "aten::to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? "
         "memory_format=None) -> Tensor(a)",
     .form = Form::composite,
     .body = [](const Call& c) { return to_like(c.tensor(0), c[2].dtype(), c[1].device(), c[4].to_bool(), c[5]); },
     .exported = {.copy_argument = 4}},
    {.schema =
         "aten::to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> "
         "Tensor(a)",
     .form = Form::composite,
     .body = [](const Call& c) { return to_like(c.tensor(0), c.tensor(1).dtype(), c.tensor(1).device(), c[3].to_bool(), c[4]); },
     .exported = {.copy_argument = 3}},
    {.schema = "aten::type_as(Tensor self, Tensor other) -> Tensor",
     .form = Form::composite,
     .body = [](const Call& c) { return to_like(c.tensor(0), c.tensor(1).dtype(), c.tensor(1).device(), false, Value()); }},
    {.schema = "aten::fill.Scalar(Tensor self, Scalar value) -> Tensor",
     .form = Form::pointwise,
     .meta = [](const Call& c, Outputs& o) { o.add(copy_geometry(c.tensor(0), Value(), c.tensor(0).dtype())); },
     .kernel = [](const Call& c, std::span<const Tensor> r) { fill_elements(r[0], c[1].to_scalar()); },
     .vjp = [](Vjp& v) { v.set(0, aten<"zeros_like">(v.grad())); },
     .lower = copy_lower<1>,
     .result = {.only_moved = true}},
    {.schema = "aten::fill.Tensor(Tensor self, Tensor value) -> Tensor",
     .form = Form::pointwise,
     .meta =
         [](const Call& c, Outputs& o) {
           INGOT_REQUIRE(!c[1].is_tensor() || c.tensor(1).dim() == 0,
                         "fill_ only supports 0-dimension value tensor but got tensor with ", c.tensor(1).dim(), " dimensions.");
           o.add(copy_geometry(c.tensor(0), Value(), c.tensor(0).dtype()));
         },
     .kernel =
         [](const Call& c, std::span<const Tensor> r) {
           if (c[1].is_tensor()) copy_elements(r[0], c.tensor(1));
           else fill_elements(r[0], c[1].to_scalar());
         },
     .vjp =
         [](Vjp& v) {
           if (v.need(0)) v.set(0, aten<"zeros_like">(v.grad()));
           if (v.need(1)) v.set(1, aten<"sum">(v.grad()));
         },
     .grad = {.node_number = 1},
     .lower = copy_lower<1>,
     .batch = batch_fill,
     .result = {.only_moved = true}},
    {.schema = "aten::zero(Tensor self) -> Tensor",
     .form = Form::pointwise,
     .meta = [](const Call& c, Outputs& o) { o.add(copy_geometry(c.tensor(0), Value(), c.tensor(0).dtype())); },
     .kernel = [](const Call&, std::span<const Tensor> r) { fill_elements(r[0], 0); },
     .vjp = [](Vjp& v) { v.set(0, aten<"zeros_like">(v.grad())); },
     .lower = [](Lowering& l) { fill_lower(l, Expr(0)); },
     .result = {.only_moved = true}},
};

}  // namespace

INGOT_FAMILY(copy, kCopyOps)

}  // namespace ingot
