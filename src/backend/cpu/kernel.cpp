#include "backend/cpu/kernel.hpp"

#include <llvm/IR/Module.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "backend/cpu/blocks.hpp"
#include "backend/cpu/kernel_decisions.hpp"
#include "backend/cpu/loops.hpp"
#include "backend/cpu/product_code.hpp"
#include "backend/cpu/transpose.hpp"
#include "base/dtype.hpp"
#include "base/error.hpp"
#include "base/index.hpp"
#include "codegen/accumulate.hpp"
#include "codegen/expression.hpp"

namespace ingot::cpu {
namespace {

using loop::Buffer;
using loop::Fold;
using loop::Nest;
using loop::Place;
using loop::Store;
using Value = llvm::Value*;

class KernelEmitter {
 public:
  KernelEmitter(llvm::Module& module, const KernelCode& code, const Target& target, const std::string& name)
      : module_(module), context_(module.getContext()), program_(code.program), kernel_(code.kernel), example_(code.example),
        parameters_(code.parameters), multiples_(code.multiples), target_(target), name_(name), b_(context_),
        expressions_(b_, target, [this](const Expr& e) { return load(e); }), loops_(b_, expressions_),
        pointer_(llvm::PointerType::getUnqual(context_)) {
    lanes_ = lanes_of(program_, kernel_, target);
    copies_ = copies_of(example_, target);
  }

  llvm::Function* run() {
    const std::vector<int> buffers = arguments_of(program_, kernel_);
    begin_function(buffers);
    emit_tasks(tasks_of(program_, kernel_, example_, target_));
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
  const loop::Kernel& example_;
  const std::vector<Expr>& parameters_;
  const std::vector<int64_t>& multiples_;
  const Target& target_;
  const std::string& name_;
  llvm::IRBuilder<> b_;
  ExpressionEmitter expressions_;
  Loops loops_;
  llvm::Type* pointer_;
  int lanes_, copies_;
  llvm::Function* function_ = nullptr;
  llvm::BasicBlock* entry_ = nullptr;
  std::vector<Value> pointers_;  // by buffer
  llvm::GlobalVariable* zeros_ = nullptr;
  llvm::AllocaInst* block_ = nullptr;  // as many vectors as one has lanes: what is turned

  // ---- functions

  // The code itself: buffers are told not to alias, since a kernel never writes what it reads.
  void begin_function(const std::vector<int>& buffers) {
    std::vector<llvm::Type*> params{pointer_, pointer_, b_.getInt64Ty(), b_.getInt64Ty()};
    params.resize(4 + buffers.size(), pointer_);
    params.resize(params.size() + parameters_.size(), b_.getInt64Ty());
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
    for (std::size_t k = 0; k < parameters_.size(); k++)
      expressions_.bind(parameters_[k], function_->getArg(static_cast<unsigned>(4 + buffers.size() + k)));
    function_->getArg(1)->addAttr(llvm::Attribute::NoAlias);
    entry_ = llvm::BasicBlock::Create(context_, "entry", function_);
    b_.SetInsertPoint(entry_);
    for (std::size_t k = 0; k < program_.symbols.size(); k++) {
      Value at = b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), function_->getArg(0), k);
      expressions_.bind_symbol(program_.symbols[k], b_.CreateLoad(b_.getInt64Ty(), at, to_text(program_.symbols[k])));
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
    f->addFnAttr(llvm::Attribute::OptimizeNone);  // there is nothing to gain, and passes take their time over any function
    f->addFnAttr(llvm::Attribute::NoInline);
    b_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", f));
    std::vector<Value> args{f->getArg(1), f->getArg(2), f->getArg(3), f->getArg(4)};
    for (std::size_t k = 0; k < buffers.size() + parameters_.size(); k++) {
      llvm::Type* type = k < buffers.size() ? pointer_ : b_.getInt64Ty();
      args.push_back(b_.CreateLoad(type, b_.CreateConstInBoundsGEP1_64(pointer_, f->getArg(0), k)));
    }
    b_.CreateCall(function_, args);
    b_.CreateRetVoid();
    return f;
  }

  llvm::AllocaInst* local(llvm::Type* type) {
    llvm::IRBuilder<> at_entry(entry_, entry_->begin());
    return at_entry.CreateAlloca(type);
  }

  // ---- loops

  // body(copies) for a range whose length is a multiple of `multiple`: several vectors at a time,
  // then one, then what is left: single elements, or one more vector that ends with the last of
  // them, where some elements may be done twice.
  template <class F>
  void vector_loop(const Expr& variable, Range range, int64_t multiple, bool may_repeat, const F& body) {
    Value start = range.from;
    const auto vectors_at = [&](Value i, int copies, int lanes) {
      Copies c{variable, {}, lanes};
      for (int k = 0; k < copies; k++) c.bases.push_back(b_.CreateNSWAdd(i, loops_.number(k * lanes)));
      body(c);
    };
    int64_t before = 0;
    for (const auto& [copies, lanes] : {std::pair{copies_, lanes_}, std::pair{1, lanes_}, std::pair{1, 1}}) {
      const int64_t step = int64_t{copies} * lanes;
      if (step == std::exchange(before, step)) continue;
      if (lanes == 1 && may_repeat && last_vectors(range, start, vectors_at)) return;
      const bool is_last = multiple % step == 0;
      Value end = range.to;
      if (!is_last) {
        Value whole = b_.CreateUDiv(b_.CreateSub(range.to, start), loops_.number(step));
        end = b_.CreateNSWAdd(start, b_.CreateNSWMul(whole, loops_.number(step)));
      }
      loops_.counted({start, end}, step, [&](Value i) { vectors_at(i, copies, lanes); });
      if (is_last) return;
      start = end;
    }
  }
  // What is left from `start` on, where all is known: a vector that ends where the range does.
  // Where the range is shorter than a vector this has fewer lanes, and there is one at the
  // beginning, too.
  template <class F>
  bool last_vectors(Range range, Value start, const F& vectors_at) {
    const auto *from = llvm::dyn_cast<llvm::ConstantInt>(range.from), *to = llvm::dyn_cast<llvm::ConstantInt>(range.to),
               *left = llvm::dyn_cast<llvm::ConstantInt>(start);
    if (!from || !to || !left) return false;
    const int64_t all = to->getSExtValue() - from->getSExtValue(), rest = to->getSExtValue() - left->getSExtValue();
    if (rest < 2) return false;
    const int64_t lanes = std::min<int64_t>(lanes_, static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(all))));
    const auto vector_from = [&](int64_t i) {
      expressions_.in_scope([&] { vectors_at(loops_.number(i), 1, static_cast<int>(lanes)); });
    };
    if (rest > lanes) vector_from(left->getSExtValue());
    vector_from(to->getSExtValue() - lanes);
    return true;
  }
  // Whether the nests, one after the other, may be done again for the same values: none reads what
  // it, or one after it, has written.
  static bool may_repeat(std::span<const Nest> nests) {
    std::vector<int> loaded;
    const auto see = [&](const Expr& e) {
      visit(e, [&](const Expr& x) {
        if (x.op() == ExprOp::Load) loaded.push_back(static_cast<int>(x->i));
      });
    };
    for (const Nest& n : nests) {
      for (const Fold& f : n.folds) see(f.body);
      for (const Store& s : n.stores) see(s.value);
      for (const Store& s : n.stores)
        if (std::ranges::find(loaded, s.out) != loaded.end()) return false;
    }
    return true;
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
    const std::optional<Turn> turn = turn_of(example_, lanes_);
    const std::size_t whole = kernel_.outer.size() - (turn ? 2 : kernel_.across ? 1 : 0);
    const std::vector<Expr>& digits = tasks.digits;
    const int64_t chunk = tasks.chunk;
    loops_.counted({function_->getArg(2), function_->getArg(3)}, 1, [&](Value task) {
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
      if (turn) return emit_turned(*turn, values[whole]);
      Value lo = b_.CreateNSWMul(values[whole], b_.getInt64(static_cast<uint64_t>(chunk)));
      Value past = b_.CreateNSWAdd(lo, b_.getInt64(static_cast<uint64_t>(chunk)));
      Value extent = expressions_.emit(outer_extent(whole));
      Value hi = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, past, extent);
      if (const auto* n = llvm::dyn_cast<llvm::ConstantInt>(extent); n && n->getSExtValue() <= chunk)
        lo = b_.getInt64(0), hi = extent;
      vector_loop(kernel_.outer[whole], {lo, hi}, std::gcd(chunk, multiples_[0]), may_repeat(kernel_.nests),
                  [&](const Copies& c) { emit_across(c); });
    });
    b_.CreateRetVoid();
  }

  // As many values of the last but one outer variable as there are lanes, and all of the last. The
  // last block ends where the variable does, and does some again.
  void emit_turned(const Turn& turn, Value block) {
    const Expr &along = kernel_.outer[kernel_.outer.size() - 2], &last = kernel_.outer.back();
    Value first = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateNSWMul(block, loops_.number(lanes_)),
                                           b_.CreateNSWSub(expressions_.emit(along.arg(0)), loops_.number(lanes_)));
    const Store& s = kernel_.nests[0].stores[0];
    const auto turn_all = [&](const Expr& value) {
      const int64_t in_vectors = turn.neighbours / lanes_ * lanes_, rest = turn.neighbours - in_vectors;
      const auto vectors = [&](Value from, int64_t count) {
        turn_vectors({s.out, s.offset, value}, along, first, last, from, count);
      };
      loops_.counted({loops_.number(0), loops_.number(in_vectors)}, lanes_, [&](Value from) { vectors(from, lanes_); });
      if (rest == 0) return;
      const int64_t count = in_vectors > 0 ? lanes_ : rest;
      expressions_.in_scope([&] { vectors(loops_.number(turn.neighbours - count), count); });
    };
    // What ends within a block: others have no need to ask.
    const Expr& value = s.value;
    if (value.op() != ExprOp::Select || value.arg(0).op() != ExprOp::Lt || depends(value.arg(0), along) ||
        depends(value.arg(0).arg(1), last))
      return turn_all(value);
    const std::optional<Expr> step = stride(value.arg(0).arg(0), last);
    if (!step || !step->is_const() || (*step)->i < 0) return turn_all(value);
    Value is_whole = nullptr;
    expressions_.in_scope([&] {
      expressions_.bind(last, loops_.number(turn.neighbours - 1));
      is_whole = expressions_.emit(value.arg(0));
    });
    const auto block_of = [&](const char* name) { return llvm::BasicBlock::Create(context_, name, function_); };
    llvm::BasicBlock *whole = block_of("whole"), *part = block_of("part"), *done = block_of("done");
    b_.CreateCondBr(is_whole, whole, part);
    for (const auto& [at, stored] : {std::pair{whole, value.arg(1)}, std::pair{part, value}}) {
      b_.SetInsertPoint(at);
      expressions_.in_scope([&] { turn_all(stored); });
      b_.CreateBr(done);
    }
    b_.SetInsertPoint(done);
  }
  void turn_vectors(const Store& s, const Expr& along, Value first, const Expr& last, Value from, int64_t count) {
    std::vector<Value> rows;
    for (int64_t k = 0; k < count; k++)
      expressions_.in_vector(along, first, lanes_, [&] {
        expressions_.bind(last, b_.CreateNSWAdd(from, loops_.number(k)));
        rows.push_back(expressions_.broadcast(stored_value(s.value)));
      });
    llvm::Type* type = rows[0]->getType();
    if (!block_) block_ = local(llvm::ArrayType::get(type, static_cast<uint64_t>(lanes_)));
    for (std::size_t k = 0; k < rows.size(); k++) b_.CreateStore(rows[k], b_.CreateConstInBoundsGEP1_64(type, block_, k));
    expressions_.bind(along, first);
    expressions_.bind(last, from);
    Value to = element(type->getScalarType(), pointers_[at(s.out)], expressions_.emit(s.offset));
    b_.CreateCall(turning_function(module_, type, count), {block_, to, expressions_.emit(*stride(s.offset, along))});
  }

  // All nests for a few vectors of the last outer variable.
  void emit_across(const Copies& c) {
    std::vector<std::vector<std::pair<Expr, Value>>> tmps(c.bases.size());  // by copy
    auto bind_tmps = [&](std::size_t k) {
      for (const auto& [tmp, v] : tmps[k]) expressions_.bind(tmp, v);
    };
    for (std::size_t i = 0; i < kernel_.nests.size(); i++) {
      const Nest& n = kernel_.nests[i];
      const std::optional<Blocks> blocks = blocks_for(example_.nests[i], 1);
      std::vector<std::vector<Accumulator>> accumulators(c.bases.size());
      for (auto& own : accumulators)
        for (const Fold& f : n.folds) own.push_back(make_accumulator(f, c.lanes, blocks.has_value()));
      auto body = [&] {
        each_copy(c, [&](std::size_t k) {
          bind_tmps(k);
          for (std::size_t f = 0; f < n.folds.size(); f++) accumulate(n.folds[f], accumulators[k][f]);
          store(n.stores);
        });
      };
      const auto inner = [&](std::span<const Expr> vars, Range first) { loops_.nest(vars, first, body); };
      loops_.in_blocks(n.vars, blocks, inner, [&] {
        for (auto& own : accumulators) pour(n.folds, own);
      });
      for (std::size_t k = 0; k < c.bases.size(); k++)
        for (std::size_t f = 0; f < n.folds.size(); f++)
          tmps[k].emplace_back(n.folds[f].tmp, as_folded(n.folds[f], sum_of(accumulators[k][f])));
    }
  }

  // All nests for one value of the outer variables, each nest's last variable in vectors.
  void emit_rows() {
    for (std::size_t i = 0; i <= kernel_.nests.size(); i++) {
      if (kernel_.product && kernel_.product->place == i)
        emit_product({b_, expressions_, loops_, target_, program_, kernel_, example_, pointers_, lanes_});
      if (i < kernel_.nests.size()) emit_nest(kernel_.nests[i], example_.nests[i], multiples_[i]);
    }
  }
  void emit_nest(const Nest& n, const Nest& example, int64_t multiple) {
    if (n.vars.empty()) {
      for (const Fold& f : n.folds) {
        Value term = expressions_.emit(f.body);
        // A sum of one term begins at zero as any other does: of -0 it is 0.
        if (f.how == Accumulate::sum && is_floating(f.body.dtype()))
          term = b_.CreateFAdd(llvm::Constant::getNullValue(term->getType()), term);
        expressions_.bind(f.tmp, term);
      }
      store(n.stores);
      return;
    }
    const std::optional<Blocks> blocks = blocks_for(example, copies_ * lanes_);
    std::vector<std::vector<Accumulator>> vectors(static_cast<std::size_t>(copies_));
    std::vector<Accumulator> scalars;
    for (const Fold& f : n.folds) {
      for (auto& own : vectors) own.push_back(make_accumulator(f, lanes_, blocks.has_value()));
      scalars.push_back(make_accumulator(f, 1, blocks.has_value()));
    }
    auto after_block = [&] {
      for (auto& own : vectors) pour(n.folds, own);
      pour(n.folds, scalars);
    };
    const std::span<const Expr> outer = std::span(n.vars).first(n.vars.size() - 1);
    const Expr& last = n.vars.back();
    auto over_last = [&](Range range, int64_t known) {
      vector_loop(last, range, known, n.folds.empty() && may_repeat({&n, 1}), [&](const Copies& c) {
        each_copy(c, [&](std::size_t k) {
          for (std::size_t f = 0; f < n.folds.size(); f++) accumulate(n.folds[f], c.lanes == 1 ? scalars[f] : vectors[k][f]);
          store(n.stores);
        });
      });
    };
    if (blocks && blocks->level == outer.size()) {
      loops_.nest(outer, [&] {
        loops_.blocks(last, blocks->size, [&](Range block) {
          over_last(block, std::gcd(blocks->size, multiple));
          after_block();
        });
      });
    } else {
      const auto inner = [&](std::span<const Expr> vars, Range first) {
        loops_.nest(vars, first, [&] { over_last(loops_.range_of(last), multiple); });
      };
      loops_.in_blocks(outer, blocks, inner, after_block);
    }
    for (std::size_t f = 0; f < n.folds.size(); f++) {
      std::vector<Value> own;
      for (auto& v : vectors) own.push_back(sum_of(v[f]));
      expressions_.bind(n.folds[f].tmp, as_folded(n.folds[f], total(n.folds[f], own, sum_of(scalars[f]))));
    }
  }

  // ---- folds

  // What a fold is carried in: `sum` alone, or the sum of one block, which is then poured into the
  // wider `total`.
  struct Accumulator {
    llvm::AllocaInst* sum;
    llvm::AllocaInst* total = nullptr;
  };

  llvm::AllocaInst* make_accumulator(llvm::Type* type, int lanes, Accumulate how, DType t) {
    if (lanes > 1) type = llvm::FixedVectorType::get(type, static_cast<unsigned>(lanes));
    llvm::AllocaInst* a = local(type);
    b_.CreateStore(identity_of(type, how, t), a);
    return a;
  }
  Accumulator make_accumulator(const Fold& f, int lanes, bool in_blocks) {
    const DType t = f.body.dtype();
    Accumulator a{make_accumulator(register_type(context_, t), lanes, f.how, t)};
    if (in_blocks && is_summed_in_blocks(f)) a.total = make_accumulator(b_.getDoubleTy(), lanes, f.how, DType::f64);
    return a;
  }
  void accumulate(const Fold& f, const Accumulator& a) {
    Value body = expressions_.emit(f.body), x = expressions_.broadcast(body);
    Value before = b_.CreateLoad(a.sum->getAllocatedType(), a.sum);
    Value after = combine(b_, operation_of(f.how), f.body.dtype(), before, x);
    if (f.body.op() == ExprOp::Mul) may_fuse(body), may_fuse(after);
    b_.CreateStore(after, a.sum);
  }
  void pour(const std::vector<Fold>& folds, const std::vector<Accumulator>& accumulators) {
    for (std::size_t f = 0; f < folds.size(); f++) {
      const auto& [sum, all] = accumulators[f];
      if (!all) continue;
      llvm::Type *type = sum->getAllocatedType(), *wide = all->getAllocatedType();
      Value more = b_.CreateFPCast(b_.CreateLoad(type, sum), wide);
      b_.CreateStore(b_.CreateFAdd(b_.CreateLoad(wide, all), more), all);
      b_.CreateStore(llvm::Constant::getNullValue(type), sum);
    }
  }
  Value sum_of(const Accumulator& a) {
    llvm::AllocaInst* from = a.total ? a.total : a.sum;
    return b_.CreateLoad(from->getAllocatedType(), from);
  }
  // What was carried, in the type of the fold.
  Value as_folded(const Fold& f, Value carried) {
    llvm::Type* type = register_type(context_, f.body.dtype());
    return carried->getType()->isFPOrFPVectorTy() ? b_.CreateFPCast(carried, shaped_as(type, carried->getType())) : carried;
  }
  // All parts as one number; lanes are joined in halves: one order, whatever the extent.
  Value total(const Fold& f, std::vector<Value> parts, Value scalar) {
    const ExprOp op = operation_of(f.how);
    const DType t = parts[0]->getType()->getScalarType()->isDoubleTy() ? DType::f64 : f.body.dtype();
    for (; parts.size() > 1; parts.resize(parts.size() / 2))
      for (std::size_t k = 0; k < parts.size() / 2; k++) parts[k] = combine(b_, op, t, parts[k], parts[k + parts.size() / 2]);
    Value v = parts[0];
    for (int half = lanes_ / 2; half >= 1; half /= 2) {
      std::vector<int> low, high;
      for (int k = 0; k < half; k++) low.push_back(k), high.push_back(k + half);
      v = combine(b_, op, t, b_.CreateShuffleVector(v, low), b_.CreateShuffleVector(v, high));
    }
    if (v->getType()->isVectorTy()) v = b_.CreateExtractElement(v, uint64_t{0});
    return combine(b_, op, t, v, scalar);
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
    Value pointer = pointers_[at(e->i)];
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
        if (step->is_const(2) && !mask)
          return expressions_.from_memory(every_second(type, element(type, pointer, first), align), t);
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

  // As many elements as there are lanes, from `first` on. They are in two vectors, of which the
  // second ends with the last of them: nothing behind that is touched.
  Value every_second(llvm::Type* type, Value first, llvm::Align align) {
    const int lanes = expressions_.lanes();
    auto* vector = llvm::FixedVectorType::get(type, static_cast<unsigned>(lanes));
    Value low = b_.CreateAlignedLoad(vector, first, align);
    Value high = b_.CreateAlignedLoad(vector, element(type, first, b_.getInt64(static_cast<uint64_t>(lanes) - 1)), align);
    std::vector<int> places;
    for (int k = 0; k < lanes; k++) places.push_back(2 * k < lanes ? 2 * k : 2 * k + 1);
    return b_.CreateShuffleVector(low, high, places);
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

  // The value as it is in memory. A cast to a small float is its rounding: it stays narrow.
  Value stored_value(const Expr& e) {
    const DType t = e.dtype();
    if (!is_reduced_floating(t) || e.op() != ExprOp::Cast) return expressions_.to_memory(expressions_.emit(e), t);
    return expressions_.to_memory(expressions_.convert(expressions_.emit(e.arg(0)), e.arg(0).dtype(), DType::f32), t);
  }

  // Elements that are overwritten are read before.
  void store(const std::vector<Store>& all) {
    const bool overwrites = std::any_of(all.begin(), all.end(), [&](const Store& s) {
      return std::any_of(all.begin(), all.end(), [&](const Store& other) { return reads(other.value, s.out); });
    });
    if (!overwrites) {
      for (const Store& s : all) store(s, stored_value(s.value));
      return;
    }
    std::vector<Value> values;
    for (const Store& s : all) values.push_back(stored_value(s.value));
    for (std::size_t k = 0; k < all.size(); k++) store(all[k], values[k]);
  }
  static bool reads(const Expr& e, int buffer) {
    bool found = false;
    visit(e, [&](const Expr& x) { found = found || (x.op() == ExprOp::Load && x->i == buffer); });
    return found;
  }

  void store(const Store& s, Value value) {
    const DType t = s.value.dtype();
    llvm::Type* type = memory_type(context_, t);
    Value pointer = pointers_[at(s.out)];
    const llvm::Align align(static_cast<uint64_t>(size_of(t)));
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

std::vector<int> arguments_of(const loop::Program& program, const loop::Kernel& kernel) {
  std::vector<int> buffers = buffers_of(loop::Step(kernel));
  std::erase_if(buffers, [&](int b) { return program.buffers[at(b)].place == Place::scratch; });
  return buffers;
}

llvm::Function* emit_kernel(llvm::Module& module, const KernelCode& code, const Target& target, const std::string& name) {
  return KernelEmitter(module, code, target, name).run();
}

}  // namespace ingot::cpu
