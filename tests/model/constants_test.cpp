// The constants of a container: two buffers, updates, folding, swaps.
#include "model_fixture.hpp"

namespace ingot::test {
namespace {

using Constants = ModelTest;

struct Calls {
  explicit Calls(const Library& l)
      : update(library_call(l, AOTInductorModelContainerUpdateConstantBuffer)),
        update_inactive(library_call(l, AOTInductorModelContainerUpdateInactiveConstantBuffer)),
        update_user(library_call(l, AOTInductorModelContainerUpdateUserManagedConstantBuffer)),
        update_pairs(library_call(l, AOTInductorModelContainerUpdateUserManagedConstantBufferPairs)),
        fold(library_call(l, AOTInductorModelContainerRunConstantFolding)),
        swap(library_call(l, AOTInductorModelContainerSwapConstantBuffer)),
        free_inactive(library_call(l, AOTInductorModelContainerFreeInactiveConstantBuffer)),
        extract(library_call(l, AOTInductorModelContainerExtractConstantsMap)) {}

  decltype(&AOTInductorModelContainerUpdateConstantBuffer) update;
  decltype(&AOTInductorModelContainerUpdateInactiveConstantBuffer) update_inactive;
  decltype(&AOTInductorModelContainerUpdateUserManagedConstantBuffer) update_user;
  decltype(&AOTInductorModelContainerUpdateUserManagedConstantBufferPairs) update_pairs;
  decltype(&AOTInductorModelContainerRunConstantFolding) fold;
  decltype(&AOTInductorModelContainerSwapConstantBuffer) swap;
  decltype(&AOTInductorModelContainerFreeInactiveConstantBuffer) free_inactive;
  decltype(&AOTInductorModelContainerExtractConstantsMap) extract;
};

TEST_F(Constants, I019_I033_I037_I054_I057_I059_UpdatesOfTheActiveBuffer) {
  const Library library(library_path("affine"));
  const Container container(library);
  const Calls calls(library);
  const Floats x = rows(5);
  EXPECT_EQ(run_affine(container, x).y, AffineWeights().affine(x));

  AffineWeights weights = AffineWeights::times(2);
  AffineMap map(weights);
  map.map["unknown"] = tensor_over(weights.b, {8});
  ASSERT_EQ(calls.update(container, map.handle(), false, false), 0);
  // A new state of the buffer, so it is folded again; and the elements were copied.
  const Floats expected = weights.affine(x);
  weights.w.assign(128, -1);
  EXPECT_EQ(run_affine(container, x).y, expected);
  EXPECT_EQ(run_affine(container, x).y, expected);

  // In part: the weight stays, an earlier value is replaced.
  AffineWeights later = AffineWeights::times(2);
  later.b = Floats(8, 1000);
  ConstantsByName bias = {{"p_layer_bias", tensor_over(later.b, {8})}};
  ASSERT_EQ(calls.update(container, handle_of(bias), false, false), 0);
  EXPECT_EQ(run_affine(container, x).y, later.affine(x));
  aoti_torch_delete_tensor_object(bias["p_layer_bias"]);
}

TEST_F(Constants, I057_SourcesOfAnyLayoutAreCopiedFromTheBeginningOfTheirStorage) {
  const Library library(library_path("affine"));
  const Container container(library);
  const Calls calls(library);
  AffineWeights weights = AffineWeights::times(3);
  // The weight transposed; the bias every other element behind an offset, in a storage that just
  // fits its place of 64 bytes.
  Floats transposed(128), spread(16, -7);
  for (int j = 0; j < 8; j++) {
    for (int k = 0; k < 16; k++) transposed[k * 8 + j] = weights.w[j * 16 + k];
    spread[1 + 2 * j] = weights.b[j];
  }
  ConstantsByName map = {{"p_layer_weight", tensor_over(transposed, {8, 16}, {1, 8})},
                         {"p_layer_bias", tensor_over(spread, {8}, {2})}};
  tensor_of(map["p_layer_bias"])->offset = 1;
  ASSERT_EQ(calls.update(container, handle_of(map), false, false), 0);
  const Floats x = rows(4);
  EXPECT_EQ(run_affine(container, x).y, weights.affine(x));
  // They are the caller's as before, and what becomes of them is of no account.
  transposed.assign(128, -1);
  for (auto& [name, handle] : map) {
    EXPECT_EQ(tensor_of(handle)->sizes[0], 8);
    aoti_torch_delete_tensor_object(handle);
  }
  EXPECT_EQ(run_affine(container, x).y, weights.affine(x));
}

TEST_F(Constants, I054_I057_UpdatesFromTheCpuAreUpdates) {
  const Library library(library_path("affine"));
  const Container container(library);
  AffineWeights weights = AffineWeights::times(2);
  AffineMap map(weights);
  const auto update = library_call(library, AOTInductorModelContainerUpdateConstantBufferFromCpu);
  ASSERT_EQ(update(container, map.handle(), true, false), 0);
  const Floats x = rows(3);
  EXPECT_EQ(run_affine(container, x).y, AffineWeights().affine(x));
  ASSERT_EQ(library_call(library, AOTInductorModelContainerSwapConstantBuffer)(container), 0);
  EXPECT_EQ(run_affine(container, x).y, weights.affine(x));
}

TEST_F(Constants, I011_I037_I061_AContainerOfTheUsersConstantsAlone) {
  const auto check = [](const std::string& name) {
    SCOPED_TRACE(name);
    const Library library(library_path(name));
    const auto create = library_call(library, AOTInductorModelContainerCreateWithExternalConstants);
    const auto did_load = library_call(library, AOTInductorModelContainerDidCallLoadConstants);
    AffineWeights weights = AffineWeights::times(3);
    Floats steps = {7}, empty;
    AffineMap map(weights);
    map.map["b_steps"] = tensor_over(steps, {1});
    map.map["_tensor_constant0"] = tensor_over(weights.c, {1});
    map.map["p_empty"] = tensor_over(empty, {0});
    std::vector<AOTInductorConstantMapEntry> entries;
    for (auto& [key, handle] : map.map) entries.push_back({key.c_str(), handle});
    AOTInductorModelContainerHandle handle = nullptr;
    ASSERT_EQ(create(&handle, 1, "cpu", nullptr, entries.data(), entries.size()), 0);
    bool loaded = true;
    ASSERT_EQ(did_load(handle, &loaded), 0);
    EXPECT_FALSE(loaded);
    Floats x = rows(2);
    AtenTensorHandle input = tensor_over(x, {2, 16}), outputs[2];
    ASSERT_EQ(library_call(library, AOTInductorModelContainerRun)(handle, &input, 1, outputs, 2, nullptr, nullptr), 0);
    EXPECT_EQ(values_of(outputs[0]), weights.affine(x));
    for (AtenTensorHandle o : outputs) aoti_torch_delete_tensor_object(o);
    ASSERT_EQ(library_call(library, AOTInductorModelContainerDelete)(handle), 0);

    // One is missing: there is no other place that it could come from.
    handle = nullptr;
    entries.resize(1);
    EXPECT_NE(message_of(library, [&] { return create(&handle, 1, "cpu", nullptr, entries.data(), entries.size()); }),
              "no failure");
    EXPECT_EQ(message_of(library, [&] { return create(&handle, 0, "cpu", nullptr, nullptr, 0); }),
              "num_models must be positive, but got 0");
    EXPECT_EQ(message_of(library, [&] { return create(&handle, 1, "cpu", nullptr, nullptr, 2); }),
              "the array of constants is null");
    EXPECT_EQ(handle, nullptr);
  };
  for (const char* name : {"affine", "affine_pure"}) check(name);
  const Library library(library_path("affine"));
  const Container container(library);
  bool loaded = false;
  ASSERT_EQ(library_call(library, AOTInductorModelContainerDidCallLoadConstants)(container, &loaded), 0);
  EXPECT_TRUE(loaded);
}

TEST_F(Constants, I057_AStorageThatDoesNotFitItsPlaceIsRefused) {
  const Library library(library_path("affine_pure"));
  const Container container(library);
  const Calls calls(library);
  AffineWeights weights = AffineWeights::times(3);
  Floats storage(129, -7), spread(17, -7);
  for (int i = 0; i < 128; i++) storage[1 + i] = weights.w[i];
  for (int j = 0; j < 8; j++) spread[2 + j] = weights.b[j];
  AffineMap map(weights);
  aoti_torch_delete_tensor_object(map.map["p_layer_weight"]);
  map.map["p_layer_weight"] = tensor_over(storage, {8, 16});
  tensor_of(map.map["p_layer_weight"])->offset = 1;
  const Floats x = rows(2), before = AffineWeights().affine(x);
  const std::string refusal =
      "constant 'p_layer_weight': storage: expected at most 512 bytes, which is its place in the buffer, found a tensor in a storage "
      "of 516 bytes. Give the update a copy of the tensor, or let it use the tensor where it lies (user-managed)";
  for (const bool inactive : {false, true})
    EXPECT_EQ(message_of(library, [&] { return calls.update(container, map.handle(), inactive, false); }), refusal);
  EXPECT_EQ(message_of(library, [&] { return calls.update_inactive(container, map.handle()); }), refusal);
  EXPECT_EQ(run_affine(container, x).y, before);

  // The place of the bias is 64 bytes, its 40 rounded up.
  ConstantsByName bias = {{"p_layer_bias", tensor_over(spread, {8})}};
  tensor_of(bias["p_layer_bias"])->offset = 2;
  EXPECT_TRUE(message_of(library, [&] {
                return calls.update(container, handle_of(bias), false, false);
              }).starts_with("constant 'p_layer_bias': storage: expected at most 64 bytes"));
  EXPECT_TRUE(message_of(library, [&] {
                fail_in("get_storage_size");
                return calls.update(container, handle_of(bias), false, false);
              }).starts_with("aoti_torch_get_storage_size API call failed at constants.cpp, line "));
  fail_in("");
  EXPECT_EQ(run_affine(container, x).y, before);

  // What copies no storage takes any: the user's own tensors, and Ingot's own update of elements.
  ASSERT_EQ(calls.update_user(container, map.handle(), false, false), 0);
  const AOTInductorConstantMapEntry pair = {"p_layer_bias", bias["p_layer_bias"]};
  ASSERT_EQ(library_call(library, ingot_container_update)(container, &pair, 1, false, false), 0);
  EXPECT_EQ(run_affine(container, x).y, weights.affine(x));
  aoti_torch_delete_tensor_object(bias["p_layer_bias"]);
}

TEST_F(Constants, I056_I057_WhatDoesNotFitIsRefusedAndNothingChanges) {
  const Library library(library_path("affine"));
  const Container container(library);
  const Calls calls(library);
  AffineWeights weights = AffineWeights::times(2);
  Floats large(1000);
  const auto message = [&](const auto& spoil) {
    AffineMap map(weights);
    spoil(map.map);
    return message_of(library, [&] { return calls.update(container, map.handle(), false, true); });
  };
  const auto weight = [](ConstantsByName& m) -> HostTensor& { return *tensor_of(m["p_layer_weight"]); };
  EXPECT_EQ(message([&](auto& m) { weight(m).dtype = 7; }), "constant 'p_layer_weight': dtype: expected float32, found float64");
  EXPECT_EQ(message([&](auto& m) { weight(m).sizes = {16, 8}; }),
            "constant 'p_layer_weight': sizes: expected [8, 16], found [16, 8]");
  EXPECT_EQ(message([&](auto& m) { weight(m).sizes = {8, 16, 1}, weight(m).strides = {16, 1, 1}; }),
            "constant 'p_layer_weight': sizes: expected [8, 16], found [8, 16, 1]");
  EXPECT_EQ(
      message([&](auto& m) { weight(m).device = kOtherDevice; }),
      "update_constant_buffer does not support mixed device constants. Constant 'p_layer_weight' has device type 71 but model expects "
      "device type 70");
  EXPECT_EQ(message([&](auto& m) { weight(m).layout = kSparse; }),
            "constant 'p_layer_weight': layout: expected a strided tensor, found the host's layout 81");
  EXPECT_EQ(message_of(library, [&] { return calls.update(container, nullptr, false, false); }), "the map of constants is null");
  const Floats x = rows(2);
  EXPECT_EQ(run_affine(container, x).y, AffineWeights().affine(x));
}

TEST_F(Constants, I020_I055_I058_AFullUpdateMayLeaveOutBuffersAndTensorConstants) {
  const Library library(library_path("affine"));
  const Container container(library);
  const Calls calls(library);
  for (int i = 0; i < 3; i++) run_affine(container, rows(1));  // the active buffer has counted three runs

  AffineWeights weights = AffineWeights::times(2);
  ConstantsByName bias_alone = {{"p_layer_bias", tensor_over(weights.b, {8})}};
  EXPECT_EQ(message_of(library, [&] { return calls.update_inactive(container, handle_of(bias_alone)); }),
            "Cannot find constants p_layer_weight in constants_map!");
  aoti_torch_delete_tensor_object(bias_alone["p_layer_bias"]);

  AffineMap map(weights);
  ::testing::internal::CaptureStderr();
  ASSERT_EQ(calls.update_inactive(container, map.handle()), 0);
  EXPECT_EQ(
      ::testing::internal::GetCapturedStderr(),
      "[WARNING] Found constant or module state buffer or empty module state parameter b_steps in model, but not provided by user!\n"
      "[WARNING] Found constant _tensor_constant0 in model, but not provided by user!\n"
      "[WARNING] Found constant or module state buffer or empty module state parameter p_empty in model, but not provided by user!\n");
  const Floats x = rows(2);
  EXPECT_EQ(run_affine(container, x).y, AffineWeights().affine(x));
  ASSERT_EQ(calls.swap(container), 0);
  const AffineResult swapped = run_affine(container, x);
  EXPECT_EQ(swapped.y, weights.affine(x));  // the tensor constant came from the other buffer
  EXPECT_EQ(swapped.steps, 4);              // and so did the buffer, with three runs in it, and this one
}

// What the library would print goes to a function that it was given, without the marks of a printed
// line, and to standard error again after null.
TEST_F(Constants, AFunctionTakesTheLog) {
  const Library library(library_path("affine"));
  const Container container(library);
  const Calls calls(library);
  const auto set_log = library_call(library, ingot_model_set_log);
  using Lines = std::vector<std::pair<ingot_log_level, std::string>>;
  Lines lines;
  set_log([](void* context, ingot_log_level level, const char* line) { static_cast<Lines*>(context)->emplace_back(level, line); },
          &lines);
  AffineWeights weights;
  AffineMap map(weights);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(calls.update_inactive(container, map.handle()), 0);
  EXPECT_EQ(calls.update(container, nullptr, false, false), 1);
  library_call(library, ingot_print_errors)(false);
  EXPECT_EQ(calls.update(container, nullptr, false, false), 1);
  library_call(library, ingot_print_errors)(true);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  set_log(nullptr, nullptr);
  EXPECT_EQ(message_of(library, [&] { return calls.update(container, nullptr, false, false); }), "the map of constants is null");
  const std::string buffer = "Found constant or module state buffer or empty module state parameter ";
  EXPECT_EQ(lines, (Lines{{INGOT_LOG_WARNING, buffer + "b_steps in model, but not provided by user!"},
                          {INGOT_LOG_WARNING, "Found constant _tensor_constant0 in model, but not provided by user!"},
                          {INGOT_LOG_WARNING, buffer + "p_empty in model, but not provided by user!"},
                          {INGOT_LOG_ERROR, "the map of constants is null"}}));
}

TEST_F(Constants, I024_I053_I065_SwapsGoBothWays) {
  const Library library(library_path("affine_pure"));
  const Container container(library, 2);
  const Calls calls(library);
  const Floats x = rows(3), old = AffineWeights().affine(x);
  EXPECT_EQ(run_affine(container, x).y, old);
  AffineWeights weights = AffineWeights::times(5);
  AffineMap map(weights);
  ASSERT_EQ(calls.update(container, map.handle(), true, false), 0);
  EXPECT_EQ(run_affine(container, x).y, old);
  for (int i = 0; i < 3; i++) {
    ASSERT_EQ(calls.swap(container), 0);
    EXPECT_EQ(run_affine(container, x).y, weights.affine(x));
    ASSERT_EQ(calls.swap(container), 0);
    EXPECT_EQ(run_affine(container, x).y, old);
  }
}

TEST_F(Constants, I022_I066_TheInactiveBufferCanBeFreed) {
  const Library library(library_path("affine_pure"));
  const Container container(library);
  const Calls calls(library);
  const Floats x = rows(3);
  AffineWeights weights = AffineWeights::times(5);
  AffineMap map(weights);
  ASSERT_EQ(calls.update_user(container, map.handle(), true, false), 0);
  ASSERT_EQ(calls.fold(container, true, nullptr, nullptr), 0);
  const int64_t before = live_handles();
  ASSERT_EQ(calls.free_inactive(container), 0);
  EXPECT_EQ(live_handles(), before - 2);  // it held the user's two tensors
  EXPECT_EQ(run_affine(container, x).y, AffineWeights().affine(x));
  EXPECT_EQ(message_of(library, [&] { return calls.fold(container, true, nullptr, nullptr); }),
            "Unknown constant state: ConstantState::NONE");
  // The library's own weights can be freed as well, and a full update fills the buffer again.
  ASSERT_EQ(calls.update_user(container, map.handle(), true, false), 0);
  ASSERT_EQ(calls.swap(container), 0);
  ASSERT_EQ(calls.free_inactive(container), 0);
  EXPECT_EQ(run_affine(container, x).y, weights.affine(x));
  Floats steps = {0}, none;
  map.map["b_steps"] = tensor_over(steps, {1});
  map.map["_tensor_constant0"] = tensor_over(weights.c, {1});
  map.map["p_empty"] = tensor_over(none, {0});
  ASSERT_EQ(calls.update(container, map.handle(), true, true), 0);
  ASSERT_EQ(calls.swap(container), 0);
  EXPECT_EQ(run_affine(container, x).y, weights.affine(x));
}

TEST_F(Constants, I023_I062_I063_FoldingOfEitherBuffer) {
  const Library library(library_path("affine_pure"));
  const Container container(library);
  const Calls calls(library);
  const Floats x = rows(3);
  AffineWeights weights = AffineWeights::times(4);
  AffineMap map(weights);
  ASSERT_EQ(calls.update(container, map.handle(), true, false), 0);
  ASSERT_EQ(calls.fold(container, true, nullptr, nullptr), 0);
  EXPECT_EQ(run_affine(container, x).y, AffineWeights().affine(x));
  ASSERT_EQ(calls.swap(container), 0);
  EXPECT_EQ(run_affine(container, x).y, weights.affine(x));
  ASSERT_EQ(calls.fold(container, false, nullptr, nullptr), 0);
  EXPECT_EQ(run_affine(container, x).y, weights.affine(x));
}

// Each buffer is folded once after it was filled, by whatever comes first: a run, or the call that
// asks for it.
TEST_F(Constants, I037_I041_I059_I062_I063_ABufferIsFoldedOnceForEachFilling) {
  const Library library(library_path("affine_pure"));
  const Calls calls(library);
  const Container container(library);
  int& folds = *static_cast<int*>(library.symbol("ingot_test_folds"));
  const Floats x = rows(2);
  AffineWeights weights = AffineWeights::times(2);
  AffineMap map(weights);
  const auto foldings = [&](const auto& action) {
    folds = 0;
    action();
    return folds;
  };
  const auto run_twice = [&](const AffineWeights& expected) {
    for (int i = 0; i < 2; i++) EXPECT_EQ(run_affine(container, x).y, expected.affine(x));
  };
  EXPECT_EQ(foldings([&] { run_twice(AffineWeights()); }), 1);
  EXPECT_EQ(foldings([&] { ASSERT_EQ(calls.update(container, map.handle(), false, false), 0); }), 0) << "stale until it runs";
  EXPECT_EQ(foldings([&] { run_twice(weights); }), 1) << "an update is a new filling";
  ASSERT_EQ(calls.update(container, map.handle(), true, false), 0);
  EXPECT_EQ(foldings([&] { ASSERT_EQ(calls.fold(container, true, nullptr, nullptr), 0); }), 1);
  EXPECT_EQ(foldings([&] {
              run_twice(weights);
              ASSERT_EQ(calls.swap(container), 0);
              run_twice(weights);
              ASSERT_EQ(calls.swap(container), 0);
              run_twice(weights);
            }),
            0)
      << "both are folded";
  ASSERT_EQ(calls.update(container, map.handle(), false, false), 0);
  EXPECT_EQ(foldings([&] { ASSERT_EQ(calls.fold(container, false, nullptr, nullptr), 0); }), 1);
  EXPECT_EQ(foldings([&] { run_twice(weights); }), 0);
}

TEST_F(Constants, I035_I037_I038_AFoldingThatFailsLosesNoModel) {
  const Library library(library_path("affine_pure"));
  const Calls calls(library);
  const Container container(library);
  AffineWeights weights;
  weights.w[0] = 12345;  // the program refuses to fold this
  AffineMap map(weights);
  ASSERT_EQ(calls.update(container, map.handle(), false, false), 0);
  for (int i = 0; i < 3; i++) EXPECT_EQ(failed_run(library, container), "cannot fold this weight");
  EXPECT_EQ(message_of(library, [&] { return calls.fold(container, false, nullptr, nullptr); }), "cannot fold this weight");
  ASSERT_EQ(calls.update(container, map.handle(), true, false), 0);
  EXPECT_EQ(message_of(library, [&] { return calls.fold(container, true, nullptr, nullptr); }), "cannot fold this weight");
  Floats x = rows(1);
  AtenTensorHandle input = tensor_over(x, {1, 16}), outputs[2];
  EXPECT_EQ(message_of(library,
                       [&] {
                         return library_call(library, AOTInductorModelContainerRunSingleThreaded)(container, &input, 1, outputs,
                                                                                                  2, nullptr, nullptr);
                       }),
            "cannot fold this weight");

  weights.w[0] = 3;
  ASSERT_EQ(calls.update(container, map.handle(), false, false), 0);
  EXPECT_EQ(run_affine(container, x).y, weights.affine(x));
}

// The state of the buffer that is active counts, not that of the first one.
TEST_F(Constants, I038_SingleThreadedRunsFoldTheActiveBuffer) {
  const Library library(library_path("affine_pure"));
  const Calls calls(library);
  const Container container(library);
  const auto run = library_call(library, AOTInductorModelContainerRunSingleThreaded);
  Floats x = rows(2);
  const auto single = [&](const Floats& expected) {
    AtenTensorHandle input = tensor_over(x, {2, 16}), outputs[2];
    ASSERT_EQ(run(container, &input, 1, outputs, 2, nullptr, nullptr), 0);
    EXPECT_EQ(values_of(outputs[0]), expected);
    for (AtenTensorHandle o : outputs) aoti_torch_delete_tensor_object(o);
  };
  single(AffineWeights().affine(x));
  AffineWeights weights = AffineWeights::times(2);
  AffineMap map(weights);
  ASSERT_EQ(calls.update(container, map.handle(), true, false), 0);
  ASSERT_EQ(calls.swap(container), 0);
  single(weights.affine(x));
  ASSERT_EQ(calls.swap(container), 0);
  single(AffineWeights().affine(x));
}

TEST_F(Constants, I064_AProgramWithoutFoldedConstants) {
  const Library library(library_path("many"));
  const Calls calls(library);
  const Container container(library);
  ASSERT_EQ(calls.fold(container, false, nullptr, nullptr), 0);
  size_t count = 99;
  ASSERT_EQ(library_call(library, AOTInductorModelContainerGetNumConstants)(container, &count), 0);
  EXPECT_EQ(count, 0u);
  ConstantsByName map;
  ASSERT_EQ(calls.update_inactive(container, handle_of(map)), 0);
  ASSERT_EQ(calls.fold(container, true, nullptr, nullptr), 0);
  ASSERT_EQ(calls.swap(container), 0);
}

TEST_F(Constants, I021_I061_UserManagedConstantsAreSharedWithTheUser) {
  const Library library(library_path("affine_pure"));
  const Calls calls(library);
  const Container first(library), second(library);
  const Floats x = rows(2);
  AffineWeights weights = AffineWeights::times(2);
  {
    AffineMap map(weights);
    ASSERT_EQ(calls.update_user(first, map.handle(), false, false), 0);
    const std::vector<AOTInductorConstantMapEntry> pairs = {
        {"p_layer_weight", map.map["p_layer_weight"]}, {"p_layer_bias", map.map["p_layer_bias"]}, {"unknown", nullptr}};
    ASSERT_EQ(calls.update_pairs(second, pairs.data(), pairs.size(), true, true), 0);
    ASSERT_EQ(calls.swap(second), 0);
  }  // the handles were the caller's; the containers have their own
  EXPECT_EQ(run_affine(first, x).y, weights.affine(x));
  EXPECT_EQ(run_affine(second, x).y, weights.affine(x));
  weights.b.assign(8, 77);  // seen at once; a weight would be seen after the next folding
  EXPECT_EQ(run_affine(first, x).y, weights.affine(x));
  EXPECT_EQ(run_affine(second, x).y, weights.affine(x));

  // In place means: as the code expects it.
  AffineMap map(weights);
  tensor_of(map.map["p_layer_weight"])->strides = {1, 8};
  EXPECT_EQ(
      message_of(library, [&] { return calls.update_user(first, map.handle(), false, false); }),
      "constant 'p_layer_weight': strides: expected [16, 1], found [1, 8]. A user-managed constant is used where it lies: lay it out "
      "like this, or let the update copy it");
  tensor_of(map.map["p_layer_weight"])->strides = {16, 1};
  tensor_of(map.map["p_layer_bias"])->storage += 1;
  EXPECT_TRUE(message_of(library, [&] {
                return calls.update_user(first, map.handle(), false, false);
              }).starts_with("constant 'p_layer_bias': address: expected a multiple of 4 for a user-managed constant, found 0x"));
  tensor_of(map.map["p_layer_bias"])->storage -= 1;
  EXPECT_TRUE(message_of(library, [&] {
                fail_in("new_tensor_handle", 1);
                return calls.update_user(first, map.handle(), false, false);
              }).starts_with("aoti_torch_new_tensor_handle API call failed at container.cpp, line "));
  fail_in("");
  EXPECT_EQ(message_of(library, [&] { return calls.update_pairs(first, nullptr, 2, true, true); }),
            "the array of constants is null");
  EXPECT_EQ(run_affine(first, x).y, weights.affine(x));
}

TEST_F(Constants, I003_I025_I047_I050_I051_ExtractedConstants) {
  const Library library(library_path("affine"));
  const Calls calls(library);
  const Container container(library);
  run_affine(container, rows(1));
  ConstantsByName map;
  ASSERT_EQ(calls.extract(container, handle_of(map), false), 0);
  ASSERT_EQ(map.size(), 5u);  // by their names in the exported program, the folded one left out
  EXPECT_EQ(values_of(map.at("layer.weight")), AffineWeights().w);
  EXPECT_EQ(values_of(map.at("layer.bias")), AffineWeights().b);
  EXPECT_EQ(tensor_of(map.at("layer.bias"))->offset, 2);
  EXPECT_EQ(tensor_of(map.at("layer.weight"))->strides, (std::vector<int64_t>{16, 1}));
  EXPECT_EQ(values_of(map.at("steps")), Floats{1});
  EXPECT_EQ(tensor_of(map.at("empty"))->sizes, (std::vector<int64_t>{0}));
  const auto address = [&](const char* name) { return reinterpret_cast<uintptr_t>(tensor_of(map.at(name))->storage); };

  // They are what the model uses, and can be written.
  static_cast<float*>(tensor_of(map.at("layer.bias"))->data())[0] += 100;
  const Floats x = rows(1);
  EXPECT_EQ(run_affine(container, x).y[0], AffineWeights().affine(x)[0] + 100);
  static_cast<float*>(tensor_of(map.at("layer.bias"))->data())[0] -= 100;

  // The inactive buffer has none, until it is updated; then each begins at a multiple of 64 bytes,
  // in the order of the table.
  map.clear();
  ASSERT_EQ(calls.extract(container, handle_of(map), true), 0);
  EXPECT_TRUE(map.empty());
  AffineWeights weights = AffineWeights::times(2);
  AffineMap update(weights);
  ASSERT_EQ(calls.update(container, update.handle(), true, false), 0);
  ASSERT_EQ(calls.extract(container, handle_of(map), true), 0);
  EXPECT_EQ(values_of(map.at("layer.weight")), weights.w);
  EXPECT_EQ(address("layer.weight") % 64, 0u);
  EXPECT_EQ(address("layer.bias"), address("layer.weight") + 512);
  EXPECT_EQ(address("steps"), address("layer.bias") + 64);
  EXPECT_EQ(address("_tensor_constant0"), address("steps") + 64);
  fail_in("create_tensor_from_blob");
  const Container fresh(library);
  EXPECT_TRUE(message_of(library, [&] {
                return calls.extract(fresh, handle_of(map), false);
              }).starts_with("aoti_torch_create_tensor_from_blob API call failed at constants.cpp, line "));
}

// The library adds to the caller's map without the C++ library: around every size at which the map
// grows, and to names of every length, the caller must find all entries again and be able to go on
// with it.
TEST_F(Constants, I003_TheCallersMapStaysAMap) {
  const Library library(library_path("affine"));
  const Calls calls(library);
  const Container container(library);
  for (size_t size = 0; size < 400; size++) {
    ConstantsByName map;
    std::unordered_map<std::string, AtenTensorHandle> expected;
    if (size % 3 == 0) map.max_load_factor(0.3f);
    if (size % 5 == 0) map["steps"] = nullptr;  // is there already: its handle is replaced
    for (size_t i = 0; i < size; i++)
      map["key" + std::string(i % 40, 'x') + std::to_string(i)] = reinterpret_cast<AtenTensorHandle>(i + 1);
    for (auto& entry : map) expected.insert(entry);
    ASSERT_EQ(calls.extract(container, handle_of(map), false), 0);
    for (const char* name : {"layer.weight", "layer.bias", "steps", "_tensor_constant0", "empty"}) {
      ASSERT_TRUE(map.contains(name)) << name;
      expected[name] = map.at(name);
      EXPECT_TRUE(map.at(name));
    }
    ASSERT_EQ(map, expected);
    size_t seen = 0;
    for (auto& entry : map) seen += expected.contains(entry.first);
    ASSERT_EQ(seen, expected.size());
    for (size_t i = 0; i < 50; i++) map["later" + std::to_string(i)] = nullptr;
    for (auto& [name, handle] : expected) ASSERT_EQ(map.at(name), handle);
    for (auto& [name, handle] : expected) ASSERT_EQ(map.erase(name), 1u);
    ASSERT_EQ(map.size(), 50u);
    map.rehash(1000);
    ASSERT_TRUE(map.contains("later49"));
  }
}

TEST_F(Constants, I052_ALibraryWithoutWeightsRunsAfterAnUpdate) {
  const Library library(library_path("affine_none"));
  const Calls calls(library);
  const Container container(library);
  EXPECT_EQ(failed_run(library, container),
            "constant 'p_layer_weight' has no value: the library was compiled without weights; update its constants first");
  AffineWeights weights = AffineWeights::times(2);
  Floats steps = {9}, none;
  AffineMap map(weights);
  ASSERT_EQ(calls.update(container, map.handle(), false, false), 0);
  EXPECT_EQ(failed_run(library, container),
            "constant 'b_steps' has no value: the library was compiled without weights; update its constants first");
  map.map["b_steps"] = tensor_over(steps, {1});
  map.map["_tensor_constant0"] = tensor_over(weights.c, {1});
  map.map["p_empty"] = tensor_over(none, {0});
  ASSERT_EQ(calls.update(container, map.handle(), false, true), 0);
  const Floats x = rows(2);
  EXPECT_EQ(run_affine(container, x).y, weights.affine(x));
  EXPECT_EQ(run_affine(container, x).steps, 9);
}

}  // namespace
}  // namespace ingot::test
