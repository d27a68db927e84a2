// Tables of vectors: rows of a weight by index.
#include <cmath>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "base/half.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "ingot/op/vjp.hpp"
#include "ops/batch/rules.hpp"
#include "ops/common/dense.hpp"
#include "ops/family.hpp"
#include "ops/common/lower_rules.hpp"
#include "ops/index/indexing.hpp"
#include "tensor/geometry.hpp"

namespace ingot {
namespace {

void check_indices(std::string_view op, const Tensor& indices) {
  INGOT_REQUIRE(indices.dtype() == DType::i64 || indices.dtype() == DType::i32,
                "Expected tensor for argument #1 'indices' to have one of the "
                "following scalar types: Long, Int; but got ",
                scalar_type_name(indices.dtype()), " instead (while checking arguments for ", op, ")");
}

void embedding_meta(const Call& c, Outputs& o) {
  const Tensor &weight = c.tensor(0), &indices = c.tensor(1);
  INGOT_REQUIRE(weight.dim() == 2, "'weight' must be 2-D, found ", weight.dim(), "-D");
  check_indices("embedding", indices);
  Shape sizes = indices.sizes();
  sizes.push_back(weight.size(1));
  o.add(std::move(sizes), weight.dtype());
}
void embedding_kernel(const Call& c, std::span<const Tensor> r) {
  const Tensor& weight = c.tensor(0);
  const Tensor indices = dense(c.tensor(1), DType::i64);
  Indexing ix;
  ix.sizes = r[0].sizes().values();
  ix.base_strides.resize(ix.sizes.size());
  ix.base_strides.back() = weight.stride(1).number();
  std::vector<int64_t> walk = indices.strides().values();
  walk.push_back(0);
  ix.parts.push_back({indices, std::move(walk), weight.size(0).number(), weight.stride(0).number(), 0});
  if (r[0].numel().same(0)) require_in_bounds(ix);  // as PyTorch does
  read_indexed(ix, weight, r[0]);
}

// (grad_output, indices, num_weights, padding_idx, scale_grad_by_freq)
void dense_backward_meta(const Call& c, Outputs& o) {
  const Tensor& grad = c.tensor(0);
  check_indices("embedding_backward", c.tensor(1));
  INGOT_REQUIRE(grad.dim() == c.tensor(1).dim() + 1, "embedding_dense_backward: expected a gradient of ", c.tensor(1).dim() + 1,
                " dims for indices of ", c.tensor(1).dim(), ", found ", grad.dim());
  o.add(Shape{c[2].to_int(), grad.size(-1)}, grad.dtype());
}
void dense_backward_kernel(const Call& c, std::span<const Tensor> r) {
  const Tensor indices = dense(c.tensor(1), DType::i64);
  const DType compute = compute_dtype(r[0].dtype());
  const Tensor grad = dense(c.tensor(0), compute);
  const int64_t n = indices.numel().number(), width = r[0].size(1).number(), rows = r[0].size(0).number(),
                padding = c[3].to_int64();
  const int64_t* at = indices.data<int64_t>();
  std::vector<int64_t> counts;
  if (c[4].to_bool()) counts.resize(static_cast<std::size_t>(rows));
  for (int64_t i = 0; i < n; i++) {
    INGOT_REQUIRE_INDEX(at[i] >= 0 && at[i] < rows, "index out of range in self: found ", at[i], ", the weight has ", rows,
                        " rows");
    if (!counts.empty()) counts[static_cast<std::size_t>(at[i])]++;
  }
  const DenseResult sums(r[0], compute);
  fill_elements(sums.buffer(), 0);
  on_compute_dtype(compute, [&]<class T>(T) {
    if constexpr (!std::is_same_v<T, bool>) {
      const T* g = grad.data<T>();
      T* to = sums.data<T>();
      // PyTorch's sums are kept in the gradient's own dtype.
      const auto rounded = [t = r[0].dtype()](T v) {
        if constexpr (std::is_same_v<T, float>) {
          if (t == DType::bf16) return to_float(to_bfloat16(v));
          if (t == DType::f16) return to_float(to_half(v));
        }
        return v;
      };
      for (int64_t i = 0; i < n; i++) {
        if (at[i] == padding) continue;
        const T scale = counts.empty() ? T(1) : T(1) / static_cast<T>(counts[static_cast<std::size_t>(at[i])]);
        for (int64_t j = 0; j < width; j++) {
          T& sum = to[at[i] * width + j];
          sum = rounded(sum + g[i * width + j] * scale);
        }
      }
    }
  });
  sums.finish();
}
// The backward's own gradient: rows of the gradient's gradient, zero for the padding.
void dense_backward_vjp(Vjp& v) {
  const Tensor indices = v.saved(1);
  Tensor g = aten<"index_select">(v.grad(), 0, aten<"reshape">(indices, Shape{-1}));
  g = aten<"reshape">(g, v.sizes(0));
  const Int padding = v.arg(3).to_int();
  if (!(padding < 0)) g = aten<"masked_fill.Scalar">(g, (indices == Scalar(padding)).unsqueeze(-1), 0);
  if (v.arg(4).to_bool()) {
    const Tensor flat = aten<"reshape">(indices, Shape{-1});
    const Tensor ones = aten<"ones_like">(flat, g.dtype());
    const Tensor counts = aten<"index_add">(aten<"new_zeros">(g, Shape{v.arg(2).to_int()}), 0, flat, ones);
    g = g / aten<"reshape">(aten<"index_select">(counts, 0, flat), indices.sizes()).unsqueeze(-1);
  }
  v.set(0, g);
}

// (self, indices, max_norm, norm_type): rows that are named and longer than max_norm are shortened
// to it.
void renorm_kernel(const Call& c, std::span<const Tensor> r) {
  const Tensor indices = dense(c.tensor(1), DType::i64);
  const double max_norm = c[2].to_double(), p = c[3].to_double();
  const DenseResult out(r[0], compute_dtype(r[0].dtype()));
  copy_elements(out.buffer(), c.tensor(0));
  const int64_t rows = r[0].size(0).number(), width = r[0].size(1).number();
  std::vector<bool> done(static_cast<std::size_t>(rows));
  on_compute_dtype(out.buffer().dtype(), [&]<class T>(T) {
    if constexpr (std::is_floating_point_v<T>) {
      for (int64_t i = 0, n = indices.numel().number(); i < n; i++) {
        const int64_t row = indices.data<int64_t>()[i];
        INGOT_REQUIRE_INDEX(row >= 0 && row < rows, "index out of range in self: found ", row, ", the weight has ", rows,
                            " rows");
        if (done[static_cast<std::size_t>(row)]) continue;
        done[static_cast<std::size_t>(row)] = true;
        T* x = out.data<T>() + row * width;
        double norm = 0;
        for (int64_t j = 0; j < width; j++) {
          const double a = std::abs(static_cast<double>(x[j]));
          norm = std::isinf(p) ? std::max(norm, a) : norm + std::pow(a, p);
        }
        if (!std::isinf(p)) norm = std::pow(norm, 1 / p);
        if (norm > max_norm)
          for (int64_t j = 0; j < width; j++) x[j] = static_cast<T>(x[j] * (max_norm / (norm + 1e-7)));
      }
    }
  });
  out.finish();
}

// ---- batching

Value batch_embedding(const Batching& b) {
  if (!b.batched(0)) return call(b.op, b.args);
  // The rows of a padding index get no gradient, and a gradient that is scaled counts rows: neither
  // is said by an index.
  if (!(b[2].to_int() < 0) || b[3].to_bool()) return batch_loop(b);
  (void)b.member_results();
  const Tensor members = b.batched(1) ? aten<"reshape">(aten<"arange">(b.size, DType::i64, Value(), b.tensor(0).device()),
                                                        b.with_batch(Shape::filled(b.sizes(1).size(), 1)))
                                      : Tensor();
  return aten<"index.Tensor">(b.tensor(0), TensorList{members, b.tensor(1)});
}
Value batch_embedding_backward(const Batching& b) {
  (void)b.member_results();
  const Int rows = b[2].to_int();
  if (!b.batched(1)) {  // one table of wider rows
    const int last = b.rank(0) - 1;
    const Tensor grad = merge_dims(move_dim(b.tensor(0), 0, last), last);
    const Tensor wide = call(b.op, {grad, b[1], b[2], b[3], b[4]}).tensor();
    return move_dim(split_dim(wide, 1, b.size, b.sizes(0)[static_cast<std::size_t>(last)]), 1, 0);
  }
  if (!(b[3].to_int() < 0)) return batch_loop(b);
  // One table of more rows: those of member m start at m * rows.
  const Tensor start =
      aten<"reshape">(aten<"mul.Scalar">(aten<"arange">(b.size, b.tensor(1).dtype(), Value(), b.tensor(1).device()), rows),
                      b.with_batch(Shape::filled(b.sizes(1).size(), 1)));
  return split_dim(call(b.op, {b.front(0), aten<"add.Tensor">(b.tensor(1), start), rows * b.size, b[3], b[4]}).tensor(), 0,
                   b.size, rows);
}

void embedding_lower(Lowering& l) {
  const Expr rows = l.size(0, 0);
  check_indices_in_range(l, 1, -1, 0, rows, text("embedding: an index is out of range: there are ", rows, " rows"));
  const std::vector<Expr> at = variables_over(l, l.result(0).sizes);
  const Expr row = cast(DType::i64, l.load(1, std::span(at).first(at.size() - 1)));
  l.define(0, at, l.load(0, {row, at.back()}));
}

constexpr OpDef kEmbeddingOps[] = {
    {.schema =
         "aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) -> Tensor",
     .meta = embedding_meta,
     .kernel = embedding_kernel,
     .vjp =
         [](Vjp& v) { v.set(0, aten<"embedding_backward">(v.grad(), v.saved(1), v.sizes(0)[0], v.arg(2), v.arg(3), v.arg(4))); },
     .saves = {{1}},
     .lower = embedding_lower,
     .batch = batch_embedding},
    {.schema =
         "aten::embedding_backward(Tensor grad, Tensor indices, SymInt num_weights, SymInt padding_idx, bool scale_grad_by_freq, bool sparse) -> "
         "Tensor",
     .form = Form::composite,
     .body = [](const Call& c) -> Value {
       if (c[5].to_bool()) return aten<"embedding_sparse_backward">(c[0], c[1], c[2], c[3], c[4]);
       return aten<"embedding_dense_backward">(c[0], c[1], c[2], c[3], c[4]);
     }},
    {.schema =
         "aten::embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt num_weights, SymInt padding_idx, bool scale_grad_by_freq) -> "
         "Tensor",
     .meta = dense_backward_meta,
     .kernel = dense_backward_kernel,
     .vjp = dense_backward_vjp,
     .saves = {{1}},
     .batch = batch_embedding_backward},
    {.schema = "aten::embedding_renorm(Tensor self, Tensor indices, float max_norm, float norm_type) -> Tensor",
     .meta =
         [](const Call& c, Outputs& o) {
           const Tensor& self = c.tensor(0);
           INGOT_REQUIRE(self.dim() == 2 && self.is_floating_point(),
                         "embedding_renorm_: expected a 2-D floating point weight, found ", self.dim(), "-D ", self.dtype());
           check_indices("embedding_renorm_", c.tensor(1));
           Geometry g = Geometry::contiguous(self.sizes(), self.dtype());
           g.strides = dense_strides_like(self.sizes(), self.strides());
           o.add(std::move(g));
         },
     .kernel = renorm_kernel,
     .vjp = refuse_vjp},
};

}  // namespace

INGOT_FAMILY(embedding, kEmbeddingOps)

}  // namespace ingot
