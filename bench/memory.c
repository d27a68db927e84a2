/* Memory and first runs of sessions of one compiled model, through the C interface:
 *   memory MODEL [SESSIONS] [SIZE]
 * Opens SESSIONS (4) sessions one after the other and runs each once on zeros, with SIZE (128)
 * where a size is open; prints what the process then takes (the resident memory of its own and of
 * files, as the system counts it), and how long runs take: the first of the first session, the
 * first of the last one, and the median of those that follow. */
#include <ingot/ingot.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_SESSIONS = 64, MOST_INPUTS = 64, MOST_RANK = 16, RUNS = 9 };

static void require(int is_well, const char* why) {
  if (is_well) return;
  fprintf(stderr, "memory: %s\n", why);
  exit(1);
}

static void check(ingot_status status) { require(status == INGOT_OK, ingot_error()); }

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double resident_mb(const char* field) {
  char line[256];
  long kilobytes = -1;
  FILE* status = fopen("/proc/self/status", "r");
  require(status != NULL, "no /proc/self/status");
  while (kilobytes < 0 && fgets(line, sizeof line, status))
    if (strncmp(line, field, strlen(field)) == 0) kilobytes = atol(line + strlen(field));
  fclose(status);
  return (double)kilobytes / 1024;
}

static DLTensor inputs[MOST_INPUTS];
static int64_t sizes[MOST_INPUTS][MOST_RANK];

static size_t make_inputs(ingot_session* s, int64_t open_size) {
  const size_t count = ingot_session_input_count(s);
  require(count <= MOST_INPUTS, "too many inputs");
  for (size_t k = 0; k < count; k++) {
    ingot_value v;
    check(ingot_session_input(s, k, &v));
    require(v.rank >= 0 && v.rank <= MOST_RANK, "the model does not say the sizes of its inputs");
    size_t bytes = (size_t)(v.dtype.bits * v.dtype.lanes + 7) / 8;
    for (int32_t d = 0; d < v.rank; d++) {
      char* end = NULL;
      sizes[k][d] = strtoll(v.sizes[d], &end, 10);
      if (*end) sizes[k][d] = open_size;
      bytes *= (size_t)sizes[k][d];
    }
    inputs[k] = (DLTensor){
        .data = calloc(1, bytes ? bytes : 1), .device = {kDLCPU, 0}, .ndim = v.rank, .dtype = v.dtype, .shape = sizes[k]};
    require(inputs[k].data != NULL, "no memory for an input");
  }
  return count;
}

static double run(ingot_session* s, size_t input_count) {
  const DLTensor* in[MOST_INPUTS];
  for (size_t k = 0; k < input_count; k++) in[k] = &inputs[k];
  const size_t count = ingot_session_output_count(s);
  DLManagedTensorVersioned** out = calloc(count + 1, sizeof *out);
  require(out != NULL, "no memory for outputs");
  const double begin = now();
  check(ingot_session_run(s, in, input_count, out, count));
  const double seconds = now() - begin;
  for (size_t k = 0; k < count; k++) out[k]->deleter(out[k]);
  free(out);
  return seconds;
}

static int less(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(int argc, char** argv) {
  require(argc >= 2, "usage: memory MODEL [SESSIONS] [SIZE]");
  const int sessions = argc > 2 ? atoi(argv[2]) : 4;
  require(sessions >= 1 && sessions <= MOST_SESSIONS, "SESSIONS: expected 1 to 64");
  ingot_session* all[MOST_SESSIONS];
  size_t input_count = 0;
  double first = 0, last = 0, of_one = 0, median[RUNS];
  for (int k = 0; k < sessions; k++) {
    check(ingot_session_open(argv[1], NULL, &all[k]));
    if (k == 0) input_count = make_inputs(all[k], argc > 3 ? atoll(argv[3]) : 128);
    last = run(all[k], input_count);
    if (k == 0) first = last;
    printf("%d session(s): %.1f MB resident (%.1f MB of its own, %.1f MB of files)\n", k + 1, resident_mb("VmRSS:"),
           resident_mb("RssAnon:"), resident_mb("RssFile:"));
    if (k == 0) of_one = resident_mb("VmRSS:");
  }
  const double ratio = resident_mb("VmRSS:") / of_one;
  for (int k = 0; k < RUNS; k++) median[k] = run(all[0], input_count);
  qsort(median, RUNS, sizeof *median, less);
  printf("memory of %d sessions: %.2f times that of one\n", sessions, ratio);
  printf("first run %.1f ms, first run of the last session %.1f ms, median %.1f ms: first / median %.2f\n", 1e3 * first,
         1e3 * last, 1e3 * median[RUNS / 2], first / median[RUNS / 2]);
  for (int k = 0; k < sessions; k++) ingot_session_close(all[k]);
  return 0;
}
