// NodeNames of graph values, chosen as FX chooses them (G05 of the spec), so that listings match the reference's.
#pragma once
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace ingot {

bool is_identifier(std::string_view s);
// A keyword or builtin of Python, or a word that has a meaning in every graph's text: inf, nan, torch, device, self …
bool is_reserved(std::string_view name);

class NodeNames {
 public:
  // `wish` if it is a free identifier and not reserved, else with the next free suffix: sum_1,
  // add_2, copy__1. Characters that no identifier has become '_'.
  std::string unique(std::string_view wish);

 private:
  std::set<std::string, std::less<>> used_;
  std::map<std::string, int64_t, std::less<>> counts_;  // of a base name: the last suffix given
};

}  // namespace ingot
