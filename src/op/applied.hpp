// Higher-order ops that apply another op. Their argument `operator` is its name; those with an
// argument `keywords` take what they hand on by name: `keywords` has the names, and the values
// follow the arguments of the schema, in the same order.
#pragma once
#include <string>
#include <string_view>

#include "op/op.hpp"

namespace ingot {

// Where the op has its operator, or its keywords, among the arguments of its schema; -1: nowhere.
int operator_argument(const Op& op);
int keywords_argument(const Op& op);
inline bool applies_another(const Op& op) { return operator_argument(op) >= 0; }

// What the value of keyword `name` must be, as far as the applied op's schema says: its parameter
// of that name. Null: an encoding of an argument that is written (auto_functionalized_v2), or no
// name that the op knows.
const SchemaArg* applied_parameter(const Op& applied, std::string_view name);

// The arguments of a call of auto_functionalized_v2 beside those of the applied op: `_all_bases`,
// tensors; and for each argument x that is written, which view of which of them it is:
// `_x_base_index` alone (the base itself, or None where the argument is None), with `_x_alias`,
// with `_x_slice_dim`, `_x_slice_start` and `_x_slice_end`, or with `_x_size`, `_x_stride` and
// `_x_storage_offset`; of a list `_x_length` and the same for each element: `_x_0_base_index`.
inline constexpr std::string_view kAllBases = "_all_bases";
bool is_view_keyword(const Op& applied, std::string_view name);
// A written argument that such a call says to be a view by places in the base's storage.
struct ViewByPlace {
  std::size_t offset;  // which argument of the call says where it begins
  Tensor base;
};
std::vector<ViewByPlace> views_by_place(const Op& applied, const Call& c);

// Whether nothing but a kernel of somebody's own says what the op, which writes, does; and whether
// the call is of such an op by its name, so that no program can stand for it but the call again.
bool is_kernel_alone(const Op& applied);
bool is_call_of_kernel(const Op& op, Args args);

// A gradient is asked for that the op has no rule for.
[[noreturn]] void refuse_gradient(const Op& op);

}  // namespace ingot
