// What data decides in a compiled program: where a tensor is split, and whether an assertion holds.
#include "compiler/aot_compiler.hpp"
#include "e2e/compiled_model.hpp"
#include "runner/model_container_runner.hpp"
#include "support/error_text.hpp"

namespace ingot {
namespace {

using DataDecides = CompiledModel;

Tensor numbers(const std::vector<double>& v) { return tensor(v, int64); }

TensorList split(const TensorList& in) {
  const TensorList pieces = call(op("tensor_split.tensor_indices_or_sections"), {in[0], in[1]}).tensors();
  TensorList r;
  for (const Tensor& t : pieces) r.push_back(t * 2);
  r.push_back(pieces[1].sum());
  return r;
}

TEST_F(DataDecides, TensorSplitCompiles) {
  const Tensor x = randn({7, 3});
  ModelContainerRunner model(aot_compile(split, {x, numbers({2, 5})}, path("f.so")));
  // In the tensor, at its ends, beyond it, from behind, one before the other: what a slice takes.
  for (const std::vector<double>& at :
       std::vector<std::vector<double>>{{2, 5}, {0, 7}, {3, 3}, {0, 9}, {-3, -1}, {5, 2}, {-20, 20}})
    expect_close(split({x, numbers(at)}), model.run({x, numbers(at)}));
}

TEST_F(DataDecides, TensorSplitCompilesForOpenSizes) {
  ModelContainerRunner model(aot_compile(split, {randn({7, 3}), numbers({2, 5})}, path("f.so"), {}, kOpen));
  for (const int64_t n : {2, 6, 50}) {
    const TensorList in = {randn({n, 3}), numbers({1, 4})};
    expect_close(split(in), model.run(in));
  }
}

// A piece between others of its row has gaps around it that data decides: of such a one no shortcut is taken.
TEST_F(DataDecides, TensorSplitCompilesAlongAnyDim) {
  const auto split_rows = [](const TensorList& in) {
    TensorList r;
    for (const int64_t dim : {1, -1}) {
      const TensorList pieces = call(op("tensor_split.tensor_indices_or_sections"), {in[0], in[1], dim}).tensors();
      for (const Tensor& t : pieces) {
        r.push_back(t * 2);
        r.push_back(t.clone());
        r.push_back(t.t().contiguous());
        r.push_back(t.sum({0}));
      }
    }
    return r;
  };
  const Tensor x = randn({3, 7});
  ModelContainerRunner model(aot_compile(split_rows, {x, numbers({2, 5})}, path("f.so")));
  for (const std::vector<double>& at : std::vector<std::vector<double>>{{2, 5}, {0, 7}, {3, 3}, {-3, -1}, {5, 2}, {1, 2}})
    expect_close(split_rows({x, numbers(at)}), model.run({x, numbers(at)}));
}

TensorList asserted(const TensorList& in) {
  call(op("_assert_async.msg"), {aten<"gt.Scalar">(in[0].sum(), 0), "the sum must be positive"});
  return {in[0] * 2};
}

// The runner's error is what the user is told: it begins with the program's words, and nobody prints it as well.
TEST_F(DataDecides, AFailedAssertionIsSaidOnceAsAUserError) {
  ModelContainerRunner model(aot_compile(asserted, {ones({3})}, path("f.so")));
  expect_close({full({3}, 2)}, model.run({ones({3})}));
  ::testing::internal::CaptureStderr();
  const std::string message = error_of([&] { model.run({-ones({3})}); });
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_TRUE(message.starts_with("the sum must be positive")) << message;
  EXPECT_EQ(message.find("the sum must be positive", 1), std::string::npos) << message;
}

TEST_F(DataDecides, AFailedAssertionOfAFunctionCompiledInPlace) {
  const aot::AotFunction f = aot::memory_efficient_fusion(asserted);
  expect_close({full({3}, 2)}, f(TensorList{ones({3})}));
  ::testing::internal::CaptureStderr();
  const std::string message = error_of([&] { f(TensorList{-ones({3})}); });
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_TRUE(message.starts_with("the sum must be positive")) << message;
}

// A host that asks for nothing is told on standard error, as by every library of that ABI.
TEST_F(DataDecides, AHostInPlainCIsTold) {
  aot_compile(asserted, {ones({3})}, path("f.so"));
  write(0, -ones({3}));
  const std::string command = text(INGOT_MODEL_RUNNER, " ", path("f.so"), " ", path(""), " 2>", path("log"));
  EXPECT_NE(std::system(command.c_str()), 0);
  const Bytes bytes = read("log");
  EXPECT_NE(std::string(bytes.begin(), bytes.end()).find("the sum must be positive"), std::string::npos);
}

}  // namespace
}  // namespace ingot
