#include "support/wrappers.hpp"

#include "base/error.hpp"
#include "ingot/ingot.hpp"

namespace ingot::testing {
namespace {

class TwoTensor final : public WrapperClass {
 public:
  std::string name() const override { return "TwoTensor"; }
  std::vector<std::string> inner_names(const Value&) const override { return {"a", "b"}; }
  Tensor unflatten(const TensorList& inner, const Value&, const Shape&, const Shape&) const override { return two_tensor(inner[0], inner[1]); }
  Value dispatch(const Op& op, Args args) const override {
    return run_on_components(*this, op, args, [](const TensorList& parts) { return two_tensor(parts[0], parts[1]); });
  }
};

class ConstantExtraMetadataTensor final : public WrapperClass {
 public:
  std::string name() const override { return "ConstantExtraMetadataTensor"; }
  std::vector<std::string> inner_names(const Value&) const override { return {"elem"}; }
  Tensor unflatten(const TensorList& inner, const Value& metadata, const Shape&, const Shape&) const override {
    return metadata_tensor(inner[0], metadata.to_int64());
  }
  Value dispatch(const Op& op, Args args) const override {
    return run_on_components(*this, op, args, [](const TensorList& parts) { return metadata_tensor(parts[0]); });
  }
};

const Ref<const WrapperClass>& two_tensor_class() {
  static const Ref<const WrapperClass> c = make_ref<TwoTensor>();
  return c;
}
const Ref<const WrapperClass>& metadata_class() {
  static const Ref<const WrapperClass> c = make_ref<ConstantExtraMetadataTensor>();
  return c;
}

bool is_of(const Tensor& t, const Ref<const WrapperClass>& cls) {
  const WrapperState* s = wrapper_state(t);
  return s && s->cls == cls;
}

Tensor with_grad_of(Tensor wrapper, const Tensor& inner) {
  if (inner.requires_grad()) wrapper.requires_grad_();
  return wrapper;
}

}  // namespace

Tensor two_tensor(const Tensor& a, const Tensor& b) {
  INGOT_REQUIRE(a.sizes() == b.sizes() && a.dtype() == b.dtype(), "a TwoTensor holds tensors of one shape and type, found ", a.sizes(), " of ",
                a.dtype(), " and ", b.sizes(), " of ", b.dtype());
  return with_grad_of(make_wrapper(two_tensor_class(), {a, b}, Value(), a), a);
}
bool is_two_tensor(const Tensor& t) { return is_of(t, two_tensor_class()); }

Tensor metadata_tensor(const Tensor& elem, int64_t constant_attribute) {
  return with_grad_of(make_wrapper(metadata_class(), {elem}, constant_attribute, elem), elem);
}
bool is_metadata_tensor(const Tensor& t) { return is_of(t, metadata_class()); }
int64_t constant_attribute(const Tensor& t) { return wrapper_state(t)->metadata.to_int64(); }

bool is_tensor_constructor(const Op& op) {
  for (const SchemaArg& a : op.schema.args)
    if (a.type.kind == Kind::tensor) return false;
  const auto& results = op.schema.results;
  return results.size() == 1 && results[0].type.kind == Kind::tensor && !results[0].type.is_list();
}

Value TwoTensorMode::call(const Op& op, Args args) {
  const Value made = below(op, args);
  return is_tensor_constructor(op) ? Value(two_tensor(made.tensor(), made.tensor().clone())) : made;
}

}  // namespace ingot::testing
