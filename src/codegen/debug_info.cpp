#include "codegen/debug_info.hpp"

#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Instructions.h>

#include <filesystem>

namespace ingot {
namespace {

llvm::DIFile* file_of(llvm::DIBuilder& builder, const std::string& path) {
  const std::filesystem::path p(path);
  return builder.createFile(p.filename().string(), p.parent_path().string());
}

}  // namespace

DebugInfo::DebugInfo(llvm::Module& module, const Model& model) : model_(model) {
  if (model.sources.empty()) return;
  builder_.emplace(module);
  module.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  module.addModuleFlag(llvm::Module::Warning, "Dwarf Version", 4);
  builder_->createCompileUnit(llvm::dwarf::DW_LANG_Python, builder_->createFile(model.name, ""), "ingot", true, "", 0);
}

DebugInfo::~DebugInfo() {
  if (builder_) builder_->finalize();
}

void DebugInfo::describe(llvm::Function* entry, const std::string& kernel) {
  if (!builder_) return;
  const auto found = model_.sources.find(kernel.substr(0, kernel.find('.')));
  if (found == model_.sources.end()) return;
  place(*entry, kernel, found->second);
  for (llvm::Instruction& i : entry->front())
    if (auto* call = llvm::dyn_cast<llvm::CallInst>(&i)) place(*call->getCalledFunction(), kernel, found->second);
}

void DebugInfo::place(llvm::Function& f, const std::string& name, const Model::Source& source) {
  llvm::DIFile* file = file_of(*builder_, source.file);
  const auto line = static_cast<unsigned>(source.line);
  llvm::DISubroutineType* type = builder_->createSubroutineType(builder_->getOrCreateTypeArray({}));
  llvm::DISubprogram* program =
      builder_->createFunction(file, name, f.getName(), file, line, type, line, llvm::DINode::FlagZero,
                               llvm::DISubprogram::SPFlagDefinition | llvm::DISubprogram::SPFlagOptimized);
  f.setSubprogram(program);
  const llvm::DILocation* here = llvm::DILocation::get(f.getContext(), line, 0, program);
  for (llvm::BasicBlock& b : f)
    for (llvm::Instruction& i : b) i.setDebugLoc(here);
}

}  // namespace ingot
