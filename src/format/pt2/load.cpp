#include "format/pt2/load.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "format/pt2/archive.hpp"
#include "format/pt2/graph.hpp"
#include "format/pt2/guards.hpp"
#include "format/pt2/hints.hpp"
#include "format/pt2/program.hpp"
#include "format/pt2/signature.hpp"
#include "format/pt2/state.hpp"
#include "io/dense.hpp"
#include "io/json.hpp"

namespace ingot {

namespace {

void read_version(const Json& program, Pt2Facts& f) {
  const auto torch_version = program.optional("torch_version");
  f.torch_version = torch_version ? torch_version->string() : "<=2.4";
  const Json version = program.field("schema_version").of("SchemaVersion");
  const int64_t major = version.field("major").integer(), minor = version.field("minor").integer();
  f.schema_major = major;
  f.schema_minor = minor;
  if (major == 8 || (major == 0 && minor == 0)) return;
  version.fail(text("schema version ", major, ".", minor,
                    " is not supported (this reader knows 8.x); the program was written "
                    "by torch ",
                    f.torch_version));
}

std::vector<std::string> strings(const Json& list) {
  return list.map([](const Json& s) { return s.string(); });
}

// Older files have one dialect instead of a list of verifiers. No dialect is refused: all nodes are
// checked anyway.
void read_dialects(const Json& program, Pt2Program& p) {
  if (const auto verifiers = program.optional("verifiers")) p.facts.verifiers = strings(*verifiers);
  else if (const auto dialect = program.optional("dialect")) p.facts.verifiers = {dialect->string()};
  for (const std::string& v : p.facts.verifiers)
    if (v != "TRAINING" && v != "ATEN" && !v.empty())
      p.program.warnings.push_back(
          text("dialect ", shown_name(v), " is not one this reader knows; the program is read all the same"));
}

ModuleCall read_module_call(const Json& j, const NamedTupleFields& fields) {
  const Json entry = j.of("ModuleCallEntry");
  ModuleCall c;
  c.fqn = entry.field("fqn").string();
  const auto written = entry.optional("signature");
  if (!written) return c;
  const Json signature = written->of("ModuleCallSignature");
  CallSpec& spec = c.spec.emplace();
  spec.in_spec = read_tree_spec(signature.field("in_spec"), fields);
  spec.out_spec = read_tree_spec(signature.field("out_spec"), fields);
  if (const auto names = signature.optional("forward_arg_names")) spec.argument_names = strings(*names);
  if (const auto inputs = signature.optional("inputs")) c.inputs = inputs->dump();
  if (const auto outputs = signature.optional("outputs")) c.outputs = outputs->dump();
  return c;
}

// The leaves of the program's own trees are its user inputs and results, one to one.
void check_call(const Json& calls, const CallSpec& c, const EntryPoint& e) {
  const auto& parts = c.in_spec.children;
  if (parts.size() != 2 || !parts[1].is_mapping())
    calls.fail("in_spec should be a tuple of positional arguments and a dict of keyword arguments");
  const auto inputs = static_cast<std::size_t>(
      std::count_if(e.inputs.begin(), e.inputs.end(), [](const InputSpec& s) { return s.kind == InputSpec::Kind::user; }));
  const auto results = static_cast<std::size_t>(
      std::count_if(e.outputs.begin(), e.outputs.end(), [](const OutputSpec& s) { return s.is_result(); }));
  if (c.in_spec.leaves() != inputs) calls.fail(text("in_spec has ", c.in_spec.leaves(), " leaves for ", inputs, " user inputs"));
  if (c.out_spec.leaves() != results)
    calls.fail(text("out_spec has ", c.out_spec.leaves(), " leaves for ", results, " user outputs"));
}

// The call without a name is the program's own: the first, should there be several.
void take_own_call(const Json& calls, std::vector<ModuleCall>& all, EntryPoint& e) {
  for (const ModuleCall& c : all)
    if (c.fqn.empty() && c.spec) check_call(calls, *c.spec, e);
  const auto own = std::find_if(all.begin(), all.end(), [](const ModuleCall& c) { return c.fqn.empty(); });
  if (own != all.end()) e.call_spec = std::exchange(own->spec, std::nullopt);
}

void read_module_facts(const Json& module, Pt2Facts& f) {
  if (const auto metadata = module.optional("metadata"))
    for (const auto& [key, value] : metadata->fields()) f.metadata.emplace_back(key, value.string());
  if (const auto fields = module.optional("treespec_namedtuple_fields"))
    for (const auto& [key, value] : fields->fields())
      f.namedtuple_fields.emplace_back(key, strings(value.of("NamedTupleDef").field("field_names")));
  if (const auto calls = module.optional("module_call_graph"))
    f.module_calls = calls->map([&](const Json& entry) { return read_module_call(entry, f.namedtuple_fields); });
}

void read_facts(const Json& program, Pt2Facts& f, Pt2Symbols& symbols) {
  if (const auto opset = program.optional("opset_version"))
    for (const auto& [key, value] : opset->fields()) f.opset_version.emplace_back(key, value.integer());
  if (const auto guards = program.optional("guards_code")) f.guards = strings(*guards);
  if (const auto ranges = program.optional("range_constraints")) {
    for (const auto& [key, value] : ranges->fields()) f.range_constraints.emplace_back(key, value.dump());
    symbols.read_ranges(*ranges);
  }
}

}  // namespace

void read_program(std::string json, const std::string& what, Pt2Program& p) {
  const JsonDocument document(std::move(json), what);
  const Json root = document.root().of("ExportedProgram");
  Program& program = p.program;
  EntryPoint& entry = program.main();
  read_version(root, p.facts);
  program.producer = text("torch ", p.facts.torch_version);
  read_dialects(root, p);
  Pt2Symbols symbols;
  read_facts(root, p.facts, symbols);
  const Json module = root.field("graph_module").of("GraphModule");
  read_module_facts(module, p.facts);
  ReadGraph g = read_graph(module.field("graph"), symbols);
  entry.graph = std::move(g.graph);
  p.spelled = std::move(g.spelled);
  entry.symbol_ranges = symbols.ranges;
  entry.symbol_hints = read_hints(entry.graph, p.spelled);
  program.warnings.insert(program.warnings.end(), symbols.warnings.begin(), symbols.warnings.end());
  read_signature(module.field("signature"), g, p);
  if (const auto calls = module.optional("module_call_graph")) take_own_call(*calls, p.facts.module_calls, entry);
  read_guards(p.facts.guards, entry, program.warnings);
  program.prepare();
}

Pt2Program read_pt2(const std::string& path, const std::string& wanted) {
  const Pt2Archive a = open_pt2_archive(path);
  const std::string model = choose_model(a, wanted);
  Pt2Program p;
  p.program.name = path;
  p.program.state = read_all_state(a, model);
  const std::string entry = a.program_entry(model);
  read_program(a.zip.read_text(entry), text(a.zip.what(), ": ", entry), p);
  return p;
}

Program load_pt2(const std::string& path, const std::string& wanted) { return read_pt2(path, wanted).program; }

}  // namespace ingot
