// Expressions to LLVM IR, one scalar at a time. This folder's own.
#pragma once
#include <llvm/IR/IRBuilder.h>

#include <functional>
#include <unordered_map>
#include <vector>

#include "expr/expr.hpp"

namespace ingot {

// The type a value has in a register, and in memory: they differ for bool, which is one bit and one byte.
// User error for types that have no code yet.
llvm::Type* register_type(llvm::LLVMContext& context, DType t);
llvm::Type* memory_type(llvm::LLVMContext& context, DType t);

// Emits at the builder's position. An expression that was emitted in this scope or one around it is not emitted again.
class ExpressionEmitter {
 public:
  using LoadEmitter = std::function<llvm::Value*(const Expr& load)>;
  ExpressionEmitter(llvm::IRBuilder<>& builder, LoadEmitter load) : b_(builder), load_(std::move(load)), scopes_(1) {}

  llvm::Value* emit(const Expr& e);
  // What a symbol, index or tmp is in the current scope.
  void bind(const Expr& leaf, llvm::Value* value) { scopes_.back().insert_or_assign(leaf, value); }
  // Code that may not run, or runs again: values made in it are not used after it.
  template <class F>
  void in_scope(const F& f) {
    scopes_.emplace_back();
    f();
    scopes_.pop_back();
  }

  llvm::Value* convert(llvm::Value* v, DType from, DType to);

 private:
  llvm::IRBuilder<>& b_;
  LoadEmitter load_;
  std::vector<std::unordered_map<Expr, llvm::Value*, ExprHash, ExprSame>> scopes_;

  llvm::Value* find(const Expr& e) const;
  llvm::Value* make(const Expr& e);
  llvm::Value* constant(const Expr& e);
  llvm::Value* unary(const Expr& e);
  llvm::Value* binary(const Expr& e, ExprOp op, llvm::Value* x, llvm::Value* y);
  llvm::Value* compare(ExprOp op, DType t, llvm::Value* x, llvm::Value* y);
  llvm::Value* divide(const Expr& e, llvm::Value* x, llvm::Value* y);
  llvm::Value* select(const Expr& e);
};

// Two values of one type, combined as the accumulators of folds are; also Min, Max, And, Or, Add and Mul of expressions.
llvm::Value* combine(llvm::IRBuilder<>& b, ExprOp op, DType t, llvm::Value* x, llvm::Value* y);

}  // namespace ingot
