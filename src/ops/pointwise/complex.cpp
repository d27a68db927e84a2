// Complex numbers: parts, conjugates, the view as pairs of reals.
#include "base/error.hpp"
#include "ops/common/composite.hpp"
#include "ops/family.hpp"
#include "ops/pointwise/formula_math.hpp"
#include "ops/pointwise/rules.hpp"
#include "ops/shape/reinterpret.hpp"
#include "tensor/geometry.hpp"
#include "tensor/stand_in.hpp"

namespace ingot {
namespace {

// ---- the view as pairs of reals
void view_as_real_geometry(const Call& c, Outputs& out) {
  Geometry g = c.tensor(0)->geom;
  INGOT_REQUIRE(is_complex(g.dtype), "view_as_real is only supported for complex tensors");
  for (Int& s : g.strides) s = s * 2;
  g.sizes.push_back(2);
  g.strides.push_back(1);
  g.offset = g.offset * 2;
  g.dtype = real_of(g.dtype);
  out.add(std::move(g));
}
void view_as_complex_geometry(const Call& c, Outputs& out) {
  Geometry g = c.tensor(0)->geom;
  INGOT_REQUIRE(g.dtype == DType::f32 || g.dtype == DType::f64,
                "view_as_complex is only supported for half, float and double tensors, but got a "
                "tensor of scalar type: ",
                scalar_type_name(g.dtype));
  INGOT_REQUIRE(g.dim() > 0, "Input tensor must have one or more dimensions");
  INGOT_REQUIRE(g.sizes.back() == 2, "Tensor must have a last dimension of size 2");
  if (statically_equal(g.sizes.product(), 0)) {  // lies anyhow
    g.sizes.pop_back();
    out.add(Geometry::contiguous(g.sizes, complex_of(g.dtype)));
    return;
  }
  INGOT_REQUIRE(g.strides.back() == 1, "Tensor must have a last dimension with stride 1");
  g.sizes.pop_back();
  g.strides.pop_back();
  for (Int& s : g.strides) {
    INGOT_REQUIRE(mod(s, 2) == 0, "Tensor must have a stride divisible by 2 for all but last dimension");
    s = floor_div(s, 2);
  }
  INGOT_REQUIRE(mod(g.offset, 2) == 0, "Tensor must have a storage_offset divisible by 2");
  g.offset = floor_div(g.offset, 2);
  g.dtype = complex_of(g.dtype);
  out.add(std::move(g));
}
constexpr OpDef pair_view(std::string_view schema, void (*geometry)(const Call&, Outputs&),
                          Tensor (*inverse)(const Call&, const Tensor&, const Tensor&, int), Autocast autocast) {
  OpDef d{.schema = schema, .form = Form::view, .view = {.geometry = geometry, .inverse = inverse}};
  d.autocast = autocast;
  return d;
}

Tensor part(const Tensor& t, int k) { return aten<"view_as_real">(t).select(-1, k); }
Value real(const Call& c) { return c.tensor(0).is_complex() ? Value(part(c.tensor(0), 0)) : c[0]; }
Value imag(const Call& c) {
  INGOT_REQUIRE(c.tensor(0).is_complex(), "imag is not implemented for tensors with non-complex dtypes.");
  return part(c.tensor(0), 1);
}

// ---- conjugates are made at once: a lazy one would be a second meaning of the same bytes. The
// schemas of _conj and _neg_view say that they are views, so that what they make stands in for one
// (tensor/stand_in.hpp).
constexpr auto conj_formula = []<Number T>(T x) {
  if constexpr (Complex<T>) return std::conj(x);
  else return x;
};
void conj_vjp(Vjp& v) { v.set(0, conjugate(v.grad())); }
Value conj_if_complex(const Call& c) { return c.tensor(0).is_complex() ? Value(aten<"_conj">(c[0])) : c[0]; }
Value conj_physical_if_complex(const Call& c) { return c.tensor(0).is_complex() ? Value(aten<"_conj_physical">(c[0])) : c[0]; }
// What stands in for a lazy view becomes a tensor of its own; any other is itself, as are the parts
// of a conj.
Value own_tensor_of(const Call& c, std::string_view op) {
  return is_stand_in(*c.tensor(0)->storage, op) ? Value(aten<"clone">(c[0])) : c[0];
}
Value resolve_conj(const Call& c) { return c.tensor(0).is_complex() ? own_tensor_of(c, "_conj") : c[0]; }
Value resolve_neg(const Call& c) { return own_tensor_of(c, "_neg_view"); }

constexpr auto neg_formula = []<NumberNotBool T>(T x) { return T(-x); };
void neg_vjp(Vjp& v) { v.set(0, -v.grad()); }

// ---- from and to parts
void same_floats_meta(const Call& c, Outputs& out) {
  const DType a = c.tensor(0).dtype(), b = c.tensor(1).dtype();
  INGOT_REQUIRE((a == DType::f32 || a == DType::f64 || a == DType::f16) && is_floating(b),
                "Expected both inputs to be Half, Float or Double tensors but got ", scalar_type_name(a), " and ",
                scalar_type_name(b));
  INGOT_REQUIRE(a == b, "Expected object of scalar type ", scalar_type_name(a), " but got scalar type ", scalar_type_name(b),
                " for second argument");
  pointwise_meta(c, out);
}
constexpr OpDef polar_op() {
  OpDef d = with_meta(binary(
                          "aten::polar(Tensor abs, Tensor angle) -> Tensor",
                          []<std::floating_point T>(T r, T phi) {
                            return std::complex<double>(double(r) * std::cos(double(phi)), double(r) * std::sin(double(phi)));
                          },
                          [](Vjp& v) {
                            const Tensor g = conjugate(v.grad());
                            if (v.need(0)) v.set(0, aten<"real">(g * aten<"sgn">(v.result())));
                            if (v.need(1)) v.set(1, aten<"real">(g * (v.result() * Scalar(std::complex<double>(0, 1)))));
                          },
                          {{kResult}}),
                      same_floats_meta);
  d.autocast = Autocast::float32;
  return d;
}
void angle_vjp(Vjp& v) {
  const Tensor z = v.saved(0);
  if (!z.is_complex()) return v.set(0, aten<"zeros_like">(z));
  // d arg(a + ib) = (-b da + a db) / |z|²
  const Tensor r = abs(z);
  v.set(0, drop(r == 0, v.grad() * z * Scalar(std::complex<double>(0, 1)) / (r * r)));
}

// ---- copies of views
template <OpName View>
constexpr OpDef copy_of_view(std::string_view schema) {
  return composite(schema, [](const Call& c) -> Value { return aten<"clone">(aten<View>(c[0]), MemoryFormat::contiguous); });
}

constexpr OpDef kComplexOps[] = {
    pair_view(
        "aten::view_as_real(Tensor(a) self) -> Tensor(a)", view_as_real_geometry,
        [](const Call&, const Tensor&, const Tensor& updated, int) {
          return aten<"view_as_complex">(ready_to_reinterpret(updated));
        },
        Autocast::none),
    pair_view(
        "aten::view_as_complex(Tensor(a) self) -> Tensor(a)", view_as_complex_geometry,
        [](const Call&, const Tensor&, const Tensor& updated, int) { return aten<"view_as_real">(updated); }, Autocast::float32),
    copy_of_view<"view_as_real">("aten::view_as_real_copy(Tensor self) -> Tensor"),
    copy_of_view<"view_as_complex">("aten::view_as_complex_copy(Tensor self) -> Tensor"),
    composite("aten::real(Tensor(a) self) -> Tensor(a)", real),
    composite("aten::imag(Tensor(a) self) -> Tensor(a)", imag),

    unary("aten::_conj(Tensor(a) self) -> Tensor(a)", conj_formula, conj_vjp),
    unary("aten::_conj_physical(Tensor self) -> Tensor", conj_formula, conj_vjp),
    unary("aten::_neg_view(Tensor(a) self) -> Tensor(a)", neg_formula, neg_vjp),
    alias_of<"_conj_physical">("aten::_conj_copy(Tensor self) -> Tensor"),
    alias_of<"neg">("aten::_neg_view_copy(Tensor self) -> Tensor"),
    composite("aten::conj(Tensor(a) self) -> Tensor(a)", conj_if_complex),
    aliasing_composite("aten::conj_physical(Tensor self) -> Tensor", conj_physical_if_complex),
    composite("aten::resolve_conj(Tensor(a) self) -> Tensor(a)", resolve_conj),
    composite("aten::resolve_neg(Tensor(a) self) -> Tensor(a)", resolve_neg),

    with_meta(binary(
                  "aten::complex(Tensor real, Tensor imag) -> Tensor",
                  []<std::floating_point T>(T re, T im) { return std::complex<double>(re, im); },
                  [](Vjp& v) {
                    if (v.need(0)) v.set(0, aten<"real">(v.grad()));
                    if (v.need(1)) v.set(1, aten<"imag">(v.grad()));
                  }),
              same_floats_meta),
    polar_op(),
    unary<int_to_float>("aten::angle(Tensor self) -> Tensor",
                        []<Inexact T>(T x) {
                          if constexpr (Complex<T>) return std::arg(x);
                          else return where(x != x, x, where(x < T(0), constant_like(x, M_PI), T(0)));
                        },
                        angle_vjp, {{0}}),

    composite("aten::is_conj(Tensor self) -> bool", [](const Call&) -> Value { return false; }),
};

}  // namespace

INGOT_FAMILY(complex, kComplexOps)

}  // namespace ingot
