/* A model library's program written by hand, with what affine.c has not: several inputs that share
 * sizes, one that the run writes, a number, guards, a size that depends on data, random draws, many
 * parallel tasks, failures, and no constants.
 *   a: float32 [s0, s1], columns first, written: a + 1     b: int64 [s0]      c: float64 [2*s0]     n: a number, 0 ≤ s2 ≤ 100
 *   twice: float32 [s0, s1] = 2 a + n     positive: int64 [u0], those of b     draw: int64 [2]     total: int64 [1] */
#include "model/program.h"

enum { kInt64 = 4, kFloat32 = 6, kFloat64 = 7 };
enum { S0, S1, S2, U0, SYMBOLS };

static void bind(const ingot_view* inputs, int64_t* symbols) {
  symbols[S0] = inputs[0].sizes[0];
  symbols[S1] = inputs[0].sizes[1];
  symbols[S2] = *(const int64_t*)inputs[3].data;
}

static void expect(const int64_t* s, int64_t* out) {
  const int64_t all[] = {s[S0], s[S1], 1, s[S0], s[S0], 1, 2 * s[S0], 1};
  for (unsigned i = 0; i < sizeof all / sizeof *all; i++) out[i] = all[i];
}

static int32_t check(const int64_t* s) { return s[S0] % 2 != 0 ? 0 : s[S1] > s[S0] ? 1 : -1; }

static int64_t arena_bytes(const int64_t* s) { return s[S2] * 1000 * 8; }

/* Each task has its own place. The scratch holds what the task before has left: it must be this
 * thread's alone. */
static void add(void* const* buffers, const int64_t* symbols, char* scratch, int64_t begin, int64_t end) {
  int64_t *parts = buffers[0], *mine = (int64_t*)scratch;
  (void)symbols;
  for (int64_t i = begin; i < end; i++) {
    *mine = i;
    for (volatile int spin = 0; spin < 20; spin++) {
    }
    parts[i] = *mine;
  }
}

static int32_t run(ingot_frame* frame) {
  int64_t* s = frame->symbols;
  float* a = frame->inputs[0];
  const int64_t *b = frame->inputs[1], n = *(const int64_t*)frame->inputs[3];
  if (n == 99) return ingot_rt_fail(frame, "n must not be 99");
  if (n == 98) return 1;
  if (n == 94) return ingot_rt_fail(frame, "Unknown exception occurred."); /* as ingot_eager_call does */
  if (n == 97) return ingot_rt_alloc(frame, INT64_MAX) ? 0 : 1;
  if (n == 96) return 0;

  const int64_t sizes[2] = {s[S0], s[S1]}, strides[2] = {s[S1], 1}, one[1] = {1}, two[1] = {2};
  float* twice = ingot_rt_output(frame, 0, 2, sizes, strides);
  if (!twice) return 1;
  for (int64_t i = 0; i < s[S0]; i++) {
    for (int64_t j = 0; j < s[S1]; j++) {
      twice[i * s[S1] + j] = 2 * a[i + j * s[S0]] + (float)n;
      a[i + j * s[S0]] += 1;
    }
  }

  int64_t* found = ingot_rt_alloc(frame, s[S0] * 8);
  if (!found) return 1;
  s[U0] = 0;
  for (int64_t i = 0; i < s[S0]; i++) {
    if (b[i] > 0) found[s[U0]++] = b[i];
  }
  int64_t* positive = ingot_rt_output(frame, 1, 1, &s[U0], one);
  uint64_t* draw = ingot_rt_output(frame, 2, 1, two, one);
  int64_t* total = ingot_rt_output(frame, 3, 1, one, one);
  if (!positive || !draw || !total) return 1;
  for (int64_t i = 0; i < s[U0]; i++) positive[i] = found[i];
  ingot_rt_random(frame, &draw[0], &draw[1]);

  void* buffers[1] = {frame->arena};
  const int64_t tasks = 1000 * n;
  ingot_rt_parallel(frame, add, buffers, tasks, 16, 8);
  total[0] = 0;
  for (int64_t i = 0; i < tasks; i++) total[0] += ((int64_t*)frame->arena)[i];
  return 0;
}

static const char *const sizes_a[] = {"s0", "s1"}, *const sizes_b[] = {"s0"}, *const sizes_c[] = {"2*s0"}, *const sizes_p[] = {"u0"},
                  *const sizes_2[] = {"2"}, *const sizes_1[] = {"1"};
static const ingot_symbol symbols[SYMBOLS] = {{"s0", 2, INT64_MAX}, {"s1", 0, 1000}, {"s2", 0, 100}, {"u0", 0, 5}};
static const ingot_guard guards[] = {{"s0 % 2 == 0", "the view of a in aten.view", 0}, {"s1 <= s0", "", 0}};
static const ingot_input inputs[] = {{"a", kFloat32, 2, sizes_a, 0, 1, 0}, {"b", kInt64, 1, sizes_b, 0, 0, 0},
                                     {"c", kFloat64, 1, sizes_c, 0, 0, 0}, {"n", kInt64, 0, 0, 1, 0, 0}};
static const ingot_output outputs[] = {{"twice", kFloat32, 2, sizes_a}, {"positive", kInt64, 1, sizes_p},
                                       {"draw", kInt64, 1, sizes_2}, {"total", kInt64, 1, sizes_1}};
static const uint64_t any_processor[] = {0};
static const ingot_level levels[] = {{"base", any_processor}};
static const ingot_code codes[] = {{arena_bytes, run, 0, 0}};
static const ingot_entry entries[] = {{
    .name = "forward",
    .in_spec = "",
    .out_spec = "",
    .symbol_count = SYMBOLS,
    .input_symbol_count = U0,
    .guard_count = 2,
    .input_count = 4,
    .output_count = 4,
    .symbols = symbols,
    .guards = guards,
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
    .level_count = 1,
    .name = "many",
    .entries = entries,
    .levels = levels,
};
