// Reads what torch.save wrote, without running anything: a machine that knows the few instructions
// of Python's pickle protocol 2 and the few classes that tensors, parameters and plain containers
// of them need (section 3 of the pt2 format's description). Everything else is refused by name.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "io/zip.hpp"
#include "tensor/impl.hpp"

namespace ingot {

// A Python value: a leaf, or a container of others.
struct PythonValue {
  enum class Kind : uint8_t { none, boolean, integer, real, string, dtype, tensor, tuple, list, dict };
  Kind kind = Kind::none;
  int64_t integer = 0;  // of boolean, integer
  double real = 0;
  std::string string;  // of string; devices are strings too
  DType dtype = DType::f32;
  Tensor tensor;
  bool is_parameter = false, requires_grad = false;  // of a tensor
  std::vector<PythonValue> items;  // of tuple and list; of a dict: key, value, key, value, …

  bool is(Kind k) const { return kind == k; }
  // The value of a string key of a dict; null if there is none.
  const PythonValue* find(std::string_view key) const;
};

// The object in a file of torch.save, a zip of `data.pkl` and storages. Tensors share bytes as the
// file says, and are views of the archive's own bytes where those are aligned. User error naming
// the entry and the reason.
PythonValue read_torch_save(const ZipReader& file);

// The class of the object in such a file, for a message about an object that read_torch_save
// refuses: the first class or function named in it that is none of those it knows. Empty if there
// is none.
std::string foreign_class(const ZipReader& file);

}  // namespace ingot
