// Sparse tensors in coordinate form, and the gradients that are.
#include "ingot/sparse.hpp"

#include <gtest/gtest.h>

#include "ingot/nn.hpp"
#include "ingot/optim.hpp"
#include "op/call.hpp"
#include "support/error_text.hpp"

namespace ingot {
namespace {

using Numbers = std::vector<double>;
Numbers numbers(const Tensor& t) { return t.to_vector<double>(); }
Tensor integers(const Numbers& x, const Shape& size) { return tensor(x, size, int64); }
// Rows 2, 0 and 2 of a [4, 2] matrix.
Tensor rows() { return sparse_coo_tensor(integers({2, 0, 2}, {1, 3}), tensor({1., 2, 3, 4, 5, 6}, {3, 2}), {4, 2}); }
const Numbers kRows{3, 4, 0, 0, 6, 8, 0, 0};
template <class F>
void expect_refused(const F& f, const std::string& why) {
  const std::string found = error_of(f);
  EXPECT_NE(found.find(why), std::string::npos) << found;
}

TEST(Sparse, IsMadeOfPlacesAndValues) {
  const Tensor t = rows();
  EXPECT_TRUE(is_sparse(t));
  EXPECT_FALSE(is_sparse(to_dense(t)));
  EXPECT_EQ(t.sizes(), (Shape{4, 2}));
  EXPECT_EQ(numbers(sparse_indices(t)), (Numbers{2, 0, 2}));
  EXPECT_EQ(numbers(sparse_values(t)), (Numbers{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(aten_value<"_nnz">(t).to_int64(), 3);
  EXPECT_EQ(numbers(to_dense(t)), kRows) << "a place that is given twice has the sum";
  EXPECT_EQ(numbers(to_dense(sparse_coo_tensor(integers({0, 1, 1, 2}, {2, 2}), tensor({5., 7}), {2, 3}))),
            (Numbers{0, 5, 0, 0, 0, 7}));
  const Tensor dense = ones({2});
  EXPECT_TRUE(to_dense(dense).is_same(dense));
  EXPECT_EQ(aten<"to_dense">(t, float64).dtype(), float64);
  const Tensor converted = aten<"sparse_coo_tensor.indices_size">(integers({1}, {1, 1}), ones({1}), Shape{3}, float64);
  EXPECT_EQ(converted.dtype(), float64);
  EXPECT_EQ(numbers(to_dense(converted)), (Numbers{0, 1, 0}));
}

TEST(Sparse, CoalescedHasEachPlaceOnceInOrder) {
  const Tensor t = coalesce(rows());
  EXPECT_FALSE(aten_value<"is_coalesced">(rows()).to_bool());
  EXPECT_TRUE(aten_value<"is_coalesced">(t).to_bool());
  EXPECT_EQ(numbers(sparse_indices(t)), (Numbers{0, 2}));
  EXPECT_EQ(numbers(sparse_values(t)), (Numbers{3, 4, 6, 8}));
  const Tensor matrix = coalesce(sparse_coo_tensor(integers({1, 0, 1, 0, 2, 0}, {2, 3}), tensor({1., 2, 3}), {2, 3}));
  EXPECT_EQ(numbers(sparse_indices(matrix)), (Numbers{0, 1, 2, 0}));
  EXPECT_EQ(numbers(to_dense(matrix)), (Numbers{0, 0, 2, 4, 0, 0}));
}

TEST(Sparse, SumsAndScalesStaySparse) {
  const Tensor t = rows();
  for (const Tensor& s : {t + t, t * 2, t.div(scalar_tensor(0.5)), t - t.neg()}) {
    EXPECT_TRUE(is_sparse(s));
    EXPECT_EQ(numbers(to_dense(s)), numbers(to_dense(t) * 2));
  }
  Tensor u = t.clone();
  u.mul_(Scalar(3)).add_(t, -1);
  EXPECT_TRUE(is_sparse(u));
  EXPECT_EQ(numbers(to_dense(u)), numbers(to_dense(t) * 2));
  EXPECT_EQ(numbers(to_dense(t)), kRows) << "a copy was written";
  Tensor half = t.to(float16);
  half.add_(t);
  EXPECT_EQ(sparse_values(half).dtype(), float16);
  const Tensor whole = t.to(int64);
  EXPECT_EQ(sparse_values(whole - whole * 3).dtype(), int64);
  EXPECT_EQ(numbers(to_dense(whole - whole * 3)), numbers(to_dense(t) * -2));
  expect_refused([&] { Tensor(whole).mul_(Scalar(0.5)); }, "result type Float can't be cast to the desired output type Long");
  u.zero_();
  EXPECT_EQ(aten_value<"_nnz">(u).to_int64(), 0);
  u.copy_(t);
  EXPECT_EQ(numbers(to_dense(u)), kRows);
}

TEST(Sparse, WithDenseTensorsSumsAreDense) {
  const Tensor t = rows(), ten = full({4, 2}, 10.0);
  const Numbers want{13, 14, 10, 10, 16, 18, 10, 10};
  EXPECT_EQ(numbers(ten + t), want);
  EXPECT_EQ(numbers(t + ten), want);
  Tensor d = ten.clone();
  const void* bytes = d.data_ptr();
  d.add_(t).sub_(t, 2);
  EXPECT_EQ(d.data_ptr(), bytes);
  EXPECT_EQ(numbers(d), numbers(ten - to_dense(t)));
  d.copy_(t);
  EXPECT_EQ(numbers(d), kRows);
}

TEST(Sparse, WhatItCannotDoIsSaid) {
  const Tensor t = rows();
  expect_refused([&] { t.exp(); },
                 "torch.ops.aten.exp.default is not implemented for sparse tensors; make them dense first (to_dense)");
  expect_refused([&] { t.mul(ones({4, 2})); }, "a sparse tensor can be scaled by a number");
  expect_refused([&] { Tensor(t).copy_(ones({4, 2})); }, "a dense tensor cannot be copied into a sparse one");
  expect_refused([&] { Tensor(t).add_(ones({4, 2})); }, "the result is dense and cannot be written into a sparse tensor");
  expect_refused([&] { ones({4, 3}).add_(t); }, "to match");
  expect_refused([&] { sparse_values(ones({2})); }, "_values: expected a sparse tensor (sparse_coo), found a dense one");
  expect_refused([&] { sparse_coo_tensor(integers({4}, {1, 1}), ones({1, 2}), {4, 2}); },
                 "for dim 0, size is 4 but found index 4");
  expect_refused([&] { sparse_coo_tensor(integers({-1}, {1, 1}), ones({1, 2}), {4, 2}); }, "found index -1");
  expect_refused([&] { sparse_coo_tensor(integers({1}, {1, 1}), ones({2, 2}), {4, 2}); }, "must have same nnz");
  expect_refused([&] { sparse_coo_tensor(integers({1}, {1, 1}), ones({1, 3}), {4, 2}); }, "values has incorrect size");
  expect_refused([&] { sparse_coo_tensor(integers({1}, {1, 1}), ones({1}), {4, 2}); },
                 "number of dimensions must be sparse_dim (1) + dense_dim (0)");
  expect_refused([&] { sparse_coo_tensor(ones({1, 1}), ones({1}), {4}); }, "expected indices of whole numbers");
}

TEST(Sparse, HistoryGoesThroughIt) {
  Tensor values = tensor({1., 2, 3, 4, 5, 6}, {3, 2}).requires_grad_();
  const Tensor weights = tensor({1., 2, 3, 4, 5, 6, 7, 8}, {4, 2});
  const Tensor t = sparse_coo_tensor(integers({2, 0, 2}, {1, 3}), values, {4, 2});
  (to_dense(coalesce(t * 2)) * weights).sum().backward();
  EXPECT_EQ(numbers(values.grad()), (Numbers{10, 12, 2, 4, 10, 12}));
  Tensor leaf = rows().requires_grad_();
  (to_dense(leaf) * weights).sum().backward();
  ASSERT_TRUE(is_sparse(leaf.grad()));
  EXPECT_EQ(numbers(sparse_indices(leaf.grad())), (Numbers{0, 2})) << "what is not stored has no gradient";
  EXPECT_EQ(numbers(sparse_values(leaf.grad())), (Numbers{1, 2, 5, 6}));
}

// The gradient of a layer that is sparse, and that of its dense twin.
template <class Run>
void expect_sparse_gradient(const Tensor& sparse_weight, const Tensor& dense_weight, const Run& run) {
  for (int times = 1; times <= 2; times++) {  // the second one adds up
    run(true);
    run(false);
    ASSERT_TRUE(is_sparse(sparse_weight.grad()));
    EXPECT_EQ(numbers(to_dense(sparse_weight.grad())), numbers(dense_weight.grad()));
  }
}

TEST(Sparse, GradientsOfEmbeddings) {
  const Tensor indices = integers({1, 3, 1, 0}, {2, 2});
  for (const bool padded : {false, true}) {
    const std::optional<int64_t> padding = padded ? std::optional<int64_t>(3) : std::nullopt;
    nn::Embedding sparse(5, 3, padding, true), dense(5, 3, padding);
    dense.load_state(sparse.state());
    expect_sparse_gradient(sparse.weight, dense.weight, [&](bool s) {
      const Tensor y = (s ? sparse : dense).forward(indices);
      (y * y).sum().backward();
    });
    EXPECT_EQ(sparse_indices(sparse.weight.grad()).numel(), padded ? 6 : 8);
  }
}

TEST(Sparse, GradientsOfEmbeddingBags) {
  const Tensor indices = integers({1, 3, 1, 0, 2}, {5}), offsets = integers({0, 2, 2}, {3});
  for (const char* mode : {"sum", "mean"}) {
    nn::EmbeddingBag sparse(5, 3, mode, true), dense(5, 3, mode);
    dense.load_state(sparse.state());
    expect_sparse_gradient(sparse.weight, dense.weight, [&](bool s) {
      const Tensor y = (s ? sparse : dense)(indices, offsets);
      (y * tensor({1., 2, 3}, {3, 1})).sum().backward();
    });
  }
  expect_refused([&] { nn::EmbeddingBag(5, 3, "max", true)(indices, offsets); }, "max mode does not support sparse weights");
  Tensor weight = randn({5, 3}).requires_grad_();
  const Tensor each = randn({5});
  Tensor twin = weight.detach().clone().requires_grad_();
  atens<"embedding_bag">(weight, indices, offsets, false, 0, true, each)[0].sum().backward();
  atens<"embedding_bag">(twin, indices, offsets, false, 0, false, each)[0].sum().backward();
  EXPECT_EQ(numbers(to_dense(weight.grad())), numbers(twin.grad()));
}

TEST(Sparse, ADenseGradientOfTheSameWeightMakesTheSumDense) {
  nn::Embedding layer(5, 3, {}, true);
  const Tensor indices = integers({1, 3}, {2});
  (layer.forward(indices).sum() + layer.weight.sum()).backward();
  EXPECT_FALSE(is_sparse(layer.weight.grad()));
  EXPECT_EQ(numbers(layer.weight.grad()), (Numbers{1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2, 1, 1, 1}));
  layer.weight.set_grad({});
  layer.forward(indices).sum().backward();
  EXPECT_TRUE(is_sparse(layer.weight.grad()));
  layer.weight.sum().backward();
  EXPECT_FALSE(is_sparse(layer.weight.grad()));
  layer.forward(indices).sum().backward();
  EXPECT_EQ(numbers(layer.weight.grad()), (Numbers{1, 1, 1, 3, 3, 3, 1, 1, 1, 3, 3, 3, 1, 1, 1}));
}

TEST(Sparse, OptimizersStepByWhatThereIs) {
  nn::Embedding sparse(5, 3, {}, true), dense(5, 3);
  dense.load_state(sparse.state());
  optim::SGD by_rows(TensorList{sparse.weight}, {.lr = 0.1, .momentum = 0.5}),
      by_all(TensorList{dense.weight}, {.lr = 0.1, .momentum = 0.5});
  const Tensor indices = integers({1, 3, 1}, {3});
  for (int step = 0; step < 3; step++) {
    for (auto [layer, optimizer] : {std::pair{&sparse, &by_rows}, std::pair{&dense, &by_all}}) {
      optimizer->zero_grad();
      const Tensor y = layer->forward(indices);
      (y * y).sum().backward();
      optimizer->step();
    }
    const Numbers a = numbers(sparse.weight.detach()), b = numbers(dense.weight.detach());
    for (std::size_t i = 0; i < a.size(); i++) EXPECT_NEAR(a[i], b[i], 1e-6) << "step " << step << " element " << i;
  }
  optim::Adam adam(TensorList{sparse.weight});
  expect_refused([&] { adam.step(); }, "Adam does not support sparse gradients");
}

}  // namespace
}  // namespace ingot
