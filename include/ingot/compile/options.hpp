// How a program is compiled.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ingot/target.hpp"

namespace ingot {

struct CodeText;  // codegen/emit.hpp of Ingot's own folders

// Where the weights of a library are: nowhere, so that whoever runs it gives them; in it; in a
// safetensors file beside it; behind it in its own file.
enum class WeightsKind : uint8_t { none, embedded, external, appended };

// A stage that is done.
struct StageDone {
  std::string_view name;
  double seconds = 0;  // of what is done for several entries at once, its share of the time
  std::function<std::string()> text;  // its result, which takes time to print; empty: it has no text form
};

struct CompileOptions {
  // One architecture; of several levels of it the first that a machine has is what it runs.
  std::vector<Target> targets = {native_target()};
  WeightsKind weights = WeightsKind::embedded;
  // Not empty: `output` is an object file instead of a library, or an archive of one where it ends
  // in .a, and beside it lies a C header. All its symbols are its own, but for the functions of the
  // C interface, whose names begin with this, so that several models go into one program. User
  // error for what cannot begin a name of C, and for appended weights.
  std::string object_prefix = {};
  // The code says which line of the program it computes, for debuggers and profilers.
  bool debug_info = false;
  // What the library keeps for those who run it, by key. User error for keys that are Ingot's own
  // (src/base/library_metadata.hpp), and for what a C string cannot hold.
  std::map<std::string, std::string> metadata = {};
  // Called with the code of each level as text. It costs time to make.
  std::function<void(const std::string& level, const CodeText& text)> code = {};
  // Stages that are left out, by name: passes over the graph, and fold. User error for any other
  // (skippable_stages of src/compiler/pipeline.hpp).
  std::set<std::string, std::less<>> skip = {};
  // Called after each stage.
  std::function<void(const StageDone&)> after = {};
};

}  // namespace ingot
