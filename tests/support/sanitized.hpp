// Whether this is a build whose time and memory say nothing about Ingot's: with a sanitizer, or for debugging.
#pragma once

namespace ingot {

#if !defined(NDEBUG) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace ingot
