// The rewrites of graphs that this folder makes, each a pass (pass/pass.hpp): timed, logged,
// verified, and seen or left out by the PassScope of whoever compiles or asks for gradients.
#pragma once
#include "pass/pass.hpp"

namespace ingot::aot {

inline constexpr StepName kForwardPart{"forward_part", true}, kBackwardPart{"backward_part", true};  // partition.hpp
inline constexpr StepName kReorder{"reorder"};                                                        // reorder.hpp
inline constexpr StepName kRandomStates{"random_states", true};                                       // random_states.hpp
inline constexpr StepName kOwnTokens{"own_tokens", true};                                             // own_tokens.hpp

// Every pass by its name, each once: first those that AOT makes, in the order in which a function
// with gradients comes by them, with those of src/pass that it comes by (dead code goes from every
// graph that was recorded, equal calls are merged before a min-cut), then the rest of those that
// Ingot's own compiler makes of its graphs (pass/compiler_passes.hpp). A PassScope around a
// compilation may skip none but these.
std::vector<StepName> pass_names();

}  // namespace ingot::aot
