// Loops whose addresses have no quotients: neighbours lie side by side.
#include "e2e/compiled_model.hpp"

namespace ingot {
namespace {

void expect_no_quotients(const TensorFunction& f, const TensorList& in) {
  const std::string loops = schedule_of(f, in);
  EXPECT_FALSE(loops.empty());
  EXPECT_EQ(loops.find("//"), std::string::npos) << loops;
  EXPECT_EQ(loops.find(" % "), std::string::npos) << loops;
}

Tensor numbers(const Shape& sizes) {
  manual_seed(3);
  return randn(sizes);
}

// Heads are put together again, and laid out as rows of a product.
TEST(AddressLoops, VariablesThatAreTwoAreTakenApart) {
  const TensorFunction heads = [](const TensorList& in) {
    return TensorList{aten<"sin">(in[0]).permute({1, 0, 2}).reshape({in[0].size(1), 12 * 64}).mm(in[1])};
  };
  for (const int64_t rows : {1, 5, 24, 48}) expect_no_quotients(heads, {numbers({12, rows, 64}), numbers({12 * 64, 40})});
  const TensorFunction three = [](const TensorList& in) {
    return TensorList{aten<"sin">(in[0]).permute({1, 0, 2}).reshape({-1}) + in[1]};
  };
  expect_no_quotients(three, {numbers({9, 16, 8}), numbers({9 * 16 * 8})});
}

// Numbers that do not go into each other, and parts too short for vectors, stay.
TEST(AddressLoops, OthersEqualEager) {
  const TensorFunction f = [](const TensorList& in) {
    const Tensor x = aten<"sin">(in[0]).transpose(0, 1).reshape({-1});
    return TensorList{x + 1, x.reshape({6, -1}).sum({1}),
                      aten<"upsample_nearest1d">(x.reshape({1, 1, -1}), Shape{x.numel() * 2})};
  };
  for (const int64_t wide : {2, 3, 7, 8, 9, 16, 30})
    for (const int64_t high : {6, 12, 18}) (void)schedule_of(f, {numbers({high, wide})});
}

// What a rotary embedding is: halves change places, one of them is negated.
TEST(AddressLoops, BranchesKnowTheirCondition) {
  const TensorFunction halves = [](const TensorList& in) {
    const Tensor x = aten<"sin">(in[0]).view({in[0].size(0), 12, 64}).transpose(0, 1);
    const Tensor first = x.slice(-1, 0, 32), second = x.slice(-1, 32, 64);
    return TensorList{aten<"cat">(TensorList{-second, first}, -1) * in[1] + x};
  };
  for (const int64_t rows : {1, 7, 128}) expect_no_quotients(halves, {numbers({rows, 12 * 64}), numbers({rows, 64})});
}

}  // namespace
}  // namespace ingot
