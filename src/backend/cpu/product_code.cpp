#include "backend/cpu/product_code.hpp"

#include <llvm/IR/Module.h>

#include <algorithm>

#include "backend/cpu/product_layout.hpp"
#include "base/dtype.hpp"
#include "base/error.hpp"
#include "base/index.hpp"

namespace ingot::cpu {
namespace {

using Value = llvm::Value*;

class ProductCode {
 public:
  explicit ProductCode(const ProductSite& site)
      : s_(site), b_(site.builder), x_(*site.kernel.product), layout_(require_layout(x_)),
        blocks_(blocks_of(*site.example.product)), type_(register_type(b_.getContext(), x_.types.sums)),
        vector_(vector_of(type_)), align_(static_cast<uint64_t>(size_of(x_.types.sums))),
        vectors_(at(layout_.columns / site.lanes)),
        sum_type_(memory_type(b_.getContext(), site.program.buffers[at(x_.sums.buffer)].dtype)) {
    for (std::size_t k = 0; k < at(layout_.rows) * vectors_; k++) sums_.push_back(local(vector_));
    for (std::size_t k = 0; blocks_ && k < sums_.size(); k++) totals_.push_back(local(vector_of(sum_type_)));
    // The totals do not fit beside the sums: they are on the stack, and should not straddle lines.
    if (blocks_) b_.GetInsertBlock()->getParent()->addFnAttr("stackrealign");
    plan_fetches();
  }

  void emit() {
    const Value strip_width = s_.expressions.emit(layout_.strip_width);
    s_.loops.nest(x_.vars, [&] {
      for (const auto* all : {&sums_, &totals_})
        for (llvm::AllocaInst* a : *all) b_.CreateStore(llvm::Constant::getNullValue(a->getAllocatedType()), a);
      const Unroll unroll = unroll_of(*s_.example.product);
      const auto inner = [&](std::span<const Expr> vars, Range first) {
        s_.loops.unrolled(vars, first, unroll, [&](const WrittenStep& step) { multiply(step); });
      };
      s_.loops.in_blocks(layout_.steps, blocks_, inner, [&] { pour(); });
      store(strip_width);
    });
  }

 private:
  const ProductSite& s_;
  llvm::IRBuilder<>& b_;
  const loop::Product& x_;
  const ProductLayout layout_;
  const std::optional<Blocks> blocks_;
  llvm::Type *type_, *vector_;
  const llvm::Align align_;
  const std::size_t vectors_;  // in a row of the block
  llvm::Type* sum_type_;       // float, or double for many blocks
  std::vector<llvm::AllocaInst*> sums_, totals_;  // of a block of k; of all of them, where there are several
  bool rows_are_fetched_ = false, columns_are_fetched_ = false;
  Expr share_;  // of the columns of the tasks after these, what is fetched here; may be null

  static ProductLayout require_layout(const loop::Product& x) {
    INGOT_ENSURE(x.types.rows == x.types.sums && x.types.columns == x.types.sums, "no microkernel adds to sums of another type");
    const std::optional<ProductLayout> l = layout_of(x);
    INGOT_ENSURE(l && l->k_group == 1, "no microkernel is for factors that lie so");
    return *l;
  }

  llvm::Type* vector_of(llvm::Type* type) const { return llvm::FixedVectorType::get(type, static_cast<unsigned>(s_.lanes)); }
  llvm::AllocaInst* local(llvm::Type* type) {
    llvm::BasicBlock& entry = b_.GetInsertBlock()->getParent()->getEntryBlock();
    return llvm::IRBuilder<>(&entry, entry.begin()).CreateAlloca(type);
  }
  Value element(llvm::Type* type, Value pointer, Value offset) { return b_.CreateInBoundsGEP(type, pointer, offset); }
  Value vector_at(llvm::Type* type, Value first, std::size_t v) {
    return element(type, first, s_.loops.number(static_cast<int64_t>(v) * s_.lanes));
  }
  // A number away from where the first of the written steps has it, as a rule: an address that
  // costs nothing.
  Value address(const loop::Product::Element& e, const Expr& offset, const WrittenStep& step) {
    const Expr first = substitute(offset, step.vars, step.first), here = substitute(offset, step.vars, step.here),
               by = here - first;
    Value start = element(type_, s_.pointers[at(e.buffer)], s_.expressions.emit(by.is_const() ? first : here));
    return by.is_const() ? element(type_, start, s_.loops.number(by->i)) : start;
  }

  void multiply(const WrittenStep& step) {
    const Value rows = address(x_.rows, layout_.rows_offset, step), columns = address(x_.columns, layout_.columns_offset, step);
    std::vector<Value> b;
    for (std::size_t v = 0; v < vectors_; v++) b.push_back(b_.CreateAlignedLoad(vector_, vector_at(type_, columns, v), align_));
    if (rows_are_fetched_) fetch_ahead(rows, layout_.rows);
    if (columns_are_fetched_) fetch_ahead(columns, layout_.columns);
    if (share_.valid() && step.is_first()) {
      const Expr here = substitute(share_, step.vars, step.first);
      fetch(b_.CreateGEP(type_, s_.pointers[at(x_.columns.buffer)], s_.expressions.emit(here)), kFar);
    }
    const std::vector<Value> a = in_all_lanes(rows);
    for (std::size_t k = 0; k < sums_.size(); k++) {
      const Value sum = b_.CreateLoad(vector_, sums_[k]);
      b_.CreateStore(b_.CreateIntrinsic(llvm::Intrinsic::fmuladd, {vector_}, {a[k / vectors_], b[k % vectors_], sum}), sums_[k]);
    }
  }
  // The elements of a block's rows, each in all lanes of a vector. aarch64 multiplies by a lane of
  // a register; others fill registers from memory at no cost.
  std::vector<Value> in_all_lanes(Value first) {
    const std::size_t count = at(layout_.rows);
    std::vector<Value> all;
    while (all.size() < count) {
      std::size_t group = arch_of(s_.target) == Arch::aarch64 ? at(s_.lanes) : 1;
      while (group > count - all.size()) group /= 2;
      llvm::Type* type = llvm::FixedVectorType::get(type_, static_cast<unsigned>(group));
      const Value here = element(type_, first, s_.loops.number(static_cast<int64_t>(all.size())));
      const Value loaded = b_.CreateAlignedLoad(type, here, align_);
      for (std::size_t k = 0; k < group; k++)
        all.push_back(b_.CreateShuffleVector(loaded, std::vector<int>(at(s_.lanes), static_cast<int>(k))));
    }
    return all;
  }
  void pour() {
    for (std::size_t k = 0; k < sums_.size(); k++) {
      const Value sum = b_.CreateFPCast(b_.CreateLoad(vector_, sums_[k]), vector_of(sum_type_));
      b_.CreateStore(b_.CreateFAdd(b_.CreateLoad(vector_of(sum_type_), totals_[k]), sum), totals_[k]);
      b_.CreateStore(llvm::Constant::getNullValue(vector_), sums_[k]);
    }
  }
  void store(Value strip_width) {
    const Value strip = s_.pointers[at(x_.sums.buffer)], column = s_.expressions.emit(layout_.first_sum);
    for (std::size_t k = 0; k < sums_.size(); k++) {
      const Value row = element(
          sum_type_, strip, b_.CreateAdd(b_.CreateMul(s_.loops.number(static_cast<int64_t>(k / vectors_)), strip_width), column));
      llvm::AllocaInst* total = blocks_ ? totals_[k] : sums_[k];
      b_.CreateAlignedStore(b_.CreateLoad(total->getAllocatedType(), total), vector_at(sum_type_, row, k % vectors_), align_);
    }
  }

  // ---- what is fetched before it is asked for
  //
  // x86 waits for lines of the second cache, and for memory longer. Packed factors lie in the
  // order in which they are read, so what comes next is known: the lines some steps ahead, and the
  // columns of the tasks after those over the rows below, of which each task fetches a share while
  // it multiplies. At the end that is past the buffer, where a fetch does nothing. (On aarch64
  // nothing was gained, and LLVM moves no load across a prefetch.)

  static constexpr int64_t kAhead = 1024, kLine = 64;  // bytes
  static constexpr int64_t kShares = 8;
  static constexpr int kNear = 3, kFar = 2;            // into the first cache; into the second

  void plan_fetches() {
    if (arch_of(s_.target) != Arch::x86_64 || !is_packed(layout_)) return;
    columns_are_fetched_ = true;
    const std::optional<Expr> by = stride(layout_.rows_offset, layout_.steps.back());
    rows_are_fetched_ = by && by->is_const(layout_.rows);
    const std::vector<Expr>& outer = s_.kernel.outer;
    if (x_.vars.size() != 1 || outer.size() < 2 || depends(layout_.columns_offset, outer.back())) return;
    const std::optional<Expr> panel = stride(layout_.columns_offset, x_.vars[0]);
    if (!panel) return;
    const std::vector<Expr> zeros(layout_.steps.size(), Expr(0));
    const Expr start = substitute(layout_.columns_offset, layout_.steps, zeros), next = start + x_.vars[0].arg(0) * *panel;
    share_ = next + floor_div(*panel, kShares) * mod(outer.back(), kShares) + floor_div(layout_.columns_offset - start, kShares);
  }
  void fetch(Value there, int how) {
    b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {there->getType()},
                       {there, b_.getInt32(0), b_.getInt32(static_cast<uint32_t>(how)), b_.getInt32(1)});
  }
  void fetch_ahead(Value first, int64_t elements) {
    const int64_t bytes = elements * size_of(x_.types.sums), ahead = std::max(kAhead / bytes, int64_t{1}) * bytes;
    for (int64_t line = 0; line < bytes; line += kLine)
      fetch(b_.CreateGEP(b_.getInt8Ty(), first, s_.loops.number(ahead + line)), kNear);
  }
};

}  // namespace

void emit_product(const ProductSite& site) { ProductCode(site).emit(); }

}  // namespace ingot::cpu
