#include "support/compare_functionalized.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "base/error.hpp"
#include "graph/dead_code.hpp"
#include "graph/interpret.hpp"
#include "graph/trace.hpp"
#include "graph/verify.hpp"
#include "ingot/autograd.hpp"
#include "ingot/ingot.hpp"
#include "ingot/transforms.hpp"
#include "op/call.hpp"
#include "tensor/geometry.hpp"

namespace ingot::testing {
namespace {

struct Outcome {
  ProgramInputs in;
  TensorList results;
};

std::string values_text(const Tensor& t) {
  std::string out = text(t.sizes(), " {");
  for (const double v : t.to_vector<double>()) out += text(" ", v);
  return out + " }";
}

// The difference between two tensors, or nothing.
std::optional<std::string> difference(const std::string& what, const Tensor& want, const Tensor& got) {
  const auto both = [&] { return text(what, ": eager ", values_text(want), ", functionalized ", values_text(got)); };
  if (!want.sizes().same(got.sizes()) || want.dtype() != got.dtype()) return both();
  const std::vector<double> a = want.to_vector<double>(), b = got.to_vector<double>();
  for (std::size_t i = 0; i < a.size(); i++)
    if (!(a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])) || std::abs(a[i] - b[i]) <= 1e-5 * std::abs(a[i])))
      return both();
  return std::nullopt;
}

std::optional<std::string> difference(const std::string& when, const Outcome& want, const Outcome& got) {
  for (std::size_t k = 0; k < want.results.size(); k++)
    if (auto d = difference(text("result ", k, when), want.results[k], got.results[k])) return d;
  for (std::size_t b = 0; b < want.in.bases.size(); b++)
    if (auto d = difference(text("base ", b, when), want.in.bases[b], got.in.bases[b])) return d;
  for (std::size_t i = 0; i < want.in.inputs.size(); i++)
    if (auto d = difference(text("input ", i, when), want.in.inputs[i], got.in.inputs[i])) return d;
  return std::nullopt;
}

// Writes each result in both, and compares everything after each write: what aliases what.
std::optional<std::string> aliasing_difference(const Outcome& want, const Outcome& got) {
  const NoGrad no_grad;
  for (std::size_t k = 0; k < want.results.size(); k++) {
    if (may_overlap(want.results[k]->geom)) continue;
    Tensor a = want.results[k].detach(), b = got.results[k].detach();
    if (may_overlap(b->geom)) return text("result ", k, " overlaps itself");
    a.add_(Scalar(2));
    b.add_(Scalar(2));
    if (auto d = difference(text(" after a write to result ", k), want, got)) return d;
  }
  return std::nullopt;
}

// What a backward from one tensor gives the leaves, or why it refuses.
struct Gradients {
  TensorList of_leaves;
  std::string refusal;
};
Gradients gradients_of(const Tensor& root, const TensorList& leaves) {
  Gradients r;
  TensorList tracked;
  for (const Tensor& t : leaves)
    if (t.requires_grad()) tracked.push_back(t);
  try {
    const Tensor seed = (aten<"arange">(root.numel(), root.dtype()) * 0.25 + 1).view(root.sizes());
    r.of_leaves = grad({root}, tracked, {seed}, {.retain_graph = true, .allow_unused = true});
    for (std::size_t i = 0; i < tracked.size(); i++)  // no way to the leaf is a gradient of zeros
      if (!r.of_leaves[i].defined()) r.of_leaves[i] = aten<"zeros_like">(tracked[i]);
  } catch (const UserError& e) {
    r.refusal = e.what();
  }
  return r;
}

// Two ways to add up a gradient round differently.
bool near(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = a.to_vector<double>(), y = b.to_vector<double>();
  double largest = 1;
  for (const double v : x) largest = std::max(largest, std::abs(v));
  for (std::size_t i = 0; i < x.size(); i++)
    if (!(std::abs(x[i] - y[i]) <= 1e-5 * largest) && !(std::isnan(x[i]) && std::isnan(y[i])) && x[i] != y[i]) return false;
  return true;
}

std::optional<std::string> gradient_difference(const Outcome& want, const Outcome& got, GradientAgreement& worst) {
  const auto compare = [&](const std::string& what, const Tensor& a, const Tensor& b) -> std::optional<std::string> {
    if (a.requires_grad() != b.requires_grad())
      return text(what, a.requires_grad() ? " requires grad eagerly only" : " requires grad functionalized only");
    if (!a.requires_grad()) return std::nullopt;
    const Gradients eager = gradients_of(a, want.in.leaves), functional = gradients_of(b, got.in.leaves);
    const bool refused_a = !eager.refusal.empty(), refused_b = !functional.refusal.empty();
    worst = std::max(worst, refused_a   ? refused_b ? GradientAgreement::both_refuse : GradientAgreement::refused_by_eager
                            : refused_b ? GradientAgreement::refused
                                        : GradientAgreement::agree);
    if (refused_b && !refused_a) return text("the gradient of ", what, " is refused: ", functional.refusal);
    for (std::size_t i = 0; !refused_a && i < eager.of_leaves.size(); i++)
      if (!near(eager.of_leaves[i], functional.of_leaves[i]))
        return text("gradient ", i, " of ", what, ": eager ", values_text(eager.of_leaves[i]), ", functionalized ",
                    values_text(functional.of_leaves[i]));
    return std::nullopt;
  };
  for (std::size_t k = 0; k < want.results.size(); k++)
    if (auto d = compare(text("result ", k), want.results[k], got.results[k])) return d;
  for (std::size_t i = 0; i < want.in.inputs.size(); i++)
    if (auto d = compare(text("input ", i), want.in.inputs[i], got.in.inputs[i])) return d;
  return std::nullopt;
}

// Whether eager cannot give the gradients of something that the program made or wrote.
bool refuses_backward(const Outcome& eager) {
  const auto refuses = [&](const Tensor& t) { return t.requires_grad() && !gradients_of(t, eager.in.leaves).refusal.empty(); };
  return std::any_of(eager.results.begin(), eager.results.end(), refuses) ||
         std::any_of(eager.in.inputs.begin(), eager.in.inputs.end(), refuses) ||
         std::any_of(eager.in.bases.begin(), eager.in.bases.end(), refuses);
}

// Which rule of functionalize refused.
Comparison refused(const std::string& message) {
  const auto says = [&](const char* words) { return message.find(words) != std::string::npos; };
  if (says("as_strided() is non-compositional")) return {Agreement::refused_as_strided, message};
  if (says("as_strided() refers to a storage of which the functional program has a part"))
    return {Agreement::refused_storage, message};
  if (says("no views of one tensor as the tape sees it") || says("a history of its own") ||
      says("non-differentiable view input mutations"))
    return {Agreement::refused_histories, message};
  return {Agreement::differs, "refused: " + message};
}

}  // namespace

namespace {

using Runner = std::function<Outcome(bool gradients, const TensorFunction& f)>;

// On tensors, with gradients.
Comparison compare_with_gradients(const TensorFunction& body, const TensorFunction& transformed, const Runner& outcome) {
  try {
    const Outcome eager = outcome(true, body);
    try {
      for (const Tensor& t : eager.results) t.grad_fn_name();
    } catch (const UserError& e) {
      return {Agreement::refused_by_eager, e.what()};
    }
    Outcome functional;
    try {
      functional = outcome(true, transformed);
    } catch (const UserError& e) {
      return refuses_backward(eager) ? Comparison{Agreement::refused_backward, e.what()} : refused(e.what());
    }
    Comparison c;
    std::optional<std::string> d = difference("", eager, functional);
    if (!d) d = gradient_difference(eager, functional, c.gradients);
    if (!d) d = aliasing_difference(eager, functional);
    if (d) c = {Agreement::differs, *d, c.gradients};
    return c;
  } catch (const UserError& e) {
    return refused(e.what());
  }
}

// As a graph, which has no gradients.
Comparison compare_as_graph(const TensorFunction& body, const TensorList& examples, const Runner& outcome) {
  std::optional<Traced> traced;
  try {
    traced.emplace(trace(functionalize(body), examples));
  } catch (const UserError& e) {
    return refused(e.what());
  }
  verify(traced->graph);
  const Outcome eager = outcome(false, body),
                graph = outcome(false, [&](const TensorList& inputs) {
                  TensorList results;
                  for (const Value& v : Interpreter(traced->graph).run(Values(inputs.begin(), inputs.end())))
                    results.push_back(v.tensor());
                  return results;
                });
  std::optional<std::string> d = difference("", eager, graph);
  if (!d) d = aliasing_difference(eager, graph);
  return d ? Comparison{Agreement::differs, "as a graph, " + *d} : Comparison{};
}

TensorFunction body_of(const Program& p) {
  return [&p](const TensorList& inputs) { return run(p, inputs); };
}
Runner runner_of(const Program& p) {
  return [&p](bool gradients, const TensorFunction& f) {
    Outcome o{make_inputs(p, gradients), {}};
    o.results = f(o.in.inputs);
    return o;
  };
}

}  // namespace

Comparison compare_transformed(const Program& p, const std::function<TensorFunction(const TensorFunction&)>& transform) {
  const TensorFunction body = body_of(p);
  return compare_with_gradients(body, transform(body), runner_of(p));
}

Comparison compare_functionalized(const Program& p) {
  const TensorFunction body = body_of(p);
  const Runner outcome = runner_of(p);
  const Comparison on_tensors = compare_with_gradients(body, functionalize(body), outcome);
  if (on_tensors.agreement == Agreement::differs) return on_tensors;
  const Comparison as_graph = compare_as_graph(body, make_inputs(p, false).inputs, outcome);
  if (as_graph.agreement == Agreement::agrees) return on_tensors;
  return {as_graph.agreement, as_graph.what, on_tensors.gradients};
}

}  // namespace ingot::testing
