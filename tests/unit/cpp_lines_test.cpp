// Ordinary lines, as people write PyTorch's C++: from the tutorials of the C++ frontend, its
// documentation of tensor indexing and creation, and the examples repository. Each `LINE` is one;
// what it is worth stands beside it as Python prints it. docs/cpp.md has them side by side with
// PyTorch's.
#include <gtest/gtest.h>

#include <iostream>
#include <sstream>

#include "ingot/nn.hpp"
#include "ingot/ops.hpp"
#include "ingot/optim.hpp"
#include "ingot/transforms.hpp"

namespace {

// Outside of namespace ingot, as users' code is.
using namespace ingot;
using namespace ingot::indexing;

int lines = 0;

template <class T>
std::string said(const T& value) {
  std::ostringstream out;
  out << std::boolalpha << value;
  return out.str();
}
#define LINE(expression, text) EXPECT_EQ((lines++, said(expression)), text)
#define DOES(...) \
  lines++;        \
  __VA_ARGS__

Tensor whole() { return arange(6).view({2, 3}); }  // [[0, 1, 2], [3, 4, 5]]
Tensor counting() { return whole().to(float32); }

// clang-format off

TEST(CppLines, MakeTensors) {
  LINE(zeros({2, 2}), "tensor([[0., 0.],\n        [0., 0.]])");
  LINE(zeros(3), "tensor([0., 0., 0.])");
  LINE(ones({2, 3}).sizes(), "[2, 3]");
  LINE(ones(2, int64), "tensor([1, 1])");
  LINE(full({2}, 7.5), "tensor([7.5000, 7.5000])");
  LINE(full({2}, 7), "tensor([7, 7])");
  LINE(full({2}, true), "tensor([True, True])");
  LINE(full({2}, 7, {.requires_grad = false}).dtype(), "torch.int64");
  LINE(full({2}, 7, {.dtype = float32}), "tensor([7., 7.])");
  LINE(eye(2), "tensor([[1., 0.],\n        [0., 1.]])");
  LINE(arange(4), "tensor([0, 1, 2, 3])");
  LINE(arange(1, 10, 3), "tensor([1, 4, 7])");
  LINE(arange(0.0, 1.0, 0.25), "tensor([0.0000, 0.2500, 0.5000, 0.7500])");
  LINE(linspace(0, 1, 5), "tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])");
  LINE(empty({4, 0}).numel(), "0");
  LINE(rand({2, 3}).sizes(), "[2, 3]");
  LINE(randn({5}, {.dtype = float64}).dtype(), "torch.float64");
  LINE(randn({4}, {.requires_grad = true}).requires_grad(), "true");
  LINE(randint(0, 10, {3}).dtype(), "torch.int64");
  LINE(randint(10, {3}).lt(10).all(), "tensor(True)");
  LINE(std::get<0>(randperm(5).sort()), "tensor([0, 1, 2, 3, 4])");
  LINE(tensor({1, 2, 3}), "tensor([1, 2, 3])");
  LINE(tensor({1.5, 2.0}), "tensor([1.5000, 2.0000])");
  LINE(tensor({true, false}), "tensor([ True, False])");
  LINE(tensor({1, 2}, float64), "tensor([1., 2.], dtype=torch.float64)");
  LINE(tensor({1, 2, 3, 4}, {2, 2}), "tensor([[1, 2],\n        [3, 4]])");
  LINE(tensor(3.5), "tensor(3.5000)");
  LINE(tensor(7), "tensor(7)");
  LINE(tensor(std::vector<float>{1, 2}), "tensor([1., 2.])");
  LINE(tensor(std::vector<int64_t>{4, 5}), "tensor([4, 5])");
  LINE(tensor(std::vector<int>{6}), "tensor([6])");
  LINE(zeros_like(whole()).dtype(), "torch.int64");
  LINE(zeros_like(whole(), float32).dtype(), "torch.float32");
  LINE(ones_like(counting()).sum(), "tensor(6.)");
  LINE(full_like(whole(), 3).sum(), "tensor(18)");
  LINE(counting().new_zeros({2}), "tensor([0., 0.])");
  LINE(whole().new_full({2}, 9), "tensor([9, 9])");
  float data[] = {1, 2, 3, 4};
  LINE(from_blob(data, {2, 2}, float32)[1][0], "tensor(3.)");
}

TEST(CppLines, AskTensors) {
  const Tensor x = counting();
  DOES(int64_t n = x.size(0)); EXPECT_EQ(n, 2);
  DOES(auto columns = x.size(-1)); EXPECT_EQ(columns, 3);
  DOES(int half = static_cast<int>(x.numel() / 2)); EXPECT_EQ(half, 3);
  DOES(float mean = x.mean().item<float>()); EXPECT_EQ(mean, 2.5f);
  DOES(double last = x[1][2].item<double>()); EXPECT_EQ(last, 5);
  DOES(int64_t best = x.argmax().item<int64_t>()); EXPECT_EQ(best, 5);
  DOES(int first = whole()[0][0].item<int>()); EXPECT_EQ(first, 0);
  DOES(bool any_large = (x > 4).any().item<bool>()); EXPECT_TRUE(any_large);
  DOES(float* p = x.data_ptr<float>()); EXPECT_EQ(p[4], 4);
  LINE(x.dim(), "2");
  LINE(x.sizes(), "[2, 3]");
  LINE(x.strides(), "[3, 1]");
  LINE(x.sizes()[1], "3");
  LINE(x.dtype(), "torch.float32");
  LINE(x.dtype() == float32, "true");
  LINE(x.device(), "cpu");
  LINE(x.is_contiguous(), "true");
  LINE(x.t().is_contiguous(), "false");
  LINE(x.defined(), "true");
  LINE(x.equal(x.clone()), "true");
  LINE(allclose(x, x + 1e-9), "true");
  LINE(x.size(0) * x.size(1) == x.numel(), "true");
  LINE(1.0 / x.size(0), "0.5");
  int64_t rows = 0;
  for (int i = 0; i < x.size(0); i++) rows++;
  DOES(EXPECT_EQ(rows, 2));
  DOES(std::vector<int64_t> shape{x.size(0), 1}); EXPECT_EQ(shape[0], 2);
}

TEST(CppLines, Arithmetic) {
  Tensor x = tensor({1.0, 2.0, 3.0}), y = tensor({4.0, 5.0, 6.0});
  LINE(x + y, "tensor([5., 7., 9.])");
  LINE(x - 1, "tensor([0., 1., 2.])");
  LINE(2 * x, "tensor([2., 4., 6.])");
  LINE(1 / tensor({2.0, 4.0}), "tensor([0.5000, 0.2500])");
  LINE(10 - x, "tensor([9., 8., 7.])");
  LINE(-x, "tensor([-1., -2., -3.])");
  LINE(x * y / 2, "tensor([2., 5., 9.])");
  LINE(x % 2, "tensor([1., 0., 1.])");
  LINE(arange(5) % 3, "tensor([0, 1, 2, 0, 1])");
  LINE(x.pow(2), "tensor([1., 4., 9.])");
  LINE(pow(2, x), "tensor([2., 4., 8.])");
  LINE(add(x, y, 2), "tensor([ 9., 12., 15.])");
  LINE(x.add(y, /*alpha=*/10), "tensor([41., 52., 63.])");
  LINE(x.matmul(y), "tensor(32.)");
  LINE(mm(ones({2, 3}), ones({3, 2})), "tensor([[3., 3.],\n        [3., 3.]])");
  LINE(x.dot(y), "tensor(32.)");
  LINE(exp(zeros(2)), "tensor([1., 1.])");
  LINE(x.sqrt().pow(2).round(), "tensor([1., 2., 3.])");
  LINE(x.clamp(1.5, 2.5), "tensor([1.5000, 2.0000, 2.5000])");
  LINE(clamp_min(x, 2), "tensor([2., 2., 3.])");
  LINE(where(x > 1, x, zeros_like(x)), "tensor([0., 2., 3.])");
  LINE(addmm(zeros({2, 2}), ones({2, 3}), ones({3, 2})), "tensor([[3., 3.],\n        [3., 3.]])");
  LINE(bmm(ones({1, 2, 3}), ones({1, 3, 2})).sizes(), "[1, 2, 2]");
  LINE(einsum("ij,kj->ik", {counting(), counting()}), "tensor([[ 5., 14.],\n        [14., 50.]])");
  LINE((x += y), "tensor([5., 7., 9.])");
  LINE((x -= 1), "tensor([4., 6., 8.])");
  LINE((x *= 0.5), "tensor([2., 3., 4.])");
  LINE((x /= y), "tensor([0.5000, 0.6000, 0.6667])");
  LINE(x.fill_(2), "tensor([2., 2., 2.])");
  LINE(x.add_(1).mul_(y), "tensor([12., 15., 18.])");
  LINE(x.zero_(), "tensor([0., 0., 0.])");
  LINE(y.copy_(ones(3)), "tensor([1., 1., 1.])");
  LINE(y.clamp_(0, 0.5), "tensor([0.5000, 0.5000, 0.5000])");
  LINE(add_out(x, y, y), "tensor([1., 1., 1.])");
}

TEST(CppLines, CompareAndChoose) {
  const Tensor x = tensor({1, 2, 3, 4});
  LINE(x > 2, "tensor([False, False,  True,  True])");
  LINE(x == 2, "tensor([False,  True, False, False])");
  LINE(2 < x, "tensor([False, False,  True,  True])");
  LINE((x > 1) & (x < 4), "tensor([False,  True,  True, False])");
  LINE((x == 1) | (x == 4), "tensor([ True, False, False,  True])");
  LINE(~(x > 2), "tensor([ True,  True, False, False])");
  LINE((x > 2) ^ (x > 3), "tensor([False, False,  True, False])");
  LINE(x & 1, "tensor([1, 0, 1, 0])");
  LINE(x.eq(3).nonzero(), "tensor([[2]])");
  LINE((x > 2).sum(), "tensor(2)");
  LINE(x.masked_select(x > 2), "tensor([3, 4])");
  LINE(x.masked_fill(x > 2, 0), "tensor([1, 2, 0, 0])");
  LINE(isnan(tensor({1.0, NAN})), "tensor([False,  True])");
  LINE(maximum(x, 5 - x), "tensor([4, 3, 3, 4])");
  LINE(logical_not(x > 2), "tensor([ True,  True, False, False])");
}

TEST(CppLines, Reduce) {
  const Tensor x = counting();
  LINE(x.sum(), "tensor(15.)");
  LINE(x.sum(0), "tensor([3., 5., 7.])");
  LINE(x.sum({0, 1}), "tensor(15.)");
  LINE(x.sum(1, /*keepdim=*/true), "tensor([[ 3.],\n        [12.]])");
  LINE(x.mean(1), "tensor([1., 4.])");
  LINE(x.std(1), "tensor([1., 1.])");
  LINE(x.var(0, /*unbiased=*/false), "tensor([2.2500, 2.2500, 2.2500])");
  LINE(x.norm(), "tensor(7.4162)");
  LINE(x.prod(1), "tensor([ 0., 60.])");
  LINE(x.max(), "tensor(5.)");
  LINE(std::get<0>(x.max(1)), "tensor([2., 5.])");
  LINE(std::get<1>(x.max(1)), "tensor([2, 2])");
  DOES(auto [low, at] = x.min(0)); EXPECT_EQ(said(low), "tensor([0., 1., 2.])"); EXPECT_EQ(said(at), "tensor([0, 0, 0])");
  DOES(auto [top, where] = x.topk(1)); EXPECT_EQ(said(top), "tensor([[2.],\n        [5.]])"); EXPECT_EQ(said(where[1]), "tensor([2])");
  DOES(auto [sorted, order] = x.sort(1, /*descending=*/true)); EXPECT_EQ(said(sorted[0]), "tensor([2., 1., 0.])"); EXPECT_EQ(order.dim(), 2);
  LINE(x.argmax(1), "tensor([2, 2])");
  LINE(x.cumsum(0), "tensor([[0., 1., 2.],\n        [3., 5., 7.]])");
  LINE(x.softmax(-1).sum(-1), "tensor([1., 1.])");
  LINE(log_softmax(zeros({1, 2}), 1), "tensor([[-0.6931, -0.6931]])");
  LINE(x.logsumexp(1).sizes(), "[2]");
  LINE(x.all(), "tensor(False)");
  LINE(x.any(0), "tensor([True, True, True])");
}

TEST(CppLines, Reshape) {
  const Tensor x = whole();
  LINE(x.view(-1), "tensor([0, 1, 2, 3, 4, 5])");
  LINE(x.view({3, -1}).sizes(), "[3, 2]");
  LINE(x.reshape({x.size(0), -1}).sizes(), "[2, 3]");
  LINE(x.t().sizes(), "[3, 2]");
  LINE(x.transpose(0, 1).contiguous().view(-1), "tensor([0, 3, 1, 4, 2, 5])");
  LINE(x.permute({1, 0}).sizes(), "[3, 2]");
  LINE(x.unsqueeze(0).sizes(), "[1, 2, 3]");
  LINE(x.unsqueeze(-1).squeeze(-1).sizes(), "[2, 3]");
  LINE(x.flatten(), "tensor([0, 1, 2, 3, 4, 5])");
  LINE(x.unsqueeze(0).expand({4, -1, -1}).sizes(), "[4, 2, 3]");
  LINE(x.repeat({1, 2}).sizes(), "[2, 6]");
  LINE(cat({x, x}, 0).sizes(), "[4, 3]");
  LINE(stack({x, x}).sizes(), "[2, 2, 3]");
  LINE(x.split(1)[1], "tensor([[3, 4, 5]])");
  LINE(x.split({1, 2}, 1)[1], "tensor([[1, 2],\n        [4, 5]])");
  LINE(x.chunk(3, 1).size(), "3");
  LINE(x.flip({0}), "tensor([[3, 4, 5],\n        [0, 1, 2]])");
  LINE(x.roll(1, 1), "tensor([[2, 0, 1],\n        [5, 3, 4]])");
  LINE(x.narrow(1, 1, 2), "tensor([[1, 2],\n        [4, 5]])");
  LINE(x.to(float64).dtype(), "torch.float64");
  LINE(x.tril(), "tensor([[0, 0, 0],\n        [3, 4, 0]])");
  LINE(x.diagonal(), "tensor([0, 4])");
}

TEST(CppLines, Index) {
  Tensor x = whole();
  const Tensor mask = x > 3;
  LINE(x[1], "tensor([3, 4, 5])");
  LINE(x[-1][0], "tensor(3)");
  LINE(x[mask], "tensor([4, 5])");
  LINE(x[tensor({1, 0})], "tensor([[3, 4, 5],\n        [0, 1, 2]])");
  LINE(x.index({1}), "tensor([3, 4, 5])");
  LINE(x.index({"...", 0}), "tensor([0, 3])");
  LINE(x.index({Ellipsis, -1}), "tensor([2, 5])");
  LINE(x.index({Slice(), 1}), "tensor([1, 4])");
  LINE(x.index({Slice(), Slice(1, None)}), "tensor([[1, 2],\n        [4, 5]])");
  LINE(x.index({0, Slice(None, None, 2)}), "tensor([0, 2])");
  LINE(x.index({None, 0}), "tensor([[0, 1, 2]])");
  LINE(x.index({tensor({0, 1}), tensor({2, 0})}), "tensor([2, 3])");
  LINE(x.index({mask}), "tensor([4, 5])");
  LINE(x.unsqueeze(-1).expand({2, 3, 4}).index({mask, None, Slice(1, None), "..."}).sizes(), "[2, 1, 3]");
  LINE(x.index_select(1, tensor({2})), "tensor([[2],\n        [5]])");
  LINE(x.gather(1, tensor({0, 1}, {2, 1})), "tensor([[0],\n        [4]])");
  LINE(x.index_put_({0, 0}, 9), "tensor([[9, 1, 2],\n        [3, 4, 5]])");
  LINE(x.index_put_({mask}, tensor({7, 8})), "tensor([[9, 1, 2],\n        [3, 7, 8]])");
  LINE(x.index_put_({Slice(), 1}, -1), "tensor([[ 9, -1,  2],\n        [ 3, -1,  8]])");
  DOES(x[mask] = 0); EXPECT_EQ(said(x), "tensor([[ 9, -1,  2],\n        [ 3,  0,  0]])");
  DOES(x[0] = 1); EXPECT_EQ(said(x), "tensor([[1, 1, 1],\n        [3, 0, 0]])");
  DOES(x[1] = tensor({4, 5, 6})); EXPECT_EQ(said(x[1]), "tensor([4, 5, 6])");
  DOES(x[1][2] = 0); EXPECT_EQ(said(x[1]), "tensor([4, 5, 0])");
  DOES(x[x == 0] += 8); EXPECT_EQ(said(x[1]), "tensor([4, 5, 8])");
  DOES(x[x == 1] = x[x == 8]); EXPECT_EQ(said(x[0]), "tensor([8, 8, 8])");
  DOES(x[x == 8] %= 7); EXPECT_EQ(said(x), "tensor([[1, 1, 1],\n        [4, 5, 1]])");
  DOES(x[1][2] = 8);
  DOES(x.index({tensor(1)}).add_(0)); EXPECT_EQ(said(x[tensor(1)]), "tensor([4, 5, 8])");
  DOES(x.index({Slice(), 0}) = 2); EXPECT_EQ(said(x), "tensor([[2, 1, 1],\n        [2, 5, 8]])");
  DOES(x[0] += x[1]); EXPECT_EQ(said(x[0]), "tensor([4, 6, 9])");
  LINE(x.scatter_(1, tensor({0}, {1, 1}), 0)[0], "tensor([0, 6, 9])");
}

TEST(CppLines, Gradients) {
  Tensor x = tensor({1.0, 2.0}).requires_grad_();
  DOES((x * x).sum().backward()); EXPECT_EQ(said(x.grad()), "tensor([2., 4.])");
  DOES(auto g = grad({x.pow(3).sum()}, {x})); EXPECT_EQ(said(g[0]), "tensor([ 3., 12.])");
  {
    NoGrad guard;
    DOES(x -= 0.5 * x.grad()); EXPECT_EQ(said(x), "tensor([0., 0.], requires_grad=True)");
  }
  LINE(x.detach(), "tensor([0., 0.])");
  const Tensor w = tensor({2.0, 3.0}), v = tensor({1.0, 5.0});
  LINE(grad([](const Tensor& a) { return a.pow(2).sum(); })(w), "tensor([4., 6.])");
  LINE(grad([](const Tensor& a, const Tensor& b) { return (a * b).sum(); })(w, v), "tensor([1., 5.])");
  LINE(grad([](const Tensor& a, const Tensor& b) { return (a * b).sum(); }, {0, 1})(w, v)[1], "tensor([2., 3.])");
  LINE(vmap([](const Tensor& row) { return row.sum(); })(counting()), "tensor([ 3., 12.])");
  LINE(vmap([](const Tensor& a, const Tensor& b) { return a.dot(b); })(counting(), counting()), "tensor([ 5., 50.])");
  LINE(vmap(grad([](const Tensor& a, const Tensor& b) { return (a * b).sum(); }), {.in_dims = {std::nullopt, 0}})(w, stack({v, w})),
       "tensor([[1., 5.],\n        [2., 3.]])");
  LINE(jacrev([](const Tensor& a) { return a * a; })(w), "tensor([[4., 0.],\n        [0., 6.]])");
  const Tensor turned = tensor({1, 0});
  LINE(vmap([turned](const Tensor& a) { return a[turned]; })(stack({w, v})), "tensor([[3., 2.],\n        [5., 1.]])");
  const auto powers = [](const Tensor& a) { return std::tuple(a * a, a.pow(3)); };
  DOES(auto [square, cube] = jacrev(powers)(w)); EXPECT_EQ(said(cube), "tensor([[12.,  0.],\n        [ 0., 27.]])");
  EXPECT_EQ(said(square), "tensor([[4., 0.],\n        [0., 6.]])");
  LINE(std::get<1>(jacfwd(powers)(w)), "tensor([[12.,  0.],\n        [ 0., 27.]])");
  LINE(std::get<1>(hessian([](const Tensor& a) { return std::tuple(a.pow(2).sum(), a.pow(3).sum()); })(w)), "tensor([[12.,  0.],\n        [ 0., 18.]])");
  LINE(grad(grad([](const Tensor& a) { return a.pow(3).sum(); }))(tensor(2.0)), "tensor(12.)");
}

TEST(CppLines, Networks) {
  manual_seed(0);
  nn::Conv2d conv(3, 8, 3);
  LINE(conv(ones({1, 3, 8, 8})).sizes(), "[1, 8, 6, 6]");
  nn::Linear fc(4, 2);
  LINE(fc(ones({5, 4})).sizes(), "[5, 2]");
  LINE(relu(tensor({-1.0, 2.0})), "tensor([0., 2.])");
  LINE(max_pool2d(ones({1, 1, 4, 4}), 2).sizes(), "[1, 1, 2, 2]");
  LINE(max_pool2d(ones({1, 1, 4, 4}), {2, 2}).sizes(), "[1, 1, 2, 2]");
  LINE(conv2d(ones({1, 1, 3, 3}), ones({1, 1, 2, 2})).sum(), "tensor(16.)");
  LINE(conv2d(ones({1, 1, 3, 3}), ones({1, 1, 2, 2}), {}, /*stride=*/1, /*padding=*/1).sizes(), "[1, 1, 4, 4]");
  LINE(dropout(ones(3), 0.5, /*train=*/false), "tensor([1., 1., 1.])");
  LINE(mse_loss(ones(2), zeros(2)), "tensor(1.)");
  LINE(nll_loss(log_softmax(zeros({1, 2}), 1), tensor({1})), "tensor(0.6931)");
  LINE(cross_entropy(zeros({1, 2}), tensor({0})), "tensor(0.6931)");
  LINE(embedding(eye(3), tensor({2, 0})).sizes(), "[2, 3]");
  LINE(batch_norm(ones({2, 3}), {}, {}, zeros(3), ones(3), false, 0.1, 1e-5, false)[0][0].round(), "tensor(1.)");
  LINE(adaptive_avg_pool2d(ones({1, 1, 4, 4}), 1).sizes(), "[1, 1, 1, 1]");
  optim::SGD optimizer(fc.parameters(), {.lr = 0.1});
  DOES(optimizer.zero_grad());
  Tensor loss = mse_loss(fc(ones({5, 4})), zeros({5, 2}));
  DOES(loss.backward());
  DOES(optimizer.step());
  LINE(mse_loss(fc(ones({5, 4})), zeros({5, 2})).item<float>() < loss.item<float>(), "true");
}

TEST(CppLines, AreAtLeastAsManyAsPromised) {
  if (testing::UnitTest::GetInstance()->test_to_run_count() < 9 || lines == 0) GTEST_SKIP() << "the other tests did not run here";
  EXPECT_GE(lines, 150);
}

// clang-format on

}  // namespace
