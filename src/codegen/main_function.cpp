#include "codegen/main_function.hpp"

#include <llvm/IR/Module.h>

#include <algorithm>

#include "base/dtype.hpp"
#include "base/dtype_code.hpp"
#include "base/error.hpp"
#include "base/index.hpp"
#include "codegen/expression.hpp"

namespace ingot {
namespace {

using loop::Buffer;
using loop::Place;
using Value = llvm::Value*;

class MainEmitter {
 public:
  MainEmitter(llvm::Module& module, const loop::Program& program, const std::vector<std::size_t>& constants,
              const KernelUses& kernels, const Target& target)
      : module_(module), context_(module.getContext()), program_(program), constants_(constants), kernels_(kernels), b_(context_),
        expressions_(b_, target, [this](const Expr& e) { return load(e); }), pointer_(llvm::PointerType::getUnqual(context_)),
        i64_(b_.getInt64Ty()), i32_(b_.getInt32Ty()),
        view_(llvm::StructType::get(context_, {pointer_, pointer_, pointer_, i32_, i32_})) {}

  llvm::Function* run(const std::string& name) {
    function_ =
        llvm::Function::Create(llvm::FunctionType::get(i32_, {pointer_}, false), llvm::Function::ExternalLinkage, name, module_);
    function_->setVisibility(llvm::GlobalValue::HiddenVisibility);
    entry_ = llvm::BasicBlock::Create(context_, "entry", function_);
    failed_ = llvm::BasicBlock::Create(context_, "failed", function_);
    b_.SetInsertPoint(failed_);
    b_.CreateRet(b_.getInt32(1));
    b_.SetInsertPoint(entry_);
    llvm::StructType* frame = llvm::StructType::get(context_, {pointer_, pointer_, pointer_, pointer_});
    auto field = [&](unsigned k) { return b_.CreateLoad(pointer_, b_.CreateStructGEP(frame, function_->getArg(0), k)); };
    symbols_ = field(0);
    Value inputs = field(1), constants = field(2);
    arena_ = field(3);
    for (std::size_t k = 0; k + program_.decided < program_.symbols.size(); k++)
      expressions_.bind_symbol(program_.symbols[k],
                               b_.CreateLoad(i64_, element(i64_, symbols_, k), to_text(program_.symbols[k])));
    pointers_.resize(program_.buffers.size());
    for (std::size_t k = 0; k < program_.inputs.size(); k++)
      pointers_[at(program_.inputs[k])] = b_.CreateLoad(pointer_, element(pointer_, inputs, k));
    for (std::size_t k = 0; k < program_.constants.size(); k++)
      pointers_[at(program_.constants[k])] = b_.CreateLoad(pointer_, element(pointer_, constants, constants_[k]));

    std::size_t most = 0;
    loop::each_step(program_.steps, [&](const loop::Step& step) {
      if (const auto* k = std::get_if<loop::Kernel>(&step))
        most = std::max(most, kernels_.at(k).places.size() + kernels_.at(k).numbers.size());
    });
    addresses_ = local(pointer_, most);
    emit(program_.steps);
    for (std::size_t k = 0; k < program_.outputs.size(); k++) address(program_.outputs[k]);  // those without elements, too
    b_.CreateRet(b_.getInt32(0));
    return function_;
  }

 private:
  llvm::Module& module_;
  llvm::LLVMContext& context_;
  const loop::Program& program_;
  const std::vector<std::size_t>& constants_;
  const KernelUses& kernels_;
  llvm::IRBuilder<> b_;
  ExpressionEmitter expressions_;
  llvm::Type* pointer_;
  llvm::Type *i64_, *i32_;
  llvm::StructType* view_;
  llvm::Function* function_ = nullptr;
  llvm::BasicBlock *entry_ = nullptr, *failed_ = nullptr;
  Value symbols_ = nullptr, arena_ = nullptr;
  llvm::AllocaInst* addresses_ = nullptr;  // what the kernel that is called next is given, numbers too
  std::vector<Value> pointers_;  // by buffer; null: not made yet

  void emit(const loop::Steps& steps) {
    for (const loop::Step& step : steps) {
      prepare(step);
      std::visit([this](const auto& s) { emit(s); }, step);
    }
  }

  Value element(llvm::Type* type, Value array, std::size_t k) { return b_.CreateConstInBoundsGEP1_64(type, array, k); }
  llvm::AllocaInst* local(llvm::Type* type, std::size_t count) {
    llvm::IRBuilder<> at_entry(entry_, entry_->begin());
    return at_entry.CreateAlloca(type, at_entry.getInt64(std::max<std::size_t>(count, 1)));
  }
  Value call(const char* name, llvm::Type* result, const std::vector<Value>& args) {
    std::vector<llvm::Type*> types;
    for (Value a : args) types.push_back(a->getType());
    return b_.CreateCall(module_.getOrInsertFunction(name, llvm::FunctionType::get(result, types, false)), args);
  }
  void fail_where(Value condition) {
    auto* on = llvm::BasicBlock::Create(context_, "on", function_);
    b_.CreateCondBr(condition, failed_, on);
    b_.SetInsertPoint(on);
  }
  Value array_of(const std::vector<Expr>& values) {
    llvm::AllocaInst* a = local(i64_, values.size());
    for (std::size_t k = 0; k < values.size(); k++) b_.CreateStore(bits(expressions_.emit(values[k])), element(i64_, a, k));
    return a;
  }
  // A real number among integers.
  Value bits(Value v) { return v->getType()->isDoubleTy() ? b_.CreateBitCast(v, i64_) : v; }
  llvm::Constant* string(const std::string& s) { return b_.CreateGlobalString(s, "text", 0, &module_); }

  // The address of a buffer; where it has none yet, memory is asked for now.
  Value address(int id) {
    Value& p = pointers_[at(id)];
    if (p) return p;
    const Buffer& b = program_.buffers[at(id)];
    if (b.place == Place::arena)
      return p = b_.CreateInBoundsGEP(b_.getInt8Ty(), arena_, expressions_.emit(b.offset.valid() ? b.offset : Expr(0)), b.name);
    if (b.place == Place::output) {
      std::size_t k = 0;
      while (program_.outputs[k] != id) k++;
      p = call("ingot_rt_output", pointer_,
               {function_->getArg(0), b_.getInt32(static_cast<uint32_t>(k)), b_.getInt32(static_cast<uint32_t>(b.sizes.size())),
                array_of(b.sizes), array_of(b.strides)});
    } else {
      p = call("ingot_rt_alloc", pointer_, {function_->getArg(0), expressions_.emit(bytes_of(b))});
    }
    fail_where(b_.CreateIsNull(p));
    return p;
  }

  Value address(const KernelUse::Place& place) {
    Value p = address(place.buffer);
    if (place.from.is_const(0)) return p;
    // A load that is never done may be past the end of its buffer.
    return b_.CreateGEP(memory_type(context_, program_.buffers[at(place.buffer)].dtype), p, expressions_.emit(place.from));
  }

  // Addresses are made where every later step sees them, and not inside a condition.
  void prepare(const loop::Step& step) {
    const auto* eager = std::get_if<loop::EagerCall>(&step);
    for (int b : buffers_of(step)) {
      const bool makes = eager && std::any_of(eager->decides.begin(), eager->decides.end(),
                                              [&](const auto& d) { return eager->results[at(d.result)] == b; });
      if (!makes && program_.buffers[at(b)].place != Place::scratch) address(b);
    }
  }

  Value load(const Expr& e) {
    const Buffer& b = program_.buffers[at(static_cast<int>(e->i))];
    Expr offset = 0;
    for (std::size_t d = 0; d < e.args().size(); d++) offset = offset + e.arg(d) * b.strides[d];
    llvm::Type* type = memory_type(context_, b.dtype);
    Value p = b_.CreateInBoundsGEP(type, address(static_cast<int>(e->i)), expressions_.emit(offset));
    return expressions_.from_memory(b_.CreateAlignedLoad(type, p, llvm::Align(static_cast<uint64_t>(size_of(b.dtype)))), b.dtype);
  }

  void emit(const loop::Kernel& kernel) {
    const KernelUse& k = kernels_.at(&kernel);
    auto* type = llvm::FunctionType::get(b_.getVoidTy(), {pointer_, pointer_, pointer_, i64_, i64_}, false);
    auto* function = llvm::cast<llvm::Function>(module_.getOrInsertFunction(k.symbol, type).getCallee());
    function->setVisibility(llvm::GlobalValue::HiddenVisibility);
    std::size_t next = 0;
    for (const KernelUse::Place& place : k.places) b_.CreateStore(address(place), element(pointer_, addresses_, next++));
    for (const int64_t n : k.numbers)
      b_.CreateStore(b_.getInt64(static_cast<uint64_t>(n)), element(pointer_, addresses_, next++));
    std::vector<Value> args{function_->getArg(0), function, addresses_};
    for (const Expr& e : k.sizes) args.push_back(expressions_.emit(e));
    call(k.runner.c_str(), b_.getVoidTy(), args);
  }

  void emit(const loop::Computation&) { throw_internal_error(__FILE__, __LINE__, "a computation was not scheduled"); }

  llvm::BasicBlock* block(const char* name) { return llvm::BasicBlock::Create(context_, name, function_); }

  void emit(const loop::Branch& b) {
    llvm::BasicBlock *then = block("then"), *otherwise = block("else"), *join = block("join");
    b_.CreateCondBr(expressions_.emit(b.condition), then, otherwise);
    for (const auto& [start, steps] : {std::pair{then, &b.then}, std::pair{otherwise, &b.otherwise}}) {
      b_.SetInsertPoint(start);
      expressions_.in_scope([&] { emit(*steps); });
      b_.CreateBr(join);
    }
    b_.SetInsertPoint(join);
  }

  void emit(const loop::Repeat& r) {
    llvm::BasicBlock *test = block("test"), *body = block("body"), *done = block("done");
    b_.CreateBr(test);
    b_.SetInsertPoint(test);
    expressions_.in_scope([&] {
      emit(r.test);
      b_.CreateCondBr(expressions_.emit(r.condition), body, done);
    });
    b_.SetInsertPoint(body);
    expressions_.in_scope([&] { emit(r.body); });
    b_.CreateBr(test);
    b_.SetInsertPoint(done);
  }

  void emit(const loop::Times& t) {
    llvm::BasicBlock *before = b_.GetInsertBlock(), *test = block("test"), *body = block("body"), *done = block("done");
    Value count = expressions_.emit(t.count);
    b_.CreateBr(test);
    b_.SetInsertPoint(test);
    llvm::PHINode* i = b_.CreatePHI(i64_, 2);
    b_.CreateCondBr(b_.CreateICmpSLT(i, count), body, done);
    b_.SetInsertPoint(body);
    expressions_.in_scope([&] {
      decide(t.symbol, i);
      emit(t.body);
    });
    i->addIncoming(b_.getInt64(0), before);
    i->addIncoming(b_.CreateAdd(i, b_.getInt64(1)), b_.GetInsertBlock());
    b_.CreateBr(test);
    b_.SetInsertPoint(done);
  }

  void emit(const loop::KernelCall& k) {
    std::vector<Value> args;
    for (const auto& a : k.args) args.push_back(argument(a));
    call(k.symbol.c_str(), b_.getVoidTy(), args);
  }
  Value argument(const loop::KernelCall::Argument& a) {
    using enum loop::KernelCall::Argument::Kind;
    switch (a.kind) {
      case read:
      case write: return address(a.buffer);
      case null: return llvm::ConstantPointerNull::get(llvm::PointerType::getUnqual(context_));
      case int32: return b_.CreateTrunc(expressions_.emit(a.values[0]), i32_);
      case int64: return expressions_.emit(a.values[0]);
      case array: break;
    }
    return array_of(a.values);
  }

  void emit(const loop::EagerCall& c) {
    auto views = [&](const std::vector<int>& buffers) {
      llvm::AllocaInst* v = local(view_, buffers.size());
      for (std::size_t k = 0; k < buffers.size(); k++) {
        const Buffer& b = program_.buffers[at(buffers[k])];
        Value view = element(view_, v, k);
        const bool made_by_op = &buffers == &c.results &&
                                std::any_of(c.decides.begin(), c.decides.end(), [&](const auto& d) { return at(d.result) == k; });
        Value none = llvm::ConstantPointerNull::get(llvm::PointerType::getUnqual(context_));
        b_.CreateStore(made_by_op ? none : address(buffers[k]), b_.CreateStructGEP(view_, view, 0));
        b_.CreateStore(made_by_op ? none : array_of(b.sizes), b_.CreateStructGEP(view_, view, 1));
        b_.CreateStore(made_by_op ? none : array_of(b.strides), b_.CreateStructGEP(view_, view, 2));
        b_.CreateStore(b_.getInt32(static_cast<uint32_t>(b.sizes.size())), b_.CreateStructGEP(view_, view, 3));
        b_.CreateStore(b_.getInt32(static_cast<uint32_t>(aoti_code(b.dtype))), b_.CreateStructGEP(view_, view, 4));
      }
      return v;
    };
    Value tensors = views(c.tensors), results = views(c.results);
    Value status = call(c.by_host ? "ingot_host_op_call" : "ingot_eager_call", i32_,
                        {function_->getArg(0), string(c.text), tensors, array_of(c.integers), results,
                         b_.getInt32(static_cast<uint32_t>(c.results.size()))});
    fail_where(b_.CreateICmpNE(status, b_.getInt32(0)));
    for (const auto& d : c.decides) {
      Value view = element(view_, results, at(d.result));
      Value sizes = b_.CreateLoad(pointer_, b_.CreateStructGEP(view_, view, 1));
      decide(d.symbol, b_.CreateLoad(i64_, element(i64_, sizes, at(d.dim))));
      Value& p = pointers_[at(c.results[at(d.result)])];
      if (!p) p = b_.CreateLoad(pointer_, b_.CreateStructGEP(view_, view, 0));
    }
  }

  void decide(const Expr& symbol, Value v) {
    for (std::size_t k = 0; k < program_.symbols.size(); k++)
      if (same(program_.symbols[k], symbol)) b_.CreateStore(bits(v), element(i64_, symbols_, k));
    expressions_.bind(symbol, v);
  }
  void emit(const loop::Decide& d) { decide(d.symbol, expressions_.emit(d.value)); }

  void emit(const loop::Check& c) {
    auto* on = llvm::BasicBlock::Create(context_, "on", function_);
    auto* refused = llvm::BasicBlock::Create(context_, "refused", function_);
    b_.CreateCondBr(expressions_.emit(c.condition), on, refused);
    b_.SetInsertPoint(refused);
    call("ingot_rt_fail", i32_, {function_->getArg(0), string(c.message)});
    b_.CreateBr(failed_);
    b_.SetInsertPoint(on);
  }
};

}  // namespace

std::string function_name(const char* what, std::size_t level, std::size_t entry) {
  return text("ingot_", what, ".", level, ".", entry);
}

llvm::Function* emit_main(llvm::Module& module, const loop::Program& program, const std::vector<std::size_t>& constants,
                          const KernelUses& kernels, const Target& target, const std::string& name) {
  return MainEmitter(module, program, constants, kernels, target).run(name);
}

llvm::Function* emit_size_function(llvm::Module& module, const loop::Program& program, const Target& target, const Expr& e,
                                   const std::string& name) {
  llvm::LLVMContext& context = module.getContext();
  llvm::IRBuilder<> b(context);
  auto* f = llvm::Function::Create(llvm::FunctionType::get(b.getInt64Ty(), {llvm::PointerType::getUnqual(context)}, false),
                                   llvm::Function::ExternalLinkage, name, module);
  f->setVisibility(llvm::GlobalValue::HiddenVisibility);
  b.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", f));
  ExpressionEmitter expressions(
      b, target, [](const Expr& load) -> llvm::Value* { throw_internal_error(__FILE__, __LINE__, text("a size reads ", load)); });
  for (std::size_t k = 0; k < program.symbols.size(); k++)
    expressions.bind_symbol(program.symbols[k],
                            b.CreateLoad(b.getInt64Ty(), b.CreateConstInBoundsGEP1_64(b.getInt64Ty(), f->getArg(0), k)));
  b.CreateRet(expressions.emit(e));
  return f;
}

}  // namespace ingot
