// Ops that write through a view: the `_scatter` ops (base with one view replaced) and the
// `_backward` ops of views (zeros with one view replaced).
#include <algorithm>

#include "base/error.hpp"
#include "expr/if_known.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "ingot/op/vjp.hpp"
#include "ops/common/accumulate.hpp"
#include "ops/batch/rules.hpp"
#include "ops/family.hpp"
#include "ops/shape/view_geometry.hpp"
#include "tensor/geometry.hpp"
#include "tensor/rows.hpp"

namespace ingot {
namespace {

// Geometry of a copy of t that can be written and keeps t's strides, which later as_strided views
// rely on.
Geometry writable_copy(const Tensor& t) {
  Geometry g = t->geom;
  bool overlap = false;
  for (int i = 0; i < g.dim(); i++) overlap |= g.strides[i].is_number() && g.strides[i].number() == 0 && !(g.sizes[i] == 1);
  // Of open sizes: more elements than there are places.
  if (!overlap)
    overlap = g.sizes.is_symbolic() || g.strides.is_symbolic()
                  ? less_if_known(floor_div(t->storage->nbytes(), t.itemsize()), t.numel()).value_or(false)
                  : may_overlap(g);
  if (!overlap) return g;
  g.strides = dense_strides_like(g.sizes, g.strides);
  g.offset = 0;
  return g;
}

// What lies between the elements as well, where the copy keeps t's strides: later as_strided views
// show it.
void copy_with_gaps(const Tensor& copy, const Tensor& t) {
  if (!copy->geom.same(t->geom)) return copy_elements(copy, t);
  Geometry all = t->geom;
  all.sizes = {floor_div(std::min(copy->storage->nbytes().number(), t->storage->nbytes().number()), t.itemsize())};
  all.strides = {1};
  all.offset = 0;
  copy_elements(make_alias(copy, all), make_alias(t, all));
}

Tensor zeros_of(const Geometry& g, const Tensor& like) { return aten<"zeros">(g.sizes, g.dtype, Value(), like.device()); }

// The view of a tensor of geometry g that the arguments from `first` on name.
using Part = Geometry (*)(const Geometry& g, Args args, int first);
Geometry select_part(const Geometry& g, Args a, int i) { return select_geometry(g, a[i].to_int64(), a[i + 1].to_int()); }
Geometry slice_part(const Geometry& g, Args a, int i) {
  return slice_geometry(g, a[i].to_int64(), a[i + 1].optional_int(), a[i + 2].optional_int(), a[i + 3].to_int());
}
Geometry diagonal_part(const Geometry& g, Args a, int i) {
  return diagonal_geometry(g, a[i].to_int64(), a[i + 1].to_int64(), a[i + 2].to_int64());
}

template <Part part>
void scatter_meta(const Call& c, Outputs& o) {
  Geometry g = writable_copy(c.tensor(0));
  const Geometry p = part(g, c.args, 2);
  INGOT_REQUIRE(p.sizes == c.tensor(1).sizes(), c.op.schema.name,
                ": expected src to have a size equal to the slice of self. src size = ", c.tensor(1).sizes(),
                ", slice size = ", p.sizes);
  o.add(std::move(g));
}
template <Part part>
void scatter_kernel(const Call& c, std::span<const Tensor> r) {
  copy_with_gaps(r[0], c.tensor(0));
  copy_elements(make_alias(r[0], part(r[0]->geom, c.args, 2)), c.tensor(1));
}
// `_scatter` with arguments (self, src, rest…): self's gradient is the gradient with the view
// zeroed, src's is the view.
template <OpName Scatter, OpName View>
void scatter_vjp(Vjp& v) {
  if (v.need(0)) {
    Values args = v.args;
    args[0] = v.grad();
    args[1] = zeros_of(v.geom(1), v.grad());
    v.set(0, call(op_ref<Scatter>(), args).tensor());
  }
  if (v.need(1)) {
    Values args{v.grad()};
    args.insert(args.end(), v.args.begin() + 2, v.args.end());
    v.set(1, call(op_ref<View>(), args).tensor());
  }
}
template <Part part, OpName Scatter, OpName View>
constexpr OpDef scatter_op(std::string_view schema) {
  return {.schema = schema,
          .form = Form::external,
          .meta = scatter_meta<part>,
          .kernel = scatter_kernel<part>,
          .vjp = scatter_vjp<Scatter, View>,
          .batch = batch_dims};
}

// `_backward` with arguments (grad, input sizes, rest…).
template <Part part>
void backward_meta(const Call& c, Outputs& o) {
  Geometry g = Geometry::contiguous(c[1].ints(), c.tensor(0).dtype());
  const Geometry p = part(g, c.args, 2);
  INGOT_REQUIRE(p.sizes == c.tensor(0).sizes(), c.op.schema.name, ": expected a gradient of size ", p.sizes, ", found ",
                c.tensor(0).sizes());
  o.add(std::move(g));
}
template <Part part>
void backward_kernel(const Call& c, std::span<const Tensor> r) {
  fill_elements(r[0], 0);
  copy_elements(make_alias(r[0], part(r[0]->geom, c.args, 2)), c.tensor(0));
}
template <OpName View>
void backward_vjp(Vjp& v) {
  Values args{v.grad()};
  args.insert(args.end(), v.args.begin() + 2, v.args.end());
  v.set(0, call(op_ref<View>(), args).tensor());
}
template <Part part, OpName View>
constexpr OpDef backward_op(std::string_view schema) {
  return {.schema = schema,
          .form = Form::external,
          .meta = backward_meta<part>,
          .kernel = backward_kernel<part>,
          .vjp = backward_vjp<View>,
          .batch = batch_into_sizes};
}

Geometry strided_part(const Call& c) {
  Geometry g = c.tensor(0)->geom;
  INGOT_REQUIRE(c[2].ints().size() == c[3].ints().size(),
                "as_strided_scatter: mismatch in length of strides and shape: found size ", c[2].ints(), " and stride ",
                c[3].ints());
  g.sizes = c[2].ints();
  g.strides = c[3].ints();
  g.offset = c[4].int_or(g.offset);
  return g;
}
void as_strided_scatter_meta(const Call& c, Outputs& o) {
  const Geometry p = strided_part(c);
  INGOT_REQUIRE(p.sizes == c.tensor(1).sizes(),
                "as_strided_scatter: expected src to have a size equal to the slice of self. src size = ", c.tensor(1).sizes(),
                ", slice size = ", p.sizes);
  const Int need = required_bytes(p), have = c.tensor(0)->storage->nbytes();
  INGOT_REQUIRE(statically_equal(need, have) || need <= have, "as_strided_scatter: size ", p.sizes, ", stride ", p.strides,
                ", storage offset ", p.offset, " need a storage of ", need, " bytes, found ", have);
  o.add(writable_copy(c.tensor(0)));
}
// The view may reach elements of the storage that self does not show, or show them in another
// order: write into a copy of the whole storage, then look at that as self does.
void as_strided_scatter_kernel(const Call& c, std::span<const Tensor> r) {
  const Tensor& self = c.tensor(0);
  Geometry whole = self->geom;
  whole.sizes = {floor_div(self->storage->nbytes(), self.itemsize())};
  whole.strides = {1};
  whole.offset = 0;
  const Tensor copy = make_tensor(whole);
  copy_elements(copy, make_alias(self, whole));
  copy_elements(make_alias(copy, strided_part(c)), c.tensor(1));
  copy_with_gaps(r[0], make_alias(copy, self->geom));
}
void as_strided_scatter_vjp(Vjp& v) {
  const Geometry& base = v.geom(0);
  INGOT_REQUIRE(is_contiguous(base.sizes, base.strides), "as_strided_scatter: the gradient needs a contiguous self, found size ",
                base.sizes, " and stride ", base.strides);
  const Tensor g = v.grad().contiguous();
  const Int offset = v.arg(4).int_or(base.offset) - base.offset + g.storage_offset();
  if (v.need(0)) v.set(0, aten<"as_strided_scatter">(g, zeros_of(v.geom(1), g), v.arg(2), v.arg(3), offset));
  if (v.need(1)) v.set(1, aten<"as_strided">(g, v.arg(2), v.arg(3), offset));
}

void unfold_backward_meta(const Call& c, Outputs& o) {
  Geometry g = Geometry::contiguous(c[1].ints(), c.tensor(0).dtype());
  const Geometry p = unfold_geometry(g, c[2].to_int64(), c[3].to_int(), c[4].to_int());
  INGOT_REQUIRE(p.sizes == c.tensor(0).sizes(), "unfold_backward: expected a gradient of size ", p.sizes, ", found ",
                c.tensor(0).sizes());
  o.add(std::move(g));
}
void unfold_backward_kernel(const Call& c, std::span<const Tensor> r) {
  fill_elements(r[0], 0);
  // One position of the window at a time: those of different windows never meet. An element gets
  // its windows' in their order.
  const Geometry windows = unfold_geometry(r[0]->geom, c[2].to_int64(), c[3].to_int(), c[4].to_int());
  for (int64_t j = c[3].to_int64(); j-- > 0;)
    add_elements(make_alias(r[0], select_geometry(windows, -1, j)),
                 make_alias(c.tensor(0), select_geometry(c.tensor(0)->geom, -1, j)));
}

// Places in the storage count from a member's first element: members are storages of their own.
Value batch_strided_scatter(const Batching& b) {
  if (!b.batched(0) && !b.tensor(0).is_contiguous()) return batch_loop(b);
  const Tensor self = b.batched(0) ? b.tensor(0) : b.front(0).contiguous();
  Shape strides{self.strides()[0]};
  for (const Int s : b[3].ints()) strides.push_back(s);
  return aten<"as_strided_scatter">(self, b.front(1), b.with_batch(b[2].ints()), strides, b[4]);
}
Value batch_diag_embed(const Batching& b) { return call(b.op, with_dims_shifted(b.op, b.args, b.rank(0) + 1)); }

constexpr OpDef kViewScatterOps[] = {
    scatter_op<select_part, "select_scatter", "select.int">(
        "aten::select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor"),
    scatter_op<slice_part, "slice_scatter", "slice.Tensor">(
        "aten::slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor"),
    scatter_op<diagonal_part, "diagonal_scatter", "diagonal">(
        "aten::diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor"),
    {.schema =
         "aten::as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor",
     .form = Form::external,
     .meta = as_strided_scatter_meta,
     .kernel = as_strided_scatter_kernel,
     .view = {.from_storage = true},
     .vjp = as_strided_scatter_vjp,
     .batch = batch_strided_scatter},
    backward_op<select_part, "select.int">(
        "aten::select_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt index) -> Tensor"),
    backward_op<slice_part, "slice.Tensor">(
        "aten::slice_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt start, SymInt end, SymInt step) -> Tensor"),
    backward_op<diagonal_part, "diagonal">(
        "aten::diagonal_backward(Tensor grad_output, SymInt[] input_sizes, int offset, int dim1, int dim2) -> Tensor"),
    {.schema = "aten::unfold_backward(Tensor grad_in, SymInt[] input_sizes, int dim, int size, int step) -> Tensor",
     .form = Form::external,
     .meta = unfold_backward_meta,
     .kernel = unfold_backward_kernel,
     .vjp = backward_vjp<"unfold">,
     .batch = batch_into_sizes},
    // diag_embed is the other way round: zeros with the diagonal given.
    {.schema = "aten::diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor",
     .form = Form::external,
     .meta =
         [](const Call& c, Outputs& o) {
           const Tensor& self = c.tensor(0);
           const int rank = static_cast<int>(self.dim()) + 1;
           INGOT_REQUIRE(self.dim() > 0, "diag_embed: expected a tensor with at least one dimension");
           int a = wrap_dim(c[2].to_int64(), rank), b = wrap_dim(c[3].to_int64(), rank);
           INGOT_REQUIRE(a != b, "diag_embed: diagonal dimensions cannot be identical ", c[2], ", ", c[3]);
           if (a > b) std::swap(a, b);
           const Int n = self.sizes().back() + std::abs(c[1].to_int64());
           Shape sizes = self.sizes();
           sizes.pop_back();
           sizes.insert(static_cast<std::size_t>(a), n);
           sizes.insert(static_cast<std::size_t>(b), n);
           o.add(std::move(sizes), self.dtype());
         },
     .kernel =
         [](const Call& c, std::span<const Tensor> r) {
           fill_elements(r[0], 0);
           copy_elements(make_alias(r[0], diagonal_geometry(r[0]->geom, c[1].to_int64(), c[2].to_int64(), c[3].to_int64())),
                         c.tensor(0));
         },
     .vjp = [](Vjp& v) { v.set(0, aten<"diagonal">(v.grad(), v.arg(1), v.arg(2), v.arg(3))); },
     .batch = batch_diag_embed},
};

}  // namespace

INGOT_FAMILY(view_scatter, kViewScatterOps)

}  // namespace ingot
