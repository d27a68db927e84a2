#include "op/deterministic.hpp"

#include "base/error.hpp"
#include "op/call.hpp"

namespace ingot {

void refuse_if_deterministic(std::string_view who) {
  INGOT_REQUIRE(
      !thread_state().deterministic, who,
      " does not have a deterministic implementation, but you set "
      "'torch.use_deterministic_algorithms(True)'. You can turn off determinism just for this operation (DeterministicGuard "
      "of ingot/state.hpp), if that's acceptable for your application.");
}

}  // namespace ingot
