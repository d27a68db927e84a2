// Who answers a question about symbolic sizes that ranges cannot: the thread's current GuardEnv.
// The shape environment of a trace is the one there is (graph/shape_env.hpp). Without one, such a
// question is a user error.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "ingot/expr.hpp"

namespace ingot {

class GuardEnv {
 public:
  virtual ~GuardEnv() = default;
  // The truth of a bool expression that did not fold. The answer must hold for what the environment
  // describes.
  virtual bool decide(const Expr& condition) = 0;
  // One value for an i64 expression that did not fold. A real one is refused.
  virtual int64_t specialise(const Expr& e) = 0;
  // The truth of a bool expression where it follows from what is known. Promises nothing for it: no
  // guard.
  virtual std::optional<bool> known(const Expr& condition) = 0;
  // Whether data that is not there yet has a say in the value.
  virtual bool needs_data(const Expr& e) const = 0;
  // The program itself checks that the condition holds, and says `message` where it does not; so
  // from now on it may be taken for granted. False where it cannot hold.
  virtual bool assume(const Expr& condition, const std::string& message) = 0;
  // Of what only data decides: a run is to check the condition before anything relies on it. Known
  // from now on.
  virtual void defer(const Expr& condition, const std::string& message) = 0;
  // `e` in terms of what its parts are known to equal.
  virtual Expr simplify(const Expr& e) = 0;
  // A size that only the data decides (nonzero, masked_select …), known to lie in [lo, hi]: u0, u1,
  // … in the order asked. A number that is no size (item()) never counts as one in rules that tell
  // empty and broadcast sizes from others.
  virtual Int fresh_symbol(int64_t lo = 0, int64_t hi = kUnbounded, bool is_size = true) = 0;
  // A real number of the data: zuf0, zuf1, …
  virtual Float fresh_float() = 0;
  // The program uses a number of its data as a size.
  virtual void becomes_size(const Expr& e) = 0;
};

// The current environment of this thread, or null.
GuardEnv* current_guard_env();

// Makes `env` current on this thread for the scope's lifetime. Scopes nest. The env must outlive
// the scope.
class GuardScope {
 public:
  explicit GuardScope(GuardEnv& env);
  GuardScope(const GuardScope&) = delete;
  GuardScope& operator=(const GuardScope&) = delete;
  ~GuardScope();

 private:
  GuardEnv* previous_;
};

// What a program was compiled for: it is right where the condition has this answer.
struct Guard {
  Expr condition;
  bool answer = true;
  std::string asked_by;  // "aten::view at model.py:12"; empty: the program itself
};
// "s0 > 4  # asked by aten::view at model.py:12"
std::string to_text(const Guard& g);
// A condition as people write it: what is asked about on the left.
std::string readable(const Expr& condition);

}  // namespace ingot
