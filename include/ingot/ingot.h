/* Ingot for the programs that use compiled models: load a library or a package, run it, look at and
 * replace its weights. Plain C; link with -lingot_runtime (pkg-config ingot, or find_package(ingot)
 * and ingot::runtime). Tensors pass as DLPack.
 *
 *   ingot_session* s;
 *   if (ingot_session_open("model.so", NULL, &s)) return puts(ingot_error());
 *   const DLTensor* in[] = {&x};
 *   DLManagedTensorVersioned* out[1];
 *   if (ingot_session_run(s, in, 1, out, 1)) return puts(ingot_error());
 *
 * Models that PyTorch's AOTInductor made run too, without libtorch: libingot_host.so, which has the
 * functions that they call, is loaded with the first of them.
 *
 * Functions return INGOT_OK or why they failed; ingot_error() has the text. Strings that a
 * session hands out live as long as it does. Several threads may run one session; opening with
 * `models` > 1 lets them run at the same time. */
#ifndef INGOT_INGOT_H
#define INGOT_INGOT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ingot/abi.h"
#include "ingot/dlpack.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of this header. Versions with the same major number go together, a program with a library as
 * new as its header or newer; before 1.0 the minor numbers must be the same too. */
#define INGOT_VERSION_MAJOR 0
#define INGOT_VERSION_MINOR 1
#define INGOT_VERSION_PATCH 0

typedef enum ingot_status {
  INGOT_OK = 0,
  INGOT_INVALID = 1, /* the caller, the file or the machine: the text says what to do */
  INGOT_INTERNAL = 2 /* a defect of Ingot, or no memory */
} ingot_status;

/* Why the last call of this header's that failed on this thread failed; "" before the first.
 * Valid until the next failure on this thread. (A model library has a text of its own,
 * ingot_last_error() of ingot/model.h.) */
INGOT_EXPORT const char* ingot_error(void);
INGOT_EXPORT const char* ingot_version(void); /* of the library: "0.1.0" */
/* INGOT_INVALID unless the library goes together with a header of that version; the text names
 * both. A program that may meet another library than the one it was linked with calls it first,
 * as INGOT_CHECK_VERSION(). */
INGOT_EXPORT ingot_status ingot_check_version(int32_t major, int32_t minor, int32_t patch);
#define INGOT_CHECK_VERSION() ingot_check_version(INGOT_VERSION_MAJOR, INGOT_VERSION_MINOR, INGOT_VERSION_PATCH)

/* What there is to say beside why a call failed, by this library, by models and by operators, goes
 * to `write`: for the whole process, one call at a time. Until a function is set, and after null,
 * it goes nowhere: these functions write nothing to standard error. (Models of other compilers do,
 * and models of a version of Ingot without ingot_model_set_log.) When it returns, the function
 * before it is called no more. Any thread may call it, but not from within such a function. */
INGOT_EXPORT void ingot_set_log(ingot_log_function write, void* context);

/* ---- a session: a model that is loaded, with its weights */

typedef struct ingot_session ingot_session;

/* Zero in a field means its default; begin with `ingot_options o = INGOT_OPTIONS_INIT;`. Later
 * versions add fields at the end: the size says which of them the program knows. Fields beyond
 * it have their defaults, and one that the library does not know may not be set. */
typedef struct ingot_options {
  size_t size; /* sizeof(ingot_options) where the program was compiled */
  const char* model; /* of a package: which model; "model", or the only one */
  const char* device; /* "cpu" */
  int32_t models; /* how many runs at the same time; 1 */
  int32_t threads; /* of one run; INGOT_NUM_THREADS (not a number from 1: an error), else the processors of this process */
  /* Whose threads those are, beside the caller's own. Null: the process has a pool, which all
   * sessions share. The structure is copied; what its context is must outlive the session and its
   * entry points. */
  const ingot_thread_pool* pool;
} ingot_options;
#define INGOT_OPTIONS_INIT {sizeof(ingot_options), NULL, NULL, 0, 0, NULL}

/* `path`: a library (.so) or a package (.pt2). `options` may be null. The session is the
 * caller's to close. */
INGOT_EXPORT ingot_status ingot_session_open(const char* path, const ingot_options* options, ingot_session** session);
/* No run may be under way. Tensors that the session gave stay valid. Null is allowed. */
INGOT_EXPORT void ingot_session_close(ingot_session* session);

/* ---- entry points: a library may have several functions over one set of weights, such as
 * prefill and decode. A session is for one of them, at first for the library's first. */

INGOT_EXPORT size_t ingot_session_entry_count(const ingot_session* session);
INGOT_EXPORT ingot_status ingot_session_entry_name(const ingot_session* session, size_t k, const char** name);
/* A session for the entry point of that name: the same weights, threads and random numbers,
 * other inputs and outputs. It is the caller's to close, before the first or after it; the model
 * goes with the last of them. */
INGOT_EXPORT ingot_status ingot_session_open_entry(const ingot_session* session, const char* name, ingot_session** entry);

/* ---- what the model takes and returns */

/* An input or an output. */
typedef struct ingot_value {
  const char* name;
  DLDataType dtype;
  int32_t rank; /* -1 of a model that AOTInductor made, which says no more than the name */
  const char* const* sizes; /* each a number or an expression of symbols: "3", "s0", "2*s0" */
  bool is_number; /* an input that is a number, given as a tensor of rank 0 */
  bool is_written; /* an input that the run writes new elements into */
} ingot_value;

INGOT_EXPORT size_t ingot_session_input_count(const ingot_session* session);
INGOT_EXPORT size_t ingot_session_output_count(const ingot_session* session);
INGOT_EXPORT size_t ingot_session_symbol_count(const ingot_session* session);
INGOT_EXPORT ingot_status ingot_session_input(const ingot_session* session, size_t k, ingot_value* value);
INGOT_EXPORT ingot_status ingot_session_output(const ingot_session* session, size_t k, ingot_value* value);
INGOT_EXPORT ingot_status ingot_session_symbol(const ingot_session* session, size_t k, ingot_symbol_info* symbol);
/* The processor that the code in use was made for: "x86-64-v3". */
INGOT_EXPORT ingot_status ingot_session_level_used(const ingot_session* session, const char** level);

/* The file beside the library that its weights are in; null where there is none. */
INGOT_EXPORT ingot_status ingot_session_weights_file(const ingot_session* session, const char** file);

/* What the library says about itself by key: what `ingot compile --metadata KEY=VALUE` gave it,
 * and entries of Ingot's own, whose keys begin with "ingot.", "entry." or "fixed_input.". None
 * of a model that AOTInductor made. */
INGOT_EXPORT size_t ingot_session_metadata_count(const ingot_session* session);
INGOT_EXPORT ingot_status ingot_session_metadata(const ingot_session* session, size_t k, const char** key, const char** value);
/* INGOT_INVALID where there is no such key; the text lists those that there are. */
INGOT_EXPORT ingot_status ingot_session_find_metadata(const ingot_session* session, const char* key, const char** value);

/* ---- runs. Inputs are borrowed; those that the model writes must be writable. */

/* The outputs are in new memory, and the caller's: out[k]->deleter(out[k]). */
INGOT_EXPORT ingot_status ingot_session_run(ingot_session* session, const DLTensor* const* inputs, size_t input_count,
                                            DLManagedTensorVersioned** outputs, size_t output_count);
/* A tensor under a name: of an input, that of ingot_value; of a constant, that of
 * ingot_constant_info. */
typedef struct ingot_named_tensor {
  const char* name;
  const DLTensor* tensor;
} ingot_named_tensor;
/* What a run puts beside the name of an output. */
typedef struct ingot_named_output {
  const char* name;
  DLManagedTensorVersioned* tensor;
} ingot_named_output;

/* The same by names, in any order: every input and every output once. INGOT_INVALID where one is
 * missing, unknown or there twice; the text lists the names that there are. After a failure the
 * tensors of the outputs are what they were. */
INGOT_EXPORT ingot_status ingot_session_run_named(ingot_session* session, const ingot_named_tensor* inputs, size_t input_count,
                                                  ingot_named_output* outputs, size_t output_count);
/* The outputs are in memory of the caller, whose sizes and element types must be those of the
 * results. The run writes them there itself, without a copy, where a tensor has the strides of the
 * result (row-major, of nearly every program), begins at a multiple of 64 bytes, and overlaps no
 * input and no other output; else, and by models that have no ingot_container_run_into, they are
 * copied. A run that fails may have written there. */
INGOT_EXPORT ingot_status ingot_session_run_into(ingot_session* session, const DLTensor* const* inputs, size_t input_count,
                                                 DLTensor* const* outputs, size_t output_count);

/* The sizes that output `k` of a run of these inputs has, without the run: `sizes` has room for
 * `rank` of them, as ingot_session_output says. Sizes and types of the inputs are checked as a
 * run does; of their elements those of numbers alone are read, and the data of others may be
 * null. INGOT_INVALID where elements of the inputs decide a size: the text says which; and for a
 * model that does not say sizes (AOTInductor's, or an older one). */
INGOT_EXPORT ingot_status ingot_session_output_sizes(const ingot_session* session, const DLTensor* const* inputs,
                                                     size_t input_count, size_t k, int64_t* sizes, int32_t rank);

INGOT_EXPORT ingot_status ingot_session_set_threads(ingot_session* session, int32_t threads);
/* The random numbers of the model begin anew: runs after it give what they gave after the same
 * seed before. For all sessions of the model. */
INGOT_EXPORT ingot_status ingot_session_set_seed(ingot_session* session, uint64_t seed);

/* ---- constants, which are the weights and what is computed from them: two sets, of which one
 * is active (runs use it); `inactive` names the other */

typedef struct ingot_constant_info {
  const char* name; /* as the exported program calls it: "encoder.0.weight" */
  DLDataType dtype;
  int32_t rank; /* -1 of a model that does not say: AOTInductor's, or an older one */
  const int64_t* sizes;
  size_t bytes; /* 0 for one that is computed from others */
  bool is_parameter;
  bool is_folded; /* computed from others, and never given */
} ingot_constant_info;

INGOT_EXPORT size_t ingot_session_constant_count(const ingot_session* session);
INGOT_EXPORT ingot_status ingot_session_constant(const ingot_session* session, size_t k, ingot_constant_info* constant);
/* A copy of a constant, and the caller's. */
INGOT_EXPORT ingot_status ingot_session_get_constant(ingot_session* session, const char* name, bool inactive,
                                                     DLManagedTensorVersioned** tensor);
/* Copies the given tensors; constants that are not given keep what they have, so that several
 * updates add up. `full`: every parameter must be given. The inactive set begins as the active one:
 * at its first update, and at the first one after each swap. Safe during runs on the inactive set;
 * on the active one no run may be under way. */
INGOT_EXPORT ingot_status ingot_session_update(ingot_session* session, const ingot_named_tensor* tensors, size_t count,
                                               bool inactive, bool full);
/* Computes now what is computed from others; else the next run does it. */
INGOT_EXPORT ingot_status ingot_session_fold(ingot_session* session, bool inactive);
/* Waits for the runs under way, then exchanges the sets. INGOT_INVALID where a constant of the
 * inactive set has no value: the text names it, and the active set stays in use. */
INGOT_EXPORT ingot_status ingot_session_swap(ingot_session* session);
INGOT_EXPORT ingot_status ingot_session_free_inactive(ingot_session* session);
/* The bytes of that kind that both sets take. What is computed from weights that are as they came
 * with the library is there once for all sessions of a file. Weights in that file are not counted:
 * they are in memory as far as they were read. INGOT_INVALID for a model that does not say. */
INGOT_EXPORT ingot_status ingot_session_memory(const ingot_session* session, ingot_memory_kind kind, uint64_t* bytes);

/* ---- packages: which models are in one, without loading any. Names are what
 * ingot_options.model takes, and live as long as the package. */

typedef struct ingot_package ingot_package;

/* `path`: a package (.pt2); one of exported programs alone has no models. The package is the
 * caller's to close. */
INGOT_EXPORT ingot_status ingot_package_open(const char* path, ingot_package** package);
INGOT_EXPORT void ingot_package_close(ingot_package* package); /* null is allowed */
INGOT_EXPORT size_t ingot_package_model_count(const ingot_package* package);
INGOT_EXPORT ingot_status ingot_package_model(const ingot_package* package, size_t k, const char** name);

#ifdef __cplusplus
}
#endif
#endif
