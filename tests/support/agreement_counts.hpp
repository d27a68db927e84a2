// How many random programs are of each class: exact counts, for the tests that hold them.
#pragma once
#include <map>
#include <string>

#include "support/compare_functionalized.hpp"

namespace ingot::testing {

using Counts = std::map<std::string, int>;
// How many agree, agree in values, and are refused for each reason; no other class may appear.
inline Counts counts(int agree, int in_values, int as_strided, int storage, int backward, int histories) {
  Counts c;
  const auto add = [&](Agreement a, int n) {
    if (n > 0) c[name_of(a)] = n;
  };
  add(Agreement::agrees, agree);
  add(Agreement::agrees_in_values, in_values);
  add(Agreement::refused_as_strided, as_strided);
  add(Agreement::refused_storage, storage);
  add(Agreement::refused_backward, backward);
  add(Agreement::refused_histories, histories);
  return c;
}

}  // namespace ingot::testing
