// The functions of the process this library runs in that work on tensors (ingot/aoti_host.h), found
// once: those of the global scope (Ingot's runner, or a program linked with libtorch); else those
// of any library that has them and is loaded out of that scope (as Python loads libtorch); else
// tensors of our own (fallback_host.cpp).
#pragma once
#include "ingot/aoti_host.h"
#include "model/dtype.hpp"
#include "model/error.hpp"
#include "model/program.h"

namespace ingot::model {

// What a library cannot do without: all of them or none are taken.
// clang-format off
#define INGOT_HOST_FUNCTIONS(X)                                                                      \
  X(delete_tensor_object) X(get_data_ptr) X(get_dim) X(get_sizes) X(get_strides) X(get_dtype)        \
  X(get_device_type) X(get_storage_size) X(empty_strided) X(create_tensor_from_blob)                 \
  X(grad_mode_is_enabled) X(grad_mode_set_enabled) X(device_type_cpu)
// clang-format on

struct Host {
#define INGOT_HOST_MEMBER(name) decltype(&::aoti_torch_##name) name;
  INGOT_HOST_FUNCTIONS(INGOT_HOST_MEMBER)
#undef INGOT_HOST_MEMBER
  decltype(&::aoti_torch_new_tensor_handle) new_tensor_handle;  // PyTorch 2.6 has it under another name
  decltype(&::aoti_torch_get_layout) get_layout;  // null: every tensor is strided
  void* (*allocate)(size_t);                      // what the host's C++ allocates with: it frees what it is given
  void (*release)(void*);
  bool is_own;                  // the fallback
  int32_t cpu;                  // the host's code of the device
  int32_t strided;              // … and of the layout
  int32_t dtypes[kDtypeCodes];  // … and of each dtype of ours; -1: it has none
};

const Host& host();

extern const Host fallback_host;

// Says that a function of the host failed, which has logged why. Always false.
#define INGOT_FAIL_FOR_HOST(function) ::ingot::model::fail("%s API call failed at %s, line %d", function, __FILE_NAME__, __LINE__)

// The dtype of ours that the host's code stands for, or -1.
int32_t dtype_from_host(int32_t code);

// What a tensor is. False after a failure; `what` names it ("input 0 (x)").
bool view_tensor(AtenTensorHandle tensor, const char* what, ingot_view* view, int32_t* device_type);

// Handles that were given to us: released when it ends, and null in the caller's array from then
// on, so that a host which frees what was not stolen (PyTorch's runner does) knows. One that the
// host refuses to release is not ours, and stays in the array.
class Taken {
 public:
  Taken(AtenTensorHandle* handles, size_t count) : handles_(handles), count_(handles ? count : 0) {}
  ~Taken() {
    for (size_t k = 0; k < count_; k++) {
      if (handles_[k] && host().delete_tensor_object(handles_[k]) == 0) handles_[k] = nullptr;
    }
  }
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;

 private:
  AtenTensorHandle* handles_;
  size_t count_;
};

// Grad mode is off while it lives, and then again what it was.
class NoGrad {
 public:
  NoGrad() : was_enabled_(host().grad_mode_is_enabled()) { host().grad_mode_set_enabled(false); }
  ~NoGrad() { host().grad_mode_set_enabled(was_enabled_); }
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  bool was_enabled_;
};

}  // namespace ingot::model
