// The loops of one kernel.
#include <algorithm>

#include "loop/branches.hpp"
#include "loop/schedule.hpp"

namespace ingot::loop {
namespace {

// Everything an expression of the kernel may be: rewritten all together.
template <class F>
void rewrite(Kernel& k, const F& f) {
  for (Nest& n : k.nests) {
    for (Fold& x : n.folds) x.body = f(x.body);
    for (Store& s : n.stores) s.offset = f(s.offset), s.value = f(s.value);
  }
}
template <class F>
void each_expression(const Nest& n, const F& f) {
  for (const Fold& x : n.folds) f(x.body);
  for (const Store& s : n.stores) f(s.offset), f(s.value);
}

// The offsets of all loads and stores of a nest.
std::vector<Expr> offsets(const Nest& n) {
  std::vector<Expr> all;
  auto loads = [&](const Expr& e) {
    visit(e, [&](const Expr& x) {
      if (x.op() == ExprOp::Load) all.push_back(x.arg(0));
    });
  };
  for (const Fold& x : n.folds) loads(x.body);
  for (const Store& s : n.stores) loads(s.value), all.push_back(s.offset);
  return all;
}

int64_t fresh_id(const Kernel& k) {
  int64_t id = 0;
  auto see = [&](const Expr& v) { id = std::max(id, v->i + 1); };
  for (const Expr& v : k.outer) see(v);
  for (const Nest& n : k.nests)
    for (const Expr& v : n.vars) see(v);
  return id;
}

// Puts one variable in the place of vars[i] and vars[i + 1] where every address runs on from the
// end of the inner one to the next value of the outer one: no division is left by which they could
// be told apart.
bool collapse_pair(Kernel& k, std::vector<Expr>& vars, std::size_t i, const std::vector<Nest*>& nests) {
  const Expr outer = vars[i], inner = vars[i + 1], extent = inner.arg(0);
  if (depends(extent, outer)) return false;
  const Expr joint = Expr::index(fresh_id(k), outer.arg(0) * extent);
  const Expr from[] = {outer, inner}, to[] = {floor_div(joint, extent), mod(joint, extent)};
  auto changed = [&](const Expr& e) { return substitute(e, from, to); };
  for (const Nest* n : nests) {
    bool clean = true;
    each_expression(*n, [&](const Expr& e) { clean = clean && !divides(changed(e), joint); });
    if (!clean) return false;
  }
  for (Nest* n : nests) {
    for (Fold& x : n->folds) x.body = changed(x.body);
    for (Store& s : n->stores) s.offset = changed(s.offset), s.value = changed(s.value);
  }
  vars[i] = joint;
  vars.erase(vars.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  return true;
}

void collapse_inner(Kernel& k) {
  for (Nest& n : k.nests)
    for (std::size_t i = n.vars.size(); i-- > 1;) collapse_pair(k, n.vars, i - 1, {&n});
}

void collapse(Kernel& k) {
  std::vector<Nest*> all;
  for (Nest& n : k.nests) all.push_back(&n);
  for (std::size_t i = k.outer.size(); i-- > 1;) collapse_pair(k, k.outer, i - 1, all);
  collapse_inner(k);
}

// Variables of one value are that value.
void drop_unit_loops(Kernel& k) {
  auto drop = [&](std::vector<Expr>& vars) {
    for (const Expr& v : vars)
      if (v.arg(0).is_const(1)) rewrite(k, [&](const Expr& e) { return substitute(e, v, Expr(0)); });
    std::erase_if(vars, [](const Expr& v) { return v.arg(0).is_const(1); });
  };
  drop(k.outer);
  for (Nest& n : k.nests) drop(n.vars);
}

// The smallest number by which the kernel divides the variable alone, which it then is an outer and
// an inner one of: [12, 64] seen as 768. None where few would be neighbours.
std::optional<int64_t> smallest_part(const std::vector<Nest*>& nests, const Expr& v, int64_t fewest_neighbours) {
  std::optional<int64_t> smallest;
  auto see = [&](const Expr& x) {
    if ((x.op() != ExprOp::FloorDiv && x.op() != ExprOp::Mod) || !same(x.arg(0), v) || !x.arg(1).is_const()) return;
    const int64_t part = x.arg(1)->i;
    if (part >= fewest_neighbours && mod(v.arg(0), part).is_const(0) && (!smallest || part < *smallest)) smallest = part;
  };
  for (const Nest* n : nests) each_expression(*n, [&](const Expr& e) { visit(e, see); });
  return smallest;
}

// Two variables in the place of each that addresses take apart: neighbours in one of them lie side
// by side.
void take_apart(Kernel& k, std::vector<Expr>& vars, const std::vector<Nest*>& nests, int64_t fewest_neighbours) {
  for (std::size_t i = 0; i < vars.size(); i++) {
    const Expr joint = vars[i];
    const std::optional<int64_t> part = smallest_part(nests, joint, fewest_neighbours);
    if (!part) continue;
    const Expr outer = Expr::index(fresh_id(k), floor_div(joint.arg(0), *part)), inner = Expr::index(fresh_id(k) + 1, *part);
    for (Nest* n : nests) {
      const auto changed = [&](const Expr& e) { return substitute(e, joint, outer * *part + inner); };
      for (Fold& x : n->folds) x.body = changed(x.body);
      for (Store& s : n->stores) s.offset = changed(s.offset), s.value = changed(s.value);
    }
    vars[i] = inner;
    vars.insert(vars.begin() + static_cast<std::ptrdiff_t>(i), outer);
    i--;  // which may have parts of its own
  }
}

// How badly neighbours in `v` suit the nest: addresses that are neither the same for all of them
// nor one after the other.
int misfits(const Nest& n, const Expr& v) {
  int bad = 0;
  for (const Expr& o : offsets(n)) {
    const auto s = stride(o, v);
    bad += !s || !(s->is_const(0) || s->is_const(1));
  }
  return bad;
}

// The variable of the smallest cost goes last; of equals, the one that is.
template <class Cost>
void best_last(std::vector<Expr>& vars, const Cost& cost) {
  if (vars.empty()) return;
  std::size_t best = vars.size() - 1;
  for (std::size_t i = vars.size() - 1; i-- > 0;)
    if (cost(vars[i]) < cost(vars[best])) best = i;
  std::rotate(vars.begin() + static_cast<std::ptrdiff_t>(best), vars.begin() + static_cast<std::ptrdiff_t>(best) + 1, vars.end());
}

}  // namespace

void arrange_loops(Kernel& k, int64_t fewest_neighbours) {
  if (k.product) return collapse_inner(k);  // its outer variables are what they are
  rewrite(k, [fresh = fresh_id(k)](const Expr& e) { return with_known_branches(e, fresh); });
  std::vector<Nest*> all;
  for (Nest& n : k.nests) all.push_back(&n);
  take_apart(k, k.outer, all, fewest_neighbours);
  for (Nest& n : k.nests)
    if (n.folds.empty()) take_apart(k, n.vars, {&n}, fewest_neighbours);  // a sum's terms have an order
  drop_unit_loops(k);
  auto across_cost = [&](const Expr& v) {
    int bad = 0;
    for (const Nest& n : k.nests) bad += misfits(n, v) * (n.vars.empty() ? 1 : 4);
    return bad;
  };
  best_last(k.outer, across_cost);
  for (Nest& n : k.nests) best_last(n.vars, [&](const Expr& v) { return misfits(n, v); });
  collapse(k);
  bool has_inner = false;
  int inner = 0;
  for (const Nest& n : k.nests) {
    if (n.vars.empty()) continue;
    has_inner = true;
    inner += 4 * misfits(n, n.vars.back());
    if (n.vars.back().arg(0)->hi < fewest_neighbours) inner += 4;
  }
  k.across = !k.outer.empty() && (!has_inner || across_cost(k.outer.back()) < inner);
}

}  // namespace ingot::loop
