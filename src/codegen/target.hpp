// What code generation asks of a target (ingot/target.hpp).
#pragma once
#include <string_view>

#include "ingot/target.hpp"

namespace ingot {

// What code is made for. What depends on it asks by a switch without a default, so that another one
// is never taken for one of these.
enum class Arch { x86_64, aarch64 };

std::string_view to_text(Arch arch);  // "x86_64", "aarch64"

Arch arch_of(const Target& target);  // user error if its triple has none of these
bool has_feature(const Target& target, std::string_view feature);  // "avx512f": named, or implied by the processor
int vector_bits(const Target& target);                             // of the widest vector register to generate code for

}  // namespace ingot
