#include <algorithm>

#include "base/error.hpp"
#include "format/pt2/write.hpp"
#include "format/pt2/write_graph.hpp"

namespace ingot {

namespace {

class ProgramWriter {
 public:
  explicit ProgramWriter(const Pt2Program& p) : p_(p), entry_(p.program.main()), graph_(entry_.graph, p.spelled, out_) {}

  std::string text() {
    const Pt2Facts& f = p_.facts;
    out_.begin_object().key("graph_module").begin_object().key("graph");
    graph_.write();
    signature();
    module_calls();
    out_.key("metadata").begin_object();
    for (const auto& [key, value] : f.metadata) out_.key(key).value(value);
    out_.end();
    out_.key("treespec_namedtuple_fields").begin_object();
    for (const auto& [type, names] : f.namedtuple_fields) {
      out_.key(type).begin_object().key("field_names");
      strings(names);
      out_.end();
    }
    out_.end().end();

    out_.key("opset_version").begin_object();
    for (const auto& [name, version] : f.opset_version) out_.key(name).value(version);
    out_.end();
    out_.key("range_constraints").begin_object();
    for (const auto& [expression, range] : f.range_constraints) out_.key(expression).raw(range);
    out_.end();
    out_.key("schema_version").begin_object().key("major").value(f.schema_major).key("minor").value(f.schema_minor).end();
    out_.key("verifiers");
    strings(f.verifiers);
    out_.key("torch_version").value(f.torch_version).key("guards_code");
    strings(f.guards);
    out_.end();
    return out_.take();
  }

 private:
  const Pt2Program& p_;
  const EntryPoint& entry_;
  JsonWriter out_;
  GraphWriter graph_;

  void strings(const std::vector<std::string>& list) {
    out_.begin_list();
    for (const std::string& s : list) out_.value(s);
    out_.end();
  }

  void named(const Node* n) { out_.begin_object().key("name").value(graph_.name_of(n)).end(); }

  void signature() {
    out_.key("signature").begin_object().key("input_specs").begin_list();
    for (std::size_t i = 0; i < entry_.inputs.size(); i++) input_spec(i);
    out_.end().key("output_specs").begin_list();
    for (std::size_t i = 0; i < entry_.outputs.size(); i++) output_spec(i);
    out_.end().end();
  }

  void input_spec(std::size_t i) {
    const InputSpec& s = entry_.inputs[i];
    const auto state = [&](std::string_view tag, std::string_view key) {
      out_.key(tag).begin_object().key("arg");
      named(s.node);
      out_.key(key).value(s.name);
    };
    out_.begin_object();
    switch (s.kind) {
      case InputSpec::Kind::user:
        if (p_.spelled.constant_inputs.contains(i)) {
          out_.key("constant_input").begin_object().key("name").value(s.name).key("value");
          write_literal(out_, s.fixed);
        } else {
          out_.key("user_input").begin_object().key("arg");
          const bool spelled = i < p_.spelled.inputs.size();
          graph_.argument(s.node ? Argument(s.node) : Argument(s.fixed), spelled ? &p_.spelled.inputs[i].first : nullptr);
        }
        break;
      case InputSpec::Kind::parameter: state("parameter", "parameter_name"); break;
      case InputSpec::Kind::buffer:
        state("buffer", "buffer_name");
        out_.key("persistent").value(s.persistent);
        break;
      case InputSpec::Kind::constant: state("tensor_constant", "tensor_constant_name"); break;
      case InputSpec::Kind::token:
        out_.key("token").begin_object().key("arg");
        named(s.node);
        break;
      case InputSpec::Kind::custom_object:
        out_.key("custom_obj").begin_object().key("arg").begin_object().key("name").value(graph_.name_of(s.node));
        out_.key("class_fqn").value(s.class_name).end().key("custom_obj_name").value(s.name);
        break;
    }
    out_.end().end();
  }

  void output_spec(std::size_t i) {
    const OutputSpec& s = entry_.outputs[i];
    const Argument& a = entry_.graph.outputs[i];
    const auto written = [&](std::string_view tag, std::string_view key) {
      out_.key(tag).begin_object().key("arg");
      named(a.node());
      if (!key.empty()) out_.key(key).value(s.target);
    };
    out_.begin_object();
    switch (s.kind) {
      case OutputSpec::Kind::user:
        out_.key("user_output").begin_object().key("arg");
        graph_.argument(a, i < p_.spelled.outputs.size() ? &p_.spelled.outputs[i] : nullptr);
        break;
      case OutputSpec::Kind::loss: written("loss_output", {}); break;
      case OutputSpec::Kind::token: written("token", {}); break;
      case OutputSpec::Kind::buffer_mutation: written("buffer_mutation", "buffer_name"); break;
      case OutputSpec::Kind::parameter_mutation: written("parameter_mutation", "parameter_name"); break;
      case OutputSpec::Kind::user_input_mutation: written("user_input_mutation", "user_input_name"); break;
      case OutputSpec::Kind::parameter_gradient: written("gradient_to_parameter", "parameter_name"); break;
      case OutputSpec::Kind::user_input_gradient: written("gradient_to_user_input", "user_input_name"); break;
    }
    out_.end().end();
  }

  void module_calls() {
    const std::vector<ModuleCall>& calls = p_.facts.module_calls;
    const auto own = std::find_if(calls.begin(), calls.end(), [](const ModuleCall& c) { return c.fqn.empty(); });
    out_.key("module_call_graph").begin_list();
    if (own == calls.end() && entry_.call_spec) module_call({}, entry_.call_spec);
    for (auto c = calls.begin(); c != calls.end(); ++c) module_call(*c, c == own ? entry_.call_spec : c->spec);
    out_.end();
  }

  void module_call(const ModuleCall& c, const std::optional<CallSpec>& spec) {
    out_.begin_object().key("fqn").value(c.fqn).key("signature");
    if (!spec) {
      out_.null().end();
      return;
    }
    out_.begin_object().key("inputs").raw(c.inputs).key("outputs").raw(c.outputs);
    out_.key("in_spec").value(tree_spec_text(spec->in_spec)).key("out_spec").value(tree_spec_text(spec->out_spec));
    out_.key("forward_arg_names");
    if (spec->argument_names) strings(*spec->argument_names);
    else out_.null();
    out_.end().end();
  }
};

}  // namespace

std::string program_json(const Pt2Program& p) {
  INGOT_REQUIRE(p.program.entries.size() == 1, p.program.name, ": a .pt2 file holds programs of one entry point, this one has ",
                p.program.entries.size());
  return ProgramWriter(p).text();
}

}  // namespace ingot
