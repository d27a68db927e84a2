/* A device for tests, of programs written by hand in C and of compiled ones in C++: its memory is
 * the process's, every piece of it is known, and so is what was asked of it. */
#ifndef INGOT_TEST_FAKE_DEVICE_H
#define INGOT_TEST_FAKE_DEVICE_H
#include <stdlib.h>
#include <string.h>

#include "fake_device_record.h"
#include "model/program.h"

enum { kFakeDeviceType = 71, kFakeMost = 64 };

__attribute__((visibility("default"))) ingot_test_device_record ingot_test_device;

static struct {
  char* memory;
  uint64_t bytes;
  void* stream;
} pieces[kFakeMost];

/* The piece that the address is in, or -1. */
static int piece_of(const void* address) {
  for (int k = 0; k < kFakeMost; k++) {
    if (pieces[k].memory && (const char*)address >= pieces[k].memory && (const char*)address < pieces[k].memory + pieces[k].bytes)
      return k;
  }
  return -1;
}

static const char* fake_allocate(int32_t index, void* stream, uint64_t bytes, void** memory) {
  ingot_test_device.index = index;
  if (ingot_test_device.refuse) {
    ingot_test_device.refuse = 0;
    return "no memory is left";
  }
  int k = 0;
  while (k < kFakeMost && pieces[k].memory) k++;
  if (k == kFakeMost) return "too many pieces";
  pieces[k].bytes = (bytes + 63) / 64 * 64;
  pieces[k].memory = (char*)aligned_alloc(64, pieces[k].bytes);
  pieces[k].stream = stream;
  ingot_test_device.live++;
  ingot_test_device.allocations++;
  *memory = pieces[k].memory;
  return NULL;
}

static void fake_release(int32_t index, void* stream, void* memory) {
  const int k = piece_of(memory);
  (void)stream;
  ingot_test_device.index = index;
  if (k < 0 || pieces[k].memory != memory) {
    ingot_test_device.wrong_releases++;
    return;
  }
  free(memory);
  pieces[k].memory = NULL;
  ingot_test_device.live--;
}

static const char* fake_copy(int32_t index, void* stream, void* to, const void* from, uint64_t bytes, int32_t way) {
  (void)stream;
  ingot_test_device.index = index;
  ingot_test_device.copies[way]++;
  if (way != INGOT_COPY_FROM_DEVICE && piece_of(to) < 0) return "a copy to what is no memory of the device";
  memcpy(to, from, bytes);
  return NULL;
}

static const char* fake_synchronize(int32_t index, void* stream) {
  ingot_test_device.index = index;
  ingot_test_device.waits++;
  ingot_test_device.wait_stream = stream;
  return NULL;
}

static const ingot_device fake_device = {"cuda", kFakeDeviceType, fake_allocate, fake_release, fake_copy, fake_synchronize};

/* Looks at a run; null for memory that it cannot have. Programs that are not written by hand do not
 * call it. */
__attribute__((unused)) static void fake_look(const ingot_frame* frame, const void* const* memory, int count) {
  ingot_test_device.stream = frame->stream;
  const int arena = piece_of(frame->arena);
  if (arena >= 0) ingot_test_device.arena_stream = pieces[arena].stream;
  if (arena < 0 || frame->device != &fake_device) ingot_test_device.foreign++;
  for (int k = 0; k < count; k++) ingot_test_device.foreign += piece_of(memory[k]) < 0;
}
#endif
