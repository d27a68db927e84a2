#include "loop/verify.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "base/index.hpp"
#include "expr/text.hpp"
#include "loop/reach.hpp"
#include "loop/spelling.hpp"

namespace ingot::loop {
namespace {

class Verifier {
 public:
  explicit Verifier(const Program& p) : p_(p), reach_(p), is_there_(p.buffers.size()) {
    for (std::size_t b = 0; b < p.buffers.size(); b++)
      is_there_[b] = p.buffers[b].place == Place::input || p.buffers[b].place == Place::constant;
    for (std::size_t k = p.symbols.size() - p.decided; k < p.symbols.size(); k++) undecided_.insert(p.symbols[k]->name);
  }

  void check_declarations() {
    where_ = "the program";
    require_integer(p_.arena_bytes, "the bytes of the arena");
    for (const Guard& g : p_.guards) {
      require_condition(g.condition);
      INGOT_REQUIRE(!g.condition->has_data, "a guard is about sizes, found ", g.condition);
    }
    for (const Expr& n : p_.numbers)
      if (n.valid()) INGOT_REQUIRE(!n->has_data, "an input is a symbol, or what symbols decide, found ", n);
    for (const Buffer& b : p_.buffers) {
      where_ = text("'", b.name, "'");
      for (const Expr& n : b.sizes) require_integer(n, "a size");
      for (const Expr& n : b.strides) require_integer(n, "a stride");
      if (b.offset.valid()) require_integer(b.offset, "an offset");
    }
    require_all_named(p_.inputs, Place::input);
    require_all_named(p_.constants, Place::constant);
  }

  void check(const Steps& steps) {
    for (const Step& s : steps) {
      std::visit([&](const auto& step) { check(step); }, s);
      for (const int b : written_by(s)) is_there_[at(b)] = true;
    }
  }

  void check_outputs() const {
    for (const int b : p_.outputs)
      INGOT_REQUIRE(is_there_[at(b)], "the loop program never writes its output '", buffer(b).name, "'");
  }

 private:
  const Program& p_;
  const Reach reach_;
  std::vector<bool> is_there_;  // by buffer: it has elements
  std::set<std::string> undecided_;
  bool is_guarded_ = false;  // a check or a condition comes before: the step may never run
  std::string where_;  // for messages

  const Buffer& buffer(int b) const { return p_.buffers[at(b)]; }

  void check(const Computation& c) {
    where_ = "the computation of " + buffer(c.out).name;
    require_read(c);
    const Buffer& out = buffer(c.out);
    const std::vector<Expr> index = c.index();
    for (const Expr& v : c.vars) require_extent(v);
    INGOT_REQUIRE(index.size() == out.sizes.size(), where_, ": expected ", out.sizes.size(), " indices, one a dim, found ",
                  index.size());
    for (std::size_t k = 0; k < index.size(); k++) require_inside(c.out, index[k], out.sizes[k], c.vars);
    for (const Fold& f : c.folds) {
      std::vector<Expr> vars = c.vars;
      for (const Expr& v : f.vars) require_extent(v);
      vars.insert(vars.end(), f.vars.begin(), f.vars.end());
      require_loads(f.body, vars, false);
    }
    require_loads(c.value, c.vars, false);
    require_type(c.out, c.value);
  }

  void check(const Kernel& k) {
    where_ = "kernel " + k.name;
    require_read(k);
    require_size(k.scratch_bytes, "the bytes of scratch memory");
    for (const int b : buffers_of(k))
      if (buffer(b).place == Place::scratch) require_scratch(buffer(b), k.scratch_bytes);
    for (const Expr& v : k.outer) require_extent(v);
    INGOT_REQUIRE(!k.across || !k.outer.empty(), where_, ": 'across' is about the last parallel variable, and there is none");
    if (k.product) check(*k.product, k);
    for (const Nest& n : k.nests) {
      std::vector<Expr> vars = k.outer;
      for (const Expr& v : n.vars) require_extent(v);
      vars.insert(vars.end(), n.vars.begin(), n.vars.end());
      for (const Fold& f : n.folds) require_loads(f.body, vars, true);
      for (const Store& s : n.stores) {
        require_inside(s.out, s.offset, elements_of(buffer(s.out)), vars);
        require_loads(s.value, vars, true);
        require_type(s.out, s.value);
      }
    }
  }

  void check(const Product& x, const Kernel& k) {
    INGOT_REQUIRE(!k.across, where_,
                  ": a product is made for each value of the parallel variables, so that the kernel cannot be "
                  "'across' the last of them");
    for (const Expr& n : {x.row.arg(0), x.column.arg(0)})
      INGOT_REQUIRE(n.is_const() && n->i > 0, where_,
                    ": expected a number of rows, and one of columns, of the product that are made together, found ", n);
    require_product_type(x.rows.buffer, x.types.rows, "the rows");
    require_product_type(x.columns.buffer, x.types.columns, "the columns");
    const DType sums = buffer(x.sums.buffer).dtype;
    INGOT_REQUIRE(
        sums == x.types.sums || (is_floating(sums) && is_floating(x.types.sums) && size_of(sums) > size_of(x.types.sums)), where_,
        ": expected '", buffer(x.sums.buffer).name, "', which has the sums, to be of type ", short_name_of(x.types.sums),
        " or wider, found ", short_name_of(sums));
    std::vector<Expr> vars = k.outer;
    for (const auto* more : {&x.k, &x.vars})
      for (const Expr& v : *more) require_extent(v), vars.push_back(v);
    vars.insert(vars.end(), {x.row, x.column});
    require_apart(x, k);
    for (const Product::Element* e : {&x.rows, &x.columns, &x.sums})
      require_inside(e->buffer, e->offset, elements_of(buffer(e->buffer)), vars);
  }
  // Sums of one row end where those of the next begin.
  void require_apart(const Product& x, const Kernel& k) const {
    const std::optional<Expr> width = stride(x.sums.offset, x.row);
    if (!width) return;
    std::vector<Expr> within = x.vars, vars = k.outer;
    within.push_back(x.column);
    vars.insert(vars.end(), within.begin(), within.end());
    const Expr sum = substitute(x.sums.offset, x.row, Expr(0));
    const Expr first = substitute(sum, within, std::vector<Expr>(within.size(), Expr(0)));
    require_inside(x.sums.buffer, sum - first, *width, vars);
  }
  void require_product_type(int b, DType type, const char* what) const {
    INGOT_REQUIRE(buffer(b).dtype == type, where_, ": expected '", buffer(b).name, "', which has ", what,
                  " of the product, to be of type ", short_name_of(type), ", found ", short_name_of(buffer(b).dtype));
  }

  void check(const KernelCall& c) {
    where_ = "the call of " + c.symbol;
    require_read(c);
    for (const KernelCall::Argument& a : c.args)
      for (const Expr& n : a.values) require_size(n, "an argument");
  }
  void check(const EagerCall& c) {
    where_ = "the call of " + c.op;
    require_read(c);
    for (const Expr& n : c.integers) {
      require_symbols(n);
      INGOT_REQUIRE(!n->has_data, where_, ": expected numbers that symbols decide, found ", n);
    }
    for (const EagerCall::Size& s : c.decides) {
      const bool is_result = s.result >= 0 && static_cast<std::size_t>(s.result) < c.results.size();
      INGOT_REQUIRE(is_result, where_, ": expected one of ", c.results.size(), " results, found 'of ", s.result, "'");
      const Buffer& b = buffer(c.results[at(s.result)]);
      INGOT_REQUIRE(s.dim >= 0 && static_cast<std::size_t>(s.dim) < b.sizes.size(), where_, ": expected a dim of '", b.name,
                    "', which has ", b.sizes.size(), ", found ", s.dim);
      decide(s.symbol);
    }
  }
  void check(const Decide& d) {
    where_ = text("what decides ", d.symbol);
    require_read(d);
    require_loads(d.value, {}, false);
    INGOT_REQUIRE(d.value.dtype() == d.symbol.dtype(), where_, ": expected a value of type ", short_name_of(d.symbol.dtype()),
                  ", found ", short_name_of(d.value.dtype()));
    decide(d.symbol);
  }
  void check(const Check& c) {
    where_ = text("the check \"", c.message, "\"");
    require_read(c);
    require_condition(c.condition);
    require_loads(c.condition, {}, false);
    is_guarded_ = true;
  }
  void check(const Branch& b) {
    where_ = "the condition of a branch";
    require_condition(b.condition);
    require_loads(b.condition, {}, false);
    const bool outer = std::exchange(is_guarded_, true);
    check(b.then);
    check(b.otherwise);
    is_guarded_ = outer;
  }
  void check(const Repeat& r) {
    check(r.test);
    where_ = "the condition of a loop";
    require_condition(r.condition);
    require_loads(r.condition, {}, false);
    const bool outer = std::exchange(is_guarded_, true);
    check(r.body);
    is_guarded_ = outer;
  }
  void check(const Times& t) {
    where_ = text("the loop over ", t.symbol);
    require_size(t.count, "the count");
    INGOT_REQUIRE(t.symbol.dtype() == DType::i64, where_, ": expected an integer symbol");
    decide(t.symbol);
    const bool outer = std::exchange(is_guarded_, true);  // it may run for no value at all
    check(t.body);
    is_guarded_ = outer;
  }

  void decide(const Expr& symbol) { undecided_.erase(symbol->name); }

  // What the step reads is there. What it writes itself it may read in any order.
  void require_read(const Step& s) const {
    const std::vector<int> written = written_by(s);
    for (const int b : buffers_of(s)) {
      INGOT_REQUIRE(buffer(b).place != Place::scratch || std::holds_alternative<Kernel>(s), where_, " uses '", buffer(b).name,
                    "', which is scratch: only kernels have such memory");
      INGOT_REQUIRE(is_there_[at(b)] || std::ranges::find(written, b) != written.end(), where_, " reads '", buffer(b).name,
                    "' before a step writes it");
    }
  }

  void require_all_named(const std::vector<int>& named, Place place) const {
    std::vector<int> sorted = named;
    std::ranges::sort(sorted);
    INGOT_REQUIRE(sorted == buffers_in(p_, place), "expected each ", spelling_of(place), " once in the line '",
                  spelling_of(place), "s …'");
  }

  void require_size(const Expr& e, const char* what) const {
    require_symbols(e);
    require_integer(e, what);
  }
  void require_integer(const Expr& e, const char* what) const {
    INGOT_REQUIRE(e.dtype() == DType::i64 && !e->has_data, where_, ": expected an integer that symbols decide for ", what,
                  ", found ", e);
  }
  void require_extent(const Expr& variable) const { require_size(variable.arg(0), "an extent"); }
  void require_condition(const Expr& e) const {
    INGOT_REQUIRE(e.dtype() == DType::b8, where_, ": expected a condition, found ", e);
  }

  void require_scratch(const Buffer& b, const Expr& bytes) const {
    INGOT_REQUIRE(b.offset.valid(), where_, ": expected where scratch '", b.name, "' lies: its declaration says no 'at'");
    INGOT_REQUIRE(!reach_.outside(mod(b.offset, Expr(64)), 1, {}), where_, ": expected '", b.name,
                  "' at a multiple of 64 bytes, found ", b.offset);
    const auto found = reach_.outside(b.offset + bytes_of(b), bytes + 1, {});
    INGOT_REQUIRE(!found, where_, ": expected '", b.name, "' to end within the ", found->end - 1,
                  " bytes of scratch memory that the kernel asks for, found that it ends at ", found->at);
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

  // Of the loads that are made in any case. Where a condition chooses, one of its sides may be
  // outside (padding).
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

  void require_inside(int b, const Expr& index, const Expr& size, const std::vector<Expr>& vars) const {
    require_symbols(index);
    INGOT_REQUIRE(index.dtype() == DType::i64, where_, ": expected an integer as an index of '", buffer(b).name, "', found ",
                  index);
    if (is_guarded_) return;
    const auto found = reach_.outside(index, size, vars);
    INGOT_REQUIRE(!found, where_, ": expected an index of '", buffer(b).name, "' below ", found->end, ", found ", found->at,
                  " of ", index, found->where.empty() ? "" : " ", found->where);
  }
};

}  // namespace

void verify(const Program& p) {
  Verifier v(p);
  v.check_declarations();
  v.check(p.steps);
  v.check_outputs();
}

}  // namespace ingot::loop
