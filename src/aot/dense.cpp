#include "aot/dense.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace ingot::aot {

DenseLayout::DenseLayout(const Values& values) {
  for (const Value& v : values) add(is_wrapper(v) ? layout_of(v.tensor()) : WrapperLayout{});
}

DenseLayout::DenseLayout(std::vector<WrapperLayout> layouts) {
  for (WrapperLayout& l : layouts) add(std::move(l));
}

void DenseLayout::add(WrapperLayout layout) {
  has_wrappers_ = has_wrappers_ || layout.cls;
  first_.push_back(dense_size_);
  dense_size_ += layout.leaves();
  layouts_.push_back(std::move(layout));
}

DenseLayout DenseLayout::at(const std::vector<std::size_t>& places) const {
  DenseLayout some;
  for (const std::size_t k : places) some.add(layouts_[k]);
  return some;
}

std::vector<int> DenseLayout::dense_places(const std::function<bool(std::size_t)>& is_meant) const {
  std::vector<int> places;
  for (std::size_t k = 0; k < layouts_.size(); k++)
    for (std::size_t i = 0; i < layouts_[k].leaves() && is_meant(k); i++) places.push_back(static_cast<int>(first_[k] + i));
  return places;
}

Values DenseLayout::wrapped(Values dense) const {
  if (!has_wrappers_) return dense;
  INGOT_REQUIRE(dense.size() == dense_size_, "Expected the number actual unwrapped-subclass outputs ", dense.size(),
                " to equal the number of args calculated from subclasses (", dense_size_,
                ") plus the number of additional activations saved for the backward pass (0)");
  std::vector<WrapperLayout> wanted;
  TensorList leaves;
  std::vector<bool> is_made(layouts_.size());
  for (std::size_t k = 0; k < layouts_.size(); k++) {
    const auto first = dense.begin() + static_cast<std::ptrdiff_t>(first_[k]),
               last = first + static_cast<std::ptrdiff_t>(layouts_[k].leaves());
    is_made[k] = layouts_[k].cls && std::any_of(first, last, [](const Value& v) { return v.is_tensor(); });
    if (!is_made[k]) continue;
    wanted.push_back(layouts_[k]);
    for (auto v = first; v != last; ++v) leaves.push_back(v->tensor());
  }
  const TensorList made = unflatten_wrappers(wanted, leaves);
  Values outer;
  std::size_t next = 0;
  for (std::size_t k = 0; k < layouts_.size(); k++) {
    if (is_made[k]) outer.push_back(made[next++]);
    else outer.push_back(layouts_[k].cls ? Value() : dense[first_[k]]);
  }
  return outer;
}

bool is_wrapper(const Value& v) { return v.is_tensor() && wrapper_state(v.tensor()); }

Values unwrapped(const Values& values) {
  Values dense;
  for (const Value& v : values) {
    if (!is_wrapper(v)) {
      dense.push_back(v);
      continue;
    }
    for (const Tensor& leaf : flatten_wrappers({v.tensor()}).leaves) dense.push_back(leaf);
  }
  return dense;
}

}  // namespace ingot::aot
