// Runs of ingot/ingot.h: DLPack tensors become handles, handles DLPack tensors.
#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "host/c_session.hpp"
#include "host/c_status.hpp"
#include "host/dlpack_tensors.hpp"

using namespace ingot;

namespace {

Handles run(const ingot_session& s, const DLTensor* const* inputs, std::size_t input_count, std::size_t output_count,
            const SessionRunOptions& options = {}) {
  const std::size_t returns = s.output_names.size();
  INGOT_REQUIRE(output_count == returns, "expected room for ", returns, " outputs, found ", output_count);
  require_inputs(s, inputs, input_count);
  Handles given(s.library(), input_count);
  for (std::size_t k = 0; k < input_count; k++) given.add(handle_over(s.library(), inputs[k], input_text(s, k)));
  return s.session.run(std::move(given), options);
}

// The results as tensors of the caller; null where the model returns none.
std::vector<DLManagedTensorVersioned*> managed_results(const ingot_session& s, Handles results) {
  std::vector<DLManagedTensorVersioned*> managed;
  managed.reserve(results.size());
  try {
    for (std::size_t k = 0; k < results.size(); k++) {
      const AtenTensorHandle h = results.take(k);
      managed.push_back(h ? managed_tensor(s.model->container().share_library(), h) : nullptr);
    }
  } catch (...) {
    for (DLManagedTensorVersioned* m : managed)
      if (m) m->deleter(m);
    throw;
  }
  return managed;
}

// Which of the model's each of the given is, in the order of the model's: each of them once.
template <class Named>
std::vector<std::size_t> places_of(const char* what, const std::vector<std::string>& names, std::span<const Named> given) {
  const auto all = [&] {
    std::string listed;
    for (const std::string& n : names) listed += (listed.empty() ? "" : ", ") + n;
    return text("; the ", what, "s of the model are ", listed.empty() ? "none" : listed);
  };
  for (std::size_t k = 0; k < names.size(); k++)
    INGOT_REQUIRE(std::find(names.begin() + static_cast<std::ptrdiff_t>(k) + 1, names.end(), names[k]) == names.end(),
                  "the model has several ", what, "s called '", names[k],
                  "', which names do not tell apart: run it by places, "
                  "with ingot_session_run",
                  all());
  constexpr std::size_t kNowhere = SIZE_MAX;
  std::vector<std::size_t> places(names.size(), kNowhere);
  for (std::size_t k = 0; k < given.size(); k++) {
    INGOT_REQUIRE(given[k].name != nullptr, "the name of an ", what, " is null", all());
    const auto found = std::find(names.begin(), names.end(), given[k].name);
    INGOT_REQUIRE(found != names.end(), "the model has no ", what, " '", given[k].name, "'", all());
    std::size_t& place = places[static_cast<std::size_t>(found - names.begin())];
    INGOT_REQUIRE(place == kNowhere, what, " '", given[k].name, "' is named twice", all());
    place = k;
  }
  for (std::size_t k = 0; k < names.size(); k++)
    INGOT_REQUIRE(places[k] != kNowhere, what, " '", names[k], "' is missing", all());
  return places;
}

}  // namespace

ingot_status ingot_session_run(ingot_session* s, const DLTensor* const* inputs, size_t input_count,
                               DLManagedTensorVersioned** outputs, size_t output_count) {
  return guarded([&] {
    INGOT_REQUIRE(output_count == 0 || outputs != nullptr, "the array of outputs is null");
    const auto managed = managed_results(checked(s), run(checked(s), inputs, input_count, output_count));
    std::copy(managed.begin(), managed.end(), outputs);
  });
}

ingot_status ingot_session_run_named(ingot_session* s, const ingot_named_tensor* inputs, size_t input_count,
                                     ingot_named_output* outputs, size_t output_count) {
  return guarded([&] {
    checked(s);
    INGOT_REQUIRE(input_count == 0 || inputs != nullptr, "the array of inputs is null");
    INGOT_REQUIRE(output_count == 0 || outputs != nullptr, "the array of outputs is null");
    std::vector<const DLTensor*> in;
    for (const std::size_t k : places_of("input", s->input_names, std::span(inputs, input_count))) in.push_back(inputs[k].tensor);
    const auto places = places_of("output", s->output_names, std::span<const ingot_named_output>(outputs, output_count));
    const auto managed = managed_results(*s, run(*s, in.data(), in.size(), output_count));
    for (std::size_t k = 0; k < managed.size(); k++) outputs[places[k]].tensor = managed[k];
  });
}

ingot_status ingot_session_run_into(ingot_session* s, const DLTensor* const* inputs, size_t input_count, DLTensor* const* outputs,
                                    size_t output_count) {
  return guarded([&] {
    INGOT_REQUIRE(output_count == 0 || outputs != nullptr, "the array of outputs is null");
    std::vector<ResultPlace> places;
    std::vector<ingot_tensor_info> infos;
    places.reserve(output_count);
    for (std::size_t k = 0; k < output_count; k++) infos.push_back(places.emplace_back(outputs[k]).info);
    const Handles results = run(checked(s), inputs, input_count, output_count, {.places = infos.data()});
    for (std::size_t k = 0; k < results.size(); k++) {
      const ingot_tensor_info result = describe(container_of(s), results[k]);
      if (!infos[k].data || result.data != infos[k].data) copy_into(result, outputs[k], text("output ", k));
    }
  });
}
