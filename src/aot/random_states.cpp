#include "aot/random_states.hpp"

#include <array>
#include <map>

#include "aot/joint_info.hpp"
#include "aot/passes.hpp"
#include "base/error.hpp"
#include "graph/copy.hpp"
#include "op/call.hpp"
#include "tensor/random.hpp"

namespace ingot::aot {
namespace {

Value fake_state() { return make_tensor(Geometry::contiguous({static_cast<int64_t>(sizeof(Draw))}, DType::u8), Device(), true); }

std::string state_name(std::size_t k) { return text("rng_state_output_", k); }

// The call through a higher-order op that is given `before` first. Names of the joint graph stay
// those of its values (R112).
Node* through(const Op& wrapper, const Node& n, std::vector<Argument> before, Graph& to, const GraphCopier& copier,
              std::string_view name) {
  before.emplace_back(Value(n.op->qualified()));
  for (const Argument& a : n.args) before.push_back(copier(a));
  Node* call = to.call(wrapper, std::move(before), name);
  call->stack_trace = n.stack_trace;
  call->module_path = n.module_path;
  return call;
}

// By name: the calls, in order of the forward.
std::vector<std::string> shared_calls(const Parts& p) {
  std::vector<std::string> names;
  std::map<std::string, const Node*> again;
  for (const auto& n : p.backward.nodes())
    if (is_random(*n)) again.emplace(n->name, n.get());
  for (const auto& n : p.forward.nodes())
    if (is_random(*n) && again.contains(n->name)) names.push_back(n->name);
  return names;
}

// The calls that both graphs make, by name, each with its place among them.
using SharedCalls = std::map<std::string, std::size_t>;

// Each call saves the state of the stream: results of their own, before the saved integers.
Graph saving_states(const Graph& g, const SharedCalls& shared, int saved_integers) {
  Graph to;
  GraphCopier copier(g, to);
  std::vector<Argument> states;
  for (const auto& n : g.nodes()) {
    if (!shared.contains(n->name)) {
      copier.copy(*n);
      continue;
    }
    Node* call = through(op_ref<"higher_order::run_and_save_rng_state">(), *n, {}, to, copier, {});
    call->meta = Values{fake_state(), n->meta};
    Node *state = to.item(call, 0, state_name(states.size())), *result = to.item(call, 1, n->name);
    state->meta = fake_state();
    result->meta = n->meta;
    states.emplace_back(state);
    copier.replace(*n, result);
  }
  copier.copy_outputs();
  to.outputs.insert(to.outputs.end() - saved_integers, states.begin(), states.end());
  return to;
}

// Each call is made with the state that it is given: inputs of their own, before the tangents.
Graph given_states(const Graph& g, const SharedCalls& shared) {
  Graph to;
  GraphCopier copier(g, to);
  std::vector<Node*> given;
  const auto add_states = [&] {
    for (std::size_t k = given.size(); k < shared.size(); k++) {
      given.push_back(to.placeholder(state_name(k)));
      given.back()->meta = fake_state();
    }
  };
  for (const auto& n : g.nodes()) {
    if (is_tangent(*n) || n->kind != NodeKind::placeholder) add_states();
    const auto found = shared.find(n->name);
    if (found == shared.end()) {
      copier.copy(*n);
      continue;
    }
    Node* call = through(op_ref<"higher_order::run_with_rng_state">(), *n, {given[found->second]}, to, copier, n->name);
    call->meta = n->meta;
    copier.replace(*n, call);
  }
  copier.copy_outputs();
  return to;
}

}  // namespace

void share_random_states(Parts& parts) {
  const std::vector<std::string> names = shared_calls(parts);
  if (names.empty()) return;
  SharedCalls shared;
  for (std::size_t k = 0; k < names.size(); k++) shared.emplace(names[k], k);
  const auto run = [](const Graph& g, std::function<Graph(const Graph&)> f) {
    return run_passes(g, std::array{Pass{kRandomStates.name, std::move(f), kRandomStates.required}});
  };
  parts.forward = run(parts.forward, [&](const Graph& g) { return saving_states(g, shared, parts.saved_integers); });
  parts.backward = run(parts.backward, [&](const Graph& g) { return given_states(g, shared); });
  parts.saved_tensors += static_cast<int>(names.size());
  for (std::size_t k = 0; k < names.size(); k++) {
    parts.plan.values.push_back({state_name(k), static_cast<int64_t>(sizeof(Draw))});
    parts.plan.bytes += static_cast<int64_t>(sizeof(Draw));
  }
}

}  // namespace ingot::aot
