#include "cli/progress.hpp"

#include <unistd.h>

#include <cstdio>

namespace ingot {

ProgressBar::ProgressBar(std::string what, std::size_t total)
    : what_(std::move(what)), total_(total), on_terminal_(isatty(STDERR_FILENO) != 0) {}

ProgressBar::~ProgressBar() {
  if (on_terminal_) std::fputs("\r\x1b[K", stderr);
}

void ProgressBar::show(std::size_t done, std::string_view name) {
  using namespace std::chrono_literals;
  const auto now = std::chrono::steady_clock::now();
  if (!on_terminal_ || total_ == 0 || (now - shown_ < 50ms && done < total_ && name.empty())) return;
  shown_ = now;
  constexpr std::size_t kWidth = 30;
  const std::size_t filled = kWidth * done / total_;
  const std::string bar = std::string(filled, '#') + std::string(kWidth - filled, '.');
  std::fprintf(stderr, "\r%s [%s] %zu of %zu%s%.*s\x1b[K", what_.c_str(), bar.c_str(), done, total_, name.empty() ? "" : ": ",
               static_cast<int>(name.size()), name.data());
  std::fflush(stderr);
}

}  // namespace ingot
