#include "expr/guards.hpp"

#include "base/error.hpp"
#include "expr/evaluate.hpp"

namespace ingot {
namespace {

thread_local GuardEnv* current = nullptr;

}  // namespace

GuardEnv* current_guard_env() { return current; }

Int GuardEnv::fresh_symbol(int64_t lo, int64_t hi) { return Int(Expr::symbol("u" + std::to_string(fresh_++), lo, hi)); }

GuardScope::GuardScope(GuardEnv& env) : previous_(current) { current = &env; }
GuardScope::~GuardScope() { current = previous_; }

Int HintEnv::symbol(std::string_view name, int64_t hint, int64_t lo, int64_t hi) {
  INGOT_REQUIRE(hint >= lo && hint <= hi, "the hint ", hint, " of symbol '", name, "' is outside its range [", lo, ", ",
                hi, "]");
  INGOT_REQUIRE(!hints_.contains(name), "symbol '", name, "' is already defined");
  const Expr e = Expr::symbol(name, lo, hi);
  hints_.emplace(name, hint);
  return Int(e);
}

int64_t HintEnv::hint(const Expr& e) const { return evaluate(e, hints_); }

void HintEnv::record(const Expr& condition, bool answer) {
  for (const Guard& g : guards_)
    if (same(g.condition, condition)) return;
  guards_.push_back({condition, answer});
}

bool HintEnv::decide(const Expr& condition) {
  const bool answer = hint(condition) != 0;
  if (!condition.is_const()) record(condition, answer);
  return answer;
}

int64_t HintEnv::specialise(const Expr& e) {
  const int64_t v = hint(e);
  if (const Expr condition = eq(e, v); !condition.is_const()) record(condition, true);
  return v;
}

}  // namespace ingot
