// What a mask selects: nonzero, masked_select, masked_scatter.
#include "ops/batch/rules.hpp"
#include "ops/index/masked.hpp"

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "expr/guards.hpp"
#include "ingot/ingot.hpp"
#include "ingot/op/vjp.hpp"
#include "op/call.hpp"
#include "ops/common/dense.hpp"
#include "ops/family.hpp"
#include "ops/index/indexing.hpp"
#include "tensor/geometry.hpp"

namespace ingot {

Int data_dependent_size(std::string_view op, Int most, int64_t least) {
  GuardEnv* env = current_guard_env();
  INGOT_REQUIRE(
      env, op,
      ": the size of the result depends on the data, which a fake tensor does not have; run it on real tensors, or trace "
      "it with open sizes");
  return env->fresh_symbol(least, most.is_number() ? most.number() : kUnbounded);
}

Int nonzero_count(const Tensor& t, std::string_view op) {
  if (t->is_fake()) return data_dependent_size(op, t.numel());
  const Tensor flags = dense(t, DType::b8);
  const bool* p = flags.data<bool>();
  int64_t n = 0;
  for (int64_t i = 0, size = flags.numel().number(); i < size; i++) n += p[i];
  return n;
}

namespace {

// Calls f(k, coordinates) for the k-th non-zero element.
template <class F>
void for_each_nonzero(const Tensor& t, const F& f) {
  const Tensor flags = dense(t, DType::b8);
  const bool* p = flags.data<bool>();
  const std::vector<int64_t> sizes = t.sizes().values();
  std::vector<int64_t> at(sizes.size());
  int64_t k = 0;
  for (int64_t i = 0, size = flags.numel().number(); i < size; i++) {
    if (p[i]) f(k++, at);
    for (std::size_t d = sizes.size(); d-- > 0;) {
      if (++at[d] < sizes[d]) break;
      at[d] = 0;
    }
  }
}

}  // namespace

TensorList nonzero_columns(const Tensor& t, std::string_view op) {
  const Int n = nonzero_count(t, op);
  TensorList columns;
  for (int64_t d = 0; d < t.dim(); d++)
    columns.push_back(make_tensor(Geometry::contiguous({n}, DType::i64), t.device(), t->is_fake()));
  if (!t->is_fake())
    for_each_nonzero(t, [&](int64_t k, const std::vector<int64_t>& at) {
      for (std::size_t d = 0; d < at.size(); d++) columns[d].data<int64_t>()[k] = at[d];
    });
  return columns;
}

namespace {

void nonzero_kernel(const Call& c, std::span<const Tensor> r) {
  int64_t* out = r[0].data<int64_t>();
  const int64_t n = r[0].size(0).number();
  // Fortran order, as PyTorch's result: each coordinate is a contiguous column.
  for_each_nonzero(c.tensor(0), [&](int64_t k, const std::vector<int64_t>& at) {
    for (std::size_t d = 0; d < at.size(); d++) out[static_cast<int64_t>(d) * n + k] = at[d];
  });
}

void nonzero_static_kernel(const Call& c, std::span<const Tensor> r) {
  const int64_t limit = c[1].to_int64();
  fill_elements(r[0], c[2].to_scalar());
  int64_t* out = r[0].data<int64_t>();
  for_each_nonzero(c.tensor(0), [&](int64_t k, const std::vector<int64_t>& at) {
    if (k < limit) std::copy(at.begin(), at.end(), out + k * static_cast<int64_t>(at.size()));
  });
}

void require_mask(std::string_view op, const Tensor& mask) {
  INGOT_REQUIRE(mask.dtype() == DType::b8 || mask.dtype() == DType::u8, op, ": expected BoolTensor for mask, found ",
                mask.dtype());
}

// The number of selected elements once the mask is broadcast: each of its elements counts as often
// as it is repeated.
Int selected_count(const Tensor& mask, const Shape& sizes, std::string_view op) {
  if (mask->is_fake()) return data_dependent_size(op, sizes.product());
  const Int n = nonzero_count(mask, op);
  return mask.numel() == 0 ? Int(0) : n * floor_div(sizes.product(), mask.numel());
}

void masked_select_meta(const Call& c, Outputs& o) {
  const Tensor &self = c.tensor(0), &mask = c.tensor(1);
  require_mask("masked_select", mask);
  const Shape sizes = broadcast_shapes(self.sizes(), mask.sizes(), "masked_select");
  o.add(Shape{selected_count(mask, sizes, "masked_select")}, self.dtype());
}
// to[k] = from[i] for the k-th i whose flag is set.
template <class F>
void for_each_set(const Tensor& flags, const F& f) {
  const bool* p = flags.data<bool>();
  for (int64_t i = 0, k = 0, n = flags.numel().number(); i < n; i++)
    if (p[i]) f(i, k++);
}
void masked_select_kernel(const Call& c, std::span<const Tensor> r) {
  const Tensor &self = c.tensor(0), &mask = c.tensor(1);
  const Shape sizes = broadcast_shapes(self.sizes(), mask.sizes(), "masked_select");
  const Tensor from = dense(self, self.dtype(), sizes), flags = dense(mask, DType::b8, sizes);
  on_bytes(self.itemsize(), [&]<class T>(T) {
    for_each_set(flags, [to = r[0].data<T>(), x = from.data<T>()](int64_t i, int64_t k) { to[k] = x[i]; });
  });
}

void masked_scatter_meta(const Call& c, Outputs& o) {
  const Tensor &self = c.tensor(0), &mask = c.tensor(1), &source = c.tensor(2);
  require_mask("masked_scatter", mask);
  INGOT_REQUIRE(self.dtype() == source.dtype(), "masked_scatter: expected self and source to have same dtypes but got ",
                scalar_type_name(self.dtype()), " and ", scalar_type_name(source.dtype()));
  o.add(broadcast_shapes(self.sizes(), mask.sizes(), "masked_scatter"), self.dtype());
}
void masked_scatter_kernel(const Call& c, std::span<const Tensor> r) {
  const Tensor flags = dense(c.tensor(1), DType::b8, r[0].sizes()), source = dense(c.tensor(2), r[0].dtype());
  copy_elements(r[0], c.tensor(0));
  const int64_t available = source.numel().number();
  on_bytes(r[0].itemsize(), [&]<class T>(T) {
    for_each_set(flags, [&, to = r[0].data<T>(), x = source.data<T>()](int64_t i, int64_t k) {
      INGOT_REQUIRE(k < available, "masked_scatter: Number of elements of source < number of ones in mask: found ", available);
      to[i] = x[k];
    });
  });
}

// (grad_output, mask, sizes): what masked_scatter read of its source, zeros where it read nothing.
void masked_scatter_backward_kernel(const Call& c, std::span<const Tensor> r) {
  const Tensor& grad = c.tensor(0);
  const Tensor flags = dense(c.tensor(1), DType::b8, grad.sizes()), from = dense(grad, grad.dtype());
  fill_elements(r[0], 0);
  const int64_t room = r[0].numel().number();
  on_bytes(grad.itemsize(), [&]<class T>(T) {
    for_each_set(flags, [&, to = r[0].data<T>(), x = from.data<T>()](int64_t i, int64_t k) {
      INGOT_REQUIRE(k < room, "masked_scatter_backward: the mask selects more than the ", room, " elements of the source");
      to[k] = x[i];
    });
  });
}

Tensor zeros_of(const Tensor& like, const Shape& sizes) { return aten<"new_zeros">(like, sizes); }

constexpr OpDef kMaskedOps[] = {
    {.schema = "aten::nonzero(Tensor self) -> Tensor",
     .meta =
         [](const Call& c, Outputs& o) {
           const Int n = nonzero_count(c.tensor(0), "nonzero");
           Geometry g = Geometry::contiguous({n, c.tensor(0).dim()}, DType::i64);
           g.strides = {1, n};
           o.add(std::move(g));
         },
     .kernel = nonzero_kernel,
     .grad = {.none = true},
     .batch = refuse_dynamic_shape},
    {.schema = "aten::nonzero_static(Tensor self, *, SymInt size, int fill_value=-1) -> Tensor",
     .meta =
         [](const Call& c, Outputs& o) {
           INGOT_REQUIRE(!(c[1].to_int() < 0), "nonzero_static: 'size' must be an non-negative integer, found ", c[1]);
           o.add(Shape{c[1].to_int(), c.tensor(0).dim()}, DType::i64);
         },
     .kernel = nonzero_static_kernel,
     .grad = {.none = true}},
    {.schema = "aten::argwhere(Tensor self) -> Tensor",
     .form = Form::composite,
     .body = [](const Call& c) -> Value { return aten<"nonzero">(c[0]); }},
    {.schema = "aten::nonzero_numpy(Tensor self) -> Tensor[]",
     .form = Form::composite,
     .body = [](const Call& c) -> Value {
       const Tensor& self = c.tensor(0);
       return atens<"unbind.int">(aten<"nonzero">(self.dim() == 0 ? self.unsqueeze(0) : self), 1);
     }},
    {.schema = "aten::masked_select(Tensor self, Tensor mask) -> Tensor",
     .meta = masked_select_meta,
     .kernel = masked_select_kernel,
     .vjp =
         [](Vjp& v) {
           const Tensor mask = v.saved(1);
           const Shape sizes = broadcast_shapes(v.sizes(0), mask.sizes(), "masked_select");
           v.set(0, aten<"masked_scatter">(zeros_of(v.grad(), sizes), mask, v.grad()));
         },
     .saves = {{1, 0}},
     .batch = refuse_dynamic_shape},
    {.schema = "aten::masked_select_backward(Tensor grad, Tensor input, Tensor mask) -> Tensor",
     .form = Form::composite,
     .body = [](const Call& c) -> Value {
       const Shape sizes = broadcast_shapes(c.tensor(1).sizes(), c.tensor(2).sizes(), "masked_select");
       return aten<"masked_scatter">(zeros_of(c.tensor(0), sizes), c[2], c[0]);
     }},
    {.schema = "aten::masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor",
     .meta = masked_scatter_meta,
     .kernel = masked_scatter_kernel,
     .vjp =
         [](Vjp& v) {
           if (v.need(0)) v.set(0, aten<"masked_fill.Scalar">(v.grad(), v.saved(1), 0));
           if (v.need(2)) v.set(2, aten<"masked_scatter_backward">(v.grad(), v.saved(1), v.sizes(2)));
         },
     .saves = {{1}}},
    {.schema = "aten::masked_scatter_backward(Tensor grad_output, Tensor mask, SymInt[] sizes) -> Tensor",
     .meta =
         [](const Call& c, Outputs& o) {
           require_mask("masked_scatter_backward", c.tensor(1));
           const Shape b = broadcast_shapes(c.tensor(0).sizes(), c.tensor(1).sizes(), "masked_scatter_backward");
           INGOT_REQUIRE(b == c.tensor(0).sizes(), "masked_scatter_backward: a mask of shape ", c.tensor(1).sizes(),
                         " does not broadcast to the gradient's shape ", c.tensor(0).sizes());
           o.add(c[2].ints(), c.tensor(0).dtype());
         },
     .kernel = masked_scatter_backward_kernel,
     .vjp =
         [](Vjp& v) {
           v.set(0, aten<"masked_scatter">(aten<"zeros">(v.sizes(0), v.geom(0).dtype, Value(), v.grad().device()), v.saved(1),
                                           v.grad()));
         },
     .saves = {{1}}},
};

}  // namespace

INGOT_FAMILY(masked, kMaskedOps)

}  // namespace ingot
