// What the eager stack takes from its process, taken from the run instead: threads and random
// numbers. Defines what base/parallel.cpp, tensor/random.cpp, op/function.cpp, op/side_effects.cpp
// and ops/higher_order/control_flow.cpp define elsewhere.
#include "eager/frame.hpp"

#include <exception>
#include <mutex>

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "op/function.hpp"
#include "ops/higher_order/recorded_scan.hpp"
#include "tensor/random.hpp"

namespace ingot {
namespace {

thread_local ingot_frame* the_frame = nullptr;

struct Region {
  int64_t begin;
  void (*run)(void*, int64_t, int64_t);
  void* context;
  std::mutex mutex;
  std::exception_ptr error = nullptr;
};

// Tasks of a region. What it calls runs in this thread: one region at a time.
void run_tasks(void* const* buffers, const int64_t*, char*, int64_t begin, int64_t end) {
  auto& region = *static_cast<Region*>(buffers[0]);
  const FrameScope none(nullptr);
  try {
    region.run(region.context, region.begin + begin, region.begin + end);
  } catch (...) {
    const std::lock_guard lock(region.mutex);
    if (!region.error) region.error = std::current_exception();
  }
}

}  // namespace

ingot_frame* current_frame() { return the_frame; }

FrameScope::FrameScope(ingot_frame* frame) : old_(the_frame) { the_frame = frame; }
FrameScope::~FrameScope() { the_frame = old_; }

void detail::parallel_run(int64_t begin, int64_t end, int64_t grain, void (*fn)(void*, int64_t, int64_t), void* ctx) {
  ingot_frame* const frame = current_frame();
  if (!frame) return fn(ctx, begin, end);
  Region region{begin, fn, ctx, {}};
  void* const buffers[] = {&region};
  ingot_rt_parallel(frame, run_tasks, buffers, end - begin, grain, 0);
  if (region.error) std::rethrow_exception(region.error);
}

// ---- the one stream of random numbers is the run's

Draw Generator::next() {
  INGOT_ENSURE(current_frame(), "a random number was asked for outside a call");
  Draw d;
  ingot_rt_random(current_frame(), &d.seed, &d.offset);
  return d;
}

Draw Generator::state() const {
  INGOT_ENSURE(current_frame(), "the random stream was asked for outside a call");
  Draw d;
  ingot_rt_random_state(current_frame(), &d.seed, &d.offset);
  return d;
}
void Generator::set_state(Draw state) {
  INGOT_ENSURE(current_frame(), "the random stream was set outside a call");
  ingot_rt_set_random_state(current_frame(), state.seed, state.offset);
}

const Ref<Generator>& default_generator() {
  static const Ref<Generator> g = make_ref<Generator>();
  return g;
}

// ---- no op here takes functions

const CallingConvention* calling_convention(const Op&) { return nullptr; }
bool taken_apart(const Op&, Args) { return false; }
std::optional<Scanned> recorded_scan(const TensorFunction&, const TensorList&, const TensorList&, const TensorList&, bool) {
  return std::nullopt;
}

}  // namespace ingot
