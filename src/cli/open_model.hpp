// A compiled model that the command line works on: a library, or a model of a package; and the
// tensors it runs on.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/torch/model_container_runner.hpp"
#include "host/torch/package_loader.hpp"

namespace CLI {
class App;
}

namespace ingot {

struct OpenModel {
  std::unique_ptr<ModelPackageLoader> package;   // of a package
  std::unique_ptr<ModelContainerRunner> library; // of a library
  std::unique_ptr<ModelContainerRunner> entry;   // of either, where one is named that is not the first
  ModelContainerRunner& runner() { return entry ? *entry : package ? package->runner() : *library; }
};
// `model_name`: of a package; empty: "model", or the only one. `weights`: a .safetensors file with
// constants to give it. `entry`: which function of the library; empty: the first. `runs`: how many
// may be under way at the same time.
OpenModel open_model(const std::string& path, const std::string& model_name, const std::string& weights = {},
                     const std::string& entry = {}, std::size_t runs = 1);

// The options that say what a model runs on.
struct InputOptions {
  std::vector<std::string> files;  // FILE or NAME=FILE
  bool random = false;
  std::vector<std::string> sizes;  // SYMBOL=NUMBER; of a verb for several, SYMBOL=NUMBER,NUMBER…
  uint64_t seed = 0;
  int64_t high = 2;  // random integers are below it
  void add_to(CLI::App& verb, bool several_sizes = false);
};
// One for each combination of the sizes that are asked for; at least one.
std::vector<InputOptions> each_size(const InputOptions& options);
// The file of NAME=FILE or FILE, for each.
std::vector<std::string> input_files(const InputOptions& options);
// One tensor for each of the model's inputs, in order. User error naming the input that got none,
// or a file that fits none.
TensorList read_inputs(const ModelContainerRunner& runner, const InputOptions& options);

// Where in the arguments of the exported program each input comes from ("args[0]['x']"), by the
// call specification; empty where that does not say, since not every argument is an input.
std::vector<std::string> places_of_inputs(const ModelContainerRunner& runner);
// The same of the outputs.
std::vector<std::string> places_of_outputs(const ModelContainerRunner& runner);

// What an output or input is, as text: "f32[s0, 64]".
std::string type_text(const ingot_value_info& info);
std::string type_text(const Tensor& t);

}  // namespace ingot
