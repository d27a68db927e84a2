// Words of refusals, whole: R032, R172, R186; and composites of every kind in a pre-dispatch trace
// (R058).
#include <cstdio>

#include "aot/inputs.hpp"
#include "aot/signature.hpp"
#include "aot/tracing_context.hpp"
#include "graph/trace.hpp"
#include "ingot/aot/cache.hpp"
#include "support/aot_harness.hpp"
#include "support/memory_store.hpp"
#include "support/test_folder.hpp"

namespace ingot::aot {
namespace {

using AotRefusals = AotHarness;

std::string words_of(const TensorFunction& f, const TensorList& in, bool keep) {
  return error_of([&] {
    ShapeEnv env;
    const GuardScope scope(env);
    const FlatFunction flat = [&](const Values& v) {
      TensorList l;
      for (const Value& x : v) l.push_back(x.tensor());
      const TensorList out = f(l);
      return Values(out.begin(), out.end());
    };
    collect_metadata(flat, fake_inputs(Values(in.begin(), in.end()), {}, env), keep, true);
  });
}

TEST_F(AotRefusals, R032_ASetOrAResizeThatIsNotInTheGraph) {
  const std::string other =
      " on a graph input, but the input has other mutations that we cannot\nkeep in the graph. This is not supported today. Current state:\n";
  const TensorFunction set = [](const TensorList& in) {
    aten_value<"set_.source_Tensor">(in[0], in[1] * 2);
    return TensorList{in[0] + 1};
  };
  EXPECT_EQ(words_of(set, {ones({3}), ones({3})}, false), "Encountered a set_" + other +
                                                              "  keep_input_mutations=False\n"
                                                              "  mutates_data=False\n"
                                                              "  mutates_metadata=True\n"
                                                              "  mutations_hidden_from_autograd=True\n"
                                                              "  mutations_under_no_grad_or_inference_mode=False\n"
                                                              "  mutation_inductor_storage_resize=False\n"
                                                              "  requires_grad=False");
  const TensorFunction resize = [](const TensorList& in) {
    aten_value<"inductor::resize_storage_bytes_">(in[0], 0);
    return TensorList{in[1] + 1};
  };
  EXPECT_EQ(words_of(resize, {ones({3}), ones({3})}, false), "Encountered a resize_" + other +
                                                                 "  keep_input_mutations=False\n"
                                                                 "  mutates_data=False\n"
                                                                 "  mutates_metadata=False\n"
                                                                 "  mutations_hidden_from_autograd=True\n"
                                                                 "  mutations_under_no_grad_or_inference_mode=False\n"
                                                                 "  mutation_inductor_storage_resize=True\n"
                                                                 "  requires_grad=False");
  // Kept, but for a write that autograd has to see.
  const TensorFunction both = [](const TensorList& in) {
    Tensor(in[0]).mul_(in[1]);
    aten_value<"inductor::resize_storage_bytes_">(in[0], 0);
    return TensorList{in[1] + 1};
  };
  EXPECT_EQ(words_of(both, {ones({3}).requires_grad_() * 1, ones({3})}, true),
            "Encountered a resize_" + other +
                "  keep_input_mutations=True\n"
                "  mutates_data=True\n"
                "  mutates_metadata=False\n"
                "  mutations_hidden_from_autograd=False\n"
                "  mutations_under_no_grad_or_inference_mode=False\n"
                "  mutation_inductor_storage_resize=True\n"
                "  requires_grad=True");
  EXPECT_EQ(words_of(resize, {ones({3}), ones({3})}, true), "no error");
}

TEST_F(AotRefusals, R172_ASignatureIsOfPlainTensors) {
  Metadata m;
  m.has_wrappers = true;
  EXPECT_EQ(error_of([&] { exported_entry(Graph(), m, {}); }),
            "aot_export_module does not support tensor subclass inputs for now.");
}

// ---- the cache

class AotBypass : public AotHarness {
 protected:
  const testing::TestFolder folder_;
  std::string why(const FlatFunction& f, const Values& in) {
    const auto store = std::make_shared<testing::MemoryStore>();
    AotOptions o;
    o.forward = nop;
    o.cache = std::make_shared<AotCache>(AotCache::Options{.folder = folder_.file("cache"), .artifacts = store});
    aot_module_simplified(f, {}, in, o);
    EXPECT_EQ(o.cache->last().kind, CacheEvent::Kind::bypass);
    EXPECT_EQ(o.cache->counters().bypass, 1);
    EXPECT_EQ(o.cache->counters().saved, 0);
    return o.cache->last().why;
  }
};

TEST_F(AotBypass, R186_WhatAKeyCannotBeMadeOf) {
  const Tensor variable = ones({2}).requires_grad_();
  EXPECT_EQ(why([&](const Values& in) { return Values{in[0].tensor() * variable.detach() + variable}; }, {ones({2})}),
            "the function brings along a tensor of size [2] that requires grad");
  EXPECT_NE(why(
                [](const Values& in) {
                  register_hook(in[0].tensor(), [](const Tensor& g) { return g; });
                  return Values{in[0].tensor() * 2};
                },
                {ones({2}).requires_grad_()})
                .find("a hook"),
            std::string::npos);
}

// ---- composites

std::string traced(const TensorFunction& f, const TensorList& in, bool pre_dispatch) {
  return print(trace(f, in, {.pre_dispatch = pre_dispatch}).graph);
}

TEST_F(AotRefusals, R058_WhatMayAliasOrWriteComesApart) {
  const Tensor x = rand({2, 4, 3}), scale = ones({4}), mean = zeros({4}), var = ones({4});
  struct Case {
    const char* name;
    std::function<Value(const Tensor&)> call;
  };
  const std::vector<Case> cases{
      {"dropout", [](const Tensor& t) { return Value(aten<"dropout">(t, 0.5, true)); }},
      {"batch_norm",
       [&](const Tensor& t) { return Value(aten<"batch_norm">(t, scale, mean, mean, var, false, 0.1, 1e-5, false)); }},
      {"native_batch_norm",
       [&](const Tensor& t) { return aten_value<"native_batch_norm">(t, scale, mean, mean, var, false, 0.1, 1e-5); }},
      {"atleast_1d", [](const Tensor& t) { return Value(aten<"atleast_1d">(t)); }},
      {"atleast_2d", [](const Tensor& t) { return Value(aten<"atleast_2d">(t)); }},
      {"atleast_3d", [](const Tensor& t) { return Value(aten<"atleast_3d">(t)); }},
      {"cartesian_prod", [](const Tensor& t) { return Value(aten<"cartesian_prod">(TensorList{t.view({-1}), t.view({-1})})); }},
      {"conj_physical", [](const Tensor& t) { return Value(aten<"conj_physical">(t)); }},
      {"alpha_dropout", [](const Tensor& t) { return Value(aten<"alpha_dropout">(t, 0.5, true)); }},
      {"feature_dropout", [](const Tensor& t) { return Value(aten<"feature_dropout">(t, 0.5, true)); }},
      {"feature_alpha_dropout", [](const Tensor& t) { return Value(aten<"feature_alpha_dropout">(t, 0.5, true)); }},
      {"unsafe_chunk", [](const Tensor& t) { return aten_value<"unsafe_chunk">(t, 2, 1); }},
      {"reshape", [](const Tensor& t) { return Value(t.reshape({-1})); }},
      {"flatten", [](const Tensor& t) { return Value(aten<"flatten.using_ints">(t)); }},
  };
  for (const Case& c : cases)
    for (const bool pre_dispatch : {false, true}) {
      const std::string graph = traced(
          [&](const TensorList& in) {
            const Value r = c.call(in[0]);
            return TensorList{r.is_tensor() ? r.tensor() : r.is_tensors() ? r.tensors()[0] : list_elements(r)[0].tensor()};
          },
          {x}, pre_dispatch);
      EXPECT_EQ(graph.find(text("torch.ops.aten.", c.name, ".")), std::string::npos) << c.name << "\n" << graph;
    }
}

TEST_F(AotRefusals, R058_WhatDoesNeitherStaysWholeAboveAutograd) {
  const TensorFunction f = [](const TensorList& in) {
    return TensorList{aten<"linear">(in[0], in[1]), in[0].matmul(in[1].t()), aten<"conv2d">(in[2], in[3])};
  };
  const TensorList in{rand({2, 4}), rand({3, 4}), rand({1, 2, 4, 4}), rand({3, 2, 2, 2})};
  const std::string whole = traced(f, in, true), apart = traced(f, in, false);
  for (const char* name : {"aten.linear.default", "aten.matmul.default", "aten.conv2d.default"}) {
    EXPECT_NE(whole.find(name), std::string::npos) << whole;
    EXPECT_EQ(apart.find(name), std::string::npos) << apart;
  }
}

Value thrice(const Call& c) { return c.tensor(0) + c.tensor(0) + c.tensor(0); }
constinit const OpDef kThrice[] = {
    {.schema = "composites::thrice(Tensor self) -> Tensor", .form = Form::composite, .body = thrice}};

TEST_F(AotRefusals, R058_ACompositeOfTheUsersThatStaysWholeIsNoted) {
  static const bool registered = (register_ops(kThrice), true);
  (void)registered;
  const TensorFunction f = [](const TensorList& in) {
    return TensorList{call(op("composites::thrice"), Values{in[0]}).tensor()};
  };
  ::testing::internal::CaptureStderr();
  const std::string whole = traced(f, {ones({2})}, true);
  const std::string warned = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(whole.find("torch.ops.composites.thrice.default"), std::string::npos) << whole;
  EXPECT_EQ(
      warned,
      "At pre-dispatch tracing, we assume that any custom op marked with CompositeImplicitAutograd and have functional schema are "
      "safe to not decompose. Found composites::thrice to be one such op.\n");
  ::testing::internal::CaptureStderr();
  const std::string apart = traced(f, {ones({2})}, false);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(apart.find("thrice"), std::string::npos) << apart;
}

}  // namespace
}  // namespace ingot::aot
