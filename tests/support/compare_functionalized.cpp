#include "support/compare_functionalized.hpp"

#include <cmath>
#include <functional>
#include <optional>

#include "base/error.hpp"
#include "graph/dead_code.hpp"
#include "graph/interpret.hpp"
#include "graph/verify.hpp"
#include "ingot/autograd.hpp"
#include "op/call.hpp"
#include "tensor/geometry.hpp"
#include "transform/functionalize.hpp"

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
    if (!(a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])) || std::abs(a[i] - b[i]) <= 1e-5 * std::abs(a[i]))) return both();
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

std::optional<std::string> whole_difference(const Outcome& want, const Outcome& got, bool gradients) {
  if (auto d = difference("", want, got)) return d;
  if (gradients)
    for (std::size_t k = 0; k < want.results.size(); k++)
      if (want.results[k].requires_grad() != got.results[k].requires_grad())
        return text("result ", k, want.results[k].requires_grad() ? " requires grad eagerly only" : " requires grad functionalized only");
  return aliasing_difference(want, got);
}

// Which rule of functionalize refused.
Comparison refused(const std::string& message) {
  const auto says = [&](const char* words) { return message.find(words) != std::string::npos; };
  if (says("as_strided() is non-compositional") || says("as_strided() refers to a storage that lies otherwise")) return {Agreement::refused_as_strided, message};
  if (says("view size is not compatible")) return {Agreement::refused_strides, message};
  if (says("no views of one tensor as the tape sees it") || says("a history of its own")) return {Agreement::refused_histories, message};
  return {Agreement::differs, "refused: " + message};
}

}  // namespace

namespace {

using Runner = std::function<Outcome(bool gradients, const TensorFunction& f)>;

// On tensors, with gradients.
Comparison compare_with_gradients(const TensorFunction& body, const Runner& outcome) {
  try {
    const Outcome eager = outcome(true, body);
    try {
      for (const Tensor& t : eager.results) t.grad_fn_name();
    } catch (const UserError& e) {
      return {Agreement::refused_by_eager, e.what()};
    }
    const Outcome functional = outcome(true, functionalize(body));
    if (auto d = whole_difference(eager, functional, true)) return {Agreement::differs, *d};
    return {};
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
  const Outcome eager = outcome(false, body), graph = outcome(false, [&](const TensorList& inputs) {
    TensorList results;
    for (const Value& v : Interpreter(traced->graph).run(Values(inputs.begin(), inputs.end()))) results.push_back(v.tensor());
    return results;
  });
  if (auto d = whole_difference(eager, graph, false)) return {Agreement::differs, "as a graph, " + *d};
  return {};
}

}  // namespace

Comparison compare_functionalized(const Program& p) {
  const TensorFunction body = [&](const TensorList& inputs) { return run(p, inputs); };
  const Runner outcome = [&](bool gradients, const TensorFunction& f) {
    Outcome o{make_inputs(p, gradients), {}};
    o.results = f(o.in.inputs);
    return o;
  };
  const Comparison on_tensors = compare_with_gradients(body, outcome);
  if (on_tensors.agreement == Agreement::differs) return on_tensors;
  const Comparison as_graph = compare_as_graph(body, make_inputs(p, false).inputs, outcome);
  return as_graph.agreement == Agreement::agrees ? on_tensors : as_graph;
}

}  // namespace ingot::testing
