// FloorDiv and Mod. Every rule removes a division from an address; together they clean up what
// reshape makes.
#include <numeric>

#include "expr/build.hpp"
#include "expr/intern.hpp"
#include "expr/polynomial.hpp"
#include "expr/scalar.hpp"

namespace ingot {
namespace {

enum class Part { Quotient, Remainder };

Expr divide(const Expr& e, const Expr& d, Part part);

Expr atom(const Expr& e, const Expr& d, Part part) {
  return intern(part == Part::Quotient ? ExprOp::FloorDiv : ExprOp::Mod, DType::i64, {e, d});
}

// 0 <= e < d. Zero is, even where the range of d starts at zero: a divisor is not.
bool inside(const Expr& e, const Expr& d) { return e.is_const(0) || (prove_ge(e, 0) && prove_lt(e, d)); }

// The answer when e = d*q + r and r is known to lie in [0, d) or in [-d, 0).
std::optional<Expr> finished(const Expr& q, const Expr& r, const Expr& d, Part part) {
  if (inside(r, d)) return part == Part::Quotient ? q : r;
  if (prove_lt(r, 0) && prove_ge(r + d, 0)) return part == Part::Quotient ? q - 1 : r + d;
  return std::nullopt;
}

// One term: coefficient times product of atoms.
struct Term {
  Monomial atoms;
  int64_t c = 1;

  bool is_one() const { return atoms.empty() && c == 1; }
  bool is_number() const { return atoms.empty(); }
  Expr expr() const { return from_poly(Poly{{atoms, c}}); }
};

std::optional<Term> quotient(const Term& a, const Term& b) {
  if (a.c % b.c != 0) return std::nullopt;
  auto atoms = quotient(a.atoms, b.atoms);
  if (!atoms) return std::nullopt;
  return Term{std::move(*atoms), a.c / b.c};
}

Term common_factor(const Term& a, const Term& b) {
  Term g{{}, std::gcd(a.c, b.c)};
  Monomial rest = b.atoms;
  for (const Expr& x : a.atoms) {
    if (!contains(rest, x)) continue;
    g.atoms.push_back(x);
    rest = without(rest, x);
  }
  return g;
}

// p = d*quotient + rest: the terms that d divides leave, and of the constant term as much as a
// constant d divides.
struct Split {
  Poly quotient, rest;
};
Split split(const Poly& p, const Term& d) {
  Split s;
  for (const auto& [m, c] : p) {
    if (const auto q = quotient(Term{m, c}, d)) {
      add_term(s.quotient, q->atoms, q->c);
    } else if (m.empty() && d.is_number()) {
      add_term(s.quotient, {}, floor_quotient(c, d.c));
      add_term(s.rest, {}, floor_remainder(c, d.c));
    } else {
      add_term(s.rest, m, c);
    }
  }
  return s;
}

// (g*m + r) // (g*n) = m // n and (g*m + r) % (g*n) = g*(m % n) + r, where r is in [0, g).
std::optional<Expr> cancel_factor(const Poly& rest, const Term& d, Part part) {
  for (const auto& [m, c] : rest) {
    if (m.empty() || c == Range::kMin) continue;
    const Term g = common_factor(Term{m, c}, d);
    const Expr factor = g.expr();
    if (g.is_one() || factor->lo < 0) continue;
    const Split s = split(rest, g);
    const Expr below = from_poly(s.rest);
    if (!inside(below, factor)) continue;
    const Expr inner = divide(from_poly(s.quotient), quotient(d, g)->expr(), part);
    return part == Part::Quotient ? inner : factor * inner + below;
  }
  return std::nullopt;
}

// (x // a + c) // d = (x + c*a) // (a*d).
std::optional<Expr> merge_quotients(const Poly& rest, const Expr& d) {
  const auto& [m, c] = *rest.begin();
  const bool plus_constant = rest.size() == 2 && rest.rbegin()->first.empty();
  if (m.size() != 1 || c != 1 || (rest.size() != 1 && !plus_constant)) return std::nullopt;
  const Expr& q = m[0];
  if (q.op() != ExprOp::FloorDiv || q.arg(1)->lo < 0) return std::nullopt;
  const Expr& a = q.arg(1);
  return divide(q.arg(0) + Expr(plus_constant ? rest.rbegin()->second : 0) * a, a * d, Part::Quotient);
}

// (x % (d*e)) // d = (x // d) % e.
std::optional<Expr> quotient_of_mod(const Poly& rest, const Term& d) {
  const auto& [m, c] = *rest.begin();
  if (rest.size() != 1 || m.size() != 1 || c != 1 || m[0].op() != ExprOp::Mod) return std::nullopt;
  const Poly inner = to_poly(m[0].arg(1));
  if (m[0].arg(1)->lo < 0 || inner.size() != 1) return std::nullopt;
  const auto e = quotient(Term{inner.begin()->first, inner.begin()->second}, d);
  if (!e) return std::nullopt;
  return divide(divide(m[0].arg(0), d.expr(), Part::Quotient), e->expr(), Part::Remainder);
}

// (c*(x % m) + y) % d = (c*x + y) % d, where d divides c*m.
std::optional<Expr> mod_of_mod(const Poly& rest, const Term& d) {
  for (const auto& [m, c] : rest) {
    for (const Expr& a : m) {
      if (a.op() != ExprOp::Mod) continue;
      const Poly factor{{without(m, a), c}};
      const Poly period = multiply(factor, to_poly(a.arg(1)));
      if (period.size() != 1 || !quotient(Term{period.begin()->first, period.begin()->second}, d)) continue;
      Poly p = rest;
      p.erase(m);
      add_scaled(p, multiply(factor, to_poly(a.arg(0))), 1);
      return divide(from_poly(std::move(p)), d.expr(), Part::Remainder);
    }
  }
  return std::nullopt;
}

Expr divide_by_term(const Expr& e, const Expr& d, const Term& t, Part part) {
  Split s = split(to_poly(e), t);
  Poly whole = s.quotient;
  Expr r = from_poly(s.rest);
  // Recombining what is left may free another divisible term.
  while (true) {
    s = split(to_poly(r), t);
    if (s.quotient.empty()) break;
    add_scaled(whole, s.quotient, 1);
    r = from_poly(s.rest);
  }
  const Expr q = from_poly(whole);
  // s - 1 lies in [0, s) though s divides a part of it; a quotient that varies leaves no such hope.
  if (q.is_const() && !q.is_const(0) && inside(e, d)) return part == Part::Quotient ? Expr(0) : e;
  if (auto done = finished(q, r, d, part)) return *done;
  if (part == Part::Quotient) {
    if (auto x = cancel_factor(s.rest, t, part)) return q + *x;
    if (auto x = quotient_of_mod(s.rest, t)) return q + *x;
    if (auto x = merge_quotients(s.rest, d)) return q + *x;
    return q + atom(r, d, part);
  }
  if (auto x = mod_of_mod(s.rest, t)) return *x;
  if (auto x = cancel_factor(s.rest, t, part)) return *x;
  return atom(r, d, part);
}

// Long division by the first term of d; only a remainder that is provably one counts.
Expr divide_by_sum(const Expr& e, const Expr& d, Part part) {
  if (inside(e, d)) return part == Part::Quotient ? Expr(0) : e;
  const Poly divisor = to_poly(d);
  const Term lead{divisor.begin()->first, divisor.begin()->second};
  Poly q, r = to_poly(e);
  for (int step = 0; step < 32; step++) {
    std::optional<Term> next;
    for (const auto& [m, c] : r)
      if ((next = quotient(Term{m, c}, lead))) break;
    if (!next) break;
    add_term(q, next->atoms, next->c);
    add_scaled(r, multiply(divisor, Poly{{next->atoms, next->c}}), -1);
    if (auto done = finished(from_poly(q), from_poly(r), d, part)) return *done;
  }
  return atom(e, d, part);
}

Expr divide(const Expr& e, const Expr& d, Part part) {
  if (d.is_const(1)) return part == Part::Quotient ? e : Expr(0);
  if (e.is_const() && d.is_const()) {
    const auto v = fold_integer(part == Part::Quotient ? ExprOp::FloorDiv : ExprOp::Mod, DType::i64, e->i, d->i);
    return v ? Expr(*v) : atom(e, d, part);
  }
  if (d.is_const() && d->i < 0 && d->i != Range::kMin) {
    const Expr r = divide(-e, -d, part);
    return part == Part::Quotient ? r : -r;
  }
  // A divisor is never zero, so one that is not negative is positive. Of other signs nothing is
  // known.
  if (d->lo < 0 || d.is_const(0)) return atom(e, d, part);
  const Poly divisor = to_poly(d);
  if (divisor.size() != 1) return divide_by_sum(e, d, part);
  const Term t{divisor.begin()->first, divisor.begin()->second};
  if (t.c < 0) return atom(e, d, part);
  return divide_by_term(e, d, t, part);
}

}  // namespace

Expr divide_i64(ExprOp op, const Expr& a, const Expr& b) {
  return divide(a, b, op == ExprOp::FloorDiv ? Part::Quotient : Part::Remainder);
}

}  // namespace ingot
