// The ops of a model library: variables that the linker keeps or drops one by one.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <string_view>
#include <utility>

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

// ---- the variables of a family (INGOT_FAMILY)

template <std::size_t N>
constexpr std::array<std::string_view, N> names_of(const OpDef (&ops)[N]) {
  std::array<std::string_view, N> names;
  for (std::size_t i = 0; i < N; i++) names[i] = name_in_schema(ops[i].schema);
  return names;
}
// The number of names if it is not among them.
template <std::size_t N>
constexpr std::size_t place_of(const std::array<std::string_view, N>& names, std::string_view name) {
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

template <const auto& Names, std::size_t I>
constexpr auto op_name() {
  char text[Names[I].size() + 1] = {};
  std::copy(Names[I].begin(), Names[I].end(), text);
  return OpName(text);
}
template <const auto& Names>
constexpr auto linked_ops() {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    return std::array{&linked_op<op_name<Names, I>()>...};
  }(std::make_index_sequence<Names.size()>());
}

// ---- the ops that this library's calls name, then null. The compiler writes the table
// (codegen/eager_ops.hpp).

extern "C" LinkedOp* const ingot_eager_ops[];
const Op* find_called_op(std::string_view name);

}  // namespace ingot
