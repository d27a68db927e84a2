#include "op/wrapper.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "op/tensors.hpp"
#include "op/wrapper_handler.hpp"
#include "tensor/geometry.hpp"

namespace ingot {
namespace {

constexpr uint8_t kBit = layer_bit(Layer::wrapper);

Tensor make(Ref<const WrapperClass> cls, TensorList inner, Value metadata, Ref<Storage> storage, Geometry geometry) {
  install_once(Layer::wrapper, wrapper_handler);
  const std::vector<std::string> names = cls->inner_names(metadata);
  INGOT_REQUIRE(!inner.empty() && names.size() == inner.size(), cls->name(), ": the class names ", names.size(),
                " inner tensors, and ", inner.size(), " were given; a wrapper has at least one");
  for (std::size_t k = 0; k < inner.size(); k++) {
    INGOT_REQUIRE(inner[k].defined(), cls->name(), ": the inner tensor '", names[k], "' is undefined");
    INGOT_REQUIRE(!(inner[k]->layers & ~kBit), cls->name(), ": the inner tensor '", names[k],
                  "' belongs to a transform (vmap or "
                  "functionalize) that is above wrappers; make the wrapper outside of the transformed function");
  }
  if (!cls->has_storage()) storage = Storage::fake(0, storage->device());
  auto state = std::make_unique<WrapperState>();
  state->cls = std::move(cls);
  state->inner = std::move(inner);
  state->metadata = std::move(metadata);
  Tensor t(make_ref<TensorImpl>(std::move(storage), std::move(geometry)));
  t->layers = kBit;
  t->special = std::move(state);
  return t;
}

const WrapperState* state_in(const WrapperClass& cls, const Tensor& t) {
  const WrapperState* s = wrapper_state(t);
  return s && s->cls.get() == &cls ? s : nullptr;
}

// One call on the components of a class.
struct ComponentCall {
  const WrapperClass& cls;
  const Op& op;
  Args args;
  const std::function<Tensor(const TensorList&)>& wrap;

  std::size_t components() const {
    std::size_t count = 0;
    for_each_tensor(args, [&](const Tensor& t) {
      const WrapperState* s = state_in(cls, t);
      if (!s) return;
      INGOT_REQUIRE(count == 0 || s->inner.size() == count, op.schema.name, ": the ", cls.name(),
                    "s of one call should have one number of inner tensors, found ", count, " and ", s->inner.size());
      count = s->inner.size();
    });
    return count;
  }

  // Each run would write the plain tensor again.
  void refuse_plain_writes() const {
    for (const int8_t w : op.written)
      for_each_tensor(args[static_cast<std::size_t>(w)], [&](const Tensor& t) {
        INGOT_REQUIRE(state_in(cls, t), op.schema.name, ": a plain tensor cannot take what a ", cls.name(),
                      " has several of; write into a ", cls.name(), " of it, or use the op without the write");
      });
  }

  Value run(std::size_t k) const {
    return call(op, map_tensors(args, [&](const Tensor& t) {
                  const WrapperState* s = state_in(cls, t);
                  return s ? s->inner[k] : t;
                }));
  }

  // The argument whose first component, or which itself, is `t`; undefined if there is none.
  Tensor handed_through(const Tensor& t) const {
    Tensor found;
    for_each_tensor(args, [&](const Tensor& a) {
      const WrapperState* s = state_in(cls, a);
      if ((s ? s->inner[0] : a).is_same(t)) found = a;
    });
    return found;
  }

  // One result out of what every run gave at this place.
  Value join(const Values& runs) const {
    if (runs[0].is_tensor()) {
      if (const Tensor argument = handed_through(runs[0].tensor()); argument.defined()) return argument;
      TensorList parts;
      for (const Value& v : runs) parts.push_back(v.tensor());
      return wrap(parts);
    }
    if (!runs[0].is_tensors() && !runs[0].is_values()) return runs[0];
    std::vector<Values> elements;
    for (const Value& v : runs) elements.push_back(list_elements(v));
    Values joined;
    for (std::size_t i = 0; i < elements[0].size(); i++) {
      Values at_place;
      for (const Values& e : elements) at_place.push_back(e.at(i));
      joined.push_back(join(at_place));
    }
    if (runs[0].is_values()) return joined;
    TensorList tensors;
    for (const Value& v : joined) tensors.push_back(v.tensor_or_none());
    return tensors;
  }
};

}  // namespace

std::unique_ptr<SpecialState> WrapperState::clone() const {
  auto copy = std::make_unique<WrapperState>();
  copy->cls = cls;
  copy->metadata = metadata;
  for (const Tensor& t : inner) copy->inner.push_back(detached(t));
  return copy;
}

WrapperState* wrapper_state(const Tensor& t) {
  return t.defined() && (t->layers & kBit) ? static_cast<WrapperState*>(t->special.get()) : nullptr;
}

bool has_storage(const Tensor& t) {
  const WrapperState* s = wrapper_state(t);
  return !s || s->cls->has_storage();
}

const Tensor& inner_tensor(const Tensor& wrapper, std::string_view name) {
  const WrapperState* s = wrapper_state(wrapper);
  INGOT_REQUIRE(s, "inner_tensor('", name, "'): expected a wrapper tensor, found a plain one");
  const std::vector<std::string> names = s->cls->inner_names(s->metadata);
  const auto found = std::find(names.begin(), names.end(), name);
  INGOT_REQUIRE(found != names.end(), "a ", s->cls->name(), " has no inner tensor '", name, "'");
  return s->inner[static_cast<std::size_t>(found - names.begin())];
}

Tensor make_wrapper(Ref<const WrapperClass> cls, TensorList inner, Value metadata, const Tensor& like) {
  return make(std::move(cls), std::move(inner), std::move(metadata), Storage::fake(like->storage->nbytes(), like.device()),
              like->geom);
}
Tensor make_wrapper(Ref<const WrapperClass> cls, TensorList inner, Value metadata, Geometry geometry, Device device) {
  auto storage = Storage::fake(required_bytes(geometry), device);
  return make(std::move(cls), std::move(inner), std::move(metadata), std::move(storage), std::move(geometry));
}

Value run_on_components(const WrapperClass& cls, const Op& op, Args args, const std::function<Tensor(const TensorList&)>& wrap) {
  const ComponentCall c{cls, op, args, wrap};
  const std::size_t count = c.components();
  INGOT_ENSURE(count > 0, op.name, ": no argument is a ", cls.name());
  if (count > 1) c.refuse_plain_writes();
  Values runs;
  for (std::size_t k = 0; k < count; k++) runs.push_back(c.run(k));
  return c.join(runs);
}

}  // namespace ingot
