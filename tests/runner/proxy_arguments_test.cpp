// Every kind of argument and result that an operator left to the host may have (I092, I093), and
// the null executor (I089).
#include "op/call.hpp"
#include "host/torch/proxy_executor.hpp"
#include "owned_handles.hpp"
#include "runner_fixture.hpp"

namespace ingot {
namespace {

// What the last call of an operator below was given.
Values seen;

Value remember(const Call& c) {
  seen.assign(c.args.begin(), c.args.end());
  return c[0];
}

constinit const OpDef kKinds[] = {
    {.schema =
         "kinds::statics(Tensor x, float f, bool b, str s, ScalarType t, Layout l, MemoryFormat m, Device d, float[] fs, bool[] bs, "
         "int[] defaulted=[7, 8], str? none=None) -> Tensor",
     .body = remember},
    {.schema =
         "kinds::dynamics(Tensor x, Tensor? absent, Tensor? there, Tensor[] list, Tensor?[] holes, int i, SymInt s, int[] list_of_ints, "
         "SymInt[] sizes, Scalar number) -> Tensor",
     .body = remember},
    {.schema = "kinds::results(Tensor x) -> (Tensor, Tensor[], int)",
     .body = [](const Call& c) -> Value {
       return Values{Value(c.tensor(0) + 1), Value(TensorList{c.tensor(0) + 2, c.tensor(0) + 3}), Value(5)};
     }},
};

class ProxyArguments : public RunnerTest {
 protected:
  static void SetUpTestSuite() {
    static const bool registered = (register_ops(kKinds), true);
    (void)registered;
  }
  static std::string nodes(const std::string& target, const std::string& inputs, const std::string& outputs) {
    return R"({"nodes": [{"name": "n", "node": {"target": ")" + target + R"(", "inputs": [)" + inputs + R"(], "outputs": [)" +
           outputs + R"(], "metadata": {}}}]})";
  }
  static std::string input(const std::string& name, const std::string& arg) {
    return R"({"name": ")" + name + R"(", "arg": )" + arg + "}";
  }
  static void call(ProxyExecutor& executor, std::vector<int64_t> ints, const TensorList& in, TensorList& out) {
    OwnedHandles handles;
    for (const Tensor& t : in) handles.add(t);
    for (std::size_t k = 0; k < out.size(); k++) handles.add(Tensor());
    executor.call(0, ints, {handles.data(), handles.size()});
    for (std::size_t k = 0; k < out.size(); k++) out[k] = handles.data()[in.size() + k]->tensor;
  }
};

TEST_F(ProxyArguments, I092_StaticArgumentsAreTheFiles) {
  const std::string inputs = input("x", R"({"as_tensor": {"name": "x"}})") + "," + input("f", R"({"as_float": 2.5})") + "," +
                             input("b", R"({"as_bool": true})") + "," + input("s", R"({"as_string": "text"})") + "," +
                             input("t", R"({"as_scalar_type": 8})") + "," + input("l", R"({"as_layout": 7})") + "," +
                             input("m", R"({"as_memory_format": 2})") + "," +
                             input("d", R"({"as_device": {"type": "cuda", "index": 1}})") + "," +
                             input("fs", R"({"as_floats": [0.5, 1.5]})") + "," + input("bs", R"({"as_bools": [true, false]})") +
                             "," + input("none", R"({"as_none": true})");
  ProxyExecutor executor(nodes("kinds::statics", inputs, R"({"as_tensor": {"name": "y"}})"), "model.json");
  TensorList out(1);
  call(executor, {}, {tensor({1.})}, out);
  ASSERT_EQ(seen.size(), 12u);
  EXPECT_EQ(seen[1].to_double(), 2.5);
  EXPECT_TRUE(seen[2].to_bool());
  EXPECT_EQ(seen[3].string(), "text");
  EXPECT_EQ(seen[4].dtype(), DType::f64);
  EXPECT_EQ(seen[5].layout(), Layout::strided);
  EXPECT_EQ(seen[6].memory_format(), MemoryFormat::channels_last);
  EXPECT_EQ(seen[7].device(), Device{}) << "the executor's device, not the exporter's";
  EXPECT_EQ(seen[8].floats(), (std::vector<double>{0.5, 1.5}));
  EXPECT_EQ(seen[9].bools(), (std::vector<bool>{true, false}));
  EXPECT_EQ(to_text(seen[10].ints()), "[7, 8]") << "the schema's default";
  EXPECT_TRUE(seen[11].is_none());
}

TEST_F(ProxyArguments, I092_DynamicArgumentsAreTheCalls) {
  const std::string t = R"({"as_tensor": {"name": "x"}})";
  const std::string inputs = input("x", t) + "," + input("absent", R"({"as_none": true})") + "," + input("there", t) + "," +
                             input("list", R"({"as_tensors": [{"name": "a"}, {"name": "b"}]})") + "," +
                             input("holes", R"({"as_optional_tensors": [{"as_none": true}, {"as_tensor": {"name": "c"}}]})") +
                             "," + input("i", R"({"as_int": 1})") + "," + input("s", R"({"as_sym_int": {"as_name": "s0"}})") +
                             "," + input("list_of_ints", R"({"as_ints": [1, 2]})") + "," +
                             input("sizes", R"({"as_sym_ints": [{"as_name": "s0"}, {"as_int": 4}]})") + "," +
                             input("number", R"({"as_int": 9})");
  ProxyExecutor executor(nodes("kinds::dynamics", inputs, R"({"as_tensor": {"name": "y"}})"), "model.json");
  TensorList out(1);
  call(executor, {10, 11, 12, 13, 14, 15, 16}, {tensor({1.}), tensor({2.}), tensor({3.}), tensor({4.}), tensor({5.})}, out);
  ASSERT_EQ(seen.size(), 10u);
  EXPECT_TRUE(seen[1].is_none()) << "it consumes nothing";
  EXPECT_EQ(seen[2].tensor().item_double(), 2);
  EXPECT_EQ(seen[3].tensors()[1].item_double(), 4);
  EXPECT_FALSE(seen[4].tensors()[0].defined());
  EXPECT_EQ(seen[4].tensors()[1].item_double(), 5);
  EXPECT_EQ(seen[5].to_int64(), 10);
  EXPECT_EQ(seen[6].to_int64(), 11);
  EXPECT_EQ(to_text(seen[7].ints()), "[12, 13]");
  EXPECT_EQ(to_text(seen[8].ints()), "[14, 15]");
  EXPECT_EQ(seen[9].to_int64(), 16) << "an int for a Scalar";
}

TEST_F(ProxyArguments, I093_ResultsAreWrittenInSchemaOrder) {
  const std::string x = input("x", R"({"as_tensor": {"name": "x"}})");
  ProxyExecutor all(nodes("kinds::results", x,
                          R"({"as_tensor": {"name": "a"}}, {"as_tensors": [{"name": "b"}, {"name": "c"}]}, {"as_int": 5})"),
                    "model.json");
  TensorList out(3);
  call(all, {}, {tensor({1.})}, out);
  for (std::size_t k = 0; k < 3; k++) EXPECT_EQ(out[k].item_double(), 2.0 + static_cast<double>(k));
  // A result that is none takes no handle.
  ProxyExecutor some(
      nodes("kinds::results", x, R"({"as_none": true}, {"as_tensors": [{"name": "b"}, {"name": "c"}]}, {"as_int": 5})"),
      "model.json");
  TensorList two(2);
  call(some, {}, {tensor({1.})}, two);
  EXPECT_EQ(two[0].item_double(), 3);
  expect_in(
      "Expect returned int value to match the serialized int value, but got returned int value: 5 and serialized int value: 6",
      error_of([&] {
        ProxyExecutor wrong(
            nodes("kinds::results", x, R"({"as_none": true}, {"as_tensors": [{"name": "b"}, {"name": "c"}]}, {"as_int": 6})"),
            "model.json");
        call(wrong, {}, {tensor({1.})}, two);
      }));
}

TEST_F(ProxyArguments, I089_TheWholeMessageOfTheNullExecutor) {
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(aoti_torch_proxy_executor_call_function(nullptr, 0, 0, nullptr, 0, nullptr), AOTI_TORCH_FAILURE);
  EXPECT_EQ(
      ::testing::internal::GetCapturedStderr(),
      "Exception in aoti_torch: Unable to find a proxy executor to run custom ops. Please check if there is a json file generated in the "
      "same directory as the so, or use torch._inductor.aoti_compile_and_package to package everything into a PT2 artifact.\n");
}

}  // namespace
}  // namespace ingot
