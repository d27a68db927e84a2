#include "codegen/eager_ops.hpp"

#include "base/error.hpp"

namespace ingot {

// C++'s name of ingot::linked_op<OpName{"topk"}>: the length of the array with its zero, then the
// characters, without it.
std::string eager_op_symbol(std::string_view name) {
  const std::size_t length = name.size() + 1;
  std::string s = text("_ZN5ingot9linked_opIXtlNS_6OpNameILm", length, "EEEtlA", length, "_c");
  for (const char c : name) s += text("Lc", int{c}, "E");
  return s += "EEEEE";
}

Object eager_ops(std::span<const std::string> names, const Target& target) {
  std::string variables, table;
  for (const std::string& name : names) {
    const std::string symbol = text("@\"", eager_op_symbol(name), "\"");
    variables += text(symbol, " = external hidden global i8\n");
    table += text("ptr ", symbol, ", ");
  }
  return emit_text("eager_ops",
                   text(variables, "@ingot_eager_ops = hidden constant [", names.size() + 1, " x ptr] [", table, "ptr null]\n"),
                   target);
}

}  // namespace ingot
