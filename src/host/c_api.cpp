// The functions of ingot/ingot.h over a session of the host: DLPack tensors become handles, errors
// statuses.
#include <algorithm>
#include <memory>
#include <utility>

#include "base/error.hpp"
#include "base/dlpack_type.hpp"
#include "host/c_status.hpp"
#include "host/c_versions.hpp"
#include "host/dlpack_tensors.hpp"
#include "host/loaded_model.hpp"
#include "host/session.hpp"

using namespace ingot;

// A session keeps the model that it is of, and the names that it hands out.
struct ingot_session {
  ingot_session(std::shared_ptr<LoadedModel> loaded, std::string_view entry)
      : model(std::move(loaded)), session({model, &model->container()}, entry) {
    const auto inputs = session.input_names(), outputs = session.output_names();
    INGOT_REQUIRE(inputs && outputs, model->library().path(), " does not say what its inputs and outputs are");
    input_names = *inputs;
    output_names = *outputs;
  }
  const ModelLibrary& library() const { return model->library(); }

  std::shared_ptr<LoadedModel> model;
  Session session;
  std::vector<std::string> input_names, output_names;
};

namespace {

const ingot_session& checked(const ingot_session* s) {
  INGOT_REQUIRE(s != nullptr, "the session is null");
  return *s;
}
LoadedModel& model_of(const ingot_session* s) { return *checked(s).model; }
ModelContainer& container_of(const ingot_session* s) { return model_of(s).container(); }

ingot_value value_of(const ingot_value_info& i) {
  return {i.name, dlpack_type(dtype_of_code(i.dtype).value_or(DType::f32)), i.rank, i.sizes, i.is_number, i.is_written};
}

// All that a library which is not Ingot's says of an input or output.
void name_alone(const std::vector<std::string>& names, const char* what, std::size_t k, ingot_value* value) {
  INGOT_REQUIRE(k < names.size(), what, " ", k, ": there are ", names.size());
  *value = {names[k].c_str(), {}, -1, nullptr, false, false};
}

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

ingot_tensor_info describe(const ModelContainer& container, AtenTensorHandle tensor) {
  ingot_tensor_info info{};
  container.require(container.library().ingot_tensor_describe(tensor, &info), "ingot_tensor_describe(tensor, &info)");
  return info;
}

}  // namespace

ingot_status ingot_session_open(const char* path, const ingot_options* options, ingot_session** session) {
  return guarded([&] {
    require_place(session);
    INGOT_REQUIRE(path != nullptr, "the path is null");
    *session = new ingot_session(std::make_shared<LoadedModel>(path, options_of(options)), "");
  });
}
void ingot_session_close(ingot_session* session) { delete session; }

size_t ingot_session_entry_count(const ingot_session* s) { return s ? s->model->entries().size() : 0; }
ingot_status ingot_session_entry_name(const ingot_session* s, size_t k, const char** name) {
  return guarded([&] {
    require_place(name);
    const std::vector<std::string>& entries = model_of(s).entries();
    INGOT_REQUIRE(k < entries.size(), "entry point ", k, ": there are ", entries.size());
    *name = entries[k].c_str();
  });
}
ingot_status ingot_session_open_entry(const ingot_session* s, const char* name, ingot_session** entry) {
  return guarded([&] {
    require_place(entry);
    INGOT_REQUIRE(name != nullptr, "the name of an entry point is null");
    *entry = new ingot_session(checked(s).model, name);
  });
}

size_t ingot_session_input_count(const ingot_session* s) { return s ? s->input_names.size() : 0; }
size_t ingot_session_output_count(const ingot_session* s) { return s ? s->output_names.size() : 0; }
size_t ingot_session_symbol_count(const ingot_session* s) {
  return s && s->library().is_own() ? s->session.description("ingot_session_symbol_count").info().symbol_count : 0;
}

ingot_status ingot_session_input(const ingot_session* s, size_t k, ingot_value* value) {
  return guarded([&] {
    require_place(value);
    if (!checked(s).library().is_own()) return name_alone(s->input_names, "input", k, value);
    *value = value_of(s->session.description("ingot_session_input").input(k));
  });
}
ingot_status ingot_session_output(const ingot_session* s, size_t k, ingot_value* value) {
  return guarded([&] {
    require_place(value);
    if (!checked(s).library().is_own()) return name_alone(s->output_names, "output", k, value);
    *value = value_of(s->session.description("ingot_session_output").output(k));
  });
}
ingot_status ingot_session_symbol(const ingot_session* s, size_t k, ingot_symbol_info* symbol) {
  return guarded([&] {
    require_place(symbol);
    *symbol = checked(s).session.description("ingot_session_symbol").symbol(k);
  });
}
ingot_status ingot_session_level_used(const ingot_session* s, const char** level) {
  return guarded([&] {
    require_place(level);
    const ModelContainer& container = container_of(s);
    container.library().require_own("ingot_session_level_used");
    container.require(container.library().ingot_model_level_used(level), "ingot_model_level_used(level)");
  });
}

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

ingot_status ingot_session_set_threads(ingot_session* s, int32_t threads) {
  return guarded([&] {
    model_of(s).library().require_own("ingot_session_set_threads");
    container_of(s).set_threads(threads);
  });
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
