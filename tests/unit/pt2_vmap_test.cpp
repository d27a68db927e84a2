// A vmap in an exported program, which is written as the nodes that stand around its function.
#include "unit/pt2_fixture.hpp"

namespace ingot {
namespace {

using namespace pt2_json;

// As PyTorch 2.14 writes vmap(lambda a: (a * y).sum())(x).
TEST(Pt2Vmap, P110_IsNodesOfAKindOfTheirOwn) {
  const auto called = [](std::string_view function, const std::vector<std::string>& inputs, const std::string& output,
                         std::string_view name) {
    return node(text("torch._functorch.predispatch.", function), inputs, {output}, name);
  };
  const std::string nothing = as("as_none", "true");
  ProgramJson p;
  p.input("x").input("y");
  p.then(called("lazy_load_decompositions", {}, nothing, "prepare"));
  p.then(called("_vmap_increment_nesting", {arg("", integer(2)), arg("", str("error"))}, nothing, "begin"));
  p.then(called("_add_batch_dim", {arg("", val("x")), arg("", integer(0)), arg("", integer(1))}, val("a"), "a"));
  p.then(op_node("mul.Tensor", {arg("self", val("a")), arg("other", val("y"))}, "m"));
  p.then(op_node("sum.default", {arg("self", val("m"))}, "s"));
  p.then(called("_remove_batch_dim", {arg("", val("s")), arg("", integer(1)), arg("", integer(2)), arg("", integer(0))}, val("r"),
                "r"));
  p.then(called("_vmap_decrement_nesting", {}, nothing, "done"));
  p.returns(val("r"));
  Program program = read(p);
  EXPECT_TRUE(program.main().unsupported_nodes().empty());
  std::size_t found = 0;
  for (const auto& n : program.main().graph.nodes()) found += n->kind == NodeKind::vmap;
  EXPECT_EQ(found, 5u);
  EXPECT_EQ(floats(program.run(Values{tensor({1., 2, 3, 4}).reshape({2, 2}), tensor({1., 10})})[0]),
            (std::vector<float>{21, 43}));
  ProgramJson bad;
  bad.input("x").then(called("_add_batch_dim", {arg("", val("x"))}, val("a"), "a")).returns(val("a"));
  expect_in("a: torch._functorch.predispatch._add_batch_dim takes 3 arguments, found 1", error_of(bad));
}

}  // namespace
}  // namespace ingot
