// ingot run: a compiled model on tensors from files.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "cli/number_check.hpp"
#include "cli/open_model.hpp"
#include "cli/output.hpp"
#include "cli/quantity.hpp"
#include "cli/verb.hpp"
#include "ingot/autograd.hpp"
#include "ingot/npy.hpp"
#include "io/json_writer.hpp"
#include "io/safetensors.hpp"
#include "tensor/impl.hpp"

namespace ingot {
namespace {

namespace fs = std::filesystem;

struct RunVerb {
  std::string file, model, entry, output, weights;
  std::vector<std::string> operators;
  InputOptions inputs;
  int threads = 0;
  bool json = false;
};

using Named = std::pair<std::string, Tensor>;

// What the elements are, in a few numbers; complex ones by their absolute value.
struct OutputSummary {
  double min = 0, max = 0, mean = 0;
  int64_t nans = 0;
};
OutputSummary summarise(const Tensor& t) {
  OutputSummary s;
  const Tensor real = t.is_complex() ? t.abs() : t;
  int64_t count = 0;
  for (const double x : real.to(DType::f64).to_vector<double>()) {
    if (std::isnan(x)) {
      s.nans++;
      continue;
    }
    s.min = count ? std::min(s.min, x) : x;
    s.max = count ? std::max(s.max, x) : x;
    s.mean += x;
    count++;
  }
  s.mean /= std::max<double>(1, static_cast<double>(count));
  return s;
}

std::string file_in(const std::string& folder, const std::string& output) {
  return (fs::path(folder) / (output + ".npy")).string();
}

void save(const std::string& output, const std::vector<Named>& outputs) {
  if (output.ends_with(".npz")) return save_npz(output, outputs);
  if (output.ends_with(".safetensors")) {
    save_safetensors(output, outputs);
    return;
  }
  if (output.ends_with(".npy")) {
    INGOT_REQUIRE(outputs.size() == 1, output, ": a .npy file holds one array, the model returned ", outputs.size(),
                  "; take .npz, .safetensors or a folder");
    return save_npy(output, outputs[0].second);
  }
  std::error_code error;
  fs::create_directories(output, error);
  INGOT_REQUIRE(!error, output, ": cannot make the folder: ", error.message());
  for (const auto& [name, t] : outputs) save_npy(file_in(output, name), t);
}

bool is_file_of_tensors(const std::string& output) {
  return output.ends_with(".npz") || output.ends_with(".safetensors") || output.ends_with(".npy");
}

// The files that the results are written to, none of which may be one that is read.
std::vector<std::string> written_files(const std::string& output, const std::vector<std::string>& names) {
  if (is_file_of_tensors(output)) return {output};
  std::vector<std::string> files;
  for (const std::string& name : names) files.push_back(file_in(output, name));
  return files;
}

// Each is another: one value may be returned twice.
std::vector<std::string> names_of_outputs(const ModelContainerRunner& runner) {
  std::vector<std::string> names;
  for (const std::string& name : runner.output_names()) {
    const bool is_taken = std::find(names.begin(), names.end(), name) != names.end();
    names.push_back(is_taken ? text(name, ".", names.size()) : name);
  }
  return names;
}

void run(const RunVerb& o) {
  const GradModeGuard no_grad(false);
  for (const std::string& library : o.operators) load_operators(library);
  OpenModel model = open_model(o.file, o.model, o.weights, o.entry);
  ModelContainerRunner& runner = model.runner();
  if (o.threads > 0) runner.set_threads(o.threads);
  const TensorList inputs = read_inputs(runner, o.inputs);
  const std::vector<std::string> names = names_of_outputs(runner);
  std::optional<OutputFile> file;  // of a folder each result has its own
  if (!o.output.empty()) {
    std::vector<std::string> read = input_files(o.inputs);
    read.insert(read.end(), {o.file, o.weights});
    require_apart(written_files(o.output, names), read);
    if (o.output == "-" || is_file_of_tensors(o.output)) file.emplace(o.output, "outputs.safetensors");
  }
  const auto start = std::chrono::steady_clock::now();
  const TensorList results = runner.run(inputs);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

  std::vector<Named> outputs;
  for (std::size_t k = 0; k < results.size(); k++) outputs.emplace_back(names[k], results[k]);
  if (file) save(file->path(), outputs), file->deliver();
  else if (!o.output.empty()) save(o.output, outputs);
  if (o.json) {
    JsonWriter w(true);
    w.begin_object().field("seconds", seconds).key("outputs").begin_list();
    for (const auto& [name, t] : outputs) {
      const OutputSummary s = summarise(t);
      w.begin_object().field("name", name).field("dtype", name_of(t.dtype())).key("shape").begin_list();
      for (const Int n : t.sizes()) w.value(n.value());
      w.end().field("min", s.min).field("max", s.max).field("mean", s.mean).field("nans", s.nans).end();
    }
    std::cout << w.end().end().take() << '\n';
    return;
  }
  for (const auto& [name, t] : outputs) {
    const OutputSummary s = summarise(t);
    std::printf("%s  %s  min %.6g  mean %.6g  max %.6g", name.c_str(), type_text(t).c_str(), s.min, s.mean, s.max);
    if (s.nans > 0) std::printf("  (%lld NaN)", static_cast<long long>(s.nans));
    std::printf("\n");
  }
  std::printf("ran in %s (the first run; `ingot bench` measures)\n", seconds_text(seconds).c_str());
}

}  // namespace

void add_run_verb(CLI::App& app) {
  auto o = std::make_shared<RunVerb>();
  CLI::App* verb = app.add_subcommand("run", "run a compiled model on tensors from files");
  verb->add_option("file", o->file, "a library (.so), or a package (.pt2)")->required();
  verb->add_option("--model", o->model, "the model's name, where a package has several");
  verb->add_option("--entry", o->entry, "the entry point, where the library has several; the first otherwise");
  o->inputs.add_to(*verb);
  verb->add_option("-o,--output", o->output,
                   "a folder (one .npy an output), a file .npy, .npz or .safetensors, or - for .safetensors to standard output");
  verb->add_option("--weights", o->weights, "a .safetensors file with the model's constants by their original names");
  verb->add_option("--operators", o->operators,
                   "a library that defines operators which the model calls (PyTorch's stable C interface)");
  verb->add_option("--threads", o->threads, "of the run; all processors otherwise")->check(at_least_one());
  verb->add_flag("--json", o->json, "print a JSON object");
  verb->footer(
      "examples:\n"
      "  ingot run model.so --input x.npy --output y.npy\n"
      "  ingot run model.so --input ids=tokens.npy --input mask=mask.npy -o results.npz\n"
      "  ingot run model.so --random --size s0=16");
  verb->callback([o] { run(*o); });
}

}  // namespace ingot
