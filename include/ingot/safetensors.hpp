// The safetensors format: eight bytes with the length of a JSON header, the header, and the
// tensors' bytes.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ingot/tensor.hpp"

namespace ingot {

// A file open for reading. Copies share the file, which stays mapped as long as a copy or a tensor
// from it lives.
class SafeTensors {
 public:
  // Maps the file and checks every claim of its header. User error naming file, tensor, what was
  // expected and found.
  static SafeTensors open(const std::string& path);

  std::vector<std::string> names() const;  // sorted
  bool contains(std::string_view name) const;
  // The tensor, over the file's own bytes (copied only where the file has them misaligned for their
  // dtype). Writing to it is private to the process; tensors of one name share their bytes. User
  // error if there is no such tensor.
  Tensor get(std::string_view name) const;
  const std::map<std::string, std::string>& metadata() const;

 private:
  struct State;
  explicit SafeTensors(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

struct SafeTensorsLayout {
  std::string head;                           // all that comes before the tensors' bytes
  std::map<std::string, uint64_t> positions;  // of each tensor's first byte in the file
  uint64_t bytes = 0;                         // of the file
};
// Writes the tensors, each in row-major order. The same tensors and metadata give the same bytes,
// in whatever order they come. The file appears whole or not at all. complex128 has no name in this
// format: user error.
SafeTensorsLayout save_safetensors(const std::string& path, const std::vector<std::pair<std::string, Tensor>>& tensors,
                                   const std::map<std::string, std::string>& metadata = {});

}  // namespace ingot
