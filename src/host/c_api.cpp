// Sessions of ingot/ingot.h: opened, and asked what their model is.
#include "host/c_session.hpp"

#include <memory>
#include <utility>

#include "base/dlpack_type.hpp"
#include "base/error.hpp"
#include "host/c_status.hpp"
#include "host/c_versions.hpp"

using namespace ingot;

ingot_session::ingot_session(std::shared_ptr<LoadedModel> loaded, std::string_view entry)
    : model(std::move(loaded)), session({model, &model->container()}, entry) {
  const auto inputs = session.input_names(), outputs = session.output_names();
  INGOT_REQUIRE(inputs && outputs, model->library().path(), " does not say what its inputs and outputs are");
  input_names = *inputs;
  output_names = *outputs;
}

const ingot_session& ingot::checked(const ingot_session* s) {
  INGOT_REQUIRE(s != nullptr, "the session is null");
  return *s;
}

void ingot::require_inputs(const ingot_session& s, const DLTensor* const* inputs, std::size_t count) {
  INGOT_REQUIRE(count == 0 || inputs != nullptr, "the array of inputs is null");
  INGOT_REQUIRE(count == s.input_names.size(), "expected ", s.input_names.size(), " inputs, found ", count);
}

std::string ingot::input_text(const ingot_session& s, std::size_t k) { return text("input ", k, " (", s.input_names[k], ")"); }

namespace {

ingot_value value_of(const ingot_value_info& i) {
  return {i.name, dlpack_type(dtype_of_code(i.dtype).value_or(DType::f32)), i.rank, i.sizes, i.is_number, i.is_written};
}

// All that a library which is not Ingot's says of an input or output.
void name_alone(const std::vector<std::string>& names, const char* what, std::size_t k, ingot_value* value) {
  INGOT_REQUIRE(k < names.size(), what, " ", k, ": there are ", names.size());
  *value = {names[k].c_str(), {}, -1, nullptr, false, false};
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

ingot_status ingot_session_set_threads(ingot_session* s, int32_t threads) {
  return guarded([&] {
    model_of(s).library().require_own("ingot_session_set_threads");
    container_of(s).set_threads(threads);
  });
}
ingot_status ingot_session_set_seed(ingot_session* s, uint64_t seed) {
  return guarded([&] {
    model_of(s).library().require_own("ingot_session_set_seed");
    container_of(s).set_seed(seed);
  });
}

size_t ingot_session_metadata_count(const ingot_session* s) { return s ? s->model->metadata().size() : 0; }
ingot_status ingot_session_metadata(const ingot_session* s, size_t k, const char** key, const char** value) {
  return guarded([&] {
    require_place(key);
    require_place(value);
    const auto& metadata = model_of(s).metadata();
    INGOT_REQUIRE(k < metadata.size(), "metadata entry ", k, ": there are ", metadata.size());
    *key = metadata[k].key;
    *value = metadata[k].value;
  });
}
ingot_status ingot_session_find_metadata(const ingot_session* s, const char* key, const char** value) {
  return guarded([&] {
    require_place(value);
    INGOT_REQUIRE(key != nullptr, "the key is null");
    std::string known;
    for (const LoadedModel::Metadata& m : model_of(s).metadata()) {
      if (std::string_view(m.key) == key) return void(*value = m.value);
      known += (known.empty() ? "" : ", ") + std::string(m.key);
    }
    throw_user_error(text("the model has no metadata '", key, "'; it has ", known.empty() ? "none" : known));
  });
}
ingot_status ingot_session_weights_file(const ingot_session* s, const char** file) {
  return guarded([&] {
    require_place(file);
    const ModelLibrary& library = model_of(s).library();
    library.require_own("ingot_session_weights_file");
    *file = library.ingot_model_weights_file();
  });
}
