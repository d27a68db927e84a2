// Ops of this process that model libraries call (model/host_op.h).
#include "model/host_op.h"

#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <string>

#include "ingot/autograd.hpp"
#include "op/view_call.hpp"

namespace ingot {
namespace {

// By the text, not its address: libraries come and go. The number of texts is that of the calls in
// compiled programs.
const ParsedCall& parsed(const char* text) {
  static std::shared_mutex mutex;
  static std::map<std::string, std::unique_ptr<ParsedCall>, std::less<>> calls;
  {
    const std::shared_lock lock(mutex);
    if (const auto it = calls.find(std::string_view(text)); it != calls.end()) return *it->second;
  }
  auto fresh = std::make_unique<ParsedCall>(text, find_op);
  const std::unique_lock lock(mutex);
  return *calls.try_emplace(text, std::move(fresh)).first->second;
}

}  // namespace
}  // namespace ingot

using namespace ingot;

int32_t ingot_host_has_op(const char* name) {
  try {
    return find_op(name) != nullptr;
  } catch (...) {
    return 0;
  }
}

int32_t ingot_host_run_op(const ingot_host_call* c) {
  try {
    const GradModeGuard no_grad(false);
    call_on_views(parsed(c->call), c->tensors, c->integers, {c->results, static_cast<std::size_t>(c->result_count)},
                  [c](int64_t bytes) {
                    void* p = c->allocate(c->run, bytes);
                    if (!p) throw std::bad_alloc();
                    return p;
                  });
    return 0;
  } catch (const std::bad_alloc&) {
    return c->fail(c->run, "out of memory");
  } catch (const std::exception& e) {
    return c->fail(c->run, e.what());
  } catch (...) {
    return c->fail(c->run, "unknown failure");
  }
}
