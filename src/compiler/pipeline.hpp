// The way of the data: every stage named once, in order.
#pragma once
#include <map>
#include <string>
#include <string_view>

#include "codegen/model.hpp"
#include "codegen/target.hpp"
#include "graph/trace.hpp"
#include "ingot/compile.hpp"
#include "program/program.hpp"
#include "loop/program.hpp"

namespace ingot {

// The stages of a compilation in the order in which they are done, what `after` will be called
// with. Those of single entries and of single levels are there once for each. Entries are lowered
// and scheduled at the same time; `after` is told of one after the other all the same, by the
// thread that calls `compile`, and what its stages say they took is their share of the time.
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

// The same for a loop program (loop/text.hpp), as lowering makes it or as it is after scheduling or
// the plan of memory; for a function it is in ingot/compile.hpp. Inputs, outputs and constants are
// called as their buffers are. `constants`: the tensors of those that are to be in the library.
// User error for a program that breaks a rule of loop/verify.hpp.
void compile(const loop::Program& program, const std::map<std::string, Tensor>& constants, const std::string& output,
             const CompileOptions& options = {});

}  // namespace ingot
