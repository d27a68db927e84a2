// An entry of the cache as text (R188).
#pragma once
#include <map>

#include "aot/assembly.hpp"
#include "expr/guards.hpp"

namespace ingot::aot {

struct CacheEntry {
  std::string forward, backward;  // keys of artifacts; no backward: without gradients; one for both: a pair
  Assembly assembly;
  struct Condition {
    std::string text;
    bool answer = true;
  };
  std::vector<Condition> guards;  // what the caller's sizes were asked
};

// JSON; views are graphs in it. User error for what has no text: a view by open sizes, a wrapper
// class that no argument is of.
std::string to_json(const CacheEntry& e, const DenseLayout& arguments);
// The entry that `json` is; `what` starts every message. Wrapper classes are those of the
// arguments. User error for any other text.
CacheEntry read_entry(const std::string& json, const std::string& what, const DenseLayout& arguments, int params_and_buffers,
                      int id);

}  // namespace ingot::aot
