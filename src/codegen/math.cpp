#include "codegen/math.hpp"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include <cmath>
#include <initializer_list>
#include <numbers>
#include <string>

#include "base/error.hpp"
#include "codegen/machine.hpp"

namespace ingot {
namespace {

using enum ExprOp;
using std::numbers::ln2;
using Value = llvm::Value*;

// The C function that computes `op` for doubles; the one for floats has an f at its end.
const char* libm_name(ExprOp op) {
  switch (op) {
    case Exp: return "exp";
    case Exp2: return "exp2";
    case Expm1: return "expm1";
    case Log: return "log";
    case Log2: return "log2";
    case Log10: return "log10";
    case Log1p: return "log1p";
    case Sin: return "sin";
    case Cos: return "cos";
    case Tan: return "tan";
    case Asin: return "asin";
    case Acos: return "acos";
    case Atan: return "atan";
    case Sinh: return "sinh";
    case Cosh: return "cosh";
    case Tanh: return "tanh";
    case Asinh: return "asinh";
    case Acosh: return "acosh";
    case Atanh: return "atanh";
    case Erf: return "erf";
    case Erfc: return "erfc";
    case Atan2: return "atan2";
    case Pow: return "pow";
    case Fmod: return "fmod";
    // Of src/kernels; lgamma itself writes a global.
    case Digamma: return "ingot_k_digamma";
    case Lgamma: return "ingot_k_lgamma";
    default: throw_internal_error(__FILE__, __LINE__, text(name_of(op), " is no function of libm"));
  }
}

Value call_libm(llvm::IRBuilder<>& b, ExprOp op, std::initializer_list<Value> args) {
  const bool single = (*args.begin())->getType()->getScalarType()->isFloatTy();
  return call_lanes(b, std::string(libm_name(op)) + (single ? "f" : ""), args);
}

// Inline code for one type: float or double, scalar or vector.
class Inline {
 public:
  Inline(llvm::IRBuilder<>& b, const Target& target, Value like)
      : b_(b), target_(target), type_(like->getType()), single_(type_->getScalarType()->isFloatTy()) {}

  // float: 1.1 ulp, double: 1.1 ulp.
  Value exp(Value x) {
    // Past these the result is infinite, or zero. NaN compares false and goes through.
    x = at_most(x, single_ ? 89 : 710);
    x = at_least(x, single_ ? -104 : -746);
    const auto [n, integer] = nearest(mul(x, c(std::numbers::log2e)));
    Value r = fma(n, c(single_ ? -0x1.62e4p-1 : -0x1.62e42feep-1), x);  // ln 2 in two parts: n times the first is exact
    r = fma(n, c(single_ ? -0x1.7f7d1cf8p-20 : -0x1.a39ef35793c76p-33), r);
    return scale(taylor_of_exp(r), n, integer);
  }
  // float: 1.2 ulp.
  Value exp2(Value x) {
    x = at_least(at_most(x, 129), -151);
    const auto [n, integer] = nearest(x);
    return scale(taylor_of_exp(mul(sub(x, n), c(ln2))), n, integer);
  }
  // float: 2 ulp.
  Value expm1(Value x) {
    Value p = c(1.0 / 3628800);
    for (double factorial : {362880.0, 40320.0, 5040.0, 720.0, 120.0, 24.0, 6.0, 2.0, 1.0}) p = fma(p, x, c(1 / factorial));
    return select(less(magnitude(x), c(0.5)), mul(x, p), sub(exp(x), c(1)));
  }

  // float: 0.9 ulp, double: 0.9 ulp.
  Value log(Value x) {
    const Parts p = parts_of(x);
    const Value low = c(single_ ? 0x1.7f7d1cf8p-20 : 0x1.a39ef35793c76p-33), high = c(single_ ? 0x1.62e4p-1 : 0x1.62e42feep-1);
    // log(1 + f) = f - (f²/2 - s(f²/2 + R)), as fdlibm has it, so that only small things are
    // rounded.
    Value small = sub(p.half_square, fma(p.s, add(p.half_square, p.series), mul(p.exponent, low)));
    return special_log(x, fma(p.exponent, high, sub(p.f, small)));
  }
  // Powers of two are exact. float: 2 ulp.
  Value log2(Value x) {
    const Parts p = parts_of(x);
    return special_log(x, fma(log1p_of(p), c(std::numbers::log2e), p.exponent));
  }
  // float: 2 ulp.
  Value log10(Value x) {
    const Parts p = parts_of(x);
    // The exponent times log10(2), in two parts of which the first is exact.
    const double high = 0x1.344p-2, low = std::numbers::log10e * ln2 - high;
    return special_log(x, fma(p.exponent, c(high), fma(p.exponent, c(low), mul(log1p_of(p), c(std::numbers::log10e)))));
  }
  // float: 2 ulp.
  Value log1p(Value x) {
    Value u = add(x, c(1)), logarithm = log(u);
    Value corrected = add(logarithm, div(sub(x, sub(u, c(1))), u));  // what the sum 1 + x lost
    Value plain = b_.CreateOr(equal(u, c(0)), equal(u, infinity()));
    return select(equal(u, c(1)), x, select(plain, logarithm, corrected));
  }

  // float: 1.8 ulp.
  Value tanh(Value x) {
    Value a = magnitude(x), z = mul(x, x);
    // tanh(x)/x - 1 by x², fitted on [0, 0.6] to 1e-9.
    Value p = polynomial(z, {-0x1.55553ep-2, 0x1.1109aep-3, -0x1.b898dep-5, 0x1.54b89ep-6, -0x1.82584ap-8});
    Value near = fma(mul(p, z), x, x);
    // Past 9 it is 1.
    Value twice = small_exp2(mul(at_most(a, 9.02), c(2 * std::numbers::log2e)));
    Value far = sub(c(1), div(c(2), add(twice, c(1))));
    return copysign(select(at_or_past(a, 0.6), far, near), x);  // of a zero, too
  }
  // float: 1.4 ulp.
  Value erf(Value x) {
    Value a = magnitude(x), z = mul(x, x);
    // erf(x)/x - 1 by x², fitted on [0, 0.85] to 1e-8: what is added to x is a seventh of it at
    // most, and so is its rounding.
    Value near =
        fma(polynomial(z, {0x1.06eba8p-3, -0x1.81271ap-2, 0x1.ce23dep-4, -0x1.b7220ep-6, 0x1.4b0768p-8, -0x1.4b18a0p-11}), x, x);
    // The logarithm of 1 - erf(x), fitted on [0.85, 4] to 1.6e-9 of erf; past that it is 1.
    Value log2_of_rest = polynomial(at_most(a, 4), {-0x1.5b08b4p-13, -0x1.a09c20p+0, -0x1.d63b6ap-1, -0x1.349b38p-3,
                                                    0x1.09ab4ep-5, -0x1.25c77ap-8, 0x1.3260f6p-12});
    Value far = copysign(sub(c(1), small_exp2(log2_of_rest)), x);
    return select(at_or_past(a, 0.85), far, near);
  }

 private:
  llvm::IRBuilder<>& b_;
  const Target& target_;
  llvm::Type* type_;
  bool single_;

  // x = 2^exponent (1 + f) with 1 + f between √½ and √2, s = f / (2 + f), and log(1 + f) = 2s +
  // s·series.
  struct Parts {
    Value exponent, f, s, half_square, series;
  };

  llvm::Type* int_type() {
    llvm::Type* t = b_.getIntNTy(single_ ? 32 : 64);
    const auto* v = llvm::dyn_cast<llvm::FixedVectorType>(type_);
    return v ? llvm::FixedVectorType::get(t, v->getNumElements()) : t;
  }
  Value c(double v) { return llvm::ConstantFP::get(type_, v); }
  Value k(int64_t v) { return llvm::ConstantInt::get(int_type(), static_cast<uint64_t>(v)); }
  Value infinity() { return llvm::ConstantFP::getInfinity(type_); }
  Value add(Value x, Value y) { return b_.CreateFAdd(x, y); }
  Value sub(Value x, Value y) { return b_.CreateFSub(x, y); }
  Value mul(Value x, Value y) { return b_.CreateFMul(x, y); }
  Value div(Value x, Value y) { return b_.CreateFDiv(x, y); }
  Value fma(Value x, Value y, Value z) { return b_.CreateIntrinsic(llvm::Intrinsic::fmuladd, {type_}, {x, y, z}); }
  Value select(Value condition, Value x, Value y) { return b_.CreateSelect(condition, x, y); }
  Value less(Value x, Value y) { return b_.CreateFCmpOLT(x, y); }
  Value equal(Value x, Value y) { return b_.CreateFCmpOEQ(x, y); }
  Value magnitude(Value x) { return b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x); }
  Value copysign(Value x, Value y) { return b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, x, y); }
  Value at_most(Value x, double bound) { return select(b_.CreateFCmpOGT(x, c(bound)), c(bound), x); }
  Value at_least(Value x, double bound) { return select(b_.CreateFCmpOLT(x, c(bound)), c(bound), x); }

  // The nearest integer as a float and as bits whose low part is that integer: adding 1.5 *
  // 2^mantissa pushes fractions out.
  std::pair<Value, Value> nearest(Value x) {
    Value magic = c(single_ ? 0x1.8p23 : 0x1.8p52);
    Value shifted = add(x, magic);
    Value integer = b_.CreateSub(b_.CreateBitCast(shifted, int_type()), b_.CreateBitCast(magic, int_type()));
    return {sub(shifted, magic), integer};
  }
  // The first coefficient is the constant.
  Value polynomial(Value x, std::initializer_list<double> coefficients) {
    const double* k = coefficients.end();
    Value p = c(*--k);
    while (k != coefficients.begin()) p = fma(p, x, c(*--k));
    return p;
  }
  // NaN is not.
  Value at_or_past(Value x, double bound) { return b_.CreateFCmpOGE(x, c(bound)); }

  // 2^x for |x| < 126, of float: half an ulp.
  Value small_exp2(Value x) {
    const auto [n, integer] = nearest(x);
    Value p =
        polynomial(sub(x, n), {1, 0x1.62e430p-1, 0x1.ebfbdcp-3, 0x1.c6aee8p-5, 0x1.3b2d4cp-7, 0x1.5f3e5ep-10, 0x1.41fbd4p-13});
    return b_.CreateBitCast(b_.CreateAdd(b_.CreateBitCast(p, int_type()), b_.CreateShl(integer, k(23))), type_);
  }
  // exp(r) for |r| <= ln(2)/2.
  Value taylor_of_exp(Value r) {
    const int degree = single_ ? 7 : 13;
    double factorial = 1;
    for (int i = 2; i <= degree; i++) factorial *= i;
    Value p = c(1 / factorial);
    for (int i = degree; i >= 1; i--) {
      factorial /= i;
      p = fma(p, r, c(1 / factorial));
    }
    return p;
  }
  // x 2^n, of a number and of the integer that it is: one instruction where the machine has it,
  // else in two steps, so that results may be denormal or overflow as they should.
  Value scale(Value x, Value n, Value integer) {
    if (Value done = scaled(b_, target_, x, n)) return done;
    const int mantissa = single_ ? 23 : 52, bias = single_ ? 127 : 1023;
    Value half = b_.CreateAShr(integer, k(1));
    auto power = [&](Value e) { return b_.CreateBitCast(b_.CreateShl(b_.CreateAdd(e, k(bias)), k(mantissa)), type_); };
    return mul(mul(x, power(half)), power(b_.CreateSub(integer, half)));
  }

  Parts parts_of(Value x) {
    const int mantissa = single_ ? 23 : 52;
    Value smallest = c(single_ ? 0x1p-126 : 0x1p-1022);
    Value denormal = less(x, smallest);
    Value normal = select(denormal, mul(x, c(single_ ? 0x1p23 : 0x1p52)), x);
    Value bits = b_.CreateBitCast(normal, int_type());
    Value e = b_.CreateAShr(b_.CreateSub(bits, k(single_ ? 0x3f3504f3 : 0x3fe6a09e667f3bcd)), k(mantissa));
    Value m = b_.CreateBitCast(b_.CreateSub(bits, b_.CreateShl(e, k(mantissa))), type_);
    Value exponent = b_.CreateSIToFP(b_.CreateSub(e, b_.CreateSelect(denormal, k(mantissa), k(0))), type_);
    Value f = sub(m, c(1)), s = div(f, add(f, c(2))), z = mul(s, s);
    const int last = single_ ? 13 : 25;
    Value series = c(2.0 / last);
    for (int i = last - 2; i >= 3; i -= 2) series = fma(series, z, c(2.0 / i));
    return {exponent, f, s, mul(mul(f, f), c(0.5)), mul(series, z)};
  }
  Value log1p_of(const Parts& p) { return sub(p.f, sub(p.half_square, mul(p.s, add(p.half_square, p.series)))); }
  // Zero, infinity, negative numbers and NaN, where the parts mean nothing.
  Value special_log(Value x, Value y) {
    y = select(equal(x, infinity()), x, y);
    y = select(equal(x, c(0)), llvm::ConstantFP::getInfinity(type_, true), y);
    return select(b_.CreateFCmpULT(x, c(0)), llvm::ConstantFP::getNaN(type_), y);
  }
};

}  // namespace

llvm::Value* call_lanes(llvm::IRBuilder<>& b, const std::string& name, std::initializer_list<llvm::Value*> args) {
  llvm::Type* type = (*args.begin())->getType();
  llvm::Type* scalar = type->getScalarType();
  const std::vector<llvm::Type*> params(args.size(), scalar);
  llvm::Module* module = b.GetInsertBlock()->getModule();
  llvm::FunctionCallee callee = module->getOrInsertFunction(name, llvm::FunctionType::get(scalar, params, false));
  if (auto* f = llvm::dyn_cast<llvm::Function>(callee.getCallee())) f->setDoesNotAccessMemory(), f->setDoesNotThrow();
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  if (!vector) return b.CreateCall(callee, std::vector<Value>(args));
  Value result = llvm::PoisonValue::get(type);
  for (unsigned lane = 0; lane < vector->getNumElements(); lane++) {
    std::vector<Value> own;
    for (Value a : args) own.push_back(b.CreateExtractElement(a, lane));
    result = b.CreateInsertElement(result, b.CreateCall(callee, own), lane);
  }
  return result;
}

llvm::Value* emit_math(llvm::IRBuilder<>& b, const Target& target, ExprOp op, llvm::Value* x) {
  const bool single = x->getType()->getScalarType()->isFloatTy();
  Inline code(b, target, x);
  switch (op) {
    case Exp: return code.exp(x);
    case Log:
      return code.log(x);
    // clang-format off
    case Exp2: if (single) return code.exp2(x); break;
    case Expm1: if (single) return code.expm1(x); break;
    case Log2: if (single) return code.log2(x); break;
    case Log10: if (single) return code.log10(x); break;
    case Log1p: if (single) return code.log1p(x); break;
    case Tanh: if (single) return code.tanh(x); break;
    case Erf: if (single) return code.erf(x); break;
    // clang-format on
    default: break;
  }
  return call_libm(b, op, {x});
}

llvm::Value* emit_math(llvm::IRBuilder<>& b, ExprOp op, llvm::Value* x, llvm::Value* y) { return call_libm(b, op, {x, y}); }

}  // namespace ingot
