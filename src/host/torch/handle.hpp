// What a tensor handle of ingot/aoti_host.h points to in a process with Ingot's runner.
#pragma once
#include "ingot/aoti_host.h"
#include "ingot/tensor.hpp"
#include "tensor/random.hpp"

// The sizes and strides stand beside the tensor because a library borrows them as plain arrays.
// What a handle of another host (libtorch, in the same process) points to begins with another word
// than the mark.
struct AtenTensorOpaque {
  static constexpr uint64_t kMark = 0x6c646e6168746749;
  ~AtenTensorOpaque() { mark = 0; }
  AtenTensorOpaque(const AtenTensorOpaque&) = delete;
  AtenTensorOpaque& operator=(const AtenTensorOpaque&) = delete;
  explicit AtenTensorOpaque(ingot::Tensor t) { set(std::move(t)); }
  void set(ingot::Tensor t) {
    tensor = std::move(t);
    sizes = tensor.defined() ? tensor.sizes().values() : std::vector<int64_t>();
    strides = tensor.defined() ? tensor.strides().values() : std::vector<int64_t>();
  }
  volatile uint64_t mark = kMark;
  ingot::Tensor tensor;  // may be undefined
  std::vector<int64_t> sizes, strides;
};

// A stream of random numbers. Who runs C++ in the process makes one of any generator.
struct AtenGeneratorOpaque {
  ingot::Ref<ingot::Generator> generator;
};

namespace ingot {

// A new owning handle.
inline AtenTensorHandle new_handle(Tensor t) { return new AtenTensorOpaque(std::move(t)); }
// The tensor of a handle; user error for null, and for a handle of another host.
Tensor& tensor_of(AtenTensorHandle handle);

// Runs f and turns what it throws into a status (I006).
template <class F>
AOTITorchError as_status(const F& f) noexcept;

// Logs what is being handled: `Exception in aoti_torch: …`. Always a failure.
AOTITorchError log_exception() noexcept;
// What this thread logged last; "" before the first.
const char* last_exception() noexcept;

template <class F>
AOTITorchError as_status(const F& f) noexcept {
  try {
    f();
    return AOTI_TORCH_SUCCESS;
  } catch (...) {
    return log_exception();
  }
}

// The process exports the functions of ingot/aoti_host.h. What refers to it brings them into the
// program.
void require_host_functions();
void require_vector_functions();  // the same for those of host_vectors.cpp, whose C++ types are nobody's business

}  // namespace ingot
