#include "graph/target.hpp"

#include "base/error.hpp"
#include "graph/scalar_function.hpp"
#include "graph/vmap_call.hpp"

namespace ingot {

const Op* find_target(std::string_view target) {
  constexpr std::string_view kOps = "torch.ops.";
  if (!target.starts_with(kOps)) return nullptr;
  target.remove_prefix(kOps.size());
  const std::size_t dot = target.find('.');
  if (dot == target.npos) return nullptr;
  const std::string_view ns = target.substr(0, dot);
  const bool has_overload = target.find('.', dot + 1) != target.npos;
  const Op* op = find_op(text(ns, "::", target.substr(dot + 1)));
  return op != nullptr && has_overload == (op->form() != Form::higher_order) ? op : nullptr;
}

bool is_known_target(std::string_view target) {
  return target == kGradModeTarget || find_scalar_function(target) || find_vmap_call(target) || find_target(target) != nullptr;
}

}  // namespace ingot
