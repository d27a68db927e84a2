// What sample lines cannot say: errors, sizes that only data decides, writes in place, packed
// sequences, order of NaN.
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.hpp"
#include "graph/shape_env.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "support/graph_fixture.hpp"
#include "tensor/impl.hpp"

namespace ingot {
namespace {

Tensor integers(const std::vector<double>& v) { return tensor(v, int64); }
std::vector<double> values(const Tensor& t) { return t.to_vector<double>(); }

TEST(Index, SizesThatOnlyDataDecides) {
  const Tensor mask = fake({3, 4}, boolean), x = fake({3, 4}, float32);
  EXPECT_THROW(aten<"nonzero">(mask), UserError);
  EXPECT_THROW(aten<"masked_select">(x, mask), UserError);
  EXPECT_THROW(atens<"_unique2">(x), UserError);
  ShapeEnv env;
  GuardScope scope(env);
  const Tensor n = aten<"nonzero">(mask);
  EXPECT_EQ(to_text(n.sizes()), "[u0, 2]");
  EXPECT_EQ(to_text(n.strides()), "[1, u0]");
  EXPECT_EQ(to_text(aten<"masked_select">(x, mask).sizes()), "[u1]");
  EXPECT_EQ(to_text(index(x, {fake({3}, boolean)}).sizes()), "[u2, 4]");
  EXPECT_EQ(to_text(atens<"_unique2">(x)[0].sizes()), "[u3]");
  EXPECT_EQ(to_text(atens<"unique_dim">(x, 1)[0].sizes()), "[3, u4]");
  // What a mask selects need not be known to write through it.
  EXPECT_EQ(to_text(aten<"index_put">(x, TensorList{mask}, scalar_tensor(1)).sizes()), "[3, 4]");
  EXPECT_TRUE(env.guards().empty());
}

TEST(Index, RangeErrors) {
  const Tensor x = arange(6).to(float32).view({2, 3});
  EXPECT_THROW(index(x, {integers({2})}), IndexError);
  EXPECT_THROW(index(x, {integers({-3})}), IndexError);
  EXPECT_EQ(values(index(x, {integers({-1})})), (std::vector<double>{3, 4, 5}));
  EXPECT_THROW(gather(x, 1, integers({-1, 0}).view({2, 1})), IndexError);
  EXPECT_THROW(index_select(x, 0, integers({2})), IndexError);
  EXPECT_THROW(embedding(x, integers({5})), IndexError);
  EXPECT_THROW(aten<"take">(x, integers({6})), IndexError);
  EXPECT_THROW(index(x, {integers({0}), integers({0}), integers({0})}), IndexError);
  EXPECT_THROW(index(x, {ones({3}, {.dtype = boolean})}), IndexError);
  EXPECT_THROW(index(x, {ones({2})}), IndexError);
  EXPECT_THROW(aten<"index_put">(x, TensorList{integers({0})}, ones({2})), UserError);
  EXPECT_THROW(aten<"scatter_reduce.two">(x, 0, integers({0, 0, 0}).view({1, 3}), ones({1, 3}), "median"), UserError);
  EXPECT_THROW(atens<"topk">(x, 4), UserError);
  EXPECT_THROW(atens<"kthvalue">(x, 0), UserError);
}

TEST(Index, WritesInPlace) {
  Tensor x = zeros({2, 3});
  aten_value<"index_put_">(x, TensorList{tensor({1, 0, 1, 0, 0, 1}, {2, 3}, boolean)}, tensor({5., 6, 7}));
  EXPECT_EQ(values(x), (std::vector<double>{5, 0, 6, 0, 0, 7}));
  aten_value<"index_put_">(x, TensorList{Tensor(), integers({0, 0})}, tensor({1.}), true);
  EXPECT_EQ(values(x), (std::vector<double>{7, 0, 6, 2, 0, 7}));
  // Through a view: only what it sees.
  aten_value<"index_add_">(x.t(), 0, integers({1, 1}), ones({2, 2}));
  EXPECT_EQ(values(x), (std::vector<double>{7, 2, 6, 2, 2, 7}));
  aten_value<"scatter_add_">(x, 1, integers({0, 0, 0}).view({1, 3}), ones({1, 3}));
  EXPECT_EQ(values(x.select(0, 0)), (std::vector<double>{10, 2, 6}));
}

TEST(Index, LastOfSeveralWritesWins) {
  EXPECT_EQ(values(aten<"scatter.src">(zeros({2}), 0, integers({1, 1, 1}), tensor({1., 2, 3}))), (std::vector<double>{0, 3}));
  EXPECT_EQ(values(aten<"index_copy">(zeros({2}), 0, integers({0, 0}), tensor({4., 5}))), (std::vector<double>{5, 0}));
}

TEST(Index, IntegerMeansRoundDown) {
  EXPECT_EQ(values(aten<"scatter_reduce.two">(integers({-1, 4}), 0, integers({0, 1, 1}), integers({-2, 4, 3}), "mean")),
            (std::vector<double>{-2, 3}));
}

TEST(Sort, NanIsLargest) {
  const Tensor x = tensor({2, NAN, -1, INFINITY});
  auto [up, at] = sort(x);
  EXPECT_TRUE(std::isnan(values(up)[3]));
  EXPECT_EQ(values(at), (std::vector<double>{2, 0, 3, 1}));
  EXPECT_EQ(values(std::get<1>(topk(x, 2))), (std::vector<double>{1, 3}));
}

TEST(Sort, Unique) {
  const Tensor x = integers({3, 1, 3, 2, 1, 3});
  const TensorList u = atens<"_unique2">(x, true, true, true);
  EXPECT_EQ(values(u[0]), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(values(u[1]), (std::vector<double>{2, 0, 2, 1, 0, 2}));
  EXPECT_EQ(values(u[2]), (std::vector<double>{2, 1, 3}));
  const Tensor columns = tensor({1, 0, 1, 2, 3, 2}, {2, 3}, int64);
  const TensorList d = atens<"unique_dim">(columns, 1);
  EXPECT_EQ(values(d[0]), (std::vector<double>{0, 1, 3, 2}));
  EXPECT_EQ(values(d[1]), (std::vector<double>{1, 0, 1}));
  EXPECT_EQ(values(d[2]), (std::vector<double>{1, 2}));
  EXPECT_EQ(values(atens<"unique_consecutive">(integers({1, 1, 2, 1}), true, true)[0]), (std::vector<double>{1, 2, 1}));
}

// Sequences of lengths 3, 2 and 1, packed, give what each gives alone.
TEST(Rnn, PackedEqualsSeparate) {
  manual_seed(1);
  const TensorList params{randn({12, 2}), randn({12, 3}), randn({12}), randn({12}),
                          randn({12, 2}), randn({12, 3}), randn({12}), randn({12})};
  const Tensor x = randn({3, 3, 2}), h = randn({2, 3, 3}), c = randn({2, 3, 3});  // [time, batch, features]
  const Tensor packed = cat({x[0], x[1].narrow(0, 0, 2), x[2].narrow(0, 0, 1)});
  const TensorList got = atens<"lstm.data">(packed, integers({3, 2, 1}), TensorList{h, c}, params, true, 1, 0.0, false, true);
  const int64_t start[] = {0, 3, 5};
  for (int64_t b = 0; b < 3; b++) {
    const int64_t length = 3 - b;
    const TensorList want =
        atens<"lstm.input">(x.narrow(0, 0, length).narrow(1, b, 1), TensorList{h.narrow(1, b, 1), c.narrow(1, b, 1)}, params,
                            true, 1, 0.0, false, true, false);
    for (int64_t t = 0; t < length; t++) EXPECT_TRUE(allclose(got[0][start[t] + b], want[0][t][0], 1e-5, 1e-6)) << b << " " << t;
    EXPECT_TRUE(allclose(got[1].select(1, b), want[1].select(1, 0), 1e-5, 1e-6)) << b;
    EXPECT_TRUE(allclose(got[2].select(1, b), want[2].select(1, 0), 1e-5, 1e-6)) << b;
  }
}

// The fused node and the program of products and a softmax agree; a row in which nothing takes part
// is zero.
TEST(Attention, FusedEqualsMath) {
  manual_seed(2);
  const Tensor q = randn({2, 2, 3, 4}), k = randn({2, 2, 5, 4}), v = randn({2, 2, 5, 4});
  const Tensor mask = tensor({1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 1, 1, 1}, {3, 5}, boolean);
  const Tensor fused = scaled_dot_product_attention(q, k, v, mask),
               math = atens<"_scaled_dot_product_attention_math">(q, k, v, mask)[0];
  EXPECT_EQ(fused.strides().values(), (std::vector<int64_t>{24, 12, 4, 1}));  // as the query's
  const Tensor inside = scaled_dot_product_attention(q.transpose(1, 2).contiguous().transpose(1, 2), k, v, mask);
  EXPECT_EQ(inside.strides().values(), (std::vector<int64_t>{24, 4, 8, 1}));
  EXPECT_TRUE(allclose(fused, inside, 0, 0));
  EXPECT_TRUE(allclose(fused, math, 1e-5, 1e-6));
  for (double x : values(fused.select(2, 1))) EXPECT_EQ(x, 0);
}

}  // namespace
}  // namespace ingot
