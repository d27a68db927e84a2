#include "loop/local.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "base/index.hpp"

namespace ingot::loop {
namespace {

// Issue slots past which a value is kept for the next nest instead of computed again.
constexpr int kWorthKeeping = 10;

template <class F>
void rewrite(Nest& n, const F& f) {
  for (Fold& x : n.folds) x.body = f(x.body);
  for (Store& s : n.stores) s.offset = f(s.offset), s.value = f(s.value);
}
template <class F>
void each_value(const Nest& n, const F& f) {
  for (const Fold& x : n.folds) f(x.body);
  for (const Store& s : n.stores) f(s.value);
}

bool same_extents(const Nest& a, const Nest& b) {
  if (a.vars.size() != b.vars.size()) return false;
  for (std::size_t i = 0; i < a.vars.size(); i++)
    if (!same(a.vars[i].arg(0), b.vars[i].arg(0))) return false;
  return true;
}

void share_variables(Kernel& k) {
  for (std::size_t i = 0; i < k.nests.size(); i++)
    for (std::size_t j = 0; j < i; j++) {
      if (k.nests[i].vars.empty() || !same_extents(k.nests[i], k.nests[j])) continue;
      const std::vector<Expr> from = k.nests[i].vars, to = k.nests[j].vars;
      rewrite(k.nests[i], [&](const Expr& e) { return substitute(e, from, to); });
      for (Fold& f : k.nests[i].folds) f.vars = to;
      k.nests[i].vars = to;
      break;
    }
}

bool reads(const Nest& n, const Expr& tmp) {
  bool found = false;
  each_value(n, [&](const Expr& e) { found = found || depends(e, tmp); });
  return found;
}
bool reads(const Nest& n, int buffer) {
  bool found = false;
  each_value(
      n, [&](const Expr& e) { visit(e, [&](const Expr& x) { found = found || (x.op() == ExprOp::Load && x->i == buffer); }); });
  return found;
}

bool is_read_in(const Kernel& k, int buffer) {
  return std::any_of(k.nests.begin(), k.nests.end(), [&](const Nest& n) { return reads(n, buffer); });
}

bool is_among(const std::vector<int>& own, int buffer) { return std::find(own.begin(), own.end(), buffer) != own.end(); }

void drop_unread(Kernel& k, const std::vector<int>& own) {
  for (Nest& n : k.nests) std::erase_if(n.stores, [&](const Store& s) { return is_among(own, s.out) && !is_read_in(k, s.out); });
  std::erase_if(k.nests, [](const Nest& n) { return n.folds.empty() && n.stores.empty(); });
}

// Puts a nest into the one before it that has the same variables, where it needs none of that one's
// folds.
void merge_neighbours(Kernel& k) {
  for (std::size_t i = 1; i < k.nests.size();) {
    Nest &before = k.nests[i - 1], &n = k.nests[i];
    bool waits = !same_extents(before, n);
    for (const Fold& f : before.folds) waits = waits || reads(n, f.tmp);
    // What the earlier nest stores the later one may read at another place than the one it has just
    // reached.
    for (const Store& s : before.stores) waits = waits || reads(n, s.out);
    if (waits) {
      i++;
      continue;
    }
    before.folds.insert(before.folds.end(), n.folds.begin(), n.folds.end());
    before.stores.insert(before.stores.end(), n.stores.begin(), n.stores.end());
    k.nests.erase(k.nests.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

class Scratch {
 public:
  Scratch(Program& p, Kernel& k) : program_(p), kernel_(k) {}

  // A new row of elements for each value of the nest's variables.
  int add(const std::string& name, DType t, const std::vector<Expr>& vars) {
    Buffer b{text(name, ".", program_.buffers.size()), t, {}, {}, Place::scratch, kernel_.scratch_bytes};
    for (const Expr& v : vars) b.sizes.push_back(v.arg(0));
    Expr stride = 1;
    b.strides.resize(b.sizes.size());
    for (std::size_t d = b.sizes.size(); d-- > 0; stride = stride * b.sizes[d]) b.strides[d] = stride;
    kernel_.scratch_bytes = kernel_.scratch_bytes + floor_div(bytes_of(b) + (kAlignment - 1), kAlignment) * kAlignment;
    program_.buffers.push_back(std::move(b));
    return static_cast<int>(program_.buffers.size()) - 1;
  }
  Expr offset(int buffer, const std::vector<Expr>& vars) const {
    Expr e = 0;
    for (std::size_t d = 0; d < vars.size(); d++) e = e + vars[d] * program_.buffers[at(buffer)].strides[d];
    return e;
  }
  Expr load(int buffer, const std::vector<Expr>& vars) const {
    const Buffer& b = program_.buffers[at(buffer)];
    return Expr::load(buffer, b.dtype, {offset(buffer, vars)}, b.name);
  }

 private:
  Program& program_;
  Kernel& kernel_;
};

// Buffers of this kernel alone become rows: every load of one is at the very element that its store
// has for the variables.
void make_rows(Program& p, Kernel& k, const std::vector<int>& own, Scratch& scratch) {
  for (std::size_t i = 0; i < k.nests.size(); i++)
    for (std::size_t s = 0; s < k.nests[i].stores.size(); s++) {
      const Store store = k.nests[i].stores[s];
      if (!is_among(own, store.out) || k.nests[i].vars.empty()) continue;
      const Expr element = Expr::load(store.out, store.value.dtype(), {store.offset}, p.buffers[at(store.out)].name);
      bool only_there = true;
      for (const Nest& n : k.nests)
        each_value(n, [&](const Expr& e) {
          visit(e, [&](const Expr& x) {
            only_there = only_there && !(x.op() == ExprOp::Load && x->i == store.out && !same(x, element));
          });
        });
      if (!only_there) continue;
      const int row = scratch.add(p.buffers[at(store.out)].name + ".row", store.value.dtype(), k.nests[i].vars);
      const Expr from_row = scratch.load(row, k.nests[i].vars);
      k.nests[i].stores[s] = {row, scratch.offset(row, k.nests[i].vars), store.value};
      for (Nest& n : k.nests) rewrite(n, [&](const Expr& e) { return substitute(e, element, from_row); });
    }
}

// Values that a later nest computes again are kept.
void keep_repeated(Kernel& k, Scratch& scratch) {
  for (std::size_t i = 0; i < k.nests.size(); i++) {
    if (k.nests[i].vars.empty()) continue;
    std::unordered_map<Expr, bool, ExprHash, ExprSame> here;
    each_value(k.nests[i], [&](const Expr& e) { visit(e, [&](const Expr& x) { here.emplace(x, true); }); });
    for (std::size_t j = i + 1; j < k.nests.size(); j++) {
      if (!same(k.nests[j].vars, k.nests[i].vars)) continue;
      // The largest shared value first: its parts go with it.
      Expr best;
      each_value(k.nests[j], [&](const Expr& e) {
        visit(e, [&](const Expr& x) {
          const bool varies =
              std::any_of(k.nests[i].vars.begin(), k.nests[i].vars.end(), [&](const Expr& v) { return depends(x, v); });
          if (here.contains(x) && x->has_data && x.op() != ExprOp::Load && varies && cost(x) >= kWorthKeeping &&
              (!best.valid() || cost(x) > cost(best)))
            best = x;
        });
      });
      if (!best.valid()) continue;
      const int row = scratch.add("kept", best.dtype(), k.nests[i].vars);
      const Expr kept = scratch.load(row, k.nests[i].vars);
      for (std::size_t n = i + 1; n < k.nests.size(); n++)
        if (same(k.nests[n].vars, k.nests[i].vars)) rewrite(k.nests[n], [&](const Expr& e) { return substitute(e, best, kept); });
      k.nests[i].stores.push_back({row, scratch.offset(row, k.nests[i].vars), best});
    }
  }
}

}  // namespace

void keep_local(Program& p, Kernel& k, const std::vector<int>& own) {
  drop_unread(k, own);
  share_variables(k);
  merge_neighbours(k);
  if (k.across) return;  // a row would need an element for each neighbour
  Scratch scratch(p, k);
  make_rows(p, k, own, scratch);
  keep_repeated(k, scratch);
}

}  // namespace ingot::loop
