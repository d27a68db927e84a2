// What an exported program demands of its inputs, and what its signature does with results
// (sections 9.3, 9.4 and 11).
#include <limits>

#include "unit/pt2_fixture.hpp"

namespace ingot {
namespace {

using namespace pt2_json;

const std::string kN(kS0), kM(kS1);
std::string times(int64_t factor, std::string_view e) { return text("Mul(Integer(", factor, "), ", e, ")"); }
Tensor of(const Shape& sizes, DType t = DType::f32) { return zeros(sizes, {.dtype = t}); }

// A program that returns its first input and looks at the rest only when it is called.
ProgramJson taking(const std::vector<std::pair<std::string, std::string>>& inputs) {
  ProgramJson p;
  for (const auto& [name, m] : inputs) p.input(name, m);
  p.returns(val(inputs[0].first));
  return p;
}
void accepts(const ProgramJson& p, const Values& in) { EXPECT_EQ(read(p).run(in).size(), p.output_specs.size()); }

TEST(Pt2Inputs, P105_NumberRankAndDtype) {
  const ProgramJson p = taking({{"x", meta({"2", "3"}, {"3", "1"})}, {"y", meta({"2"}, {"1"}, 5)}});
  accepts(p, {of({2, 3}), of({2}, DType::i64)});
  EXPECT_EQ(refusal(p, {of({2, 3})}), "m.pt2 takes 2 inputs, found 1");
  EXPECT_EQ(refusal(p, {of({2, 3}), of({2})}), "input y must be torch.int64, got torch.float32");
  EXPECT_EQ(refusal(p, {of({6}), of({2}, DType::i64)}), "input x must have 2 dims, got 1");
  EXPECT_EQ(refusal(p, {Value(3), of({2}, DType::i64)}), "input x must be a tensor, got int");
  // It can be switched off.
  Program program = read(p);
  program.check_inputs = false;
  EXPECT_EQ(program.run(Values{of({6}), of({2})})[0].tensor().dim(), 1);
}

TEST(Pt2Inputs, P105_GuardsThatSayNothing) {
  ProgramJson p = taking({{"x", meta({kN}, {"1"})}, {"y", meta({kM}, {"1"})}});
  // A guard that cannot be computed is no fault of the inputs.
  p.guards = {R"("L['y'].size()[0] != 0 and L['x'].size()[0] % L['y'].size()[0] == 0")"};
  accepts(p, {of({4}), of({2})});
  accepts(p, {of({4}), of({0})});
  // Spaces are free.
  p.guards = {R"("L['x'].size()[ 0 ] == 3")"};
  accepts(p, {of({3}), of({2})});
  EXPECT_EQ(refusal(p, {of({4}), of({2})}), "Guard failed: x.size()[ 0 ] == 3");
  // A guard of a megabyte is cut where it is shown, and looked through once.
  std::string endless;
  while (endless.size() < 1'000'000) endless += "L[";
  p.guards = {"\"" + endless + "\""};
  const Program program = read(p);
  ASSERT_EQ(program.warnings.size(), 1u);
  EXPECT_LT(program.warnings[0].size(), 1000u);
}

// Each input is solved for one more symbol, from the last to the first.
TEST(Pt2Inputs, P099_ALongChainOfSymbols) {
  constexpr int kLength = 3000;
  ProgramJson p;
  Values in;
  const auto s = [](int i) { return text("Symbol('s", i, "', positive=True, integer=True)"); };
  for (int i = 0; i < kLength; i++) {
    p.input(text("x", i), meta({text("Add(", s(i), ", ", s(i + 1), ")")}, {"1"}));
    in.push_back(of({5}));
  }
  p.input("last", meta({s(kLength)}, {"1"}));
  in.push_back(of({2}));
  p.returns(val("last"));
  accepts(p, in);
  in[0] = of({6});
  accepts(p, in);  // s0 is free
  in[1] = of({1});
  EXPECT_EQ(refusal(p, in).substr(0, 26), "input x1.shape[0] = 1 is n");
}

TEST(Pt2Inputs, P099_TheSmallestIntegerOverMinusOne) {
  ProgramJson p;
  p.user(sym_int("n")).user(sym_int("m"));
  p.graph.sym_ints = {entry("n", expression("s0")), entry("m", expression("Add(Mul(Integer(-1), u0), Integer(0))"))};
  p.returns(integer(1));
  accepts(p, {Value(1), Value(std::numeric_limits<int64_t>::min())});
  accepts(p, {Value(1), Value(-3)});
}

TEST(Pt2Inputs, P146_OnlyTensorsAreWritten) {
  // Where the file says what a value is, at load.
  ProgramJson p;
  p.user(sym_int("n")).input("x", meta({"2"}, {"1"}));
  p.graph.sym_ints = {entry("n", expression("s0"))};
  ProgramJson by_number = p, of_number = p;
  by_number.writes("user_input_mutation", "n", R"(, "user_input_name": "x")");
  of_number.writes("user_input_mutation", "x", R"(, "user_input_name": "n")");
  expect_in("should be tensors", error_of(by_number));
  expect_in("should be tensors", error_of(of_number));
  // Where it does not, at the call.
  ProgramJson open;
  open.input("x").input("y");
  open.writes("user_input_mutation", "x", R"(, "user_input_name": "y")");
  EXPECT_TRUE(read(open).run(Values{of({2}), of({2})}).empty());
  expect_in("should be tensors", refusal(open, {of({2}), Value(3)}));
  expect_in("should be tensors", refusal(open, {Value(3), of({2})}));
}

TEST(Pt2Inputs, P131_TagsThatDoNotFitTheGraph) {
  const auto with_spec = [](const std::string& input, const std::string& spec) {
    ProgramJson p;
    p.input("x").returns(val("x"));
    p.graph.inputs.push_back(input);
    p.input_specs.push_back(spec);
    return error_of(p);
  };
  for (const std::string tag : {"parameter", "buffer", "tensor_constant", "token"})
    expect_in(
        "the graph has a constant there (input 1)",
        with_spec(integer(3), text(R"({")", tag, R"(": {"arg": {"name": ""}, ")", tag, R"(_name": "w", "persistent": true}})")));
  expect_in("constant_input, and the graph has the value 'y' there (input 1)",
            with_spec(val("y"), R"({"constant_input": {"name": "y", "value": {"as_int": 3}}})"));
  for (const std::string tag : {"loss_output", "token", "buffer_mutation", "gradient_to_parameter"}) {
    ProgramJson p;
    p.input("x").returns(val("x"));
    p.graph.outputs.push_back(integer(3));
    p.output_specs.push_back(text(R"({")", tag, R"(": {"arg": {"name": ""}, "buffer_name": "b", "parameter_name": "w"}})"));
    expect_in("the graph has a constant there (output 1)", error_of(p));
  }
}

TEST(Pt2Inputs, P049_KindsOfGraphInputs) {
  const std::string inputs[] = {as("as_ints", "[1]"),
                                as("as_tensors", R"([{"name": "x"}])"),
                                as("as_complex", R"({"real": 1, "imag": 2})"),
                                as("as_sym_int", R"({"as_int": 3})"),
                                as("as_optional_tensor", R"({"as_none": true})"),
                                as("as_nonsense", "1"),
                                vals({})};
  for (const std::string& input : inputs) {
    ProgramJson p;
    p.input("x").user(input).returns(val("x"));
    expect_in("an input of a graph cannot have kind", error_of(p));
  }
}

TEST(Pt2Inputs, P143_SupplyingNothing) {
  ProgramJson p;
  p.state("parameter", "p_w", "w").returns(val("p_w"));
  Program program = read(p, {{"w", state_of(tensor({1.}))}});
  expect_in("without a tensor", user_error([&] { program.supply("w", Tensor()); }));
}

TEST(Pt2Inputs, P099_FixedSizes) {
  const ProgramJson p = taking({{"x", meta({"2", "3"}, {"3", "1"})}});
  EXPECT_EQ(refusal(p, {of({2, 4})}), "input x.shape[1] must be 3, got 4");
}

TEST(Pt2Inputs, P099_SymbolsAreBoundSolvedAndChecked) {
  const ProgramJson twice = taking({{"y", meta({times(2, kN)}, {"1"})}, {"x", meta({kN, kN}, {kN, "1"})}});
  accepts(twice, {of({6}), of({3, 3})});
  EXPECT_EQ(refusal(twice, {of({7}), of({3, 3})}), "input y.shape[0] must be 6 (2*s0), got 7");
  EXPECT_EQ(refusal(twice, {of({6}), of({3, 4})}), "input x.shape[1] must be 3 (s0), got 4");
  // Solved for the one open symbol.
  const ProgramJson solved =
      taking({{"x", meta({times(4, kN)}, {"1"})}, {"y", meta({text("Add(", kN, ", Integer(1))")}, {"1"})}});
  accepts(solved, {of({20}), of({6})});
  EXPECT_EQ(refusal(solved, {of({21}), of({6})}), "input x.shape[0] = 21 is not of the form 4*s0");
  EXPECT_EQ(refusal(solved, {of({20}), of({7})}), "input y.shape[0] must be 6 (s0 + 1), got 7");
  // Several symbols: checked once all are bound, whatever the order.
  const ProgramJson sum =
      taking({{"z", meta({text("Add(", kN, ", ", kM, ")")}, {"1"})}, {"x", meta({kN}, {"1"})}, {"y", meta({kM}, {"1"})}});
  accepts(sum, {of({5}), of({2}), of({3})});
  EXPECT_EQ(refusal(sum, {of({6}), of({2}), of({3})}), "input z.shape[0] must be 5 (s0 + s1), got 6");
  // A sum with one symbol bound is solved for the other.
  const ProgramJson chain = taking(
      {{"z", meta({text("Add(", kN, ", ", kM, ")")}, {"1"})}, {"x", meta({kN}, {"1"})}, {"w", meta({times(3, kM)}, {"1"})}});
  accepts(chain, {of({5}), of({2}), of({9})});
  EXPECT_EQ(refusal(chain, {of({5}), of({2}), of({12})}), "input w.shape[0] must be 9 (3*s1), got 12");
}

TEST(Pt2Inputs, P099_IntegerInputs) {
  ProgramJson p;
  p.input("x", meta({kN}, {"1"})).user(sym_int("n")).user(sym_int("k")).returns(val("x"));
  p.graph.sym_ints = {entry("n", number(kN)), entry("k", number("4"))};
  accepts(p, {of({3}), Value(3), Value(4)});
  EXPECT_EQ(refusal(p, {of({3}), Value(5), Value(4)}), "input n must be 3 (s0), got 5");
  EXPECT_EQ(refusal(p, {of({3}), Value(3), Value(5)}), "input k must be 4, got 5");
  EXPECT_EQ(refusal(p, {of({3}), Value(2.5), Value(4)}), "input n must be an integer, got float");
}

TEST(Pt2Inputs, P101_P102_Ranges) {
  ProgramJson p = taking({{"x", meta({kN, kM}, {"1", "1"})}});
  p.ranges = {R"("s0": {"min_val": 4, "max_val": 8})", R"("s1": {"min_val": 2, "max_val": 9223372036854775806})",
              R"("2*s0": {"min_val": 8, "max_val": 16})", R"("s99": {"min_val": null, "max_val": null})"};
  accepts(p, {of({4, 2})});
  accepts(p, {of({8, 100})});
  EXPECT_EQ(refusal(p, {of({9, 2})}), "input x.shape[0] must be <= 8, got 9");
  EXPECT_EQ(refusal(p, {of({3, 2})}), "input x.shape[0] must be >= 4, got 3");
  // A minimum of 2 only says that 0 and 1 were not looked at.
  accepts(p, {of({4, 1})});
  accepts(p, {of({4, 0})});
  const Program program = read(p);
  EXPECT_EQ(program.main().symbol_ranges.at("s1").min, 2);
  EXPECT_FALSE(program.main().symbol_ranges.at("s1").max.has_value());
  EXPECT_FALSE(program.main().symbol_ranges.contains("2*s0"));
  EXPECT_EQ(program.main().graph.inputs()[0]->meta.tensor().size(1).expr()->lo, 0);
  EXPECT_EQ(program.main().graph.inputs()[0]->meta.tensor().size(0).expr()->lo, 4);
  // Through a solved dimension.
  ProgramJson solved = taking({{"x", meta({times(2, kN)}, {"1"})}});
  solved.ranges = {R"("s0": {"min_val": 3, "max_val": 5})"};
  EXPECT_EQ(refusal(solved, {of({12})}), "input x.shape[0] must be <= 10, got 12");
  EXPECT_EQ(refusal(solved, {of({4})}), "input x.shape[0] must be >= 6, got 4");
  solved.ranges = {R"("s0": {"min_val": 5, "max_val": 3})"};
  expect_in("the range of s0 is empty", error_of(solved));
  solved.ranges = {R"("s0": {"min_val": "a", "max_val": 3})"};
  expect_in("min_val: expected an integer", error_of(solved));
}

// What sizes were at export, as far as the file tells: by themselves, or in an expression of one
// that is not known yet.
TEST(Pt2Inputs, P091_Hints) {
  const auto hints = [](const std::vector<std::pair<std::string, int64_t>>& numbers) {
    ProgramJson p;
    for (std::size_t k = 0; k < numbers.size(); k++) {
      const std::string name = text("n", k);
      p.user(sym_int(name)).returns(sym_int(name));
      p.graph.sym_ints.push_back(entry(name, expression(numbers[k].first, as("as_int", std::to_string(numbers[k].second)))));
    }
    const Program program = read(p);
    std::string all;
    for (const auto& [symbol, value] : program.main().symbol_hints) all += text(symbol, "=", value, " ");
    return all;
  };
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(hints({{"s0", 5}}), "s0=5 ");
  EXPECT_EQ(hints({{"4*s0", 20}, {"s0 + s1", 12}}), "s0=5 s1=7 ");
  EXPECT_EQ(hints({{"4*s0", 21}}), "");
  EXPECT_EQ(hints({{"s0*s1", 12}}), "");
  EXPECT_EQ(hints({{"s0//2", 3}}), "");
  EXPECT_EQ(hints({{"u0", kLeast}, {"u0 - s1", 5}}), text("u0=", kLeast, " "));  // the difference leaves 64 bits
}

TEST(Pt2Inputs, P100_P103_P121_UnbackedSymbols) {
  // The size of nonzero is known when it was computed; its range is what the assertions say.
  const std::string u0 = "Symbol('u0', integer=True)";
  ProgramJson p;
  p.input("x").then(op_node("nonzero.default", {arg("self", val("x"))}, "nz"));
  p.then(node("torch.ops.aten.sym_size.int", {arg("self", val("nz")), arg("dim", integer(0))}, {sym_int("n")}, "n"));
  p.then(node("_operator.le", {arg("a", sym_int("n")), arg("b", integer(2))}, {sym_bool("le")}, "le"));
  p.then(
      node("torch.ops.aten._assert_scalar.default",
           {arg("self", sym_bool("le")), arg("assert_msg", str("Runtime assertion failed for expression u0 <= 2 on node 'le'"))},
           {}, "check"));
  p.graph.tensor_values = {entry("nz", meta({u0, "1"}, {"1", u0}, 5))};
  p.graph.sym_ints = {entry("n", number(u0))};
  p.graph.sym_bools = {entry("le", expression(text("LessThan(", u0, ", Integer(2))")))};
  p.ranges = {R"("u0": {"min_val": 0, "max_val": 2})"};
  p.returns(val("nz")).returns(sym_int("n"));
  Program program = read(p);
  const Tensor nz = program.main().graph.nodes()[1]->meta.tensor();
  EXPECT_TRUE(nz.size(0).same(program.main().graph.nodes()[2]->meta.to_int()));
  EXPECT_EQ(nz.size(0).expr()->hi, 2);
  EXPECT_EQ(program.run(Values{tensor({0., 1})})[1].to_int64(), 1);
  EXPECT_EQ(user_error([&] { (void)program.run(Values{tensor({1., 1, 1})}); }),
            "Runtime assertion failed for expression u0 <= 2 on node 'le'");
}

TEST(Pt2Inputs, P104_Guards) {
  ProgramJson p = taking({{"x", meta({kN}, {"1"})}, {"y", meta({kM, "2"}, {"2", "1"})}});
  const auto guarded = [&](std::string_view g, const Values& in) {
    ProgramJson q = p;
    q.guards = {text("\"", g, "\"")};
    Program program = read(q);
    EXPECT_TRUE(program.warnings.empty()) << g << ": " << (program.warnings.empty() ? "" : program.warnings[0]);
    try {
      (void)program.run(in);
    } catch (const UserError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  const Values in{of({3}), of({6, 2})};
  for (const char* holds :
       {"L['y'].size()[0] == (2*L['x'].size()[0])", "2*L['x'].size()[0] <= L['y'].size()[0]", "not L['x'].size()[0] > 3",
        "L['y'].stride()[0] == 2 and L['x'].storage_offset() == 0", "L['y'].size()[0] % L['x'].size()[0] == 0 or 1 < 0",
        "max(L['x'].size()[0], 2) == 3", "min(L['x'].size()[0], 2) != 3", "L['y'].size()[0] // 4 == 1",
        "L['y'].size()[0] / 4 == 1.5", "L['x'].size()[0]**2 == 9", "math.floor(L['y'].size()[0] / 4) < 2",
        "IsNonOverlappingAndDenseIndicator(L['y'].size()[0], 2, 2, 1) == 1", "math.sqrt(L['x'].size()[0]) >= 1.7",
        "-L['x'].size()[0] + 4 == 1"})
    EXPECT_EQ(guarded(holds, in), "") << holds;
  EXPECT_EQ(guarded("L['y'].size()[0] == (2*L['x'].size()[0])", {of({3}), of({5, 2})}),
            "Guard failed: y.size()[0] == (2*x.size()[0])");
  EXPECT_EQ(guarded("L['y'].stride()[0] == 2", {of({3}), of({2, 6}).t()}), "Guard failed: y.stride()[0] == 2");
  // What cannot be read is skipped with one warning.
  ProgramJson q = p;
  q.guards = {R"("L['x'].color() == 3")", "\"foo(L['x'].size()[0])\"", R"("L['z'].size()[0] == 1")",
              R"("L['x'].size()[0] == 3")"};
  Program program = read(q);
  ASSERT_EQ(program.warnings.size(), 1u);
  expect_in("foo(x.size()[0]) (unknown function foo)", program.warnings[0]);
  EXPECT_EQ(user_error([&] { (void)program.run(Values{of({4}), of({6, 2})}); }), "Guard failed: x.size()[0] == 3");
  program.check_inputs = false;
  EXPECT_EQ(program.run(Values{of({4}), of({6, 2})}).size(), 1u);
}

// ---- 11

TEST(Pt2Inputs, P130_Dialects) {
  ProgramJson p = taking({{"x", ""}});
  for (const char* known : {R"(["TRAINING"])", R"(["ATEN"])", R"([""])", R"(["TRAINING", "ATEN"])", "[]"}) {
    p.verifiers = known;
    EXPECT_TRUE(read(p).warnings.empty()) << known;
  }
  for (const char* other : {R"(["EDGE"])", R"(["FANCY"])"}) {
    p.verifiers = other;
    EXPECT_EQ(read(p).warnings.size(), 1u) << other;
    accepts(p, {of({1})});
  }
}

TEST(Pt2Inputs, P131_SpecsMustFitTheGraph) {
  ProgramJson p = taking({{"x", ""}, {"y", ""}});
  p.input_specs.pop_back();
  expect_in("1 specs for 2 inputs of the graph", error_of(p));
  p.input_specs.push_back(text(R"({"user_input": {"arg": )", val("x"), "}}"));
  expect_in("the signature names 'x' where the graph has 'y' (input 1)", error_of(p));
  p = taking({{"x", ""}, {"y", ""}});
  p.output_specs[0] = text(R"({"user_output": {"arg": )", val("y"), "}}");
  expect_in("the signature names 'y' where the graph has 'x' (output 0)", error_of(p));
  p.output_specs.clear();
  expect_in("0 specs for 1 outputs of the graph", error_of(p));
}

TEST(Pt2Inputs, P140_P143_StateByTagAndKept) {
  // User inputs first, then a buffer the program counts in: order is free, and calls see each
  // other's writes.
  ProgramJson p;
  p.input("x").state("buffer", "b_odd_name", "block.n", R"(, "persistent": false)").state("tensor_constant", "c", "lifted");
  p.then(op_node("add_.Tensor", {arg("self", val("b_odd_name")), arg("other", val("c"))}, "add_"));
  p.then(op_node("add.Tensor", {arg("self", val("x")), arg("other", val("b_odd_name"))}, "y")).returns(val("y"));
  const auto fresh = [] {
    return std::map<std::string, StateEntry>{{"block.n", state_of(tensor({1.}))}, {"lifted", state_of(tensor({10.}))}};
  };
  Program program = read(p, fresh());
  EXPECT_EQ(floats(program.run(Values{tensor({0.})})[0]), Floats{11});
  EXPECT_EQ(floats(program.run(Values{tensor({0.})})[0]), Floats{21});
  EXPECT_EQ(floats(read(p, fresh()).run(Values{tensor({0.})})[0]), Floats{11});  // a fresh load starts again
  EXPECT_FALSE(program.main().inputs[1].persistent);
  expect_in("'block.n' is neither among the weights nor among the constants", error_of(p));
}

TEST(Pt2Inputs, P144_P145_P146_MutationsAreWrittenAfterAllOutputs) {
  // A functional program: tokens, mutations, user outputs, gradients. Two buffers swap their
  // values.
  ProgramJson p;
  p.graph.inputs.push_back(val("token"));
  p.input_specs.push_back(text(R"({"token": {"arg": )", name_json("token"), "}}"));
  p.state("parameter", "p_w", "w")
      .state("buffer", "b_a", "a", R"(, "persistent": true)")
      .state("buffer", "b_b", "b", R"(, "persistent": true)")
      .input("x");
  p.then(op_node("add.Tensor", {arg("self", val("x")), arg("other", val("p_w"))}, "sum"));
  p.writes("token", "token", "");
  p.writes("buffer_mutation", "b_b", R"(, "buffer_name": "a")").writes("buffer_mutation", "b_a", R"(, "buffer_name": "b")");
  p.writes("parameter_mutation", "sum", R"(, "parameter_name": "w")")
      .writes("user_input_mutation", "sum", R"(, "user_input_name": "x")");
  p.returns(val("sum")).returns(val("b_a"));
  p.writes("loss_output", "sum", "");
  p.writes("gradient_to_parameter", "sum", R"(, "parameter_name": "w")")
      .writes("gradient_to_user_input", "sum", R"(, "user_input_name": "x")");
  Tensor w = tensor({1.}), a = tensor({2.}), b = tensor({3.}), x = tensor({10.});
  w.requires_grad_();
  Program program = read(p, {{"w", state_of(w)}, {"a", state_of(a)}, {"b", state_of(b)}});
  const Values out = program.run(Values{x});
  ASSERT_EQ(out.size(), 3u);  // two user outputs and the loss
  EXPECT_EQ(floats(out[0]), Floats{11});
  EXPECT_EQ(floats(out[1]), Floats{2});  // computed before the buffers were written
  EXPECT_EQ(floats(a), Floats{3});
  EXPECT_EQ(floats(b), Floats{2});
  EXPECT_EQ(floats(w.detach()), Floats{11});
  EXPECT_EQ(floats(x), Floats{11});
  EXPECT_EQ(floats(program.gradients.at("w").detach()), Floats{11});
  EXPECT_EQ(floats(program.gradients.at("x").detach()), Floats{11});
  // The user's result is not the parameter's storage: the next call leaves it alone.
  (void)program.run(Values{x});
  EXPECT_EQ(floats(out[0].tensor().detach()), Floats{11});
}

TEST(Pt2Inputs, P146_TargetsMustExistAndFit) {
  const auto error = [](std::string_view tag, std::string_view rest) {
    ProgramJson p;
    p.state("buffer", "b", "b", R"(, "persistent": true)").input("x", meta({"2"}, {"1"}));
    p.graph.tensor_values.push_back(entry("b", meta({"3"}, {"1"})));
    p.writes(tag, "x", rest);
    return user_error([&] { (void)read(p, {{"b", state_of(tensor({1., 2, 3}))}}); });
  };
  expect_in("buffer_mutation: unknown target q", error("buffer_mutation", R"(, "buffer_name": "q")"));
  expect_in("parameter_mutation: unknown target b", error("parameter_mutation", R"(, "parameter_name": "b")"));
  expect_in("user_input_mutation: unknown target b", error("user_input_mutation", R"(, "user_input_name": "b")"));
  expect_in("gradient_to_parameter: unknown target b", error("gradient_to_parameter", R"(, "parameter_name": "b")"));
  expect_in("gradient_to_user_input: unknown target z", error("gradient_to_user_input", R"(, "user_input_name": "z")"));
  expect_in("buffer_mutation: b is f32[3][1], and the value f32[2][1]", error("buffer_mutation", R"(, "buffer_name": "b")"));
  expect_in("OutputSpec: unknown tag 'guess'", error("guess", ""));
}

TEST(Pt2Inputs, P147_TrainingDialectWritesThroughPlaceholders) {
  ProgramJson p;
  p.state("parameter", "p_w", "w").input("x");
  p.then(op_node("select.int", {arg("self", val("p_w")), arg("dim", integer(0)), arg("index", integer(1))}, "view"));
  p.then(op_node("add_.Tensor", {arg("self", val("view")), arg("other", val("x"))}, "add_"));
  p.then(op_node("zero_.default", {arg("self", val("x"))}, "zero_")).returns(val("p_w"));
  Tensor w = tensor({1., 2}), x = tensor({5.}, Shape{});
  Program program = read(p, {{"w", state_of(w)}});
  EXPECT_TRUE(program.run(Values{x})[0].tensor().is_same(w));
  EXPECT_EQ(floats(w), (Floats{1, 7}));
  EXPECT_EQ(floats(x), Floats{0});
}

TEST(Pt2Inputs, P032_CustomObjectsLoadButDoNotRun) {
  ProgramJson p;
  const std::string object = R"({"name": "obj", "class_fqn": "my.Stack"})";
  p.graph.inputs.push_back(as("as_custom_obj", object));
  p.graph.objects.push_back(entry("obj", object));
  p.input_specs.push_back(text(R"({"custom_obj": {"arg": )", object, R"(, "custom_obj_name": "stack"}})"));
  p.input("x").returns(val("x"));
  EXPECT_EQ(refusal(p, {of({1})}), "constant stack is a custom class object (my.Stack) and cannot be used");
}

}  // namespace
}  // namespace ingot
