// Handles of tensors for tests that call without a library.
#pragma once
#include <cstddef>
#include <vector>

#include "host/torch/handle.hpp"

namespace ingot {

// They are released when it ends.
class OwnedHandles {
 public:
  OwnedHandles() = default;
  ~OwnedHandles() {
    for (AtenTensorHandle h : handles_) delete h;
  }
  OwnedHandles(const OwnedHandles&) = delete;
  OwnedHandles& operator=(const OwnedHandles&) = delete;
  void add(const Tensor& t) { handles_.push_back(new_handle(t)); }
  AtenTensorHandle* data() { return handles_.data(); }
  std::size_t size() const { return handles_.size(); }

 private:
  std::vector<AtenTensorHandle> handles_;
};

}  // namespace ingot
