// Scaled dot product attention: softmax(q kᵀ · scale + mask) v over the last two dims.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "base/parallel.hpp"
#include "expr/if_known.hpp"
#include "ingot/ingot.hpp"
#include "ingot/op/vjp.hpp"
#include "kernels/attention.hpp"
#include "op/call.hpp"
#include "ops/common/dense.hpp"
#include "ops/common/gradient_terms.hpp"
#include "ops/family.hpp"
#include "tensor/geometry.hpp"
#include "tensor/rows.hpp"

namespace ingot {
namespace {

constexpr double kInfinity = HUGE_VAL;

// 1 / sqrt(head size) where none is given: the head size must then be a plain number.
double scale_of(const Tensor& query, const Value& scale) {
  return scale.is_none() ? 1 / std::sqrt(static_cast<double>(query.size(-1).value())) : scale.to_double();
}

// True means "takes part": 0 there, -inf elsewhere.
Tensor additive_mask(const Tensor& mask, DType dtype) {
  if (mask.dtype() != DType::b8) return mask;
  return aten<"where.ScalarSelf">(mask, 0.0, aten<"scalar_tensor">(-kInfinity, dtype, Value(), mask.device()));
}
Tensor causal_mask(Int rows, Int columns, DType dtype, Device device) {
  return additive_mask(aten<"tril">(aten<"ones">(Shape{rows, columns}, DType::b8, Value(), device)), dtype);
}

void check_inputs(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, bool is_causal) {
  INGOT_REQUIRE(q.dtype() == k.dtype() && q.dtype() == v.dtype(),
                "Expected query, key, and value to have the same dtype, but got query.dtype: ", q.dtype(),
                " key.dtype: ", k.dtype(), " and value.dtype: ", v.dtype(), " instead.");
  INGOT_REQUIRE(q.dim() >= 2 && k.dim() >= 2 && v.dim() >= 2,
                "Expected query, key, and value to all be at least 2 dimensional, but got query.dim: ", q.dim(),
                ", key.dim: ", k.dim(), " and value.dim: ", v.dim(), " instead.");
  if (!mask.defined()) return;
  INGOT_REQUIRE(!is_causal, "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True");
  INGOT_REQUIRE(mask.dtype() == DType::b8 || mask.dtype() == DType::f32 || mask.dtype() == q.dtype(),
                "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: ", mask.dtype(),
                " and query.dtype: ", q.dtype(), " instead.");
}

// Where PyTorch's CPU backend takes the one-node kernel instead of coming apart into products and a
// softmax.
bool fits_fused(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, double dropout) {
  if (dropout != 0 || q.dim() != 4 || k.dim() != 4 || v.dim() != 4 || !q.is_floating_point() || is_float8(q.dtype()))
    return false;
  if (mask.defined()) {
    if (mask.requires_grad() || (mask.dim() != 2 && mask.dim() != 4)) return false;
    auto fits = [](Int have, Int want) { return statically_equal(have, 1) || have == want; };
    if (!fits(mask.size(-2), q.size(2)) || !fits(mask.size(-1), k.size(2))) return false;
    if (mask.dim() == 4 && (!fits(mask.size(0), q.size(0)) || !fits(mask.size(1), q.size(1)))) return false;
  }
  for (int64_t d : {int64_t{0}, int64_t{1}, int64_t{3}})
    if (!(q.size(d) == k.size(d)) || !(q.size(d) == v.size(d))) return false;
  if (!(k.size(2) == v.size(2)) || q.size(2) == 0 || k.size(2) == 0) return false;
  return statically_equal(q.stride(3), 1) && statically_equal(k.stride(3), 1) && statically_equal(v.stride(3), 1);
}

// (query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
Value attention(const Call& c) {
  const Tensor &q = c.tensor(0), &k = c.tensor(1), &v = c.tensor(2), given = c[3].tensor_or_none();
  check_inputs(q, k, v, given, c[5].to_bool());
  const Tensor mask = given.defined() ? additive_mask(given, q.dtype()) : Tensor();
  if (fits_fused(q, k, v, mask, c[4].to_double()))
    return atens<"_scaled_dot_product_flash_attention_for_cpu">(q, k, v, c[4], c[5], mask, c[6])[0];
  return atens<"_scaled_dot_product_attention_math">(q, k, v, mask, c[4], c[5], Value(), c[6], c[7])[0];
}

// Each head of key and value serves a group of query heads.
Tensor repeat_heads(const Tensor& t, const Tensor& q) {
  const Int have = t.size(-3), want = q.size(-3);
  if (have == want) return t;
  INGOT_REQUIRE(mod(want, have) == 0, "Number of heads in key and value must divide the number of heads in query, found ", have,
                " and ", want);
  return aten<"repeat_interleave.self_int">(t, floor_div(want, have), -3);
}

// (query, key, value, attn_mask, dropout_p, is_causal, dropout_mask, scale, enable_gqa) -> (output,
// attention weights)
Value attention_math(const Call& c) {
  const DType dtype = c.tensor(0).dtype(), high = is_reduced_floating(dtype) ? DType::f32 : dtype;
  const Tensor q = c.tensor(0).to(high);
  Tensor k = c.tensor(1).to(high), v = c.tensor(2).to(high), mask = c[3].tensor_or_none();
  const double dropout = c[4].to_double();
  check_inputs(q, k, v, mask.defined() && mask.dtype() != DType::b8 ? Tensor() : mask, c[5].to_bool());
  if (c[5].to_bool()) {
    INGOT_REQUIRE(!mask.defined(), "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True");
    mask = causal_mask(q.size(-2), k.size(-2), high, q.device());
  } else if (mask.defined()) {
    mask = additive_mask(mask, high);
  }
  if (c[8].to_bool()) {
    k = repeat_heads(k, q);
    v = repeat_heads(v, q);
  }
  // Half of the scale on each side keeps the products small.
  const double scale = scale_of(q, c[7]), half = std::sqrt(std::abs(scale));
  Tensor weights = matmul(q * (scale < 0 ? -half : half), k.transpose(-2, -1) * half);
  if (mask.defined()) weights = weights + mask;
  weights = aten<"_safe_softmax">(weights, -1);
  if (dropout > 0 && c[6].is_tensor()) {
    weights = aten<"masked_fill.Scalar">(weights, aten<"logical_not">(c[6]), 0);
    return TensorList{matmul(weights, v * (1 / (1 - dropout))).to(dtype), weights.to(dtype)};
  }
  if (dropout > 0) weights = aten<"dropout">(weights, dropout, true);
  return TensorList{matmul(weights, v).to(dtype), weights.to(dtype)};
}

// ---- the fused node: output and logsumexp of the scores; backward keeps no weights
// Each is a program, which traces record and compiled code is made of, and a kernel, which makes
// the scores of a few rows at a time.

DType sums_of(DType dtype) { return dtype == DType::f64 ? DType::f64 : DType::f32; }

// The geometry of `sizes` in memory with the dims in this order, the outermost first. As permute,
// contiguous and permute back make it: what lies so already (a dim of one element) stays.
Geometry in_order(const Shape& sizes, DType dtype, const Shape& order) {
  Geometry g = permute_geometry(Geometry::contiguous(sizes, dtype), order);
  if (!is_contiguous(g.sizes, g.strides)) g.strides = contiguous_strides(g.sizes);
  Shape back = order;
  for (int k = 0; k < 4; k++) back[static_cast<int>(order[k].value())] = k;
  return permute_geometry(g, back);
}
Tensor in_order(const Tensor& t, const Shape& order) {
  Shape back = order;
  for (int k = 0; k < 4; k++) back[static_cast<int>(order[k].value())] = k;
  return t.permute(order).contiguous().permute(back);
}
// [B, H, L, …] stored as [B, L, H, …]: what a transformer reshapes next.
Shape heads_inside() { return {0, 2, 1, 3}; }
// The order of the query's dims, which is how PyTorch's result lies.
Shape order_of(const Tensor& query) {
  const Shape strides = dense_strides_like(query.sizes(), query.strides());
  Shape order{0, 1, 2, 3};
  for (int n = 1; n < 4; n++)
    for (int k = n; k > 0; k--) {
      const auto at = [&](int i) { return strides[static_cast<int>(order[i].value())]; };
      if (!less_if_known(at(k - 1), at(k)).value_or(false)) break;
      std::swap(order[k - 1], order[k]);
    }
  return order;
}

// What both nodes are called with, and how many of what there are.
struct Inputs {
  Tensor q, k, v, mask;  // the mask as it was given
  bool is_causal;
  double scale;
  Int batches, heads;

  Int rows() const { return q.size(2); }
  Int keys() const { return k.size(2); }
  Shape sized(const Tensor& t) const { return {batches, heads, t.size(2), t.size(3)}; }
};
Inputs inputs_of(const Tensor& q, const Tensor& k, const Tensor& v, const Value& is_causal, const Tensor& mask,
                 const Value& scale) {
  INGOT_REQUIRE(q.dim() == 4 && k.dim() == 4 && v.dim() == 4,
                "scaled_dot_product_attention_flash_attention: Accept only 4 dims inputs shape of {B, H, T, K}");
  INGOT_REQUIRE(!is_causal.to_bool() || !mask.defined(),
                "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True");
  INGOT_REQUIRE(q.size(3) == k.size(3),
                "scaled_dot_product_attention_flash_attention: query and key should have the same head size, found ", q.sizes(),
                " and ", k.sizes());
  INGOT_REQUIRE(k.size(2) == v.size(2),
                "scaled_dot_product_attention_flash_attention: key and value should have the same length, found ", k.sizes(),
                " and ", v.sizes());
  constexpr std::string_view name = "scaled_dot_product_attention_flash_attention";
  const auto outer = [](const Tensor& t) { return Shape{t.size(0), t.size(1)}; };
  const Shape all = broadcast_shapes(broadcast_shapes(outer(q), outer(k), name), outer(v), name);
  return {q, k, v, mask, is_causal.to_bool(), scale_of(q, scale), all[0], all[1]};
}
// (query, key, value, dropout_p, is_causal, attn_mask, scale)
Inputs forward_inputs(const Call& c) {
  INGOT_REQUIRE(c[3].to_double() == 0, "_scaled_dot_product_flash_attention_for_cpu: Currently do not support dropout > 0");
  return inputs_of(c.tensor(0), c.tensor(1), c.tensor(2), c[4], c[5].tensor_or_none(), c[6]);
}
// (grad_out, query, key, value, out, logsumexp, dropout_p, is_causal, attn_mask, scale). Output and
// logsumexp are rounded: the weights are computed anew from the inputs instead.
Inputs backward_inputs(const Call& c) {
  return inputs_of(c.tensor(1), c.tensor(2), c.tensor(3), c[7], c[8].tensor_or_none(), c[9]);
}

// ---- as a program

// The inputs in the type of sums, and the steps from them to the output.
struct Steps {
  Tensor q, k, v, mask;
  double scale;
  explicit Steps(const Inputs& in) : scale(in.scale) {
    const DType high = sums_of(in.q.dtype());
    q = in.q.to(high), k = in.k.to(high), v = in.v.to(high);
    if (in.is_causal) mask = causal_mask(in.rows(), in.keys(), high, q.device());
    else if (in.mask.defined()) mask = in.mask.to(high);
  }
  Tensor scores() const {
    const Tensor s = matmul(q, k.transpose(-2, -1)) * scale;
    return mask.defined() ? s + mask : s;
  }
};
Tensor weights_of(const Tensor& scores) { return aten<"_safe_softmax">(scores, -1); }  // where nothing takes part: zeros
Tensor sum_of_rows(const Tensor& t) { return aten<"sum.dim_IntList">(t, Shape{-1}, true); }
Tensor turned(const Tensor& t) { return t.transpose(-2, -1); }

Value fused(const Call& c) {
  const Steps f(forward_inputs(c));
  const Tensor scores = f.scores(), lse = aten<"logsumexp">(scores, Shape{-1});
  return TensorList{in_order(matmul(weights_of(scores), f.v).to(c.tensor(0).dtype()), order_of(c.tensor(0))),
                    lse.transpose(1, 2).contiguous().transpose(1, 2)};
}
// As the kernel does: the gradients of a row of scores add up to zero, and those of the keys, where
// a bias of all of them cancels, are of doubles.
Value fused_backward(const Call& c) {
  const Steps f(backward_inputs(c));
  const DType dtype = c.tensor(1).dtype(), high = f.q.dtype();
  const Tensor grad = c.tensor(0).to(high), p = weights_of(f.scores());
  const Tensor wide = p.to(DType::f64), of_p = matmul(grad, turned(f.v)).to(DType::f64);
  const Tensor sum = aten<"clamp_min">(sum_of_rows(wide), std::numeric_limits<double>::min());
  const Tensor of_scores = (of_p - sum_of_rows(of_p * wide) / sum) * wide * f.scale;
  const auto result = [&](const Tensor& t) { return in_order(t.to(dtype), heads_inside()); };
  return TensorList{result(matmul(of_scores.to(high), f.k)), result(matmul(turned(of_scores), f.q.to(DType::f64))),
                    result(matmul(turned(p), grad))};
}
void fused_vjp(Vjp& v) {
  if (!v.grad().defined()) return;
  const TensorList g = atens<"_scaled_dot_product_flash_attention_for_cpu_backward">(
      v.grad(), v.saved(0), v.saved(1), v.saved(2), v.result(0), v.result(1), v.arg(3), v.arg(4), v.saved(5), v.arg(6));
  for (int i = 0; i < 3; i++)
    if (v.need(i)) v.set(i, g[static_cast<std::size_t>(i)]);
}

// a + b, either of which may be none.

// The gradient of the gradients, by what these are made of. With the scores s, the weights p and
// the output's gradient g:
//   of_p = g vᵀ        of_s = p (of_p - rows(of_p p))
//   grad_query = scale of_s k        grad_key = scale of_sᵀ q        grad_value = pᵀ g
// Below, x_… is the gradient of …, beginning with those of the three results. All of it are
// differentiable ops, so there are gradients of any order.
void fused_backward_vjp(Vjp& v) {
  const Steps f(inputs_of(v.saved(1), v.saved(2), v.saved(3), v.arg(7), v.saved(8), v.arg(9)));
  const DType high = f.q.dtype();
  const auto given = [&](int k) { return v.grad(k).defined() ? v.grad(k).to(high) : Tensor(); };
  const Tensor x_query = given(0), x_key = given(1), x_value = given(2), g = v.saved(0).to(high);
  const Tensor p = weights_of(f.scores()), of_p = matmul(g, turned(f.v)), centred = of_p - sum_of_rows(of_p * p);
  const auto set = [&](int i, const Tensor& t) {
    if (t.defined()) v.set(i, t.to(v.geom(i).dtype));
  };

  Tensor x_of_s, x_of_p, x_p;
  if (x_query.defined()) x_of_s = matmul(x_query, turned(f.k)) * f.scale;
  if (x_key.defined()) x_of_s = plus(x_of_s, matmul(f.q, turned(x_key)) * f.scale);
  if (x_of_s.defined()) {
    const Tensor rows = sum_of_rows(x_of_s * p);
    x_of_p = (x_of_s - rows) * p;
    x_p = x_of_s * centred - rows * of_p;
  }
  if (x_value.defined()) x_p = plus(x_p, matmul(g, turned(x_value)));
  if (!x_p.defined()) return;

  if (v.need(0))
    set(0, plus(x_of_p.defined() ? matmul(x_of_p, f.v) : Tensor(), x_value.defined() ? matmul(p, x_value) : Tensor()));
  if (v.need(3) && x_of_p.defined()) set(3, matmul(turned(x_of_p), g));
  if (!v.need(1) && !v.need(2)) return;
  const Tensor x_scores = (x_p - sum_of_rows(x_p * p)) * p * f.scale, of_s = centred * p * f.scale;
  if (v.need(1)) set(1, plus(matmul(x_scores, f.k), x_key.defined() ? matmul(of_s, x_key) : Tensor()));
  if (v.need(2)) set(2, plus(matmul(turned(x_scores), f.q), x_query.defined() ? matmul(turned(of_s), x_query) : Tensor()));
}

// ---- as a kernel

void fused_meta(const Call& c, Outputs& o) {
  const Inputs in = forward_inputs(c);
  o.add(in_order({in.batches, in.heads, in.rows(), in.v.size(3)}, in.q.dtype(), order_of(in.q)));
  Geometry lse = in_order({in.batches, in.heads, in.rows(), 1}, sums_of(in.q.dtype()), heads_inside());
  lse.sizes.pop_back(), lse.strides.pop_back();
  o.add(std::move(lse));
}
void fused_backward_meta(const Call& c, Outputs& o) {
  const Inputs in = backward_inputs(c);
  for (const Tensor* t : {&in.q, &in.k, &in.v}) o.add(in_order(in.sized(*t), in.q.dtype(), heads_inside()));
}

template <class T>
constexpr DType kTypeOf = sizeof(T) == 4 ? DType::f32 : DType::f64;

// A tensor as [batch, head, row, col], a matrix for each head, and what keeps it alive.
template <class T>
class Matrices {
 public:
  // One that is read, in T and for all batches and heads.
  Matrices(const Tensor& t, const Shape& sizes) : tensor_(t.dtype() == kTypeOf<T> ? t : dense(t, kTypeOf<T>)) {
    take(expand_geometry(tensor_->geom, sizes).strides);
  }
  // A result: in a type of fewer digits it is written when it is complete.
  explicit Matrices(const Tensor& result)
      : result_(result),
        tensor_(result.dtype() == kTypeOf<T> ? result
                                             : make_tensor(Geometry::contiguous(result.sizes(), kTypeOf<T>), result.device())) {
    take(tensor_.strides());
  }
  void finish() const {
    if (!result_.is_same(tensor_)) copy_elements(result_, tensor_);
  }
  const kernels::Heads<T>& heads() const { return heads_; }
  kernels::Heads<const T> read() const { return {heads_.data, heads_.batch, heads_.head, heads_.row, heads_.col}; }

 private:
  void take(const Shape& strides) {
    heads_ = {tensor_.data<T>(), strides[0].number(), strides[1].number(), strides[2].number(),
              strides.dim() < 4 ? 0 : strides[3].number()};
  }
  Tensor result_, tensor_;
  kernels::Heads<T> heads_{};
};

// The inputs as the kernel takes them.
template <class T>
struct KernelInputs {
  Matrices<T> q, k, v;
  std::optional<Matrices<T>> mask;
  kernels::Attention<T> attention;

  explicit KernelInputs(const Inputs& in) : q(in.q, in.sized(in.q)), k(in.k, in.sized(in.k)), v(in.v, in.sized(in.v)) {
    if (in.mask.defined()) mask.emplace(in.mask, Shape{in.batches, in.heads, in.rows(), in.keys()});
    attention = {in.batches.number(),
                 in.heads.number(),
                 in.rows().number(),
                 in.keys().number(),
                 in.q.size(3).number(),
                 in.v.size(3).number(),
                 static_cast<T>(in.scale),
                 in.is_causal,
                 q.read(),
                 k.read(),
                 v.read(),
                 mask ? mask->read() : kernels::Heads<const T>{}};
  }
  // f(begin, end, scratch) for the tasks, each with so many bytes of its own.
  template <class F>
  void run(int64_t tasks, int64_t bytes, const F& f) const {
    const kernels::Attention<T>& a = attention;
    const int64_t all = a.batches * a.heads * a.rows * a.keys * (a.embed + a.value_embed);
    const int64_t work = std::max<int64_t>(1, all / std::max<int64_t>(1, tasks));
    parallel_for(0, tasks, std::max<int64_t>(1, 65536 / work), [&](int64_t begin, int64_t end) {
      const Scratch scratch(bytes);
      f(begin, end, scratch.get());
    });
  }
};

void fused_kernel(const Call& c, std::span<const Tensor> r) {
  on_floating(c.tensor(0).dtype(), c.op.schema.name, [&]<class T>(T) {
    const KernelInputs<T> in(forward_inputs(c));
    const Matrices<T> out(r[0]), lse(r[1]);
    in.run(kernels::attention_tasks(in.attention), kernels::attention_scratch_bytes(in.attention),
           [&](int64_t begin, int64_t end, void* scratch) {
             kernels::attention(in.attention, out.heads(), lse.heads(), begin, end, scratch);
           });
    out.finish();
    lse.finish();
  });
}
void fused_backward_kernel(const Call& c, std::span<const Tensor> r) {
  on_floating(c.tensor(1).dtype(), c.op.schema.name, [&]<class T>(T) {
    const Inputs inputs = backward_inputs(c);
    const KernelInputs<T> in(inputs);
    const Matrices<T> grad(c.tensor(0), {inputs.batches, inputs.heads, inputs.rows(), inputs.v.size(3)});
    const Matrices<T> of[] = {Matrices<T>(r[0]), Matrices<T>(r[1]), Matrices<T>(r[2])};
    in.run(in.attention.batches * in.attention.heads, kernels::attention_backward_scratch_bytes(in.attention),
           [&](int64_t begin, int64_t end, void* scratch) {
             kernels::attention_backward(in.attention, grad.read(), of[0].heads(), of[1].heads(), of[2].heads(), begin, end,
                                         scratch);
           });
    for (const Matrices<T>& m : of) m.finish();
  });
}

constexpr OpDef kAttentionOps[] = {
    {.schema =
         "aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0., bool "
         "is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor",
     .form = Form::composite,
     .body = attention,
     .autocast = Autocast::lower_precision},
    {.schema =
         "aten::_scaled_dot_product_attention_math(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0., bool "
         "is_causal=False, Tensor? dropout_mask=None, *, float? scale=None, bool enable_gqa=False) -> (Tensor, Tensor)",
     .form = Form::composite,
     .body = attention_math},
    {.schema =
         "aten::_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, float dropout_p=0., bool is_causal=False, *, "
         "Tensor? attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)",
     .meta = fused_meta,
     .kernel = fused_kernel,
     .body = fused,
     .vjp = fused_vjp,
     .saves = {{0}, {1}, {2}, {5}, {kResult}, {kResult - 1}},
     .grad = {.refuses = 0b100000,  // the mask: attention() takes the other way for one that requires grad
              .results = 1}},
    {.schema =
         "aten::_scaled_dot_product_flash_attention_for_cpu_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor out, Tensor "
         "logsumexp, float dropout_p, bool is_causal, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor grad_query, Tensor grad_key, "
         "Tensor grad_value)",
     .meta = fused_backward_meta,
     .kernel = fused_backward_kernel,
     .body = fused_backward,
     .vjp = fused_backward_vjp,
     .saves = {{0}, {1}, {2}, {3}, {8}},
     .grad = {.refuses = 0b100000000}},  // the mask, as above
};

}  // namespace

INGOT_FAMILY(attention, kAttentionOps)

}  // namespace ingot
