#include "cli/open_model.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/dtype.hpp"
#include "base/dtype_code.hpp"
#include "base/error.hpp"
#include "cli/number_check.hpp"
#include "expr/text.hpp"
#include "host/torch/callable.hpp"
#include "ingot/ingot.hpp"
#include "ingot/npy.hpp"
#include "io/safetensors.hpp"

namespace ingot {
namespace {

std::vector<std::pair<std::string, Tensor>> read_tensors(const std::string& path) {
  if (path.ends_with(".npy")) return {{"", load_npy(path)}};
  if (path.ends_with(".npz")) return load_npz(path);
  INGOT_REQUIRE(path.ends_with(".safetensors"), path, ": expected a file .npy, .npz or .safetensors");
  const SafeTensors file = SafeTensors::open(path);
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const std::string& name : file.names()) tensors.emplace_back(name, file.get(name));
  return tensors;
}

std::pair<std::string, std::string> split_at_equals(const std::string& s) {
  const std::size_t at = s.find('=');
  if (at == s.npos || s.substr(0, at).find('/') != std::string::npos) return {"", s};
  return {s.substr(0, at), s.substr(at + 1)};
}

class InputReader {
 public:
  InputReader(const ModelContainerRunner& runner, const InputOptions& options)
      : runner_(runner), options_(options), names_(runner.input_names()), places_(places_of_inputs(runner)) {
    inputs_.resize(names_.size());
    if (!runner.library().is_own()) return;
    const LibraryEntry entry = runner.description("an input");
    for (std::size_t k = 0; k < names_.size(); k++) infos_.push_back(entry.input(k));
  }

  TensorList read() {
    for (const std::string& file : options_.files) take_file(file);
    if (options_.random) fill_randomly();
    for (std::size_t k = 0; k < names_.size(); k++)
      INGOT_REQUIRE(inputs_[k].defined(), "input ", k, " (", names_[k], infos_.empty() ? "" : text(", ", type_text(infos_[k])),
                    ") has no value: give --input ", names_[k], "=FILE", infos_.empty() ? "" : ", or --random");
    return std::move(inputs_);
  }

 private:
  const ModelContainerRunner& runner_;
  const InputOptions& options_;
  std::vector<std::string> names_, places_;
  std::vector<ingot_value_info> infos_;  // none of a library that is not ours
  TensorList inputs_;

  std::string names() const {
    std::string out;
    for (const std::string& name : names_) out += text(out.empty() ? "" : ", ", name);
    return out;
  }
  // By its name, its place among the arguments, or "in.K".
  std::optional<std::size_t> find(const std::string& name) const {
    for (std::size_t k = 0; k < names_.size(); k++)
      if (name == names_[k] || name == text("in.", k) || (!places_.empty() && name == places_[k])) return k;
    return std::nullopt;
  }
  void take(std::size_t k, const Tensor& t, const std::string& file) {
    INGOT_REQUIRE(!inputs_[k].defined(), file, ": input ", names_[k], " has a value already");
    inputs_[k] = t.clone();  // the model may write to it
  }

  void take_file(const std::string& argument) {
    const auto [name, file] = split_at_equals(argument);
    const auto tensors = read_tensors(file);
    if (!name.empty()) {
      const auto k = find(name);
      INGOT_REQUIRE(k, argument, ": the model has no input ", name, "; it has ", names());
      INGOT_REQUIRE(tensors.size() == 1, file, " has ", tensors.size(), " tensors; NAME=FILE takes a file of one");
      return take(*k, tensors[0].second, file);
    }
    if (tensors.size() == 1 && !find(tensors[0].first)) {
      const auto open = std::find_if(inputs_.begin(), inputs_.end(), [](const Tensor& t) { return !t.defined(); });
      INGOT_REQUIRE(open != inputs_.end(), file, ": all inputs of the model have values already (", names(), ")");
      return take(static_cast<std::size_t>(open - inputs_.begin()), tensors[0].second, file);
    }
    std::size_t used = 0;
    for (const auto& [tensor_name, t] : tensors) {
      if (const auto k = find(tensor_name)) take(*k, t, file), used++;
    }
    INGOT_REQUIRE(used > 0, file, ": none of its tensors is called as an input of the model is: ", names(), ", or in.0, in.1, …");
  }

  Names symbol_values() const {
    std::map<std::string, int64_t> given;
    for (const std::string& s : options_.sizes) {
      const auto [name, number] = split_at_equals(s);
      char* end = nullptr;
      const int64_t n = std::strtoll(number.c_str(), &end, 10);
      INGOT_REQUIRE(!name.empty() && end != number.c_str() && *end == 0, "--size ", s, ": expected SYMBOL=NUMBER");
      given[name] = n;
    }
    Names names;
    std::string known;
    const LibraryEntry entry = runner_.description("--random");
    for (std::size_t k = 0; k < entry.info().symbol_count; k++) {
      const ingot_symbol_info info = entry.symbol(k);
      constexpr int64_t kUsual = 8;
      const auto it = given.find(info.name);
      names.add(info.name, Int(it != given.end() ? it->second : std::clamp(kUsual, info.min, info.max)).expr());
      known += text(known.empty() ? "" : ", ", info.name);
      if (it != given.end()) given.erase(it);
    }
    INGOT_REQUIRE(given.empty(), "--size: the model has no symbol ", given.empty() ? "" : given.begin()->first, "; it has ",
                  known.empty() ? "none" : known);
    return names;
  }

  void fill_randomly() {
    const bool all_given = std::all_of(inputs_.begin(), inputs_.end(), [](const Tensor& t) { return t.defined(); });
    if (all_given && options_.sizes.empty()) return;
    runner_.library().require_own("--random");
    manual_seed(options_.seed);
    const Names symbols = symbol_values();
    for (std::size_t k = 0; k < infos_.size(); k++) {
      if (inputs_[k].defined()) continue;
      Shape sizes;
      for (int32_t d = 0; d < infos_[k].rank; d++) sizes.push_back(Int(parse(infos_[k].sizes[d], symbols)));
      const auto dtype = dtype_of_code(infos_[k].dtype);
      INGOT_REQUIRE(dtype, "input ", infos_[k].name, ": dtype ", infos_[k].dtype, " is none that this program has tensors of");
      inputs_[k] = is_differentiable(*dtype) ? randn(sizes).to(*dtype) : randint(0, options_.high, sizes).to(*dtype);
    }
  }
};

}  // namespace

void InputOptions::add_to(CLI::App& verb, bool several_sizes) {
  verb.add_option("-i,--input", files, "a file .npy, .npz or .safetensors; NAME=FILE for one input; repeat it for several");
  verb.add_flag("--random", random, "random values for the inputs that no file gives");
  if (several_sizes)
    verb.add_option(
        "--size,--sizes", sizes,
        "SYMBOL=NUMBER[,NUMBER…] for a size that is open, each in turn; 8 otherwise, or the nearest that the model takes");
  else
    verb.add_option("--size", sizes,
                    "with --random: SYMBOL=NUMBER for a size that is open; 8 otherwise, or the nearest that the model takes");
  verb.add_option("--seed", seed, "of --random")->capture_default_str();
  verb.add_option("--high", high, "with --random: integers are below this")->check(at_least_one())->capture_default_str();
}

std::vector<InputOptions> each_size(const InputOptions& options) {
  std::vector<InputOptions> all = {options};
  all[0].sizes.clear();
  for (const std::string& s : options.sizes) {
    const auto [name, numbers] = split_at_equals(s);
    std::vector<InputOptions> longer;
    for (const InputOptions& before : all)
      for (const std::string& number : CLI::detail::split(numbers, ',')) {
        longer.push_back(before);
        longer.back().sizes.push_back(text(name, "=", number));
      }
    all = std::move(longer);
  }
  return all;
}

std::vector<std::string> input_files(const InputOptions& options) {
  std::vector<std::string> files;
  for (const std::string& f : options.files) files.push_back(split_at_equals(f).second);
  return files;
}

OpenModel open_model(const std::string& path, const std::string& model_name, const std::string& weights, const std::string& entry,
                     std::size_t runs) {
  OpenModel model;
  if (is_package(path)) {
    LoaderOptions options;
    options.model_name = model_name;
    options.words = &kPlainWords;
    options.num_runners = runs;
    model.package = std::make_unique<ModelPackageLoader>(path, options);
  } else {
    model.library = std::make_unique<ModelContainerRunner>(path, RunnerOptions{.num_models = runs, .words = &kPlainWords});
  }
  if (!weights.empty()) {
    ConstantMap constants;
    const SafeTensors file = SafeTensors::open(weights);
    for (const auto& [name, fqn] : model.runner().constant_names_to_fqns())
      if (file.contains(fqn)) constants.emplace(name, file.get(fqn));
    INGOT_REQUIRE(!constants.empty(), weights, ": none of its tensors is a constant of ", path);
    model.runner().update_constant_buffer(constants, false, false);
  }
  if (!entry.empty()) model.entry = std::make_unique<ModelContainerRunner>(model.runner(), entry);
  return model;
}

TensorList read_inputs(const ModelContainerRunner& runner, const InputOptions& options) {
  return InputReader(runner, options).read();
}

std::vector<std::string> places_of_inputs(const ModelContainerRunner& runner) {
  const std::string spec = runner.call_spec().first;
  if (spec.empty()) return {};
  const TreeSpec tree = parse_call_spec(spec, "the model's in_spec");
  if (tree.children.size() != 2) return {};
  const TreeSpec &args = tree.children[0], &kwargs = tree.children[1];
  std::vector<std::string> places = leaf_names(args, "args");
  for (std::size_t k = 0; k < kwargs.children.size(); k++) {
    const Value& key = kwargs.keys[k];
    for (std::string& name : leaf_names(kwargs.children[k], key.is_string() ? key.string() : to_text(key)))
      places.push_back(std::move(name));
  }
  return places.size() == runner.input_names().size() ? places : std::vector<std::string>();
}

std::vector<std::string> places_of_outputs(const ModelContainerRunner& runner) {
  const std::string spec = runner.call_spec().second;
  if (spec.empty()) return {};
  std::vector<std::string> places = leaf_names(parse_call_spec(spec, "the model's out_spec"), "output");
  return places.size() == runner.output_names().size() ? places : std::vector<std::string>();
}

std::string type_text(const ingot_value_info& info) {
  const auto dtype = dtype_of_code(info.dtype);
  std::string out = dtype ? std::string(short_name_of(*dtype)) : text("dtype ", info.dtype);
  out += "[";
  for (int32_t d = 0; d < info.rank; d++) out += text(d ? ", " : "", info.sizes[d]);
  return out + "]";
}
std::string type_text(const Tensor& t) { return t.defined() ? text(short_name_of(t.dtype()), to_text(t.sizes())) : "none"; }

}  // namespace ingot
