#include "backend/backend.hpp"

#include "backend/cpu/code.hpp"
#include "backend/cpu/level.hpp"
#include "backend/cpu/product_layout.hpp"
#include "backend/cpu/schedule.hpp"
#include "base/error.hpp"

namespace ingot {
namespace {

constexpr Backend kCpu{cpu::level_for, cpu::schedule, cpu::why_no_code, cpu::generate_code};

}  // namespace

const Backend& backend_of(const Target& target) {
  switch (arch_of(target)) {
    case Arch::x86_64:
    case Arch::aarch64: return kCpu;
  }
  throw_internal_error(__FILE__, __LINE__, text("no backend makes code for ", target.triple));
}

}  // namespace ingot
