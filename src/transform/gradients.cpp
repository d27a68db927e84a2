#include "ingot/transforms.hpp"

#include <algorithm>
#include <memory>
#include <unordered_set>

#include "autograd/above.hpp"
#include "autograd/accumulate.hpp"
#include "autograd/engine.hpp"
#include "autograd/inner_variable.hpp"
#include "base/dtype.hpp"
#include "base/error.hpp"
#include "transform/physical.hpp"

namespace ingot {
namespace {

// Whether anybody but closed transforms can ask for the gradient of something t was made of.
bool leads_outward(const Tensor& t) {
  std::vector<GradNode*> todo;
  std::unordered_set<GradNode*> seen;
  const auto visit = [&](const Ref<GradNode>& n) {
    if (n && seen.insert(n.get()).second) todo.push_back(n.get());
  };
  const Tensor p = physical(t);
  if (!requires_grad(p)) return false;
  if (is_leaf(p)) return true;
  visit(grad_fn(p));
  while (!todo.empty()) {
    GradNode* n = todo.back();
    todo.pop_back();
    if (dynamic_cast<AccumulateGrad*>(n)) return true;
    if (const auto* input = dynamic_cast<InnerVariable*>(n); input && input->open) return true;
    for (const Edge& e : n->edges) visit(e.node);
  }
  return false;
}
bool any_leads_outward(const TensorList& l) { return std::any_of(l.begin(), l.end(), leads_outward); }

// A value that leaves the transform has history only if somebody outside has an interest in it.
Tensor escaped(const Tensor& t) {
  if (!requires_grad(physical(t)) || leads_outward(t)) return t;
  return with_physical(t, detached(physical(t)));
}
TensorList escaped(const TensorList& l) {
  TensorList r;
  for (const Tensor& t : l) r.push_back(escaped(t));
  return r;
}

// The arguments of a function as the transform's own variables.
class Level {
 public:
  explicit Level(const TensorList& outside) {
    for (const Tensor& t : outside) {
      const Tensor everywhere = batched_at_every_level(t);
      const Tensor p = physical(everywhere);
      nodes_.push_back(make_ref<InnerVariable>(p));
      inside_.push_back(with_physical(everywhere, nodes_.back()->variable(p)));
    }
  }
  ~Level() { close(); }
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;

  const TensorList& variables() const { return inside_; }
  void close() {
    for (const auto& n : nodes_) n->open = false;
  }

  // Gradients of the variables, given those of `roots`. Zeros where nothing arrives.
  TensorList pull(const TensorList& roots, const TensorList& seeds, bool create_graph) const {
    std::vector<Edge> from, to;
    TensorList gradients;
    for (std::size_t k = 0; k < roots.size(); k++) {
      const Tensor p = physical(roots[k]);
      if (!requires_grad(p)) continue;
      from.push_back(edge_of(p));
      gradients.push_back(physical_gradient(seeds[k], batch_dims(roots[k])));
    }
    for (const auto& n : nodes_) to.push_back({n, 0});
    const Scoped<bool> inference(thread_state().inference_mode, false);
    TensorList got = from.empty() ? TensorList(nodes_.size()) : run_backward(from, gradients, to, {true, create_graph});
    for (std::size_t i = 0; i < got.size(); i++)
      got[i] = got[i].defined() ? batched_gradient(got[i], batch_dims(inside_[i])) : aten<"zeros_like">(inside_[i]);
    return got;
  }

 private:
  std::vector<Ref<InnerVariable>> nodes_;
  TensorList inside_;
};

// A function of some of its arguments, the others as they are. It refers to what it is made of.
class Partial {
 public:
  Partial(const TensorFunction& f, const TensorList& args, std::vector<int> which)
      : f_(f), args_(args), which_(std::move(which)) {
    for (const int i : which_)
      INGOT_REQUIRE(i >= 0 && i < static_cast<int>(args.size()), "grad: there is no argument ", i, " among ", args.size());
  }
  TensorList point() const {
    TensorList l;
    for (const int i : which_) l.push_back(args_[static_cast<std::size_t>(i)]);
    return l;
  }
  TensorFunction function() const {
    return [this](const TensorList& v) {
      TensorList all = args_;
      for (std::size_t k = 0; k < which_.size(); k++) all[static_cast<std::size_t>(which_[k])] = v[k];
      return f_(all);
    };
  }

 private:
  const TensorFunction& f_;
  const TensorList& args_;
  std::vector<int> which_;
};

TensorList run_with_grad(const TensorFunction& f, const TensorList& variables) {
  const Scoped<bool> grad_mode(thread_state().grad_mode, true);
  const Scoped<bool> inference(thread_state().inference_mode, false);
  const TransformScope scope;
  return f(variables);
}

void require_differentiable(const Tensor& t, std::string_view who, std::size_t i) {
  INGOT_REQUIRE(t.defined() && is_differentiable(t.dtype()), who,
                ": expected arguments that are floating point or complex tensors, found ",
                t.defined() ? text(name_of(t.dtype())) : std::string("none"), " as argument ", i);
}
void require_same_sizes(const TensorList& want, const TensorList& found, std::string_view who, std::string_view what) {
  INGOT_REQUIRE(want.size() == found.size(), who, ": expected ", want.size(), " ", what, ", found ", found.size());
  for (std::size_t k = 0; k < want.size(); k++)
    INGOT_REQUIRE(want[k].sizes() == found[k].sizes(), who, ": ", what, " ", k, " should have size ", want[k].sizes(), ", found ",
                  found[k].sizes());
}

}  // namespace

Pullback vjp(const TensorFunction& f, const TensorList& at) {
  for (std::size_t i = 0; i < at.size(); i++) require_differentiable(at[i], "vjp", i);
  const bool outer_grad_mode = thread_state().grad_mode;
  const auto level = std::make_shared<Level>(at);
  const TensorList results = run_with_grad(f, level->variables());
  level->close();
  const bool outward = outer_grad_mode && any_leads_outward(results);
  Pullback r;
  r.results = escaped(results);
  r.pull = [level, results, outward](const TensorList& cotangents) {
    require_same_sizes(results, cotangents, "vjp", "cotangents");
    const bool create_graph = thread_state().grad_mode && (outward || any_leads_outward(cotangents));
    return escaped(level->pull(results, cotangents, create_graph));
  };
  return r;
}

TensorFunction grad_and_value(TensorFunction f, std::vector<int> which) {
  return [f = std::move(f), which = std::move(which)](const TensorList& args) {
    const Partial of(f, args, which);
    const Pullback p = vjp(of.function(), of.point());
    INGOT_REQUIRE(p.results.size() == 1 && p.results[0].dim() == 0,
                  "grad: expected a function with one result of no dims, found ", p.results.size(), " results",
                  p.results.size() == 1 ? text(", of size ", p.results[0].sizes()) : std::string());
    TensorList r = p.pull({aten<"ones_like">(p.results[0])});
    r.push_back(p.results[0]);
    return r;
  };
}

TensorFunction grad(TensorFunction f, std::vector<int> which) {
  return [both = grad_and_value(std::move(f), std::move(which))](const TensorList& args) {
    TensorList r = both(args);
    r.pop_back();
    return r;
  };
}

Linearized linearize(const TensorFunction& f, const TensorList& at) {
  for (std::size_t i = 0; i < at.size(); i++) require_differentiable(at[i], "jvp", i);
  const bool outer_grad_mode = thread_state().grad_mode;
  const auto point = std::make_shared<Level>(at);
  const TensorList results = run_with_grad(f, point->variables());
  TensorList anywhere;  // the pullback is linear: its derivative is the same at every cotangent
  for (const Tensor& t : results) anywhere.push_back(aten<"zeros_like">(t));
  const auto cotangents = std::make_shared<Level>(anywhere);
  const Scoped<bool> grad_mode(thread_state().grad_mode, true);
  const TensorList pulled = [&] {
    const LinearScope linear;
    return point->pull(results, cotangents->variables(), true);
  }();
  point->close();
  cotangents->close();
  const bool outward = outer_grad_mode && (any_leads_outward(results) || any_leads_outward(pulled));
  Linearized r;
  r.results = escaped(results);
  r.push = [point, cotangents, pulled, outward](const TensorList& tangents) {
    require_same_sizes(pulled, tangents, "jvp", "tangents");
    const bool create_graph = thread_state().grad_mode && (outward || any_leads_outward(tangents));
    return escaped(cotangents->pull(pulled, tangents, create_graph));
  };
  return r;
}

Pushforward jvp(const TensorFunction& f, const TensorList& at, const TensorList& tangents) {
  require_same_sizes(at, tangents, "jvp", "tangents");
  const Linearized l = linearize(f, at);
  return {l.results, l.push(tangents)};
}

namespace {

// The identity matrix of a tensor's elements, a row a tensor like it.
Tensor basis_like(const Tensor& t) {
  Shape sizes = t.sizes();
  sizes.insert(0, t.numel());
  return aten<"view">(aten<"eye">(t.numel(), t.dtype(), Value(), t.device()), sizes);
}
TensorList like_each(const TensorList& l, std::size_t k, const Tensor& one) {
  TensorList r;
  for (std::size_t i = 0; i < l.size(); i++) r.push_back(i == k ? one : aten<"zeros_like">(l[i]));
  return r;
}
Shape joined(const Shape& a, const Shape& b) {
  Shape r = a;
  for (const Int s : b) r.push_back(s);
  return r;
}

}  // namespace

TensorFunction jacrev(TensorFunction f, int which) {
  return [f = std::move(f), which](const TensorList& args) {
    const Partial of(f, args, {which});
    const Tensor x = of.point()[0];
    const Pullback p = vjp(of.function(), of.point());
    TensorList jacobians;
    for (std::size_t k = 0; k < p.results.size(); k++) {
      const Tensor& y = p.results[k];
      const TensorFunction row = [&](const TensorList& cotangent) { return p.pull(like_each(p.results, k, cotangent[0])); };
      jacobians.push_back(aten<"reshape">(vmap(row)({basis_like(y)})[0], joined(y.sizes(), x.sizes())));
    }
    return jacobians;
  };
}

TensorFunction jacfwd(TensorFunction f, int which) {
  return [f = std::move(f), which](const TensorList& args) {
    const Partial of(f, args, {which});
    const Tensor x = of.point()[0];
    const Linearized l = linearize(of.function(), of.point());
    TensorList jacobians;
    for (const Tensor& columns : vmap(l.push)({basis_like(x)})) {
      Shape result = columns.sizes();
      result.erase(0);
      jacobians.push_back(aten<"reshape">(aten<"movedim.int">(columns, 0, -1), joined(result, x.sizes())));
    }
    return jacobians;
  };
}

TensorFunction hessian(TensorFunction f, int which) { return jacfwd(jacrev(std::move(f), which), which); }

}  // namespace ingot
