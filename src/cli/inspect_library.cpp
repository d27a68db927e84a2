#include "cli/inspect_library.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <optional>

#include "base/error.hpp"
#include "cli/describe_foreign.hpp"
#include "cli/library_description.hpp"
#include "cli/open_model.hpp"
#include "cli/quantity.hpp"
#include "host/elf_file.hpp"
#include "io/json.hpp"
#include "io/json_writer.hpp"

namespace ingot {
namespace {

EntryText describe_entry(const LibraryEntry& entry) {
  const auto as_text = [](const ingot_value_info& v) { return ValueText{v.name, type_text(v), "", v.is_number, v.is_written}; };
  EntryText e;
  e.name = entry.info().name;
  for (std::size_t k = 0; k < entry.info().input_count; k++) e.inputs.push_back(as_text(entry.input(k)));
  for (std::size_t k = 0; k < entry.info().output_count; k++) e.outputs.push_back(as_text(entry.output(k)));
  for (std::size_t k = 0; k < entry.info().symbol_count; k++) {
    const ingot_symbol_info s = entry.symbol(k);
    e.symbols.push_back({s.name, s.min, s.max});
  }
  for (std::size_t k = 0; k < entry.info().guard_count; k++) e.guards.emplace_back(entry.guard(k));
  return e;
}

void describe_own(const ModelLibrary& l, LibraryDescription& d) {
  d.name = l.ingot_model_name();
  const char* level = "";
  if (l.ingot_model_level_used(&level) == AOTI_RUNTIME_SUCCESS) d.level_used = level;
  if (const char* file = l.ingot_model_weights_file()) d.weights_file = file;
  const std::size_t entries = entry_names(l).size();
  for (std::size_t e = 0; e < entries; e++) d.entries.push_back(describe_entry(LibraryEntry(l, e, "inspect")));
  for (std::size_t k = 0; k < l.ingot_model_level_count(); k++) {
    l.ingot_model_level(k, &level);
    d.levels.emplace_back(level);
  }
  for (std::size_t k = 0; k < l.ingot_model_metadata_count(); k++) {
    const char *key = "", *value_text = "";
    l.ingot_model_metadata(k, &key, &value_text);
    d.metadata.emplace_back(key, value_text);
  }
}

std::vector<ValueText> named(const std::vector<std::string>& names, const std::vector<std::string>& places) {
  std::vector<ValueText> out;
  for (std::size_t k = 0; k < names.size(); k++) out.push_back({names[k], "", places.empty() ? "" : places[k]});
  return out;
}

LibraryDescription describe(OpenModel& model) {
  const ModelContainerRunner& runner = model.runner();
  const ModelLibrary& l = runner.library();
  LibraryDescription d;
  d.is_own = l.is_own();
  if (d.is_own) {
    describe_own(l, d);
  } else {
    d.name = model.package ? "model" : std::filesystem::path(l.path()).stem().string();
    d.entries.push_back({"forward",
                         named(runner.input_names(), places_of_inputs(runner)),
                         named(runner.output_names(), places_of_outputs(runner)),
                         {},
                         {}});
  }
  if (model.package)
    for (const auto& [key, value] : model.package->metadata()) d.metadata.emplace_back(key, value);
  for (const ModelContainer::Constant& c : runner.session().container().constants())
    d.constants.push_back({c.name, c.fqn, dtype_text(c.dtype), constant_kind(c.kind), c.bytes});
  d.file_bytes = std::filesystem::file_size(l.path());
  d.machine = elf_machine(l.path());
  return d;
}

void write_values(JsonWriter& w, std::string_view key, const std::vector<ValueText>& values, bool is_own) {
  w.key(key).begin_list();
  for (const ValueText& v : values) {
    w.begin_object().field("name", v.name);
    if (is_own) w.field("type", v.type).field("is_number", v.is_number).field("is_written", v.is_written);
    else w.field("place", v.place);
    w.end();
  }
  w.end();
}

void write_strings(JsonWriter& w, std::string_view key, const std::vector<std::string>& strings) {
  w.key(key).begin_list();
  for (const std::string& s : strings) w.value(s);
  w.end();
}

void write_entry(JsonWriter& w, const EntryText& e, bool is_own) {
  write_values(w, "inputs", e.inputs, is_own);
  write_values(w, "outputs", e.outputs, is_own);
  w.key("symbols").begin_list();
  for (const SymbolText& s : e.symbols) w.begin_object().field("name", s.name).field("min", s.min).field("max", s.max).end();
  w.end();
  write_strings(w, "guards", e.guards);
}

// What concerns the first entry point stands by itself too: most libraries have no other.
void print_json(const std::string& path, const LibraryDescription& d) {
  JsonWriter w(true);
  w.begin_object().field("file", path).field("name", d.name).field("machine", d.machine).field("library_bytes", d.file_bytes);
  write_entry(w, d.entries[0], d.is_own);
  w.key("entries").begin_list();
  for (const EntryText& e : d.entries) {
    w.begin_object().field("name", e.name);
    write_entry(w, e, d.is_own);
    w.end();
  }
  w.end();
  write_strings(w, "levels", d.levels);
  w.field("level_used", d.level_used).field("weights_file", d.weights_file).key("constants").begin_list();
  for (const ConstantInfo& c : d.constants)
    w.begin_object()
        .field("name", c.name)
        .field("fqn", c.fqn)
        .field("dtype", c.dtype)
        .field("kind", c.kind)
        .field("bytes", c.bytes)
        .end();
  w.end().key("metadata").begin_object();
  for (const auto& [key, value] : d.metadata) w.field(key, value);
  std::cout << w.end().end().take() << '\n';
}

void print_values(const char* title, const std::vector<ValueText>& values) {
  std::printf("%s\n", title);
  int width = 0;
  for (const ValueText& v : values) width = std::max(width, static_cast<int>(v.name.size()));
  for (const ValueText& v : values)
    std::printf("  %-*s  %s%s%s%s\n", width, v.name.c_str(), v.type.c_str(), v.place.c_str(), v.is_number ? "  (a number)" : "",
                v.is_written ? "  (written)" : "");
}

std::string bound_text(int64_t max) { return max >= (int64_t{1} << 62) ? "any" : std::to_string(max); }

void print_entry(const EntryText& e) {
  print_values("inputs", e.inputs);
  print_values("outputs", e.outputs);
  if (!e.symbols.empty()) std::printf("open sizes\n");
  for (const SymbolText& s : e.symbols)
    std::printf("  %s  from %lld to %s\n", s.name.c_str(), static_cast<long long>(s.min), bound_text(s.max).c_str());
  if (!e.guards.empty()) std::printf("conditions\n");
  for (const std::string& g : e.guards) std::printf("  %s\n", g.c_str());
}

void print_text(const std::string& path, const LibraryDescription& d) {
  std::printf("%s: compiled model '%s'%s for %s, %s\n", path.c_str(), d.name.c_str(), d.is_own ? "" : " made by AOTInductor",
              d.machine.c_str(), bytes_text(d.file_bytes).c_str());
  for (const EntryText& e : d.entries) {
    if (d.entries.size() > 1) std::printf("entry point %s\n", e.name.c_str());
    print_entry(e);
  }
  std::size_t bytes = 0;
  for (const ConstantInfo& c : d.constants) bytes += c.bytes;
  std::printf("constants  %zu (%s%s%s)\n", d.constants.size(), bytes_text(bytes).c_str(), d.weights_file.empty() ? "" : ", in ",
              d.weights_file.c_str());
  for (const ConstantInfo& c : d.constants)
    std::printf("  %-40s %-5s %10s  %s\n", c.fqn.c_str(), c.dtype.c_str(), bytes_text(c.bytes).c_str(), c.kind.c_str());
  if (d.is_own) std::printf("processors");
  for (const std::string& level : d.levels) std::printf("  %s%s", level.c_str(), level == d.level_used ? " (used here)" : "");
  if (d.is_own) std::printf("\n");
  for (const auto& [key, value] : d.metadata) std::printf("%s = %s\n", key.c_str(), value.c_str());
}

// Of a model that cannot be loaded because it is for another machine; none where that is not why.
std::optional<LibraryDescription> describe_unloaded(const std::string& path, const std::string& model_name) {
  std::optional<UnpackedModel> package;
  if (is_package(path)) package.emplace(unpack_model(path, model_name));
  const std::string library = package ? package->library : path;
  try {
    if (elf_machine(library) == kOwnMachine) return {};
  } catch (const UserError&) {
    return {};  // no library at all
  }
  LibraryDescription d = describe_foreign(library);
  if (package && !package->metadata.empty()) {
    const JsonDocument document(package->metadata, path);
    for (const auto& [key, value] : document.root().fields()) d.metadata.emplace_back(key, value.string());
  }
  if (!d.is_own) d.name = package ? "model" : std::filesystem::path(path).stem().string();
  return d;
}

LibraryDescription describe(const std::string& path, const std::string& model_name) {
  std::exception_ptr why;
  try {
    OpenModel model = open_model(path, model_name);
    return describe(model);
  } catch (const UserError&) {
    why = std::current_exception();
  }
  std::optional<LibraryDescription> d = describe_unloaded(path, model_name);
  if (!d) std::rethrow_exception(why);
  return *std::move(d);
}

}  // namespace

void inspect_compiled(const std::string& path, const std::string& model_name, bool json) {
  const LibraryDescription d = describe(path, model_name);
  json ? print_json(path, d) : print_text(path, d);
}

}  // namespace ingot
