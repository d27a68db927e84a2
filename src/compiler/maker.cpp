#include "compiler/maker.hpp"

#include "base/error.hpp"
#include "base/library_note.hpp"
#include "codegen/emit.hpp"

namespace ingot {
namespace {

std::string_view to_text(Model::Weights::Kind kind) {
  using enum Model::Weights::Kind;
  switch (kind) {
    case none: return "none";
    case embedded: return "embed";
    case external: return "external";
    case appended: break;
  }
  return "append";
}

// In the words of the command line. Names of files are left out, so that who compiles elsewhere
// gets the same bytes; metadata stands in the library itself.
std::string options_text(const CompileOptions& options) {
  std::string out = text("--target ", options.targets[0].triple, " --cpu ");
  for (std::size_t k = 0; k < options.targets.size(); k++) out += text(k ? "," : "", options.targets[k].cpu);
  out += text(" --weights ", to_text(options.weights));
  std::string skipped;
  for (const std::string& stage : options.skip) skipped += text(skipped.empty() ? " --skip " : ",", stage);
  return text(out, skipped, options.debug_info ? " --debug" : "");
}

}  // namespace

std::string maker_lines(const CompileOptions& options, const std::string& weights) {
  std::string lines =
      text(kMadeBy, "=ingot ", INGOT_VERSION, ", ", code_generator(), "\n", kMadeWith, "=", options_text(options), "\n");
  if (!weights.empty()) lines += text(kWeights, "=", weights, "\n");
  return lines;
}

}  // namespace ingot
