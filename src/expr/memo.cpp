#include "expr/memo.hpp"

#include <memory>

namespace ingot {
namespace {

struct Entry {
  const ExprNode* a = nullptr;
  const ExprNode* b = nullptr;
  const ExprNode* result = nullptr;
  ExprOp op = ExprOp::Const;
};

// A newer entry takes the place of an older one. Nodes live as long as the process, so none is ever
// stale.
constexpr std::size_t kEntries = 4096;

Entry& entry_for(ExprOp op, const Expr& a, const Expr& b) {
  thread_local const std::unique_ptr<Entry[]> entries(new Entry[kEntries]);
  const uint64_t hash = (a->hash * 31 + b->hash) * 31 + static_cast<uint64_t>(op);
  return entries[(hash ^ (hash >> 32)) % kEntries];
}

}  // namespace

Expr remembered(ExprOp op, const Expr& a, const Expr& b) {
  const Entry& e = entry_for(op, a, b);
  return e.a == a.node() && e.b == b.node() && e.op == op ? Expr(e.result) : Expr();
}

void remember(ExprOp op, const Expr& a, const Expr& b, const Expr& result) {
  entry_for(op, a, b) = {a.node(), b.node(), result.node(), op};
}

}  // namespace ingot
