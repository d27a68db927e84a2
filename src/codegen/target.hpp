// What code generation asks of a target (ingot/target.hpp).
#pragma once
#include <string_view>

#include "ingot/target.hpp"

namespace ingot {

enum class Arch { x86_64, aarch64 };

std::string_view to_text(Arch arch);  // "x86_64", "aarch64"

Arch arch_of(const Target& target);
bool has_feature(const Target& target, std::string_view feature);  // "avx512f": named, or implied by the processor
int vector_bits(const Target& target);                             // of the widest vector register to generate code for

}  // namespace ingot
