#include "backend/cpu/transpose.hpp"

#include <llvm/IR/IRBuilder.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

namespace ingot::cpu {
namespace {

// In every aligned group of as many elements as there are vectors: element i of the k-th becomes
// element k of the i-th. Both are powers of two.
void turn_groups(llvm::IRBuilder<>& b, std::vector<llvm::Value*>& vectors) {
  const std::size_t n = llvm::cast<llvm::FixedVectorType>(vectors[0]->getType())->getNumElements();
  // Quarters of all blocks of 2*s by 2*s change places, two vectors at a time.
  for (std::size_t s = 1; s < vectors.size(); s *= 2) {
    std::vector<int> low, high;  // of both vectors, the second's elements counted on from n
    for (std::size_t k = 0; k < n; k++) {
      low.push_back(static_cast<int>(k & s ? n + k - s : k));
      high.push_back(static_cast<int>(k & s ? n + k : k + s));
    }
    for (std::size_t i = 0; i < vectors.size(); i++) {
      if (i & s) continue;
      llvm::Value *first = vectors[i], *second = vectors[i + s];
      vectors[i] = b.CreateShuffleVector(first, second, low);
      vectors[i + s] = b.CreateShuffleVector(first, second, high);
    }
  }
}

// Elements of all the vectors that are turned at a time. A quarter of the largest registers is
// loaded to its place in one of them, and elements change places within quarters alone.
constexpr int64_t kGroup = 4;

}  // namespace

llvm::Function* turning_function(llvm::Module& module, llvm::Type* vector, int64_t count) {
  auto* type = llvm::cast<llvm::FixedVectorType>(vector);
  llvm::Type* element = type->getElementType();
  const auto lanes = static_cast<int64_t>(type->getNumElements());
  const std::string name = "turn." + std::to_string(element->getTypeID()) + "." + std::to_string(element->getScalarSizeInBits()) +
                           "." + std::to_string(lanes) + "." + std::to_string(count);
  if (llvm::Function* known = module.getFunction(name)) return known;
  llvm::LLVMContext& context = module.getContext();
  llvm::Type *pointer = llvm::PointerType::getUnqual(context), *i64 = llvm::Type::getInt64Ty(context);
  auto* f = llvm::Function::Create(llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer, pointer, i64}, false),
                                   llvm::Function::InternalLinkage, name, module);
  f->addFnAttr(llvm::Attribute::NoInline);
  const llvm::Align align(element->getScalarSizeInBits() / 8);
  for (unsigned k = 0; k < 2; k++) f->getArg(k)->addAttr(llvm::Attribute::NoAlias);
  llvm::Argument *block = f->getArg(0), *to = f->getArg(1), *step = f->getArg(2);
  const int64_t group = std::min(kGroup, lanes);
  llvm::Type* piece = llvm::FixedVectorType::get(element, static_cast<unsigned>(group));
  auto* entry = llvm::BasicBlock::Create(context, "entry", f);
  auto *loop = llvm::BasicBlock::Create(context, "loop", f), *done = llvm::BasicBlock::Create(context, "done", f);
  llvm::IRBuilder<> b(entry);
  b.CreateBr(loop);
  b.SetInsertPoint(loop);
  llvm::PHINode* first = b.CreatePHI(i64, 2);  // element of each vector
  first->addIncoming(b.getInt64(0), entry);
  std::vector<llvm::Value*> vectors(static_cast<std::size_t>(group), llvm::PoisonValue::get(type));
  for (int64_t k = 0; k < count; k++) {
    llvm::Value* from = b.CreateGEP(element, block, b.CreateAdd(first, b.getInt64(static_cast<uint64_t>(k * lanes))));
    llvm::Value*& vector = vectors[static_cast<std::size_t>(k % group)];
    vector = b.CreateInsertVector(type, vector, b.CreateAlignedLoad(piece, from, align),
                                  b.getInt64(static_cast<uint64_t>(k / group * group)));
  }
  turn_groups(b, vectors);
  std::vector<int> own(static_cast<std::size_t>(count));
  std::iota(own.begin(), own.end(), 0);
  for (int64_t k = 0; k < group; k++) {
    llvm::Value* turned = vectors[static_cast<std::size_t>(k)];
    if (count < lanes) turned = b.CreateShuffleVector(turned, own);
    llvm::Value* place = b.CreateMul(b.CreateAdd(first, b.getInt64(static_cast<uint64_t>(k))), step);
    b.CreateAlignedStore(turned, b.CreateGEP(element, to, place), align);
  }
  llvm::Value* next = b.CreateAdd(first, b.getInt64(static_cast<uint64_t>(group)));
  first->addIncoming(next, loop);
  b.CreateCondBr(b.CreateICmpULT(next, b.getInt64(static_cast<uint64_t>(lanes))), loop, done);
  b.SetInsertPoint(done);
  b.CreateRetVoid();
  return f;
}

}  // namespace ingot::cpu
