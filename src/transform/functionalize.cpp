#include "ingot/transforms.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "tensor/geometry.hpp"
#include "tensor/stand_in.hpp"
#include "transform/functional.hpp"
#include "transform/physical.hpp"
#include "op/wrapper.hpp"

namespace ingot {
namespace {

// ---- values and gradients across the border
// Outside are plain tensors, inside functional ones; each has a history of its own, and a node
// joins them. Functional tensors are below batched ones: of a tensor that is vmapped over the
// tensor of all members crosses.

class BorderNode final : public GradNode {
 public:
  // `cross` takes a gradient to the side where `from`, whose value was taken over the border,
  // lives.
  BorderNode(const Tensor& from, Tensor (*cross)(const Tensor&)) : cross_(cross) {
    edges = {edge_of(from)};
    results = {from->geom};
  }
  std::string name() const override { return "FunctionalizeBackward"; }
  TensorList apply(const TensorList& grads, const std::vector<bool>&) override { return {cross_(grads[0])}; }

 private:
  Tensor (*cross_)(const Tensor&);
};

Tensor out_of_functional(const Tensor& inside);
Tensor into_functional(const Tensor& outside) {
  const Tensor p = physical(outside);
  const Tensor inside = to_functional(autograd_meta(p) ? detached(p) : p);
  if (requires_grad(p)) set_history(inside, make_ref<BorderNode>(p, out_of_functional), 0);
  return with_physical(outside, inside);
}
Tensor out_of_functional(const Tensor& inside) {
  const Tensor p = physical(inside), value = from_functional(p);
  if (value.is_same(p) || !requires_grad(p)) return with_physical(inside, value);
  const Tensor outside = detached(value);
  set_history(outside, make_ref<BorderNode>(p, into_functional), 0);
  return with_physical(inside, outside);
}

// ---- arguments

// The arguments that live on one storage, and the functional storage that stands for it.
struct Group {
  std::vector<Tensor> members;
  Tensor outside;                  // the one argument, or a tensor of which all are views
  Tensor inside;                   // its functional tensor
  Ref<FunctionalStorage> storage;  // what `inside` stood on at first
  Ref<GradNode> history;           // of `inside` at first: as long as it is the same, no write was seen by the tape
};
struct Input {
  Tensor outside, inside;
  Tensor before;              // of an argument that looks different afterwards: what it was
  std::size_t group = 0;
  std::size_t own_steps = 0;  // views between the group's tensor and the argument as it came
};

// A tensor of which all members of a storage are views. Gradients need the tensor they are views of
// for the tape; without gradients it is the whole storage as one dim.
Tensor common_base(const std::vector<Tensor>& members) {
  const Tensor& first = members.front();
  const auto view_base = [](const Tensor& t) {
    const AutogradMeta* m = autograd_meta(t);
    return m && m->view ? m->view->base : t;
  };
  const bool tracked = std::any_of(members.begin(), members.end(), [](const Tensor& t) { return requires_grad(t); });
  for (const Tensor& t : members)
    INGOT_REQUIRE(t.dtype() == first.dtype(), "functionalize: arguments that share storage should have one dtype, found ",
                  first.dtype(), " and ", t.dtype(), "; pass one of them and take the other view inside the function");
  if (tracked) {
    const Tensor base = view_base(first);
    for (const Tensor& t : members)
      INGOT_REQUIRE(view_base(t).is_same(base),
                    "functionalize: arguments share storage and are no views of one tensor as the tape sees it, so their "
                    "gradients cannot be told apart; pass one of them and take the other view inside the function");
    return base;
  }
  return aten<"as_strided">(first, Shape{floor_div(first->storage->nbytes(), first.itemsize())}, Shape{1}, 0);
}

void apply_in_place(const ViewStep& s, const Tensor& t) {
  Values args = s.args;
  args[0] = t;
  call(*s.in_place, args);
}

class Border {
 public:
  explicit Border(const TensorList& arguments) {
    for (const Tensor& t : arguments) {
      const auto known = std::find_if(inputs_.begin(), inputs_.end(), [&](const Input& i) { return i.outside.is_same(t); });
      places_.push_back(static_cast<std::size_t>(known - inputs_.begin()));
      if (known != inputs_.end()) continue;
      const auto shared = std::find_if(groups_.begin(), groups_.end(),
                                       [&](const Group& g) { return g.members[0]->storage == t->storage && has_storage(t); });
      inputs_.push_back({t, {}, {}, static_cast<std::size_t>(shared - groups_.begin())});
      if (shared == groups_.end()) groups_.emplace_back();
      groups_[inputs_.back().group].members.push_back(t);
    }
    const Scoped<bool> grad_mode(thread_state().grad_mode,
                                 true);  // views of arguments are as the caller made them, whatever the mode
    for (Group& g : groups_) {
      g.outside = g.members.size() == 1 ? g.members[0] : common_base(g.members);
      g.inside = into_functional(g.outside);
      g.storage = functional_state(g.inside)->storage;
      g.history = grad_fn(g.inside);
    }
    for (Input& i : inputs_) {
      const Group& g = groups_[i.group];
      i.own_steps = g.members.size() == 1 ? 0 : 1;
      i.inside = i.own_steps == 0
                     ? g.inside
                     : aten<"as_strided">(g.inside, i.outside.sizes(), i.outside.strides(), i.outside.storage_offset());
    }
  }

  TensorList inside() const {
    TensorList l;
    for (const std::size_t p : places_) l.push_back(inputs_[p].inside);
    return l;
  }

  // What the function did to its arguments, done to them.
  void write_back(bool counts_writes) {
    for (const Group& g : groups_) {
      if (g.storage->mutations == 0) continue;
      const bool seen = !(grad_fn(g.inside) == g.history);
      const Scoped<bool> grad_mode(thread_state().grad_mode, thread_state().grad_mode && seen);
      if (give_bytes(*g.storage, g.outside)) aten_value<"copy_">(g.outside, written(g));
    }
    for (Input& i : inputs_) {
      const FunctionalState& f = *functional_state(i.inside);
      if (!f.metadata_mutated && !f.storage_changed) continue;
      if (!counts_writes && !f.storage_changed && statically_same(i.inside->geom, i.outside->geom)) continue;
      i.before = aten<"alias">(i.outside);
      if (f.storage_changed) {
        const Tensor value = made_again(i.inside);
        give_bytes(*f.storage, value);
        aten_value<"set_.source_Tensor">(i.outside, value);
      } else if (f.storage == groups_[i.group].storage) {
        for (std::size_t k = i.own_steps; k < f.chain.size(); k++) apply_in_place(f.chain[k], i.outside);
      } else {  // resize_ gave it more bytes
        aten_value<"resize_">(i.outside, i.inside.sizes());
        aten_value<"copy_">(i.outside, out_of_functional(i.inside));
      }
    }
  }

  TensorList results(const TensorList& inside) const {
    keep_aliases(inside, [&](const FunctionalState& f) { return is_of_argument(f); });
    TensorList outside;
    for (const Tensor& t : inside) {
      const auto known = std::find_if(inside.begin(), inside.end(), [&](const Tensor& o) { return o.is_same(t); });
      const auto k = static_cast<std::size_t>(known - inside.begin());
      outside.push_back(k < outside.size() ? outside[k] : result(t));
    }
    for (std::size_t k = 0; k < inside.size(); k++) keep_stand_in(inside, outside, k);
    return outside;
  }

 private:
  std::vector<Group> groups_;
  std::vector<Input> inputs_;         // each tensor once
  std::vector<std::size_t> places_;   // of each argument in inputs_

  // A conj of an argument or of another result is outside what it is inside.
  void keep_stand_in(const TensorList& inside, const TensorList& outside, std::size_t k) const {
    const Storage& s = *inside[k]->storage;
    if (!functional_state(inside[k]) || !is_stand_in(s)) return;
    require_current(s, "a result of the function");
    const auto note = [&](const Tensor& in, const Tensor& out) {
      const bool found = stands_in_for(s, *in->storage);
      if (found) make_stand_in(*outside[k]->storage, *out->storage, stand_in_made_by(s));
      return found;
    };
    for (const Input& i : inputs_)
      if (note(i.inside, i.outside)) return;
    for (std::size_t o = 0; o < inside.size(); o++)
      if (note(inside[o], outside[o])) return;
  }

  bool is_of_argument(const FunctionalState& f) const {
    return std::any_of(groups_.begin(), groups_.end(), [&](const Group& g) { return g.storage == f.storage; });
  }

  // The value that the writes left in a group's tensor.
  static Tensor written(const Group& g) {
    const FunctionalState& f = *functional_state(g.inside);
    const AutogradMeta* m = autograd_meta(g.inside);
    const bool undone = !m || std::none_of(m->root_steps.begin(), m->root_steps.end(),
                                           [](const RootStep& s) { return s.step.op->def->view.inverse_reads_base; });
    INGOT_REQUIRE(
        undone || !requires_grad(g.inside),
        "functionalize: an argument that requires grad got another part of its storage by as_strided_ and was written, and the "
        "gradients of its other elements cannot be followed; take the view with as_strided() instead");
    if (undone && f.storage == g.storage && f.chain.size() == (m ? m->root_steps.size() : 0)) {
      const FunctionalizeScope scope;
      const Scoped<bool> grad_mode(thread_state().grad_mode, true);
      return out_of_functional(without_root_steps(g.inside));
    }
    g.storage->apply_updates();  // set_ or resize_, which the tape does not follow, took the tensor elsewhere
    return g.storage->base;
  }

  // The views that led to `inside`, taken of the argument whose storage it is on; a value of its
  // own otherwise.
  Tensor made_again(const Tensor& inside) const {
    const FunctionalState& f = *functional_state(inside);
    const auto group = std::find_if(groups_.begin(), groups_.end(), [&](const Group& g) { return g.storage == f.storage; });
    if (group == groups_.end()) return out_of_functional(inside);
    Tensor base = group->outside;
    if (group->members.size() == 1)
      for (const Input& i : inputs_)
        if (i.outside.is_same(base) && i.before.defined()) base = i.before;
    const Scoped<bool> grad_mode(thread_state().grad_mode, thread_state().grad_mode && requires_grad(inside));
    const Tensor again = take_views(base, f.chain, f.older_steps());
    return again.is_same(group->outside) ? aten<"alias">(again) : again;
  }

  Tensor result(const Tensor& inside) const {
    if (!functional_state(inside)) return inside;
    for (const Input& i : inputs_)
      if (i.inside.is_same(inside)) return i.outside;
    const Tensor outside = made_again(inside);
    INGOT_REQUIRE(
        requires_grad(outside) || !requires_grad(inside),
        "functionalize: a result lives on the storage of an argument and has a history of "
        "its own (a detached view of the argument was written with a tensor that requires grad): the two cannot be kept apart "
        "without running the program as it is. Return a clone() of it instead.");
    return outside;
  }
};

TensorList physical_each(const TensorList& l) {
  TensorList r;
  for (const Tensor& t : l) r.push_back(physical(t));
  return r;
}

// The values, batched as the arguments are; what is one argument is one tensor.
TensorList batched_as(const TensorList& arguments, const TensorList& values) {
  TensorList r;
  for (std::size_t i = 0; i < arguments.size(); i++) {
    const auto first = std::find_if(arguments.begin(), arguments.end(), [&](const Tensor& t) { return t.is_same(arguments[i]); });
    const auto k = static_cast<std::size_t>(first - arguments.begin());
    r.push_back(k < i ? r[k] : with_physical(arguments[i], values[i]));
  }
  return r;
}

}  // namespace

TensorFunction functionalize(TensorFunction f, FunctionalizeOptions options) {
  return [f = std::move(f), options](const TensorList& arguments) {
    const ThreadState& ts = thread_state();
    if (ts.active & layer_bit(Layer::functionalize)) {  // the functionalize around it follows what f does
      const FunctionalizeScope scope(ts.exporting || options.exporting);
      return f(arguments);
    }
    Border border(physical_each(arguments));
    const TensorList values = border.inside(), inside = batched_as(arguments, values);
    TensorList results;
    {
      const FunctionalizeScope scope(options.exporting);
      results = f(inside);
    }
    border.write_back(options.counts_writes);
    TensorList outside = border.results(physical_each(results));
    for (std::size_t k = 0; k < results.size(); k++) {
      const auto argument = std::find_if(inside.begin(), inside.end(), [&](const Tensor& t) { return t.is_same(results[k]); });
      outside[k] = argument == inside.end() ? with_physical(results[k], outside[k])
                                            : arguments[static_cast<std::size_t>(argument - inside.begin())];
    }
    // An in-place view gives a batched tensor another value, and leaves the value as it was.
    for (std::size_t i = 0; i < inside.size(); i++)
      if (!physical(inside[i]).is_same(values[i]))
        set_batched_value(arguments[i], with_physical(batched_state(inside[i])->value, border.results({physical(inside[i])})[0]));
    return outside;
  };
}

}  // namespace ingot
