// Bad calls end in an error that names the op, what was expected and what was found, and leave
// nothing behind. The op calls are in bad_calls.txt, those that need a program are below.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "base/error.hpp"
#include "ingot/nn.hpp"
#include "ingot/optim.hpp"
#include "op/call.hpp"
#include "support/sample.hpp"
#include "support/split.hpp"

namespace ingot::testing {
namespace {

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const UserError& e) {
    return e.what();
  }
  return "";
}

void expect_parts(const std::string& where, const std::string& message, const std::vector<std::string>& parts) {
  EXPECT_FALSE(message.empty()) << where << ": was accepted";
  for (const std::string& p : parts)
    EXPECT_NE(message.find(p), std::string::npos) << where << ": the message lacks '" << p << "':\n  " << message;
}

TEST(BadCalls, Ops) {
  const auto path = std::filesystem::path(INGOT_TEST_DATA).parent_path() / "error" / "bad_calls.txt";
  int n = 0;
  for (Sample s : read_samples(path.string())) {
    const auto sides = split(s.text, "=>");
    ASSERT_EQ(sides.size(), 2u) << s.where();
    s.text = sides[0];
    const int64_t live = TensorImpl::live();
    {
      const SampleCall c = make_call(s, Make::real, 0);
      expect_parts(s.where(), message_of([&] { call(*c.op, c.args); }), split(sides[1], "|"));
    }
    EXPECT_EQ(TensorImpl::live(), live) << s.where() << ": a refused call left tensors behind";
    n++;
  }
  EXPECT_GE(n, 60);
}

struct BadProgram {
  const char* name;
  std::function<void()> run;
  std::vector<std::string> parts;
};

TEST(BadCalls, Programs) {
  const Tensor leaf = ones({3}).requires_grad_();
  const BadProgram table[] = {
      // clang-format off
      {"in-place on a leaf", [&] { Tensor(leaf).add_(Scalar(1)); }, {"add_", "a leaf Variable that requires grad is being used in an in-place operation"}},
      {"in-place on a view of a leaf", [&] { leaf[0].mul_(Scalar(2)); }, {"mul_", "a view of a leaf Variable that requires grad is being used in an in-place operation"}},
      {"backward twice", [&] { Tensor y = (leaf * leaf).sum(); y.backward(); y.backward(); }, {"Trying to backward through the graph a second time", "retain_graph=True"}},
      {"backward of a vector", [&] { (leaf * 2).backward(); }, {"grad can be implicitly created only for scalar outputs"}},
      {"backward without grad", [&] { ones({2}).sum().backward(); }, {"element 0 of tensors does not require grad and does not have a grad_fn"}},
      {"wrong gradient shape", [&] { (leaf * 2).backward(ones({2})); }, {"Mismatch in shape", "[2]", "[3]"}},
      {"saved value changed", [&] { Tensor a = leaf * 1; Tensor y = a * a; a.add_(Scalar(1)); y.sum().backward(); },
       {"has been modified by an inplace operation", "is at version 1; expected version 0"}},
      {"unused input", [&] { Tensor other = ones({1}).requires_grad_(); grad({leaf.sum()}, {other}); }, {"appears to not have been used in the graph", "allow_unused"}},
      {"input without grad", [&] { grad({leaf.sum()}, {ones({1})}); }, {"does not require grad"}},
      {"requires_grad of integers", [&] { ones({2}, {.dtype = int64}).requires_grad_(); }, {"only Tensors of floating point and complex dtype can require gradients", "int64"}},
      {"write to one of several views", [&] { Tensor y = leaf * 1; auto parts = y.unbind(); parts[0].mul_(Scalar(2)); },
       {"Output 0 of UnbindBackward0 is a view", "returns multiple views"}},
      {"write to a no_grad view", [&] { Tensor y = leaf * 1; Tensor v; { NoGrad g; v = y[0]; } v.mul_(leaf[0]); }, {"created in no_grad mode"}},
      {"out= with gradients", [&] { Tensor out = zeros({3}); aten_value<"add.out">(leaf, leaf, 1, out); }, {"add()", "functions with out=... arguments don't support automatic differentiation"}},
      {"item of many", [&] { ones({2}).item(); }, {"2 elements cannot be converted to Scalar"}},
      {"unknown op", [&] { op("no_such_op"); }, {"no_such_op", "ingot ops"}},
      {"unknown overload", [&] { op("add.Nothing"); }, {"add.Nothing", "add.Tensor"}},
      {"undefined tensor", [&] { Tensor().sizes(); }, {"undefined"}},
      {"hook without grad", [&] { register_hook(ones({1}), [](const Tensor& g) { return g; }); }, {"doesn't require gradient"}},
      {"module input", [&] { nn::BatchNorm2d(3)(ones({2, 3})); }, {"expected 4D input", "2D"}},
      {"batch norm of one value a channel", [&] { nn::BatchNorm1d(3)(ones({1, 3})); }, {"Expected more than 1 value per channel when training, got input size [1, 3]"}},
      {"batch norm of one pixel", [&] { nn::BatchNorm2d(3)(ones({1, 3, 1, 1})); }, {"Expected more than 1 value per channel when training, got input size [1, 3, 1, 1]"}},
      {"group norm of one value a group", [&] { nn::GroupNorm(3, 3)(ones({1, 3, 1})); }, {"Expected more than 1 value per channel when training, got input size [1, 3, 1]"}},
      {"minus one of bools", [&] { ones({2}, {.dtype = boolean}) - 1; }, {"Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask"}},
      {"minus bools", [&] { -ones({2}, {.dtype = boolean}); }, {"Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask"}},
      {"attention heads", [&] { nn::MultiheadAttention(10, 3); }, {"embed_dim must be divisible by num_heads", "10", "3"}},
      {"learning rate", [&] { optim::SGD({leaf}, {.lr = -1}); }, {"Invalid learning rate", "-1"}},
      {"state that does not fit", [&] { nn::Linear l(2, 3); l.load_state({{"weight", ones({1})}, {"other", ones({1})}}); },
       {"size mismatch for weight", "[3, 2]", "[1]", "missing: bias", "unexpected: other"}},
      // clang-format on
  };
  for (const BadProgram& p : table) expect_parts(p.name, message_of(p.run), p.parts);
}

}  // namespace
}  // namespace ingot::testing
