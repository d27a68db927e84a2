#include "base/process_pool.hpp"

namespace ingot {
namespace {

// The pool itself is never destroyed: somebody may still run something while the process ends.
struct Owner {
  ThreadPool* pool = new ThreadPool;
  ~Owner() { pool->end_for_good(); }
};

}  // namespace

ThreadPool& process_pool() {
  static const Owner owner;
  return *owner.pool;
}

const ingot_thread_pool& shared_process_pool() {
  static const ingot_thread_pool pool = {
      sizeof pool,
      &process_pool(),
      [](void* p, void (*part)(void*, int32_t), void* work, int32_t count) {
        static_cast<ThreadPool*>(p)->run(part, work, count);
      },
      [](void* p) { static_cast<ThreadPool*>(p)->begin(); },
      [](void* p) { static_cast<ThreadPool*>(p)->end(); },
  };
  return pool;
}

}  // namespace ingot
