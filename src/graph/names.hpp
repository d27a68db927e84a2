// NodeNames of graph values, chosen as FX chooses them (G05 of the spec), so that listings match the reference's.
#pragma once
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace ingot {

class NodeNames {
 public:
  // `wish` if it is a free identifier and no keyword or builtin of Python, else with the next free suffix: sum_1,
  // add_2, copy__1. Characters that no identifier has become '_'.
  std::string unique(std::string_view wish);

 private:
  std::set<std::string, std::less<>> used_;
  std::map<std::string, int64_t, std::less<>> counts_;  // of a base name: the last suffix given
};

}  // namespace ingot
