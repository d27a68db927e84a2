#include "codegen/half.hpp"

#include <llvm/IR/Intrinsics.h>

#include "base/error.hpp"
#include "codegen/machine.hpp"

namespace ingot {
namespace {

// A type of `exponent` and `mantissa` bits; finite only: no infinities, all ones is NaN.
struct Layout {
  unsigned exponent, mantissa;
  bool finite_only;
  unsigned bits() const { return 1 + exponent + mantissa; }
  unsigned bias() const { return (1u << (exponent - 1)) - 1; }
  unsigned exponent_mask() const { return (1u << exponent) - 1; }
  unsigned mantissa_mask() const { return (1u << mantissa) - 1; }
};

Layout layout_of(DType t) {
  switch (t) {
    case DType::f16: return {5, 10, false};
    case DType::bf16: return {8, 7, false};
    case DType::f8e4m3fn: return {4, 3, true};
    case DType::f8e5m2: return {5, 2, false};
    default: throw_internal_error(__FILE__, __LINE__, text(name_of(t), " is no small float"));
  }
}

class Converter {
 public:
  Converter(llvm::IRBuilder<>& b, llvm::Value* like) : b_(b), like_(like->getType()) {}

  llvm::Value* widen(llvm::Value* bits, Layout l) {
    llvm::Value* u = b_.CreateZExt(bits, int_type(32));
    llvm::Value* sign = b_.CreateShl(b_.CreateLShr(u, c(l.bits() - 1)), c(31));
    llvm::Value* magnitude = b_.CreateAnd(u, c((1u << (l.bits() - 1)) - 1));
    llvm::Value* shifted = b_.CreateShl(magnitude, c(23 - l.mantissa));
    // A number that float has, times a power of two: exact for denormals too.
    llvm::Value* scaled = as_int(b_.CreateFMul(as_float(shifted), as_float(c((254 - l.bias()) << 23))));
    const uint32_t special_from =
        l.finite_only ? (l.exponent_mask() << l.mantissa) | l.mantissa_mask() : l.exponent_mask() << l.mantissa;
    llvm::Value* special = b_.CreateOr(shifted, c(0x7f800000u));
    llvm::Value* is_special = b_.CreateICmpUGE(magnitude, c(special_from));
    return as_float(b_.CreateOr(sign, b_.CreateSelect(is_special, special, scaled)));
  }

  llvm::Value* narrow(llvm::Value* x, Layout l) {
    const uint32_t nan = (l.exponent_mask() << l.mantissa) | (l.finite_only ? l.mantissa_mask() : 1u << (l.mantissa - 1));
    const uint32_t overflow = l.finite_only ? nan : l.exponent_mask() << l.mantissa;
    const uint32_t greatest =
        l.finite_only ? ((l.exponent_mask() << l.mantissa) | (l.mantissa_mask() - 1)) : (l.exponent_mask() << l.mantissa) - 1;
    const unsigned drop = 23 - l.mantissa;
    llvm::Value* u = as_int(x);
    llvm::Value* a = b_.CreateAnd(u, c(0x7fffffffu));
    llvm::Value* sign = b_.CreateShl(b_.CreateLShr(u, c(31)), c(l.bits() - 1));
    // Normal results: add just under half a unit, and the rest of it where the last bit kept is
    // odd.
    llvm::Value* odd = b_.CreateAnd(b_.CreateLShr(a, c(drop)), c(1));
    llvm::Value* rounded = b_.CreateAdd(b_.CreateAdd(b_.CreateSub(a, c((127 - l.bias()) << 23)), c((1u << (drop - 1)) - 1)), odd);
    llvm::Value* normal = b_.CreateLShr(rounded, c(drop));
    // Denormal results: adding a float whose last bit is their unit makes the addition round.
    const uint32_t magic = (127 - l.bias() + drop + 1) << 23;
    llvm::Value* denormal = b_.CreateSub(as_int(b_.CreateFAdd(as_float(a), as_float(c(magic)))), c(magic));
    llvm::Value* is_denormal = b_.CreateICmpULT(a, c((128 - l.bias()) << 23));
    llvm::Value* r = b_.CreateSelect(is_denormal, denormal, normal);
    r = b_.CreateSelect(b_.CreateICmpUGT(r, c(greatest)), c(overflow), r);
    r = b_.CreateSelect(b_.CreateICmpUGT(a, c(0x7f800000u)), c(nan), r);
    return b_.CreateTrunc(b_.CreateOr(sign, r), int_type(l.bits()));
  }

  llvm::Value* widen_bfloat(llvm::Value* bits) { return as_float(b_.CreateShl(b_.CreateZExt(bits, int_type(32)), c(16))); }
  llvm::Value* narrow_to_bfloat(llvm::Value* x) {
    llvm::Value* u = as_int(x);
    llvm::Value* odd = b_.CreateAnd(b_.CreateLShr(u, c(16)), c(1));
    llvm::Value* rounded = b_.CreateAdd(b_.CreateAdd(u, c(0x7fff)), odd);
    llvm::Value* quiet = b_.CreateOr(u, c(0x400000));
    return b_.CreateTrunc(b_.CreateLShr(b_.CreateSelect(b_.CreateFCmpUNO(x, x), quiet, rounded), c(16)), int_type(16));
  }
  // Behind a fence: LLVM would compare halves instead, which processors without such comparisons do
  // one by one.
  llvm::Value* widen_half(llvm::Value* bits) {
    llvm::Type* wide = shaped(b_.getFloatTy());
    return b_.CreateArithmeticFence(b_.CreateFPExt(b_.CreateBitCast(bits, shaped(b_.getHalfTy())), wide), wide);
  }
  llvm::Value* narrow_to_half(llvm::Value* x) {
    return b_.CreateBitCast(b_.CreateFPTrunc(x, shaped(b_.getHalfTy())), int_type(16));
  }

 private:
  llvm::IRBuilder<>& b_;
  llvm::Type* like_;

  llvm::Type* shaped(llvm::Type* t) {
    const auto* v = llvm::dyn_cast<llvm::FixedVectorType>(like_);
    return v ? llvm::FixedVectorType::get(t, v->getNumElements()) : t;
  }
  llvm::Type* int_type(unsigned bits) { return shaped(b_.getIntNTy(bits)); }
  llvm::Constant* c(uint32_t v) { return llvm::ConstantInt::get(int_type(32), v); }
  llvm::Value* as_float(llvm::Value* v) { return b_.CreateBitCast(v, shaped(b_.getFloatTy())); }
  llvm::Value* as_int(llvm::Value* v) { return b_.CreateBitCast(v, int_type(32)); }
};

}  // namespace

llvm::Value* widen_small_float(llvm::IRBuilder<>& b, const Target& target, llvm::Value* bits, DType t) {
  Converter k(b, bits);
  if (t == DType::bf16) return k.widen_bfloat(bits);
  return t == DType::f16 && converts_half(target) ? k.widen_half(bits) : k.widen(bits, layout_of(t));
}

llvm::Value* narrow_to_small_float(llvm::IRBuilder<>& b, const Target& target, llvm::Value* x, DType t) {
  Converter k(b, x);
  if (t == DType::bf16) return k.narrow_to_bfloat(x);
  return t == DType::f16 && converts_half(target) ? k.narrow_to_half(x) : k.narrow(x, layout_of(t));
}

}  // namespace ingot
