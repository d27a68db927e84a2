// What watches this build.
#pragma once

namespace ingot {

#if defined(__has_feature)  // clang, and newer g++
inline constexpr bool kAddressSanitized = __has_feature(address_sanitizer), kThreadSanitized = __has_feature(thread_sanitizer);
#elif defined(__SANITIZE_ADDRESS__)
inline constexpr bool kAddressSanitized = true, kThreadSanitized = false;
#elif defined(__SANITIZE_THREAD__)
inline constexpr bool kAddressSanitized = false, kThreadSanitized = true;
#else
inline constexpr bool kAddressSanitized = false, kThreadSanitized = false;
#endif

// Whether this is a build whose time and memory say nothing about Ingot's: with a sanitizer, or for
// debugging.
#ifdef NDEBUG
inline constexpr bool kSanitized = kAddressSanitized || kThreadSanitized;
#else
inline constexpr bool kSanitized = true;
#endif

}  // namespace ingot
