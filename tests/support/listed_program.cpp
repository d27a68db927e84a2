#include "support/listed_program.hpp"

#include "graph/text.hpp"

namespace ingot::testing {

ingot::Program listed_program(const std::vector<ListedEntry>& listed, const std::map<std::string, Tensor>& buffers) {
  ingot::Program p;
  p.name = "listed";
  p.producer = "a test";
  for (const auto& [name, tensor] : buffers) {
    StateEntry& e = p.state[name];
    e.tensor = tensor;
    e.sizes = tensor.sizes();
    e.dtype = tensor.dtype();
  }
  p.entries.clear();
  for (const ListedEntry& l : listed) {
    EntryPoint& e = p.entries.emplace_back();
    e.name = l.name;
    e.graph = parse_graph(l.listing);
    for (Node* n : e.graph.inputs()) {
      InputSpec& s = e.inputs.emplace_back();
      s.kind = buffers.contains(n->name) ? InputSpec::Kind::buffer : InputSpec::Kind::user;
      s.node = n;
      s.name = n->name;
    }
    e.outputs.resize(e.graph.outputs.size());
    for (std::size_t k = 0; k < l.writes.size(); k++) e.outputs[k] = {OutputSpec::Kind::buffer_mutation, l.writes[k]};
  }
  p.prepare();
  return p;
}

}  // namespace ingot::testing
