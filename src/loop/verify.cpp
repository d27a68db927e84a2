#include "loop/verify.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "expr/evaluate.hpp"
#include "expr/text.hpp"

namespace ingot::loop {
namespace {

class Verifier {
 public:
  explicit Verifier(const Program& p) : p_(p), is_there_(p.buffers.size()) {
    for (std::size_t b = 0; b < p.buffers.size(); b++)
      is_there_[b] = p.buffers[b].place == Place::input || p.buffers[b].place == Place::constant;
    for (std::size_t k = p.symbols.size() - p.decided; k < p.symbols.size(); k++) undecided_.insert(p.symbols[k]->name);
  }

  void check(const Steps& steps) {
    for (const Step& s : steps) {
      std::visit([&](const auto& step) { check(step); }, s);
      for (const int b : written_by(s)) is_there_[static_cast<std::size_t>(b)] = true;
    }
  }

  void check_outputs() const {
    for (const int b : p_.outputs)
      INGOT_REQUIRE(is_there_[static_cast<std::size_t>(b)], "the loop program never writes its output '", buffer(b).name, "'");
  }

 private:
  const Program& p_;
  std::vector<bool> is_there_;  // by buffer: it has elements
  std::set<std::string> undecided_;
  bool is_guarded_ = false;  // a check or a condition comes before: the step may never run
  std::string where_;  // for messages

  const Buffer& buffer(int b) const { return p_.buffers[static_cast<std::size_t>(b)]; }

  void check(const Computation& c) {
    where_ = "the computation of " + buffer(c.out).name;
    require_read(c);
    const Buffer& out = buffer(c.out);
    const std::vector<Expr> index = c.index();
    INGOT_REQUIRE(index.size() == out.sizes.size(), where_, ": expected ", out.sizes.size(), " indices, one a dim, found ",
                  index.size());
    for (std::size_t k = 0; k < index.size(); k++) require_inside(c.out, index[k], out.sizes[k], c.vars);
    for (const Fold& f : c.folds) {
      std::vector<Expr> vars = c.vars;
      vars.insert(vars.end(), f.vars.begin(), f.vars.end());
      require_loads(f.body, vars, false);
    }
    require_loads(c.value, c.vars, false);
    require_type(c.out, c.value);
  }

  void check(const Kernel& k) {
    where_ = "kernel " + k.name;
    require_read(k);
    for (const Nest& n : k.nests) {
      std::vector<Expr> vars = k.outer;
      vars.insert(vars.end(), n.vars.begin(), n.vars.end());
      for (const Fold& f : n.folds) require_loads(f.body, vars, true);
      for (const Store& s : n.stores) {
        require_inside(s.out, s.offset, elements_of(buffer(s.out)), vars);
        require_loads(s.value, vars, true);
        require_type(s.out, s.value);
      }
    }
  }

  void check(const KernelCall& c) {
    where_ = "the call of " + c.symbol;
    require_read(c);
  }
  void check(const EagerCall& c) {
    where_ = "the call of " + c.op;
    require_read(c);
    for (const EagerCall::Size& s : c.decides) decide(s.symbol);
  }
  void check(const Decide& d) {
    where_ = text("what decides ", d.symbol);
    require_read(d);
    require_loads(d.value, {}, false);
    decide(d.symbol);
  }
  void check(const Check& c) {
    where_ = text("the check \"", c.message, "\"");
    require_read(c);
    require_loads(c.condition, {}, false);
    is_guarded_ = true;
  }
  void check(const Branch& b) {
    where_ = "the condition of a branch";
    require_loads(b.condition, {}, false);
    const bool outer = std::exchange(is_guarded_, true);
    check(b.then);
    check(b.otherwise);
    is_guarded_ = outer;
  }
  void check(const Repeat& r) {
    check(r.test);
    where_ = "the condition of a loop";
    require_loads(r.condition, {}, false);
    const bool outer = std::exchange(is_guarded_, true);
    check(r.body);
    is_guarded_ = outer;
  }
  void check(const Times& t) {
    where_ = text("the loop over ", t.symbol);
    require_symbols(t.count);
    decide(t.symbol);
    const bool outer = std::exchange(is_guarded_, true);  // it may run for no value at all
    check(t.body);
    is_guarded_ = outer;
  }

  void decide(const Expr& symbol) { undecided_.erase(symbol->name); }

  // What the step reads is there. What it writes itself it may read in any order.
  void require_read(const Step& s) const {
    const std::vector<int> written = written_by(s);
    for (const int b : buffers_of(s))
      INGOT_REQUIRE(is_there_[static_cast<std::size_t>(b)] || std::ranges::find(written, b) != written.end(), where_, " reads '",
                    buffer(b).name, "' before a step writes it");
  }

  void require_symbols(const Expr& e) const {
    visit(e, [&](const Expr& x) {
      INGOT_REQUIRE(x.op() != ExprOp::Sym || !undecided_.contains(x->name), where_, " needs the size ", x,
                    ", which no step before it decides");
    });
  }

  void require_type(int out, const Expr& value) const {
    INGOT_REQUIRE(value.dtype() == buffer(out).dtype, where_, ": expected a value of type ", short_name_of(buffer(out).dtype),
                  " for '", buffer(out).name, "', found ", short_name_of(value.dtype()));
  }

  static Expr elements_of(const Buffer& b) {
    Expr last = 0;
    for (std::size_t d = 0; d < b.sizes.size(); d++) last = last + (b.sizes[d] - 1) * b.strides[d];
    return last + 1;
  }

  void require_loads(const Expr& e, const std::vector<Expr>& vars, bool by_distance) const {
    require_symbols(e);
    visit(e, [&](const Expr& x) {
      if (x.op() != ExprOp::Load) return;
      const Buffer& b = buffer(static_cast<int>(x->i));
      const std::size_t want = by_distance ? 1 : b.sizes.size();
      INGOT_REQUIRE(x.args().size() == want, where_, ": expected ", want, want == 1 ? " index" : " indices", " of '", b.name,
                    "', found ", x.args().size());
    });
    std::set<const ExprNode*> seen;
    require_loads_inside(e, vars, by_distance, seen);
  }

  // Of the loads that are made in any case. Where a condition chooses, one of its sides may be outside (padding).
  void require_loads_inside(const Expr& e, const std::vector<Expr>& vars, bool by_distance,
                            std::set<const ExprNode*>& seen) const {
    if (!seen.insert(e.node()).second) return;
    if (e.op() == ExprOp::Load) {
      const int b = static_cast<int>(e->i);
      for (std::size_t k = 0; k < e.args().size(); k++)
        require_inside(b, e.args()[k], by_distance ? elements_of(buffer(b)) : buffer(b).sizes[k], vars);
    }
    if (e.op() == ExprOp::Idx) return;  // its extent
    for (const Expr& a : e.args()) {
      require_loads_inside(a, vars, by_distance, seen);
      if (e.op() == ExprOp::Select) return;  // the condition comes first
    }
  }

  static bool has_values(const Expr& e, const std::map<const ExprNode*, int64_t>& values) {
    bool all = true;
    visit(e, [&](const Expr& x) { all = all && (x.op() != ExprOp::Idx || values.contains(x.node())); });
    return all;
  }

  // At the ends of the ranges of the variables that the index has, where these, the size and the index are fixed.
  void require_inside(int b, const Expr& index, const Expr& size, const std::vector<Expr>& vars) const {
    require_symbols(index);
    const auto is_fixed = [](const Expr& e) {
      bool fixed = true;
      visit(e, [&](const Expr& x) {
        fixed = fixed && x.op() != ExprOp::Sym && x.op() != ExprOp::Load && x.op() != ExprOp::Tmp && !is_floating(x.dtype());
      });
      return fixed;
    };
    if (is_guarded_ || !is_fixed(index) || !is_fixed(size)) return;
    for (const bool is_last : {false, true}) {
      std::map<const ExprNode*, int64_t> values;
      const auto leaf = [&](const Expr& x) { return values.at(x.node()); };
      for (const Expr& v : vars) {
        if (!is_fixed(v.args()[0]) || !has_values(v.args()[0], values)) continue;
        const int64_t extent = evaluate(v.args()[0], leaf);
        if (extent <= 0) return;  // the loop does nothing
        values[v.node()] = is_last ? extent - 1 : 0;
      }
      if (!has_values(index, values)) return;
      const int64_t at = evaluate(index, leaf), end = evaluate(size, leaf);
      INGOT_REQUIRE(at >= 0 && at < end, where_, ": expected an index of '", buffer(b).name, "' below ", end, ", found ", at,
                    " where the variables of ", index, " are ", is_last ? "largest" : "0");
    }
  }
};

}  // namespace

void verify(const Program& p) {
  Verifier v(p);
  v.check(p.steps);
  v.check_outputs();
}

}  // namespace ingot::loop
