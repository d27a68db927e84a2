#include "transform/functional.hpp"

#include <algorithm>
#include <unordered_set>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "expr/if_known.hpp"
#include "op/call.hpp"
#include "op/function.hpp"
#include "op/tensors.hpp"
#include "tensor/geometry.hpp"
#include "transform/batched.hpp"
#include "transform/functionalize_handler.hpp"
#include "op/wrapper.hpp"

namespace ingot {
namespace {

constexpr uint8_t kFunctionalizeBit = layer_bit(Layer::functionalize);

// Calls of this scope are the functional program: they go below the functionalize layer.
Scoped<Layer> below() { return {thread_state().layer, Layer::mode}; }

Tensor make_functional(Ref<Storage> storage, std::unique_ptr<FunctionalState> state, const Geometry& as_written) {
  Tensor t(make_ref<TensorImpl>(std::move(storage), as_written));
  t->layers = kFunctionalizeBit;
  t->special = std::move(state);
  return t;
}

// What a step that refers to the storage looks at.
Geometry geometry_of(const ViewStep& s, const Tensor& base) {
  Values args = s.args;
  args[0] = base;
  Outputs out;
  s.op->def->view.geometry({*s.op, args}, out);
  return out.geoms.at(0);
}

thread_local int regions = 0;

// While a function of a higher-order op runs. What it brings up to date of the program around it is
// so in the function alone: a tracer makes a graph of its own of the function, and knows nothing of
// the values in it afterwards.
class Region {
 public:
  Region() : outer_(current) {
    current = this;
    regions++;
  }
  ~Region() {
    for (auto t = tensors_.rbegin(); t != tensors_.rend(); ++t) {
      *functional_state(t->tensor) = std::move(t->state);
      t->tensor->geom = std::move(t->geom);
    }
    for (auto s = storages_.rbegin(); s != storages_.rend(); ++s) s->restore();
    regions--;
    current = outer_;
  }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  // Before the tensor is brought up to date.
  static void note(const Tensor& t) {
    const FunctionalState& f = *functional_state(t);
    if (f.storage->region >= regions) return;
    current->tensors_.push_back({t, f, t->geom});
    current->storages_.push_back({f.storage, f.storage->base, f.storage->updates, f.storage->generation});
  }

 private:
  struct TensorBefore {
    Tensor tensor;
    FunctionalState state;
    Geometry geom;
  };
  struct StorageBefore {
    Ref<FunctionalStorage> storage;
    Tensor base;
    std::vector<FunctionalStorage::Update> updates;
    uint32_t generation;
    void restore() {
      storage->base = std::move(base);
      storage->updates = std::move(updates);
      storage->generation = generation;
    }
  };
  Region* outer_;
  std::vector<TensorBefore> tensors_;
  std::vector<StorageBefore> storages_;
  static inline thread_local Region* current = nullptr;
};

// Whether the elements stand in the same order. The stride of a dim with one index says nothing.
bool lie_alike(const Tensor& a, const Tensor& b) {
  for (int d = 0; d < a.dim(); d++)
    if (!a.sizes()[d].same(1) && !statically_equal(a.strides()[d], b.strides()[d])) return false;
  return true;
}

}  // namespace

bool give_bytes(const FunctionalStorage& s, const Tensor& t) {
  const std::optional<Int> bytes = s.bytes_to_give();
  if (!bytes) return true;
  if (!(t->storage->nbytes() == *bytes)) aten_value<"inductor::resize_storage_bytes_">(t, *bytes);
  return !(*bytes == 0);
}

FunctionalStorage::FunctionalStorage() : region(regions) {}

void FunctionalStorage::set_base(const Tensor& value, const Geometry& as_written) {
  base = value;
  layout = as_written;
  const Int bytes = statically_same(value->geom, layout) ? value->storage->nbytes() : required_bytes(layout);
  // Asked first, because it needs no answer about sizes that only data decides.
  const bool row_major = layout.strides.same(contiguous_strides(layout.sizes));
  whole = (row_major || is_non_overlapping_and_dense(layout.sizes, layout.strides)) && layout.offset.same(0) &&
          statically_equal(value.numel() * value.itemsize(), bytes);
  first = whole ? Tensor() : value;
}

FunctionalState* functional_state(const Tensor& t) {
  return t.defined() && (t->layers & kFunctionalizeBit) ? static_cast<FunctionalState*>(t->special.get()) : nullptr;
}

void FunctionalStorage::require_own_region() const {
  INGOT_REQUIRE(region == regions,
                "a function of a higher-order op might be modifying a tensor that it brings along; return the new value instead");
}

void FunctionalStorage::require_own_elements(const Geometry& view) const {
  INGOT_REQUIRE(
      whole || looks_within(view, layout),
      "as_strided() refers to a storage of which the functional program has a part: a write "
      "through it would reach elements that the tensor it is taken of does not have. Take the view of the whole tensor");
}

void FunctionalStorage::add_update(Tensor value, std::vector<ViewStep> chain) {
  if (!chain.empty() && chain[0].op->def->view.from_storage && !whole) require_own_elements(geometry_of(chain[0], first));
  INGOT_REQUIRE(!frozen, "cannot mutate tensors with frozen storage");
  require_own_region();
  for (std::size_t i = 1; i < chain.size(); i++)
    INGOT_REQUIRE(
        !chain[i].op->def->view.from_storage, "During torch.compile, encountered a mutation on a view chain of length ",
        chain.size(), ", where view ", i,
        " was an as_strided() call. as_strided() is non-compositional, and therefore is not possible to "
        "functionalize properly today,so this behavior is banned in compile. Take the view with select, slice, view or another op "
        "that says which part of the tensor it means.");
  updates.push_back({std::move(value), std::move(chain), current_source()});
  generation++;
}

Tensor FunctionalStorage::laid_out() {
  if (statically_same(base->geom, layout) && (whole || generation == 0)) return base;
  if (!whole) {  // all of the storage as one dim, with the elements that the base has now
    const Tensor storage = aten<"as_strided">(first, Shape{floor_div(first->storage->nbytes(), first.itemsize())}, Shape{1}, 0);
    return aten<"as_strided_scatter">(storage, base, layout.sizes, layout.strides, layout.offset);
  }
  const Tensor copy =
      aten<"copy">(aten<"empty_strided">(layout.sizes, layout.strides, layout.dtype, Value(), base.device()), base);
  if (region == regions) {  // for whoever comes next, too
    base = copy;
    generation++;
  }
  return copy;
}

// Regeneration wants the value, not the aliasing: a step may copy where the regenerated base has
// other strides than the original had. A step that refers to the storage is one of the base,
// wherever it stands in a chain: of its elements, or of what the steps before made its elements.
Tensor FunctionalStorage::view(const ViewStep& s, const Tensor& value, std::span<const ViewStep> before) {
  if (s.op->def->view.from_storage) {
    Tensor storage = laid_out();
    if (!s.retyped) return s.apply(storage);
    if (!whole && !statically_same(storage->geom, layout))
      storage = aten<"as_strided">(storage, layout.sizes, layout.strides, layout.offset);
    for (const ViewStep& b : before) storage = b.apply(storage);
    return s.apply(storage);
  }
  const bool is_plain = value.strides().same(Geometry::contiguous(value.sizes(), value.dtype()).strides);
  if (s.op->def->view.or_copy.empty() || is_plain) return s.apply(value);
  Values args = s.args;
  args[0] = value;
  return call(op(s.op->def->view.or_copy), args).tensor();
}

// Windows that overlap show an element more than once, and the inverse of a step knows one of them
// alone: where the write went through such a step (a part of an unfold), it goes to the places in
// the storage that the view written has. Undefined: it did not.
Tensor FunctionalStorage::written_through_overlap(const Update& u, const TensorList& bases) {
  const auto is_open = [](const Tensor& t) { return t.sizes().is_symbolic() || t.strides().is_symbolic(); };
  // Of open sizes: a step that shows more elements than there are shows some of them twice.
  const auto grows = [&](std::size_t i) { return less_if_known(bases[i - 1].numel(), bases[i].numel()).value_or(false); };
  bool overlaps = false;
  for (std::size_t i = 1; i < bases.size() && !overlaps; i++)
    overlaps = is_open(bases[i]) ? grows(i) : may_overlap(bases[i]->geom);
  if (!overlaps) return {};
  const Tensor last = view(u.chain.back(), bases.back(), std::span(u.chain).first(u.chain.size() - 1));
  if (last->storage != bases[0]->storage || last.dtype() != bases[0].dtype() || (!is_open(last) && may_overlap(last->geom)))
    return {};
  return aten<"as_strided_scatter">(bases[0], u.value, last.sizes(), last.strides(), last.storage_offset());
}

void FunctionalStorage::apply_updates() {
  const auto scope = below();
  for (const Update& u : updates) {
    const SourceScope source(u.source);
    const bool of_storage = !u.chain.empty() && u.chain[0].op->def->view.from_storage;
    TensorList bases{of_storage ? laid_out() : base};
    for (std::size_t i = 0; i + 1 < u.chain.size(); i++)
      bases.push_back(view(u.chain[i], bases.back(), std::span(u.chain).first(i)));
    if (const Tensor written = written_through_overlap(u, bases); written.defined()) {
      base = of_storage && !whole ? aten<"as_strided">(written, layout.sizes, layout.strides, layout.offset) : written;
      continue;
    }
    Tensor value = u.value;
    for (std::size_t i = u.chain.size(); i-- > 0;) {
      const ViewStep& s = u.chain[i];
      Values args = s.args;
      args[0] = bases[i];
      value = s.op->def->view.inverse({*s.op, args}, bases[i], value, s.out);
    }
    base = of_storage && !whole ? aten<"as_strided">(value, layout.sizes, layout.strides, layout.offset) : value;
  }
  updates.clear();
}

void FunctionalStorage::restore_layout() {
  const auto scope = below();
  apply_updates();
  const Tensor storage = laid_out();
  if (whole) return;
  base = aten<"as_strided">(storage, layout.sizes, layout.strides, layout.offset);
  generation++;
}

Tensor to_functional(const Tensor& value) { return functional_result(value, value->geom); }
Tensor functional_result(const Tensor& value, const Geometry& as_written) {
  install_once(Layer::functionalize, functionalize_handler);
  INGOT_ENSURE(value.defined() && !functional_state(value) && !batched_state(value),
               "only plain tensors and wrappers are inside of functional tensors");
  auto state = std::make_unique<FunctionalState>();
  state->value = value;
  state->storage = make_ref<FunctionalStorage>();
  state->storage->set_base(value, as_written);
  const Int bytes = statically_same(value->geom, as_written) ? value->storage->nbytes() : required_bytes(as_written);
  return make_functional(Storage::fake(bytes, value.device()), std::move(state), as_written);
}

void take_place(const Tensor& copy, const Tensor& of) {
  FunctionalState& c = *functional_state(copy);
  const FunctionalStorage& around = *functional_state(of)->storage;
  if (around.whole) return;
  FunctionalStorage& s = *c.storage;
  s.layout = around.layout;
  s.whole = false;
  s.alone = around.alone;
  s.first = around.first;
  c.generation = ++s.generation;  // the elements around it are not beside its value
  copy->geom = of->geom;
  copy->storage = Storage::fake(of->storage->nbytes(), of.device());
}

void get_stale_together(const Tensor& t, const Tensor& other) {
  functional_state(t)->storage->version = functional_state(other)->storage->version;
  t->storage = other->storage;
}

void FunctionalState::add_step(ViewStep step) {
  step.args[0] = Value();
  chain.push_back(std::move(step));
  made_at.push_back(*storage->version);
}

std::size_t FunctionalState::older_steps() const {
  return static_cast<std::size_t>(std::find(made_at.begin(), made_at.end(), *storage->version) - made_at.begin());
}

Tensor take_views(const Tensor& base, const std::vector<ViewStep>& chain, std::size_t older) {
  const auto newer = chain.begin() + static_cast<std::ptrdiff_t>(older);
  Tensor t = take_again(base, {chain.begin(), newer});
  for (auto s = newer; s != chain.end(); ++s) t = s->apply(t);
  return t;
}

Tensor functional_view(const Tensor& base, const Tensor& value, ViewStep step, const Geometry& as_written) {
  const FunctionalState& b = *functional_state(base);
  auto state = std::make_unique<FunctionalState>();
  state->value = value;
  state->storage = b.storage;
  state->chain = b.chain;
  state->is_view = b.storage->views;
  state->multi_output = b.multi_output || step.op->returns_list();
  state->storage_changed = b.storage_changed;
  state->made_at = b.made_at;
  state->add_step(std::move(step));
  state->copied = value->storage != b.storage->base->storage;
  return make_functional(base->storage, std::move(state), as_written);
}

void keep_aliases(const TensorList& results, const std::function<bool(const FunctionalState&)>& is_left_out) {
  for (const Tensor& t : results) {
    const FunctionalState* f = functional_state(t);
    if (!f || is_left_out(*f)) continue;
    lay_as_written(t);
    if (!f->copied) continue;
    const bool shared = std::any_of(results.begin(), results.end(), [&](const Tensor& o) {
      const FunctionalState* other = functional_state(o);
      return other && !o.is_same(t) && other->storage == f->storage;
    });
    if (shared) f->storage->restore_layout();
  }
}

void lay_as_written(const Tensor& t) {
  const FunctionalState* f = functional_state(t);
  if (!f) return;
  sync(t);
  // What was written has the strides of the op that computed it, and no elements in between that
  // nobody has; so has what was computed of it.
  if (!lie_alike(f->value, t)) f->storage->restore_layout();
}

void sync(const Tensor& t) {
  FunctionalState* f = functional_state(t);
  if (!f || f->generation == f->storage->generation) return;
  Region::note(t);
  const auto scope = below();
  f->storage->apply_updates();
  Tensor value = f->storage->base;
  for (std::size_t i = 0; i < f->chain.size(); i++)
    value = f->storage->view(f->chain[i], value, std::span<const ViewStep>(f->chain).first(i));
  f->value = value;
  f->copied = value->storage != f->storage->base->storage;
  f->generation = f->storage->generation;
}

bool looks_within(const Geometry& view, const Geometry& tensor) {
  return tensor.same(view) || (is_non_overlapping_and_dense(tensor.sizes, tensor.strides) &&
                               tensor.offset * size_of(tensor.dtype) <= view.offset * size_of(view.dtype) &&
                               required_bytes(view) <= required_bytes(tensor));
}

bool lies_otherwise(const Tensor& t) {
  const FunctionalState* f = functional_state(t);
  return f && !statically_same(f->value->geom, t->geom);
}

Tensor inner_tensor_of(const Tensor& t, std::string_view name) { return aten<"ingot::inner_tensor">(t, std::string(name)); }

Tensor from_functional(const Tensor& t) {
  const FunctionalState* f = functional_state(t);
  if (!f) return t;
  sync(t);
  return f->value;
}

Value functionalized_function(const Op& op, const Value& f) {
  return make_function([&op, f](Args args) {
    const Scoped<Layer> layer(thread_state().layer, std::min(thread_state().layer, Layer::functionalize));
    const Region region;
    const FunctionalizeScope scope;
    const Values inside = map_tensors(args, to_functional);
    const Values returned = f.function()(inside);
    std::unordered_set<const FunctionalStorage*> operands;
    for (const Value& v : inside)
      for_each_tensor(v, [&](const Tensor& t) { operands.insert(functional_state(t)->storage.get()); });
    for (const FunctionalStorage* s : operands)
      INGOT_REQUIRE(s->mutations == 0, "One of torch.", op.schema.name,
                    " branch might be modifying the input! Return the new value instead of writing it.");
    // Of an element only the value counts.
    const CallingConvention* convention = calling_convention(op);
    const bool may_return_operands = convention && convention->control == Control::element;
    for (const Value& v : returned)
      for_each_tensor(v, [&](const Tensor& t) {
        const FunctionalState* s = functional_state(t);
        INGOT_REQUIRE(may_return_operands || !s || !operands.contains(s->storage.get()), "One of torch.", op.schema.name,
                      " branch might be aliasing the input! Return a clone() of it instead.");
      });
    return map_tensors(Args(returned), from_functional);
  });
}

FunctionalizeScope::FunctionalizeScope(bool exporting)
    : old_(thread_state().active), exporting_(thread_state().exporting, exporting) {
  install_once(Layer::functionalize, functionalize_handler);
  thread_state().active |= kFunctionalizeBit;
}
FunctionalizeScope::~FunctionalizeScope() { thread_state().active = old_; }

}  // namespace ingot
