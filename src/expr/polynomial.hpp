// The canonical form of i64 sums and products: a map from sorted products of atoms to coefficients.
// An atom is any i64 node but Const, Add and Mul. Coefficients wrap as int64 arithmetic does.
#pragma once
#include <map>
#include <vector>

#include "expr/range.hpp"
#include "ingot/expr.hpp"

namespace ingot {

using Monomial = std::vector<Expr>;  // sorted by `compare`; the empty one is 1

// Lexicographic, a longer product before its prefix: the constant term is last, as people write it.
struct MonomialLess {
  bool operator()(const Monomial& a, const Monomial& b) const;
};
using Poly = std::map<Monomial, int64_t, MonomialLess>;

Poly to_poly(const Expr& e);
// Applies the recombination rules: c*d*(x//d) + c*(x%d) = c*x and c*(x%d) + c*d*((x//d)%e) =
// c*(x%(d*e)).
Expr from_poly(Poly p);

void add_term(Poly& p, const Monomial& m, int64_t c);
void add_scaled(Poly& p, const Poly& q, int64_t c);
Poly multiply(const Poly& a, const Poly& b);
Range range_of(const Poly& p);

bool contains(const Monomial& m, const Expr& atom);
Monomial without(const Monomial& m, const Expr& atom);  // one occurrence less
// m / d where every atom of d is in m.
std::optional<Monomial> quotient(const Monomial& m, const Monomial& d);
// p = factor*atom + rest, taking one occurrence out of every product that has it.
Poly factor_of(const Poly& p, const Expr& atom);
// p with one occurrence of `atom` in each product replaced by `value`.
Poly replaced(const Poly& p, const Expr& atom, const Poly& value);
// p with c*d*(x // d) written as c*x - c*(x % d): lets x cancel.
Poly expand_quotients(Poly p);

}  // namespace ingot
