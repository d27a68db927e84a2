#include "op/device_kernels.hpp"

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

const Op& functional_of(const Op& op) { return op.functional ? *op.functional : op; }

}  // namespace

void register_kernels(DeviceType kind, std::span<const DeviceKernel> given) {
  INGOT_REQUIRE(kind != DeviceType::cpu, "the CPU's kernels stand in the definitions of ops (OpDef::kernel)");
  const std::unique_lock lock(kernels().mutex);
  for (const DeviceKernel& k : given) kernels().by_op[{kind, k.op}] = k.kernel;
}

bool only_moves_elements(const Op& op) { return functional_of(op).def->result.only_moved; }

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
