// ingot bench: how long a compiled model takes.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "cli/number_check.hpp"
#include "cli/open_model.hpp"
#include "cli/progress.hpp"
#include "cli/quantity.hpp"
#include "cli/verb.hpp"
#include "ingot/autograd.hpp"
#include "ingot/ingot.hpp"
#include "io/json_writer.hpp"

namespace ingot {
namespace {

using Clock = std::chrono::steady_clock;

struct BenchVerb {
  std::string file, model, entry, weights;
  InputOptions inputs;
  int threads = 0, clients = 1;
  double seconds = 1, warm_up = 0.2;
  bool json = false;
};

double seconds_between(Clock::time_point start, Clock::time_point end) {
  return std::chrono::duration<double>(end - start).count();
}

// Times of runs, from the shortest on, and how long all of them took side by side; in seconds.
struct Measured {
  TensorList inputs;
  std::vector<double> times;
  double elapsed = 0;

  double at(double fraction) const {
    return times[std::min(times.size() - 1, static_cast<std::size_t>(fraction * static_cast<double>(times.size())))];
  }
  double mean() const {
    double total = 0;
    for (const double t : times) total += t;
    return total / static_cast<double>(times.size());
  }
};

// One client: runs for so long, at least so often. Whoever shows the bar has one.
std::vector<double> run_client(ModelContainerRunner& runner, const TensorList& inputs, double seconds, std::size_t at_least,
                               ProgressBar* bar) {
  const GradModeGuard no_grad(false);
  std::vector<double> times;
  const auto begin = Clock::now();
  for (double elapsed = 0; elapsed < seconds || times.size() < at_least;) {
    const auto start = Clock::now();
    runner.run(inputs);
    const auto end = Clock::now();
    times.push_back(seconds_between(start, end));
    elapsed = seconds_between(begin, end);
    if (bar) bar->show(static_cast<std::size_t>(std::min(100.0, 100 * elapsed / std::max(seconds, 1e-9))));
  }
  return times;
}

// As many clients as there are lists of inputs, each on its own: a model may write to them.
Measured measure(ModelContainerRunner& runner, const std::vector<TensorList>& inputs, double seconds, std::size_t at_least) {
  ProgressBar bar("measuring", 100);
  std::vector<std::vector<double>> times(inputs.size());
  std::vector<std::exception_ptr> failed(inputs.size());
  const auto client = [&](std::size_t k) {
    try {
      times[k] = run_client(runner, inputs[k], seconds, at_least, k == 0 ? &bar : nullptr);
    } catch (...) {
      failed[k] = std::current_exception();
    }
  };
  const auto begin = Clock::now();
  std::vector<std::thread> others;
  for (std::size_t k = 1; k < inputs.size(); k++) others.emplace_back(client, k);
  client(0);
  for (std::thread& t : others) t.join();
  Measured all;
  all.elapsed = seconds_between(begin, Clock::now());
  for (const std::exception_ptr& e : failed)
    if (e) std::rethrow_exception(e);
  for (const std::vector<double>& of_client : times) all.times.insert(all.times.end(), of_client.begin(), of_client.end());
  std::sort(all.times.begin(), all.times.end());
  return all;
}

void write(JsonWriter& w, const Measured& m, const std::vector<std::string>& names) {
  w.field("runs", m.times.size()).field("runs_per_s", static_cast<double>(m.times.size()) / m.elapsed);
  w.field("median_s", m.at(0.5)).field("p90_s", m.at(0.9)).field("p99_s", m.at(0.99));
  w.field("min_s", m.times.front()).field("mean_s", m.mean()).field("max_s", m.times.back()).key("inputs").begin_list();
  for (const Tensor& t : m.inputs) w.value(type_text(t));
  w.end().key("input_names").begin_list();
  for (const std::string& name : names) w.value(name);
  w.end();
}

// "x f32[8, 64], mask bool[8]"; of many the first ones.
std::string inputs_text(const Measured& m, const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 6;
  std::string all;
  for (std::size_t k = 0; k < m.inputs.size() && k < kMost; k++)
    all += text(k ? ", " : "", k < names.size() ? names[k] + " " : "", type_text(m.inputs[k]));
  if (m.inputs.size() > kMost) all += text(" and ", m.inputs.size() - kMost, " more");
  return all.empty() ? "no inputs" : all;
}

void print(const Measured& m, const std::vector<std::string>& names, int threads, int clients) {
  std::printf("%s\n  p50 %s  p90 %s  p99 %s  min %s  mean %s  (%zu runs, ", inputs_text(m, names).c_str(),
              seconds_text(m.at(0.5)).c_str(), seconds_text(m.at(0.9)).c_str(), seconds_text(m.at(0.99)).c_str(),
              seconds_text(m.times.front()).c_str(), seconds_text(m.mean()).c_str(), m.times.size());
  if (clients > 1) std::printf("%d clients, %.4g runs/s, ", clients, static_cast<double>(m.times.size()) / m.elapsed);
  if (threads > 0) std::printf("%d thread%s)\n", threads, threads == 1 ? "" : "s");
  else std::printf("threads as the library chooses)\n");
}

void run(const BenchVerb& o) {
  const GradModeGuard no_grad(false);
  OpenModel model = open_model(o.file, o.model, o.weights, o.entry, static_cast<std::size_t>(o.clients));
  ModelContainerRunner& runner = model.runner();
  if (o.threads > 0) runner.set_threads(o.threads);
  int32_t threads = 0;  // a library of somebody else does not say
  if (runner.library().is_own()) runner.library().ingot_container_get_threads(runner.container(), &threads);

  constexpr std::size_t kFewest = 10;
  const std::vector<std::string> names = runner.input_names();
  std::vector<Measured> all;
  for (const InputOptions& size : each_size(o.inputs)) {
    std::vector<TensorList> inputs;
    for (int k = 0; k < o.clients; k++) inputs.push_back(read_inputs(runner, size));
    measure(runner, inputs, o.warm_up, 1);
    all.push_back(measure(runner, inputs, o.seconds, kFewest));
    all.back().inputs = inputs[0];
    if (!o.json) print(all.back(), names, threads, o.clients);
  }
  if (!o.json) return;
  // What concerns the first sizes stands by itself too: mostly there are no others.
  JsonWriter w(true);
  w.begin_object().field("threads", threads).field("clients", o.clients);
  write(w, all[0], names);
  w.key("measured").begin_list();
  for (const Measured& m : all) {
    w.begin_object();
    write(w, m, names);
    w.end();
  }
  std::printf("%s\n", w.end().end().take().c_str());
}

}  // namespace

void add_bench_verb(CLI::App& app) {
  auto o = std::make_shared<BenchVerb>();
  CLI::App* verb = app.add_subcommand("bench", "measure how long a compiled model takes");
  verb->add_option("file", o->file, "a library (.so), or a package (.pt2)")->required();
  verb->add_option("--model", o->model, "the model's name, where a package has several");
  verb->add_option("--entry", o->entry, "the entry point, where the library has several; the first otherwise");
  o->inputs.random = true;  // what is not given is made up
  o->inputs.add_to(*verb, true);
  verb->add_option("--weights", o->weights, "a .safetensors file with the model's constants by their original names");
  verb->add_option("--threads", o->threads, "of a run; all processors otherwise")->check(at_least_one());
  verb->add_option("-c,--clients", o->clients, "who call the model at the same time, each on inputs of its own")
      ->check(at_least_one())
      ->capture_default_str();
  verb->add_option("--seconds", o->seconds, "to measure for")->check(not_negative())->capture_default_str();
  verb->add_option("--warm-up", o->warm_up, "seconds to run before")->check(not_negative())->capture_default_str();
  verb->add_flag("--json", o->json, "print a JSON object");
  verb->footer(
      "Inputs that no file gives are random. Of several sizes, each is measured: of two symbols, every combination.\n"
      "p50 is the median: half of the runs took at most so long.\n\n"
      "examples:\n"
      "  ingot bench model.so\n"
      "  ingot bench model.so --sizes s0=1,8,64 --threads 1 --seconds 5\n"
      "  ingot bench model.so -c 4\n"
      "  ingot bench model.so --input ids=tokens.npy --json");
  verb->callback([o] { run(*o); });
}

}  // namespace ingot
