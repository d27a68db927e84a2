// The ops of a model library: variables that the linker keeps or drops one by one.
#pragma once
#include <atomic>
#include <string_view>

#include "op/call.hpp"

namespace ingot {

struct LinkedOp {
  OpDef def;                           // of an in-place variant: only its schema
  LinkedOp* functional = nullptr;      // of an in-place variant
  std::atomic<const Op*> op = nullptr; // made when it is first asked for
};

// "topk" of "aten::topk(Tensor self, …) -> …"; another namespace than aten's stays.
constexpr std::string_view name_in_schema(std::string_view schema) {
  schema = schema.substr(0, schema.find('('));
  constexpr std::string_view kAten = "aten::";
  if (schema.starts_with(kAten)) schema.remove_prefix(kAten.size());
  return schema;
}

// The ops that this library's calls name, then null. The compiler writes it (codegen/eager_ops.hpp).
extern "C" LinkedOp* const ingot_eager_ops[];
const Op* find_called_op(std::string_view name);

}  // namespace ingot
