// Modes: which ops they see, in which order, and that they are gone after their block.
#include "transform/mode.hpp"

#include <stdexcept>

#include "graph/text.hpp"
#include "graph/trace.hpp"
#include "ingot/ingot.hpp"
#include "ingot/transforms.hpp"
#include "support/error_text.hpp"
#include "support/no_leaks.hpp"
#include "support/wrappers.hpp"

namespace ingot {
namespace {

class Modes : public NoLeaks {};

using Names = std::vector<std::string>;
using Numbers = std::vector<double>;
Numbers numbers_of(const Tensor& t) { return t.to_vector<double>(); }

// Writes down what it sees.
class Recorder final : public Mode {
 public:
  explicit Recorder(Names& seen, std::string prefix = "") : seen_(seen), prefix_(std::move(prefix)) {}
  Value call(const Op& op, Args args) override {
    seen_.push_back(prefix_ + op.name);
    return below(op, args);
  }

 private:
  Names& seen_;
  std::string prefix_;
};

// Subtracts where the program adds.
class SubtractForAdd final : public Mode {
 public:
  Value call(const Op& op, Args args) override {
    if (op.name != "add.Tensor") return below(op, args);
    return aten<"sub.Tensor">(args[0].tensor(), args[1].tensor());
  }
};

class Refuses final : public Mode {
 public:
  Value call(const Op&, Args) override { throw std::runtime_error("no"); }
};

TEST_F(Modes, SeeEveryOpWithItsPartsTakenApart) {
  const Tensor x = ones({2, 2});
  Names seen;
  Recorder recorder(seen);
  {
    const ModeScope scope(recorder);
    Tensor y = linear(x, x);
    y.add_(Scalar(1));
    zeros({2});  // no tensor among the arguments
  }
  x + x;
  EXPECT_EQ(seen, Names({"t", "mm", "add_.Tensor", "zeros"}));
}

TEST_F(Modes, ReplaceOps) {
  const Tensor x = full({2}, 5.0), y = full({2}, 3.0);
  SubtractForAdd mode;
  const ModeScope scope(mode);
  EXPECT_EQ(numbers_of(x + y), Numbers({2, 2}));
  EXPECT_EQ(numbers_of(x * y), Numbers({15, 15}));
}

TEST_F(Modes, TheInnermostIsAskedFirst) {
  const Tensor x = ones({2});
  Names seen;
  Recorder outer(seen, "outer "), inner(seen, "inner ");
  SubtractForAdd mode;
  Tensor sum;
  {
    const ModeScope first(outer);
    {
      const ModeScope second(mode), third(inner);
      sum = x + x;
    }
    EXPECT_EQ(seen, Names({"inner add.Tensor", "outer sub.Tensor"}));
    x + x;
  }
  EXPECT_EQ(numbers_of(sum), Numbers({0, 0}));
  EXPECT_EQ(seen.back(), "outer add.Tensor");
  EXPECT_EQ(seen.size(), 3u);
}

TEST_F(Modes, OpsOfAModeGoToTheModesAroundIt) {
  // The mode pushes another one itself: it is asked before those around.
  class Pushes final : public Mode {
   public:
    explicit Pushes(Names& seen) : recorder_(seen, "own ") {}
    Value call(const Op& op, Args args) override {
      const ModeScope own(recorder_);
      return below(op, args);
    }

   private:
    Recorder recorder_;
  };
  Names seen;
  Recorder around(seen, "around ");
  Pushes pushes(seen);
  const ModeScope outer(around), scope(pushes);
  ones({1});
  EXPECT_EQ(seen, Names({"own ones", "around ones"}));
}

TEST_F(Modes, SeeTheOpsOfABackward) {
  Tensor x = full({2}, 0.5).requires_grad_();
  Names seen;
  Recorder recorder(seen);
  const Tensor y = sin(x).sum();
  {
    const ModeScope scope(recorder);
    y.backward();
  }
  EXPECT_EQ(seen, Names({"ones_like", "expand", "cos", "mul.Tensor"}));
  EXPECT_EQ(x.grad().to_vector<float>()[0], std::cos(0.5f));
}

TEST_F(Modes, GradientsFlowPastThem) {
  Tensor x = full({2}, 5.0).requires_grad_(), y = full({2}, 3.0).requires_grad_();
  SubtractForAdd mode;
  const ModeScope scope(mode);
  (x + y).sum().backward();
  EXPECT_EQ(numbers_of(y.grad()), Numbers({1, 1})) << "autograd is above and saw an addition";
}

TEST_F(Modes, SitAboveTraceAndBelowFunctionalize) {
  SubtractForAdd mode;
  Names seen;
  Recorder recorder(seen);
  const TensorFunction f = [](const TensorList& in) {
    Tensor x = in[0];
    x.add_(in[1]);
    return TensorList{x * 2};
  };
  const TensorList examples{ones({2}), ones({2})};
  const ModeScope outer(mode), inner(recorder);
  const Traced t = trace(functionalize(f), examples);
  EXPECT_EQ(print(t.graph),
            "def forward(self, arg0_1, arg1_1):\n"
            "    sub = torch.ops.aten.sub.Tensor(arg0_1, arg1_1);  arg1_1 = None\n"
            "    mul = torch.ops.aten.mul.Tensor(sub, 2)\n"
            "    copy_ = torch.ops.aten.copy_.default(arg0_1, sub);  arg0_1 = sub = None\n"
            "    return (mul,)\n");
  EXPECT_EQ(seen, Names({"add.Tensor", "mul.Tensor", "copy_"}));
}

TEST_F(Modes, AreGoneAfterAnException) {
  const Tensor x = ones({2});
  Names seen;
  Recorder recorder(seen);
  Refuses refuses;
  const ThreadState before = thread_state();
  {
    const ModeScope outer(recorder);
    EXPECT_THROW(
        {
          const ModeScope scope(refuses);
          x + x;
        },
        std::runtime_error);
    x* x;
    const ModeScope scope(refuses);
    EXPECT_THROW(x + x, std::runtime_error);
    EXPECT_THROW(x + x, std::runtime_error) << "still on in its block";
  }
  EXPECT_EQ(seen, Names({"mul.Tensor"}));
  EXPECT_EQ(thread_state().active, before.active);
  EXPECT_EQ(thread_state().layer, before.layer);
  EXPECT_EQ(numbers_of(x + x), Numbers({2, 2}));
}

TEST_F(Modes, H04_EveryConstructorMakesATwoTensor) {
  testing::TwoTensorMode mode;
  const Tensor plain = ones({2});
  const ModeScope scope(mode);
  for (const Tensor& t : {ones({2}), zeros({2, 3}), full({2}, 7.0), arange(4), eye(2), rand({3}), empty({2})}) {
    ASSERT_TRUE(testing::is_two_tensor(t));
    EXPECT_FALSE(inner_tensor(t, "a")->storage == inner_tensor(t, "b")->storage);
    EXPECT_EQ(numbers_of(inner_tensor(t, "a")), numbers_of(inner_tensor(t, "b")));
  }
  EXPECT_FALSE(wrapper_state(plain * 2)) << "a tensor made of tensors is what they make it";
  EXPECT_FALSE(wrapper_state(zeros_like(plain)));
  Tensor x = ones({2}, {.requires_grad = true});
  EXPECT_TRUE(x.requires_grad() && x.is_leaf());
  (x * 2).sum().backward();
  EXPECT_EQ(numbers_of(inner_tensor(x.grad(), "b")), Numbers({2, 2}));
}

}  // namespace
}  // namespace ingot
