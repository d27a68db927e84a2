/* The features of a processor that generated code may need, and what each is called. C: the code
 * generator writes the ids into the library, the runtime compares them with the machine it is
 * loaded on.
 *
 * A name is LLVM's, so `has_feature(target, name)` answers whether code for a target needs it.
 * Numbers are part of the files that were made: they are added to, never changed. */
#ifndef INGOT_MODEL_CPU_H
#define INGOT_MODEL_CPU_H
#include <stdint.h>

#define INGOT_CPU_FEATURES_X86_64(X)        \
  X(SSE3, 1, "sse3")                        \
  X(SSSE3, 2, "ssse3")                      \
  X(SSE4_1, 3, "sse4.1")                    \
  X(SSE4_2, 4, "sse4.2")                    \
  X(POPCNT, 5, "popcnt")                    \
  X(CX16, 6, "cx16")                        \
  X(SAHF, 7, "sahf")                        \
  X(AVX, 8, "avx")                          \
  X(F16C, 9, "f16c")                        \
  X(FMA, 10, "fma")                         \
  X(BMI, 11, "bmi")                         \
  X(BMI2, 12, "bmi2")                       \
  X(LZCNT, 13, "lzcnt")                     \
  X(MOVBE, 14, "movbe")                     \
  X(AVX2, 15, "avx2")                       \
  X(AVX512F, 16, "avx512f")                 \
  X(AVX512BW, 17, "avx512bw")               \
  X(AVX512CD, 18, "avx512cd")               \
  X(AVX512DQ, 19, "avx512dq")               \
  X(AVX512VL, 20, "avx512vl")               \
  X(AVX512VNNI, 21, "avx512vnni")           \
  X(AVX512BF16, 22, "avx512bf16")           \
  X(AVX512FP16, 23, "avx512fp16")           \
  X(AVX512VBMI, 24, "avx512vbmi")           \
  X(AVX512VBMI2, 25, "avx512vbmi2")         \
  X(AVX512IFMA, 26, "avx512ifma")           \
  X(AVX512BITALG, 27, "avx512bitalg")       \
  X(AVX512VPOPCNTDQ, 28, "avx512vpopcntdq") \
  X(AVXVNNI, 29, "avxvnni")                 \
  X(GFNI, 30, "gfni")                       \
  X(VAES, 31, "vaes")                       \
  X(VPCLMULQDQ, 32, "vpclmulqdq")           \
  X(AES, 33, "aes")                         \
  X(PCLMUL, 34, "pclmul")                   \
  X(SHA, 35, "sha")                         \
  X(ADX, 36, "adx")                         \
  X(SSE4A, 37, "sse4a")                     \
  X(XOP, 38, "xop")                         \
  X(FMA4, 39, "fma4")                       \
  X(TBM, 40, "tbm")                         \
  X(AVXIFMA, 41, "avxifma")                 \
  X(AVXNECONVERT, 42, "avxneconvert")       \
  X(AVXVNNIINT8, 43, "avxvnniint8")         \
  X(AVXVNNIINT16, 44, "avxvnniint16")

#define INGOT_CPU_FEATURES_AARCH64(X) \
  X(LSE, 65, "lse")                   \
  X(CRC, 66, "crc")                   \
  X(FULLFP16, 67, "fullfp16")         \
  X(FP16FML, 68, "fp16fml")           \
  X(RDM, 69, "rdm")                   \
  X(DOTPROD, 70, "dotprod")           \
  X(COMPLXNUM, 71, "complxnum")       \
  X(JSCONV, 72, "jsconv")             \
  X(RCPC, 73, "rcpc")                 \
  X(RCPC_IMMO, 74, "rcpc-immo")       \
  X(SVE, 75, "sve")                   \
  X(SVE2, 76, "sve2")                 \
  X(BF16, 77, "bf16")                 \
  X(I8MM, 78, "i8mm")                 \
  X(FPTOINT, 79, "fptoint")           \
  X(ALTNZCV, 80, "altnzcv")           \
  X(ARM_AES, 81, "aes")               \
  X(SHA2, 82, "sha2")                 \
  X(SHA3, 83, "sha3")                 \
  X(SM4, 84, "sm4")                   \
  X(CSSC, 85, "cssc")

#define INGOT_CPU_ID(id, number, name) INGOT_CPU_##id = number,
enum { INGOT_CPU_FEATURES_X86_64(INGOT_CPU_ID) INGOT_CPU_FEATURES_AARCH64(INGOT_CPU_ID) INGOT_CPU_END = 128 };
#undef INGOT_CPU_ID

#endif
