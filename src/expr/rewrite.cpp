// Walking and changing expressions.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "expr/intern.hpp"
#include "expr/op_info.hpp"
#include "expr/polynomial.hpp"

namespace ingot {
namespace {

// The operands a walk follows: the extent of an index is not one.
std::span<const Expr> operands(const Expr& e) { return e.op() == ExprOp::Idx ? std::span<const Expr>() : e.args(); }

// Nodes that a walk has met.
class NodeSet {
 public:
  // Whether it is new.
  bool insert(const ExprNode* node) {
    std::size_t k = node->hash & mask_;
    for (; slots_[k]; k = (k + 1) & mask_)
      if (slots_[k] == node) return false;
    slots_[k] = node;
    if (++count_ > mask_ - mask_ / 4) grow();
    return true;
  }

 private:
  static constexpr std::size_t kFew = 64;
  const ExprNode* few_[kFew] = {};  // most expressions are small
  std::vector<const ExprNode*> many_;
  const ExprNode** slots_ = few_;
  std::size_t mask_ = kFew - 1, count_ = 0;

  void grow() {
    const std::vector<const ExprNode*> old(slots_, slots_ + mask_ + 1);
    many_.assign(2 * old.size(), nullptr);
    slots_ = many_.data();
    mask_ = many_.size() - 1;
    count_ = 0;
    for (const ExprNode* node : old)
      if (node) insert(node);
  }
};
using NodeMap = std::unordered_map<const ExprNode*, Expr>;

void visit_once(const Expr& e, NodeSet& seen, void (*f)(void*, const Expr&), void* context) {
  if (!seen.insert(e.node())) return;
  for (const Expr& a : operands(e)) visit_once(a, seen, f, context);
  f(context, e);
}

bool may_depend(const Expr& e, uint64_t leaves) { return (leaves & ~e->leaves) == 0; }

bool search(const Expr& e, const Expr& v, NodeSet& seen) {
  if (same(e, v)) return true;
  if (!may_depend(e, v->leaves) || operands(e).empty() || !seen.insert(e.node())) return false;
  for (const Expr& a : operands(e))
    if (search(a, v, seen)) return true;
  return false;
}

// `done` starts as the substitution itself and doubles as the memo.
Expr substitute_in(const Expr& e, NodeMap& done, std::span<const Expr> from) {
  if (const auto it = done.find(e.node()); it != done.end()) return it->second;
  bool touched = false;
  for (const Expr& f : from) touched |= may_depend(e, f->leaves);
  if (!touched || operands(e).empty()) return e;
  std::vector<Expr> args;
  bool changed = false;
  for (const Expr& a : operands(e)) {
    args.push_back(substitute_in(a, done, from));
    changed |= !same(args.back(), a);
  }
  const Expr r = changed ? rebuild(e, args) : e;
  done.emplace(e.node(), r);
  return r;
}

void add_cost(const Expr& e, bool in_address, NodeSet& seen, int& total) {
  if (!seen.insert(e.node())) return;
  const bool is_load = e.op() == ExprOp::Load;
  const bool is_address = in_address || !(e->has_data || is_floating(e.dtype()));
  if (is_load || !is_address) total += info_of(e.op()).cost;
  for (const Expr& a : operands(e)) add_cost(a, in_address || is_load, seen, total);
}

}  // namespace

Expr rebuild(const Expr& e, std::span<const Expr> args) {
  if (info_of(e.op()).arity != Arity::Leaf) return build(e.op(), e.dtype(), args);
  if (e.op() == ExprOp::Idx) return Expr::index(e->i, args[0], e->name);
  if (e.op() == ExprOp::Load) return Expr::load(e->i, e.dtype(), {args.begin(), args.end()}, e->name);
  INGOT_ENSURE(args.empty(), "this leaf has no operands");
  return e;
}

Expr substitute(const Expr& e, std::span<const Expr> from, std::span<const Expr> to) {
  INGOT_ENSURE(from.size() == to.size(), "a substitution pairs its two lists");
  NodeMap done;
  for (std::size_t k = 0; k < from.size(); k++) done.emplace(from[k].node(), to[k]);
  return substitute_in(e, done, from);
}

Expr substitute(const Expr& e, const Expr& from, const Expr& to) { return substitute(e, std::span(&from, 1), std::span(&to, 1)); }

bool depends(const Expr& e, const Expr& v) {
  NodeSet seen;
  return search(e, v, seen);
}

std::optional<Expr> stride(const Expr& e, const Expr& v) {
  if (!depends(e, v)) return Expr(0);
  if (e.dtype() != DType::i64) return std::nullopt;
  const Poly p = to_poly(e);
  const Poly factor = factor_of(p, v);
  for (const auto& [m, c] : p)
    for (const Expr& a : m)
      if (!same(a, v) && depends(a, v)) return std::nullopt;
  for (const auto& [m, c] : factor)
    if (contains(m, v)) return std::nullopt;
  return from_poly(factor);
}

int cost(const Expr& e) {
  NodeSet seen;
  int total = 0;
  add_cost(e, false, seen, total);
  return total;
}

void visit_nodes(const Expr& e, void (*f)(void* context, const Expr& node), void* context) {
  NodeSet seen;
  visit_once(e, seen, f, context);
}

}  // namespace ingot
