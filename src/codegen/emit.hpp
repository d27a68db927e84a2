// LLVM IR to object code. This folder and backends build modules; others see no more of LLVM than
// the two names below.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "codegen/target.hpp"

namespace llvm {
class Module;
}

namespace ingot {

// A relocatable ELF file, in memory.
struct Object {
  std::string name;  // for messages
  std::string bytes;
};

// The code as people read it: the LLVM IR that machine code is made of, and that machine code.
struct CodeText {
  std::string llvm, assembly;
};

// "LLVM 19.1.7": what else than Ingot decides about the code.
std::string_view code_generator();

// Gives the module the triple, data layout and relocation model of the target. The code that builds
// a module needs the layout, so this comes first; `emit` does it again for modules that come from
// elsewhere.
void set_target(llvm::Module& module, const Target& target);

// What is spent on code: all there is, or as little as possible, for code that runs once in a run
// of the model.
enum class Effort : uint8_t { full, little };

// Optimises the module in place and generates its code. Every function is compiled for `target`,
// whatever attributes it came with. The passes clean up (promotion to registers, common
// subexpressions, hoisting) and neither vectorise, unroll nor inline: what is built is what runs;
// with little effort there are none. Modules of different LLVMContexts may be emitted at the same
// time. Where `text` is given, the code is added to it as text. Internal error, with LLVM's text,
// if the module is malformed.
Object emit(llvm::Module& module, const Target& target, CodeText* text = nullptr, Effort effort = Effort::full);

// The same for LLVM IR in its text form. User error, with line and column, if it does not parse.
Object emit_text(const std::string& name, std::string_view llvm_ir, const Target& target);

}  // namespace ingot
