#include "ops/higher_order/flex.hpp"

#include <cmath>
#include <numbers>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "op/function.hpp"
#include "op/upper_layers.hpp"
#include "ops/higher_order/mapped_function.hpp"
#include "tensor/geometry.hpp"

namespace ingot {
namespace {

constexpr double kInfinity = HUGE_VAL;
constexpr DType kIndex = DType::i32;

// Which of its operands a function has one of for each batch, head, query and key: an index each,
// and what is there for all of them, which is `before` and `after` the indices.
std::vector<std::vector<bool>> levels(std::size_t before, std::size_t after, std::size_t others) {
  std::vector<std::vector<bool>> all(4, std::vector<bool>(before + 4 + after + others));
  for (std::size_t level = 0; level < 4; level++) {
    for (std::size_t i = 0; i < before; i++) all[level][i] = true;
    for (std::size_t i = 0; i < after; i++) all[level][before + 4 + i] = true;
    all[level][before + level] = true;
  }
  return all;
}

class Flex {
 public:
  Flex(const Op& op, const Tensor& query, const Tensor& key, const Tensor& value, const Value& score_mod, const Value& block_mask,
       double scale, Values score_buffers, Values mask_buffers)
      : dtype(query.dtype()), work(dtype == DType::f64 ? DType::f64 : DType::f32), scale(scale), score_mod(score_mod),
        score_buffers(std::move(score_buffers)), mask_buffers(std::move(mask_buffers)) {
    INGOT_REQUIRE(query.dim() == 4 && key.dim() == 4 && value.dim() == 4, op.schema.name,
                  ": NYI: query, key, and value must be 4D tensors, found ", query.dim(), "D, ", key.dim(), "D and ", value.dim(),
                  "D");
    INGOT_REQUIRE(query.size(3) == key.size(3), op.schema.name,
                  ": Expect query and key/value to have the same embedding dimension but got E=", query.size(3),
                  " and E=", key.size(3), ".");
    INGOT_REQUIRE(key.size(0) == value.size(0) && key.size(1) == value.size(1) && key.size(2) == value.size(2), op.schema.name,
                  ": key and value should have the same batches, heads and length, found ", key.sizes(), " and ", value.sizes());
    INGOT_REQUIRE(key.size(0) == query.size(0) || key.size(0) == 1, op.schema.name,
                  ": Bq and Bkv must broadcast. Got Bq=", query.size(0), " and Bkv=", key.size(0));
    INGOT_REQUIRE(mod(query.size(1), key.size(1)) == 0, op.schema.name,
                  ": Expect number of query heads to be a multiple of kv heads for GQA but got Hq=", query.size(1),
                  " and Hkv=", key.size(1), ".");
    const Values parts = list_elements(block_mask);
    INGOT_REQUIRE(!parts.empty() && parts.back().is_function(), op.schema.name,
                  ": the block mask should end in its function, found ", parts.empty() ? "nothing" : parts.back().kind_name());
    mask_mod = parts.back();
    group = floor_div(query.size(1), key.size(1));
    q = query.to(work);
    k = for_each_head(key.to(work));
    v = for_each_head(value);
  }

  DType dtype, work;  // of the inputs, and of the scores
  double scale;
  Int group;  // query heads for each head of key and value
  Tensor q, k, v;  // one head of key and value for each of the query; q and k as `work`
  Value score_mod, mask_mod;
  Values score_buffers, mask_buffers;

  Tensor scores() const { return matmul(q, k.transpose(-2, -1)) * scale; }

  // What score_mod is called with, for all elements at once.
  Values score_arguments(const Tensor& scores) const {
    Values args{scores};
    for (Value& i : indices()) args.push_back(std::move(i));
    args.insert(args.end(), score_buffers.begin(), score_buffers.end());
    return args;
  }
  Value mapped_score_mod() const { return mapped_function(score_mod, levels(1, 0, score_buffers.size())); }
  // Which elements take part.
  Tensor mask() const {
    Values args = indices();
    args.insert(args.end(), mask_buffers.begin(), mask_buffers.end());
    return one_result(mapped_function(mask_mod, levels(0, 0, mask_buffers.size())).function()(args), "the mask function");
  }
  static Tensor one_result(const Values& results, std::string_view of) {
    INGOT_REQUIRE(results.size() == 1 && results[0].is_tensor(), "flex_attention: ", of, " should return one tensor, found ",
                  results.size(), " results");
    return results[0].tensor();
  }

  // The gradient of the scores as the functions leave them, from those of the weights and of the
  // logsumexp: each may be none. `of_rows`: for each row the sum of the weights, each with its
  // gradient.
  Tensor through_softmax(const Tensor& weights, const Tensor& of_weights, const Tensor& of_rows, const Tensor& of_lse) const {
    Tensor g;
    if (of_weights.defined()) g = weights * (of_weights - of_rows);
    if (!of_lse.defined()) return g;
    const Tensor more = weights * aten<"unsqueeze">(of_lse / std::numbers::ln2, -1);
    return g.defined() ? g + more : more;
  }

  // The scores as the functions leave them: -inf where an element takes no part.
  Tensor modified(const Tensor& modified_scores, const Tensor& mask) const {
    return aten<"where.ScalarOther">(mask, modified_scores.to(work), -kInfinity);
  }

  // The gradient of one head for each of the query's, and of one batch for each, summed to what
  // `like` has.
  Tensor summed(Tensor g, const Geometry& like) const {
    if (!group.same(1)) g = aten<"sum.dim_IntList">(aten<"unflatten.int">(g, 1, Shape{like.sizes[1], group}), Shape{2});
    if (!(like.sizes[0] == g.size(0))) g = aten<"sum.dim_IntList">(g, Shape{0}, true);
    return g.to(like.dtype);
  }

 private:
  Tensor for_each_head(const Tensor& t) const { return group.same(1) ? t : aten<"repeat_interleave.self_int">(t, group, 1); }
  Values indices() const {
    Values all;
    for (const Int n : {q.size(0), q.size(1), q.size(2), k.size(2)})
      all.emplace_back(aten<"arange">(n, kIndex, Value(), q.device()));
    return all;
  }
};

Flex flex_of(const Call& c) {
  return Flex(c.op, c.tensor(0), c.tensor(1), c.tensor(2), c[3], c[4], c[5].to_double(), list_elements(c[7]),
              list_elements(c[8]));
}

// As a tracer sees them: so many scores, and the four indices of an element.
Values element_operands(const Tensor& query, int scores) {
  Values operands;
  const auto add = [&](DType dtype) {
    operands.emplace_back(aten<"empty.memory_format">(Shape{}, dtype, Value(), query.device()));
  };
  for (int i = 0; i < scores; i++) add(query.dtype() == DType::f64 ? DType::f64 : DType::f32);
  for (int i = 0; i < 4; i++) add(kIndex);
  return operands;
}

// The output lies in memory as the query does.
Tensor laid_out_like(const Tensor& t, const Tensor& query) {
  const Shape strides = dense_strides_like(t.sizes(), query.strides());
  if (strides.same(t.strides())) return t;
  return aten<"copy">(aten<"empty_strided">(t.sizes(), strides, t.dtype(), Value(), t.device()), t);
}

}  // namespace

Value flex_attention(const Call& c) {
  const Flex f = flex_of(c);
  const Values changed = f.mapped_score_mod().function()(f.score_arguments(f.scores()));
  const Tensor scores = f.modified(Flex::one_result(changed, "the score function"), f.mask());
  const Tensor weights = aten<"_safe_softmax">(scores, -1).to(f.dtype);
  return TensorList{laid_out_like(matmul(weights, f.v), c.tensor(0)), aten<"logsumexp">(scores, Shape{-1}) / std::numbers::ln2,
                    aten<"amax">(scores, Shape{-1}) / std::numbers::ln2};
}

void flex_attention_vjp(Vjp& v) {
  const TensorList buffers = v.list_size(7) == 0 ? TensorList{} : v.saved_list(7);
  const TensorList masks = v.list_size(8) == 0 ? TensorList{} : v.saved_list(8);
  // Numbers among the buffers are no tensors: the list is then kept as it is.
  const auto list_of = [&](int i, const TensorList& saved) {
    return saved.empty() ? list_elements(v.arg(i).is_none() ? Value(TensorList()) : v.arg(i))
                         : Values(saved.begin(), saved.end());
  };
  const Flex f(*v.op, v.saved(0), v.saved(1), v.saved(2), v.arg(3), v.arg(4), v.arg(5).to_double(), list_of(7, buffers),
               list_of(8, masks));
  const Values given = f.score_arguments(f.scores());
  const Value score_mod = f.mapped_score_mod();
  const Tensor mask = f.mask();
  const Tensor scores = f.modified(Flex::one_result(score_mod.function()(given), "the score function"), mask);
  const Tensor weights = aten<"_safe_softmax">(scores, -1);

  Tensor of_weights, of_rows;
  if (v.grad(0).defined()) {
    const Tensor grad = v.grad(0).to(f.work);
    of_weights = matmul(grad, f.v.to(f.work).transpose(-2, -1));
    of_rows = aten<"sum.dim_IntList">(of_weights * weights, Shape{-1}, true);
    if (v.need(2)) v.set(2, f.summed(matmul(weights.transpose(-2, -1), grad), v.geom(2)));
  }
  const Tensor through = f.through_softmax(weights, of_weights, of_rows, v.grad(1));
  if (v.grad(2).defined()) derivative_not_implemented("flex_attention: max_scores");
  std::vector<bool> wanted(given.size());
  wanted[0] = v.need(0) || v.need(1);
  bool any = wanted[0];
  for (std::size_t i = 0; i < f.score_buffers.size(); i++)
    if (v.list_size(7) > 0 && v.need(7, static_cast<int>(i))) any = wanted[5 + i] = true;
  if (!any || !through.defined()) return;

  const Tensor of_changed = aten<"where.ScalarOther">(mask, through, 0);
  Values in = given;
  in.emplace_back(of_changed);
  const Values g = upper_layers().gradient_function(score_mod, wanted).function()(in);
  std::size_t next = 0;
  if (wanted[0]) {
    const Tensor of_scores = g[next++].tensor() * f.scale;
    if (v.need(0)) v.set(0, matmul(of_scores, f.k).to(f.dtype));
    if (v.need(1)) v.set(1, f.summed(matmul(of_scores.transpose(-2, -1), f.q), v.geom(1)));
  }
  for (std::size_t i = 0; i < f.score_buffers.size(); i++)
    if (wanted[5 + i]) v.set(7, static_cast<int>(i), g[next++].tensor());
}

// (query, key, value, out, logsumexp, grad_out, grad_logsumexp, fw_graph, joint_graph, block_mask,
// scale, kernel_options, score_mod_other_buffers, mask_mod_other_buffers)
Value flex_attention_backward(const Call& c) {
  const Flex f(c.op, c.tensor(0), c.tensor(1), c.tensor(2), c[7], c[9], c[10].to_double(), list_elements(c[12]),
               list_elements(c[13]));
  const Values given = f.score_arguments(f.scores());
  const Tensor mask = f.mask(), lse = aten<"unsqueeze">(c.tensor(4).to(f.work) * std::numbers::ln2, -1);
  const Tensor scores = f.modified(Flex::one_result(f.mapped_score_mod().function()(given), "the score function"), mask);
  // Nothing takes part in a row whose logsumexp is -inf.
  const Tensor weights = aten<"where.ScalarOther">(aten<"ne.Scalar">(lse, -kInfinity), (scores - lse).exp(), 0);

  Tensor of_weights, of_rows, of_value = aten<"zeros_like">(c.tensor(2));
  if (c[5].is_tensor()) {
    const Tensor grad = c.tensor(5).to(f.work);
    of_weights = matmul(grad, f.v.to(f.work).transpose(-2, -1));
    of_rows = aten<"sum.dim_IntList">(c.tensor(3).to(f.work) * grad, Shape{-1}, true);
    of_value = f.summed(matmul(weights.transpose(-2, -1), grad), c.tensor(2)->geom);
  }
  const Tensor through = f.through_softmax(weights, of_weights, of_rows, c[6].tensor_or_none());
  INGOT_REQUIRE(through.defined(), "flex_attention_backward: there is no gradient to begin with");

  Values in(given.begin(), given.begin() + 5);
  in.emplace_back(aten<"where.ScalarOther">(mask, through, 0));
  in.insert(in.end(), f.score_buffers.begin(), f.score_buffers.end());
  const Values g = mapped_function(c[8], levels(1, 1, f.score_buffers.size())).function()(in);
  INGOT_REQUIRE(g.size() == 5 + f.score_buffers.size() && g[0].is_tensor(),
                "flex_attention_backward: the joint function should return a gradient for each of its ",
                5 + f.score_buffers.size(), " operands, found ", g.size(), " results");
  const Tensor of_scores = aten<"where.ScalarOther">(mask, g[0].tensor() * f.scale, 0);
  Values buffers;  // of what all elements share, the sum
  for (std::size_t i = 5; i < g.size(); i++)
    buffers.push_back(g[i].is_tensor() ? Value(aten<"sum.dim_IntList">(g[i].tensor(), Shape{0, 1, 2, 3})) : Value());
  return Values{matmul(of_scores, f.k).to(f.dtype), f.summed(matmul(of_scores.transpose(-2, -1), f.q), c.tensor(1)->geom),
                of_value, list_value(std::move(buffers))};
}

Values flex_backward_operands(const Call& c, std::size_t function) {
  const Values parts = element_operands(c.tensor(0), function == 2 ? 0 : 1);
  Values operands = parts;
  if (function == 1) operands.push_back(parts[0]);  // the gradient of a score
  for (const Value& v : list_elements(c[function == 2 ? 13 : 12])) operands.push_back(v);
  return operands;
}

Values flex_backward_results(const Call& c, const std::vector<Values>&) {
  Values results, buffers;
  for (const int i : {0, 1, 2})
    results.emplace_back(aten<"empty.memory_format">(c.tensor(i).sizes(), c.tensor(i).dtype(), Value(), c.tensor(i).device()));
  for (const Value& v : list_elements(c[12]))
    buffers.push_back(v.is_tensor() && is_differentiable(v.tensor().dtype()) ? Value(aten<"empty_like">(v.tensor())) : Value());
  results.push_back(list_value(std::move(buffers)));
  return results;
}

Values flex_operands(const Call& c, std::size_t function) {
  Values operands = element_operands(c.tensor(0), function == 0 ? 1 : 0);
  for (const Value& v : list_elements(c[function == 0 ? 7 : 8])) operands.push_back(v);
  return operands;
}

Values flex_results(const Call& c, const std::vector<Values>& returned) {
  const Flex f = flex_of(c);
  Flex::one_result(returned[0], "the score function");
  Flex::one_result(returned[1], "the mask function");
  const Tensor& q = c.tensor(0);
  const Shape sizes{q.size(0), q.size(1), q.size(2), c.tensor(2).size(3)}, rows{q.size(0), q.size(1), q.size(2)};
  const Value out = aten<"empty_strided">(sizes, dense_strides_like(sizes, q.strides()), q.dtype(), Value(), q.device());
  const auto row = [&] { return Value(aten<"empty.memory_format">(rows, f.work, Value(), q.device())); };
  return {out, row(), row()};
}

}  // namespace ingot
