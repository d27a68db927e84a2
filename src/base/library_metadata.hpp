// What a library says in its metadata, by key.
#pragma once
#include <string>
#include <string_view>

namespace ingot {

// Arguments of a program that are no inputs, since it holds for one value of each: this and the
// place of the argument among the leaves of the call; the value is the text of the one that the
// program was exported with.
inline constexpr std::string_view kFixedInput = "fixed_input.";

// What other keys of Ingot's own begin with; keys of users do not.
inline constexpr std::string_view kOwnKeys = "ingot.";

// What the keys about an entry point begin with. Those about the first, "", begin with nothing.
inline std::string metadata_prefix(std::string_view entry) {
  return entry.empty() ? std::string() : "entry." + std::string(entry) + ".";
}

inline bool is_own_key(std::string_view key) {
  return key.starts_with(kFixedInput) || key.starts_with(kOwnKeys) || key.starts_with("entry.");
}

}  // namespace ingot
