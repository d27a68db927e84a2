#include "graph/target.hpp"

#include <algorithm>
#include <iterator>

#include "base/error.hpp"
#include "graph/scalar_function.hpp"

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

std::optional<VmapCall> find_vmap_call(std::string_view target) {
  constexpr std::string_view kVmap = "torch._functorch.predispatch.";
  constexpr std::string_view kNames[] = {"lazy_load_decompositions", "_vmap_increment_nesting", "_add_batch_dim",
                                         "_remove_batch_dim", "_vmap_decrement_nesting"};  // in the order of the enumerators
  static_assert(std::size(kNames) == static_cast<std::size_t>(VmapCall::end) + 1);
  if (!target.starts_with(kVmap)) return std::nullopt;
  const auto* const found = std::ranges::find(kNames, target.substr(kVmap.size()));
  if (found == std::end(kNames)) return std::nullopt;
  return static_cast<VmapCall>(found - std::begin(kNames));
}

bool is_known_target(std::string_view target) {
  return target == kGradModeTarget || find_scalar_function(target) || find_target(target) != nullptr;
}

}  // namespace ingot
