#include "format/pt2/signature.hpp"

#include <map>
#include <string_view>

#include "base/error.hpp"
#include "format/pt2/argument.hpp"
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
  j.fail(text("ConstantValue: unknown tag ", shown_name(tag)));
}

// The value a spec names, against the one the graph has at its position.
void require_name(const Json& where, const std::string& name, const std::string& graph_name, std::string_view what,
                  std::size_t position) {
  if (name != graph_name)
    where.fail(text("the signature names ", shown_name(name), " where the graph has ", shown_name(graph_name), " (", what, " ",
                    position, ")"));
}

InputSpec read_input_spec(const Json& j, const Argument& input, const std::string& graph_name, std::size_t position) {
  const auto [tag, v] = j.tagged();
  InputSpec s;
  s.name = graph_name;
  if (input.is_node()) s.node = input.node();
  else s.fixed = input.value();
  if (tag == "user_input") {
    const Json arg = v.of("UserInputSpec").field("arg");
    require_name(arg, defined_name(arg), graph_name, "input", position);
    return s;
  }
  if (tag == "constant_input") {
    const Json spec = v.of("InputToConstantInputSpec");
    if (s.node != nullptr)
      j.fail(text("constant_input, and the graph has the value ", shown_name(graph_name), " there (input ", position, ")"));
    s.name = spec.field("name").string();
    s.fixed = constant_value(spec.field("value"));
    return s;
  }
  const Json name = v.of("InputSpec").field("arg").of("TensorArgument").field("name");
  require_name(name, name.string(), graph_name, "input", position);
  if (s.node == nullptr) j.fail(text(tag, ", and the graph has a constant there (input ", position, ")"));
  if (tag == "parameter") {
    s.kind = InputSpec::Kind::parameter;
    s.name = v.of("InputToParameterSpec").field("parameter_name").string();
  } else if (tag == "buffer") {
    s.kind = InputSpec::Kind::buffer;
    s.name = v.of("InputToBufferSpec").field("buffer_name").string();
    s.persistent = v.of("InputToBufferSpec").field("persistent").boolean();
  } else if (tag == "tensor_constant") {
    s.kind = InputSpec::Kind::constant;
    s.name = v.of("InputToTensorConstantSpec").field("tensor_constant_name").string();
  } else if (tag == "token") {
    s.kind = InputSpec::Kind::token;
  } else if (tag == "custom_obj") {
    s.kind = InputSpec::Kind::custom_object;
    s.name = v.of("InputToCustomObjSpec").field("custom_obj_name").string();
    s.class_name = v.field("arg").of("CustomObjArgument").field("class_fqn").string();
  } else {
    j.fail(text("InputSpec: unknown tag ", shown_name(tag)));
  }
  return s;
}

OutputSpec read_output_spec(const Json& j, const Argument& output, const std::string& graph_name, std::size_t position) {
  using Kind = OutputSpec::Kind;
  const auto [tag, content] = j.tagged();
  const Json v = content.of("OutputSpec"), arg = v.field("arg");
  const bool any_argument = tag == "user_output";
  require_name(arg, any_argument ? defined_name(arg) : arg.of("TensorArgument").field("name").string(), graph_name, "output",
               position);
  if (!any_argument && !output.is_node()) j.fail(text(tag, ", and the graph has a constant there (output ", position, ")"));
  if (tag == "user_output") return {Kind::user, {}};
  if (tag == "loss_output") return {Kind::loss, {}};
  if (tag == "token") return {Kind::token, {}};
  if (tag == "buffer_mutation") return {Kind::buffer_mutation, v.field("buffer_name").string()};
  if (tag == "parameter_mutation") return {Kind::parameter_mutation, v.field("parameter_name").string()};
  if (tag == "user_input_mutation") return {Kind::user_input_mutation, v.field("user_input_name").string()};
  if (tag == "gradient_to_parameter") return {Kind::parameter_gradient, v.field("parameter_name").string()};
  if (tag == "gradient_to_user_input") return {Kind::user_input_gradient, v.field("user_input_name").string()};
  j.fail(text("OutputSpec: unknown tag ", shown_name(tag)));
}

// What outputs may be written to: parameters, buffers and user inputs of the signature, by kind and
// name.
using Targets = std::map<std::pair<InputSpec::Kind, std::string_view>, const InputSpec*>;

Targets targets_of(const EntryPoint& e) {
  Targets all;
  for (const InputSpec& s : e.inputs)
    if (s.node != nullptr) all.try_emplace({s.kind, s.name}, &s);
  return all;
}

// Whether a value can be a tensor, as far as the file says what it is.
bool may_be_tensor(const Value& meta) { return meta.is_none() || meta.is_tensor(); }

bool same_kind(const Value& a, const Value& b) {
  if (!a.is_tensor() || !b.is_tensor()) return true;  // the file does not say
  if (a.tensor().dtype() != b.tensor().dtype() || a.tensor().dim() != b.tensor().dim()) return false;
  for (int d = 0; d < a.tensor().dim(); d++)
    if (!a.tensor().size(d).same(b.tensor().size(d))) return false;
  return true;
}

void check_targets(const std::vector<Json>& specs, const EntryPoint& e) {
  const Targets targets = targets_of(e);
  for (std::size_t i = 0; i < specs.size(); i++) {
    const OutputSpec& o = e.outputs[i];
    if (o.is_result() || o.kind == OutputSpec::Kind::token) continue;
    const std::string tag(specs[i].tagged().first);
    const auto it = targets.find({o.target_kind(), o.target});
    if (it == targets.end()) specs[i].fail(text(tag, ": unknown target ", o.target));
    const Value &target = it->second->node->meta, &source = e.graph.outputs[i].node()->meta;
    if (!may_be_tensor(target) || !may_be_tensor(source))
      specs[i].fail(text(tag, ": ", shown_name(o.target), " and the value should be tensors"));
    if (!same_kind(source, target))
      specs[i].fail(text(tag, ": ", o.target, " is ", to_text(target), ", and the value ", to_text(source)));
  }
}

}  // namespace

void read_signature(const Json& where, const ReadGraph& g, Pt2Program& p) {
  EntryPoint& e = p.program.main();
  const Json signature = where.of("GraphSignature"), inputs = signature.field("input_specs"),
             outputs = signature.field("output_specs");
  if (inputs.size() != g.inputs.size()) inputs.fail(text(inputs.size(), " specs for ", g.inputs.size(), " inputs of the graph"));
  if (outputs.size() != e.graph.outputs.size())
    outputs.fail(text(outputs.size(), " specs for ", e.graph.outputs.size(), " outputs of the graph"));
  const auto in = inputs.list(), out = outputs.list();
  for (std::size_t i = 0; i < in.size(); i++) {
    e.inputs.push_back(read_input_spec(in[i], g.inputs[i], g.input_names[i], i));
    if (in[i].tagged().first == "constant_input") p.spelled.constant_inputs.insert(i);
  }
  for (std::size_t i = 0; i < out.size(); i++)
    e.outputs.push_back(read_output_spec(out[i], e.graph.outputs[i], g.output_names[i], i));

  for (std::size_t i = 0; i < in.size(); i++) {
    const InputSpec& s = e.inputs[i];
    const bool is_state =
        s.kind == InputSpec::Kind::parameter || s.kind == InputSpec::Kind::buffer || s.kind == InputSpec::Kind::constant;
    if (is_state && !p.program.state.contains(s.name))
      in[i].fail(text(shown_name(s.name), " is neither among the weights nor among the constants"));
  }
  check_targets(out, e);
}

}  // namespace ingot
