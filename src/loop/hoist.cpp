#include "loop/hoist.hpp"

#include <algorithm>

#include "base/index.hpp"

namespace ingot::loop {
namespace {

template <class F>
void each_expression(const Kernel& k, const F& f) {
  const auto extents = [&](const std::vector<Expr>& vars) {
    for (const Expr& v : vars) f(v.arg(0));
  };
  extents(k.outer);
  f(k.scratch_bytes);
  if (const auto& x = k.product) {
    extents(x->k);
    extents(x->vars);
    for (const Expr* e : x->offsets()) f(*e);
  }
  for (const Nest& n : k.nests) {
    extents(n.vars);
    for (const Fold& x : n.folds) f(x.body);
    for (const Store& s : n.stores) f(s.offset), f(s.value);
  }
}

class Hoisting {
 public:
  explicit Hoisting(Program& p) : program_(p), writers_(p.buffers.size()) {
    each_step(p.steps, [&](const Step& s) {
      if (is_simple(s))
        for (int b : written_by(s)) writers_[at(b)]++;
    });
  }

  void run(Steps& steps) {
    Steps all;
    for (Step& s : steps) {
      if (auto* b = std::get_if<Branch>(&s)) run(b->then), run(b->otherwise);
      if (auto* r = std::get_if<Repeat>(&s)) {
        run(r->test);
        run(r->body);
        const Written written = written_in(s);
        for (Steps* inside : {&r->test, &r->body}) take_out(*inside, written, all);
      }
      if (auto* t = std::get_if<Times>(&s)) {
        run(t->body);
        take_out(t->body, written_in(s), all);
      }
      all.push_back(std::move(s));
    }
    steps = std::move(all);
  }

 private:
  // What differs from one time to the next.
  struct Written {
    std::vector<bool> buffers;
    std::vector<Expr> symbols;
  };

  Program& program_;
  std::vector<int> writers_;  // by buffer

  static bool is_simple(const Step& s) {
    return !std::holds_alternative<Branch>(s) && !std::holds_alternative<Repeat>(s) && !std::holds_alternative<Times>(s);
  }

  Written written_in(const Step& loop) const {
    Written w{std::vector<bool>(program_.buffers.size()), {}};
    for (int b : written_by(loop)) w.buffers[at(b)] = true;
    if (const auto* t = std::get_if<Times>(&loop)) add_symbols(t->body, w);
    if (const auto* r = std::get_if<Repeat>(&loop)) add_symbols(r->test, w), add_symbols(r->body, w);
    if (const auto* t = std::get_if<Times>(&loop)) w.symbols.push_back(t->symbol);
    return w;
  }
  static void add_symbols(const Steps& steps, Written& w) {
    each_step(steps, [&](const Step& s) {
      if (const auto* d = std::get_if<Decide>(&s)) w.symbols.push_back(d->symbol);
      if (const auto* t = std::get_if<Times>(&s)) w.symbols.push_back(t->symbol);
      if (const auto* c = std::get_if<EagerCall>(&s))
        for (const EagerCall::Size& d : c->decides) w.symbols.push_back(d.symbol);
    });
  }

  // The steps of a loop that do not depend on `written` go to `before`.
  void take_out(Steps& steps, Written written, Steps& before) const {
    Steps left;
    for (Step& s : steps) {
      if (!is_the_same_each_time(s, written)) {
        left.push_back(std::move(s));
        continue;
      }
      for (int b : written_by(s)) written.buffers[at(b)] = false;
      before.push_back(std::move(s));
    }
    steps = std::move(left);
  }

  bool is_the_same_each_time(const Step& s, const Written& written) const {
    const auto* k = std::get_if<Kernel>(&s);
    if (!k) return false;
    const std::vector<int> own = written_by(s);
    for (int b : own) {
      const Place place = program_.buffers[at(b)].place;
      if (place != Place::scratch && !(place == Place::arena && writers_[at(b)] == 1)) return false;
    }
    for (int b : buffers_of(s))
      if (written.buffers[at(b)] && std::find(own.begin(), own.end(), b) == own.end()) return false;
    bool same = true;
    for (const Nest& n : k->nests)
      for (const Store& store : n.stores) same = same && !store.offset->has_data;
    each_expression(*k, [&](const Expr& e) {
      for (const Expr& symbol : written.symbols) same = same && !depends(e, symbol);
      visit(e, [&](const Expr& x) { same = same && !(x.op() == ExprOp::Load && x.arg(0)->has_data); });
    });
    return same;
  }
};

}  // namespace

void hoist(Program& p) { Hoisting(p).run(p.steps); }

}  // namespace ingot::loop
