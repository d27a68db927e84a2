#include "codegen/kernel.hpp"

#include <llvm/IR/Module.h>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "codegen/expression.hpp"

namespace ingot {
namespace {

using loop::Computation;
using loop::Fold;
using loop::KernelCall;

ExprOp operation_of(Accumulate how) {
  switch (how) {
    case Accumulate::sum: return ExprOp::Add;
    case Accumulate::product: return ExprOp::Mul;
    case Accumulate::min: return ExprOp::Min;
    case Accumulate::max: return ExprOp::Max;
    case Accumulate::all: return ExprOp::And;
    case Accumulate::any: return ExprOp::Or;
  }
  return ExprOp::Add;
}

// What a fold over nothing gives.
llvm::Constant* identity(llvm::LLVMContext& context, Accumulate how, DType t) {
  llvm::Type* type = register_type(context, t);
  const bool lowest = how == Accumulate::max, highest = how == Accumulate::min;
  if (is_floating(t)) {
    if (lowest || highest) return llvm::ConstantFP::getInfinity(type, lowest);
    return llvm::ConstantFP::get(type, how == Accumulate::product ? 1 : 0);
  }
  const unsigned bits = type->getIntegerBitWidth();
  const bool has_sign = is_signed_integral(t);
  if (highest) return llvm::ConstantInt::get(type, has_sign ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getMaxValue(bits));
  if (lowest) return llvm::ConstantInt::get(type, has_sign ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt::getMinValue(bits));
  return llvm::ConstantInt::get(type, how == Accumulate::product || how == Accumulate::all ? 1 : 0);
}

class KernelEmitter {
 public:
  KernelEmitter(llvm::Module& module, const loop::Program& program, const loop::Step& step, const std::string& name)
      : module_(module), context_(module.getContext()), program_(program), b_(context_),
        expressions_(b_, [this](const Expr& e) { return load(e); }) {
    const std::vector<int> buffers = loop::buffers_of(step);
    llvm::Type* pointer = llvm::PointerType::getUnqual(context_);
    const std::vector<llvm::Type*> params(buffers.size() + 1, pointer);
    function_ = llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), params, false), llvm::Function::InternalLinkage, name, module);
    function_->addFnAttr(llvm::Attribute::NoInline);
    pointers_.resize(program.buffers.size());
    for (std::size_t k = 0; k < buffers.size(); k++) {
      llvm::Argument* a = function_->getArg(static_cast<unsigned>(k + 1));
      a->addAttr(llvm::Attribute::NoAlias);
      a->setName(program.buffers[static_cast<std::size_t>(buffers[k])].name);
      pointers_[static_cast<std::size_t>(buffers[k])] = a;
    }
    entry_ = llvm::BasicBlock::Create(context_, "entry", function_);
    b_.SetInsertPoint(entry_);
    llvm::FastMathFlags contract;
    contract.setAllowContract();
    b_.setFastMathFlags(contract);
    const std::vector<llvm::Value*> symbols = load_symbols(b_, program, function_->getArg(0));
    for (std::size_t k = 0; k < symbols.size(); k++) expressions_.bind(program.symbols[k], symbols[k]);
  }

  llvm::Function* run(const loop::Step& step) {
    std::visit([this](const auto& s) { emit(s); }, step);
    b_.CreateRetVoid();
    return function_;
  }

 private:
  llvm::Module& module_;
  llvm::LLVMContext& context_;
  const loop::Program& program_;
  llvm::IRBuilder<> b_;
  ExpressionEmitter expressions_;
  llvm::Function* function_ = nullptr;
  llvm::BasicBlock* entry_ = nullptr;
  std::vector<llvm::Value*> pointers_;  // by buffer

  llvm::AllocaInst* local(llvm::Type* type, uint64_t count = 1) {
    llvm::IRBuilder<> at_entry(entry_, entry_->begin());
    return at_entry.CreateAlloca(type, at_entry.getInt64(count));
  }

  llvm::Value* address(int buffer, std::span<const Expr> index) {
    const loop::Buffer& b = program_.buffers[static_cast<std::size_t>(buffer)];
    Expr offset = 0;
    for (std::size_t d = 0; d < index.size(); d++) offset = offset + index[d] * b.strides[d];
    return b_.CreateInBoundsGEP(memory_type(context_, b.dtype), pointers_[static_cast<std::size_t>(buffer)], expressions_.emit(offset));
  }
  llvm::Value* load(const Expr& e) {
    llvm::Value* v = b_.CreateLoad(memory_type(context_, e.dtype()), address(static_cast<int>(e->i), e.args()));
    return e.dtype() == DType::b8 ? b_.CreateICmpNE(v, b_.getInt8(0)) : v;
  }

  // for v in [0, its extent): body, for each of `vars` inside the one before.
  template <class F>
  void loops(std::span<const Expr> vars, const F& body) {
    if (vars.empty()) return body();
    llvm::Value* extent = expressions_.emit(vars[0].arg(0));
    llvm::BasicBlock* before = b_.GetInsertBlock();
    auto block = [&](const char* name) { return llvm::BasicBlock::Create(context_, name, function_); };
    llvm::BasicBlock *loop = block("loop"), *done = block("done");
    b_.CreateCondBr(b_.CreateICmpSGT(extent, b_.getInt64(0)), loop, done);
    b_.SetInsertPoint(loop);
    llvm::PHINode* i = b_.CreatePHI(b_.getInt64Ty(), 2, to_text(vars[0]));
    expressions_.in_scope([&] {
      expressions_.bind(vars[0], i);
      loops(vars.subspan(1), body);
    });
    llvm::Value* next = b_.CreateNSWAdd(i, b_.getInt64(1));
    i->addIncoming(b_.getInt64(0), before);
    i->addIncoming(next, b_.GetInsertBlock());
    b_.CreateCondBr(b_.CreateICmpSLT(next, extent), loop, done);
    b_.SetInsertPoint(done);
  }

  void emit(const Computation& c) {
    loops(c.vars, [&] {
      for (const Fold& f : c.folds) emit(f);
      llvm::Value* value = expressions_.emit(c.value);
      if (c.value.dtype() == DType::b8) value = b_.CreateZExt(value, b_.getInt8Ty());
      b_.CreateStore(value, address(c.out, c.vars));
    });
  }

  void emit(const Fold& f) {
    const DType t = f.body.dtype();
    llvm::Type* type = register_type(context_, t);
    llvm::AllocaInst* accumulator = local(type);
    b_.CreateStore(identity(context_, f.how, t), accumulator);
    loops(f.vars, [&] {
      llvm::Value* x = expressions_.emit(f.body);
      b_.CreateStore(combine(b_, operation_of(f.how), t, b_.CreateLoad(type, accumulator), x), accumulator);
    });
    expressions_.bind(f.tmp, b_.CreateLoad(type, accumulator));
  }

  void emit(const KernelCall& k) {
    std::vector<llvm::Value*> args;
    std::vector<llvm::Type*> types;
    for (const KernelCall::Argument& a : k.args) {
      args.push_back(argument(a));
      types.push_back(args.back()->getType());
    }
    const llvm::FunctionCallee callee = module_.getOrInsertFunction(k.symbol, llvm::FunctionType::get(b_.getVoidTy(), types, false));
    b_.CreateCall(callee, args);
  }
  llvm::Value* argument(const KernelCall::Argument& a) {
    using enum KernelCall::Argument::Kind;
    switch (a.kind) {
      case read: case write: return pointers_[static_cast<std::size_t>(a.buffer)];
      case null: return llvm::ConstantPointerNull::get(llvm::PointerType::getUnqual(context_));
      case int32: return b_.CreateTrunc(expressions_.emit(a.values[0]), b_.getInt32Ty());
      case int64: return expressions_.emit(a.values[0]);
      case array: break;
    }
    llvm::AllocaInst* values = local(b_.getInt64Ty(), a.values.size());
    for (std::size_t k = 0; k < a.values.size(); k++)
      b_.CreateStore(expressions_.emit(a.values[k]), b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), values, k));
    return values;
  }
};

}  // namespace

std::vector<llvm::Value*> load_symbols(llvm::IRBuilder<>& b, const loop::Program& program, llvm::Value* sizes) {
  std::vector<llvm::Value*> values;
  for (std::size_t k = 0; k < program.symbols.size(); k++) {
    llvm::Value* at = b.CreateConstInBoundsGEP1_64(b.getInt64Ty(), sizes, k);
    values.push_back(b.CreateLoad(b.getInt64Ty(), at, to_text(program.symbols[k])));
  }
  return values;
}

llvm::Function* emit_kernel(llvm::Module& module, const loop::Program& program, const loop::Step& step, const std::string& name) {
  return KernelEmitter(module, program, step, name).run(step);
}

}  // namespace ingot
