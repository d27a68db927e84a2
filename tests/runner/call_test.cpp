// Nested arguments (section 5), and the helper that compiles, loads and runs (section 10).
#include "program/tree_spec.hpp"
#include "ingot/autograd.hpp"
#include "op/call.hpp"
#include "runner_fixture.hpp"
#include "support/check_model.hpp"

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

// The golden program of nested arguments: f(a, {"k": …, "l": (…,)}, *, scale, flag), where flag is
// no tensor.
struct Nested {
  explicit Nested(const SafeTensors& data) {
    for (int k = 0; k < 4; k++) in.push_back(data.get(text("in.", k)));
    for (int k = 0; k < 4; k++) out.push_back(data.get(text("out.", k)));
  }
  Tree args(bool reversed = false) const {
    const std::pair<Value, Tree> k{Value("k"), in[1]}, l{Value("l"), Tree::tuple({in[2]})};
    return Tree::tuple({in[0], reversed ? Tree::dict({l, k}) : Tree::dict({k, l})});
  }
  Tree kwargs(bool reversed = false) const {
    const std::pair<Value, Tree> scale{Value("scale"), in[3]}, flag{Value("flag"), Tree(Value(true))};
    return reversed ? Tree::dict({flag, scale}) : Tree::dict({scale, flag});
  }
  // {"x": (out0, [out1, out2]), "n": out3, "t": (3, None, "s")}
  void expect(const Tree& result) const {
    expect_close(result.at("x")[0].leaf().tensor(), out[0]);
    EXPECT_EQ(result.at("x")[1].type(), tree_types::kList);
    expect_close(result.at("x")[1][0].leaf().tensor(), out[1]);
    expect_close(result.at("x")[1][1].leaf().tensor(), out[2]);
    expect_close(result.at("n").leaf().tensor(), out[3]);
    ASSERT_EQ(result.at("t").children().size(), 3u);
    EXPECT_EQ(result.at("t")[0].leaf().to_int64(), 3);
    EXPECT_TRUE(result.at("t")[1].leaf().is_none());
    EXPECT_EQ(result.at("t")[2].leaf().string(), "s");
  }
  TensorList in, out;
};

TEST_F(CallSpec, I070_I112_KeywordsAndNesting) {
  Program program = load_pt2(golden("pytrees_kwargs/model.pt2"));
  compile(program, path("nested.so"));
  const Nested nested(SafeTensors::open(golden("pytrees_kwargs/case0.safetensors")));
  // Keywords and keys of dicts in any order; what is no tensor is dropped.
  for (const bool reversed : {false, true}) {
    CallableModel model(std::make_shared<ModelContainerRunner>(path("nested.so")));
    nested.expect(model(nested.args(reversed), nested.kwargs(reversed)));
  }
  CallableModel model(std::make_shared<ModelContainerRunner>(path("nested.so")));
  const auto refusal = [&](const Tree& kwargs) { return error_of([&] { model(nested.args(), kwargs); }); };
  EXPECT_EQ(refusal(Tree::dict({{Value("scale"), nested.in[3]}})),
            "Ran into a kwarg keyword mismatch: Got the following keywords {'scale'} but expected {'scale', 'flag'}");
  EXPECT_EQ(
      refusal(Tree::dict({{Value("scale"), nested.in[3]}, {Value("flag"), Tree(Value(true))}, {Value("x"), nested.in[3]}})),
      "Ran into a kwarg keyword mismatch: Got the following keywords {'scale', 'flag', 'x'} but expected {'scale', 'flag'}");
  // Another nesting: fewer positional arguments, a list for a dict, another number of parts, a leaf
  // for a tuple, and the other way round.
  const auto refused = [&](const Tree& args) { return error_of([&] { model(args, nested.kwargs()); }); };
  const auto with_dict = [&](const Tree& k, const Tree& l) {
    return Tree::tuple({nested.in[0], Tree::dict({{Value("k"), k}, {Value("l"), l}})});
  };
  EXPECT_EQ(refused(Tree::tuple({nested.in[0]})), "input inputs[0] must be a tuple of 2, got a tuple of 1");
  EXPECT_EQ(refused(Tree::tuple({nested.in[0], Tree::list({nested.in[1], nested.in[2]})})),
            "input inputs[0][1] must be a dict of 2, got a list of 2");
  EXPECT_EQ(refused(with_dict(nested.in[1], Tree::tuple({nested.in[2], nested.in[2]}))),
            "input inputs[0][1]['l'] must be a tuple of 1, got a tuple of 2");
  EXPECT_EQ(refused(with_dict(nested.in[1], nested.in[2])), "input inputs[0][1]['l'] must be a tuple of 1, got Tensor");
  EXPECT_EQ(refused(with_dict(Tree::tuple({nested.in[1]}), Tree::tuple({nested.in[2]}))),
            "input inputs[0][1]['k'] must be a single value, got a tuple of 1");

  CallableModel plain(std::make_shared<ModelContainerRunner>(mlp()));
  expect_close(plain(Tree::tuple({mlp_input()})).leaf().tensor(), mlp_output());
  EXPECT_EQ(error_of([&] { plain(Tree::tuple({mlp_input()}), Tree::dict({{Value("mask"), Tree(mlp_input())}})); }),
            "Ran into a kwarg keyword mismatch: Got the following keywords {'mask'} but expected {}");
  EXPECT_EQ(error_of([&] { plain(Tree::tuple({mlp_input(), mlp_input()})); }),
            "input inputs[0] must be a tuple of 1, got a tuple of 2");
}

TEST_F(CallSpec, I070_ResultsThatAreNoTensors) {
  const ConstantResults all = {{0, Value()},          {2, Value(true)}, {3, Value(-7)}, {4, Value(0.1)}, {5, Value("a \"b\" c")},
                               {6, Value(-INFINITY)}, {7, Value("")}};
  const ConstantResults back = constant_results_of(to_metadata(all), "metadata");
  ASSERT_EQ(back.size(), all.size());
  for (const auto& [k, v] : all) EXPECT_EQ(to_text(back.at(k)), to_text(v)) << k;
  expect_in("unknown kind of result list", error_of([] { constant_results_of(R"({"0": "list 1"})", "metadata"); }));
  expect_in("expected a number", error_of([] { constant_results_of(R"({"0": "int x"})", "metadata"); }));
}

// What is no tensor was fixed at export: another value is not what the library computes.
TEST_F(CallSpec, I070_AnArgumentThatWasFixedIsRefusedWithAnotherValue) {
  Program program = load_pt2(golden("pytrees_kwargs/model.pt2"));  // (a, {k, l: (…)}, scale=…, flag=True)
  const auto arguments = [] {
    return Tree::tuple({zeros({2, 3}), Tree::dict({{Value("k"), Tree(zeros({3}))}, {Value("l"), Tree::tuple({zeros({2})})}})});
  };
  const auto keywords = [](Value flag) { return Tree::dict({{Value("scale"), Tree(zeros({}))}, {Value("flag"), Tree(flag)}}); };
  CallableModel model(
      std::make_shared<ModelContainerRunner>(aot_compile(program, arguments(), keywords(true), path("fixed.so"))));
  const auto message = [&](const Value& flag) { return error_of([&] { model(arguments(), keywords(flag)); }); };
  expect_in("['flag'] must be True, got False: the model was compiled for that value", message(false));
  expect_in("must be True, got 1", message(1));
  expect_in("must be True, got None", message({}));
  EXPECT_EQ(message(true).find("must be"), std::string::npos) << message(true);
  const Values given{zeros({2, 3}), zeros({3}), zeros({2}), zeros({}), false};
  expect_in("input flag must be True, got False", error_of([&] { CompiledProgram(program).run(program, given); }));
}

TEST_F(Harness, I071_I114_ExamplesAreNestedAsExported) {
  Program program = load_pt2(golden("mlp/model.pt2"));
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
  for (const std::string device : {"toaster", "", "CPU", "cpu:0", "cuda:", "cuda:x", "cuda:-1", "cudax"})
    EXPECT_EQ(error_of([&] { aot_load(device, path("mlp.so")); }), "Unsupported device " + device);
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
  Program program = load_pt2(golden("mlp/model.pt2"));
  expect_close(aot_run("cpu", program, Tree::tuple({mlp_input()})).leaf().tensor(), mlp_output());
}

// A function, its examples, what is open in them and the options; the library's path is the answer.
// The program is traced without gradients, and the sizes that are open are the library's to take.
TEST_F(Harness, I114_CompileTakesAFunctionOptionsAndOpenSizes) {
  bool grad_mode = true;
  const TensorFunction f = [&](const TensorList& in) {
    grad_mode = thread_state().grad_mode;
    return TensorList{in[0].mm(in[1])};
  };
  Tensor weight = randn({4, 3});
  weight.requires_grad_();
  bool linked = false;
  CompileOptions options;
  options.after = [&](const StageDone& done) { linked |= done.name == "link"; };
  EXPECT_EQ(aot_compile(f, {randn({5, 4}), weight}, path("f.so"), options, {{.input = 0, .dim = 0}}), path("f.so"));
  EXPECT_FALSE(grad_mode);
  EXPECT_TRUE(thread_state().grad_mode) << "restored";
  EXPECT_TRUE(linked) << "the options are the compiler's";
  ModelContainerRunner runner(path("f.so"));
  for (const int64_t n : {2, 9}) EXPECT_EQ(to_text(runner.run({randn({n, 4}), weight})[0].sizes()), to_text(Shape{n, 3}));
  // Without open sizes they are those of the examples.
  aot_compile(f, {randn({5, 4}), weight}, path("fixed.so"));
  expect_in("expected 5, found 2", error_of([&] { ModelContainerRunner(path("fixed.so")).run({randn({2, 4}), weight}); }));
}

TEST_F(Harness, I118_CompiledEqualsEager) {
  const TensorFunction f = [](const TensorList& in) {
    EXPECT_FALSE(thread_state().grad_mode);
    return TensorList{in[0].tanh().mul(in[0]) + rand(in[0].sizes()), in[0].sum({0})};
  };
  EXPECT_EQ(testing::differences("cpu", f, {randn({5, 7})}), "") << "random numbers too: both start from one seed";
  const std::vector<TensorList> lists = {{randn({5, 7})}, {randn({3, 7})}, {randn({11, 7})}};
  EXPECT_EQ(testing::differences_with_multiple_inputs("cpu", f, lists, {}, {{.input = 0, .dim = 0}}), "");
  EXPECT_TRUE(thread_state().grad_mode);

  // Inputs that are written: the caller's stay as they are, the copies must end up the same.
  const TensorFunction writes = [](const TensorList& in) {
    Tensor x = in[0];
    x.add_(in[1]);
    return TensorList{x.mul(in[1])};
  };
  const Tensor x = zeros({3}), y = ones({3});
  EXPECT_EQ(testing::differences("cpu", writes, {x, y}), "");
  EXPECT_EQ(x.to_vector<double>(), std::vector<double>(3, 0));

  // It can fail: a function that is another one each time it is called.
  int calls = 0;
  const TensorFunction changes = [&](const TensorList& in) { return TensorList{in[0] + ++calls}; };
  expect_in("inputs 0: output 0: ", testing::differences("cpu", changes, {zeros({2})}));
  const TensorFunction near = [&](const TensorList& in) { return TensorList{in[0] + (++calls % 2 ? 1.0 : 1.001)}; };
  EXPECT_NE(testing::differences("cpu", near, {zeros({2})}), "");
  EXPECT_EQ(testing::differences("cpu", near, {zeros({2})}, {}, {}, {.absolute = 0.01, .relative = 0}), "");
}

TEST_F(Harness, ProgramsLeaveTheirInputsAsEagerOnesDo) {
  Program eager = load_pt2(golden("output_aliases/model.pt2")), program = load_pt2(golden("output_aliases/model.pt2"));
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
