// Random programs compiled for open sizes compute what eager does; `ingot_compiled_fuzz` runs as many as one likes.
#include <gtest/gtest.h>

#include "compiled_programs/random_compute.hpp"

namespace ingot::testing {
namespace {

TEST(CompiledRandom, ProgramsEqualEager) {
  for (uint64_t seed = 0; seed < 500; seed++) {
    const ComputeProgram p = random_compute(seed);
    const std::string what = compare_compiled(p);
    ASSERT_EQ(what, "") << to_text(shrunk(p));
  }
}

}  // namespace
}  // namespace ingot::testing
