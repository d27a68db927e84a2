#include "aot/exported_entry.hpp"

#include "base/error.hpp"

namespace ingot::aot {

EntryPoint exported_entry(Graph g, const Metadata& meta, const ModuleNames& names) {
  INGOT_REQUIRE(!meta.has_wrappers, "aot_export_module does not support tensor subclass inputs for now.");  // R172
  using In = InputSpec::Kind;
  using Out = OutputSpec::Kind;
  const auto tokens = static_cast<std::size_t>(meta.tokens);
  const std::size_t parameters = names.parameters.size(), state = parameters + names.buffers.size();
  INGOT_ENSURE(g.inputs().size() == meta.inputs.size() + tokens && meta.inputs.size() >= state, "the graph has ",
               g.inputs().size(), " inputs, the function ", meta.inputs.size());

  EntryPoint e;
  for (std::size_t k = 0; k < g.inputs().size(); k++) {
    Node* n = g.inputs()[k];
    InputSpec& s = e.inputs.emplace_back();
    s.node = n;
    s.kind = k < tokens ? In::token : k - tokens < parameters ? In::parameter : k - tokens < state ? In::buffer : In::user;
    s.name = s.kind == In::parameter ? names.parameters[k - tokens]
             : s.kind == In::buffer  ? names.buffers[k - tokens - parameters]
                                     : n->name;
  }
  const auto input = [&](std::size_t k) -> const InputSpec& { return e.inputs[tokens + k]; };

  for (std::size_t k = 0; k < tokens; k++) e.outputs.push_back({Out::token, {}});
  for (const int i : meta.mutated_out_of_graph()) {
    const InputSpec& written = input(static_cast<std::size_t>(i));
    INGOT_REQUIRE(written.kind != In::parameter, "the parameter ", written.name,
                  " is written in the forward: an exported graph can have new values of buffers and of inputs, "
                  "not of parameters. Make it a buffer, or write a copy of it");
    e.outputs.push_back({written.kind == In::buffer ? Out::buffer_mutation : Out::user_input_mutation, written.name});
  }
  for (std::size_t k = 0; k < meta.outputs.size(); k++) {
    const bool is_loss = names.output_loss_index && k == static_cast<std::size_t>(*names.output_loss_index);
    e.outputs.push_back({is_loss ? Out::loss : Out::user, {}});
  }
  for (std::size_t k = 0; k < names.gradients.size(); k++)
    if (names.gradients[k])
      e.outputs.push_back({input(k).kind == In::user ? Out::user_input_gradient : Out::parameter_gradient, input(k).name});
  INGOT_ENSURE(e.outputs.size() == g.outputs.size(), "the graph has ", g.outputs.size(), " outputs, the module ",
               e.outputs.size());
  e.graph = std::move(g);
  return e;
}

}  // namespace ingot::aot
