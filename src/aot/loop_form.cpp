#include "aot/loop_form.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "graph/node_table.hpp"
#include "graph/shape_env.hpp"
#include "graph/trace.hpp"
#include "ingot/op/lowering.hpp"
#include "op/tensors.hpp"

namespace ingot::aot {
namespace {

class LoopProbe final : public Lowering {
 public:
  LoopProbe(const Call& c, const Value& result) : Lowering(c), result_(result) {}
  LoopForm form() const { return {defined_ && simple_, contracts_, steps_}; }

  const Geometry& result(int k) const override {
    return (result_.is_tensor() ? result_.tensor() : result_.tensors()[static_cast<std::size_t>(k)])->geom;
  }
  bool is_read(int) const override { return true; }
  Expr variable(const Expr& extent) override { return Expr::index(names_++, extent); }
  Expr load(int argument, std::span<const Expr> index) override { return element(call[argument], argument, index); }
  Expr load_item(int argument, int item, std::span<const Expr> index) override {
    return element(list_elements(call[argument])[static_cast<std::size_t>(item)], argument, index);
  }
  Expr fold(Accumulate, std::vector<Expr> over, const Expr& body) override {
    std::set<int64_t> sources;
    visit(body, [&](const Expr& e) {
      if (e.op() == ExprOp::Load) sources.insert(e->i);
    });
    contracts_ = contracts_ || sources.size() > 1;
    folds_ += extent(over);
    return Expr::tmp(names_++, body.dtype());  // nothing else makes one: whatever has it was folded
  }
  void define(int, std::vector<Expr> vars, const Expr& value) override {
    defined_ = true;
    simple_ = simple_ && !was_folded(value);
    finish(vars);
  }
  int temporary(std::vector<Expr> vars, const Expr& value) override {
    finish(vars);
    temporaries_.push_back(value);
    return static_cast<int>(temporaries_.size()) - 1;
  }
  Expr load_temporary(int k, std::span<const Expr> index) override {
    const Expr& value = temporaries_[static_cast<std::size_t>(k)];
    return was_folded(value) ? Expr::tmp(names_++, value.dtype())
                             : Expr::load(kFirstTemporary + k, value.dtype(), {index.begin(), index.end()});
  }
  void check(const Expr&, std::string) override {}
  void kernel(std::string_view, std::vector<KernelArgument>) override { simple_ = false; }

 private:
  static constexpr int64_t kFirstTemporary = 1000;  // as a buffer: arguments come before
  const Value& result_;
  int64_t names_ = 0;
  bool defined_ = false, simple_ = true, contracts_ = false;
  double steps_ = 0, folds_ = 0;
  std::vector<Expr> temporaries_;

  static bool was_folded(const Expr& value) {
    bool found = false;
    visit(value, [&](const Expr& e) { found = found || e.op() == ExprOp::Tmp; });
    return found;
  }
  static double extent(const std::vector<Expr>& vars) {
    double n = 1;
    for (const Expr& v : vars)
      if (v.op() == ExprOp::Idx) n *= static_cast<double>(hinted(Int(v.arg(0)), 1));
    return n;
  }
  // What was folded is part of each element.
  void finish(const std::vector<Expr>& vars) {
    steps_ += extent(vars) * (1 + folds_);
    folds_ = 0;
  }
  static Expr element(const Value& v, int argument, std::span<const Expr> index) {
    if (v.is_tensor()) return Expr::load(argument, v.tensor().dtype(), {index.begin(), index.end()});
    return v.is_float() ? v.to_float().expr() : v.to_int().expr();
  }
};

Value example_of(const Argument& a) {
  if (a.is_value()) return a.value();
  if (a.is_node()) return a.node()->meta;
  Values elements;
  for (const Argument& e : a.elements()) elements.push_back(example_of(e));
  return list_value(std::move(elements));
}

double count_of(const Value& v) {
  if (v.is_tensor()) return static_cast<double>(elements_of(v.tensor()));
  double n = 0;
  if (v.is_tensors())
    for (const Tensor& t : v.tensors()) n += t.defined() ? static_cast<double>(elements_of(t)) : 0;
  return n;
}

}  // namespace

int64_t hinted(Int size, int64_t otherwise) {
  if (size.is_number()) return size.number();
  const auto* env = dynamic_cast<const ShapeEnv*>(current_guard_env());
  bool known = env != nullptr;
  visit(size.expr(), [&](const Expr& e) {
    if (e.op() != ExprOp::Sym || !known) return;
    const ShapeEnv::Symbol* s = env->find(e->name);
    known = s && s->hint;
  });
  return known ? env->hint(size.expr()) : otherwise;
}

int64_t elements_of(const Tensor& t) {
  Int count = 1;
  for (const Int s : t.sizes()) count = count * s;
  return hinted(count, kUnknownElements);
}

LoopForm loop_form(const Node& n) {
  if (n.kind != NodeKind::call || n.op->def->lower == nullptr || !(n.meta.is_tensor() || n.meta.is_tensors())) return {};
  Values args;
  for (const Argument& a : n.args) args.push_back(example_of(a));
  bool complex = false;  // loops are of real numbers
  for_each_tensor(Args(args), [&](const Tensor& t) { complex = complex || is_complex(t.dtype()); });
  if (complex) return {};
  try {
    const Call c{*n.op, args};
    LoopProbe probe(c, n.meta);
    n.op->def->lower(probe);
    return probe.form();
  } catch (const UserError&) {  // the rule refuses the call: it runs by its kernel
    return {};
  }
}

bool is_cheap_program(const Node& n) {
  if (n.kind != NodeKind::call || n.op->def->body == nullptr || n.op->comes_apart() ||
      !(n.meta.is_tensor() || n.meta.is_tensors()))
    return false;
  Values args, fakes;
  std::vector<std::string> names;
  for (const Argument& a : n.args) {
    args.push_back(example_of(a));
    if (!args.back().is_tensor()) continue;
    fakes.push_back(args.back());
    names.push_back(text("x", fakes.size()));
  }
  const auto program = [&](const Values& given) {
    Values call_args = args;
    auto next = given.begin();
    for (Value& v : call_args)
      if (v.is_tensor()) v = *next++;
    const Value r = n.op->def->body({*n.op, call_args});
    return r.is_tensor() ? Values{r} : list_elements(r);
  };
  try {
    ShapeEnv unused;
    auto* env = dynamic_cast<ShapeEnv*>(current_guard_env());
    const Graph g = record(program, fakes, names, env ? *env : unused);
    // A body that fills its results by a kernel has no node that says so: they come from nowhere.
    std::vector<bool> made(g.nodes().size());
    bool cheap = true;
    for (const auto& x : g.nodes()) {
      bool of_inputs = x->kind == NodeKind::placeholder;
      for_each_node(x->args, [&](const Node* a) { of_inputs = of_inputs || made[at(a)]; });
      made[at(x.get())] = of_inputs;
      cheap = cheap && (x->kind != NodeKind::call || x->op->form() == Form::view || x->op->form() == Form::pointwise ||
                        x->op->form() == Form::factory);
    }
    for_each_node(g.outputs, [&](const Node* x) { cheap = cheap && made[at(x)]; });
    return cheap;
  } catch (const UserError&) {  // it looks at data
    return false;
  }
}

double estimated_steps(const Node& n) {
  if (n.kind != NodeKind::call || n.op->is_view()) return 0;
  double all = count_of(n.meta), volume = all;
  for_each_node(n.args, [&](const Node* a) {
    const double x = count_of(a->meta);
    all += x;
    if (x > 0) volume *= x;
  });
  if (n.op->form() != Form::external) return all;
  if (const LoopForm form = loop_form(n); form.steps > 0) return form.steps;
  return n.op->def->autocast == Autocast::lower_precision ? std::sqrt(volume) : all;  // mk · kn · mn = (mkn)²
}

}  // namespace ingot::aot
