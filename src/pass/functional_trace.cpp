#include "pass/functional_trace.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "base/error.hpp"
#include "expr/evaluate.hpp"
#include "graph/fake.hpp"
#include "ingot/autograd.hpp"
#include "pass/decompose.hpp"
#include "tensor/impl.hpp"

namespace ingot {
namespace {

// Whether elements have places of their own at all sizes: each stride, in the order that they have
// in the example, leads past what is inside it.
bool lies_apart(const Geometry& g, const Geometry& example) {
  std::vector<std::size_t> inner_first(g.sizes.size());
  std::iota(inner_first.rbegin(), inner_first.rend(), std::size_t{0});
  std::ranges::stable_sort(inner_first, {}, [&](std::size_t d) { return example.strides[d].number(); });
  Int reached = 1;
  for (const std::size_t d : inner_first) {
    if (g.sizes[d].same(1)) continue;
    const Int stride = g.strides[d];
    if (!stride.same(reached) && !(stride.is_number() && reached.is_number() && stride.number() >= reached.number()))
      return false;
    reached = stride * g.sizes[d];
  }
  return true;
}

}  // namespace

void add_symbols(const Value& meta, std::map<std::string, Expr>& symbols) {
  const auto add = [&](const Expr& e) {
    visit(e, [&](const Expr& x) {
      if (x.op() == ExprOp::Sym) symbols.emplace(x->name, x);
    });
  };
  if (meta.is_tensor())
    for (Int n : meta.tensor().sizes()) add(n.expr());
  if (meta.is_int()) add(meta.to_int().expr());
}

// Sizes were recorded before later guards said more of them: values in between are of what they are
// by now.
Geometry Examples::known(Geometry g) const {
  if (env_ == nullptr) return g;
  g.sizes = env_->simplify(g.sizes);
  g.strides = env_->simplify(g.strides);
  return g;
}

void Examples::add(const Value& meta, const SymbolValues& hints) {
  const int input = static_cast<int>(values.size());
  lies_otherwise.push_back(false);
  if (meta.is_tensor()) {
    const Geometry recorded = known(meta.tensor()->geom);
    Geometry g = recorded;
    for (std::size_t d = 0; d < g.sizes.size(); d++) {
      const Expr size = g.sizes[d].expr();
      if (!size.is_const()) {
        // What is made of open sizes may well be one or none: the last piece of a split.
        const bool by_data = env_ && env_->needs_data(size);
        const int64_t least = size.op() == ExprOp::Sym && !by_data ? 2 : 0, hi = size->hi;
        const int64_t lo = std::max<int64_t>(size->lo, least);
        open.push_back(
            {input, static_cast<int>(d), to_text(size), std::min(lo, hi), hi, by_data ? Facts::Kind::size : Facts::Kind::input});
        numbers_.push_back(size);
      }
      g.sizes[d] = evaluate(size, hints);
      g.strides[d] = evaluate(g.strides[d].expr(), hints);
    }
    g.offset = 0;
    Tensor example = make_tensor(g, {}, true);
    // A library that lays out what lies otherwise needs a place for each element, at every size.
    if (!lies_apart(recorded, g) || !open_strides(example, recorded.sizes).same(recorded.strides)) {
      example = make_tensor(Geometry::contiguous(g.sizes, g.dtype), {}, true);
      lies_otherwise[static_cast<std::size_t>(input)] = true;
    }
    values.push_back(example);
  } else if (meta.is_int() && !meta.to_int().is_number()) {
    const Expr e = meta.to_int().expr();
    open.push_back({input, 0, to_text(e), e->lo, e->hi, env_ ? env_->kind(e) : Facts::Kind::input});
    numbers_.push_back(e);
    values.push_back(Value(evaluate(e, hints)));
  } else {
    values.push_back(meta);
  }
}

std::map<std::string, Expr> Examples::name_underived() {
  std::set<std::string> given;
  for (const Expr& e : numbers_)
    if (e.op() == ExprOp::Sym) given.insert(e->name);
  const auto is_derived = [&](const Expr& e) {
    bool derived = true;
    visit(e, [&](const Expr& x) { derived = derived && (x.op() != ExprOp::Sym || given.contains(x->name)); });
    return derived;
  };
  // Short ones first: of what has a name, longer ones are derived (size_0 - 1), so that the program
  // knows how they are related.
  std::vector<std::size_t> order(numbers_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return open[a].name.size() < open[b].name.size(); });
  std::vector<Expr> unnamed, names;
  std::map<std::string, Expr> named;
  for (const std::size_t k : order) {
    if (is_derived(numbers_[k])) continue;
    Expr e = substitute(numbers_[k], unnamed, names);
    for (std::size_t i = 0; i < names.size() && !is_derived(e); i++)
      if (const Expr rest = numbers_[k] - unnamed[i]; is_derived(rest)) e = names[i] + rest;
    if (!is_derived(e)) {
      unnamed.push_back(numbers_[k]);
      names.push_back(Expr::symbol(text("size_", names.size()), open[k].lo, open[k].hi));
      e = names.back();
      given.insert(e->name);
      named.emplace(e->name, numbers_[k]);
    }
    open[k].name = to_text(e);
  }
  return named;
}

namespace {

// What the function returns for these, functionalized: a transform of functions over tensors, which
// numbers go around.
Values run_functional(const std::function<Values(const Values&)>& f, Values inputs) {
  TensorList tensors;
  for (const Value& v : inputs)
    if (v.is_tensor()) tensors.push_back(v.tensor());
  Values results;
  const TensorFunction over_tensors = [&](const TensorList& given) {
    std::size_t next = 0;
    for (Value& v : inputs)
      if (v.is_tensor()) v = given[next++];
    const GradModeGuard no_grad(false);
    results = f(inputs);
    TensorList out;
    for (const Value& v : results)
      if (v.is_tensor()) out.push_back(v.tensor());
    return out;
  };
  const TensorList out = functionalize(over_tensors, {.counts_writes = false})(tensors);
  std::size_t next = 0;
  for (Value& v : results)
    if (v.is_tensor()) v = out[next++];
  return results;
}

TraceOptions options_for(std::vector<OpenSize> open) {
  return {.open = std::move(open), .decompositions = &core_decompositions(), .keep_loops = true};
}

}  // namespace

Traced trace_functional(const std::function<Values(const Values&)>& f, Examples examples) {
  const auto over_trees = [&f](const Tree& in) {
    Values inputs;
    for (const Tree& leaf : in.children()) inputs.push_back(leaf.leaf());
    const Values results = run_functional(f, std::move(inputs));
    return Tree::tuple({results.begin(), results.end()});
  };
  std::vector<Tree> leaves(examples.values.begin(), examples.values.end());
  return trace(TreeFunction(over_trees), Tree::list(std::move(leaves)), options_for(std::move(examples.open)));
}

Graph record_functional(const std::function<Values(const Values&)>& f, const Values& fakes, ShapeEnv& sizes) {
  std::vector<std::string> names;
  for (std::size_t k = 0; k < fakes.size(); k++) names.push_back(text("arg", k, "_1"));
  return record([&f](const Values& in) { return run_functional(f, in); }, fakes, names, sizes, options_for({}));
}

}  // namespace ingot
