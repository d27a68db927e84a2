#include "program/input_check.hpp"

#include <algorithm>
#include <deque>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "expr/evaluate.hpp"

namespace ingot {

// One number of the inputs against what the program says it is.
class InputCheck::Binding {
 public:
  Binding(const std::map<std::string, SymbolRange>& ranges) : ranges_(ranges) {}

  SymbolValues values;

  // A size (`dim` >= 0) or the number itself (-1). What depends on symbols that are not bound yet
  // waits.
  void add(std::string_view path, int64_t dim, Int expected, int64_t found) {
    const Item item{path, dim, expected.expr(), found};
    if (expected.is_number()) {
      INGOT_REQUIRE(expected.number() == found, "input ", place(item), " must be ", expected, ", got ", found);
      return;
    }
    if (item.expected.op() == ExprOp::Sym && values.emplace(item.expected->name, found).second)
      check_range(item, item.expected, Int(1), Int(0));
    else waiting_.push_back(item);
  }

  // Whatever is bound lets those go on that wait for it; what nothing decides is left.
  void finish() {
    std::deque<std::size_t> ready;
    for (std::size_t i = 0; i < waiting_.size(); i++) {
      ready.push_back(i);
      for (const Expr& symbol : unbound(waiting_[i].expected)) users_[symbol->name].push_back(i);
    }
    for (; !ready.empty(); ready.pop_front()) {
      Item& item = waiting_[ready.front()];
      if (item.done) continue;
      const std::string* bound = settle(item);
      if (bound == nullptr) continue;
      const auto& users = users_[*bound];
      ready.insert(ready.end(), users.begin(), users.end());
    }
  }

 private:
  struct Item {
    std::string_view path;  // the check's
    int64_t dim;
    Expr expected;
    int64_t found;
    bool done = false;
  };
  const std::map<std::string, SymbolRange>& ranges_;
  std::vector<Item> waiting_;
  std::map<std::string, std::vector<std::size_t>> users_;  // by symbol: which of them have it

  static std::string place(const Item& i) { return i.dim < 0 ? std::string(i.path) : text(i.path, ".shape[", i.dim, "]"); }

  std::vector<Expr> unbound(const Expr& e) const {
    std::vector<Expr> out;
    visit(e, [&](const Expr& x) {
      if (x.op() == ExprOp::Sym && !values.contains(x->name)) out.push_back(x);
    });
    return out;
  }

  // Checks the item, or solves it for its one open symbol, whose name it then returns.
  const std::string* settle(Item& item) {
    const auto open = unbound(item.expected);
    if (open.empty()) {
      const int64_t value = evaluate(item.expected, values);
      INGOT_REQUIRE(value == item.found, "input ", place(item), " must be ", value, " (", item.expected, "), got ", item.found);
      item.done = true;
      return nullptr;
    }
    const auto factor = open.size() == 1 ? stride(item.expected, open[0]) : std::nullopt;
    if (!factor || !unbound(*factor).empty()) return nullptr;
    const std::string& symbol = open[0]->name;
    const int64_t step = evaluate(*factor, values);
    const int64_t rest =
        evaluate(item.expected, [&](const Expr& leaf) -> int64_t { return leaf->name == symbol ? 0 : values.at(leaf->name); });
    int64_t difference, negated;
    if (step == 0 || __builtin_sub_overflow(item.found, rest, &difference)) return nullptr;
    if (step == -1 && __builtin_sub_overflow(0, difference, &negated)) return nullptr;
    INGOT_REQUIRE(difference % step == 0 && difference / step >= 0, "input ", place(item), " = ", item.found,
                  " is not of the form ", item.expected);
    const auto bound = values.emplace(symbol, difference / step).first;
    check_range(item, open[0], step, rest);
    item.done = true;
    return &bound->first;
  }

  // The item is step*symbol + rest. A smallest size of 2 says only that the exporter did not look
  // at 0 and 1.
  void check_range(const Item& item, const Expr& symbol, Int step, Int rest) const {
    const auto it = ranges_.find(symbol->name);
    if (it == ranges_.end()) return;
    const SymbolRange& r = it->second;
    const int64_t value = values.at(symbol->name);
    if (r.max && value > *r.max)
      throw_user_error(text("input ", place(item), " must be ", step > Int(0) ? "<= " : ">= ", step * Int(*r.max) + rest,
                            ", got ", item.found));
    if (r.min && *r.min > 2 && value < *r.min)
      throw_user_error(text("input ", place(item), " must be ", step > Int(0) ? ">= " : "<= ", step * Int(*r.min) + rest,
                            ", got ", item.found));
  }
};

void InputCheck::check_kind(const Input& input, const Value& v) const {
  if (input.meta.is_tensor()) {
    const Tensor& t = input.meta.tensor();
    INGOT_REQUIRE(v.is_tensor(), "input ", input.path, " must be a tensor, got ", v.kind_name());
    INGOT_REQUIRE(v.tensor().dtype() == t.dtype(), "input ", input.path, " must be ", t.dtype(), ", got ", v.tensor().dtype());
    INGOT_REQUIRE(v.tensor().dim() == t.dim(), "input ", input.path, " must have ", t.dim(), " dims, got ", v.tensor().dim());
  } else if (input.meta.is_int()) {
    INGOT_REQUIRE(v.is_int(), "input ", input.path, " must be an integer, got ", v.kind_name());
  }
}

SymbolValues InputCheck::check(Args given) const {
  INGOT_ENSURE(given.size() == inputs_.size(), given.size(), " inputs for ", inputs_.size());
  for (std::size_t i = 0; i < given.size(); i++) check_kind(inputs_[i], given[i]);
  Binding binding(ranges_);
  for (std::size_t i = 0; i < given.size(); i++) {
    if (!inputs_[i].meta.is_tensor()) continue;
    const Tensor &expected = inputs_[i].meta.tensor(), &t = given[i].tensor();
    for (int d = 0; d < t.dim(); d++)
      if (t.size(d).is_number()) binding.add(inputs_[i].path, d, expected.size(d), t.size(d).number());
  }
  for (std::size_t i = 0; i < given.size(); i++)
    if (inputs_[i].meta.is_int() && given[i].to_int().is_number())
      binding.add(inputs_[i].path, -1, inputs_[i].meta.to_int(), given[i].to_int().number());
  binding.finish();
  check_conditions(given);
  return std::move(binding.values);
}

// Conditions that nothing can be said about hold: those over sizes that are not known, and those
// that cannot be computed. The latter are no fault of the inputs: a canonical `a and b` may have
// its parts in another order than the program's text, so that `a` does not keep `b` from dividing
// by zero.
void InputCheck::check_conditions(Args given) const {
  using Kind = InputFact::Kind;
  const auto number = [&](const InputFact& f) -> Int {
    const Value& v = given[f.input];
    if (f.kind == Kind::value) return v.to_int();
    if (f.kind == Kind::size) return v.tensor().size(f.dim);
    return f.kind == Kind::stride ? v.tensor().stride(f.dim) : v.tensor().storage_offset();
  };
  for (const InputCondition& c : conditions_) {
    if (std::any_of(c.facts.begin(), c.facts.end(), [&](const auto& f) { return number(f.second).is_symbolic(); })) continue;
    bool holds = true;
    try {
      holds = evaluate(c.holds, [&](const Expr& leaf) { return number(c.facts.at(leaf->name)).number(); }) != 0;
    } catch (const UserError&) {
      continue;
    }
    INGOT_REQUIRE(holds, "Guard failed: ", c.shown);
  }
}

}  // namespace ingot
