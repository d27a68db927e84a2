#include "backend/cpu/schedule.hpp"

#include "backend/cpu/product.hpp"
#include "loop/schedule.hpp"

namespace ingot::cpu {

void schedule(loop::Program& p, const Target& target) {
  const std::vector<Microkernel> own = microkernels(target);
  // Neighbours are the lanes of vectors, and vectors of a few elements are mostly tail.
  loop::schedule(p, {[&](loop::Program& q, const loop::Computation& c) { return as_product(q, c, own); }, 8});
}

}  // namespace ingot::cpu
