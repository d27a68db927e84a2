// What the functions of ingot/ingot.h share: exceptions become statuses, their texts ingot_error().
#pragma once
#include <exception>

#include "base/error.hpp"
#include "ingot/ingot.h"

namespace ingot {

// Keeps the text for ingot_error() on this thread, and returns the status.
ingot_status fail(ingot_status status, const char* why) noexcept;

template <class F>
ingot_status guarded(const F& f) noexcept {
  try {
    f();
    return INGOT_OK;
  } catch (const UserError& e) {
    return fail(INGOT_INVALID, e.what());
  } catch (const std::exception& e) {
    return fail(INGOT_INTERNAL, e.what());
  } catch (...) {
    return fail(INGOT_INTERNAL, "an unknown exception");
  }
}

template <class T>
void require_place(const T* result) {
  INGOT_REQUIRE(result != nullptr, "the address for the answer is null");
}

}  // namespace ingot
