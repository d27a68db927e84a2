// The C functions of a model library: life cycle, runs, questions, bare models.
#include <fstream>
#include <functional>
#include <set>

#include "model_fixture.hpp"

namespace ingot::test {
namespace {

using Abi = ModelTest;

TEST_F(Abi, I001_I002_TypesOfTheInterface) {
  static_assert(std::is_same_v<AOTIRuntimeError, int32_t> && std::is_same_v<AOTITorchError, int32_t>);
  static_assert(AOTI_RUNTIME_SUCCESS == 0 && AOTI_RUNTIME_FAILURE == 1 && AOTI_TORCH_SUCCESS == 0 && AOTI_TORCH_FAILURE == 1);
  static_assert(std::is_pointer_v<AOTInductorModelHandle> && std::is_pointer_v<AOTInductorModelContainerHandle> &&
                std::is_pointer_v<AOTInductorStreamHandle> && std::is_pointer_v<AOTInductorConstantMapHandle> &&
                std::is_pointer_v<AOTIProxyExecutorHandle> && std::is_pointer_v<AtenTensorHandle> &&
                std::is_pointer_v<AtenGeneratorHandle> && std::is_pointer_v<C10IValueHandle>);
  static_assert(offsetof(AOTInductorConstantMapEntry, name) == 0 &&
                offsetof(AOTInductorConstantMapEntry, handle) == sizeof(void*));
  // What a function returns is one of the two statuses.
  const Library library(library_path("affine"));
  const Container container(library);
  size_t count = 0;
  EXPECT_EQ(library_call(library, AOTInductorModelContainerGetNumInputs)(container, &count), AOTI_RUNTIME_SUCCESS);
  EXPECT_EQ(message_of(library, [&] { return library_call(library, AOTInductorModelContainerGetNumInputs)(container, nullptr); }),
            "the address for the answer is null");
}

TEST_F(Abi, I009_I031_ThirtyTwoFunctionsAreExported) {
  const char* const names[] = {"AOTInductorModelContainerCreate",
                               "AOTInductorModelContainerCreateWithDevice",
                               "AOTInductorModelContainerDelete",
                               "AOTInductorModelContainerRun",
                               "AOTInductorModelContainerRunSingleThreaded",
                               "AOTInductorModelContainerGetNumInputs",
                               "AOTInductorModelContainerGetInputName",
                               "AOTInductorModelContainerGetNumOutputs",
                               "AOTInductorModelContainerGetOutputName",
                               "AOTInductorModelContainerGetCallSpec",
                               "AOTInductorModelContainerGetNumConstants",
                               "AOTInductorModelContainerGetConstantName",
                               "AOTInductorModelContainerGetConstantOriginalFQN",
                               "AOTInductorModelContainerGetConstantFromFolded",
                               "AOTInductorModelContainerGetConstantDtype",
                               "AOTInductorModelContainerGetConstantType",
                               "AOTInductorModelContainerGetConstantDataSize",
                               "AOTInductorModelContainerUpdateConstantBuffer",
                               "AOTInductorModelContainerUpdateInactiveConstantBuffer",
                               "AOTInductorModelContainerUpdateUserManagedConstantBuffer",
                               "AOTInductorModelContainerUpdateUserManagedConstantBufferPairs",
                               "AOTInductorModelContainerFreeInactiveConstantBuffer",
                               "AOTInductorModelContainerRunConstantFolding",
                               "AOTInductorModelContainerSwapConstantBuffer",
                               "AOTInductorModelContainerExtractConstantsMap",
                               "AOTInductorModelContainerGetConstantsBlobSize",
                               "AOTInductorModelUpdateConstantsFromBlob",
                               "AOTInductorModelCreate",
                               "AOTInductorModelRun",
                               "AOTInductorModelDelete",
                               "AOTInductorModelGetNumOutputs",
                               "AOTInductorModelUpdateConstantsMap"};
  EXPECT_EQ(std::size(names), 32u);
  EXPECT_EQ(std::set<std::string>(std::begin(names), std::end(names)).size(), 32u);
  const Library library(library_path("affine"));
  for (const char* name : names) EXPECT_TRUE(library.symbol(name)) << name;
  // PyTorch 2.14's runner asks for these, and warns of a library that lacks one.
  for (const char* name :
       {"AOTInductorModelContainerUpdateConstantBufferFromCpu", "AOTInductorModelContainerDidCallLoadConstants",
        "AOTInductorGetLastError", "AOTInductorModelContainerCreateWithExternalConstants"}) {
    EXPECT_TRUE(library.symbol(name)) << name;
  }
  EXPECT_FALSE(library.symbol("ingot_the_program"));  // two libraries in one process must not share it
  EXPECT_FALSE(library.symbol("ingot_rt_output"));
}

TEST_F(Abi, I010_I011_I012_I040_ContainersAreCreatedForADevice) {
  const Library library(library_path("affine"));
  const auto create = library_call(library, AOTInductorModelContainerCreate);
  const auto create_with_device = library_call(library, AOTInductorModelContainerCreateWithDevice);
  const auto destroy = library_call(library, AOTInductorModelContainerDelete);
  AOTInductorModelContainerHandle container = nullptr;
  ASSERT_EQ(create(&container, 2, true, nullptr), 0);
  EXPECT_EQ(destroy(container), 0);
  for (const char* device : {"cpu", "cpu:0", "cpu:12"}) {
    ASSERT_EQ(create_with_device(&container, 1, device, nullptr), 0) << device;
    EXPECT_EQ(destroy(container), 0);
  }
  container = nullptr;
  EXPECT_EQ(message_of(library, [&] { return create_with_device(&container, 0, "cpu", nullptr); }),
            "num_models must be positive, but got 0");
  EXPECT_EQ(message_of(library, [&] { return create_with_device(&container, 1, nullptr, nullptr); }),
            "device: expected a name, found null");
  for (const char* device : {"", "cpus", "cp", "cpu:", "cpu:x", "cuda:-1", "tpu"}) {
    EXPECT_EQ(message_of(library, [&] { return create_with_device(&container, 1, device, nullptr); }),
              std::string("Invalid device: ") + device);
  }
  EXPECT_EQ(message_of(library, [&] { return create(&container, 1, false, nullptr); }),
            "device: expected cpu, which this library was compiled for, found cuda");
  for (const char* device : {"cuda:1", "xpu", "mps"}) {
    EXPECT_EQ(message_of(library, [&] { return create_with_device(&container, 1, device, nullptr); }),
              std::string("device: expected cpu, which this library was compiled for, found ") + device);
  }
  EXPECT_EQ(container, nullptr);
}

TEST_F(Abi, I004_TheLastErrorIsThatOfTheLastCall) {
  const Library library(library_path("affine"));
  const Container container(library);
  const auto last = library_call(library, AOTInductorGetLastError);
  const auto get_name = library_call(library, AOTInductorModelContainerGetInputName);
  const char *said = nullptr, *name = nullptr;
  EXPECT_EQ(message_of(library, [&] { return get_name(container, 1, &name); }), "input 1: there are 1");
  ASSERT_EQ(last(&said), 0);
  EXPECT_STREQ(said, "input 1: there are 1");
  ASSERT_EQ(last(&said), 0);  // asking changes nothing
  EXPECT_STREQ(said, "input 1: there are 1");
  ASSERT_EQ(get_name(container, 0, &name), 0);
  ASSERT_EQ(last(&said), 0);
  EXPECT_STREQ(said, "");
  EXPECT_EQ(last(nullptr), 1);
}

TEST_F(Abi, I043_I045_KernelFolderAndStreamAreOfNoAccountOnTheCpu) {
  const Library library(library_path("affine"));
  AOTInductorModelContainerHandle container = nullptr;
  ASSERT_EQ(library_call(library, AOTInductorModelContainerCreateWithDevice)(&container, 1, "cpu", "/no/such/folder"), 0);
  Floats x = rows(2);
  AtenTensorHandle input = tensor_over(x, {2, 16}), outputs[2];
  ASSERT_EQ(library_call(library, AOTInductorModelContainerRun)(container, &input, 1, outputs, 2, nullptr, nullptr), 0);
  EXPECT_EQ(values_of(outputs[0]), AffineWeights().affine(x));
  for (AtenTensorHandle o : outputs) aoti_torch_delete_tensor_object(o);
  library_call(library, AOTInductorModelContainerDelete)(container);
}

TEST_F(Abi, I046_ARunOnTheCpuHasNoDeviceToSetAndLooksAtNoStream) {
  const Library library(library_path("affine_pure"));
  const Container container(library);
  Floats x = rows(2);
  AtenTensorHandle input = tensor_over(x, {2, 16}), outputs[2];
  const auto nobodys_stream = reinterpret_cast<AOTInductorStreamHandle>(uintptr_t{8});
  ASSERT_EQ(library_call(library, AOTInductorModelContainerRun)(container, &input, 1, outputs, 2, nobodys_stream, nullptr), 0);
  EXPECT_EQ(values_of(outputs[0]), AffineWeights().affine(x));
  for (AtenTensorHandle o : outputs) {
    EXPECT_EQ(tensor_of(o)->device, kCpu);
    aoti_torch_delete_tensor_object(o);
  }
}

TEST_F(Abi, I048_AConstantOfAnotherDeviceIsRefusedAtLoad) {
  const Library library(library_path("affine_mixed"));
  AOTInductorModelContainerHandle container = nullptr;
  const std::string message = message_of(
      library, [&] { return library_call(library, AOTInductorModelContainerCreateWithDevice)(&container, 1, "cpu", nullptr); });
  EXPECT_TRUE(message.starts_with(
      "Mixed-device constants are only supported when the secondary device is CPU. Constant 'layer.bias' was compiled for a "
      "non-CPU device. Hint: "))
      << message;
  EXPECT_EQ(container, nullptr);
}

TEST_F(Abi, I013_I014_I044_RunsStealInputsAndGiveOutputs) {
  const Library library(library_path("affine_pure"));
  const Container container(library);
  const int64_t before = live_handles();
  for (const auto run :
       {library_call(library, AOTInductorModelContainerRun), library_call(library, AOTInductorModelContainerRunSingleThreaded)}) {
    for (int64_t count : {1, 2, 17, 64}) {
      Floats x = rows(count);
      AtenTensorHandle input = tensor_over(x, {count, 16}), outputs[2];
      ASSERT_EQ(run(container, &input, 1, outputs, 2, nullptr, nullptr), 0);
      EXPECT_EQ(values_of(outputs[0]), AffineWeights().affine(x)) << count;
      EXPECT_EQ(live_handles(), before + 2);  // the input is gone, two outputs are here
      EXPECT_EQ(input, nullptr) << "stolen: a host that frees what is left in the array finds nothing";
      for (AtenTensorHandle o : outputs) aoti_torch_delete_tensor_object(o);
    }
    // A failed run has taken its input too, and gives nothing.
    Floats x = rows(1);
    AtenTensorHandle input = tensor_over(x, {1, 8}), outputs[2];
    EXPECT_EQ(message_of(library, [&] { return run(container, &input, 1, outputs, 2, nullptr, nullptr); }),
              "input 0 (x): size of dim 1: expected 16, found 8");
    EXPECT_EQ(input, nullptr);
    EXPECT_EQ(outputs[0], nullptr);
    EXPECT_EQ(outputs[1], nullptr);
    EXPECT_EQ(live_handles(), before);
  }
}

TEST_F(Abi, I004_I005_NumbersOfHandlesAreChecked) {
  const Library library(library_path("affine"));
  const Container container(library);
  for (const auto run :
       {library_call(library, AOTInductorModelContainerRun), library_call(library, AOTInductorModelContainerRunSingleThreaded)}) {
    Floats x = rows(1);
    AtenTensorHandle inputs[2] = {tensor_over(x, {1, 16}), tensor_over(x, {1, 16})}, outputs[3];
    EXPECT_EQ(message_of(library, [&] { return run(container, inputs, 2, outputs, 2, nullptr, nullptr); }),
              "expected inputs vector size to be 1, but got 2");
    inputs[0] = tensor_over(x, {1, 16});
    EXPECT_EQ(message_of(library, [&] { return run(container, inputs, 1, outputs, 3, nullptr, nullptr); }),
              "expected outputs vector size to be 2, but got 3");
    EXPECT_EQ(message_of(library, [&] { return run(container, nullptr, 1, outputs, 2, nullptr, nullptr); }),
              "expected an array of input handles, found null");
    inputs[0] = tensor_over(x, {1, 16});
    EXPECT_EQ(message_of(library, [&] { return run(container, inputs, 1, nullptr, 2, nullptr, nullptr); }),
              "expected an array of output handles, found null");
  }
}

TEST_F(Abi, I007_AHostCallThatFailsIsNamed) {
  const Library library(library_path("affine_pure"));
  const Container container(library);
  run_affine(container, rows(1));
  Floats x = rows(1);
  std::vector<AtenTensorHandle> outputs(2);
  const auto failed_run = [&](const char* function, int after) {
    return message_of(library, [&] {
      const AtenTensorHandle input = tensor_over(x, {1, 16});
      fail_in(function, after);
      return container.run({input}, outputs);
    });
  };
  EXPECT_TRUE(failed_run("empty_strided", 0).starts_with("aoti_torch_empty_strided API call failed at model.cpp, line "));
  EXPECT_TRUE(failed_run("empty_strided", 1).starts_with("aoti_torch_empty_strided API call failed at model.cpp, line "));
  EXPECT_TRUE(failed_run("get_data_ptr", 1).starts_with("aoti_torch_get_data_ptr API call failed at model.cpp, line "));
  EXPECT_EQ(failed_run("get_dim", 0),
            "input 0 (x): expected a tensor, found a handle that its host cannot describe (an undefined tensor?)");
  fail_in("");
  EXPECT_EQ(run_affine(container, x).y, AffineWeights().affine(x));  // the model is as good as before
}

TEST_F(Abi, I015_GradModeIsOffDuringCallsAndRestored) {
  const Library library(library_path("affine"));
  AOTInductorModelHandle model = nullptr;
  ASSERT_EQ(library_call(library, AOTInductorModelCreate)(&model, nullptr), 0);
  int& fold_mode = *static_cast<int*>(library.symbol("ingot_test_fold_grad_mode"));
  AffineWeights bad;
  bad.w[0] = 12345;  // the program refuses to fold this
  for (const bool mode : {true, false}) {
    aoti_torch_grad_mode_set_enabled(mode);
    const Container container(library), unfoldable(library);
    AffineMap map(bad);
    ASSERT_EQ(library_call(library, AOTInductorModelContainerUpdateConstantBuffer)(unfoldable, map.handle(), false, false), 0);
    const auto run = library_call(library, AOTInductorModelContainerRun);
    const auto single = library_call(library, AOTInductorModelContainerRunSingleThreaded);
    const auto fold = library_call(library, AOTInductorModelContainerRunConstantFolding);
    using Call = std::function<AOTIRuntimeError(bool well, AtenTensorHandle*, AtenTensorHandle*)>;
    const std::pair<const char*, Call> calls[] = {
        {"Run",
         [&](bool well, auto* in, auto* out) { return run(well ? container : unfoldable, in, 1, out, 2, nullptr, nullptr); }},
        {"RunSingleThreaded",
         [&](bool well, auto* in, auto* out) { return single(well ? container : unfoldable, in, 1, out, 2, nullptr, nullptr); }},
        {"ModelRun", [&](bool, auto* in, auto* out) { return library_call(library, AOTInductorModelRun)(model, in, out); }}};
    for (const auto& [name, call] : calls) {
      Floats x = rows(1);
      AtenTensorHandle input = tensor_over(x, {1, 16}), outputs[2];
      ASSERT_EQ(call(true, &input, outputs), 0) << name;
      EXPECT_FALSE(grad_mode_of_last_output()) << name;
      EXPECT_EQ(aoti_torch_grad_mode_is_enabled(), mode) << name;
      for (AtenTensorHandle o : outputs) aoti_torch_delete_tensor_object(o);
      // A run that fails: by its input, by the number of its inputs, by its folding.
      input = tensor_over(x, {16});
      EXPECT_NE(message_of(library, [&] { return call(true, &input, outputs); }), "no failure");
      EXPECT_EQ(aoti_torch_grad_mode_is_enabled(), mode) << name << " after a failure";
      if (name == std::string("ModelRun")) continue;
      input = tensor_over(x, {1, 16});
      EXPECT_EQ(message_of(library, [&] { return call(false, &input, outputs); }), "cannot fold this weight");
      EXPECT_EQ(aoti_torch_grad_mode_is_enabled(), mode) << name << " after a folding that failed";
    }
    for (const bool inactive : {false, true}) {
      fold_mode = -1;
      AffineWeights weights;  // with the library's own there would be nothing to do: the model above has folded them
      AffineMap good(weights);
      ASSERT_EQ(library_call(library, AOTInductorModelContainerUpdateConstantBuffer)(container, good.handle(), inactive, false),
                0);
      EXPECT_EQ(fold(container, inactive, nullptr, nullptr), 0);
      EXPECT_EQ(fold_mode, 0) << "during a folding";
      EXPECT_EQ(aoti_torch_grad_mode_is_enabled(), mode);
    }
    EXPECT_EQ(message_of(library, [&] { return fold(unfoldable, false, nullptr, nullptr); }), "cannot fold this weight");
    EXPECT_EQ(aoti_torch_grad_mode_is_enabled(), mode) << "after a folding that failed";
  }
  aoti_torch_grad_mode_set_enabled(true);
  ASSERT_EQ(library_call(library, AOTInductorModelDelete)(model), 0);
}

TEST_F(Abi, I008_I016_I017_I032_I041_I068_I069_NamesAndCallSpec) {
  const Library library(library_path("affine"));
  const Container container(library, 3);
  size_t count = 0;
  const char* name = nullptr;
  ASSERT_EQ(library_call(library, AOTInductorModelContainerGetNumInputs)(container, &count), 0);
  EXPECT_EQ(count, 1u);
  ASSERT_EQ(library_call(library, AOTInductorModelContainerGetInputName)(container, 0, &name), 0);
  EXPECT_STREQ(name, "x");
  ASSERT_EQ(library_call(library, AOTInductorModelContainerGetNumOutputs)(container, &count), 0);
  EXPECT_EQ(count, 2u);
  ASSERT_EQ(library_call(library, AOTInductorModelContainerGetOutputName)(container, 1, &name), 0);
  EXPECT_STREQ(name, "steps");
  run_affine(container, rows(1));
  EXPECT_STREQ(name, "steps");  // strings live as long as the container
  EXPECT_EQ(
      message_of(library, [&] { return library_call(library, AOTInductorModelContainerGetInputName)(container, 1, &name); }),
      "input 1: there are 1");
  EXPECT_EQ(
      message_of(library, [&] { return library_call(library, AOTInductorModelContainerGetOutputName)(container, 2, &name); }),
      "output 2: there are 2");

  const char *in_spec = nullptr, *out_spec = nullptr;
  ASSERT_EQ(library_call(library, AOTInductorModelContainerGetCallSpec)(container, &in_spec, &out_spec), 0);
  EXPECT_STREQ(
      in_spec,
      R"([1, {"type": "builtins.tuple", "context": "null", "children_spec": [{"type": "builtins.tuple", "context": "null", )"
      R"("children_spec": [{"type": null, "context": null, "children_spec": []}]}, {"type": "builtins.dict", "context": "[]", )"
      R"("children_spec": []}]}])");
  EXPECT_EQ(std::string(out_spec).substr(0, 5), "[1, {");

  // Absent structure is an empty string.
  const Library many(library_path("many"));
  const Container other(many);
  ASSERT_EQ(library_call(many, AOTInductorModelContainerGetCallSpec)(other, &in_spec, &out_spec), 0);
  EXPECT_STREQ(in_spec, "");
  EXPECT_STREQ(out_spec, "");
}

TEST_F(Abi, I018_I041_I042_ConstantsAreDescribed) {
  const Library library(library_path("affine"));
  const Container container(library);
  size_t count = 0;
  ASSERT_EQ(library_call(library, AOTInductorModelContainerGetNumConstants)(container, &count), 0);
  ASSERT_EQ(count, 6u);
  struct Row {
    const char *name, *fqn;
    bool folded;
    int32_t type;
    size_t bytes;
  };
  const Row expected[] = {{"p_layer_weight", "layer.weight", false, 1, 512},
                          {"p_layer_bias", "layer.bias", false, 1, 40},
                          {"b_steps", "steps", false, 2, 4},
                          {"_tensor_constant0", "_tensor_constant0", false, 3, 4},
                          {"p_empty", "empty", false, 1, 0},
                          {"_FOLDED_CONST_0", "_FOLDED_CONST_0", true, 4, 0}};
  for (size_t k = 0; k < count; k++) {
    const char *name = nullptr, *fqn = nullptr;
    bool folded = false;
    int32_t type = -1, dtype = -1;
    size_t bytes = 99;
    ASSERT_EQ(library_call(library, AOTInductorModelContainerGetConstantName)(container, k, &name), 0);
    ASSERT_EQ(library_call(library, AOTInductorModelContainerGetConstantOriginalFQN)(container, k, &fqn), 0);
    ASSERT_EQ(library_call(library, AOTInductorModelContainerGetConstantFromFolded)(container, k, &folded), 0);
    ASSERT_EQ(library_call(library, AOTInductorModelContainerGetConstantType)(container, k, &type), 0);
    ASSERT_EQ(library_call(library, AOTInductorModelContainerGetConstantDtype)(container, k, &dtype), 0);
    ASSERT_EQ(library_call(library, AOTInductorModelContainerGetConstantDataSize)(container, k, &bytes), 0);
    EXPECT_STREQ(name, expected[k].name);
    EXPECT_STREQ(fqn, expected[k].fqn);
    EXPECT_EQ(folded, expected[k].folded);
    EXPECT_EQ(type, expected[k].type);
    EXPECT_EQ(dtype, aoti_torch_dtype_float32());  // in the host's codes
    EXPECT_EQ(bytes, expected[k].bytes);
  }
  const char* name;
  bool flag;
  int32_t number;
  size_t bytes;
  for (const size_t k : {size_t{6}, size_t{7}, SIZE_MAX}) {
    const std::string refusal = "constant " + std::to_string(k) + ": there are 6";
    const auto expect_refused = [&](const auto& call) { EXPECT_EQ(message_of(library, call), refusal); };
    expect_refused([&] { return library_call(library, AOTInductorModelContainerGetConstantName)(container, k, &name); });
    expect_refused([&] { return library_call(library, AOTInductorModelContainerGetConstantOriginalFQN)(container, k, &name); });
    expect_refused([&] { return library_call(library, AOTInductorModelContainerGetConstantFromFolded)(container, k, &flag); });
    expect_refused([&] { return library_call(library, AOTInductorModelContainerGetConstantDtype)(container, k, &number); });
    expect_refused([&] { return library_call(library, AOTInductorModelContainerGetConstantType)(container, k, &number); });
    expect_refused([&] { return library_call(library, AOTInductorModelContainerGetConstantDataSize)(container, k, &bytes); });
  }
}

TEST_F(Abi, I039_AHandleWithoutModelsIsAFailure) {
  const Library library(library_path("affine"));
  size_t count;
  ConstantsByName map;
  const char* name;
  bool flag;
  int32_t number;
  const auto expect_no_models = [&](const auto& call) {
    EXPECT_EQ(message_of(library, call), "No available models in container!");
  };
  expect_no_models([&] { return library_call(library, AOTInductorModelContainerGetNumConstants)(nullptr, &count); });
  expect_no_models([&] { return library_call(library, AOTInductorModelContainerGetConstantName)(nullptr, 0, &name); });
  expect_no_models([&] { return library_call(library, AOTInductorModelContainerGetConstantOriginalFQN)(nullptr, 0, &name); });
  expect_no_models([&] { return library_call(library, AOTInductorModelContainerGetConstantFromFolded)(nullptr, 0, &flag); });
  expect_no_models([&] { return library_call(library, AOTInductorModelContainerGetConstantDtype)(nullptr, 0, &number); });
  expect_no_models([&] { return library_call(library, AOTInductorModelContainerGetConstantType)(nullptr, 0, &number); });
  expect_no_models([&] { return library_call(library, AOTInductorModelContainerGetConstantDataSize)(nullptr, 0, &count); });
  EXPECT_EQ(message_of(library,
                       [&] {
                         return library_call(library, AOTInductorModelContainerUpdateConstantBuffer)(nullptr, handle_of(map),
                                                                                                     false, false);
                       }),
            "No model available in container!");
  EXPECT_EQ(message_of(library,
                       [&] {
                         return library_call(library, AOTInductorModelContainerUpdateUserManagedConstantBuffer)(
                             nullptr, handle_of(map), false, false);
                       }),
            "No model available in container!");
  EXPECT_EQ(
      message_of(
          library,
          [&] { return library_call(library, AOTInductorModelContainerUpdateInactiveConstantBuffer)(nullptr, handle_of(map)); }),
      "No model available in container!");
  EXPECT_EQ(message_of(library, [&] { return library_call(library, AOTInductorModelContainerSwapConstantBuffer)(nullptr); }),
            "No model available in container!");
  Floats x = rows(1);
  AtenTensorHandle input = tensor_over(x, {1, 16}), outputs[2];  // taken all the same
  EXPECT_EQ(
      message_of(
          library,
          [&] { return library_call(library, AOTInductorModelContainerRun)(nullptr, &input, 1, outputs, 2, nullptr, nullptr); }),
      "No available models in container!");
  EXPECT_EQ(library_call(library, AOTInductorModelContainerDelete)(nullptr), 0);
}

TEST_F(Abi, I027_I028_I029_I030_BareModel) {
  const Library library(library_path("affine"));
  const auto run = library_call(library, AOTInductorModelRun);
  AOTInductorModelHandle model = nullptr;
  ASSERT_EQ(library_call(library, AOTInductorModelCreate)(&model, nullptr), 0);
  size_t count = 0;
  ASSERT_EQ(library_call(library, AOTInductorModelGetNumOutputs)(model, &count), 0);
  EXPECT_EQ(count, 2u);
  Floats x = rows(3);
  const auto run_once = [&](const Floats& expected) {
    AtenTensorHandle input = tensor_over(x, {3, 16}), outputs[2];
    ASSERT_EQ(run(model, &input, outputs), 0);
    EXPECT_EQ(values_of(outputs[0]), expected);
    for (AtenTensorHandle o : outputs) aoti_torch_delete_tensor_object(o);
  };
  run_once(AffineWeights().affine(x));

  // The whole map is replaced, the handles are the model's.
  AffineWeights weights = AffineWeights::times(3);
  Floats steps = {5}, none;
  const auto full = [&] {
    return ConstantsByName{{"p_layer_weight", tensor_over(weights.w, {8, 16})},
                           {"p_layer_bias", tensor_over(weights.b, {8})},
                           {"b_steps", tensor_over(steps, {1})},
                           {"_tensor_constant0", tensor_over(weights.c, {1})},
                           {"p_empty", tensor_over(none, {0})},
                           {"unknown", tensor_over(steps, {1})}};
  };
  ConstantsByName map = full();
  ASSERT_EQ(library_call(library, AOTInductorModelUpdateConstantsMap)(model, handle_of(map)), 0);
  run_once(weights.affine(x));
  EXPECT_EQ(steps[0], 6);  // the mutated buffer is the user's own tensor

  // One that is left out has no value.
  map = {{"p_layer_weight", tensor_over(weights.w, {8, 16})}};
  ASSERT_EQ(library_call(library, AOTInductorModelUpdateConstantsMap)(model, handle_of(map)), 0);
  AtenTensorHandle input = tensor_over(x, {3, 16}), outputs[2];
  EXPECT_EQ(message_of(library, [&] { return run(model, &input, outputs); }),
            "constant 'p_layer_bias' has no value: the update of this buffer left it out");
  // One that does not fit is refused, and gone all the same.
  map = {{"p_layer_weight", tensor_over(weights.w, {128})}};
  EXPECT_EQ(message_of(library, [&] { return library_call(library, AOTInductorModelUpdateConstantsMap)(model, handle_of(map)); }),
            "constant 'p_layer_weight': sizes: expected [8, 16], found [128]");
  ASSERT_EQ(library_call(library, AOTInductorModelDelete)(model), 0);

  // With a map nothing is loaded, and a weight that lies otherwise is brought into the form the
  // code knows.
  map = full();
  Floats transposed(128);
  for (int j = 0; j < 8; j++) {
    for (int k = 0; k < 16; k++) transposed[k * 8 + j] = weights.w[j * 16 + k];
  }
  aoti_torch_delete_tensor_object(map["p_layer_weight"]);
  map["p_layer_weight"] = tensor_over(transposed, {8, 16}, {1, 8});
  ASSERT_EQ(library_call(library, AOTInductorModelCreate)(&model, handle_of(map)), 0);
  run_once(weights.affine(x));
  ASSERT_EQ(library_call(library, AOTInductorModelDelete)(model), 0);
  EXPECT_EQ(message_of(library, [&] { return run(nullptr, nullptr, outputs); }), "the model handle is null");
}

TEST_F(Abi, IntrospectionSaysWhatTheModelIs) {
  const Library library(library_path("many"));
  EXPECT_STREQ(library_call(library, ingot_model_name)(), "many");
  ingot_value_info value{};
  ASSERT_EQ(library_call(library, ingot_model_input_count)(), 4u);
  ASSERT_EQ(library_call(library, ingot_model_input)(0, &value), 0);
  EXPECT_STREQ(value.name, "a");
  EXPECT_EQ(value.dtype, INGOT_FLOAT32);
  EXPECT_EQ(value.rank, 2);
  EXPECT_STREQ(value.sizes[1], "s1");
  EXPECT_TRUE(value.is_written);
  ASSERT_EQ(library_call(library, ingot_model_input)(3, &value), 0);
  EXPECT_TRUE(value.is_number);
  ASSERT_EQ(library_call(library, ingot_model_output)(1, &value), 0);
  EXPECT_STREQ(value.sizes[0], "u0");
  ASSERT_EQ(library_call(library, ingot_model_symbol_count)(), 4u);
  ingot_symbol_info symbol{};
  ASSERT_EQ(library_call(library, ingot_model_symbol)(2, &symbol), 0);
  EXPECT_EQ(symbol.max, 100);
  const char *text = nullptr, *other = nullptr;
  ASSERT_EQ(library_call(library, ingot_model_guard_count)(), 2u);
  ASSERT_EQ(library_call(library, ingot_model_guard)(0, &text), 0);
  EXPECT_STREQ(text, "s0 % 2 == 0");
  EXPECT_EQ(library_call(library, ingot_model_guard)(2, &text), 1);
  EXPECT_STREQ(library_call(library, ingot_last_error)(), "guard 2: there are 2");

  const Library affine(library_path("affine"));
  ASSERT_EQ(library_call(affine, ingot_model_metadata_count)(), 2u);
  ASSERT_EQ(library_call(affine, ingot_model_metadata)(1, &text, &other), 0);
  EXPECT_STREQ(text, "author");
  EXPECT_STREQ(other, "hand");
  EXPECT_FALSE(library_call(affine, ingot_tensor_is_own)());
}

TEST_F(Abi, TheFirstLevelThatTheProcessorHasIsTaken) {
  const Library library(library_path("affine"));
  const char* level = nullptr;
  ASSERT_EQ(library_call(library, ingot_model_level_count)(), 2u);
  ASSERT_EQ(library_call(library, ingot_model_level)(0, &level), 0);
  EXPECT_STREQ(level, "future");
  ASSERT_EQ(library_call(library, ingot_model_level_used)(&level), 0);
  EXPECT_STREQ(level, "base");

  const Library without(library_path("affine_no_level"));
  AOTInductorModelContainerHandle container = nullptr;
  const std::string text = message_of(
      without, [&] { return library_call(without, AOTInductorModelContainerCreateWithDevice)(&container, 1, "cpu", nullptr); });
  EXPECT_TRUE(
      text.starts_with("no code for this processor: the library has future (which needs feature 120); far-future (which needs "
                       "feature 120); this machine has "))
      << text;
  EXPECT_TRUE(text.ends_with("Compile the program again with --cpu=LEVEL for it")) << text;
  EXPECT_EQ(library_call(without, ingot_model_level_used)(&level), 1);
#if defined(__x86_64__)
  // The kernel lists the same features.
  std::ifstream info("/proc/cpuinfo");
  std::string line;
  while (std::getline(info, line) && !line.starts_with("flags")) {}
  line += " ";
  for (const auto& [flag, name] : std::initializer_list<std::pair<const char*, const char*>>{{" avx2 ", " avx2"},
                                                                                             {" fma ", " fma"},
                                                                                             {" avx512f ", " avx512f"},
                                                                                             {" avx512_vnni ", " avx512vnni"},
                                                                                             {" bmi2 ", " bmi2"},
                                                                                             {" avx512_bf16 ", " avx512bf16"},
                                                                                             {" ssse3 ", " ssse3"},
                                                                                             {" f16c ", " f16c"},
                                                                                             {" abm ", " lzcnt"}}) {
    EXPECT_EQ(line.find(flag) != std::string::npos, text.find(name) != std::string::npos) << flag;
  }
#endif
}

}  // namespace
}  // namespace ingot::test
