// State that ops see beside their arguments: deterministic mode, the random stream, autocast.
#include "ingot/state.hpp"

#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

#include "graph/text.hpp"
#include "graph/trace.hpp"
#include "ingot/ingot.hpp"
#include "support/error_text.hpp"
#include "support/graph_fixture.hpp"
#include "support/no_leaks.hpp"
#include "support/wrappers.hpp"

namespace ingot {
namespace {

class State : public NoLeaks {};

// ---- deterministic mode

TEST_F(State, DeterministicModeRefusesWhatPyTorchLeavesOpen) {
  const Tensor x = zeros({4}), index = tensor({1, 1}, int64), source = ones({2});
  const auto put = [&](bool accumulate) { aten<"put">(x, index, source, accumulate); };
  const auto unpool = [] { aten<"max_unpool2d">(ones({1, 1, 1}), zeros({1, 1, 1}, {.dtype = int64}), Shape{2, 2}); };
  const auto unpool3d = [] {
    aten<"max_unpool3d">(ones({1, 1, 1, 1}), zeros({1, 1, 1, 1}, {.dtype = int64}), Shape{2, 2, 2}, Shape{2, 2, 2},
                         Shape{0, 0, 0});
  };
  EXPECT_EQ(error_of([&] { put(false); }), "no error");
  EXPECT_EQ(error_of(unpool), "no error");
  EXPECT_EQ(error_of(unpool3d), "no error");
  {
    const DeterministicGuard on;
    EXPECT_TRUE(are_deterministic_algorithms_enabled());
    EXPECT_EQ(
        error_of([&] { put(false); }),
        "put_ does not have a deterministic implementation, but you set 'torch.use_deterministic_algorithms(True)'. You can turn off determinism just "
        "for this operation (DeterministicGuard of ingot/state.hpp), if that's acceptable for your application.");
    EXPECT_NE(error_of([&] { call(op("put_"), {x, index, source}); }).find("put_ does not have a deterministic implementation"),
              std::string::npos);
    EXPECT_EQ(error_of([&] { put(true); }), "no error");
    EXPECT_EQ(error_of(unpool).find("max_unpooling2d_forward_out does not have a deterministic implementation"), 14u);
    EXPECT_EQ(error_of(unpool3d).find("max_unpooling3d_forward_out does not have a deterministic implementation"), 14u);
    EXPECT_NE(error_of([&] { aten<"put">(fake({4}), fake({2}, int64), fake({2})); }).find("does not have"), std::string::npos)
        << "fakes too";
    {
      const DeterministicGuard off(false);
      EXPECT_EQ(error_of([&] { put(false); }), "no error");
    }
    EXPECT_TRUE(are_deterministic_algorithms_enabled());
  }
  EXPECT_FALSE(are_deterministic_algorithms_enabled());
}

TEST_F(State, DeterministicModeEndsWithItsBlock) {
  try {
    const DeterministicGuard on;
    throw std::runtime_error("out");
  } catch (const std::runtime_error&) {}
  EXPECT_FALSE(are_deterministic_algorithms_enabled());
}

// ---- random stream

std::vector<float> draw() { return rand({4}).to_vector<float>(); }

TEST_F(State, TheRandomStreamCanBeReadAndSet) {
  manual_seed(7);
  draw();
  const Tensor state = get_rng_state();
  const auto first = draw(), second = draw();
  EXPECT_NE(first, second);
  set_rng_state(state);
  EXPECT_EQ(draw(), first);
  EXPECT_EQ(draw(), second);
  EXPECT_FALSE(equal(get_rng_state(), state));
  EXPECT_NE(error_of([] { set_rng_state(ones({16})); }).find("RNG state must be a torch.ByteTensor"), std::string::npos);
  EXPECT_NE(error_of([] { set_rng_state(ones({3}, {.dtype = uint8})); }).find("RNG state is wrong size"), std::string::npos);
}

TEST_F(State, AForkedStreamGoesOnWhereItWas) {
  manual_seed(1);
  const Tensor state = get_rng_state();
  {
    const ForkRng fork;
    draw();
    manual_seed(99);
  }
  EXPECT_TRUE(equal(get_rng_state(), state));
  try {
    const ForkRng fork;
    draw();
    throw std::runtime_error("out");
  } catch (const std::runtime_error&) {}
  EXPECT_TRUE(equal(get_rng_state(), state)) << "also after an exception";
}

TensorList random_program(const TensorList& in) {
  const Tensor& x = in[0];
  Tensor written = x.clone();
  aten_value<"normal_">(written);
  aten_value<"uniform_">(written);
  aten_value<"bernoulli_.float">(written, 0.5);
  return {rand({3}),
          randn({3}),
          randint(0, 5, {3}),
          randperm(4),
          dropout(x, 0.5),
          aten<"rand_like">(x),
          aten<"bernoulli">(x),
          aten<"multinomial">(x, 2),
          aten<"poisson">(x),
          aten<"normal.Tensor_Tensor">(x, x),
          written};
}

TEST_F(State, R015_TracingDoesNotAdvanceTheStream) {
  manual_seed(3);
  const Tensor state = get_rng_state();
  const Traced fakes = trace(random_program, {full({3}, 0.5)});
  TraceOptions open;
  open.with = TraceWith::symbols;
  const Traced symbols = trace(random_program, {full({3}, 0.5)}, open);
  EXPECT_GT(fakes.graph.nodes().size(), 10u);
  random_program({fake({3})});  // only the factories have bytes here
  EXPECT_FALSE(equal(get_rng_state(), state)) << "factories without tensor arguments draw outside of a trace";
  set_rng_state(state);
  const Tensor f = fake({3});
  for (const char* name : {"rand_like", "bernoulli", "poisson", "normal_", "uniform_"}) call(op(name), {f});
  dropout(f, 0.5);
  EXPECT_TRUE(equal(get_rng_state(), state));
}

// ---- autocast

TEST_F(State, AutocastIsReadComparedAndSet) {
  const AutocastState off = autocast_state();
  EXPECT_FALSE(off.enabled);
  {
    const AutocastGuard guard(float16);
    const AutocastState on = autocast_state();
    EXPECT_EQ(on, (AutocastState{true, float16}));
    EXPECT_FALSE(on == off);
    set_autocast_state({true, bfloat16});
    EXPECT_FALSE(autocast_state() == on);
    EXPECT_EQ(ones({2, 2}).mm(ones({2, 2})).dtype(), bfloat16);
    set_autocast_state(on);
    EXPECT_EQ(ones({2, 2}).mm(ones({2, 2})).dtype(), float16);
  }
  EXPECT_EQ(autocast_state(), off);
  EXPECT_EQ(error_of([] { set_autocast_state({true, float32}); }), "autocast takes bfloat16 or float16, found torch.float32");
  EXPECT_EQ(autocast_state(), off);
}

TEST_F(State, AutocastIsAboveTracing) {
  const TensorFunction f = [](const TensorList& in) {
    const AutocastGuard on;
    return TensorList{linear(in[0], in[1])};
  };
  EXPECT_EQ(print(trace(f, {ones({2, 3}), ones({4, 3})}).graph),
            "def forward(self, arg0_1, arg1_1):\n"
            "    _to_copy = torch.ops.aten._to_copy.default(arg0_1, dtype = torch.bfloat16);  arg0_1 = None\n"
            "    _to_copy_1 = torch.ops.aten._to_copy.default(arg1_1, dtype = torch.bfloat16);  arg1_1 = None\n"
            "    t = torch.ops.aten.t.default(_to_copy_1);  _to_copy_1 = None\n"
            "    mm = torch.ops.aten.mm.default(_to_copy, t);  _to_copy = t = None\n"
            "    return (mm,)\n");
}

TEST_F(State, AutocastIsAboveWrappersAndModes) {
  class Names final : public Mode {
   public:
    Value call(const Op& op, Args args) override {
      seen.push_back(op.name);
      return below(op, args);
    }
    std::vector<std::string> seen;
  } names;
  const Tensor x = testing::two_tensor(ones({2, 2}).requires_grad_(), ones({2, 2})), w = ones({2, 2});
  Tensor y;
  {
    const AutocastGuard on;
    const ModeScope scope(names);
    y = x.mm(w);
  }
  EXPECT_EQ(names.seen, (std::vector<std::string>{"_to_copy", "_to_copy", "mm"}));
  ASSERT_TRUE(testing::is_two_tensor(y));
  EXPECT_EQ(y.dtype(), bfloat16);
  EXPECT_EQ(inner_tensor(y, "b").dtype(), bfloat16);
  y.sum().backward();
  EXPECT_EQ(x.grad().dtype(), float32);
  EXPECT_TRUE(testing::is_two_tensor(x.grad()));
}

TEST_F(State, AutocastPoliciesAreThoseOfPyTorchOnCpu) {
  const std::map<std::string, Autocast> policies{
      {"lower_precision", Autocast::lower_precision}, {"float32", Autocast::float32}, {"promote", Autocast::promote}};
  std::map<std::string, Autocast> want;
  std::ifstream in(INGOT_TEST_DATA "/autocast_cpu.txt");
  Autocast policy = Autocast::none;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    if (line[0] != ' ') {
      policy = policies.at(line);
      continue;
    }
    std::istringstream names(line);
    for (std::string name; names >> name;) want[name] = policy;
  }
  ASSERT_GT(want.size(), 100u);
  std::size_t with_policy = 0;
  for (const Op* o : all_ops()) {
    if (o->schema.ns != "aten") continue;
    const auto found = want.find(o->schema.qualified());
    EXPECT_EQ(static_cast<int>(o->def->autocast), static_cast<int>(found == want.end() ? Autocast::none : found->second))
        << o->name;
    with_policy += found != want.end();
  }
  EXPECT_GT(with_policy, 100u);
}

TEST_F(State, AutocastCastsProgramsOfOpsAsAWhole) {
  const Tensor low = ones({3, 3}).to(bfloat16), f = ones({3, 3});
  const AutocastGuard on;
  EXPECT_EQ(f.matmul(ones({3})).dtype(), bfloat16) << "also where it becomes mv, which has no policy of its own";
  EXPECT_EQ(aten<"mv">(f, ones({3})).dtype(), float32);
  EXPECT_EQ(aten<"prelu">(f, ones({1})).dtype(), bfloat16);
  EXPECT_EQ(aten<"trace">(low).dtype(), float32);
  EXPECT_EQ(aten<"linalg_inv">(low + aten<"eye">(3).to(bfloat16)).dtype(), float32);
  EXPECT_EQ(aten<"fft_fft">(low).dtype(), complex64);
  EXPECT_EQ(aten<"reflection_pad1d">(low, Shape{1, 1}).dtype(), float32);
  EXPECT_EQ(aten<"index_copy">(low, 0, tensor({0}, int64), ones({1, 3})).dtype(), float32) << "to the widest";
}

}  // namespace
}  // namespace ingot
