#include "codegen/kernel.hpp"

#include <llvm/IR/Module.h>

#include <algorithm>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "codegen/expression.hpp"

namespace ingot {
namespace {

using loop::Buffer;
using loop::Fold;
using loop::Nest;
using loop::Place;
using loop::Store;
using Value = llvm::Value*;

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
llvm::Constant* identity(llvm::Type* type, Accumulate how, DType t) {
  const bool lowest = how == Accumulate::max, highest = how == Accumulate::min;
  if (is_floating(t)) {
    if (lowest || highest) return llvm::ConstantFP::getInfinity(type, lowest);
    return llvm::ConstantFP::get(type, how == Accumulate::product ? 1 : 0);
  }
  const unsigned bits = type->getScalarSizeInBits();
  const bool has_sign = is_signed_integral(t);
  if (highest)
    return llvm::ConstantInt::get(type, has_sign ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getMaxValue(bits));
  if (lowest)
    return llvm::ConstantInt::get(type, has_sign ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt::getMinValue(bits));
  return llvm::ConstantInt::get(type, how == Accumulate::product || how == Accumulate::all ? 1 : 0);
}

std::size_t at(int id) { return static_cast<std::size_t>(id); }

// Elements of the vectorised outer variable in one task: long enough to amortise the call, short enough to share.
constexpr int64_t kPointwiseChunk = 2048, kNestedChunk = 64;
// Issue slots that are worth handing to another thread, about 20 microseconds.
constexpr int64_t kWorthwhile = 50000;
constexpr int64_t kGuessedExtent = 64;

int64_t guess(const Expr& extent) { return extent.is_const() ? extent->i : kGuessedExtent; }

bool only_wide_types(const loop::Program& program, const loop::Kernel& kernel) {
  bool narrow = kernel.product.has_value();
  for (int b : buffers_of(loop::Step(kernel))) narrow = narrow || size_of(program.buffers[at(b)].dtype) < 8;
  return !narrow;
}
// As many as a register has of the type that most values have.
int lanes_of(const loop::Program& program, const loop::Kernel& kernel, const Target& target) {
  return vector_bits(target) / (only_wide_types(program, kernel) ? 64 : 32);
}

int64_t slots_of(const Nest& n) {
  int64_t slots = 4;
  for (const Fold& f : n.folds) slots += cost(f.body) + 1;
  for (const Store& s : n.stores) slots += cost(s.value) + 1;
  for (const Expr& v : n.vars) slots *= std::max<int64_t>(1, guess(v.arg(0)));
  return slots;
}

class KernelEmitter {
 public:
  KernelEmitter(llvm::Module& module, const loop::Program& program, const loop::Kernel& kernel, const Target& target,
                const std::string& name)
      : module_(module), context_(module.getContext()), program_(program), kernel_(kernel), target_(target), name_(name),
        b_(context_), expressions_(b_, target, [this](const Expr& e) { return load(e); }),
        pointer_(llvm::PointerType::getUnqual(context_)) {
    llvm::FastMathFlags contract;
    contract.setAllowContract();
    b_.setFastMathFlags(contract);
    // Several vectors at once hide latencies, as many as there are registers for.
    const int bits = vector_bits(target);
    lanes_ = lanes_of(program, kernel, target);
    copies_ = arch_of(target) == Arch::aarch64 || bits >= 512 ? 4 : 2;
  }

  llvm::Function* run() {
    const std::vector<int> buffers = arguments_of(program_, kernel_);
    begin_function(buffers);
    emit_tasks(tasks_of(program_, kernel_, target_));
    return emit_entry(buffers);
  }

 private:
  // Vectors of one variable, emitted side by side. Without a variable: one scalar.
  struct Copies {
    Expr variable;
    std::vector<Value> bases;
    int lanes = 1;
  };

  llvm::Module& module_;
  llvm::LLVMContext& context_;
  const loop::Program& program_;
  const loop::Kernel& kernel_;
  const Target& target_;
  const std::string& name_;
  llvm::IRBuilder<> b_;
  ExpressionEmitter expressions_;
  llvm::Type* pointer_;
  int lanes_, copies_;
  llvm::Function* function_ = nullptr;
  llvm::BasicBlock* entry_ = nullptr;
  std::vector<Value> pointers_;  // by buffer
  llvm::GlobalVariable* zeros_ = nullptr;

  // ---- functions

  // The code itself: buffers are told not to alias, since a kernel never writes what it reads.
  void begin_function(const std::vector<int>& buffers) {
    std::vector<llvm::Type*> params{pointer_, pointer_, b_.getInt64Ty(), b_.getInt64Ty()};
    params.resize(4 + buffers.size(), pointer_);
    function_ = llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), params, false), llvm::Function::InternalLinkage,
                                       name_ + ".body", module_);
    function_->addFnAttr(llvm::Attribute::NoInline);
    pointers_.resize(program_.buffers.size());
    for (std::size_t k = 0; k < buffers.size(); k++) {
      llvm::Argument* a = function_->getArg(static_cast<unsigned>(k + 4));
      a->addAttr(llvm::Attribute::NoAlias);
      a->setName(program_.buffers[at(buffers[k])].name);
      pointers_[at(buffers[k])] = a;
    }
    function_->getArg(1)->addAttr(llvm::Attribute::NoAlias);
    entry_ = llvm::BasicBlock::Create(context_, "entry", function_);
    b_.SetInsertPoint(entry_);
    for (std::size_t k = 0; k < program_.symbols.size(); k++) {
      Value at = b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), function_->getArg(0), k);
      expressions_.bind(program_.symbols[k], b_.CreateLoad(b_.getInt64Ty(), at, to_text(program_.symbols[k])));
    }
    for (std::size_t k = 0; k < program_.buffers.size(); k++)
      if (const Buffer& buffer = program_.buffers[k]; buffer.place == Place::scratch && buffer.offset.valid())
        pointers_[k] = b_.CreateInBoundsGEP(b_.getInt8Ty(), function_->getArg(1), expressions_.emit(buffer.offset), buffer.name);
  }

  llvm::Function* emit_entry(const std::vector<int>& buffers) {
    const std::vector<llvm::Type*> params{pointer_, pointer_, pointer_, b_.getInt64Ty(), b_.getInt64Ty()};
    auto* f = llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), params, false), llvm::Function::ExternalLinkage,
                                     name_, module_);
    f->setVisibility(llvm::GlobalValue::HiddenVisibility);
    b_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", f));
    std::vector<Value> args{f->getArg(1), f->getArg(2), f->getArg(3), f->getArg(4)};
    for (std::size_t k = 0; k < buffers.size(); k++)
      args.push_back(b_.CreateLoad(pointer_, b_.CreateConstInBoundsGEP1_64(pointer_, f->getArg(0), k)));
    b_.CreateCall(function_, args);
    b_.CreateRetVoid();
    return f;
  }

  llvm::AllocaInst* local(llvm::Type* type) {
    llvm::IRBuilder<> at_entry(entry_, entry_->begin());
    return at_entry.CreateAlloca(type);
  }

  // ---- loops

  // body(i) for i = from, from + step, … below `to`.
  template <class F>
  void counted_loop(Value from, Value to, int64_t step, const F& body) {
    if (const auto *a = llvm::dyn_cast<llvm::ConstantInt>(from), *z = llvm::dyn_cast<llvm::ConstantInt>(to); a && z) {
      if (a->getSExtValue() >= z->getSExtValue()) return;
      if (a->getSExtValue() + step >= z->getSExtValue()) return expressions_.in_scope([&] { body(from); });
    }
    llvm::BasicBlock* before = b_.GetInsertBlock();
    auto block = [&](const char* name) { return llvm::BasicBlock::Create(context_, name, function_); };
    llvm::BasicBlock *loop = block("loop"), *done = block("done");
    b_.CreateCondBr(b_.CreateICmpSLT(from, to), loop, done);
    b_.SetInsertPoint(loop);
    llvm::PHINode* i = b_.CreatePHI(b_.getInt64Ty(), 2);
    expressions_.in_scope([&] { body(i); });
    Value next = b_.CreateNSWAdd(i, b_.getInt64(static_cast<uint64_t>(step)));
    i->addIncoming(from, before);
    i->addIncoming(next, b_.GetInsertBlock());
    b_.CreateCondBr(b_.CreateICmpSLT(next, to), loop, done);
    b_.SetInsertPoint(done);
  }

  template <class F>
  void scalar_loops(std::span<const Expr> vars, const F& body) {
    if (vars.empty()) return body();
    counted_loop(b_.getInt64(0), expressions_.emit(vars[0].arg(0)), 1, [&](Value i) {
      expressions_.bind(vars[0], i);
      scalar_loops(vars.subspan(1), body);
    });
  }

  // body(copies) for [lo, hi): several vectors at a time, then one, then single elements.
  template <class F>
  void vector_loop(const Expr& variable, Value lo, Value hi, const F& body) {
    Value start = lo;
    for (const auto& [copies, lanes] : {std::pair{copies_, lanes_}, std::pair{1, lanes_}, std::pair{1, 1}}) {
      const int64_t step = int64_t{copies} * lanes;
      Value end = hi;
      if (step > 1) {
        Value whole = b_.CreateUDiv(b_.CreateSub(hi, start), b_.getInt64(static_cast<uint64_t>(step)));
        end = b_.CreateNSWAdd(start, b_.CreateNSWMul(whole, b_.getInt64(static_cast<uint64_t>(step))));
      }
      counted_loop(start, end, step, [&](Value i) {
        Copies c{variable, {}, lanes};
        for (int k = 0; k < copies; k++) c.bases.push_back(b_.CreateNSWAdd(i, b_.getInt64(static_cast<uint64_t>(k * lanes))));
        body(c);
      });
      start = end;
    }
  }

  // f(k) for each copy, in a scope where its variable is bound.
  template <class F>
  void each_copy(const Copies& c, const F& f) {
    for (std::size_t k = 0; k < c.bases.size(); k++) {
      if (!c.variable.valid()) expressions_.in_scope([&] { f(k); });
      else expressions_.in_vector(c.variable, c.bases[k], c.lanes, [&] { f(k); });
    }
  }

  // ---- the task loop

  Expr outer_extent(std::size_t k) const { return kernel_.outer[k].arg(0); }

  void emit_tasks(const Tasks& tasks) {
    const std::size_t whole = kernel_.outer.size() - (kernel_.across ? 1 : 0);
    const std::vector<Expr>& digits = tasks.digits;
    const int64_t chunk = tasks.chunk;
    counted_loop(function_->getArg(2), function_->getArg(3), 1, [&](Value task) {
      Value rest = task;
      std::vector<Value> values(digits.size());
      for (std::size_t k = digits.size(); k-- > 0;) {
        if (k == 0) {
          values[k] = rest;
          break;
        }
        Value extent = expressions_.emit(digits[k]);
        values[k] = b_.CreateURem(rest, extent);
        rest = b_.CreateUDiv(rest, extent);
      }
      for (std::size_t k = 0; k < whole; k++) expressions_.bind(kernel_.outer[k], values[k]);
      if (!kernel_.across) return emit_rows();
      Value lo = b_.CreateNSWMul(values[whole], b_.getInt64(static_cast<uint64_t>(chunk)));
      Value past = b_.CreateNSWAdd(lo, b_.getInt64(static_cast<uint64_t>(chunk)));
      Value extent = expressions_.emit(outer_extent(whole));
      Value hi = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, past, extent);
      if (const auto* n = llvm::dyn_cast<llvm::ConstantInt>(extent); n && n->getSExtValue() <= chunk)
        lo = b_.getInt64(0), hi = extent;
      vector_loop(kernel_.outer[whole], lo, hi, [&](const Copies& c) { emit_across(c); });
    });
    b_.CreateRetVoid();
  }

  // All nests for a few vectors of the last outer variable.
  void emit_across(const Copies& c) {
    std::vector<std::vector<std::pair<Expr, Value>>> tmps(c.bases.size());  // by copy
    auto bind_tmps = [&](std::size_t k) {
      for (const auto& [tmp, v] : tmps[k]) expressions_.bind(tmp, v);
    };
    for (const Nest& n : kernel_.nests) {
      std::vector<std::vector<llvm::AllocaInst*>> accumulators(c.bases.size());
      for (auto& own : accumulators)
        for (const Fold& f : n.folds) own.push_back(make_accumulator(f, c.lanes));
      scalar_loops(n.vars, [&] {
        each_copy(c, [&](std::size_t k) {
          bind_tmps(k);
          for (std::size_t f = 0; f < n.folds.size(); f++) accumulate(n.folds[f], accumulators[k][f]);
          for (const Store& s : n.stores) store(s);
        });
      });
      for (std::size_t k = 0; k < c.bases.size(); k++)
        for (std::size_t f = 0; f < n.folds.size(); f++)
          tmps[k].emplace_back(n.folds[f].tmp, b_.CreateLoad(accumulators[k][f]->getAllocatedType(), accumulators[k][f]));
    }
  }

  // A tile's rows times all panels, each tile of accumulators in registers from its first product to its last.
  void emit_product(const loop::Product& x) {
    const auto height = static_cast<std::size_t>(x.height), vectors = static_cast<std::size_t>(x.width / lanes_);
    llvm::Type* element_type = b_.getFloatTy();
    llvm::Type* vector = llvm::FixedVectorType::get(element_type, static_cast<unsigned>(lanes_));
    const llvm::Align align(4);
    Value strip = pointers_[at(x.strip)], strip_width = expressions_.emit(x.strip_width);
    std::vector<llvm::AllocaInst*> sums;
    for (std::size_t k = 0; k < height * vectors; k++) sums.push_back(local(vector));
    auto vector_at = [&](Value first_element, std::size_t v) {
      return element(element_type, first_element, b_.getInt64(v * static_cast<uint64_t>(lanes_)));
    };
    scalar_loops(std::span(&x.panel, 1), [&] {
      for (llvm::AllocaInst* s : sums) b_.CreateStore(llvm::Constant::getNullValue(vector), s);
      scalar_loops(x.k, [&] {
        std::vector<Value> b;
        Value tile = element(element_type, pointers_[at(x.rows)], expressions_.emit(x.rows_offset));
        Value columns = element(element_type, pointers_[at(x.columns)], expressions_.emit(x.columns_offset));
        for (std::size_t v = 0; v < vectors; v++) b.push_back(b_.CreateAlignedLoad(vector, vector_at(columns, v), align));
        for (std::size_t r = 0; r < height; r++) {
          Value a = b_.CreateAlignedLoad(element_type, element(element_type, tile, b_.getInt64(r)), align);
          Value splat = b_.CreateVectorSplat(static_cast<unsigned>(lanes_), a);
          for (std::size_t v = 0; v < vectors; v++) {
            llvm::AllocaInst* s = sums[r * vectors + v];
            b_.CreateStore(b_.CreateIntrinsic(llvm::Intrinsic::fmuladd, {vector}, {splat, b[v], b_.CreateLoad(vector, s)}), s);
          }
        }
      });
      Value column = expressions_.emit(x.first_column);
      for (std::size_t r = 0; r < height; r++) {
        Value row = element(element_type, strip, b_.CreateAdd(b_.CreateMul(b_.getInt64(r), strip_width), column));
        for (std::size_t v = 0; v < vectors; v++)
          b_.CreateAlignedStore(b_.CreateLoad(vector, sums[r * vectors + v]), vector_at(row, v), align);
      }
    });
  }

  // All nests for one value of the outer variables, each nest's last variable in vectors.
  void emit_rows() {
    for (std::size_t i = 0; i <= kernel_.nests.size(); i++) {
      if (kernel_.product && kernel_.product->place == i) emit_product(*kernel_.product);
      if (i < kernel_.nests.size()) emit_nest(kernel_.nests[i]);
    }
  }
  void emit_nest(const Nest& n) {
    if (n.vars.empty()) {
      for (const Fold& f : n.folds) expressions_.bind(f.tmp, expressions_.emit(f.body));
      for (const Store& s : n.stores) store(s);
      return;
    }
    std::vector<std::vector<llvm::AllocaInst*>> vectors(static_cast<std::size_t>(copies_));
    std::vector<llvm::AllocaInst*> scalars;
    for (const Fold& f : n.folds) {
      for (auto& own : vectors) own.push_back(make_accumulator(f, lanes_));
      scalars.push_back(make_accumulator(f, 1));
    }
    scalar_loops(std::span(n.vars).first(n.vars.size() - 1), [&] {
      vector_loop(n.vars.back(), b_.getInt64(0), expressions_.emit(n.vars.back().arg(0)), [&](const Copies& c) {
        each_copy(c, [&](std::size_t k) {
          for (std::size_t f = 0; f < n.folds.size(); f++) accumulate(n.folds[f], c.lanes == 1 ? scalars[f] : vectors[k][f]);
          for (const Store& s : n.stores) store(s);
        });
      });
    });
    for (std::size_t f = 0; f < n.folds.size(); f++) {
      std::vector<llvm::AllocaInst*> own;
      for (auto& v : vectors) own.push_back(v[f]);
      expressions_.bind(n.folds[f].tmp, total(n.folds[f], own, scalars[f]));
    }
  }

  // ---- folds

  llvm::AllocaInst* make_accumulator(const Fold& f, int lanes) {
    llvm::Type* type = register_type(context_, f.body.dtype());
    if (lanes > 1) type = llvm::FixedVectorType::get(type, static_cast<unsigned>(lanes));
    llvm::AllocaInst* a = local(type);
    b_.CreateStore(identity(type, f.how, f.body.dtype()), a);
    return a;
  }
  void accumulate(const Fold& f, llvm::AllocaInst* accumulator) {
    Value x = expressions_.broadcast(expressions_.emit(f.body));
    Value before = b_.CreateLoad(accumulator->getAllocatedType(), accumulator);
    b_.CreateStore(combine(b_, operation_of(f.how), f.body.dtype(), before, x), accumulator);
  }
  // All accumulators as one number; lanes are joined in halves, so the order is the same whatever the extent.
  Value total(const Fold& f, const std::vector<llvm::AllocaInst*>& vectors, llvm::AllocaInst* scalar) {
    const ExprOp op = operation_of(f.how);
    const DType t = f.body.dtype();
    std::vector<Value> parts;
    for (llvm::AllocaInst* v : vectors) parts.push_back(b_.CreateLoad(v->getAllocatedType(), v));
    for (; parts.size() > 1; parts.resize(parts.size() / 2))
      for (std::size_t k = 0; k < parts.size() / 2; k++) parts[k] = combine(b_, op, t, parts[k], parts[k + parts.size() / 2]);
    Value v = parts[0];
    for (int half = lanes_ / 2; half >= 1; half /= 2) {
      std::vector<int> low, high;
      for (int k = 0; k < half; k++) low.push_back(k), high.push_back(k + half);
      v = combine(b_, op, t, b_.CreateShuffleVector(v, low), b_.CreateShuffleVector(v, high));
    }
    if (v->getType()->isVectorTy()) v = b_.CreateExtractElement(v, uint64_t{0});
    return combine(b_, op, t, v, b_.CreateLoad(scalar->getAllocatedType(), scalar));
  }

  // ---- memory

  Value element(llvm::Type* type, Value pointer, Value offset) { return b_.CreateInBoundsGEP(type, pointer, offset); }
  // Where a load goes whose lane is not asked for.
  Value nowhere() {
    if (!zeros_) {
      llvm::Type* type = llvm::ArrayType::get(b_.getInt8Ty(), 16);
      zeros_ = new llvm::GlobalVariable(module_, type, true, llvm::GlobalValue::PrivateLinkage,
                                        llvm::Constant::getNullValue(type), "zeros");
      zeros_->setAlignment(llvm::Align(16));
    }
    return zeros_;
  }
  Value guarded(Value asked, Value pointer) { return asked ? b_.CreateSelect(asked, pointer, nowhere()) : pointer; }

  Value load(const Expr& e) {
    const DType t = e.dtype();
    llvm::Type* type = memory_type(context_, t);
    Value pointer = pointers_[at(static_cast<int>(e->i))];
    INGOT_ENSURE(pointer, "kernel ", kernel_.name, " has no address for ", e);
    const Expr& offset = e.arg(0);
    const llvm::Align align(static_cast<uint64_t>(size_of(t)));
    Value mask = expressions_.mask();
    const int lanes = expressions_.lanes();
    const Expr& v = expressions_.variable();
    if (lanes > 1 && depends(offset, v)) {
      if (const auto step = stride(offset, v)) {
        if (step->is_const(1)) {
          Value first = element(type, element(type, pointer, expressions_.emit(offset - v)), expressions_.base());
          llvm::Type* vector = llvm::FixedVectorType::get(type, static_cast<unsigned>(lanes));
          if (!mask) return expressions_.from_memory(b_.CreateAlignedLoad(vector, first, align), t);
          return expressions_.from_memory(b_.CreateMaskedLoad(vector, first, align, mask, llvm::Constant::getNullValue(vector)),
                                          t);
        }
        Value first =
            b_.CreateAdd(expressions_.emit(offset - *step * v), b_.CreateMul(expressions_.emit(*step), expressions_.base()));
        std::vector<Value> offsets{first};
        Value by = expressions_.emit(*step);
        while (static_cast<int>(offsets.size()) < lanes) offsets.push_back(b_.CreateAdd(offsets.back(), by));
        return gather(type, pointer, offsets, mask, align, t);
      }
    }
    Value position = expressions_.emit(offset);
    if (!position->getType()->isVectorTy()) {
      Value asked = mask ? b_.CreateOrReduce(mask) : nullptr;
      return expressions_.from_memory(b_.CreateAlignedLoad(type, guarded(asked, element(type, pointer, position)), align), t);
    }
    std::vector<Value> offsets;
    for (int k = 0; k < lanes; k++) offsets.push_back(b_.CreateExtractElement(position, static_cast<uint64_t>(k)));
    return gather(type, pointer, offsets, mask, align, t);
  }

  Value gather(llvm::Type* type, Value pointer, const std::vector<Value>& offsets, Value mask, llvm::Align align, DType t) {
    Value vector = llvm::PoisonValue::get(llvm::FixedVectorType::get(type, static_cast<unsigned>(offsets.size())));
    for (std::size_t k = 0; k < offsets.size(); k++) {
      Value asked = mask ? b_.CreateExtractElement(mask, k) : nullptr;
      vector = b_.CreateInsertElement(vector,
                                      b_.CreateAlignedLoad(type, guarded(asked, element(type, pointer, offsets[k])), align), k);
    }
    return expressions_.from_memory(vector, t);
  }

  // The value as it is in memory. A cast to a small float is its rounding, which need not be widened again.
  Value stored_value(const Expr& e) {
    const DType t = e.dtype();
    if (!is_reduced_floating(t) || e.op() != ExprOp::Cast) return expressions_.to_memory(expressions_.emit(e), t);
    return expressions_.to_memory(expressions_.convert(expressions_.emit(e.arg(0)), e.arg(0).dtype(), DType::f32), t);
  }

  void store(const Store& s) {
    const DType t = s.value.dtype();
    llvm::Type* type = memory_type(context_, t);
    Value pointer = pointers_[at(s.out)];
    const llvm::Align align(static_cast<uint64_t>(size_of(t)));
    Value value = stored_value(s.value);
    const Expr& v = expressions_.variable();
    const int lanes = expressions_.lanes();
    if (lanes == 1) {
      b_.CreateAlignedStore(value, element(type, pointer, expressions_.emit(s.offset)), align);
      return;
    }
    value = expressions_.broadcast(value);
    if (const auto step = stride(s.offset, v); step && step->is_const(1)) {
      b_.CreateAlignedStore(value, element(type, element(type, pointer, expressions_.emit(s.offset - v)), expressions_.base()),
                            align);
      return;
    }
    Value position = expressions_.broadcast(expressions_.emit(s.offset));
    for (int k = 0; k < lanes; k++)
      b_.CreateAlignedStore(b_.CreateExtractElement(value, static_cast<uint64_t>(k)),
                            element(type, pointer, b_.CreateExtractElement(position, static_cast<uint64_t>(k))), align);
  }
};

}  // namespace

Tasks tasks_of(const loop::Program& program, const loop::Kernel& kernel, const Target& target) {
  Tasks tasks;
  const int lanes = lanes_of(program, kernel, target);
  const auto extent = [&](std::size_t k) { return kernel.outer[k].arg(0); };
  const std::size_t whole = kernel.outer.size() - (kernel.across ? 1 : 0);
  for (std::size_t k = 0; k < whole; k++) tasks.digits.push_back(extent(k));
  if (kernel.across) {
    const bool nested = std::any_of(kernel.nests.begin(), kernel.nests.end(), [](const Nest& n) { return !n.vars.empty(); });
    tasks.chunk = nested ? kNestedChunk : kPointwiseChunk;
    tasks.digits.push_back(floor_div(extent(whole) + (tasks.chunk - 1), tasks.chunk));
  }
  int64_t slots = 0;
  for (const Nest& n : kernel.nests) slots += slots_of(n);
  if (const auto& x = kernel.product) {
    int64_t terms = 2 * int64_t{x->height} * x->width * guess(x->panel.arg(0));
    for (const Expr& k : x->k) terms *= guess(k.arg(0));
    slots += terms;
  }
  if (kernel.across) slots = slots * std::min(tasks.chunk, guess(extent(whole))) / lanes;
  else slots /= lanes;
  tasks.count = 1;
  for (const Expr& d : tasks.digits) tasks.count = tasks.count * d;
  tasks.grain = std::max<int64_t>(1, kWorthwhile / std::max<int64_t>(1, slots));
  return tasks;
}

std::vector<int> arguments_of(const loop::Program& program, const loop::Kernel& kernel) {
  std::vector<int> buffers = buffers_of(loop::Step(kernel));
  std::erase_if(buffers, [&](int b) { return program.buffers[at(b)].place == Place::scratch; });
  return buffers;
}

llvm::Function* emit_kernel(llvm::Module& module, const loop::Program& program, const loop::Kernel& kernel, const Target& target,
                            const std::string& name) {
  return KernelEmitter(module, program, kernel, target, name).run();
}

}  // namespace ingot
