// How many random programs are of each class, and how many gradients: exact counts, for the tests
// that hold them.
#pragma once
#include <map>
#include <ostream>
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
// Of results and inputs of programs that ran both ways: how many require no grad, have gradients
// that agree, that agree and lie otherwise, have some that both, eager alone, and the other way
// alone refuse.
inline GradientCounts gradients(int no_history, int agree, int in_values, int both_refuse, int refused_by_eager, int refused) {
  GradientCounts c;
  const auto add = [&](GradientAgreement a, int n) {
    if (n > 0) c[a] = n;
  };
  add(GradientAgreement::no_history, no_history);
  add(GradientAgreement::agree, agree);
  add(GradientAgreement::agree_in_values, in_values);
  add(GradientAgreement::both_refuse, both_refuse);
  add(GradientAgreement::refused_by_eager, refused_by_eager);
  add(GradientAgreement::refused, refused);
  return c;
}

// What was found of many programs.
struct Found {
  Counts programs;
  GradientCounts gradients;

  void add(const Comparison& c) {
    programs[name_of(c.agreement)]++;
    for (const auto& [kind, n] : c.gradients) gradients[kind] += n;
  }
  bool operator==(const Found&) const = default;
};
inline void PrintTo(const Found& f, std::ostream* out) {
  for (const auto& [name, n] : f.programs) *out << "\n" << n << " programs: " << name;
  for (const auto& [kind, n] : f.gradients) *out << "\n" << n << " gradients: " << name_of(kind);
}

}  // namespace ingot::testing
