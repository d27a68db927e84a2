// What happens around the partitioner: what it is told, and how forward and backward are compiled
// (R069 to R074).
#include "aot/min_cut.hpp"
#include "aot/compile_report.hpp"
#include "autograd/node.hpp"
#include "support/aot_harness.hpp"

namespace ingot::aot {
namespace {

using AotPartitionSteps = AotHarness;

TEST_F(AotPartitionSteps, R069_TheForwardReturnsUpdatesOutputsAndBases) {
  int found = -1;
  const auto f = [](const TensorList& in) {
    Tensor(in[0]).mul_(2);
    const Tensor base = in[0] + in[1];
    return TensorList{in[1].sin(), base.view({6}), base.t()};
  };
  const auto count = [&](const Joint& j) {
    found = j.forward_outputs;
    return partition_default(j);
  };
  const Tensor x = randn({2, 3}).requires_grad_(), y = randn({2, 3}).requires_grad_();
  aot_function(TensorFunction(f), {.partition = count})(TensorList{x.clone(), y});
  EXPECT_EQ(found, 1 + 3 + 1);  // the input that is written back, the outputs, what two of them are views of
}

TEST_F(AotPartitionSteps, R070_WhatComesAfterThatIsSaved) {
  for (const bool dynamic : {false, true}) {
    int returned = 0, tensors = 0, integers = 0;
    std::size_t outputs = 0, inputs = 0;
    const AotFunction f =
        aot_function(TensorFunction([](const TensorList& in) { return TensorList{in[0].sum({1}) * in[1].sin()}; }),
                     {.forward =
                          [&](std::shared_ptr<const Graph> g, const Values& examples) {
                            outputs = g->outputs.size();
                            return nop(std::move(g), examples);
                          },
                      .backward =
                          [&](std::shared_ptr<const Graph> g, const Values& examples) {
                            inputs = examples.size();
                            return nop(std::move(g), examples);
                          },
                      .partition =
                          [&](const Joint& j) {
                            Parts p = partition_default(j);
                            returned = j.forward_outputs;
                            tensors = p.saved_tensors;
                            integers = p.saved_integers;
                            return p;
                          },
                      .dynamic = dynamic});
    f(TensorList{randn({3, 4}).requires_grad_(), randn({3}).requires_grad_()})[0].sum().backward();
    EXPECT_EQ(outputs, static_cast<std::size_t>(returned + tensors + integers));
    EXPECT_EQ(inputs, static_cast<std::size_t>(integers + tensors + 1));
    EXPECT_GT(tensors, 0);
    EXPECT_EQ(integers > 0, dynamic);
  }
}

TEST_F(AotPartitionSteps, R071_R133_AutogradDoesNotKnowInputsWithoutAGradient) {
  const auto f = [](const TensorList& in) { return TensorList{in[0].sin() + detached(in[1])}; };
  const Tensor x = randn({3}).requires_grad_(), y = randn({3}).requires_grad_();
  const Tensor out = aot_function(TensorFunction(f))(TensorList{x, y})[0];
  int known = 0;
  for (const Edge& e : grad_fn(out)->edges) known += static_cast<bool>(e.node);
  EXPECT_EQ(known, 1);
  out.sum().backward();
  EXPECT_TRUE(x.grad().defined());
  EXPECT_FALSE(y.grad().defined());
}

// Eager knows of a history here, which leads nowhere.
TEST_F(AotPartitionSteps, R071_X03_AnOutputWhoseGradientsAllEndHasNoHistory) {
  const auto f = [](const TensorList& in) {
    return custom_function(
        "Ends", {in[0]}, [](FunctionContext&, const TensorList& x) { return TensorList{x[0].sin()}; },
        [](FunctionContext&, const TensorList&) { return TensorList{Tensor()}; });
  };
  const Tensor x = randn({3}).requires_grad_();
  EXPECT_FALSE(grad({f({x})[0].sum()}, {x}, {}, {.allow_unused = true})[0].defined());
  const Tensor y = aot_function(f)(TensorList{x})[0];
  EXPECT_NE(error_of([&] {
              grad({y.sum()}, {x}, {}, {.allow_unused = true});
            }).find("does not require grad and does not have a grad_fn"),
            std::string::npos);
}

TEST_F(AotPartitionSteps, R072_AForwardIsCompiledWithFakesOfThePrimals) {
  Values given;
  bool grad_mode = true;
  const AotFunction f = aot_function(TensorFunction([](const TensorList& in) { return TensorList{in[0].mm(in[1])}; }),
                                     {.forward = [&](std::shared_ptr<const Graph> g, const Values& examples) {
                                       given = examples;
                                       grad_mode = thread_state().grad_mode;
                                       EXPECT_EQ(examples.size(), g->inputs().size());
                                       return nop(std::move(g), examples);
                                     }});
  f(TensorList{randn({2, 3}).requires_grad_(), randn({3, 4})});
  ASSERT_EQ(given.size(), 2u);
  EXPECT_EQ(to_text(given[0].tensor().sizes()), "[2, 3]");
  EXPECT_EQ(to_text(given[1].tensor().sizes()), "[3, 4]");
  EXPECT_TRUE(given[0].tensor()->is_fake());
  EXPECT_FALSE(grad_mode);
}

// A compiler whose forward returns every matrix by columns.
Boxed by_columns(const std::shared_ptr<const Graph>& g, const Values& examples) {
  OutputStrides strides;
  for (const Argument& a : g->outputs) {
    const Tensor t = a.is_node() ? a.node()->meta.tensor() : Tensor();
    strides.push_back(t.defined() && t.dim() == 2 ? std::optional<Shape>(Shape{1, t.size(0)}) : std::nullopt);
  }
  report_output_strides(strides);
  return [run = nop(g, examples)](Values& arguments) {
    Values out = run(arguments);
    for (Value& v : out)
      if (v.is_tensor() && v.tensor().dim() == 2) v = v.tensor().t().contiguous().t();
    return out;
  };
}

TEST_F(AotPartitionSteps, R073_ABackwardIsCompiledForTheStridesThatTheForwardReports) {
  for (const bool dynamic : {false, true}) {
    std::vector<std::string> strides;
    const auto f = [](const TensorList& in) { return TensorList{in[0].mm(in[1]).sin().exp()}; };
    const AotFunction compiled = aot_function(
        TensorFunction(f), {.forward = by_columns,
                            .backward =
                                [&](std::shared_ptr<const Graph> g, const Values& examples) {
                                  for (std::size_t k = 0; k < examples.size(); k++)
                                    if (examples[k].is_tensor())
                                      strides.push_back(text(g->inputs()[k]->name, " ", examples[k].tensor().strides()));
                                  return nop(std::move(g), examples);
                                },
                            .dynamic = dynamic});
    const TensorList want{randn({2, 3}).requires_grad_(), randn({3, 4}).requires_grad_()};
    const TensorList found{detached(want[0]).clone().requires_grad_(), detached(want[1]).clone().requires_grad_()};
    f(want)[0].sum().backward();
    compiled(found)[0].sum().backward();
    for (std::size_t k = 0; k < 2; k++) EXPECT_EQ(want[k].grad().to_vector<double>(), found[k].grad().to_vector<double>());
    if (dynamic) continue;
    EXPECT_EQ(strides,
              std::vector<std::string>({"primals_1 [1, 2]", "primals_2 [1, 3]", "mm [1, 2]", "exp [1, 2]", "tangents_1 [4, 1]"}));
  }
}

TEST_F(AotPartitionSteps, R074_ABackwardOfOpenSizesIsCompiledAtOnce) {
  const auto f = [](const TensorList& in) { return TensorList{in[0].sum({1})}; };
  for (const bool dynamic : {false, true}) {
    int compilations = 0;
    const AotFunction compiled =
        aot_function(TensorFunction(f), {.backward =
                                             [&](std::shared_ptr<const Graph> g, const Values& examples) {
                                               compilations++;
                                               return nop(std::move(g), examples);
                                             },
                                         .dynamic = dynamic});
    const Tensor y = compiled(TensorList{randn({3, 4}).requires_grad_()})[0];
    EXPECT_EQ(compilations, dynamic ? 1 : 0);
    y.sum().backward();
    EXPECT_EQ(compilations, 1);
  }
}

// No size is saved, but the backward's compiler asks about one: the answer is a guard of the
// function.
TEST_F(AotPartitionSteps, WhatTheBackwardNeedsOfOpenSizesIsAGuard) {
  std::vector<bool> are_many;
  const AotFunction f = aot_function(TensorFunction([](const TensorList& in) { return TensorList{in[0].exp()}; }),
                                     {.backward =
                                          [&](std::shared_ptr<const Graph> g, const Values& examples) {
                                            are_many.push_back(examples[0].tensor().size(0) > 6);
                                            return nop(std::move(g), examples);
                                          },
                                      .dynamic = true});
  for (const int n : {7, 9, 4, 3, 8}) {
    const Tensor x = zeros({n, 2}).requires_grad_();
    f(TensorList{x})[0].sum().backward();
    EXPECT_EQ(x.grad().to_vector<double>(), std::vector<double>(static_cast<std::size_t>(n) * 2, 1.0));
  }
  EXPECT_EQ(are_many, (std::vector<bool>{true, false}));
}

TEST_F(AotPartitionSteps, R074_ItsFailureIsNoErrorUntilItIsNeeded) {
  std::string log;
  bool broken = true;
  const AotFunction f = aot_function(TensorFunction([](const TensorList& in) { return TensorList{in[0].sum({1})}; }),
                                     {.backward =
                                          [&](std::shared_ptr<const Graph> g, const Values& examples) {
                                            INGOT_REQUIRE(!broken, "no such machine");
                                            return nop(std::move(g), examples);
                                          },
                                      .dynamic = true,
                                      .log = [&](const std::string& line) { log += line; }});
  const Tensor x = randn({3, 4}).requires_grad_(), y = f(TensorList{x})[0];
  EXPECT_EQ(log, "failed to eagerly compile backwards for dynamic, suppressing in case backwards not needed: no such machine");
  EXPECT_NE(error_of([&] { y.sum().backward(); }).find("no such machine"), std::string::npos);
  broken = false;
  const Tensor z = f(TensorList{x})[0];
  z.sum().backward();
  EXPECT_EQ(x.grad().to_vector<double>(), std::vector<double>(12, 1.0));
}

}  // namespace
}  // namespace ingot::aot
