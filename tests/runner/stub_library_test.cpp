// The runner with a library that is not Ingot's: what it passes on, and what it does with functions
// that fail or are not there.
#include <dlfcn.h>

#include <algorithm>
#include <cstring>

#include "programs/stub.h"
#include "op/call.hpp"
#include "host/torch/model_container_runner.hpp"
#include "runner_fixture.hpp"
#include "host/elf_file.hpp"

namespace ingot {
namespace {

std::string stub_path(const std::string& name) { return std::string(INGOT_STUB_DIR) + "/" + name + ".so"; }

class StubLibrary : public RunnerTest {
 protected:
  // What the stub at that path saw; it is loaded as long as the test runs.
  stub_record& seen(const std::string& path) {
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(library, nullptr) << dlerror();
    libraries_.push_back(library);
    auto* record = static_cast<stub_record*>(dlsym(library, "stub_seen"));
    *record = {};
    return *record;
  }
  void TearDown() override {
    for (void* l : libraries_) dlclose(l);
  }
  static void fail_in(stub_record& record, const char* function) { std::strcpy(record.failing, function); }

 private:
  std::vector<void*> libraries_;
};

TEST_F(StubLibrary, I095_I100_TheContainerIsCreatedAsAskedFor) {
  const std::string so = stub_path("stub");
  stub_record& record = seen(so);
  {
    ::testing::internal::CaptureStderr();
    ModelContainerRunner runner(so);
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "") << "every function is there";
    EXPECT_EQ(record.models, 1u);
    EXPECT_STREQ(record.device, "cpu");
    EXPECT_FALSE(record.has_cubin_dir) << "an empty folder is none";
    EXPECT_EQ(record.deleted, 0);
  }
  EXPECT_EQ(record.deleted, 1);
  {
    ModelContainerRunner runner(so, {.num_models = 3, .device = "cuda:2", .cubin_dir = "/kernels"});
    EXPECT_EQ(record.models, 3u);
    EXPECT_STREQ(record.device, "cuda:2");
    EXPECT_TRUE(record.has_cubin_dir);
    EXPECT_STREQ(record.cubin_dir, "/kernels");
  }
  fail_in(record, "AOTInductorModelContainerCreateWithDevice");
  const std::string message = error_of([&] { ModelContainerRunner runner(so); });
  expect_in("AOTInductorModelContainerCreateWithDevice(&container_, ", message);
  expect_in(" API call failed at model_container_runner.cpp, line ", message);
}

TEST_F(StubLibrary, I095_ALibraryWithoutARequiredFunctionIsRefused) {
  for (const char* name :
       {"AOTInductorModelContainerCreateWithDevice", "AOTInductorModelContainerDelete", "AOTInductorModelContainerGetNumOutputs",
        "AOTInductorModelContainerRun", "AOTInductorModelContainerGetNumConstants", "AOTInductorModelContainerGetConstantName",
        "AOTInductorModelContainerGetConstantOriginalFQN", "AOTInductorModelContainerGetConstantDtype",
        "AOTInductorModelContainerUpdateConstantBuffer", "AOTInductorModelContainerUpdateInactiveConstantBuffer",
        "AOTInductorModelContainerRunConstantFolding", "AOTInductorModelContainerSwapConstantBuffer",
        "AOTInductorModelContainerGetCallSpec"}) {
    // The function under another name: its last letter in the table of dynamic names.
    std::ifstream in(stub_path("stub"), std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(in)), {});
    const std::string word = std::string("\0", 1) + name + std::string("\0", 1);
    std::size_t at = bytes.find(word), count = 0;
    for (; at != bytes.npos; at = bytes.find(word, at + 1), count++) bytes[at + word.size() - 2] = '_';
    ASSERT_GT(count, 0u) << name;
    const std::string file = std::string("without_") + name + ".so";
    write(file, bytes);
    EXPECT_EQ(error_of([&] { ModelContainerRunner runner(path(file)); }),
              "Failed to load model: " + path(file) + ": it is no model library, it has no function " + name);
  }
}

TEST_F(StubLibrary, I095_I102_FunctionsThatCameLaterFailWhenTheyAreUsed) {
  const std::string so = stub_path("stub_old");
  seen(so);
  std::string expected;
  for (const std::string name :
       {"AOTInductorModelContainerRunSingleThreaded", "AOTInductorModelContainerFreeInactiveConstantBuffer",
        "AOTInductorModelContainerExtractConstantsMap", "AOTInductorModelContainerUpdateUserManagedConstantBuffer",
        "AOTInductorModelContainerGetConstantsBlobSize", "AOTInductorModelUpdateConstantsFromBlob"})
    expected += "[WARNING] Could not dlsym " + name + ". This is okay if you don't need functionality from " + name +
                ". Otherwise consider rebuilding your model with the latest AOTInductor.\n";
  ::testing::internal::CaptureStderr();
  ModelContainerRunner runner(so);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), expected);

  // The rest is as good as ever.
  EXPECT_EQ(runner.run({zeros({2})}).size(), 4u);
  runner.update_constant_buffer({{"w", zeros({2})}}, false, false);
  const auto refusal = [](const char* name) {
    return std::string("No ") + name + " in .so! Consider rebuild your model with the latest AOTInductor.";
  };
  EXPECT_EQ(error_of([&] { runner.free_inactive_constant_buffer(); }), refusal("free_inactive_constant_buffer"));
  EXPECT_EQ(error_of([&] { runner.extract_constants_map(false); }), refusal("extract_constants_map"));
  EXPECT_EQ(error_of([&] { runner.update_constant_buffer({{"w", zeros({2})}}, false, false, true); }),
            refusal("update_user_managed_constant_buffer"));
  write("blob", "abc");
  EXPECT_EQ(error_of([&] { runner.update_constant_buffer_from_blob(path("blob")); }), refusal("update_constants_from_blob"));
  EXPECT_EQ(ModelContainerRunner(runner, "forward").run({zeros({2})}).size(), 4u);  // its only entry point
  EXPECT_EQ(error_of([&] { ModelContainerRunner(runner, "decode"); }),
            so + ": the library has no entry point 'decode'; it has forward");
  ModelContainerRunner single(so, {.run_single_threaded = true});
  EXPECT_EQ(error_of([&] { single.run({zeros({2})}); }), refusal("run_single_threaded"));
}

TEST_F(StubLibrary, I097_AContainerThatCannotBeDeletedIsReported) {
  const std::string so = stub_path("stub");
  stub_record& record = seen(so);
  ::testing::internal::CaptureStderr();
  {
    ModelContainerRunner runner(so);
    fail_in(record, "AOTInductorModelContainerDelete");
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "AOTInductorModelContainerDelete failed\n");
  static_assert(!std::is_move_assignable_v<ModelContainerRunner>);
}

TEST_F(StubLibrary, I098_HandlesOfARun) {
  const std::string so = stub_path("stub");
  stub_record& record = seen(so);
  ModelContainerRunner runner(so), single(so, {.run_single_threaded = true});
  const auto stream = reinterpret_cast<AOTInductorStreamHandle>(uintptr_t{24});
  for (ModelContainerRunner* r : {&runner, &single}) {
    const int64_t before = TensorImpl::live();
    {
      const Tensor x = tensor({1., 2, 3});
      const TensorList out = r->run({x}, stream);
      EXPECT_EQ(record.inputs, 1u);
      EXPECT_EQ(record.input_data, x.data_ptr()) << "the handle shares the storage";
      EXPECT_EQ(record.stream, stream);
      EXPECT_EQ(record.proxy, nullptr);
      ASSERT_EQ(out.size(), 4u);
      EXPECT_FALSE(out[0].defined()) << "a null handle";
      EXPECT_TRUE(out[1].is_same(out[2])) << "one handle twice";
      for (int k : {1, 2, 3}) EXPECT_EQ(out[static_cast<std::size_t>(k)].data_ptr(), x.data_ptr());
      r->run({x});
      EXPECT_EQ(record.stream, nullptr) << "none is given, and the CPU has none";
    }
    EXPECT_EQ(TensorImpl::live(), before) << "each handle is released once";
    fail_in(record, r == &single ? "AOTInductorModelContainerRunSingleThreaded" : "AOTInductorModelContainerRun");
    expect_in(record.failing, error_of([&] { r->run({tensor({1.})}); }));
    EXPECT_EQ(TensorImpl::live(), before);
    fail_in(record, "AOTInductorModelContainerGetNumOutputs");
    expect_in(record.failing, error_of([&] { r->run({tensor({1.})}); }));
    EXPECT_EQ(TensorImpl::live(), before);
    fail_in(record, "");
  }
}

TEST_F(StubLibrary, I102_ArgumentsArePassedOnAndEveryFailureRaises) {
  const std::string so = stub_path("stub");
  stub_record& record = seen(so);
  ModelContainerRunner runner(so);
  const auto stream = reinterpret_cast<AOTInductorStreamHandle>(uintptr_t{24});
  const ConstantMap constants = {{"w", zeros({2})}};
  for (const bool a : {false, true}) {
    for (const bool managed : {false, true}) {
      runner.update_constant_buffer(constants, a, !a, managed);
      EXPECT_EQ(record.use_inactive, a);
      EXPECT_EQ(record.full_update, !a);
      runner.load_constants({{"layer.w", zeros({2})}}, !a, a, managed);
      EXPECT_EQ(record.use_inactive, !a);
      EXPECT_EQ(record.full_update, a);
    }
    runner.run_const_fold(a, stream);
    EXPECT_EQ(record.use_inactive, a);
    EXPECT_EQ(record.stream, stream);
    EXPECT_TRUE(runner.extract_constants_map(a).empty());
    EXPECT_EQ(record.use_inactive, a);
  }
  EXPECT_EQ(runner.call_spec(), (std::pair<std::string, std::string>{"in", "out"}));
  write("blob", "abc");
  runner.update_constant_buffer_from_blob(path("blob"));
  EXPECT_STREQ(record.blob, "abc");

  const std::pair<const char*, std::function<void()>> calls[] = {
      {"AOTInductorModelContainerUpdateConstantBuffer", [&] { runner.update_constant_buffer(constants, false, false); }},
      {"AOTInductorModelContainerUpdateUserManagedConstantBuffer",
       [&] { runner.update_constant_buffer(constants, false, false, true); }},
      {"AOTInductorModelContainerUpdateInactiveConstantBuffer", [&] { runner.update_inactive_constant_buffer(constants); }},
      {"AOTInductorModelContainerRunConstantFolding", [&] { runner.run_const_fold(false); }},
      {"AOTInductorModelContainerSwapConstantBuffer", [&] { runner.swap_constant_buffer(); }},
      {"AOTInductorModelContainerFreeInactiveConstantBuffer", [&] { runner.free_inactive_constant_buffer(); }},
      {"AOTInductorModelContainerExtractConstantsMap", [&] { runner.extract_constants_map(false); }},
      {"AOTInductorModelContainerGetCallSpec", [&] { runner.call_spec(); }},
      {"AOTInductorModelContainerGetNumConstants", [&] { runner.constant_names_to_fqns(); }},
      {"AOTInductorModelContainerGetConstantName", [&] { runner.constant_names_to_dtypes(); }},
      {"AOTInductorModelContainerGetConstantOriginalFQN", [&] { runner.constant_names_to_fqns(); }},
      {"AOTInductorModelContainerGetConstantDtype", [&] { runner.constant_names_to_dtypes(); }},
      {"AOTInductorModelContainerGetConstantsBlobSize", [&] { runner.update_constant_buffer_from_blob(path("blob")); }},
      {"AOTInductorModelUpdateConstantsFromBlob", [&] { runner.update_constant_buffer_from_blob(path("blob")); }}};
  const int64_t before = TensorImpl::live();
  for (const auto& [name, call] : calls) {
    fail_in(record, name);
    expect_in(std::string(name) + "(container_", error_of(call));
    EXPECT_EQ(TensorImpl::live(), before) << name;
    fail_in(record, "");
    EXPECT_NO_THROW(call()) << name;
  }
}

TEST_F(StubLibrary, I083_AMissingHostFunctionIsAnErrorOfThatLibrary) {
  const std::string message = error_of([&] { ModelContainerRunner runner(stub_path("stub_needs")); });
  expect_in("Failed to load model: " + stub_path("stub_needs") + ": ", message);
  expect_in("undefined symbol: aoti_torch_cpu_no_such_op", message);
  EXPECT_NO_THROW(ModelContainerRunner runner(stub_path("stub"))) << "the host is as good as before";
}

// As AOTInductor's libraries do: the loader gets an empty library of that name, and the functions
// are this process's.
TEST_F(StubLibrary, I083_ALibraryThatNeedsLibtorchByItsNameIsLoadedWithout) {
  const ElfNeeds needs = elf_needs(stub_path("stub_torch"));
  EXPECT_NE(std::find(needs.libraries.begin(), needs.libraries.end(), "libtorch_cpu.so.9.99"), needs.libraries.end());
  EXPECT_NE(std::find(needs.functions.begin(), needs.functions.end(), "aoti_torch_get_data_ptr"), needs.functions.end());
  for (int k = 0; k < 2; k++) {
    ModelContainerRunner runner(stub_path("stub_torch"));
    EXPECT_EQ(runner.run({zeros({2})}).size(), 4u);
    EXPECT_EQ(runner.input_names(), std::vector<std::string>{"arg0_1"});
    EXPECT_EQ(runner.output_names(), (std::vector<std::string>{"output0", "output1", "output2", "output3"}));
  }
  EXPECT_EQ(error_of([&] { ModelContainerRunner runner(stub_path("stub_torch_needs")); }),
            "Failed to load model: " + stub_path("stub_torch_needs") +
                ": it calls functions of libtorch that Ingot does not have: aoti_torch_cpu_no_such_op");
}

TEST_F(StubLibrary, I088_ALibraryOfOperatorsIsLoadedBeforeTheModelThatCallsThem) {
  ASSERT_EQ(find_op("stub_ops::same"), nullptr);
  load_operators(stub_path("stub_torch_operators"));
  const Tensor x = zeros({3});
  EXPECT_EQ(call(op("stub_ops::same"), {x}).tensor().data_ptr(), x.data_ptr());
  expect_in("Failed to load operators: /no/such.so: ", error_of([] { load_operators("/no/such.so"); }));
}

}  // namespace
}  // namespace ingot
