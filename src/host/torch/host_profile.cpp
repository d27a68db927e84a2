// Host functions for people who look into a run: tensors in files (I084), and what a library tells
// a profiler (I085).
#include <chrono>
#include <cstdio>
#include <filesystem>

#include "base/error.hpp"
#include "base/log.hpp"
#include "ingot/npy.hpp"
#include "ingot/value.hpp"
#include "host/torch/handle.hpp"

using namespace ingot;

// A value in a box.
struct C10IValueOpaque {
  Value value;
};
struct AtenRecordFunctionOpaque {
  std::string name;
  std::chrono::steady_clock::time_point start;
};

namespace {

// A name of the library's as a part of a file's name.
std::string part(const char* name) {
  std::string out = name ? name : "";
  for (char& c : out)
    if (c == '/') c = '_';
  return out;
}

template <class F>
AOTITorchError boxed(C10IValueHandle* ivalue, const F& value) {
  return as_status([&] { *ivalue = new C10IValueOpaque{value()}; });
}

}  // namespace

void aoti_torch_save_tensor_handle(AtenTensorHandle self, const char* tensor_name, const char* launch_prefix,
                                   const char* kernel_name) {
  (void)as_status([&] {
    const std::filesystem::path folder = std::filesystem::temp_directory_path() / "aoti_torch";
    std::filesystem::create_directories(folder);
    const std::string path =
        (folder / text(part(launch_prefix), "_", part(kernel_name), "_", part(tensor_name), "_cpu.npy")).string();
    save_npy(path, tensor_of(self));
    std::printf("aoti_torch_save_tensor_handle: saved %s\n", path.c_str());
  });
}

AOTITorchError aoti_torch_int64_to_ivalue(int64_t val, C10IValueHandle* ivalue) {
  return boxed(ivalue, [&] { return Value(val); });
}
AOTITorchError aoti_torch_str_to_ivalue(const char* val, C10IValueHandle* ivalue) {
  return boxed(ivalue, [&] { return Value(val); });
}
AOTITorchError aoti_torch_strlist_to_ivalue(const char** val, int64_t len, C10IValueHandle* ivalue) {
  return boxed(ivalue, [&] { return Value(Values(val, val + len)); });
}
AOTITorchError aoti_torch_tensor_to_ivalue(AtenTensorHandle val, C10IValueHandle* ivalue) {
  return boxed(ivalue, [&] { return Value(tensor_of(val)); });
}
AOTITorchError aoti_torch_delete_c10_value_object(C10IValueHandle handle) {
  return as_status([&] { delete handle; });
}

AOTITorchError aoti_record_function_start(const char* name, IValueMapHandle, const C10IValueHandle* inputs, uint64_t n_inputs,
                                          AtenRecordFunctionHandle* guard) {
  return as_status([&] {
    for (uint64_t k = 0; k < n_inputs; k++) INGOT_REQUIRE(inputs && inputs[k], "input ", k, " of ", name, " is null");
    *guard = new AtenRecordFunctionOpaque{name, std::chrono::steady_clock::now()};
  });
}
AOTITorchError aoti_record_function_end(AtenRecordFunctionHandle guard) {
  return as_status([&] {
    INGOT_REQUIRE(guard != nullptr, "the end of a recorded function: expected what its start gave, found null");
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - guard->start;
    if (is_logged("profile")) log_line("profile", text(guard->name, ": ", static_cast<int64_t>(took.count()), " us"));
    delete guard;
  });
}
