#include "loop/lone_kernel.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "loop/offset.hpp"

namespace ingot::loop {
namespace {

class Renumber {
 public:
  explicit Renumber(const std::vector<int>& buffers) : buffers_(buffers) {}

  // Nests may have variables in common.
  Expr variable(const Expr& v) {
    return replaced(v, [&](int64_t id) { return Expr::index(id, of(v.arg(0))); });
  }
  Expr tmp(const Expr& t) {
    return replaced(t, [&](int64_t id) { return Expr::tmp(id, t.dtype()); });
  }
  int buffer(int id) const {
    return id < 0 ? id : static_cast<int>(std::find(buffers_.begin(), buffers_.end(), id) - buffers_.begin());
  }
  Expr of(const Expr& e) const {
    if (!e.valid()) return e;
    return with_loads(substitute(e, from_, to_), [this](const Expr& load, const std::vector<Expr>& index) {
      return Expr::load(buffer(static_cast<int>(load->i)), load.dtype(), index);
    });
  }

 private:
  const std::vector<int>& buffers_;
  std::vector<Expr> from_, to_;

  template <class F>
  Expr replaced(const Expr& from, const F& make) {
    for (std::size_t k = 0; k < from_.size(); k++)
      if (same(from_[k], from)) return to_[k];
    const Expr to = make(static_cast<int64_t>(from_.size()));
    from_.push_back(from);
    to_.push_back(to);
    return to;
  }
};

Kernel renumbered(const Kernel& k, const std::vector<int>& buffers) {
  Renumber anew(buffers);
  Kernel r;
  r.name = k.name;
  r.across = k.across;
  for (const Expr& v : k.outer) r.outer.push_back(anew.variable(v));
  r.scratch_bytes = anew.of(k.scratch_bytes);
  if (k.product) {
    Product x = *k.product;
    x.panel = anew.variable(x.panel);
    for (Expr& k : x.k) k = anew.variable(k);
    for (Expr* e : {&x.rows_offset, &x.columns_offset, &x.first_column, &x.strip_width}) *e = anew.of(*e);
    for (int* b : {&x.rows, &x.columns, &x.strip}) *b = anew.buffer(*b);
    r.product = std::move(x);
  }
  for (const Nest& n : k.nests) {
    Nest& to = r.nests.emplace_back();
    for (const Expr& v : n.vars) to.vars.push_back(anew.variable(v));
    for (const Fold& f : n.folds) {
      const Expr body = anew.of(f.body);
      to.folds.push_back({anew.tmp(f.tmp), f.how, to.vars, body});
    }
    for (const Store& s : n.stores) to.stores.push_back({anew.buffer(s.out), anew.of(s.offset), anew.of(s.value)});
  }
  return r;
}

// Everything that code depends on, in a list: equal lists, equal code. Expressions are interned, so their address is enough.
std::vector<const void*> ingredients(const LoneKernel& k) {
  std::vector<const void*> all;
  const auto number = [&](int64_t n) { all.push_back(reinterpret_cast<const void*>(n)); };
  const auto expr = [&](const Expr& e) { all.push_back(e.node()); };
  const auto exprs = [&](const std::vector<Expr>& l) {
    number(static_cast<int64_t>(l.size()));
    for (const Expr& e : l) expr(e);
  };
  exprs(k.program.symbols);
  for (const Buffer& b : k.program.buffers) {
    number(static_cast<int64_t>(b.dtype));
    number(static_cast<int64_t>(b.place));
    expr(b.offset);
  }
  exprs(k.kernel.outer);
  number(k.kernel.across);
  expr(k.kernel.scratch_bytes);
  number(k.kernel.product.has_value());
  if (const auto& x = k.kernel.product) {
    exprs(x->k);
    exprs({x->rows_offset, x->panel, x->columns_offset, x->first_column, x->strip_width});
    for (const int n : {x->rows, x->columns, x->strip, x->height, x->width, static_cast<int>(x->place)}) number(n);
  }
  for (const Nest& n : k.kernel.nests) {
    exprs(n.vars);
    number(static_cast<int64_t>(n.folds.size()));
    for (const Fold& f : n.folds) {
      number(static_cast<int64_t>(f.how));
      expr(f.tmp);
      expr(f.body);
    }
    number(static_cast<int64_t>(n.stores.size()));
    for (const Store& s : n.stores) {
      number(s.out);
      expr(s.offset);
      expr(s.value);
    }
  }
  return all;
}

}  // namespace

LoneKernel by_itself(const Program& p, const Kernel& k) {
  LoneKernel r;
  r.buffers = buffers_of(Step(k));
  r.kernel = renumbered(k, r.buffers);
  r.program.symbols = p.symbols;
  r.program.decided = p.decided;
  for (const int id : r.buffers) {
    const Buffer& b = p.buffers[static_cast<std::size_t>(id)];
    const bool scratch = b.place == Place::scratch;
    r.program.buffers.push_back({b.name, b.dtype, {}, {}, scratch ? Place::scratch : Place::arena, scratch ? b.offset : Expr()});
  }
  return r;
}

bool alike(const LoneKernel& a, const LoneKernel& b) { return ingredients(a) == ingredients(b); }

std::size_t hash_of(const LoneKernel& k) {
  std::size_t h = 0;
  for (const void* p : ingredients(k)) h = (h ^ std::hash<const void*>()(p)) * 0x9e3779b97f4a7c15u;
  return h;
}

int64_t size_of_code(const Kernel& k) {
  int64_t nodes = 0;
  const auto add = [&](const Expr& e) {
    if (e.valid()) visit(e, [&](const Expr&) { nodes++; });
  };
  if (k.product) nodes += 4 * int64_t{k.product->height};
  for (const Nest& n : k.nests) {
    for (const Fold& f : n.folds) add(f.body);
    for (const Store& s : n.stores) add(s.offset), add(s.value);
  }
  return nodes;
}

}  // namespace ingot::loop
