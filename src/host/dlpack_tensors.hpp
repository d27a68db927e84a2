// DLPack tensors into the handles of a library, and back.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "host/library.hpp"
#include "ingot/dlpack.h"

namespace ingot {

// A handle over the caller's memory; `what` starts messages about it. User error for a tensor that
// models do not take.
AtenTensorHandle handle_over(const ModelLibrary& library, const DLTensor* t, const std::string& what);
// The same as a description, of a tensor that may have no elements yet: its data is null then.
ingot_tensor_info described(const DLTensor* t, const std::string& what);
// Memory of the caller for a result; without data where no result could lie there.
struct ResultPlace {
  explicit ResultPlace(const DLTensor* t);
  ingot_tensor_info info{};
  std::vector<int64_t> dense;  // its strides where the tensor does not say any
};
// The tensor of a handle, which it takes over, as DLPack has it.
DLManagedTensorVersioned* managed_tensor(std::shared_ptr<const ModelLibrary> library, AtenTensorHandle handle);
// A copy of the elements of a tensor in new memory, dense and row-major.
DLManagedTensorVersioned* managed_copy(const ingot_tensor_info& t);
// Copies elements into the caller's memory. User error for other sizes or another element type.
void copy_into(const ingot_tensor_info& from, const DLTensor* to, const std::string& what);

}  // namespace ingot
