// Expressions to LLVM IR, one element or one vector of elements at a time. For this folder and
// backends.
//
// A value is a scalar or a vector of lanes(). What does not depend on the vectorised variable stays
// scalar and is broadcast where it meets a vector.
#pragma once
#include <llvm/IR/IRBuilder.h>

#include <functional>
#include <unordered_map>
#include <vector>

#include "codegen/target.hpp"
#include "ingot/expr.hpp"

namespace ingot {

// The type a value has in a register, and in memory. They differ for bool, which is one bit and one
// byte; for the small floats, which are computed in float; and for complex numbers, which are moved
// as bits and not computed with.
llvm::Type* register_type(llvm::LLVMContext& context, DType t);
llvm::Type* memory_type(llvm::LLVMContext& context, DType t);

// Emits at the builder's position. An expression that was emitted in this scope or one around it is
// not emitted again.
class ExpressionEmitter {
 public:
  using LoadEmitter = std::function<llvm::Value*(const Expr& load)>;
  ExpressionEmitter(llvm::IRBuilder<>& builder, const Target& target, LoadEmitter load)
      : b_(builder), target_(target), load_(std::move(load)), scopes_(1) {}

  llvm::Value* emit(const Expr& e);
  // What a symbol, index or tmp is in the current scope.
  void bind(const Expr& leaf, llvm::Value* value) { scopes_.back().insert_or_assign(leaf, value); }
  // A symbol by the eight bytes that a run has for it: an integer, or the bits of a double.
  void bind_symbol(const Expr& symbol, llvm::Value* bits) {
    bind(symbol, symbol.dtype() == DType::f64 ? b_.CreateBitCast(bits, b_.getDoubleTy()) : bits);
  }
  // Code that may not run, or runs again: values made in it are not used after it.
  template <class F>
  void in_scope(const F& f) {
    scopes_.emplace_back();
    f();
    scopes_.pop_back();
  }

  // While f emits, `variable` is the vector base, base + 1, … base + lanes - 1. One lane: it is
  // base, and all is scalar.
  template <class F>
  void in_vector(const Expr& variable, llvm::Value* base, int lanes, const F& f) {
    const Lanes before = std::exchange(lanes_, {variable, base, lanes});
    in_scope([&] {
      bind(variable, lanes == 1 ? base : iota(base, lanes));
      f();
    });
    lanes_ = before;
  }
  int lanes() const { return lanes_.count; }
  const Expr& variable() const { return lanes_.variable; }  // null outside in_vector
  llvm::Value* base() const { return lanes_.base; }
  // The lanes in which what is emitted now is asked for: null is all of them, otherwise a vector of
  // bits.
  llvm::Value* mask() const { return mask_; }

  llvm::Value* convert(llvm::Value* v, DType from, DType to);
  llvm::Value* float_to_int(llvm::Value* v, llvm::Type* to, bool no_sign);
  // A vector of lanes() from a scalar; vectors are as they are.
  llvm::Value* broadcast(llvm::Value* v);
  // To and from the type in memory: v is a scalar or vector of register_type, memory_type.
  llvm::Value* to_memory(llvm::Value* v, DType t);
  llvm::Value* from_memory(llvm::Value* v, DType t);

 private:
  struct Lanes {
    Expr variable;
    llvm::Value* base = nullptr;
    int count = 1;
  };
  using Scope = std::unordered_map<Expr, llvm::Value*, ExprHash, ExprSame>;

  llvm::IRBuilder<>& b_;
  const Target& target_;
  LoadEmitter load_;
  std::vector<Scope> scopes_;
  Lanes lanes_;
  llvm::Value* mask_ = nullptr;

  llvm::Value* iota(llvm::Value* base, int lanes);
  llvm::Value* find(const Expr& e) const;
  llvm::Value* make(const Expr& e);
  llvm::Value* constant(const Expr& e);
  llvm::Value* unary(const Expr& e);
  llvm::Value* binary(const Expr& e, llvm::Value* x, llvm::Value* y);
  llvm::Value* compare(ExprOp op, DType t, llvm::Value* x, llvm::Value* y);
  llvm::Value* divide(const Expr& e, llvm::Value* x, llvm::Value* y);
  llvm::Value* remainder(llvm::Value* x, llvm::Value* y, bool without_sign);
  llvm::Value* select(const Expr& e);
  llvm::Value* branch(const Expr& e, llvm::Value* condition);
  void match(llvm::Value*& x, llvm::Value*& y);  // both scalars or both vectors
};

// Two values of one type, combined as the accumulators of folds are; also Min, Max, And, Or, Add
// and Mul of expressions.
llvm::Value* combine(llvm::IRBuilder<>& b, ExprOp op, DType t, llvm::Value* x, llvm::Value* y);
// A product is rounded before anything is added to it, as it is where an op's result goes to
// memory: 1 - x*x for an x next to 1 is otherwise another number than eager's. Only where this was
// called, of a product and of the sum it goes into, may one instruction do both: in sums of many
// products.
void may_fuse(llvm::Value* product_or_sum);

// `t`, or the vector of it that has as many lanes as `like`.
llvm::Type* shaped_as(llvm::Type* t, const llvm::Type* like);

}  // namespace ingot
