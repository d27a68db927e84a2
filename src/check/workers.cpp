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

constexpr unsigned kSecondsPerCase = 120;
constexpr char kField = '\t', kElement = '\x1f';

// Names and messages come from files: nothing in them may look like the protocol.
std::string cleaned(std::string s) {
  for (char& c : s)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  return s;
}

// A worker's report: the case it starts, or a case's result. One line each.
std::string started_line(std::size_t i) { return text("S ", i, "\n"); }
std::string result_line(std::size_t i, const CheckResult& r) {
  std::string missing;
  for (const std::string& m : r.missing_ops) {
    if (!missing.empty()) missing += kElement;
    missing += cleaned(m);
  }
  const std::string_view f(&kField, 1);
  return text("R ", i, f, static_cast<int>(r.outcome), f, cleaned(r.partly), f, r.worst, f, r.largest, f, r.seconds, f,
              cleaned(r.where), f, missing, f, cleaned(r.message), "\n");
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
  CheckResult r;
  r.outcome = static_cast<CheckResult::Outcome>(std::stoi(fields[1]));
  r.partly = fields[2];
  r.worst = std::strtod(fields[3].c_str(), nullptr);
  r.largest = std::strtod(fields[4].c_str(), nullptr);
  r.seconds = std::strtod(fields[5].c_str(), nullptr);
  r.where = fields[6];
  r.missing_ops = split(fields[7], kElement);
  r.message = fields[8];
  return r;
}

// Worker w has the cases w, w + workers, …
class Runner {
 public:
  Runner(const std::vector<Case>& cases, const CaseCheck& check, int workers, const std::function<void(std::size_t)>& done)
      : cases_(cases), check_(check), count_(static_cast<std::size_t>(std::max(workers, 1))), done_(done),
        results_(cases.size()) {}
  ~Runner() {
    for (const Worker& w : workers_) {
      kill(w.pid, SIGKILL);
      waitpid(w.pid, nullptr, 0);
      close(w.fd);
    }
  }
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  std::vector<CheckResult> run() {
    for (std::size_t w = 0; w < count_; w++) start(w);
    while (!workers_.empty()) {
      std::vector<pollfd> fds;
      for (const Worker& w : workers_) fds.push_back({w.fd, POLLIN, 0});
      if (poll(fds.data(), fds.size(), -1) < 0) continue;
      for (std::size_t i = fds.size(); i-- > 0;)
        if (fds[i].revents != 0) read_from(i);
    }
    INGOT_ENSURE(finished_ == cases_.size(), finished_, " of ", cases_.size(), " cases were run");
    return std::move(results_);
  }

 private:
  struct Worker {
    pid_t pid;
    int fd;
    std::size_t next;  // the case in work, or the one after the last result
    std::string buffer;
  };
  const std::vector<Case>& cases_;
  const CaseCheck& check_;
  const std::size_t count_;
  const std::function<void(std::size_t)>& done_;
  std::size_t finished_ = 0;
  std::vector<CheckResult> results_;
  std::vector<Worker> workers_;

  // A process for the cases first, first + count_, …
  void start(std::size_t first) {
    if (first >= cases_.size()) return;
    int ends[2];
    INGOT_REQUIRE(pipe(ends) == 0, "cannot make a pipe: ", std::strerror(errno));
    const pid_t pid = fork();
    if (pid == 0) {
      close(ends[0]);
      for (const Worker& w : workers_) close(w.fd);
      work(first, ends[1]);
      _exit(0);
    }
    const int error = errno;
    close(ends[1]);
    if (pid < 0) close(ends[0]);
    INGOT_REQUIRE(pid >= 0, "cannot start a process: ", std::strerror(error));
    workers_.push_back({pid, ends[0], first, {}});
  }

  // Nothing may leave a worker but through its pipe: an exception ends the process, and the case in
  // work has failed.
  void work(std::size_t first, int fd) const noexcept {
    set_num_threads(std::max(1, num_threads() / static_cast<int>(count_)));
    const auto send = [&](std::string_view line) {
      while (!line.empty()) {
        const ssize_t n = write(fd, line.data(), line.size());
        if (n < 0 && errno != EINTR) _exit(1);
        line.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
      }
    };
    for (std::size_t i = first; i < cases_.size(); i += count_) {
      send(started_line(i));
      alarm(kSecondsPerCase);
      send(result_line(i, check_(cases_[i])));
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
    const std::size_t next = w.next;
    workers_.erase(workers_.begin() + static_cast<std::ptrdiff_t>(index));
    if (next >= cases_.size()) return;
    // It ended before its work did: the case that was in work, or was to come next, has failed.
    CheckResult r;
    r.outcome = CheckResult::Outcome::failed;
    r.message = !WIFSIGNALED(status)          ? "the process ended"
                : WTERMSIG(status) == SIGALRM ? "ran out of time"
                                              : text("CRASH: ", strsignal(WTERMSIG(status)));
    finish(next, std::move(r));
    start(next + count_);
  }

  void take_line(Worker& w, const std::string& line) {
    const std::vector<std::string> fields = split(line, kField);
    if (fields.size() == 9 && line[0] == 'R') {
      finish(w.next, parse_result(fields));
      w.next += count_;
    }
  }

  void finish(std::size_t i, CheckResult r) {
    results_[i] = std::move(r);
    done_(++finished_);
  }
};

}  // namespace

std::vector<CheckResult> check_cases(const std::vector<Case>& cases, const CheckOptions& options, int workers,
                                     const std::function<void(std::size_t)>& done) {
  return check_cases_by(cases, [&](const Case& c) { return check_case(c, options); }, workers, done);
}

std::vector<CheckResult> check_cases_by(const std::vector<Case>& cases, const CaseCheck& check, int workers,
                                        const std::function<void(std::size_t)>& done) {
  return Runner(cases, check, workers, done).run();
}

}  // namespace ingot
