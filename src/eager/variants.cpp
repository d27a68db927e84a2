// The in-place ops that ops of other families and the C++ interface call. Elsewhere a registry
// derives them from ATen's table of schemas, which is half a megabyte; here they are few. One that
// is missing is an undefined symbol when a model is linked (tests/eager/archive_test.cpp links
// every op).
#include "eager/linked_op.hpp"

namespace ingot {
namespace {

constexpr OpDef only_schema(std::string_view schema) {
  OpDef d;
  d.schema = schema;
  return d;
}

}  // namespace

#define INGOT_INPLACE(name, functional, arguments) \
  template <>                                      \
  LinkedOp linked_op<name>{only_schema("aten::" name "(Tensor(a!) self" arguments ") -> Tensor(a!)"), &linked_op<functional>};

INGOT_INPLACE("add_.Tensor", "add.Tensor", ", Tensor other, *, Scalar alpha=1")
INGOT_INPLACE("sub_.Tensor", "sub.Tensor", ", Tensor other, *, Scalar alpha=1")
INGOT_INPLACE("mul_.Tensor", "mul.Tensor", ", Tensor other")
INGOT_INPLACE("div_.Tensor", "div.Tensor", ", Tensor other")
INGOT_INPLACE("copy_", "copy", ", Tensor src, bool non_blocking=False")
INGOT_INPLACE("fill_.Scalar", "fill.Scalar", ", Scalar value")
INGOT_INPLACE("zero_", "zero", "")
INGOT_INPLACE("transpose_", "transpose.int", ", int dim0, int dim1")

}  // namespace ingot
