#include "codegen/emit.hpp"

#include <llvm/ADT/SmallVector.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/IRReader/IRReader.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <memory>

#include "base/error.hpp"
#include "codegen/llvm_state.hpp"
#include "codegen/machine.hpp"

namespace ingot {
namespace {

// What is loaded or computed twice is found by early-cse: gvn costs more and moves values so far
// that kernels spill. Instcombine comes before licm, which finds more to hoist in addresses of one
// form; it is not asked whether one round was enough, which it would answer by ending the process.
constexpr const char* kPasses =
    "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,loop-mssa(licm),early-cse<memssa>,simplifycfg)";

std::unique_ptr<llvm::TargetMachine> make_target_machine(const Target& target, Effort effort) {
  std::string error;
  const llvm::Target* t = llvm::TargetRegistry::lookupTarget(target.triple, error);
  INGOT_ENSURE(t, "LLVM: ", error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;  // fuse where the instructions say `contract`, nowhere else
  options.FunctionSections = true;
  options.DataSections = true;
  const auto level = effort == Effort::full ? llvm::CodeGenOptLevel::Aggressive : llvm::CodeGenOptLevel::None;
  std::unique_ptr<llvm::TargetMachine> machine(
      t->createTargetMachine(target.triple, target.cpu, target.features, options, llvm::Reloc::PIC_, std::nullopt, level));
  machine->setGlobalISel(false);  // one way to choose instructions, whatever the target prefers without optimization
  return machine;
}

// One for each thread, effort and the target it works on: making one costs more than compiling a
// small kernel.
llvm::TargetMachine& target_machine(const Target& target, Effort effort) {
  struct Made {
    Target target;
    std::unique_ptr<llvm::TargetMachine> machine;
  };
  thread_local Made made[2];
  Made& m = made[effort == Effort::full];
  if (!m.machine || !(m.target == target)) m = {target, make_target_machine(target, effort)};
  return *m.machine;
}

void set_target(llvm::Module& module, const llvm::TargetMachine& machine) {
  module.setTargetTriple(machine.getTargetTriple().str());
  module.setDataLayout(machine.createDataLayout());
  if (module.getPICLevel() != llvm::PICLevel::BigPIC) module.setPICLevel(llvm::PICLevel::BigPIC);  // a flag is added, not set
}

// Whom the functions are compiled for, and how their control flow is guarded (codegen/machine.hpp).
void mark(llvm::Module& module, const Target& target) {
  const Marks marks = marks_of(target);
  for (const char* flag : marks.flags)
    if (!module.getModuleFlag(flag)) module.addModuleFlag(llvm::Module::Min, flag, 1);
  for (llvm::Function& f : module) {
    if (f.isDeclaration()) continue;
    f.addFnAttr("target-cpu", target.cpu);
    f.addFnAttr("target-features", target.features);
    f.addFnAttr(llvm::Attribute::NoUnwind);
    for (const auto& [name, value] : marks.attributes) f.addFnAttr(name, value);
  }
}

void verify(const llvm::Module& module) {
  std::string errors;
  llvm::raw_string_ostream out(errors);
  INGOT_ENSURE(!llvm::verifyModule(module, &out), "malformed LLVM module '", module.getName().str(), "': ", errors);
}

void optimize(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager calls;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(calls);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, calls, modules);

  llvm::ModulePassManager passes;
  if (llvm::Error error = builder.parsePassPipeline(passes, kPasses)) {
    throw_internal_error(__FILE__, __LINE__, llvm::toString(std::move(error)));
  }
  passes.run(module, modules);
}

std::string generate(llvm::Module& module, llvm::TargetMachine& machine,
                     llvm::CodeGenFileType type = llvm::CodeGenFileType::ObjectFile) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  llvm::legacy::PassManager passes;
  const bool failed = machine.addPassesToEmitFile(passes, out, nullptr, type);
  INGOT_ENSURE(!failed, "LLVM cannot write code for ", machine.getTargetTriple().str());
  passes.run(module);
  return {bytes.data(), bytes.size()};
}

void add_text(const llvm::Module& module, llvm::TargetMachine& machine, CodeText& text) {
  llvm::raw_string_ostream out(text.llvm);
  module.print(out, nullptr);
  out << '\n';
  text.assembly +=
      generate(*llvm::CloneModule(module), machine, llvm::CodeGenFileType::AssemblyFile);  // code generation changes a module
}

// Collects the errors that code generation reports through the context, for as long as it lives.
class Diagnostics {
 public:
  explicit Diagnostics(llvm::LLVMContext& context) : context_(context) {
    context_.setDiagnosticHandlerCallBack(
        [](const llvm::DiagnosticInfo* info, void* text) {
          if (info->getSeverity() != llvm::DS_Error) return;
          llvm::raw_string_ostream out(*static_cast<std::string*>(text));
          llvm::DiagnosticPrinterRawOStream printer(out);
          info->print(printer);
          out << '\n';
        },
        &errors_);
  }
  ~Diagnostics() { context_.setDiagnosticHandlerCallBack(nullptr); }
  Diagnostics(const Diagnostics&) = delete;
  Diagnostics& operator=(const Diagnostics&) = delete;

  const std::string& errors() const { return errors_; }

 private:
  llvm::LLVMContext& context_;
  std::string errors_;
};

}  // namespace

std::string_view code_generator() { return "LLVM " LLVM_VERSION_STRING; }

void set_target(llvm::Module& module, const Target& target) {
  const LlvmUse use;
  set_target(module, target_machine(target, Effort::full));
}

Object emit(llvm::Module& module, const Target& target, CodeText* text, Effort effort) {
  mark(module, target);
  const LlvmUse use;
  llvm::TargetMachine& machine = target_machine(target, effort);
  set_target(module, machine);
  verify(module);
  const Diagnostics diagnostics(module.getContext());
  if (effort == Effort::full) optimize(module, machine);
  if (text) add_text(module, machine, *text);
  Object object{module.getName().str(), generate(module, machine)};
  INGOT_ENSURE(diagnostics.errors().empty(), "no code for LLVM module '", object.name, "': ", diagnostics.errors());
  return object;
}

Object emit_text(const std::string& name, std::string_view llvm_ir, const Target& target) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  const std::string text(llvm_ir);  // the parser wants a terminating zero
  const std::unique_ptr<llvm::Module> module = llvm::parseIR(llvm::MemoryBufferRef(text, name), error, context);
  INGOT_REQUIRE(module, name, ":", error.getLineNo(), ":", error.getColumnNo() + 1, ": ", error.getMessage().str());
  module->setModuleIdentifier(name);
  return emit(*module, target);
}

}  // namespace ingot
