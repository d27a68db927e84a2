/* The functions of ingot/ingot.h from C, against an installation (scripts/test_install.sh): what
 * only a program that is linked with libingot_runtime.so can show. Says what is wrong, and which
 * line found it.
 *   interface VERSION MODEL.so PACKAGE.pt2 BUFFERS.so
 * The model: the golden mlp with the metadata version=3; a package of it; one that has buffers. */
#include <dirent.h>
#include <ingot/ingot.h>
#include <stdio.h>
#include <string.h>

static int failures = 0;

static void check(int line, int is_well, const char* what) {
  if (is_well) return;
  printf("interface.c:%d: %s; ingot_error() is '%s'\n", line, what, ingot_error());
  failures++;
}
#define CHECK(condition) check(__LINE__, condition, #condition)
/* The call is refused, and the text says this. */
#define REFUSED(call, words) CHECK((call) == INGOT_INVALID && strstr(ingot_error(), words))

static void versions(const char* version) {
  char of_header[32];
  snprintf(of_header, sizeof of_header, "%d.%d.%d", INGOT_VERSION_MAJOR, INGOT_VERSION_MINOR, INGOT_VERSION_PATCH);
  CHECK(strcmp(of_header, version) == 0);
  CHECK(strcmp(ingot_version(), version) == 0);
  CHECK(INGOT_CHECK_VERSION() == INGOT_OK);
  char words[64];
  snprintf(words, sizeof words, "found %s; install", version);
  REFUSED(ingot_check_version(INGOT_VERSION_MAJOR, INGOT_VERSION_MINOR, INGOT_VERSION_PATCH + 1), words);
  snprintf(words, sizeof words, "expected %d.0.0", INGOT_VERSION_MAJOR + 1);
  REFUSED(ingot_check_version(INGOT_VERSION_MAJOR + 1, 0, 0), words);
}

static void options(const char* model) {
  ingot_session* s = NULL;
  ingot_options o = INGOT_OPTIONS_INIT;
  CHECK(ingot_session_open(model, &o, &s) == INGOT_OK);
  ingot_session_close(s);
  o.size = 0;
  REFUSED(ingot_session_open(model, &o, &s), "size: expected sizeof(ingot_options)");
  /* A header with more fields than the library knows: nothing is lost while they have their
   * defaults. */
  struct {
    ingot_options known;
    int64_t later;
  } newer = {INGOT_OPTIONS_INIT, 0};
  newer.known.size = sizeof newer;
  CHECK(ingot_session_open(model, &newer.known, &s) == INGOT_OK);
  ingot_session_close(s);
  newer.later = 1;
  REFUSED(ingot_session_open(model, &newer.known, &s), "of a later ingot.h");
}

static void information(ingot_session* s) {
  const char *key = NULL, *value = NULL;
  CHECK(ingot_session_metadata_count(s) == 1);
  CHECK(ingot_session_metadata(s, 0, &key, &value) == INGOT_OK && strcmp(key, "version") == 0 && strcmp(value, "3") == 0);
  CHECK(ingot_session_find_metadata(s, "version", &value) == INGOT_OK && strcmp(value, "3") == 0);
  REFUSED(ingot_session_find_metadata(s, "author", &value), "no metadata 'author'; it has version");
  CHECK(ingot_session_weights_file(s, &value) == INGOT_OK && !value);
  CHECK(ingot_session_set_seed(s, 3) == INGOT_OK);
  ingot_constant_info info;
  CHECK(ingot_session_constant(s, 0, &info) == INGOT_OK && info.rank == 2 && info.sizes[0] == 128 && info.sizes[1] == 64);
}

static void runs(ingot_session* s) {
  float ones[2 * 64];
  for (int i = 0; i < 2 * 64; i++) ones[i] = 1;
  int64_t sizes[] = {2, 64}, found[2] = {0, 0};
  ingot_value output;
  CHECK(ingot_session_output(s, 0, &output) == INGOT_OK);
  DLTensor x = {.device = {kDLCPU, 0}, .ndim = 2, .dtype = {kDLFloat, 32, 1}, .shape = sizes};
  const DLTensor* inputs[] = {&x};
  CHECK(ingot_session_output_sizes(s, inputs, 1, 0, found, 2) == INGOT_OK && found[0] == 2 && found[1] == 10);
  REFUSED(ingot_session_output_sizes(s, inputs, 1, 1, found, 2), "output 1: there are 1");
  x.data = ones;
  ingot_named_tensor in = {"x", &x};
  ingot_named_output out = {output.name, NULL};
  CHECK(ingot_session_run_named(s, &in, 1, &out, 1) == INGOT_OK && out.tensor && out.tensor->dl_tensor.shape[1] == 10);
  if (out.tensor) out.tensor->deleter(out.tensor);
  in.name = "y";
  REFUSED(ingot_session_run_named(s, &in, 1, &out, 1), "no input 'y'; the inputs of the model are x");
}

static void packages(const char* path) {
  ingot_package* p = NULL;
  const char* name = NULL;
  CHECK(ingot_package_open(path, &p) == INGOT_OK);
  CHECK(ingot_package_model_count(p) == 1);
  CHECK(ingot_package_model(p, 0, &name) == INGOT_OK && strcmp(name, "model") == 0);
  REFUSED(ingot_package_model(p, 1, &name), "model 1: there are 1");
  ingot_package_close(p);
  REFUSED(ingot_package_open("none.pt2", &p), "none.pt2");
}

static int thread_count(void) {
  int count = 0;
  DIR* tasks = opendir("/proc/self/task");
  for (struct dirent* d; tasks && (d = readdir(tasks));) count += d->d_name[0] != '.';
  if (tasks) closedir(tasks);
  return count;
}

enum { ROWS = 2048 };
static float many_rows[ROWS * 64];

/* A run of so many rows that it has parallel parts; the results are the caller's. */
static DLManagedTensorVersioned* run_many_rows(ingot_session* s) {
  int64_t sizes[] = {ROWS, 64};
  const DLTensor x = {.data = many_rows, .device = {kDLCPU, 0}, .ndim = 2, .dtype = {kDLFloat, 32, 1}, .shape = sizes};
  const DLTensor* inputs[] = {&x};
  DLManagedTensorVersioned* out = NULL;
  CHECK(ingot_session_run(s, inputs, 1, &out, 1) == INGOT_OK);
  return out;
}

static int same_bits(const DLManagedTensorVersioned* a, const DLManagedTensorVersioned* b) {
  return a && b && memcmp(a->dl_tensor.data, b->dl_tensor.data, ROWS * 10 * sizeof(float)) == 0;
}

/* Results in the program's memory, as they are in new memory: where the run writes them itself, and
 * where they are copied, since they are not aligned or lie over the input. */
static void run_into(ingot_session* s, const DLManagedTensorVersioned* expected) {
  enum { LENGTH = ROWS * 64, RESULTS = ROWS * 10 };
  static _Alignas(64) float memory[LENGTH + 16];
  for (size_t from = 0; from < 2; from++) {
    for (int over_input = 0; over_input < 2; over_input++) {
      int64_t in_sizes[] = {ROWS, 64}, out_sizes[] = {ROWS, 10};
      DLTensor x = {.data = many_rows, .device = {kDLCPU, 0}, .ndim = 2, .dtype = {kDLFloat, 32, 1}, .shape = in_sizes};
      DLTensor y = {.data = memory + from, .device = {kDLCPU, 0}, .ndim = 2, .dtype = {kDLFloat, 32, 1}, .shape = out_sizes};
      if (over_input) x.data = memcpy(memory, many_rows, sizeof many_rows);
      const DLTensor* inputs[] = {&x};
      DLTensor* outputs[] = {&y};
      CHECK(ingot_session_run_into(s, inputs, 1, outputs, 1) == INGOT_OK);
      CHECK(expected && memcmp(memory + from, expected->dl_tensor.data, RESULTS * sizeof(float)) == 0);
    }
  }
}

/* The program's own threads: here its only one, the last part first. */
static void parts_backwards(void* calls, void (*part)(void* work, int32_t k), void* work, int32_t count) {
  ++*(int*)calls;
  while (count-- > 0) part(work, count);
}

/* Twenty sessions of four threads have three between them beside the caller's, or those that
 * earlier runs have started, and results are the same whosever threads compute them. */
static void threads(const char* model) {
  enum { SESSIONS = 20, THREADS = 4 };
  for (int i = 0; i < ROWS * 64; i++) many_rows[i] = (float)(i % 97) / 7;
  const int before = thread_count();
  ingot_session* s[SESSIONS] = {NULL};
  DLManagedTensorVersioned *first = NULL, *other;
  ingot_options o = INGOT_OPTIONS_INIT;
  o.threads = THREADS;
  for (int k = 0; k < SESSIONS; k++) {
    CHECK(ingot_session_open(model, &o, &s[k]) == INGOT_OK);
    other = run_many_rows(s[k]);
    if (k == 0) {
      first = other;
    } else {
      CHECK(same_bits(first, other));
      if (other) other->deleter(other);
    }
  }
  CHECK(thread_count() == (before > THREADS ? before : THREADS));
  run_into(s[0], first);
  for (int k = 0; k < SESSIONS; k++) ingot_session_close(s[k]);

  int calls = 0;
  const ingot_thread_pool pool = {sizeof pool, &calls, parts_backwards, NULL, NULL};
  o.pool = &pool;
  ingot_session* own = NULL;
  CHECK(ingot_session_open(model, &o, &own) == INGOT_OK);
  other = run_many_rows(own);
  CHECK(calls > 0 && same_bits(first, other));
  if (other) other->deleter(other);
  if (first) first->deleter(first);
  ingot_session_close(own);

  ingot_thread_pool bad = {0, &calls, parts_backwards, NULL, NULL};
  o.pool = &bad;
  REFUSED(ingot_session_open(model, &o, &own), "ingot_thread_pool: size: expected");
  bad.size = sizeof bad;
  bad.parallel_for = NULL;
  REFUSED(ingot_session_open(model, &o, &own), "parallel_for: expected a function");
}

struct log {
  int lines, warnings;
  char last[256];
};

static void take_line(void* context, ingot_log_level level, const char* line) {
  struct log* log = context;
  log->lines++;
  log->warnings += level == INGOT_LOG_WARNING;
  snprintf(log->last, sizeof log->last, "%s", line);
}

/* A full update of the inactive set that leaves the buffers out, of which the model says a word.
 * How many it left out. */
static int update_parameters(ingot_session* s) {
  enum { MOST = 64 };
  ingot_named_tensor given[MOST];
  DLManagedTensorVersioned* values[MOST];
  size_t count = 0;
  int buffers = 0;
  for (size_t k = 0; k < ingot_session_constant_count(s); k++) {
    ingot_constant_info info;
    CHECK(ingot_session_constant(s, k, &info) == INGOT_OK);
    buffers += !info.is_parameter && !info.is_folded;
    if (!info.is_parameter || count == MOST) continue;
    CHECK(ingot_session_get_constant(s, info.name, false, &values[count]) == INGOT_OK);
    given[count].name = info.name;
    given[count].tensor = &values[count]->dl_tensor;
    count++;
  }
  CHECK(ingot_session_update(s, given, count, true, true) == INGOT_OK);
  while (count-- > 0) values[count]->deleter(values[count]);
  return buffers;
}

/* Without a function for it nothing is said; scripts/test_install.sh looks at standard error. */
static void log_lines(const char* model) {
  ingot_session* s = NULL;
  struct log log = {0, 0, ""};
  CHECK(ingot_session_open(model, NULL, &s) == INGOT_OK);
  if (!s) return;
  const int buffers = update_parameters(s);
  ingot_set_log(take_line, &log);
  CHECK(buffers > 0 && update_parameters(s) == buffers && log.lines == buffers && log.warnings == buffers);
  CHECK(strstr(log.last, "Found constant or module state buffer") == log.last);
  ingot_set_log(NULL, NULL);
  CHECK(update_parameters(s) == buffers && log.lines == buffers);
  ingot_session_close(s);
}

int main(int argc, char** argv) {
  if (argc != 5) return puts("usage: interface VERSION MODEL.so PACKAGE.pt2 BUFFERS.so"), 2;
  versions(argv[1]);
  options(argv[2]);
  ingot_session* s = NULL;
  CHECK(ingot_session_open(argv[2], NULL, &s) == INGOT_OK);
  if (s) {
    information(s);
    runs(s);
  }
  ingot_session_close(s);
  threads(argv[2]);
  packages(argv[3]);
  log_lines(argv[4]);
  return failures != 0;
}
