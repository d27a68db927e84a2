// Differences and integrals of samples along a dim.
#include <optional>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "ops/family.hpp"
#include "tensor/geometry.hpp"

namespace ingot {
namespace {

Value diff(const Call& c) {
  const Tensor& self = c.tensor(0);
  const int64_t n = c[1].to_int64(), dim = c[2].to_int64();
  INGOT_REQUIRE(self.dim() >= 1, "diff expects input to be at least one-dimensional");
  INGOT_REQUIRE(n >= 0, "order must be non-negative but got ", n);
  wrap_dim(dim, static_cast<int>(self.dim()));
  TensorList pieces;
  for (int i : {3, 0, 4})
    if (!c[i].is_none()) {
      INGOT_REQUIRE(c.tensor(i).dim() == self.dim(), "diff expects prepend or append to be the same dimension as input");
      pieces.push_back(c.tensor(i));
    }
  if (n == 0) return aten<"clone">(self);  // what would be joined to it does not count
  Tensor r = pieces.size() == 1 ? self : aten<"cat">(pieces, dim);
  for (int64_t k = 0; k < n; k++) {
    const Int size = r.size(dim);
    if (size == 0) break;
    const Tensor next = aten<"narrow">(r, dim, 1, size - 1), before = aten<"narrow">(r, dim, 0, size - 1);
    r = r.dtype() == DType::b8 ? aten<"logical_xor">(next, before) : next - before;
  }
  return r;
}

Tensor all_but_last(const Tensor& y, int64_t dim) { return aten<"slice.Tensor">(y, dim, 0, -1); }
Tensor all_but_first(const Tensor& y, int64_t dim) { return aten<"slice.Tensor">(y, dim, 1); }
// Sample distances along `dim`, broadcastable to y.
Tensor distances(const Tensor& y, const Tensor& x, int64_t dim) {
  if (x.dim() == 1 && y.dim() != 1) {
    INGOT_REQUIRE(x.size(0) == y.size(dim), "trapezoid: There must be one `x` value for each sample point");
    Shape shape = Shape::filled(y.sizes().size(), 1);
    const Tensor dx = all_but_first(x, 0) - all_but_last(x, 0);
    shape[static_cast<std::size_t>(wrap_dim(dim, static_cast<int>(y.dim())))] = dx.size(0);
    return aten<"view">(dx, shape);
  }
  Tensor full = x;  // missing leading dims are 1
  while (full.dim() < y.dim()) full = aten<"unsqueeze">(full, 0);
  return all_but_first(full, dim) - all_but_last(full, dim);
}
bool is_empty_along(const Tensor& y, int64_t dim) { return y.size(dim) == 0; }
Tensor zeros_without(const Tensor& y, int64_t dim) {
  Shape s = y.sizes();
  s.erase(static_cast<std::size_t>(wrap_dim(dim, static_cast<int>(y.dim()))));
  return aten<"new_zeros">(y, s);
}
// Twice the area of every trapezoid.
Tensor doubled_areas(const Tensor& y, const Value& dx, int64_t dim) {
  return aten<"mul.Tensor">(all_but_first(y, dim) + all_but_last(y, dim), dx);
}
Tensor doubled_areas(const Tensor& y, const Tensor& dx, int64_t dim) {
  return dx * (all_but_first(y, dim) + all_but_last(y, dim));
}

Value trapezoid_x(const Call& c) {
  const Tensor &y = c.tensor(0), &x = c.tensor(1);
  const int64_t dim = c[2].to_int64();
  if (is_empty_along(y, dim)) return zeros_without(y, dim);
  INGOT_REQUIRE(y.dtype() != DType::b8 && x.dtype() != DType::b8,
                "trapezoid: received a bool input for `x` or `y`, but bool is not supported");
  return aten<"sum.dim_IntList">(doubled_areas(y, distances(y, x, dim), dim), Shape{dim}) / 2.0;
}
Value trapezoid_dx(const Call& c) {
  const Tensor& y = c.tensor(0);
  const int64_t dim = c[2].to_int64();
  if (is_empty_along(y, dim)) return zeros_without(y, dim);
  INGOT_REQUIRE(y.dtype() != DType::b8 && !c[1].is_complex(),
                "trapezoid: received a bool input for `y` or a complex `dx`, which is not supported");
  const Tensor sum = aten<"sum.dim_IntList">(all_but_first(y, dim) + all_but_last(y, dim), Shape{dim});
  return aten<"mul.Tensor">(sum, Scalar(c[1].to_double() / 2.0));
}
Value cumulative_trapezoid_x(const Call& c) {
  const int64_t dim = c[2].to_int64();
  return aten<"cumsum">(doubled_areas(c.tensor(0), distances(c.tensor(0), c.tensor(1), dim), dim), dim) / 2.0;
}
Value cumulative_trapezoid_dx(const Call& c) {
  const int64_t dim = c[2].to_int64();
  return aten<"cumsum">(doubled_areas(c.tensor(0), Value(c[1].to_double() / 2.0), dim), dim);
}

// ---- numerical gradient, one result a dim (numpy.gradient)

Tensor part(const Tensor& t, int dim, int64_t from, std::optional<Int> to = {}) { return aten<"slice.Tensor">(t, dim, from, to); }

// Samples `step` apart.
Tensor even_gradient(const Tensor& y, int dim, const Value& step, int64_t edge_order) {
  auto over_step = [&](const Tensor& t) { return aten<"div.Tensor">(t, step); };
  const Tensor center = over_step(part(y, dim, 2) - part(y, dim, 0, -2)) / 2;
  Tensor first, last;
  if (edge_order == 1) {
    first = over_step(part(y, dim, 1, 2) - part(y, dim, 0, 1));
    last = over_step(part(y, dim, -1) - part(y, dim, -2, -1));
  } else {
    first = over_step(part(y, dim, 0, 1) * -1.5 + part(y, dim, 1, 2) * 2 + part(y, dim, 2, 3) * -0.5);
    last = over_step(part(y, dim, -1) * 1.5 - part(y, dim, -2, -1) * 2 + part(y, dim, -3, -2) * 0.5);
  }
  return aten<"cat">(TensorList{first, center, last}, dim);
}
// Samples at given coordinates: the derivative of the parabola through each three neighbours.
Tensor uneven_gradient(const Tensor& y, int dim, const Tensor& at, int64_t edge_order) {
  INGOT_REQUIRE(at.dim() == 1 && at.size(0) == y.size(dim),
                "torch.gradient expected each tensor to be 1-dimensional with one coordinate a sample, found ", at.sizes(),
                " for ", y.size(dim), " samples");
  Shape shape = Shape::filled(y.sizes().size(), 1);
  shape[static_cast<std::size_t>(dim)] = -1;
  const Tensor d = aten<"view">(part(at, 0, 1) - part(at, 0, 0, -1), shape), d1 = part(d, dim, 0, -1), d2 = part(d, dim, 1);
  const Tensor both = d1 + d2;
  auto parabola = [&](const Tensor& y0, const Tensor& a, const Tensor& y1, const Tensor& b, const Tensor& y2, const Tensor& c) {
    return a * y0 + b * y1 + c * y2;
  };
  const Tensor center = parabola(part(y, dim, 0, -2), -d2 / (d1 * both), part(y, dim, 1, -1), (d2 - d1) / (d1 * d2),
                                 part(y, dim, 2), d1 / (d2 * both));
  Tensor first, last;
  if (edge_order == 1) {
    first = (part(y, dim, 1, 2) - part(y, dim, 0, 1)) / part(d, dim, 0, 1);
    last = (part(y, dim, -1) - part(y, dim, -2, -1)) / part(d, dim, -1);
  } else {
    const Tensor a1 = part(d1, dim, 0, 1), a2 = part(d2, dim, 0, 1), a = a1 + a2, b1 = part(d1, dim, -1), b2 = part(d2, dim, -1),
                 b = b1 + b2;
    first = parabola(part(y, dim, 0, 1), -(a1 * 2 + a2) / (a1 * a), part(y, dim, 1, 2), a / (a1 * a2), part(y, dim, 2, 3),
                     -a1 / (a2 * a));
    last = parabola(part(y, dim, -3, -2), b2 / (b1 * b), part(y, dim, -2, -1), -b / (b1 * b2), part(y, dim, -1),
                    (b2 * 2 + b1) / (b2 * b));
  }
  return aten<"cat">(TensorList{first, center, last}, dim);
}

Values scalar_list(const Value& v) {
  Values r;
  if (v.is_ints())
    for (Int i : v.ints()) r.push_back(i);
  else if (v.is_floats())
    for (double d : v.floats()) r.push_back(d);
  else r = v.values();
  return r;
}
// gradient(self, [spacing,] dim, edge_order): `spacing` a number, one a dim, or coordinates; `dim`
// one, several or all.
Value gradient(const Call& c) {
  const Tensor& self = c.tensor(0);
  const int rank = static_cast<int>(self.dim());
  auto named = [&](std::string_view name) {
    const int i = c.op.schema.index_of(name);
    return i < 0 ? Value() : c[i];
  };
  const Value spacing = named("spacing"), dim = named("dim");
  const int64_t edge_order = named("edge_order").to_int64();
  INGOT_REQUIRE(edge_order == 1 || edge_order == 2, "torch.gradient only supports edge_order=1 and edge_order=2.");
  std::vector<int> dims;
  if (dim.is_ints())
    for (Int d : dim.ints()) dims.push_back(wrap_dim(d.value(), rank));
  else if (!dim.is_none()) dims.push_back(wrap_dim(dim.to_int64(), rank));
  else
    for (int d = 0; d < rank; d++) dims.push_back(d);
  const bool uneven = spacing.is_tensors();
  Values steps;
  if (spacing.is_none()) steps.assign(dims.size(), Value(1));
  else if (spacing.is_number()) steps.assign(dims.size(), spacing);
  else if (!uneven) steps = scalar_list(spacing);
  const std::size_t given = uneven ? spacing.tensors().size() : steps.size();
  INGOT_REQUIRE(given == dims.size(),
                "torch.gradient expected spacing to be unspecified, a scalar, or a list of one value a dim (", dims.size(),
                "), found ", given);
  TensorList out;
  for (std::size_t i = 0; i < dims.size(); i++) {
    INGOT_REQUIRE(self.size(dims[i]) >= edge_order + 1,
                  "torch.gradient expected each dimension size to be at least edge_order+1");
    out.push_back(uneven ? uneven_gradient(self, dims[i], spacing.tensors()[i], edge_order)
                         : even_gradient(self, dims[i], steps[i], edge_order));
  }
  return out;
}

constexpr OpDef gradient_op(std::string_view schema) { return {.schema = schema, .form = Form::composite, .body = gradient}; }

constexpr OpDef kDifferenceOps[] = {
    {.schema = "aten::diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor",
     .form = Form::composite,
     .body = diff},
    {.schema = "aten::trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", .form = Form::composite, .body = trapezoid_x},
    {.schema = "aten::trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor",
     .form = Form::composite,
     .body = trapezoid_dx},
    {.schema = "aten::trapz.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", .form = Form::composite, .body = trapezoid_x},
    {.schema = "aten::trapz.dx(Tensor y, *, float dx=1., int dim=-1) -> Tensor", .form = Form::composite, .body = trapezoid_dx},
    {.schema = "aten::cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
     .form = Form::composite,
     .body = cumulative_trapezoid_x},
    {.schema = "aten::cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor",
     .form = Form::composite,
     .body = cumulative_trapezoid_dx},
    gradient_op("aten::gradient.scalarint(Tensor self, *, Scalar? spacing=None, int? dim=None, int edge_order=1) -> Tensor[]"),
    gradient_op("aten::gradient.scalararray(Tensor self, *, Scalar spacing, int[] dim, int edge_order=1) -> Tensor[]"),
    gradient_op("aten::gradient.array(Tensor self, *, int[] dim, int edge_order=1) -> Tensor[]"),
    gradient_op("aten::gradient.scalarrayint(Tensor self, *, Scalar[] spacing, int? dim=None, int edge_order=1) -> Tensor[]"),
    gradient_op("aten::gradient.scalarrayarray(Tensor self, *, Scalar[] spacing, int[] dim, int edge_order=1) -> Tensor[]"),
    gradient_op("aten::gradient.tensorarrayint(Tensor self, *, Tensor[] spacing, int? dim=None, int edge_order=1) -> Tensor[]"),
    gradient_op("aten::gradient.tensorarray(Tensor self, *, Tensor[] spacing, int[] dim, int edge_order=1) -> Tensor[]"),
};

}  // namespace

INGOT_FAMILY(difference, kDifferenceOps)

}  // namespace ingot
