#include "host/session.hpp"

#include <algorithm>

#include "host/host_tensors.hpp"

namespace ingot {

EntrySession::EntrySession(std::shared_ptr<ModelContainer> container, std::string_view entry)
    : owner_(std::move(container)), container_(owner_->handle()), entry_(entry_place(library(), entry)) {}

std::string EntrySession::name() const { return entry_ == 0 ? "" : description("the name of an entry point").info().name; }

std::optional<std::vector<std::string>> EntrySession::input_names(CallSite from) const {
  std::vector<std::string> names;
  if (entry_ > 0) {
    const LibraryEntry entry = description("names of inputs");
    for (std::size_t k = 0; k < entry.info().input_count; k++) names.emplace_back(entry.input(k).name);
    return names;
  }
  if (!library().AOTInductorModelContainerGetNumInputs || !library().AOTInductorModelContainerGetInputName) return {};
  std::size_t count = 0;
  INGOT_MODEL_CALL(AOTInductorModelContainerGetNumInputs, container_, &count);
  for (std::size_t k = 0; k < count; k++) {
    const char* name = nullptr;
    INGOT_MODEL_CALL(AOTInductorModelContainerGetInputName, container_, k, &name);
    names.emplace_back(name);
  }
  return names;
}

std::optional<std::vector<std::string>> EntrySession::output_names(CallSite from) const {
  std::vector<std::string> names;
  const std::size_t count = output_count(from);
  if (entry_ > 0) {
    const LibraryEntry entry = description("names of outputs");
    for (std::size_t k = 0; k < count; k++) names.emplace_back(entry.output(k).name);
    return names;
  }
  if (!library().AOTInductorModelContainerGetOutputName) return {};
  for (std::size_t k = 0; k < count; k++) {
    const char* name = nullptr;
    INGOT_MODEL_CALL(AOTInductorModelContainerGetOutputName, container_, k, &name);
    names.emplace_back(name);
  }
  return names;
}

std::size_t EntrySession::output_count(CallSite from) const {
  if (entry_ > 0) return description("an entry point").info().output_count;
  std::size_t count = 0;
  INGOT_MODEL_CALL(AOTInductorModelContainerGetNumOutputs, container_, &count);
  return count;
}

std::pair<std::string, std::string> EntrySession::call_spec(CallSite from) const {
  if (entry_ > 0) {
    const ingot_entry_info info = description("a call specification").info();
    return {info.in_spec, info.out_spec};
  }
  const char *in = nullptr, *out = nullptr;
  INGOT_MODEL_CALL(AOTInductorModelContainerGetCallSpec, container_, &in, &out);
  return {in, out};
}

Handles EntrySession::run(Handles inputs, const SessionRunOptions& options, CallSite from) const {
  const std::size_t count = output_count(from);
  if (options.single_threaded) INGOT_NEED_FUNCTION(AOTInductorModelContainerRunSingleThreaded, "run_single_threaded");
  std::vector<AtenTensorHandle> outputs(count);
  std::vector<AtenTensorHandle> given = inputs.take_all();  // stolen, also by a run that fails
  const AOTInductorStreamHandle stream = options.stream;
  const AOTIProxyExecutorHandle proxy = owner_->proxy();
  if (options.places && library().ingot_container_run_into)
    INGOT_MODEL_CALL(ingot_container_run_into, container_, entry_, given.data(), given.size(), options.places, outputs.data(),
                     count, stream);
  else if (entry_ > 0)
    INGOT_MODEL_CALL(ingot_container_run_entry, container_, entry_, given.data(), given.size(), outputs.data(), count, stream);
  else if (options.single_threaded)
    INGOT_MODEL_CALL(AOTInductorModelContainerRunSingleThreaded, container_, given.data(), given.size(), outputs.data(), count,
                     stream, proxy);
  else
    INGOT_MODEL_CALL(AOTInductorModelContainerRun, container_, given.data(), given.size(), outputs.data(), count, stream, proxy);
  // Other compilers' libraries return a handle twice where a value is returned twice (I098).
  for (std::size_t k = 0; k < count && !library().ingot_container_run_entry; k++) {
    const auto at = outputs.begin() + static_cast<std::ptrdiff_t>(k);
    if (*at && std::find(outputs.begin(), at, *at) != at)
      require(host_tensors::share(*at, &*at), "aoti_torch_new_tensor_handle(output)", from);
  }
  return {library(), std::move(outputs)};
}

}  // namespace ingot
