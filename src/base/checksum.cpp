#include "base/checksum.hpp"

#define XXH_INLINE_ALL  // libingot_runtime.so, which needs libc alone, has this file
#include <xxhash.h>

#include <cstring>

namespace ingot {

struct Checksum::State {
  XXH3_state_t hash;
};

Checksum::Checksum() : state_(std::make_unique<State>()) { XXH3_128bits_reset(&state_->hash); }
Checksum::~Checksum() = default;

void Checksum::add(std::string_view bytes) { XXH3_128bits_update(&state_->hash, bytes.data(), bytes.size()); }

Checksum::Bytes Checksum::value() const {
  XXH128_canonical_t digits;
  XXH128_canonicalFromHash(&digits, XXH3_128bits_digest(&state_->hash));
  Bytes value;
  static_assert(sizeof value == sizeof digits.digest);
  std::memcpy(value.data(), digits.digest, sizeof value);
  return value;
}

std::string Checksum::text() const { return to_text(value()); }

std::string to_text(const Checksum::Bytes& value) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace ingot
