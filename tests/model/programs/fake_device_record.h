/* What the device of fake_device.h was asked for. */
#ifndef INGOT_TEST_FAKE_DEVICE_RECORD_H
#define INGOT_TEST_FAKE_DEVICE_RECORD_H
#include <stdint.h>

/* The tests read it as ingot_test_device. */
typedef struct ingot_test_device_record {
  int32_t live, allocations, wrong_releases; /* pieces: that there are, that there ever were; releases of what is none */
  int32_t copies[3];                         /* by way */
  int32_t waits, foreign;                    /* synchronize; memory of a run that is not the device's */
  void *wait_stream, *stream, *arena_stream; /* of the last wait; of the last run, and that its arena was allocated for */
  int32_t index;                             /* of the device that was last asked */
  int32_t refuse;                            /* set by a test: the next allocation fails */
} ingot_test_device_record;
#endif
