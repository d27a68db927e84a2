#include "graph/shape_env.hpp"

#include <algorithm>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "expr/evaluate.hpp"
#include "graph/source.hpp"
#include "graph/tracer.hpp"
#include "op/call.hpp"
#include "op/current_op.hpp"
#include "op/source_note.hpp"

namespace ingot {
namespace {

// "aten::view at model.py:12"
std::string asker() {
  std::string who = current_op() ? current_op()->qualified() : std::string();
  if (const Ref<SourceNote>& note = current_source())
    if (const std::string line = source_line(note->stack_trace); !line.empty())
      who += text(who.empty() ? "the program" : "", " at ", line);
  return who;
}

Expr many(const Expr& e, int64_t least = 2) { return Expr::symbol(text("many_", least, "_", e->hash), least); }
// `e` where each size that was computed (what a slice by data leaves) is one of two or more.
template <class F>
Expr with_many(const Expr& e, const F& is_size) {
  if ((e.op() == ExprOp::Min || e.op() == ExprOp::Max) && is_size(e)) return many(e);
  if (e.args().empty() || e.op() == ExprOp::Idx || e.op() == ExprOp::Load) return e;
  std::vector<Expr> args;
  for (const Expr& a : e.args()) args.push_back(with_many(a, is_size));
  return rebuild(e, args);
}
// `e` where sizes, and what a slice by data clamps to a number, are larger than any number that a
// rule of an op has.
Expr with_large(const Expr& e, const Facts& facts) {
  std::vector<Expr> sizes, large;
  const auto take = [&](const Expr& size) {
    sizes.push_back(size);
    large.push_back(many(size, 1 << 20));
  };
  visit(e, [&](const Expr& x) {
    const bool clamps = (x.op() == ExprOp::Min || x.op() == ExprOp::Max) && x.dtype() == DType::i64;
    for (std::size_t i = 0; clamps && i < 2; i++)
      if (x.arg(i).is_const() && !x.arg(1 - i).is_const()) take(x.arg(1 - i));
    if (x.op() == ExprOp::Sym && facts.is_size(x)) take(x);
  });
  return substitute(e, sizes, large);
}

std::string to_text(Range r) {
  if (r.lo == r.hi) return text("= ", r.lo);
  if (r.hi == kUnbounded) return r.lo == Range::kMin ? "any" : text(">= ", r.lo);
  if (r.lo == Range::kMin) return text("<= ", r.hi);
  return text("in [", r.lo, ", ", r.hi, "]");
}

}  // namespace

std::string to_text(const SizeSource& s) {
  return s.dim < 0 ? text("input ", s.input) : text("size ", s.dim, " of input ", s.input);
}

Int ShapeEnv::symbol(std::string_view name, int64_t hint, int64_t lo, int64_t hi, SizeSource source, Facts::Kind kind) {
  INGOT_REQUIRE(hint >= lo && hint <= hi, "the hint ", hint, " of symbol '", name, "' is outside its range [", lo, ", ", hi, "]");
  INGOT_REQUIRE(!symbols_.contains(name), "symbol '", name, "' is already defined");
  const Expr e = Expr::symbol(name, lo, hi);
  const bool by_data = kind != Facts::Kind::input;
  symbols_.emplace(name, Symbol{e, hint, source, by_data ? to_text(source) : "", by_data});
  order_.emplace_back(name);
  facts_.declare(e, kind);
  return Int(e);
}

Int ShapeEnv::derived(const Expr& e, int64_t found, SizeSource source) {
  const int64_t expected = hint(e);
  INGOT_REQUIRE(expected == found, source, " is to be ", e, ", which is ", expected, " for the examples; found ", found);
  derived_.push_back({e, source});
  return Int(e);
}

Int ShapeEnv::fresh_symbol(int64_t lo, int64_t hi, bool is_size) {
  for (;; fresh_++) {
    const Symbol* known = find(text("u", fresh_));
    if (known == nullptr) break;
    if (!known->hint && known->expr->lo == lo && known->expr->hi == hi) {
      fresh_++;
      return Int(known->expr);
    }
  }
  const std::string name = text("u", fresh_++);
  const Expr e = Expr::symbol(name, lo, hi);
  symbols_.emplace(name, Symbol{e, std::nullopt, {}, asker()});
  order_.push_back(name);
  facts_.declare(e, is_size ? Facts::Kind::size : Facts::Kind::number);
  return Int(e);
}

Float ShapeEnv::fresh_float() {
  const std::string name = text("zuf", fresh_floats_++);
  if (const Symbol* known = find(name)) return Float(known->expr);
  const Expr e = Expr::float_symbol(name);
  symbols_.emplace(name, Symbol{e, std::nullopt, {}, asker()});
  order_.push_back(name);
  return Float(e);
}

void ShapeEnv::becomes_size(const Expr& e) {
  if (e.op() == ExprOp::Sym) facts_.become_size(e);
}

bool ShapeEnv::needs_data(const Expr& e) const {
  bool found = false;
  visit(e, [&](const Expr& x) {
    if (x.op() != ExprOp::Sym) return;
    const auto s = symbols_.find(x->name);
    found |= s != symbols_.end() && (s->second.by_data || !s->second.hint);
  });
  return found;
}

int64_t ShapeEnv::hint(const Expr& e) const {
  return evaluate(e, [&](const Expr& leaf) {
    const Symbol* s = leaf.op() == ExprOp::Sym ? find(leaf->name) : nullptr;
    INGOT_REQUIRE(s != nullptr, "no value is given for the symbol ", leaf);
    INGOT_REQUIRE(s->hint.has_value(), "the value of ", leaf, " is not known while the program is traced: the data decides it");
    return *s->hint;
  });
}

SymbolValues ShapeEnv::hints() const {
  SymbolValues values;
  for (const auto& [name, s] : symbols_)
    if (s.hint) values.emplace(name, *s.hint);
  return values;
}

const ShapeEnv::Symbol* ShapeEnv::find(std::string_view name) const {
  const auto s = symbols_.find(name);
  return s == symbols_.end() ? nullptr : &s->second;
}

bool ShapeEnv::is_specialised(std::string_view name) {
  const Symbol* s = find(name);
  if (s == nullptr) return false;
  const Range r = facts_.range(s->expr);
  return r.lo == r.hi;
}

Expr ShapeEnv::simplify(const Expr& e) { return facts_.simplify(e); }
Expr ShapeEnv::with_known_symbols(const Expr& e) const {
  std::vector<Expr> symbols, known;
  visit(e, [&](const Expr& x) {
    if (x.op() != ExprOp::Sym) return;
    symbols.push_back(x);
    known.push_back(facts_.simplify(x));
  });
  return substitute(e, symbols, known);
}
Shape ShapeEnv::simplify(const Shape& s) {
  Shape r;
  for (const Int i : s) r.push_back(simplify(i));
  return r;
}

bool ShapeEnv::is_computed_size(const Expr& e) const {
  if (e.dtype() != DType::i64 || e.op() == ExprOp::Sym || !needs_data(e)) return false;
  const Range r = facts_.range(e);
  return r.hi >= 2 && (r.lo >= 0 || prove_ge(e, 0));
}

Facts::Kind ShapeEnv::kind(const Expr& e) const {
  if (!needs_data(e)) return Facts::Kind::input;
  return (e.op() == ExprOp::Sym ? facts_.is_size(e) : is_computed_size(e)) ? Facts::Kind::size : Facts::Kind::number;
}

std::optional<bool> ShapeEnv::known(const Expr& condition) { return facts_.known(condition); }

void ShapeEnv::record(const Guard& g) {
  guards_.push_back(g);
  facts_.learn(g.answer ? g.condition : logical_not(g.condition));
}

void ShapeEnv::learn(const Guard& g) {
  if (facts_.known(g.condition) != g.answer) record(g);
}

// What the rules of ops are told of sizes that data decides: none is empty or broadcast, and those
// that must be equal are.
std::optional<bool> ShapeEnv::by_rule(const Expr& condition) {
  const auto is_size = [&](const Expr& e) { return is_computed_size(e); };
  const bool is_equality = condition.op() == ExprOp::Eq, is_difference = condition.op() == ExprOp::Ne;
  const bool compares = (is_equality || is_difference) && condition.arg(0).dtype() == DType::i64;
  const auto take_for_equal = [&] {
    const Expr equal = eq(condition.arg(0), condition.arg(1));
    defer(equal, text("Runtime assertion failed for expression ", readable(equal), ", which ", asker(), " needs"));
    return is_equality;
  };
  // That sizes are equal because they are many (and at most two), a run checks; that they are not,
  // as others are not, nobody does.
  for (const Expr& asked : {condition, with_many(condition, is_size)})
    if (const auto answer = facts_.known(asked, true)) return compares && *answer == is_equality ? take_for_equal() : *answer;
  // A difference of such sizes, against a number.
  std::vector<Expr> sides(condition.args().begin(), condition.args().end());
  for (Expr& e : sides)
    if (is_size(e)) e = many(e);
  if (std::ranges::any_of(sides, [](const Expr& e) { return e.is_const(); }))
    if (const auto answer = facts_.known(rebuild(condition, sides), true)) return answer;
  if (!compares) return std::nullopt;
  // What is left of such a size without its first few is many too, and several times a size is not
  // that size. What data has no part in, and may be two or more, may be the size that is asked for,
  // and so may numbers of the data.
  const Expr if_large = with_large(condition, facts_);
  bool may_be_asked_for =
      std::ranges::any_of(condition.args(), [&](const Expr& e) { return !needs_data(e) && facts_.range(e).hi >= 2; });
  visit(if_large, [&](const Expr& x) { may_be_asked_for |= x.op() == ExprOp::Sym && kind(x) == Facts::Kind::number; });
  if (const auto answer = facts_.known(if_large, true); answer && *answer != is_equality && !may_be_asked_for)
    return is_difference;
  for (const Expr& e : condition.args()) {
    if (e.is_const() && e->i < 2) return std::nullopt;
    if (e.op() == ExprOp::Sym && needs_data(e) && !facts_.is_size(e)) return std::nullopt;  // a number that nobody uses as a size
  }
  return take_for_equal();
}

void ShapeEnv::defer(const Expr& condition, const std::string& message) {
  const Expr simple = facts_.simplify(condition);
  deferred_.push_back({simple, message});
  facts_.learn(simple);
}

bool ShapeEnv::decide(const Expr& condition) {
  if (const auto answer = facts_.known(condition)) return *answer;
  const Expr simple = facts_.simplify(condition);
  if (needs_data(simple)) {
    if (current_op() != nullptr)
      if (const auto answer = by_rule(simple)) return *answer;
    refuse("Could not guard on data-dependent expression ", simple, true);
  }
  const bool answer = hint(simple) != 0;
  record({simple, answer, asker()});
  return answer;
}

int64_t ShapeEnv::specialise(const Expr& e) {
  const Expr simple = facts_.simplify(e);
  if (const Range r = facts_.range(simple); r.lo == r.hi) return r.lo;
  if (needs_data(simple))
    refuse(is_floating(e.dtype()) ? "Could not extract specialized float from data-dependent expression "
                                  : "Could not extract specialized integer from data-dependent expression ",
           simple, false);
  const int64_t v = hint(simple);
  record({eq(simple, v), true, asker()});
  return v;
}

bool ShapeEnv::assume(const Expr& condition, const std::string& message) {
  if (const auto answer = facts_.known(condition)) return *answer;
  const Expr simple = facts_.simplify(condition);
  // Of open sizes it becomes a guard, unless the example contradicts it: then the program's own
  // check is left to say so.
  if (!needs_data(simple)) return hint(simple) != 0 && decide(condition);
  // In a function that may not be called, the check stays where the function has it.
  if (current_tracer() != nullptr && current_tracer()->is_inner()) facts_.learn(simple);
  else defer(simple, message);
  return true;
}

void ShapeEnv::refuse(std::string_view start, const Expr& e, bool is_condition) const {
  std::string sizes, made;
  visit(e, [&](const Expr& x) {
    if (x.op() != ExprOp::Sym) return;
    const Symbol* s = find(x->name);
    if (s == nullptr || s->hint) return;
    if (facts_.is_size(x)) sizes += text(sizes.empty() ? "" : ", ", x);
    made += text(made.empty() ? "" : ", ", x, " was made by ", s->made_by.empty() ? "the program" : s->made_by);
  });
  const std::string shown = readable(e), who = asker();
  throw_user_error(text(
      start, shown, " (unhinted: ", shown, ").  (Size-like symbols: ", sizes.empty() ? "none" : sizes, ")\n", made,
      who.empty() ? "" : text("; asked by ", who), ". The data decides it, so a graph cannot take one way or the other. ",
      is_condition ? "Promise the answer with check(condition), which the program tests when it runs (for a size, check_is_size)"
                   : "Keep the size open, or promise its value with check(size == value)",
      "; or let where() choose among values, or cond() among functions"));
}

std::string ShapeEnv::listing() const {
  std::string lines;
  for (const std::string& name : order_) {
    const Symbol& s = symbols_.find(name)->second;
    const Expr simple = facts_.simplify(s.expr);
    lines += name;
    if (!same(simple, s.expr)) lines += text(" = ", simple);
    else lines += text(" ", to_text(facts_.range(s.expr)));
    if (s.source.input >= 0) lines += text("  # ", s.source);
    else if (!s.hint) lines += text("  # decided by the data of ", s.made_by.empty() ? "the program" : s.made_by);
    lines += '\n';
  }
  for (const Derived& d : derived_) lines += text(d.expr, "  # ", d.source, "\n");
  for (const Guard& g : guards_) lines += text(g, "\n");
  return lines;
}

std::string ShapeEnv::violation(const SymbolValues& values) const {
  for (const std::string& name : order_) {
    const Symbol& s = symbols_.find(name)->second;
    const auto v = values.find(name);
    if (!s.hint || v == values.end()) continue;
    if (v->second < s.expr->lo || v->second > s.expr->hi)
      return text(name, " should be ", to_text(Range{s.expr->lo, s.expr->hi}), ", found ", v->second,
                  s.source.input < 0 ? "" : text(" for ", s.source));
  }
  for (const Guard& g : guards_) {
    if ((evaluate(g.condition, values) != 0) == g.answer) continue;
    std::string found;
    visit(g.condition, [&](const Expr& x) {
      if (x.op() != ExprOp::Sym) return;
      const Symbol* s = find(x->name);
      found += text(found.empty() ? "" : ", ", x, " = ", values.find(x->name)->second,
                    s->source.input < 0 ? "" : text(" (", s->source, ")"));
    });
    return text("the program was traced for ", g, "\nfound ", found);
  }
  return {};
}

std::string ShapeEnv::violation(Args inputs) const {
  std::string problem;
  const auto number_at = [&](const SizeSource& s) -> std::optional<int64_t> {
    const auto i = static_cast<std::size_t>(s.input);
    const Value v = i < inputs.size() ? inputs[i] : Value();
    if (s.dim < 0 && v.is_int()) return v.to_int64();
    if (s.dim >= 0 && v.is_tensor() && s.dim < v.tensor().dim()) return v.tensor().size(s.dim).value();
    problem = text("the program was traced for a value that has ", s, "; found ", i < inputs.size() ? v.kind_name() : "nothing");
    return std::nullopt;
  };
  SymbolValues values;
  for (const auto& [name, s] : symbols_) {
    if (s.source.input < 0) continue;
    const auto v = number_at(s.source);
    if (!v) return problem;
    values.emplace(name, *v);
  }
  for (const Derived& d : derived_) {
    const auto v = number_at(d.source);
    if (!v) return problem;
    if (const int64_t expected = evaluate(d.expr, values); expected != *v)
      return text(d.source, " should be ", d.expr, " = ", expected, ", found ", *v);
  }
  return violation(values);
}

void check(const Expr& condition, std::string_view message) {
  const std::string says =
      message.empty() ? text("Runtime assertion failed for expression ", readable(condition)) : std::string(message);
  // A program that is traced says at once what cannot hold, or does not for its example; one that
  // is read leaves it to its runs. Of what data decides nothing is assumed before the assertion is
  // recorded: it is to read the data.
  GuardEnv* env = current_guard_env();
  const bool is_open = !condition.is_const() && env != nullptr && (env->known(condition) || !env->needs_data(condition));
  INGOT_REQUIRE(condition.is_const() ? condition->i != 0 : !is_open || env->assume(condition, says), says);
  if (condition.is_const()) aten_value<"_assert_scalar">(condition->i != 0, says);
  else aten_value<"_assert_scalar">(Int(cast(DType::i64, condition)), says);
}

void check_is_size(Int size, int64_t lo, int64_t hi) {
  aten_value<"sym_constrain_range_for_size">(size, lo, hi == kUnbounded ? Value() : Value(hi));
}

}  // namespace ingot
