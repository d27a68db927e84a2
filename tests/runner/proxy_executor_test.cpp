// Operators that a library leaves to its host (section 7 of the runtime's description).
#include "host/torch/proxy_executor.hpp"

#include "op/call.hpp"
#include "owned_handles.hpp"
#include "runner_fixture.hpp"

namespace ingot {
namespace {

// An operator of a user: a tensor, a list with gaps, an int, a static scale, a text.
Value blend(const Call& c) {
  Tensor sum = c.tensor(0).mul(full({}, c[2].to_scalar()));
  for (const Tensor& t : c[1].tensors())
    if (t.defined()) sum = sum.add(t);
  return TensorList{sum, c[4].string() == "negate" ? sum.neg() : sum.clone()};
}
constinit const OpDef kCustom[] = {
    {.schema = "mine::blend(Tensor self, Tensor?[] others, int times, float scale=1.0, str mode=\"copy\") -> (Tensor, Tensor)",
     .body = blend},
    {.schema = "mine::count(Tensor self) -> int", .body = [](const Call& c) -> Value { return c.tensor(0).numel(); }},
};

constexpr const char* kNodes = R"({"nodes": [
  {"name": "buf0", "node": {"target": "mine::blend", "inputs": [
      {"name": "self", "arg": {"as_tensor": {"name": "x"}}},
      {"name": "others", "arg": {"as_optional_tensors": [{"as_tensor": {"name": "y"}}, {"as_none": true}]}},
      {"name": "times", "arg": {"as_int": 3}},
      {"name": "mode", "arg": {"as_string": "negate"}}],
    "outputs": [{"as_tensor": {"name": "a"}}, {"as_tensor": {"name": "b"}}], "metadata": {}}},
  {"name": "buf1", "node": {"target": "mine::count", "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "x"}}}],
    "outputs": [{"as_int": 2}], "metadata": {}}},
  {"name": "buf2", "node": {"target": "torch.ops.aten.split_with_sizes.default", "inputs": [
      {"name": "self", "arg": {"as_tensor": {"name": "x"}}}, {"name": "split_sizes", "arg": {"as_ints": [1, 1]}}],
    "outputs": [{"as_tensors": [{"name": "p"}, {"name": "q"}]}], "metadata": {}}}
]})";

class ProxyExecutorTest : public RunnerTest {
 protected:
  static void SetUpTestSuite() {
    static const bool registered = (register_ops(kCustom), true);
    (void)registered;
  }
  // Calls node `index` through the host's function; what it logged, or "".
  static std::string call(AOTIProxyExecutorHandle executor, int index, std::vector<int64_t> ints, const TensorList& in,
                          TensorList& out) {
    OwnedHandles handles;
    for (const Tensor& t : in) handles.add(t);
    for (std::size_t k = 0; k < out.size(); k++) handles.add(Tensor());
    ::testing::internal::CaptureStderr();
    const AOTITorchError error = aoti_torch_proxy_executor_call_function(
        executor, index, static_cast<int>(ints.size()), ints.data(), static_cast<int>(handles.size()), handles.data());
    const std::string log = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(error != 0, !log.empty()) << log;
    for (std::size_t k = 0; k < out.size(); k++) out[k] = handles.data()[in.size() + k]->tensor;
    return log;
  }
};

TEST_F(ProxyExecutorTest, I089_ANullExecutorSaysWhereOneComesFrom) {
  TensorList none;
  expect_in(
      "Unable to find a proxy executor to run custom ops. Please check if there is a json file generated in the same directory as the so",
      call(nullptr, 0, {}, {}, none));
}

TEST_F(ProxyExecutorTest, I091_I092_I093_NodesRunOnFlatArguments) {
  write("model.json", kNodes);
  const auto executor = ProxyExecutor::open(path("model.json"));
  ASSERT_NE(executor, nullptr);
  EXPECT_EQ(ProxyExecutor::open(path("other.json")), nullptr);
  TensorList out(2);
  EXPECT_EQ(call(executor->handle(), 0, {10}, {tensor({1., 2}), tensor({5., 6})}, out), "");
  EXPECT_EQ(out[0].to_vector<double>(), (std::vector<double>{15, 26})) << "times is the call's, not the file's";
  EXPECT_EQ(out[1].to_vector<double>(), (std::vector<double>{-15, -26}));
  TensorList none;
  EXPECT_EQ(call(executor->handle(), 1, {}, {tensor({1., 2})}, none), "");
  EXPECT_EQ(call(executor->handle(), 2, {1, 1}, {tensor({1., 2})}, out), "");
  EXPECT_EQ(out[1].to_vector<double>(), std::vector<double>{2});
}

TEST_F(ProxyExecutorTest, I093_EverythingMustBeConsumed) {
  ProxyExecutor executor(kNodes, "model.json");
  TensorList out(2), one(1), none;
  expect_in("Invalid extern node index", call(executor.handle(), 3, {}, {}, none));
  expect_in("Mismatch between tensors consumed and num_tensors, got tensor_id = 4, expected num = 3",
            call(executor.handle(), 0, {1}, {tensor({1.}), tensor({2.})}, one));
  expect_in("Mismatch between ints consumed and num_ints, got int_id = 1, expected num = 2",
            call(executor.handle(), 0, {1, 2}, {tensor({1.}), tensor({2.})}, out));
  expect_in(
      "Expect returned int value to match the serialized int value, but got returned int value: 3 and serialized int value: 2",
      call(executor.handle(), 1, {}, {tensor({1., 2, 3})}, none));
}

TEST_F(ProxyExecutorTest, I092_AWrongKindIsNamed) {
  const auto with_mode = [](const std::string& arg) {
    return R"({"nodes": [{"name": "n", "node": {"target": "mine::blend", "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "x"}}},
      {"name": "others", "arg": {"as_tensors": []}}, {"name": "times", "arg": {"as_int": 1}}, {"name": "mode", "arg": )" +
           arg + R"(}], "outputs": [], "metadata": {}}}]})";
  };
  expect_in("Expected extern kernel mine::blend to have serialized argument type as_string for argument 4 but got as_float",
            error_of([&] { ProxyExecutor(with_mode(R"({"as_float": 1.5})"), "model.json"); }));
  expect_in("the operator mine::nothing is not known to this process", error_of([&] {
              ProxyExecutor(R"({"nodes": [{"name": "n", "node": {"target": "mine::nothing", "inputs": [], "outputs": []}}]})",
                            "model.json");
            }));
}

TEST_F(ProxyExecutorTest, I094_ScriptObjectsAreRefused) {
  const std::string node = R"({"nodes": [{"name": "n", "node": {"target": "mine::count", "inputs": [
      {"name": "self", "arg": {"as_custom_obj": {"name": "obj", "class_fqn": "C"}}}], "outputs": []}}]})";
  expect_in("script objects are not supported", error_of([&] { ProxyExecutor(node, "model.json"); }));
}

}  // namespace
}  // namespace ingot
