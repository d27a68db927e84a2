#include "import/pt2.hpp"

#include "base/error.hpp"
#include "import/json.hpp"
#include "import/pt2_graph.hpp"
#include "import/pt2_state.hpp"
#include "io/dense.hpp"
#include "io/zip.hpp"

namespace ingot {

namespace {

std::string_view trimmed(std::string_view s) {
  const auto begin = s.find_first_not_of(" \t\r\n");
  return begin == s.npos ? std::string_view() : s.substr(begin, s.find_last_not_of(" \t\r\n") - begin + 1);
}

// The archive, and the folder all its entries lie in.
struct Archive {
  ZipReader zip;
  std::string top;  // with its slash

  bool contains(std::string_view name) const { return zip.contains(text(top, name)); }
  std::string text_of(std::string_view name) const { return zip.read_text(text(top, name)); }
  template <class... T>
  [[noreturn]] void fail(const T&... parts) const { throw_user_error(text(zip.what(), ": ", parts...)); }
};

// Refuses what is not an exported program, and names what it is where that is known.
void check_kind(const Archive& a) {
  if (a.zip.contains("serialized_exported_program.json"))
    a.fail("exported-program layout of torch <= 2.7; re-export with torch >= 2.8");
  if (a.contains("data.pkl") && (a.contains("constants.pkl") || a.contains("code/__torch__.py")))
    a.fail("it is a TorchScript file; export the model with torch.export.save");
  if (a.contains("data.pkl")) a.fail("it is a file of torch.save; export the model with torch.export.save");
  if (!a.contains("archive_format")) {
    std::string first;
    for (std::size_t i = 0; i < a.zip.names().size() && i < 3; i++) first += (i ? ", " : "") + shown_name(a.zip.names()[i]);
    a.fail("not a PT2 archive: it has no entry archive_format; it starts with ", first.empty() ? "nothing" : first);
  }
  if (trimmed(a.text_of("archive_format")) != "pt2") a.fail("not a PT2 archive: archive_format should be pt2");
  if (a.contains("archive_version"))
    if (const std::string v = a.text_of("archive_version"); trimmed(v) != "0")
      a.fail("archive_version should be 0, found ", shown_name(v));
  if (a.contains("byteorder"))
    if (const std::string order = a.text_of("byteorder"); trimmed(order) != "little")
      a.fail("byteorder should be little, found ", shown_name(order));
}

Archive open_archive(const std::string& path) {
  Archive a{ZipReader::open(path, text("bad pt2 file ", path)), {}};
  a.zip.require_plain_names();
  if (a.zip.names().empty()) a.fail("not a PT2 archive: it has no entries");
  const std::string& first = a.zip.names()[0];
  if (!a.zip.contains("serialized_exported_program.json")) {
    a.top = first.substr(0, first.find('/') + 1);
    for (const std::string& name : a.zip.names())
      if (!name.starts_with(a.top)) a.fail("entry ", shown_name(name), " lies outside the folder ", shown_name(a.top));
  }
  check_kind(a);
  return a;
}

std::string choose_model(const Archive& a, const std::string& wanted) {
  const std::string folder = a.top + "models/";
  constexpr std::string_view kSuffix = ".json";
  std::vector<std::string> models;
  bool compiled = false;
  for (const std::string& name : a.zip.names()) {
    compiled |= name.starts_with(a.top + "data/aotinductor/");
    if (!name.starts_with(folder) || !name.ends_with(kSuffix) || name.find('/', folder.size()) != name.npos) continue;
    models.push_back(name.substr(folder.size(), name.size() - folder.size() - kSuffix.size()));
  }
  if (models.empty())
    a.fail(compiled ? "it is a package of compiled models (AOTInductor), not an exported program"
                    : "it has no program (models/NAME.json)");
  std::string all;
  for (const std::string& m : models) {
    if (m == (wanted.empty() ? "model" : wanted)) return m;
    all += (all.empty() ? "" : ", ") + m;
  }
  if (!wanted.empty()) a.fail("it has no program ", shown_name(wanted), "; there are: ", all);
  if (models.size() > 1) a.fail("it has several programs, name one of: ", all);
  return models[0];
}

void check_version(const Json& program, const std::string& torch_version) {
  const Json version = program.field("schema_version");
  const int64_t major = version.field("major").integer(), minor = version.field("minor").integer();
  if (major == 8 || (major == 0 && minor == 0)) return;
  version.fail(text("schema version ", major, ".", minor, " is not supported (this reader knows 8.x); the program was written "
                    "by torch ", torch_version));
}

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

void read_all_state(const Archive& a, const std::string& model, ExportedProgram& p) {
  for (const std::string kind : {"weights", "constants"}) {
    const std::string folder = text(a.top, "data/", kind, "/"), config = text(folder, model, "_", kind, "_config.json");
    if (a.zip.contains(text(folder, model, ".pt")))
      a.fail("its ", kind, " are pickled (layout of torch 2.8); re-export with a newer torch");
    if (!a.zip.contains(config)) a.fail(config, " not found in PT2 archive");
    read_state(a.zip, config, folder, p.state);
  }
}

}  // namespace

ExportedProgram load_pt2(const std::string& path, const std::string& wanted) {
  const Archive a = open_archive(path);
  const std::string model = choose_model(a, wanted);
  ExportedProgram p;
  p.name = path;
  read_all_state(a, model, p);

  const std::string entry = text(a.top, "models/", model, ".json");
  const JsonDocument document(a.zip.read_text(entry), text(a.zip.what(), ": ", entry));
  const Json program = document.root();
  const auto torch_version = program.optional("torch_version");
  p.torch_version = torch_version ? torch_version->string() : "<=2.4";
  check_version(program, p.torch_version);
  const Json module = program.field("graph_module");
  ReadGraph g = read_graph(module.field("graph"));
  p.graph = std::move(g.graph);
  read_signature(module.field("signature"), g, p);
  return p;
}

}  // namespace ingot
