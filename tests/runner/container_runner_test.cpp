// The runner of a model library (section 8 of the runtime's description).
#include <thread>
#include <type_traits>

#include "io/file.hpp"
#include "runner_fixture.hpp"

namespace ingot {
namespace {

using ContainerRunner = RunnerTest;

TEST_F(ContainerRunner, I095_WhatIsNoModelIsRefused) {
  expect_in("Failed to load model: " + path("none.so"), error_of([&] { ModelContainerRunner(path("none.so")); }));
  write("text.so", "not a library");
  expect_in("Failed to load model", error_of([&] { ModelContainerRunner(path("text.so")); }));
  expect_in("it is no model library, it has no function AOTInductorModelContainerCreateWithDevice",
            error_of([&] { ModelContainerRunner("/usr/lib/" INGOT_ARCH "-linux-gnu/libm.so.6"); }));
}

TEST_F(ContainerRunner, I096_NumbersOfModels) {
  const std::string so = mlp();
  EXPECT_EQ(error_of([&] { ModelContainerRunner(so, {.num_models = 2, .run_single_threaded = true}); }),
            "num_models must be 1 when run_single_threaded is true");
  EXPECT_EQ(error_of([&] { ModelContainerRunner(so, {.num_models = 0}); }),
            "num_models must be >=1 when run_single_threaded is false");
  ModelContainerRunner single(so, {.run_single_threaded = true});
  expect_close(single.run({mlp_input()})[0], mlp_output());
}

TEST_F(ContainerRunner, I097_IsNeitherCopiedNorMoved) {
  static_assert(!std::is_copy_constructible_v<ModelContainerRunner> && !std::is_move_constructible_v<ModelContainerRunner>);
  static_assert(!std::is_copy_assignable_v<ModelContainerRunner> && !std::is_default_constructible_v<ModelContainerRunner>);
  const int64_t before = TensorImpl::live();
  { ModelContainerRunner(mlp()).run({mlp_input()}); }
  EXPECT_EQ(TensorImpl::live(), before) << "the container's tensors go with it";
}

TEST_F(ContainerRunner, I098_I099_Runs) {
  ModelContainerRunner runner(mlp());
  const Tensor x = mlp_input();
  expect_close(runner.run({x})[0], mlp_output());
  TensorList boxed = {x};
  expect_close(runner.boxed_run(std::move(boxed))[0], mlp_output());
  EXPECT_TRUE(boxed.empty());
  const int64_t before = TensorImpl::live();
  expect_in("expected inputs vector size to be 1, but got 2", error_of([&] { runner.run({x, x}); }));
  EXPECT_EQ(TensorImpl::live(), before) << "the handles of a run that fails are given back";
  expect_in("an undefined tensor?", error_of([&] { runner.run({Tensor()}); }));
}

TEST_F(ContainerRunner, I007_AFailureNamesTheCallAndSaysWhy) {
  ModelContainerRunner runner(mlp());
  const std::string message = error_of([&] { runner.run({zeros({4, 63})}); });
  expect_in("AOTInductorModelContainerRun(container_, ", message);
  expect_in(" API call failed at model_container_runner.cpp, line ", message);
  expect_in("expected 64, found 63", message);
}

TEST_F(ContainerRunner, I100_OnlyTheCpuIsThere) {
  expect_in("cuda", error_of([&] { ModelContainerRunner(mlp(), {.device = "cuda"}); }));
  ModelContainerRunner runner(mlp());  // one model on the cpu
  expect_close(runner.run({mlp_input()})[0], mlp_output());
}

TEST_F(ContainerRunner, I101_ConstantsByName) {
  ModelContainerRunner runner(mlp());
  EXPECT_EQ(runner.constant_names_to_fqns(),
            (std::map<std::string, std::string>{
                {"a_bias", "a.bias"}, {"a_weight", "a.weight"}, {"b_bias", "b.bias"}, {"b_weight", "b.weight"}}));
  EXPECT_EQ(runner.constant_names_to_dtypes().at("a_weight"), 6);
}

TEST_F(ContainerRunner, I102_ConstantsAreUpdatedSwappedAndExtracted) {
  ModelContainerRunner runner(mlp());
  const Tensor x = mlp_input();
  ConstantMap zero, by_fqn = runner.extract_constants_map(false);
  EXPECT_EQ(by_fqn.size(), 4u);
  for (const auto& [name, fqn] : runner.constant_names_to_fqns()) zero.emplace(name, zeros(by_fqn.at(fqn).sizes()));
  runner.update_inactive_constant_buffer(zero);
  runner.run_const_fold(true);
  expect_close(runner.run({x})[0], mlp_output());
  runner.swap_constant_buffer();
  expect_close(runner.run({x})[0], zeros(mlp_output().sizes()));
  expect_close(runner.extract_constants_map(false).at("a.weight"), zeros(by_fqn.at("a.weight").sizes()));
  runner.swap_constant_buffer();
  runner.free_inactive_constant_buffer();
  expect_close(runner.run({x})[0], mlp_output());

  // One of them, in place; the caller's own memory; by original names.
  runner.update_constant_buffer({{"b_bias", ones({10})}}, false, false);
  runner.update_constant_buffer({{"b_weight", zeros({10, 128})}}, false, false);
  expect_close(runner.run({x})[0], ones(mlp_output().sizes()));
  const Tensor mine = zeros({10});
  runner.load_constants({{"b.bias", mine}}, false, false, true);
  expect_close(runner.run({x})[0], zeros(mlp_output().sizes()));
  Tensor(mine).fill_(3);
  expect_close(runner.run({x})[0], full(mlp_output().sizes(), 3.0));
  EXPECT_EQ(error_of([&] { runner.load_constants({{"c.bias", mine}}, false, false); }), "Constant not found: c.bias");
  expect_in("Cannot find constants", error_of([&] { runner.update_constant_buffer({{"b_bias", mine}}, true, true); }));

  const auto [in_spec, out_spec] = runner.call_spec();
  EXPECT_TRUE(in_spec.starts_with("[1,")) << in_spec;
  EXPECT_FALSE(out_spec.empty());
}

TEST_F(ContainerRunner, I103_WeightsFromAFileOfTheirOwn) {
  const std::string so = mlp("ext.so", {.weights = Model::Weights::Kind::external});
  ModelContainerRunner runner(so);
  expect_close(runner.run({mlp_input()})[0], mlp_output());
  // All constants in table order, without gaps.
  std::string blob;
  uint64_t size = 0;
  ASSERT_EQ(runner.library().AOTInductorModelContainerGetConstantsBlobSize(runner.container(), &size), 0);
  blob.resize(size);
  write("weights.blob", blob);
  runner.update_constant_buffer_from_blob(path("weights.blob"));
  expect_close(runner.run({mlp_input()})[0], zeros(mlp_output().sizes()));
  expect_in("Failed to open external weights file: " + path("none.blob"),
            error_of([&] { runner.update_constant_buffer_from_blob(path("none.blob")); }));
  write("short.blob", "x");
  expect_in("mmap() failed", error_of([&] { runner.update_constant_buffer_from_blob(path("short.blob")); }));

  // Another file in its place, or none.
  std::filesystem::resize_file(so + ".safetensors", 100);
  expect_in("is not the one this library was compiled with", error_of([&] { ModelContainerRunner again(so); }));
  std::filesystem::remove(so + ".safetensors");
  expect_in("ext.so.safetensors", error_of([&] { ModelContainerRunner(so).run({mlp_input()}); }));
}

TEST_F(ContainerRunner, I049_WeightsBehindTheLibrary) {
  const std::string so = mlp("app.so", {.weights = Model::Weights::Kind::appended});
  {
    ModelContainerRunner runner(so);
    expect_close(runner.run({mlp_input()})[0], mlp_output());
    EXPECT_FALSE(std::filesystem::exists(so + ".safetensors"));
  }
  const auto bytes = [](const std::string& file) { return std::string(MappedFile::open(file)->bytes()); };
  const std::string first = bytes(so);
  EXPECT_EQ(bytes(mlp("app.so", {.weights = Model::Weights::Kind::appended})), first) << "the same program gives the same bytes";
  write("cut.so", first.substr(0, first.size() - 1));
  expect_in("weights_offset must be aligned to 16K boundary", error_of([&] { ModelContainerRunner runner(path("cut.so")); }));
  std::string other = first;
  other.back() ^= 1;
  write("other.so", other);
  expect_in("Weights data seems corrupt", error_of([&] { ModelContainerRunner runner(path("other.so")); }));
}

TEST_F(ContainerRunner, WeightsFilesHoldTheProgramsTensorsByName) {
  const std::string so = mlp("ext.so", {.weights = Model::Weights::Kind::external});
  const SafeTensors file = SafeTensors::open(so + ".safetensors");
  EXPECT_EQ(file.names(), (std::vector<std::string>{"a.bias", "a.weight", "b.bias", "b.weight"}));
  const Program program = load_pt2(golden("mlp/model.pt2"));
  expect_close(file.get("a.weight"), program.state.at("a.weight").tensor);
}

TEST_F(ContainerRunner, I104_RunnersAreFoundByDevice) {
  ASSERT_TRUE(runner_registry().contains("cpu"));
  const auto runner = runner_registry().at("cpu")(mlp(), {});
  expect_close(runner->run({mlp_input()})[0], mlp_output());
  bool used = false;
  runner_registry()["mine"] = [&](const std::string& so, const RunnerOptions&) {
    used = true;
    return std::make_unique<ModelContainerRunner>(so);
  };
  runner_registry().at("mine")(path("mlp.so"), {});
  EXPECT_TRUE(used);
  runner_registry().erase("mine");
}

TEST_F(ContainerRunner, SeveralThreadsRunOneContainer) {
  ModelContainerRunner runner(mlp(), {.num_models = 2});
  runner.set_threads(1);
  std::vector<std::thread> threads;
  for (int k = 0; k < 4; k++)
    threads.emplace_back([&] {
      const Tensor x = mlp_input();
      for (int i = 0; i < 20; i++) expect_close(runner.run({x})[0], mlp_output());
    });
  for (std::thread& t : threads) t.join();
}

}  // namespace
}  // namespace ingot
