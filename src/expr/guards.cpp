#include "expr/guards.hpp"

#include "base/error.hpp"

namespace ingot {
namespace {

thread_local GuardEnv* current = nullptr;

}  // namespace

GuardEnv* current_guard_env() { return current; }

GuardScope::GuardScope(GuardEnv& env) : previous_(current) { current = &env; }
GuardScope::~GuardScope() { current = previous_; }

std::string readable(const Expr& e) {
  const bool turned = (e.op() == ExprOp::Lt || e.op() == ExprOp::Le) && e.arg(0).is_const();
  if (turned) return text(e.arg(1), e.op() == ExprOp::Lt ? " > " : " >= ", e.arg(0));
  return to_text(e);
}

std::string to_text(const Guard& g) {
  const std::string condition = readable(g.answer ? g.condition : logical_not(g.condition));
  return g.asked_by.empty() ? condition : text(condition, "  # asked by ", g.asked_by);
}

}  // namespace ingot
