#include "codegen/expression.hpp"

#include <llvm/IR/Intrinsics.h>

#include <algorithm>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "codegen/half.hpp"
#include "codegen/math.hpp"

namespace ingot {
namespace {

using enum ExprOp;
using llvm::Intrinsic::ID;

bool is_unsigned(DType t) { return !is_floating(t) && !is_signed_integral(t); }  // bool too

[[noreturn]] void no_code(ExprOp op, DType t) {
  throw_user_error(text("no code yet for ", name_of(op), " of ", short_name_of(t)));
}

}  // namespace

llvm::Type* register_type(llvm::LLVMContext& context, DType t) {
  if (t == DType::b8) return llvm::Type::getInt1Ty(context);
  if (t == DType::f32 || is_reduced_floating(t)) return llvm::Type::getFloatTy(context);
  if (t == DType::f64) return llvm::Type::getDoubleTy(context);
  return llvm::Type::getIntNTy(context, static_cast<unsigned>(8 * size_of(t)));
}

llvm::Type* memory_type(llvm::LLVMContext& context, DType t) {
  if (t == DType::f32 || t == DType::f64) return register_type(context, t);
  return llvm::Type::getIntNTy(context, static_cast<unsigned>(8 * size_of(t)));
}

llvm::Type* shaped_as(llvm::Type* t, const llvm::Type* like) {
  const auto* v = llvm::dyn_cast<llvm::FixedVectorType>(like);
  return v ? llvm::FixedVectorType::get(t, v->getNumElements()) : t;
}

llvm::Value* combine(llvm::IRBuilder<>& b, ExprOp op, DType t, llvm::Value* x, llvm::Value* y) {
  const bool f = is_floating(t), u = is_unsigned(t);
  switch (op) {
    case Add: return f ? b.CreateFAdd(x, y) : b.CreateAdd(x, y);
    case Mul: return f ? b.CreateFMul(x, y) : b.CreateMul(x, y);
    // minimum and maximum, not minnum: NaN wins.
    case Min:
      return b.CreateBinaryIntrinsic(f ? llvm::Intrinsic::minimum : u ? llvm::Intrinsic::umin : llvm::Intrinsic::smin, x, y);
    case Max:
      return b.CreateBinaryIntrinsic(f ? llvm::Intrinsic::maximum : u ? llvm::Intrinsic::umax : llvm::Intrinsic::smax, x, y);
    case And:
    case BitAnd: return b.CreateAnd(x, y);
    case Or:
    case BitOr: return b.CreateOr(x, y);
    default: no_code(op, t);
  }
}

void may_fuse(llvm::Value* v) {
  auto* i = llvm::dyn_cast<llvm::BinaryOperator>(v);
  if (i && (i->getOpcode() == llvm::Instruction::FMul || i->getOpcode() == llvm::Instruction::FAdd)) i->setHasAllowContract(true);
}

llvm::Value* ExpressionEmitter::iota(llvm::Value* base, int lanes) {
  std::vector<llvm::Constant*> steps;
  for (int lane = 0; lane < lanes; lane++) steps.push_back(b_.getInt64(static_cast<uint64_t>(lane)));
  return b_.CreateAdd(b_.CreateVectorSplat(static_cast<unsigned>(lanes), base), llvm::ConstantVector::get(steps));
}

llvm::Value* ExpressionEmitter::broadcast(llvm::Value* v) {
  return lanes_.count == 1 || v->getType()->isVectorTy() ? v : b_.CreateVectorSplat(static_cast<unsigned>(lanes_.count), v);
}

void ExpressionEmitter::match(llvm::Value*& x, llvm::Value*& y) {
  if (x->getType()->isVectorTy() == y->getType()->isVectorTy()) return;
  x = broadcast(x);
  y = broadcast(y);
}

llvm::Value* ExpressionEmitter::find(const Expr& e) const {
  for (std::size_t s = scopes_.size(); s-- > 0;)
    if (const auto found = scopes_[s].find(e); found != scopes_[s].end()) return found->second;
  return nullptr;
}

llvm::Value* ExpressionEmitter::emit(const Expr& e) {
  if (llvm::Value* known = find(e)) return known;
  llvm::Value* v = make(e);
  bind(e, v);
  return v;
}

llvm::Value* ExpressionEmitter::make(const Expr& e) {
  switch (e.op()) {
    case Const: return constant(e);
    case Sym:
    case Idx:
    case Tmp: throw_internal_error(__FILE__, __LINE__, text(e, " has no value here"));
    case Load: return load_(e);
    case Select: return select(e);
    case Cast: return convert(emit(e.arg(0)), e.arg(0).dtype(), e.dtype());
    default: break;
  }
  if (e.args().size() == 1) return unary(e);
  // A sum of products is what a reduction of a few terms is when it is written out (the taps of a
  // convolution).
  constexpr std::size_t kFewestTerms = 3;
  const bool fuses = e.op() == Add && is_floating(e.dtype()) && e.args().size() >= kFewestTerms &&
                     std::all_of(e.args().begin(), e.args().end(), [](const Expr& a) { return a.op() == Mul; });
  llvm::Value* v = emit(e.arg(0));
  for (std::size_t k = 1; k < e.args().size(); k++) {
    llvm::Value* next = emit(e.arg(k));
    v = binary(e, v, next);
    if (fuses) may_fuse(next), may_fuse(v);
  }
  return v;
}

llvm::Value* ExpressionEmitter::constant(const Expr& e) {
  llvm::Type* type = register_type(b_.getContext(), e.dtype());
  if (is_floating(e.dtype())) return llvm::ConstantFP::get(type, e->f);
  return llvm::ConstantInt::get(type, static_cast<uint64_t>(e->i), is_signed_integral(e.dtype()));
}

llvm::Value* ExpressionEmitter::unary(const Expr& e) {
  const DType t = e.arg(0).dtype();
  llvm::Value* x = emit(e.arg(0));
  const bool f = is_floating(t);
  auto zero = [&] { return llvm::Constant::getNullValue(x->getType()); };
  auto no = [&] { return llvm::Constant::getNullValue(shaped_as(b_.getInt1Ty(), x->getType())); };
  auto intrinsic = [&](ID id) { return b_.CreateUnaryIntrinsic(id, x); };
  switch (e.op()) {
    case Not: return b_.CreateNot(x);
    case Neg: return f ? b_.CreateFNeg(x) : b_.CreateNeg(x);
    case Abs:
      if (is_unsigned(t)) return x;
      return f ? intrinsic(llvm::Intrinsic::fabs) : b_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x, b_.getFalse());
    case Sign: {
      llvm::Value* more = convert(compare(Lt, t, zero(), x), DType::b8, t);
      llvm::Value* less = convert(compare(Lt, t, x, zero()), DType::b8, t);
      return f ? b_.CreateFSub(more, less) : b_.CreateSub(more, less);
    }
    case Floor: return f ? intrinsic(llvm::Intrinsic::floor) : x;
    case Ceil: return f ? intrinsic(llvm::Intrinsic::ceil) : x;
    case Round: return f ? intrinsic(llvm::Intrinsic::roundeven) : x;
    case Trunc: return f ? intrinsic(llvm::Intrinsic::trunc) : x;
    case Sqrt: return intrinsic(llvm::Intrinsic::sqrt);
    case Rsqrt: return b_.CreateFDiv(llvm::ConstantFP::get(x->getType(), 1), intrinsic(llvm::Intrinsic::sqrt));
    case IsNan: return f ? b_.CreateFCmpUNO(x, x) : no();
    case IsInf: return f ? b_.CreateFCmpOEQ(intrinsic(llvm::Intrinsic::fabs), llvm::ConstantFP::getInfinity(x->getType())) : no();
    default:
      if (!f) no_code(e.op(), t);
      return emit_math(b_, target_, e.op(), x);
  }
}

llvm::Value* ExpressionEmitter::binary(const Expr& e, llvm::Value* x, llvm::Value* y) {
  const DType t = e.arg(0).dtype();
  match(x, y);
  switch (e.op()) {
    case Lt:
    case Le:
    case Eq:
    case Ne: return compare(e.op(), t, x, y);
    case FDiv: return b_.CreateFDiv(x, y);
    case FloorDiv:
    case Mod: return divide(e, x, y);
    case BitXor: return b_.CreateXor(x, y);
    case Shl: return b_.CreateShl(x, y);
    case Shr: return is_unsigned(t) ? b_.CreateLShr(x, y) : b_.CreateAShr(x, y);
    case Copysign: return b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, x, y);
    case Pow:
    case Atan2:
    case Fmod:
      if (!is_floating(t)) return e.op() == Fmod ? remainder(x, y, is_unsigned(t)) : call_lanes(b_, "ingot_k_pow_i64", {x, y});
      return emit_math(b_, e.op(), x, y);
    default: return combine(b_, e.op(), t, x, y);
  }
}

llvm::Value* ExpressionEmitter::compare(ExprOp op, DType t, llvm::Value* x, llvm::Value* y) {
  const bool f = is_floating(t), u = is_unsigned(t);
  switch (op) {
    case Lt: return f ? b_.CreateFCmpOLT(x, y) : u ? b_.CreateICmpULT(x, y) : b_.CreateICmpSLT(x, y);
    case Le: return f ? b_.CreateFCmpOLE(x, y) : u ? b_.CreateICmpULE(x, y) : b_.CreateICmpSLE(x, y);
    case Eq: return f ? b_.CreateFCmpOEQ(x, y) : b_.CreateICmpEQ(x, y);
    default: return f ? b_.CreateFCmpUNE(x, y) : b_.CreateICmpNE(x, y);
  }
}

// Quotient and remainder that round to minus infinity; the machine's round to zero. A divisor of an
// index is positive, or 0 where there is nothing to index: what a loop does alike each time is
// computed before it, though it may do nothing. One that data gives may be anything. None may stop
// the process: by 0, and by -1 of data, nothing is divided.
llvm::Value* ExpressionEmitter::divide(const Expr& e, llvm::Value* x, llvm::Value* y) {
  const bool quotient = e.op() == FloorDiv;
  if (!e.arg(1)->has_data && e.arg(1)->lo < 1)
    y = b_.CreateSelect(b_.CreateICmpEQ(y, llvm::Constant::getNullValue(y->getType())), llvm::ConstantInt::get(y->getType(), 1),
                        y);
  const bool not_negative = e.arg(0)->lo >= 0 && e.arg(1)->lo >= 0;
  if (!e.arg(1)->has_data && (is_unsigned(e.dtype()) || not_negative))
    return quotient ? b_.CreateUDiv(x, y) : b_.CreateURem(x, y);
  llvm::Constant* zero = llvm::Constant::getNullValue(x->getType());
  llvm::Constant* one = llvm::ConstantInt::get(x->getType(), 1);
  llvm::Value *by = y, *negated = nullptr;
  if (e.arg(1)->has_data) {
    by = b_.CreateSelect(b_.CreateICmpEQ(y, zero), one, y);
    if (!is_unsigned(e.dtype())) {
      negated = b_.CreateICmpEQ(y, llvm::Constant::getAllOnesValue(y->getType()));
      by = b_.CreateSelect(negated, one, by);
    }
  }
  if (is_unsigned(e.dtype())) return quotient ? b_.CreateUDiv(x, by) : b_.CreateURem(x, by);
  llvm::Value* r = b_.CreateSRem(x, by);
  llvm::Value* signs_differ = b_.CreateICmpSLT(b_.CreateXor(r, by), zero);
  llvm::Value* below = b_.CreateAnd(b_.CreateICmpNE(r, zero), signs_differ);
  if (!quotient) return b_.CreateSelect(below, b_.CreateAdd(r, by), r);
  llvm::Value* q = b_.CreateSDiv(x, by);
  q = b_.CreateSelect(below, b_.CreateSub(q, one), q);
  return negated ? b_.CreateSelect(negated, b_.CreateNeg(x), q) : q;
}

// The remainder that has the sign of its dividend. By 0 it is 0, by -1 too.
llvm::Value* ExpressionEmitter::remainder(llvm::Value* x, llvm::Value* y, bool without_sign) {
  llvm::Constant* zero = llvm::Constant::getNullValue(x->getType());
  llvm::Value* trivial = b_.CreateOr(b_.CreateICmpEQ(y, zero), b_.CreateICmpEQ(y, llvm::Constant::getAllOnesValue(y->getType())));
  if (without_sign) trivial = b_.CreateICmpEQ(y, zero);
  llvm::Value* by = b_.CreateSelect(trivial, llvm::ConstantInt::get(y->getType(), 1), y);
  return b_.CreateSelect(trivial, zero, without_sign ? b_.CreateURem(x, by) : b_.CreateSRem(x, by));
}

// An arm that loads is evaluated only where it is selected: its index may be out of range
// elsewhere.
llvm::Value* ExpressionEmitter::select(const Expr& e) {
  llvm::Value* condition = emit(e.arg(0));
  const bool loads = e.arg(1)->has_data || e.arg(2)->has_data;
  if (loads && !condition->getType()->isVectorTy()) return branch(e, condition);
  llvm::Value* arms[2];
  for (std::size_t k = 0; k < 2; k++) {
    if (!loads) {
      arms[k] = emit(e.arg(k + 1));
      continue;
    }
    llvm::Value* own = k == 0 ? condition : b_.CreateNot(condition);
    llvm::Value* before = std::exchange(mask_, mask_ ? b_.CreateAnd(mask_, own) : own);
    in_scope([&] { arms[k] = emit(e.arg(k + 1)); });
    mask_ = before;
  }
  match(arms[0], arms[1]);
  if (condition->getType()->isVectorTy()) arms[0] = broadcast(arms[0]), arms[1] = broadcast(arms[1]);
  return b_.CreateSelect(condition, arms[0], arms[1]);
}

llvm::Value* ExpressionEmitter::branch(const Expr& e, llvm::Value* condition) {
  llvm::Function* f = b_.GetInsertBlock()->getParent();
  auto block = [&](const char* name) { return llvm::BasicBlock::Create(b_.getContext(), name, f); };
  llvm::BasicBlock* starts[2] = {block("then"), block("else")};
  llvm::BasicBlock *ends[2], *join = block("join");
  llvm::Value* values[2];
  b_.CreateCondBr(condition, starts[0], starts[1]);
  for (std::size_t k = 0; k < 2; k++) {
    b_.SetInsertPoint(starts[k]);
    in_scope([&] { values[k] = emit(e.arg(k + 1)); });
    ends[k] = b_.GetInsertBlock();
  }
  const bool vector = values[0]->getType()->isVectorTy() || values[1]->getType()->isVectorTy();
  for (std::size_t k = 0; k < 2; k++) {
    b_.SetInsertPoint(ends[k]);
    if (vector) values[k] = broadcast(values[k]);
    b_.CreateBr(join);
  }
  b_.SetInsertPoint(join);
  llvm::PHINode* result = b_.CreatePHI(values[0]->getType(), 2);
  for (std::size_t k = 0; k < 2; k++) result->addIncoming(values[k], ends[k]);
  return result;
}

llvm::Value* ExpressionEmitter::convert(llvm::Value* v, DType from, DType to) {
  if (from == to) return v;
  llvm::Type* type = shaped_as(register_type(b_.getContext(), to), v->getType());
  if (to == DType::b8) return compare(Ne, from, v, llvm::Constant::getNullValue(v->getType()));
  if (is_reduced_floating(to)) {  // a float that the type has
    v = convert(v, from, DType::f32);
    return widen_small_float(b_, target_, narrow_to_small_float(b_, target_, v, to), to);
  }
  if (is_floating(from) && is_floating(to)) return b_.CreateFPCast(v, type);
  if (is_floating(from)) return float_to_int(v, type, is_unsigned(to));
  if (is_floating(to)) return is_unsigned(from) ? b_.CreateUIToFP(v, type) : b_.CreateSIToFP(v, type);
  return b_.CreateIntCast(v, type, !is_unsigned(from));
}

// The rule of base/float_to_int.hpp.
llvm::Value* ExpressionEmitter::float_to_int(llvm::Value* v, llvm::Type* to, bool no_sign) {
  const unsigned bits = to->getScalarSizeInBits();
  llvm::Type* wide = shaped_as(bits < 32 || (bits == 32 && !no_sign) ? b_.getInt32Ty() : b_.getInt64Ty(), to);
  llvm::Value* const as_signed = b_.CreateTrunc(b_.CreateIntrinsic(llvm::Intrinsic::fptosi_sat, {wide, v->getType()}, {v}), to);
  if (!no_sign || bits < 64) return as_signed;
  llvm::Value* const large = b_.CreateFCmpOGE(v, llvm::ConstantFP::get(v->getType(), 0x1p63));
  return b_.CreateSelect(large, b_.CreateIntrinsic(llvm::Intrinsic::fptoui_sat, {to, v->getType()}, {v}), as_signed);
}

llvm::Value* ExpressionEmitter::to_memory(llvm::Value* v, DType t) {
  if (t == DType::b8) return b_.CreateZExt(v, shaped_as(b_.getInt8Ty(), v->getType()));
  return is_reduced_floating(t) ? narrow_to_small_float(b_, target_, v, t) : v;
}

llvm::Value* ExpressionEmitter::from_memory(llvm::Value* v, DType t) {
  if (t == DType::b8) return b_.CreateICmpNE(v, llvm::Constant::getNullValue(v->getType()));
  return is_reduced_floating(t) ? widen_small_float(b_, target_, v, t) : v;
}

}  // namespace ingot
