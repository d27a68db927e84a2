// Runs of ingot/ingot.h: DLPack tensors become handles, handles DLPack tensors.
#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "host/c_session.hpp"
#include "host/c_status.hpp"
#include "host/dlpack_tensors.hpp"

using namespace ingot;

namespace {

Handles run(const ingot_session& s, const DLTensor* const* inputs, std::size_t input_count, std::size_t output_count) {
  const std::size_t takes = s.input_names.size(), returns = s.output_names.size();
  INGOT_REQUIRE(output_count == returns, "expected room for ", returns, " outputs, found ", output_count);
  INGOT_REQUIRE(input_count == 0 || inputs != nullptr, "the array of inputs is null");
  INGOT_REQUIRE(input_count == takes, "expected ", takes, " inputs, found ", input_count);
  Handles given(s.library(), input_count);
  for (std::size_t k = 0; k < input_count; k++)
    given.add(handle_over(s.library(), inputs[k], text("input ", k, " (", s.input_names[k], ")")));
  return s.session.run(std::move(given));
}

}  // namespace

ingot_status ingot_session_run(ingot_session* s, const DLTensor* const* inputs, size_t input_count,
                               DLManagedTensorVersioned** outputs, size_t output_count) {
  return guarded([&] {
    INGOT_REQUIRE(output_count == 0 || outputs != nullptr, "the array of outputs is null");
    Handles results = run(checked(s), inputs, input_count, output_count);
    std::vector<DLManagedTensorVersioned*> managed;
    try {
      for (std::size_t k = 0; k < results.size(); k++) {
        const AtenTensorHandle h = results.take(k);
        managed.push_back(h ? managed_tensor(container_of(s).share_library(), h) : nullptr);
      }
    } catch (...) {
      for (DLManagedTensorVersioned* m : managed)
        if (m) m->deleter(m);
      throw;
    }
    std::copy(managed.begin(), managed.end(), outputs);
  });
}

ingot_status ingot_session_run_into(ingot_session* s, const DLTensor* const* inputs, size_t input_count, DLTensor* const* outputs,
                                    size_t output_count) {
  return guarded([&] {
    INGOT_REQUIRE(output_count == 0 || outputs != nullptr, "the array of outputs is null");
    const Handles results = run(checked(s), inputs, input_count, output_count);
    for (std::size_t k = 0; k < results.size(); k++)
      copy_into(describe(container_of(s), results[k]), outputs[k], text("output ", k));
  });
}
