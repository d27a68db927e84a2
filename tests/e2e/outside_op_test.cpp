// Ops that a user of the C++ API defines outside the tree, with a schema, a shape rule and a kernel
// but no lowering: a compiled program calls them in the process it is loaded into, by the kernel
// that the process registered.
#include <atomic>
#include <thread>

#include "compiler/aot_compiler.hpp"
#include "compiler/compiled_program.hpp"
#include "compiler/program_trace.hpp"
#include "e2e/compiled_model.hpp"
#include "op/op.hpp"
#include "ingot/op/vjp.hpp"
#include "host/torch/model_container_runner.hpp"
#include "support/error_text.hpp"
#include "support/listed_program.hpp"

namespace ingot {
namespace {

std::atomic<int> calls, questions;

void same_meta(const Call& c, Outputs& o) {
  questions++;
  o.add(c.tensor(0).sizes(), c.tensor(0).dtype());
}
// Every element times `times`, plus the sum of the list.
void blend_kernel(const Call& c, std::span<const Tensor> r) {
  calls++;
  const std::vector<double> x = c.tensor(0).to_vector<double>();
  double more = 0;
  for (const Tensor& t : c[1].tensors())
    for (const double v : t.to_vector<double>()) more += v;
  for (std::size_t i = 0; i < x.size(); i++)
    r[0].data<float>()[i] = static_cast<float>(x[i] * static_cast<double>(c[2].to_int64()) + more);
}
void square_kernel(const Call& c, std::span<const Tensor> r) {
  const std::vector<double> x = c.tensor(0).to_vector<double>();
  for (std::size_t i = 0; i < x.size(); i++) r[0].data<float>()[i] = static_cast<float>(x[i] * x[i]);
}
void halves_meta(const Call& c, Outputs& o) {
  same_meta(c, o);
  o.add(Shape{c.tensor(0).size(0)}, DType::i64);
}
void halves_kernel(const Call& c, std::span<const Tensor> r) {
  const std::vector<double> x = c.tensor(0).to_vector<double>();
  for (std::size_t i = 0; i < x.size(); i++) r[0].data<float>()[i] = static_cast<float>(x[i] / 2);
  for (int64_t i = 0; i < c.tensor(0).size(0).value(); i++) r[1].data<int64_t>()[i] = i;
}
void refuse_kernel(const Call& c, std::span<const Tensor> r) {
  INGOT_REQUIRE(c.tensor(0).to_vector<double>()[0] >= 0, "the first element must not be negative");
  square_kernel(c, r);
}

std::atomic<double> noted;
void note_kernel(const Call& c, std::span<const Tensor>) { noted = c.tensor(0).to_vector<double>()[0]; }

constinit const OpDef kOutside[] = {
    {.schema = "outside::note(Tensor x) -> ()", .meta = [](const Call&, Outputs&) {}, .kernel = note_kernel},
    {.schema = "outside::blend(Tensor x, Tensor[] others, SymInt times) -> Tensor", .meta = same_meta, .kernel = blend_kernel},
    {.schema = "outside::square(Tensor x) -> Tensor",
     .meta = same_meta,
     .kernel = square_kernel,
     .vjp = [](Vjp& v) { v.set(0, v.grad() * v.saved(0) * 2); },
     .saves = {{0}}},
    {.schema = "outside::halves.two(Tensor x) -> (Tensor, Tensor)", .meta = halves_meta, .kernel = halves_kernel},
    {.schema = "outside::refuse(Tensor x) -> Tensor", .meta = same_meta, .kernel = refuse_kernel},
};

class OutsideOp : public CompiledModel {
 protected:
  static void SetUpTestSuite() {
    static const bool registered = (register_ops(kOutside), true);
    (void)registered;
  }
};

Tensor outside(const char* name, Values args) { return call(op(name), args).tensor(); }

TensorList blended(const TensorList& in) {
  const Tensor y = outside("outside::blend", {in[0] + 1, TensorList{in[1], in[1] * 2}, in[0].size(0)});
  return {y * 2, atens<"sort">(y)[0]};  // an op of ours without a lowering beside it
}

TEST_F(OutsideOp, IsCalledByACompiledProgram) {
  ModelContainerRunner model(aot_compile(blended, {randn({5, 4}), randn({4, 3})}, path("f.so"), {}, kOpen));
  for (const int64_t n : kSizes) {
    const TensorList in = {randn({n, 4}), randn({4, 3})};
    expect_close(blended(in), model.run(in));
  }
}

TEST_F(OutsideOp, WithAnOverloadAndTwoResults) {
  const TensorFunction f = [](const TensorList& in) {
    const TensorList r = call(op("outside::halves.two"), {in[0].t()}).tensors();
    return TensorList{r[0] + 1, r[1] * 2};
  };
  const TensorList in = {randn({3, 5})};
  ModelContainerRunner model(aot_compile(f, in, path("f.so")));
  expect_close(f(in), model.run(in));
}

TEST_F(OutsideOp, WithoutResultsIsCalledForWhatItDoes) {
  const TensorFunction f = [](const TensorList& in) {
    call(op("outside::note"), Values{in[0] * 3});
    return TensorList{in[0] + 1};
  };
  ModelContainerRunner model(aot_compile(f, {ones({4})}, path("f.so")));
  noted = 0;
  expect_close({full({4}, 6.0)}, model.run({full({4}, 5.0)}));
  EXPECT_EQ(noted, 15);
}

TEST_F(OutsideOp, RunsOnceARun) {
  const TensorFunction f = [](const TensorList& in) { return TensorList{outside("outside::blend", {in[0], TensorList{}, 3})}; };
  const TensorList in = {randn({3, 5})};
  ModelContainerRunner model(aot_compile(f, in, path("f.so")));
  calls = 0;
  model.run(in);
  EXPECT_EQ(calls, 1);
  std::vector<std::thread> threads;
  for (int k = 0; k < 4; k++) threads.emplace_back([&] { expect_close(f(in), model.run(in)); });
  for (std::thread& t : threads) t.join();
}

TEST_F(OutsideOp, HasItsGradientInACompiledFunction) {
  const TensorFunction f = [](const TensorList& in) { return TensorList{outside("outside::square", {in[0] * 3}).sum()}; };
  const aot::AotFunction compiled = aot::memory_efficient_fusion(f);
  Tensor x = randn({4}).requires_grad_(), y = x.detach().clone().requires_grad_();
  f({x})[0].backward();
  compiled(TensorList{y})[0].backward();
  expect_close({x.grad()}, {y.grad()});
}

TEST_F(OutsideOp, RefusalIsTheRunsError) {
  const TensorFunction f = [](const TensorList& in) { return TensorList{outside("outside::refuse", {in[0]})}; };
  ModelContainerRunner model(aot_compile(f, {ones({2})}, path("f.so")));
  expect_close({ones({2})}, model.run({ones({2})}));
  const std::string message = error_of([&] { model.run({-ones({2})}); });
  EXPECT_NE(message.find("refuse"), std::string::npos) << message;
  EXPECT_NE(message.find("the first element must not be negative"), std::string::npos) << message;
}

// A process without the op, which plain C is, is told so when it loads the library, not when it
// runs it.
TEST_F(OutsideOp, AProcessWithoutItIsToldWhenItLoadsTheLibrary) {
  aot_compile(blended, {randn({5, 4}), randn({4, 3})}, path("f.so"), {}, kOpen);
  write(0, randn({5, 4}));
  write(1, randn({4, 3}));
  const std::string log = path("log"), command = text(INGOT_MODEL_RUNNER, " ", path("f.so"), " ", path(""), " 2>", log);
  EXPECT_NE(std::system(command.c_str()), 0);
  const Bytes bytes = read("log");
  const std::string said(bytes.begin(), bytes.end());
  EXPECT_NE(said.find("the model calls the operator outside::blend"), std::string::npos) << said;
  EXPECT_NE(said.find("registered"), std::string::npos) << said;
}

// Which names of the state are parts of one storage that is written, a program says; the trace need
// not find it out first.
TEST_F(OutsideOp, AProgramThatSaysWhatItWritesIsTracedOnce) {
  const auto questions_for = [](const Tensor& whole, const Tensor& part) {
    Program p = testing::listed_program({{"forward",
                                          "def forward(self, whole: \"f32[4]\", part: \"f32[2]\", x: \"f32[2]\"):\n"
                                          "    square: \"f32[2]\" = torch.ops.outside.square.default(x)\n"
                                          "    add: \"f32[2]\" = torch.ops.aten.add.Tensor(part, square)\n"
                                          "    sum_1: \"f32[]\" = torch.ops.aten.sum.default(whole)\n"
                                          "    return (add, sum_1)\n",
                                          {"part"}}},
                                        {{"whole", whole}, {"part", part}});
    questions = 0;
    const TracedProgram traced = trace_program(p, p.main());
    EXPECT_EQ(traced.names.constants.size(), 2U);
    return questions.load();
  };
  const Tensor whole = ones({4});
  EXPECT_EQ(questions_for(whole, whole.slice(0, 1, 3)), questions_for(whole, ones({2})));
}

}  // namespace
}  // namespace ingot
