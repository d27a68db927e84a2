// What the metadata pass must notice beside what aot_metadata_test asks (R021, R037, R042, R086),
// costs of further ops (R124), and tangents of wrappers (R148).
#include "aot/graphs.hpp"
#include "aot/inputs.hpp"
#include "aot/joint_info.hpp"
#include "aot/metadata.hpp"
#include "aot/synthetic_base.hpp"
#include "ingot/state.hpp"
#include "support/aot_harness.hpp"
#include "support/tracked.hpp"
#include "unit/aot_joint.hpp"

namespace ingot::aot {
namespace {

class AotRecord : public AotHarness {
 protected:
  ShapeEnv env_;
  Metadata collect(const TensorFunction& f, const TensorList& in, bool keep = false) {
    const GuardScope scope(env_);
    const FlatFunction flat = [&](const Values& v) {
      TensorList l;
      for (const Value& x : v) l.push_back(x.tensor());
      const TensorList out = f(l);
      return Values(out.begin(), out.end());
    };
    return collect_metadata(flat, fake_inputs(Values(in.begin(), in.end()), {}, env_), keep, true);
  }
  static std::string kinds(const Metadata& m) {
    std::string s;
    for (const OutputInfo& o : m.outputs) s += text(s.empty() ? "" : ", ", to_text(o.kind), o.base < 0 ? "" : text(" ", o.base));
    return s;
  }
};

TEST_F(AotRecord, R021_TheAutocastStateMustStay) {
  const std::string words =
      "AOTAutograd does not support tracing graphs that mutate the autocast state. Dynamo will only insert autocast context managers (e.g. "
      "with torch.autocast(..)) into the graph, which will unwind all of their mutations to autocast state before the graph exits. If you "
      "encounter this error while using torch.compile, please file a bug.";
  const AutocastState before = autocast_state();
  for (const AutocastState& left : {AutocastState{true, bfloat16}, AutocastState{before.enabled, float16}}) {
    EXPECT_EQ(error_of([&] {
                collect(
                    [&](const TensorList& in) {
                      set_autocast_state(left);
                      return TensorList{in[0] + 1};
                    },
                    {ones({2})});
              }),
              words);
    set_autocast_state(before);
  }
  EXPECT_EQ(error_of([&] {
              collect(
                  [](const TensorList& in) {
                    const AutocastGuard inside(float16);
                    return TensorList{in[0] + 1};
                  },
                  {ones({2})});
            }),
            "no error");
}

TEST_F(AotRecord, R037_ViewsOfOneOfSeveralViewsAreSuchToo) {
  const auto of = [&](const TensorFunction& f) { return kinds(collect(f, {tracked(ones({4, 2})) * 1})); };
  for (const TensorFunction& several : {TensorFunction([](const TensorList& in) { return in[0].unbind(0); }),
                                        TensorFunction([](const TensorList& in) { return in[0].split(2, 0); }),
                                        TensorFunction([](const TensorList& in) { return in[0].chunk(2, 0); })}) {
    EXPECT_EQ(of([&](const TensorList& in) { return TensorList{several(in)[0]}; }), "non_alias 0");
    EXPECT_EQ(of([&](const TensorList& in) { return TensorList{several(in)[1].unsqueeze(0).view({-1})}; }), "non_alias 0");
    EXPECT_EQ(of([&](const TensorList& in) { return TensorList{several({in[0] * 2})[1].view({-1})}; }), "unsafe_view_alias");
  }
  EXPECT_EQ(of([](const TensorList& in) { return TensorList{in[0].select(0, 1).view({-1})}; }), "alias_of_input 0");
}

TEST_F(AotRecord, R042_WhatFollowsFromARecord) {
  const Metadata m = collect(
      [](const TensorList& in) {
        Tensor(in[0]).mul_(2);  // in the graph
        Tensor(in[1]).mul_(2);  // a variable: out of it
        const Tensor y = in[2] * 2, z = in[2] * 3;
        return TensorList{in[2].sin(), in[2].view({-1}), in[2], y.view({-1}), y.t(), z.view({-1})};
      },
      {ones({2, 2}), tracked(ones({2, 2})) * 1, tracked(ones({2, 2})) * 1}, true);
  EXPECT_EQ(
      kinds(m),
      "non_alias, alias_of_input 2, is_input 2, alias_of_intermediate_save_as_output 0, alias_of_intermediate 0, unsafe_view_alias");
  EXPECT_EQ(m.mutated_in_graph(), std::vector<int>{0});
  EXPECT_EQ(m.mutated_out_of_graph(), std::vector<int>{1});
  EXPECT_EQ(m.aliased_outputs(), (std::vector<int>{1, 2, 3, 4}));
  EXPECT_EQ(m.returned(), 1 + 6 + 1);
  EXPECT_EQ(m.with_tangents(), (std::vector<std::size_t>{0, 1, 6, 7}))
      << "the written input, the sine, the hidden view, the base";
  EXPECT_EQ(m.tangents.size(), 4u);
  // What the reference counts is read from the outputs' own records.
  const auto count = [&](const auto& is) { return std::count_if(m.outputs.begin(), m.outputs.end(), is); };
  EXPECT_EQ(m.outputs.size(), 6u);
  EXPECT_EQ(count([](const OutputInfo& o) { return o.kind == OutputKind::non_alias; }), 1);
  EXPECT_EQ(count([](const OutputInfo& o) { return o.is_made_again() && o.base_is_input(); }), 2) << "aliased to inputs";
  EXPECT_EQ(count([](const OutputInfo& o) { return o.is_made_again() && !o.base_is_input(); }), 2) << "to intermediates";
  EXPECT_EQ(m.outputs[5].kind, OutputKind::unsafe_view_alias);
  EXPECT_EQ(count([](const OutputInfo& o) { return !o.dynamic_dims.empty(); }), 0) << "no size is open";
  EXPECT_FALSE(m.inputs[0].hidden_from_autograd) << "so autograd sees the write that is in the graph";
}

// R033, R042: of which class each output is, and each tangent.
TEST_F(AotRecord, R033_R042_ClassesOfOutputsAndTangents) {
  const GuardScope scope(env_);
  const Values given = fake_inputs(
      {tracked(testing::two_tensor(ones({2}), ones({2}))), tracked(testing::metadata_tensor(ones({2}))), tracked(ones({2}))}, {},
      env_);
  const FlatFunction f = [](const Values& in) { return Values{in[0].tensor() * 2, 7, in[2].tensor() * 2, in[1].tensor() * 2}; };
  const Metadata m = collect_metadata(f, given, false, true);
  EXPECT_TRUE(m.outputs[0].is_tensor && !m.outputs[1].is_tensor && m.outputs[2].is_tensor && m.outputs[3].is_tensor);
  const JointLayouts l = joint_graph(f, given, m, env_, nullptr).layouts;
  const auto names = [](const DenseLayout& d) {
    std::string s;
    for (std::size_t k = 0; k < d.outer_size(); k++) s += text(k == 0 ? "" : " ", d[k].cls ? d[k].cls->name() : "Tensor");
    return s;
  };
  const std::string two = l.inputs[0].cls->name(), extra = l.inputs[1].cls->name();
  EXPECT_EQ(names(l.returned), two + " Tensor Tensor " + extra);
  EXPECT_EQ(names(l.tangents), two + " Tensor " + extra);
}

TEST_F(AotRecord, R086_TheBaseOfArgumentsThatOverlap) {
  const TensorFunction f = [](const TensorList& in) {
    Tensor(in[0]).add_(1);
    return TensorList{in[0] + in[1]};
  };
  const auto base_of = [&](const TensorList& in) {
    const Values given(in.begin(), in.end());
    const auto fake = [&](const Values& v) { return fake_inputs(v, {}, env_); };
    Prepared p{[&](const Values& v) { return Values{f({v[0].tensor(), v[1].tensor()})[0]}; }, given, fake(given), {}};
    const GuardScope scope(env_);
    p.meta = collect_metadata(p.f, p.fakes, false, true);
    const SyntheticBase bases(p, fake);
    EXPECT_TRUE(bases.changes_arguments());
    return p.arguments.at(0).tensor();
  };
  // Nobody has a base: the whole storage in one row.
  const Tensor memory = ones({2, 4}, {.dtype = float64}),
               row = base_of({memory.select(0, 1).detach(), memory.slice(0, 0, 2).detach()});
  EXPECT_EQ(row.sizes(), (Shape{8}));
  EXPECT_EQ(row.dtype(), float64);
  EXPECT_EQ(row->storage, memory->storage);
  // Autograd knows one: that one, which a member may be itself.
  const Tensor known = tracked(ones({4})) * 1;
  EXPECT_TRUE(base_of({known.slice(0, 0, 2), known.slice(0, 1, 3)}).is_same(known));
  EXPECT_TRUE(base_of({known.view({4}), known}).is_same(known));
  const std::string error = error_of([&] { base_of({known.slice(0, 0, 2), known.detach().slice(0, 1, 3)}); });
  EXPECT_EQ(error, "aot_autograd() does not yet handle non-differentiable view input mutations.");
}

// An input that looks at a part of itself afterwards comes back as that part. PyTorch loses what
// was written beside it.
TEST_F(AotRecord, R135_ElementsThatAnInputLeavesBehindAreNotLost) {
  const std::vector<TensorFunction> lose{[](const TensorList& in) {
                                           Tensor(in[0]).mul_(2);
                                           aten_value<"as_strided_">(in[0], Shape{2}, Shape{1}, 0);
                                           return TensorList{in[0] + 1};
                                         },
                                         [](const TensorList& in) {
                                           Tensor(in[0]).mul_(2);
                                           aten_value<"resize_">(in[0], Shape{2});
                                           return TensorList{in[0] + 1};
                                         },
                                         [](const TensorList& in) {
                                           Tensor other = in[0].detach();
                                           aten_value<"as_strided_">(in[0], Shape{2}, Shape{1}, 0);
                                           other.mul_(2);
                                           return TensorList{in[0] + 1};
                                         }};
  for (const TensorFunction& f : lose)
    EXPECT_TRUE(error_of([&] {
                  aot_function(f)(TensorList{ones({4})});
                }).starts_with("Found an input that looks at fewer elements after out=, as_strided_() or resize_() than before"));
  const std::vector<TensorFunction> keep{[](const TensorList& in) {
                                           aten_value<"as_strided_">(in[0], Shape{2}, Shape{2}, 1);
                                           Tensor(in[0]).mul_(2);
                                           return TensorList{in[0] + 1};
                                         },
                                         [](const TensorList& in) {
                                           aten_value<"resize_">(in[0], Shape{2});
                                           Tensor(in[0]).select(0, 1).mul_(2);
                                           return TensorList{in[0] + 1};
                                         },
                                         [](const TensorList& in) {
                                           Tensor(in[0]).mul_(2);
                                           aten_value<"as_strided_">(in[0], Shape{2, 2}, Shape{1, 2}, 0);
                                           return TensorList{in[0] + 1};
                                         },
                                         [](const TensorList& in) {
                                           const Tensor other = in[0].detach();
                                           aten_value<"as_strided_">(in[0], Shape{2}, Shape{1}, 0);
                                           return TensorList{in[0] + other.sum()};
                                         }};
  for (std::size_t k = 0; k < keep.size(); k++) {
    const Tensor a = ones({4}), b = ones({4}), seen_a = a.view({4}), seen_b = b.view({4});
    const TensorList want = keep[k]({a}), found = aot_function(keep[k])(TensorList{b});
    EXPECT_EQ(found[0].to_vector<double>(), want[0].to_vector<double>()) << k;
    EXPECT_EQ(b.sizes(), a.sizes()) << k;
    EXPECT_EQ(b.strides(), a.strides()) << k;
    EXPECT_EQ(seen_b.to_vector<double>(), seen_a.to_vector<double>()) << k;
  }
}

// ---- costs

TEST_F(AotRecord, R124_AttentionAndTheGradientOfAConvolution) {
  const Graph g = std::move(trace(TensorFunction([](const TensorList& in) {
                                    TensorList out{atens<"_scaled_dot_product_flash_attention_for_cpu">(in[0], in[0], in[0])[0],
                                                   atens<"convolution_backward">(in[1], in[2], in[3], Value(), Shape{1, 1},
                                                                                 Shape{0, 0}, Shape{1, 1}, false, Shape{0, 0}, 1,
                                                                                 std::vector<bool>{true, true, false})[0],
                                                   aten<"squeeze">(in[0]),
                                                   aten<"rand_like">(in[0]),
                                                   aten<"randn_like">(in[0]),
                                                   atens<"native_dropout">(in[0], 0.5, true)[0]};
                                    return out;
                                  }),
                                  {rand({1, 2, 3, 4}), rand({1, 3, 3, 3}), rand({1, 2, 4, 4}), rand({3, 2, 2, 2})})
                                .graph);
  std::map<std::string, std::string> what;
  for (const auto& n : g.nodes())
    if (n->kind == NodeKind::call)
      what[n->op->schema.name] = is_random(*n) ? "random" : is_view(*n) ? "view" : is_compute_intensive(*n) ? "costly" : "other";
  EXPECT_EQ(what["_scaled_dot_product_flash_attention_for_cpu"], "costly");
  EXPECT_EQ(what["convolution_backward"], "costly");
  EXPECT_EQ(what["squeeze"], "view");
  for (const char* name : {"rand_like", "randn_like", "native_dropout"}) EXPECT_EQ(what[name], "random") << name;
}

// ---- tangents

TEST_F(AotRecord, R148_InnerTensorsOfATangentAreContiguous) {
  std::vector<bool> contiguous;
  const Compiler see = [&](std::shared_ptr<const Graph> g, const Values& examples) -> Boxed {
    return [&contiguous, run = nop(std::move(g), examples)](Values& arguments) {
      for (const Value& v : arguments) contiguous.push_back(v.tensor().is_contiguous());
      return run(arguments);
    };
  };
  const auto turned = [] { return arange(6).to(float32).view({3, 2}).t(); };
  for (const bool wrapper : {false, true}) {
    contiguous.clear();
    const auto of = [&](const Tensor& t) { return wrapper ? testing::two_tensor(t, t * 1) : t; };
    const Tensor x = tracked(of(ones({2, 3})));
    const Tensor y = aot_function(TensorFunction([](const TensorList& in) { return TensorList{in[0] * 2}; }),
                                  {.backward = see})(TensorList{x})[0];
    const Tensor g = wrapper ? testing::two_tensor(turned(), turned()) : turned();
    const Tensor found = grad({y}, {x}, {g})[0];
    EXPECT_EQ(contiguous, std::vector<bool>(wrapper ? 2 : 1, true));
    EXPECT_EQ((wrapper ? testing::a(found) : found).to_vector<double>(), (turned() * 2).to_vector<double>());
  }
}

}  // namespace
}  // namespace ingot::aot
