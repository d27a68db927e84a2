#include "codegen/expression.hpp"

#include <llvm/IR/Intrinsics.h>

#include "base/dtype.hpp"
#include "base/error.hpp"

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
  if (t == DType::f32) return llvm::Type::getFloatTy(context);
  if (t == DType::f64) return llvm::Type::getDoubleTy(context);
  // f16 and bf16 need conversions that not every target has; complex numbers are pairs.
  INGOT_REQUIRE(is_integral(t), "no code yet for elements of type ", name_of(t));
  return llvm::Type::getIntNTy(context, static_cast<unsigned>(8 * size_of(t)));
}

llvm::Type* memory_type(llvm::LLVMContext& context, DType t) {
  return t == DType::b8 ? llvm::Type::getInt8Ty(context) : register_type(context, t);
}

llvm::Value* combine(llvm::IRBuilder<>& b, ExprOp op, DType t, llvm::Value* x, llvm::Value* y) {
  const bool f = is_floating(t), u = is_unsigned(t);
  switch (op) {
    case Add: return f ? b.CreateFAdd(x, y) : b.CreateAdd(x, y);
    case Mul: return f ? b.CreateFMul(x, y) : b.CreateMul(x, y);
    // minimum and maximum, not minnum: NaN wins.
    case Min: return b.CreateBinaryIntrinsic(f ? llvm::Intrinsic::minimum : u ? llvm::Intrinsic::umin : llvm::Intrinsic::smin, x, y);
    case Max: return b.CreateBinaryIntrinsic(f ? llvm::Intrinsic::maximum : u ? llvm::Intrinsic::umax : llvm::Intrinsic::smax, x, y);
    case And: case BitAnd: return b.CreateAnd(x, y);
    case Or: case BitOr: return b.CreateOr(x, y);
    default: no_code(op, t);
  }
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
    case Sym: case Idx: case Tmp: throw_internal_error(__FILE__, __LINE__, text(e, " has no value here"));
    case Load: return load_(e);
    case Select: return select(e);
    case Cast: return convert(emit(e.arg(0)), e.arg(0).dtype(), e.dtype());
    default: break;
  }
  if (e.args().size() == 1) return unary(e);
  llvm::Value* v = emit(e.arg(0));
  for (std::size_t k = 1; k < e.args().size(); k++) v = binary(e, e.op(), v, emit(e.arg(k)));
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
    case IsNan: return f ? b_.CreateFCmpUNO(x, x) : b_.getFalse();
    case IsInf:
      return f ? b_.CreateFCmpOEQ(intrinsic(llvm::Intrinsic::fabs), llvm::ConstantFP::getInfinity(x->getType())) : b_.getFalse();
    default: no_code(e.op(), t);
  }
}

llvm::Value* ExpressionEmitter::binary(const Expr& e, ExprOp op, llvm::Value* x, llvm::Value* y) {
  const DType t = e.arg(0).dtype();
  switch (op) {
    case Lt: case Le: case Eq: case Ne: return compare(op, t, x, y);
    case FDiv: return b_.CreateFDiv(x, y);
    case FloorDiv: case Mod: return divide(e, x, y);
    case BitXor: return b_.CreateXor(x, y);
    case Shl: return b_.CreateShl(x, y);
    case Shr: return is_unsigned(t) ? b_.CreateLShr(x, y) : b_.CreateAShr(x, y);
    case Copysign: return b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, x, y);
    default: return combine(b_, op, t, x, y);
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

// Quotient and remainder that round to minus infinity; the machine's round to zero.
llvm::Value* ExpressionEmitter::divide(const Expr& e, llvm::Value* x, llvm::Value* y) {
  const bool quotient = e.op() == FloorDiv;
  const bool not_negative = e.arg(0)->lo >= 0 && e.arg(1)->lo >= 0;
  if (is_unsigned(e.dtype()) || not_negative) return quotient ? b_.CreateUDiv(x, y) : b_.CreateURem(x, y);
  llvm::Value* zero = llvm::Constant::getNullValue(x->getType());
  llvm::Value* r = b_.CreateSRem(x, y);
  llvm::Value* signs_differ = b_.CreateICmpSLT(b_.CreateXor(r, y), zero);
  llvm::Value* below = b_.CreateAnd(b_.CreateICmpNE(r, zero), signs_differ);
  if (!quotient) return b_.CreateSelect(below, b_.CreateAdd(r, y), r);
  llvm::Value* q = b_.CreateSDiv(x, y);
  return b_.CreateSelect(below, b_.CreateSub(q, llvm::ConstantInt::get(q->getType(), 1)), q);
}

// An arm that loads is evaluated only where it is selected: its index may be out of range elsewhere.
llvm::Value* ExpressionEmitter::select(const Expr& e) {
  llvm::Value* condition = emit(e.arg(0));
  if (!e.arg(1)->has_data && !e.arg(2)->has_data) return b_.CreateSelect(condition, emit(e.arg(1)), emit(e.arg(2)));
  llvm::Function* f = b_.GetInsertBlock()->getParent();
  auto block = [&](const char* name) { return llvm::BasicBlock::Create(b_.getContext(), name, f); };
  llvm::BasicBlock *then = block("then"), *otherwise = block("else"), *join = block("join");
  b_.CreateCondBr(condition, then, otherwise);
  llvm::PHINode* result = llvm::PHINode::Create(register_type(b_.getContext(), e.dtype()), 2, "", join);
  auto arm = [&](llvm::BasicBlock* start, const Expr& value) {
    b_.SetInsertPoint(start);
    in_scope([&] {
      llvm::Value* v = emit(value);
      result->addIncoming(v, b_.GetInsertBlock());
    });
    b_.CreateBr(join);
  };
  arm(then, e.arg(1));
  arm(otherwise, e.arg(2));
  b_.SetInsertPoint(join);
  return result;
}

llvm::Value* ExpressionEmitter::convert(llvm::Value* v, DType from, DType to) {
  if (from == to) return v;
  llvm::Type* type = register_type(b_.getContext(), to);
  if (to == DType::b8) return compare(Ne, from, v, llvm::Constant::getNullValue(v->getType()));
  if (is_floating(from) && is_floating(to)) return b_.CreateFPCast(v, type);
  // Saturating, so that a value out of range is some number and not undefined behaviour.
  if (is_floating(from)) {
    const ID id = is_unsigned(to) ? llvm::Intrinsic::fptoui_sat : llvm::Intrinsic::fptosi_sat;
    return b_.CreateIntrinsic(id, {type, v->getType()}, {v});
  }
  if (is_floating(to)) return is_unsigned(from) ? b_.CreateUIToFP(v, type) : b_.CreateSIToFP(v, type);
  return b_.CreateIntCast(v, type, !is_unsigned(from));
}

}  // namespace ingot
