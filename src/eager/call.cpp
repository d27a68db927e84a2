// ingot_eager_call: an op of a model library that has no machine code of its own runs by its eager
// kernel.
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <shared_mutex>

#include "eager/frame.hpp"
#include "eager/linked_op.hpp"
#include "op/call_text.hpp"
#include "op/view_call.hpp"

namespace ingot {
namespace {

// Texts are constants of the library: an address is as good as the text.
const ParsedCall& parsed(const char* text) {
  static std::shared_mutex mutex;
  static std::map<const char*, std::unique_ptr<ParsedCall>> calls;
  {
    const std::shared_lock lock(mutex);
    if (const auto it = calls.find(text); it != calls.end()) return *it->second;
  }
  auto fresh = std::make_unique<ParsedCall>(text, find_called_op);
  const std::unique_lock lock(mutex);
  return *calls.try_emplace(text, std::move(fresh)).first->second;
}

void run(ingot_frame* frame, const char* text, const ingot_view* tensors, const int64_t* integers, std::span<ingot_view> views) {
  const FrameScope scope(frame);
  call_on_views(parsed(text), tensors, integers, views, [frame](int64_t bytes) {
    void* p = ingot_rt_alloc(frame, bytes);
    if (!p) throw std::bad_alloc();
    return p;
  });
}

}  // namespace
}  // namespace ingot

int32_t ingot_eager_call(ingot_frame* frame, const char* call, const ingot_view* tensors, const int64_t* integers,
                         ingot_view* results, int32_t result_count) {
  try {
    ingot::run(frame, call, tensors, integers, {results, static_cast<std::size_t>(result_count)});
    return 0;
  } catch (const std::bad_alloc&) {
    return ingot_rt_fail(frame, "out of memory");
  } catch (const std::exception& e) {
    return ingot_rt_fail(frame, e.what());
  } catch (...) {
    return ingot_rt_fail(frame, "Unknown exception occurred.");  // aoti.cpp knows the words
  }
}
