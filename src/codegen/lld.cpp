#include "codegen/lld.hpp"

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
#include <thread>
#include <utility>

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

// lld gives up on some errors by leaving through Process::Exit, which ends this process unless
// crash recovery is on.
class CrashRecovery {
 public:
  CrashRecovery() { llvm::CrashRecoveryContext::Enable(); }
  ~CrashRecovery() { llvm::CrashRecoveryContext::Disable(); }
  CrashRecovery(const CrashRecovery&) = delete;
  CrashRecovery& operator=(const CrashRecovery&) = delete;
};

// LLVM gives the thread in which it first looks for signals a stack for them, and keeps it. A
// thread ends with the one that it came with: a sanitizer, whose own it may be, gives it back then.
class SignalStack {
 public:
  SignalStack() { sigaltstack(nullptr, &before_); }
  ~SignalStack() { sigaltstack(&before_, nullptr); }
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  stack_t before_{};
};

}  // namespace

MemoryFile::MemoryFile(const Object& object) : fd_(memfd_create(object.name.c_str(), MFD_CLOEXEC)) {
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

MemoryFile::~MemoryFile() {
  if (fd_ >= 0) close(fd_);
}

MemoryFile::MemoryFile(MemoryFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

std::string MemoryFile::path() const { return text("/proc/self/fd/", fd_); }

FileBeside::FileBeside(const std::string& path) {
  static std::atomic<int> count{0};
  path_ = text(path, ".", getpid(), ".", count++, ".part");
}

FileBeside::~FileBeside() { std::remove(path_.c_str()); }

void FileBeside::rename_to(const std::string& path) const {
  INGOT_REQUIRE(std::rename(path_.c_str(), path.c_str()) == 0, "cannot write '", path, "': ", std::strerror(errno));
}

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
  std::thread([&] {
    const SignalStack own;
    result = lld::lldMain(argv, out, err, {{lld::Gnu, &lld::elf::link}});
  }).join();
  usable = result.canRunAgain;
  if (result.retCode == 0) return {};
  // It writes to pages of the file, and where one of them has no place on the disk, that is a
  // signal.
  if (errors.empty() && result.retCode == 128 + SIGBUS) return text(std::strerror(ENOSPC), ", or the disk failed");
  while (!errors.empty() && errors.back() == '\n') errors.pop_back();
  return errors.empty() ? text("the linker failed with status ", result.retCode) : errors;
}

}  // namespace ingot
