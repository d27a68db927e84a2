#include "loop/branches.hpp"

#include <algorithm>
#include <unordered_map>

namespace ingot::loop {
namespace {

// Ranges that end beyond say nothing, and could not be counted.
constexpr int64_t kFar = int64_t{1} << 61;

class Branches {
 public:
  explicit Branches(int64_t fresh) : fresh_(fresh) {}

  Expr rewritten(const Expr& e) {
    if (e.args().empty()) return e;
    if (const auto found = done_.find(e); found != done_.end()) return found->second;
    std::vector<Expr> args(e.args().begin(), e.args().end());
    if (e.op() == ExprOp::Select && args[0].op() == ExprOp::Lt && args[0].arg(0).dtype() == DType::i64) {
      const Expr &x = args[0].arg(0), &end = args[0].arg(1);
      if (end.is_const() && !x.is_const() && x->lo > -kFar && x->hi < kFar) {
        args[1] = where(args[1], x, x->lo, std::min(end->i, x->hi + 1));
        args[2] = where(args[2], x, std::max(end->i, x->lo), x->hi + 1);
      }
    }
    bool is_same = true;
    for (std::size_t k = 0; k < args.size(); k++) {
      args[k] = rewritten(args[k]);
      is_same = is_same && same(args[k], e.arg(k));
    }
    const Expr r = is_same ? e : rebuild(e, args);
    done_.emplace(e, r);
    return r;
  }

 private:
  // With x in [begin, end).
  Expr where(const Expr& e, const Expr& x, int64_t begin, int64_t end) const {
    if (begin >= end || !divides(e, x)) return e;
    const Expr known = Expr::index(fresh_, end - begin);
    return substitute(substitute(e, x, begin + known), known, x - begin);
  }

  const int64_t fresh_;
  std::unordered_map<Expr, Expr, ExprHash, ExprSame> done_;
};

}  // namespace

bool divides(const Expr& e, const Expr& x) {
  bool found = false;
  visit(e, [&](const Expr& y) { found = found || ((y.op() == ExprOp::FloorDiv || y.op() == ExprOp::Mod) && depends(y, x)); });
  return found;
}

Expr with_known_branches(const Expr& e, int64_t fresh) { return Branches(fresh).rewritten(e); }

}  // namespace ingot::loop
