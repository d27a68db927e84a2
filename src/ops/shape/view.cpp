// Views. Each declares its geometry and its inverse; write-back, vjp, replay and compiled index
// maps are derived from these.
#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "ingot/op/vjp.hpp"
#include "op/call.hpp"
#include "ops/batch/rules.hpp"
#include "ops/family.hpp"
#include "ops/shape/reinterpret.hpp"
#include "ops/shape/view_geometry.hpp"
#include "tensor/geometry.hpp"

namespace ingot {

Tensor ready_to_reinterpret(const Tensor& t) {
  const bool ready = t.strides().same(contiguous_strides(t.sizes())) && statically_equal(t->geom.offset, 0);
  return ready ? t : aten<"clone">(t, MemoryFormat::contiguous);
}

namespace {

using MetaRule = void (*)(const Call&, Outputs&);
using InverseRule = Tensor (*)(const Call&, const Tensor& base, const Tensor& updated, int out);
using VjpRule = void (*)(Vjp&);

// A bijection: the inverse needs the base's geometry only.
constexpr OpDef bijection(std::string_view schema, MetaRule geometry, InverseRule inverse, VjpRule vjp,
                          uint8_t backward_index = 0) {
  return {.schema = schema,
          .form = Form::view,
          .view = {.geometry = geometry, .inverse = inverse},
          .vjp = vjp,
          .grad = {.node_number = backward_index}};
}
// A view of part of the base: the inverse puts `updated` into it.
constexpr OpDef part(std::string_view schema, MetaRule geometry, InverseRule inverse, VjpRule vjp) {
  return {.schema = schema,
          .form = Form::view,
          .view = {.geometry = geometry, .inverse = inverse, .inverse_reads_base = true},
          .vjp = vjp};
}

Tensor reshape_to_base(const Call&, const Tensor& base, const Tensor& updated, int) {
  return aten<"reshape">(updated, base.sizes());
}
Tensor unchanged(const Call&, const Tensor&, const Tensor& updated, int) { return updated; }
void same_geometry(const Call& c, Outputs& o) { o.add(c.tensor(0)->geom); }
void reshape_vjp(Vjp& v) { v.set(0, aten<"reshape">(v.grad(), v.sizes(0))); }
void pass_vjp(Vjp& v) { v.set(0, v.grad()); }

void view_geometry(const Call& c, Outputs& o) {
  const Geometry& g = c.tensor(0)->geom;
  Shape sizes = infer_size(c[1].ints(), g.numel());
  auto strides = view_strides(g.sizes, g.strides, sizes);
  INGOT_REQUIRE(
      strides,
      "view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous "
      "subspaces). Use .reshape(...) instead. Found size ",
      g.sizes, " and stride ", g.strides, ", expected a view as ", sizes);
  Geometry r = g;
  r.sizes = std::move(sizes);
  r.strides = std::move(*strides);
  o.add(std::move(r));
}

void as_strided_geometry(const Call& c, Outputs& o) {
  const Tensor& self = c.tensor(0);
  Geometry g = self->geom;
  g.sizes = c[1].ints();
  g.strides = c[2].ints();
  INGOT_REQUIRE(g.sizes.size() == g.strides.size(), "mismatch in length of strides and shape: found size ", g.sizes,
                " and stride ", g.strides);
  for (Int s : g.strides)
    INGOT_REQUIRE(!(s < 0), "as_strided: Negative strides are not supported at the moment, got strides: ", g.strides);
  g.offset = c[3].int_or(self.storage_offset());
  const Int need = required_bytes(g), have = self->storage->nbytes();
  const bool is_there = statically_equal(need, have) || need <= have;
  // With open sizes a storage is known by the tensors that are given, and may have more elements.
  INGOT_REQUIRE(
      is_there || have.is_number(), "as_strided() with sizes ", g.sizes, ", strides ", g.strides, ", storage offset ", g.offset,
      " and itemsize ", self.itemsize(), " needs ", need, " bytes of a storage of which the program has ", have,
      ", those of the elements of an input. Give it the whole tensor, or take the view with select, slice or another op "
      "that says which part of the tensor it means");
  INGOT_REQUIRE(is_there, "setStorage: sizes ", g.sizes, ", strides ", g.strides, ", storage offset ", g.offset,
                ", and itemsize ", self.itemsize(), " requiring a storage size of ", need,
                " are out of bounds for storage of size ", have);
  o.add(std::move(g));
}
// The base may be any view of the storage: put the gradient into the whole span, then look at it as
// the base does.
void as_strided_vjp(Vjp& v) {
  const Geometry& base = v.geom(0);
  Geometry view = base;  // from the arguments, not from the result: as_strided_copy has the same gradient
  view.sizes = v.arg(1).ints();
  view.strides = v.arg(2).ints();
  view.offset = v.arg(3).int_or(base.offset);
  auto span = [](const Geometry& g) {
    Int last = g.offset + 1;
    for (std::size_t i = 0; i < g.sizes.size(); i++) last = last + (g.sizes[i] - 1) * g.strides[i];
    return last;
  };
  const Int first = min(base.offset, view.offset);
  Int n = max(span(base), span(view)) - first;
  if (n.is_number() && n < 0) n = 0;  // neither has elements
  auto overlaps = [](const Geometry& g) { return g.sizes.is_symbolic() || g.strides.is_symbolic() || may_overlap(g); };
  // Sums `g`, which lies as `shape` says, into the span: elements that share an address add up.
  auto gathered = [&](const Tensor& g, const Geometry& shape) {
    Tensor zero = aten<"new_zeros">(g, Shape{n});
    if (!overlaps(shape)) {
      aten_value<"copy_">(aten<"as_strided">(zero, shape.sizes, shape.strides, shape.offset - first), g);
      return zero;
    }
    Tensor at =
        aten<"as_strided">(aten<"arange">(n, DType::i64, Value(), g.device()), shape.sizes, shape.strides, shape.offset - first);
    return aten<"index_add">(zero, 0, aten<"reshape">(at, Shape{-1}), aten<"reshape">(g, Shape{-1}));
  };
  Tensor flat = gathered(v.grad(), view);
  // Elements of the base that share an address share its gradient.
  if (overlaps(base))
    flat = aten<"div.Tensor">(
        flat, aten<"clamp_min">(gathered(aten<"ones">(base.sizes, flat.dtype(), Value(), flat.device()), base), 1));
  v.set(0, aten<"as_strided">(flat, base.sizes, base.strides, base.offset - first));
}

Shape transposed_dims(int rank, int64_t a, int64_t b) {
  Shape d;
  for (int i = 0; i < rank; i++) d.push_back(i);
  if (rank > 0) std::swap(d[wrap_dim(a, rank)], d[wrap_dim(b, rank)]);
  else wrap_dim(a, rank), wrap_dim(b, rank);
  return d;
}
void transpose_geometry(const Call& c, Outputs& o) {
  const Geometry& g = c.tensor(0)->geom;
  o.add(permute_geometry(g, transposed_dims(g.dim(), c[1].to_int64(), c[2].to_int64())));
}
void t_geometry(const Call& c, Outputs& o) {
  const Geometry& g = c.tensor(0)->geom;
  INGOT_REQUIRE(g.dim() <= 2, "t() expects a tensor with <= 2 dimensions, but self is ", g.dim(), "D");
  o.add(g.dim() < 2 ? g : permute_geometry(g, {1, 0}));
}
Tensor unpermuted(const Tensor& x, const Shape& dims) {
  Shape back = Shape::filled(dims.size(), 0);
  for (int i = 0; i < dims.dim(); i++) back[wrap_dim(dims[i].value(), dims.dim())] = i;
  return aten<"permute">(x, back);
}

Geometry unsqueezed(Geometry g, int64_t dim) {
  const auto d = static_cast<std::size_t>(wrap_dim(dim, g.dim() + 1));
  const Int stride = d < g.sizes.size() ? g.sizes[d] * g.strides[d] : Int(1);
  g.sizes.insert(d, 1);
  g.strides.insert(d, stride);
  return g;
}
Geometry squeezed(const Geometry& g, const std::vector<bool>& take) {
  Geometry r = g;
  for (std::size_t i = g.sizes.size(); i-- > 0;)
    if (take[i] && g.sizes[i] == 1) {
      r.sizes.erase(i);
      r.strides.erase(i);
    }
  return r;
}
// Which dims squeeze looks at: all without a dim, else those named. `dims` is None, an int or a
// list.
std::vector<bool> squeeze_candidates(int rank, const Value& dims) {
  if (dims.is_none()) return std::vector<bool>(static_cast<std::size_t>(rank), true);
  std::vector<bool> take(static_cast<std::size_t>(rank));
  for (Int d : dims.is_ints() ? dims.ints() : Shape{dims.to_int()}) {
    const int w = wrap_dim(d.value(), rank);
    if (rank == 0) continue;
    INGOT_REQUIRE(!take[w], "dim ", w, " appears multiple times in the list of dims");
    take[w] = true;
  }
  return take;
}
Value squeeze_dims(Args args) { return args.size() > 1 ? args[1] : Value(); }
void squeeze_geometry(const Call& c, Outputs& o) {
  const Geometry& g = c.tensor(0)->geom;
  o.add(squeezed(g, squeeze_candidates(g.dim(), squeeze_dims(c.args))));
}
// Puts back the dims of size 1 that squeeze took from `sizes`.
Tensor unsqueeze_to(Tensor x, const Shape& sizes, const Value& dims) {
  const std::vector<bool> take = squeeze_candidates(sizes.dim(), dims);
  for (int i = 0; i < sizes.dim(); i++)
    if (take[i] && sizes[i] == 1) x = aten<"unsqueeze">(x, i);
  return x;
}
Tensor squeeze_inverse(const Call& c, const Tensor& base, const Tensor& updated, int) {
  return unsqueeze_to(updated, base.sizes(), squeeze_dims(c.args));
}
void squeeze_vjp(Vjp& v) { v.set(0, unsqueeze_to(v.grad(), v.sizes(0), squeeze_dims(v.args))); }

void slice_vjp(Vjp& v) {
  v.set(0, aten<"slice_backward">(v.grad(), v.sizes(0), v.arg(1), v.arg(2).int_or(0), v.arg(3).int_or(INT64_MAX), v.arg(4)));
}
// Gradients of several results, zeros for those not used.
TensorList all_grads(const Vjp& v) {
  TensorList l;
  for (int k = 0; k < static_cast<int>(v.grads.size()); k++) l.push_back(v.grad_or_zeros(k));
  return l;
}
void split_vjp(Vjp& v) { v.set(0, aten<"cat">(all_grads(v), v.arg(2))); }

void unbind_geometry(const Call& c, Outputs& o) {
  const Geometry& g = c.tensor(0)->geom;
  INGOT_REQUIRE_INDEX(g.dim() > 0, "Dimension specified as ", c[1], " but tensor has no dimensions");
  const int64_t n = g.sizes[wrap_dim(c[1].to_int64(), g.dim())].value();
  for (int64_t i = 0; i < n; i++) o.add(select_geometry(g, c[1].to_int64(), i));
}

// The sizes of split's results along dim.
Shape split_sizes(const Call& c) {
  const Geometry& g = c.tensor(0)->geom;
  INGOT_REQUIRE(g.dim() > 0, "split expects at least a 1-dimensional tensor");
  const Int size = g.sizes[wrap_dim(c[2].to_int64(), g.dim())];
  if (c[1].is_ints()) {
    Int sum = 0;
    for (Int s : c[1].ints()) {
      INGOT_REQUIRE(!(s < 0),
                    "split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes=", c[1].ints());
      sum = sum + s;
    }
    INGOT_REQUIRE(sum == size, "split_with_sizes expects split_sizes to sum exactly to ", size,
                  " (input tensor's size at dimension ", c[2].to_int64(), "), but got split_sizes=", c[1].ints());
    return c[1].ints();
  }
  const Int step = c[1].to_int();
  INGOT_REQUIRE(!(step < 0), "split expects split_size be non-negative, but got split_size=", step);
  INGOT_REQUIRE(!(step == 0) || size == 0, "split_size can only be 0 if dimension size is 0, but got dimension size of ", size);
  if (step == 0) return {0};
  Shape r;
  const int64_t n = std::max<int64_t>(1, ceil_div(size, step).value());
  for (int64_t i = 0; i < n; i++) r.push_back(i + 1 < n ? step : size - step * (n - 1));
  return r;
}
void split_geometry(const Call& c, Outputs& o) {
  Int at = 0;
  for (Int s : split_sizes(c)) {
    o.add(slice_geometry(c.tensor(0)->geom, c[2].to_int64(), at, at + s, 1));
    at = at + s;
  }
}
Tensor split_inverse(const Call& c, const Tensor& base, const Tensor& updated, int out) {
  Values args(c.args.begin(), c.args.end());
  args[0] = base;
  const Shape sizes = split_sizes({c.op, args});
  Int at = 0;
  for (int k = 0; k < out; k++) at = at + sizes[k];
  return aten<"slice_scatter">(base, updated, c[2], at, at + sizes[out], 1);
}

// Overlapping windows that were written hold the same value wherever they meet: writing them one
// after the other is enough.
Tensor unfold_inverse(const Call& c, const Tensor& base, const Tensor& updated, int) {
  const int64_t dim = wrap_dim(c[1].to_int64(), static_cast<int>(base.dim()));
  const Int size = c[2].to_int(), step = c[3].to_int();
  if (base.dim() == 0) return aten<"reshape">(updated, base.sizes());
  Tensor r = base;
  const Int count = updated.sizes()[dim];
  for (int64_t j = 0; j < size.value(); j++) {
    const Int end = j + (count - 1) * step + 1;
    r = aten<"slice_scatter">(r, aten<"select.int">(updated, -1, j), dim, j, end, step);
  }
  return r;
}

// The base plus what its copies changed by (R051). A write cannot see two copies of one element, so
// at most one of them differs: picking that one is the same sum without rounding.
Tensor expand_inverse(const Call&, const Tensor& base, const Tensor& updated, int) {
  const int lead = static_cast<int>(updated.dim() - base.dim());
  Shape copied;
  for (int i = 0; i < updated.dim(); i++)
    if (i < lead || (base.sizes()[i - lead] == 1 && !(updated.sizes()[i] == 1))) copied.push_back(i);
  if (copied.empty()) return updated;
  const Tensor changed = aten<"ne.Tensor">(updated, base);
  const auto collected = [&](const Tensor& t, DType dtype) {
    return aten<"reshape">(aten<"sum.dim_IntList">(t, copied, true, dtype), base.sizes());
  };
  const Tensor value = collected(aten<"where.ScalarOther">(changed, updated, 0), base.dtype());
  const Tensor picked = aten<"where.self">(aten<"gt.Scalar">(collected(changed, DType::i64), 0), value, base);
  // It lies as the sums do; what is computed of the base shall lie as if the base had been written
  // where it is.
  if (picked.strides().same(base.strides()) || !is_non_overlapping_and_dense(base.sizes(), base.strides())) return picked;
  return aten<"copy">(aten<"new_empty_strided">(base, base.sizes(), base.strides()), picked);
}
// ---- batching rules of views that say more than dims

// The batch before the sizes of argument i.
Value with_sizes(const Batching& b, const Tensor& self, Shape sizes) {
  Values args = b.args;
  args[0] = self;
  args[1] = b.with_batch(sizes);
  return call(b.op, args);
}
Value batch_view(const Batching& b) { return with_sizes(b, b.tensor(0), infer_size(b[1].ints(), b.sizes(0).product())); }
Value batch_expand(const Batching& b) {
  INGOT_REQUIRE(b[1].ints().dim() >= b.rank(0), "expand: the number of sizes provided (", b[1].ints().dim(),
                ") must be greater or equal to the number of dimensions in the tensor (", b.rank(0), ")");
  return with_sizes(b, b.front(0, b[1].ints().dim()), b[1].ints());
}
// Strides count from a member's first element: members are storages of their own for as_strided.
Value batch_strided(const Batching& b) {
  Values args = b.args;
  args[1] = b.with_batch(b[1].ints());
  Shape strides{b.tensor(0).strides()[0]};
  for (const Int s : b[2].ints()) strides.push_back(s);
  args[2] = strides;
  return call(b.op, args);
}
Value batch_t(const Batching& b) {
  INGOT_REQUIRE(b.rank(0) <= 2, "t() expects a tensor with <= 2 dimensions, but self is ", b.rank(0), "D");
  return b.rank(0) < 2 ? aten<"alias">(b.tensor(0)) : b.tensor(0).transpose(1, 2);
}
Value batch_permute(const Batching& b) {
  const int rank = b.rank(0);
  INGOT_REQUIRE(b[1].ints().dim() == rank,
                "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering "
                "of dimensions i.e. input.dim() = ",
                rank, " is not equal to len(dims) = ", b[1].ints().dim());
  Shape dims{0};
  for (const Int d : b[1].ints()) dims.push_back(wrap_dim(d.value(), rank) + 1);
  return aten<"permute">(b.tensor(0), dims);
}
Value batch_squeeze(const Batching& b) {
  Shape dims;
  for (int i = 1; i <= b.rank(0); i++) dims.push_back(i);
  return aten<"squeeze.dims">(b.tensor(0), dims);
}
Value batch_unsqueeze(const Batching& b) { return aten<"unsqueeze">(b.tensor(0), wrap_dim(b[1].to_int64(), b.rank(0) + 1) + 1); }
Value batch_view_dtype(const Batching& b) {
  (void)b.member_results();  // a 0-dim member has no dim whose size could change
  return call(b.op, b.args);
}

constexpr OpDef expand_op() {
  OpDef d = part(
      "aten::expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)",
      [](const Call& c, Outputs& o) { o.add(expand_geometry(c.tensor(0)->geom, c[1].ints())); }, expand_inverse,
      pass_vjp);  // the engine sums it back
  d.batch = batch_expand;
  return d;
}
constexpr OpDef detach_op(std::string_view schema) {
  OpDef d{.schema = schema, .form = Form::view, .view = {.geometry = same_geometry, .inverse = unchanged}};
  d.grad.detaches = true;
  return d;
}
constexpr OpDef view_op() {
  OpDef d = bijection("aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)", view_geometry, reshape_to_base, reshape_vjp);
  d.view.or_copy = "reshape";
  d.batch = batch_view;
  return d;
}
constexpr OpDef as_strided_op() {
  OpDef d = part(
      "aten::as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a)",
      as_strided_geometry,
      [](const Call& c, const Tensor& base, const Tensor& updated, int) {
        return aten<"as_strided_scatter">(base, updated, c[1], c[2], c[3]);
      },
      as_strided_vjp);
  d.view.from_storage = true;
  d.batch = batch_strided;
  return d;
}
constexpr OpDef view_dtype_op() {
  OpDef d = bijection(
      "aten::view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)",
      [](const Call& c, Outputs& o) { o.add(view_dtype_geometry(c.tensor(0)->geom, c[1].dtype())); },
      [](const Call&, const Tensor& base, const Tensor& updated, int) {
        return aten<"view.dtype">(ready_to_reinterpret(updated), base.dtype());
      },
      nullptr);
  d.grad.none = true;  // bits of a float are no function of it that has a derivative
  d.batch = batch_view_dtype;
  return d;
}

constexpr OpDef kViewOps[] = {
    view_op(),
    view_dtype_op(),
    with_batch(bijection(
                   "aten::_reshape_alias(Tensor(a) self, SymInt[] size, SymInt[] stride) -> Tensor(a)",
                   [](const Call& c, Outputs& o) {
                     Geometry g = c.tensor(0)->geom;
                     INGOT_REQUIRE(c[1].ints().product() == g.numel() && c[1].ints().size() == c[2].ints().size(),
                                   "_reshape_alias: size ", c[1].ints(), " and stride ", c[2].ints(),
                                   " are no view of a tensor of size ", g.sizes);
                     g.sizes = c[1].ints();
                     g.strides = c[2].ints();
                     o.add(std::move(g));
                   },
                   reshape_to_base, reshape_vjp),
               batch_strided),
    as_strided_op(),
    with_batch(bijection(
                   "aten::t(Tensor(a) self) -> Tensor(a)", t_geometry,
                   [](const Call&, const Tensor&, const Tensor& updated, int) { return updated.t(); },
                   [](Vjp& v) { v.set(0, v.grad().t()); }),
               batch_t),
    bijection(
        "aten::transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", transpose_geometry,
        [](const Call& c, const Tensor&, const Tensor& updated, int) {
          return updated.transpose(c[1].to_int64(), c[2].to_int64());
        },
        [](Vjp& v) { v.set(0, aten<"transpose.int">(v.grad(), v.arg(1), v.arg(2))); }),
    with_batch(bijection(
                   "aten::permute(Tensor(a) self, int[] dims) -> Tensor(a)",
                   [](const Call& c, Outputs& o) { o.add(permute_geometry(c.tensor(0)->geom, c[1].ints())); },
                   [](const Call& c, const Tensor&, const Tensor& updated, int) { return unpermuted(updated, c[1].ints()); },
                   [](Vjp& v) { v.set(0, unpermuted(v.grad(), v.arg(1).ints())); }),
               batch_permute),
    part(
        "aten::select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)",
        [](const Call& c, Outputs& o) { o.add(select_geometry(c.tensor(0)->geom, c[1].to_int64(), c[2].to_int())); },
        [](const Call& c, const Tensor& base, const Tensor& updated, int) {
          return aten<"select_scatter">(base, updated, c[1], c[2]);
        },
        [](Vjp& v) { v.set(0, aten<"select_backward">(v.grad(), v.sizes(0), v.arg(1), v.arg(2))); }),
    part(
        "aten::slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a)",
        [](const Call& c, Outputs& o) {
          o.add(slice_geometry(c.tensor(0)->geom, c[1].to_int64(), c[2].optional_int(), c[3].optional_int(), c[4].to_int()));
        },
        [](const Call& c, const Tensor& base, const Tensor& updated, int) {
          return aten<"slice_scatter">(base, updated, c[1], c[2], c[3], c[4]);
        },
        slice_vjp),
    with_batch(bijection(
                   "aten::unsqueeze(Tensor(a) self, int dim) -> Tensor(a)",
                   [](const Call& c, Outputs& o) { o.add(unsqueezed(c.tensor(0)->geom, c[1].to_int64())); },
                   [](const Call& c, const Tensor&, const Tensor& updated, int) { return updated.squeeze(c[1].to_int64()); },
                   [](Vjp& v) { v.set(0, aten<"squeeze.dim">(v.grad(), v.arg(1))); }),
               batch_unsqueeze),
    with_batch(bijection("aten::squeeze(Tensor(a) self) -> Tensor(a)", squeeze_geometry, squeeze_inverse, squeeze_vjp),
               batch_squeeze),
    bijection("aten::squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)", squeeze_geometry, squeeze_inverse, squeeze_vjp, 1),
    bijection("aten::squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)", squeeze_geometry, squeeze_inverse, squeeze_vjp, 2),
    expand_op(),
    part(
        "aten::diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)",
        [](const Call& c, Outputs& o) {
          o.add(diagonal_geometry(c.tensor(0)->geom, c[1].to_int64(), c[2].to_int64(), c[3].to_int64()));
        },
        [](const Call& c, const Tensor& base, const Tensor& updated, int) {
          return aten<"diagonal_scatter">(base, updated, c[1], c[2], c[3]);
        },
        [](Vjp& v) { v.set(0, aten<"diagonal_backward">(v.grad(), v.sizes(0), v.arg(1), v.arg(2), v.arg(3))); }),
    part(
        "aten::unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)",
        [](const Call& c, Outputs& o) {
          o.add(unfold_geometry(c.tensor(0)->geom, c[1].to_int64(), c[2].to_int(), c[3].to_int()));
        },
        unfold_inverse, [](Vjp& v) { v.set(0, aten<"unfold_backward">(v.grad(), v.sizes(0), v.arg(1), v.arg(2), v.arg(3))); }),
    part(
        "aten::unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]", unbind_geometry,
        [](const Call& c, const Tensor& base, const Tensor& updated, int out) {
          return aten<"select_scatter">(base, updated, c[1], out);
        },
        [](Vjp& v) { v.set(0, aten<"stack">(all_grads(v), v.arg(1))); }),
    part("aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]", split_geometry, split_inverse,
         split_vjp),
    part("aten::split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]", split_geometry,
         split_inverse, split_vjp),
    bijection("aten::alias(Tensor(a) self) -> Tensor(a)", same_geometry, unchanged, pass_vjp),
    detach_op("aten::detach(Tensor(a) self) -> Tensor(a)"),
    detach_op("aten::detach_(Tensor(a!) self) -> Tensor(a!)"),
    bijection("aten::lift_fresh(Tensor(a) self) -> Tensor(a)", same_geometry, unchanged, pass_vjp),
};

}  // namespace

INGOT_FAMILY(view, kViewOps)

}  // namespace ingot
