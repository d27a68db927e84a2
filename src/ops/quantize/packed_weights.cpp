// Products with weights of 8 and 4 bits, which stay so in memory: a row of weights is made numbers
// while it is used.
#include <algorithm>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "base/parallel.hpp"
#include "ingot/ingot.hpp"
#include "ingot/op/vjp.hpp"
#include "op/call.hpp"
#include "ops/batch/rules.hpp"
#include "ops/common/dense.hpp"
#include "ops/family.hpp"

namespace ingot {
namespace {

bool is_single_or_half(DType t) { return t == DType::f32 || t == DType::bf16 || t == DType::f16; }
void check_scalar_type(DType want, DType found) {
  INGOT_REQUIRE(want == found, "expected scalar type ", scalar_type_name(want), " but found ", scalar_type_name(found));
}

// out[m, n] = sum over k of a[m, k] * row(n)[k], times what row(n) returns, in float, rounded once
// to the result's type.
template <class Row>
void product_of_rows(const Tensor& out, const Tensor& a, const Row& row) {
  const DenseResult result(out, DType::f32);
  const Tensor x = dense(a, DType::f32);
  const int64_t m = a.size(0).value(), k = a.size(1).value(), n = out.size(1).value();
  const float* p = x.data<float>();
  float* r = result.data<float>();
  parallel_for(0, n, 4, [&](int64_t begin, int64_t end) {
    std::vector<float> weights(static_cast<std::size_t>(k));
    for (int64_t j = begin; j < end; j++) {
      const float factor = row(j, weights.data());
      for (int64_t i = 0; i < m; i++) {
        float part[8] = {};  // sums beside each other, which a compiler may keep in one register
        int64_t q = 0;
        for (; q + 8 <= k; q += 8)
          for (int64_t l = 0; l < 8; l++) part[l] += p[i * k + q + l] * weights[static_cast<std::size_t>(q + l)];
        float sum = ((part[0] + part[4]) + (part[1] + part[5])) + ((part[2] + part[6]) + (part[3] + part[7]));
        for (; q < k; q++) sum += p[i * k + q] * weights[static_cast<std::size_t>(q)];
        r[i * n + j] = sum * factor;
      }
    }
  });
  result.finish();
}

// ---- 8 bits: self [M, K], mat2 [N, K] of int8, scales [N]

void int8_meta(const Call& c, Outputs& o) {
  const Tensor &a = c.tensor(0), &b = c.tensor(1), &scales = c.tensor(2);
  constexpr std::string_view name = "_weight_int8pack_mm_cpu : ";
  INGOT_REQUIRE(is_single_or_half(a.dtype()), name, "expect A to be either 32-bit or 16-bit float tensor.");
  INGOT_REQUIRE(a.dim() == 2, name, "expect A to be 2D tensor.");
  INGOT_REQUIRE(a.strides()[1] == 1, name, "A must be contiguous on the last dimension.");
  INGOT_REQUIRE(b.dtype() == DType::i8, name, "expect B to be int8 tensor.");
  INGOT_REQUIRE(b.is_contiguous(), name, "expect B to be contiguous.");
  INGOT_REQUIRE(b.dim() == 2 && b.size(1) == a.size(1), name, "expect B.size(1) == ", a.size(1));
  INGOT_REQUIRE(scales.dim() == 1 && scales.size(0) == b.size(0), name, "expect scales to be 1d tensor with size ", b.size(0));
  check_scalar_type(a.dtype(), scales.dtype());
  o.add(Shape{a.size(0), b.size(0)}, a.dtype());
}
void int8_kernel(const Call& c, std::span<const Tensor> r) {
  const Tensor b = dense(c.tensor(1), DType::i8), scales = dense(c.tensor(2), DType::f32);
  const int64_t k = b.size(1).value();
  product_of_rows(r[0], c.tensor(0), [&](int64_t j, float* weights) {
    std::copy_n(b.data<int8_t>() + j * k, k, weights);
    return scales.data<float>()[j];
  });
}

// ---- 4 bits

// Blocks of 16 rows of weights; in a block, the 16 weights of each column one after the other, two
// in a byte, the first in its low bits. So PyTorch packs them on processors without AVX.
constexpr int64_t kBlock = 16;
int64_t byte_of(int64_t row, int64_t column, int64_t columns) {
  return (row / kBlock * columns + column) * (kBlock / 2) + row % kBlock / 2;
}

void pack_meta(const Call& c, Outputs& o) {
  const Tensor& w = c.tensor(0);
  INGOT_REQUIRE(w.dim() == 2, "_convert_weight_to_int4pack_cpu : expect weight to be 2D tensor.");
  INGOT_REQUIRE(w.dtype() == DType::i32, "_convert_weight_to_int4pack_cpu : expect weight to be kInt.");
  INGOT_REQUIRE(mod(w.size(0), kBlock) == 0, "_convert_weight_to_int4pack_cpu : expect N to be dividable by 16");
  INGOT_REQUIRE(mod(w.size(1), 2) == 0, "_convert_weight_to_int4pack: expect K to be dividable by 2");
  o.add(Shape{w.size(0), floor_div(w.size(1), 2)}, DType::u8);
}
void pack_kernel(const Call& c, std::span<const Tensor> r) {
  const Tensor w = dense(c.tensor(0), DType::i32);
  const int64_t rows = w.size(0).value(), columns = w.size(1).value();
  const DenseResult packed(r[0], DType::u8);
  const int32_t* p = w.data<int32_t>();
  for (int64_t i = 0; i < rows; i += 2)
    for (int64_t k = 0; k < columns; k++)
      packed.data<uint8_t>()[byte_of(i, k, columns)] =
          static_cast<uint8_t>((p[i * columns + k] & 15) | (p[(i + 1) * columns + k] & 15) << 4);
  packed.finish();
}

// self [M, K], mat2 [N, K / 2] packed, groups of qGroupSize weights of a row with a scale and a
// zero each: [K / qGroupSize, N, 2].
void int4_meta(const Call& c, Outputs& o) {
  const Tensor &a = c.tensor(0), &b = c.tensor(1), &groups = c.tensor(3);
  constexpr std::string_view name = "_weight_int4pack_mm_cpu : ";
  const int64_t size = c[2].to_int64();
  INGOT_REQUIRE(is_single_or_half(a.dtype()), name, "expect A to be either 32-bit or 16-bit float tensor.");
  INGOT_REQUIRE(a.is_contiguous(), name, "expect A to be contiguous.");
  INGOT_REQUIRE(a.dim() == 2, name, "expect A to be 2D tensor.");
  INGOT_REQUIRE(b.dtype() == DType::u8, name, "expect B to be uint8 tensor.");
  INGOT_REQUIRE(b.is_contiguous(), name, "expect B to be contiguous.");
  INGOT_REQUIRE(b.dim() == 2 && b.size(1) * 2 == a.size(1), name, "expect B.size(1) to be K/2, got ", b.size(1));
  INGOT_REQUIRE(size == 32 || size == 64 || size == 128 || size == 256,
                "_weight_int4pack_mm_cpu: expect qGroupSize to be 32, 64, 128 or 256, got ", size);
  INGOT_REQUIRE(groups.dim() == 3 && groups.size(1) == b.size(0) && groups.size(2) == 2 && groups.size(0) * size == a.size(1),
                "_weight_int4pack_mm_cpu: expect qScaleAndZeros to be 3d tensor with sizes [:, ", b.size(0), ", 2]");
  check_scalar_type(a.dtype(), groups.dtype());
  INGOT_REQUIRE(mod(b.size(0), kBlock) == 0, name, "expect N to be dividable by 16");
  o.add(Shape{a.size(0), b.size(0)}, a.dtype());
}
void int4_kernel(const Call& c, std::span<const Tensor> r) {
  const Tensor b = dense(c.tensor(1), DType::u8), groups = dense(c.tensor(3), DType::f32);
  const int64_t n = b.size(0).value(), k = b.size(1).value() * 2, size = c[2].to_int64();
  const uint8_t* packed = b.data<uint8_t>();
  const float* scales = groups.data<float>();
  product_of_rows(r[0], c.tensor(0), [&](int64_t j, float* weights) {
    for (int64_t q = 0; q < k; q++) {
      const uint8_t two = packed[byte_of(j, q, k)];
      const float* s = scales + (q / size * n + j) * 2;
      weights[q] = static_cast<float>((j % 2 == 0 ? two & 15 : two >> 4) - 8) * s[0] + s[1];
    }
    return 1.0f;
  });
}

// A batch of self is rows more, one of weights and their numbers (which lie along `dim` of argument
// `numbers`) results more. Where both are batches, the weights are made floats, as the op's
// products with the unit matrix.
Value batch_rows(const Batching& b, int numbers, int dim) {
  (void)b.member_results();
  Values args = b.args;
  const bool rows = b.batched(0), weights = b.batched(1) || b.batched(numbers);
  if (!weights) {
    args[0] = merge_dims(b.tensor(0), 0);
    return split_dim(call(b.op, args).tensor(), 0, b.size, b.sizes(0)[0]);
  }
  const auto merged = [&](int i, int at) { return merge_dims(move_dim(b.front(i), 0, at), at); };
  args[1] = aten<"contiguous">(merged(1, 0));
  args[static_cast<std::size_t>(numbers)] = rows ? merged(numbers, dim).to(DType::f32) : merged(numbers, dim);
  if (rows) args[0] = aten<"eye">(b.sizes(0)[1], DType::f32, Value(), b.tensor(0).device());
  const Tensor r = move_dim(split_dim(call(b.op, args).tensor(), 1, b.size, b.sizes(1)[0]), 1, 0);
  return rows ? aten<"bmm">(b.tensor(0).to(DType::f32), r).to(b.tensor(0).dtype()) : r;
}

constexpr OpDef kPackedWeightsOps[] = {
    {.schema = "aten::_weight_int8pack_mm(Tensor self, Tensor mat2, Tensor scales) -> Tensor",
     .meta = int8_meta,
     .kernel = int8_kernel,
     .batch = [](const Batching& b) { return batch_rows(b, 2, 0); }},
    {.schema = "aten::_convert_weight_to_int4pack_for_cpu(Tensor self, int innerKTiles) -> Tensor",
     .meta = pack_meta,
     .kernel = pack_kernel,
     .grad = {.none = true},
     .batch = batch_samples<1>},
    {.schema = "aten::_weight_int4pack_mm_for_cpu(Tensor self, Tensor mat2, int qGroupSize, Tensor qScaleAndZeros) -> Tensor",
     .meta = int4_meta,
     .kernel = int4_kernel,
     .batch = [](const Batching& b) { return batch_rows(b, 3, 1); }},
};

}  // namespace

INGOT_FAMILY(packed_weights, kPackedWeightsOps)

}  // namespace ingot
