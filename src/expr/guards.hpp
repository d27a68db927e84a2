// Who answers a question about symbolic sizes that ranges cannot: the thread's current GuardEnv. The tracer's shape
// environment is one; HintEnv is the simplest. Without one, such a question is a user error.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "expr/expr.hpp"

namespace ingot {

class GuardEnv {
 public:
  virtual ~GuardEnv() = default;
  // The truth of a bool expression that did not fold. The answer must hold for what the environment describes.
  virtual bool decide(const Expr& condition) = 0;
  // One value for an i64 expression that did not fold.
  virtual int64_t specialise(const Expr& e) = 0;
  // A size that only the data decides (nonzero, masked_select …), known to lie in [lo, hi]: u0, u1, … in the order asked.
  virtual Int fresh_symbol(int64_t lo = 0, int64_t hi = kUnbounded);

 private:
  int64_t fresh_ = 0;
};

// The current environment of this thread, or null.
GuardEnv* current_guard_env();

// Makes `env` current on this thread for the scope's lifetime. Scopes nest. The env must outlive the scope.
class GuardScope {
 public:
  explicit GuardScope(GuardEnv& env);
  GuardScope(const GuardScope&) = delete;
  GuardScope& operator=(const GuardScope&) = delete;
  ~GuardScope();

 private:
  GuardEnv* previous_;
};

struct Guard {
  Expr condition;
  bool answer;
};

// Answers by evaluating with one hint per symbol, and records what was asked: the answers hold wherever every guard's
// condition evaluates to its answer. One thread at a time.
class HintEnv : public GuardEnv {
 public:
  // A new symbol in [lo, hi], with a value to answer by. User error when the name is taken or the hint is out of range.
  Int symbol(std::string_view name, int64_t hint, int64_t lo = 2, int64_t hi = kUnbounded);

  bool decide(const Expr& condition) override;
  int64_t specialise(const Expr& e) override;

  // The value of `e` under the hints; never records a guard.
  int64_t hint(const Expr& e) const;
  const std::map<std::string, int64_t, std::less<>>& hints() const { return hints_; }
  // In the order first asked, each condition once.
  const std::vector<Guard>& guards() const { return guards_; }

 private:
  std::map<std::string, int64_t, std::less<>> hints_;
  std::vector<Guard> guards_;

  void record(const Expr& condition, bool answer);
};

}  // namespace ingot
