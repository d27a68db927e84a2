/* What a library that Ingot made exports beside the C ABI of ingot/aoti.h: the text of a failure,
 * what the model is, settings, and tensors for a program that has none. All of it is plain C; look
 * the functions up with dlsym in the library, or link with it.
 *
 * Functions that return an AOTIRuntimeError return 0, or 1 after a failure. Strings live as long as
 * the library is loaded. */
#ifndef INGOT_MODEL_H
#define INGOT_MODEL_H
#include "ingot/aoti.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Why the last call that failed on this thread failed; "" before the first. Valid until the next
 * failure on this thread. */
INGOT_EXPORT const char* ingot_last_error(void);
/* Whether a failure is written to standard error as well, `Error: …`, as every library of that ABI
 * does: true at first. A caller that hands ingot_last_error on turns it off, so that its user is
 * told once. */
INGOT_EXPORT void ingot_print_errors(bool enabled);
/* What the library would write to standard error goes to `write` from now on, for all who use it in
 * this process, a line a call and one call at a time. Null: to standard error again. When it
 * returns the function before it is called no more. */
INGOT_EXPORT void ingot_model_set_log(ingot_log_function write, void* context);

/* ---- what the model is */

typedef enum ingot_dtype {
  INGOT_UINT8 = 0,
  INGOT_INT8 = 1,
  INGOT_INT16 = 2,
  INGOT_INT32 = 3,
  INGOT_INT64 = 4,
  INGOT_FLOAT16 = 5,
  INGOT_FLOAT32 = 6,
  INGOT_FLOAT64 = 7,
  INGOT_COMPLEX64 = 9,
  INGOT_COMPLEX128 = 10,
  INGOT_BOOL = 11,
  INGOT_BFLOAT16 = 15,
  INGOT_FLOAT8_E5M2 = 23,
  INGOT_FLOAT8_E4M3FN = 24,
  INGOT_UINT16 = 27,
  INGOT_UINT32 = 28,
  INGOT_UINT64 = 29
} ingot_dtype;

/* An input or an output. */
typedef struct ingot_value_info {
  const char* name;
  int32_t dtype; /* ingot_dtype */
  int32_t rank;
  const char* const* sizes; /* each a number or an expression of symbols: "3", "s0", "2*s0" */
  bool is_number; /* an input that is a number, given as a tensor of rank 0 */
  bool is_written; /* an input that the run writes new elements into */
} ingot_value_info;

/* The functions of this part that name no entry point are about the first one. */
INGOT_EXPORT const char* ingot_model_name(void);
/* What these functions read, for programs that read the library's file without loading it: the
 * address of an ingot_program (src/model/program.h), which says its version first. It may change
 * with any version of Ingot. */
extern INGOT_EXPORT const struct ingot_program* const ingot_model_table;
INGOT_EXPORT size_t ingot_model_input_count(void);
INGOT_EXPORT size_t ingot_model_output_count(void);
INGOT_EXPORT size_t ingot_model_symbol_count(void);
INGOT_EXPORT size_t ingot_model_guard_count(void);
INGOT_EXPORT size_t ingot_model_metadata_count(void);
INGOT_EXPORT size_t ingot_model_level_count(void);
INGOT_EXPORT AOTIRuntimeError ingot_model_input(size_t k, ingot_value_info* info);
INGOT_EXPORT AOTIRuntimeError ingot_model_output(size_t k, ingot_value_info* info);
INGOT_EXPORT AOTIRuntimeError ingot_model_symbol(size_t k, ingot_symbol_info* info);
/* A condition on the symbols that every run must meet: "s0 % 2 == 0". */
INGOT_EXPORT AOTIRuntimeError ingot_model_guard(size_t k, const char** condition);
INGOT_EXPORT AOTIRuntimeError ingot_model_metadata(size_t k, const char** key, const char** value);
/* The processors there is code for ("x86-64-v3"), best first. */
INGOT_EXPORT AOTIRuntimeError ingot_model_level(size_t k, const char** level);
/* The one this machine uses. It has none of them: a failure, as creating a container would be. */
INGOT_EXPORT AOTIRuntimeError ingot_model_level_used(const char** level);
/* The sizes of constant k, as AOTInductorModelContainerGetConstantName counts them. */
INGOT_EXPORT AOTIRuntimeError ingot_model_constant_sizes(size_t k, int32_t* rank, const int64_t** sizes);
/* The file beside the library that its weights are in; null where there is none. */
INGOT_EXPORT const char* ingot_model_weights_file(void);
/* Where that file is instead, for who has it under another path: before the first container. The
 * path is copied. */
INGOT_EXPORT AOTIRuntimeError ingot_model_set_weights_file(const char* path);

/* ---- entry points: functions of one library over one set of constants, such as prefill and
 * decode. The first is the one that ingot/aoti.h runs and describes. */

typedef struct ingot_entry_info {
  const char* name;
  const char *in_spec, *out_spec; /* how its arguments and results are nested, as AOTInductorModelContainerGetCallSpec */
  size_t input_count, output_count, symbol_count, guard_count;
} ingot_entry_info;

INGOT_EXPORT size_t ingot_model_entry_count(void);
INGOT_EXPORT AOTIRuntimeError ingot_model_entry(size_t entry, ingot_entry_info* info);
/* Which one has that name, as the functions below want it. A failure lists the names that there
 * are. */
INGOT_EXPORT AOTIRuntimeError ingot_model_find_entry(const char* name, size_t* entry);
INGOT_EXPORT AOTIRuntimeError ingot_entry_input(size_t entry, size_t k, ingot_value_info* info);
INGOT_EXPORT AOTIRuntimeError ingot_entry_output(size_t entry, size_t k, ingot_value_info* info);
INGOT_EXPORT AOTIRuntimeError ingot_entry_symbol(size_t entry, size_t k, ingot_symbol_info* info);
INGOT_EXPORT AOTIRuntimeError ingot_entry_guard(size_t entry, size_t k, const char** condition);
/* As AOTInductorModelContainerRun, of any entry, on the caller's stream: it takes the input
 * handles, the output handles become the caller's. Runs of all entries may be under way at the same
 * time, as many together as the container has models. */
INGOT_EXPORT AOTIRuntimeError ingot_container_run_entry(AOTInductorModelContainerHandle container, size_t entry,
                                                        AtenTensorHandle* inputs, size_t input_count, AtenTensorHandle* outputs,
                                                        size_t output_count, AOTInductorStreamHandle stream);

/* ---- a container's settings */

/* Threads of one run, the caller's included: 1 to 256. At first INGOT_NUM_THREADS, else the
 * processors of this process. */
INGOT_EXPORT AOTIRuntimeError ingot_container_set_threads(AOTInductorModelContainerHandle container, int32_t count);
INGOT_EXPORT AOTIRuntimeError ingot_container_get_threads(AOTInductorModelContainerHandle container, int32_t* count);
/* Whose threads these are, for runs from now on, none of which is under way: those of the pool, a
 * structure that is copied. Null: threads of the container's own, as at first, which are started
 * when they are first needed. */
INGOT_EXPORT AOTIRuntimeError ingot_container_set_pool(AOTInductorModelContainerHandle container, const ingot_thread_pool* pool);
/* The stream of random ops begins anew. */
INGOT_EXPORT AOTIRuntimeError ingot_container_set_seed(AOTInductorModelContainerHandle container, uint64_t seed);
/* The draw that comes next; setting it repeats what followed when it was read. */
INGOT_EXPORT AOTIRuntimeError ingot_container_set_draw(AOTInductorModelContainerHandle container, uint64_t seed, uint64_t offset);
INGOT_EXPORT AOTIRuntimeError ingot_container_get_draw(AOTInductorModelContainerHandle container, uint64_t* seed,
                                                       uint64_t* offset);
/* Whether runs check sizes, ranges and guards of their inputs. On at first, unless
 * AOTI_RUNTIME_CHECK_INPUTS is 0. */
INGOT_EXPORT AOTIRuntimeError ingot_container_set_checks(AOTInductorModelContainerHandle container, bool enabled);

/* ---- a container's constants, by internal name, without C++: two sets, of which one is active
 * (runs use it); `inactive` names the other. ingot/aoti.h calls a set a buffer. */

/* As AOTInductorModelContainerUpdateConstantBuffer: the tensors are copied and stay the caller's.
 * Their storages may be of any size: the elements alone are copied. The inactive set begins as the
 * active one: at its first update, and at the first one after each swap. Updates add up until then:
 * constants of any kind that one leaves out keep what they have. A swap is refused where a constant
 * of the inactive set has no value. */
INGOT_EXPORT AOTIRuntimeError ingot_container_update(AOTInductorModelContainerHandle container,
                                                     const AOTInductorConstantMapEntry* pairs, size_t count, bool inactive,
                                                     bool full);
/* The tensor of a constant; it stays the container's, until the next update of that set. */
INGOT_EXPORT AOTIRuntimeError ingot_container_constant(AOTInductorModelContainerHandle container, const char* name, bool inactive,
                                                       AtenTensorHandle* tensor);
/* The bytes of that kind which both sets of constants take. Weights that are as they came with the
 * library are not among them: they are in its file, and in memory where they were read. */
INGOT_EXPORT AOTIRuntimeError ingot_container_memory(AOTInductorModelContainerHandle container, ingot_memory_kind kind,
                                                     uint64_t* bytes);

/* ---- tensors of the process's host (ingot/aoti_host.h), or of the library itself where the
 * process has none */

typedef struct ingot_tensor_info {
  void* data; /* the first element */
  int32_t dtype; /* ingot_dtype */
  int32_t rank;
  const int64_t* sizes; /* these arrays and the elements live as long as the tensor */
  const int64_t* strides; /* in elements */
} ingot_tensor_info;

/* Over the caller's memory, which must outlive the tensor. Null strides: dense and row-major. */
INGOT_EXPORT AOTIRuntimeError ingot_tensor_from_memory(void* data, int32_t dtype, int32_t rank, const int64_t* sizes,
                                                       const int64_t* strides, AtenTensorHandle* tensor);
/* Dense and row-major, its elements not set. */
INGOT_EXPORT AOTIRuntimeError ingot_tensor_new(int32_t dtype, int32_t rank, const int64_t* sizes, AtenTensorHandle* tensor);
/* A second handle to the same elements. */
INGOT_EXPORT AOTIRuntimeError ingot_tensor_share(AtenTensorHandle tensor, AtenTensorHandle* copy);
INGOT_EXPORT AOTIRuntimeError ingot_tensor_describe(AtenTensorHandle tensor, ingot_tensor_info* info);
INGOT_EXPORT AOTIRuntimeError ingot_tensor_delete(AtenTensorHandle tensor);
/* True where the tensors are the library's own. */
INGOT_EXPORT bool ingot_tensor_is_own(void);

/* ---- runs into the caller's memory */

/* As ingot_container_run_entry. `places` has memory of the caller for each output, with sizes and
 * strides; null data: none. Output k is written there, and its handle is over it, if it has that
 * dtype, these sizes and these strides, the first element is at a multiple of 64 bytes, and nothing
 * of it is also an input's or another place's: else it is in new memory. A run that fails may have
 * written there. */
INGOT_EXPORT AOTIRuntimeError ingot_container_run_into(AOTInductorModelContainerHandle container, size_t entry,
                                                       AtenTensorHandle* inputs, size_t input_count,
                                                       const ingot_tensor_info* places, AtenTensorHandle* outputs,
                                                       size_t output_count, AOTInductorStreamHandle stream);

/* ---- what a run of an entry point would be, without it */

/* The values that inputs give to the symbols: `values` has room for all of them, and the first
 * `decided` are set; the others are decided by the run. Sizes, ranges and guards are checked as
 * a run does. Of the elements those of numbers alone are read: the data of other inputs may be
 * null. */
INGOT_EXPORT AOTIRuntimeError ingot_entry_symbol_values(size_t entry, const ingot_tensor_info* inputs, size_t input_count,
                                                        int64_t* values, size_t* decided);

#ifdef __cplusplus
}
#endif
#endif
