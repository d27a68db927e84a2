// Where a verb writes what it makes: the file that -o names, or standard output for `-o -`.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "host/package.hpp"

namespace ingot {

class OutputFile {
 public:
  // `name`: what the file is called while it is made for standard output. From then on what is
  // printed goes to standard error. User error where a file at `output` could not be replaced:
  // better now than after the work.
  OutputFile(const std::string& output, const std::string& name);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  bool is_standard() const { return folder_.has_value(); }
  const std::string& path() const { return path_; }    // where to write
  const std::string& given() const { return given_; }  // what -o says
  // The file is there: writes its bytes to standard output, if that is where they go.
  void deliver();

 private:
  std::optional<TemporaryFolder> folder_;
  std::string given_, path_;
  int standard_output_ = -1;
};

// User error if one of the files that would be written is one that is read, under whatever path.
void require_apart(const std::vector<std::string>& written, const std::vector<std::string>& read);

}  // namespace ingot
