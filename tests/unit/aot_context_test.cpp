// Names of what is being compiled, and what is logged (section 15 of the AOT specification).
#include <cstdlib>
#include <thread>

#include "aot/context.hpp"
#include "aot/metadata_record.hpp"
#include "support/aot_harness.hpp"
#include "support/tracked.hpp"

namespace ingot::aot {
namespace {

class AotContext : public AotHarness {
 protected:
  void SetUp() override {
    AotHarness::SetUp();
    number_from(0);
  }
  // A compiler that writes down what it is told about the graph.
  static Compiler recording(std::vector<std::string>& seen) {
    return [&seen](std::shared_ptr<const Graph> g, const Values& examples) {
      for (const std::string& name : compile_context().names)
        seen.push_back(text(name, " ", g->nodes().size() + 1));  // the output is a node, too
      return nop(std::move(g), examples);
    };
  }
};

const TensorFunction two_sines = [](const TensorList& in) { return TensorList{in[0].sin().sin()}; };

TEST_F(AotContext, A112_R002_R194_TheNameOfTheGraph) {
  std::vector<std::string> seen;
  const AotFunction f = aot_function(two_sines, {.forward = recording(seen)});
  const Tensor out = f(TensorList{tracked(randn({5}))})[0];
  const AotFunction again = aot_function([&](const TensorList& in) { return f(in); }, {.forward = recording(seen)});
  again(TensorList{randn({5})});
  out.sum().backward();
  EXPECT_EQ(seen, (std::vector<std::string>{"0_forward 4", "1_inference 4", "0_backward 8"}));
  EXPECT_TRUE(compile_context().names.empty());
}

TEST_F(AotContext, R002_IdsAreTakenByTheEntryAndNotByTheFirstCall) {
  const AotFunction a = aot_function(two_sines), b = aot_function(two_sines);
  b(TensorList{randn({2})});
  a(TensorList{randn({2})});
  EXPECT_EQ(a.id(), 0);
  EXPECT_EQ(b.id(), 1);
  nn::Linear m(2, 2);
  EXPECT_EQ(aot_module(m).id(), 2);
  aot_module_simplified(m, [&](const Tree& t) { return Tree::tuple({m(t[0].leaf().tensor())}); }, {randn({1, 2})});
  EXPECT_EQ(aot_function(two_sines).id(), 4);
}

TEST_F(AotContext, R194_R195_ContextsAndTheirNumbers) {
  std::vector<std::string> seen;
  const Compiler names = [&](std::shared_ptr<const Graph> g, const Values& examples) {
    seen.push_back(compile_context().graph_name());
    return nop(std::move(g), examples);
  };
  const Partitioner partition = [&](const Joint& joint) {
    seen.push_back(compile_context().graph_name());
    return partition_default(joint);
  };
  std::thread([&] {  // contexts are a thread's own, so these begin at 0
    const AotFunction f = aot_function(two_sines, {.forward = names, .partition = partition});
    const Tensor y = f(TensorList{tracked(randn({5}))})[0];
    EXPECT_EQ(compile_context().number, 3) << "joint, forward, and a backward in which nothing was compiled";
    y.sum().backward();
    EXPECT_EQ(compile_context().number, 4);
    set_model_name("net");
    aot_function(two_sines, {.forward = names})(TensorList{randn({5})});
    EXPECT_EQ(compile_context().number, 5);
  })
      .join();
  EXPECT_EQ(seen,
            (std::vector<std::string>{"model__0_joint_0", "model__0_forward_1", "model__0_backward_3", "net__1_inference_4"}));
  EXPECT_TRUE(compile_context().names.empty());
}

TEST_F(AotContext, R194_AContextIsLeftWhenTheCompilerFails) {
  const Compiler fails = [](std::shared_ptr<const Graph>, const Values&) -> Boxed { throw_user_error("no"); };
  EXPECT_EQ(error_of([&] { aot_function(two_sines, {.forward = fails})(TensorList{randn({5})}); }), "no");
  EXPECT_TRUE(compile_context().names.empty());
}

// What the call writes to stderr with INGOT_LOG set so.
std::string log_of(const char* setting, const std::function<void()>& f) {
  ::setenv("INGOT_LOG", setting, 1);
  ::testing::internal::CaptureStderr();
  f();
  ::unsetenv("INGOT_LOG");
  return ::testing::internal::GetCapturedStderr();
}

TEST_F(AotContext, R196_GraphsAndRecordsAreLogged) {
  const auto compile = [](bool enable) {
    return [enable] { aot_function(two_sines, {.enable_log = enable})(TensorList{tracked(randn({5}))}); };
  };
  const std::string log = log_of("loop,aot", compile(true));
  std::size_t at = 0;
  for (
      const char* part :
      {"[aot 0] metadata:\ninput 0: NOT_MUTATED is_leaf mutations_hidden_from_autograd requires_grad\noutput 0: non_alias requires_grad\n",
       "[aot 0] joint graph:\n", "[aot 0] forward graph:\n", "primals_1: \"f32[5][1]cpu\"", "[aot 0] backward graph:\n",
       "tangents_1: \"f32[5][1]cpu\""}) {
    const std::size_t found = log.find(part, at);
    ASSERT_NE(found, std::string::npos) << part << " in\n" << log;
    at = found;
  }
  EXPECT_EQ(log_of("aot", compile(false)), "");
  EXPECT_EQ(log_of("aotx,loop", compile(true)), "");
  const std::string inference = log_of("aot", [] { aot_function(two_sines)(TensorList{randn({5})}); });
  EXPECT_NE(inference.find("inference graph:\n"), std::string::npos) << inference;
}

TEST_F(AotContext, R074_ABackwardThatSavesSizesIsCompiledAtOnce) {
  int compiled = 0;
  bool fails = false;
  const Compiler backward = [&](std::shared_ptr<const Graph> g, const Values& examples) {
    compiled++;
    if (fails) throw_user_error("not today");
    return nop(std::move(g), examples);
  };
  const TensorFunction saves_a_size = [](const TensorList& in) { return TensorList{in[0].sum()}; };
  const Tensor x = tracked(randn({5}));
  const auto call = [&](const TensorFunction& f, bool dynamic) {
    compiled = 0;
    return aot_function(f, {.backward = backward, .dynamic = dynamic})(TensorList{x})[0];
  };
  call(saves_a_size, false);
  EXPECT_EQ(compiled, 0) << "no size is open";
  call(saves_a_size, true).backward();
  EXPECT_EQ(compiled, 1);
  fails = true;
  Tensor y;
  const std::string log = log_of("aot", [&] { y = call(saves_a_size, true); });
  EXPECT_NE(log.find("failed to eagerly compile backwards for dynamic, suppressing in case backwards not needed"),
            std::string::npos)
      << log;
  EXPECT_EQ(compiled, 1);
  fails = false;
  y.backward();
  EXPECT_EQ(compiled, 2) << "when it is asked for, it gets another turn";
}

}  // namespace
}  // namespace ingot::aot
