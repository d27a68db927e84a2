// A checksum of bytes that come in pieces: XXH3 with 128 bits. It finds damage, whatever its kind;
// who has changed something on purpose can make another checksum too, which is what signatures are
// for.
#pragma once
#include <array>
#include <memory>
#include <string>
#include <string_view>

namespace ingot {

class Checksum {
 public:
  using Bytes = std::array<char, 16>;

  Checksum();
  ~Checksum();
  Checksum(const Checksum&) = delete;
  Checksum& operator=(const Checksum&) = delete;

  void add(std::string_view bytes);
  Bytes value() const;      // of all that was added
  std::string text() const; // its 32 lower-case hexadecimal digits

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string to_text(const Checksum::Bytes& value);

}  // namespace ingot
