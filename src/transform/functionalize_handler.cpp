#include "transform/functionalize_handler.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "autograd/unseen_writes.hpp"
#include "base/error.hpp"
#include "op/applied.hpp"
#include "op/data_dependent.hpp"
#include "op/function.hpp"
#include "op/kernel.hpp"
#include "op/tensors.hpp"
#include "tensor/geometry.hpp"
#include "transform/functional.hpp"
#include "op/wrapper.hpp"

namespace ingot {
namespace {

Value below(const Op& op, Args args) { return call_below(Layer::functionalize, op, args); }

FunctionalState& written_state(const Op& op, const Tensor& t) {
  FunctionalState* f = functional_state(t);
  INGOT_REQUIRE(f, op.schema.name,
                ": mutating a non-functional tensor with a functional tensor is not allowed. Please ensure that all of your "
                "inputs are wrapped inside of a functionalize() call.");
  return *f;
}

void count_mutation(FunctionalStorage& s) {
  s.mutations++;
  if (unseen_writes()) {
    s.mutations_hidden++;
    return;
  }
  ++*s.version;
  const ThreadState& ts = thread_state();
  if (!ts.grad_mode || ts.inference_mode) s.mutations_no_grad++;
}

// What the call makes of its arguments as they lie in the program as written: the kernel layer
// takes functional tensors for tensors without bytes.
TensorList results_as_written(const Op& op, Args args) {
  const Scoped<Layer> layer(thread_state().layer, Layer::kernel);
  const Value r = run_kernel(op, args);
  TensorList l;
  for_each_tensor(r, [&](const Tensor& t) { l.push_back(t); });
  return l;
}

// Of a tensor that is part of a storage, a view that refers to the storage may look at elements
// which the functional program has no gradients for, or which it writes elsewhere.
void refuse_other_elements(const Op& op, const Geometry& view, const Tensor& self) {
  const FunctionalStorage& s = *functional_state(self)->storage;
  const bool tracked = thread_state().grad_mode && requires_grad(self);
  const auto require_within = [&](const Geometry& own, std::string_view why) {
    INGOT_REQUIRE(
        looks_within(view, own), op.schema.name,
        ": as_strided() refers to a storage of which the functional program has a part: it may look at elements that the tensor it is taken of does not have",
        why,
        ". Take the view with select, slice or another op that says which part of the tensor it means, or of the whole tensor");
  };
  if (tracked) require_within(self->geom, ", and the tensor requires grad");
  if (s.alone) require_within(s.layout, ", and another argument has them, which the function writes");
}

// Views need no synced value: the result has its own place in the chain and is made again at its
// first use if it is stale.
Value view(const Op& op, Args args) {
  const Tensor& self = args[0].tensor();
  FunctionalState& f = *functional_state(self);
  const Op& functional = op.functional ? *op.functional : op;
  ViewStep step{&functional, Values(args.begin(), args.end()), 0};
  Value r;
  if (op.def->view.from_storage) sync(self);
  const bool otherwise = lies_otherwise(self);
  TensorList as_written;
  if (otherwise || op.def->view.from_storage) as_written = results_as_written(functional, args);
  if (op.def->view.from_storage) {
    f.storage->referred_to = true;
    if (step.args.back().is_none()) step.args.back() = self.storage_offset();  // the base begins elsewhere
    step.retyped = self.dtype() != f.storage->layout.dtype;
    if (!f.storage->whole) refuse_other_elements(op, as_written[0]->geom, self);
    const Scoped<Layer> layer(thread_state().layer, Layer::mode);
    r = f.storage->view(step, f.value, f.chain);
  } else {
    Values a = map_tensors(args.subspan(1), from_functional);
    a.insert(a.begin(), f.value);
    r = below(otherwise && !functional.def->view.or_copy.empty() ? ingot::op(functional.def->view.or_copy) : functional, a);
  }
  TensorList views;
  for_each_tensor(r, [&](const Tensor& t) { views.push_back(t); });
  if (as_written.empty()) as_written = views;
  if (op.is_inplace_view()) {
    f.storage->require_own_region();
    step.in_place = &op;
    if (functional.def->view.inverse_reads_base && as_written[0].numel() < self.numel())
      f.left_elements = f.left_elements || f.storage->mutations > 0 || f.storage->views.use_count() > 1;
    // Other views get stale by it; what this one was taken of stays in its history.
    std::replace(f.made_at.begin(), f.made_at.end(), *f.storage->version, *f.storage->version + 1);
    ++*f.storage->version;
    f.add_step(std::move(step));
    f.metadata_mutated = true;
    f.value = views[0];
    self->geom = as_written[0]->geom;
    return args[0];
  }
  for (std::size_t k = 0; k < views.size(); k++) {
    views[k] = functional_view(self, views[k], step, as_written[k]->geom);
    step.out++;
  }
  if (r.is_tensor()) return views[0];
  return views;
}

// self looks at what source looks at, from now on; the storage it left takes no more writes (R055).
void set_storage(const Tensor& self, const Tensor& source) {
  FunctionalState& f = *functional_state(self);
  f.storage->frozen = true;
  FunctionalState taken = *functional_state(source);
  taken.metadata_mutated = f.metadata_mutated;
  taken.multi_output = f.multi_output;
  taken.storage_changed = true;
  f = std::move(taken);
  self->storage = source->storage;
  self->geom = source->geom;
}

// The first `sizes` elements of self's storage, as an in-place view.
void shrink(const Tensor& self, const Geometry& g) {
  const Value args[] = {self, g.sizes, g.strides, g.offset};
  view(op_ref<"as_strided_">(), args);
}

// self gets another size: a part of its storage, or a larger storage if nothing else can see the
// old one.
void change_size(const Op& op, const Tensor& self, const Geometry& g, const Value& format) {
  FunctionalState& f = written_state(op, self);
  if (required_bytes(g) <= self->storage->nbytes()) return shrink(self, g);
  INGOT_REQUIRE(f.chain.empty() && !f.is_view && f.storage->views.use_count() == 1,
                "Attempted to resize a view tensor to a larger size. This is not allowed in the functionalization pass");
  const Value resize_args[] = {from_functional(self), g.sizes, format};
  const Tensor bigger = below(op_ref<"resize">(), resize_args).tensor();
  auto storage = make_ref<FunctionalStorage>();
  storage->set_base(bigger, bigger->geom);
  storage->mutations = f.storage->mutations;
  storage->mutations_no_grad = f.storage->mutations_no_grad;
  storage->mutations_hidden = f.storage->mutations_hidden;
  f.storage = storage;
  f.generation = 0;
  f.metadata_mutated = true;
  f.value = bigger;
  self->geom = bigger->geom;
  self->storage = Storage::fake(bigger->storage->nbytes(), self.device());
}

Value resize(const Op& op, Args args) {
  const Tensor& self = args[0].tensor();
  INGOT_REQUIRE(!requires_grad(self), "cannot resize variables that require grad");
  const bool like = args[1].is_tensor();  // resize_as_
  const Shape sizes = like ? args[1].tensor().sizes() : args[1].ints();
  Value format = args[2];
  if (like && format.is_memory_format() && format.memory_format() == MemoryFormat::preserve)
    format = suggest_memory_format(args[1].tensor().sizes(), args[1].tensor().strides());
  if (self.sizes() == sizes && format.is_none()) return args[0];
  const MemoryFormat strides = format.is_none() ? MemoryFormat::contiguous : format.memory_format();
  change_size(op, self, {sizes, strides_for(sizes, strides), self->geom.offset, self.dtype()}, format);
  return args[0];
}

Value rewire(const Op& op, Args args) {
  const Tensor& self = args[0].tensor();
  FunctionalState& f = written_state(op, self);
  switch (op.def->effects.rewires) {
    case Rewires::size: return resize(op, args);
    case Rewires::bytes: {
      const Int now = f.storage->bytes.value_or(self->storage->nbytes()), want = args[1].to_int();
      INGOT_REQUIRE(now == 0 || want == 0, "Functionalization: a storage can be resized only from or to 0 bytes, found ", now,
                    " and ", want);
      if (const WrapperState* w = wrapper_state(f.value))  // R028
        throw_user_error(text("storage resizing is not supported on tensor subclass: ", w->cls->name()));
      f.storage->bytes = want;
      if (f.storage->bytes_to_give()) return Value();
      const Value inner[] = {from_functional(self), args[1]};  // no value has fewer bytes: it is done to the one there is
      return below(op, inner);
    }
    case Rewires::storage: {
      Tensor source;
      if (args.size() == 1) {  // set_(): nothing
        const Value size[] = {Shape{0}, self.dtype(), Value(), self.device()};
        source = to_functional(below(op_ref<"empty.memory_format">(), size).tensor());
      } else {
        source = args[1].tensor();
        if (!functional_state(source)) source = to_functional(source);
        if (args.size() > 2) {  // a part of the source's storage
          const Shape strides = args[4].ints().empty() ? contiguous_strides(args[3].ints()) : args[4].ints();
          const Value part[] = {source, args[3], strides, args[2]};
          source = view(op_ref<"as_strided">(), part).tensor();
        }
      }
      set_storage(self, source);
      return args[0];
    }
    case Rewires::nothing: break;
  }
  throw_internal_error(__FILE__, __LINE__, text(op.name, " rewires nothing"));
}

// `self` is `value` from now on, for all its aliases.
void replace(const Op& op, const Tensor& self, Tensor value) {
  FunctionalState& f = written_state(op, self);
  check_written_type(op, self, value.dtype());
  if (value.dtype() != self.dtype()) {
    const Value cast[] = {value, self.dtype()};
    value = below(op_ref<"_to_copy">(), cast).tensor();
  }
  if (op.variant == Variant::out && !(value.sizes() == self.sizes()))
    change_size(op, self, {value.sizes(), contiguous_strides(value.sizes()), self->geom.offset, self.dtype()}, Value());
  check_written_size(op, self, value.sizes());
  check_no_overlap(op, self);
  count_mutation(*f.storage);
  if (wrapper_state(f.value) && !wrapper_state(value)) {  // plain values, written to a wrapper by out=
    const Value copied[] = {f.value, value};
    value = below(op_ref<"copy">(), copied).tensor();
  }
  f.storage->add_update(value, f.chain);
  f.value = std::move(value);
  sync(self);
}

Tensor result_at(const Value& r, std::size_t k) {
  return r.is_tensor() ? r.tensor() : r.is_tensors() ? r.tensors().at(k) : r.values().at(k).tensor();
}

// An in-place or out= form: the functional op, then its results take the place of what it would
// have written.
Value write(const Op& op, Args args, const Values& values) {
  Values given;
  for (std::size_t i = 0; i < values.size(); i++)
    if (op.variant == Variant::inplace || !op.schema.args[i].type.writes()) given.push_back(values[i]);
  const Value r = below(*op.functional, given);
  TensorList written;
  for (const int8_t w : op.written)
    for_each_tensor(args[static_cast<std::size_t>(w)], [&](const Tensor& t) { written.push_back(t); });
  for (std::size_t k = 0; k < written.size(); k++) {
    if (op.variant == Variant::out) check_out_size(op, args, written[k], result_at(r, k).sizes());
    replace(op, written[k], result_at(r, k));
  }
  return written.size() == 1 ? Value(written[0]) : Value(std::move(written));
}

// What an op is called with by name.
struct Keywords {
  Values names, values;
  void add(std::string name, Value v) {
    names.emplace_back(std::move(name));
    values.push_back(std::move(v));
  }
};

// The dim that alone is shorter in the view, and where the view begins in it, if the view is that
// slice of the base.
std::optional<std::pair<std::size_t, Int>> slice_of(const Geometry& view, const Geometry& base) {
  if (view.sizes.size() != base.sizes.size() || !view.strides.same(base.strides)) return std::nullopt;
  std::optional<std::size_t> dim;
  for (std::size_t d = 0; d < base.sizes.size(); d++) {
    if (view.sizes[d].same(base.sizes[d])) continue;
    if (dim) return std::nullopt;
    dim = d;
  }
  if (!dim || base.strides[*dim].same(0)) return std::nullopt;
  const Int from = view.offset - base.offset, stride = base.strides[*dim];
  if (!mod(from, stride).same(0)) return std::nullopt;
  return std::pair{*dim, floor_div(from, stride)};
}

// The tensors that an op writes, as views of the storages they stand on (op/applied.hpp): the op
// shall see what they share.
class WrittenViews {
 public:
  explicit WrittenViews(const Op& op) : op_(op) {}

  // For all that are added then.
  void prepare(const Tensor& t) {
    if (!t.defined()) return;
    const FunctionalState& f = written_state(op_, t);
    check_no_overlap(op_, t);
    sync(t);
    FunctionalStorage& s = *f.storage;
    if (std::ranges::any_of(f.chain, [](const ViewStep& v) { return v.op->def->view.from_storage; }))
      s.require_own_elements(t->geom);
    s.apply_updates();
    if (s.whole) {
      if (!statically_same(s.base->geom, s.layout)) s.restore_layout();
      return;
    }
    // A part of a storage: the elements around it are none of the op's. The tensor that the program
    // was given has them all the same; nobody else does.
    if (statically_same(s.base->geom, s.layout) && !s.base.is_same(s.first) &&
        !is_non_overlapping_and_dense(s.layout.sizes, s.layout.strides)) {
      const Value copied[] = {s.base};
      s.base = below(op_ref<"clone">(), copied).tensor();
      s.generation++;
      sync(t);
    }
    if (!statically_same(s.base->geom, s.layout) && f.value->storage != s.base->storage) s.restore_layout();
  }

  void add(const SchemaArg& a, const Value& v, Keywords& k) {
    const std::string prefix = "_" + a.name;
    if (!v.is_tensors()) return add(prefix, v.tensor_or_none(), k);
    k.add(prefix + "_length", static_cast<int64_t>(v.tensors().size()));
    for (std::size_t i = 0; i < v.tensors().size(); i++) add(text(prefix, "_", i), v.tensors()[i], k);
  }

  // Every storage as one tensor, which the views refer to; it lies as in the program as written
  // where that is all of the storage.
  TensorList bases() const {
    TensorList l;
    for (const auto& s : storages_) l.push_back(s->base);
    return l;
  }
  // They are these values from now on.
  void replace(Args values) {
    for (std::size_t i = 0; i < storages_.size(); i++) storages_[i]->add_update(values[i].tensor(), {});
    for (const Tensor& t : written_) {
      count_mutation(*functional_state(t)->storage);
      sync(t);
    }
  }

 private:
  const Op& op_;
  std::vector<Ref<FunctionalStorage>> storages_;
  TensorList written_;

  std::size_t place_of(const Ref<FunctionalStorage>& storage) {
    const auto found = std::find(storages_.begin(), storages_.end(), storage);
    if (found != storages_.end()) return static_cast<std::size_t>(found - storages_.begin());
    storages_.push_back(storage);
    return storages_.size() - 1;
  }

  void add(const std::string& prefix, const Tensor& t, Keywords& k) {
    if (!t.defined()) return k.add(prefix + "_base_index", Value());
    const FunctionalState& f = written_state(op_, t);
    written_.push_back(t);
    k.add(prefix + "_base_index", static_cast<int64_t>(place_of(f.storage)));
    if (f.chain.empty()) return;
    const Geometry& base = f.storage->base->geom;
    const bool as_written = statically_same(base, f.storage->layout);
    if (!as_written) sync(t);
    const Geometry& view = as_written ? t->geom : f.value->geom;
    if (view.same(base)) return k.add(prefix + "_alias", true);
    if (const auto slice = slice_of(view, base)) {
      k.add(prefix + "_slice_dim", static_cast<int64_t>(slice->first));
      k.add(prefix + "_slice_start", slice->second);
      k.add(prefix + "_slice_end", slice->second + view.sizes[slice->first]);
    } else {
      k.add(prefix + "_size", view.sizes);
      k.add(prefix + "_stride", view.strides);
      k.add(prefix + "_storage_offset", view.offset);
      f.storage->referred_to = f.storage->referred_to || as_written;
    }
  }
};

// An op that writes some arguments besides making results. ATen's functional form of it, where
// there is one, has the same name with _functional and returns the new values after the results;
// any other goes through auto_functionalized_v2 (R060).
Value write_besides(const Op& op, Args args, const Values& values) {
  Values results;
  const std::size_t returned = op.schema.results.size();
  if (const Op* functional = find_op(op.name + "_functional")) {
    results = list_elements(below(*functional, values));
    for (std::size_t k = 0; k < op.written.size(); k++) {
      const Value& target = args[static_cast<std::size_t>(op.written[k])];
      if (target.is_tensor()) replace(op, target.tensor(), results.at(returned + k).tensor());
    }
  } else {
    const Op& applies = op_ref<"higher_order::auto_functionalized_v2">();
    const Value name[] = {op.qualified()};
    if (op.def->body && taken_apart(applies, name)) {
      const Scoped<Layer> layer(thread_state().layer, Layer::functionalize);
      return op.def->body({op, args});
    }
    Keywords k;
    WrittenViews views(op);
    for (std::size_t i = 0; i < values.size(); i++)
      if (!op.schema.args[i].type.writes()) k.add(op.schema.args[i].name, values[i]);
    for (const int8_t w : op.written)
      for_each_tensor(args[static_cast<std::size_t>(w)], [&](const Tensor& t) { views.prepare(t); });
    for (const int8_t w : op.written)
      views.add(op.schema.args[static_cast<std::size_t>(w)], args[static_cast<std::size_t>(w)], k);
    k.add(std::string(kAllBases), views.bases());
    Values given{op.qualified(), k.names};
    given.insert(given.end(), k.values.begin(), k.values.end());
    results = list_elements(below(applies, given));
    views.replace(Args(results).subspan(std::max<std::size_t>(returned, 1)));  // None stands for no result
  }
  results.resize(returned);
  for (Value& v : results) v = map_tensors(v, to_functional);
  return results.empty() ? Value() : results.size() == 1 ? results[0] : list_value(std::move(results));
}

// Whether results may lie otherwise than in the program as written, because an argument does.
bool strides_follow(const Op& op, Args args) {
  bool otherwise = false;
  for_each_tensor(args, [&](const Tensor& t) { otherwise |= lies_otherwise(t) && has_storage(functional_state(t)->value); });
  return otherwise && op.form() != Form::higher_order && !depends_on_data(op);
}

}  // namespace

Value functionalize_handler(const Op& op, Args args) {
  if (op.def->effects.rewires != Rewires::nothing) return rewire(op, args);
  if (op.is_view())
    if (const FunctionalState* f = functional_state(args[0].tensor()); f && (op.is_inplace_view() || has_storage(f->value)))
      return view(op, args);
  // How the results of functions lie, nobody works out as they are written.
  if (op.form() == Form::higher_order)
    for_each_tensor(args, [](const Tensor& t) {
      sync(t);  // a stale value lies as it was
      if (lies_otherwise(t) && has_storage(functional_state(t)->value)) lay_as_written(t);
    });
  Values values = map_tensors(args, from_functional);
  for (Value& v : values) v = map_functions(v, [&](const Value& f) { return functionalized_function(op, f); });
  if (op.functional) return write(op, args, values);
  if (op.mutates()) return write_besides(op, args, values);
  const bool frozen = thread_state().exporting && op.def->exported.frozen;
  const Value results = below(op, values);
  const TensorList as_written = strides_follow(op, args) ? results_as_written(op, args) : TensorList();
  std::size_t k = 0;
  return map_tensors(results, [&](const Tensor& t) {
    const Geometry& geom = as_written.empty() ? t->geom : as_written[k++]->geom;
    if (!frozen)
      for (const Value& v : args)  // handed through
        if (v.is_tensor() && from_functional(v.tensor()).is_same(t)) return v.tensor();
    const Tensor r = functional_result(t, geom);
    functional_state(r)->storage->frozen = frozen;
    return r;
  });
}

}  // namespace ingot
