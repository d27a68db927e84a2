#include "loop/lone_kernel.hpp"

#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "base/index.hpp"
#include "loop/offset.hpp"

namespace ingot::loop {
namespace {

// What is added to an offset whatever the loops and the data: a number, and terms of the program's
// symbols.
struct Shift {
  int64_t number = 0;
  Expr symbols = 0;
};
Shift shift_of(const Expr& offset) {
  Shift s;
  const auto add = [&](const Expr& term) {
    bool varies = false;
    visit(term, [&](const Expr& x) { varies = varies || x->has_data || x.op() == ExprOp::Idx; });
    if (term.is_const()) s.number += term->i;
    else if (!varies) s.symbols = s.symbols + term;
  };
  if (offset.op() != ExprOp::Add) add(offset);
  else
    for (const Expr& term : offset.args()) add(term);
  return s;
}

// f(buffer, offset) for every place that the kernel reads or writes, and for those inside the
// places.
template <class F>
void each_access(const Kernel& k, const F& f) {
  const auto loads = [&](const Expr& e) {
    visit(e, [&](const Expr& x) {
      if (x.op() == ExprOp::Load) f(static_cast<int>(x->i), x.arg(0));
    });
  };
  if (const auto& x = k.product)
    for (const Product::Element* e : {&x->rows, &x->columns, &x->sums}) {
      f(e->buffer, e->offset);
      loads(e->offset);
    }
  for (const Nest& n : k.nests) {
    for (const Fold& fold : n.folds) loads(fold.body);
    for (const Store& s : n.stores) {
      loads(s.value);
      loads(s.offset);
      f(s.out, s.offset);
    }
  }
}

// By buffer: what is added to its offsets in the kernel, the least where that differs. A place
// before the first element is none.
std::vector<Expr> beginnings(const Program& p, const Kernel& k, const std::vector<int>& buffers) {
  std::vector<std::optional<Shift>> shifts(buffers.size());
  each_access(k, [&](int buffer, const Expr& offset) {
    const auto i = static_cast<std::size_t>(std::find(buffers.begin(), buffers.end(), buffer) - buffers.begin());
    if (p.buffers[at(buffer)].place == Place::scratch) return;
    const Shift s = shift_of(offset);
    if (!shifts[i]) shifts[i] = s;
    shifts[i]->number = std::min(shifts[i]->number, s.number);
  });
  std::vector<Expr> from;
  for (const std::optional<Shift>& s : shifts) {
    const Expr e = s ? s->symbols + s->number : Expr(0);
    from.push_back(e->lo >= 0 ? e : Expr(0));
  }
  return from;
}

class Renumber {
 public:
  Renumber(const std::vector<int>& buffers, const std::vector<Expr>& from) : buffers_(buffers), beginnings_(from) {}

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
      const int id = buffer(static_cast<int>(load->i));
      return Expr::load(id, load.dtype(), {index[0] - beginning(id)});
    });
  }
  // An offset in the buffer, which has its own number.
  Expr offset(int buffer, const Expr& e) const { return of(e) - beginning(this->buffer(buffer)); }

 private:
  const std::vector<int>& buffers_;
  const std::vector<Expr>& beginnings_;
  std::vector<Expr> from_, to_;

  const Expr& beginning(int id) const { return beginnings_[at(id)]; }

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

Kernel renumbered(const Kernel& k, const std::vector<int>& buffers, const std::vector<Expr>& from) {
  Renumber anew(buffers, from);
  Kernel r;
  r.name = k.name;
  r.across = k.across;
  for (const Expr& v : k.outer) r.outer.push_back(anew.variable(v));
  r.scratch_bytes = anew.of(k.scratch_bytes);
  r.product = k.product;
  if (auto& x = r.product)
    for (std::vector<Expr>* vars : {&x->vars, &x->k})
      for (Expr& v : *vars) v = anew.variable(v);
  for (const Nest& n : k.nests) {
    Nest& to = r.nests.emplace_back();
    for (const Expr& v : n.vars) to.vars.push_back(anew.variable(v));
    for (const Fold& f : n.folds) {
      const Expr body = anew.of(f.body);
      to.folds.push_back({anew.tmp(f.tmp), f.how, to.vars, body});
    }
    for (const Store& s : n.stores) to.stores.push_back({anew.buffer(s.out), anew.offset(s.out, s.offset), anew.of(s.value)});
  }
  if (auto& x = r.product) {
    for (Expr* v : {&x->row, &x->column}) *v = anew.variable(*v);
    for (Product::Element* e : {&x->rows, &x->columns, &x->sums})
      *e = {anew.buffer(e->buffer), anew.offset(e->buffer, e->offset)};
  }
  return r;
}

// Everything that code depends on, in a list: equal lists, equal code. Expressions are interned, so
// their address is enough.
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
    exprs(x->vars);
    exprs({x->row, x->column, x->rows.offset, x->columns.offset, x->sums.offset});
    for (const int n : {x->rows.buffer, x->columns.buffer, x->sums.buffer, static_cast<int>(x->place)}) number(n);
    number(static_cast<int64_t>(std::hash<std::string>()(x->microkernel)));
    for (const DType t : {x->types.rows, x->types.columns, x->types.sums}) number(static_cast<int64_t>(t));
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
  r.from = beginnings(p, k, r.buffers);
  r.kernel = renumbered(k, r.buffers, r.from);
  r.program.symbols = p.symbols;
  r.program.decided = p.decided;
  for (const int id : r.buffers) {
    const Buffer& b = p.buffers[at(id)];
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
  for (const Nest& n : k.nests) {
    for (const Fold& f : n.folds) add(f.body);
    for (const Store& s : n.stores) add(s.offset), add(s.value);
  }
  return nodes;
}

}  // namespace ingot::loop
