// lld in this process, and the files that it works on. For this folder.
#pragma once
#include <string>
#include <vector>

#include "codegen/emit.hpp"

namespace ingot {

// Bytes in memory under a path that lld can open.
class MemoryFile {
 public:
  explicit MemoryFile(const Object& object);
  ~MemoryFile();
  MemoryFile(MemoryFile&& other) noexcept;
  MemoryFile& operator=(MemoryFile&&) = delete;

  std::string path() const;

 private:
  int fd_;
};

// A name beside `path`, unique among processes and threads; the file, if any, is removed with the
// value.
class FileBeside {
 public:
  explicit FileBeside(const std::string& path);
  ~FileBeside();
  FileBeside(const FileBeside&) = delete;
  FileBeside& operator=(const FileBeside&) = delete;

  const std::string& path() const { return path_; }
  void rename_to(const std::string& path) const;

 private:
  std::string path_;
};

// Runs lld, alone in this process, and returns what it said if it failed. The first argument is its
// name.
std::string run_lld(const std::vector<std::string>& arguments);

}  // namespace ingot
