#include "cli/output.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/error.hpp"
#include "io/file.hpp"

namespace ingot {

OutputFile::OutputFile(const std::string& output, const std::string& name) : given_(output), path_(output) {
  if (output != "-") {
    replaced_file(output);
    return;
  }
  folder_.emplace();
  path_ = folder_->path() + "/" + name;
  std::fflush(stdout);
  standard_output_ = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  INGOT_REQUIRE(standard_output_ >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) == STDOUT_FILENO,
                "cannot write to standard output: ", std::strerror(errno));
}

OutputFile::~OutputFile() {
  if (standard_output_ >= 0) close(standard_output_);
}

void OutputFile::deliver() {
  if (!is_standard()) return;
  const Ref<MappedFile> file = MappedFile::open(path_, MappedFile::Access::read_only);
  write_to(standard_output_, file->bytes(), "standard output");
}

void require_apart(const std::vector<std::string>& written, const std::vector<std::string>& read) {
  for (const std::string& output : written)
    for (const std::string& input : read)
      if (std::error_code none; std::filesystem::equivalent(output, input, none))
        throw_user_error(text("cannot write ", output, ": it is ", input, ", which is read; give another name (-o)"));
}

}  // namespace ingot
