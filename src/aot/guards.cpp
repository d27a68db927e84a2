#include "aot/guards.hpp"

#include <algorithm>

#include "aot/assembly.hpp"
#include "aot/debug_assert.hpp"
#include "aot/inputs.hpp"
#include "base/dtype.hpp"
#include "base/error.hpp"
#include "ingot/nn.hpp"
#include "transform/mode.hpp"

namespace ingot::aot {
namespace {

// ---- the flags of a thread, in one word

constexpr uint32_t kGradMode = 1, kInferenceMode = 2, kDeterministic = 4, kAutocast = 8, kModes = 16;
constexpr int kDefaultDType = 8, kAutocastDType = 16;

uint32_t flags_now() {
  const ThreadState& s = thread_state();
  uint32_t flags = (s.grad_mode ? kGradMode : 0) | (s.inference_mode ? kInferenceMode : 0) |
                   (s.deterministic ? kDeterministic : 0) | static_cast<uint32_t>(s.default_dtype) << kDefaultDType;
  if (s.active & layer_bit(Layer::autocast)) flags |= kAutocast | static_cast<uint32_t>(s.autocast_dtype) << kAutocastDType;
  if (s.active & layer_bit(Layer::mode)) flags |= kModes;
  return flags;
}
DType default_dtype_of(uint32_t flags) { return static_cast<DType>(flags >> kDefaultDType & 0xff); }

std::string autocast_text(uint32_t flags) {
  return flags & kAutocast ? text("on, to ", name_of(static_cast<DType>(flags >> kAutocastDType & 0xff))) : "off";
}
std::string_view on_or_off(bool on) { return on ? "on" : "off"; }

// ---- memory

// Storages of their own over bytes that are somebody else's (DLPack) may lie over each other.
bool have_common_bytes(const Storage& a, const Storage& b) {
  if (!a.data() || !b.data()) return false;
  const auto *x = static_cast<const char*>(a.data()), *y = static_cast<const char*>(b.data());
  return x < y + b.nbytes().number() && y < x + a.nbytes().number();
}

// Of wrappers: whether what they are made of does.
bool have_common_leaves(const Tensor& a, const Tensor& b) {
  const TensorList x = flatten_wrappers({a}).leaves, y = flatten_wrappers({b}).leaves;
  return std::any_of(x.begin(), x.end(), [&](const Tensor& i) {
    return std::any_of(y.begin(), y.end(),
                       [&](const Tensor& k) { return i->storage == k->storage || have_common_bytes(*i->storage, *k->storage); });
  });
}

// ---- what a compiled function does with inputs, by the arguments that the caller gives

// The arguments that inputs were made of for which `does` says so.
template <class Does>
std::vector<bool> arguments_for(const Assembly& a, std::size_t count, Does does) {
  std::vector<bool> found(count);
  const std::vector<std::size_t> places = a.dedupe.places();
  const std::vector<SyntheticBase::Argument>& taken = a.bases.state().arguments;
  for (std::size_t k = 0; k < a.meta.inputs.size(); k++) {
    if (!does(a.meta.inputs[k], !taken.empty() && taken[k].is_base)) continue;
    const std::vector<std::size_t> members = taken.empty() ? std::vector<std::size_t>{k} : taken[k].members;
    for (std::size_t i = 0; i < count; i++)
      if (std::ranges::count(members, places.empty() ? i : places[i]) > 0) found[i] = true;
  }
  return found;
}
std::vector<bool> written_by(const Assembly& a, std::size_t count) {
  return arguments_for(a, count, [&](const InputInfo& i, bool) {
    return a.backward_writes || i.mutation() != Mutation::none || !i.steps.empty();
  });
}
std::vector<bool> placed_by(const Assembly& a, std::size_t count) {
  return arguments_for(a, count, [](const InputInfo& i, bool is_base) { return i.refers_to_storage || is_base; });
}

// Outputs whose gradients are the graph's have none where no argument has one; a view that is made
// again would be told that it has.
bool leaves_gradients_to_graphs(const Assembly& a, const std::vector<bool>& written) {
  return std::ranges::count(written, true) == 0 &&
         std::none_of(a.meta.outputs.begin(), a.meta.outputs.end(),
                      [](const OutputInfo& o) { return o.requires_grad && (o.is_made_again() || o.base >= 0); });
}

// The sizes that a fake has open are for these guards what they are in the example.
Int number_of(Int v, const ShapeEnv& sizes) { return v.is_number() ? v : Int(sizes.hint(v.expr())); }

}  // namespace

Surroundings Surroundings::now() {
  const uint32_t flags = flags_now();
  return {flags, flags & kModes ? modes_of_thread() : std::vector<const Mode*>()};
}

// ---- made

Guards::Guards(const Values& arguments, const Values& fakes, const ShapeEnv& sizes, const Assembly& a, const AotOptions& options,
               Surroundings around)
    : any_(true), count_(static_cast<uint32_t>(arguments.size())), params_and_buffers_(options.params_and_buffers),
      around_(std::move(around)) {
  for (const Ref<nn::TrainingFlag>& f : options.modules)
    if (f->state() != nn::TrainingFlag::State::gone) modules_.push_back({f, f->state()});
  // The symbols of a base are not those of its members: then the function holds for the sizes of
  // the example.
  const bool is_fixed = a.bases.changes_arguments();
  for (uint32_t k = 0; k < count_; k++) {
    const Value& v = arguments[k];
    if (!v.is_tensor()) {
      const bool is_open = !is_fixed && fakes[k].is_int() && fakes[k].to_int().is_symbolic();
      values_.push_back({k, v, is_open});
      continue;
    }
    add_tensor(k, v.tensor(), fakes[k].tensor(), sizes, is_fixed);
    if (wrapper_state(v.tensor())) {
      WrapperGuard g{k, layout_of(v.tensor()), {}};
      for (const Tensor& leaf : flatten_wrappers({v.tensor()}).leaves) g.leaves.push_back(leaf->geom);
      wrappers_.push_back(std::move(g));
    }
  }
  if (!is_fixed) sizes_ = SizeGuards(fakes, sizes);
  add_relations(arguments, a);
}

void Guards::add_modules(const std::vector<nn::TrainingRead>& reads) {
  if (!any_) return;
  for (const nn::TrainingRead& r : reads) {
    const auto known = std::ranges::find(modules_, r.flag, &nn::TrainingRead::flag);
    if (known == modules_.end()) modules_.push_back(r);
    else known->state = r.state;
  }
}
void Guards::note_modules() const {
  for (const nn::TrainingRead& m : modules_) nn::TrainingReads::note(m.flag, m.state);
}

void Guards::add_tensor(uint32_t k, const Tensor& t, const Tensor& fake, const ShapeEnv& sizes, bool is_fixed) {
  TensorGuard g;
  g.argument = k;
  g.first = static_cast<uint32_t>(numbers_.size());
  g.rank = static_cast<uint8_t>(t.dim());
  const bool is_wrapper = wrapper_state(t) != nullptr;
  for (int d = 0; d < t.dim(); d++) {
    if (!is_wrapper && fake.size(d).is_symbolic()) g.open_sizes |= uint64_t{1} << d;
    if (!is_wrapper && fake.stride(d).is_symbolic()) g.open_strides |= uint64_t{1} << d;
  }
  if (is_fixed) g.open_sizes = g.open_strides = 0;
  for (const Int s : t.sizes()) numbers_.push_back(number_of(s, sizes));
  for (const Int s : t.strides()) numbers_.push_back(number_of(s, sizes));
  g.offset = number_of(t.storage_offset(), sizes);
  g.bytes = number_of(t->storage->nbytes(), sizes);
  g.dtype = t.dtype();
  g.device = t.device();
  g.requires_grad = requires_grad(t);
  g.is_inference = t->inference;
  g.is_wrapper = is_wrapper;
  tensors_.push_back(g);
}

void Guards::add_relations(const Values& arguments, const Assembly& a) {
  const std::vector<bool> written = written_by(a, count_), placed = placed_by(a, count_);
  may_lack_gradients_ = a.meta.is_train && leaves_gradients_to_graphs(a, written);
  if (std::ranges::any_of(a.meta.inputs, &InputInfo::changes_requires_grad))
    beyond_graphs_ =
        "lets an argument begin or cease to require grad, which no graph has a form for; call requires_grad_() outside of it";
  for (TensorGuard& g : tensors_) {
    const Tensor& t = arguments[g.argument].tensor();
    g.place_matters = placed[g.argument];
    g.leaf_matters = written[g.argument] && g.requires_grad;
    g.is_leaf = g.leaf_matters && is_leaf(t);
    for (const TensorGuard& other : tensors_) {
      if (!written[g.argument] || other.argument == g.argument || (written[other.argument] && other.argument < g.argument))
        continue;
      const bool by_storage = placed[g.argument] || placed[other.argument];
      const Relation r = relation(t, arguments[other.argument].tensor(), by_storage);
      pairs_.push_back({g.argument, other.argument, r, by_storage});
      if (r == Relation::shares_bytes)
        beyond_graphs_ =
            "writes an argument whose bytes another argument has in a storage of its own, which no graph has a form for; give it "
            "arguments that lie apart, or views of one tensor";
    }
  }
  const std::vector<std::size_t> places = a.dedupe.places();
  for (const std::vector<std::size_t>& members : a.bases.bases()) {
    BaseGuard g;
    for (uint32_t i = 0; i < count_; i++) {
      if (std::ranges::count(members, places.empty() ? i : places[i]) == 0) continue;
      const Tensor base = view_base(arguments[i].tensor());
      g.members.push_back(i);
      g.is_view.push_back(base.defined());
      if (!base.defined()) continue;
      g.geometry = base->geom;
      g.requires_grad = requires_grad(base);
    }
    bases_.push_back(std::move(g));
  }
}

// ---- checked

Guards::Relation Guards::relation(const Tensor& written, const Tensor& other, bool by_storage) {
  if (written.is_same(other)) return Relation::same;
  if (written->storage == other->storage) {
    if (!definitely_apart(written, other)) return Relation::shares;
    return by_storage ? Relation::apart_in_one_storage : Relation::apart;
  }
  const bool of_wrappers = (written->layers | other->layers) & layer_bit(Layer::wrapper);
  return (of_wrappers ? have_common_leaves(written, other) : have_common_bytes(*written->storage, *other->storage))
             ? Relation::shares_bytes
             : Relation::apart;
}

Guards::Broken Guards::check_surroundings() const {
  const uint32_t flags = flags_now();
  const uint32_t differ = flags ^ around_.flags;
  const bool is_without_gradients = differ == kGradMode && !(flags & kGradMode) && accepts_no_gradients_;
  if (differ != 0 && !is_without_gradients) [[unlikely]] {
    if (differ & kInferenceMode) return {Kind::inference_mode};  // which switches the grad mode, too
    if (differ & kGradMode) return {Kind::grad_mode};
    if (differ & kDeterministic) return {Kind::deterministic};
    if (default_dtype_of(flags) != default_dtype_of(around_.flags)) return {Kind::default_dtype};
    return {differ & kModes ? Kind::modes : Kind::autocast};
  }
  if (flags & kModes && modes_of_thread() != around_.modes) return {Kind::modes};
  return {};
}

// Of several, rather one that is gone.
Guards::Broken Guards::check_modules() const {
  Broken b;
  for (uint32_t k = 0; k < modules_.size(); k++) {
    const nn::TrainingFlag::State found = modules_[k].flag->state();
    if (found == modules_[k].state) [[likely]]
      continue;
    if (found == nn::TrainingFlag::State::gone) return {Kind::training, 0, k};
    if (!b) b = {Kind::training, 0, k};
  }
  return b;
}
bool Guards::lacks_module(Broken b) const {
  const auto is_gone = [](const nn::TrainingRead& m) { return m.flag->state() == nn::TrainingFlag::State::gone; };
  if (b.kind != Kind::training || !is_gone(modules_[b.detail])) return false;
  return nn::TrainingFlag::modules_there() <=
         modules_.size() - static_cast<std::size_t>(std::ranges::count_if(modules_, is_gone));
}

Guards::Broken Guards::check_tensor(const TensorGuard& g, const Tensor& t) const {
  const TensorImpl& impl = *t.impl();
  const Geometry& found = impl.geom;
  const auto broken = [&](Kind kind, uint32_t detail = 0) { return Broken{kind, g.argument, detail}; };
  if (found.sizes.size() != g.rank) return broken(Kind::dims);
  if (found.dtype != g.dtype) return broken(Kind::dtype);
  const Int* sizes = numbers_.data() + g.first;
  const Int* strides = sizes + g.rank;
  for (uint32_t d = 0; d < g.rank; d++)
    if (!found.sizes[d].same(sizes[d]) && !(g.open_sizes >> d & 1)) return broken(Kind::size, d);
  for (uint32_t d = 0; d < g.rank; d++)
    if (!found.strides[d].same(strides[d]) && !(g.open_strides >> d & 1)) return broken(Kind::stride, d);
  if (!(impl.device() == g.device)) return broken(Kind::device);
  if (impl.inference != g.is_inference) return broken(Kind::inference_tensor);
  if (((impl.layers & layer_bit(Layer::wrapper)) != 0) != g.is_wrapper) return broken(Kind::wrapper);
  return {};
}

// Where it lies in its storage.
Guards::Broken Guards::check_place(const TensorGuard& g, const Tensor& t) {
  if (!t->geom.offset.same(g.offset)) return {Kind::offset, g.argument};
  if (!t->storage->nbytes().same(g.bytes) && !g.open_sizes) return {Kind::storage_bytes, g.argument};
  return {};
}

// What required grad when the function was compiled and what does now.
Guards::Broken Guards::check_gradients(const Values& arguments) const {
  bool all = true, any = false;
  uint32_t first = 0;
  for (const TensorGuard& g : tensors_) {
    const Tensor& t = arguments[g.argument].tensor();
    const bool found = requires_grad(t);
    any = any || found;
    if (found == g.requires_grad) {
      if (g.leaf_matters && is_leaf(t) != g.is_leaf) return {Kind::leaf, g.argument};
      continue;
    }
    if (found || !may_lack_gradients_) return {Kind::requires_grad, g.argument};
    if (all) first = g.argument;
    all = false;
  }
  if (!all && any && !accepts_no_gradients_) return {Kind::requires_grad, first};
  return {};
}

bool Guards::is_like(const WrapperGuard& g, const Tensor& t) const {
  if (!same_metadata(layout_of(t), g.layout)) return false;
  const TensorList leaves = flatten_wrappers({t}).leaves;
  return std::equal(leaves.begin(), leaves.end(), g.leaves.begin(), g.leaves.end(), [](const Tensor& a, const Geometry& b) {
    return a.dtype() == b.dtype && a.sizes().same(b.sizes) && a.strides().same(b.strides);
  });
}

bool Guards::does_hold(const BaseGuard& g, const Values& arguments) const {
  Tensor base;
  for (std::size_t k = 0; k < g.members.size(); k++) {
    const Tensor found = view_base(arguments[g.members[k]].tensor());
    if (found.defined() != g.is_view[k]) return false;
    if (!found.defined()) continue;
    if (base.defined() && !base.is_same(found)) return false;
    base = found;
  }
  return !base.defined() || (base->geom.same(g.geometry) && requires_grad(base) == g.requires_grad);
}

Guards::Broken Guards::check(const Values& arguments) const {
  if (!any_) return {};
  if (const Broken b = check_surroundings()) return b;
  if (arguments.size() != count_) return {Kind::count};
  for (const TensorGuard& g : tensors_) {
    if (!arguments[g.argument].is_tensor()) return {Kind::kind, g.argument};
    if (const Broken b = check_tensor(g, arguments[g.argument].tensor())) return b;
  }
  for (const ValueGuard& g : values_) {
    const Value& found = arguments[g.argument];
    if (found.is_tensor() || (g.is_open && !found.is_int())) return {Kind::kind, g.argument};
    if (!g.is_open && !found.same(g.value)) return {Kind::value, g.argument};
  }
  for (const WrapperGuard& g : wrappers_)
    if (!is_like(g, arguments[g.argument].tensor())) return {Kind::wrapper, g.argument};
  if (const Broken b = check_gradients(arguments)) return b;
  for (const PairGuard& g : pairs_) {
    const Relation found = relation(arguments[g.written].tensor(), arguments[g.other].tensor(), g.by_storage);
    if (found == g.relation) continue;
    const bool is_same = found == Relation::same || g.relation == Relation::same;
    return {is_same ? Kind::same_tensor : Kind::shared_memory, g.written, g.other};
  }
  for (const TensorGuard& g : tensors_)
    if (g.place_matters)
      if (const Broken b = check_place(g, arguments[g.argument].tensor())) return b;
  for (uint32_t k = 0; k < bases_.size(); k++)
    if (!does_hold(bases_[k], arguments)) return {Kind::base, bases_[k].members[0], k};
  if (!sizes_.empty())
    if (const std::optional<uint32_t> k = sizes_.broken(arguments)) return {Kind::open_sizes, 0, *k};
  return check_modules();  // last: see lacks_module
}

// ---- told

std::string_view to_text(Guards::Kind kind) {
  switch (kind) {
    case Guards::Kind::none: return "none";
    case Guards::Kind::grad_mode: return "grad mode";
    case Guards::Kind::inference_mode: return "inference mode";
    case Guards::Kind::autocast: return "autocast";
    case Guards::Kind::deterministic: return "deterministic algorithms";
    case Guards::Kind::default_dtype: return "default dtype";
    case Guards::Kind::modes: return "modes";
    case Guards::Kind::training: return "training flag";
    case Guards::Kind::count: return "number of arguments";
    case Guards::Kind::kind: return "kind";
    case Guards::Kind::value: return "value";
    case Guards::Kind::dims: return "number of dims";
    case Guards::Kind::dtype: return "dtype";
    case Guards::Kind::device: return "device";
    case Guards::Kind::size: return "size";
    case Guards::Kind::stride: return "stride";
    case Guards::Kind::offset: return "storage offset";
    case Guards::Kind::storage_bytes: return "bytes of the storage";
    case Guards::Kind::requires_grad: return "requires_grad";
    case Guards::Kind::leaf: return "is_leaf";
    case Guards::Kind::inference_tensor: return "inference tensor";
    case Guards::Kind::wrapper: return "tensor class";
    case Guards::Kind::same_tensor: return "same tensor";
    case Guards::Kind::shared_memory: return "shared memory";
    case Guards::Kind::base: return "what it is a view of";
    case Guards::Kind::open_sizes: return "sizes";
  }
  return "";
}

// "dtype: expected float32, found float64"
std::string Guards::argument_text(Broken b, const Values& arguments) const {
  const Value& found = arguments[b.argument];
  const auto says = [&](const auto& expected, const auto& now) {
    return text(aot::to_text(b.kind), ": expected ", expected, ", found ", now);
  };
  const auto is_here = [&](const auto& g) { return g.argument == b.argument; };
  const auto tensor = std::find_if(tensors_.begin(), tensors_.end(), is_here);
  if (tensor == tensors_.end()) {
    const ValueGuard& g = *std::find_if(values_.begin(), values_.end(), is_here);
    const auto shown = [](const Value& v) { return v.is_none() ? "None" : text(v, " (", v.kind_name(), ")"); };
    return b.kind == Kind::kind                       ? says(g.is_open ? "int" : g.value.kind_name(), found.kind_name())
           : g.value.kind_name() == found.kind_name() ? says(ingot::to_text(g.value), ingot::to_text(found))
                                                      : says(shown(g.value), shown(found));
  }
  const TensorGuard& g = *tensor;
  if (b.kind == Kind::kind) return says("Tensor", found.kind_name());
  const Tensor& t = found.tensor();
  const auto at = [&](uint32_t k) { return numbers_[g.first + k]; };
  switch (b.kind) {
    case Kind::dims: return says(g.rank, t.dim());
    case Kind::dtype: return says(name_of(g.dtype), name_of(t.dtype()));
    case Kind::device: return says(g.device, t.device());
    case Kind::size: return text("size of dim ", b.detail, ": expected ", at(b.detail), ", found ", t.sizes()[b.detail]);
    case Kind::stride:
      return text("stride of dim ", b.detail, ": expected ", at(g.rank + b.detail), ", found ", t.strides()[b.detail]);
    case Kind::offset: return says(g.offset, t.storage_offset());
    case Kind::storage_bytes: return says(g.bytes, t->storage->nbytes());
    case Kind::requires_grad: return says(g.requires_grad, requires_grad(t));
    case Kind::leaf: return says(g.is_leaf, is_leaf(t));
    case Kind::inference_tensor: return says(g.is_inference, t->inference);
    case Kind::wrapper: {
      const auto shown = [](const WrapperLayout& l, const std::vector<Geometry>& leaves) {
        std::string s = ingot::to_text(l);
        for (const Geometry& geometry : leaves) s += text(" ", short_name_of(geometry.dtype), geometry.sizes);
        return s + (l.metadata.is_none() ? "" : " " + ingot::to_text(l.metadata));
      };
      const auto wrapper = std::find_if(wrappers_.begin(), wrappers_.end(), is_here);
      std::vector<Geometry> leaves;
      if (wrapper_state(t))
        for (const Tensor& leaf : flatten_wrappers({t}).leaves) leaves.push_back(leaf->geom);
      return says(wrapper == wrappers_.end() ? "Tensor" : shown(wrapper->layout, wrapper->leaves), shown(layout_of(t), leaves));
    }
    default: return std::string(aot::to_text(b.kind));
  }
}

std::string Guards::to_text(Broken b, const Values& arguments) const {
  const uint32_t now = flags_now();
  const auto name = [&](std::size_t k) { return argument_name(k, params_and_buffers_); };
  const auto says = [&](const auto& expected, const auto& found) {
    return text(aot::to_text(b.kind), ": expected ", expected, ", found ", found);
  };
  const auto flag = [&](uint32_t bit) { return says(on_or_off(around_.flags & bit), on_or_off(now & bit)); };
  switch (b.kind) {
    case Kind::none: return "";
    case Kind::grad_mode: return flag(kGradMode);
    case Kind::inference_mode: return flag(kInferenceMode);
    case Kind::deterministic: return flag(kDeterministic);
    case Kind::default_dtype: return says(name_of(default_dtype_of(around_.flags)), name_of(default_dtype_of(now)));
    case Kind::autocast: return says(autocast_text(around_.flags), autocast_text(now));
    case Kind::modes: {
      const std::size_t found = modes_of_thread().size();
      return around_.modes.size() == found ? says("those of the compilation", "others") : says(around_.modes.size(), found);
    }
    case Kind::training: {
      constexpr std::string_view kShown[] = {"evaluating", "training", "a module that is gone"};
      const auto shown = [&](nn::TrainingFlag::State s) { return kShown[static_cast<std::size_t>(s)]; };
      const nn::TrainingRead& m = modules_[b.detail];
      return text(aot::to_text(b.kind), " of module ", b.detail, ": expected ", shown(m.state), ", found ",
                  shown(m.flag->state()));
    }
    case Kind::count: return says(count_, arguments.size());
    case Kind::same_tensor:
    case Kind::shared_memory: {
      const auto pair = std::find_if(pairs_.begin(), pairs_.end(),
                                     [&](const PairGuard& p) { return p.written == b.argument && p.other == b.detail; });
      const auto shown = [&](Relation r) {
        switch (r) {
          case Relation::apart: return "two that lie apart";
          case Relation::apart_in_one_storage: return "two that lie apart in one storage";
          case Relation::same: return "one tensor";
          case Relation::shares: return "two that overlap";
          case Relation::shares_bytes: return "two that overlap through storages of their own";
        }
        return "";
      };
      const Relation found = relation(arguments[b.argument].tensor(), arguments[b.detail].tensor(), pair->by_storage);
      return text(name(b.argument), " and ", name(b.detail), ": ", says(shown(pair->relation), shown(found)),
                  "; the function writes ", name(b.argument));
    }
    case Kind::base:
      return text(name(b.argument), ": ", aot::to_text(b.kind), ": expected a base that looks as it did, found another");
    case Kind::open_sizes: {
      const SizeGuards::Text t = sizes_.to_text(b.detail, arguments);
      return t.argument ? text(name(*t.argument), ": ", t.words) : text(aot::to_text(b.kind), ": ", t.words);
    }
    default: return text(name(b.argument), ": ", argument_text(b, arguments));
  }
}

}  // namespace ingot::aot
