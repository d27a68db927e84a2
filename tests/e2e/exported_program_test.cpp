// Modules of C++ as programs, like those that files bring: run, compiled and saved.
#include <gtest/gtest.h>

#include "aot/export.hpp"
#include "compiler/compiled_program.hpp"
#include "format/pt2/load.hpp"
#include "format/pt2/write.hpp"
#include "graph/verify.hpp"
#include "ingot/autograd.hpp"
#include "ingot/ingot.hpp"
#include "ingot/nn.hpp"
#include "op/call.hpp"
#include "support/error_text.hpp"
#include "support/test_folder.hpp"

namespace ingot {
namespace {

using aot::aot_export_program;

// It updates buffers where it trains.
struct Net : nn::Module {
  nn::Linear hidden{4, 6}, out{6, 2};
  nn::BatchNorm1d norm{6};
  Net() {
    add("hidden", hidden);
    add("norm", norm);
    add("out", out);
  }
  Tensor operator()(const Tensor& x) { return out(relu(norm(hidden(x)))); }
  TreeFunction forward() {
    return [this](const Tree& in) { return Tree::dict({{"y", Tree((*this)(in[0].leaf().tensor()))}}); };
  }
  // The loss, and how many there were.
  TreeFunction loss() {
    return [this](const Tree& in) {
      const Tensor y = (*this)(in[0].leaf().tensor());
      return Tree::tuple({Tree((y * y).mean()), Tree(aten<"argmax">(y.detach(), 1))});
    };
  }
};

double size_of(const Tensor& t) { return t.abs().sum().item_double(); }
Tensor y_of(const Tree& results) { return results.children()[0].leaf().tensor(); }

void expect_near(const Tensor& found, const Tensor& wanted) {
  ASSERT_EQ(found.sizes(), wanted.sizes());
  const std::vector<double> f = found.to_vector<double>(), w = wanted.to_vector<double>();
  for (std::size_t i = 0; i < w.size(); i++) EXPECT_NEAR(f[i], w[i], 1e-6);
}

class ExportedProgram : public ::testing::Test {
 protected:
  ExportedProgram() {
    manual_seed(3);
    x_ = randn({5, 4});
    next_ = randn({5, 4});
  }
  const testing::TestFolder folder_;
  Tensor x_, next_;
};

TEST_F(ExportedProgram, RunsOverTheModulesTensors) {
  Net net;
  Program p = aot_export_program(net, net.forward(), Tree::tuple({x_}));
  verify(p.main().graph);
  EXPECT_EQ(p.state.size(), 9u);
  EXPECT_TRUE(p.state.at("hidden.weight").is_parameter && p.state.at("hidden.weight").tensor.is_same(net.hidden.weight));
  const Tensor mean = net.norm.running_mean.clone();

  const Tree found = p.call(Tree::tuple({next_}));
  const Tensor once = net.norm.running_mean.clone();
  EXPECT_GT(size_of(once - mean), 0);  // the module's own buffer has the new value
  expect_near(y_of(found), net(next_));
  EXPECT_GT(size_of(net.norm.running_mean - once), 0);

  net.eval();
  Program fixed = aot_export_program(net, net.forward(), Tree::tuple({x_}));
  expect_near(y_of(fixed.call(Tree::tuple({next_}))), net(next_));
  EXPECT_EQ(error_of([&] { fixed.run(Values{randn({6, 4})}); }), "input args[0].shape[0] must be 5, got 6");
}

TEST_F(ExportedProgram, CompilesWithItsBuffers) {
  Net net;
  Program p = aot_export_program(net, net.forward(), Tree::tuple({x_}));
  const CompiledProgram compiled(p);
  const Tensor found = compiled.run(p, Values{next_})[0].tensor(), mean = net.norm.running_mean.clone();
  expect_near(found, net(next_));
  EXPECT_GT(size_of(mean), 0);
}

TEST_F(ExportedProgram, IsSavedAndReadAgain) {
  Net net;
  net.eval();
  Pt2Program file;
  file.program = aot_export_program(net, net.forward(), Tree::tuple({x_}));
  save_pt2(folder_.file("net.pt2"), file);
  Program again = load_pt2(folder_.file("net.pt2"));
  expect_near(y_of(again.call(Tree::tuple({next_}))), net(next_));
  EXPECT_EQ(again.state.size(), file.program.state.size());
}

TEST_F(ExportedProgram, HasTheGradientsOfALoss) {
  Net net;
  Program p = aot_export_program(net, net.loss(), Tree::tuple({x_}), {.trace_joint = true, .output_loss_index = 0});
  const Values found = p.run(Values{next_});
  ASSERT_EQ(found.size(), 2u);

  const Tree expected = net.loss()(Tree::tuple({next_}));
  expect_near(found[0].tensor(), expected[0].leaf().tensor());
  expected[0].leaf().tensor().backward();
  ASSERT_EQ(p.gradients.size(), net.named_parameters().size());
  for (const auto& [name, t] : net.named_parameters()) expect_near(p.gradients.at(name), t.grad());

  p.gradients.clear();
  const Values of_library = CompiledProgram(p).run(p, Values{next_});
  ASSERT_EQ(of_library.size(), 2u);
  expect_near(of_library[0].tensor(), found[0].tensor());
  for (const auto& [name, t] : net.named_parameters()) expect_near(p.gradients.at(name), t.grad());
}

TEST_F(ExportedProgram, ChecksWhatItFoundOutAboutOpenSizes) {
  Net net;
  net.eval();
  const auto env = std::make_shared<ShapeEnv>();
  const Values fakes = make_fakes({x_}, {{.input = 0, .dim = 0, .name = "n"}}, *env);
  const TreeFunction halves = [&](const Tree& in) {
    const Tensor x = in[0].leaf().tensor();
    return Tree(x.size(0) < 100 && mod(x.size(0), 2) == 1 ? net(x) : net(x) * 0);
  };
  Program p = aot_export_program(net, halves, Tree::tuple({Tree(fakes[0])}), {.sizes = env});
  const Tensor other = randn({7, 4});
  expect_near(p.run(Values{other})[0].tensor(), net(other));
  EXPECT_EQ(error_of([&] { p.run(Values{randn({100, 4})}); }), "input args[0].shape[0] must be <= 99, got 100");
  EXPECT_EQ(error_of([&] { p.run(Values{randn({8, 4})}); }), "Guard failed: n % 2 == 1");
}

}  // namespace
}  // namespace ingot
