// A progress bar on standard error: only where that is a terminal, gone when the work is done.
#pragma once
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace ingot {

class ProgressBar {
 public:
  ProgressBar(std::string what, std::size_t total);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // `now`: what is being done, where it has a name; then the line changes at once.
  void show(std::size_t done, std::string_view now = {});

 private:
  std::string what_;
  std::size_t total_;
  bool on_terminal_;
  std::chrono::steady_clock::time_point shown_{};
};

}  // namespace ingot
