// Rules that several ops share and that are told which of these it is: one function, not one for
// each op.
//
//   .kernel = rule_for<max_pool_kernel, 2>    where    void max_pool_kernel(int space, const Call&, std::span<const Tensor>)
#pragma once
#include <span>

#include "op/op.hpp"

namespace ingot {

template <auto Rule, auto Kind>
void rule_for(const Call& c, Outputs& o) {
  Rule(Kind, c, o);
}
template <auto Rule, auto Kind>
void rule_for(const Call& c, std::span<const Tensor> results) {
  Rule(Kind, c, results);
}

}  // namespace ingot
