#include "codegen/target.hpp"

#include <llvm/ADT/StringMap.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "codegen/llvm_state.hpp"

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace ingot {
namespace {

#if defined(__aarch64__)

// LLVM derives the features of an Arm processor from its name, but a hypervisor may hide some of
// them (SVE, as a rule). So every one that changes the code is set or cleared by what the kernel
// says.
std::vector<std::string> native_features() {
  struct Hwcap {
    unsigned long word, bit;
    const char* feature;
  };
  static constexpr Hwcap kHwcaps[] = {
      {AT_HWCAP, HWCAP_ATOMICS, "lse"},      {AT_HWCAP, HWCAP_CRC32, "crc"},
      {AT_HWCAP, HWCAP_AES, "aes"},          {AT_HWCAP, HWCAP_SHA2, "sha2"},
      {AT_HWCAP, HWCAP_SHA3, "sha3"},        {AT_HWCAP, HWCAP_SM4, "sm4"},
      {AT_HWCAP, HWCAP_ASIMDHP, "fullfp16"}, {AT_HWCAP, HWCAP_ASIMDFHM, "fp16fml"},
      {AT_HWCAP, HWCAP_ASIMDRDM, "rdm"},     {AT_HWCAP, HWCAP_ASIMDDP, "dotprod"},
      {AT_HWCAP, HWCAP_FCMA, "complxnum"},   {AT_HWCAP, HWCAP_JSCVT, "jsconv"},
      {AT_HWCAP, HWCAP_LRCPC, "rcpc"},       {AT_HWCAP, HWCAP_ILRCPC, "rcpc-immo"},
      {AT_HWCAP, HWCAP_SVE, "sve"},          {AT_HWCAP2, HWCAP2_SVE2, "sve2"},
      {AT_HWCAP2, HWCAP2_BF16, "bf16"},      {AT_HWCAP2, HWCAP2_I8MM, "i8mm"},
      {AT_HWCAP2, HWCAP2_FRINT, "fptoint"},  {AT_HWCAP2, HWCAP2_FLAGM2, "altnzcv"},
      {AT_HWCAP2, 1ul << 34, "cssc"},  // HWCAP2_CSSC, which headers of older systems lack
  };
  std::vector<std::string> features;
  for (const Hwcap& h : kHwcaps) features.push_back(((getauxval(h.word) & h.bit) ? "+" : "-") + std::string(h.feature));
  return features;
}

#else

std::vector<std::string> native_features() {
  std::vector<std::string> features;
  for (const auto& feature : llvm::sys::getHostCPUFeatures()) {
    features.push_back((feature.second ? "+" : "-") + feature.first().str());
  }
  return features;
}

#endif

std::optional<Arch> known_arch(const llvm::Triple& triple) {
  switch (triple.getArch()) {
    case llvm::Triple::x86_64: return Arch::x86_64;
    case llvm::Triple::aarch64: return Arch::aarch64;
    default: return std::nullopt;
  }
}

Arch arch_of(const llvm::Triple& triple) {
  const std::optional<Arch> arch = known_arch(triple);
  INGOT_REQUIRE(arch, "no code is made for the architecture of the target '", triple.str(), "': expected x86_64 or aarch64");
  return *arch;
}

std::string triple_of(Arch arch) { return text(to_text(arch), "-unknown-linux-gnu"); }

Arch native_arch() { return arch_of(llvm::Triple(llvm::sys::getProcessTriple())); }

// Processors with 512-bit registers are told to LLVM as preferring 256: our loops choose their
// width themselves. Arithmetic of halves is done in float, and LLVM before 22 swaps the operands of
// a masked comparison of halves without swapping the comparison (llvm-project issue 159723).
std::vector<std::string> fixed_features(Arch arch) {
  return arch == Arch::x86_64 ? std::vector<std::string>{"-avx512fp16", "-prefer-256-bit"} : std::vector<std::string>{};
}

std::string join_sorted(std::vector<std::string> features) {
  auto name = [](const std::string& f) { return std::string_view(f).substr(1); };
  std::sort(features.begin(), features.end(), [&](auto& a, auto& b) { return name(a) < name(b); });
  std::string joined;
  for (const std::string& f : features) joined += (joined.empty() ? "" : ",") + f;
  return joined;
}

std::unique_ptr<llvm::MCSubtargetInfo> subtarget(const Target& target) {
  std::string error;
  const llvm::Target* t = llvm::TargetRegistry::lookupTarget(target.triple, error);
  INGOT_ENSURE(t, "LLVM: ", error);
  return std::unique_ptr<llvm::MCSubtargetInfo>(t->createMCSubtargetInfo(target.triple, target.cpu, target.features));
}

Arch parse_arch(std::string_view name) {
  if (name == "x86_64" || name == "amd64") return Arch::x86_64;
  if (name == "aarch64" || name == "arm64") return Arch::aarch64;
  const llvm::Triple triple(llvm::Triple::normalize(llvm::StringRef(name.data(), name.size())));
  const std::optional<Arch> arch = known_arch(triple);
  INGOT_REQUIRE(arch && triple.isOSLinux() && triple.getEnvironment() == llvm::Triple::GNU, "unknown target '", name,
                "': expected native, x86_64-linux-gnu or aarch64-linux-gnu");
  return *arch;
}

}  // namespace

std::string_view to_text(Arch arch) {
  switch (arch) {
    case Arch::x86_64: return "x86_64";
    case Arch::aarch64: return "aarch64";
  }
  throw_internal_error(__FILE__, __LINE__, "an architecture without a name");
}

Target native_target() {
  const Arch arch = native_arch();
  std::vector<std::string> features = native_features();
  for (const std::string& f : fixed_features(arch)) {
    std::erase_if(features, [&](const std::string& native) { return native.compare(1, native.npos, f, 1, f.npos) == 0; });
    features.push_back(f);
  }
  return {triple_of(arch), llvm::sys::getHostCPUName().str(), join_sorted(std::move(features))};
}

Target parse_target(std::string_view name, std::string_view cpu) {
  const LlvmUse use;
  const Arch arch = name == "native" ? native_arch() : parse_arch(name);
  if (cpu == "native" || (name == "native" && cpu.empty())) {
    INGOT_REQUIRE(arch == native_arch(), "cpu 'native' is the processor of this machine, which is ", to_text(native_arch()),
                  "; for the target '", name, "' name a processor");
    return native_target();
  }

  Target target{triple_of(arch), std::string(cpu), join_sorted(fixed_features(arch))};
  if (cpu.empty()) target.cpu = arch == Arch::x86_64 ? "x86-64" : "generic";
  const Target any{target.triple, "", ""};
  INGOT_REQUIRE(subtarget(any)->isCPUStringValid(target.cpu), "unknown processor '", cpu, "' for ", to_text(arch),
                arch == Arch::x86_64 ? ": for example x86-64, x86-64-v3, x86-64-v4, znver4 or native"
                                     : ": for example generic, neoverse-n1, neoverse-v1, apple-m1 or native");
  return target;
}

Arch arch_of(const Target& target) { return arch_of(llvm::Triple(target.triple)); }

bool has_feature(const Target& target, std::string_view feature) {
  // Asked for every kernel, and LLVM takes a tenth of a millisecond to think about it.
  struct Known {
    std::unique_ptr<llvm::MCSubtargetInfo> machine;
    std::map<std::string, bool, std::less<>> features;
  };
  static std::mutex mutex;
  static std::map<std::string, Known> targets;
  const LlvmUse use;
  const std::lock_guard lock(mutex);
  Known& known = targets[text(target.triple, " ", target.cpu, " ", target.features)];
  if (const auto found = known.features.find(feature); found != known.features.end()) return found->second;
  if (!known.machine) known.machine = subtarget(target);
  return known.features[std::string(feature)] = known.machine->checkFeatures("+" + std::string(feature));
}

int vector_bits(const Target& target) {
  switch (arch_of(target)) {
    case Arch::x86_64: return has_feature(target, "avx512f") ? 512 : has_feature(target, "avx2") ? 256 : 128;
    case Arch::aarch64: return 128;
  }
  throw_internal_error(__FILE__, __LINE__, text("no vectors of ", target.triple));
}

}  // namespace ingot
