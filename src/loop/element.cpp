#include "loop/element.hpp"

#include <algorithm>
#include <optional>

#include "base/dtype.hpp"
#include "base/index.hpp"
#include "expr/guards.hpp"
#include "ingot/op/lowering.hpp"
#include "op/operands.hpp"
#include "tensor/geometry.hpp"

namespace ingot::loop {
namespace {

std::vector<Geometry> geometries(const Call& call, Geometry base) {
  Values args(call.args.begin(), call.args.end());
  args[0] = make_tensor(std::move(base), call.tensor(0).device(), true);
  Outputs out;
  call.op.def->view.geometry({call.op, args}, out);
  return std::move(out.geoms);
}

// Whether the view moves with the base's strides: over a base with every stride doubled, its
// strides are doubled too.
bool follows_base(const Call& call, const Geometry& base, const std::vector<Geometry>& views) {
  Geometry doubled = base;
  for (Int& s : doubled.strides) s = s * 2;
  const std::vector<Geometry> other = geometries(call, std::move(doubled));
  for (std::size_t k = 0; k < views.size(); k++) {
    if (!other[k].offset.same(views[k].offset * 2)) return false;
    for (std::size_t d = 0; d < views[k].sizes.size(); d++)
      if (!views[k].sizes[d].same(1) && !other[k].strides[d].same(views[k].strides[d] * 2)) return false;
  }
  return true;
}

// Of a view that refers to the storage: what it looks at, counted in elements of its base. Those
// have to stand in row-major order and at equal distances, as the real parts of complex numbers do,
// and the view on them alone: what stands between or around them is no value of the program. None
// where that is not so, or not known.
std::optional<Geometry> among_elements(const Call& call, const Elements& base) {
  const Geometry& actual = call.tensor(0)->geom;
  const Geometry dense = Geometry::contiguous(base.sizes, base.dtype);
  Int distance = 1;
  for (std::size_t d = base.sizes.size(); d-- > 0;) {
    if (statically_equal(base.sizes[d], 1)) continue;
    distance = actual.strides[d];
    break;
  }
  if (!distance.is_number() || distance.number() <= 0) return std::nullopt;
  for (std::size_t d = 0; d < base.sizes.size(); d++)
    if (!statically_equal(base.sizes[d], 1) && !statically_equal(actual.strides[d], dense.strides[d] * distance))
      return std::nullopt;
  Outputs out;
  call.op.def->view.geometry(call, out);
  Geometry view = out.geoms[0];
  view.offset = view.offset - actual.offset;
  Int last = view.offset;
  for (std::size_t d = 0; d < view.sizes.size(); d++) {
    if (!mod(view.strides[d], distance).same(0)) return std::nullopt;
    last = last + (view.sizes[d] - 1) * view.strides[d];
    view.strides[d] = floor_div(view.strides[d], distance);
  }
  if (!mod(view.offset, distance).same(0)) return std::nullopt;
  view.offset = floor_div(view.offset, distance);
  const auto is_known = [](const Expr& condition) {
    GuardEnv* env = current_guard_env();
    return condition.is_const() ? condition.is_const(1) : env != nullptr && env->known(condition) == true;
  };
  if (!is_known(le(Expr(0), view.offset.expr())) || !is_known(lt(last.expr(), (base.sizes.product() * distance).expr())))
    return std::nullopt;
  return view;
}

// The row-major index of element number `flat`.
std::vector<Expr> unflatten(Expr flat, const Shape& sizes) {
  std::vector<Expr> index(sizes.size());
  for (std::size_t d = sizes.size(); d-- > 1; flat = floor_div(flat, sizes[d].expr())) index[d] = mod(flat, sizes[d].expr());
  if (!index.empty()) index[0] = flat;
  return index;
}

// The index into an operand of `sizes` that is broadcast to a result indexed by `index`.
std::vector<Expr> broadcast(Index index, const Shape& sizes) {
  std::vector<Expr> own(index.end() - static_cast<std::ptrdiff_t>(sizes.size()), index.end());
  for (std::size_t d = 0; d < sizes.size(); d++)
    if (statically_equal(sizes[d], 1)) own[d] = 0;
  return own;
}

// Whether the elements stand one after the other from the beginning of their storage.
bool is_row_major(const Call& call, const Elements& base) {
  const Geometry& actual = call.tensor(0)->geom;
  return actual.offset.same(0) && actual.strides.same(contiguous_strides(base.sizes));
}

}  // namespace

Expr number(DType t, const Value& v) {
  const Scalar s = v.to_scalar();
  if (s.is_int()) return cast(t, s.to_int().expr());
  if (s.is_bool()) return cast(t, Expr::boolean(s.to_bool()));
  return cast(t, s.to_float().expr());
}

bool any_complex(const Call& call) {
  auto complex = [](const Value& v) {
    if (v.is_tensor()) return is_complex(v.tensor().dtype());
    if (!v.is_tensors()) return false;
    return std::any_of(v.tensors().begin(), v.tensors().end(),
                       [](const Tensor& t) { return t.defined() && is_complex(t.dtype()); });
  };
  return std::any_of(call.args.begin(), call.args.end(), complex);
}

bool can_map_view(const Call& call, const Elements& base) {
  if (call.op.def->view.from_storage && !is_row_major(call, base)) return among_elements(call, base).has_value();
  const Geometry dense = Geometry::contiguous(base.sizes, base.dtype);
  const std::vector<Geometry> views = geometries(call, dense);
  if (std::any_of(views.begin(), views.end(), [&](const Geometry& g) { return g.dtype != base.dtype; })) return false;
  return is_row_major(call, base) || follows_base(call, dense, views);
}

bool can_map_formula(const Call& call) {
  if (!call.op.def->formula) return false;
  const Formula* f = call.op.def->formula(call);
  return f && f->lower && !is_complex(common_dtype(*f, formula_operands(call, *f))) && !any_complex(call);
}

std::vector<Elements> view_elements(const Call& call, const Elements& base) {
  const std::vector<Geometry> views = call.op.def->view.from_storage && !is_row_major(call, base)
                                          ? std::vector<Geometry>{*among_elements(call, base)}
                                          : geometries(call, Geometry::contiguous(base.sizes, base.dtype));
  // Where there are no elements nobody reads one. Positions that are taken apart by sizes of zero
  // are never simplified: a view of a view of a view would double them each time.
  const bool is_empty = std::ranges::any_of(base.sizes, [](const Int& n) { return n.same(0); });
  std::vector<Elements> results;
  for (const Geometry& g : views) {
    if (is_empty) {
      results.push_back({g.sizes, g.dtype, [base](Index) { return base.at(std::vector<Expr>(base.sizes.size(), Expr(0))); }});
      continue;
    }
    auto at = [g, base](Index index) {
      Expr flat = g.offset.expr();
      for (std::size_t d = 0; d < index.size(); d++) flat = flat + index[d] * g.strides[d].expr();
      return base.at(unflatten(flat, base.sizes));
    };
    results.push_back({g.sizes, g.dtype, at});
  }
  return results;
}

Elements formula_elements(const Call& call, const Geometry& result, const std::vector<Elements>& arguments) {
  const Formula& f = *call.op.def->formula(call);
  const std::vector<const Value*> operands = formula_operands(call, f);
  const DType common = common_dtype(f, operands);

  struct Operand {
    Elements elements;
    Expr number;  // where there are no elements
    DType type;
  };
  std::vector<Operand> in;
  for (std::size_t k = 0; k < operands.size(); k++) {
    const DType type = (f.bool_operands >> k) & 1 ? DType::b8 : dtype_of(compute_type(common));
    const Value& v = *operands[k];
    if (v.is_tensor()) in.push_back({arguments[at(&v - call.args.data())], {}, type});
    else in.push_back({{}, number(type, v), type});
  }
  auto at = [in, lower = f.lower, dtype = result.dtype](Index index) {
    std::vector<Expr> values;
    for (const Operand& o : in)
      values.push_back(o.elements.at ? cast(o.type, o.elements.at(broadcast(index, o.elements.sizes))) : o.number);
    return cast(dtype, lower(values));
  };
  return {result.sizes, result.dtype, at};
}

}  // namespace ingot::loop
