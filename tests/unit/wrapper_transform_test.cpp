// Wrapper tensors with the transforms: flattened and rebuilt, functionalized, traced. A wrapper
// never reaches a graph.
#include <optional>

#include "graph/dead_code.hpp"
#include "graph/interpret.hpp"
#include "graph/text.hpp"
#include "graph/trace.hpp"
#include "graph/verify.hpp"
#include "ingot/ingot.hpp"
#include "ingot/transforms.hpp"
#include "support/error_text.hpp"
#include "support/no_leaks.hpp"
#include "support/random_program.hpp"
#include "support/wrappers.hpp"
#include "transform/functional.hpp"
#include "op/wrapper_layout.hpp"

namespace ingot {
namespace {

using testing::a;
using testing::b;
using testing::is_metadata_tensor;
using testing::is_two_tensor;
using testing::metadata_tensor;
using testing::Numbers;
using testing::two;
using testing::two_tensor;
using testing::values;

class WrapperTransform : public NoLeaks {};

// ---- layouts

TEST_F(WrapperTransform, FlattensToPlainTensorsAndBack) {
  const Tensor nested = two_tensor(two({1, 2}, {2}), metadata_tensor(tensor({5., 6}), 9)), plain = ones({3});
  const Flattened flat = flatten_wrappers({nested, plain, Tensor()});
  ASSERT_EQ(flat.leaves.size(), 5u);
  EXPECT_EQ(values(flat.leaves[1]), Numbers({-1, -2}));
  EXPECT_EQ(values(flat.leaves[2]), Numbers({5, 6}));
  EXPECT_TRUE(flat.leaves[3].is_same(plain));
  EXPECT_FALSE(flat.leaves[4].defined());
  ASSERT_EQ(flat.layouts.size(), 3u);
  EXPECT_EQ(flat.layouts[0].leaves(), 3u);
  EXPECT_EQ(to_text(flat.layouts[0]),
            "TwoTensor(a=TwoTensor(a=Tensor, b=Tensor), b=ConstantExtraMetadataTensor(elem=Tensor, metadata=9))");
  EXPECT_EQ(to_text(flat.layouts[1]), "Tensor");
  EXPECT_TRUE(flat.layouts[0].sizes.same({2}));

  TensorList other;
  for (const Tensor& t : flat.leaves) other.push_back(t.defined() ? t * 2 : t);
  const TensorList built = unflatten_wrappers(flat.layouts, other);
  ASSERT_TRUE(is_two_tensor(built[0]) && is_metadata_tensor(b(built[0])));
  EXPECT_EQ(testing::constant_attribute(b(built[0])), 9);
  EXPECT_EQ(values(b(a(built[0]))), Numbers({-2, -4}));
  EXPECT_TRUE(built[1].is_same(other[3]));
  EXPECT_EQ(error_of([&] { unflatten_wrappers(flat.layouts, {plain}); }),
            "unflatten_wrappers: the layouts need 5 plain tensors, found 1");
}

TEST_F(WrapperTransform, LayoutsCompare) {
  const Tensor x = ones({2});
  const WrapperLayout plain = layout_of(x), one_level = layout_of(two_tensor(x, x));
  const WrapperLayout two_level = layout_of(two_tensor(two_tensor(x, x), two_tensor(x, x)));
  const WrapperLayout four = layout_of(metadata_tensor(x)), five = layout_of(metadata_tensor(x, 5));
  EXPECT_TRUE(same_classes(one_level, layout_of(two({1, 2, 3}, {3})))) << "whatever the sizes";
  EXPECT_FALSE(same_classes(one_level, two_level));
  EXPECT_FALSE(same_classes(one_level, plain));
  EXPECT_FALSE(same_classes(one_level, four));
  EXPECT_TRUE(same_classes(four, five));
  EXPECT_FALSE(same_metadata(four, five));
  EXPECT_TRUE(same_metadata(four, layout_of(metadata_tensor(x))));
}

TEST_F(WrapperTransform, WhatAliasedDoesSoWhenRebuilt) {
  const Tensor x = two({1, 2, 3, 4}, {2, 2}), row = x.select(0, 0), other = two({1}, {1});
  const Flattened flat = flatten_wrappers({x, row, x, other});
  const TensorList built = unflatten_wrappers(flat.layouts, flat.leaves);
  EXPECT_TRUE(built[2].is_same(built[0]));
  EXPECT_FALSE(built[1].is_same(built[0]));
  EXPECT_TRUE(built[1]->storage == built[0]->storage);
  EXPECT_FALSE(built[3]->storage == built[0]->storage);
  EXPECT_TRUE(built[1]->geom.same(row->geom));
}

// ---- trace

struct TracedWrappers {
  Traced traced;
  std::vector<WrapperLayout> results;
  std::string listing;
};
TracedWrappers trace_dense(const TensorFunction& f, const TensorList& examples, const TraceOptions& options = {}) {
  const Flattened flat = flatten_wrappers(examples);
  const DenseFunction dense = dense_function(f, flat.layouts);
  TracedWrappers t{trace(dense.function, flat.leaves, options), *dense.results, {}};
  verify(t.traced.graph);
  t.listing = print(t.traced.graph);
  return t;
}
TensorList run_graph(const TracedWrappers& t, const TensorList& arguments) {
  const TensorList leaves = flatten_wrappers(arguments).leaves;
  TensorList out;
  for (const Value& v : Interpreter(t.traced.graph).run(Values(leaves.begin(), leaves.end()))) out.push_back(v.tensor_or_none());
  return unflatten_wrappers(t.results, out);
}

TEST_F(WrapperTransform, AGraphHasTheOpsOnTheInnerTensors) {  // the forward of A178
  const TensorFunction f = [](const TensorList& in) {
    const Tensor product = in[0] * 6;
    return TensorList{product + in[1] / 2};
  };
  const TracedWrappers t = trace_dense(f, {two({1, 2}, {2}), ones({2})});
  EXPECT_EQ(t.listing,
            "def forward(self, arg0_1, arg1_1, arg2_1):\n"
            "    mul = torch.ops.aten.mul.Tensor(arg0_1, 6);  arg0_1 = None\n"
            "    mul_1 = torch.ops.aten.mul.Tensor(arg1_1, 6);  arg1_1 = None\n"
            "    div = torch.ops.aten.div.Tensor(arg2_1, 2);  arg2_1 = None\n"
            "    add = torch.ops.aten.add.Tensor(mul, div);  mul = None\n"
            "    add_1 = torch.ops.aten.add.Tensor(mul_1, div);  mul_1 = div = None\n"
            "    return (add, add_1)\n");
  const TensorList r = run_graph(t, {two({3, 4}, {2}), ones({2})});
  EXPECT_EQ(values(a(r[0])), Numbers({18.5, 24.5}));
  EXPECT_EQ(values(b(r[0])), Numbers({-17.5, -23.5}));
}

TEST_F(WrapperTransform, ABackwardIsTracedOnTheInnerTensors) {
  const TracedWrappers t = trace_dense(
      [](const TensorList& in) {
        Tensor x = in[0].detach().requires_grad_();
        return grad({sin(x).sum()}, {x});
      },
      {two({1, 2}, {2})});
  EXPECT_EQ(to_text(t.results.at(0)), "TwoTensor(a=Tensor, b=Tensor)");
  EXPECT_NE(t.listing.find("torch.ops.aten.cos.default"), std::string::npos);
  const Tensor r = run_graph(t, {two({0, 0}, {2})})[0];
  EXPECT_EQ(values(a(r)), Numbers({1, 1}));
}

TEST_F(WrapperTransform, SizesStayOpen) {
  TraceOptions open;
  open.with = TraceWith::symbols;
  const TracedWrappers t =
      trace_dense([](const TensorList& in) { return TensorList{in[0].view({-1}) * 2}; }, {two({1, 2, 3, 4, 5, 6}, {2, 3})}, open);
  const Tensor r = run_graph(t, {two({1, 2, 3, 4}, {4, 1})})[0];
  EXPECT_EQ(values(b(r)), Numbers({-2, -4, -6, -8}));
}

TEST_F(WrapperTransform, TraceRefusesWrappersThemselves) {
  const Tensor w = two({1}, {1});
  const auto same = [](const TensorList& in) { return in; };
  EXPECT_NE(error_of([&] { trace(same, {w}); }).find("trace: an example is a wrapper tensor"), std::string::npos);
  const auto makes_one = [&](const TensorList& in) { return TensorList{in[0] + w}; };
  EXPECT_NE(error_of([&] { trace(makes_one, {ones({1})}); }).find("a result of the function is a wrapper tensor"),
            std::string::npos);
}

// ---- functionalize

TEST_F(WrapperTransform, FunctionalTensorsHoldWrappers) {
  const Tensor x = two({1, 2, 3, 4}, {2, 2});
  const Tensor f = to_functional(x);
  Tensor row = f.select(0, 0);
  EXPECT_TRUE(functional_state(row) && is_two_tensor(functional_state(row)->value));
  row.mul_(Scalar(10));
  EXPECT_EQ(values(b(from_functional(f))), Numbers({-10, -20, -3, -4}));
  EXPECT_EQ(values(b(x)), Numbers({-1, -2, -3, -4})) << "nothing was written";
  EXPECT_EQ(f.sum().item_double(), 37);
}

TEST_F(WrapperTransform, FunctionalizedFunctionsDoTheSame) {
  const TensorFunction f = [](const TensorList& in) {
    Tensor x = in[0], row = x.select(0, 1);
    row.add_(in[1]);
    aten_value<"t_">(x);
    x.mul_(Scalar(2));
    return TensorList{row, x.clone(), in[1] + row};
  };
  const auto arguments = [] { return TensorList{two({1, 2, 3, 4}, {2, 2}), two({5, 6}, {2})}; };
  const TensorList eager_in = arguments(), in = arguments();
  const TensorList eager = f(eager_in), functional = functionalize(f)(in);
  EXPECT_TRUE(in[0].sizes().same(eager_in[0].sizes()) && in[0].strides().same(eager_in[0].strides()));
  for (const auto part : {a, b}) {
    EXPECT_EQ(values(part(in[0])), values(part(eager_in[0])));
    for (std::size_t k = 0; k < eager.size(); k++)
      EXPECT_EQ(values(part(functional[k])), values(part(eager[k]))) << "result " << k;
  }
  EXPECT_TRUE(functional[0]->storage == in[0]->storage);
}

TEST_F(WrapperTransform, AFunctionalizedGraphWritesOnlyItsArguments) {
  const TensorFunction f = [](const TensorList& in) {
    Tensor row = in[0].select(0, 1);
    row.add_(Scalar(1));
    return TensorList{in[0] * 2};
  };
  const Tensor x = two({1, 2, 3, 4}, {2, 2});
  TracedWrappers t = trace_dense(functionalize(f), {x});
  t.traced.graph = without_dead_code(t.traced.graph);
  EXPECT_EQ(print(t.traced.graph),
            "def forward(self, arg0_1, arg1_1):\n"
            "    select = torch.ops.aten.select.int(arg0_1, 0, 1)\n"
            "    select_1 = torch.ops.aten.select.int(arg1_1, 0, 1)\n"
            "    add = torch.ops.aten.add.Tensor(select, 1);  select = None\n"
            "    add_1 = torch.ops.aten.add.Tensor(select_1, 1);  select_1 = None\n"
            "    select_scatter = torch.ops.aten.select_scatter.default(arg0_1, add, 0, 1);  add = None\n"
            "    select_scatter_1 = torch.ops.aten.select_scatter.default(arg1_1, add_1, 0, 1);  add_1 = None\n"
            "    mul = torch.ops.aten.mul.Tensor(select_scatter, 2)\n"
            "    mul_1 = torch.ops.aten.mul.Tensor(select_scatter_1, 2)\n"
            "    copy_ = torch.ops.aten.copy_.default(arg0_1, select_scatter);  arg0_1 = select_scatter = None\n"
            "    copy__1 = torch.ops.aten.copy_.default(arg1_1, select_scatter_1);  arg1_1 = select_scatter_1 = None\n"
            "    return (mul, mul_1)\n");
  const Tensor r = run_graph(t, {x})[0];
  EXPECT_EQ(values(b(r)), Numbers({-2, -4, -4, -6}));
  EXPECT_EQ(values(a(x)), Numbers({1, 2, 4, 5}));
}

// ---- random programs: on a TwoTensor they do to each part what they do to it alone

Tensor second(const Tensor& t) { return t * -2 + 3; }

class MakeTwo final : public Mode {
 public:
  Value call(const Op& op, Args args) override {
    const Value made = below(op, args);
    return testing::is_tensor_constructor(op) ? Value(two_tensor(made.tensor(), second(made.tensor()))) : made;
  }
};
class MakeSecond final : public Mode {
 public:
  Value call(const Op& op, Args args) override {
    const Value made = below(op, args);
    return testing::is_tensor_constructor(op) ? Value(second(made.tensor())) : made;
  }
};

struct Outcome {
  testing::ProgramInputs in;
  TensorList results;
  std::string refusal;  // of the backward
};
Outcome outcome(const testing::Program& p, Mode* mode, bool as_functional) {
  // Wrappers make stale views again by taking them again, not by their place in a storage: so shall
  // the tensors they are compared with.
  const Scoped<bool> replay(thread_state().view_replay, true);
  std::optional<ModeScope> scope;
  if (mode) scope.emplace(*mode);
  Outcome o{testing::make_inputs(p), {}, {}};
  scope.reset();
  const TensorFunction body = [&](const TensorList& in) { return testing::run(p, in); };
  o.results = as_functional ? functionalize(body)(o.in.inputs) : body(o.in.inputs);
  try {
    TensorList roots;
    for (const Tensor& t : o.results)
      if (t.requires_grad()) roots.push_back(t.sum());
    if (!roots.empty()) backward(roots);
  } catch (const UserError& e) {
    o.refusal = e.what();
  }
  return o;
}

void expect_same(const char* what, const Tensor& want, const Tensor& got) {
  ASSERT_EQ(want.defined(), got.defined()) << what;
  if (!want.defined()) return;
  ASSERT_TRUE(want.sizes().same(got.sizes())) << what;
  const Numbers x = values(want), y = values(got);
  for (std::size_t i = 0; i < x.size(); i++)
    ASSERT_TRUE(x[i] == y[i] || (x[i] != x[i] && y[i] != y[i])) << what << " element " << i << ": " << x[i] << " " << y[i];
}
void expect_part(const Outcome& want, const Outcome& got, const Tensor& (*part)(const Tensor&)) {
  const auto compare = [&](const char* what, const TensorList& w, const TensorList& g) {
    for (std::size_t k = 0; k < w.size(); k++) {
      ASSERT_TRUE(is_two_tensor(g[k])) << what;
      ASSERT_NO_FATAL_FAILURE(expect_same(what, w[k], part(g[k])));
      ASSERT_EQ(w[k].requires_grad(), g[k].requires_grad()) << what;
      const Tensor gw = w[k].grad(), gg = g[k].grad();
      ASSERT_EQ(gw.defined(), gg.defined()) << what << " has a gradient in one run";
      ASSERT_NO_FATAL_FAILURE(expect_same(what, gw, is_two_tensor(gg) ? part(gg) : gg));
    }
  };
  ASSERT_NO_FATAL_FAILURE(compare("result", want.results, got.results));
  ASSERT_NO_FATAL_FAILURE(compare("base", want.in.bases, got.in.bases));
  ASSERT_NO_FATAL_FAILURE(compare("leaf", want.in.leaves, got.in.leaves));
  ASSERT_EQ(want.refusal.empty(), got.refusal.empty()) << want.refusal << got.refusal;
}

TEST_F(WrapperTransform, RandomProgramsRunOnBothParts) {
  MakeTwo make_two;
  MakeSecond make_second;
  int compared = 0;
  for (uint64_t seed = 1; seed <= 600; seed++) {
    const testing::Program p = testing::random_program(seed);
    std::optional<Outcome> first, other;
    try {
      first.emplace(outcome(p, nullptr, false));
      other.emplace(outcome(p, &make_second, false));
    } catch (const UserError&) {
      continue;
    }
    const Outcome both = outcome(p, &make_two, false);
    expect_part(*first, both, a);
    expect_part(*other, both, b);
    if (HasFailure()) {
      ADD_FAILURE() << "seed " << seed << "\n" << testing::to_text(p);
      break;
    }
    compared++;
  }
  EXPECT_GT(compared, 550);
}

TEST_F(WrapperTransform, RandomProgramsAreFunctionalizedOverWrappers) {
  MakeTwo make_two;
  int compared = 0;
  for (uint64_t seed = 1; seed <= 600; seed++) {
    const testing::Program p = testing::random_program(seed);
    std::optional<Outcome> plain;
    try {
      plain.emplace(outcome(p, nullptr, true));
    } catch (const UserError&) {
      continue;
    }
    const Outcome wrapped = outcome(p, &make_two, true);
    expect_part(*plain, wrapped, a);
    if (HasFailure()) {
      ADD_FAILURE() << "seed " << seed << "\n" << testing::to_text(p);
      break;
    }
    compared++;
  }
  EXPECT_GT(compared, 400);
}

}  // namespace
}  // namespace ingot
