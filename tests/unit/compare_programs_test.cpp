// The judge of random programs finds what is planted in the other way to run a program: no other
// test shows that it would.
#include <gtest/gtest.h>

#include "ingot/autograd.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "support/compare_functionalized.hpp"
#include "support/error_text.hpp"
#include "support/no_leaks.hpp"

namespace ingot::testing {
namespace {

class ComparePrograms : public NoLeaks {
 protected:
  using Planted = std::function<TensorList(const TensorFunction&, const TensorList&)>;
  static Comparison compare(const Program& p, const Planted& planted) {
    return compare_transformed(p, [&](const TensorFunction& f) -> TensorFunction {
      return [f, planted](const TensorList& in) { return planted(f, in); };
    });
  }
  // The same where the other way refuses the program in these words.
  static Comparison refusing(const Program& p, const std::string& words) {
    return compare(p, [&](const TensorFunction&, const TensorList&) -> TensorList { throw UserError(words); });
  }
  static ::testing::AssertionResult differs(const Comparison& c, const std::string& words) {
    if (c.agreement == Agreement::differs && c.what.find(words) != std::string::npos) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "expected a difference with '" << words << "', found '" << name_of(c.agreement)
                                         << "': " << c.what;
  }

  // Of x, an input of 2 x 3 that requires grad and may be written: sin(2 x) and a view of x.
  static Program innocent() {
    Program p;
    p.bases = {{.sizes = {2, 3}, .requires_grad = true}};
    p.inputs = {{.base = 0, .views = {}}};
    Step sine = Step::of("sin", {1});
    sine.rounds = true;
    p.body = {Step::of("mul.Scalar", {0}, {2}), sine, Step::of("transpose.int", {0}, {0, 1})};
    p.outputs = {2, 3};
    return p;
  }
  // 1e-3 in one place, and zeros.
  static Tensor one_element() {
    Tensor t = zeros({2, 3});
    t.select(0, 1).select(0, 2).add_(1e-3);
    return t;
  }
};

TEST_F(ComparePrograms, NothingIsFoundInWhatIsTheSame) {
  const Comparison c = compare(innocent(), [](const TensorFunction& f, const TensorList& in) { return f(in); });
  EXPECT_STREQ(name_of(c.agreement), name_of(Agreement::agrees)) << c.what;
  EXPECT_EQ(c.gradients, (GradientCounts{{GradientAgreement::agree, 3}}));  // of both results and the input
}

TEST_F(ComparePrograms, AWrongValueDiffers) {
  for (const int place : {0, 1}) {
    const Comparison c = compare(innocent(), [&](const TensorFunction& f, const TensorList& in) {
      TensorList out = f(in);
      const NoGrad no_grad;
      if (place == 0) out[0].add_(one_element());  // the history stays
      else out[0].copy_(out[0] * (1 + 1e-4));
      return out;
    });
    EXPECT_TRUE(differs(c, "result 0: eager")) << place;
  }
}

TEST_F(ComparePrograms, AMissingGradientDiffers) {
  const Comparison without_history = compare(innocent(), [](const TensorFunction& f, const TensorList& in) {
    TensorList out = f(in);
    out[0] = out[0].detach();
    return out;
  });
  EXPECT_TRUE(differs(without_history, "result 0: eager"));
  // It looks like one with a history of x.
  const Comparison zero = compare(innocent(), [](const TensorFunction& f, const TensorList& in) {
    TensorList out = f(in);
    out[0] = out[0].detach() + in[0] * 0;
    return out;
  });
  EXPECT_TRUE(differs(zero, "gradient 0 of result 0"));
  const Comparison of_one_element = compare(innocent(), [](const TensorFunction& f, const TensorList& in) {
    TensorList out = f(in);
    out[0] = out[0] + (in[0] - in[0].detach()) * one_element();
    return out;
  });
  EXPECT_TRUE(differs(of_one_element, "gradient 0 of result 0"));
}

TEST_F(ComparePrograms, AGradientThatIsRefusedDiffers) {
  const Comparison c = compare(innocent(), [](const TensorFunction& f, const TensorList& in) {
    const Tensor saved = in[0] * 1;
    TensorList out = f(in);
    out[0] = out[0] + saved.sin() - saved.detach().sin();
    const NoGrad no_grad;
    Tensor(saved).mul_(1);
    return out;
  });
  EXPECT_TRUE(differs(c, "the gradient of result 0 is refused"));
}

TEST_F(ComparePrograms, AWriteToAnInputDiffers) {
  for (const double by : {1e-2, 0.0}) {  // zero: that it was written is seen
    const Comparison c = compare(innocent(), [&](const TensorFunction& f, const TensorList& in) {
      TensorList out = f(in);
      const NoGrad no_grad;
      Tensor(in[0]).add_(by);
      return out;
    });
    EXPECT_TRUE(differs(c, by == 0 ? "written" : ": eager")) << by;
  }
}

TEST_F(ComparePrograms, ALostAliasDiffers) {
  const Comparison lost = compare(innocent(), [](const TensorFunction& f, const TensorList& in) {
    TensorList out = f(in);
    out[1] = out[1].clone();  // which lies as it did
    return out;
  });
  EXPECT_TRUE(differs(lost, "a write to result 1 changes other elements"));
  Program p = innocent();
  p.body.push_back(Step::of("clone", {2}));
  p.outputs = {2, 4};
  const Comparison gained = compare(p, [](const TensorFunction& f, const TensorList& in) {
    const Tensor sine = f(in)[0];
    return TensorList{sine, sine.view(sine.sizes())};
  });
  EXPECT_TRUE(differs(gained, "a write to result 0 changes other elements of result 1"));
}

TEST_F(ComparePrograms, OtherStridesDiffer) {
  const Comparison c = compare(innocent(), [](const TensorFunction& f, const TensorList& in) {
    TensorList out = f(in);
    out[0] = out[0].t().contiguous().t();
    return out;
  });
  EXPECT_TRUE(differs(c, "strides"));
}

TEST_F(ComparePrograms, AnotherNumberOfResultsDiffers) {
  const Comparison c = compare(innocent(), [](const TensorFunction& f, const TensorList& in) { return TensorList{f(in)[0]}; });
  EXPECT_TRUE(differs(c, "2 results; got 1"));
}

TEST_F(ComparePrograms, ADrawDiffers) {
  const Comparison c = compare(innocent(), [](const TensorFunction& f, const TensorList& in) {
    rand({4});
    return f(in);
  });
  EXPECT_TRUE(differs(c, "random stream"));
}

// Words are not enough: the program must do what they are about.
TEST_F(ComparePrograms, RefusalsOfAnInnocentProgramDiffer) {
  for (const char* words : {
           "encountered a mutation on a view chain of length 2, where view 1 was an as_strided() call. as_strided() is "
           "non-compositional, and therefore is not possible to functionalize properly today",
           "as_strided() refers to a storage of which the functional program has a part: a write through it",
           "setStorage: 32 bytes of a storage of which the program has 24",
           "as_strided: elements are out of bounds for storage of size 24",
           "result 0 is an as_strided() that may look at elements which the tensor it is taken of does not have",
           "aten::as_strided refers to the storage of a tensor with elements of others around or between its own, of which",
           "Attempted to resize a view tensor to a larger size. This is not allowed in the functionalization pass",
           "Found an input that out= or resize_() made larger than its storage, which stays the caller's",
           "Found an input that looks at fewer elements after out=, as_strided_() or resize_() than before",
           "Function MulBackward0 returned an invalid gradient at index 0 - got [2] but expected shape compatible with [3]",
           "functionalize: arguments share storage and are no views of one tensor as the tape sees it, so their gradients",
           "functionalize: a result lives on the storage of an argument and has a history of its own",
           "aot_autograd() does not yet handle non-differentiable view input mutations.",
           "Encountered aliased inputs that are mutated in the graph, but at least one input/output to the graph is a tensor "
           "subclass.",
           "two graph outputs that alias one another, which is currently unsupported in the subclass use case.",
           "Metadata mutations are currently not allowed on tensor subclasses",
           "There was no rule registered for HOP cond and subclass TwoTensor: why",
           "t_: a leaf Variable that requires grad is being used in an in-place operation.",
           "one of the variables needed for gradient computation has been modified by an inplace operation: "
           "[torch.FloatTensor [2, 3]], which is output 0 of MulBackward0, is at version 1; expected version 0 instead.",
           "We incorrectly attempted to compile the backward with incorrect subclass metadata.",
           "Could not extract specialized integer from data-dependent expression u0",
           "Could not guard on data-dependent expression u0 > 0",
           "Found an input that received a metadata mutation",
           "input 0: expected memory apart from all other inputs, since the run writes it, found that it overlaps input 1",
           "input 0: strides: expected [3, 1], found [1, 2]; the program takes views of it by places of its storage",
           "sizes of the inputs: expected s0 > 2, found s0 = 1",
           "derivative for sin is not implemented",
       })
    EXPECT_TRUE(differs(refusing(innocent(), words), "refused: ")) << words;
}

// And where the program does that, the same words are their class.
TEST_F(ComparePrograms, RefusalsOfWhatAProgramDoesAreOfTheirClass) {
  const auto of = [](const std::vector<Step>& body, const char* words) {
    Program p = innocent();
    p.bases[0].requires_grad = false;
    p.body.insert(p.body.end(), body.begin(), body.end());
    return std::string(name_of(refusing(p, words).agreement));
  };
  const auto into = [](Step s, int out) {
    s.out = out;
    return s;
  };
  const char* const kChain = "as_strided() is non-compositional";
  const Step strided = Step::of("as_strided", {3}, {Shape{2}, Shape{1}, 0}), write = Step::of("add_.Scalar", {4}, {1});
  EXPECT_EQ(of({strided, write}, kChain), name_of(Agreement::refused_as_strided));
  EXPECT_EQ(of({strided}, kChain), name_of(Agreement::differs));
  EXPECT_EQ(of({strided, Step::of("add_.Scalar", {0}, {1})}, kChain), name_of(Agreement::differs));
  const char* const kPart = "as_strided() refers to a storage of which the functional program has a part";
  const Step row = Step::of("select.int", {0}, {0, 1}), within = Step::of("as_strided", {4}, {Shape{2}, Shape{1}, 3}),
             past = Step::of("as_strided", {4}, {Shape{2}, Shape{1}, 0});
  EXPECT_EQ(of({row, past}, kPart), name_of(Agreement::refused_storage));
  EXPECT_EQ(of({row, within}, kPart), name_of(Agreement::differs));
  EXPECT_EQ(of({strided}, "refers to the storage of a tensor with elements of others around or between its own"),
            name_of(Agreement::refused_gaps));
  const char* const kLarger =
      "Attempted to resize a view tensor to a larger size. This is not allowed in the functionalization pass";
  const Step sum = Step::of("sum", {0});
  EXPECT_EQ(of({sum, into(Step::of("sin.out", {0}), 4)}, kLarger), name_of(Agreement::refused_growing));
  EXPECT_EQ(of({sum, into(Step::of("sin.out", {4}), 4)}, kLarger), name_of(Agreement::differs));
}

// The tensor that eager names, by its type, its sizes and its versions, and no other.
TEST_F(ComparePrograms, ARefusedBackwardIsOfTheSameTensor) {
  Program p = innocent();
  p.body.push_back(Step::of("add_.Scalar", {1}, {1}));  // sin saved it
  const std::string eager = error_of([&] { run(p, make_inputs(p).inputs)[0].sum().backward(); });
  const auto with = [&](const std::string& from, const std::string& to) {
    const std::size_t at = eager.find(from);
    EXPECT_NE(at, std::string::npos) << from << " in " << eager;
    return at == std::string::npos ? eager : std::string(eager).replace(at, from.size(), to);
  };
  EXPECT_STREQ(name_of(refusing(p, eager).agreement), name_of(Agreement::refused_backward));
  EXPECT_STREQ(name_of(refusing(p, with("[2, 3]", "[s0, 3]")).agreement), name_of(Agreement::refused_backward));
  EXPECT_STREQ(name_of(refusing(p, with("[2, 3]", "[s0, (s0 + 1)]")).agreement), name_of(Agreement::refused_backward));
  EXPECT_TRUE(differs(refusing(p, with("[2, 3]", "[s0, s0]")), "refused: "));
  EXPECT_TRUE(differs(refusing(p, with("[2, 3]", "[3, 2]")), "refused: "));
  EXPECT_TRUE(differs(refusing(p, with("[2, 3]", "[2]")), "refused: "));
  EXPECT_TRUE(differs(refusing(p, with("FloatTensor", "DoubleTensor")), "refused: "));
  EXPECT_TRUE(differs(refusing(p, with("is at version 1", "is at version 2")), "refused: "));
  EXPECT_TRUE(differs(refusing(p, with("expected version 0", "expected version 1")), "refused: "));
  EXPECT_TRUE(differs(refusing(p, with(": [torch.", ", ")), "refused: "));  // which names none
}

}  // namespace
}  // namespace ingot::testing
