// A path for files of a test, under the system's folder for them; what is there goes with the value.
#pragma once
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>

namespace ingot::testing {

class TemporaryPath {
 public:
  TemporaryPath() {
    static std::atomic<int> next = 0;
    path_ = (std::filesystem::temp_directory_path() / ("ingot-test-" + std::to_string(getpid()) + "-" + std::to_string(next++)))
                .string();
    std::filesystem::remove_all(path_);
  }
  ~TemporaryPath() {
    std::error_code failed;
    std::filesystem::remove_all(path_, failed);
  }
  TemporaryPath(const TemporaryPath&) = delete;
  TemporaryPath& operator=(const TemporaryPath&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace ingot::testing
