// Splits independent work over a fixed pool of sleeping threads. Work is cut by index, never by
// timing, so results do not depend on the number of threads as long as each index writes its own
// output.
#pragma once
#include <cstdint>

#include "ingot/threads.hpp"

namespace ingot {

namespace detail {
void parallel_run(int64_t begin, int64_t end, int64_t grain, void (*fn)(void*, int64_t, int64_t), void* ctx);
}

// Runs f(b, e) over pieces of [begin, end), each at least `grain` long. Nested calls run in the
// calling thread. The first exception a piece throws is rethrown here after all pieces ended.
template <class F>
void parallel_for(int64_t begin, int64_t end, int64_t grain, const F& f) {
  if (end - begin <= grain) {
    if (begin < end) f(begin, end);
    return;
  }
  detail::parallel_run(
      begin, end, grain, [](void* c, int64_t b, int64_t e) { (*static_cast<const F*>(c))(b, e); },
      const_cast<void*>(static_cast<const void*>(&f)));
}

}  // namespace ingot
