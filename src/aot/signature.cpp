#include "aot/signature.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "graph/text.hpp"

namespace ingot::aot {
namespace {

std::string quoted(const std::string& s) { return "'" + s + "'"; }

template <class List, class F>
std::string joined(const List& l, const F& f) {
  std::string s;
  for (const auto& e : l) s += (s.empty() ? "" : ", ") + f(e);
  return s;
}

}  // namespace

void NameMap::set(std::string key, std::string value) {
  const auto it = std::find_if(entries_.begin(), entries_.end(), [&](const auto& e) { return e.first == key; });
  if (it == entries_.end()) entries_.emplace_back(std::move(key), std::move(value));
  else it->second = std::move(value);
}

const std::string* NameMap::find(std::string_view key) const {
  const auto it = std::find_if(entries_.begin(), entries_.end(), [&](const auto& e) { return e.first == key; });
  return it == entries_.end() ? nullptr : &it->second;
}

std::string to_text(const NameMap& m) {
  return "{" + joined(m.entries(), [](const auto& e) { return quoted(e.first) + ": " + quoted(e.second); }) + "}";
}
std::string to_text(const std::vector<std::string>& l) { return "[" + joined(l, quoted) + "]"; }

GraphSignature make_signature(const EntryPoint& entry, const ModuleNames& names, TreeSpec in_spec, TreeSpec out_spec) {
  GraphSignature s;
  s.parameters = names.parameters;
  s.buffers = names.buffers;
  s.in_spec = std::move(in_spec);
  s.out_spec = std::move(out_spec);
  for (const InputSpec& i : entry.inputs) {
    switch (i.kind) {
      case InputSpec::Kind::token: s.input_tokens.push_back(i.node->name); break;
      case InputSpec::Kind::parameter: s.inputs_to_parameters.set(i.node->name, i.name); break;
      case InputSpec::Kind::buffer: s.inputs_to_buffers.set(i.node->name, i.name); break;
      default: s.user_inputs.push_back(i.node->name);
    }
  }
  BackwardSignature backward;
  for (std::size_t k = 0; k < entry.outputs.size(); k++) {
    const OutputSpec& o = entry.outputs[k];
    const std::string name = print(entry.graph.outputs[k]);
    switch (o.kind) {
      case OutputSpec::Kind::token: s.output_tokens.push_back(name); break;
      case OutputSpec::Kind::buffer_mutation: s.buffers_to_mutate.set(name, o.target); break;
      case OutputSpec::Kind::user_input_mutation: s.user_inputs_to_mutate.set(name, o.target); break;
      case OutputSpec::Kind::parameter_gradient: backward.gradients_to_parameters.set(name, o.target); break;
      case OutputSpec::Kind::user_input_gradient: backward.gradients_to_user_inputs.set(name, o.target); break;
      default: s.user_outputs.push_back(name);
    }
  }
  if (names.output_loss_index) {
    backward.loss_output = print(entry.graph.outputs.at(static_cast<std::size_t>(*names.output_loss_index)));
    s.backward_signature = std::move(backward);
  }
  return s;
}

}  // namespace ingot::aot
