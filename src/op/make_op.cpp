#include "op/make_op.hpp"

namespace ingot {
namespace {

// "layer_norm" -> "LayerNorm", "_softmax" -> "Softmax"
std::string camel_case(std::string_view name) {
  std::string s;
  bool up = true;
  for (char c : name) {
    if (c == '_') up = true;
    else if (up && c >= 'a' && c <= 'z') s += static_cast<char>(c - 'a' + 'A'), up = false;
    else s += c, up = false;
  }
  return s;
}

}  // namespace

std::unique_ptr<Op> make_op(const OpDef& def, Schema schema) {
  auto o = std::make_unique<Op>();
  o->def = &def;
  o->name = schema.ns == "aten" ? schema.qualified() : schema.ns + "::" + schema.qualified();
  for (std::size_t i = 0; i < schema.args.size(); i++)
    if (schema.args[i].type.writes()) o->written.push_back(static_cast<int8_t>(i));
  o->node_name = camel_case(schema.name) + "Backward" + std::to_string(def.grad.node_number);
  o->schema = std::move(schema);
  return o;
}

std::unique_ptr<Op> make_variant(const Op& functional, Variant variant, Schema schema) {
  auto o = make_op(*functional.def, std::move(schema));
  o->variant = variant;
  o->functional = &functional;
  o->node_name = functional.node_name;
  return o;
}

std::string target_of(const Op& op) {
  const Schema& s = op.schema;
  const std::string name = "torch.ops." + s.ns + "." + s.name;
  return op.form() == Form::higher_order ? name : name + "." + (s.overload.empty() ? "default" : s.overload);
}

}  // namespace ingot
