// Random programs, compiled against eager: ingot_compiled_fuzz [COUNT [FIRST]]. Prints the first that differ, made small.
#include <cstdio>
#include <cstdlib>

#include "compiled_programs/random_compute.hpp"

int main(int argc, char** argv) {
  using namespace ingot::testing;
  const uint64_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1000,
                 first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0;
  int differ = 0;
  for (uint64_t seed = first; seed < first + count; seed++) {
    if (compare_compiled(random_compute(seed)).empty()) continue;
    const ComputeProgram small = shrunk(random_compute(seed));
    std::printf("%s\n  %s\n", to_text(small).c_str(), compare_compiled(small).c_str());
    std::fflush(stdout);
    if (++differ >= 5) break;
  }
  std::printf("%llu programs, %d differ\n", static_cast<unsigned long long>(count), differ);
  return differ ? 1 : 0;
}
