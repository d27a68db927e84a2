#include "expr/polynomial.hpp"

#include <algorithm>

#include "expr/intern.hpp"
#include "expr/scalar.hpp"

namespace ingot {
namespace {

// Rewrites per sum: each removes a Mod, so real sums stop far earlier.
constexpr int kMaxRecombinations = 256;

Expr term_node(const Monomial& m, int64_t c) {
  if (m.empty()) return Expr(c);
  if (m.size() == 1 && c == 1) return m[0];
  std::vector<Expr> args;
  if (c != 1) args.push_back(Expr(c));
  args.insert(args.end(), m.begin(), m.end());
  return intern(ExprOp::Mul, DType::i64, std::move(args));
}

Expr sum_node(const Poly& p) {
  if (p.empty()) return Expr(0);
  std::vector<Expr> terms;
  for (const auto& [m, c] : p) terms.push_back(term_node(m, c));
  return terms.size() == 1 ? terms[0] : intern(ExprOp::Add, DType::i64, std::move(terms));
}

Monomial product(const Monomial& a, const Monomial& b) {
  Monomial r;
  r.reserve(a.size() + b.size());
  std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(r), ExprLess());
  return r;
}

// Every product of `part` is in `p` with the same coefficient; the constant term may differ, it can
// always be split.
bool has_all(const Poly& p, const Poly& part) {
  bool any = false;
  for (const auto& [m, c] : part) {
    if (m.empty()) continue;
    const auto it = p.find(m);
    if (it == p.end() || it->second != c) return false;
    any = true;
  }
  return any;
}

// A term c*rest*(x % d) of a sum.
struct ModTerm {
  Poly factor;  // c*rest
  Expr atom, x, d, quotient;
};

bool merge_with_quotient(Poly& p, const ModTerm& t) {
  const Poly wanted = multiply(t.factor, multiply(to_poly(t.d), to_poly(t.quotient)));
  if (!has_all(p, wanted)) return false;
  add_scaled(p, wanted, -1);
  add_scaled(p, multiply(t.factor, Poly{{{t.atom}, 1}}), -1);
  add_scaled(p, multiply(t.factor, to_poly(t.x)), 1);
  return true;
}

bool merge_with_mod(Poly& p, const ModTerm& t) {
  if (t.d->lo < 0) return false;
  for (const auto& [m, c] : p) {
    for (const Expr& atom : m) {
      if (atom.op() != ExprOp::Mod || same(atom, t.atom) || atom.arg(1)->lo < 0) continue;
      const Poly wanted = multiply(t.factor, multiply(to_poly(t.d), Poly{{{atom}, 1}}));
      if (wanted.size() != 1 || wanted.begin()->second != c || !same(wanted.begin()->first, m)) continue;
      if (!same(mod(t.quotient, atom.arg(1)), atom)) continue;
      const Poly merged = multiply(t.factor, to_poly(mod(t.x, t.d * atom.arg(1))));
      add_scaled(p, wanted, -1);
      add_scaled(p, multiply(t.factor, Poly{{{t.atom}, 1}}), -1);
      add_scaled(p, merged, 1);
      return true;
    }
  }
  return false;
}

bool recombine_once(Poly& p) {
  for (const auto& [m, c] : p) {
    for (const Expr& atom : m) {
      if (atom.op() != ExprOp::Mod) continue;
      ModTerm t{{{without(m, atom), c}}, atom, atom.arg(0), atom.arg(1), Expr()};
      t.quotient = floor_div(t.x, t.d);
      if (merge_with_quotient(p, t) || merge_with_mod(p, t)) return true;
    }
  }
  return false;
}

}  // namespace

bool MonomialLess::operator()(const Monomial& a, const Monomial& b) const {
  const std::size_t n = std::min(a.size(), b.size());
  for (std::size_t k = 0; k < n; k++)
    if (auto c = compare(a[k], b[k]); c != 0) return c < 0;
  return a.size() > b.size();
}

void add_term(Poly& p, const Monomial& m, int64_t c) {
  if (c == 0) return;
  const auto [it, inserted] = p.try_emplace(m, c);
  if (inserted) return;
  it->second = wrapping_add(it->second, c);
  if (it->second == 0) p.erase(it);
}

void add_scaled(Poly& p, const Poly& q, int64_t c) {
  for (const auto& [m, k] : q) add_term(p, m, wrapping_mul(k, c));
}

Poly multiply(const Poly& a, const Poly& b) {
  Poly r;
  for (const auto& [m, c] : a)
    for (const auto& [n, d] : b) add_term(r, product(m, n), wrapping_mul(c, d));
  return r;
}

Poly to_poly(const Expr& e) {
  Poly r;
  auto add = [&](const Expr& term) {
    if (term.is_const()) return add_term(r, {}, term->i);
    if (term.op() != ExprOp::Mul) return add_term(r, {term}, 1);
    const bool scaled = term.arg(0).is_const();
    add_term(r, Monomial(term.args().begin() + scaled, term.args().end()), scaled ? term.arg(0)->i : 1);
  };
  if (e.op() == ExprOp::Add)
    for (const Expr& term : e.args()) add(term);
  else add(e);
  return r;
}

Expr from_poly(Poly p) {
  for (int k = 0; k < kMaxRecombinations && recombine_once(p); k++) {}
  return sum_node(p);
}

Range range_of(const Poly& p) {
  Range sum{0, 0};
  for (const auto& [m, c] : p) {
    Range r = exactly(c);
    for (const Expr& a : m) r = r * Range{a->lo, a->hi};
    sum = sum + r;
  }
  return sum;
}

bool contains(const Monomial& m, const Expr& atom) {
  return std::any_of(m.begin(), m.end(), [&](const Expr& a) { return same(a, atom); });
}

Monomial without(const Monomial& m, const Expr& atom) {
  Monomial r = m;
  const auto it = std::find_if(r.begin(), r.end(), [&](const Expr& a) { return same(a, atom); });
  if (it != r.end()) r.erase(it);
  return r;
}

std::optional<Monomial> quotient(const Monomial& m, const Monomial& d) {
  Monomial r = m;
  for (const Expr& atom : d) {
    if (!contains(r, atom)) return std::nullopt;
    r = without(r, atom);
  }
  return r;
}

Poly factor_of(const Poly& p, const Expr& atom) {
  Poly r;
  for (const auto& [m, c] : p)
    if (contains(m, atom)) add_term(r, without(m, atom), c);
  return r;
}

Poly replaced(const Poly& p, const Expr& atom, const Poly& value) {
  Poly r;
  for (const auto& [m, c] : p) {
    if (contains(m, atom)) add_scaled(r, multiply(Poly{{without(m, atom), c}}, value), 1);
    else add_term(r, m, c);
  }
  return r;
}

Poly expand_quotients(Poly p) {
  for (const auto& [m, c] : Poly(p)) {
    for (const Expr& a : m) {
      if (a.op() != ExprOp::FloorDiv) continue;
      const Poly d = to_poly(a.arg(1));
      if (d.size() != 1 || c % d.begin()->second != 0) continue;
      const auto rest = quotient(without(m, a), d.begin()->first);
      if (!rest) continue;
      add_term(p, m, -c);
      const Poly factor{{*rest, c / d.begin()->second}};
      add_scaled(p, multiply(factor, to_poly(a.arg(0))), 1);
      add_scaled(p, multiply(factor, to_poly(mod(a.arg(0), a.arg(1)))), -1);
      break;
    }
  }
  return p;
}

}  // namespace ingot
