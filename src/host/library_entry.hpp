// What a library that Ingot made says about one of its entry points.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "host/library.hpp"

namespace ingot {

// The names of its functions. A library of before there could be several has one, and so has every
// other compiler's.
std::vector<std::string> entry_names(const ModelLibrary& library);
// The place of that name among them; "" is the first. User error where it has none.
std::size_t entry_place(const ModelLibrary& library, std::string_view name);

class LibraryEntry {
 public:
  // User error unless the library is Ingot's: `what` names what asked for it.
  LibraryEntry(const ModelLibrary& library, std::size_t place, const char* what);

  const ingot_entry_info& info() const { return info_; }
  // User error where there are fewer.
  ingot_value_info input(std::size_t k) const;
  ingot_value_info output(std::size_t k) const;
  ingot_symbol_info symbol(std::size_t k) const;
  const char* guard(std::size_t k) const;
  // The values of the symbols that inputs like these decide, the first ones. User error for inputs
  // that a run would refuse, and where the library is of before it could say.
  std::vector<int64_t> symbol_values(const std::vector<ingot_tensor_info>& inputs) const;

 private:
  const ModelLibrary& library_;
  std::size_t place_;
  ingot_entry_info info_{};
};

}  // namespace ingot
