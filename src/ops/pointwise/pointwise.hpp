// Builders for pointwise ops. The formula is a generic lambda written once; its template constraint
// is its domain:
//
//   unary<int_to_float>("aten::sigmoid(Tensor self) -> Tensor",
//                       []<Inexact T>(T x) { return T(1) / (T(1) + exp(-x)); },
//                       [](Vjp& v) { v.set(0, v.grad() * (v.result() * (1 - v.result()))); }, {{kResult}})
//
// With float, double, int64_t, bool and complex<double> it is the eager kernel, with Expr the
// compiled one. Write T(1), not 1.0, or a float kernel computes in double while the compiled loop
// does not.
#pragma once
#include <cmath>
#include <complex>
#include <concepts>
#include <type_traits>
#include <utility>

#include "ingot/expr.hpp"
#include "op/formula.hpp"
#include "op/op.hpp"

namespace ingot {

// Domains of formulas.
template <class T>
concept Complex = std::same_as<T, std::complex<double>>;
template <class T>
concept Floating = std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, Expr>;
template <class T>
concept Integer = std::same_as<T, int64_t> || std::same_as<T, bool> || std::same_as<T, Expr>;
template <class T>
concept Real = Floating<T> || Integer<T>;
template <class T>
concept Inexact = Floating<T> || Complex<T>;
template <class T>
concept Number = Real<T> || Complex<T>;
template <class T>
concept IntegerNotBool = Integer<T> && !std::same_as<T, bool>;
template <class T>
concept RealNotBool = Real<T> && !std::same_as<T, bool>;
template <class T>
concept NumberNotBool = Number<T> && !std::same_as<T, bool>;

struct Traits {
  Promotion promotion = Promotion::common;
  uint8_t promoting = 0xff;
  uint8_t bool_operands = 0;
};
inline constexpr Traits common{}, int_to_float{.promotion = Promotion::int_to_float};

namespace detail {

template <class T, uint8_t Mask, std::size_t I>
using Operand = std::conditional_t<(Mask >> I) & 1, std::conditional_t<std::same_as<T, Expr>, Expr, bool>, T>;

// bool arithmetic gives int in C++: it is bool again, as in ATen.
template <class T, class R>
using Stored = std::conditional_t<std::same_as<T, bool> && std::integral<R>, bool,
                                  std::conditional_t<std::integral<R> && !std::same_as<R, bool>, int64_t, R>>;

template <class R>
constexpr Compute compute_of() {
  if constexpr (std::same_as<R, bool>) return Compute::b8;
  else if constexpr (std::same_as<R, float>) return Compute::f32;
  else if constexpr (std::same_as<R, double>) return Compute::f64;
  else if constexpr (std::same_as<R, int64_t>) return Compute::i64;
  else return Compute::c128;
}

template <class F, class T, uint8_t Mask, std::size_t... I>
constexpr void fill(Formula& f, Compute c, std::index_sequence<I...>) {
  if constexpr (std::is_invocable_v<F, Operand<T, Mask, I>...>) {
    using R = Stored<T, std::remove_cvref_t<std::invoke_result_t<F, Operand<T, Mask, I>...>>>;
    f.rows[static_cast<std::size_t>(c)] = [](void* out, const void* const* in, int64_t n) {
      const F formula{};
      auto* o = static_cast<R*>(out);
      for (int64_t i = 0; i < n; i++) o[i] = static_cast<R>(formula(static_cast<const Operand<T, Mask, I>*>(in[I])[i]...));
    };
    f.result[static_cast<std::size_t>(c)] = compute_of<R>();
  }
}

template <class F, std::size_t... I>
Expr lower_formula(std::span<const Expr> a) {
  return F{}(a[I]...);
}
template <class F, uint8_t Mask, std::size_t... I>
constexpr void fill_lower(Formula& f, std::index_sequence<I...>) {
  if constexpr (std::is_invocable_r_v<Expr, F, Operand<Expr, Mask, I>...>) f.lower = &lower_formula<F, I...>;
}

template <class F, int N, Traits Tr>
constexpr Formula make_formula() {
  using Seq = std::make_index_sequence<N>;
  Formula f;
  f.arity = N;
  f.promotion = Tr.promotion;
  f.promoting = Tr.promoting;
  f.bool_operands = Tr.bool_operands;
  fill<F, float, Tr.bool_operands>(f, Compute::f32, Seq{});
  fill<F, double, Tr.bool_operands>(f, Compute::f64, Seq{});
  fill<F, std::complex<double>, Tr.bool_operands>(f, Compute::c128, Seq{});
  if constexpr (Tr.promotion == Promotion::common) {
    fill<F, int64_t, Tr.bool_operands>(f, Compute::i64, Seq{});
    fill<F, bool, Tr.bool_operands>(f, Compute::b8, Seq{});
  }
  if constexpr (std::is_pointer_v<decltype(f.lower)>) fill_lower<F, Tr.bool_operands>(f, Seq{});  // else nobody asks for it
  return f;
}

}  // namespace detail

template <class F, int N, Traits Tr>
inline constexpr Formula formula_of = detail::make_formula<F, N, Tr>();

// The generic rules every pointwise op shares (pointwise.cpp).
void pointwise_meta(const Call& c, Outputs& out);
void pointwise_kernel(const Call& c, std::span<const Tensor> results);

using VjpRule = void (*)(Vjp&);

template <int N, Traits Tr = common, class F>
constexpr OpDef pointwise(std::string_view schema, F, VjpRule vjp = nullptr, Saves saves = {}) {
  OpDef d;
  d.schema = schema;
  d.form = Form::pointwise;
  d.meta = pointwise_meta;
  d.kernel = pointwise_kernel;
  d.formula = [](const Call&) -> const Formula* { return &formula_of<F, N, Tr>; };
  d.vjp = vjp;
  d.saves = saves;
  return d;
}
template <Traits Tr = common, class F>
constexpr OpDef unary(std::string_view schema, F f, VjpRule vjp = nullptr, Saves saves = {}) {
  return pointwise<1, Tr>(schema, f, vjp, saves);
}
template <Traits Tr = common, class F>
constexpr OpDef binary(std::string_view schema, F f, VjpRule vjp = nullptr, Saves saves = {}) {
  return pointwise<2, Tr>(schema, f, vjp, saves);
}
// An op whose formula depends on an argument that is no operand (gelu's approximate, div's rounding
// mode, clamp's bounds): `choose` returns one of formula_of<…>.
constexpr OpDef pointwise_choice(std::string_view schema, const Formula* (*choose)(const Call&), VjpRule vjp = nullptr,
                                 Saves saves = {}) {
  OpDef d;
  d.schema = schema;
  d.form = Form::pointwise;
  d.meta = pointwise_meta;
  d.kernel = pointwise_kernel;
  d.formula = choose;
  d.vjp = vjp;
  d.saves = saves;
  return d;
}

}  // namespace ingot
