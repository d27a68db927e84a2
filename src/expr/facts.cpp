#include "expr/facts.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "expr/scalar.hpp"

namespace ingot {
namespace {

using enum ExprOp;

// A replacement may make parts that are themselves known to equal something.
constexpr int kRounds = 4;
// Proofs from earlier inequalities are tried against the latest ones only, so that a question never
// takes long.
constexpr std::size_t kTried = 64;

bool compares_integers(const Expr& e) {
  return (e.op() == Lt || e.op() == Le || e.op() == Eq || e.op() == Ne) && e.arg(0).dtype() == DType::i64;
}

// The symbols of `e`.
std::vector<Expr> symbols_of(const Expr& e) {
  std::vector<Expr> found;
  visit(e, [&](const Expr& x) {
    if (x.op() == Sym && x.dtype() == DType::i64) found.push_back(x);
  });
  return found;
}

int count(const Expr& e, ExprOp op) {
  int n = 0;
  visit(e, [&](const Expr& x) { n += x.op() == op; });
  return n;
}

// Sums in which d*(x // d) occurs, written with x - x % d instead, everywhere in `e`.
Expr with_remainders(const Expr& e) {
  if (e.op() == Idx || e.op() == Load || e.args().empty() || count(e, FloorDiv) == 0) return e;
  std::vector<Expr> args;
  for (const Expr& a : e.args()) args.push_back(with_remainders(a));
  const Expr r = rebuild(e, args);
  if (r.dtype() != DType::i64 || (r.op() != Add && r.op() != Mul)) return r;
  return from_poly(expand_quotients(to_poly(r)));
}

}  // namespace

void Facts::declare(const Expr& symbol, Kind kind) {
  symbols_.insert_or_assign(symbol->name, Symbol{symbol, kind, {symbol->lo, symbol->hi}, symbols_.size()});
  if (kind == Kind::size) become_size(symbol);
}

void Facts::become_size(const Expr& symbol) {
  const auto s = symbols_.find(symbol->name);
  if (s == symbols_.end() || s->second.kind == Kind::input) return;
  s->second.kind = Kind::size;
  narrow(symbol->name, {std::max<int64_t>(s->second.range.lo, 0), s->second.range.hi});
  const Range r = s->second.range;
  const auto known = std::find_if(wide_sizes_.begin(), wide_sizes_.end(), [&](const Expr& e) { return same(e, s->second.expr); });
  if (known == wide_sizes_.end()) {
    wide_sizes_.push_back(s->second.expr);
    many_.push_back(s->second.expr);
  }
  for (std::size_t k = 0; k < wide_sizes_.size(); k++)
    if (wide_sizes_[k]->name == symbol->name && r.hi >= 2)
      many_[k] = Expr::symbol(symbol->name, std::max<int64_t>(r.lo, 2), r.hi);
}

bool Facts::is_size(const Expr& symbol) const {
  const auto s = symbols_.find(symbol->name);
  return s != symbols_.end() && s->second.kind == Kind::size;
}

// ---- what follows

Expr Facts::replaced(const Expr& e) const {
  if (from_.empty()) return e;
  Expr r = e;
  for (int k = 0; k < kRounds; k++) {
    const Expr next = substitute(r, from_, to_);
    if (same(next, r)) break;
    r = next;
  }
  return r;
}

Expr Facts::narrowed(const Expr& e, bool sizes_are_many) const {
  const Expr r = sizes_are_many && !many_.empty() ? substitute(e, wide_sizes_, many_) : e;
  return narrow_.empty() ? r : substitute(r, wide_, narrow_);
}

Expr Facts::simplify(const Expr& e) const {
  if (e.is_const() || (from_.empty() && narrow_.empty())) return e;
  if (const auto found = simplified_.find(e); found != simplified_.end()) return found->second;
  Expr r = replaced(e);
  if (!narrow_.empty()) r = substitute(narrowed(r, false), narrow_, wide_);
  // Remainders help where they are known.
  if (!from_.empty() && count(r, FloorDiv) > 0)
    if (const Expr other = replaced(with_remainders(r)); count(other, Mod) <= count(r, Mod)) r = other;
  simplified_.emplace(e, r);
  return r;
}

Range Facts::range(const Expr& e) const {
  const Expr r = narrowed(simplify(e), false);
  return {r->lo, r->hi};
}

std::optional<bool> Facts::known(const Expr& condition, bool sizes_are_many) const {
  if (condition.is_const()) return condition->i != 0;
  if (const auto found = answers_.find(condition); found != answers_.end()) return found->second;
  const auto answer = deduced(simplify(condition), sizes_are_many);
  if (answer && !sizes_are_many) answers_.emplace(condition, *answer);
  return answer;
}

std::optional<bool> Facts::deduced(const Expr& condition, bool sizes_are_many) const {
  if (condition.is_const()) return condition->i != 0;
  if (true_.contains(condition)) return true;
  if (true_.contains(logical_not(condition))) return false;
  if (condition.op() == And || condition.op() == Or) {
    const bool decisive = condition.op() == Or;
    const auto a = deduced(condition.arg(0), sizes_are_many), b = deduced(condition.arg(1), sizes_are_many);
    if (a == decisive || b == decisive) return decisive;
    if (a && b) return !decisive;
    return std::nullopt;
  }
  if (condition.op() == Not) {
    const auto a = deduced(condition.arg(0), sizes_are_many);
    return a ? std::optional(!*a) : std::nullopt;
  }
  if (const Expr r = narrowed(condition, sizes_are_many); r.is_const()) return r->i != 0;
  if (!compares_integers(condition) || nonnegative_.empty()) return std::nullopt;
  const Expr &a = condition.arg(0), &b = condition.arg(1);
  switch (condition.op()) {
    case Lt:
      if (follows(b - a - 1, sizes_are_many)) return true;
      if (follows(a - b, sizes_are_many)) return false;
      break;
    case Le:
      if (follows(b - a, sizes_are_many)) return true;
      if (follows(a - b - 1, sizes_are_many)) return false;
      break;
    default:
      if (follows(b - a - 1, sizes_are_many) || follows(a - b - 1, sizes_are_many)) return condition.op() == Ne;
      if (follows(b - a, sizes_are_many) && follows(a - b, sizes_are_many)) return condition.op() == Eq;
  }
  return std::nullopt;
}

// e >= 0 where e - c*f >= 0 for an f that is known to be, and a positive c.
bool Facts::follows(const Expr& e, bool sizes_are_many) const {
  const Poly p = to_poly(e);
  const std::size_t first = nonnegative_.size() - std::min(nonnegative_.size(), kTried);
  for (std::size_t k = nonnegative_.size(); k-- > first;) {
    const Poly f = to_poly(nonnegative_[k]);
    if (f.empty()) continue;
    // The c that lets the first product cancel; without it nothing does.
    const auto own = p.find(f.begin()->first);
    if (own == p.end() || own->second / f.begin()->second <= 0) continue;
    Poly rest = p;
    add_scaled(rest, f, -(own->second / f.begin()->second));
    if (prove_ge(narrowed(from_poly(std::move(rest)), sizes_are_many), Expr(0))) return true;
  }
  return false;
}

// ---- what is learned

void Facts::learn(const Expr& raw) {
  const Expr condition = simplify(raw);
  if (condition.is_const()) return;
  simplified_.clear();
  if (condition.op() == And) {
    learn(condition.arg(0));
    learn(condition.arg(1));
    return;
  }
  true_.insert(condition);
  if (!compares_integers(condition)) return;
  const Expr &a = condition.arg(0), &b = condition.arg(1);
  switch (condition.op()) {
    case Eq: learn_equal(a, b); break;
    case Ne: learn_unequal(a, b); break;
    case Lt: learn_nonnegative(b - a - 1); break;
    default: learn_nonnegative(b - a);
  }
}

// p == 0 as symbol == something without it, where that something is a polynomial.
std::optional<Expr> Facts::solved_for(const Poly& p, const Expr& symbol) const {
  const auto own = p.find({symbol});
  if (own == p.end()) return std::nullopt;
  const int64_t c = own->second;
  Poly rest;
  for (const auto& [m, k] : p) {
    if (&k == &own->second) continue;
    if (k % c != 0) return std::nullopt;
    for (const Expr& atom : m)
      if (depends(atom, symbol)) return std::nullopt;
    add_term(rest, m, -(k / c));
  }
  return from_poly(std::move(rest));
}

void Facts::learn_equal(const Expr& a, const Expr& b) {
  const Expr d = a - b;
  const Poly p = to_poly(d);
  const auto from_data = [&](const Expr& s) { return symbols_.find(s->name)->second.kind != Kind::input; };
  std::vector<Expr> candidates;
  for (const Expr& s : symbols_of(d))
    if (const auto it = symbols_.find(s->name); it != symbols_.end() && same(it->second.expr, s)) candidates.push_back(s);
  std::sort(candidates.begin(), candidates.end(), [&](const Expr& x, const Expr& y) {
    if (from_data(x) != from_data(y)) return from_data(x);
    return symbols_.find(x->name)->second.age > symbols_.find(y->name)->second.age;
  });
  for (const Expr& s : candidates) {
    const auto value = solved_for(p, s);
    if (!value) continue;
    const auto others = symbols_of(*value);
    if (!from_data(s) &&
        std::any_of(others.begin(), others.end(), [&](const Expr& o) { return !symbols_.contains(o->name) || from_data(o); }))
      continue;
    const Range r = symbols_.find(s->name)->second.range;
    replace(s, *value);
    // What was known of the symbol's range is known of its value.
    if (r.lo != Range::kMin) learn(ge(*value, Expr(r.lo)));
    if (r.hi != Range::kMax) learn(le(*value, Expr(r.hi)));
    return;
  }
  // A quotient, remainder or other part that is one number.
  if (p.size() <= 2 && p.begin()->first.size() == 1) {
    const auto& [m, c] = *p.begin();
    const auto constant = p.find({});
    const int64_t k = constant == p.end() ? 0 : constant->second;
    if ((p.size() == 1 || constant != p.end()) && k % c == 0) return replace(m[0], Expr(-(k / c)));
  }
  nonnegative_.push_back(d);
  nonnegative_.push_back(-d);
}

void Facts::replace(const Expr& from, const Expr& to) {
  for (Expr& e : to_) e = substitute(e, from, to);
  for (Expr& e : from_)
    if (e.op() != Sym) e = substitute(e, from, to);
  from_.push_back(from);
  to_.push_back(to);
  simplified_.clear();
  ExprSet conditions;
  for (const Expr& e : true_)
    if (const Expr r = replaced(e); !r.is_const()) conditions.insert(r);
  true_ = std::move(conditions);
  for (Expr& e : nonnegative_) e = replaced(e);
}

void Facts::learn_nonnegative(const Expr& e) {
  nonnegative_.push_back(e);
  const Poly p = to_poly(e);
  for (const Expr& s : symbols_of(e)) {
    const auto known = symbols_.find(s->name);
    const auto own = p.find({s});
    if (known == symbols_.end() || own == p.end()) continue;
    Poly rest = p;
    rest.erase({s});
    const Expr other = from_poly(rest);
    if (depends(other, s)) continue;
    const Range r = range_of(to_poly(narrowed(other, false)));
    if (r.hi == Range::kMax || r.hi == Range::kMin) continue;
    // c*s + other >= 0 with other at its largest.
    const int64_t c = own->second;
    Range range = known->second.range;
    if (c > 0) range.lo = std::max(range.lo, -floor_quotient(r.hi, c));
    else if (c != Range::kMin) range.hi = std::min(range.hi, floor_quotient(r.hi, -c));
    narrow(s->name, range);
  }
}

// A value at the end of a range that is not taken.
void Facts::learn_unequal(const Expr& a, const Expr& b) {
  const Poly p = to_poly(a - b);
  for (const Expr& s : symbols_of(a - b)) {
    const auto known = symbols_.find(s->name);
    const auto value = solved_for(p, s);
    if (known == symbols_.end() || !value || !value->is_const()) continue;
    Range r = known->second.range;
    if ((*value)->i == r.lo) r.lo++;
    if ((*value)->i == r.hi && r.hi != Range::kMax) r.hi--;
    narrow(s->name, r);
  }
}

void Facts::narrow(const std::string& name, Range range) {
  Symbol& s = symbols_.find(name)->second;
  if (range == s.range || range.lo > range.hi) return;
  s.range = range;
  simplified_.clear();
  const Expr narrow = Expr::symbol(name, range.lo, range.hi);
  const auto at = std::find_if(wide_.begin(), wide_.end(), [&](const Expr& e) { return same(e, s.expr); });
  if (at == wide_.end()) {
    wide_.push_back(s.expr);
    narrow_.push_back(narrow);
  } else {
    narrow_[static_cast<std::size_t>(at - wide_.begin())] = narrow;
  }
  if (s.kind == Kind::size) become_size(s.expr);
  // One value is left: whatever asks whether a size is one, and so broadcast, must see it.
  if (range.lo == range.hi) replace(s.expr, Expr(range.lo));
}

}  // namespace ingot
