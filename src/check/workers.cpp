#include "check/workers.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/error.hpp"
#include "base/parallel.hpp"

namespace ingot {
namespace {

constexpr unsigned kSecondsPerCase = 600;

// A worker's report: the case it starts, or a case's result. One line each; fields are separated by tabs.
std::string started_line(std::size_t i) { return text("S ", i, "\n"); }
std::string result_line(std::size_t i, const CheckResult& r) {
  std::string missing, message = r.message;
  std::replace(message.begin(), message.end(), '\t', ' ');
  for (const std::string& m : r.missing_ops) missing += (missing.empty() ? "" : ",") + m;
  return text("R ", i, "\t", static_cast<int>(r.outcome), "\t", int{r.in_part}, "\t", r.worst, "\t", r.largest, "\t", r.seconds, "\t",
              r.where, "\t", missing, "\t", message, "\n");
}
std::vector<std::string> split(std::string_view s, char separator) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= s.size() && !s.empty();) {
    const std::size_t end = std::min(s.find(separator, at), s.size());
    parts.emplace_back(s.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}
CheckResult parse_result(const std::vector<std::string>& fields) {
  INGOT_ENSURE(fields.size() >= 9, "a worker sent ", fields.size(), " fields");
  CheckResult r;
  r.outcome = static_cast<CheckResult::Outcome>(std::stoi(fields[1]));
  r.in_part = fields[2] != "0";
  r.worst = std::strtod(fields[3].c_str(), nullptr);
  r.largest = std::strtod(fields[4].c_str(), nullptr);
  r.seconds = std::strtod(fields[5].c_str(), nullptr);
  r.where = fields[6];
  r.missing_ops = split(fields[7], ',');
  r.message = fields[8];
  return r;
}

class Runner {
 public:
  Runner(const std::vector<Case>& cases, const CheckOptions& options, int workers, const std::function<void(std::size_t)>& done)
      : cases_(cases), options_(options), count_(static_cast<std::size_t>(std::max(workers, 1))), done_(done), results_(cases.size()) {}

  std::vector<CheckResult> run() {
    for (std::size_t w = 0; w < count_; w++) start(w);
    while (!workers_.empty()) {
      std::vector<pollfd> fds;
      for (const Worker& w : workers_) fds.push_back({w.fd, POLLIN, 0});
      if (poll(fds.data(), fds.size(), -1) < 0) continue;
      for (std::size_t i = fds.size(); i-- > 0;)
        if (fds[i].revents != 0) read_from(i);
    }
    return std::move(results_);
  }

 private:
  struct Worker {
    pid_t pid;
    int fd;
    std::size_t current;  // the case in work, or kNone
    std::string buffer;
  };
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  const std::vector<Case>& cases_;
  const CheckOptions& options_;
  const std::size_t count_;
  const std::function<void(std::size_t)>& done_;
  std::size_t finished_ = 0;
  std::vector<CheckResult> results_;
  std::vector<Worker> workers_;

  // A process for the cases first, first + workers, …
  void start(std::size_t first) {
    if (first >= cases_.size()) return;
    int ends[2];
    INGOT_REQUIRE(pipe(ends) == 0, "cannot make a pipe: ", std::strerror(errno));
    const pid_t pid = fork();
    INGOT_REQUIRE(pid >= 0, "cannot start a process: ", std::strerror(errno));
    if (pid == 0) {
      close(ends[0]);
      work(first, ends[1]);
      _exit(0);
    }
    close(ends[1]);
    workers_.push_back({pid, ends[0], kNone, {}});
  }

  void work(std::size_t first, int fd) const {
    set_num_threads(std::max(1, num_threads() / static_cast<int>(count_)));
    const auto send = [&](const std::string& line) { if (write(fd, line.data(), line.size()) < 0) _exit(1); };
    for (std::size_t i = first; i < cases_.size(); i += count_) {
      send(started_line(i));
      alarm(kSecondsPerCase);
      send(result_line(i, check_case(cases_[i], options_)));
    }
  }

  void read_from(std::size_t index) {
    Worker& w = workers_[index];
    char chunk[65536];
    const ssize_t n = read(w.fd, chunk, sizeof chunk);
    if (n > 0) {
      w.buffer.append(chunk, static_cast<std::size_t>(n));
      std::size_t end;
      while ((end = w.buffer.find('\n')) != std::string::npos) {
        take_line(w, w.buffer.substr(0, end));
        w.buffer.erase(0, end + 1);
      }
      return;
    }
    int status = 0;
    waitpid(w.pid, &status, 0);
    close(w.fd);
    const std::size_t current = w.current;
    workers_.erase(workers_.begin() + static_cast<std::ptrdiff_t>(index));
    if (current == kNone) return;
    CheckResult& r = results_[current];
    done_(++finished_);
    r.outcome = CheckResult::Outcome::failed;
    r.message = !WIFSIGNALED(status) ? "the process ended" : WTERMSIG(status) == SIGALRM ? "ran out of time"
                : text("CRASH: ", strsignal(WTERMSIG(status)));
    start(current + count_);
  }

  void take_line(Worker& w, const std::string& line) {
    const std::size_t i = std::strtoul(line.c_str() + 2, nullptr, 10);
    if (line[0] == 'S') { w.current = i; return; }
    results_[i] = parse_result(split(line, '\t'));
    w.current = kNone;
    done_(++finished_);
  }
};

}  // namespace

std::vector<CheckResult> check_cases(const std::vector<Case>& cases, const CheckOptions& options, int workers,
                                     const std::function<void(std::size_t)>& done) {
  return Runner(cases, options, workers, done).run();
}

}  // namespace ingot
