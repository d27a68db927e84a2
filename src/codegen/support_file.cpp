#include "codegen/support_file.hpp"

#include <dlfcn.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "base/error.hpp"

namespace ingot {
namespace {

namespace fs = std::filesystem;

class Folders {
 public:
  void add(const fs::path& folder) {
    for (const fs::path& f : list_)
      if (f == folder) return;
    list_.push_back(folder);
  }
  // Around a program or a library: where this project's build puts the files, and where an
  // installation has them, whether libraries lie in lib or in a folder of it by architecture.
  void add_around(const fs::path& binary) {
    const fs::path at = binary.parent_path();
    add(at / "lib");
    add(at.parent_path() / "lib" / "ingot");
    add(at / "ingot");
    add(at.parent_path() / "ingot");
    add(at);
  }
  const std::vector<fs::path>& list() const { return list_; }

 private:
  std::vector<fs::path> list_;
};

// The folders where the loader looks for libraries of this program, in its order.
std::vector<fs::path> loader_folders() {
  std::vector<fs::path> folders;
  void* program = dlopen(nullptr, RTLD_LAZY);
  if (!program) return folders;
  Dl_serinfo size{};
  if (dlinfo(program, RTLD_DI_SERINFOSIZE, &size) == 0 && size.dls_size >= sizeof size) {
    std::vector<std::max_align_t> memory(size.dls_size / sizeof(std::max_align_t) + 1);
    auto* found = reinterpret_cast<Dl_serinfo*>(memory.data());
    *found = size;
    if (dlinfo(program, RTLD_DI_SERINFO, found) == 0)
      for (unsigned k = 0; k < found->dls_cnt; k++) folders.emplace_back(found->dls_serpath[k].dls_name);
  }
  dlclose(program);
  return folders;
}

std::vector<fs::path> support_folders() {
  Folders folders;
  std::error_code error;
  if (const fs::path program = fs::read_symlink("/proc/self/exe", error); !error) folders.add_around(program);
  Dl_info here{};
  if (dladdr(reinterpret_cast<const void*>(&support_file), &here) != 0 && here.dli_fname)
    if (const fs::path library = fs::canonical(here.dli_fname, error); !error) folders.add_around(library);
  for (const fs::path& folder : loader_folders()) folders.add(folder / "ingot");
  if (const char* folder = std::getenv("INGOT_LIB_DIR"); folder && *folder) folders.add(folder);
  return folders.list();
}

}  // namespace

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

}  // namespace ingot
