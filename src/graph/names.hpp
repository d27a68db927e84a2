// Names of graph values, chosen as FX chooses them (G05 of the spec), so that listings match the
// reference's.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace ingot {

bool is_identifier(std::string_view s);
// A keyword or builtin of Python, or a word that has a meaning in every graph's text: inf, nan,
// torch, device, self …
bool is_reserved(std::string_view name);

// How listings call the inputs of a joint or backward graph that are gradients of results, with a
// number after it.
inline constexpr std::string_view kTangents = "tangents_";

class NodeNames {
 public:
  // `wish` if it is a free identifier and not reserved, else with the next free suffix: sum_1,
  // add_2, copy__1. Characters that no identifier has become '_'.
  std::string unique(std::string_view wish);

 private:
  std::unordered_set<std::string> used_;
  std::unordered_map<std::string, int64_t> counts_;  // of a base name: the last suffix given
  // Of a base name: the runs of suffixes that are used, first to last. A program may have one name
  // many times, and looking for a free suffix one by one would take as long as all of them.
  using Runs = std::map<int64_t, int64_t>;
  std::unordered_map<std::string, Runs> runs_;
  int64_t next_free(const std::string& base, int64_t after) const;
  void use(const std::string& name);
};

}  // namespace ingot
