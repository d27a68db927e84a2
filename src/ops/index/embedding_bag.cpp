// Embeddings summed, averaged or maximised over bags of indices.
#include "base/dtype.hpp"
#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "ingot/op/vjp.hpp"
#include "ops/common/dense.hpp"
#include "ops/index/embedding_bag.hpp"
#include "ops/family.hpp"
#include "ops/index/indexing.hpp"
#include "tensor/geometry.hpp"

namespace ingot {
namespace {

constexpr auto kSum = static_cast<int64_t>(BagMode::sum), kMean = static_cast<int64_t>(BagMode::mean),
               kMax = static_cast<int64_t>(BagMode::max);

// Arguments of _embedding_bag.
enum Arg { kWeight, kIndices, kOffsets, kScaleByFreq, kMode, kSparse, kSampleWeights, kIncludeLast, kPadding };

void check_index_type(const char* name, const Tensor& t) {
  INGOT_REQUIRE(t.dim() == 1, "embedding_bag: expected 1-D ", name, ", found ", t.dim(), "-D");
  INGOT_REQUIRE(t.dtype() == DType::i64 || t.dtype() == DType::i32, "embedding_bag: expected ", name,
                " of type Long or Int, found ", t.dtype());
}

// results: output, offset2bag, bag_size, max_indices
void bag_meta(const Call& c, Outputs& o) {
  const Tensor &weight = c.tensor(kWeight), &indices = c.tensor(kIndices), &offsets = c.tensor(kOffsets);
  const int64_t mode = c[kMode].to_int64();
  INGOT_REQUIRE(weight.dim() == 2 && weight.is_floating_point(), "embedding_bag: expected a 2-D floating point weight, found ",
                weight.dim(), "-D ", weight.dtype());
  check_index_type("indices", indices);
  check_index_type("offsets", offsets);
  INGOT_REQUIRE(indices.dtype() == offsets.dtype(), "embedding_bag: expected indices and offsets of one type, found ",
                indices.dtype(), " and ", offsets.dtype());
  INGOT_REQUIRE(mode != kMax || !c[kSparse].to_bool(), "max mode does not support sparse weights");
  INGOT_REQUIRE(mode >= kSum && mode <= kMax, "embedding_bag: mode has to be 0 (sum), 1 (mean) or 2 (max), found ", mode);
  if (c[kSampleWeights].is_tensor()) {
    const Tensor& w = c.tensor(kSampleWeights);
    INGOT_REQUIRE(mode == kSum,
                  "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum'");
    INGOT_REQUIRE(w.sizes() == indices.sizes() && w.dtype() == weight.dtype(),
                  "embedding_bag: expected per_sample_weights of the weight's type and the "
                  "indices' shape ",
                  indices.sizes(), ", found ", w.dtype(), " ", w.sizes());
  }
  const bool include_last = c[kIncludeLast].to_bool();
  INGOT_REQUIRE(!include_last || offsets.size(0) >= 1, "include_last_offset: number of offset should be at least 1");
  const Int bags = offsets.size(0) - (include_last ? 1 : 0);
  // PyTorch's CPU kernel leaves offset2bag empty where its fast sum does not need it.
  const DType t = weight.dtype();
  const bool fast_sum = mode == kSum && (t == DType::f32 || t == DType::f16 || t == DType::bf16) &&
                        statically_equal(weight.stride(1), 1) && c[kPadding].to_int64() < 0 &&
                        (!c[kSampleWeights].is_tensor() || statically_equal(c.tensor(kSampleWeights).stride(0), 1));
  o.add(Shape{bags, weight.size(1)}, t);
  o.add(Shape{fast_sum ? Int(0) : indices.size(0)}, offsets.dtype());
  o.add(Shape{bags}, offsets.dtype());
  o.add(mode == kMax ? Shape{bags, weight.size(1)} : Shape{bags}, offsets.dtype());
}

// The bag of each index.
std::vector<int64_t> bags_of(const Tensor& offsets, int64_t indices, bool include_last) {
  const Tensor dense_offsets = dense(offsets, DType::i64);
  const int64_t* at = dense_offsets.data<int64_t>();
  const int64_t count = offsets.numel().number(), bags = count - (include_last ? 1 : 0);
  if (count > 0) {
    INGOT_REQUIRE(
        at[0] == 0,
        "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, got ", at[0]);
    INGOT_REQUIRE(at[count - 1] <= indices, "offsets[-1] can not be greater than input's length ", indices,
                  " but got offsets[-1] of ", at[count - 1]);
  }
  std::vector<int64_t> bag(static_cast<std::size_t>(indices), -1);
  for (int64_t b = 0; b < bags; b++) {
    const int64_t end = b + 1 < count ? at[b + 1] : indices;
    INGOT_REQUIRE(at[b] <= end, "embedding_bag: offsets must not decrease, found ", at[b], " before ", end);
    for (int64_t i = at[b]; i < end; i++) bag[static_cast<std::size_t>(i)] = b;
  }
  return bag;
}

void store_integers(const std::vector<int64_t>& values, const Tensor& out) {
  store_row(Compute::i64, values.data(), static_cast<int64_t>(values.size()), out.dtype(), out.data_ptr(), 1);
}

void bag_kernel(const Call& c, std::span<const Tensor> r) {
  const int64_t mode = c[kMode].to_int64(), padding = c[kPadding].to_int64();
  const DType compute = compute_dtype(r[0].dtype());
  const Tensor weight = dense(c.tensor(kWeight), compute), indices = dense(c.tensor(kIndices), DType::i64);
  const bool weighted = c[kSampleWeights].is_tensor();
  const Tensor sample_weights = weighted ? dense(c.tensor(kSampleWeights), compute) : Tensor();
  const int64_t n = indices.numel().number(), rows = weight.size(0).number(), width = weight.size(1).number(),
                bags = r[0].size(0).number();
  const int64_t* at = indices.data<int64_t>();
  const std::vector<int64_t> bag = bags_of(c.tensor(kOffsets), n, c[kIncludeLast].to_bool());
  std::vector<int64_t> sizes(static_cast<std::size_t>(bags)), winners(mode == kMax ? static_cast<std::size_t>(bags * width) : 0);
  const DenseResult out(r[0], compute);
  fill_elements(out.buffer(), 0);
  on_floating(compute, "embedding_bag", [&]<class T>(T) {
    for (int64_t i = 0; i < n; i++) {
      INGOT_REQUIRE_INDEX(at[i] >= 0 && at[i] < rows,
                          "embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be ", at[i]);
      const int64_t b = bag[static_cast<std::size_t>(i)];
      if (at[i] == padding || b < 0) continue;
      const bool first = sizes[static_cast<std::size_t>(b)]++ == 0;
      const T* x = weight.data<T>() + at[i] * width;
      T* to = out.data<T>() + b * width;
      const T scale = weighted ? sample_weights.data<T>()[i] : T(1);
      for (int64_t j = 0; j < width; j++) {
        if (mode != kMax) {
          to[j] += x[j] * scale;
        } else if (first || x[j] > to[j]) {
          to[j] = x[j];
          winners[static_cast<std::size_t>(b * width + j)] = at[i];
        }
      }
    }
    if (mode == kMean)
      for (int64_t b = 0; b < bags; b++)
        for (int64_t j = 0; j < width; j++)
          out.data<T>()[b * width + j] /= static_cast<T>(std::max<int64_t>(1, sizes[static_cast<std::size_t>(b)]));
  });
  out.finish();
  if (mode == kSum) std::fill(sizes.begin(), sizes.end(), 0);  // sums do not need them; PyTorch's are zero
  if (r[1].numel() > 0) store_integers(bag, r[1]);
  store_integers(sizes, r[2]);
  store_integers(mode == kMax ? winners : sizes, r[3]);
}

// (grad, indices, offset2bag, bag_size, maximum_indices, num_weights, scale_grad_by_freq, mode,
// per_sample_weights, padding_idx)
void bag_dense_backward_kernel(const Call& c, std::span<const Tensor> r) {
  const DType compute = compute_dtype(r[0].dtype());
  const Tensor grad = dense(c.tensor(0), compute), indices = dense(c.tensor(1), DType::i64), bag = dense(c.tensor(2), DType::i64);
  const Tensor sizes = dense(c.tensor(3), DType::i64), winners = dense(c.tensor(4), DType::i64);
  const int64_t mode = c[7].to_int64(), padding = c[9].to_int64(), n = indices.numel().number();
  const int64_t rows = r[0].size(0).number(), width = r[0].size(1).number(), bags = grad.size(0).number();
  const int64_t *at = indices.data<int64_t>(), *bag_of = bag.data<int64_t>(), *size = sizes.data<int64_t>();
  auto check_row = [&](int64_t row) {
    INGOT_REQUIRE_INDEX(row >= 0 && row < rows, "embedding_bag: index ", row, " is out of range for a weight of ", rows, " rows");
  };
  INGOT_REQUIRE(bag.numel() == n, "_embedding_bag_dense_backward: expected offset2bag of ", n, " elements, found ", bag.numel());
  const Tensor sample_weights = c[8].is_tensor() ? dense(c.tensor(8), compute) : Tensor();
  const DenseResult out(r[0], compute);
  fill_elements(out.buffer(), 0);
  on_floating(compute, "embedding_bag", [&]<class T>(T) {
    const T* g = grad.data<T>();
    T* to = out.data<T>();
    if (mode == kMax) {
      INGOT_REQUIRE(winners.numel() == bags * width && sizes.numel() == bags,
                    "_embedding_bag_dense_backward: expected one maximum for each element");
      for (int64_t k = 0; k < bags * width; k++) {
        if (size[k / width] == 0) continue;
        const int64_t row = winners.data<int64_t>()[k];
        check_row(row);
        to[row * width + k % width] += g[k];
      }
      return;
    }
    std::vector<int64_t> counts(c[6].to_bool() ? static_cast<std::size_t>(rows) : 0);
    for (int64_t i = 0; i < n; i++) {
      check_row(at[i]);
      if (!counts.empty()) counts[static_cast<std::size_t>(at[i])]++;
    }
    for (int64_t i = 0; i < n; i++) {
      if (at[i] == padding || bag_of[i] == -1) continue;  // an index after the last offset is in no bag
      INGOT_REQUIRE_INDEX(bag_of[i] >= 0 && bag_of[i] < bags, "_embedding_bag_dense_backward: bag ", bag_of[i], " of ", bags);
      T scale = T(1);
      if (sample_weights.defined()) scale *= sample_weights.data<T>()[i];
      if (mode == kMean) scale /= static_cast<T>(size[bag_of[i]]);
      if (!counts.empty()) scale /= static_cast<T>(counts[static_cast<std::size_t>(at[i])]);
      for (int64_t j = 0; j < width; j++) to[at[i] * width + j] += g[bag_of[i] * width + j] * scale;
    }
  });
  out.finish();
}

}  // namespace

Tensor offset2bag_of(const Tensor& offset2bag, const Tensor& indices, const Tensor& offsets) {
  if (statically_equal(indices.numel(), 0) || !statically_equal(offset2bag.numel(), 0)) return offset2bag;
  const Tensor places = aten<"arange">(indices.size(0), offsets.dtype(), Value(), offsets.device());
  return aten<"bucketize.Tensor">(places, offsets, false, true) - 1;
}

namespace {

// (grad, indices, offsets, offset2bag, bag_size, maximum_indices, num_weights, scale_grad_by_freq,
// mode, sparse, per_sample_weights, padding_idx)
Value bag_backward(const Call& c) {
  if (c[9].to_bool()) return aten<"_embedding_bag_sparse_backward">(c[0], c[1], c[2], c[3], c[4], c[6], c[7], c[8], c[10], c[11]);
  return aten<"_embedding_bag_dense_backward">(c[0], c[1], offset2bag_of(c.tensor(3), c.tensor(1), c.tensor(2)), c[4], c[5], c[6],
                                               c[7], c[8], c[10], c[11]);
}
// (grad, weight, indices, offsets, offset2bag, mode, padding_idx): the products of each row with
// its bag's gradient.
Value sample_weights_backward(const Call& c) {
  INGOT_REQUIRE(c[5].to_int64() == kSum, "embedding_bag_backward: per_sample_weights only supported for mode='sum'");
  const Tensor& indices = c.tensor(2);
  const Tensor bag = offset2bag_of(c.tensor(4), indices, c.tensor(3));
  const Tensor products = aten<"index_select">(c[0], 0, bag) * aten<"index_select">(c[1], 0, indices);
  const Tensor g = aten<"sum.dim_IntList">(products, Shape{1});
  return c[6].to_int64() < 0 ? g : aten<"masked_fill.Scalar">(g, indices == Scalar(c[6].to_int()), 0);
}

void bag_vjp(Vjp& v) {
  if (!v.grad().defined()) return;
  const Tensor indices = v.saved(kIndices), offsets = v.saved(kOffsets);
  if (v.need(kWeight) && v.arg(kSparse).to_bool())  // not as one node: what it makes is no plain tensor
    v.set(kWeight,
          aten<"_embedding_bag_sparse_backward">(v.grad(), indices, offsets, v.result(1), v.result(2), v.sizes(kWeight)[0],
                                                 v.arg(kScaleByFreq), v.arg(kMode), v.saved(kSampleWeights), v.arg(kPadding)));
  else if (v.need(kWeight))
    v.set(kWeight, aten<"_embedding_bag_backward">(v.grad(), indices, offsets, v.result(1), v.result(2), v.result(3),
                                                   v.sizes(kWeight)[0], v.arg(kScaleByFreq), v.arg(kMode), v.arg(kSparse),
                                                   v.saved(kSampleWeights), v.arg(kPadding)));
  if (v.need(kSampleWeights))
    v.set(kSampleWeights, aten<"_embedding_bag_per_sample_weights_backward">(v.grad(), v.saved(kWeight), indices, offsets,
                                                                             v.result(1), v.arg(kMode), v.arg(kPadding)));
}

// (weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights,
// include_last_offset[, padding_idx])
Value embedding_bag(const Call& c) {
  const Tensor& weight = c.tensor(kWeight);
  int64_t padding = -1;
  if (c.args.size() > kPadding && !c[kPadding].is_none()) {
    padding = c[kPadding].to_int64();
    const Int rows = weight.size(0);
    INGOT_REQUIRE(padding < rows && padding >= -rows, "padding_idx must be within the number of embeddings, -", rows, " through ",
                  rows - 1, ", but got ", padding);
    if (padding < 0) padding += rows.value();
  }
  const bool differentiates =
      weight.requires_grad() || (c[kSampleWeights].is_tensor() && c.tensor(kSampleWeights).requires_grad());
  const Value args[] = {c[kWeight],
                        aten<"contiguous">(c[kIndices]),
                        aten<"contiguous">(c[kOffsets]),
                        c[kScaleByFreq],
                        c[kMode],
                        c[kSparse],
                        c[kSampleWeights],
                        c[kIncludeLast],
                        padding};
  return call(differentiates ? op_ref<"_embedding_bag">() : op_ref<"_embedding_bag_forward_only">(), Args(args));
}

#define BAG_ARGS                                                                                                                                    \
  "(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, " \
  "bool include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)"

constexpr OpDef kEmbeddingBagOps[] = {
    {.schema = "aten::_embedding_bag" BAG_ARGS,
     .meta = bag_meta,
     .kernel = bag_kernel,
     .vjp = bag_vjp,
     .saves = {{kWeight, kSampleWeights},
               {kIndices},
               {kOffsets},
               {kSampleWeights, kWeight},
               {kResult - 1},
               {kResult - 2},
               {kResult - 3}}},
    {.schema = "aten::_embedding_bag_forward_only" BAG_ARGS, .meta = bag_meta, .kernel = bag_kernel},
    {.schema =
         "aten::_embedding_bag_backward(Tensor grad, Tensor indices, Tensor offsets, Tensor offset2bag, Tensor bag_size, Tensor maximum_indices, "
         "SymInt num_weights, bool scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, int padding_idx=-1) -> Tensor",
     .body = bag_backward,
     .vjp = refuse_vjp},
    {.schema =
         "aten::_embedding_bag_dense_backward(Tensor grad, Tensor indices, Tensor offset2bag, Tensor bag_size, Tensor maximum_indices, SymInt "
         "num_weights, bool scale_grad_by_freq, int mode, Tensor? per_sample_weights, int padding_idx=-1) -> Tensor",
     .meta = [](const Call& c, Outputs& o) { o.add(Shape{c[5].to_int(), c.tensor(0).size(1)}, c.tensor(0).dtype()); },
     .kernel = bag_dense_backward_kernel,
     .vjp = refuse_vjp},
    {.schema =
         "aten::_embedding_bag_per_sample_weights_backward(Tensor grad, Tensor weight, Tensor indices, Tensor offsets, Tensor offset2bag, int "
         "mode, int padding_idx=-1) -> Tensor",
     .body = sample_weights_backward},
    {.schema =
         "aten::embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, "
         "Tensor? per_sample_weights=None, bool include_last_offset=False) -> (Tensor, Tensor, Tensor, Tensor)",
     .form = Form::composite,
     .body = embedding_bag},
    {.schema =
         "aten::embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq, int mode, bool sparse, Tensor? "
         "per_sample_weights, bool include_last_offset, int? padding_idx) -> (Tensor, Tensor, Tensor, Tensor)",
     .form = Form::composite,
     .body = embedding_bag},
};

}  // namespace

INGOT_FAMILY(embedding_bag, kEmbeddingBagOps)

}  // namespace ingot
