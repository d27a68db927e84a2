// run_golden DIR [--grad] [--strides] [--filter GLOB]... [-j N] [--list-failures] [--verbose]
// Checks the golden cases of DIR. Each worker is a process of its own, so that a crash costs one case, not the run.
#include <fnmatch.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "import/check.hpp"

namespace ingot {
namespace {

constexpr unsigned kSecondsPerCase = 60;

struct Options {
  std::string folder;
  CheckOptions check;
  std::vector<std::string> filters;
  int workers = 1;
  bool list_failures = false, verbose = false;
};

[[noreturn]] void usage(const char* problem) {
  std::fprintf(stderr, "%s\nusage: run_golden DIR [--grad] [--strides] [--filter GLOB]... [-j N] [--list-failures] [--verbose]\n"
               "  GLOB is matched with the case (add/f32_0), its folder (add) and its operators (aten.add.Tensor)\n", problem);
  std::exit(2);
}

Options parse_options(int argc, char** argv) {
  Options o;
  const auto value = [&](int& i) { return i + 1 < argc ? argv[++i] : (usage("an option needs a value"), nullptr); };
  for (int i = 1; i < argc; i++) {
    const std::string_view a = argv[i];
    if (a == "--grad") o.check.gradients = true;
    else if (a == "--strides") o.check.strides = true;
    else if (a == "--filter") o.filters.emplace_back(value(i));
    else if (a == "-j") o.workers = std::max(1, std::atoi(value(i)));
    else if (a == "--list-failures") o.list_failures = true;
    else if (a == "--verbose") o.verbose = true;
    else if (a.starts_with('-') || !o.folder.empty()) usage("unknown argument");
    else o.folder = a;
  }
  if (o.folder.empty()) usage("DIR is missing");
  return o;
}

bool selected(const GoldenCase& c, const std::vector<std::string>& filters) {
  const auto fits = [&](const std::string& glob, const std::string& s) { return fnmatch(glob.c_str(), s.c_str(), 0) == 0; };
  return filters.empty() || std::any_of(filters.begin(), filters.end(), [&](const std::string& glob) {
    return fits(glob, c.name) || fits(glob, c.name.substr(0, c.name.find('/'))) ||
           std::any_of(c.targets.begin(), c.targets.end(), [&](const std::string& t) {
             return fits(glob, t) || fits(glob, t.substr(0, t.rfind('.'))) || fits("aten." + glob, t);
           });
  });
}

// A worker's report: the case it starts, or a case's result. One line each.
std::string started_line(std::size_t i) { return text("S ", i, "\n"); }
std::string result_line(std::size_t i, const CheckResult& r) {
  std::string missing;
  for (const std::string& m : r.missing_ops) missing += m + ",";
  return text("R ", i, " ", static_cast<int>(r.outcome), " ", int{r.in_part}, " ", r.worst, " ", missing.empty() ? "-" : missing, " ", r.message, "\n");
}
CheckResult parse_result(const char* line) {
  CheckResult r;
  int outcome = 0, in_part = 0, used = 0;
  char missing[4096] = "";
  std::sscanf(line, "%d %d %lf %4095s %n", &outcome, &in_part, &r.worst, missing, &used);
  r.outcome = static_cast<CheckResult::Outcome>(outcome);
  r.in_part = in_part != 0;
  r.message = line + used;
  for (char* m = std::strtok(missing, ","); m != nullptr; m = std::strtok(nullptr, ","))
    if (std::string_view(m) != "-") r.missing_ops.emplace_back(m);
  return r;
}

class Runner {
 public:
  Runner(const std::vector<GoldenCase>& cases, const Options& options) : cases_(cases), options_(options), results_(cases.size()) {}

  const std::vector<CheckResult>& run() {
    for (int w = 0; w < options_.workers; w++) start(static_cast<std::size_t>(w));
    while (!workers_.empty()) {
      std::vector<pollfd> fds;
      for (const Worker& w : workers_) fds.push_back({w.fd, POLLIN, 0});
      if (poll(fds.data(), fds.size(), -1) < 0) continue;
      for (std::size_t i = fds.size(); i-- > 0;)
        if (fds[i].revents != 0) read_from(i);
    }
    return results_;
  }

 private:
  struct Worker {
    pid_t pid;
    int fd;
    std::size_t current;  // the case in work, or kNone
    std::string buffer;
  };
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  const std::vector<GoldenCase>& cases_;
  const Options& options_;
  std::vector<CheckResult> results_;
  std::vector<Worker> workers_;

  // A process for the cases first, first + workers, …
  void start(std::size_t first) {
    if (first >= cases_.size()) return;
    int ends[2];
    if (pipe(ends) != 0) usage("cannot make a pipe");
    const pid_t pid = fork();
    if (pid < 0) usage("cannot fork");
    if (pid == 0) {
      close(ends[0]);
      work(first, ends[1]);
      _exit(0);
    }
    close(ends[1]);
    workers_.push_back({pid, ends[0], kNone, {}});
  }

  void work(std::size_t first, int fd) const {
    set_num_threads(1);
    const auto send = [&](const std::string& line) { if (write(fd, line.data(), line.size()) < 0) _exit(1); };
    for (std::size_t i = first; i < cases_.size(); i += static_cast<std::size_t>(options_.workers)) {
      send(started_line(i));
      alarm(kSecondsPerCase);
      send(result_line(i, check_case(cases_[i], options_.check)));
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
    r.outcome = CheckResult::Outcome::failed;
    r.message = !WIFSIGNALED(status) ? "the process ended" : WTERMSIG(status) == SIGALRM ? "ran out of time"
                : text("CRASH: ", strsignal(WTERMSIG(status)));
    start(current + static_cast<std::size_t>(options_.workers));
  }

  void take_line(Worker& w, const std::string& line) {
    char* rest = nullptr;
    const std::size_t i = std::strtoul(line.c_str() + 2, &rest, 10);
    if (line[0] == 'S') { w.current = i; return; }
    results_[i] = parse_result(rest);
    w.current = kNone;
  }
};

int report(const std::vector<GoldenCase>& cases, std::size_t total, const std::vector<CheckResult>& results, const Options& o) {
  std::size_t passed = 0, in_part = 0, failed = 0, missing = 0, skipped = total - cases.size();
  std::map<std::string, int> missing_ops;
  for (std::size_t i = 0; i < cases.size(); i++) {
    const CheckResult& r = results[i];
    const char* name = cases[i].name.c_str();
    if (r.outcome == CheckResult::Outcome::passed) {
      passed++;
      in_part += r.in_part;
      if (o.verbose) std::printf("%s %s  (%.2g of the bound)\n", r.in_part ? "part   " : "ok     ", name, r.worst);
    } else if (r.outcome == CheckResult::Outcome::excused) {
      skipped++;
      if (o.verbose) std::printf("skip    %s  %s\n", name, r.message.c_str());
    } else if (r.outcome == CheckResult::Outcome::missing_op) {
      missing++;
      for (const std::string& op : r.missing_ops) missing_ops[op]++;
      if (o.list_failures) std::printf("MISSING %s  %s\n", name, r.missing_ops.empty() ? "" : r.missing_ops[0].c_str());
    } else {
      failed++;
      std::printf("FAIL    %s  %s\n", name, r.message.substr(0, 400).c_str());
    }
  }
  std::vector<std::pair<int, std::string>> sorted;
  for (const auto& [op, n] : missing_ops) sorted.emplace_back(-n, op);
  std::sort(sorted.begin(), sorted.end());
  if (!sorted.empty()) std::printf("missing ops (cases, op):\n");
  for (const auto& [n, op] : sorted) std::printf("%6d  %s\n", -n, op.c_str());
  std::printf("%zu passed (%zu in part: random, uninitialised or without gradients), %zu failed, %zu missing an op, %zu skipped\n",
              passed, in_part, failed, missing, skipped);
  return failed == 0 ? 0 : 1;
}

int run(int argc, char** argv) {
  const Options o = parse_options(argc, argv);
  std::vector<GoldenCase> cases = read_golden_index(o.folder);
  const std::size_t total = cases.size();
  std::erase_if(cases, [&](const GoldenCase& c) { return !selected(c, o.filters); });
  Runner runner(cases, o);
  return report(cases, total, runner.run(), o);
}

}  // namespace
}  // namespace ingot

int main(int argc, char** argv) {
  try {
    return ingot::run(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "run_golden: %s\n", e.what());
    return 2;
  }
}
