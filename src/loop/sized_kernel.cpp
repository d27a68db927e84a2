#include "loop/sized_kernel.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/error.hpp"

namespace ingot::loop {
namespace {

bool is_number(const Expr& e) { return e.is_const() && e.dtype() == DType::i64; }
bool divides(const Expr& e) { return e.op() == ExprOp::FloorDiv || e.op() == ExprOp::Mod; }

class Form {
 public:
  Form(const LoneKernel& k, bool runs_once) {
    const Kernel& kernel = k.kernel;
    for (const Expr& s : k.program.symbols) exactly(s);
    for (const Buffer& b : k.program.buffers) {
      number(static_cast<uint64_t>(b.dtype));
      number(static_cast<uint64_t>(b.place));
      add(b.offset);
    }
    variables(kernel.outer);
    number(kernel.across);
    number(runs_once);
    if (!runs_once && !kernel.product)
      for (std::size_t i = kernel.across && kernel.outer.size() == 1 ? 0 : 1; i < kernel.outer.size(); i++)
        exactly(kernel.outer[i]);
    add(kernel.scratch_bytes);
    number(kernel.product.has_value());
    if (const auto& x = kernel.product) {
      variables(x->k);
      variables(x->vars);
      exactly(x->row);
      exactly(x->column);
      for (const Product::Element* e : {&x->rows, &x->columns, &x->sums}) {
        number(static_cast<uint64_t>(e->buffer));
        add(e->offset);
      }
      number(std::hash<std::string>()(x->microkernel));
      number(x->place);
      for (const DType t : {x->types.rows, x->types.columns, x->types.sums}) number(static_cast<uint64_t>(t));
    }
    for (const Nest& n : kernel.nests) {
      variables(n.vars);
      if (!kernel.across && !n.vars.empty()) exactly(n.vars.back());
      number(n.folds.size());
      for (const Fold& f : n.folds) {
        number(static_cast<uint64_t>(f.how));
        add(f.tmp);
        add(f.body);
      }
      number(n.stores.size());
      for (const Store& s : n.stores) {
        number(static_cast<uint64_t>(s.out));
        add(s.offset);
        add(s.value);
      }
    }
  }

  std::vector<uint64_t> take() { return std::move(all_); }

 private:
  std::vector<uint64_t> all_;
  std::unordered_map<Expr, uint64_t, ExprHash, ExprSame> done_;

  void number(uint64_t n) { all_.push_back(n); }
  void exactly(const Expr& e) { all_.push_back(e->hash); }
  void add(const Expr& e) { all_.push_back(e.valid() ? of(e) : 0); }
  void variables(const std::vector<Expr>& vars) {
    number(vars.size());
    for (const Expr& v : vars) {
      add(v);
      number(v.arg(0).is_const(1));
    }
  }

  static uint64_t mixed(uint64_t a, uint64_t b) { return (a ^ b) * 0x9e3779b97f4a7c15u + (a >> 29); }
  // A hash of the expression, whatever its numbers are.
  uint64_t of(const Expr& e) {
    if (is_number(e)) return 1;
    if (e.args().empty()) return e->hash;
    if (const auto known = done_.find(e); known != done_.end()) return known->second;
    uint64_t h = mixed(static_cast<uint64_t>(e.op()) + 2, static_cast<uint64_t>(e.dtype()));
    h = mixed(h, static_cast<uint64_t>(e->i));
    for (std::size_t k = 0; k < e.args().size(); k++) h = mixed(h, divides(e) && k == 1 ? e.arg(k)->hash : of(e.arg(k)));
    done_.emplace(e, h);
    return h;
  }
};

// The same place in all members: where they differ, a parameter.
class Joining {
 public:
  explicit Joining(std::size_t members) { made_.values.resize(members); }

  SizedKernel take(LoneKernel kernel) {
    made_.kernel = std::move(kernel);
    return std::move(made_);
  }
  bool failed() const { return failed_; }

  // Of `first`, part of the first member, and what the others have in its place.
  template <class Of>
  void join(Expr& first, const Of& of) {
    std::vector<Expr> all;
    for (std::size_t m = 0; m < made_.values.size(); m++) all.push_back(of(m));
    if (all[0].valid()) first = joined(all);
  }

 private:
  SizedKernel made_;
  bool failed_ = false;
  struct Less {
    bool operator()(const std::vector<Expr>& a, const std::vector<Expr>& b) const {
      return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(),
                                          [](const Expr& x, const Expr& y) { return std::less<>()(x.node(), y.node()); });
    }
  };
  std::map<std::vector<Expr>, Expr, Less> done_;

  Expr joined(const std::vector<Expr>& all) {
    const Expr& first = all[0];
    if (std::all_of(all.begin(), all.end(), [&](const Expr& e) { return same(e, first); })) return first;
    if (const auto known = done_.find(all); known != done_.end()) return known->second;
    const Expr e = make(all);
    done_.emplace(all, e);
    return e;
  }

  Expr make(const std::vector<Expr>& all) {
    const Expr& first = all[0];
    const bool alike = std::all_of(all.begin(), all.end(), [&](const Expr& e) {
      return e.valid() && e.op() == first.op() && e.dtype() == first.dtype() && e.args().size() == first.args().size() &&
             (is_number(first) || (e->i == first->i && e->name == first->name));
    });
    if (!alike || (first.args().empty() && !is_number(first))) return fail(first);
    if (is_number(first)) return parameter(all);
    std::vector<Expr> args;
    for (std::size_t k = 0; k < first.args().size(); k++) {
      std::vector<Expr> there;
      for (const Expr& e : all) there.push_back(e.arg(k));
      args.push_back(joined(there));
      if (divides(first) && k == 1 && !same(args.back(), first.arg(1))) return fail(first);
    }
    if (first.op() == ExprOp::Idx) return Expr::index(first->i, args[0], first->name);
    if (first.op() == ExprOp::Load) return Expr::load(first->i, first.dtype(), std::move(args), first->name);
    return rebuild(first, args);
  }
  Expr fail(const Expr& e) {
    failed_ = true;
    return e;
  }

  Expr parameter(const std::vector<Expr>& all) {
    const auto [low, high] =
        std::minmax_element(all.begin(), all.end(), [](const Expr& a, const Expr& b) { return a->i < b->i; });
    const Expr p = Expr::symbol(text("given", made_.parameters.size()), (*low)->i, (*high)->i);
    made_.parameters.push_back(p);
    for (std::size_t m = 0; m < all.size(); m++) made_.values[m].push_back(all[m]->i);
    return p;
  }
};

}  // namespace

std::vector<uint64_t> form_of(const LoneKernel& k, bool runs_once) { return Form(k, runs_once).take(); }

std::optional<SizedKernel> sized_kernel(const std::vector<const LoneKernel*>& members) {
  LoneKernel r = *members[0];
  Joining joining(members.size());
  // `part` finds an expression in a kernel.
  const auto join = [&](const auto& part) { joining.join(part(r), [&](std::size_t m) { return part(*members[m]); }); };
  const auto join_list = [&](std::vector<Expr>& list, const auto& part) {
    for (std::size_t i = 0; i < list.size(); i++) joining.join(list[i], [&](std::size_t m) { return part(*members[m])[i]; });
  };
  for (std::size_t i = 0; i < r.program.buffers.size(); i++) join([i](auto& k) -> auto& { return k.program.buffers[i].offset; });
  join_list(r.kernel.outer, [](const LoneKernel& k) -> auto& { return k.kernel.outer; });
  join([](auto& k) -> auto& { return k.kernel.scratch_bytes; });
  if (r.kernel.product) {
    join_list(r.kernel.product->k, [](const LoneKernel& k) -> auto& { return k.kernel.product->k; });
    join([](auto& k) -> auto& { return k.kernel.product->rows.offset; });
    join_list(r.kernel.product->vars, [](const LoneKernel& k) -> auto& { return k.kernel.product->vars; });
    join([](auto& k) -> auto& { return k.kernel.product->columns.offset; });
    join([](auto& k) -> auto& { return k.kernel.product->sums.offset; });
  }
  for (std::size_t n = 0; n < r.kernel.nests.size(); n++) {
    join_list(r.kernel.nests[n].vars, [n](const LoneKernel& k) -> auto& { return k.kernel.nests[n].vars; });
    for (std::size_t i = 0; i < r.kernel.nests[n].folds.size(); i++) {
      join([n, i](auto& k) -> auto& { return k.kernel.nests[n].folds[i].body; });
      r.kernel.nests[n].folds[i].vars = r.kernel.nests[n].vars;
    }
    for (std::size_t i = 0; i < r.kernel.nests[n].stores.size(); i++) {
      join([n, i](auto& k) -> auto& { return k.kernel.nests[n].stores[i].offset; });
      join([n, i](auto& k) -> auto& { return k.kernel.nests[n].stores[i].value; });
    }
  }
  if (joining.failed()) return std::nullopt;
  return joining.take(std::move(r));
}

}  // namespace ingot::loop
