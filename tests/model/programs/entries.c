/* A model library's program written by hand, with two entry points over one constant w = 5, which
 * both read. Each has a folded constant of its own.
 *   scale: y = w x + 3 w      x, y: float32 [s0]
 *   shift: y = x + n + 2 w    x, y: float32 [4]; n: a number, 0 ≤ s0 ≤ 9 */
#include "model/program.h"

enum { kInt64 = 4, kFloat32 = 6 };
enum { W, W3, W2, CONSTANTS };

static float weights[16] __attribute__((aligned(4096))) = {5};

static void bind_scale(const ingot_view* inputs, int64_t* symbols) { symbols[0] = inputs[0].sizes[0]; }
static void expect_scale(const int64_t* symbols, int64_t* out) {
  out[0] = symbols[0];
  out[1] = 1;
}
static void bind_shift(const ingot_view* inputs, int64_t* symbols) { symbols[0] = *(const int64_t*)inputs[1].data; }
static void expect_shift(const int64_t* symbols, int64_t* out) {
  (void)symbols;
  out[0] = 4;
  out[1] = 1;
}
static int32_t check(const int64_t* symbols) { return symbols[0] == 7 ? 0 : -1; }
static int64_t arena_bytes(const int64_t* symbols) {
  (void)symbols;
  return 0;
}

static const int64_t one[] = {1};

static int32_t fold(ingot_frame* frame, float factor) {
  float* made = ingot_rt_output(frame, 0, 1, one, one);
  if (!made) return 1;
  made[0] = factor * *(const float*)frame->constants[W];
  return 0;
}
static int32_t fold_scale(ingot_frame* frame) { return fold(frame, 3); }
static int32_t fold_shift(ingot_frame* frame) { return fold(frame, 2); }

static int32_t run_scale(ingot_frame* frame) {
  const float *x = frame->inputs[0], *w = frame->constants[W], *w3 = frame->constants[W3];
  float* y = ingot_rt_output(frame, 0, 1, frame->symbols, one);
  if (!y) return 1;
  for (int64_t i = 0; i < frame->symbols[0]; i++) y[i] = w[0] * x[i] + w3[0];
  return 0;
}
static int32_t run_shift(ingot_frame* frame) {
  const int64_t four[] = {4};
  const float *x = frame->inputs[0], *w2 = frame->constants[W2];
  float* y = ingot_rt_output(frame, 0, 1, four, one);
  if (!y) return 1;
  for (int64_t i = 0; i < 4; i++) y[i] = x[i] + (float)frame->symbols[0] + w2[0];
  return 0;
}

static const char *const sizes_s0[] = {"s0"}, *const sizes_4[] = {"4"};
static const ingot_symbol any_size[] = {{"s0", 0, 1000}}, digit[] = {{"s0", 0, 9}};
static const ingot_guard guards[] = {{"s0 != 7", "", 0}};
static const ingot_input x_scale[] = {{"x", kFloat32, 1, sizes_s0, 0, 0, 0}},
                         x_shift[] = {{"x", kFloat32, 1, sizes_4, 0, 0, 0}, {"n", kInt64, 0, 0, 1, 0, 0}};
static const ingot_output y_scale[] = {{"y", kFloat32, 1, sizes_s0}}, y_shift[] = {{"y", kFloat32, 1, sizes_4}};
static const uint64_t any_processor[] = {0};
static const ingot_level levels[] = {{"base", any_processor}};
static const ingot_code code_scale[] = {{arena_bytes, run_scale, 0, fold_scale}},
                        code_shift[] = {{arena_bytes, run_shift, 0, fold_shift}};
static const ingot_constant constants[CONSTANTS] = {
    {"w", "w", kFloat32, 1, one, one, 0, 4, 0, 1, 0, 0, 0, 0},
    {"_FOLDED_CONST_0", "_FOLDED_CONST_0", kFloat32, 1, one, one, 0, 0, 0, 4, 0, 0, 0, 0},
    {"_FOLDED_CONST_1", "_FOLDED_CONST_1", kFloat32, 1, one, one, 0, 0, 0, 4, 0, 0, 0, 0},
};
static const ingot_entry entries[] = {
    {"scale", "scale in", "scale out", 1, 0, 1, 1, 1, 0, 0, 1, any_size, 0, x_scale, y_scale, code_scale, bind_scale, expect_scale, check},
    {"shift", "shift in", "shift out", 1, 1, 2, 1, 1, 0, 1, 1, digit, guards, x_shift, y_shift, code_shift, bind_shift, expect_shift, check},
};

const ingot_program ingot_the_program = {
    .version = INGOT_PROGRAM_VERSION,
    .entry_count = 2,
    .constant_count = CONSTANTS,
    .folded_count = 2,
    .level_count = 1,
    .name = "entries",
    .entries = entries,
    .constants = constants,
    .levels = levels,
    .weights = INGOT_WEIGHTS_EMBEDDED,
    .embedded = (char*)weights,
    .weights_bytes = sizeof weights,
};
