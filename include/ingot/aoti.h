/* The C ABI of a compiled model library: what every library that Ingot makes exports, and what a
 * host looks up with dlsym. It is the interface of PyTorch's AOTInductor, so a host written for
 * that loads Ingot's libraries too.
 *
 * Every function returns 0, or 1 after a failure; the text is then written to standard error as
 * `Error: …`, and ingot_last_error() of ingot/model.h returns it. Strings belong to the container
 * or model and live as long as it does. Tensors pass as handles of the host (ingot/aoti_host.h):
 * *stolen* handles belong to the library from the call on, *borrowed* ones stay the caller's. */
#ifndef INGOT_AOTI_H
#define INGOT_AOTI_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ingot/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t AOTIRuntimeError; /* of a library function */
typedef int32_t AOTITorchError;   /* of a host function */
enum { AOTI_RUNTIME_SUCCESS = 0, AOTI_RUNTIME_FAILURE = 1, AOTI_TORCH_SUCCESS = 0, AOTI_TORCH_FAILURE = 1 };

typedef struct AOTInductorModelOpaque* AOTInductorModelHandle;
typedef struct AOTInductorModelContainerOpaque* AOTInductorModelContainerHandle;
typedef struct AOTInductorStreamOpaque* AOTInductorStreamHandle; /* null on the CPU */
/* Points to a std::unordered_map<std::string, AtenTensorHandle> of the caller, with libstdc++'s
 * layout. */
typedef struct AOTInductorConstantMap* AOTInductorConstantMapHandle;
typedef struct AOTIProxyExecutorOpaque* AOTIProxyExecutorHandle;
typedef struct AtenTensorOpaque* AtenTensorHandle;
typedef struct AtenGeneratorOpaque* AtenGeneratorHandle;
typedef struct C10IValueOpaque* C10IValueHandle;

typedef struct AOTInductorConstantMapEntry {
  const char* name; /* the constant's internal name */
  AtenTensorHandle handle;
} AOTInductorConstantMapEntry;

/* ---- container: `num_models` interchangeable models over one set of constants */

/* As the next one with device "cpu" or "cuda". Deprecated. */
INGOT_EXPORT AOTIRuntimeError AOTInductorModelContainerCreate(AOTInductorModelContainerHandle* container_handle,
                                                              size_t num_models, bool is_cpu, const char* cubin_dir);
/* `device_str`: "cpu", "cuda" or "cuda:1". `cubin_dir` may be null; nothing on the CPU uses it. */
INGOT_EXPORT AOTIRuntimeError AOTInductorModelContainerCreateWithDevice(AOTInductorModelContainerHandle* container_handle,
                                                                        size_t num_models, const char* device_str,
                                                                        const char* cubin_dir);
/* The same without the library's own weights: the given constants (borrowed; by internal names) are
 * used where they lie, as in AOTInductorModelContainerUpdateUserManagedConstantBufferPairs, and
 * folded at once. */
INGOT_EXPORT AOTIRuntimeError AOTInductorModelContainerCreateWithExternalConstants(
    AOTInductorModelContainerHandle* container_handle, size_t num_models, const char* device_str, const char* cubin_dir,
    const AOTInductorConstantMapEntry* constant_entries, size_t num_constant_entries);
/* The caller sees to it that no call is under way. */
INGOT_EXPORT AOTIRuntimeError AOTInductorModelContainerDelete(AOTInductorModelContainerHandle container_handle);

/* One inference. Up to `num_models` run at once, further callers wait. The input handles are
 * stolen, also when the run fails; the output handles that it writes are the caller's. */
INGOT_EXPORT AOTIRuntimeError AOTInductorModelContainerRun(AOTInductorModelContainerHandle container_handle,
                                                           AtenTensorHandle* input_handles, size_t num_inputs,
                                                           AtenTensorHandle* output_handles, size_t num_outputs,
                                                           AOTInductorStreamHandle stream_handle,
                                                           AOTIProxyExecutorHandle proxy_executor_handle);
/* The same without locks, on the first model: the caller sees to it that no other call is under
 * way. */
INGOT_EXPORT AOTIRuntimeError AOTInductorModelContainerRunSingleThreaded(AOTInductorModelContainerHandle container_handle,
                                                                         AtenTensorHandle* input_handles, size_t num_inputs,
                                                                         AtenTensorHandle* output_handles, size_t num_outputs,
                                                                         AOTInductorStreamHandle stream_handle,
                                                                         AOTIProxyExecutorHandle proxy_executor_handle);

/* ---- what the model is; an index that is out of range is a failure */

INGOT_EXPORT AOTIRuntimeError AOTInductorModelContainerGetNumInputs(AOTInductorModelContainerHandle container_handle,
                                                                    size_t* ret_num_inputs);
INGOT_EXPORT AOTIRuntimeError AOTInductorModelContainerGetInputName(AOTInductorModelContainerHandle container_handle,
                                                                    size_t input_idx, const char** ret_input_names);
INGOT_EXPORT AOTIRuntimeError AOTInductorModelContainerGetNumOutputs(AOTInductorModelContainerHandle container_handle,
                                                                     size_t* ret_num_outputs);
INGOT_EXPORT AOTIRuntimeError AOTInductorModelContainerGetOutputName(AOTInductorModelContainerHandle container_handle,
                                                                     size_t output_idx, const char** ret_output_names);
/* How arguments and results are nested, as JSON. */
INGOT_EXPORT AOTIRuntimeError AOTInductorModelContainerGetCallSpec(AOTInductorModelContainerHandle container_handle,
                                                                   const char** in_spec, const char** out_spec);

INGOT_EXPORT AOTIRuntimeError AOTInductorModelContainerGetNumConstants(AOTInductorModelContainerHandle container_handle,
                                                                       size_t* num_constants);
INGOT_EXPORT AOTIRuntimeError AOTInductorModelContainerGetConstantName(AOTInductorModelContainerHandle container_handle,
                                                                       size_t idx, const char** name);
INGOT_EXPORT AOTIRuntimeError AOTInductorModelContainerGetConstantOriginalFQN(AOTInductorModelContainerHandle container_handle,
                                                                              size_t idx, const char** original_fqn);
INGOT_EXPORT AOTIRuntimeError AOTInductorModelContainerGetConstantFromFolded(AOTInductorModelContainerHandle container_handle,
                                                                             size_t idx, bool* from_folded);
/* 0 unknown, 1 parameter, 2 buffer, 3 tensor constant, 4 folded constant. */
INGOT_EXPORT AOTIRuntimeError AOTInductorModelContainerGetConstantType(AOTInductorModelContainerHandle container_handle,
                                                                       size_t idx, int32_t* type);
INGOT_EXPORT AOTIRuntimeError AOTInductorModelContainerGetConstantDtype(AOTInductorModelContainerHandle container_handle,
                                                                        size_t idx, int32_t* dtype);
/* In bytes; 0 for a folded constant. */
INGOT_EXPORT AOTIRuntimeError AOTInductorModelContainerGetConstantDataSize(AOTInductorModelContainerHandle container_handle,
                                                                           size_t idx, size_t* data_size);

/* Whether the container began with the weights of the library: not one that was created with
 * external constants. */
INGOT_EXPORT AOTIRuntimeError AOTInductorModelContainerDidCallLoadConstants(AOTInductorModelContainerHandle container_handle,
                                                                            bool* did_call_load_constants);
/* Why the last call of this thread to one of these functions failed, "" where it did not. It is
 * valid until the next one. */
INGOT_EXPORT AOTIRuntimeError AOTInductorGetLastError(const char** error_msg);

/* ---- constants: two buffers, of which one is active (runs use it) and `use_inactive` names the
 * other */

/* Copies the given tensors (borrowed; keys are internal names, unknown ones are ignored) into a
 * buffer. The whole storage of each must fit the constant's place: its bytes, rounded up to a
 * multiple of 64. With `validate_full_update` every parameter must be there; otherwise those that
 * are not keep what they have. The inactive buffer begins as the active one: at its first update,
 * and at the first one after each swap. Module buffers, tensor constants and empty parameters that
 * an update of the inactive buffer leaves out are copied from the active one every time, also where
 * an earlier update gave them: give those that are to change in one call, or use
 * ingot_container_update of ingot/model.h. Safe during runs on the inactive buffer; on the active
 * one the caller orders it against runs. */
INGOT_EXPORT AOTIRuntimeError AOTInductorModelContainerUpdateConstantBuffer(AOTInductorModelContainerHandle container_handle,
                                                                            AOTInductorConstantMapHandle constant_map_handle,
                                                                            bool use_inactive, bool validate_full_update);
/* The same from tensors on the CPU, wherever the model is. */
INGOT_EXPORT AOTIRuntimeError AOTInductorModelContainerUpdateConstantBufferFromCpu(
    AOTInductorModelContainerHandle container_handle, AOTInductorConstantMapHandle constant_map_handle, bool use_inactive,
    bool validate_full_update);
/* As the first one, with use_inactive and validate_full_update. */
INGOT_EXPORT AOTIRuntimeError AOTInductorModelContainerUpdateInactiveConstantBuffer(
    AOTInductorModelContainerHandle container_handle, AOTInductorConstantMapHandle constant_map_handle);
/* As the first one, without a copy: the caller keeps each storage alive and unmoved, and the model
 * sees what is written there. */
INGOT_EXPORT AOTIRuntimeError AOTInductorModelContainerUpdateUserManagedConstantBuffer(
    AOTInductorModelContainerHandle container_handle, AOTInductorConstantMapHandle constant_map_handle, bool use_inactive,
    bool validate_full_update);
INGOT_EXPORT AOTIRuntimeError AOTInductorModelContainerUpdateUserManagedConstantBufferPairs(
    AOTInductorModelContainerHandle container_handle, const AOTInductorConstantMapEntry* pairs, size_t num_pairs,
    bool use_inactive, bool validate_full_update);
/* Releases the inactive buffer's memory and its folded constants. */
INGOT_EXPORT AOTIRuntimeError
AOTInductorModelContainerFreeInactiveConstantBuffer(AOTInductorModelContainerHandle container_handle);
/* Computes the folded constants of a buffer. The first run after a load or an update of the active
 * buffer does it by itself. */
INGOT_EXPORT AOTIRuntimeError AOTInductorModelContainerRunConstantFolding(AOTInductorModelContainerHandle container_handle,
                                                                          bool use_inactive,
                                                                          AOTInductorStreamHandle stream_handle,
                                                                          AOTIProxyExecutorHandle proxy_executor_handle);
/* Waits for the runs under way, then makes the inactive buffer the active one and the other way
 * about. */
INGOT_EXPORT AOTIRuntimeError AOTInductorModelContainerSwapConstantBuffer(AOTInductorModelContainerHandle container_handle);
/* Fills the caller's map: name in the exported program to a borrowed handle, for what the buffer
 * holds, folded ones left out. */
INGOT_EXPORT AOTIRuntimeError AOTInductorModelContainerExtractConstantsMap(AOTInductorModelContainerHandle container_handle,
                                                                           AOTInductorConstantMapHandle constant_map_handle,
                                                                           bool use_inactive);
/* Only for a library whose weights are in a file of their own. */
INGOT_EXPORT AOTIRuntimeError AOTInductorModelContainerGetConstantsBlobSize(AOTInductorModelContainerHandle container_handle,
                                                                            uint64_t* ret_size);
/* Copies every constant from memory that holds them in table order without gaps. Takes a container
 * despite its name. */
INGOT_EXPORT AOTIRuntimeError AOTInductorModelUpdateConstantsFromBlob(AOTInductorModelContainerHandle container_handle,
                                                                      const uint8_t* weight_blob_ptr);

/* ---- a bare model: no locks, no buffers; the caller orders the calls */

/* With a map its handles (by internal name) are stolen as the model's constants; with null the
 * library's own are loaded. */
INGOT_EXPORT AOTIRuntimeError AOTInductorModelCreate(AOTInductorModelHandle* model_handle,
                                                     AOTInductorConstantMapHandle constant_map_handle);
/* Arrays as long as the model has inputs and outputs; ownership as in
 * AOTInductorModelContainerRun. */
INGOT_EXPORT AOTIRuntimeError AOTInductorModelRun(AOTInductorModelHandle model_handle, AtenTensorHandle* input_handles,
                                                  AtenTensorHandle* output_handles);
INGOT_EXPORT AOTIRuntimeError AOTInductorModelDelete(AOTInductorModelHandle model_handle);
INGOT_EXPORT AOTIRuntimeError AOTInductorModelGetNumOutputs(AOTInductorModelHandle model_handle, size_t* ret_num_outputs);
/* Replaces all constants by the given handles (stolen). */
INGOT_EXPORT AOTIRuntimeError AOTInductorModelUpdateConstantsMap(AOTInductorModelHandle model_handle,
                                                                 AOTInductorConstantMapHandle constant_map_handle);

#ifdef __cplusplus
}
#endif
#endif
