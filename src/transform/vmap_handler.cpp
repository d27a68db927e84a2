// The transform layer of `call`: runs a call with batched arguments by the op's batching rule.
#include <algorithm>

#include "autograd/autocast.hpp"
#include "base/error.hpp"
#include "op/function.hpp"
#include "op/kernel.hpp"
#include "op/tensors.hpp"
#include "ops/batch/rules.hpp"
#include "transform/batched.hpp"

namespace ingot {
namespace {

const Op& functional_of(const Op& op) { return op.functional ? *op.functional : op; }

// Whether the op's functions run by its batching rule. Lists that mix tensors with other values are
// left to its program.
bool batches_functions(const Op& op, Args args) {
  return op.form() == Form::higher_order && op.def->batch &&
         std::none_of(args.begin(), args.end(), [](const Value& v) { return v.is_values(); });
}

// The vmap that acts on the call: the innermost that an argument belongs to. A random op is every
// running vmap's business, and so is a function, which may bring tensors of any of them along.
// Null: none.
const VmapLevel* acting_level(const Op& op, Args args) {
  const std::vector<VmapLevel>& levels = vmap_levels();
  int highest = 0;
  for_each_tensor(args, [&](const Tensor& t) {
    if (const BatchedState* s = batched_state(t)) highest = std::max(highest, s->level);
  });
  if ((op.form() == Form::random || batches_functions(op, args)) && !levels.empty()) {
    INGOT_REQUIRE(highest <= levels.back().level,
                  "vmap: a tensor that belongs to a vmap was used by a function that runs outside of it");
    return &levels.back();
  }
  if (highest == 0) return nullptr;
  const auto level = std::find_if(levels.begin(), levels.end(), [&](const VmapLevel& l) { return l.level == highest; });
  INGOT_REQUIRE(level != levels.end(), "vmap: ", op.schema.name,
                " was given a batched tensor that escaped from the vmap it belongs to, which has returned. Let "
                "the mapped function return the tensor instead of keeping it.");
  return &*level;
}

bool belongs_to(const Tensor& t, int level) {
  const BatchedState* s = batched_state(t);
  return s && s->level == level;
}

// A function of members as a function of batches: every tensor it takes and returns has the batch
// in dim 0. It may run after the vmap, in a backward.
Value on_batches(const Value& f, const VmapLevel& level) {
  return make_function([f, level, levels = vmap_levels()](Args args) {
    ThreadState& ts = thread_state();
    const LevelsScope scope(levels);
    const Scoped<bool> grad_mode(ts.grad_mode,
                                 ts.grad_mode && ts.layer <= Layer::autograd);  // below it there is no use for a tape
    const Scoped<Layer> layer(ts.layer, Layer::transform);
    const Values results = f.function()(map_tensors(args, [&](const Tensor& t) { return make_batched(t, level.level); }));
    const Batching repeat(op_ref<"expand">(), {}, {}, level.size, level.randomness);
    return map_tensors(Args(results), [&](const Tensor& t) {
      return belongs_to(t, level.level) ? batched_state(t)->value : repeat.repeated(t);
    });
  });
}

Batching unwrap(const Op& op, Args args, const VmapLevel& level) {
  Values values;
  std::vector<std::vector<bool>> batched;
  for (const Value& v : args) {
    std::vector<bool> of_tensors;
    const auto value = [&](const Tensor& t) {
      const bool b = belongs_to(t, level.level);
      of_tensors.push_back(b);
      return b ? batched_state(t)->value : t;
    };
    if (v.is_tensors()) {
      TensorList l;
      for (const Tensor& t : v.tensors()) l.push_back(value(t));
      values.push_back(std::move(l));
    } else {
      values.push_back(v.is_tensor() ? Value(value(v.tensor())) : v.is_function() ? on_batches(v, level) : v);
    }
    batched.push_back(std::move(of_tensors));
  }
  return Batching(op, std::move(values), std::move(batched), level.size, level.randomness);
}

bool belongs(const Value& v, int level) {
  bool found = false;
  for_each_tensor(v, [&](const Tensor& t) { found |= belongs_to(t, level); });
  return found;
}

// A value of a vmap cannot be written into a tensor that all members share.
void check_written(const Op& op, Args args, const VmapLevel& level) {
  for (const int8_t w : op.written) {
    const Value& target = args[static_cast<std::size_t>(w)];
    if (target.is_none() || belongs(target, level.level)) continue;
    INGOT_REQUIRE(
        op.form() != Form::random || level.randomness != Randomness::different,
        "vmap: Cannot ask for different inplace randomness on an "
        "unbatched tensor. This will appear like same randomness. Write to a batched tensor, or ask for same randomness.");
    const std::string name = op.schema.ns + "::" + op.schema.name;
    for (std::size_t i = 0; i < args.size(); i++)
      INGOT_REQUIRE(!belongs(args[i], level.level), "vmap: ", name,
                    "(self, *extra_args) is not possible because there exists a Tensor `", op.schema.args[i].name,
                    "` in extra_args that has more elements than `self`. This happened due to `", op.schema.args[i].name,
                    "` being vmapped over but `self` not "
                    "being vmapped over in a vmap. Please try to use out-of-place operators instead of ",
                    name, ". If said operator is being called inside the PyTorch framework, please file a bug report instead.");
  }
}

// An op that is a program of other ops runs as that program, on the batched tensors. Autocast's
// policy for the whole op holds for its parts no more, as when autocast itself takes a composite
// apart.
Value take_apart(const Op& op, Args args) {
  ThreadState& ts = thread_state();
  const bool autocast = op.def->autocast != Autocast::none && (ts.active & layer_bit(Layer::autocast));
  const Scoped<uint8_t> active(ts.active, autocast ? static_cast<uint8_t>(ts.active & ~layer_bit(Layer::autocast)) : ts.active);
  const Scoped<bool> grad_mode(ts.grad_mode, ts.grad_mode && !op.def->grad.none);
  Values cast;
  if (autocast) cast = autocast_arguments(op, args);
  return op.def->body({op, autocast ? Args(cast) : args});
}

Tensor tensor_at(const Value& r, std::size_t k) { return r.is_tensor() ? r.tensor() : r.tensors().at(k); }

// An in-place or out= form whose functional op is no formula: its results, copied into what it
// writes.
Value write(const Op& op, Args args) {
  Values given;
  TensorList written;
  for (std::size_t i = 0; i < args.size(); i++) {
    if (op.schema.args[i].type.writes()) for_each_tensor(args[i], [&](const Tensor& t) { written.push_back(t); });
    if (op.variant == Variant::inplace || !op.schema.args[i].type.writes()) given.push_back(args[i]);
  }
  const Value r = call(*op.functional, given);
  for (std::size_t k = 0; k < written.size(); k++) {
    const Tensor value = tensor_at(r, k);
    check_written_type(op, written[k], value.dtype());
    if (op.variant == Variant::out) check_out_size(op, args, written[k], value.sizes());
    if (op.variant == Variant::out && !(written[k].sizes() == value.sizes())) {
      BatchedState* s = batched_state(written[k]);
      INGOT_REQUIRE(s, op.schema.name, ": an out= tensor of size ", written[k].sizes(), " cannot be resized to ", value.sizes(),
                    " inside vmap");
      Shape sizes{s->value.sizes()[0]};
      for (const Int n : value.sizes()) sizes.push_back(n);
      set_batched_value(written[k], aten<"new_empty">(s->value, sizes));
    }
    check_written_size(op, written[k], value.sizes());
    aten_value<"copy_">(written[k], value);
  }
  return written.size() == 1 ? Value(written[0]) : Value(std::move(written));
}

Value run_rule(const Batching& b) {
  const Op& f = functional_of(b.op);
  return f.def->batch ? f.def->batch(b) : batch_by_form(b);
}

Value in_place_view(const Op& op, Args args, const VmapLevel& level, const std::vector<VmapLevel>& outer) {
  const Batching b = unwrap(*op.functional, args, level);
  const LevelsScope scope(outer);
  set_batched_value(args[0].tensor(), run_rule(b).tensor());
  return args[0];
}

}  // namespace

Value vmap_handler(const Op& op, Args args) {
  const VmapLevel* acting = acting_level(op, args);
  if (!acting) return call_below(Layer::transform, op, args);
  const VmapLevel level = *acting;
  const std::vector<VmapLevel> outer(vmap_levels().data(), acting);
  INGOT_REQUIRE(op.def->effects.rewires == Rewires::nothing, "vmap: ", op.schema.name,
                " of a tensor that is vmapped over is not supported: its members have no "
                "storage of their own. Make a new tensor of the size you need.");
  if (op.functional) check_written(op, args, level);
  if (op.form() == Form::random && level.randomness == Randomness::same &&
      std::none_of(args.begin(), args.end(), [&](const Value& v) { return belongs(v, level.level); })) {
    const LevelsScope scope(outer);  // one draw, and nothing of this vmap takes part in it
    return call(op, args);
  }
  if (op.comes_apart() && !batches_functions(op, args)) return take_apart(op, args);
  if (op.is_inplace_view()) return in_place_view(op, args, level, outer);
  const Op& f = functional_of(op);
  const bool formula = f.form() == Form::pointwise && f.def->kernel && !f.def->batch;
  if (op.functional && !(formula && op.variant == Variant::inplace)) return write(op, args);
  if (f.def->body && !f.def->batch && f.form() != Form::random) return take_apart(op, args);
  const Batching b = unwrap(op, args, level);
  const Value r = [&] {
    const LevelsScope scope(outer);
    return op.def->grad.detaches ? call(op, b.args) : run_rule(b);
  }();
  if (op.mutates()) {
    set_batched_value(args[0].tensor(), b.tensor(0));
    return args[0];
  }
  return map_tensors(r, [&](const Tensor& t) { return make_batched(t, level.level); });
}

}  // namespace ingot
