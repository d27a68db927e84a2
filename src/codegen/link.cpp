#include "codegen/link.hpp"

#include <fcntl.h>
#include <lld/Common/Driver.h>
#include <llvm/Support/CrashRecoveryContext.h>
#include <llvm/Support/raw_ostream.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "codegen/llvm_state.hpp"

LLD_HAS_DRIVER(elf)

// lld 19 keeps pointers to symbols that only some links have, and lets the next link of the process
// write through them when the symbols are long gone. Its header is not installed, so this says
// again what it declares.
namespace lld::elf {
class Defined;
struct ElfSym {
  static Defined *globalOffsetTable, *relaIpltStart, *relaIpltEnd, *tlsModuleBase;
};
}  // namespace lld::elf

namespace ingot {
namespace {

void forget_last_link() {
  using lld::elf::ElfSym;
  ElfSym::globalOffsetTable = ElfSym::relaIpltStart = ElfSym::relaIpltEnd = ElfSym::tlsModuleBase = nullptr;
}

namespace fs = std::filesystem;

// Bytes in memory under a path that lld can open.
class MemoryFile {
 public:
  explicit MemoryFile(const Object& object) : fd_(memfd_create(object.name.c_str(), MFD_CLOEXEC)) {
    INGOT_REQUIRE(fd_ >= 0, "no memory file for '", object.name, "': ", std::strerror(errno));
    for (size_t done = 0; done < object.bytes.size();) {
      const ssize_t n = write(fd_, object.bytes.data() + done, object.bytes.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) {
        const int error = errno;
        close(fd_);
        throw_user_error(text("out of memory for '", object.name, "': ", std::strerror(error)));
      }
      done += static_cast<size_t>(n);
    }
  }
  ~MemoryFile() {
    if (fd_ >= 0) close(fd_);
  }
  MemoryFile(MemoryFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  MemoryFile& operator=(MemoryFile&&) = delete;

  std::string path() const { return text("/proc/self/fd/", fd_); }

 private:
  int fd_;
};

// A name beside `path`, unique among processes and threads; the file, if any, is removed with the
// value.
class FileBeside {
 public:
  explicit FileBeside(const std::string& path) {
    static std::atomic<int> count{0};
    path_ = text(path, ".", getpid(), ".", count++, ".part");
  }
  ~FileBeside() { std::remove(path_.c_str()); }
  FileBeside(const FileBeside&) = delete;
  FileBeside& operator=(const FileBeside&) = delete;

  const std::string& path() const { return path_; }
  void rename_to(const std::string& path) const {
    INGOT_REQUIRE(std::rename(path_.c_str(), path.c_str()) == 0, "cannot write '", path, "': ", std::strerror(errno));
  }

 private:
  std::string path_;
};

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

// lld gives up on some errors by leaving through Process::Exit, which ends this process unless
// crash recovery is on.
class CrashRecovery {
 public:
  CrashRecovery() { llvm::CrashRecoveryContext::Enable(); }
  ~CrashRecovery() { llvm::CrashRecoveryContext::Disable(); }
  CrashRecovery(const CrashRecovery&) = delete;
  CrashRecovery& operator=(const CrashRecovery&) = delete;
};

// Runs lld and returns what it said if it failed.
std::string run_lld(const std::vector<std::string>& arguments) {
  std::vector<const char*> argv;
  for (const std::string& a : arguments) argv.push_back(a.c_str());
  std::string output, errors;
  llvm::raw_string_ostream out(output), err(errors);

  const LlvmLink alone;
  const CrashRecovery recovery;
  static bool usable = true;  // guarded by `alone`
  if (!usable) return "the linker gave up on a damaged file earlier and cannot run again here; start a new process";
  forget_last_link();
  // On a thread of its own: what lld keeps of a link's sections is the thread's, and ends with it.
  // A process that compiles for days would grow by a megabyte with each link.
  lld::Result result{};
  std::thread([&] { result = lld::lldMain(argv, out, err, {{lld::Gnu, &lld::elf::link}}); }).join();
  usable = result.canRunAgain;
  if (result.retCode == 0) return {};
  // It writes to pages of the file, and where one of them has no place on the disk, that is a
  // signal.
  if (errors.empty() && result.retCode == 128 + SIGBUS) return text(std::strerror(ENOSPC), ", or the disk failed");
  while (!errors.empty() && errors.back() == '\n') errors.pop_back();
  return errors.empty() ? text("the linker failed with status ", result.retCode) : errors;
}

// Where the files lie that are linked into models: beside the program, where it is installed, where
// a program that is somewhere else says.
std::vector<fs::path> support_folders() {
  std::vector<fs::path> folders;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    folders.push_back(program.parent_path() / "lib");
    folders.push_back(program.parent_path().parent_path() / "lib" / "ingot");
  }
  if (const char* folder = std::getenv("INGOT_LIB_DIR"); folder && *folder) folders.emplace_back(folder);
  return folders;
}

std::string support_file(const std::string& name) {
  std::string tried;
  for (const fs::path& folder : support_folders()) {
    const fs::path path = folder / name;
    std::error_code error;
    if (fs::is_regular_file(path, error)) return path.string();
    tried += "\n  " + path.string();
  }
  throw_user_error(text("this installation of Ingot lacks ", name,
                        " (`make build` makes it, for both architectures; INGOT_LIB_DIR may say where it is); looked for",
                        tried));
}

// The names of symbols stand in an object as they are.
bool any_names(std::span<const Object> objects, std::string_view symbol) {
  for (const Object& o : objects)
    if (o.bytes.find(symbol) != std::string::npos) return true;
  return false;
}

}  // namespace

std::string kernel_archive(const Target& target) {
  return support_file(text("libingot_kernels_", to_text(arch_of(target)), ".a"));
}

void link_library(std::span<const Object> objects, const Target& target, const std::string& output) {
  const Arch arch = arch_of(target);
  const FileBeside partial(output);
  const char* machine = arch == Arch::x86_64 ? "elf_x86_64" : "aarch64linux";
  const std::string name = fs::path(output).filename().string();
  std::vector<std::string> arguments;
  arguments.reserve(64);
  auto add = [&](const auto&... argument) { (arguments.push_back(std::string(argument)), ...); };
  add("ld.lld", "-shared", "-m", machine, "-soname", name, "-o", partial.path());
  add("--gc-sections");  // of the kernels, what is used
  add("--icf=safe");  // and once where it is alike, of archives that say whose addresses matter (made by clang)
  add("-z", "defs");  // a missing symbol is found now, not by the user's loader
  add("-z", "now", "-z", "relro", "-z", "noexecstack");  // nothing is patched or writable once it is loaded
  add("--hash-style=gnu", "--build-id=none", "--threads=1");  // small, and the same bytes every time
  add("--color-diagnostics=never");
  // lld keeps the address of this symbol from one link to the next and writes there: every link
  // must define it anew, also one whose objects do not refer to it.
  add("--undefined=_GLOBAL_OFFSET_TABLE_");

  std::vector<MemoryFile> files;
  for (const Object& object : objects) add(files.emplace_back(object).path());
  // The runtime of a model goes in whole: nothing refers to the functions that it exports.
  if (any_names(objects, "ingot_the_program"))
    add("--whole-archive", support_file(text("libingot_model_", to_text(arch), ".a")), "--no-whole-archive");
  if (any_names(objects, "ingot_eager_call")) {
    const std::string archive = text("libingot_eager_", to_text(arch), ".a");
    add(support_file(archive), text("--exclude-libs=", archive));  // the C++ runtime is in it, with symbols that are not hidden
    add("--eh-frame-hdr");  // how that finds who catches an exception
    if (!any_names(objects, ".debug_line")) add("--strip-all");  // the names of all its functions are a third of the file
  }
  add(kernel_archive(target), "--as-needed");
  for (const char* library : {"libm_", "libc_"}) add(support_file(text(library, to_text(arch), ".so")));

  std::string errors = run_lld(arguments);
  if (!errors.empty()) {
    for (size_t i = files.size(); i-- > 0;) replace_all(errors, files[i].path(), objects[i].name);
    replace_all(errors, partial.path(), output);
    throw_user_error(text("cannot link '", output, errors.find('\n') == std::string::npos ? "': " : "':\n", errors));
  }
  partial.rename_to(output);
}

}  // namespace ingot
