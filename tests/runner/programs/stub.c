/* A model library that another compiler might have made: it computes nothing, remembers how it was
 * called, and fails where it is told to. A run takes one input and returns four outputs: none, the
 * input twice by the same handle, and the input by another one.
 * OLD: without the functions that came later. NEEDS: a function of the host that it calls. */
#include <string.h>

#include "ingot/aoti_host.h"
#include "stub.h"

INGOT_EXPORT struct stub_record stub_seen;

#ifdef NEEDS
extern AOTITorchError NEEDS(void);
INGOT_EXPORT AOTITorchError stub_needs(void) { return NEEDS(); }
#endif

static struct AOTInductorModelContainerOpaque {
  int unused;
} container;

static AOTIRuntimeError status(const char* function) { return strcmp(stub_seen.failing, function) == 0; }
#define STATUS status(__func__)

AOTIRuntimeError AOTInductorModelContainerCreateWithDevice(AOTInductorModelContainerHandle* handle, size_t models,
                                                           const char* device, const char* cubin_dir) {
  stub_seen.models = models;
  stub_seen.has_cubin_dir = cubin_dir != NULL;
  strncpy(stub_seen.device, device, sizeof stub_seen.device - 1);
  strncpy(stub_seen.cubin_dir, cubin_dir ? cubin_dir : "", sizeof stub_seen.cubin_dir - 1);
  *handle = &container;
  return STATUS;
}
AOTIRuntimeError AOTInductorModelContainerDelete(AOTInductorModelContainerHandle handle) {
  stub_seen.deleted += handle == &container;
  return STATUS;
}
AOTIRuntimeError AOTInductorModelContainerGetNumOutputs(AOTInductorModelContainerHandle handle, size_t* count) {
  (void)handle;
  *count = 4;
  return STATUS;
}

AOTIRuntimeError AOTInductorModelContainerGetNumInputs(AOTInductorModelContainerHandle handle, size_t* count) {
  (void)handle;
  *count = 1;
  return STATUS;
}
AOTIRuntimeError AOTInductorModelContainerGetInputName(AOTInductorModelContainerHandle handle, size_t k, const char** name) {
  (void)handle;
  *name = "arg0_1";
  return k >= 1 || STATUS;
}
AOTIRuntimeError AOTInductorModelContainerGetOutputName(AOTInductorModelContainerHandle handle, size_t k, const char** name) {
  static const char* const names[] = {"output0", "output1", "output2", "output3"};
  (void)handle;
  if (k < 4) *name = names[k];
  return k >= 4 || STATUS;
}

static AOTIRuntimeError run(const char* function, AtenTensorHandle* inputs, size_t input_count, AtenTensorHandle* outputs,
                            AOTInductorStreamHandle stream, AOTIProxyExecutorHandle proxy) {
  stub_seen.stream = stream;
  stub_seen.proxy = proxy;
  stub_seen.inputs = input_count;
  if (status(function)) {
    for (size_t k = 0; k < input_count; k++) aoti_torch_delete_tensor_object(inputs[k]);
    return 1;
  }
  void* data = NULL;
  aoti_torch_get_data_ptr(inputs[0], &data);
  stub_seen.input_data = data;
  outputs[0] = NULL;
  outputs[1] = outputs[2] = inputs[0];
  return aoti_torch_new_tensor_handle(inputs[0], &outputs[3]);
}

AOTIRuntimeError AOTInductorModelContainerRun(AOTInductorModelContainerHandle handle, AtenTensorHandle* inputs, size_t input_count,
                                              AtenTensorHandle* outputs, size_t output_count, AOTInductorStreamHandle stream,
                                              AOTIProxyExecutorHandle proxy) {
  (void)handle, (void)output_count;
  return run(__func__, inputs, input_count, outputs, stream, proxy);
}
AOTIRuntimeError AOTInductorModelContainerGetNumConstants(AOTInductorModelContainerHandle handle, size_t* count) {
  (void)handle;
  *count = 1;
  return STATUS;
}
AOTIRuntimeError AOTInductorModelContainerGetConstantName(AOTInductorModelContainerHandle handle, size_t k, const char** name) {
  (void)handle, (void)k;
  *name = "w";
  return STATUS;
}
AOTIRuntimeError AOTInductorModelContainerGetConstantOriginalFQN(AOTInductorModelContainerHandle handle, size_t k,
                                                                 const char** fqn) {
  (void)handle, (void)k;
  *fqn = "layer.w";
  return STATUS;
}
AOTIRuntimeError AOTInductorModelContainerGetConstantDtype(AOTInductorModelContainerHandle handle, size_t k, int32_t* dtype) {
  (void)handle, (void)k;
  *dtype = 6;
  return STATUS;
}
AOTIRuntimeError AOTInductorModelContainerUpdateConstantBuffer(AOTInductorModelContainerHandle handle,
                                                               AOTInductorConstantMapHandle map, bool use_inactive,
                                                               bool validate_full_update) {
  (void)handle, (void)map;
  stub_seen.use_inactive = use_inactive;
  stub_seen.full_update = validate_full_update;
  return STATUS;
}
AOTIRuntimeError AOTInductorModelContainerUpdateInactiveConstantBuffer(AOTInductorModelContainerHandle handle,
                                                                       AOTInductorConstantMapHandle map) {
  (void)handle, (void)map;
  return STATUS;
}
AOTIRuntimeError AOTInductorModelContainerRunConstantFolding(AOTInductorModelContainerHandle handle, bool use_inactive,
                                                             AOTInductorStreamHandle stream, AOTIProxyExecutorHandle proxy) {
  (void)handle;
  stub_seen.use_inactive = use_inactive;
  stub_seen.stream = stream;
  stub_seen.proxy = proxy;
  return STATUS;
}
AOTIRuntimeError AOTInductorModelContainerSwapConstantBuffer(AOTInductorModelContainerHandle handle) {
  (void)handle;
  return STATUS;
}
AOTIRuntimeError AOTInductorModelContainerGetCallSpec(AOTInductorModelContainerHandle handle, const char** in_spec,
                                                      const char** out_spec) {
  (void)handle;
  *in_spec = "in";
  *out_spec = "out";
  return STATUS;
}

#ifndef OLD
AOTIRuntimeError AOTInductorModelContainerRunSingleThreaded(AOTInductorModelContainerHandle handle, AtenTensorHandle* inputs,
                                                            size_t input_count, AtenTensorHandle* outputs, size_t output_count,
                                                            AOTInductorStreamHandle stream, AOTIProxyExecutorHandle proxy) {
  (void)handle, (void)output_count;
  return run(__func__, inputs, input_count, outputs, stream, proxy);
}
AOTIRuntimeError AOTInductorModelContainerFreeInactiveConstantBuffer(AOTInductorModelContainerHandle handle) {
  (void)handle;
  return STATUS;
}
AOTIRuntimeError AOTInductorModelContainerExtractConstantsMap(AOTInductorModelContainerHandle handle,
                                                              AOTInductorConstantMapHandle map, bool use_inactive) {
  (void)handle, (void)map;
  stub_seen.use_inactive = use_inactive;
  return STATUS;
}
AOTIRuntimeError AOTInductorModelContainerUpdateUserManagedConstantBuffer(AOTInductorModelContainerHandle handle,
                                                                          AOTInductorConstantMapHandle map, bool use_inactive,
                                                                          bool validate_full_update) {
  (void)handle, (void)map;
  stub_seen.use_inactive = use_inactive;
  stub_seen.full_update = validate_full_update;
  return STATUS;
}
AOTIRuntimeError AOTInductorModelContainerGetConstantsBlobSize(AOTInductorModelContainerHandle handle, uint64_t* size) {
  (void)handle;
  *size = 3;
  return STATUS;
}
AOTIRuntimeError AOTInductorModelUpdateConstantsFromBlob(AOTInductorModelContainerHandle handle, const uint8_t* blob) {
  (void)handle;
  memcpy(stub_seen.blob, blob, 3);
  return STATUS;
}
#endif
