#include "ops/sparse/sparse_tensor.hpp"

#include <unordered_map>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "expr/guards.hpp"
#include "ingot/ingot.hpp"
#include "ingot/sparse.hpp"
#include "op/promotion.hpp"
#include "op/tensors.hpp"
#include "tensor/geometry.hpp"

namespace ingot {
namespace {

const Tensor& indices(const Tensor& t) { return wrapper_state(t)->inner[0]; }
const Tensor& values(const Tensor& t) { return wrapper_state(t)->inner[1]; }
bool is_coalesced(const Tensor& t) { return wrapper_state(t)->metadata.to_bool(); }
// The same places with other values.
Tensor with_values(const Tensor& t, const Tensor& v) { return make_sparse(indices(t), v, t.sizes(), is_coalesced(t)); }

// dense + alpha * sparse, as a new tensor or where `dense` lies.
Values sum_arguments(const Tensor& dense, const Tensor& sparse, const Value& alpha) {
  INGOT_REQUIRE(dense.sizes() == sparse.sizes(), "add: Expected sizes of 'self' and 'other' to match, but ", dense.sizes(),
                " != ", sparse.sizes());
  const Tensor scaled = aten<"_to_copy">(aten<"mul.Scalar">(values(sparse), alpha), dense.dtype());
  return {dense, indices(sparse).unbind(0), scaled, true};
}

Tensor densified(const Tensor& t) {
  if (!is_sparse(t)) return t;
  return call(op_ref<"index_put">(), sum_arguments(aten<"new_zeros">(values(t), t.sizes()), t, 1)).tensor();
}

Tensor sum_of(const Tensor& a, const Tensor& b, const Value& alpha) {
  if (!is_sparse(a)) return call(op_ref<"index_put">(), sum_arguments(a, b, alpha)).tensor();
  if (!is_sparse(b)) return aten<"add.Tensor">(densified(a), b, alpha);
  INGOT_REQUIRE(a.sizes() == b.sizes(), "add: Expected sizes of 'self' and 'other' to match, but ", a.sizes(), " != ", b.sizes());
  INGOT_REQUIRE(indices(a).size(0) == indices(b).size(0), "add: expected sparse tensors of one number of sparse dims, found ",
                indices(a).size(0), " and ", indices(b).size(0));
  return make_sparse(aten<"cat">(TensorList{indices(a), indices(b)}, 1),
                     aten<"cat">(TensorList{values(a), aten<"mul.Scalar">(values(b), alpha)}), a.sizes(), false);
}
Tensor minus(const Tensor& t) { return is_sparse(t) ? with_values(t, values(t).neg()) : t.neg(); }

// Each place once, in order: places are numbers while they are sorted.
Tensor coalesced(const Tensor& t) {
  if (is_coalesced(t)) return t;
  const Tensor& at = indices(t);
  const auto dims = static_cast<std::size_t>(at.size(0).value());
  Tensor number = aten<"zeros_like">(at.select(0, 0));
  for (std::size_t d = 0; d < dims; d++)
    number = aten<"mul.Scalar">(number, t.sizes()[d]) + at.select(0, static_cast<int64_t>(d));
  const TensorList places = atens<"_unique2">(number, true, true);
  Shape sizes = values(t).sizes();
  sizes[0] = places[0].size(0);
  TensorList parts(dims);
  Tensor rest = places[0];
  for (std::size_t d = dims; d-- > 0;) {
    parts[d] = aten<"remainder.Scalar">(rest, t.sizes()[d]);
    rest = aten<"floor_divide.Scalar">(rest, t.sizes()[d]);
  }
  return make_sparse(aten<"stack">(parts), aten<"index_add">(aten<"new_zeros">(values(t), sizes), 0, places[1], values(t)),
                     t.sizes(), true);
}

// ---- what ops do, by functional op. At least one of the arguments is sparse.

using Rule = Value (*)(const Op&, Args);

// Linear ops of one tensor, and numbers.
Value of_values(const Op& op, Args args) {
  Values inner(args.begin(), args.end());
  inner[0] = values(args[0].tensor());
  return with_values(args[0].tensor(), call(op, inner).tensor());
}
Value scaled(const Op& op, Args args) {
  const bool by_number =
      is_sparse(args[0].tensor()) && (!args[1].is_tensor() || (!is_sparse(args[1].tensor()) && args[1].tensor().dim() == 0));
  INGOT_REQUIRE(by_number, op.schema.name,
                ": a sparse tensor can be scaled by a number; make it dense (to_dense) for anything else");
  return of_values(op, args);
}
Value copied(const Op&, Args args) {
  const Tensor &self = args[0].tensor(), &source = args[1].tensor();
  INGOT_REQUIRE(is_sparse(source) || !is_sparse(self), "copy_: a dense tensor cannot be copied into a sparse one");
  if (!is_sparse(self)) return aten<"copy">(self, densified(source));
  return with_values(source, aten<"_to_copy">(values(source), self.dtype()));
}
Value cloned(const Op&, Args args) { return with_values(args[0].tensor(), values(args[0].tensor()).clone()); }
Value empty_like(const Op&, Args args) {
  const Tensor& t = args[0].tensor();
  return make_sparse(indices(t).narrow(1, 0, 0), values(t).narrow(0, 0, 0), t.sizes(), true);
}

// The elements of a dense tensor at the places of another, each once.
Value masked(const Op& op, Args args) {
  const Tensor &self = args[0].tensor(), &mask = args[1].tensor();
  INGOT_REQUIRE(!is_sparse(self) && self.sizes() == mask.sizes(), op.schema.name, ": expected a dense tensor of size ",
                mask.sizes(), ", found ", is_sparse(self) ? "a sparse one of size " : "size ", self.sizes());
  const Tensor places = coalesced(mask);
  return with_values(places, aten<"index.Tensor">(self, indices(places).unbind(0)));
}

const std::unordered_map<const Op*, Rule>& rules() {
  static const std::unordered_map<const Op*, Rule> all{
      {&op_ref<"add.Tensor">(), [](const Op&, Args a) -> Value { return sum_of(a[0].tensor(), a[1].tensor(), a[2]); }},
      {&op_ref<"sub.Tensor">(), [](const Op&, Args a) -> Value { return sum_of(a[0].tensor(), minus(a[1].tensor()), a[2]); }},
      {&op_ref<"mul.Tensor">(), scaled},
      {&op_ref<"mul.Scalar">(), scaled},
      {&op_ref<"div.Tensor">(), scaled},
      {&op_ref<"div.Scalar">(), scaled},
      {&op_ref<"neg">(), of_values},
      {&op_ref<"_to_copy">(), of_values},
      {&op_ref<"copy">(), copied},
      {&op_ref<"sparse_mask">(), masked},
      {&op_ref<"zero">(), empty_like},
      {&op_ref<"zeros_like">(), empty_like},
      // No two sparse tensors share memory, so that what is a view of a dense one is a copy.
      {&op_ref<"clone">(), cloned},
      {&op_ref<"detach">(), cloned},
      {&op_ref<"alias">(), cloned},
      {&op_ref<"_indices">(), [](const Op&, Args a) -> Value { return detached(indices(a[0].tensor())); }},
      {&op_ref<"_values">(), [](const Op&, Args a) -> Value { return detached(values(a[0].tensor())); }},
      {&op_ref<"_nnz">(), [](const Op&, Args a) -> Value { return values(a[0].tensor()).size(0); }},
      {&op_ref<"is_coalesced">(), [](const Op&, Args a) -> Value { return is_coalesced(a[0].tensor()); }},
      {&op_ref<"_coalesce">(), [](const Op&, Args a) -> Value { return coalesced(a[0].tensor()); }},
      {&op_ref<"_to_dense">(),
       [](const Op&, Args a) -> Value {
         const Tensor dense = densified(a[0].tensor());
         return a[1].is_none() ? dense : aten<"_to_copy">(dense, a[1]);
       }},
  };
  return all;
}

class SparseTensor final : public WrapperClass {
 public:
  std::string name() const override { return "SparseTensor"; }
  bool has_storage() const override { return false; }
  std::vector<std::string> inner_names(const Value&) const override { return {"indices", "values"}; }
  Tensor unflatten(const TensorList& inner, const Value& metadata, const Shape& sizes, const Shape&) const override {
    INGOT_REQUIRE(!sizes.is_symbolic() || current_guard_env(), "a sparse tensor of open sizes ", sizes,
                  " cannot leave a compiled function: give the tensor that it is the gradient of static sizes");
    return make_sparse(inner[0], inner[1], sizes, metadata.to_bool());
  }
  Value dispatch(const Op& op, Args args) const override {
    const Op& functional = op.variant == Variant::inplace ? *op.functional : op;
    const auto rule = rules().find(&functional);
    INGOT_REQUIRE(rule != rules().end(), target_of(op),
                  " is not implemented for sparse tensors; make them dense first (to_dense)");
    return op.variant == Variant::inplace ? in_place(op, *rule, args) : rule->second(functional, args);
  }

 private:
  static Value in_place(const Op& op, const std::pair<const Op* const, Rule>& rule, Args args) {
    const Tensor& self = args[0].tensor();
    if (is_sparse(self)) {
      const Tensor result = rule.second(*rule.first, args).tensor();
      INGOT_REQUIRE(is_sparse(result), op.schema.name, ": the result is dense and cannot be written into a sparse tensor");
      INGOT_REQUIRE(can_cast(result.dtype(), self.dtype()), "result type ", scalar_type_name(result.dtype()),
                    " can't be cast to the desired output type ", scalar_type_name(self.dtype()));
      WrapperState& state = *wrapper_state(self);
      state.inner = {indices(result), values(result).to(self.dtype())};
      state.metadata = wrapper_state(result)->metadata;
    } else if (rule.first == &op_ref<"add.Tensor">()) {  // touches the rows that there are
      call(op_ref<"index_put_">(), sum_arguments(self, args[1].tensor(), args[2]));
    } else if (rule.first == &op_ref<"sub.Tensor">()) {
      call(op_ref<"index_put_">(), sum_arguments(self, minus(args[1].tensor()), args[2]));
    } else {
      aten_value<"copy_">(self, rule.second(*rule.first, args));
    }
    return self;
  }
};

}  // namespace

const Ref<const WrapperClass>& sparse_class() {
  static const Ref<const WrapperClass> c = make_ref<SparseTensor>();
  return c;
}

Tensor make_sparse(const Tensor& indices, const Tensor& values, const Shape& size, bool coalesced) {
  return make_wrapper(sparse_class(), {indices, values}, int64_t{coalesced}, Geometry::contiguous(size, values.dtype()),
                      values.device());
}

bool is_sparse(const Tensor& t) {
  const WrapperState* s = wrapper_state(t);
  return s && s->cls == sparse_class();
}
Tensor sparse_coo_tensor(const Tensor& indices, const Tensor& values, const Shape& size) {
  return aten<"sparse_coo_tensor.indices_size">(indices, values, size);
}
Tensor sparse_indices(const Tensor& t) { return aten<"_indices">(t); }
Tensor sparse_values(const Tensor& t) { return aten<"_values">(t); }
Tensor coalesce(const Tensor& t) { return aten<"coalesce">(t); }
Tensor to_dense(const Tensor& t) { return aten<"to_dense">(t); }

}  // namespace ingot
