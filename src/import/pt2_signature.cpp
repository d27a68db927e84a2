#include "import/pt2_signature.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "io/dense.hpp"

namespace ingot {

namespace {

Value constant_value(const Json& j) {
  const auto [tag, v] = j.tagged();
  if (tag == "as_none") return {};
  if (tag == "as_int") return v.integer();
  if (tag == "as_float") return v.real();
  if (tag == "as_bool") return v.boolean();
  if (tag == "as_string") return v.string();
  j.fail(text("unknown kind of constant ", tag));
}

InputSpec read_input_spec(const Json& j, const Argument& input, const std::string& graph_name) {
  const auto [tag, v] = j.tagged();
  InputSpec s;
  s.name = graph_name;
  if (input.is_node()) s.node = input.node();
  else s.fixed = input.value();
  const auto require_name = [&](const Json& where, const std::string& name) {
    if (name != graph_name)
      where.fail(text("the signature names ", shown_name(name), " where the graph has ", shown_name(graph_name)));
  };
  if (tag == "user_input") return s;
  if (tag == "constant_input") {
    s.node = nullptr;
    s.name = v.field("name").string();
    s.fixed = constant_value(v.field("value"));
    return s;
  }
  const Json name = v.field("arg").field("name");
  require_name(name, name.string());
  if (tag == "parameter") {
    s.kind = InputSpec::Kind::parameter;
    s.name = v.field("parameter_name").string();
  } else if (tag == "buffer") {
    s.kind = InputSpec::Kind::buffer;
    s.name = v.field("buffer_name").string();
    s.persistent = v.field("persistent").boolean();
  } else if (tag == "tensor_constant") {
    s.kind = InputSpec::Kind::constant;
    s.name = v.field("tensor_constant_name").string();
  } else if (tag == "token") {
    s.kind = InputSpec::Kind::token;
  } else if (tag == "custom_obj") {
    v.fail(text("constant ", v.field("custom_obj_name").string(), " is a custom class object and cannot be used"));
  } else {
    j.fail(text("unknown kind of input ", tag));
  }
  return s;
}

OutputSpec read_output_spec(const Json& j) {
  using Kind = OutputSpec::Kind;
  const auto [tag, v] = j.tagged();
  if (tag == "user_output") return {Kind::user, {}};
  if (tag == "loss_output") return {Kind::loss, {}};
  if (tag == "token") return {Kind::token, {}};
  if (tag == "buffer_mutation") return {Kind::buffer_mutation, v.field("buffer_name").string()};
  if (tag == "parameter_mutation") return {Kind::parameter_mutation, v.field("parameter_name").string()};
  if (tag == "user_input_mutation") return {Kind::user_input_mutation, v.field("user_input_name").string()};
  if (tag == "gradient_to_parameter") return {Kind::parameter_gradient, v.field("parameter_name").string()};
  if (tag == "gradient_to_user_input") return {Kind::user_input_gradient, v.field("user_input_name").string()};
  j.fail(text("unknown kind of output ", tag));
}

}  // namespace

void read_signature(const Json& signature, const ReadGraph& g, ExportedProgram& p) {
  const Json inputs = signature.field("input_specs"), outputs = signature.field("output_specs");
  const auto in = inputs.list(), out = outputs.list();
  if (in.size() != g.inputs.size()) inputs.fail(text(in.size(), " specs for ", g.inputs.size(), " inputs of the graph"));
  if (out.size() != p.graph.outputs.size())
    outputs.fail(text(out.size(), " specs for ", p.graph.outputs.size(), " outputs of the graph"));
  for (std::size_t i = 0; i < in.size(); i++) p.inputs.push_back(read_input_spec(in[i], g.inputs[i], g.input_names[i]));
  for (const Json& o : out) p.outputs.push_back(read_output_spec(o));

  const auto is_state = [](InputSpec::Kind k) { return k != InputSpec::Kind::user && k != InputSpec::Kind::token; };
  for (std::size_t i = 0; i < in.size(); i++)
    if (is_state(p.inputs[i].kind) && !p.state.contains(p.inputs[i].name))
      in[i].fail(text(shown_name(p.inputs[i].name), " is neither among the weights nor among the constants"));
  for (std::size_t i = 0; i < out.size(); i++) {
    const OutputSpec& s = p.outputs[i];
    bool known = true;
    if (s.kind == OutputSpec::Kind::buffer_mutation || s.kind == OutputSpec::Kind::parameter_mutation)
      known = p.state.contains(s.target);
    else if (s.kind == OutputSpec::Kind::user_input_mutation)
      known = std::any_of(p.inputs.begin(), p.inputs.end(), [&](const InputSpec& x) {
        return x.kind == InputSpec::Kind::user && x.node != nullptr && x.name == s.target;
      });
    if (!known) out[i].fail(text("unknown target ", shown_name(s.target)));
  }
}

}  // namespace ingot
