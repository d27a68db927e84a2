// What lld's link-time optimiser asks of LLVM and Ingot never runs: lld registers every target LLVM
// was built with, and the optimiser loads Polly. Empty bodies in their place keep the targets we do
// not compile for out of the executable.
#include <llvm/Passes/PassPlugin.h>

#define INGOT_STUB(function)                  \
  extern "C" void LLVMInitialize##function(); \
  extern "C" void LLVMInitialize##function() {}
#define INGOT_STUB_TARGET(target) \
  INGOT_STUB(target##TargetInfo)  \
  INGOT_STUB(target##Target)      \
  INGOT_STUB(target##TargetMC)    \
  INGOT_STUB(target##AsmPrinter)

#define INGOT_STUB_TARGET_AND_PARSER(target) \
  INGOT_STUB_TARGET(target)                  \
  INGOT_STUB(target##AsmParser)

INGOT_STUB_TARGET_AND_PARSER(AMDGPU)
INGOT_STUB_TARGET_AND_PARSER(ARM)
INGOT_STUB_TARGET_AND_PARSER(AVR)
INGOT_STUB_TARGET_AND_PARSER(BPF)
INGOT_STUB_TARGET_AND_PARSER(Hexagon)
INGOT_STUB_TARGET_AND_PARSER(Lanai)
INGOT_STUB_TARGET_AND_PARSER(LoongArch)
INGOT_STUB_TARGET_AND_PARSER(M68k)
INGOT_STUB_TARGET_AND_PARSER(MSP430)
INGOT_STUB_TARGET_AND_PARSER(Mips)
INGOT_STUB_TARGET_AND_PARSER(PowerPC)
INGOT_STUB_TARGET_AND_PARSER(RISCV)
INGOT_STUB_TARGET_AND_PARSER(Sparc)
INGOT_STUB_TARGET_AND_PARSER(SystemZ)
INGOT_STUB_TARGET_AND_PARSER(VE)
INGOT_STUB_TARGET_AND_PARSER(WebAssembly)
INGOT_STUB_TARGET_AND_PARSER(Xtensa)
INGOT_STUB_TARGET(XCore)
INGOT_STUB(AArch64AsmParser)
INGOT_STUB(X86AsmParser)

llvm::PassPluginLibraryInfo getPollyPluginInfo() {  // NOLINT(readability-identifier-naming): the name is LLVM's
  return {LLVM_PLUGIN_API_VERSION, "none", "0", [](llvm::PassBuilder&) {}};
}
