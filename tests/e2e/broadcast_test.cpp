// Sizes that are one or none, and very many pieces.
#include "e2e/compiled_model.hpp"
#include "support/error_text.hpp"

namespace ingot {
namespace {

// The last piece has n - 6 elements, which is one at n = 7: it is broadcast, and the program is for
// that size alone.
TEST(CompiledBroadcast, AnOpenSizeThatIsOne) {
  const TensorFunction f = [](const TensorList& in) {
    const TensorList pieces = atens<"split.Tensor">(in[0], 2, 0);
    return TensorList{pieces[2] * pieces[3]};
  };
  const TensorList in{arange(1, 8).to(float32)};
  expect_close(f(in), aot_run("cpu", f, in, {}, kOpen));
}
// Copied, it was read beyond its end: the rule asked whether the size is written as one, not
// whether it is known to be.
TEST(CompiledBroadcast, ACopyOfAnOpenSizeThatIsOne) {
  const TensorFunction f = [](const TensorList& in) {
    const Tensor r = zeros({2, 3, 4});
    aten_value<"copy_">(r, in[0]);
    return TensorList{r, aten<"expand_copy">(in[0], Shape{3, 4}), aten<"addmm">(in[0], ones({3, 2}), ones({2, 4}))};
  };
  std::vector<OpenSize> open = kOpen;
  open[0].lo = 0;
  const TensorList in{full({1}, 5.0)};
  expect_close(f(in), aot_run("cpu", f, in, {}, open));
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
// as_strided counts elements of the storage: the parts of a complex number stand two apart, and the
// first imaginary one is at 1.
TEST(CompiledBroadcast, StridedViewsOfPartsOfComplexNumbers) {
  const TensorFunction f = [](const TensorList& in) {
    const Tensor z = aten<"complex">(in[0], in[0] * 10), imaginary = aten<"imag">(z);
    return TensorList{aten<"as_strided">(imaginary, Shape{2}, Shape{2}, 1) + 0,
                      aten<"as_strided">(imaginary, Shape{2}, Shape{4}, 3) + 0,
                      aten<"as_strided">(aten<"real">(z), Shape{2, 2}, Shape{4, 2}, 0) + 0};
  };
  const TensorList in{arange(1, 5).to(float32)};
  expect_close(f(in), aot_run("cpu", f, in));
  EXPECT_EQ(f(in)[0].to_vector<double>(), (std::vector<double>{10, 20}));
  // Between the imaginary parts stand the real ones, which the program with the view alone does not
  // have.
  const TensorFunction between = [](const TensorList& in) {
    const Tensor part = aten<"imag">(aten<"complex">(in[0], in[0] * 10));
    return TensorList{aten<"as_strided">(part, Shape{4}, Shape{1}, 1) + 0};
  };
  try {
    expect_close(between(in), aot_run("cpu", between, in));
  } catch (const UserError& e) {
    EXPECT_NE(std::string(e.what()).find("elements of others around or between its own"), std::string::npos) << e.what();
  }
}
// What lies in another order than row by row is looked at, and written, in the order in which it
// lies.
TEST(CompiledBroadcast, StridedViewsOfWhatLiesInAnotherOrder) {
  const TensorFunction f = [](const TensorList& in) {
    const Tensor turned = (in[0] + 1).t().clone(), part = aten<"as_strided">(turned, Shape{4}, Shape{1}, 1);
    aten_value<"mul_.Scalar">(part, 10);
    return TensorList{turned, part};
  };
  const TensorList in{arange(0, 6).to(float32).view({2, 3})};
  EXPECT_EQ(f(in)[1].to_vector<double>(), (std::vector<double>{20, 30, 40, 50}));
  expect_close(f(in), aot_run("cpu", f, in));
}
// Integers have no infinity: eager refuses to divide by zero, and so does what is compiled.
TEST(CompiledBroadcast, IntegersAreNotDividedByZero) {
  for (const char* name : {"floor_divide", "remainder.Tensor", "fmod.Tensor"}) {
    const TensorFunction f = [name](const TensorList& in) { return TensorList{call(op(name), {in[0], in[1]}).tensor() + 1}; };
    const testing::TestFolder folder;
    const CallableModel model = aot_load("cpu", aot_compile(f, {arange(5, 8), arange(1, 4)}, folder.file("f.so"), {}, kOpen));
    const auto run = [&](const TensorList& in) { return model(Tree::tuple({in[0], in[1]})).children()[0].leaf().tensor(); };
    const TensorList good{arange(5, 8), arange(-4, -1)}, bad{arange(5, 8), arange(-1, 2)};
    expect_close(f(good), {run(good)});
    EXPECT_NE(error_of([&] { f(bad); }).find("ZeroDivisionError"), std::string::npos) << name;
    EXPECT_NE(error_of([&] { run(bad); }).find("ZeroDivisionError"), std::string::npos) << name;
  }
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
