// The weights and constants of exported programs: which payloads they are, what they share, how
// they lie in memory. Each test carries the number of the requirement in the pt2 format's
// description.
#include <filesystem>

#include "check/zoo_weights.hpp"
#include "format/pt2/write.hpp"
#include "op/call.hpp"
#include "unit/pt2_container_harness.hpp"

namespace ingot {
namespace {

using std::string_literals::operator""s;

// ---- weights and constants

TEST_F(Container, P022_ConfigsMapNamesToPayloads) {
  EXPECT_TRUE(state({}, {}).empty());
  const auto s = state({{.name = "l.w"}}, {{w0, raw<float>({1, 2})}}, {{.name = "c", .file = "tensor_0", .is_param = false}});
  EXPECT_EQ(s.at("l.w").entry, "archive/data/weights/weight_0");
  EXPECT_EQ(s.at("c").entry, "archive/data/constants/tensor_0");
  for (const std::string bad : {"../x", "", "/etc/passwd", "a/b"})
    expect_says(error(with({{.name = "w", .file = bad}}, {})), "path_name should be the name of a file, without '/'");
  expect_says(error(Pt2Entries::plain().set("data/weights/model_weights_config.json", "{}")), "field config is missing");
  expect_says(error(Pt2Entries::plain().set("data/weights/model_weights_config.json", R"({"config": []})")),
              "expected an object");
  expect_says(
      error(Pt2Entries::plain().set("data/weights/model_weights_config.json", R"({"config": {"w": {"is_param": true}}})")),
      "PayloadMeta: field path_name is missing (at config.w)");
  expect_says(error(Pt2Entries::plain().set("data/weights/model_weights_config.json", R"({"config": {"w": 1}})")),
              "model_weights_config.json: config.w: expected an object");
}

TEST_F(Container, P023_PayloadsAreRawStorages) {
  const auto s =
      state({{.name = "t", .meta = {.sizes = {2, 2}, .strides = {1, 2}, .offset = 1}}}, {{w0, raw<float>({9, 1, 2, 3, 4})}});
  EXPECT_EQ(floats(s.at("t").tensor), (V{1, 3, 2, 4}));
  EXPECT_EQ(s.at("t").tensor->geom.offset.value(), 1);
  std::string symbolic = config({{.name = "w"}});
  symbolic.replace(symbolic.find(R"({"as_int": 2})"), 13, R"({"as_expr": {}})");
  expect_says(error(Pt2Entries::plain().set("data/weights/model_weights_config.json", symbolic)),
              "expected a plain integer (as_int)");
}

TEST_F(Container, P024_PayloadsMayBeLongerAndNotShorter) {
  const std::string six = raw<float>({1, 2, 3, 4, 5, 6});
  EXPECT_EQ(floats(state({{.name = "w"}}, {{w0, six}}).at("w").tensor), (V{1, 2}));
  EXPECT_EQ(floats(state({{.name = "w", .meta = {.sizes = {1, 2, 1, 3}, .strides = {6, 1, 6, 2}}}}, {{w0, six}}).at("w").tensor),
            (V{1, 3, 5, 2, 4, 6}));
  EXPECT_EQ(floats(state({{.name = "w", .meta = {.sizes = {3, 2}, .strides = {0, 1}}}}, {{w0, six}}).at("w").tensor),
            (V{1, 2, 1, 2, 1, 2}));
  expect_says(error(with({{.name = "w", .meta = {.sizes = {7}}}}, {{w0, six}})),
              "payload archive/data/weights/weight_0 of w has 24 bytes, 28 needed");
  expect_says(error(with({{.name = "w", .meta = {.sizes = {2, 2}, .strides = {5, 2}}}}, {{w0, six}})), "has 24 bytes, 32 needed");
  expect_says(error(with({{.name = "w", .meta = {.offset = 5}}}, {{w0, six}})), "has 24 bytes, 28 needed");
  // Nothing is needed of a tensor without elements, whatever its strides.
  EXPECT_EQ(state({{.name = "w", .meta = {.sizes = {0, 5}, .strides = {100, 100}, .offset = 100}}}, {{w0, six}})
                .at("w")
                .tensor.numel()
                .value(),
            0);
  for (const Meta& negative : {Meta{.sizes = {-2}}, Meta{.strides = {-1}}, Meta{.offset = -1}})
    expect_says(error(with({{.name = "w", .meta = negative}}, {{w0, six}})), "expected a number that is not negative");
  expect_says(error(with({{.name = "w", .meta = {.sizes = {2, 3}}}}, {{w0, six}})), "2 sizes and 1 strides");
  constexpr int64_t kHuge = int64_t{1} << 62;
  for (const Meta& huge : {Meta{.sizes = {kHuge}}, Meta{.sizes = {1 << 30, 1 << 30, 1 << 30}, .strides = {1, 1, 1}},
                           Meta{.strides = {kHuge}}, Meta{.offset = kHuge}, Meta{.sizes = {kHuge, kHuge}, .strides = {0, 0}}})
    expect_says(error(with({{.name = "w", .meta = huge}}, {{w0, six}})), "the tensor has more bytes than a file can have");
  expect_says(error(with({{.name = "w", .meta = {.sizes = std::vector<int64_t>(65, 1), .strides = std::vector<int64_t>(65, 1)}}},
                         {{w0, six}})),
              "65 dims, at most 64 are allowed");
}

TEST_F(Container, P025_NamesOfOnePayloadShareIt) {
  auto s = state({{.name = "a"}, {.name = "b", .meta = {.sizes = {3}}}, {.name = "c", .file = "weight_1"}},
                 {{w0, raw<float>({1, 2, 3})}, {"weights/weight_1", raw<float>({1, 2})}});
  EXPECT_EQ(s.at("a").tensor->storage, s.at("b").tensor->storage);
  static_cast<float*>(s.at("a").tensor.data_ptr())[1] = 7;
  EXPECT_EQ(floats(s.at("b").tensor), (V{1, 7, 3}));
  EXPECT_EQ(floats(s.at("c").tensor), (V{1, 2}));
}

TEST_F(Container, P025_P027_ATensorGivenToOneNameIsAllNamesOfItsElements) {
  Program p = load(Pt2Entries::plain({parameter("a")}, {{.name = "a"}, {.name = "b"}, {.name = "c", .file = "weight_1"}}));
  p.supply("b", tensor({1., 2}));
  EXPECT_EQ(floats(p.state.at("a").tensor), (V{1, 2}));
  EXPECT_FALSE(p.state.at("c").tensor.defined());
  p.supply("a", tensor({3., 4}));
  EXPECT_EQ(p.state.at("a").tensor->storage, p.state.at("b").tensor->storage);
}

TEST_F(Container, P026_EmptyPayloads) {
  const auto s = state({{.name = "none", .meta = {.sizes = {0}}}, {.name = "some"}}, {{w0, ""}});
  EXPECT_TRUE(s.at("none").tensor.defined());
  EXPECT_FALSE(s.at("some").tensor.defined());
}

TEST_F(Container, P027_AbsentPayloadsAreGivenByTheUser) {
  Program p = load(Pt2Entries::plain({parameter("w")}, {{.name = "w"}}));
  EXPECT_FALSE(p.state.at("w").tensor.defined());
  const Values input{tensor({1., 2})};
  expect_says(user_error([&] { (void)p.run(input); }),
              "weight w (archive/data/weights/weight_0) is not in the archive and was not supplied");
  user_error([&] { p.supply("w", tensor({1., 2, 3})); });
  user_error([&] { p.supply("w", tensor({1., 2}).to(float64)); });
  p.supply("w", tensor({1., 2}));
  EXPECT_EQ(floats(p.run(input)[0].tensor()), (V{2, 4}));
}

TEST_F(Container, P028_ParametersAndFrozenOnes) {
  const auto s = state({{.name = "w"},
                        {.name = "frozen", .meta = {.requires_grad = false}},
                        {.name = "b", .meta = {.requires_grad = false}, .is_param = false}},
                       {});
  EXPECT_TRUE(s.at("w").is_parameter && s.at("w").requires_grad);
  EXPECT_TRUE(s.at("frozen").is_parameter && !s.at("frozen").requires_grad);
  EXPECT_FALSE(s.at("b").is_parameter || s.at("b").requires_grad);
}

TEST_F(Container, P029_NamesAreFoundInEitherConfig) {
  const auto load_with = [&](const std::string& spec, const std::vector<Payload>& weights,
                             const std::vector<Payload>& constants) {
    return load(Pt2Entries::plain({spec}, weights, constants)).main().inputs.at(0).name;
  };
  const Payload w{.name = "v"}, c{.name = "v", .file = "tensor_0"};
  for (const std::string& spec : {parameter("v"), buffer("v"), buffer("v", false), constant("v")}) {
    EXPECT_EQ(load_with(spec, {w}, {}), "v");
    EXPECT_EQ(load_with(spec, {}, {c}), "v");
  }
  expect_says(error(Pt2Entries::plain({parameter("gone")}, {w})), "'gone'");
  expect_says(error(with({w}, {}, {c})), "'v' is there twice, or both a weight and a constant");
}

TEST_F(Container, P030_UnusedEntriesAreKept) {
  const Program p = load(with({{.name = "unused"}}, {{w0, raw<float>({1, 2})}}));
  EXPECT_EQ(p.main().inputs.size(), 1u);
  EXPECT_EQ(floats(p.state.at("unused").tensor), (V{1, 2}));
}

TEST_F(Container, P031_PickledTensors) {
  const Payload w{.name = "w", .use_pickle = true};
  const std::string plain = pickled::tensor("0", 2, {2}, {1});
  for (const std::string& value : {plain, pickled::parameter(plain)})
    EXPECT_EQ(floats(state({w}, {{w0, torch_save(value, {{"0", raw<float>({1, 2})}})}}).at("w").tensor), (V{1, 2}));
  const std::string subclass =
      pickled::call("torch._tensor", "_rebuild_from_type_v2",
                    {pickled::global("torch._utils", "_rebuild_tensor_v2"), pickled::global("my.lib", "Scaled"), ")", "}"});
  expect_says(error(with({w}, {{w0, torch_save(subclass)}})),
              "weight w is stored as a pickled 'my.lib.Scaled'; only plain tensors are supported");
  expect_says(error(with({w}, {{w0, torch_save(pickled::integer(3))}})), "a pickled object that is no tensor");
  expect_says(error(with({w}, {{w0, torch_save(pickled::tensor("0", 3, {3}, {1}), {{"0", raw<float>({1, 2, 3})}})}})),
              "weight w should be torch.float32 of size [2]");
  expect_says(error(with({w}, {{w0, "junk"}})), "entry 'archive/data/weights/weight_0'");
  EXPECT_FALSE(state({w}, {}).at("w").tensor.defined());
}

TEST_F(Container, P025_P200_APickleOfSeveralNamesIsReadOnce) {
  const std::vector<Payload> tied = {{.name = "v", .use_pickle = true}, {.name = "w", .use_pickle = true}};
  const auto s = state(tied, {{w0, torch_save(pickled::tensor("0", 2, {2}, {1}), {{"0", raw<float>({1, 2})}})}});
  EXPECT_EQ(s.at("v").tensor->storage.get(), s.at("w").tensor->storage.get());
}

// Tied weights have one gradient, whichever name the graph uses; other elements of the storage are
// another parameter.
TEST_F(Container, ParametersThatAreTheSameElementsAreOneTensor) {
  const std::vector<Payload> weights = {{.name = "a"}, {.name = "b"}, {.name = "later", .meta = {.offset = 1}}};
  const auto s = state(weights, {{w0, raw<float>({1, 2, 3})}});
  EXPECT_TRUE(s.at("a").tensor.is_same(s.at("b").tensor));
  EXPECT_FALSE(s.at("a").tensor.is_same(s.at("later").tensor));
  EXPECT_EQ(floats(s.at("later").tensor), (V{2, 3}));
}

// What an archive without its weights says about them is written again: who shares what, and how it
// lies there.
TEST_F(Container, P025_P204_StrippedArchivesStayWhatTheyAre) {
  const Meta turned{.sizes = {2, 3}, .strides = {1, 2}, .offset = 4};
  const Program p =
      load(with({{.name = "a", .meta = turned}, {.name = "b", .meta = turned}, {.name = "c", .file = "weight_1"}}, {}));
  save_pt2(path("out.pt2"), read_pt2(path("p.pt2")));
  const auto back = load_pt2(path("out.pt2")).state;
  EXPECT_EQ(back.at("a").entry, back.at("b").entry);
  EXPECT_NE(back.at("a").entry, back.at("c").entry);
  EXPECT_EQ(text(back.at("a").strides, back.at("a").offset), text(p.state.at("a").strides, 4));
  EXPECT_FALSE(back.at("a").tensor.defined());
}

TEST_F(Container, P032_CustomObjectsLoad) {
  const auto s = state({}, {{"constants/custom_obj_0", "anything"}},
                       {{.name = "o", .file = "custom_obj_0", .use_pickle = true, .is_custom = true}});
  EXPECT_FALSE(s.at("o").tensor.defined());
  EXPECT_EQ(s.at("o").entry, "archive/data/constants/custom_obj_0");
  expect_says(user_error([&] { save_pt2(path("out"), load_pt2(path("p.pt2")), "{}"); }),
              "'o' is a custom class object and cannot be written");
}

TEST_F(Container, P033_ElementEncodings) {
  const auto one = [&](int dtype, const std::string& bytes, int64_t n = 1) {
    return state({{.name = "w", .meta = {.sizes = {n}, .dtype = dtype}}}, {{w0, bytes}}).at("w").tensor;
  };
  EXPECT_EQ(one(12, "\0\1\2\xff"s, 4).to_vector<bool>(), (std::vector<bool>{false, true, true, true}));
  EXPECT_EQ(elements(one(12, "\0\1\2\xff"s, 4)), "\0\1\1\1"s);
  EXPECT_EQ(aten<"imag">(one(10, raw<float>({1, 2}))).to_vector<float>()[0], 2);
  EXPECT_EQ(aten<"real">(one(11, raw<double>({1, 2}))).to_vector<double>()[0], 1);
  EXPECT_EQ(one(13, raw<uint16_t>({0x3FC0})).to_vector<float>()[0], 1.5f);
  EXPECT_EQ(one(6, raw<uint16_t>({0x3E00})).to_vector<float>()[0], 1.5f);
  EXPECT_EQ(one(29, "\x3c").to_vector<float>()[0], 1.5f);
  EXPECT_EQ(one(30, "\x3e").to_vector<float>()[0], 1.5f);
  EXPECT_EQ(one(5, raw<int64_t>({int64_t{1} << 40})).to_vector<int64_t>()[0], int64_t{1} << 40);
  EXPECT_EQ(one(28, raw<uint16_t>({65535})).to_vector<int64_t>()[0], 65535);
}

// A bool that is right is not written to: many names of one payload do not cost a copy of its pages
// each.
TEST_F(Container, P033_BoolsAreNormalizedOnce) {
  std::vector<Payload> many;
  for (int i = 0; i < 2000; i++) many.push_back({.name = text("b", i), .meta = {.sizes = {2}, .dtype = 12}});
  const auto s = state(many, {{w0, std::string(4 << 20, '\1')}});  // 8 GB of checks if each name did them
  EXPECT_EQ(s.size(), 2000u);
}

TEST_F(Container, P034_LayoutIsStridedAndDevicesAreFree) {
  for (const std::string device : {"cuda", "mps", "privateuse1"})
    EXPECT_EQ(floats(state({{.name = "w", .meta = {.device = device}}}, {{w0, raw<float>({1, 2})}}).at("w").tensor), (V{1, 2}));
  expect_says(error(with({{.name = "w", .meta = {.layout = 2}}}, {})), "layout 2 is not supported");
}

// ---- mapping

TEST_F(Container, PayloadsAreMappedInPlaceAndWritesStayPrivate) {
  Pt2Entries e = with({{.name = "w", .meta = {.sizes = {1024}}},
                       {.name = "b", .meta = {.sizes = {8}, .dtype = 12}},
                       {.name = "odd", .file = "weight_1", .meta = {.sizes = {1024}}}},
                      {{w0, std::string(4096, '\2')}, {"weights/weight_1", std::string(4096, '\0')}});
  // weight_0 at a multiple of 64, weight_1 at an odd place.
  std::string before;
  for (ZipEntry& x : e.all) {
    const std::size_t header = before.size() + 30 + x.name.size();
    const bool odd = x.name.ends_with("weight_1");
    x.local_extra = "FB" + le<uint16_t>((128 - (header + 4) % 64) % 64 + (odd ? 1 : 0));
    x.local_extra.append((128 - (header + 4) % 64) % 64 + (odd ? 1 : 0), 'Z');
    before += std::string(30, ' ') + x.name + x.local_extra + x.content;
  }
  const int64_t live = Storage::live_bytes();
  const Program p = load(e);
  const std::string original = bytes_of(path("p.pt2"));
  EXPECT_EQ(Storage::live_bytes(), live + 4096) << "the odd one alone is copied";
  std::memset(p.state.at("w").tensor.data_ptr(), 'w', 4096);
  EXPECT_EQ(bytes_of(path("p.pt2")), original);
  // The mapping outlives the program's name.
  std::filesystem::remove(path("p.pt2"));
  EXPECT_EQ(elements(p.state.at("w").tensor), std::string(4096, 'w'));
}

// ---- the zoo's weights

// Values computed by hand from the rule that the golden zoo's materialize.py states.
TEST_F(Container, ZooWeightsAreTheSameEverywhere) {
  const Tensor w = zoo_weight("conv1.weight", 0.0f, 0.14021363854408264f, {2, 3});
  EXPECT_EQ(elements(w), raw<uint32_t>({0x3C4F1905, 0x3D8CCCD1, 0xBE08FF23, 0x3D87A6E5, 0xBD161181, 0x3E0551CA}));
  const Tensor b = zoo_weight("bn1.weight", 1.0f, 0.1f, {4});
  EXPECT_EQ(elements(b), raw<uint32_t>({0x3F78D7AA, 0x3F884E0C, 0x3F81C56E, 0x3F732B4E}));
}

TEST_F(Container, ZooWeightsFillWhatIsAbsent) {
  Program p = load(with({{.name = "a"}, {.name = "b"}, {.name = "c", .file = "weight_1"}, {.name = "d", .file = "weight_2"}},
                        {{"weights/weight_1", raw<float>({1, 2})}}));
  const auto weights = read_zoo_weights(
      put("w.json", R"({"b": {"offset": 1.0, "scale": 0.5, "shape": [2]}, "c": {"offset": 0, "scale": 1, "shape": [2]}})"));
  supply_zoo_weights(p, weights);
  EXPECT_EQ(p.state.at("a").tensor->storage, p.state.at("b").tensor->storage) << "they share a payload";
  expect_same(p.state.at("b").tensor, zoo_weight("b", 1.0f, 0.5f, {2}));
  EXPECT_EQ(floats(p.state.at("c").tensor), (V{1, 2})) << "what the archive has stays";
  EXPECT_FALSE(p.state.at("d").tensor.defined());
}

}  // namespace
}  // namespace ingot
