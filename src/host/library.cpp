#include "host/library.hpp"

#include <dlfcn.h>
#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <mutex>

#include "base/error.hpp"
#include "base/log.hpp"
#include "host/elf_file.hpp"
#include "host/host_stub.hpp"
#include "host/host_tensors.hpp"
#include "io/file.hpp"

namespace ingot {
namespace {

// glibc takes a name it has seen for the library it loaded under it, also when the file is another
// one by now. A file is told from its predecessors by another spelling of the same path, in which
// the folder's name is followed by "/" and "./": the digits of a number that counts the files which
// had this path. The folder stays the same, so what lies beside the library is found.
std::string unique_spelling(const std::string& path) {
  struct Seen {
    dev_t device = 0;
    ino_t inode = 0;
    unsigned count = 0;
  };
  static std::mutex mutex;
  static std::map<std::string, Seen> seen_paths;
  struct stat about{};
  std::error_code none;
  const std::filesystem::path absolute = std::filesystem::absolute(path, none).lexically_normal();
  if (none || stat(path.c_str(), &about) != 0) return path;  // the loader says what is wrong with it
  const std::scoped_lock lock(mutex);
  Seen& seen = seen_paths[absolute.string()];
  if (seen.count == 0 || seen.device != about.st_dev || seen.inode != about.st_ino)
    seen = {about.st_dev, about.st_ino, seen.count + 1};
  std::string spelled = absolute.parent_path().string() + "/";
  for (unsigned n = seen.count; n > 1; n /= 2) spelled += n % 2 ? "./" : "/";
  return spelled + absolute.filename().string();
}

// Refuses what the loader would not survive, or has no good words for: it says that a library of
// another machine is not there.
void require_loadable(const std::string& path) {
  require_whole_elf(path);
  std::string machine;
  try {
    machine = elf_machine(path);
  } catch (const UserError&) {
    return;  // no library at all, which the loader says
  }
  INGOT_REQUIRE(machine == kOwnMachine, "it cannot be used here (it is for ", machine, ", this machine is ", kOwnMachine,
                "); compile the program for this machine");
}

void* open_library(const std::string& path, const char* what = "model") {
  try {
    if (std::error_code none; std::filesystem::exists(path, none)) {
      require_loadable(path);
      provide_host_for(path);
    }
    if (void* handle = dlopen(unique_spelling(path).c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
    const char* said = dlerror();
    const std::string why = said ? said : "the loader does not say why";
    INGOT_REQUIRE(
        !forbids_execution(path), why, " (the folder ", std::filesystem::absolute(path).parent_path().string(),
        " forbids execution: its file system is mounted noexec; put the library somewhere else, and temporary files by TMPDIR)");
    throw_user_error(why);
  } catch (const UserError& e) {
    throw_user_error(text("Failed to load ", what, ": ", path, ": ", e.what()));
  }
}

// What a library writes comes to a function of this code, which may be unloaded while somebody else
// keeps the library: how many of us have each of them open, by the loader's handle. Never
// destroyed, as sessions may be closed while the process ends.
class LogUsers {
 public:
  static LogUsers& all() {
    static auto* const users = new LogUsers;
    return *users;
  }
  void add(const ModelLibrary& library, void* handle, ingot_log_function write) {
    const std::scoped_lock lock(mutex_);
    counts_[handle]++;
    library.ingot_model_set_log(write, nullptr);
  }
  // The last one takes the function back.
  void remove(const ModelLibrary& library, void* handle) {
    const std::scoped_lock lock(mutex_);
    const auto users = counts_.find(handle);
    if (users == counts_.end() || --users->second > 0) return;
    counts_.erase(users);
    library.ingot_model_set_log(nullptr, nullptr);
  }

 private:
  std::mutex mutex_;
  std::map<void*, std::size_t> counts_;
};

}  // namespace

void load_operators(const std::string& path) { open_library(path, "operators"); }

std::shared_ptr<const ModelLibrary> ModelLibrary::load(const std::string& path, bool is_quiet) {
  return std::shared_ptr<const ModelLibrary>(new ModelLibrary(path, is_quiet));
}

ModelLibrary::ModelLibrary(const std::string& path, bool is_quiet) : path_(path), handle_(open_library(path)) {
  try {
    const auto look_up = [this](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle_, name));
      return function != nullptr;
    };
#define INGOT_LOOK_UP(name) \
  INGOT_REQUIRE(look_up(name, #name), "Failed to load model: ", path, ": it is no model library, it has no function " #name);
    INGOT_REQUIRED_MODEL_FUNCTIONS(INGOT_LOOK_UP)
#undef INGOT_LOOK_UP
#define INGOT_LOOK_UP(name)                                                                    \
  if (!look_up(name, #name) && !is_quiet)                                                      \
    warn("Could not dlsym " #name ". This is okay if you don't need functionality from " #name \
         ". Otherwise consider rebuilding "                                                    \
         "your model with the latest AOTInductor.");
    INGOT_OPTIONAL_MODEL_FUNCTIONS(INGOT_LOOK_UP)
#undef INGOT_LOOK_UP
    bool has_all = true;
#define INGOT_LOOK_UP(name) has_all = look_up(name, #name) && has_all;
    INGOT_OWN_MODEL_FUNCTIONS(INGOT_LOOK_UP)
#undef INGOT_LOOK_UP
    is_own_ = has_all;
    if (!is_own_) {
      ingot_tensor_from_memory = host_tensors::from_memory;
      ingot_tensor_describe = host_tensors::describe;
      ingot_tensor_delete = host_tensors::release;
    }
#define INGOT_LOOK_UP(name) look_up(name, #name);
    INGOT_QUIET_MODEL_FUNCTIONS(INGOT_LOOK_UP)
#undef INGOT_LOOK_UP
    // Libraries of before these were there print what they say all the same.
    if (is_own() && ingot_print_errors) ingot_print_errors(false);
    if (is_own() && ingot_model_set_log) LogUsers::all().add(*this, handle_, is_quiet ? write_log_if_heard : write_log);
  } catch (...) {
    dlclose(handle_);
    throw;
  }
}

ModelLibrary::~ModelLibrary() {
  if (is_own() && ingot_model_set_log) LogUsers::all().remove(*this, handle_);
  dlclose(handle_);
}

void ModelLibrary::require_own(const char* what) const {
  INGOT_REQUIRE(is_own(), path_, " was not made by Ingot, or by another version of it: ", what, " needs what it does not have");
}

void ModelLibrary::find_beside(const std::map<std::string, std::string>& paths) const {
  const char* name = is_own() ? ingot_model_weights_file() : nullptr;
  const auto file = name ? paths.find(name) : paths.end();
  if (file == paths.end()) return;
  INGOT_REQUIRE(ingot_model_set_weights_file, path_, " was made by an older version of Ingot, and looks for its weights (", name,
                ") beside itself; compile the program again");
  INGOT_REQUIRE(ingot_model_set_weights_file(file->second.c_str()) == AOTI_RUNTIME_SUCCESS, last_error());
}

std::string ModelLibrary::last_error() const {
  if (is_own()) return ingot_last_error();
  const char* said = nullptr;
  return AOTInductorGetLastError && AOTInductorGetLastError(&said) == AOTI_RUNTIME_SUCCESS && said ? said : "";
}

}  // namespace ingot
