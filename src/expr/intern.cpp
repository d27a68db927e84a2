#include "expr/intern.hpp"

#include <algorithm>
#include <bit>
#include <memory>
#include <mutex>
#include <unordered_set>

#include "base/error.hpp"
#include "expr/range.hpp"

namespace ingot {
namespace {

uint64_t mix(uint64_t h, uint64_t v) {
  h ^= v + 0x9E3779B97F4A7C15ull + (h << 6) + (h >> 2);
  h *= 0xBF58476D1CE4E5B9ull;
  return h ^ (h >> 29);
}

uint64_t structural_hash(const ExprNode& n) {
  uint64_t h = mix(static_cast<uint64_t>(n.op), static_cast<uint64_t>(n.dtype));
  h = mix(h, static_cast<uint64_t>(n.i));
  h = mix(h, std::bit_cast<uint64_t>(n.f));
  for (char c : n.name) h = mix(h, static_cast<unsigned char>(c));
  if (n.op == ExprOp::Sym) h = mix(mix(h, static_cast<uint64_t>(n.lo)), static_cast<uint64_t>(n.hi));
  for (const Expr& a : n.args) h = mix(h, a->hash);
  return h;
}

bool equal(const ExprNode& a, const ExprNode& b) {
  return a.hash == b.hash && a.op == b.op && a.dtype == b.dtype && a.i == b.i &&
         std::bit_cast<uint64_t>(a.f) == std::bit_cast<uint64_t>(b.f) && same(a.args, b.args) && a.name == b.name &&
         (a.op != ExprOp::Sym || (a.lo == b.lo && a.hi == b.hi));
}

struct NodeHash {
  std::size_t operator()(const ExprNode* n) const { return n->hash; }
};
struct NodeEqual {
  bool operator()(const ExprNode* a, const ExprNode* b) const { return equal(*a, *b); }
};

struct Shard {
  std::mutex mutex;
  std::unordered_set<const ExprNode*, NodeHash, NodeEqual> nodes;
};
constexpr std::size_t kShards = 16;

Shard& shard_of(uint64_t hash) {
  static Shard* const shards = new Shard[kShards];  // never destroyed: handles may outlive main
  return shards[hash >> 60];
}

bool is_leaf(ExprOp op) { return op <= ExprOp::Load; }

Expr intern_node(ExprNode&& key) {
  key.hash = structural_hash(key);
  Shard& shard = shard_of(key.hash);
  {
    std::lock_guard lock(shard.mutex);
    if (auto it = shard.nodes.find(&key); it != shard.nodes.end()) return Expr(*it);
  }
  key.has_data = key.op == ExprOp::Load || key.op == ExprOp::Tmp;
  if (is_leaf(key.op) && key.op != ExprOp::Const) key.leaves = uint64_t{1} << (key.hash & 63);
  if (key.op != ExprOp::Idx) {
    for (const Expr& a : key.args) {
      key.has_data |= a->has_data;
      key.leaves |= a->leaves;
    }
  }
  for (const Expr& a : key.args) key.depth = std::max(key.depth, a->depth + 1);
  INGOT_REQUIRE(key.depth <= kMaxExprDepth, "expression nests deeper than ", kMaxExprDepth,
                " operations; store an intermediate result");
  const Range r = range_of(key);
  key.lo = r.lo;
  key.hi = r.hi;

  auto fresh = std::make_unique<ExprNode>(std::move(key));
  std::lock_guard lock(shard.mutex);
  auto [it, inserted] = shard.nodes.insert(fresh.get());
  if (inserted) fresh.release();
  return Expr(*it);
}

std::strong_ordering compare_names(const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return a.size() <=> b.size();  // s2 before s10
  return a.compare(b) <=> 0;
}

std::strong_ordering compare_payload(const ExprNode& a, const ExprNode& b) {
  if (auto c = a.op <=> b.op; c != 0) return c;
  if (auto c = a.dtype <=> b.dtype; c != 0) return c;
  if (auto c = a.i <=> b.i; c != 0) return c;
  if (auto c = std::strong_order(a.f, b.f); c != 0) return c;
  if (auto c = compare_names(a.name, b.name); c != 0) return c;
  if (a.op == ExprOp::Sym) {
    if (auto c = a.lo <=> b.lo; c != 0) return c;
    if (auto c = a.hi <=> b.hi; c != 0) return c;
  }
  return a.args.size() <=> b.args.size();
}

}  // namespace

Expr intern(ExprOp op, DType dtype, std::vector<Expr> args) {
  return intern_node(ExprNode{.op = op, .dtype = dtype, .name = {}, .args = std::move(args)});
}

Expr intern_leaf(ExprOp op, DType dtype, int64_t i, double f, std::string_view name, std::vector<Expr> args, int64_t lo,
                 int64_t hi) {
  return intern_node(
      ExprNode{.op = op, .dtype = dtype, .i = i, .f = f, .lo = lo, .hi = hi, .name = std::string(name), .args = std::move(args)});
}

bool same(std::span<const Expr> a, std::span<const Expr> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Expr& x, const Expr& y) { return same(x, y); });
}

std::strong_ordering compare(const Expr& a, const Expr& b) {
  const ExprNode* x = a.node();
  const ExprNode* y = b.node();
  // Interned nodes differ in their payload or in some operand; the first that differs decides, so
  // this walks one path.
  while (x != y) {
    if (auto c = compare_payload(*x, *y); c != 0) return c;
    std::size_t k = 0;
    while (same(x->args[k], y->args[k])) k++;
    const ExprNode* next = x->args[k].node();
    y = y->args[k].node();
    x = next;
  }
  return std::strong_ordering::equal;
}

}  // namespace ingot
