#include "codegen/generate.hpp"

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "codegen/expression.hpp"
#include "codegen/kernel.hpp"
#include "codegen/llvm_state.hpp"

namespace ingot {
namespace {

class ModuleEmitter {
 public:
  ModuleEmitter(llvm::Module& module, const loop::Program& program)
      : module_(module), program_(program), b_(module.getContext()), pointer_(llvm::PointerType::getUnqual(module.getContext())) {}

  void run() {
    for (std::size_t k = 0; k < program_.steps.size(); k++)
      kernels_.push_back(emit_kernel(module_, program_, program_.steps[k], text("step.", k)));
    emit_check();
    emit_query();
    emit_run();
  }

 private:
  using Emitter = ExpressionEmitter;

  llvm::Module& module_;
  const loop::Program& program_;
  llvm::IRBuilder<> b_;
  llvm::Type* pointer_;
  std::vector<llvm::Function*> kernels_;
  llvm::Function* check_ = nullptr;

  llvm::Function* add_function(const char* name, std::size_t params) {
    const std::vector<llvm::Type*> types(params, pointer_);
    auto* f = llvm::Function::Create(llvm::FunctionType::get(b_.getInt32Ty(), types, false), llvm::Function::ExternalLinkage, name, module_);
    b_.SetInsertPoint(llvm::BasicBlock::Create(module_.getContext(), "entry", f));
    return f;
  }
  // A block for when `ok` is false, which returns 1; goes on where it is true.
  void return_unless(llvm::Value* ok) {
    llvm::Function* f = b_.GetInsertBlock()->getParent();
    auto* refused = llvm::BasicBlock::Create(module_.getContext(), "refused", f);
    auto* accepted = llvm::BasicBlock::Create(module_.getContext(), "accepted", f);
    b_.CreateCondBr(ok, accepted, refused);
    b_.SetInsertPoint(refused);
    b_.CreateRet(b_.getInt32(1));
    b_.SetInsertPoint(accepted);
  }
  Emitter emitter(llvm::Value* sizes) {
    Emitter e(b_, [](const Expr& load) -> llvm::Value* { throw_internal_error(__FILE__, __LINE__, text("a size reads ", load)); });
    const std::vector<llvm::Value*> symbols = load_symbols(b_, program_, sizes);
    for (std::size_t k = 0; k < symbols.size(); k++) e.bind(program_.symbols[k], symbols[k]);
    return e;
  }
  llvm::Value* element(llvm::Type* type, llvm::Value* array, std::size_t k) { return b_.CreateConstInBoundsGEP1_64(type, array, k); }

  void emit_check() {
    check_ = add_function("ingot_check", 1);
    Emitter e = emitter(check_->getArg(0));
    llvm::Value* ok = b_.getTrue();
    for (const Expr& s : program_.symbols) {  // first, and by hand: a comparison with its range folds to true
      ok = b_.CreateAnd(ok, b_.CreateICmpSGE(e.emit(s), b_.getInt64(static_cast<uint64_t>(s->lo))));
      ok = b_.CreateAnd(ok, b_.CreateICmpSLE(e.emit(s), b_.getInt64(static_cast<uint64_t>(s->hi))));
    }
    return_unless(ok);
    for (const Guard& g : program_.guards) return_unless(b_.CreateICmpEQ(e.emit(g.condition), b_.getInt1(g.answer)));
    b_.CreateRet(b_.getInt32(0));
  }

  void emit_query() {
    llvm::Function* f = add_function("ingot_query", 4);
    llvm::Value *sizes = f->getArg(0), *arena_bytes = f->getArg(1), *output_bytes = f->getArg(2), *output_sizes = f->getArg(3);
    return_unless(b_.CreateICmpEQ(b_.CreateCall(check_, {sizes}), b_.getInt32(0)));
    Emitter e = emitter(sizes);
    b_.CreateStore(e.emit(program_.arena_bytes), arena_bytes);
    std::size_t at = 0;
    for (std::size_t k = 0; k < program_.outputs.size(); k++) {
      const loop::Buffer& buffer = program_.buffers[static_cast<std::size_t>(program_.outputs[k])];
      Expr bytes = size_of(buffer.dtype);
      for (const Expr& n : buffer.sizes) {
        bytes = bytes * n;
        b_.CreateStore(e.emit(n), element(b_.getInt64Ty(), output_sizes, at++));
      }
      b_.CreateStore(e.emit(bytes), element(b_.getInt64Ty(), output_bytes, k));
    }
    b_.CreateRet(b_.getInt32(0));
  }

  void emit_run() {
    llvm::Function* f = add_function("ingot_run", 3);
    llvm::Value *given = f->getArg(0), *sizes = f->getArg(1), *arena = f->getArg(2);
    return_unless(b_.CreateICmpEQ(b_.CreateCall(check_, {sizes}), b_.getInt32(0)));
    Emitter e = emitter(sizes);
    std::vector<llvm::Value*> pointers(program_.buffers.size());
    std::size_t next = 0;
    for (const auto* list : {&program_.inputs, &program_.outputs})
      for (int buffer : *list) pointers[static_cast<std::size_t>(buffer)] = b_.CreateLoad(pointer_, element(pointer_, given, next++));
    for (std::size_t k = 0; k < pointers.size(); k++)
      if (!pointers[k]) pointers[k] = b_.CreateInBoundsGEP(b_.getInt8Ty(), arena, e.emit(program_.buffers[k].offset));
    for (std::size_t k = 0; k < program_.steps.size(); k++) {
      std::vector<llvm::Value*> args{sizes};
      for (int buffer : loop::buffers_of(program_.steps[k])) args.push_back(pointers[static_cast<std::size_t>(buffer)]);
      b_.CreateCall(kernels_[k], args);
    }
    b_.CreateRet(b_.getInt32(0));
  }
};

}  // namespace

Object generate(const loop::Program& program, const Target& target) {
  llvm::LLVMContext context;
  llvm::Module module(program.name, context);
  set_target(module, target);
  {
    const LlvmUse use;
    ModuleEmitter(module, program).run();
  }
  return emit(module, target);
}

}  // namespace ingot
