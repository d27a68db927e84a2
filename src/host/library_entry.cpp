#include "host/library_entry.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace ingot {
namespace {

void require(const ModelLibrary& library, AOTIRuntimeError error) {
  INGOT_REQUIRE(error == AOTI_RUNTIME_SUCCESS, library.last_error());
}

}  // namespace

std::vector<std::string> entry_names(const ModelLibrary& library) {
  if (!library.ingot_model_entry) return {"forward"};
  std::vector<std::string> names;
  for (std::size_t k = 0; k < library.ingot_model_entry_count(); k++) {
    ingot_entry_info info{};
    require(library, library.ingot_model_entry(k, &info));
    names.emplace_back(info.name);
  }
  return names;
}

std::size_t entry_place(const ModelLibrary& library, std::string_view name) {
  if (name.empty()) return 0;
  if (library.ingot_model_find_entry) {
    std::size_t place = 0;
    const AOTIRuntimeError error = library.ingot_model_find_entry(std::string(name).c_str(), &place);
    INGOT_REQUIRE(error == AOTI_RUNTIME_SUCCESS, library.path(), ": ", library.last_error());
    return place;
  }
  // Of before that function, or another compiler's.
  const std::vector<std::string> all = entry_names(library);
  const auto found = std::find(all.begin(), all.end(), name);
  if (found == all.end()) {
    std::string known;
    for (const std::string& n : all) known += (known.empty() ? "" : ", ") + n;
    throw_user_error(text(library.path(), ": the library has no entry point '", name, "'; it has ", known));
  }
  return static_cast<std::size_t>(found - all.begin());
}

LibraryEntry::LibraryEntry(const ModelLibrary& library, std::size_t place, const char* what) : library_(library), place_(place) {
  library.require_own(what);
  if (library.ingot_model_entry) require(library, library.ingot_model_entry(place, &info_));
  else
    info_ = {"forward",
             "",
             "",
             library.ingot_model_input_count(),
             library.ingot_model_output_count(),
             library.ingot_model_symbol_count(),
             library.ingot_model_guard_count()};
}

ingot_value_info LibraryEntry::input(std::size_t k) const {
  ingot_value_info value{};
  require(library_,
          library_.ingot_entry_input ? library_.ingot_entry_input(place_, k, &value) : library_.ingot_model_input(k, &value));
  return value;
}
ingot_value_info LibraryEntry::output(std::size_t k) const {
  ingot_value_info value{};
  require(library_,
          library_.ingot_entry_output ? library_.ingot_entry_output(place_, k, &value) : library_.ingot_model_output(k, &value));
  return value;
}
ingot_symbol_info LibraryEntry::symbol(std::size_t k) const {
  ingot_symbol_info symbol{};
  require(library_, library_.ingot_entry_symbol ? library_.ingot_entry_symbol(place_, k, &symbol)
                                                : library_.ingot_model_symbol(k, &symbol));
  return symbol;
}
const char* LibraryEntry::guard(std::size_t k) const {
  const char* condition = "";
  require(library_, library_.ingot_entry_guard ? library_.ingot_entry_guard(place_, k, &condition)
                                               : library_.ingot_model_guard(k, &condition));
  return condition;
}

std::vector<int64_t> LibraryEntry::symbol_values(const std::vector<ingot_tensor_info>& inputs) const {
  INGOT_REQUIRE(
      library_.ingot_entry_symbol_values, library_.path(),
      " was made by an older version of Ingot, which cannot say what sizes a run would have; compile the program again");
  std::vector<int64_t> values(info_.symbol_count);
  std::size_t decided = 0;
  require(library_, library_.ingot_entry_symbol_values(place_, inputs.data(), inputs.size(), values.data(), &decided));
  values.resize(decided);
  return values;
}

}  // namespace ingot
