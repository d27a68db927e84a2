// Proofs about ranges. To show p >= 0 for a polynomial p, atoms are replaced one by one by the end
// of their range that makes p smallest: a loop index by 0 or extent-1, x % d by 0 or d-1, a symbol
// by its numbers. Ends are expressions, so i*S + j < N*S is proved with S symbolic: the extents
// cancel, which interval arithmetic alone cannot see. Each step is valid pointwise: f*v >= f*end
// for every value of v, once the sign of its factor f is proved.
#include <algorithm>

#include "base/error.hpp"
#include "expr/memo.hpp"
#include "expr/polynomial.hpp"
#include "expr/scalar.hpp"

namespace ingot {
namespace {

// Steps one question may take, and how deep questions asked while building an end may nest.
constexpr int kSteps = 48;
constexpr int kMaxNesting = 3;

class Prover {
 public:
  bool nonnegative(const Poly& p) {
    if (range_of(p).lo >= 0) return true;
    if (steps_ <= 0) return false;
    return eliminate(p);
  }
  // Loop indices pushed to the ends that make `e` smallest (or largest), where signs allow.
  Expr extreme(const Expr& e, bool smallest) {
    Poly p = to_poly(e);
    for (const Expr& v : atoms_of(p)) {
      if (v.op() != ExprOp::Idx || steps_ <= 0) continue;
      const int sign = sign_of(factor_of(p, v));
      if (sign == 0) continue;
      p = replaced(p, v, to_poly((sign > 0) == smallest ? Expr(0) : v.arg(0) - 1));
    }
    return from_poly(p);
  }

 private:
  int steps_ = kSteps;

  // What is bounded by other atoms goes before them, so that they can cancel: an index over another
  // index's range, then min and max, indices, divisions, and symbols last.
  static int rank(const Expr& v) {
    switch (v.op()) {
      case ExprOp::Idx: return has_index(v.arg(0)) ? 0 : 2;
      case ExprOp::Min:
      case ExprOp::Max: return 1;
      case ExprOp::Mod: return 3;
      case ExprOp::FloorDiv: return 4;
      case ExprOp::Sym: return 6;
      default: return 5;
    }
  }
  static bool has_index(const Expr& e) {
    bool found = false;
    visit(e, [&](const Expr& x) { found |= x.op() == ExprOp::Idx; });
    return found;
  }
  static std::vector<Expr> atoms_of(const Poly& p) {
    std::vector<Expr> atoms;
    for (const auto& [m, c] : p)
      for (const Expr& a : m)
        if (!contains(atoms, a)) atoms.push_back(a);
    std::stable_sort(atoms.begin(), atoms.end(), [](const Expr& a, const Expr& b) { return rank(a) < rank(b); });
    return atoms;
  }

  int sign_of(const Poly& p) {
    const Range r = range_of(p);
    if (r.lo >= 0) return 1;
    if (r.hi <= 0) return -1;
    steps_--;
    if (nonnegative(p)) return 1;
    Poly negative;
    add_scaled(negative, p, -1);
    return nonnegative(negative) ? -1 : 0;
  }

  bool eliminate(const Poly& p) {
    for (const Expr& v : atoms_of(p)) {
      if (steps_ <= 0) return false;
      const int sign = sign_of(factor_of(p, v));
      if (sign == 0) continue;
      const std::vector<Expr> ends = sign > 0 ? lower_ends(v) : upper_ends(v);
      for (const Expr& end : ends) {
        if (--steps_ < 0) return false;
        if (nonnegative(replaced(p, v, to_poly(end)))) return true;
      }
      if (!ends.empty()) return false;
    }
    return false;
  }

  std::vector<Expr> lower_ends(const Expr& v) {
    std::vector<Expr> ends;
    if (v.op() == ExprOp::Max) ends = {v.arg(0), v.arg(1)};
    if (v.op() == ExprOp::FloorDiv && v.arg(1)->lo >= 0) add_end(ends, v, true);
    if (v->lo != Range::kMin) ends.push_back(Expr(v->lo));
    return ends;
  }
  std::vector<Expr> upper_ends(const Expr& v) {
    std::vector<Expr> ends;
    if (v.op() == ExprOp::Idx) return {v.arg(0) - 1};
    if (v.op() == ExprOp::Min) ends = {v.arg(0), v.arg(1)};
    if (v.op() == ExprOp::Mod && v.arg(1)->lo >= 0) {
      ends.push_back(v.arg(1) - 1);
      if (v.arg(0)->lo >= 0) ends.push_back(v.arg(0));
    }
    if (v.op() == ExprOp::FloorDiv && v.arg(1)->lo >= 0) add_end(ends, v, false);
    if (v->hi != Range::kMax) ends.push_back(Expr(v->hi));
    return ends;
  }
  // x // d is monotone in x.
  void add_end(std::vector<Expr>& ends, const Expr& v, bool smallest) {
    const Expr x = extreme(v.arg(0), smallest);
    if (!same(x, v.arg(0))) ends.push_back(floor_div(x, v.arg(1)));
  }
};

bool has_quotient(const Poly& p) {
  for (const auto& [m, c] : p)
    for (const Expr& a : m)
      if (a.op() == ExprOp::FloorDiv) return true;
  return false;
}

// One valid choice of values for symbols and indices. Most questions have the answer no, and one
// counterexample is far cheaper than a search for a proof that is not there.
struct Sample {
  int64_t symbol;   // where the range allows it
  bool last_index;  // indices at extent-1, else at 0
  int visits = 200;

  // Nothing where a value is not known, the choice is not valid, or looking costs too much.
  std::optional<int64_t> value(const Expr& e) {
    if (--visits < 0) return std::nullopt;
    switch (e.op()) {
      case ExprOp::Const: return e->i;
      case ExprOp::Sym: return std::clamp(symbol, e->lo, e->hi);
      case ExprOp::Idx: {
        const auto extent = value(e.arg(0));
        if (!extent || *extent <= 0) return std::nullopt;
        return last_index ? *extent - 1 : 0;
      }
      case ExprOp::Add:
      case ExprOp::Mul:
      case ExprOp::FloorDiv:
      case ExprOp::Mod:
      case ExprOp::Min:
      case ExprOp::Max: break;
      default: return std::nullopt;
    }
    auto r = value(e.arg(0));
    for (std::size_t k = 1; r && k < e.args().size(); k++) {
      const auto next = value(e.arg(k));
      r = next ? combined(e.op(), *r, *next) : std::nullopt;
    }
    return r;
  }
  std::optional<int64_t> value(const Poly& p) {
    std::optional<int64_t> sum = 0;
    for (const auto& [m, c] : p) {
      std::optional<int64_t> term = c;
      for (const Expr& a : m) {
        const auto next = value(a);
        term = term && next ? combined(ExprOp::Mul, *term, *next) : std::nullopt;
      }
      sum = sum && term ? combined(ExprOp::Add, *sum, *term) : std::nullopt;
    }
    return sum;
  }

 private:
  static std::optional<int64_t> combined(ExprOp op, int64_t a, int64_t b) {
    int64_t r;
    if (op == ExprOp::Add && __builtin_add_overflow(a, b, &r)) return std::nullopt;
    if (op == ExprOp::Mul && __builtin_mul_overflow(a, b, &r)) return std::nullopt;
    return fold_integer(op, DType::i64, a, b);
  }
};

bool has_counterexample(const Poly& p) {
  for (Sample sample : {Sample{3, false}, Sample{5, true}})
    if (const auto v = sample.value(p); v && *v < 0) return true;
  return false;
}

// Building an end may divide, which asks again.
thread_local int nesting = 0;

bool prove_nonnegative(const Poly& p) {
  const Range r = range_of(p);
  if (r.lo >= 0) return true;
  if (r.hi < 0 || nesting >= kMaxNesting || has_counterexample(p)) return false;
  nesting++;
  struct Leave {
    ~Leave() { nesting--; }
  } leave;
  return Prover().nonnegative(p) || (has_quotient(p) && Prover().nonnegative(expand_quotients(p)));
}

Poly difference(const Expr& a, const Expr& b) {
  INGOT_ENSURE(a.dtype() == DType::i64 && b.dtype() == DType::i64, "bounds are proved for i64 alone");
  Poly p = to_poly(a);
  add_scaled(p, to_poly(b), -1);
  return p;
}

}  // namespace

bool inside_proof() { return nesting > 0; }

bool prove_ge(const Expr& a, const Expr& b) { return prove_nonnegative(difference(a, b)); }

bool prove_lt(const Expr& a, const Expr& b) {
  Poly p = difference(b, a);
  add_term(p, {}, -1);
  return prove_nonnegative(p);
}

}  // namespace ingot
