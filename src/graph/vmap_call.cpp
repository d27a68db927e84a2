#include "graph/vmap_call.hpp"

#include <array>

namespace ingot {

namespace {

struct Info {
  std::string_view target, schema;
};
// In the order of the enumerators.
constexpr Info kInfo[] = {
    {"torch._functorch.predispatch.lazy_load_decompositions", "vmap::prepare() -> ()"},
    {"torch._functorch.predispatch._vmap_increment_nesting", "vmap::begin(SymInt batch_size, str randomness) -> ()"},
    {"torch._functorch.predispatch._add_batch_dim", "vmap::argument(Tensor self, SymInt? batch_dim, SymInt level) -> Tensor"},
    {"torch._functorch.predispatch._remove_batch_dim",
     "vmap::result(Tensor self, SymInt level, SymInt batch_size, SymInt? out_dim) -> Tensor"},
    {"torch._functorch.predispatch._vmap_decrement_nesting", "vmap::end() -> ()"}};
constexpr std::size_t kCalls = std::size(kInfo);
static_assert(kCalls == static_cast<std::size_t>(VmapCall::end) + 1);

}  // namespace

std::string_view target_of(VmapCall c) { return kInfo[static_cast<std::size_t>(c)].target; }

std::string_view name_of(VmapCall c) {
  const std::string_view target = target_of(c);
  return target.substr(target.rfind('.') + 1);
}

std::optional<VmapCall> find_vmap_call(std::string_view target) {
  for (std::size_t i = 0; i < kCalls; i++)
    if (kInfo[i].target == target) return static_cast<VmapCall>(i);
  return std::nullopt;
}

const Schema& schema_of(VmapCall c) {
  static const std::array<Schema, kCalls> schemas = [] {
    std::array<Schema, kCalls> parsed;
    for (std::size_t i = 0; i < kCalls; i++) parsed[i] = parse_schema(kInfo[i].schema);
    return parsed;
  }();
  return schemas[static_cast<std::size_t>(c)];
}

}  // namespace ingot
