#include "op/wrapper_handler.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "op/kernel.hpp"
#include "op/tensors.hpp"
#include "op/wrapper.hpp"
#include "op/wrapper_functions.hpp"

namespace ingot {
namespace {

// The classes of the wrappers among the arguments, each once, in order.
std::vector<const WrapperClass*> classes_of(Args args) {
  std::vector<const WrapperClass*> classes;
  for_each_tensor(args, [&](const Tensor& t) {
    const WrapperState* s = wrapper_state(t);
    if (s && std::find(classes.begin(), classes.end(), s->cls.get()) == classes.end()) classes.push_back(s->cls.get());
  });
  return classes;
}

[[noreturn]] void nobody_handles(const Op& op, const std::vector<const WrapperClass*>& classes) {
  std::string names;
  for (const WrapperClass* c : classes) names += (names.empty() ? "" : ", ") + c->name();
  throw_user_error(text("Multiple dispatch failed for '", target_of(op),
                        "'; all __torch_dispatch__ handlers returned NotImplemented: the tensor "
                        "classes ",
                        names,
                        " do not take this call. Let one of them handle the others' tensors, or convert an argument first."));
}

// Whether a call changes what a tensor it writes looks like.
bool writes_geometry(const Op& op) {
  return op.is_inplace_view() || op.variant == Variant::out || op.def->effects.rewires != Rewires::nothing;
}

// What the schema promises about aliasing, on the outer tensors. A geometry that changes does so by
// the op's own rule, which runs on the outer tensors as on any fake.
Value with_aliasing(const Op& op, Args args, Value result) {
  if (op.mutates() && (op.functional || op.def->effects.rewires != Rewires::nothing)) {
    const Value& written = args[static_cast<std::size_t>(op.written.front())];
    if (!writes_geometry(op) || !written.is_tensor() || !wrapper_state(written.tensor()))
      return op.written.size() == 1 ? written : result;
    const Scoped<Layer> kernel(thread_state().layer, Layer::kernel);
    return run_kernel(op, args);
  }
  if (op.is_view())
    if (const Tensor& base = args[0].tensor(); wrapper_state(base) && has_storage(base))
      for_each_tensor(result, [&](const Tensor& t) {
        if (wrapper_state(t)) t->storage = base->storage;
      });
  return result;
}

}  // namespace

Value wrapper_handler(const Op& op, Args args) {
  if (op.def->result.reads_wrapper) return inner_tensor(args[0].tensor(), args[1].string());
  const std::vector<const WrapperClass*> classes = classes_of(args);
  INGOT_ENSURE(!classes.empty(), op.name, ": the wrapper layer was called without a wrapper");
  if (op.def->effects.rewires != Rewires::nothing)
    for (const WrapperClass* c : classes)
      INGOT_REQUIRE(c->has_storage(), op.schema.name, ": a ", c->name(), " has no storage to change; make a new tensor instead");
  const Scoped<Layer> here(thread_state().layer, Layer::wrapper);  // not below: inner tensors may be wrappers
  const CallingConvention* convention = op.form() == Form::higher_order ? calling_convention(op) : nullptr;
  if (convention && convention->control != Control::element) return call_on_plain_tensors(op, args, *convention);
  for (const WrapperClass* c : classes)
    if (c->handles(op, args)) return with_aliasing(op, args, c->dispatch(op, args));
  nobody_handles(op, classes);
}

}  // namespace ingot
