#include "model/cpu.hpp"

#include "model/error.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#else
#include <sys/auxv.h>
#endif

namespace ingot::model {
namespace {

#if defined(__x86_64__)

struct Cpuid {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

// All zero where the processor does not know the leaf.
Cpuid cpuid(uint32_t leaf, uint32_t subleaf) {
  Cpuid r;
  __get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx);
  return r;
}

// Which register states the operating system saves when it switches threads.
uint64_t saved_states() {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
}

#endif

}  // namespace

#if defined(__x86_64__)

CpuFeatures cpu_features() {
  CpuFeatures features;
  const Cpuid basic = cpuid(1, 0), extended = cpuid(0x80000001, 0), more = cpuid(7, 0), most = cpuid(7, 1);
  auto add = [&](uint32_t word, int bit, uint64_t id) {
    if (word >> bit & 1) features.add(id);
  };
  add(basic.ecx, 0, INGOT_CPU_SSE3);
  add(basic.ecx, 1, INGOT_CPU_PCLMUL);
  add(basic.ecx, 9, INGOT_CPU_SSSE3);
  add(basic.ecx, 13, INGOT_CPU_CX16);
  add(basic.ecx, 19, INGOT_CPU_SSE4_1);
  add(basic.ecx, 20, INGOT_CPU_SSE4_2);
  add(basic.ecx, 22, INGOT_CPU_MOVBE);
  add(basic.ecx, 23, INGOT_CPU_POPCNT);
  add(basic.ecx, 25, INGOT_CPU_AES);
  add(extended.ecx, 0, INGOT_CPU_SAHF);
  add(extended.ecx, 5, INGOT_CPU_LZCNT);
  add(extended.ecx, 6, INGOT_CPU_SSE4A);
  add(extended.ecx, 21, INGOT_CPU_TBM);
  add(more.ebx, 3, INGOT_CPU_BMI);
  add(more.ebx, 8, INGOT_CPU_BMI2);
  add(more.ebx, 19, INGOT_CPU_ADX);
  add(more.ebx, 29, INGOT_CPU_SHA);
  add(more.ecx, 8, INGOT_CPU_GFNI);

  constexpr uint64_t kAvxStates = 0x6, kAvx512States = 0xe6;
  const uint64_t states = basic.ecx >> 27 & 1 ? saved_states() : 0;  // bit 27: xgetbv may be used
  if ((states & kAvxStates) != kAvxStates) return features;
  add(basic.ecx, 12, INGOT_CPU_FMA);
  add(basic.ecx, 28, INGOT_CPU_AVX);
  add(basic.ecx, 29, INGOT_CPU_F16C);
  add(extended.ecx, 11, INGOT_CPU_XOP);
  add(extended.ecx, 16, INGOT_CPU_FMA4);
  add(more.ebx, 5, INGOT_CPU_AVX2);
  add(more.ecx, 9, INGOT_CPU_VAES);
  add(more.ecx, 10, INGOT_CPU_VPCLMULQDQ);
  add(most.eax, 4, INGOT_CPU_AVXVNNI);
  add(most.eax, 23, INGOT_CPU_AVXIFMA);
  add(most.edx, 4, INGOT_CPU_AVXVNNIINT8);
  add(most.edx, 5, INGOT_CPU_AVXNECONVERT);
  add(most.edx, 10, INGOT_CPU_AVXVNNIINT16);

  if ((states & kAvx512States) != kAvx512States) return features;
  add(more.ebx, 16, INGOT_CPU_AVX512F);
  add(more.ebx, 17, INGOT_CPU_AVX512DQ);
  add(more.ebx, 21, INGOT_CPU_AVX512IFMA);
  add(more.ebx, 28, INGOT_CPU_AVX512CD);
  add(more.ebx, 30, INGOT_CPU_AVX512BW);
  add(more.ebx, 31, INGOT_CPU_AVX512VL);
  add(more.ecx, 1, INGOT_CPU_AVX512VBMI);
  add(more.ecx, 6, INGOT_CPU_AVX512VBMI2);
  add(more.ecx, 11, INGOT_CPU_AVX512VNNI);
  add(more.ecx, 12, INGOT_CPU_AVX512BITALG);
  add(more.ecx, 14, INGOT_CPU_AVX512VPOPCNTDQ);
  add(more.edx, 23, INGOT_CPU_AVX512FP16);
  add(most.eax, 5, INGOT_CPU_AVX512BF16);
  return features;
}

#else

CpuFeatures cpu_features() {
  CpuFeatures features;
  const unsigned long first = getauxval(AT_HWCAP), second = getauxval(AT_HWCAP2);
  auto add = [&](unsigned long word, unsigned long bit, uint64_t id) {
    if (word & bit) features.add(id);
  };
  add(first, HWCAP_ATOMICS, INGOT_CPU_LSE);
  add(first, HWCAP_CRC32, INGOT_CPU_CRC);
  add(first, HWCAP_ASIMDHP, INGOT_CPU_FULLFP16);
  add(first, HWCAP_ASIMDFHM, INGOT_CPU_FP16FML);
  add(first, HWCAP_ASIMDRDM, INGOT_CPU_RDM);
  add(first, HWCAP_ASIMDDP, INGOT_CPU_DOTPROD);
  add(first, HWCAP_FCMA, INGOT_CPU_COMPLXNUM);
  add(first, HWCAP_JSCVT, INGOT_CPU_JSCONV);
  add(first, HWCAP_LRCPC, INGOT_CPU_RCPC);
  add(first, HWCAP_ILRCPC, INGOT_CPU_RCPC_IMMO);
  add(first, HWCAP_SVE, INGOT_CPU_SVE);
  add(first, HWCAP_AES, INGOT_CPU_ARM_AES);
  add(first, HWCAP_SHA2, INGOT_CPU_SHA2);
  add(first, HWCAP_SHA3, INGOT_CPU_SHA3);
  add(first, HWCAP_SM4, INGOT_CPU_SM4);
  add(second, HWCAP2_SVE2, INGOT_CPU_SVE2);
  add(second, HWCAP2_BF16, INGOT_CPU_BF16);
  add(second, HWCAP2_I8MM, INGOT_CPU_I8MM);
  add(second, HWCAP2_FRINT, INGOT_CPU_FPTOINT);
  add(second, HWCAP2_FLAGM2, INGOT_CPU_ALTNZCV);
  add(second, 1ul << 34, INGOT_CPU_CSSC);  // HWCAP2_CSSC, which headers of older systems lack
  return features;
}

#endif

const char* cpu_feature_name(uint64_t id) {
  switch (id) {
#define INGOT_CPU_NAME(id, number, name) \
  case number: return name;
    INGOT_CPU_FEATURES_X86_64(INGOT_CPU_NAME)
    INGOT_CPU_FEATURES_AARCH64(INGOT_CPU_NAME)
#undef INGOT_CPU_NAME
    default: return nullptr;
  }
}

int64_t choose_level(const ingot_program& program) {
  const CpuFeatures machine = cpu_features();
  Text text;
  text.add("no code for this processor: the library has");
  for (uint32_t c = 0; c < program.level_count; c++) {
    const ingot_level& level = program.levels[c];
    text.add("%s %s (which needs", c ? ";" : "", level.name);
    bool fits = true;
    for (const uint64_t* id = level.features; *id; id++) {
      if (machine.has(*id)) continue;
      if (const char* name = cpu_feature_name(*id)) text.add("%s %s", fits ? "" : ",", name);
      else text.add("%s feature %llu", fits ? "" : ",", static_cast<unsigned long long>(*id));
      fits = false;
    }
    if (fits) return c;
    text.add(")");
  }
  if (program.level_count == 0) text.add(" none");
  text.add("; this machine has");
  bool any = false;
  for (uint64_t id = 1; id < INGOT_CPU_END; id++) {
    if (!machine.has(id)) continue;
    text.add("%s %s", any ? "," : "", cpu_feature_name(id));
    any = true;
  }
  text.add(any ? ". Compile the program again with --cpu=LEVEL for it"
               : " none of the optional ones. Compile the program again with --cpu=LEVEL for it");
  fail("%s", text.c_str());
  return -1;
}

}  // namespace ingot::model
