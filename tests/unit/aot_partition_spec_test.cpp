// The partitioning tests of the dispatch specification (A125, A167 to A173): how much a forward
// takes and returns, and a backward.
#include <algorithm>

#include "aot/min_cut.hpp"
#include "ingot/decompositions.hpp"
#include "support/aot_harness.hpp"

namespace ingot::aot {
namespace {

using Counts = std::pair<std::size_t, std::size_t>;

class AotPartitionSpec : public AotHarness {
 protected:
  std::shared_ptr<const Graph> forward_, backward_;

  void TearDown() override {
    forward_ = backward_ = nullptr;
    AotHarness::TearDown();
  }
  static Partitioner min_cut_partition() {
    return [](const Joint& j) { return partition_min_cut(j); };
  }
  static Compiler keep(std::shared_ptr<const Graph>& graph) {
    return [&graph](std::shared_ptr<const Graph> g, const Values& examples) {
      graph = g;
      return nop(std::move(g), examples);
    };
  }
  // get_fw_bw_graph of section 7.
  AotOptions options(Partitioner partition, bool dynamic = false, bool one_symbol_for_equal_sizes = true) {
    return {.forward = keep(forward_),
            .backward = keep(backward_),
            .partition = std::move(partition),
            .decompositions = &default_decompositions(),
            .dynamic = dynamic,
            .one_symbol_for_equal_sizes = one_symbol_for_equal_sizes};
  }
  static Counts counts(const Graph& g) { return {g.inputs().size(), g.outputs.size()}; }
  static std::vector<bool> symbolic(const Graph& g) {
    std::vector<bool> mask;
    for (const Argument& a : g.outputs) mask.push_back(a.is_node() && a.node()->meta.is_int());
    return mask;
  }
  static Tensor leaf(const Shape& sizes) { return randn(sizes).requires_grad_(); }
};

TEST_F(AotPartitionSpec, A125_AnOutputThatIsAViewByOpenSizes) {
  const auto f = [](const TensorList& in) { return TensorList{aten<"expand">(in[0], in[0].sizes())}; };
  const Tensor x = leaf({5});
  const AotFunction compiled = aot_function(f, {.partition = min_cut_partition(), .dynamic = true});
  const Tensor y = compiled(TensorList{x})[0];
  EXPECT_EQ(detached(y).to_vector<double>(), detached(x).to_vector<double>());
  y.sum().backward();
  EXPECT_EQ(x.grad().to_vector<double>(), std::vector<double>(5, 1.0));
  verify(f, {leaf({5})}, {.dynamic = true, .partition = min_cut_partition()});
}

TEST_F(AotPartitionSpec, A167_APartWithoutGreatCostIsComputedAgain) {
  verify([](const TensorList& in) { return TensorList{in[0].sin().sin() + in[1]}; },
         {rand({10, 10}).requires_grad_(), rand({10, 10}).requires_grad_()}, {.partition = min_cut_partition()});
}

TEST_F(AotPartitionSpec, A168_EveryNodeOfTheForwardKnowsItsShapeAndType) {
  const Tensor w = randn({3072, 768}), b = randn({3072});
  const AotFunction f = aot_function([&](const TensorList& in) { return TensorList{aten<"gelu">(aten<"linear">(in[0], w, b))}; },
                                     {.forward = keep(forward_)});
  f(TensorList{leaf({16, 128, 768})});
  ASSERT_TRUE(forward_);
  EXPECT_GT(forward_->nodes().size(), 3u);
  for (const auto& n : forward_->nodes()) EXPECT_TRUE(n->meta.is_tensor()) << n->name;
}

TEST_F(AotPartitionSpec, A169_R113_ResultsOfAListAreKeptEachByItself) {
  const AotFunction f =
      aot_function([](const TensorList& in) { return TensorList{aten<"layer_norm">(in[0], Shape{10}, in[1], in[2], 1e-6)}; },
                   options(partition_default));
  f(TensorList{leaf({3, 10}), leaf({10}), leaf({10})})[0].sum().backward();
  EXPECT_EQ(counts(*forward_), Counts(3, 6)) << print(*forward_);
  EXPECT_EQ(counts(*backward_), Counts(6, 3)) << print(*backward_);
}

TEST_F(AotPartitionSpec, A170_MinCutKeepsSizes) {
  const AotFunction sum =
      aot_function([](const TensorList& in) { return TensorList{in[0].sum({1})}; }, options(min_cut_partition(), true, false));
  sum(TensorList{ones({10, 10}).requires_grad_()})[0].sum().backward();
  EXPECT_EQ(counts(*forward_), Counts(1, 3)) << print(*forward_);
  EXPECT_EQ(counts(*backward_), Counts(3, 1)) << print(*backward_);
  EXPECT_EQ(forward_->outputs[0].node()->name, "sum_1");
  EXPECT_EQ(forward_->outputs[1].node()->name, "sym_size_int");
  EXPECT_EQ(forward_->outputs[2].node()->name, "sym_size_int_1");
  // Where equal sizes are one symbol, it is kept once.
  aot_function([](const TensorList& in) { return TensorList{in[0].sum({1})}; },
               options(min_cut_partition(), true))(TensorList{ones({10, 10}).requires_grad_()})[0]
      .sum()
      .backward();
  EXPECT_EQ(counts(*forward_), Counts(1, 2)) << print(*forward_);
  EXPECT_EQ(counts(*backward_), Counts(2, 1)) << print(*backward_);

  const AotFunction join = aot_function(
      [](const TensorList& in) {
        const Tensor &a = in[0], &b = in[1], &c = in[2];
        const Int x = b.size(0) + c.size(0);
        return TensorList{cat({aten<"expand">(a, Shape{x, a.size(0)}), b, c})};
      },
      options(min_cut_partition(), true));
  join(TensorList{leaf({10}), leaf({3, 10}), leaf({2, 10})})[0].sum().backward();
  EXPECT_EQ(counts(*forward_), Counts(3, 4)) << print(*forward_);
  EXPECT_EQ(counts(*backward_), Counts(4, 3)) << print(*backward_);
  EXPECT_EQ(symbolic(*forward_), std::vector<bool>({false, true, true, true})) << print(*forward_);
}

// Of A171 and A172: tensors, and a size among them.
Tree shapes_and_tensors(const Tree& args) {
  const auto in = [&](std::size_t k) { return args.children()[k].leaf().tensor(); };
  const Tensor a = in(0), b = in(1), c = in(2), d = in(3);
  const Int x = b.size(0) + c.size(0);
  const Tensor k = cat({aten<"expand">(a, Shape{x, a.size(0)}), b, c}), m = k.mm(d);
  const Tensor m2 = m.mm(a.view(Shape{m.size(1), a.size(0)}));
  return Tree::tuple({Tree(k), Tree::list({Tree(Value(b.size(0))), Tree(Value(b.size(1)))}), Tree(c), Tree(m2)});
}

class AotTensorsAndShapes : public AotPartitionSpec {
 protected:
  void run(Partitioner partition) {
    const auto inputs = [] { return TensorList{leaf({10}), leaf({3, 10}), leaf({2, 10}), leaf({10, 1})}; };
    const TensorList want = inputs(), found = [&] {
      TensorList copies;
      for (const Tensor& t : want) copies.push_back(detached(t).clone().requires_grad_());
      return copies;
    }();
    const AotFunction compiled = aot_function(TreeFunction(shapes_and_tensors), options(std::move(partition), true));
    const auto call = [](const auto& f, const TensorList& in) {
      std::vector<Tree> leaves(in.begin(), in.end());
      const Values out = flatten(f(Tree::tuple(std::move(leaves)))).leaves;
      (out[0].tensor().sum() + out[3].tensor().sum()).backward();
      return out;
    };
    const Values w = call(shapes_and_tensors, want), g = call(compiled, found);
    ASSERT_EQ(w.size(), g.size());
    for (std::size_t k = 0; k < w.size(); k++) {
      ASSERT_EQ(w[k].is_tensor(), g[k].is_tensor());
      const auto numbers = [](const Value& v) {
        return v.is_tensor() ? detached(v.tensor()).to_vector<double>() : std::vector<double>{v.to_double()};
      };
      EXPECT_EQ(numbers(w[k]), numbers(g[k])) << k;
    }
    for (std::size_t k = 0; k < 3; k++) {
      ASSERT_TRUE(want[k].grad().defined() && found[k].grad().defined()) << k;
      EXPECT_EQ(want[k].grad().to_vector<double>(), found[k].grad().to_vector<double>()) << k;
    }
    EXPECT_FALSE(want[3].grad().defined());  // the compiled backward is one function: what is not asked for is zero in it
    EXPECT_EQ(found[3].grad().to_vector<double>(), std::vector<double>(10, 0.0));
  }
  static std::vector<bool> mask(std::size_t tensors, std::size_t integers) {
    std::vector<bool> m{false, true, true, false, false};
    m.insert(m.end(), tensors, false);
    m.insert(m.end(), integers, true);
    return m;
  }
};

TEST_F(AotTensorsAndShapes, A171_WithTheDefaultPartitioner) {
  run(partition_default);
  EXPECT_EQ(counts(*forward_), Counts(4, 13)) << print(*forward_);
  EXPECT_EQ(counts(*backward_), Counts(10, 4)) << print(*backward_);
  EXPECT_EQ(symbolic(*forward_), mask(4, 4)) << print(*forward_);
}

TEST_F(AotTensorsAndShapes, A172_WithMinCut) {
  run(min_cut_partition());
  EXPECT_EQ(counts(*forward_), Counts(4, 12)) << print(*forward_);
  EXPECT_EQ(counts(*backward_), Counts(9, 4)) << print(*backward_);
  EXPECT_EQ(symbolic(*forward_), mask(4, 3)) << print(*forward_);
}

TEST_F(AotPartitionSpec, A173_OneValueIsEnoughForAChain) {
  const AotFunction chain =
      aot_function([](const TensorList& in) { return TensorList{in[0].cos().cos().cos()}; }, options(min_cut_partition()));
  chain(TensorList{leaf({3})})[0].sum().backward();
  EXPECT_EQ(counts(*forward_), Counts(1, 2)) << print(*forward_);
  EXPECT_EQ(counts(*backward_), Counts(2, 1)) << print(*backward_);

  const AotFunction of_sum = aot_function(
      [](const TensorList& in) { return TensorList{(in[0] + in[1] + in[2] + in[3]).cos().cos()}; }, options(min_cut_partition()));
  of_sum(TensorList{leaf({3}), leaf({3}), leaf({3}), leaf({3})})[0].sum().backward();
  EXPECT_EQ(counts(*forward_), Counts(4, 2)) << print(*forward_);
  EXPECT_EQ(counts(*backward_), Counts(2, 4)) << print(*backward_);
}

}  // namespace
}  // namespace ingot::aot
