#include "codegen/link.hpp"

#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>

#include <filesystem>
#include <vector>

#include "base/error.hpp"
#include "codegen/lld.hpp"
#include "codegen/rename_symbols.hpp"
#include "codegen/support_file.hpp"

namespace ingot {
namespace {

namespace fs = std::filesystem;

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

// The names of symbols stand in an object as they are.
bool any_names(std::span<const Object> objects, std::string_view symbol) {
  for (const Object& o : objects)
    if (o.bytes.find(symbol) != std::string::npos) return true;
  return false;
}

// What lld calls the format of its output.
const char* emulation(Arch arch) {
  switch (arch) {
    case Arch::x86_64: return "elf_x86_64";
    case Arch::aarch64: return "aarch64linux";
  }
  throw_internal_error(__FILE__, __LINE__, text("no libraries for ", to_text(arch)));
}

// A link of objects to one file, which is there under a name of its own until it is done.
class Link {
 public:
  Link(std::span<const Object> objects, const Target& target, const std::string& output)
      : objects_(objects), arch_(arch_of(target)), output_(output), partial_(output) {
    add("ld.lld", "-m", emulation(arch_), "-o", partial_.path());
    add("-z", "noexecstack");
    add("--build-id=none", "--threads=1");  // the same bytes every time
    add("--color-diagnostics=never");
  }

  template <class... Argument>
  void add(const Argument&... argument) {
    (arguments_.push_back(std::string(argument)), ...);
  }
  void add_objects() {
    for (const Object& object : objects_) add(files_.emplace_back(object).path());
    // The runtime of a model goes in whole: nothing refers to the functions that it exports.
    if (any_names(objects_, "ingot_the_program"))
      add("--whole-archive", support_file(text("libingot_model_", to_text(arch_), ".a")), "--no-whole-archive");
  }
  void add_archives(std::span<const std::string> names) {
    for (const std::string& name : names) add(support_file(name));
  }
  bool is_eager() const { return any_names(objects_, "ingot_eager_call"); }
  std::string eager_archive() const { return text("libingot_eager_", to_text(arch_), ".a"); }
  bool has_lines() const { return any_names(objects_, ".debug_line"); }
  void add_libc() {
    add("--as-needed");
    for (const char* library : {"libm_", "libc_"}) add(support_file(text(library, to_text(arch_), ".so")));
  }

  // User error, with the linker's text.
  const FileBeside& run() {
    std::string errors = run_lld(arguments_);
    if (errors.empty()) return partial_;
    for (size_t i = files_.size(); i-- > 0;) replace_all(errors, files_[i].path(), objects_[i].name);
    replace_all(errors, partial_.path(), output_);
    throw_user_error(text("cannot link '", output_, errors.find('\n') == std::string::npos ? "': " : "':\n", errors));
  }

 private:
  std::span<const Object> objects_;
  Arch arch_;
  std::string output_;
  FileBeside partial_;
  std::vector<std::string> arguments_;
  std::vector<MemoryFile> files_;
};

}  // namespace

std::string kernel_archive(const Target& target) {
  return support_file(text("libingot_kernels_", to_text(arch_of(target)), ".a"));
}

void link_library(std::span<const Object> objects, const Target& target, const std::string& output,
                  const std::function<void(const std::string&)>& finish, std::span<const std::string> archives) {
  Link link(objects, target, output);
  link.add("-shared", "-soname", fs::path(output).filename().string());
  link.add("--gc-sections");  // of the kernels, what is used
  link.add("--icf=safe");  // and once where it is alike, of archives that say whose addresses matter (made by clang)
  link.add("-z", "defs");  // a missing symbol is found now, not by the user's loader
  link.add("-z", "now", "-z", "relro");  // nothing is patched or writable once it is loaded
  link.add("--hash-style=gnu");          // small
  // lld keeps the address of this symbol from one link to the next and writes there: every link
  // must define it anew, also one whose objects do not refer to it.
  link.add("--undefined=_GLOBAL_OFFSET_TABLE_");
  link.add_objects();
  if (link.is_eager()) {
    const std::string archive = link.eager_archive();
    link.add(support_file(archive),
             text("--exclude-libs=", archive));  // the C++ runtime is in it, with symbols that are not hidden
    link.add("--eh-frame-hdr");  // how that finds who catches an exception
  }
  if (!link.has_lines()) link.add("--strip-all");  // the names of all its functions are a fifth of a small file
  link.add_archives(archives);
  link.add(kernel_archive(target));
  link.add_libc();
  const FileBeside& made = link.run();
  if (finish) finish(made.path());
  made.rename_to(output);
}

void link_object(std::span<const Object> objects, const Target& target, const NewNames& shown, const std::string& output,
                 std::span<const std::string> archives) {
  Link link(objects, target, output);
  link.add("-r");
  // Functions of one signature are one group, of which a program keeps the first that it meets:
  // those of another model, perhaps, whose symbols are local too.
  link.add("--force-group-allocation");
  for (const auto& [symbol, name] : shown) link.add(text("--undefined=", symbol));
  link.add_objects();
  // In such a link nothing refers to the tables that say who catches an exception, so that they
  // would go. What is not used is left out by the program's own link.
  if (link.is_eager()) link.add(support_file(link.eager_archive()));
  else link.add("--gc-sections");
  link.add_archives(archives);
  link.add(kernel_archive(target));
  const bool keeps_locals = !link.is_eager() || link.has_lines();
  const FileBeside& made = link.run();
  auto bytes = llvm::MemoryBuffer::getFile(made.path());
  INGOT_REQUIRE(bytes, "cannot read '", made.path(), "': ", bytes.getError().message());
  Object object{fs::path(output).stem().string() + ".o", with_names((*bytes)->getBuffer(), shown, keeps_locals)};
  bytes->reset();
  if (output.ends_with(".a")) object.bytes = archive_of(object);
  std::error_code error;
  llvm::raw_fd_ostream file(made.path(), error);
  if (!error) {
    file << object.bytes;
    file.close();
    error = file.error();
    file.clear_error();  // which would end the process
  }
  INGOT_REQUIRE(!error, "cannot write '", output, "': ", error.message());
  made.rename_to(output);
}

}  // namespace ingot
