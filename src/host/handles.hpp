// Handles of tensors that somebody owns, and the map of handles that PyTorch's C ABI has.
#pragma once
#include <cstddef>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "host/library.hpp"

namespace ingot {

// Handles that go away together, but for those that were given away. Null stands for no tensor.
class Handles {
 public:
  // The library, which outlives them, releases them. `room`: adding so many cannot fail.
  explicit Handles(const ModelLibrary& library, std::size_t room = 0) : library_(library) { list_.reserve(room); }
  Handles(const ModelLibrary& library, std::vector<AtenTensorHandle> list) : library_(library), list_(std::move(list)) {}
  Handles(Handles&& o) noexcept : library_(o.library_), list_(o.take_all()) {}
  Handles& operator=(Handles&&) = delete;
  ~Handles() {
    for (AtenTensorHandle h : list_)
      if (h) library_.ingot_tensor_delete(h);
  }

  void add(AtenTensorHandle handle) { list_.push_back(handle); }
  std::size_t size() const { return list_.size(); }
  AtenTensorHandle operator[](std::size_t k) const { return list_[k]; }
  // Somebody else owns it now, or all of them.
  AtenTensorHandle take(std::size_t k) { return std::exchange(list_[k], nullptr); }
  std::vector<AtenTensorHandle> take_all() { return std::exchange(list_, {}); }

 private:
  const ModelLibrary& library_;
  std::vector<AtenTensorHandle> list_;
};

// What an AOTInductorConstantMapHandle points to.
using HandleMap = std::unordered_map<std::string, AtenTensorHandle>;
inline AOTInductorConstantMapHandle as_handle(HandleMap& map) { return reinterpret_cast<AOTInductorConstantMapHandle>(&map); }

}  // namespace ingot
