// ingot bench: how long a compiled model takes.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <memory>

#include "cli/open_model.hpp"
#include "cli/progress.hpp"
#include "cli/verb.hpp"
#include "ingot/autograd.hpp"
#include "io/json_writer.hpp"

namespace ingot {
namespace {

using Clock = std::chrono::steady_clock;

struct BenchVerb {
  std::string file, model, entry, weights;
  InputOptions inputs;
  int threads = 0;
  double seconds = 1, warm_up = 0.2;
  bool json = false;
};

// Runs for so long, at least so often; the times in seconds.
std::vector<double> measure(ModelContainerRunner& runner, const TensorList& inputs, double seconds, std::size_t at_least) {
  std::vector<double> times;
  ProgressBar bar("measuring", 100);
  const auto begin = Clock::now();
  for (double elapsed = 0; elapsed < seconds || times.size() < at_least;) {
    const auto start = Clock::now();
    runner.run(inputs);
    const auto end = Clock::now();
    times.push_back(std::chrono::duration<double>(end - start).count());
    elapsed = std::chrono::duration<double>(end - begin).count();
    bar.show(static_cast<std::size_t>(std::min(100.0, 100 * elapsed / std::max(seconds, 1e-9))));
  }
  return times;
}

void run(const BenchVerb& o) {
  const GradModeGuard no_grad(false);
  OpenModel model = open_model(o.file, o.model, o.weights, o.entry);
  ModelContainerRunner& runner = model.runner();
  if (o.threads > 0) runner.set_threads(o.threads);
  const TensorList inputs = read_inputs(runner, o.inputs);
  int32_t threads = 0;  // a library of somebody else does not say
  if (runner.library().is_own()) runner.library().ingot_container_get_threads(runner.container(), &threads);

  constexpr std::size_t kFewest = 10;
  measure(runner, inputs, o.warm_up, 1);
  std::vector<double> times = measure(runner, inputs, o.seconds, kFewest);
  std::sort(times.begin(), times.end());
  double total = 0;
  for (const double t : times) total += t;
  const auto at = [&](double fraction) {
    return times[std::min(times.size() - 1, static_cast<std::size_t>(fraction * static_cast<double>(times.size())))];
  };
  const double mean = total / static_cast<double>(times.size());
  if (o.json) {
    JsonWriter w(true);
    w.begin_object().field("runs", times.size()).field("threads", threads).field("median_s", at(0.5)).field("p99_s", at(0.99));
    w.field("min_s", times.front()).field("mean_s", mean).field("max_s", times.back()).key("inputs").begin_list();
    for (const Tensor& t : inputs) w.value(type_text(t));
    std::cout << w.end().end().take() << '\n';
    return;
  }
  std::printf("median %.4f ms  p99 %.4f ms  min %.4f ms  mean %.4f ms  (%zu runs, %d thread%s)\n", at(0.5) * 1e3, at(0.99) * 1e3,
              times.front() * 1e3, mean * 1e3, times.size(), threads, threads == 1 ? "" : "s");
}

}  // namespace

void add_bench_verb(CLI::App& app) {
  auto o = std::make_shared<BenchVerb>();
  CLI::App* verb = app.add_subcommand("bench", "measure how long a compiled model takes");
  verb->add_option("file", o->file, "a library (.so), or a package (.pt2)")->required();
  verb->add_option("--model", o->model, "the model's name, where a package has several");
  verb->add_option("--entry", o->entry, "the entry point, where the library has several; the first otherwise");
  o->inputs.random = true;  // what is not given is made up
  o->inputs.add_to(*verb);
  verb->add_option("--weights", o->weights, "a .safetensors file with the model's constants by their original names");
  verb->add_option("--threads", o->threads, "of a run; all processors otherwise")->check(CLI::PositiveNumber);
  verb->add_option("--seconds", o->seconds, "to measure for")->check(CLI::NonNegativeNumber)->capture_default_str();
  verb->add_option("--warm-up", o->warm_up, "seconds to run before")->check(CLI::NonNegativeNumber)->capture_default_str();
  verb->add_flag("--json", o->json, "print a JSON object");
  verb->footer(
      "Inputs that no file gives are random.\n\n"
      "examples:\n"
      "  ingot bench model.so\n"
      "  ingot bench model.so --size s0=32 --threads 1 --seconds 5\n"
      "  ingot bench model.so --input ids=tokens.npy --json");
  verb->callback([o] { run(*o); });
}

}  // namespace ingot
