// Custom functions, hooks and questions for gradients of batched tensors, as those of the physical
// tensors behind them.
#include <algorithm>
#include <memory>

#include "autograd/above.hpp"
#include "autograd/custom_function.hpp"
#include "autograd/meta.hpp"
#include "base/error.hpp"
#include "transform/physical.hpp"

namespace ingot {
namespace {

// Runs a program's function on members: the vmaps that its tensors belong to act again, also if
// they have returned since, beside those that run now (over gradients).
class MembersScope {
 public:
  MembersScope(const std::vector<VmapLevel>& then, const BatchDims& own)
      : levels_(together(then, own)),
        // Below the tape there is no use for one.
        grad_mode_(thread_state().grad_mode, thread_state().grad_mode && thread_state().layer <= Layer::autograd),
        layer_(thread_state().layer, Layer::transform) {}

 private:
  static std::vector<VmapLevel> together(const std::vector<VmapLevel>& then, const BatchDims& own) {
    std::vector<VmapLevel> all = vmap_levels();
    for (const VmapLevel& l : then)
      if (has_level(own, l.level) && std::none_of(all.begin(), all.end(), [&](const VmapLevel& a) { return a.level == l.level; }))
        all.push_back(l);
    std::sort(all.begin(), all.end(), [](const VmapLevel& a, const VmapLevel& b) { return a.level < b.level; });
    return all;
  }
  LevelsScope levels_;
  Scoped<bool> grad_mode_;
  Scoped<Layer> layer_;
};

// A gradient that differs by member, of something that has one gradient for all of them, would be a
// wrong one.
void refuse_foreign(const Tensor& gradient, const BatchDims& own, const std::vector<VmapLevel>& then, const std::string& who) {
  for (const BatchDim& d : batch_dims(gradient))
    INGOT_REQUIRE(
        has_level(own, d.level) || std::none_of(then.begin(), then.end(), [&](const VmapLevel& l) { return l.level == d.level; }),
        "vmap: ", who,
        " returned a gradient that differs by member of a vmap, but nothing it is for does: it uses a tensor of that vmap "
        "that it was not given. Make that tensor one of its inputs.");
}

// What is known of a custom function from its forward to its backwards.
struct MappedFunction {
  std::string name;
  std::vector<VmapLevel> then;  // the vmaps around the forward
  BatchDims own;  // those that any input or result belongs to
  std::vector<BatchDims> inputs, results, saved;
  std::vector<Geometry> members;  // of the inputs

  TensorList backward(FunctionContext& c, const TensorList& grads, const BackwardFunction& f) const {
    const MembersScope scope(then, own);
    TensorList g;
    for (std::size_t k = 0; k < grads.size(); k++) g.push_back(batched_gradient(grads[k], results[k]));
    TensorList r = f(c, g);
    for (std::size_t i = 0; i < std::min(r.size(), inputs.size()); i++)
      if (r[i].defined()) r[i] = c.needs_input_grad(static_cast<int>(i)) ? input_gradient(r[i], i) : Tensor();
    return r;
  }

  // All members of a batch share an input that is not of it: its gradient is the sum of theirs.
  Tensor input_gradient(const Tensor& gradient, std::size_t i) const {
    const Tensor g = fit_gradient(gradient, members[i], name + "Backward", static_cast<int>(i));
    refuse_foreign(g, own, then, text("the backward of ", name));
    BatchDims shared;
    for (const BatchDim& d : own)
      if (!has_level(inputs[i], d.level)) shared.push_back(d);
    return physical_gradient(summed_over_members(g, shared), inputs[i]);
  }
};

TensorList physicals(const TensorList& l) {
  TensorList r;
  for (const Tensor& t : l) r.push_back(physical(t));
  return r;
}
std::size_t place_of(const TensorList& l, const Tensor& t) {
  return static_cast<std::size_t>(std::find_if(l.begin(), l.end(), [&](const Tensor& x) { return x.is_same(t); }) - l.begin());
}

// Each member has a result of its own, also of those that are the same for all of them: only then
// has it a gradient of its own.
void give_every_member_results(MappedFunction& f, const FunctionContext& c, TensorList& outs) {
  for (Tensor& o : outs) {
    if (!o.defined() || batch_dims(o).size() == f.own.size()) continue;
    INGOT_REQUIRE(place_of(c.dirty, o) == c.dirty.size(), "vmap: ", f.name,
                  " writes an input in place that is not vmapped over, but others are. Please try to use out-of-place operators "
                  "instead.");
    if (place_of(c.non_differentiable, o) == c.non_differentiable.size())
      o = with_dims(aten<"clone">(physical(batched_at(o, f.own)), MemoryFormat::contiguous), f.own);
  }
}

// What a program was told of the history of a batched tensor, after the physical one got another.
void tell_history(const Tensor& t) {
  if (BatchedState* s = batched_state(t)) {
    tell_history(s->value);
    set_batched_value(t, s->value);
  }
}

class VmapTape final : public LayerAbove {
 public:
  Tensor behind(const Tensor& t) const override { return physical(t); }
  Tensor gradient_behind(const Tensor& gradient, const Tensor& of) const override {
    return physical_gradient(gradient, batch_dims(of));
  }
  Tensor gradient_seen(const Tensor& gradient, const Tensor& of) const override {
    return batched_gradient(gradient, batch_dims(of));
  }

  GradHook hook_behind(const Tensor& on, GradHook hook) const override {
    INGOT_REQUIRE(
        !is_leaf(physical(on)),
        "vmap: cannot register a hook inside the vmapped function on an argument that is a leaf outside of it, where its "
        "gradient is that of all members. Register the hook outside, or on a tensor computed from the argument.");
    return [dims = batch_dims(on), then = vmap_levels(), hook = std::move(hook)](const Tensor& gradient) {
      const MembersScope scope(then, dims);
      const Tensor g = batched_gradient(gradient, dims), r = hooked(hook, g);
      if (r.is_same(g)) return gradient;
      refuse_foreign(r, dims, then, "a hook");
      return physical_gradient(r, dims);
    };
  }

  void check_gradients(const TensorList& outputs, const TensorList& inputs) const override {
    for (const Tensor& o : outputs)
      for (const Tensor& i : inputs)
        for (const BatchDim& d : batch_dims(o))
          INGOT_REQUIRE(
              has_level(batch_dims(i), d.level),
              "vmap: the gradient of a tensor that is vmapped over was asked for inside the vmapped function with respect to one "
              "that is not, and that all members share. Use the transform grad or vjp, or ask for gradients of the vmapped "
              "function's results.");
  }

  TensorList custom_function(std::string name, const TensorList& inputs, const ForwardFunction& forward,
                             BackwardFunction backward) const override {
    const auto f = std::make_shared<MappedFunction>();
    f->name = name;
    f->then = vmap_levels();
    for (const Tensor& t : inputs) {
      f->inputs.push_back(batch_dims(t));
      f->members.push_back(t.defined() ? t->geom : Geometry{});
      f->own = united(f->own, f->inputs.back());
    }
    TensorList outs, dirty;  // as the function sees them
    const ForwardFunction on_tape = [&](FunctionContext& c, const TensorList& given) {
      TensorList members = inputs;  // but for those that others take the place of (FunctionRegion)
      for (std::size_t i = 0; i < given.size(); i++)
        if (!given[i].is_same(physical(inputs[i]))) members[i] = with_dims(given[i], f->inputs[i]);
      outs = forward(c, members);
      const TensorList made = outs;
      for (const Tensor& o : outs) f->own = united(f->own, batch_dims(o));
      if (std::count(c.needs.begin(), c.needs.end(), true)) give_every_member_results(*f, c, outs);
      for (const Tensor& o : outs) f->results.push_back(batch_dims(o));
      for (Tensor& t : c.to_save) {
        if (const std::size_t k = place_of(made, t); t.defined() && k < made.size()) t = outs[k];
        f->saved.push_back(batch_dims(t));
      }
      c.seen = [f](const TensorList& saved) {
        TensorList l;
        for (std::size_t k = 0; k < saved.size(); k++)
          l.push_back(saved[k].defined() ? with_dims(saved[k], f->saved[k]) : Tensor());
        return l;
      };
      dirty = c.dirty;
      c.to_save = physicals(c.to_save);
      c.dirty = physicals(c.dirty);
      c.non_differentiable = physicals(c.non_differentiable);
      return physicals(outs);
    };
    const TensorList made = record_custom_function(
        std::move(name), physicals(inputs), on_tape,
        [f, backward = std::move(backward)](FunctionContext& c, const TensorList& g) { return f->backward(c, g, backward); });
    for (std::size_t k = 0; k < outs.size(); k++) {
      if (place_of(dirty, outs[k]) < dirty.size()) tell_history(outs[k]);
      else if (made[k].defined()) outs[k] = with_dims(made[k], f->results[k]);
    }
    return outs;
  }
};

}  // namespace

const LayerAbove& vmap_tape() {
  static const VmapTape tape;
  return tape;
}

}  // namespace ingot
