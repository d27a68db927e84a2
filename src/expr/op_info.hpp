// What every ExprOp is called, takes, gives and costs. Builders, printer, parser and `cost` read
// this one table.
#pragma once
#include <cstdint>
#include <string_view>

#include "ingot/expr.hpp"

namespace ingot {

enum class Arity : uint8_t { Leaf, Unary, Binary, Select, Cast };
// The types an operation takes. Floating means an integer literal becomes f64 and any other integer
// is an error.
enum class Operand : uint8_t { Any, Number, Floating, Integer, Bits, Bool };

struct OpInfo {
  ExprOp op;
  std::string_view name;
  Arity arity;
  Operand operand;
  bool gives_bool;
  uint8_t cost;  // issue slots
};

const OpInfo& info_of(ExprOp op);
// The operation written name(...), or null. Infix operators have a name too but are not functions.
const OpInfo* function_named(std::string_view name);
bool is_infix(ExprOp op);

}  // namespace ingot
