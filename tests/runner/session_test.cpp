// The deployer's C interface (ingot/ingot.h).
#include "ingot/ingot.h"

#include <cstring>

#include "runner_fixture.hpp"
#include "tensor/dlpack.hpp"

namespace ingot {
namespace {

class SessionTest : public RunnerTest {
 protected:
  ~SessionTest() override { ingot_session_close(session_); }
  ingot_session* open(const std::string& file, const ingot_options* options = nullptr) {
    ingot_session_close(session_);
    session_ = nullptr;
    EXPECT_EQ(ingot_session_open(file.c_str(), options, &session_), INGOT_OK) << ingot_error();
    return session_;
  }

 private:
  ingot_session* session_ = nullptr;
};

// A tensor as DLPack has it, over the elements of `t`.
struct View {
  explicit View(const Tensor& t) : managed(to_dlpack_versioned(t)) {}
  ~View() { managed->deleter(managed); }
  View(const View&) = delete;
  View& operator=(const View&) = delete;
  operator const DLTensor*() const { return &managed->dl_tensor; }
  DLManagedTensorVersioned* managed;
};

TEST_F(SessionTest, DescribesTheModel) {
  ingot_session* s = open(mlp());
  ASSERT_EQ(ingot_session_inputs(s), 1u);
  ASSERT_EQ(ingot_session_outputs(s), 1u);
  ASSERT_EQ(ingot_session_symbols(s), 1u);
  ingot_value value;
  ingot_open_size symbol;
  const char* level = nullptr;
  EXPECT_EQ(ingot_session_input(s, 0, &value), INGOT_OK);
  EXPECT_EQ(value.rank, 2);
  EXPECT_STREQ(value.sizes[1], "64");
  EXPECT_EQ(value.dtype.code, kDLFloat);
  EXPECT_EQ(value.dtype.bits, 32);
  EXPECT_EQ(ingot_session_symbol(s, 0, &symbol), INGOT_OK);
  EXPECT_STREQ(symbol.name, value.sizes[0]);
  EXPECT_EQ(symbol.max, 4096);
  EXPECT_EQ(ingot_session_level(s, &level), INGOT_OK);
  EXPECT_STRNE(level, "");
  EXPECT_EQ(ingot_session_input(s, 1, &value), INGOT_INVALID);
  expect_in("input 1: there are 1", ingot_error());
  EXPECT_STRNE(ingot_version(), "");
}

TEST_F(SessionTest, RunsIntoNewMemoryAndIntoTheCallers) {
  ingot_session* s = open(mlp());
  const View x(mlp_input());
  const DLTensor* in[] = {x};
  DLManagedTensorVersioned* out[1] = {};
  ASSERT_EQ(ingot_session_run(s, in, 1, out, 1), INGOT_OK) << ingot_error();
  const Tensor result = from_dlpack(out[0]);
  expect_close(result, mlp_output());

  // A column-major buffer of the caller.
  const Tensor mine = zeros({10, 8}).t();
  const View place(mine);
  DLTensor target = *static_cast<const DLTensor*>(place);
  DLTensor* targets[] = {&target};
  ASSERT_EQ(ingot_session_run_into(s, in, 1, targets, 1), INGOT_OK) << ingot_error();
  expect_close(mine, mlp_output());
  open(mlp("other.so"));
  expect_close(result, mlp_output());  // outlives its session
}

TEST_F(SessionTest, WrongCallsAreRefusedInWords) {
  ingot_session* none = nullptr;
  EXPECT_EQ(ingot_session_open(path("none.so").c_str(), nullptr, &none), INGOT_INVALID);
  expect_in("Failed to load model", ingot_error());
  EXPECT_EQ(ingot_session_open(nullptr, nullptr, &none), INGOT_INVALID);
  ingot_options bad = {};
  bad.device = "toaster";
  EXPECT_EQ(ingot_session_open(mlp().c_str(), &bad, &none), INGOT_INVALID);
  expect_in("toaster", ingot_error());

  ingot_session* s = open(mlp());
  const View wide(zeros({8, 65})), doubles(zeros({8, 64}, {.dtype = float64})), right(mlp_input());
  DLManagedTensorVersioned* out[1] = {};
  const auto run = [&](const DLTensor* t) {
    const DLTensor* in[] = {t};
    const ingot_status status = ingot_session_run(s, in, 1, out, 1);
    EXPECT_EQ(status, INGOT_INVALID);
    return std::string(ingot_error());
  };
  expect_in("expected 64, found 65", run(wide));
  expect_in("float64", run(doubles));
  expect_in("input 0 (x): expected a tensor, found null", run(nullptr));
  DLTensor changed = *static_cast<const DLTensor*>(right);
  changed.device.device_type = kDLCUDA;
  expect_in("expected a tensor in the CPU's memory", run(&changed));
  changed = *static_cast<const DLTensor*>(right);
  changed.byte_offset = 2;
  expect_in("not aligned", run(&changed));
  changed = *static_cast<const DLTensor*>(right);
  changed.dtype = {kDLFloat, 32, 4};
  expect_in("4 lanes", run(&changed));
  const DLTensor* in[] = {right};
  EXPECT_EQ(ingot_session_run(s, in, 1, out, 2), INGOT_INVALID);
  expect_in("expected room for 1 outputs, found 2", ingot_error());
  DLTensor* targets[] = {&changed};
  changed = *static_cast<const DLTensor*>(right);
  EXPECT_EQ(ingot_session_run_into(s, in, 1, targets, 1), INGOT_INVALID);
  expect_in("output 0: sizes: expected [8, 10], found [8, 64]", ingot_error());
  EXPECT_EQ(ingot_session_run(nullptr, in, 1, out, 1), INGOT_INVALID);
}

TEST_F(SessionTest, ConstantsAreReadUpdatedAndSwapped) {
  ingot_session* s = open(mlp());
  ASSERT_EQ(ingot_session_constants(s), 6u);  // two of them are weights laid out for the processor
  ingot_constant_info info;
  EXPECT_EQ(ingot_session_constant(s, 0, &info), INGOT_OK);
  EXPECT_STREQ(info.name, "a.weight");
  EXPECT_TRUE(info.is_parameter);
  EXPECT_EQ(info.bytes, 128u * 64 * 4);
  EXPECT_FALSE(info.is_folded);
  EXPECT_EQ(ingot_session_constant(s, 4, &info), INGOT_OK);
  EXPECT_TRUE(info.is_folded);
  EXPECT_EQ(ingot_session_constant(s, 6, &info), INGOT_INVALID);

  const auto output = [&] {
    const View x(mlp_input());
    const DLTensor* in[] = {x};
    DLManagedTensorVersioned* out[1] = {};
    EXPECT_EQ(ingot_session_run(s, in, 1, out, 1), INGOT_OK) << ingot_error();
    return from_dlpack(out[0]);
  };
  const View weight(zeros({10, 128})), bias(ones({10})), first(zeros({128, 64})), second(zeros({128}));
  const ingot_named_tensor all[] = {{"b.weight", weight}, {"b.bias", bias}, {"a.weight", first}, {"a.bias", second}};
  EXPECT_EQ(ingot_session_update(s, all, 2, true, true), INGOT_INVALID);
  expect_in("Cannot find constants", ingot_error());
  ASSERT_EQ(ingot_session_update(s, all, 4, true, true), INGOT_OK) << ingot_error();
  EXPECT_EQ(ingot_session_fold(s, true), INGOT_OK) << ingot_error();
  expect_close(output(), mlp_output());
  EXPECT_EQ(ingot_session_swap(s), INGOT_OK);
  expect_close(output(), ones({8, 10}));
  DLManagedTensorVersioned* copy = nullptr;
  ASSERT_EQ(ingot_session_get_constant(s, "b.bias", false, &copy), INGOT_OK) << ingot_error();
  expect_close(from_dlpack(copy), ones({10}));
  EXPECT_EQ(ingot_session_swap(s), INGOT_OK);
  EXPECT_EQ(ingot_session_free_inactive(s), INGOT_OK);
  expect_close(output(), mlp_output());
  const ingot_named_tensor unknown[] = {{"c.bias", bias}};
  EXPECT_EQ(ingot_session_update(s, unknown, 1, false, false), INGOT_INVALID);
  expect_in("the model has no constant 'c.bias'", ingot_error());
}

TEST_F(SessionTest, PackagesAndOptions) {
  constexpr const char* kMetadata = R"({"AOTI_DEVICE_KEY": "cpu"})";
  const std::string ext = mlp("ext.so", {.weights = Model::Weights::Kind::external});
  write_package(path("p.pt2"), {{"one", mlp(), kMetadata, ""}, {"two", ext, kMetadata, ext + ".safetensors"}});
  ingot_options options = {};
  options.model = "two";
  options.models = 2;
  options.threads = 1;
  ingot_session* s = open(path("p.pt2"), &options);
  EXPECT_EQ(ingot_session_set_threads(s, 2), INGOT_OK);
  EXPECT_EQ(ingot_session_set_threads(s, 0), INGOT_INVALID);
  const View x(mlp_input());
  const DLTensor* in[] = {x};
  DLManagedTensorVersioned* out[1] = {};
  ASSERT_EQ(ingot_session_run(s, in, 1, out, 1), INGOT_OK) << ingot_error();
  expect_close(from_dlpack(out[0]), mlp_output());
  options.model = "three";
  ingot_session* none = nullptr;
  EXPECT_EQ(ingot_session_open(path("p.pt2").c_str(), &options, &none), INGOT_INVALID);
  expect_in("one, two", ingot_error());
}

}  // namespace
}  // namespace ingot
