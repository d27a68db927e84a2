#include "support/wrappers.hpp"

#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "op/tensors.hpp"
#include "tensor/impl.hpp"

namespace ingot::testing {
namespace {

class TwoTensor final : public WrapperClass {
 public:
  std::string name() const override { return "TwoTensor"; }
  std::vector<std::string> inner_names(const Value&) const override { return {"a", "b"}; }
  Tensor unflatten(const TensorList& inner, const Value&, const Shape&, const Shape&) const override {
    return two_tensor(inner[0], inner[1]);
  }
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

class SparseTensor final : public WrapperClass {
 public:
  std::string name() const override { return "SparseTensor"; }
  bool has_storage() const override { return false; }
  std::vector<std::string> inner_names(const Value&) const override { return {"places", "values"}; }
  Tensor unflatten(const TensorList& inner, const Value&, const Shape& sizes, const Shape&) const override {
    return sparse_tensor(inner[0], inner[1], sizes[0]);
  }
  Value dispatch(const Op& op, Args args) const override {
    const Op& f = op.functional ? *op.functional : op;
    if (!stays_sparse(f, args)) return call(op, map_tensors(args, to_dense));
    const Tensor& self = args[0].tensor();
    const Value values = call(op.is_view() ? op_ref<"clone">() : op,
                              op.is_view() ? Values{inner_tensor(self, "values")} : map_tensors(args, [](const Tensor& t) {
                                return is_sparse_tensor(t) ? inner_tensor(t, "values") : t;
                              }));
    return sparse_tensor(inner_tensor(self, "places"), values.tensor(), self.size(0));
  }

 private:
  static bool stays_sparse(const Op& f, Args args) {
    if (!is_sparse_tensor(args[0].tensor())) return false;
    if (&f == &op_ref<"detach">() || &f == &op_ref<"clone">() || &f == &op_ref<"zeros_like">()) return true;
    if (&f == &op_ref<"mul.Tensor">()) return !args[1].is_tensor() || args[1].tensor().dim() == 0;
    if (&f == &op_ref<"mul.Scalar">()) return true;
    return (&f == &op_ref<"copy">() || &f == &op_ref<"add.Tensor">()) && is_sparse_tensor(args[1].tensor());
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

const Ref<const WrapperClass>& sparse_class() {
  static const Ref<const WrapperClass> c = make_ref<SparseTensor>();
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
  INGOT_REQUIRE(a.sizes() == b.sizes() && a.dtype() == b.dtype(), "a TwoTensor holds tensors of one shape and type, found ",
                a.sizes(), " of ", a.dtype(), " and ", b.sizes(), " of ", b.dtype());
  return with_grad_of(make_wrapper(two_tensor_class(), {a, b}, Value(), a), a);
}
bool is_two_tensor(const Tensor& t) { return is_of(t, two_tensor_class()); }
const Tensor& a(const Tensor& two_tensor) { return inner_tensor(two_tensor, "a"); }
const Tensor& b(const Tensor& two_tensor) { return inner_tensor(two_tensor, "b"); }

Numbers values(const Tensor& t) { return t.to_vector<double>(); }
Tensor two(const Numbers& x, const Shape& size) { return two_tensor(tensor(x, size), tensor(x, size).neg()); }

Tensor metadata_tensor(const Tensor& elem, int64_t constant_attribute) {
  return with_grad_of(make_wrapper(metadata_class(), {elem}, constant_attribute, elem), elem);
}
bool is_metadata_tensor(const Tensor& t) { return is_of(t, metadata_class()); }
int64_t constant_attribute(const Tensor& t) { return wrapper_state(t)->metadata.to_int64(); }

Tensor sparse_tensor(const Tensor& places, const Tensor& values, Int size) {
  return make_wrapper(sparse_class(), {places, values}, Value(), Geometry::contiguous({size}, values.dtype()), values.device());
}
bool is_sparse_tensor(const Tensor& t) { return is_of(t, sparse_class()); }
Tensor to_dense(const Tensor& t) {
  if (!is_sparse_tensor(t)) return t;
  const Tensor& values = inner_tensor(t, "values");
  return aten<"index_copy">(aten<"new_zeros">(values, t.sizes()), 0, inner_tensor(t, "places"), values);
}

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
