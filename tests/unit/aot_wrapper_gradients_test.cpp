// Wrapper tensors: when a function is one of them, gradients whose metadata the class fits, and the
// record over their tensors (R028,
// R041, R067, R069, R160, R166).
#include "aot/metadata_record.hpp"
#include "aot/tracing_context.hpp"
#include "op/wrapper.hpp"
#include "support/aot_harness.hpp"
#include "op/wrapper_layout.hpp"
#include "support/tracked.hpp"

namespace ingot::aot {
namespace {

using testing::two_tensor;

// A tensor with a number beside it, which ops hand on. `fits`: gradients with another number are
// fitted; `says`: what a gradient's is.
class Labelled final : public WrapperClass {
 public:
  Labelled(bool fits, std::optional<int64_t> says) : fits_(fits), says_(says) {}
  std::string name() const override { return "Labelled"; }
  std::vector<std::string> inner_names(const Value&) const override { return {"value"}; }
  Tensor unflatten(const TensorList& inner, const Value& metadata, const Shape&, const Shape&) const override {
    return of(inner[0], metadata.to_int64());
  }
  Value dispatch(const Op& op, Args args) const override {
    int64_t label = 0;
    for (const Value& v : args)
      if (const WrapperState* s = v.is_tensor() ? wrapper_state(v.tensor()) : nullptr)
        label = std::max(label, s->metadata.to_int64());
    return run_on_components(*this, op, args, [&](const TensorList& parts) { return of(parts[0], label); });
  }
  Tensor as_gradient(const Tensor& result) const override { return says_ ? of(inner_tensor(result, "value"), *says_) : result; }
  Tensor with_metadata(const Tensor& gradient, const Value& metadata) const override {
    return fits_ ? of(inner_tensor(gradient, "value"), metadata.to_int64()) : Tensor();
  }
  Tensor of(const Tensor& value, int64_t label) const {
    const Tensor t = make_wrapper(Ref<const WrapperClass>(this), {value}, label, value);
    return value.requires_grad() ? tracked(t) : t;
  }

 private:
  bool fits_;
  std::optional<int64_t> says_;
};

class AotWrapperGradients : public AotHarness {
 protected:
  static void expect_error(const std::function<void()>& action, const std::string& words) {
    const std::string error = error_of(action);
    EXPECT_NE(error.find(words), std::string::npos) << error;
  }
};

TensorList doubled(const TensorList& in) { return {in[0] * 2}; }

TEST_F(AotWrapperGradients, R166_OtherMetadataIsFittedOrAnError) {
  for (const bool fits : {false, true}) {
    const Ref<Labelled> cls = make_ref<Labelled>(fits, std::nullopt);
    const Tensor x = tracked(cls->of(ones({2}), 1));
    const Tensor out = aot_function(TensorFunction(doubled))(TensorList{x})[0];
    const auto backward = [&] { grad({out}, {x}, {cls->of(full({2}, 3.0), 7)}); };
    if (!fits) {
      const std::string message = error_of(backward);
      EXPECT_TRUE(
          message.starts_with("During the backward, we encountered a tensor subclass where we guessed its metadata incorrectly.\n"
                              "Expected metadata: Labelled"))
          << message;
      EXPECT_NE(message.find("\nRuntime metadata: Labelled"), std::string::npos) << message;
      EXPECT_NE(message.find("\nshape: [2]"), std::string::npos) << message;
      continue;
    }
    const Tensor g = grad({out}, {x}, {cls->of(full({2}, 3.0), 7)})[0];
    EXPECT_EQ(inner_tensor(g, "value").to_vector<double>(), std::vector<double>({6, 6}));
    EXPECT_EQ(wrapper_state(g)->metadata.to_int64(), 1) << "the gradient is what it was when the backward was traced";
  }
}

// The class knew better how gradients would look.
TEST_F(AotWrapperGradients, R041_R166_TheClassSaysHowAGradientLooks) {
  const Ref<Labelled> cls = make_ref<Labelled>(false, 7);
  const Tensor x = tracked(cls->of(ones({2}), 1));
  const Tensor out = aot_function(TensorFunction(doubled))(TensorList{x})[0];
  const Tensor g = grad({out}, {x}, {cls->of(full({2}, 3.0), 7)}, {.retain_graph = true})[0];
  EXPECT_EQ(inner_tensor(g, "value").to_vector<double>(), std::vector<double>({6, 6}));
  expect_error([&] { grad({out}, {x}, {cls->of(full({2}, 3.0), 1)}); }, "we guessed its metadata incorrectly");
}

TEST_F(AotWrapperGradients, R041_TangentsAreContiguousAndThePrimalsOwn) {
  const TensorFunction f = [](const TensorList& in) { return TensorList{in[0].t() * 2, in[0]}; };
  const Tensor x = tracked(two_tensor(ones({2, 3}).t().contiguous().t(), ones({2, 3}).t().contiguous().t())) * 1;
  ShapeEnv env;
  const GuardScope scope(env);
  const FlatFunction flat = [&](const Values& in) {
    const TensorList out = f({in[0].tensor()});
    return Values(out.begin(), out.end());
  };
  const Values fakes = fake_inputs({x}, {}, env);
  const Metadata m = collect_metadata(flat, fakes, false, true);
  ASSERT_EQ(m.tangents.size(), 1u) << "an input that is returned has none";
  EXPECT_FALSE(m.tangents[0].is_same(fakes[0].tensor()));
  for (const Tensor& inner : {testing::a(m.tangents[0]), testing::b(m.tangents[0])}) {
    EXPECT_EQ(inner.sizes(), (Shape{3, 2}));
    EXPECT_TRUE(inner.is_contiguous() && !inner.requires_grad());
  }
}

TEST_F(AotWrapperGradients, R160_AnInputOrAnOutputIsOne) {
  const auto has_wrappers = [](const TensorFunction& f, const TensorList& in) {
    ShapeEnv env;
    const GuardScope scope(env);
    const FlatFunction flat = [&](const Values& v) {
      TensorList l;
      for (const Value& x : v) l.push_back(x.tensor());
      const TensorList out = f(l);
      return Values(out.begin(), out.end());
    };
    return collect_metadata(flat, fake_inputs(Values(in.begin(), in.end()), {}, env), false, false).has_wrappers;
  };
  const Tensor plain = ones({2}), wrapper = two_tensor(ones({2}), ones({2}));
  const TensorFunction twice = [](const TensorList& in) { return TensorList{in[0] * 2}; };
  EXPECT_FALSE(has_wrappers(twice, {plain}));
  EXPECT_TRUE(has_wrappers(twice, {wrapper}));
  EXPECT_TRUE(has_wrappers([](const TensorList& in) { return TensorList{in[1] * 2}; }, {wrapper, plain}))
      << "also one that is not used";
  EXPECT_TRUE(has_wrappers([&](const TensorList& in) { return TensorList{in[0] * wrapper}; }, {plain})) << "an output alone";
  EXPECT_FALSE(has_wrappers(
      [&](const TensorList& in) {
        const Tensor inner = wrapper * in[0];
        return TensorList{in[0] + 1};
      },
      {plain}))
      << "one on the way is nobody's business";
}

TEST_F(AotWrapperGradients, R028_AStorageIsNotResized) {
  const TensorFunction f = [](const TensorList& in) {
    aten_value<"inductor::resize_storage_bytes_">(in[0], 0);
    return TensorList{in[1] * 2};
  };
  for (const bool keep : {false, true})
    expect_error(
        [&] {
          aot_function(f, {.keep_inference_input_mutations = keep})(TensorList{two_tensor(ones({2}), ones({2})), ones({2})});
        },
        "storage resizing is not supported on tensor subclass: TwoTensor");
  // Of a plain tensor it is noted, whatever its size is in the end.
  ShapeEnv env;
  const GuardScope scope(env);
  const FlatFunction flat = [](const Values& in) {
    aten_value<"inductor::resize_storage_bytes_">(in[0], 0);
    return Values{in[1].tensor() * 2};
  };
  const Metadata m = collect_metadata(flat, fake_inputs({ones({2}), ones({2})}, {}, env), true, false);
  EXPECT_TRUE(m.inputs[0].resizes_storage && !m.inputs[0].mutates_data && !m.inputs[1].resizes_storage);
  EXPECT_EQ(m.inputs[0].mutation(), Mutation::in_graph);
}

TEST_F(AotWrapperGradients, R067_R069_R163_ThePublishedRecordIsThatOfTheDenseFunction) {
  const auto published = [](const TensorList& in, bool keep) {
    std::size_t inputs = 0;
    AotOptions o;
    o.context = std::make_shared<TracingContext>();
    o.keep_inference_input_mutations = keep;
    std::string seen;
    o.forward = [&](std::shared_ptr<const Graph> g, const Values& examples) {
      seen = to_text(*o.context->metadata);  // the compiler has it
      inputs = g->inputs().size();
      return nop(std::move(g), examples);
    };
    aot_function(TensorFunction([](const TensorList& given) {
                   Tensor(given[0]).mul_(2);
                   return TensorList{given[1] * given[0], given[0], given[1].view({-1})};
                 }),
                 o)(in);
    EXPECT_EQ(o.context->metadata->inputs.size(), inputs);
    o.context->metadata.reset();
    return seen;
  };
  EXPECT_EQ(published({two_tensor(ones({2}), ones({2})), ones({2})}, false),
            "input 0: MUTATED_OUT_GRAPH is_leaf mutates_data\n"
            "input 1: MUTATED_OUT_GRAPH is_leaf mutates_data\n"
            "input 2: NOT_MUTATED is_leaf mutations_hidden_from_autograd\n"
            "output 0: non_alias\n"
            "output 1: non_alias\n"
            "output 2: is_input 0\n"
            "output 3: is_input 1\n"
            "output 4: alias_of_input 2\n"
            "num_intermediate_bases=0 keep_input_mutations=False is_train=False\n");
  const std::string tracked_record = published({two_tensor(ones({2}), ones({2})), tracked(ones({2}))}, true);
  EXPECT_NE(tracked_record.find("input 1: MUTATED_IN_GRAPH"), std::string::npos) << tracked_record;
  EXPECT_NE(tracked_record.find("output 4: alias_of_input 2 requires_grad"), std::string::npos) << tracked_record;
  EXPECT_NE(tracked_record.find("tangent 1: f32[2]\n"), std::string::npos) << tracked_record;
}

}  // namespace
}  // namespace ingot::aot
