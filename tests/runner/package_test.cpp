// Packages of compiled models (section 9 of the runtime's description).
#include "host/torch/package_loader.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "io/file.hpp"
#include "io/zip.hpp"
#include "io/zip_writer.hpp"
#include "host/torch/callable.hpp"
#include "ingot/ingot.h"
#include "runner_fixture.hpp"
#include "ingot/dlpack.hpp"
#include "unit/pt2_container_fixture.hpp"

namespace ingot {
namespace {

constexpr const char* kMetadata = R"({"AOTI_DEVICE_KEY": "cpu", "owner": "tests"})";

class Package : public RunnerTest {
 protected:
  std::string package(const std::string& metadata = kMetadata) const {
    write_package(path("p.pt2"), {{.name = "model", .library = mlp(), .metadata = metadata, .weights = ""}});
    return path("p.pt2");
  }
  // An archive of these entries.
  std::string archive(const std::vector<std::pair<std::string, std::string>>& entries) const {
    ZipWriter zip(path("a.pt2"));
    for (const auto& [name, content] : entries) zip.add(name, content);
    zip.finish();
    return path("a.pt2");
  }
  static std::string bytes_of(const std::string& file) { return std::string(MappedFile::open(file)->bytes()); }
};

TEST_F(Package, I105_I106_I107_TheArchive) {
  const ZipReader zip = ZipReader::open(package(), "p");
  EXPECT_EQ(zip.names(), (std::vector<std::string>{"p/archive_format", "p/archive_version", "p/byteorder", "p/.data/version",
                                                   "p/data/aotinductor/model/model.wrapper.so",
                                                   "p/data/aotinductor/model/model.wrapper_metadata.json",
                                                   "p/data/aotinductor/model/model.wrapper.cpp"}));
  EXPECT_EQ(zip.read_text("p/archive_format"), "pt2");
  EXPECT_EQ(zip.read_text("p/archive_version"), "0");
  EXPECT_EQ(zip.read_text("p/.data/version"), "6\n");  // PyTorch 2.14's reader refuses an archive without it
  const std::string first = bytes_of(path("p.pt2"));
  EXPECT_EQ(first, bytes_of(package())) << "the same models give the same bytes";
}

TEST_F(Package, I105_OlderAndFullerArchivesAreRead) {
  const std::string so = bytes_of(mlp());
  ::testing::internal::CaptureStderr();
  const std::string old = archive({{"archive_format", "pt2"},
                                   {"data/aotinductor/model/x.so", so},
                                   {"data/aotinductor/model/x_metadata.json", kMetadata},
                                   {"extra/notes.txt", "mine"},
                                   {".data/serialization_id", "17"}});
  ModelPackageLoader loader(old);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("no top-level folder"), std::string::npos);
  expect_close(loader.run({mlp_input()})[0], mlp_output());
}

TEST_F(Package, P192_TheFirstPackagesHadNoFolderOfAModel) {
  ::testing::internal::CaptureStderr();
  ModelPackageLoader loader(archive({{"version", "0"},
                                     {"archive_format", "pt2"},
                                     {"data/aotinductor/x.so", bytes_of(mlp())},
                                     {"data/aotinductor/x_metadata.json", kMetadata}}));
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("no top-level folder"), std::string::npos);
  expect_close(loader.run({mlp_input()})[0], mlp_output());
}

TEST_F(Package, I106_I108_OneLibraryAModelAndNoSources) {
  const std::string so = bytes_of(mlp()), folder = "a/data/aotinductor/model/";
  expect_in(
      "Multiple .so files found in x.so, y.so. You might need to clear your cache directory before calling aoti_compile again.",
      error_of([&] {
        ModelPackageLoader loader(archive({{"a/archive_format", "pt2"},
                                           {folder + "x.so", so},
                                           {folder + "y.so", so},
                                           {folder + "x_metadata.json", kMetadata}}));
      }));
  expect_in("Ingot has no C++ compiler to make one", error_of([&] {
              ModelPackageLoader loader(archive(
                  {{"a/archive_format", "pt2"}, {folder + "x.cpp", "int main() {}"}, {folder + "x_metadata.json", kMetadata}}));
            }));
}

// What the operating system says of this processor, in PyTorch's words.
std::string isa_of_x86() {
  std::ifstream file("/proc/cpuinfo");
  std::set<std::string> flags;
  for (std::string line; std::getline(file, line) && flags.empty();) {
    if (!line.starts_with("flags")) continue;
    std::istringstream words(line);
    flags.insert(std::istream_iterator<std::string>(words), {});
  }
  if (!flags.contains("avx512f")) return flags.contains("avx2") ? "AVX2" : "";
  if (!flags.contains("avx512_vnni")) return "AVX512";
  return flags.contains("amx_tile") ? "AVX512 AVX512_VNNI AMX_TILE" : "AVX512 AVX512_VNNI";
}

TEST_F(Package, I107_WhatIsWrittenAboutTheMachine) {
  const PackageMetadata here = machine_metadata("cpu", INGOT_ARCH);
  EXPECT_EQ(here.at("AOTI_DEVICE_KEY"), "cpu");
  EXPECT_EQ(here.at("AOTI_PLATFORM"), "linux");
  EXPECT_EQ(here.at("AOTI_MACHINE"), INGOT_ARCH);
  EXPECT_EQ(here.at("AOTI_COMPUTE_CAPABILITY"), "");
  const std::string isa = here.at("AOTI_CPU_ISA");
  if (std::string_view(INGOT_ARCH) == "aarch64") EXPECT_EQ(isa, "ASIMD");
  else EXPECT_EQ(isa, isa_of_x86());
  // Every entry that differs is warned of, and no more than that.
  for (const char* key : {"AOTI_PLATFORM", "AOTI_MACHINE", "AOTI_CPU_ISA", "AOTI_COMPUTE_CAPABILITY"}) {
    ::testing::internal::CaptureStderr();
    ModelPackageLoader loader(package(text(R"({"AOTI_DEVICE_KEY": "cpu", ")", key, R"(": "other", "owner": "x"})")));
    EXPECT_EQ(::testing::internal::GetCapturedStderr(),
              text("[WARNING] Device information mismatch for ", key, ": ", here.at(key),
                   " vs other. This could cause some issues when loading the AOTInductor compiled artifacts.\n"));
  }
}

TEST_F(Package, I107_I108_TheDeviceIsRequiredAndLookedUp) {
  expect_in("No device information found.", error_of([&] { ModelPackageLoader loader(package(R"({"owner": "tests"})")); }));
  EXPECT_EQ(error_of([&] { ModelPackageLoader loader(package(R"({"AOTI_DEVICE_KEY": "toaster"})")); }),
            "Unsupported device key found: toaster");
  ::testing::internal::CaptureStderr();
  ModelPackageLoader loader(package(R"({"AOTI_DEVICE_KEY": "cpu", "AOTI_MACHINE": "pdp11"})"));
  expect_in("Device information mismatch for AOTI_MACHINE: " INGOT_ARCH
            " vs pdp11. This could cause some issues when loading the AOTInductor compiled artifacts.",
            ::testing::internal::GetCapturedStderr());
}

// What is unpacked has no name that a killed process could leave behind.
TEST_F(Package, I108_AModelForTheCpuIsNowhereInTheFileSystem) {
  const std::string temporary = path("temporary"), external = mlp("ext.so", {.weights = Model::Weights::Kind::external});
  std::filesystem::create_directory(temporary);
  write_package(path("ext.pt2"), {{"model", external, kMetadata, external + ".safetensors"}});
  const char* const before = std::getenv("TMPDIR");
  const std::string kept = before ? before : "";
  setenv("TMPDIR", temporary.c_str(), 1);
  for (const std::string& file : {package(), path("ext.pt2")}) {
    ModelPackageLoader loader(file);
    EXPECT_TRUE(std::filesystem::is_empty(temporary));
    expect_close(loader.run({mlp_input()})[0], mlp_output());
    ModelPackageLoader again(file);  // a library of its own
    again.update_constant_buffer({{"b_bias", zeros({10})}, {"b_weight", zeros({10, 128})}}, false, false);
    expect_close(again.run({mlp_input()})[0], zeros(mlp_output().sizes()));
    expect_close(loader.run({mlp_input()})[0], mlp_output());
  }
  before ? setenv("TMPDIR", kept.c_str(), 1) : unsetenv("TMPDIR");
}

TEST_F(Package, I108_Runners) {
  package();
  EXPECT_EQ(error_of([&] { ModelPackageLoader loader(path("p.pt2"), {.num_runners = 0}); }),
            "num_runners must be >=1 when run_single_threaded is false");
  EXPECT_EQ(error_of([&] { ModelPackageLoader loader(path("p.pt2"), {.run_single_threaded = true, .num_runners = 2}); }),
            "num_runners must be 1 when run_single_threaded is true");
  ModelPackageLoader single(path("p.pt2"), {.run_single_threaded = true});
  expect_close(single.run({mlp_input()})[0], mlp_output());
}

// What the loader hands on: the device of the metadata with the index, the folder with the model's
// files and the constants flat among them, the numbers of runners.
TEST_F(Package, I108_TheRunnerIsMadeAsTheMetadataSays) {
  const std::string so = bytes_of(mlp()), folder = "a/data/aotinductor/model/";
  const std::string file = archive({{"a/archive_format", "pt2"},
                                    {folder + "x.wrapper.so", so},
                                    {folder + "x.wrapper_metadata.json", R"({"AOTI_DEVICE_KEY": "mine"})"},
                                    {folder + "kernel.cubin", "binary"},
                                    {"a/data/aotinductor/other/y.wrapper.so", "another model's"},
                                    {"a/data/constants/tensor_0", "bytes"},
                                    {"a/data/constants/deep/custom_obj_0", "object"}});
  RunnerOptions given;
  std::string library;
  runner_registry()["mine"] = [&](const std::string& path, const RunnerOptions& options) {
    given = options;
    library = path;
    return std::make_unique<ModelContainerRunner>(path);
  };
  {
    ModelPackageLoader loader(file, {.num_runners = 3, .device_index = 2});
    EXPECT_EQ(given.device, "mine:2");
    EXPECT_EQ(given.num_models, 3u);
    EXPECT_FALSE(given.run_single_threaded);
    EXPECT_EQ(given.cubin_dir, std::filesystem::path(library).parent_path().string());
    const auto has = [&](const char* name) { return std::filesystem::exists(given.cubin_dir + "/" + name); };
    for (const char* name : {"x.wrapper.so", "x.wrapper_metadata.json", "kernel.cubin", "tensor_0", "custom_obj_0"})
      EXPECT_TRUE(has(name)) << name;
    EXPECT_FALSE(has("y.wrapper.so"));
    const std::string first = given.cubin_dir;
    ModelPackageLoader again(file, {.run_single_threaded = true});
    EXPECT_EQ(given.device, "mine") << "no index";
    EXPECT_TRUE(given.run_single_threaded);
    EXPECT_NE(given.cubin_dir, first) << "a fresh folder each time";
  }
  EXPECT_FALSE(std::filesystem::exists(given.cubin_dir));
  runner_registry().erase("mine");
}

TEST_F(Package, I106_I108_ABlobGivesTheConstants) {
  const std::string ext = mlp("ext.so", {.weights = Model::Weights::Kind::external});
  std::string blob;
  {
    ModelContainerRunner runner(ext);
    uint64_t size = 0;
    ASSERT_EQ(runner.library().AOTInductorModelContainerGetConstantsBlobSize(runner.container(), &size), 0);
    blob.resize(size);
  }
  const std::string folder = "a/data/aotinductor/model/";
  ModelPackageLoader loader(archive({{"a/archive_format", "pt2"},
                                     {folder + "x.wrapper.so", bytes_of(ext)},
                                     {folder + "x.wrapper_metadata.json", kMetadata},
                                     {folder + "x.wrapper_weights.blob", blob}}));
  expect_close(loader.run({mlp_input()})[0], zeros(mlp_output().sizes()));
}

// The same package through the interface for C: what lies beside the library is the model's there,
// too.
class PackageSession : public Package {
 protected:
  Tensor run(const std::string& file) {
    ingot_session* session = nullptr;
    EXPECT_EQ(ingot_session_open(file.c_str(), nullptr, &session), INGOT_OK) << ingot_error();
    if (!session) return Tensor();
    DLManagedTensorVersioned *in = to_dlpack_versioned(mlp_input()), *out[1] = {};
    const DLTensor* inputs[] = {&in->dl_tensor};
    EXPECT_EQ(ingot_session_run(session, inputs, 1, out, 1), INGOT_OK) << ingot_error();
    in->deleter(in);
    const Tensor result = out[0] ? from_dlpack(out[0]) : Tensor();
    ingot_session_close(session);
    return result;
  }
  static std::string refusal(const std::string& file) {
    ingot_session* session = nullptr;
    EXPECT_EQ(ingot_session_open(file.c_str(), nullptr, &session), INGOT_INVALID);
    return ingot_error();
  }
  static std::string bytes_of_weights(const std::vector<std::string>& names) {
    const Program program = load_pt2(golden("mlp/model.pt2"));
    std::string all;
    for (const std::string& name : names) {
      const Tensor t = program.state.at(name).tensor.contiguous();
      all += std::string(static_cast<const char*>(t.data_ptr()), static_cast<std::size_t>(t.numel().value() * t.itemsize()));
    }
    return all;
  }
  // With weights beside the library, of which the first file is this.
  std::string listed(const std::string& first, const std::string& config) const {
    const std::string folder = "a/data/aotinductor/model/";
    const std::string last = bytes_of_weights({"b.bias", "b.weight"});
    const auto count = static_cast<int64_t>(last.size() / sizeof(float));
    return archive({{"a/archive_format", "pt2"},
                    {folder + "x.so", bytes_of(mlp("none.so", {.weights = Model::Weights::Kind::none}))},
                    {folder + "x_metadata.json", kMetadata},
                    {folder + "weights_config.json", config},
                    {"a/data/weights/weight_0", first},
                    {"a/data/weights/weight_1", bytes_of_weights({"a.bias"})},
                    {"a/data/weights/weight_2", torch_save(pickled::tensor("0", count, {count}, {1}), {{"0", last}})}});
  }
  static constexpr const char* kConfig =
      R"({"a.weight": ["weight_0", [128, 64], [64, 1], 0], "a.bias": ["weight_1", [128], [1], 0],
          "b.weight": ["weight_2", [10, 128], [128, 1], 10], "b\u002ebias": ["weight_2", [10], [1], 0],
          "of \"another\" model \ud83d\ude00": ["weight_9", [], [], 0]} )";
};

TEST_F(PackageSession, I106_I108_ABlobGivesTheConstants) {
  const std::string ext = mlp("ext.so", {.weights = Model::Weights::Kind::external});
  uint64_t size = 0;
  {
    ModelContainerRunner runner(ext);
    ASSERT_EQ(runner.library().AOTInductorModelContainerGetConstantsBlobSize(runner.container(), &size), 0);
  }
  const std::string folder = "a/data/aotinductor/model/";
  const auto with = [&](const std::string& blob) {
    return archive({{"a/archive_format", "pt2"},
                    {folder + "x.wrapper.so", bytes_of(ext)},
                    {folder + "x.wrapper_metadata.json", kMetadata},
                    {folder + "x.wrapper_weights.blob", blob}});
  };
  expect_close(run(with(std::string(size, '\0'))), zeros(mlp_output().sizes()));
  expect_in("the library's constants need", refusal(with("short")));
}

TEST_F(PackageSession, I106_I111_P020_ListedWeightsAreGiven) {
  expect_close(run(listed(bytes_of_weights({"a.weight"}), kConfig)), mlp_output());
  ModelPackageLoader loader(path("a.pt2"));  // the other adapter reads the same list
  expect_close(loader.run({mlp_input()})[0], mlp_output());
  expect_in("'a.weight': the tensor does not lie within weight_0", refusal(listed("short", kConfig)));
}

TEST_F(PackageSession, P020_AListThatIsNoneIsRefused) {
  const std::string weight = bytes_of_weights({"a.weight"});
  for (const char* config :
       {"", "[]", "{", R"({"a.weight")", R"({"a.weight": ["weight_0", [128, 64], [64, 1]]})",
        R"({"a.weight": ["weight_0", [128, 64], [64, 1], 0.5]})", R"({"a.weight": ["weight_0", [128, 64], [64, 1], 0]} x)",
        R"({"a\q": 1})", R"({"\ud83d": 1})", R"({"\u12": 1})"})
    expect_in("the file has the form {", refusal(listed(weight, config)));
  expect_in("expected the name of a file in data/weights, found '../x.so'",
            refusal(listed(weight, R"({"a.weight": ["../x.so", [1], [1], 0]})")));
}

TEST_F(Package, I109_WhatIsNotThereIsSaid) {
  expect_in("No files found in zip archive.", error_of([&] { ModelPackageLoader loader(archive({})); }));
  const std::string message = error_of([&] { ModelPackageLoader loader(package(), {.model_name = "decoder"}); });
  expect_in("Failed to find a generated cpp file or so file for model 'decoder' in the zip archive.", message);
  expect_in("Available models in the archive:\n  model", message);
  expect_in("p/data/aotinductor/model/model.wrapper.so", message);
}

TEST_F(Package, I110_TheLoadersFunctions) {
  ModelPackageLoader loader(package());
  TensorList inputs = {mlp_input()};
  expect_close(loader.boxed_run(std::move(inputs))[0], mlp_output());
  EXPECT_EQ(loader.call_spec(), loader.runner().call_spec());
  EXPECT_EQ(loader.metadata().at("owner"), "tests");
  std::vector<std::string> fqns = loader.constant_fqns();
  std::sort(fqns.begin(), fqns.end());
  EXPECT_EQ(fqns, (std::vector<std::string>{"a.bias", "a.weight", "b.bias", "b.weight"}));
  loader.load_constants({{"b.bias", ones({10})}, {"b.weight", zeros({10, 128})}}, false, false);
  expect_close(loader.run({mlp_input()})[0], ones(mlp_output().sizes()));
  loader.update_constant_buffer({{"b_bias", zeros({10})}}, false, false);
  expect_close(loader.run({mlp_input()})[0], zeros(mlp_output().sizes()));
  EXPECT_EQ(error_of([&] { loader.load_constants({{"b_bias", ones({10})}}, false, false); }), "Constant not found: b_bias");
  EXPECT_EQ(ModelPackageLoader::load_metadata_from_package(path("p.pt2"), "model").at("owner"), "tests");
}

TEST_F(Package, I111_SeveralModelsAndSharedWeights) {
  const std::string so = mlp("none.so", {.weights = Model::Weights::Kind::none}),
                    ext = mlp("ext.so", {.weights = Model::Weights::Kind::external});
  write_package(path("two.pt2"), {{"first", mlp(), kMetadata, ""}, {"second", ext, kMetadata, ext + ".safetensors"}});
  for (const char* name : {"first", "second"}) {
    ModelPackageLoader loader(path("two.pt2"), {.model_name = name});
    expect_close(loader.run({mlp_input()})[0], mlp_output());
  }
  expect_in("two models of the package are called 'x'",
            error_of([&] { write_package(path("bad.pt2"), {{"x", so, kMetadata, ""}, {"x", so, kMetadata, ""}}); }));

  // Weights as complete storages, with the places of the model's tensors in them.
  const Program program = load_pt2(golden("mlp/model.pt2"));
  const auto bytes = [&](const std::string& name) {
    const Tensor t = program.state.at(name).tensor.contiguous();
    return std::string(static_cast<const char*>(t.data_ptr()), static_cast<std::size_t>(t.numel().value() * t.itemsize()));
  };
  const std::string folder = "a/data/aotinductor/model/";
  ModelPackageLoader loader(archive({{"a/archive_format", "pt2"},
                                     {folder + "x.so", bytes_of(so)},
                                     {folder + "x_metadata.json", kMetadata},
                                     {folder + "weights_config.json",
                                      R"({"a.weight": ["weight_0", [128, 64], [64, 1], 0], "a.bias": ["weight_1", [128], [1], 0],
                                          "b.weight": ["weight_2", [10, 128], [128, 1], 10], "b.bias": ["weight_2", [10], [1], 0]})"},
                                     {"a/data/weights/weight_0", bytes("a.weight")},
                                     {"a/data/weights/weight_1", bytes("a.bias")},
                                     {"a/data/weights/weight_2", bytes("b.bias") + bytes("b.weight")}}));
  expect_close(loader.run({mlp_input()})[0], mlp_output());
}

// Two models of one package, and one storage in which both have a weight.
TEST_F(Package, I111_ModelsOfOnePackageShareStorages) {
  const std::string so = mlp("none.so", {.weights = Model::Weights::Kind::none});
  const Program program = load_pt2(golden("mlp/model.pt2"));
  const auto bytes = [&](const std::string& name) {
    const Tensor t = program.state.at(name).tensor.contiguous();
    return std::string(static_cast<const char*>(t.data_ptr()), static_cast<std::size_t>(t.numel().value() * t.itemsize()));
  };
  const std::string config =
      R"({"a.weight": ["weight_0", [128, 64], [64, 1], 0], "a.bias": ["weight_1", [128], [1], 0],
          "b.weight": ["weight_2", [10, 128], [128, 1], 10], "b.bias": ["weight_2", [10], [1], 0]})";
  std::vector<std::pair<std::string, std::string>> entries{{"a/archive_format", "pt2"},
                                                           {"a/data/weights/weight_0", bytes("a.weight")},
                                                           {"a/data/weights/weight_1", bytes("a.bias")},
                                                           {"a/data/weights/weight_2", bytes("b.bias") + bytes("b.weight")}};
  for (const char* name : {"encoder", "decoder"}) {
    const std::string folder = text("a/data/aotinductor/", name, "/");
    entries.emplace_back(folder + "x.so", bytes_of(so));
    entries.emplace_back(folder + "x_metadata.json", kMetadata);
    entries.emplace_back(folder + "weights_config.json", config);
  }
  const std::string file = archive(entries);
  auto encoder = std::make_unique<ModelPackageLoader>(file, LoaderOptions{.model_name = "encoder"});
  ModelPackageLoader decoder(file, {.model_name = "decoder", .num_runners = 2, .share_weights_with = encoder.get()}),
      apart(file, {.model_name = "decoder"});
  const auto weights = [](ModelPackageLoader& l) { return l.runner().extract_constants_map(false); };
  for (const auto& [fqn, t] : weights(*encoder)) {
    EXPECT_EQ(weights(decoder).at(fqn).data_ptr(), t.data_ptr()) << fqn;
    EXPECT_NE(weights(apart).at(fqn).data_ptr(), t.data_ptr()) << fqn;
  }
  encoder.reset();
  expect_close(decoder.run({mlp_input()})[0], mlp_output());
  expect_in("models of one package share weights",
            error_of([&] { ModelPackageLoader other(package(), {.share_weights_with = &decoder}); }));
}

// As PyTorch writes them: each storage as one complete tensor in a file of torch.save.
TEST_F(Package, I106_I111_P020_WeightsOfTorchSave) {
  const std::string so = mlp("none.so", {.weights = Model::Weights::Kind::none});
  const Program program = load_pt2(golden("mlp/model.pt2"));
  const auto saved = [&](const std::vector<std::string>& names) {
    std::string all;
    for (const std::string& name : names) {
      const Tensor t = program.state.at(name).tensor.contiguous();
      all += std::string(static_cast<const char*>(t.data_ptr()), static_cast<std::size_t>(t.numel().value() * t.itemsize()));
    }
    const auto count = static_cast<int64_t>(all.size() / sizeof(float));
    return torch_save(pickled::tensor("0", count, {count}, {1}), {{"0", all}});
  };
  const std::string folder = "a/data/aotinductor/model/";
  const auto package_with = [&](const std::string& first) {
    return archive({{"a/archive_format", "pt2"},
                    {folder + "x.so", bytes_of(so)},
                    {folder + "x_metadata.json", kMetadata},
                    {folder + "weights_config.json",
                     R"({"a.weight": ["weight_0", [128, 64], [64, 1], 0], "a.bias": ["weight_1", [128], [1], 0],
                         "b.weight": ["weight_2", [10, 128], [128, 1], 10], "b.bias": ["weight_2", [10], [1], 0],
                         "of.another.model": ["weight_9", [1], [1], 0]})"},
                    {"a/data/weights/weight_0", first},
                    {"a/data/weights/weight_1", saved({"a.bias"})},
                    {"a/data/weights/weight_2", saved({"b.bias", "b.weight"})}});
  };
  ModelPackageLoader loader(package_with(saved({"a.weight"})));
  expect_close(loader.run({mlp_input()})[0], mlp_output());
  expect_in("the tensor does not lie within weight_0",
            error_of([&] { ModelPackageLoader short_one(package_with(saved({"a.bias"}))); }));
  expect_in("expected a tensor in the file of torch.save",
            error_of([&] { ModelPackageLoader other(package_with(torch_save(pickled::integer(3)))); }));
}

TEST_F(Package, I112_CalledWithNestedArguments) {
  CallableModel model(std::make_shared<ModelContainerRunner>(mlp("again.so")));
  TensorList boxed = {mlp_input()};
  expect_close(model(Tree::tuple({boxed[0]})).leaf().tensor(), mlp_output());
  model.load_constants({{"b.bias", ones({10})}, {"b.weight", zeros({10, 128})}}, false);
  expect_close(model(Tree::tuple({mlp_input()})).leaf().tensor(), ones(mlp_output().sizes()));
}

TEST_F(Package, I113_VersionsAreChecked) {
  expect_in("Invalid archive format", error_of([&] {
              ModelPackageLoader loader(archive({{"a/archive_format", "pt3"}, {"a/data/aotinductor/model/x.so", ""}}));
            }));
  expect_in("Saved archive version 7 does not match our current archive version 0.", error_of([&] {
              ModelPackageLoader loader(
                  archive({{"a/archive_format", "pt2"}, {"a/archive_version", "7"}, {"a/data/aotinductor/model/x.so", ""}}));
            }));
}

}  // namespace
}  // namespace ingot
