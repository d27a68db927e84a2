// The C ABI of ingot/aoti.h over Container and BareModel.
#include "ingot/aoti.h"

#include <string.h>

#include "model/bare_model.hpp"
#include "model/container.hpp"

using namespace ingot::model;

namespace {

const ingot_program& program = ingot_the_program;
const ingot_entry& entry() { return program.entries[0]; }  // the one that this interface knows

AOTIRuntimeError status(bool is_well) {
  if (is_well) {
    clear_error();
    return AOTI_RUNTIME_SUCCESS;
  }
  if (!prints_errors()) return AOTI_RUNTIME_FAILURE;
  // An exception that says nothing (eager/call.cpp) is printed as it is (I004).
  const bool says_nothing = strcmp(last_error(), "Unknown exception occurred.") == 0;
  log_line(INGOT_LOG_ERROR, says_nothing ? "" : "Error: ", "%s", last_error());
  return AOTI_RUNTIME_FAILURE;
}

// Does `action` to a container; a null handle is one without models.
template <class Action>
AOTIRuntimeError with(AOTInductorModelContainerHandle handle, const char* complaint, Action action) {
  Container* container = reinterpret_cast<Container*>(handle);
  return status(container ? container->is_usable() && action(*container) : fail("%s", complaint));
}

// A question about the program. They need no container, but one that has no models cannot know.
template <class T>
AOTIRuntimeError answer(AOTInductorModelContainerHandle handle, T* result, T value) {
  return with(handle, "No available models in container!", [&](Container&) {
    if (!result) return fail("the address for the answer is null");
    *result = value;
    return true;
  });
}

// The same about item `index` of `count`.
template <class T, class Value>
AOTIRuntimeError answer(AOTInductorModelContainerHandle handle, const char* what, size_t index, size_t count, T* result,
                        Value value) {
  return with(handle, "No available models in container!", [&](Container&) {
    if (index >= count) return fail("%s %zu: there are %zu", what, index, count);
    if (!result) return fail("the address for the answer is null");
    *result = value(index);
    return true;
  });
}

template <class T, class Value>
AOTIRuntimeError constant_answer(AOTInductorModelContainerHandle handle, size_t index, T* result, Value value) {
  return answer(handle, "constant", index, program.constant_count, result, [&](size_t k) { return value(program.constants[k]); });
}

// `prepare` is what else a container needs before it can be used.
template <class Prepare>
AOTIRuntimeError create_container(AOTInductorModelContainerHandle* result, size_t num_models, const char* device,
                                  LibraryWeights weights, Prepare prepare) {
  if (!result) return status(fail("the address for the container is null"));
  auto* container = create<Container>();
  if (container && container->make(num_models, device, weights) && prepare(*container)) {
    *result = reinterpret_cast<AOTInductorModelContainerHandle>(container);
    return status(true);
  }
  destroy(container);
  return status(false);
}

AOTIRuntimeError create_container(AOTInductorModelContainerHandle* result, size_t num_models, const char* device) {
  return create_container(result, num_models, device, LibraryWeights::used, [](Container&) { return true; });
}

AOTIRuntimeError update(AOTInductorModelContainerHandle handle, AOTInductorConstantMapHandle map, bool use_inactive,
                        bool must_be_full, Give give) {
  return with(handle, "No model available in container!", [&](Container& container) {
    if (!map) return fail("the map of constants is null");
    Array<AtenTensorHandle> given;
    if (!given.make(program.constant_count)) return false;
    ConstantMap(map).for_each([&](const char* name, AtenTensorHandle tensor) {
      if (const int64_t k = find_constant(name); k >= 0) given[static_cast<size_t>(k)] = tensor;
    });
    return container.update(given, use_inactive, must_be_full, give);
  });
}

template <class Action>
AOTIRuntimeError with(AOTInductorModelHandle handle, Action action) {
  return status(handle ? action(*reinterpret_cast<BareModel*>(handle)) : fail("the model handle is null"));
}

}  // namespace

// ---- container

AOTIRuntimeError AOTInductorModelContainerCreate(AOTInductorModelContainerHandle* container_handle, size_t num_models,
                                                 bool is_cpu, const char*) {
  return create_container(container_handle, num_models, is_cpu ? "cpu" : "cuda");
}

AOTIRuntimeError AOTInductorModelContainerCreateWithDevice(AOTInductorModelContainerHandle* container_handle, size_t num_models,
                                                           const char* device_str, const char*) {
  return create_container(container_handle, num_models, device_str);
}

AOTIRuntimeError AOTInductorModelContainerCreateWithExternalConstants(AOTInductorModelContainerHandle* container_handle,
                                                                      size_t num_models, const char* device_str, const char*,
                                                                      const AOTInductorConstantMapEntry* constant_entries,
                                                                      size_t num_constant_entries) {
  return create_container(container_handle, num_models, device_str, LibraryWeights::ignored, [&](Container& container) {
    return container.update_pairs(constant_entries, num_constant_entries, false, false, Give::in_place) &&
           container.fold(false, nullptr);
  });
}

AOTIRuntimeError AOTInductorModelContainerDelete(AOTInductorModelContainerHandle container_handle) {
  Container* container = reinterpret_cast<Container*>(container_handle);
  if (!container || container->is_usable()) destroy(container);  // else it stays as it lies
  return status(true);
}

AOTIRuntimeError AOTInductorModelContainerRun(AOTInductorModelContainerHandle container_handle, AtenTensorHandle* input_handles,
                                              size_t num_inputs, AtenTensorHandle* output_handles, size_t num_outputs,
                                              AOTInductorStreamHandle stream_handle, AOTIProxyExecutorHandle) {
  const Taken taken(input_handles, num_inputs);
  return with(container_handle, "No available models in container!",
              [&](Container& c) { return c.run(0, input_handles, num_inputs, output_handles, num_outputs, stream_handle); });
}

AOTIRuntimeError AOTInductorModelContainerRunSingleThreaded(AOTInductorModelContainerHandle container_handle,
                                                            AtenTensorHandle* input_handles, size_t num_inputs,
                                                            AtenTensorHandle* output_handles, size_t num_outputs,
                                                            AOTInductorStreamHandle stream_handle, AOTIProxyExecutorHandle) {
  const Taken taken(input_handles, num_inputs);
  return with(container_handle, "No available models in container!", [&](Container& c) {
    return c.run_single_threaded(input_handles, num_inputs, output_handles, num_outputs, stream_handle);
  });
}

// ---- questions

AOTIRuntimeError AOTInductorModelContainerGetNumInputs(AOTInductorModelContainerHandle container_handle, size_t* ret_num_inputs) {
  return answer(container_handle, ret_num_inputs, size_t{entry().input_count});
}
AOTIRuntimeError AOTInductorModelContainerGetInputName(AOTInductorModelContainerHandle container_handle, size_t input_idx,
                                                       const char** ret_input_names) {
  return answer(container_handle, "input", input_idx, entry().input_count, ret_input_names,
                [](size_t k) { return entry().inputs[k].name; });
}
AOTIRuntimeError AOTInductorModelContainerGetNumOutputs(AOTInductorModelContainerHandle container_handle,
                                                        size_t* ret_num_outputs) {
  return answer(container_handle, ret_num_outputs, size_t{entry().output_count});
}
AOTIRuntimeError AOTInductorModelContainerGetOutputName(AOTInductorModelContainerHandle container_handle, size_t output_idx,
                                                        const char** ret_output_names) {
  return answer(container_handle, "output", output_idx, entry().output_count, ret_output_names,
                [](size_t k) { return entry().outputs[k].name; });
}
AOTIRuntimeError AOTInductorModelContainerGetCallSpec(AOTInductorModelContainerHandle container_handle, const char** in_spec,
                                                      const char** out_spec) {
  const AOTIRuntimeError first = answer(container_handle, in_spec, entry().in_spec);
  return first ? first : answer(container_handle, out_spec, entry().out_spec);
}

AOTIRuntimeError AOTInductorModelContainerGetNumConstants(AOTInductorModelContainerHandle container_handle,
                                                          size_t* num_constants) {
  return answer(container_handle, num_constants, size_t{program.constant_count});
}
AOTIRuntimeError AOTInductorModelContainerGetConstantName(AOTInductorModelContainerHandle container_handle, size_t idx,
                                                          const char** name) {
  return constant_answer(container_handle, idx, name, [](const ingot_constant& c) { return c.name; });
}
AOTIRuntimeError AOTInductorModelContainerGetConstantOriginalFQN(AOTInductorModelContainerHandle container_handle, size_t idx,
                                                                 const char** original_fqn) {
  return constant_answer(container_handle, idx, original_fqn, [](const ingot_constant& c) { return c.fqn; });
}
AOTIRuntimeError AOTInductorModelContainerGetConstantFromFolded(AOTInductorModelContainerHandle container_handle, size_t idx,
                                                                bool* from_folded) {
  return constant_answer(container_handle, idx, from_folded, [](const ingot_constant& c) { return c.kind == 4; });
}
AOTIRuntimeError AOTInductorModelContainerGetConstantType(AOTInductorModelContainerHandle container_handle, size_t idx,
                                                          int32_t* type) {
  return constant_answer(container_handle, idx, type, [](const ingot_constant& c) { return c.kind; });
}
AOTIRuntimeError AOTInductorModelContainerGetConstantDtype(AOTInductorModelContainerHandle container_handle, size_t idx,
                                                           int32_t* dtype) {
  return constant_answer(container_handle, idx, dtype, [](const ingot_constant& c) { return host().dtypes[c.dtype]; });
}
AOTIRuntimeError AOTInductorModelContainerGetConstantDataSize(AOTInductorModelContainerHandle container_handle, size_t idx,
                                                              size_t* data_size) {
  return constant_answer(container_handle, idx, data_size, [](const ingot_constant& c) { return c.bytes; });
}

AOTIRuntimeError AOTInductorModelContainerDidCallLoadConstants(AOTInductorModelContainerHandle container_handle,
                                                               bool* did_call_load_constants) {
  return with(container_handle, "No available models in container!", [&](Container& c) {
    if (!did_call_load_constants) return fail("the address for the answer is null");
    *did_call_load_constants = c.uses_library_weights();
    return true;
  });
}
AOTIRuntimeError AOTInductorGetLastError(const char** error_msg) {
  if (!error_msg) return AOTI_RUNTIME_FAILURE;
  *error_msg = last_error();
  return AOTI_RUNTIME_SUCCESS;
}

// ---- constants

AOTIRuntimeError AOTInductorModelContainerUpdateConstantBuffer(AOTInductorModelContainerHandle container_handle,
                                                               AOTInductorConstantMapHandle constant_map_handle,
                                                               bool use_inactive, bool validate_full_update) {
  return update(container_handle, constant_map_handle, use_inactive, validate_full_update, Give::storage);
}
AOTIRuntimeError AOTInductorModelContainerUpdateConstantBufferFromCpu(AOTInductorModelContainerHandle container_handle,
                                                                      AOTInductorConstantMapHandle constant_map_handle,
                                                                      bool use_inactive, bool validate_full_update) {
  return update(container_handle, constant_map_handle, use_inactive, validate_full_update, Give::storage);
}
AOTIRuntimeError AOTInductorModelContainerUpdateInactiveConstantBuffer(AOTInductorModelContainerHandle container_handle,
                                                                       AOTInductorConstantMapHandle constant_map_handle) {
  return update(container_handle, constant_map_handle, true, true, Give::storage);
}
AOTIRuntimeError AOTInductorModelContainerUpdateUserManagedConstantBuffer(AOTInductorModelContainerHandle container_handle,
                                                                          AOTInductorConstantMapHandle constant_map_handle,
                                                                          bool use_inactive, bool validate_full_update) {
  return update(container_handle, constant_map_handle, use_inactive, validate_full_update, Give::in_place);
}
AOTIRuntimeError AOTInductorModelContainerUpdateUserManagedConstantBufferPairs(AOTInductorModelContainerHandle container_handle,
                                                                               const AOTInductorConstantMapEntry* pairs,
                                                                               size_t num_pairs, bool use_inactive,
                                                                               bool validate_full_update) {
  return with(container_handle, "No model available in container!", [&](Container& container) {
    return container.update_pairs(pairs, num_pairs, use_inactive, validate_full_update, Give::in_place);
  });
}
AOTIRuntimeError AOTInductorModelContainerFreeInactiveConstantBuffer(AOTInductorModelContainerHandle container_handle) {
  return with(container_handle, "No model available in container!", [](Container& c) { return c.free_inactive(); });
}
AOTIRuntimeError AOTInductorModelContainerRunConstantFolding(AOTInductorModelContainerHandle container_handle, bool use_inactive,
                                                             AOTInductorStreamHandle stream_handle, AOTIProxyExecutorHandle) {
  return with(container_handle, "No model available in container!",
              [&](Container& c) { return c.fold(use_inactive, stream_handle); });
}
AOTIRuntimeError AOTInductorModelContainerSwapConstantBuffer(AOTInductorModelContainerHandle container_handle) {
  return with(container_handle, "No model available in container!", [](Container& c) { return c.swap(); });
}
AOTIRuntimeError AOTInductorModelContainerExtractConstantsMap(AOTInductorModelContainerHandle container_handle,
                                                              AOTInductorConstantMapHandle constant_map_handle,
                                                              bool use_inactive) {
  return with(container_handle, "No available models in container!", [&](Container& c) {
    return constant_map_handle ? c.extract(ConstantMap(constant_map_handle), use_inactive) : fail("the map of constants is null");
  });
}
AOTIRuntimeError AOTInductorModelContainerGetConstantsBlobSize(AOTInductorModelContainerHandle container_handle,
                                                               uint64_t* ret_size) {
  if (!has_mapped_weights()) return status(fail("constant blob size is only available for mmap'd weights"));
  uint64_t bytes = 0;
  for (uint32_t k = 0; k < stored_constant_count(); k++) bytes += program.constants[k].bytes;
  return answer(container_handle, ret_size, bytes);
}
AOTIRuntimeError AOTInductorModelUpdateConstantsFromBlob(AOTInductorModelContainerHandle container_handle,
                                                         const uint8_t* weight_blob_ptr) {
  return with(container_handle, "No model available in container!",
              [&](Container& c) { return c.update_from_blob(weight_blob_ptr); });
}

// ---- bare model

AOTIRuntimeError AOTInductorModelCreate(AOTInductorModelHandle* model_handle, AOTInductorConstantMapHandle constant_map_handle) {
  if (!model_handle) return status(fail("the address for the model is null"));
  ConstantMap constants(constant_map_handle);
  auto* model = create<BareModel>();
  if (model && model->make(constant_map_handle ? &constants : nullptr)) {
    *model_handle = reinterpret_cast<AOTInductorModelHandle>(model);
    return status(true);
  }
  destroy(model);
  return status(false);
}
AOTIRuntimeError AOTInductorModelRun(AOTInductorModelHandle model_handle, AtenTensorHandle* input_handles,
                                     AtenTensorHandle* output_handles) {
  const Taken taken(input_handles, entry().input_count);
  return with(model_handle, [&](BareModel& m) {
    if (!check_counts(0, input_handles, entry().input_count, output_handles, entry().output_count)) return false;
    return m.run(input_handles, output_handles);
  });
}
AOTIRuntimeError AOTInductorModelDelete(AOTInductorModelHandle model_handle) {
  destroy(reinterpret_cast<BareModel*>(model_handle));
  return status(true);
}
AOTIRuntimeError AOTInductorModelGetNumOutputs(AOTInductorModelHandle model_handle, size_t* ret_num_outputs) {
  return with(model_handle, [&](BareModel&) {
    if (!ret_num_outputs) return fail("the address for the answer is null");
    *ret_num_outputs = entry().output_count;
    return true;
  });
}
AOTIRuntimeError AOTInductorModelUpdateConstantsMap(AOTInductorModelHandle model_handle,
                                                    AOTInductorConstantMapHandle constant_map_handle) {
  return with(model_handle, [&](BareModel& m) {
    return constant_map_handle ? m.update(ConstantMap(constant_map_handle)) : fail("the map of constants is null");
  });
}
