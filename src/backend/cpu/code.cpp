#include "backend/cpu/code.hpp"

#include <llvm/IR/Module.h>

#include "backend/cpu/kernel.hpp"
#include "backend/cpu/kernel_set.hpp"
#include "base/error.hpp"
#include "codegen/debug_info.hpp"
#include "codegen/level.hpp"

namespace ingot::cpu {

std::vector<Object> generate_code(const Model& model, std::size_t level, CodeText* text_of_code) {
  const Model::Level& l = model.levels[level];
  std::vector<const loop::Program*> runs, folds;
  for (const Model::Code& c : l.codes) {
    runs.push_back(&c.run);
    if (c.fold) folds.push_back(&*c.fold);
  }
  const KernelSet kernels(runs, folds, l.target, text("kernel.", level, "."));
  const auto emit_group = [&](llvm::Module& module, std::size_t group) {
    DebugInfo debug(module, model);
    for (const KernelSet::Code& k : kernels.groups()[group])
      debug.describe(emit_kernel(module,
                                 {k.kernel.program, k.kernel.kernel, k.parameters,
                                  k.parameters.empty() ? k.kernel.kernel : k.example, k.multiples},
                                 l.target, k.symbol),
                     k.kernel.kernel.name);
  };
  return generate_level(model, level, {kernels.uses(), kernels.groups().size(), emit_group}, text_of_code);
}

}  // namespace ingot::cpu
