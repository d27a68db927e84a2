/* What generated code and the model runtime are to each other. The compiler emits one
 * `ingot_program`, in C's layout; the runtime of this folder, linked into every model library,
 * gives it the C ABI of include/ingot/aoti.h, a container, constants and threads. C, not C++: it is
 * written by LLVM on one side and read by a compiler on the other.
 *
 * A program has entry points, functions over one set of constants (forward and backward, prefill
 * and decode). A run of one: the runtime reads the symbols from the inputs (`bind`), checks ranges,
 * sizes and guards, lays out each input as `expect` says (copying only where it is not), lends an
 * arena, and calls `run` of the entry's code for this processor.
 *
 * Alignment: the arena, scratch, outputs, folded constants and ingot_rt_alloc's memory at 64 bytes;
 * inputs and the other constants at the size of their element (16 for complex128), no more: they
 * may be views of the user's memory. */
#ifndef INGOT_MODEL_PROGRAM_H
#define INGOT_MODEL_PROGRAM_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { INGOT_PROGRAM_VERSION = 6, INGOT_MAX_RANK = 64 };

/* A strided tensor as generated code sees it. Strides in elements; `data` is the address of the
 * first element. */
typedef struct ingot_view {
  void* data;
  const int64_t* sizes;
  const int64_t* strides;
  int32_t rank;
  int32_t dtype; /* the codes of I072 */
} ingot_view;

/* A size that is open until the run. Data-dependent symbols come after those that inputs decide. */
typedef struct ingot_symbol {
  const char* name; /* "s0" */
  int64_t min, max;
} ingot_symbol;

/* A condition on the symbols that the compiled code relies on. */
typedef struct ingot_guard {
  const char* condition; /* "s0 % 2 == 0" */
  const char* reason;    /* what asked for it: an op, a source line; may be empty */
  const char* message;   /* all that a run says where it does not hold; null: the condition and the reason */
} ingot_guard;

typedef struct ingot_input {
  const char* name;
  int32_t dtype;
  int32_t rank;
  const char* const* sizes; /* each as text, for messages and introspection: "3", "s0", "2*s0" */
  uint8_t is_number;        /* a number given as a 0-dim tensor */
  uint8_t is_written;       /* the run writes new elements into it */
  uint8_t by_places;        /* the run takes views of it by places of its storage: it must lie as `expect` says */
} ingot_input;

typedef struct ingot_output {
  const char* name;
  int32_t dtype;
  int32_t rank;
  const char* const* sizes;
} ingot_output;

typedef struct ingot_constant {
  const char* name; /* internal: a C identifier, unique */
  const char* fqn;  /* as the exported program calls it */
  int32_t dtype;
  int32_t rank;
  const int64_t* sizes;
  const int64_t* strides;
  int64_t storage_offset; /* in elements */
  uint64_t bytes;         /* of its storage; folded: 0, known after folding */
  uint64_t position;      /* embedded: from `embedded`; external: from the beginning of the file; appended: of the area */
  int32_t kind;           /* I018: 1 parameter, 2 buffer, 3 tensor constant, 4 folded constant */
  int32_t is_written;     /* runs write new elements into it: every container gets its own copy */
  int32_t device;         /* whose memory its bytes were made for: 0 the CPU's, else the type of an ingot_device */
  uint32_t shares;        /* 1 + the constant in whose storage it lies, which shares nothing; 0: its own */
  uint64_t shared_from;   /* bytes from that one's first element to this one's; `bytes` of that one holds both */
} ingot_constant;

enum { INGOT_WEIGHTS_NONE = 0, INGOT_WEIGHTS_EMBEDDED = 1, INGOT_WEIGHTS_EXTERNAL = 2, INGOT_WEIGHTS_APPENDED = 3 };

/* What a run wants of a device that is not the CPU. Work goes to streams, which do it in order; a
 * null stream does its work after what all streams were given before it, and before what they are
 * given later. A function that can fail returns null, or why it failed: a text that lasts until the
 * thread's next failure. */
enum { INGOT_COPY_TO_DEVICE = 0, INGOT_COPY_FROM_DEVICE = 1, INGOT_COPY_ON_DEVICE = 2 };
typedef struct ingot_device {
  const char* name; /* as containers are asked for it: "cuda" */
  int32_t type; /* as hosts call it: PyTorch's code, 1 of CUDA */
  /* Uninitialised bytes, at least one, 64-byte aligned, for what comes after on the stream; and
   * they are used no more, but by what is already on the stream. */
  const char* (*allocate)(int32_t index, void* stream, uint64_t bytes, void** memory);
  void (*release)(int32_t index, void* stream, void* memory);
  /* Memory of the host has been read or written when it returns. */
  const char* (*copy)(int32_t index, void* stream, void* to, const void* from, uint64_t bytes, int32_t way);
  const char* (*synchronize)(int32_t index, void* stream); /* waits until the stream has nothing left to do */
} ingot_device;

/* One run in progress. The runtime's own part follows it in memory. Inputs (but numbers),
 * constants, arena, outputs and ingot_rt_alloc's memory are the device's. */
typedef struct ingot_frame {
  int64_t* symbols; /* data-dependent ones are written by the run */
  void* const* inputs; /* elements of each input, laid out as `expect` said */
  void* const* constants; /* first element of each constant, its storage offset included; null where it has no bytes */
  char* arena; /* `arena_bytes`, 64-byte aligned */
  void* stream; /* what the caller gave to run on; null: none, and on the CPU whatever it was */
  const ingot_device* device; /* the program's; null: the CPU */
  int32_t device_index; /* which of them: the container's */
} ingot_frame;

/* Tasks [begin, end) of a kernel. `scratch` is this thread's alone, 64-byte aligned. */
typedef void ingot_kernel(void* const* buffers, const int64_t* symbols, char* scratch, int64_t begin, int64_t end);

/* The code of one entry point for one level of the processor. Functions return 0, or 1 after
 * ingot_rt_fail. */
typedef struct ingot_code {
  int64_t (*arena_bytes)(const int64_t* symbols);
  int32_t (*run)(ingot_frame*);
  int64_t fold_arena_bytes;
  int32_t (*fold)(ingot_frame*); /* "outputs" are the entry's folded constants, in order; null: it has none */
} ingot_code;

/* A level of the processor that there is code for. */
typedef struct ingot_level {
  const char* name; /* "x86-64-v3" */
  const uint64_t* features; /* ends in 0; each an INGOT_CPU_* of cpu.h that it needs */
} ingot_level;

/* One function of the library: what it takes and returns, what it relies on, and its code. */
typedef struct ingot_entry {
  const char* name; /* unique */
  const char *in_spec, *out_spec;
  uint32_t symbol_count, guard_count, input_count, output_count;
  uint32_t input_symbol_count; /* the first so many symbols are set by `bind`, the others by the run */
  uint32_t uses_written; /* whether it reads or writes a constant that is_written: such runs come one at a time */
  uint32_t first_folded, folded_count; /* of the program's folded constants, those that this entry's `fold` makes */
  const ingot_symbol* symbols;
  const ingot_guard* guards;
  const ingot_input* inputs;
  const ingot_output* outputs;
  const ingot_code* codes; /* one for each of the program's levels */

  /* Reads the symbols that inputs decide, from sizes and numbers. Ranks and dtypes have been
   * checked. */
  void (*bind)(const ingot_view* inputs, int64_t* symbols);
  /* The sizes, then the strides, of every input, one after the other. */
  void (*expect)(const int64_t* symbols, int64_t* sizes_and_strides);
  /* The first guard that does not hold, or -1. */
  int32_t (*check)(const int64_t* symbols);
} ingot_entry;

typedef struct ingot_program {
  uint32_t version;
  uint32_t entry_count, constant_count, folded_count, level_count, metadata_count;
  const char* name;
  const ingot_entry* entries; /* the first is the one that PyTorch's C ABI knows */
  const ingot_constant* constants; /* the folded ones last */
  const ingot_level* levels; /* best first */
  const char* const* metadata; /* key, value, key, value … */

  uint32_t weights; /* INGOT_WEIGHTS_* */
  char* embedded; /* page-aligned, writable, private to the process */
  const char* external_file; /* a name beside the library */
  /* Of the section, of the file, or of the area at the end of the library's own file, which begins
   * at a multiple of 16 KiB. */
  uint64_t weights_bytes;
  uint64_t weights_hash; /* external: XXH3-64 of the .safetensors' header (the length in the first 8 bytes and the JSON text
                                   after it), so that another file is noticed; appended: what the last 8 bytes of the area are */
  const char* const* host_ops; /* that ingot_host_op_call is called for, as its process names them; then null. Null: none */
  const ingot_device* device; /* that the code is for; null: the CPU */
} ingot_program;

/* Hidden: in a process with several model libraries each one means its own. */
#pragma GCC visibility push(hidden)

extern const ingot_program ingot_the_program;

/* ---- what generated code calls; all but the parallel tasks themselves on the run's own thread */

/* Makes output k (of `fold`: folded constant k of the entry) with its elements uninitialised. Null
 * after a failure. */
void* ingot_rt_output(ingot_frame*, int32_t k, int32_t rank, const int64_t* sizes, const int64_t* strides);
/* Memory until the end of the run, 64-byte aligned, for what has no place in the arena. Null after
 * a failure. */
void* ingot_rt_alloc(ingot_frame*, int64_t bytes);
/* Runs `tasks` tasks, several threads taking `grain` at a time; one thread where there is no more
 * than one grain. */
void ingot_rt_parallel(ingot_frame*, ingot_kernel*, void* const* buffers, int64_t tasks, int64_t grain, int64_t scratch_bytes);
/* Says why the run fails; returns 1. `text` is copied. */
int32_t ingot_rt_fail(ingot_frame*, const char* text);
/* The next draw of the random stream (src/tensor/random.hpp says what a draw is). */
void ingot_rt_random(ingot_frame*, uint64_t* seed, uint64_t* offset);
/* Which draw that will be, without taking it; and another one instead of it. */
void ingot_rt_random_state(ingot_frame*, uint64_t* seed, uint64_t* offset);
void ingot_rt_set_random_state(ingot_frame*, uint64_t seed, uint64_t offset);

/* Runs one op of the eager library (src/eager, linked in only where a program has such a call).
 * `call` is the op with its arguments: %k is tensor k, #k is integer k, the rest as FX listings
 * write it: "aten.topk.default(%0, #0, -1, True, True)". Result k is written into results[k] where
 * that has data; otherwise the op decides its sizes, and the view is set to memory that lasts until
 * the end of the run, dense and row-major. A result that is None leaves its view alone. Results
 * that have data overlap no tensor. The text is a constant of the library: it is parsed once, and
 * known by its address. A model with such calls has a table of the ops they name
 * (codegen/eager_ops.hpp). */
int32_t ingot_eager_call(ingot_frame*, const char* call, const ingot_view* tensors, const int64_t* integers, ingot_view* results,
                         int32_t result_count);

/* The same for an op that the process must have, because somebody registered it there
 * (host_op.h). */
int32_t ingot_host_op_call(ingot_frame*, const char* call, const ingot_view* tensors, const int64_t* integers,
                           ingot_view* results, int32_t result_count);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
