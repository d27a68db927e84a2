// Loops of machine code over the variables of a loop program. This backend's own.
#pragma once
#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "backend/cpu/blocks.hpp"
#include "backend/cpu/unroll.hpp"
#include "codegen/expression.hpp"

namespace ingot::cpu {

// The values from `from` up to, and without, `to`.
struct Range {
  llvm::Value *from = nullptr, *to = nullptr;
};

// One of the steps that are written out: variables, their values at the first of these steps and
// here.
struct WrittenStep {
  std::vector<Expr> vars, first, here;
  bool is_first() const {
    return std::ranges::equal(first, here, [](const Expr& a, const Expr& b) { return same(a, b); });
  }
};

class Loops {
 public:
  Loops(llvm::IRBuilder<>& builder, ExpressionEmitter& expressions) : b_(builder), expressions_(expressions) {}

  llvm::Value* number(int64_t n) { return b_.getInt64(static_cast<uint64_t>(n)); }
  // All values of a variable.
  Range range_of(const Expr& variable) { return {number(0), expressions_.emit(variable.arg(0))}; }

  // body(i) for every step'th i of the range.
  template <class F>
  void counted(Range over, int64_t step, const F& body) {
    const auto [from, to] = over;
    if (const auto *a = llvm::dyn_cast<llvm::ConstantInt>(from), *z = llvm::dyn_cast<llvm::ConstantInt>(to); a && z) {
      if (a->getSExtValue() >= z->getSExtValue()) return;
      if (a->getSExtValue() + step >= z->getSExtValue()) return expressions_.in_scope([&] { body(from); });
    }
    llvm::BasicBlock* before = b_.GetInsertBlock();
    auto block = [&](const char* name) { return llvm::BasicBlock::Create(b_.getContext(), name, before->getParent()); };
    llvm::BasicBlock *loop = block("loop"), *done = block("done");
    b_.CreateCondBr(b_.CreateICmpSLT(from, to), loop, done);
    b_.SetInsertPoint(loop);
    llvm::PHINode* i = b_.CreatePHI(b_.getInt64Ty(), 2);
    expressions_.in_scope([&] { body(i); });
    llvm::Value* next = b_.CreateNSWAdd(i, number(step));
    i->addIncoming(from, before);
    i->addIncoming(next, b_.GetInsertBlock());
    b_.CreateCondBr(b_.CreateICmpSLT(next, to), loop, done);
    b_.SetInsertPoint(done);
  }
  // body(from, to) for the ranges of `size` values, and the rest, of a variable.
  template <class F>
  void blocks(const Expr& variable, int64_t size, const F& body) {
    const Range all = range_of(variable);
    counted(all, size, [&](llvm::Value* from) {
      llvm::Value* past = b_.CreateNSWAdd(from, number(size));
      body(Range{from, b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, past, all.to)});
    });
  }

  // One loop in another, the first variable's over a range.
  template <class F>
  void nest(std::span<const Expr> vars, Range of_first, const F& body) {
    if (vars.empty()) return body();
    counted(of_first, 1, [&](llvm::Value* i) {
      expressions_.bind(vars[0], i);
      nest(vars.subspan(1), body);
    });
  }
  template <class F>
  void nest(std::span<const Expr> vars, const F& body) {
    if (vars.empty()) body();
    else nest(vars, range_of(vars[0]), body);
  }
  // inner(vars, range of the first of them) for what is within the loops that are not cut, and
  // after(): once after each block.
  template <class F, class G>
  void in_blocks(std::span<const Expr> vars, const std::optional<Blocks>& cut, const F& inner, const G& after) {
    if (!cut) return inner(vars, vars.empty() ? Range{} : range_of(vars[0]));
    nest(vars.first(cut->level), [&] {
      blocks(vars[cut->level], cut->size, [&](Range block) {
        inner(vars.subspan(cut->level), block);
        after();
      });
    });
  }

  // As nest, with steps of the innermost loops written one after the other: body(WrittenStep).
  template <class F>
  void unrolled(std::span<const Expr> vars, Range of_first, const Unroll& how, const F& body) {
    if (vars.empty()) return body(WrittenStep{});
    const std::size_t at = vars.size() - how.whole - 1;  // of the loop that several steps are done of at once
    const auto steps = [&](llvm::Value* i, int64_t count) {
      expressions_.bind(vars[at], i);
      WrittenStep step{{vars[at]}, {vars[at]}, {vars[at]}};
      for (int64_t k = 0; k < count; k++) {
        step.here[0] = vars[at] + k;
        written_out(vars.subspan(at + 1), step, body);
      }
    };
    const auto innermost = [&](Range all) {
      llvm::Value* end = all.to;
      if (!how.divides && how.steps > 1) {
        llvm::Value* rounds = b_.CreateUDiv(b_.CreateSub(all.to, all.from), number(how.steps));
        end = b_.CreateNSWAdd(all.from, b_.CreateNSWMul(rounds, number(how.steps)));
      }
      counted({all.from, end}, how.steps, [&](llvm::Value* i) { steps(i, how.steps); });
      if (end != all.to) counted({end, all.to}, 1, [&](llvm::Value* i) { steps(i, 1); });
    };
    if (at == 0) innermost(of_first);
    else nest(vars.first(at), of_first, [&] { innermost(range_of(vars[at])); });
  }

 private:
  llvm::IRBuilder<>& b_;
  ExpressionEmitter& expressions_;

  template <class F>
  void written_out(std::span<const Expr> vars, WrittenStep& step, const F& body) {
    if (vars.empty()) return body(std::as_const(step));
    step.vars.push_back(vars[0]);
    step.first.push_back(0);
    for (int64_t i = 0; i < vars[0].arg(0)->i; i++) {
      step.here.push_back(i);
      written_out(vars.subspan(1), step, body);
      step.here.pop_back();
    }
    step.vars.pop_back();
    step.first.pop_back();
  }
};

}  // namespace ingot::cpu
