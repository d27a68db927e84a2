/* A model library's program written by hand:
 *   y = x · (2 w)ᵀ + b + c      x: [s0, 16], 1 ≤ s0 ≤ 64; y: [s0, 8]; 2 w is a folded constant
 *   steps                       the number of runs so far, where MUTATES; else what the buffer holds
 * ingot_test_folds counts the foldings of the process, and ingot_test_fold_grad_mode is the host's
 * grad mode in the last one; ingot_test_on_fold is called in each. They fail while
 * ingot_test_fold_fails is not 0.
 * DEVICE=1: it is compiled for the device of fake_device.h, and its numbers are in that one's
 * memory.
 * MUTATES=1: a run adds one to the buffer `steps`. WEIGHTS: where they are (EMBEDDED, EXTERNAL,
 * APPENDED, 0). AROUND: bytes of an EXTERNAL file before the elements, and as many behind them.
 * NO_LEVEL=1: no processor has what the code needs. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>

#include "model/cpu.h"
#include "model/program.h"
#ifdef DEVICE
#include "fake_device.h"
#endif

#ifndef MUTATES
#define MUTATES 0
#endif
#define EMBEDDED 1
#define EXTERNAL 2
#define APPENDED 3
#ifndef WEIGHTS
#define WEIGHTS EMBEDDED
#endif
#ifndef AROUND
#define AROUND 0
#endif
#if WEIGHTS == EXTERNAL
#define FIRST (64 + AROUND) /* where the elements begin in the file: after 8 bytes with the length of the header, and 56 of header */
#else
#define FIRST 0
#endif

enum { kIn = 16, kOut = 8, kFloat32 = 6 };
enum { W, B, STEPS, C, EMPTY, W2, CONSTANTS };

/* w[j][k] = j + k, b[j] = 10 j behind two numbers that are not part of it, steps = 0, c = 0.5 */
#define ROW(j) {j, j + 1, j + 2, j + 3, j + 4, j + 5, j + 6, j + 7, j + 8, j + 9, j + 10, j + 11, j + 12, j + 13, j + 14, j + 15}
struct Weights {
  float w[kOut][kIn], b[2 + kOut], steps[1], c[1];
};
#if WEIGHTS == EMBEDDED
static struct Weights weights __attribute__((aligned(4096))) = {
    {ROW(0), ROW(1), ROW(2), ROW(3), ROW(4), ROW(5), ROW(6), ROW(7)}, {-1, -1, 0, 10, 20, 30, 40, 50, 60, 70}, {0}, {0.5f}};
#endif

static void bind(const ingot_view* inputs, int64_t* symbols) { symbols[0] = inputs[0].sizes[0]; }

static void expect(const int64_t* symbols, int64_t* out) {
  out[0] = symbols[0];
  out[1] = kIn;
  out[2] = kIn;
  out[3] = 1;
}

static int32_t check(const int64_t* symbols) {
  (void)symbols;
  return -1;
}

static int64_t arena_bytes(const int64_t* symbols) { return symbols[0] * kOut * (int64_t)sizeof(float); }

/* Tasks are rows: into the arena, to see that it is there. */
static void multiply(void* const* buffers, const int64_t* symbols, char* scratch, int64_t begin, int64_t end) {
  const float *x = buffers[0], *w2 = buffers[1];
  float *product = buffers[2], *row = (float*)scratch;
  (void)symbols;
  for (int64_t i = begin; i < end; i++) {
    for (int j = 0; j < kOut; j++) {
      row[j] = 0;
      for (int k = 0; k < kIn; k++) row[j] += x[i * kIn + k] * w2[j * kIn + k];
    }
    for (int j = 0; j < kOut; j++) product[i * kOut + j] = row[j];
  }
}

static int32_t run(ingot_frame* frame) {
  const int64_t rows = frame->symbols[0], sizes[2] = {rows, kOut}, strides[2] = {kOut, 1};
  const float *b = frame->constants[B], *c = frame->constants[C];
  float *steps = frame->constants[STEPS], *product = (float*)frame->arena;
  void* buffers[3] = {frame->inputs[0], frame->constants[W2], product};
  if (frame->constants[EMPTY]) return ingot_rt_fail(frame, "an empty constant has an address");
#ifdef DEVICE
  const void* const seen[] = {b, c, steps, frame->constants[W], frame->constants[W2], ingot_rt_alloc(frame, 100)};
  if (!seen[5]) return 1;
  fake_look(frame, seen, 6);
#endif
  ingot_rt_parallel(frame, multiply, buffers, rows, 2, kOut * sizeof(float));
  float* y = ingot_rt_output(frame, 0, 2, sizes, strides);
  float* count = ingot_rt_output(frame, 1, 0, 0, 0);
  if (!y || !count) return 1;
  for (int64_t i = 0; i < rows * kOut; i++) y[i] = product[i] + b[i % kOut] + c[0];
#if MUTATES
  steps[0] += 1;
#endif
  count[0] = steps[0];
  return 0;
}

__attribute__((visibility("default"))) int ingot_test_folds, ingot_test_fold_grad_mode = -1, ingot_test_fold_fails;
__attribute__((visibility("default"))) void (*ingot_test_on_fold)(void);

static int32_t fold(ingot_frame* frame) {
  bool (*grad_mode)(void) = NULL;
  *(void**)&grad_mode = dlsym(RTLD_DEFAULT, "aoti_torch_grad_mode_is_enabled");
  ingot_test_fold_grad_mode = grad_mode ? grad_mode() : -1;
  ingot_test_folds++;
  if (ingot_test_on_fold) ingot_test_on_fold();
  const int64_t sizes[2] = {kOut, kIn}, strides[2] = {kIn, 1};
  const float* w = frame->constants[W];
  float* w2 = ingot_rt_output(frame, 0, 2, sizes, strides);
  if (!w2) return 1;
  if (w[0] == 12345 || ingot_test_fold_fails) return ingot_rt_fail(frame, "cannot fold this weight");
  for (int i = 0; i < kOut * kIn; i++) w2[i] = 2 * w[i];
  return 0;
}

#ifndef BIAS_DEVICE
#define BIAS_DEVICE 0
#endif
#define AT(member) (FIRST + offsetof(struct Weights, member))
static const int64_t sizes_w[] = {kOut, kIn}, strides_w[] = {kIn, 1}, sizes_b[] = {kOut}, one[] = {1}, none[] = {0};
static const ingot_constant constants[CONSTANTS] = {
    {"p_layer_weight", "layer.weight", kFloat32, 2, sizes_w, strides_w, 0, kOut * kIn * 4, AT(w), 1, 0, 0, 0, 0},
    {"p_layer_bias", "layer.bias", kFloat32, 1, sizes_b, one, 2, (2 + kOut) * 4, AT(b), 1, 0, BIAS_DEVICE, 0, 0},
    {"b_steps", "steps", kFloat32, 1, one, one, 0, 4, AT(steps), 2, MUTATES, 0, 0, 0},
    {"_tensor_constant0", "_tensor_constant0", kFloat32, 1, one, one, 0, 4, AT(c), 3, 0, 0, 0, 0},
    {"p_empty", "empty", kFloat32, 1, none, one, 0, 0, 0, 1, 0, 0, 0, 0},
    {"_FOLDED_CONST_0", "_FOLDED_CONST_0", kFloat32, 2, sizes_w, strides_w, 0, 0, 0, 4, 0, 0, 0, 0},
};
static const char *const sizes_x[] = {"s0", "16"}, *const sizes_y[] = {"s0", "8"};
static const ingot_symbol symbols[] = {{"s0", 1, 64}};
static const ingot_input inputs[] = {{"x", kFloat32, 2, sizes_x, 0, 0, 0}};
static const ingot_output outputs[] = {{"y", kFloat32, 2, sizes_y}, {"steps", kFloat32, 0, 0}};
static const char* const metadata[] = {"AOTI_DEVICE_KEY", "cpu", "author", "hand"};

static const uint64_t no_processor[] = {120, 0};
#ifndef NO_LEVEL
static const uint64_t any_processor[] = {0};
#endif
static const ingot_level levels[] = {
    {"future", no_processor},
#ifndef NO_LEVEL
    {"base", any_processor},
#else
    {"far-future", no_processor},
#endif
};
static const ingot_code codes[] = {{arena_bytes, run, 0, fold}, {arena_bytes, run, 0, fold}};

#define LEAF "{\"type\": null, \"context\": null, \"children_spec\": []}"
static const ingot_entry entries[] = {{
    .name = "forward",
    .in_spec = "[1, {\"type\": \"builtins.tuple\", \"context\": \"null\", \"children_spec\": [{\"type\": \"builtins.tuple\", \"context\": "
               "\"null\", \"children_spec\": [" LEAF "]}, {\"type\": \"builtins.dict\", \"context\": \"[]\", \"children_spec\": []}]}]",
    .out_spec = "[1, {\"type\": \"builtins.tuple\", \"context\": \"null\", \"children_spec\": [" LEAF ", " LEAF "]}]",
    .symbol_count = 1,
    .input_symbol_count = 1,
    .input_count = 1,
    .output_count = 2,
    .uses_written = MUTATES,
    .folded_count = 1,
    .symbols = symbols,
    .inputs = inputs,
    .outputs = outputs,
    .codes = codes,
    .bind = bind,
    .expect = expect,
    .check = check,
}};

const ingot_program ingot_the_program = {
    .version = INGOT_PROGRAM_VERSION,
    .entry_count = 1,
    .constant_count = CONSTANTS,
    .folded_count = 1,
    .level_count = 2,
    .metadata_count = 2,
    .name = "affine",
    .entries = entries,
    .constants = constants,
    .levels = levels,
    .metadata = metadata,
    .weights = WEIGHTS,
#ifdef DEVICE
    .device = &fake_device,
#endif
#if WEIGHTS == EMBEDDED
    .embedded = (char*)&weights,
    .weights_bytes = sizeof weights,
#elif WEIGHTS == APPENDED
    .weights_bytes = sizeof(struct Weights) + 8,
    .weights_hash = 0x1122334455667788,
#elif WEIGHTS == EXTERNAL
    .external_file = "affine.safetensors",
    .weights_bytes = FIRST + sizeof(struct Weights) + AROUND,
    .weights_hash = 0x7f9ab21ebcaeb5b1, /* of the header {"__metadata__":{"format":"test"}} and spaces */
#endif
};
