// Ops that are programs of other ops, as the families list them.
#pragma once
#include "op/op.hpp"

namespace ingot {

constexpr OpDef composite(std::string_view schema, Value (*body)(const Call&)) {
  return {.schema = schema, .form = Form::composite, .body = body};
}
// Whether its result is an argument, or an argument is written, depends on the arguments: it is
// never kept whole.
constexpr OpDef aliasing_composite(std::string_view schema, Value (*body)(const Call&)) {
  return {.schema = schema, .form = Form::composite, .body = body, .result = {.may_alias = true}};
}

}  // namespace ingot
