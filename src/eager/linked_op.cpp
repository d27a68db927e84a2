#include "eager/linked_op.hpp"

#include <memory>
#include <mutex>
#include <vector>

#include "op/make_op.hpp"

namespace ingot {
namespace {

// Owns what op_of made, until the library is unloaded.
struct Made {
  std::mutex mutex;
  std::vector<std::unique_ptr<Op>> ops;
};
Made& made() {
  static Made m;
  return m;
}

}  // namespace

const Op& op_of(LinkedOp& linked) {
  if (const Op* op = linked.op.load(std::memory_order_acquire)) return *op;
  Schema schema = parse_schema(linked.def.schema);
  auto op = linked.functional ? make_variant(op_of(*linked.functional), Variant::inplace, std::move(schema))
                              : make_op(linked.def, std::move(schema));
  const std::lock_guard lock(made().mutex);
  if (const Op* other = linked.op.load(std::memory_order_acquire)) return *other;  // another thread was faster
  const Op& result = *made().ops.emplace_back(std::move(op));
  linked.op.store(&result, std::memory_order_release);
  return result;
}

const Op* find_called_op(std::string_view name) {
  for (LinkedOp* const* l = ingot_eager_ops; *l; l++)
    if (name_in_schema((*l)->def.schema) == name) return &op_of(**l);
  return nullptr;
}

}  // namespace ingot
