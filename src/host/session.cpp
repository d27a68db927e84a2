#include "host/session.hpp"

#include "base/error.hpp"

namespace ingot {
Session::Session(const std::string& path, const ingot_options& options) : model_(std::make_shared<LoadedModel>(path, options)) {
  read_names();
}
Session::Session(std::shared_ptr<LoadedModel> model, std::string_view entry)
    : model_(std::move(model)), entry_(entry_place(model_->library(), entry)) {
  read_names();
}

void Session::read_names() {
  if (!library().is_own()) return read_names_of_first();
  const LibraryEntry entry = description("a session");
  for (std::size_t k = 0; k < entry.info().input_count; k++) input_names_.emplace_back(entry.input(k).name);
  for (std::size_t k = 0; k < entry.info().output_count; k++) output_names_.emplace_back(entry.output(k).name);
}

void Session::read_names_of_first() {
  const AOTInductorModelContainerHandle container = model_->container();
  std::size_t inputs = 0, outputs = 0;
  const char* name = nullptr;
  model_->require(library().AOTInductorModelContainerGetNumOutputs(container, &outputs));
  INGOT_REQUIRE(library().AOTInductorModelContainerGetNumInputs && library().AOTInductorModelContainerGetInputName &&
                    library().AOTInductorModelContainerGetOutputName,
                library().path(), " does not say what its inputs and outputs are");
  model_->require(library().AOTInductorModelContainerGetNumInputs(container, &inputs));
  for (std::size_t k = 0; k < inputs; k++) {
    model_->require(library().AOTInductorModelContainerGetInputName(container, k, &name));
    input_names_.emplace_back(name);
  }
  for (std::size_t k = 0; k < outputs; k++) {
    model_->require(library().AOTInductorModelContainerGetOutputName(container, k, &name));
    output_names_.emplace_back(name);
  }
}

Handles Session::run(std::span<const DLTensor* const> inputs) const {
  INGOT_REQUIRE(inputs.size() == input_names_.size(), "expected ", input_names_.size(), " inputs, found ", inputs.size());
  Handles given(library(), inputs.size());
  for (std::size_t k = 0; k < inputs.size(); k++)
    given.add(handle_over(library(), inputs[k], text("input ", k, " (", input_names_[k], ")")));
  return {library(), model_->run(entry_, given.take_all(), output_names_.size())};
}

}  // namespace ingot
