#include "aot/random_states.hpp"

#include <map>

#include "aot/joint_info.hpp"
#include "base/error.hpp"
#include "graph/copy.hpp"
#include "op/call.hpp"
#include "tensor/random.hpp"

namespace ingot::aot {
namespace {

Value fake_state() { return make_tensor(Geometry::contiguous({static_cast<int64_t>(sizeof(Draw))}, DType::u8), Device(), true); }

std::string state_name(std::size_t k) { return text("rng_state_output_", k); }

// The call through a higher-order op that is given `before` first. Names of the joint graph stay those of its values (R112).
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

}  // namespace

void share_random_states(Parts& parts) {
  const std::vector<std::string> names = shared_calls(parts);
  if (names.empty()) return;
  std::map<std::string, std::size_t> number;
  for (std::size_t k = 0; k < names.size(); k++) number.emplace(names[k], k);

  Graph forward;
  GraphCopier first(parts.forward, forward);
  std::vector<Argument> states;
  for (const auto& n : parts.forward.nodes()) {
    if (!number.contains(n->name)) {
      first.copy(*n);
      continue;
    }
    Node* call = through(op_ref<"higher_order::run_and_save_rng_state">(), *n, {}, forward, first, {});
    call->meta = Values{fake_state(), n->meta};
    Node *state = forward.item(call, 0, state_name(states.size())), *result = forward.item(call, 1, n->name);
    state->meta = fake_state();
    result->meta = n->meta;
    states.emplace_back(state);
    parts.plan.values.push_back({state_name(states.size() - 1), static_cast<int64_t>(sizeof(Draw))});
    parts.plan.bytes += static_cast<int64_t>(sizeof(Draw));
    first.replace(*n, result);
  }
  first.copy_outputs();
  forward.outputs.insert(forward.outputs.end() - parts.saved_integers, states.begin(), states.end());

  Graph backward;
  GraphCopier second(parts.backward, backward);
  std::vector<Node*> given;
  const auto add_states = [&] {
    for (std::size_t k = given.size(); k < names.size(); k++) {
      given.push_back(backward.placeholder(state_name(k)));
      given.back()->meta = fake_state();
    }
  };
  for (const auto& n : parts.backward.nodes()) {
    if (is_tangent(*n) || n->kind != NodeKind::placeholder) add_states();
    const auto shared = number.find(n->name);
    if (shared == number.end()) {
      second.copy(*n);
      continue;
    }
    Node* call = through(op_ref<"higher_order::run_with_rng_state">(), *n, {given[shared->second]}, backward, second, n->name);
    call->meta = n->meta;
    second.replace(*n, call);
  }
  second.copy_outputs();

  parts.saved_tensors += static_cast<int>(names.size());
  parts.forward = std::move(forward);
  parts.backward = std::move(backward);
}

}  // namespace ingot::aot
