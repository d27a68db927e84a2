/* Two models in one program, each an object file that `ingot compile --emit=object` made, beside
 * nothing but libc (scripts/test_objects.sh). Says what is wrong, and which line found it.
 *   two_models MLP_CASE.safetensors ENTRIES_CASES.safetensors
 * The second model has two entry points, over caches that both write, and ops of the eager
 * library, with the C++ runtime that these need. */
#include "lm.h"
#include "mlp.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

static void check(int line, int is_well, const char* what) {
  if (is_well) return;
  printf("two_models.c:%d: %s; mlp_last_error() is '%s', lm_last_error() is '%s'\n", line, what, mlp_last_error(), lm_last_error());
  failures++;
}
#define CHECK(condition) check(__LINE__, condition, #condition)

/* The bytes of a tensor in a .safetensors file, whose header is JSON after eight bytes with its
 * length. */
static void* tensor(char* file, const char* name) {
  char key[64];
  uint64_t header = 0;
  const char* entry;
  memcpy(&header, file, 8);
  snprintf(key, sizeof key, "\"%s\":", name);
  entry = strstr(file + 8, key);
  if (!entry) printf("no tensor %s\n", name), exit(2);
  return file + 8 + header + strtoull(strstr(entry, "\"data_offsets\":[") + 16, NULL, 10);
}

static char* read_file(const char* path) {
  FILE* f = fopen(path, "rb");
  long size;
  char* bytes;
  if (!f || fseek(f, 0, SEEK_END) || (size = ftell(f)) < 0) printf("cannot read %s\n", path), exit(2);
  rewind(f);
  bytes = malloc((size_t)size + 1);
  if (!bytes || fread(bytes, 1, (size_t)size, f) != (size_t)size) printf("cannot read %s\n", path), exit(2);
  bytes[size] = 0;
  fclose(f);
  return bytes;
}

static int is_close(const float* found, const float* expected, size_t count) {
  size_t k;
  for (k = 0; k < count; k++)
    if (!(fabsf(found[k] - expected[k]) < 1e-5f)) return 0;
  return 1;
}

static void mlp(char* file) {
  const int64_t sizes[] = {8, 64}, wrong[] = {8, 63};
  ingot_tensor_info x = {NULL, INGOT_FLOAT32, 2, NULL, NULL}, y;
  ingot_tensor_info many[64];
  AOTInductorModelContainerHandle model;
  AtenTensorHandle result;
  int k;
  x.data = tensor(file, "in.0");
  x.sizes = sizes;
  for (k = 0; k < 64; k++) many[k] = x;
  CHECK(mlp_open(&model, 1) == 0);
  CHECK(mlp_run(model, &x, &result) == 0 && mlp_tensor_describe(result, &y) == 0);
  CHECK(y.rank == 2 && y.sizes[0] == 8 && y.sizes[1] == 10 && y.dtype == INGOT_FLOAT32);
  CHECK(is_close(y.data, tensor(file, "out.0"), 80));
  CHECK(mlp_tensor_delete(result) == 0);
  x.sizes = wrong;
  CHECK(mlp_run(model, &x, &result) != 0 && strstr(mlp_last_error(), "63") && !*lm_last_error());
  x.sizes = sizes;
  /* More inputs than the model has, and fewer; then one run that is right. */
  CHECK(mlp_run_entry(model, 0, many, 64, &result, 1) != 0);
  CHECK(strstr(mlp_last_error(), "expected inputs vector size to be 1, but got 64") != NULL);
  CHECK(mlp_run_entry(model, 0, many, 0, &result, 1) != 0);
  CHECK(strstr(mlp_last_error(), "expected inputs vector size to be 1, but got 0") != NULL);
  CHECK(mlp_run_entry(model, 9, many, 64, &result, 1) != 0 && strstr(mlp_last_error(), "entry point 9: there are 1"));
  CHECK(mlp_run_entry(model, 0, many, 1, &result, 1) == 0 && mlp_tensor_delete(result) == 0);
  CHECK(strcmp(mlp_model_name(), lm_model_name()) != 0);
  CHECK(mlp_close(model) == 0);
}

static void lm(char* file) {
  const int64_t prompt[] = {1, 7}, token[] = {1, 1}, one[] = {1}, longer[] = {1, 25};
  ingot_tensor_info in[2], out;
  AOTInductorModelContainerHandle model;
  AtenTensorHandle result;
  int step;
  memset(in, 0, sizeof in);
  in[0].dtype = in[1].dtype = INGOT_INT64;
  in[0].rank = 2;
  in[1].rank = 1;
  in[0].data = tensor(file, "prompt");
  in[0].sizes = longer;
  CHECK(lm_open(&model, 1) == 0);
  CHECK(lm_run(model, in, &result) != 0 && strstr(lm_last_error(), "25"));
  in[0].sizes = prompt;
  CHECK(lm_run(model, in, &result) == 0 && lm_tensor_describe(result, &out) == 0);
  CHECK(out.rank == 2 && out.sizes[1] == 48 && is_close(out.data, tensor(file, "prefill"), 48));
  CHECK(lm_tensor_delete(result) == 0);
  in[0].sizes = token;
  in[1].sizes = one;
  for (step = 0; step < 3; step++) {
    char next[] = "next.0", place[] = "at.0", expected[] = "decode.0";
    next[5] = place[3] = expected[7] = (char)('0' + step);
    in[0].data = tensor(file, next);
    in[1].data = tensor(file, place);
    CHECK(lm_run_decode(model, in, &result) == 0 && lm_tensor_describe(result, &out) == 0);
    CHECK(is_close(out.data, tensor(file, expected), 48));
    CHECK(lm_tensor_delete(result) == 0);
  }
  CHECK(lm_close(model) == 0);
}
int main(int argc, char** argv) {
  char *of_mlp, *of_lm;
  if (argc != 3) return puts("usage: two_models MLP_CASE LM_CASE"), 2;
  of_mlp = read_file(argv[1]);
  of_lm = read_file(argv[2]);
  mlp(of_mlp);
  lm(of_lm);
  free(of_mlp);
  free(of_lm);
  return failures != 0;
}
