// Passes: run in order, left out, timed, held to the rules of graphs.
#include "pass/pass.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "graph/copy.hpp"
#include "graph/text.hpp"
#include "graph/trace.hpp"
#include "graph/verify.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "op/function.hpp"
#include "pass/dead_code.hpp"
#include "pass/merge_equal.hpp"
#include "support/error_text.hpp"
#include "tensor/impl.hpp"
#include "tensor/random.hpp"

namespace ingot {
namespace {

Graph example() {
  return parse_graph(R"(def forward(self, x, y):
    sin = torch.ops.aten.sin.default(x)
    sin_1 = torch.ops.aten.sin.default(x)
    cos = torch.ops.aten.cos.default(x)
    mul = torch.ops.aten.mul.Tensor(sin, sin_1)
    return (mul,)
)");
}
std::vector<std::string> names_of(const Graph& g) {
  std::vector<std::string> names;
  for (const auto& n : g.nodes()) names.push_back(n->name);
  return names;
}
using Names = std::vector<std::string>;
// What no pass may make: a result that is a node of the graph before.
Graph bad(const Graph& g) {
  Graph to;
  to.placeholder("x");
  to.outputs = {g.outputs[0]};
  return to;
}

// The graph with another record of what its last node makes.
Graph recording(const Graph& g, const Tensor& record) {
  Graph to = clone(g);
  to.nodes().back()->meta = record;
  return to;
}

TEST(Passes, RunInOrderAndAreReported) {
  std::vector<std::string> said;
  const PassScope scope({.after = [&](const PassDone& d) {
    EXPECT_GE(d.seconds, 0);
    said.push_back(text(d.name, " ", d.nodes_before, " ", d.graph.nodes().size()));
  }});
  const Graph made = run_passes(example(), std::array{dead_code_pass(), merge_equal_pass(1)});
  EXPECT_EQ(names_of(made), (Names{"x", "y", "sin", "mul"}));
  EXPECT_EQ(said, (Names{"dead_code 6 5", "merge_equal 5 4"}));
}

TEST(Passes, AreSkippedByName) {
  const std::array passes{dead_code_pass(), merge_equal_pass(1)};
  const PassScope all({});
  {
    const PassScope none({.skip = {"dead_code", "merge_equal"}});
    EXPECT_EQ(names_of(run_passes(example(), passes)), names_of(example()));
  }
  const PassScope one({.skip = {"merge_equal"}});
  EXPECT_EQ(names_of(run_passes(example(), passes)), (Names{"x", "y", "sin", "sin_1", "mul"}));
}

// A compiler inside of what somebody watches is watched as well.
TEST(Passes, ScopesNest) {
  std::vector<std::string> outer, inner;
  const auto told = [](std::vector<std::string>& to) { return [&to](const PassDone& d) { to.emplace_back(d.name); }; };
  const std::array passes{dead_code_pass(), merge_equal_pass(1)};
  const PassScope around({.skip = {"dead_code"}, .after = told(outer)});
  {
    const PassScope within({.skip = {"merge_equal"}, .after = told(inner)});
    EXPECT_EQ(skipped_passes(), (std::set<std::string, std::less<>>{"dead_code", "merge_equal"}));
    EXPECT_EQ(names_of(run_passes(example(), passes)), names_of(example()));
  }
  {
    const PassScope within({.after = told(inner)});
    run_passes(example(), passes);
  }
  run_passes(example(), passes);
  EXPECT_EQ(inner, (Names{"merge_equal"}));
  EXPECT_EQ(outer, (Names{"merge_equal", "merge_equal"}));
}

TEST(Passes, ARequiredOneCannotBeSkipped) {
  const std::array passes{dead_code_pass(), Pass{"needed", without_dead_code, true}, merge_equal_pass(1), dead_code_pass()};
  const PassScope scope({.skip = {"needed"}});
  EXPECT_EQ(error_of([&] { run_passes(example(), passes); }),
            "pass 'needed' cannot be skipped: what comes after it needs what it makes; those that can be skipped are "
            "dead_code, merge_equal");
  EXPECT_EQ(error_of([&] { run_passes(example(), std::array{passes[1]}); }),
            "pass 'needed' cannot be skipped: what comes after it needs what it makes; those that can be skipped are none");
}

// In the words in which a stage is refused that does not exist.
TEST(Passes, OneThatDoesNotExistCannotBeSkipped) {
  const std::array steps{StepName{"dead_code"}, StepName{"needed", true}, StepName{"merge_equal"}};
  const PassScope around({.skip = {"merge_equal"}});
  EXPECT_EQ(error_of([&] { require_skippable(steps); }), "no error");
  const PassScope scope({.skip = {"merge_equals"}});
  EXPECT_EQ(error_of([&] { require_skippable(steps); }),
            "there is no pass 'merge_equals' to skip; those that can be skipped are dead_code, merge_equal");
  // A run of a few passes knows those few alone.
  EXPECT_EQ(error_of([] { run_passes(example(), std::array{dead_code_pass()}); }), "no error");
}

TEST(Passes, ABadOneIsNamed) {
  setenv("INGOT_VERIFY", "1", 1);  // as all tests have it by their presets
  try {
    run_passes(example(), std::array{dead_code_pass(), Pass{"my_rewrite", bad}});
    FAIL() << "the graph was taken";
  } catch (const InternalError& e) {
    EXPECT_NE(std::string(e.what()).find("pass 'my_rewrite' made a graph that breaks a rule: "), std::string::npos) << e.what();
  }
}

// What it records of a value is not what the op makes.
TEST(Passes, OneThatRecordsWhatNoOpMakesIsNamed) {
  setenv("INGOT_VERIFY", "1", 1);
  const Traced traced = trace([](const TensorList& in) { return TensorList{in[0].sin() * in[1]}; }, {ones({2, 3}), ones({3})});
  const auto fault = [&](const Tensor& record) -> std::string {
    try {
      run_passes(traced.graph,
                 std::array{dead_code_pass(), Pass{"my_rewrite", [&](const Graph& g) { return recording(g, record); }}});
      return "none";
    } catch (const InternalError& e) {
      const std::string what = e.what(), start = "pass 'my_rewrite' made a graph that breaks a rule: ";
      const std::size_t at = what.find(start);
      return at == what.npos ? what : what.substr(at + start.size(), what.find('\n') - at - start.size());
    }
  };
  const auto record = [](const Shape& sizes, DType dtype) { return make_tensor(Geometry::contiguous(sizes, dtype), {}, true); };
  EXPECT_EQ(fault(record({2, 3}, DType::f32)), "none");
  EXPECT_EQ(fault(record({2, 3}, DType::f64)),
            "node mul: records f64[2, 3][3, 1]cpu, and aten::mul.Tensor makes f32[2, 3][3, 1]cpu");
  EXPECT_EQ(fault(record({2, 4}, DType::f32)),
            "node mul: records f32[2, 4][4, 1]cpu, and aten::mul.Tensor makes f32[2, 3][3, 1]cpu");
}

// The rule that the pass breaks; "none".
std::string fault_after(const Graph& g, const std::function<Graph(const Graph&)>& rewrite) {
  try {
    run_passes(g, std::array{Pass{"my_rewrite", rewrite}});
    return "none";
  } catch (const InternalError& e) {
    const std::string what = e.what(), start = "pass 'my_rewrite' made a graph that breaks a rule: ";
    const std::size_t at = what.find(start);
    return at == what.npos ? what : what.substr(at + start.size(), what.find('\n') - at - start.size());
  }
}
Graph with_results(const Graph& g, const std::vector<Argument>& more) {
  Graph to = clone(g);
  to.outputs.insert(to.outputs.end(), more.begin(), more.end());
  return to;
}

// What a graph may hand on exempts nothing else that a pass makes of it.
TEST(Passes, ABadOneIsNamedWhereTheGraphHandsOnWhatItDoesNotKnow) {
  setenv("INGOT_VERIFY", "1", 1);
  const Value stream = make_ref<Generator>(1), function = make_function([](Args) { return Values(); });
  Graph draws;
  Node* x = draws.placeholder("x");
  draws.outputs = {draws.call(op("mul.Tensor"), {x, draws.call(op("rand.generator"), {Value(Shape{3}), stream})})};
  draws.nodes().back()->meta = make_tensor(Geometry::contiguous({3}, DType::f32), {}, true);
  for (const Graph& g : {with_results(draws, {}), with_results(example(), {stream}), with_results(example(), {function})}) {
    SCOPED_TRACE(print(g));
    EXPECT_NE(find_fault(g), "");
    EXPECT_EQ(fault_after(g, without_dead_code), "none");
    const Node* result = g.outputs[0].node();
    const std::string foreign = text("the results: uses ", result->name, ", which is a node of another graph");
    EXPECT_EQ(fault_after(g, bad), foreign);
    EXPECT_EQ(fault_after(g, [&](const Graph& from) { return with_results(from, {g.outputs[0]}); }), foreign);
  }
  // A stream that stands for a tensor is no stream that is handed on; nor is a function an operand.
  const auto over = [](const Value& v) {
    return [v](const Graph& from) {
      Graph to = clone(from);
      to.nodes().back()->args[0] = v;
      return to;
    };
  };
  EXPECT_EQ(fault_after(draws, over(stream)).find("node mul: argument 'self' (position 1) must be Tensor, not "), 0u);
  EXPECT_EQ(fault_after(draws, over(function)), "node mul: uses a function, which must be an attribute of the graph");
  // Records are held to the ops as ever.
  EXPECT_EQ(fault_after(with_results(draws, {stream}),
                        [&](const Graph& from) {
                          Graph to = clone(from);
                          to.nodes().front()->meta = make_tensor(Geometry::contiguous({3}, DType::f64), {}, true);
                          to.nodes()[1]->meta = to.nodes().back()->meta;
                          return to;
                        }),
            "node mul: records f32[3][1]cpu, and aten::mul.Tensor makes f64[3][1]cpu");
}

// Sizes that somebody made up exempt what is recorded, and nothing else; what breaks another rule
// is never made right by what was there before.
TEST(Passes, ABadOneIsNamedWhereTheGraphHasFaultsOfItsOwn) {
  setenv("INGOT_VERIFY", "1", 1);
  const Traced traced = trace([](const TensorList& in) { return TensorList{in[0].sin() * in[1]}; }, {ones({2, 3}), ones({3})});
  const Graph made_up = recording(traced.graph, make_tensor(Geometry::contiguous({7}, DType::f64), {}, true));
  EXPECT_EQ(fault_after(made_up, without_dead_code), "none");
  EXPECT_EQ(fault_after(made_up, bad), "the results: uses mul, which is a node of another graph");
  const Graph right = example(), wrong = bad(right);
  EXPECT_EQ(fault_after(wrong, bad), "the results: uses mul, which is a node of another graph");
  EXPECT_EQ(fault_after(wrong, [&](const Graph&) { return clone(right); }), "none");
}

// Each has a symbol of its own for what the data decides, of which later values may be made.
TEST(Passes, CallsWhoseSizesTheDataDecidesStayApart) {
  const Traced traced = trace(
      [](const TensorList& in) {
        const Tensor first = aten<"nonzero">(in[0]), second = aten<"nonzero">(in[0]);
        const Scalar a = in[1].item(), b = in[1].item();
        return TensorList{first + 1, second + 1, in[0] * a, in[0] * b};
      },
      {ones({4}), full({}, 2.0).to(DType::i64)});
  const auto count = [](const Graph& g, std::string_view name) {
    return std::count_if(g.nodes().begin(), g.nodes().end(),
                         [&](const auto& n) { return n->kind == NodeKind::call && n->op->qualified() == name; });
  };
  const Graph merged = merge_equal_calls(traced.graph, 0);
  EXPECT_EQ(count(traced.graph, "aten::nonzero"), 2);
  EXPECT_EQ(count(merged, "aten::nonzero"), 2);
  EXPECT_EQ(count(merged, "aten::_local_scalar_dense"), 2);
  verify(merged);
}

// What stands in a vmap is one member's, whatever it is made of.
TEST(Passes, EqualCallsInAVmapAndBehindItStayApart) {
  const Graph g = parse_graph(R"(def forward(self, x, y):
    cos = torch.ops.aten.cos.default(y)
    begin = torch._functorch.predispatch._vmap_increment_nesting(2, 'error')
    a = torch._functorch.predispatch._add_batch_dim(x, 0, 1)
    cos_1 = torch.ops.aten.cos.default(y)
    sin = torch.ops.aten.sin.default(y)
    mul = torch.ops.aten.mul.Tensor(a, sin)
    mul_1 = torch.ops.aten.mul.Tensor(mul, cos_1)
    r = torch._functorch.predispatch._remove_batch_dim(mul_1, 1, 2, 0)
    end = torch._functorch.predispatch._vmap_decrement_nesting()
    sin_1 = torch.ops.aten.sin.default(y)
    add = torch.ops.aten.add.Tensor(r, sin_1)
    return (add,)
)");
  const Graph merged = merge_equal_calls(g, 1);
  EXPECT_EQ(names_of(merged), (Names{"x", "y", "cos", "begin", "a", "sin", "mul", "mul_1", "r", "end", "sin_1", "add"}));
  verify(merged);
}

TEST(Passes, EqualCallsAroundAWriteStayApart) {
  const Graph g = parse_graph(R"(def forward(self, x, y):
    t = torch.ops.aten.t.default(x)
    sin = torch.ops.aten.sin.default(t)
    cos = torch.ops.aten.cos.default(y)
    copy_ = torch.ops.aten.copy_.default(x, sin)
    sin_1 = torch.ops.aten.sin.default(t)
    cos_1 = torch.ops.aten.cos.default(y)
    add = torch.ops.aten.add.Tensor(sin_1, cos)
    add_1 = torch.ops.aten.add.Tensor(add, cos_1)
    return (add_1,)
)");
  EXPECT_EQ(names_of(merge_equal_calls(g, 1)), (Names{"x", "y", "t", "sin", "cos", "copy_", "sin_1", "add", "add_1"}));
}

}  // namespace
}  // namespace ingot
