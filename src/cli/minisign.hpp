// Signatures that minisign makes: of a whole file, by whoever holds a secret key.
#pragma once
#include <string>
#include <string_view>

namespace ingot {

struct Signature {
  std::string key_id;           // as minisign prints it
  std::string trusted_comment;  // which is signed too
  bool is_hashed = false;       // of the file's BLAKE2b, minisign's way since 0.10; else of the file itself
};

// The signature of `file` in the file `signature_path`. User error unless it is one by the secret
// half of the public key in the file `key_path`.
Signature verify_signature(std::string_view file, const std::string& key_path, const std::string& signature_path);

}  // namespace ingot
