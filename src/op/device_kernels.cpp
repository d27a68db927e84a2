#include "op/device_kernels.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "tensor/device.hpp"

namespace ingot {
namespace {

struct Kernels {
  std::shared_mutex mutex;
  std::map<std::pair<DeviceType, std::string_view>, EagerKernel> by_op;
};
Kernels& kernels() {
  static Kernels k;
  return k;
}

// Sorted.
constexpr std::string_view kMoves[] = {
    "_efficientzerotensor",
    "_to_copy",
    "clone",
    "copy",
    "empty.memory_format",
    "empty_like",
    "empty_permuted",
    "empty_strided",
    "fill.Scalar",
    "fill.Tensor",
    "full",
    "full_like",
    "new_empty",
    "new_empty_strided",
    "new_full",
    "new_ones",
    "new_zeros",
    "ones",
    "ones_like",
    "scalar_tensor",
    "zero",
    "zeros",
    "zeros_like",
};
static_assert(std::is_sorted(std::begin(kMoves), std::end(kMoves)));

const Op& functional_of(const Op& op) { return op.functional ? *op.functional : op; }

}  // namespace

void register_kernels(DeviceType kind, std::span<const DeviceKernel> given) {
  INGOT_REQUIRE(kind != DeviceType::cpu, "the CPU's kernels stand in the definitions of ops (OpDef::kernel)");
  const std::unique_lock lock(kernels().mutex);
  for (const DeviceKernel& k : given) kernels().by_op[{kind, k.op}] = k.kernel;
}

bool only_moves_elements(const Op& op) {
  return std::binary_search(std::begin(kMoves), std::end(kMoves), functional_of(op).name);
}

EagerKernel device_kernel(const Op& op, Device device) {
  driver_of(device);  // whether there is such a device comes first
  {
    const std::shared_lock lock(kernels().mutex);
    if (const auto it = kernels().by_op.find({device.type, functional_of(op).name}); it != kernels().by_op.end())
      return it->second;
  }
  if (only_moves_elements(op)) return op.def->kernel;
  throw_user_error(text("there is no kernel of ", functional_of(op).name, " for ", device,
                        ": move the tensors with to(cpu), or register one (register_kernels)"));
}

}  // namespace ingot
