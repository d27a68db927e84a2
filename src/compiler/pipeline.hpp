// The way of the data: every stage named once, in order.
#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "codegen/model.hpp"
#include "codegen/target.hpp"
#include "graph/trace.hpp"
#include "program/program.hpp"
#include "loop/program.hpp"

namespace ingot {

// A stage that is done.
struct StageDone {
  std::string_view name;
  double seconds = 0;
  std::function<std::string()> text;  // its result, which takes time to print; empty: it has no text form
};

struct CompileOptions {
  // One architecture; of several levels of it the first that a machine has is what it runs.
  std::vector<Target> targets = {native_target()};
  Model::Weights::Kind weights = Model::Weights::Kind::embedded;
  // Not empty: `output` is an object file instead of a library, or an archive of one where it ends
  // in .a, and beside it lies a C header (object_header.hpp). All its symbols are its own, but for
  // the functions of the C interface, whose names begin with this, so that several models go into
  // one program. User error for what cannot begin a name of C, and for appended weights.
  std::string object_prefix = {};
  // The code says which line of the program it computes, for debuggers and profilers.
  bool debug_info = false;
  // What the library keeps for those who run it, by key. User error for keys that are Ingot's own
  // (library_metadata.hpp), and for what a C string cannot hold.
  std::map<std::string, std::string> metadata = {};
  // Called with the code of each level as text. It costs time to make.
  std::function<void(const std::string& level, const CodeText& text)> code = {};
  // Stages that are left out, by name: passes over the graph, and fold. User error for any other
  // (require_skippable).
  std::set<std::string, std::less<>> skip = {};
  // Called after each stage.
  std::function<void(const StageDone&)> after = {};
};

// The stages of a compilation in the order in which they are done, what `after` will be called
// with. Those of single entries and of single levels are there once for each.
std::vector<std::string_view> compile_stages(const CompileOptions& options, std::size_t entries = 1);
// The same of a loop program: those that come after lowering.
std::vector<std::string_view> compile_loop_stages(const CompileOptions& options);
// Those of them that can be skipped.
std::vector<std::string_view> skippable_stages();
// User error where options.skip names another one, or none: it says which can be skipped.
void require_skippable(const CompileOptions& options);

// Where the header of an object file lies: "mlp.h" beside "mlp.o".
std::string header_of(const std::string& object);

// Compiles the program with all its entry points into the shared library `output`, whose interface
// is include/ingot/aoti.h: PyTorch's knows the first of them. Parameters and buffers become
// constants of the library, which are in it, or beside it as `output`.safetensors, or behind it in
// the same file, or nowhere, as options.weights says. The library is complete or not there. User
// errors are those of the stages, and for two entry points of one name.
void compile(Program& program, const std::string& output, const CompileOptions& options = {});

// The same for a function, traced on the examples (function_program.hpp).
void compile(const TensorFunction& f, const TensorList& examples, const std::vector<OpenSize>& open, const std::string& output,
             const CompileOptions& options = {});

// The same for a loop program (loop/text.hpp), as lowering makes it or as it is after scheduling or
// the plan of memory. Inputs, outputs and constants are called as their buffers are. `constants`:
// the tensors of those that are to be in the library. User error for a program that breaks a rule
// of loop/verify.hpp.
void compile(const loop::Program& program, const std::map<std::string, Tensor>& constants, const std::string& output,
             const CompileOptions& options = {});

}  // namespace ingot
