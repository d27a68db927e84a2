// Sizes that are one or none, and very many pieces.
#include "e2e/compiled_model.hpp"

namespace ingot {
namespace {

// The last piece has n - 6 elements, which is one at n = 7: it is broadcast, and the program is for that size alone.
TEST(CompiledBroadcast, AnOpenSizeThatIsOne) {
  const TensorFunction f = [](const TensorList& in) {
    const TensorList pieces = atens<"split.Tensor">(in[0], 2, 0);
    return TensorList{pieces[2] * pieces[3]};
  };
  const TensorList in{arange(1, 8).to(float32)};
  expect_close(f(in), aot_run("cpu", f, in, {}, kOpen));
}
// Found by ingot_program_fuzz: that the size is one was known, and a view of it was refused.
TEST(CompiledBroadcast, AViewOfASizeThatIsOne) {
  const TensorFunction f = [](const TensorList& in) {
    const TensorList pieces = atens<"split.Tensor">(in[0], 1, 0);
    return TensorList{aten<"view">(pieces[6], Shape{-1}), aten<"flatten.using_ints">(pieces[6].unsqueeze(1), 0, 1)};
  };
  const TensorList in{arange(1, 8).to(float32)};
  expect_close(f(in), aot_run("cpu", f, in, {}, kOpen));
}
// A result without elements reads no index, so that none is out of range: in PyTorch, too.
TEST(CompiledBroadcast, IndicesThatNothingReads) {
  const TensorFunction f = [](const TensorList& in) {
    return TensorList{aten<"index.Tensor">(in[0], TensorList{Tensor(), in[1]})};
  };
  const Tensor beyond = tensor({5}, DType::i64);
  const TensorList empty{zeros({0, 1}), beyond}, some{zeros({3, 1}), beyond};
  expect_close(f(empty), aot_run("cpu", f, empty));
  EXPECT_THROW(aot_run("cpu", f, some), UserError);
  std::vector<OpenSize> open = kOpen;
  open[0].lo = 0;
  const testing::TestFolder folder;
  const CallableModel model = aot_load("cpu", aot_compile(f, {ones({3, 6}), beyond}, folder.file("open.so"), {}, open));
  const auto run = [&](const TensorList& in) { return model(Tree::tuple({in[0], in[1]})).children()[0].leaf().tensor(); };
  EXPECT_EQ(to_text(run({zeros({0, 6}), tensor({7}, DType::i64)}).sizes()), "[0, 1]");
  EXPECT_EQ(run({ones({2, 6}), beyond}).sum().item_double(), 2);
  EXPECT_THROW(run({ones({2, 6}), tensor({7}, DType::i64)}), UserError);
}
// More pieces than an expression may be deep.
TEST(CompiledBroadcast, CatOfThousands) {
  const TensorFunction f = [](const TensorList& in) {
    TensorList pieces;
    for (int k = 0; k < 2500; k++) pieces.push_back(k % 3 ? in[0] : in[1]);
    return TensorList{aten<"cat">(pieces, 0)};
  };
  const TensorList in{arange(1, 3).to(float32), arange(7, 8).to(float32)};
  expect_close(f(in), aot_run("cpu", f, in));
}

}  // namespace
}  // namespace ingot
