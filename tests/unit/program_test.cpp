// Programs that no file brought: several entry points over one state, and what they write to it.
#include <gtest/gtest.h>

#include "format/pt2/load.hpp"
#include "format/pt2/write.hpp"
#include "graph/copy.hpp"
#include "graph/text.hpp"
#include "ingot/ingot.hpp"
#include "support/error_text.hpp"
#include "support/listed_program.hpp"

namespace ingot {
namespace {

using testing::listed_program;

// A counter: `step` adds to it and returns what it was, `read` scales it.
Program counter(const Tensor& n) {
  return listed_program({{"step",
                          R"(def forward(self, n, x):
    add = torch.ops.aten.add.Tensor(n, x);  x = None
    return (add, n)
)",
                          {"n"}},
                         {"read", R"(def forward(self, x, n):
    mul = torch.ops.aten.mul.Tensor(x, n);  x = n = None
    return (mul,)
)"}},
                        {{"n", n}});
}

std::vector<float> floats(const Value& v) { return v.tensor().to_vector<float>(); }

TEST(ProgramEntries, ShareOneState) {
  Program p = counter(tensor({10.}));
  const std::size_t read = p.entry_named("read");
  EXPECT_EQ(read, 1u);
  EXPECT_EQ(&p.main(), &p.entries[0]);
  const Values before = p.run(Values{tensor({1.})});
  ASSERT_EQ(before.size(), 1u);
  EXPECT_EQ(floats(p.run(Values{tensor({2.})}, read)[0]), std::vector<float>{22});
  EXPECT_EQ(floats(p.run(Values{tensor({5.})})[0]), std::vector<float>{11});
  EXPECT_EQ(floats(p.run(Values{tensor({1.})}, read)[0]), std::vector<float>{16});
  EXPECT_EQ(floats(before[0]), std::vector<float>{10});  // a result is none of the state
  EXPECT_EQ(floats(p.state.at("n").tensor), std::vector<float>{16});
}

TEST(ProgramEntries, AreFoundByName) {
  const Program p = counter(tensor({0.}));
  EXPECT_EQ(error_of([&] { (void)p.entry_named("write"); }), "listed: there is no entry point 'write'; it has step, read");
  EXPECT_EQ(error_of([&] { (void)counter(tensor({0.})).run(Values{}, 1); }), "listed takes 1 inputs, found 0");
}

// A graph says what its inputs and results are to those who made it, and so does its entry point.
TEST(ProgramEntries, HaveTheRolesOfTheirGraphs) {
  const Graph backward = parse_graph(R"(def forward(self, unused, kept: "saved", seed: "tangent"):
    mul: "gradient" = torch.ops.aten.mul.Tensor(seed, kept);  kept = None
    neg = torch.ops.aten.neg.default(seed)
    return [mul, neg, mul, seed]
)");
  const auto roles = [](const EntryPoint& e) {
    std::vector<Role> all;
    for (const InputSpec& s : e.inputs) all.push_back(s.role);
    for (const OutputSpec& s : e.outputs) all.push_back(s.role);
    return all;
  };
  const std::vector<Role> all{Role::value, Role::saved, Role::tangent, Role::gradient, Role::value, Role::gradient, Role::value};
  const EntryPoint e = function_entry("backward", clone(backward), {});
  EXPECT_EQ(roles(e), all);
  // They are the caller's all the same.
  EXPECT_EQ(e.user_inputs().size(), 3u);
  EXPECT_EQ(e.result_leaves().size(), 4u);

  // A trace of it has other nodes, takes what it needs, and says nothing.
  Graph traced = parse_graph(R"(def forward(self, arg0_1, arg1_1):
    mul = torch.ops.aten.mul.Tensor(arg0_1, arg1_1);  arg0_1 = None
    neg = torch.ops.aten.neg.default(arg1_1)
    return [mul, neg, mul, arg1_1]
)");
  hand_on_roles(backward, std::vector<std::size_t>{1, 2}, traced);
  EXPECT_EQ(roles(function_entry("backward", std::move(traced), {})), std::vector<Role>(all.begin() + 1, all.end()));
}

// A .pt2 file has a place for one entry point of a program; one that is made by hand is written as
// any other.
TEST(ProgramEntries, AreFilesOfTheirOwn) {
  const std::string file = ::testing::TempDir() + "program_entries.pt2";
  Pt2Program both;
  both.program = counter(tensor({3.}));
  EXPECT_EQ(error_of([&] { save_pt2(file, both); }), "listed: a .pt2 file holds programs of one entry point, this one has 2");
  both.program.entries.pop_back();
  both.program.main().call_spec = CallSpec{flatten(Tree::tuple({Tree::tuple({Tree()}), Tree::dict({})})).spec,
                                           flatten(Tree::tuple({Tree()})).spec, std::vector<std::string>{"x"}};
  save_pt2(file, both);
  Program back = load_pt2(file);
  EXPECT_EQ(floats(back.call(Tree::tuple({tensor({4.})}))[0].leaf()), std::vector<float>{3});
  EXPECT_EQ(floats(back.state.at("n").tensor), std::vector<float>{7});
  EXPECT_EQ(back.main().input_leaves().at(0).name, "x");
}

}  // namespace
}  // namespace ingot
