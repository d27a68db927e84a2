// What the metadata pass finds out about a function (R013 to R042).
#include <gtest/gtest.h>

#include "aot/inputs.hpp"
#include "aot/metadata.hpp"
#include "base/error.hpp"
#include "ingot/autograd.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "support/error_text.hpp"
#include "support/no_leaks.hpp"
#include "tensor/geometry.hpp"

namespace ingot::aot {
namespace {

class AotMetadata : public NoLeaks {
 protected:
  ShapeEnv env_;

  Metadata collect(const std::function<TensorList(const TensorList&)>& f, const TensorList& inputs, bool keep = false,
                   const std::vector<OpenSize>& open = {}) {
    const FlatFunction flat = [&](const Values& in) {
      TensorList tensors;
      for (const Value& v : in) tensors.push_back(v.tensor());
      Values out;
      for (const Tensor& t : f(tensors)) out.push_back(t.defined() ? Value(t) : Value());
      return out;
    };
    const GuardScope scope(env_);
    return collect_metadata(flat, fake_inputs(Values(inputs.begin(), inputs.end()), open, env_), keep, true);
  }
  static std::string kinds(const Metadata& m) {
    std::string s;
    for (const OutputInfo& o : m.outputs) s += text(s.empty() ? "" : ", ", to_text(o.kind), o.base < 0 ? "" : text(" ", o.base));
    return s;
  }
};

Tensor leaf(const Shape& sizes) { return randn(sizes).requires_grad_(); }

TEST_F(AotMetadata, R013_R014_FakesKeepWhatMattersForGradientsAndAliasing) {
  const Tensor x = leaf({2, 3}), y = x * 2, z = randn({2, 3}), view = z.select(0, 1);
  const GuardScope scope(env_);
  const Values fakes =
      fake_inputs({x, y, z, view, x, 7, Value()}, {{.input = 2, .dim = 0}, {.input = 0, .dim = 0, .name = "s1"}}, env_);
  const Tensor fx = fakes[0].tensor(), fy = fakes[1].tensor(), fz = fakes[2].tensor(), fv = fakes[3].tensor();
  EXPECT_TRUE(fx->is_fake() && fx.requires_grad() && fx.is_leaf());
  EXPECT_TRUE(fy.requires_grad() && !fy.is_leaf()) << "and it is no leaf";
  EXPECT_FALSE(fz.requires_grad());
  EXPECT_EQ(fv->storage, fz->storage);
  EXPECT_EQ(fv.strides(), view.strides());
  EXPECT_EQ(fv.storage_offset(), view.storage_offset());
  EXPECT_TRUE(fakes[4].tensor().is_same(fx));
  EXPECT_TRUE(fx.size(0).is_symbolic());
  EXPECT_EQ(fakes[5].to_int64(), 7);
  EXPECT_TRUE(fakes[6].is_none());
}

TEST_F(AotMetadata, R020_R023_R024_WritesAreFound) {
  const Metadata m = collect(
      [](const TensorList& in) {
        Tensor row = in[0].select(0, 1), x = in[1];
        row.mul_(Scalar(2));  // through a view made inside
        return TensorList{in[0] + x};
      },
      {randn({2, 3}), leaf({2, 3}) * 1});
  EXPECT_TRUE(m.inputs[0].mutates_data && m.inputs[0].is_leaf && !m.inputs[0].requires_grad && !m.inputs[0].mutates_metadata);
  EXPECT_FALSE(m.inputs[1].mutates_data);
  EXPECT_FALSE(m.inputs[1].is_leaf);
  EXPECT_TRUE(m.inputs[1].requires_grad);
  EXPECT_EQ(kinds(m), "non_alias");
  EXPECT_TRUE(m.outputs[0].requires_grad);
}

TEST_F(AotMetadata, R023_AnInputThatStartsToRequireGrad) {
  const Metadata m = collect(
      [](const TensorList& in) {
        Tensor x = in[0];
        x.mul_(in[1]);
        return TensorList{x + 1};
      },
      {randn({3}), leaf({3})});
  EXPECT_TRUE(m.inputs[0].mutates_data && m.inputs[0].requires_grad);
  EXPECT_EQ(m.tangents.size(), 2u) << "of the input that was written, and of the output";
}

TEST_F(AotMetadata, R024_AWriteThroughAnotherInputIsThatInputsAlone) {
  const Tensor base = randn({4});
  const Metadata m = collect(
      [](const TensorList& in) {
        Tensor x = in[0];
        x.zero_();
        return TensorList{in[1] + 1};
      },
      {base.slice(0, 0, 3), base});
  EXPECT_TRUE(m.inputs[0].mutates_data);
  EXPECT_FALSE(m.inputs[1].mutates_data);
}

TEST_F(AotMetadata, R025_MetadataThatIsTheSameInTheEndDoesNotCount) {
  const auto transposed = [](int times) {
    return [times](const TensorList& in) {
      Tensor x = in[0];
      for (int k = 0; k < times; k++) aten_value<"t_">(x);
      return TensorList{x + 1};
    };
  };
  EXPECT_TRUE(collect(transposed(1), {randn({2, 3})}).inputs[0].mutates_metadata);
  EXPECT_FALSE(collect(transposed(2), {randn({2, 3})}).inputs[0].mutates_metadata);
  EXPECT_EQ(collect(transposed(1), {randn({2, 3})}).inputs[0].steps.size(), 1u);
}

TEST_F(AotMetadata, R026_R030_R031_SetGivesAnotherStorage) {
  const auto f = [](const TensorList& in) {
    Tensor x = in[0];
    aten_value<"set_.source_Tensor">(x, in[1] * 2);
    return TensorList{x + 1};
  };
  const InputInfo i = collect(f, {randn({3}), randn({3})}, true).inputs[0];
  EXPECT_TRUE(i.mutates_storage_metadata && i.mutates_metadata && !i.mutates_data);
  EXPECT_EQ(i.mutation(), Mutation::in_graph);
}

TEST_F(AotMetadata, R032_ASetThatCannotBeInTheGraphIsRefused) {
  const std::string message = error_of([&] {
    collect(
        [](const TensorList& in) {
          Tensor x = in[0];
          aten_value<"set_.source_Tensor">(x, in[1] * 2);
          return TensorList{x + 1};
        },
        {randn({3}), randn({3})});
  });
  EXPECT_TRUE(message.starts_with(
      "Encountered a set_ on a graph input, but the input has other mutations that we cannot\nkeep in the graph. This is not "
      "supported today. Current state:\n  keep_input_mutations=False\n  mutates_data=False\n  mutates_metadata=True\n"))
      << message;
}

TEST_F(AotMetadata, R027_R030_R031_WhereAWriteIsDone) {
  const auto write = [](bool no_grad) {
    return [no_grad](const TensorList& in) {
      Tensor x = in[0];
      const NoGrad guard;
      if (no_grad) x.mul_(Scalar(2));
      else x.detach().mul_(Scalar(2));
      return TensorList{x + 1};
    };
  };
  const auto tracked_write = [](const TensorList& in) {
    Tensor x = in[0];
    x.mul_(Scalar(2));
    return TensorList{x + 1};
  };
  const InputInfo hidden = collect(write(true), {leaf({3})}, true).inputs[0];
  EXPECT_TRUE(hidden.mutates_data && hidden.under_no_grad && !hidden.hidden_from_autograd);
  EXPECT_EQ(hidden.mutation(), Mutation::in_graph) << "all writes were under no_grad";
  EXPECT_EQ(collect(write(true), {leaf({3})}).inputs[0].mutation(), Mutation::out_of_graph) << "nobody asked to keep them";
  EXPECT_EQ(collect(tracked_write, {leaf({3}) * 1}, true).inputs[0].mutation(), Mutation::out_of_graph) << "the tape must see it";
  EXPECT_EQ(collect(tracked_write, {randn({3})}, true).inputs[0].mutation(), Mutation::in_graph);
  EXPECT_EQ(collect(tracked_write, {randn({3})}).inputs[0].mutation(), Mutation::out_of_graph);
  const Metadata untouched = collect([](const TensorList& in) { return TensorList{in[0] + 1}; }, {randn({3})}, true);
  EXPECT_EQ(untouched.inputs[0].mutation(), Mutation::none);
  EXPECT_TRUE(untouched.inputs[0].hidden_from_autograd) << "there are none to be seen";
}

TEST_F(AotMetadata, R021_TheAutocastStateMustStay) {
  const std::string message = error_of([&] {
    const Scoped<DType> restored(thread_state().autocast_dtype, thread_state().autocast_dtype);
    collect(
        [](const TensorList& in) {
          thread_state().autocast_dtype = DType::f16;
          return TensorList{in[0] + 1};
        },
        {randn({3})});
  });
  EXPECT_NE(message.find("AOTAutograd does not support tracing graphs that mutate the autocast state."), std::string::npos)
      << message;
}

TEST_F(AotMetadata, R022_TheGradModeThatAFunctionLeavesBehindIsRecorded) {
  const Metadata m = collect(
      [](const TensorList& in) {
        thread_state().grad_mode = false;
        return TensorList{in[0] + 1};
      },
      {randn({3})});
  EXPECT_EQ(m.grad_mode, false);
  EXPECT_TRUE(thread_state().grad_mode);
}

TEST_F(AotMetadata, R033_R034_R035_KindsOfOutputs) {
  const auto of = [&](const std::function<TensorList(const TensorList&)>& f, const TensorList& inputs) {
    return kinds(collect(f, inputs));
  };
  EXPECT_EQ(of([](const TensorList& in) { return TensorList{in[0], in[0].view({6}), in[0] * 2, Tensor()}; }, {leaf({2, 3}) * 1}),
            "is_input 0, alias_of_input 0, non_alias, non_alias");
  EXPECT_EQ(of([](const TensorList& in) { return TensorList{(in[0] * 2).view({6})}; }, {leaf({2, 3})}), "unsafe_view_alias");
  EXPECT_EQ(of(
                [](const TensorList& in) {
                  const Tensor y = in[0] * 2;
                  return TensorList{y.view({6}), y.t()};
                },
                {leaf({2, 3})}),
            "alias_of_intermediate_save_as_output 0, alias_of_intermediate 0");
  EXPECT_EQ(of(
                [](const TensorList& in) {
                  const Tensor y = in[0] * 2;
                  return TensorList{y.view({6}), y};
                },
                {leaf({2, 3})}),
            "alias_of_intermediate_base_is_user_output 1, non_alias");
  EXPECT_EQ(of(
                [](const TensorList& in) {
                  const Tensor y = in[0] * 2;
                  return TensorList{y, y.detach()};
                },
                {leaf({2, 3})}),
            "non_alias, alias_of_intermediate_base_is_user_output 0")
      << "the same elements without a history";
  EXPECT_EQ(of([](const TensorList& in) { return in[0].unbind(0); }, {leaf({2, 3}) * 1}), "non_alias 0, non_alias 0")
      << "only multi-output views of an input";
  EXPECT_EQ(of([](const TensorList& in) { return (in[0] * 2).unbind(0); }, {leaf({2, 3})}),
            "unsafe_view_alias, unsafe_view_alias");
}

TEST_F(AotMetadata, R035_SetMakesAnOutputTheInputItWasSetOn) {
  EXPECT_EQ(kinds(collect(
                [](const TensorList& in) {
                  Tensor x = in[0];
                  aten_value<"set_.source_Tensor">(x, in[1] * 2);
                  return TensorList{x};
                },
                {randn({3}), randn({3})}, true)),
            "is_input 0");
}

TEST_F(AotMetadata, R035_ViewsOfCustomFunctions) {
  EXPECT_EQ(kinds(collect(
                [](const TensorList& in) {
                  return custom_function(
                      "Viewed", {in[0]}, [](FunctionContext&, const TensorList& x) { return TensorList{x[0].view({6})}; },
                      [](FunctionContext&, const TensorList& g) { return TensorList{g[0].view({2, 3})}; });
                },
                {leaf({2, 3}) * 1})),
            "custom_function_view 0");
}

TEST_F(AotMetadata, R036_R037_AnOutputIsOfTheInputItWasDerivedFrom) {
  const Tensor base = randn({4});
  EXPECT_EQ(kinds(collect([](const TensorList& in) { return TensorList{in[1].view({2, 2})}; }, {base, base.view({4})})),
            "alias_of_input 1");
  const Tensor x = randn({4});
  EXPECT_EQ(kinds(collect([](const TensorList& in) { return TensorList{in[0].view({2, 2})}; }, {x, x})), "alias_of_input 1")
      << "one tensor: its last place";
}

TEST_F(AotMetadata, R038_ViewsRememberTheWayFromTheirBase) {
  const Metadata m = collect(
      [](const TensorList& in) {
        Tensor x = in[0];
        const Tensor before = x.view({6});
        aten_value<"t_">(x);
        return TensorList{before, x.select(0, 1)};
      },
      {randn({2, 3})});
  EXPECT_EQ(kinds(m), "alias_of_input 0, alias_of_input 0");
  EXPECT_EQ(m.outputs[0].steps.size(), 1u) << "it was taken before t_";
  EXPECT_EQ(m.outputs[1].steps.size(), 2u) << "t_, and the view after it";
}

TEST_F(AotMetadata, R039_R041_R042_BasesTangentsAndCounts) {
  const Metadata m = collect(
      [](const TensorList& in) {
        Tensor written = in[1];
        written.add_(in[0]);
        const Tensor y = in[0] * 2, z = in[0].sin();
        return TensorList{z, y.view({6}), y.t(), in[0].view({6}), Tensor()};
      },
      {leaf({2, 3}), randn({2, 3})});
  EXPECT_EQ(kinds(m), "non_alias, alias_of_intermediate_save_as_output 0, alias_of_intermediate 0, alias_of_input 0, non_alias");
  EXPECT_EQ(m.intermediate_bases, 1);
  EXPECT_EQ(m.mutated_out_of_graph(), std::vector<int>{1});
  EXPECT_TRUE(m.mutated_in_graph().empty());
  EXPECT_EQ(m.aliased_outputs(), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(m.returned(), 1 + 5 + 1);
  ASSERT_EQ(m.tangents.size(), 3u) << "the written input, z, the base";
  for (const Tensor& t : m.tangents) EXPECT_TRUE(t->is_fake() && t.is_contiguous() && !t.requires_grad());
}

TEST_F(AotMetadata, R033_DimsWithOpenSizes) {
  const Metadata m =
      collect([](const TensorList& in) { return TensorList{in[0].t() * 2}; }, {randn({5, 3})}, false, {{.input = 0, .dim = 0}});
  EXPECT_EQ(m.outputs[0].dynamic_dims, std::vector<int>{1});
}

}  // namespace
}  // namespace ingot::aot
