// Nested arguments (section 5), and the helper that compiles, loads and runs (section 10).
#include "import/tree_spec.hpp"
#include "ingot/autograd.hpp"
#include "op/call.hpp"
#include "runner_fixture.hpp"

namespace ingot {
namespace {

using CallSpec = RunnerTest;
using Harness = RunnerTest;

constexpr const char* kOneTensor =
    R"([1, {"type": "builtins.tuple", "context": "null", "children_spec": [{"type": "builtins.tuple", "context": "null", "children_spec": [{"type": null, "context": null, "children_spec": []}]}, {"type": "builtins.dict", "context": "[]", "children_spec": []}]}])";
constexpr const char* kLeaf = R"([1, {"type": null, "context": null, "children_spec": []}])";

TEST_F(CallSpec, I068_I069_TheTextOfATree) {
  const TreeSpec in = flatten(Tree::tuple({Tree::tuple({Tensor(zeros({2}))}), Tree::dict({})})).spec;
  const TreeSpec read = parse_call_spec(kOneTensor, "in_spec");
  EXPECT_EQ(tree_spec_text(in), tree_spec_text(read));
  EXPECT_EQ(tree_spec_text(parse_call_spec(kLeaf, "out_spec")), tree_spec_text(flatten(Tree(Tensor(zeros({2})))).spec));
  ModelContainerRunner runner(mlp());
  EXPECT_EQ(tree_spec_text(parse_call_spec(runner.call_spec().first, "in_spec")), tree_spec_text(read));
  // A function has no structure.
  ModelContainerRunner plain(aot_compile([](const TensorList& t) { return TensorList{t[0] + 1}; }, {zeros({2})}, path("f.so")));
  EXPECT_EQ(plain.call_spec(), (std::pair<std::string, std::string>{"", ""}));
  CallableModel call(std::make_shared<ModelContainerRunner>(path("f.so")));
  EXPECT_EQ(call(Tree::tuple({Tensor(zeros({2}))}))[0].leaf().tensor().to_vector<double>(), (std::vector<double>{1, 1}));
}

TEST_F(CallSpec, I070_KeywordsAndNesting) {
  CallableModel model(std::make_shared<ModelContainerRunner>(mlp()));
  expect_close(model(Tree::tuple({mlp_input()})).leaf().tensor(), mlp_output());
  EXPECT_EQ(error_of([&] { model(Tree::tuple({mlp_input()}), Tree::dict({{Value("mask"), Tree(mlp_input())}})); }),
            "Ran into a kwarg keyword mismatch: Got the following keywords {'mask'} but expected {}");
  EXPECT_NE(error_of([&] { model(Tree::tuple({mlp_input(), mlp_input()})); }), "no error");
}

TEST_F(Harness, I071_I114_ExamplesAreNestedAsExported) {
  ExportedProgram program = load_pt2(golden("mlp/model.pt2"));
  const std::string message =
      error_of([&] { aot_compile(program, Tree::tuple({mlp_input(), mlp_input()}), Tree::dict({}), path("f.so")); });
  EXPECT_TRUE(message.starts_with("Trying to flatten user inputs with exported input tree spec: \n[1,")) << message;
  expect_in("\nbut actually got inputs with tree spec of: \n[1,", message);
  EXPECT_FALSE(std::filesystem::exists(path("f.so")));
  EXPECT_EQ(aot_compile(program, Tree::tuple({mlp_input()}), Tree::dict({}), path("f.so")), path("f.so"));
  EXPECT_TRUE(std::filesystem::exists(path("f.so")));
}

TEST_F(Harness, I115_I116_Load) {
  expect_close(aot_load_runner("cpu", mlp())->run({mlp_input()})[0], mlp_output());
  expect_close(aot_load("cpu", mlp())(Tree::tuple({mlp_input()})).leaf().tensor(), mlp_output());
  EXPECT_EQ(error_of([&] { aot_load("toaster", path("mlp.so")); }), "Unsupported device toaster");
  expect_in("cuda:1", error_of([&] { aot_load("cuda:1", path("mlp.so")); }));
}

TEST_F(Harness, I117_RunAndRunMultiple) {
  const TensorFunction f = [](const TensorList& in) { return TensorList{in[0].mm(in[1]).relu(), in[0].sum({1})}; };
  const auto inputs = [](int64_t n) { return TensorList{randn({n, 4}), randn({4, 3})}; };
  const TensorList once = inputs(3), found = aot_run("cpu", f, once);
  for (std::size_t k = 0; k < 2; k++) expect_close(found[k], f(once)[k]);
  const std::vector<TensorList> lists = {inputs(3), inputs(8), inputs(2)};
  const std::vector<TensorList> results = aot_run_multiple("cpu", f, lists, {}, {{.input = 0, .dim = 0}});
  ASSERT_EQ(results.size(), 3u);
  for (std::size_t k = 0; k < 3; k++) expect_close(results[k][0], f(lists[k])[0]);
  ExportedProgram program = load_pt2(golden("mlp/model.pt2"));
  expect_close(aot_run("cpu", program, Tree::tuple({mlp_input()})).leaf().tensor(), mlp_output());
}

TEST_F(Harness, I118_CompiledEqualsEagerAndGradModeIsKept) {
  const TensorFunction f = [](const TensorList& in) {
    EXPECT_FALSE(thread_state().grad_mode);
    return TensorList{in[0].tanh().mul(in[0])};
  };
  const TensorList in = {randn({5, 7})};
  const TensorList compiled = aot_run("cpu", f, in);
  const GradModeGuard no_grad(false);
  expect_close(compiled[0], f(in)[0]);
}

TEST_F(Harness, ProgramsLeaveTheirInputsAsEagerOnesDo) {
  ExportedProgram eager = load_pt2(golden("output_aliases/model.pt2")), program = load_pt2(golden("output_aliases/model.pt2"));
  const SafeTensors data = SafeTensors::open(golden("output_aliases/case0.safetensors"));
  Values a, b;
  for (std::size_t k = 0; data.contains(text("in.", k)); k++) {
    a.emplace_back(data.get(text("in.", k)).clone());
    b.emplace_back(data.get(text("in.", k)).clone());
  }
  const GradModeGuard no_grad(false);
  const Values want = eager.run(a), got = CompiledProgram(program).run(program, b);
  ASSERT_EQ(want.size(), got.size());
  for (std::size_t k = 0; k < want.size(); k++)
    if (want[k].is_tensor()) expect_close(got[k].tensor(), want[k].tensor());
  for (std::size_t k = 0; k < a.size(); k++) expect_close(b[k].tensor(), a[k].tensor());
}

}  // namespace
}  // namespace ingot
