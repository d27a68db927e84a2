#include "host/host_stub.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>

#include "base/error.hpp"
#include "base/log.hpp"
#include "host/elf_file.hpp"
#include "ingot/aoti_host.h"

namespace ingot {
namespace {

#if defined(__x86_64__)
constexpr Elf64_Half kMachineCode = EM_X86_64;
#else
constexpr Elf64_Half kMachineCode = EM_AARCH64;
#endif

constexpr std::size_t kMostName = 256;

// A shared library that has a name and nothing else.
struct EmptyLibrary {
  Elf64_Ehdr header{};
  Elf64_Phdr segments[3]{};
  Elf64_Dyn dynamic[6]{};
  Elf64_Sym symbols[1]{};
  char strings[kMostName]{};  // the first is empty, as ever

  explicit EmptyLibrary(const std::string& soname) {
    INGOT_REQUIRE(soname.size() + 2 <= kMostName, "a library of that long a name: ", soname);
    std::memcpy(strings + 1, soname.data(), soname.size());
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_DYN;
    header.e_machine = kMachineCode;
    header.e_version = EV_CURRENT;
    header.e_phoff = offsetof(EmptyLibrary, segments);
    header.e_ehsize = sizeof header;
    header.e_phentsize = sizeof segments[0];
    header.e_phnum = std::size(segments);
    constexpr Elf64_Word kData = PF_R | PF_W;  // the loader writes into the dynamic section
    constexpr Elf64_Xword kLargestPage = 1 << 16;
    segments[0] = segment(PT_LOAD, kData, 0, sizeof *this, kLargestPage);
    segments[1] = segment(PT_DYNAMIC, kData, offsetof(EmptyLibrary, dynamic), sizeof dynamic, alignof(Elf64_Dyn));
    segments[2] = segment(PT_GNU_STACK, kData, 0, 0, 16);
    dynamic[0] = {DT_SONAME, {1}};
    dynamic[1] = {DT_STRTAB, {offsetof(EmptyLibrary, strings)}};
    dynamic[2] = {DT_STRSZ, {sizeof strings}};
    dynamic[3] = {DT_SYMTAB, {offsetof(EmptyLibrary, symbols)}};
    dynamic[4] = {DT_SYMENT, {sizeof symbols[0]}};
    dynamic[5] = {DT_NULL, {0}};
  }

 private:
  static Elf64_Phdr segment(Elf64_Word type, Elf64_Word flags, Elf64_Off at, Elf64_Xword bytes, Elf64_Xword alignment) {
    return {type, flags, at, at, at, bytes, bytes, alignment};
  }
};

bool is_of_libtorch(const std::string& name) { return name.starts_with("libtorch") || name.starts_with("libc10"); }

bool is_loaded(const std::string& name) {
  void* library = dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (library) dlclose(library);
  return library != nullptr;
}

// The loader finds a library that is needed among those that it has, by the name inside. The file
// stays open and the library loaded: the loader would take another file of the same number for this
// one.
void load_empty(const std::string& soname) {
  const EmptyLibrary library(soname);
  const int file = memfd_create("ingot_stub", MFD_CLOEXEC);
  INGOT_REQUIRE(file >= 0 && write(file, &library, sizeof library) == sizeof library, "cannot write a stub of ", soname, ": ",
                std::strerror(errno));
  if (dlopen(text("/proc/self/fd/", file).c_str(), RTLD_NOW | RTLD_LOCAL)) return;
  const char* why = dlerror();
  throw_user_error(text("cannot load a stub of ", soname, ": ", why ? why : "the loader does not say why"));
}

bool has_host() { return dlsym(RTLD_DEFAULT, "aoti_torch_delete_tensor_object") != nullptr; }

// Ingot's host functions as a library, which lies beside the one that this code is in, or where the
// loader looks. Its user is that of this code, and so is its log.
void* load_host_library() {
  constexpr const char* kName = "libingot_host.so." INGOT_SOVERSION;
  Dl_info here{};
  if (dladdr(reinterpret_cast<const void*>(&provide_host_for), &here) != 0 && here.dli_fname) {
    const std::filesystem::path beside = std::filesystem::path(here.dli_fname).parent_path() / kName;
    if (std::error_code none; std::filesystem::exists(beside, none))
      if (void* library = dlopen(beside.c_str(), RTLD_NOW | RTLD_GLOBAL)) return library;
  }
  if (void* library = dlopen(kName, RTLD_NOW | RTLD_GLOBAL)) return library;
  const char* why = dlerror();
  throw_user_error(
      text("it was made by AOTInductor and calls functions of a host, which this program does not have: install libingot_host.so "
           "beside libingot_runtime.so (",
           why ? why : kName, ")"));
}

bool is_of_a_host(const std::string& function) {
  return function.starts_with("aoti_torch_") || function.starts_with("aoti_record_function_") || function.starts_with("torch_") ||
         function.starts_with("Sleef_");
}

}  // namespace

void provide_host_for(const std::string& path) {
  const ElfNeeds needs = elf_needs(path);
  static std::mutex mutex;
  static std::set<std::string> stubs;
  const std::scoped_lock lock(mutex);
  bool is_foreign = false, has_libtorch = false;
  for (const std::string& name : needs.libraries) {
    if (!is_of_libtorch(name)) continue;
    is_foreign = true;
    if (is_loaded(name)) has_libtorch = has_libtorch || stubs.count(name) == 0;
    else load_empty(name), stubs.insert(name);
  }
  if (!is_foreign || has_libtorch) return;  // then libtorch itself is the host
  if (!has_host()) {
    const auto set_host_log = reinterpret_cast<decltype(&ingot_host_set_log)>(dlsym(load_host_library(), "ingot_host_set_log"));
    if (set_host_log) set_host_log(write_log_if_heard, nullptr);
  }
  // Their code assumes the sizes and strides that PyTorch's operators had when it was made. They
  // can check these, and their inputs, and do where the environment asks for it; a wrong assumption
  // is a wrong answer otherwise.
  setenv("AOTI_RUNTIME_CHECK_INPUTS", "1", 0);
  std::string missing;
  for (const std::string& function : needs.functions) {
    if (is_of_a_host(function) && !dlsym(RTLD_DEFAULT, function.c_str())) missing += (missing.empty() ? "" : ", ") + function;
  }
  INGOT_REQUIRE(missing.empty(), "it calls functions of libtorch that Ingot does not have: ", missing);
}

}  // namespace ingot
