#include "nn/named_values.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "ingot/ingot.hpp"

namespace ingot::nn {

Tensor value_of(double x) { return scalar_tensor(x, {.dtype = float64}); }

NamedTensors all_of(const SafeTensors& file) {
  NamedTensors values;
  for (const auto& name : file.names()) values.emplace_back(name, file.get(name));
  return values;
}

Tensor GivenState::take(const std::string& name) {
  const auto found = std::ranges::find(values_, name, &NamedTensors::value_type::first);
  if (found == values_.end()) return {};
  const Tensor t = found->second;
  values_.erase(found);
  return t;
}
double GivenState::number(const std::string& name) {
  const Tensor t = take(name);
  INGOT_REQUIRE(t.defined() && t.dim() == 0, "load_state: ", what_, " needs a number ", name, ", found ",
                t.defined() ? "a tensor of size " + to_text(t.sizes()) : "none");
  return t.item_double();
}
void GivenState::expect_all_taken() const {
  INGOT_REQUIRE(values_.empty(), "load_state: unexpected: ", values_[0].first, ", which ", what_, " does not have");
}

}  // namespace ingot::nn
