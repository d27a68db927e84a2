// Texts that are no graphs: every fault has its place and says what was expected.
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>

#include "graph/same.hpp"
#include "graph/source.hpp"
#include "graph/text.hpp"
#include "graph/verify.hpp"
#include "support/error_text.hpp"
#include "support/graph_fixture.hpp"

namespace ingot {
namespace {

std::string fault(const std::string& text) {
  return error_of([&] { (void)parse_graph(text, {.file = "g.txt"}); });
}
// The fault of one statement in the middle of a graph with the inputs x and y, without the lines
// around.
std::string statement_fault(const std::string& statement) {
  const std::string message = fault("def forward(self, x, y):\n    " + statement + "\n    return ()\n");
  return message.substr(0, message.find('\n'));
}

TEST(GraphParse, ShowsThePlaceOfAFault) {
  EXPECT_EQ(fault("def forward(self, x):\n"
                  "    add = torch.ops.aten.add.Tensor(x, 1)\n"
                  "    mul = torch.ops.aten.mul.Tensor(add, 2;  add = None\n"
                  "    return (mul,)\n"),
            "g.txt:3:43: expected ',' or ')', found ';  add = None'\n"
            "  2 |     add = torch.ops.aten.add.Tensor(x, 1)\n"
            "> 3 |     mul = torch.ops.aten.mul.Tensor(add, 2;  add = None\n"
            "    |                                           ^\n"
            "  4 |     return (mul,)");
}

TEST(GraphParse, CutsLongLines) {
  const std::string message = fault("def forward(self, x):\n    y = torch.f(" + std::string(100000, ' ') + "z)\n    return ()\n");
  EXPECT_TRUE(message.starts_with("g.txt:2:100017: 'z' is not defined above\n")) << message;
  EXPECT_LT(message.size(), 600u) << message;
}

TEST(GraphParse, RefusesTextsThatAreNoGraphs) {
  const std::pair<std::string, const char*> cases[] = {
      {"", "g.txt:1:1: expected 'def forward' or 'class', found the end of the text"},
      {"\n  # nothing\n", "g.txt:3:1: expected 'def forward' or 'class', found the end of the text"},
      {"hello", "g.txt:1:1: expected 'def forward(self', found 'hello'"},
      {"def backward(self):", "g.txt:1:5: expected 'def forward(self', found 'backward(self):'"},
      {"def forward(x):\n    return ()", "g.txt:1:13: expected 'self', found 'x):'"},
      {"def forward(self, x, x):\n    return ()", "g.txt:1:22: 'x' is already defined on line 1"},
      {"def forward(self, sum):\n    return ()", "g.txt:1:19: 'sum' has a meaning in Python, and cannot name a value"},
      {"def forward(self)\n    return ()", "g.txt:1:18: expected ':', found the end of the line"},
      {"def forward(self): return ()", "g.txt:1:20: expected the end of the line, found 'return ()'"},
      {"def forward(self):\n", "g.txt:2:1: expected a statement, found the end of the text"},
      {"def forward(self):\nreturn ()", "g.txt:2:1: expected an indented statement, found 'return ()'"},
      {"def forward(self):\n\treturn ()", "g.txt:2:1: expected spaces, found '\treturn ()'"},
      {"def forward(self, x):\n    y = -x\n", "g.txt:3:1: expected 'return', found the end of the text"},
      {"def forward(self, x):\n    y = -x\n     return ()",
       "g.txt:3:6: expected a statement indented by 4 spaces, found 'return ()'"},
      {"def forward(self, x):\n    return (x)", "g.txt:2:14: expected ',' of a tuple, found ')'"},
      {"def forward(self, x):\n    return (x,\n", "g.txt:2:15: expected an argument, found the end of the line"},
      {"def forward(self):\n    return () x", "g.txt:2:15: expected the end of the line, found 'x'"},
      {"def forward(self):\n    return ()\nmore", "g.txt:3:1: expected the end of the text, found 'more'"},
      {"def forward(self, x: f32):\n    return ()", "g.txt:1:22: expected a quoted string, found 'f32):'"},
      {"def forward(self, x: \"f32\"):\n    return ()", "g.txt:1:22: expected a type such as f32[2, 3] or Sym(s0), found 'f32'"},
      {"def forward(self, x: \"q8[2]\"):\n    return ()", "g.txt:1:22: unknown dtype 'q8'"},
      {"def forward(self, x: \"f32[2\"):\n    return ()", "g.txt:1:22: expected ']' in '[2'"},
      {"def forward(self, x: \"f32[-2]\"):\n    return ()", "g.txt:1:22: the size -2 is negative"},
      {"def forward(self, x: \"f32[2][]\"):\n    return ()", "g.txt:1:22: 1 sizes, and 0 strides"},
      {"def forward(self, x: \"f32[2][1]tpu\"):\n    return ()", "g.txt:1:22: unknown device 'tpu'"},
      {"def forward(self, x: \"f32[s0 +]\"):\n    return ()", "g.txt:1:22: cannot parse expression, position 4"},
      {"def forward(self, x: \"f32[9223372036854775807, 9223372036854775807]\"):\n    return ()", "g.txt:1:22: "},
      {"class A:\n", "g.txt:1:8: expected '(torch.nn.Module):', found ':'"},
      {"class <lambda>(torch.nn.Module):\ndef forward(self):\n    return ()",
       "g.txt:2:1: expected an indented 'def forward', found 'def forward(self):'"},
      {"class <lambda>(torch.nn.Module):\n  def forward(self):\n    return ()\n   class a(torch.nn.Module):\n",
       "g.txt:4:4: expected 'class' of a subgraph"},
      {"class <lambda>(torch.nn.Module):\n  def forward(self):\n    return ()\n  class a(torch.nn.Module):\n    def forward(self):\n      return ()\n"
       "  class a(torch.nn.Module):\n",
       "g.txt:7:3: subgraph a is defined twice"},
  };
  for (const auto& [text, expected] : cases) {
    const std::string message = fault(text);
    EXPECT_TRUE(message.starts_with(expected)) << text << "\n" << message;
  }
}

TEST(GraphParse, RefusesStatements) {
  const std::pair<const char*, const char*> cases[] = {
      {"z", "g.txt:2:6: expected '=', found the end of the line"},
      {"1 = -x", "g.txt:2:5: expected a statement, found '1 = -x'"},
      {"x = -y", "g.txt:2:5: 'x' is already defined on line 1"},
      {"torch = -y", "g.txt:2:5: 'torch' has a meaning in Python, and cannot name a value"},
      {"z = ", "g.txt:2:9: expected an argument, found the end of the line"},
      {"z = x", "g.txt:2:10: expected a call, an operator or '[', found the end of the line"},
      {"z = -x y", "g.txt:2:12: expected the end of the line, found 'y'"},
      {"z = x ? y", "g.txt:2:11: expected a call, an operator or '[', found '? y'"},
      {"z = x[y]", "g.txt:2:11: expected a number"},
      {"z = x[-1]", "g.txt:2:11: expected the number of an element"},
      {"z = x[0.5]", "g.txt:2:11: expected the number of an element"},
      {"z = x[99999999999]", "g.txt:2:11: expected the number of an element"},
      {"z = 1[0]", "g.txt:2:9: an element can only be taken of a value"},
      {"z = self", "g.txt:2:9: expected the name of an attribute: self.name"},
      {"z = self.w",
       "g.txt:2:9: the text does not say what self.w is: it has no class and no annotation for it, and no attribute was given"},
      {"z = getattr(self, 0)", "g.txt:2:23: expected a quoted string, found '0)'"},
      {"z = torch.", "g.txt:2:15: expected a name after '.', found the end of the line"},
      {"z = torch.sym_max(x)", "g.txt:2:9: torch.sym_max takes 2 arguments, found 1"},
      {"z = math_trunc()", "g.txt:2:9: math_trunc takes 1 arguments, found 0"},
      {"z = torch._C._set_grad_enabled(1)", "g.txt:2:9: torch._C._set_grad_enabled takes True or False"},
      {"z = torch.f(k = 1)",
       "g.txt:2:17: expected an argument without a name: torch.f is no operator Ingot knows, found 'k = 1)'"},
      {"z = torch.f(w)", "g.txt:2:17: 'w' is not defined above"},
      {"z = torch.f(z)", "g.txt:2:17: 'z' is not defined above"},
      {"z = torch.f(x, torch.float33)", "g.txt:2:20: 'torch.float33' is not defined above"},
      {"z = torch.f(x", "g.txt:2:18: expected ',' or ')', found the end of the line"},
      {"z = torch.f(9223372036854775808)", "g.txt:2:17: expected an integer of 64 bits"},
      {"z = torch.f(1e999)", "g.txt:2:17: expected a number that fits a double"},
      {"z = torch.f(1e)", "g.txt:2:19: expected the digits of an exponent"},
      {"z = torch.f(-)", "g.txt:2:17: expected a number"},
      {"z = torch.f((1))", "g.txt:2:19: expected '+', found '))'"},
      {"z = torch.f((1+2))", "g.txt:2:17: expected a complex number such as (1+2j)"},
      {"z = torch.f(complex(1, 2j))", "g.txt:2:28: expected a real number"},
      {"z = torch.f('abc)", "g.txt:2:17: the string does not end on its line"},
      {"z = torch.f('\\q')", "g.txt:2:18: expected an escape: one of \\n \\t \\r \\\\ \\' \\\" \\x7f"},
      {"z = torch.f('\\x1')", "g.txt:2:18: expected an escape"},
      {"z = torch.f(device(type='tpu'))", "g.txt:2:29: unknown device 'tpu'"},
      {"z = torch.f(device(type='cuda', index=500))", "g.txt:2:29: bad device index in 'cuda:500'"},
      {"z = torch.f([1, )", "g.txt:2:21: expected an argument, found ')'"},
      {"z = torch.ops.aten.sin.default()",
       "g.txt:2:36: argument 'self' is missing; the schema is aten::sin(Tensor self) -> Tensor"},
      {"z = torch.ops.aten.sin.default(x, y)",
       "g.txt:2:39: sin takes at most 1 arguments; the schema is aten::sin(Tensor self) -> Tensor"},
      {"z = torch.ops.aten.sin.default(x, self = x)", "g.txt:2:39: argument 'self' is given twice"},
      {"z = torch.ops.aten.sin.default(x, other = x)",
       "g.txt:2:39: sin has no argument 'other'; the schema is aten::sin(Tensor self) -> Tensor"},
      {"z = torch.ops.aten.sin.default('x')", "g.txt:2:36: argument 'self' must be Tensor, not str; the schema is"},
      {"z = torch.ops.aten.add.Tensor(x, y, 2)", "g.txt:2:41: argument 'alpha' of add.Tensor goes by name: alpha = …"},
      {"z = torch.ops.aten.add.Tensor(x, alpha = 2, y)", "g.txt:2:50: expected '=', found ')'"},
      {"z = torch.ops.aten.cat.default([x, 'y'])", "g.txt:2:36: argument 'tensors' must be Tensor[], not a list with str"},
      {"z = torch.ops.aten.view.default(x, [0.5])", "g.txt:2:40: argument 'size' must be SymInt[], not float[]"},
      {"z = -x;  x = y", "g.txt:2:19: expected '=', found the end of the line"},
      {"z = -x;  w = None", "g.txt:2:14: 'w' is not defined above"},
  };
  for (const auto& [statement, expected] : cases) {
    const std::string message = statement_fault(statement);
    EXPECT_TRUE(message.starts_with(expected)) << statement << "\n" << message;
  }
}

TEST(GraphParse, RefusesRolesOfOtherNodes) {
  const auto place = [](const std::string& input, const std::string& node) {
    const std::string found =
        fault("def forward(self, x: \"" + input + "f32[2]\"):\n    y: \"" + node + "f32[2]\" = -x\n    return (y,)\n");
    return found.substr(0, found.find(": "));
  };
  for (const char* role : {"", "value ", "tangent ", "saved "}) EXPECT_EQ(place(role, ""), "no error") << role;
  for (const char* role : {"", "saved ", "gradient "}) EXPECT_EQ(place("", role), "no error") << role;
  EXPECT_EQ(place("gradient ", ""), "g.txt:1:22");
  for (const char* role : {"value ", "tangent "}) EXPECT_EQ(place("", role), "g.txt:2:8") << role;
}

TEST(GraphParse, RefusesUseAfterRelease) {
  EXPECT_TRUE(fault("def forward(self, x):\n    y = -x;  x = None\n    z = x + 1\n    return ()\n")
                  .starts_with("g.txt:3:9: 'x' was released on line 2\n"));
  EXPECT_TRUE(fault("def forward(self, x):\n    y = -x;  y = None\n    return (y,)\n")
                  .starts_with("g.txt:3:13: 'y' was released on line 2\n"));
}

// What people write, beside what the printer does.
TEST(GraphParse, TakesOtherSpellings) {
  const Graph g = parse_graph(
      "\n# by hand\n  def forward( self,x , y ):  # inputs\r\n"
      "     a=torch.ops.aten.add.Tensor( other=y, self = x,alpha=2 ) # no release\n\n"
      "     b = math.trunc(x)\n"
      "     return ( a,b , )\n\n");
  EXPECT_EQ(find_fault(g), "");
  EXPECT_EQ(print(g),
            "def forward(self, x, y):\n"
            "    a = torch.ops.aten.add.Tensor(x, y, alpha = 2);  y = None\n"
            "    b = math_trunc(x);  x = None\n"
            "    return (a, b)\n");
}

TEST(GraphParse, KeepsSourceLines) {
  const Graph g = parse_graph(
      "def forward(self, x):\n    # File: a b:c.py:12 in f in g, code: y = x  # in h, code: 3\n    y = -x\n    return (y,)\n");
  const auto frame = innermost_frame(g.nodes()[1]->stack_trace);
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->file, "a b:c.py");
  EXPECT_EQ(frame->line, "12");
  EXPECT_EQ(frame->code, "y = x  # in h, code: 3");
  EXPECT_EQ(provenance(*g.nodes()[1]), " (node y, at a b:c.py:12)");
}

// An attribute may be given, be a class of the text, or both: then the class says what it does, and
// what is given what its own attributes are.
TEST(GraphParse, FindsAttributes) {
  Graph inner;
  inner.attributes.emplace_back("w", fake({2}));
  Attributes given;
  given.emplace_back("unused", fake({3}));
  given.emplace_back("sub", shared(std::move(inner)));
  const Graph g = parse_graph(
      "class M(torch.nn.Module):\n"
      "    def forward(self):\n"
      "        sub = self.sub\n"
      "        other = self.other\n"
      "        return ()\n"
      "    class sub(torch.nn.Module):\n"
      "        def forward(self):\n"
      "            w = self.w\n"
      "            return (w,)\n"
      "    class other(torch.nn.Module):\n"
      "        def forward(self):\n"
      "            return ()\n",
      {.attributes = &given});
  EXPECT_EQ(find_fault(g), "");
  std::string keys;
  for (const auto& [key, attribute] : g.attributes) keys += key + " ";
  EXPECT_EQ(keys, "unused sub other ");
  const Graph& sub = *std::get<1>(*g.find_attribute("sub"));
  EXPECT_EQ(sub.nodes().size(), 1u);
  EXPECT_TRUE(std::get<Tensor>(*sub.find_attribute("w"))
                  .is_same(std::get<Tensor>(*std::get<1>(*given.find("sub"))->find_attribute("w"))));

  given.emplace_back("other", fake({1}));
  EXPECT_NE(error_of([&] {
              (void)parse_graph(print(g, GraphForm::readable), {.attributes = &given});
            }).find("attribute other is a tensor, and the text has a class"),
            std::string::npos);
}

std::string nested_classes(int depth) {
  std::string out;
  for (int i = 0; i < depth; i++) {
    const std::string indent(static_cast<std::size_t>(i), ' ');
    out += indent + "class a(torch.nn.Module):\n" + indent + " def forward(self):\n" + indent + "  return ()\n";
  }
  return out;
}

TEST(GraphParse, LimitsNesting) {
  EXPECT_EQ(find_fault(parse_graph(nested_classes(kMaxGraphTextDepth))), "");
  EXPECT_NE(fault(nested_classes(kMaxGraphTextDepth + 2)).find("classes nest deeper than 64"), std::string::npos);
  EXPECT_NE(statement_fault("z = torch.f(" + std::string(1000000, '[')).find("lists nest deeper than 64"), std::string::npos);
  EXPECT_NE(statement_fault("z = torch.f(" + std::string(1000000, '(')).find("lists nest deeper than 64"), std::string::npos);
  EXPECT_NE(statement_fault("z = " + std::string(1000000, '-') + "x").find("expected a number"), std::string::npos);
}

// Sizes are polynomials: these few characters would be 2^40 terms.
TEST(GraphParse, LimitsSizes) {
  std::string product = "(a0 + b0)", sizes = "a0 + b0";
  for (int i = 1; i < 40; i++) {
    product += "*(a" + std::to_string(i) + " + b" + std::to_string(i) + ")";
    sizes += ", a" + std::to_string(i) + " + b" + std::to_string(i);
  }
  EXPECT_NE(fault("def forward(self, x: \"Sym(" + product + ")\"):\n    return ()\n").find("too long an expression"),
            std::string::npos);
  EXPECT_NE(fault("def forward(self, x: \"f32[" + sizes + "]\"):\n    return ()\n").find("too long an expression"),
            std::string::npos);
  std::string many = "1";
  for (int i = 0; i < 70; i++) many += ", 1";
  EXPECT_NE(fault("def forward(self, x: \"f32[" + many + "]\"):\n    return ()\n").find("more than 64 dims"), std::string::npos);
}

// Ten times the text takes ten times as long, not a hundred (processor time: other work does not
// count).
TEST(GraphParse, IsLinear) {
  const auto seconds = [](int nodes) {
    std::string text = "def forward(self, x):\n    # File: model.py:12 in forward, code: y = x + 1\n";
    for (int i = 0; i < nodes; i++)
      text += "    add_" + std::to_string(i) + " = torch.ops.aten.add.Tensor(x, " + std::to_string(i) + ")\n";
    for (int i = 0; i < nodes; i++) text += "    w_" + std::to_string(i) + " : \"f32[2]\" = self.w_" + std::to_string(i) + "\n";
    text += "    return ()\n";
    const std::clock_t begin = std::clock();
    const Graph g = parse_graph(text);
    verify(g);
    (void)print(g, GraphForm::full);
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  };
  (void)seconds(100);
  const double few = std::min({seconds(1000), seconds(1000), seconds(1000)});
  EXPECT_LT(seconds(10000), 50 * few + 0.1);
}

TEST(GraphParse, UnknownOperatorsMayHaveAnyName) {
  for (const std::string target :
       {"", "1.x", "self.f", "getattr.f", "a b", "#mine:f", "\"q\"", "line\nbreak", "torch.ops.mine.f.default",
        "torch.ops.aten.sin.default", "_operator.add", "math_trunc", "torch._C._set_grad_enabled",
        "torch._functorch.predispatch._add_batch_dim", "torch._functorch.predispatch._make_dual"}) {
    Graph g;
    Node* x = g.placeholder("x");
    g.outputs = {g.unsupported(target, {x, Value(2)}, "y")};
    EXPECT_EQ(find_fault(g), "");
    const Graph back = parse_graph(print(g));
    EXPECT_EQ(difference(back, g), "") << print(g);
    EXPECT_EQ(back.nodes()[1]->target, target);
  }
  EXPECT_EQ(statement_fault("z = \"#mine:f\" + 1"), "g.txt:2:19: expected '(', found '+ 1'");
}

}  // namespace
}  // namespace ingot
