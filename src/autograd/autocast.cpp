#include "autograd/autocast.hpp"

#include <algorithm>

#include "base/dtype.hpp"
#include "op/function.hpp"
#include "op/tensors.hpp"

namespace ingot {
namespace {

// Autocast leaves float64 and everything that is not floating alone.
bool eligible(const Tensor& t) { return is_floating(t.dtype()) && t.dtype() != DType::f64 && !is_float8(t.dtype()); }

Tensor cast(const Tensor& t, DType to) { return eligible(t) && t.dtype() != to ? aten<"_to_copy">(t, to) : t; }

Value cast(const Value& v, DType to) {
  return map_tensors(v, [&](const Tensor& t) { return cast(t, to); });
}

// The widest eligible type among the arguments.
DType widest(Args args, DType start) {
  DType w = start;
  for_each_tensor(args, [&](const Tensor& t) {
    if (eligible(t)) w = promote(w, t.dtype());
  });
  return w;
}

// Functions run when a layer below calls them: they see autocast as the call of the op did.
Value under_autocast(const Value& f) {
  return make_function([f, dtype = thread_state().autocast_dtype](Args args) {
    ThreadState& ts = thread_state();
    const Scoped<Layer> layer(ts.layer, std::min(ts.layer, Layer::autocast));
    const Scoped<DType> cast_to(ts.autocast_dtype, dtype);
    return f.function()(args);
  });
}

}  // namespace

Values autocast_arguments(const Op& op, Args args) {
  const ThreadState& ts = thread_state();
  const DType to = op.def->autocast == Autocast::lower_precision ? ts.autocast_dtype
                   : op.def->autocast == Autocast::float32       ? DType::f32
                                                                 : widest(args, ts.autocast_dtype);
  Values v;
  for (const Value& a : args) v.push_back(cast(a, to));
  return v;
}

Value autocast_handler(const Op& op, Args args) {
  Scoped<Layer> below(thread_state().layer, Layer::autograd);
  if (op.form() == Form::higher_order) {
    Values a(args.begin(), args.end());
    for (Value& v : a) v = map_functions(v, under_autocast);
    return call(op, a);
  }
  if (op.def->autocast == Autocast::none || op.mutates()) return call(op, args);
  return call(op, autocast_arguments(op, args));
}

}  // namespace ingot
