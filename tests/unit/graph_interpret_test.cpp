// Running graphs: what they compute is tested with exported programs; here is what they refuse.
#include <gtest/gtest.h>

#include <limits>

#include "graph/interpret.hpp"
#include "graph/text.hpp"
#include "ingot/ingot.hpp"
#include "support/error_text.hpp"

namespace ingot {
namespace {

// All of them, with their places, before anything runs: the branch that is not taken too.
TEST(GraphInterpret, NamesAllUnsupportedNodesAtOnce) {
  const Graph g = parse_graph(R"(class M(torch.nn.Module):
    def forward(self, x):
        # File: model.py:3 in forward, code: y = magic(x)
        f = torch.ops.mine.magic.default(x)
        add_ = torch.ops.aten.add_.Tensor(x, 1)
        a = self.a
        b = self.b
        cond = torch.ops.higher_order.cond(True, a, b, [x])
        return (cond,)
    class a(torch.nn.Module):
        def forward(self, x):
            return (x,)
    class b(torch.nn.Module):
        def forward(self, x):
            # File: branch.py:5 in g, code: torch.other(x)
            other = torch.other(x)
            return (other,)
)");
  const Tensor x = ones({2});
  EXPECT_EQ(error_of([&] { (void)Interpreter(g).run(Values{x}); }),
            "unsupported operator torch.ops.mine.magic.default (node f, at model.py:3)\n"
            "unsupported operator torch.other (node other, at branch.py:5)\n"
            "`ingot ops --missing FILE` lists what a program needs and Ingot does not have");
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{1, 1}));
}

TEST(GraphInterpret, AssertionsSayWhatTheProgramSays) {
  for (const char* call : {"_assert_scalar.default(n, 'n is zero')", "_functional_assert_scalar.default(n, 'n is zero', x)"}) {
    const Graph g = parse_graph(text("def forward(self, x, n):\n    a = torch.ops.aten.", call, "\n    return (x,)\n"));
    EXPECT_EQ(error_of([&] { (void)Interpreter(g).run(Values{ones({2}), Value(0)}); }), "n is zero") << call;
  }
}

TEST(GraphInterpret, PowersOfNumbers) {
  const Graph g = parse_graph("def forward(self, a, b):\n    pow_1 = a ** b\n    return (pow_1,)\n");
  const auto power = [&](int64_t a, int64_t b) { return Interpreter(g).run(Values{Value(a), Value(b)})[0].to_int64(); };
  EXPECT_EQ(power(3, 13), 1594323);
  EXPECT_EQ(power(-2, 63), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(power(1, std::numeric_limits<int64_t>::max()), 1);
  EXPECT_EQ(power(-1, std::numeric_limits<int64_t>::max()), -1);
  EXPECT_EQ(power(7, 0), 1);
  EXPECT_NE(error_of([&] { (void)power(10, 30); }).find("overflow"), std::string::npos);
}

TEST(GraphInterpret, RunsWhatTheTextSays) {
  const Graph g = parse_graph(R"(class M(torch.nn.Module):
    def forward(self, x, n):
        double = n * 2
        a = self.a
        b = self.b
        positive = double > 0
        cond = torch.ops.higher_order.cond(positive, a, b, [x])
        getitem = cond[0]
        max_1 = torch.ops.aten.max.dim(getitem, 0)
        index = max_1[1]
        return (getitem, index, double)
    class a(torch.nn.Module):
        def forward(self, x):
            sub = torch.ops.aten.sub.Tensor(x, 1)
            return (sub,)
    class b(torch.nn.Module):
        def forward(self, x):
            neg = torch.ops.aten.neg.default(x)
            return (neg,)
)");
  const Tensor x = tensor({1., 5, 2});
  const Values yes = Interpreter(g).run(Values{x, Value(1)}), no = Interpreter(g).run(Values{x, Value(-1)});
  EXPECT_EQ(yes[0].tensor().to_vector<float>(), (std::vector<float>{0, 4, 1}));
  EXPECT_EQ(yes[1].tensor().item_int(), 1);
  EXPECT_EQ(yes[2].to_int64(), 2);
  EXPECT_EQ(no[0].tensor().to_vector<float>(), (std::vector<float>{-1, -5, -2}));
  EXPECT_EQ(no[1].tensor().item_int(), 0);
}

TEST(GraphInterpret, TakesElementsOfAnyList) {
  const Graph g = parse_graph("def forward(self, l):\n    a = l[0]\n    b = l[1]\n    return (b, a)\n");
  const auto swapped = [&](Value list) { return list_value(Interpreter(g).run(Values{list})); };
  EXPECT_TRUE(swapped(Shape{1, 2}).same(Shape{2, 1}));
  EXPECT_TRUE(swapped(std::vector<double>{0.5, 2}).same(std::vector<double>{2, 0.5}));
  EXPECT_TRUE(swapped(std::vector<bool>{true, false}).same(std::vector<bool>{false, true}));
  EXPECT_TRUE(swapped(Values{Value("a"), Value("b")}).same(Values{Value("b"), Value("a")}));
  EXPECT_EQ(error_of([&] { (void)swapped(Shape{1}); }), "element 1 of a list of 1 (node b)");
  EXPECT_EQ(error_of([&] { (void)swapped(Value(1)); }), "a list was expected, found int (node a)");
}

// vmap as the exporter leaves it in a program: nodes that begin and end its function.
std::string vmap_program(const std::string& body, const std::string& result) {
  const std::string functorch = "torch._functorch.predispatch.";
  std::string lines;
  for (std::size_t at = 0, end; at < body.size(); at = end + 1) {
    end = body.find('\n', at);
    std::string line = body.substr(at, end - at);
    if (const std::size_t call = line.find('!'); call != line.npos) line.replace(call, 1, functorch);
    lines += "    " + line + "\n";
  }
  return "def forward(self, x, y):\n" + lines + "    return (" + result + ",)\n";
}

TEST(GraphInterpret, RunsVmapsInThePlaceTheyStand) {
  const Tensor x = tensor({1., 2, 3, 4, 5, 6}).reshape({2, 3}), y = tensor({1., 10, 100});
  const auto run = [&](const std::string& body) {
    const Graph g = parse_graph(vmap_program(body, "r"));
    return Interpreter(g).run(Values{x, y})[0].tensor().contiguous().to_vector<float>();
  };
  EXPECT_EQ(run("i = !_vmap_increment_nesting(2, 'error')\n"
                "a = !_add_batch_dim(x, 0, 1)\n"
                "m = torch.ops.aten.mul.Tensor(a, y)\n"
                "s = torch.ops.aten.sum.default(m)\n"
                "r = !_remove_batch_dim(s, 1, 2, 0)\n"
                "d = !_vmap_decrement_nesting()\n"),
            (std::vector<float>{321, 654}));
  // The inner one maps over columns of x and its results lie along the last dim; what it uses of
  // the outer one is a member.
  EXPECT_EQ(run("i = !_vmap_increment_nesting(3, 'error')\n"
                "b = !_add_batch_dim(y, 0, 1)\n"
                "j = !_vmap_increment_nesting(3, 'error')\n"
                "a = !_add_batch_dim(x, 1, 2)\n"
                "m = torch.ops.aten.mul.Tensor(a, b)\n"
                "q = !_remove_batch_dim(m, 2, 3, 1)\n"
                "e = !_vmap_decrement_nesting()\n"
                "r = !_remove_batch_dim(q, 1, 3, 0)\n"
                "d = !_vmap_decrement_nesting()\n"),
            (y.reshape({3, 1, 1}) * x).to_vector<float>());
}

TEST(GraphInterpret, RefusesVmapsThatDoNotEndOrAreNotLeft) {
  const auto error = [](const std::string& body, const std::string& result) {
    const Graph g = parse_graph(vmap_program(body, result));
    return error_of([&] { (void)Interpreter(g).run(Values{ones({2}), ones({2})}); });
  };
  const std::string begin = "i = !_vmap_increment_nesting(2, 'error')\na = !_add_batch_dim(x, 0, 1)\n";
  EXPECT_EQ(error(begin, "a"), "i: the vmap that it begins does not end");
  EXPECT_EQ(error("a = !_add_batch_dim(x, 0, 1)\n", "a"), "a: torch._functorch.predispatch._add_batch_dim stands in no vmap");
  EXPECT_EQ(error(begin + "d = !_vmap_decrement_nesting()\n", "a"),
            "the results: uses a, which is one member's tensor in a vmap that has ended");
  EXPECT_EQ(error(begin + "d = !_vmap_decrement_nesting()\nb = torch.ops.aten.sin.default(a)\n", "b"),
            "b: uses a, which is one member's tensor in a vmap that has ended");
  EXPECT_EQ(error(begin + "b = !_add_batch_dim(a, 0, 1)\nd = !_vmap_decrement_nesting()\n", "x"),
            "b: maps over a, which the function itself makes");
}

}  // namespace
}  // namespace ingot
