// Tensors from numbers.
#include "base/dtype.hpp"
#include "base/error.hpp"
#include "expr/if_known.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "ops/batch/rules.hpp"
#include "ops/factory/factory.hpp"
#include "ops/family.hpp"
#include "ops/common/lower_rules.hpp"
#include "tensor/geometry.hpp"
#include "tensor/rows.hpp"

namespace ingot {

const Value& named(const Call& c, std::string_view name) {
  const int i = c.op.schema.index_of(name);
  INGOT_ENSURE(i >= 0, c.op.name, " has no argument ", name);
  return c[i];
}
void take_device(const Call& c, Outputs& o) {
  if (const Value& d = named(c, "device"); d.is_device()) o.device = d.device();
}

namespace {

DType default_dtype() { return thread_state().default_dtype; }
// The dtype a number makes when none is named: integers int64, bool bool, else the default float.
DType dtype_of_number(const Value& v) {
  if (v.is_bool()) return DType::b8;
  if (v.is_int()) return is_truth(v.to_int()) ? DType::b8 : DType::i64;
  return v.is_complex() ? complex_of(default_dtype()) : default_dtype();
}

void sized_meta(const Call& c, Outputs& o) {  // f(size, …)
  take_device(c, o);
  o.add(c[0].ints(), named(c, "dtype").dtype_or(default_dtype()));
}
void like_meta(const Call& c, Outputs& o) {  // f_like(self, …)
  take_device(c, o);
  const Tensor& self = c.tensor(0);
  const Value& f = named(c, "memory_format");
  Geometry g;
  g.sizes = self.sizes();
  g.dtype = named(c, "dtype").dtype_or(self.dtype());
  g.strides = f.is_none() || f.memory_format() == MemoryFormat::preserve ? dense_strides_like(self.sizes(), self.strides())
                                                                         : strides_for(self.sizes(), f.memory_format());
  o.add(std::move(g));
}
void new_meta(const Call& c, Outputs& o) {  // new_f(self, size, …)
  take_device(c, o);
  o.add(c[1].ints(), named(c, "dtype").dtype_or(c.tensor(0).dtype()));
}
void leave_empty(const Call&, std::span<const Tensor> r) {
  // Uninitialised memory would make programs depend on what ran before: empty tensors are zero.
  fill_elements(r[0], 0);
}
template <int V>
void fill_with(const Call&, std::span<const Tensor> r) {
  fill_elements(r[0], V);
}
template <int V>
void lower_fill(Lowering& l) {
  fill_lower(l, Expr(V));
}
void lower_fill_named(Lowering& l) { fill_lower(l, l.load(l.call.op.schema.index_of("fill_value"), {})); }
void fill_named(const Call& c, std::span<const Tensor> r) { fill_elements(r[0], named(c, "fill_value").to_scalar()); }

constexpr OpDef filled(std::string_view schema, MetaRule meta, KernelRule kernel, LowerRule lower) {
  OpDef d = factory(schema, meta, kernel, lower);
  d.result.only_moved = true;
  return d;
}
constexpr OpDef uninitialised(std::string_view schema, MetaRule meta) {
  OpDef d = filled(schema, meta, leave_empty, lower_fill<0>);
  d.result.uninitialised = true;
  return d;
}

// Members lie one after the other, each as the strides say.
Value batch_new_empty_strided(const Batching& b) {
  const Geometry member{b[1].ints(), b[2].ints(), 0, b.tensor(0).dtype()};
  Values args = b.args;
  args[1] = b.with_batch(member.sizes);
  Shape strides{floor_div(required_bytes(member), b.tensor(0).itemsize())};
  for (const Int s : member.strides) strides.push_back(s);
  args[2] = strides;
  return call(b.op, args);
}

constexpr OpDef kFactoryOps[] = {
    uninitialised("aten::empty.memory_format(SymInt[] size, *, " OPTIONS ", MemoryFormat? memory_format=None) -> Tensor",
                  [](const Call& c, Outputs& o) {
                    take_device(c, o);
                    Geometry g;
                    g.sizes = c[0].ints();
                    g.dtype = c[1].dtype_or(default_dtype());
                    g.strides = strides_for(g.sizes, c[5].is_none() ? MemoryFormat::contiguous : c[5].memory_format());
                    o.add(std::move(g));
                  }),
    uninitialised("aten::empty_strided(SymInt[] size, SymInt[] stride, *, " OPTIONS ") -> Tensor",
                  [](const Call& c, Outputs& o) {
                    take_device(c, o);
                    INGOT_REQUIRE(c[0].ints().size() == c[1].ints().size(), "empty_strided: size ", c[0].ints(), " and stride ",
                                  c[1].ints(), " must have the same length");
                    Geometry g;
                    g.sizes = c[0].ints();
                    g.strides = c[1].ints();
                    g.dtype = c[2].dtype_or(default_dtype());
                    o.add(std::move(g));
                  }),
    filled("aten::zeros(SymInt[] size, *, " OPTIONS ") -> Tensor", sized_meta, fill_with<0>, lower_fill<0>),
    filled("aten::ones(SymInt[] size, *, " OPTIONS ") -> Tensor", sized_meta, fill_with<1>, lower_fill<1>),
    filled(
        "aten::full(SymInt[] size, Scalar fill_value, *, " OPTIONS ") -> Tensor",
        [](const Call& c, Outputs& o) {
          take_device(c, o);
          o.add(c[0].ints(), c[2].dtype_or(dtype_of_number(c[1])));
        },
        fill_named, lower_fill_named),
    uninitialised("aten::empty_like(Tensor self, *, " OPTIONS ", MemoryFormat? memory_format=None) -> Tensor", like_meta),
    filled("aten::zeros_like(Tensor self, *, " OPTIONS ", MemoryFormat? memory_format=None) -> Tensor", like_meta, fill_with<0>,
           lower_fill<0>),
    filled("aten::ones_like(Tensor self, *, " OPTIONS ", MemoryFormat? memory_format=None) -> Tensor", like_meta, fill_with<1>,
           lower_fill<1>),
    filled("aten::full_like(Tensor self, Scalar fill_value, *, " OPTIONS ", MemoryFormat? memory_format=None) -> Tensor",
           like_meta, fill_named, lower_fill_named),
    uninitialised("aten::new_empty(Tensor self, SymInt[] size, *, " OPTIONS ") -> Tensor", new_meta),
    filled("aten::new_zeros(Tensor self, SymInt[] size, *, " OPTIONS ") -> Tensor", new_meta, fill_with<0>, lower_fill<0>),
    filled("aten::new_ones(Tensor self, SymInt[] size, *, " OPTIONS ") -> Tensor", new_meta, fill_with<1>, lower_fill<1>),
    filled("aten::new_full(Tensor self, SymInt[] size, Scalar fill_value, *, " OPTIONS ") -> Tensor", new_meta, fill_named,
           lower_fill_named),
    with_batch(uninitialised("aten::new_empty_strided(Tensor self, SymInt[] size, SymInt[] stride, *, " OPTIONS ") -> Tensor",
                             [](const Call& c, Outputs& o) {
                               take_device(c, o);
                               Geometry g;
                               g.sizes = c[1].ints();
                               g.strides = c[2].ints();
                               g.dtype = c[3].dtype_or(c.tensor(0).dtype());
                               o.add(std::move(g));
                             }),
               batch_new_empty_strided),
    filled(
        "aten::scalar_tensor(Scalar s, *, " OPTIONS ") -> Tensor",
        [](const Call& c, Outputs& o) {
          take_device(c, o);
          o.add(Shape{}, c[1].dtype_or(default_dtype()));
        },
        [](const Call& c, std::span<const Tensor> r) { fill_elements(r[0], c[0].to_scalar()); },
        [](Lowering& l) { fill_lower(l, l.load(0, {})); }),
    uninitialised("aten::empty_permuted(SymInt[] size, int[] physical_layout, *, " OPTIONS ") -> Tensor",
                  [](const Call& c, Outputs& o) {
                    take_device(c, o);
                    const Shape &sizes = c[0].ints(), &order = c[1].ints();
                    INGOT_REQUIRE(sizes.size() == order.size(),
                                  "Number of dimensions in size does not match the length of the physical_layout; i.e. "
                                  "len(size) = ",
                                  sizes.dim(), " is not equal to len(physical_layout) = ", order.dim());
                    Geometry g = Geometry::contiguous(sizes, c[2].dtype_or(default_dtype()));
                    Shape dense;
                    std::vector<bool> seen(order.size());
                    for (Int d : order) {
                      const int64_t w = d.value();
                      INGOT_REQUIRE(w >= 0 && w < order.dim() && !seen[w],
                                    "Dimension out of range or duplicate dim not allowed, found physical_layout ", order);
                      seen[w] = true;
                      dense.push_back(sizes[w]);
                    }
                    const Shape strides = contiguous_strides(dense);
                    for (int i = 0; i < order.dim(); i++) g.strides[order[i].value()] = strides[i];
                    o.add(std::move(g));
                  }),
    filled("aten::_efficientzerotensor(SymInt[] size, *, " OPTIONS ") -> Tensor", sized_meta, fill_with<0>, lower_fill<0>),
    {.schema = "aten::lift(Tensor self) -> Tensor", .form = Form::composite, .body = [](const Call& c) { return c[0]; }},
    {.schema = "aten::_shape_as_tensor(Tensor self) -> Tensor",
     .form = Form::composite,
     .body = [](const Call& c) -> Value {
       TensorList l;
       for (Int s : c.tensor(0).sizes()) l.push_back(aten<"scalar_tensor">(s, DType::i64));
       return l.empty() ? aten<"zeros">(Shape{0}, DType::i64) : aten<"stack">(l, 0);
     }},
};

}  // namespace

INGOT_FAMILY(factory, kFactoryOps)

}  // namespace ingot
