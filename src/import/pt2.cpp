#include "import/pt2.hpp"

#include "base/error.hpp"
#include "import/json.hpp"
#include "import/pt2_archive.hpp"
#include "import/pt2_graph.hpp"
#include "import/pt2_signature.hpp"
#include "import/pt2_state.hpp"

namespace ingot {

namespace {

void check_version(const Json& program, const std::string& torch_version) {
  const Json version = program.field("schema_version");
  const int64_t major = version.field("major").integer(), minor = version.field("minor").integer();
  if (major == 8 || (major == 0 && minor == 0)) return;
  version.fail(text("schema version ", major, ".", minor, " is not supported (this reader knows 8.x); the program was written "
                    "by torch ", torch_version));
}

}  // namespace

ExportedProgram load_pt2(const std::string& path, const std::string& wanted) {
  const Pt2Archive a = open_pt2_archive(path);
  const std::string model = choose_model(a, wanted);
  ExportedProgram p;
  p.name = path;
  p.state = read_all_state(a, model);

  const std::string entry = a.program_entry(model);
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
