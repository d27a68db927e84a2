#include "cli/minisign.hpp"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <vector>

#include "base/error.hpp"
#include "io/file.hpp"

namespace ingot {
namespace {

using Bytes = std::vector<unsigned char>;

constexpr std::string_view kUntrusted = "untrusted comment: ", kTrusted = "trusted comment: ";
constexpr std::size_t kAlgorithm = 2, kId = 8, kMost = std::size_t{1} << 16;  // bytes; of a file of either kind

// Both kinds of file: bytes after an untrusted comment.
class Lines {
 public:
  Lines(const std::string& path, std::size_t count) : path_(path) {
    const Ref<MappedFile> file = MappedFile::open(path, MappedFile::Access::read_only);
    require(file->size() <= kMost, "it is too large");
    std::string_view rest = file->bytes();
    for (; lines_.size() < count; rest.remove_prefix(std::min(rest.size(), rest.find('\n') + 1))) {
      const std::size_t end = rest.find('\n');
      lines_.emplace_back(rest.substr(0, end));
      if (lines_.back().ends_with('\r')) lines_.back().pop_back();
      if (end == rest.npos) break;
    }
    require(lines_.size() == count, text("it has fewer than ", count, " lines"));
    require(lines_[0].starts_with(kUntrusted), text("its first line does not begin with '", kUntrusted, "'"));
  }

  const std::string& operator[](std::size_t k) const { return lines_[k]; }
  Bytes bytes(std::size_t k, std::size_t size) const {
    Bytes decoded(size);
    std::size_t found = 0;
    const char* end = nullptr;
    const std::string& line = lines_[k];
    const bool is_well = sodium_base642bin(decoded.data(), size, line.data(), line.size(), nullptr, &found, &end,
                                           sodium_base64_VARIANT_ORIGINAL) == 0 &&
                         found == size && end == line.data() + line.size();
    require(is_well, text("line ", k + 1, " is not ", size, " bytes in base64"));
    return decoded;
  }
  void require(bool condition, const std::string& why) const {
    INGOT_REQUIRE(condition, path_, ": expected a file that minisign wrote: ", why);
  }

 private:
  std::string path_;
  std::vector<std::string> lines_;
};

// A number of eight bytes, the last one first.
std::string id_text(const Bytes& bytes) {
  std::string text;
  for (std::size_t k = kId; k-- > 0;) {
    std::array<char, 3> digits{};
    std::snprintf(digits.data(), digits.size(), "%02X", static_cast<unsigned>(bytes[kAlgorithm + k]));
    text += digits.data();
  }
  return text;
}

bool is_signed(const unsigned char* signature, const unsigned char* message, std::size_t size, const Bytes& key) {
  return crypto_sign_verify_detached(signature, message, size, key.data() + kAlgorithm + kId) == 0;
}

}  // namespace

Signature verify_signature(std::string_view file, const std::string& key_path, const std::string& signature_path) {
  INGOT_REQUIRE(sodium_init() >= 0, "libsodium cannot be used on this machine");
  const Lines key_lines(key_path, 2);
  const Bytes key = key_lines.bytes(1, kAlgorithm + kId + crypto_sign_PUBLICKEYBYTES);
  key_lines.require(key[0] == 'E' && key[1] == 'd', "its key is of another kind than Ed25519");

  const Lines lines(signature_path, 4);
  lines.require(lines[2].starts_with(kTrusted), text("its third line does not begin with '", kTrusted, "'"));
  const Bytes signature = lines.bytes(1, kAlgorithm + kId + crypto_sign_BYTES), of_comment = lines.bytes(3, crypto_sign_BYTES);
  const bool is_hashed = signature[1] == 'D';
  lines.require(signature[0] == 'E' && (is_hashed || signature[1] == 'd'), "its signature is of another kind than Ed25519");
  const Signature found{id_text(signature), lines[2].substr(kTrusted.size()), is_hashed};
  INGOT_REQUIRE(found.key_id == id_text(key), signature_path, " is by key ", found.key_id, ", expected ", id_text(key), " (",
                key_path, ")");

  const auto* message = reinterpret_cast<const unsigned char*>(file.data());
  std::size_t size = file.size();
  std::array<unsigned char, crypto_generichash_BYTES_MAX> hash{};
  if (is_hashed) {
    crypto_generichash(hash.data(), hash.size(), message, size, nullptr, 0);
    message = hash.data();
    size = hash.size();
  }
  const unsigned char* const bytes = signature.data() + kAlgorithm + kId;
  INGOT_REQUIRE(is_signed(bytes, message, size, key), "the file is not the one that ", signature_path, " signs: do not load it");
  Bytes with_comment(bytes, bytes + crypto_sign_BYTES);
  with_comment.insert(with_comment.end(), found.trusted_comment.begin(), found.trusted_comment.end());
  INGOT_REQUIRE(is_signed(of_comment.data(), with_comment.data(), with_comment.size(), key), signature_path,
                ": its trusted comment is not the one that was signed");
  return found;
}

}  // namespace ingot
