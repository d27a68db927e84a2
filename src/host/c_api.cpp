// The functions of ingot/ingot.h: what they do is Session's; here errors become statuses.
#include <algorithm>
#include <cstdio>

#include "base/error.hpp"
#include "base/dlpack_type.hpp"
#include "host/session.hpp"

using namespace ingot;

struct ingot_session {
  Session session;
};

namespace {

// Fixed in size, so that to report a lack of memory needs none.
thread_local char last_error[4096] = "";

ingot_status fail(ingot_status status, const char* why) noexcept {
  std::snprintf(last_error, sizeof last_error, "%s", why);
  return status;
}

template <class F>
ingot_status guarded(const F& f) noexcept {
  try {
    f();
    return INGOT_OK;
  } catch (const UserError& e) {
    return fail(INGOT_INVALID, e.what());
  } catch (const std::exception& e) {
    return fail(INGOT_INTERNAL, e.what());
  } catch (...) {
    return fail(INGOT_INTERNAL, "an unknown exception");
  }
}

Session& session_of(ingot_session* s) {
  INGOT_REQUIRE(s != nullptr, "the session is null");
  return s->session;
}
const Session& session_of(const ingot_session* s) { return session_of(const_cast<ingot_session*>(s)); }

LoadedModel& model_of(const ingot_session* s) { return session_of(s).model(); }

template <class T>
void require_place(const T* result) {
  INGOT_REQUIRE(result != nullptr, "the address for the answer is null");
}

ingot_value value_of(const ingot_value_info& i) {
  return {i.name, dlpack_type(dtype_of_code(i.dtype).value_or(DType::f32)), i.rank, i.sizes, i.is_number, i.is_written};
}

// All that a library which is not Ingot's says of an input or output.
void name_alone(const std::vector<std::string>& names, const char* what, std::size_t k, ingot_value* value) {
  INGOT_REQUIRE(k < names.size(), what, " ", k, ": there are ", names.size());
  *value = {names[k].c_str(), {}, -1, nullptr, false, false};
}

Handles run(const Session& s, const DLTensor* const* inputs, std::size_t input_count, std::size_t output_count) {
  const std::size_t wanted = s.output_names().size();
  INGOT_REQUIRE(output_count == wanted, "expected room for ", wanted, " outputs, found ", output_count);
  INGOT_REQUIRE(input_count == 0 || inputs != nullptr, "the array of inputs is null");
  return s.run({inputs, input_count});
}

}  // namespace

const char* ingot_error(void) { return last_error; }
const char* ingot_version(void) { return INGOT_VERSION; }

ingot_status ingot_session_open(const char* path, const ingot_options* options, ingot_session** session) {
  return guarded([&] {
    require_place(session);
    INGOT_REQUIRE(path != nullptr, "the path is null");
    *session = new ingot_session{{path, options ? *options : ingot_options{}}};
  });
}
void ingot_session_close(ingot_session* session) { delete session; }

size_t ingot_session_entries(const ingot_session* s) { return s ? s->session.model().entries().size() : 0; }
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
    *entry = new ingot_session{{session_of(s).share_model(), name}};
  });
}

size_t ingot_session_inputs(const ingot_session* s) { return s ? s->session.input_names().size() : 0; }
size_t ingot_session_outputs(const ingot_session* s) { return s ? s->session.output_names().size() : 0; }
size_t ingot_session_symbols(const ingot_session* s) {
  return s && s->session.library().is_own() ? s->session.description("ingot_session_symbols").info().symbol_count : 0;
}

ingot_status ingot_session_input(const ingot_session* s, size_t k, ingot_value* value) {
  return guarded([&] {
    require_place(value);
    if (!session_of(s).library().is_own()) return name_alone(session_of(s).input_names(), "input", k, value);
    *value = value_of(session_of(s).description("ingot_session_input").input(k));
  });
}
ingot_status ingot_session_output(const ingot_session* s, size_t k, ingot_value* value) {
  return guarded([&] {
    require_place(value);
    if (!session_of(s).library().is_own()) return name_alone(session_of(s).output_names(), "output", k, value);
    *value = value_of(session_of(s).description("ingot_session_output").output(k));
  });
}
ingot_status ingot_session_symbol(const ingot_session* s, size_t k, ingot_open_size* symbol) {
  return guarded([&] {
    require_place(symbol);
    const ingot_symbol_info info = session_of(s).description("ingot_session_symbol").symbol(k);
    *symbol = {info.name, info.min, info.max};
  });
}
ingot_status ingot_session_level(const ingot_session* s, const char** level) {
  return guarded([&] {
    require_place(level);
    model_of(s).library().require_own("ingot_session_level");
    model_of(s).require(model_of(s).library().ingot_model_level_used(level));
  });
}

ingot_status ingot_session_run(ingot_session* s, const DLTensor* const* inputs, size_t input_count,
                               DLManagedTensorVersioned** outputs, size_t output_count) {
  return guarded([&] {
    INGOT_REQUIRE(output_count == 0 || outputs != nullptr, "the array of outputs is null");
    Handles results = run(session_of(s), inputs, input_count, output_count);
    std::vector<DLManagedTensorVersioned*> managed;
    try {
      for (std::size_t k = 0; k < results.size(); k++) {
        const AtenTensorHandle h = results.take(k);
        managed.push_back(h ? managed_tensor(model_of(s).share_library(), h) : nullptr);
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
    const LoadedModel& model = model_of(s);
    const Handles results = run(session_of(s), inputs, input_count, output_count);
    for (std::size_t k = 0; k < results.size(); k++) {
      ingot_tensor_info info{};
      model.require(model.library().ingot_tensor_describe(results[k], &info));
      copy_into(info, outputs[k], text("output ", k));
    }
  });
}

ingot_status ingot_session_set_threads(ingot_session* s, int32_t threads) {
  return guarded([&] {
    model_of(s).library().require_own("ingot_session_set_threads");
    model_of(s).require(model_of(s).library().ingot_container_set_threads(model_of(s).container(), threads));
  });
}

size_t ingot_session_constants(const ingot_session* s) { return s ? s->session.model().constants().size() : 0; }
ingot_status ingot_session_constant(const ingot_session* s, size_t k, ingot_constant_info* constant) {
  return guarded([&] {
    require_place(constant);
    const auto& constants = model_of(s).constants();
    INGOT_REQUIRE(k < constants.size(), "constant ", k, ": there are ", constants.size());
    *constant = constants[k]->info;
  });
}
ingot_status ingot_session_get_constant(ingot_session* s, const char* name, bool inactive, DLManagedTensorVersioned** tensor) {
  return guarded([&] {
    require_place(tensor);
    INGOT_REQUIRE(name != nullptr, "the name of a constant is null");
    const LoadedModel& model = model_of(s);
    ingot_tensor_info info{};
    model.require(model.library().ingot_tensor_describe(model.find_constant(name, inactive), &info));
    *tensor = managed_copy(info);
  });
}
ingot_status ingot_session_update(ingot_session* s, const ingot_named_tensor* tensors, size_t count, bool inactive, bool full) {
  return guarded([&] {
    INGOT_REQUIRE(count == 0 || tensors != nullptr, "the array of tensors is null");
    model_of(s).update({tensors, count}, inactive, full);
  });
}
ingot_status ingot_session_fold(ingot_session* s, bool inactive) {
  return guarded([&] { model_of(s).fold(inactive); });
}
ingot_status ingot_session_swap(ingot_session* s) {
  return guarded(
      [&] { model_of(s).require(model_of(s).library().AOTInductorModelContainerSwapConstantBuffer(model_of(s).container())); });
}
ingot_status ingot_session_free_inactive(ingot_session* s) {
  return guarded([&] {
    const auto free_inactive = model_of(s).library().AOTInductorModelContainerFreeInactiveConstantBuffer;
    INGOT_REQUIRE(free_inactive, "the library has no function AOTInductorModelContainerFreeInactiveConstantBuffer");
    model_of(s).require(free_inactive(model_of(s).container()));
  });
}
