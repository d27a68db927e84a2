// An op: a definition (ingot/op/definition.hpp) with its parsed schema. A family file under src/ops
// lists OpDef constants; the registry turns each into an Op and derives the in-place and out=
// variants that the ATen table has for it.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "ingot/op/call.hpp"
#include "ingot/op/definition.hpp"
#include "ingot/value.hpp"
#include "op/schema.hpp"
#include "tensor/impl.hpp"

namespace ingot {

enum class Variant : uint8_t { functional, inplace, out };

struct Op {
  const OpDef* def = nullptr;  // of a derived variant: the functional op's
  Schema schema;
  Variant variant = Variant::functional;
  const Op* functional = nullptr;  // of a derived variant
  const Op* same_as = nullptr;  // of an in-place variant of another name of an op (OpDef::same_as): the op's own in-place variant
  std::string name;  // "add.Tensor"
  std::string node_name;  // "AddBackward0"
  std::vector<int8_t> written;  // arguments whose alias annotation says `!`

  Form form() const { return def->form; }
  bool is_view() const { return def->form == Form::view; }
  bool comes_apart() const { return def->form == Form::composite || def->form == Form::higher_order; }
  bool mutates() const { return !written.empty(); }
  // Whether the schema says that a result may share storage with an argument.
  bool aliases() const {
    for (const auto& r : schema.results)
      if (!r.type.alias.empty()) return true;
    return false;
  }
  bool is_inplace_view() const { return variant == Variant::inplace && is_view(); }
  bool returns_list() const { return schema.results.size() == 1 && schema.results[0].type.is_list(); }
  // "aten::add.Tensor"
  std::string qualified() const { return schema.ns + "::" + schema.qualified(); }
};
// As exported programs and listings name it: "torch.ops.aten.add.Tensor";
// "torch.ops.higher_order.cond", which has no overloads.
std::string target_of(const Op& op);

inline std::string to_text(const Op& op) { return op.schema.name; }

// Every op with rules of its own, sorted by name.
std::vector<const Op*> all_ops();

}  // namespace ingot
