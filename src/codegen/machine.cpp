#include "codegen/machine.hpp"

#include <llvm/IR/IntrinsicsX86.h>

#include "base/error.hpp"

namespace ingot {

bool converts_half(const Target& target) {
  switch (arch_of(target)) {
    case Arch::x86_64: return has_feature(target, "f16c");
    case Arch::aarch64: return true;
  }
  throw_internal_error(__FILE__, __LINE__, text("it is not known how ", target.triple, " converts halves"));
}

llvm::Value* scaled(llvm::IRBuilder<>& b, const Target& target, llvm::Value* x, llvm::Value* n) {
  const bool is_wide = x->getType()->getPrimitiveSizeInBits() == 512;
  if (!is_wide || arch_of(target) != Arch::x86_64 || !has_feature(target, "avx512f")) return nullptr;
  const bool single = x->getType()->getScalarType()->isFloatTy();
  const llvm::Intrinsic::ID id =
      single ? llvm::Intrinsic::x86_avx512_mask_scalef_ps_512 : llvm::Intrinsic::x86_avx512_mask_scalef_pd_512;
  llvm::Value* all = llvm::Constant::getAllOnesValue(single ? b.getInt16Ty() : b.getInt8Ty());
  return b.CreateIntrinsic(id, {}, {x, n, x, all, b.getInt32(4)});  // rounded as the machine is set to
}

// Return addresses are guarded, and functions that may be called through a pointer begin with a
// mark (CET; PAC and BTI). The object has a note that says so, and a library if all that is linked
// into it has.
Marks marks_of(const Target& target) {
  switch (arch_of(target)) {
    case Arch::x86_64: {
      const std::string width = std::to_string(vector_bits(target));  // without these LLVM splits 512-bit vectors in two
      return {{"cf-protection-return", "cf-protection-branch"},
              {{"prefer-vector-width", width}, {"min-legal-vector-width", width}}};
    }
    case Arch::aarch64:  // the flags make the note alone
      return {{"sign-return-address", "branch-target-enforcement"},
              {{"sign-return-address", "non-leaf"}, {"sign-return-address-key", "a_key"}, {"branch-target-enforcement", ""}}};
  }
  throw_internal_error(__FILE__, __LINE__, text("it is not known how code for ", target.triple, " is marked"));
}

}  // namespace ingot
