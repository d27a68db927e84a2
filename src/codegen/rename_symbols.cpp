#include "codegen/rename_symbols.hpp"

#include <llvm/ObjCopy/ConfigManager.h>
#include <llvm/ObjCopy/ObjCopy.h>
#include <llvm/Object/ArchiveWriter.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/raw_ostream.h>

#include "base/error.hpp"

namespace ingot {
namespace {

// What LLVM made, or an internal error with its text: its input is what lld wrote.
template <class T>
T made(llvm::Expected<T> result) {
  if (result) return std::move(*result);
  throw_internal_error(__FILE__, __LINE__, llvm::toString(result.takeError()));
}
void made(llvm::Error error) {
  if (error) throw_internal_error(__FILE__, __LINE__, llvm::toString(std::move(error)));
}

}  // namespace

std::string with_names(std::string_view object, const std::map<std::string, std::string>& shown, bool keeps_locals) {
  using namespace llvm::objcopy;
  ConfigManager config;
  config.Common.OutputFilename = "object";
  if (!keeps_locals) config.Common.StripUnneeded = true;
  for (const auto& [symbol, name] : shown) {
    config.Common.SymbolsToRename[symbol] = name;
    made(config.Common.SymbolsToKeepGlobal.addMatcher(
        NameOrPattern::create(symbol, MatchStyle::Literal, [](llvm::Error e) { return e; })));
  }
  const auto binary = made(
      llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(llvm::StringRef(object.data(), object.size()), "object")));
  std::string bytes;
  llvm::raw_string_ostream out(bytes);
  made(executeObjcopyOnBinary(config, *binary, out));
  return bytes;
}

std::string archive_of(const Object& object) {
  llvm::NewArchiveMember member(llvm::MemoryBufferRef(object.bytes, object.name));
  const auto buffer = made(llvm::writeArchiveToBuffer({std::move(member)}, llvm::SymtabWritingMode::NormalSymtab,
                                                      llvm::object::Archive::K_GNU, true, false, llvm::warnToStderr));
  return buffer->getBuffer().str();
}

}  // namespace ingot
