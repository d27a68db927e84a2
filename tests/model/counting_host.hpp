// The host that this test program is to the models it loads: plain CPU tensors that are counted,
// with codes of its own, so that a library which guesses a code instead of asking is found out.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "ingot/aoti_host.h"

namespace ingot::test {

enum : int32_t {
  kCpu = 70,
  kOtherDevice = 71,
  kStrided = 80,
  kSparse = 81,
  kFirstDtype = 100
};  // a dtype is this + the usual code

struct HostTensor {
  std::shared_ptr<std::vector<char>> own;  // null: the memory is somebody else's
  char* storage = nullptr;
  int64_t storage_bytes = 0;
  std::vector<int64_t> sizes, strides;
  int64_t offset = 0;
  int32_t dtype = 0, device = kCpu, layout = kStrided;  // dtype by the usual code

  void* data();
};

HostTensor* tensor_of(AtenTensorHandle handle);
AtenTensorHandle new_handle(HostTensor tensor);

int64_t live_handles();
bool grad_mode_of_last_output();  // when the host was last asked for a new tensor
// Called whenever the host is asked for a new tensor, which a run does for its outputs; null for
// nothing.
void on_new_tensor(void (*action)());
// The function of that name fails from its `after`-th next call on; "" for none.
void fail_in(const char* function, int after = 0);

}  // namespace ingot::test
