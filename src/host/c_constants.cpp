// Constants of ingot/ingot.h, by the names of the exported program.
#include "base/error.hpp"
#include "host/c_session.hpp"
#include "host/c_status.hpp"
#include "host/dlpack_tensors.hpp"

using namespace ingot;

ingot_tensor_info ingot::describe(const ModelContainer& container, AtenTensorHandle tensor) {
  ingot_tensor_info info{};
  container.require(container.library().ingot_tensor_describe(tensor, &info), "ingot_tensor_describe(tensor, &info)");
  return info;
}

size_t ingot_session_constant_count(const ingot_session* s) { return s ? s->model->constants().size() : 0; }
ingot_status ingot_session_constant(const ingot_session* s, size_t k, ingot_constant_info* constant) {
  return guarded([&] {
    require_place(constant);
    const auto& constants = model_of(s).constants();
    INGOT_REQUIRE(k < constants.size(), "constant ", k, ": there are ", constants.size());
    *constant = constants[k];
  });
}
ingot_status ingot_session_get_constant(ingot_session* s, const char* name, bool inactive, DLManagedTensorVersioned** tensor) {
  return guarded([&] {
    require_place(tensor);
    INGOT_REQUIRE(name != nullptr, "the name of a constant is null");
    *tensor = managed_copy(describe(container_of(s), model_of(s).find_constant(name, inactive)));
  });
}
ingot_status ingot_session_update(ingot_session* s, const ingot_named_tensor* tensors, size_t count, bool inactive, bool full) {
  return guarded([&] {
    INGOT_REQUIRE(count == 0 || tensors != nullptr, "the array of tensors is null");
    model_of(s).update({tensors, count}, inactive, full);
  });
}
ingot_status ingot_session_fold(ingot_session* s, bool inactive) {
  return guarded([&] { container_of(s).fold(inactive); });
}
ingot_status ingot_session_swap(ingot_session* s) {
  return guarded([&] { container_of(s).swap(); });
}
ingot_status ingot_session_free_inactive(ingot_session* s) {
  return guarded([&] { container_of(s).free_inactive(); });
}
ingot_status ingot_session_memory(const ingot_session* s, ingot_memory_kind kind, uint64_t* bytes) {
  return guarded([&] {
    require_place(bytes);
    *bytes = container_of(s).memory(kind);
  });
}
