#include "codegen/level.hpp"

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <atomic>

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "codegen/llvm_state.hpp"

namespace ingot {
namespace {

void emit_entries(llvm::Module& module, const Model& model, std::size_t level, const KernelUses& kernels) {
  const Model::Level& l = model.levels[level];
  for (std::size_t e = 0; e < l.codes.size(); e++) {
    const Model::Code& c = l.codes[e];
    const std::vector<std::size_t>& constants = model.entries[e].constants;
    emit_main(module, c.run, constants, kernels, l.host, function_name("run", level, e));
    emit_size_function(module, c.run, l.host, c.run.arena_bytes, function_name("arena", level, e));
    if (c.fold) emit_main(module, *c.fold, constants, kernels, l.host, function_name("fold", level, e));
  }
}

}  // namespace

std::vector<Object> generate_level(const Model& model, std::size_t level, const LevelKernels& kernels, CodeText* text_of_code) {
  std::vector<Object> objects(1 + kernels.groups);
  std::vector<CodeText> texts(objects.size());
  const auto compile_module = [&](std::size_t k) {
    const Target& target = k == 0 ? model.levels[level].host : model.levels[level].target;
    llvm::LLVMContext context;
    llvm::Module module(text(model.name, ".", level, ".", k), context);
    set_target(module, target);
    {
      const LlvmUse use;
      k == 0 ? emit_entries(module, model, level, kernels.uses) : kernels.emit(module, k - 1);
    }
    objects[k] = emit(module, target, text_of_code ? &texts[k] : nullptr, k == 0 ? Effort::little : Effort::full);
  };
  std::atomic<std::size_t> next{0};  // modules differ much: each thread takes the next one when it is done
  parallel_for(0, num_threads(), 1, [&](int64_t, int64_t) {
    for (std::size_t k; (k = next++) < objects.size();) compile_module(k);
  });
  if (text_of_code)
    for (const CodeText& t : texts) {
      text_of_code->llvm += t.llvm;
      text_of_code->assembly += t.assembly;
    }
  return objects;
}

}  // namespace ingot
