#include "codegen/llvm_state.hpp"

#include <llvm/Support/CommandLine.h>
#include <llvm/Support/TargetSelect.h>

#include "base/error.hpp"

namespace ingot {
namespace {

std::shared_mutex& state_mutex() {
  static std::shared_mutex mutex;
  return mutex;
}

void register_targets() {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  LLVMInitializeAArch64TargetInfo();
  LLVMInitializeAArch64Target();
  LLVMInitializeAArch64TargetMC();
  LLVMInitializeAArch64AsmPrinter();
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
}

void set_flag(llvm::StringRef name) {
  auto& options = llvm::cl::getRegisteredOptions();
  const auto found = options.find(name);
  INGOT_ENSURE(found != options.end(), "LLVM has no option ", std::string_view(name.data(), name.size()));
  static_cast<llvm::cl::opt<bool>*>(found->second)->setValue(true);
}

void set_options() {
  set_flag("disable-lsr");  // half the time of code generation for GEMM kernels, at equal speed of the code
}

void initialize_once() {
  static const bool done = [] {
    register_targets();
    set_options();
    return true;
  }();
  (void)done;
}

}  // namespace

LlvmUse::LlvmUse() : lock_((initialize_once(), state_mutex())) {}

LlvmLink::LlvmLink() : lock_((initialize_once(), state_mutex())) {}

LlvmLink::~LlvmLink() { set_options(); }

}  // namespace ingot
