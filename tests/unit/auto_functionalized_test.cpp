// Operators that write, called in their functional form: auto_functionalized_v2 of exported
// programs, and of functionalize.
#include <gtest/gtest.h>

#include "aot/aot.hpp"
#include "aot/min_cut.hpp"
#include "check/case_inputs.hpp"
#include "check/run_case.hpp"
#include "graph/dead_code.hpp"
#include "graph/interpret.hpp"
#include "graph/same.hpp"
#include "graph/text.hpp"
#include "graph/trace.hpp"
#include "graph/verify.hpp"
#include "format/pt2/load.hpp"
#include "format/pt2/write.hpp"
#include "ingot/autograd.hpp"
#include "ingot/ingot.hpp"
#include "ingot/transforms.hpp"
#include "support/writing_ops.hpp"
#include "unit/pt2_fixture.hpp"

namespace ingot {
namespace {

using namespace pt2_json;

class AutoFunctionalized : public ::testing::Test {
 protected:
  void SetUp() override { testing::register_writing_ops(); }
};

std::vector<Case> cases() { return find_cases(std::string(INGOT_TEST_DATA) + "/higher_order"); }

// What PyTorch computed, and what it left in the inputs.
TEST_F(AutoFunctionalized, P172_ProgramsOfPyTorchGiveItsNumbers) {
  int count = 0;
  for (const Case& c : cases()) {
    const CheckResult r = check_case(c, {.strides = true});
    EXPECT_EQ(r.outcome, CheckResult::Outcome::passed) << c.name << ": " << r.message;
    Program p = load_pt2(c.program);
    const SafeTensors data = SafeTensors::open(c.data.at(0));
    const TensorList in = case_inputs(c, data, false);
    (void)p.run(Values(in.begin(), in.end()));
    for (std::size_t i = 0; i < in.size(); i++)
      EXPECT_EQ(compare(in[i], data.get(text("after.", i)), {}).message, "") << c.name << " input " << i;
    count++;
  }
  EXPECT_EQ(count, 20);
}

TEST_F(AutoFunctionalized, ProgramsAreTheirTextAndTheirFile) {
  for (const Case& c : cases()) {
    Program p = load_pt2(c.program);
    EXPECT_EQ(find_fault(p.main().graph), "") << c.name;
    for (const GraphForm form : {GraphForm::plain, GraphForm::readable, GraphForm::full})
      EXPECT_EQ(difference(parse_graph(print(p.main().graph, form)), p.main().graph), "") << c.name;
    // As read, and as a graph that no file spelled.
    for (const bool spelled : {true, false}) {
      Pt2Program again = read_pt2(c.program);
      if (!spelled) again.spelled = {};
      const std::string file = ::testing::TempDir() + "auto_functionalized_again.pt2";
      save_pt2(file, again);
      EXPECT_EQ(difference(load_pt2(file).main().graph, p.main().graph), "") << c.name << (spelled ? "" : ", written anew");
    }
  }
}

// The text is the one that PyTorch prints.
TEST_F(AutoFunctionalized, P172_TheListingIsPyTorchs) {
  const std::string text =
      "def forward(self, x, b):\n"
      "    sym_size_int_3 = torch.ops.aten.sym_size.int(b, 0)\n"
      "    add = torch.ops.aten.add.Tensor(x, 1);  x = None\n"
      "    mul_4 = torch.ops.aten.mul.Tensor(b, 2);  b = None\n"
      "    auto_functionalized_v2 = torch.ops.higher_order.auto_functionalized_v2(torch.ops.hops.swap.default, _x_base_index = 0, "
      "_x_size = (2, sym_size_int_3), _x_stride = (1, 2), _x_storage_offset = 0, _y_base_index = 1, _y_size = (2, sym_size_int_3), "
      "_y_stride = (1, 2), _y_storage_offset = 0, _all_bases = [add, mul_4]);  sym_size_int_3 = add = mul_4 = None\n"
      "    getitem = auto_functionalized_v2[0]\n"
      "    getitem_1 = auto_functionalized_v2[1];  auto_functionalized_v2 = None\n"
      "    return (getitem_1, getitem)\n";
  EXPECT_EQ(print(parse_graph(text)), text);
  const std::string many =
      "def forward(self, add, mul, b):\n"
      "    auto_functionalized_v2 = torch.ops.higher_order.auto_functionalized_v2(torch.ops.hops.many.default, a = b, _xs_length = 2, "
      "_xs_0_base_index = 0, _xs_0_size = (2,), _xs_0_stride = (1,), _xs_0_storage_offset = 0, _xs_1_base_index = 1, _xs_1_alias = "
      "True, _o_base_index = None, _all_bases = [add, mul]);  b = add = mul = None\n"
      "    getitem = auto_functionalized_v2[0];  auto_functionalized_v2 = None\n"
      "    return (getitem,)\n";
  EXPECT_EQ(print(parse_graph(many)), many);
  const std::string v1 =
      "def forward(self, x, b):\n"
      "    auto_functionalized = torch.ops.higher_order.auto_functionalized(torch.ops.hops.bump.default, x = x, by = b, times = 3);"
      "  x = b = None\n"
      "    getitem = auto_functionalized[1];  auto_functionalized = None\n"
      "    return (getitem,)\n";
  const Graph g = parse_graph(v1);
  EXPECT_EQ(print(g), v1);
  const Tensor x = tensor({1., 2});
  EXPECT_EQ(floats(Interpreter(g).run(Values{x, tensor({10., 20})})[0]), (Floats{31, 62}));
  EXPECT_EQ(floats(x), (Floats{1, 2}));
}

std::string listing(const TensorFunction& f, const TensorList& in) {
  return print(without_dead_code(trace(functionalize(f), in).graph));
}

// Every way a view is described, as PyTorch describes it; what functionalized programs compute is
// what the program does.
TEST_F(AutoFunctionalized, R060_WrittenViewsAreViewsOfTheirBases) {
  struct Written {
    const char* call;
    TensorFunction f;
  };
  const auto chain = [](const Tensor& x, const Tensor& y) { call(op("hops::chain"), {x, y}); };
  const Written written[] = {
      {"chain.default, _x_base_index = 0, _y_base_index = 0, _all_bases = [add])",
       [&](const TensorList& in) {
         Tensor y = in[0] + 1;
         chain(y, y);
         return TensorList{y};
       }},
      {"chain.default, _x_base_index = 0, _x_alias = True, _y_base_index = 0, _all_bases = [add])",
       [&](const TensorList& in) {
         Tensor y = in[0] + 1;
         chain(y.view({3, 2}), y);
         return TensorList{y};
       }},
      {"chain.default, _x_base_index = 0, _x_slice_dim = 0, _x_slice_start = 0, _x_slice_end = 2, _y_base_index = 0, _y_slice_dim = "
       "0, _y_slice_start = 1, _y_slice_end = 3, _all_bases = [add])",
       [&](const TensorList& in) {
         Tensor y = in[0] + 1;
         chain(y.slice(0, 0, 2), y.slice(0, 1, 3));
         return TensorList{y};
       }},
      {"chain.default, _x_base_index = 0, _x_size = (3,), _x_stride = (2,), _x_storage_offset = 1, _y_base_index = 1, _y_slice_dim = "
       "1, _y_slice_start = 0, _y_slice_end = 1, _all_bases = [add, arg1_1])",
       [&](const TensorList& in) {
         Tensor y = in[0] + 1, b = in[1];
         chain(y.select(1, 1), b.slice(1, 0, 1));
         return TensorList{y, b * 1};
       }},
      {"many.default, a = select_3, _xs_length = 3, _xs_0_base_index = 0, _xs_0_size = (2,), _xs_0_stride = (1,), "
       "_xs_0_storage_offset = 0, _xs_1_base_index = 1, _xs_1_size = (2,), _xs_1_stride = (1,), _xs_1_storage_offset = 0, "
       "_xs_2_base_index = 0, _xs_2_size = (2,), _xs_2_stride = (1,), _xs_2_storage_offset = 2, _o_base_index = None, _all_bases = "
       "[add, mul])",
       [](const TensorList& in) {
         Tensor y = in[0] + 1, z = in[1] * 2;
         const TensorList xs{y.select(0, 0), z.select(0, 0), y.select(0, 1)};
         const Tensor r = call(op("hops::many"), {xs, Value(), in[1].select(0, 0)}).tensor();
         return TensorList{y, z, r};
       }},
      {"bump.default, by = arg1_1, times = 3, _x_base_index = 0, _all_bases = [arg0_1])",
       [](const TensorList& in) {
         call(op("hops::bump"), {in[0], in[1], 3});
         return TensorList{in[0] * 2};
       }},
  };
  for (const Written& w : written) {
    TensorList a{randn({3, 2}), randn({3, 2})}, b{a[0].clone(), a[1].clone()};
    EXPECT_NE(listing(w.f, a).find(w.call), std::string::npos) << w.call << "\n" << listing(w.f, a);
    const TensorList want = w.f(a), got = functionalize(w.f)(b), traced = [&] {
      TensorList l;
      for (const Value& v : Interpreter(trace(functionalize(w.f), b).graph).run(Values{b[0].clone(), b[1].clone()}))
        l.push_back(v.tensor());
      return l;
    }();
    for (std::size_t k = 0; k < want.size(); k++)
      EXPECT_EQ(got[k].to_vector<double>(), want[k].to_vector<double>()) << w.call << " result " << k;
    for (std::size_t k = 0; k < a.size(); k++) EXPECT_EQ(a[k].to_vector<double>(), b[k].to_vector<double>()) << w.call;
    EXPECT_EQ(traced.size(), want.size());
  }
}

// A value that lies otherwise than the program says is laid out first: the views refer to the
// program.
TEST_F(AutoFunctionalized, R060_ValuesThatLieOtherwise) {
  const TensorFunction f = [](const TensorList& in) {
    Tensor y = in[0] + 1, t = y.t();
    call(op("mul.out"), {t, in[1].t(), t});  // leaves a transposed value in y
    call(op("hops::chain"), {y.select(0, 1), y.select(1, 0)});
    return TensorList{y};
  };
  const TensorList in{randn({3, 2}), randn({3, 2})};
  EXPECT_EQ(functionalize(f)(in)[0].to_vector<double>(), f(in)[0].to_vector<double>());
}

// PyTorch's rule: the tape sees no write of an op without a gradient, and refuses gradients of its
// results.
TEST_F(AutoFunctionalized, GradientsAreThoseOfTheCopies) {
  const Program bump = load_pt2(std::string(INGOT_TEST_DATA) + "/higher_order/auto_functionalized/bump_clone.pt2");
  const TensorList in{randn({3, 2}), randn({3, 2})};
  const auto gradient = [&](const TensorFunction& f, const Tensor& x) {
    const Tensor leaf = x.detach().clone().requires_grad_();
    f({leaf, in[1]})[0].sum().backward();
    return leaf.grad().to_vector<double>();
  };
  const TensorFunction run = [&](const TensorList& a) {
    return TensorList{Interpreter(bump.main().graph).run(Values{a[0], a[1]})[0].tensor()};
  };
  EXPECT_EQ(gradient(run, in[0]), std::vector<double>(6, 1));
  // Recorded whole it has the same gradient.
  const TensorFunction of_sum = [&](const TensorList& a) {
    return grad(TensorFunction([&](const TensorList& x) { return TensorList{run(x)[0].sum()}; }), {0})(a);
  };
  const Traced recorded = trace(of_sum, in);
  EXPECT_EQ(Interpreter(recorded.graph).run(Values{in[0], in[1]})[0].tensor().to_vector<double>(), std::vector<double>(6, 1));

  const Graph swap = parse_graph(
      "def forward(self, x, b):\n"
      "    f = torch.ops.higher_order.auto_functionalized_v2(torch.ops.hops.swap.default, _x_base_index = 0, _y_base_index = 1, "
      "_all_bases = [x, b])\n"
      "    getitem = f[0]\n"
      "    return (getitem,)\n");
  const Tensor leaf = randn({2}).requires_grad_();
  const Tensor r = Interpreter(swap).run(Values{leaf, randn({2})})[0].tensor();
  EXPECT_NE(user_error([&] { r.sum().backward(); })
                .find("Trying to backward through hops.swap.default but no autograd formula was registered. Please use "
                      "register_autograd to add one."),
            std::string::npos);
}

// A function that calls operators which write, compiled with its gradients: results, what is left
// in the arguments, and gradients.
TEST_F(AutoFunctionalized, R060_FunctionsCompiledAheadOfTime) {
  const TensorFunction f = [](const TensorList& in) {
    Tensor y = in[0] * 2, state = in[1];
    call(op("hops::chain"), {y.slice(0, 0, 2), y.slice(0, 1, 3)});
    call(op("hops::bump"), {state, y.detach()});
    return TensorList{y * in[0], state + 1};
  };
  const TensorList start{randn({3, 2}), randn({3, 2})};
  const auto run = [&](const TensorFunction& g) {
    const Tensor x = Tensor(start[0].clone()).requires_grad_(), state = start[1].clone();
    TensorList all = g({x, state});
    all[0].sum().backward();
    all.push_back(state);
    all.push_back(x.grad());
    return all;
  };
  const TensorList want = run(f);
  for (const bool min_cut : {false, true}) {
    aot::AotOptions options;
    if (min_cut) options.partition = [](const aot::Joint& j) { return aot::partition_min_cut(j); };
    const aot::AotFunction compiled = aot::aot_function(f, options);
    const TensorList got = run([&](const TensorList& in) { return compiled(in); });
    for (std::size_t k = 0; k < want.size(); k++)
      EXPECT_EQ(got[k].to_vector<double>(), want[k].to_vector<double>()) << "result " << k;
  }
}

TEST_F(AutoFunctionalized, BadCalls) {
  const auto program = [](const std::string& arguments) {
    return "def forward(self, x, b):\n    f = torch.ops.higher_order.auto_functionalized_v2(" + arguments +
           ")\n    getitem = f[1]\n    return (getitem,)\n";
  };
  const auto fault = [&](const std::string& arguments) {
    return user_error([&] { (void)Interpreter(parse_graph(program(arguments))).run(Values{tensor({1., 2}), tensor({3., 4})}); });
  };
  const struct {
    const char *arguments, *message;
  } bad[] = {
      {"torch.ops.hops.nothing.default, by = b", "expected an operator that Ingot knows, found torch.ops.hops.nothing.default"},
      {"torch.ops.hops.bump.default, b", "an argument with a name: those after the operator have one"},
      {"torch.ops.hops.bump.default, to = b", "hops::bump has no argument 'to'"},
      {"torch.ops.hops.bump.default, _by_base_index = 0", "hops::bump has no argument '_by_base_index'"},
      {"torch.ops.hops.bump.default, _x_slice = 0", "hops::bump has no argument '_x_slice'"},
      {"torch.ops.hops.bump.default, by = b, by = b", "argument 'by' is given twice"},
      {"torch.ops.hops.bump.default, by = 'b'", "argument 'by' must be Tensor, not str"},
      {"torch.ops.hops.bump.default, _x_base_index = 0, _all_bases = [x]",
       "argument by of a functional call of hops::bump is missing"},
      {"torch.ops.hops.bump.default, by = b, _x_base_index = 0",
       "argument _all_bases of a functional call of hops::bump is missing"},
      {"torch.ops.hops.bump.default, by = b, _all_bases = [x]",
       "argument _x_base_index of a functional call of hops::bump is missing"},
      {"torch.ops.hops.bump.default, by = b, _x_base_index = 1, _all_bases = [x]",
       "_x_base_index is 1, and _all_bases has 1 tensors"},
      {"torch.ops.hops.bump.default, by = b, _x_base_index = 0, _x_size = (2,), _all_bases = [x]",
       "argument _x_stride of a functional call of hops::bump is missing"},
  };
  for (const auto& b : bad) EXPECT_NE(fault(b.arguments).find(b.message), std::string::npos) << fault(b.arguments);

  const auto op = [](std::string_view name) { return as("as_operator", text("\"torch.ops.hops.", name, ".default\"")); };
  ProgramJson p;
  p.input("x").input("b").returns(val("w"));
  const auto read_error = [&](const std::string& inputs) {
    p.graph.nodes = {inputs};
    return error_of(p);
  };
  const auto v2 = [](const std::vector<std::string>& inputs) {
    return node("torch.ops.higher_order.auto_functionalized_v2", inputs, {as("as_none", "true"), val("w")}, "hop");
  };
  EXPECT_NE(read_error(v2({arg("by", val("b"), 2), arg("times", op("bump"), 2)})).find("argument times has kind as_operator"),
            std::string::npos);
  EXPECT_NE(read_error(v2({arg("", op("bump")), arg("to", val("b"), 2)})).find("hops::bump has no argument 'to'"),
            std::string::npos);
  EXPECT_NE(read_error(v2({arg("", op("bump")), arg("_all_bases", vals({"x"}), 2)})).find("argument by is missing"),
            std::string::npos);
  EXPECT_NE(read_error(v2({arg("", op("bump")), arg("", val("b"))})).find("arguments after the operator have names"),
            std::string::npos);
  EXPECT_NE(read_error(v2({arg("", op("bump")), arg("by", str("b"), 2)})).find("argument by has kind as_string, Tensor expected"),
            std::string::npos);
}

}  // namespace
}  // namespace ingot
