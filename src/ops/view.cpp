// Views. Each declares its geometry and its inverse; write-back, vjp, replay and compiled index maps are derived from these.
#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "op/vjp.hpp"
#include "ops/families.hpp"
#include "tensor/geometry.hpp"

namespace ingot {
namespace {

using MetaRule = void (*)(const Call&, Outputs&);
using InverseRule = Tensor (*)(const Call&, const Tensor& base, const Tensor& updated, int out);

// A bijection: the inverse needs the base's sizes only.
constexpr OpDef bijection(std::string_view schema, MetaRule geometry, InverseRule inverse) {
  return {.schema = schema, .form = Form::view, .geometry = geometry, .inverse = inverse};
}
// A view of part of the base: the inverse puts `updated` into it.
constexpr OpDef part(std::string_view schema, MetaRule geometry, InverseRule inverse) {
  return {.schema = schema, .form = Form::view, .geometry = geometry, .inverse = inverse, .inverse_reads_base = true};
}

Tensor reshape_to_base(const Call&, const Tensor& base, const Tensor& updated, int) { return aten<"reshape">(updated, base.sizes()); }
Tensor unchanged(const Call&, const Tensor&, const Tensor& updated, int) { return updated; }

void view_geometry(const Call& c, Outputs& o) {
  const Geometry& g = c.tensor(0)->geom;
  Shape sizes = infer_size(c[1].ints(), g.numel());
  auto strides = view_strides(g.sizes, g.strides, sizes);
  INGOT_REQUIRE(strides, "view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous "
                "subspaces). Use .reshape(...) instead. Found size ", g.sizes, " and stride ", g.strides, ", expected a view as ", sizes);
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
  INGOT_REQUIRE(g.sizes.size() == g.strides.size(), "mismatch in length of strides and shape: found size ", g.sizes, " and stride ", g.strides);
  for (Int s : g.strides) INGOT_REQUIRE(!(s < 0), "as_strided: Negative strides are not supported at the moment, got strides: ", g.strides);
  g.offset = c[3].int_or(self.storage_offset());
  const Int need = required_bytes(g), have = self->storage->nbytes();
  INGOT_REQUIRE(statically_equal(need, have) || need <= have, "setStorage: sizes ", g.sizes, ", strides ", g.strides, ", storage offset ", g.offset,
                ", and itemsize ", self.itemsize(), " requiring a storage size of ", need, " are out of bounds for storage of size ", have);
  o.add(std::move(g));
}
// The base may be any view of the storage: put the gradient into the whole span, then look at it as the base does.
void as_strided_vjp(Vjp& v) {
  const Geometry &base = v.geom(0), &view = v.result_geom();
  auto span = [](const Geometry& g) {
    Int last = g.offset + 1;
    for (std::size_t i = 0; i < g.sizes.size(); i++) last = last + (g.sizes[i] - 1) * g.strides[i];
    return last;
  };
  const Int first = min(base.offset, view.offset), n = max(span(base), span(view)) - first;
  Tensor flat = aten<"zeros">(Shape{n}, v.grad().dtype(), Value(), v.grad().device());
  if (may_overlap(view)) {
    Tensor at = aten<"as_strided">(aten<"arange">(n, DType::i64, Value(), v.grad().device()), view.sizes, view.strides, view.offset - first);
    flat = aten<"index_add">(flat, 0, aten<"reshape">(at, Shape{-1}), aten<"reshape">(v.grad(), Shape{-1}));
  } else {
    flat = aten<"as_strided_scatter">(flat, v.grad(), view.sizes, view.strides, view.offset - first);
  }
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
Tensor unpermute(const Call& c, const Tensor&, const Tensor& updated, int) {
  const Shape& dims = c[1].ints();
  Shape back = Shape::filled(dims.size(), 0);
  for (int i = 0; i < dims.dim(); i++) back[wrap_dim(dims[i].value(), dims.dim())] = i;
  return aten<"permute">(updated, back);
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
void squeeze_dims_geometry(const Geometry& g, std::span<const Int> dims, Outputs& o) {
  std::vector<bool> take(g.sizes.size());
  for (Int d : dims) {
    const int w = wrap_dim(d.value(), g.dim());
    if (g.dim() == 0) continue;
    INGOT_REQUIRE(!take[w], "dim ", w, " appears multiple times in the list of dims");
    take[w] = true;
  }
  o.add(squeezed(g, take));
}

Geometry diagonal_of(const Geometry& g, int64_t offset, int64_t dim1, int64_t dim2) {
  const int a = wrap_dim(dim1, g.dim()), b = wrap_dim(dim2, g.dim());
  INGOT_REQUIRE(a != b, "diagonal dimensions cannot be identical ", dim1, ", ", dim2);
  Geometry r = g;
  const Int rows = g.sizes[a], cols = g.sizes[b];
  Int n = offset >= 0 ? min(rows, cols - offset) : min(rows + offset, cols);
  if (n < 0) n = 0;
  if (!(n == 0)) r.offset = g.offset + (offset >= 0 ? g.strides[b] * offset : g.strides[a] * -offset);
  const Int stride = g.strides[a] + g.strides[b];
  for (int d : {std::max(a, b), std::min(a, b)}) {
    r.sizes.erase(d);
    r.strides.erase(d);
  }
  r.sizes.push_back(n);
  r.strides.push_back(stride);
  return r;
}

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
      INGOT_REQUIRE(!(s < 0), "split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes=", c[1].ints());
      sum = sum + s;
    }
    INGOT_REQUIRE(sum == size, "split_with_sizes expects split_sizes to sum exactly to ", size, " (input tensor's size at dimension ",
                  c[2].to_int64(), "), but got split_sizes=", c[1].ints());
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

void unfold_geometry(const Call& c, Outputs& o) {
  const Geometry& g = c.tensor(0)->geom;
  const int d = wrap_dim(c[1].to_int64(), g.dim());
  const Int size = c[2].to_int(), step = c[3].to_int(), extent = g.dim() ? g.sizes[d] : Int(1);
  INGOT_REQUIRE(size <= extent, "maximum size for tensor at dimension ", d, " is ", extent, " but size is ", size);
  INGOT_REQUIRE(step > 0, "step is ", step, " but must be > 0");
  Geometry r = g;
  if (g.dim()) {
    r.sizes[d] = floor_div(extent - size, step) + 1;
    r.strides[d] = g.strides[d] * step;
  }
  r.sizes.push_back(size);
  r.strides.push_back(g.dim() ? g.strides[d] : Int(1));
  o.add(std::move(r));
}

constexpr OpDef expand_op() {
  OpDef d = part("aten::expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)",
                 [](const Call& c, Outputs& o) { o.add(expand_geometry(c.tensor(0)->geom, c[1].ints())); },
                 [](const Call&, const Tensor& base, const Tensor& updated, int) {
                   // Every copy of an element got the same value: the first one is it.
                   Tensor x = updated;
                   const int lead = static_cast<int>(updated.dim() - base.dim());
                   for (int i = 0; i < lead; i++) x = x.select(0, 0);
                   for (int i = 0; i < base.dim(); i++)
                     if (base.sizes()[i] == 1 && !(x.sizes()[i] == 1)) x = x.narrow(i, 0, 1);
                   return x;
                 });
  d.vjp = [](Vjp& v) { v.set(0, v.grad()); };  // the engine sums it back
  return d;
}
constexpr OpDef as_strided_op() {
  OpDef d = part("aten::as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a)", as_strided_geometry,
                 [](const Call& c, const Tensor& base, const Tensor& updated, int) {
                   return aten<"as_strided_scatter">(base, updated, c[1], c[2], c[3]);
                 });
  d.vjp = as_strided_vjp;
  return d;
}
constexpr OpDef detach_op(std::string_view schema) {
  OpDef d{.schema = schema, .form = Form::view, .geometry = [](const Call& c, Outputs& o) { o.add(c.tensor(0)->geom); }, .inverse = unchanged};
  d.detaches = true;
  return d;
}

constinit const OpDef kOps[] = {
    bijection("aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)", view_geometry, reshape_to_base),
    as_strided_op(),
    bijection("aten::t(Tensor(a) self) -> Tensor(a)", t_geometry,
              [](const Call&, const Tensor&, const Tensor& updated, int) { return updated.t(); }),
    bijection("aten::transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", transpose_geometry,
              [](const Call& c, const Tensor&, const Tensor& updated, int) { return updated.transpose(c[1].to_int64(), c[2].to_int64()); }),
    bijection("aten::permute(Tensor(a) self, int[] dims) -> Tensor(a)",
              [](const Call& c, Outputs& o) { o.add(permute_geometry(c.tensor(0)->geom, c[1].ints())); }, unpermute),
    part("aten::select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)",
         [](const Call& c, Outputs& o) { o.add(select_geometry(c.tensor(0)->geom, c[1].to_int64(), c[2].to_int())); },
         [](const Call& c, const Tensor& base, const Tensor& updated, int) { return aten<"select_scatter">(base, updated, c[1], c[2]); }),
    part("aten::slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a)",
         [](const Call& c, Outputs& o) {
           o.add(slice_geometry(c.tensor(0)->geom, c[1].to_int64(), c[2].optional_int(), c[3].optional_int(), c[4].to_int()));
         },
         [](const Call& c, const Tensor& base, const Tensor& updated, int) {
           return aten<"slice_scatter">(base, updated, c[1], c[2], c[3], c[4]);
         }),
    bijection("aten::unsqueeze(Tensor(a) self, int dim) -> Tensor(a)",
              [](const Call& c, Outputs& o) { o.add(unsqueezed(c.tensor(0)->geom, c[1].to_int64())); },
              [](const Call& c, const Tensor&, const Tensor& updated, int) { return updated.squeeze(c[1].to_int64()); }),
    bijection("aten::squeeze(Tensor(a) self) -> Tensor(a)",
              [](const Call& c, Outputs& o) { o.add(squeezed(c.tensor(0)->geom, std::vector<bool>(c.tensor(0).sizes().size(), true))); },
              reshape_to_base),
    bijection("aten::squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)",
              [](const Call& c, Outputs& o) {
                const Int dim[] = {c[1].to_int()};
                squeeze_dims_geometry(c.tensor(0)->geom, dim, o);
              },
              reshape_to_base),
    bijection("aten::squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)",
              [](const Call& c, Outputs& o) { squeeze_dims_geometry(c.tensor(0)->geom, c[1].ints(), o); }, reshape_to_base),
    expand_op(),
    part("aten::diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)",
         [](const Call& c, Outputs& o) { o.add(diagonal_of(c.tensor(0)->geom, c[1].to_int64(), c[2].to_int64(), c[3].to_int64())); },
         [](const Call& c, const Tensor& base, const Tensor& updated, int) {
           return aten<"diagonal_scatter">(base, updated, c[1], c[2], c[3]);
         }),
    part("aten::unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]", unbind_geometry,
         [](const Call& c, const Tensor& base, const Tensor& updated, int out) { return aten<"select_scatter">(base, updated, c[1], out); }),
    part("aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]", split_geometry, split_inverse),
    part("aten::split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]", split_geometry, split_inverse),
    bijection("aten::alias(Tensor(a) self) -> Tensor(a)", [](const Call& c, Outputs& o) { o.add(c.tensor(0)->geom); }, unchanged),
    detach_op("aten::detach(Tensor(a) self) -> Tensor(a)"),
    detach_op("aten::detach_(Tensor(a!) self) -> Tensor(a!)"),
    bijection("aten::lift_fresh(Tensor(a) self) -> Tensor(a)", [](const Call& c, Outputs& o) { o.add(c.tensor(0)->geom); }, unchanged),
};

}  // namespace

Family view_family() { return kOps; }

}  // namespace ingot
