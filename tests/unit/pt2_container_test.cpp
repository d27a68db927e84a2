// The container of exported programs: which files are read, in which layouts, and what is written.
// Each test carries the number of the requirement in the pt2 format's description.
#include <cmath>
#include <filesystem>

#include "format/pt2/archive.hpp"
#include "format/pt2/samples.hpp"
#include "format/pt2/write.hpp"
#include "op/call.hpp"
#include "unit/pt2_container_harness.hpp"

namespace ingot {
namespace {

using std::string_literals::operator""s;

// ---- entries

TEST_F(Container, P008_TheTopFolderIsThatOfTheFirstEntry) {
  for (const std::string top : {"archive/", "model/", "a b/"}) {
    Pt2Entries e;
    e.top = top;
    for (const ZipEntry& entry : Pt2Entries::plain().all) e.set(entry.name.substr(8), entry.content);
    EXPECT_EQ(load(e).producer, "torch 2.11.0");
  }
  Pt2Entries e = Pt2Entries::plain();
  e.all.emplace_back("elsewhere/x", "");
  expect_says(error(e), "entry 'elsewhere/x' lies outside the folder 'archive/'");
}

TEST_F(Container, P009_OrderIsFreeAndFoldersAreIgnored) {
  Pt2Entries e = Pt2Entries::plain();
  std::reverse(e.all.begin(), e.all.end());
  e.all.insert(e.all.begin(), {"archive/", ""});
  e.all.emplace_back("archive/models/", "");
  EXPECT_EQ(load(e).main().graph.nodes().size(), 2u);
}

TEST_F(Container, P011_ProgramsHaveALimitBeforeMemoryIsReserved) {
  // Claims of sizes cost nothing: a stored entry must be as large as it says, a deflated one
  // possible.
  ZipEntry bomb = deflated_entry("archive/models/model.json", program_text());
  bomb.size = 0xFFFFFFF0;
  Pt2Entries e = Pt2Entries::plain().remove("models/model.json");
  e.all.push_back(bomb);
  expect_says(error(e), "entry 'archive/models/model.json': ");
  const ZipReader z = open_pt2_archive(file(Pt2Entries::plain().bytes())).zip;
  expect_says(user_error([&] { (void)z.read_text("archive/models/model.json", 100); }), "at most 100 are allowed");
}

TEST_F(Container, P013_ArchiveFormat) {
  EXPECT_NO_THROW(load(Pt2Entries::plain().set("archive_format", "pt2\n")));
  expect_says(error(Pt2Entries::plain().set("archive_format", "pt3")),
              "not a PT2 archive: archive_format should be pt2, found 'pt3'");
  expect_says(error(Pt2Entries::plain().set("archive_format", "")), "not a PT2 archive: ");
  expect_says(error(Pt2Entries::plain().remove("archive_format")), "not a PT2 archive: it has no entry archive_format");
  expect_says(error(Pt2Entries::plain().set("archive_format", std::string(100'000, ' ') + "pt2")), "at most 4096 are allowed");
}

TEST_F(Container, P014_ArchiveVersion) {
  EXPECT_NO_THROW(load(Pt2Entries::plain().remove("archive_version")));
  EXPECT_NO_THROW(load(Pt2Entries::plain().set("archive_version", " 0\n")));
  for (const std::string v : {"1", "00", "-1", "0.1", "zero", ""})
    expect_says(error(Pt2Entries::plain().set("archive_version", " " + v + "\n")),
                "Saved archive version " + v + " does not match our current archive version 0.");
}

TEST_F(Container, P015_ByteOrder) {
  EXPECT_NO_THROW(load(Pt2Entries::plain().remove("byteorder")));
  expect_says(error(Pt2Entries::plain().set("byteorder", "big")), "entry 'byteorder': expected little, found 'big'");
  expect_says(error(Pt2Entries::plain().set("byteorder", "middle")), "expected little, found 'middle'");
}

Pt2Entries two_programs() {
  Pt2Entries e;
  e.set("archive_format", "pt2");
  int i = 0;
  for (const std::string name : {"one", "two"}) {
    const Payload w{.name = "w", .file = text("weight_", i)}, c{.name = "c", .file = text("tensor_", i)};
    e.set("models/" + name + ".json", program_text({parameter("w"), constant("c")}));
    e.set("data/weights/" + name + "_weights_config.json", config({w}))
        .set("data/constants/" + name + "_constants_config.json", config({c}));
    e.set(text("data/weights/weight_", i), raw<float>({float(i), 1}))
        .set(text("data/constants/tensor_", i), raw<float>({float(i), 2}));
    i++;
  }
  return e;
}

TEST_F(Container, P016_ProgramsAreChosenByName) {
  const std::string p = file(two_programs().bytes());
  EXPECT_EQ(open_pt2_archive(p).programs, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(load_pt2(p, "two").main().graph.nodes().size(), 4u);
  expect_says(user_error([&] { (void)load_pt2(p); }),
              "it has several programs; name one of them (--model on the command line): 'one', 'two'");
  expect_says(user_error([&] { (void)load_pt2(p, "three"); }), "it has no program 'three'; there are: 'one', 'two'");
  // "model" is taken among several, and one alone whatever its name.
  Pt2Entries e = two_programs();
  for (const ZipEntry& x : Pt2Entries::plain().all) e.set(x.name.substr(8), x.content);
  EXPECT_EQ(load(e).main().graph.nodes().size(), 2u);
  Pt2Entries one = two_programs();
  EXPECT_NO_THROW(load(one.remove("models/two.json")));
  // A file in a folder under models/ is no program.
  EXPECT_EQ(open_pt2_archive(file(one.set("models/a/b.json", "{}").bytes())).programs, std::vector<std::string>{"one"});
}

TEST_F(Container, P017_EachProgramHasItsOwnPayloads) {
  const std::string p = file(two_programs().bytes());
  EXPECT_EQ(floats(load_pt2(p, "one").state.at("w").tensor), (V{0, 1}));
  EXPECT_EQ(floats(load_pt2(p, "two").state.at("w").tensor), (V{1, 1}));
  EXPECT_EQ(floats(load_pt2(p, "two").state.at("c").tensor), (V{1, 2}));
}

TEST_F(Container, P018_UnknownEntriesAreIgnoredAndTheUsersOwnAreListed) {
  Pt2Entries e = Pt2Entries::plain();
  e.set("data/executorch/x", "?")
      .set("xl_model_weights/y", "")
      .set("extra/notes.txt", "hello")
      .set("extra/a/b", "")
      .set(".data/version", "99");
  EXPECT_NO_THROW(load(e));
  const Pt2Archive a = open_pt2_archive(path("p.pt2"));
  EXPECT_EQ(a.extra_files, (std::vector<std::string>{"notes.txt", "a/b"}));
  EXPECT_EQ(a.read_text("extra/notes.txt"), "hello");
}

TEST_F(Container, P019_KindsOfFiles) {
  expect_says(error_of("hello"), "no zip archive");
  expect_says(error_of(zip({{"a/data.pkl", ""}, {"a/constants.pkl", ""}})), "it is a TorchScript file");
  expect_says(error_of(zip({{"a/data.pkl", ""}, {"a/version", "3"}, {"a/code/__torch__/m.py", ""}})), "it is a TorchScript file");
  expect_says(error_of(zip({{"a/data.pkl", ""}, {"a/version", "3"}})), "it is a file of torch.save");
  expect_says(error_of(zip({{"a/x", ""}, {"a/y", ""}, {"a/z", ""}, {"a/w", ""}})),
              "not a PT2 archive: it has no entry archive_format; its entries are 'a/x', 'a/y', 'a/z', …");
  expect_says(error_of(zip({{"x", ""}, {"y/z", ""}})), "not a PT2 archive");
  expect_says(error_of(zip({})), "not a PT2 archive: it has no entries");
  expect_says(error_of(zip({{"a/archive_format", "pt2"}})), "it has neither a program (models/NAME.json) nor a compiled model");
  // Programs and compiled models beside each other are listed separately.
  Pt2Entries both = Pt2Entries::plain();
  both.set("data/aotinductor/fast/x.wrapper.so", "").set("data/aotinductor/fast/x.cpp", "").set("data/aotinductor/slow/y.so", "");
  EXPECT_NO_THROW(load(both));
  const Pt2Archive a = open_pt2_archive(path("p.pt2"));
  EXPECT_EQ(a.programs, std::vector<std::string>{"model"});
  EXPECT_EQ(a.compiled, (std::vector<std::string>{"fast", "slow"}));
}

TEST_F(Container, P020_PackagesAreNamedAndTheirWeightsLeftAlone) {
  // The weights of a package are files of torch.save, and its config maps names to lists: neither
  // is read as a program's.
  Pt2Entries e;
  e.set("archive_format", "pt2").set("data/aotinductor/net/x.wrapper.so", "").set("data/weights/weight_0", "not raw");
  e.set("data/aotinductor/net/weights_config.json", R"({"w": ["weight_0", [2], [1], 0]})");
  expect_says(error(e), "it is a package of compiled models (AOTInductor: 'net'), not an exported program");
  EXPECT_EQ(open_pt2_archive(path("p.pt2")).compiled, std::vector<std::string>{"net"});
  Pt2Entries both = e;
  for (const ZipEntry& x : Pt2Entries::plain().all) both.set(x.name.substr(8), x.content);
  EXPECT_TRUE(load(both).state.empty());
}

// ---- sample inputs

TEST_F(Container, P035_SampleInputsOfAFileOfTorch) {
  const SampleInputsResult r = read_sample_inputs(std::string(INGOT_TEST_DATA) + "/golden/add/f32_2.pt2");
  EXPECT_EQ(r.warning, "");
  ASSERT_TRUE(r.inputs.has_value());
  ASSERT_EQ(r.inputs->args.items.size(), 2u);
  EXPECT_EQ(to_text(r.inputs->args.items[0].tensor.sizes()), "[5, 1]");
  EXPECT_EQ(to_text(r.inputs->args.items[1].tensor.sizes()), "[5]");
  EXPECT_TRUE(r.inputs->kwargs.items.empty());
  for (const float v : floats(r.inputs->args.items[0].tensor)) EXPECT_TRUE(std::isfinite(v));
}

TEST_F(Container, P035_SampleInputsAreOptional) {
  EXPECT_FALSE(read_sample_inputs(file(Pt2Entries::plain().bytes())).inputs.has_value());
  EXPECT_FALSE(read_sample_inputs(file(Pt2Entries::plain().set("data/sample_inputs/model.pt", "").bytes())).inputs.has_value());
  // What cannot be read is a warning, and the program loads.
  for (const std::string& junk :
       {"junk"s, torch_save(pickled::global("os", "system")), torch_save(pickled::integer(1)), torch_save("")}) {
    const Pt2Entries e = Pt2Entries::plain().set("data/sample_inputs/model.pt", junk);
    EXPECT_NO_THROW(load(e));
    const SampleInputsResult r = read_sample_inputs(path("p.pt2"));
    EXPECT_FALSE(r.inputs.has_value());
    expect_says(r.warning, "the sample inputs cannot be read: bad pt2 file");
    expect_says(r.warning, "data/sample_inputs/model.pt");
  }
}

// ---- older layouts

std::vector<ZipEntry> old_program(const std::string& suffix = ".pt") {
  using namespace pickled;
  const std::string w = pickled::tensor("0", 4, {2}, {1}), tied = pickled::tensor("0", 4, {2}, {1}, 2);
  // A state dict: an ordered dict with attributes.
  const std::string dict = ordered_dict() + "(" + string("w") + pickled::parameter(w) + string("tied") + tied + "u" +
                           pickled::dict({{"_metadata", ordered_dict()}}) + "b";
  const std::string state = torch_save(dict, {{"0", raw<float>({1, 2, 3, 4})}});
  const std::string constants =
      torch_save(pickled::dict({{"c", pickled::tensor("0", 1, {}, {}, 0, "LongStorage")}}), {{"0", raw<int64_t>({7})}});
  const std::string samples = torch_save(tuple({tuple({pickled::tensor("5", 2, {2}, {1})}), pickled::dict({{"k", integer(3)}})}),
                                         {{"5", raw<float>({8, 9})}});
  return {{"serialized_exported_program.json", program_text({ingot::parameter("w"), buffer("tied"), constant("c")})},
          {"serialized_state_dict" + suffix, state},
          {"serialized_constants" + suffix, constants},
          {"serialized_example_inputs.pt", samples},
          {"version", "8.5"},
          {"extra_files/readme", "hello"}};
}

TEST_F(Container, P190_OldExportedPrograms) {
  for (const std::string suffix : {".pt", ".json"}) {
    Program p = load_pt2(file(zip(old_program(suffix))));
    EXPECT_EQ(floats(p.state.at("w").tensor), (V{1, 2}));
    EXPECT_TRUE(p.state.at("w").is_parameter && p.state.at("w").requires_grad);
    EXPECT_FALSE(p.state.at("tied").is_parameter);
    EXPECT_EQ(floats(p.state.at("tied").tensor), (V{3, 4}));
    EXPECT_EQ(p.state.at("c").tensor.to_vector<int64_t>(), std::vector<int64_t>{7});
    EXPECT_EQ(floats(p.run(Values{tensor({1., 2})})[0].tensor()), (V{2, 4}));
  }
  EXPECT_EQ(open_pt2_archive(path("p.pt2")).extra_files, std::vector<std::string>{"readme"});
  const SampleInputsResult r = read_sample_inputs(path("p.pt2"));
  ASSERT_TRUE(r.inputs.has_value()) << r.warning;
  EXPECT_EQ(floats(r.inputs->args.items.at(0).tensor), (V{8, 9}));
  EXPECT_EQ(r.inputs->kwargs.find("k")->integer, 3);

  std::vector<ZipEntry> entries = old_program();
  entries[4] = {"version", "9.1"};
  expect_says(error_of(zip(entries)), "schema version '9.1' is not supported (this reader knows 8.x)");
  // An empty entry is an empty dict.
  entries = {{"serialized_exported_program.json", program_text()},
             {"serialized_state_dict.pt", ""},
             {"serialized_constants.pt", ""},
             {"version", "8.5"}};
  EXPECT_TRUE(load_pt2(file(zip(entries))).state.empty());
}

TEST_F(Container, P191_OldStateIsReadByTheRestrictedUnpickler) {
  const Program p = load_pt2(file(zip(old_program())));
  EXPECT_EQ(p.state.at("w").tensor->storage, p.state.at("tied").tensor->storage) << "storages are shared by their keys";
  const auto with_state = [&](const std::string& state) {
    return error_of(zip({{"serialized_exported_program.json", program_text()},
                         {"serialized_state_dict.pt", state},
                         {"serialized_constants.pt", ""}}));
  };
  expect_says(with_state(torch_save(pickled::dict({{"w", pickled::call("os", "system", {pickled::string("true")})}}))),
              "the class or function 'os.system' is not allowed");
  expect_says(with_state(torch_save(pickled::integer(1))), "entry 'serialized_state_dict.pt': expected a dict of tensors");
  expect_says(with_state(torch_save(pickled::dict({{"w", pickled::integer(1)}}))), "'w' is no tensor");
  const std::string t = pickled::tensor("0", 1, {1}, {1});
  expect_says(with_state(torch_save(pickled::dict({{"w", t}, {"w", t}}), {{"0", raw<float>({1})}})), "'w' is there twice");
}

TEST_F(Container, P192_OldPackages) {
  const auto package = [&](const std::string& so) { return zip({{"version", "0"}, {"archive_format", "pt2"}, {so, ""}}); };
  expect_says(error_of(package("data/aotinductor/net/x.so")), "package of compiled models (AOTInductor: 'net')");
  expect_says(error_of(package("data/aotinductor/x.so")), "package of compiled models (AOTInductor: 'model')");
  EXPECT_EQ(open_pt2_archive(path("p.pt2")).compiled, std::vector<std::string>{"model"});
}

TEST_F(Container, P193_FirstArchivesOfThePresentLayout) {
  const std::string w = torch_save(pickled::dict({{"w", pickled::tensor("0", 2, {2}, {1})}}), {{"0", raw<float>({5, 6})}});
  Pt2Entries e = Pt2Entries::plain({parameter("w")}, {{.name = "w"}});
  e.set("data/weights/weight_0", raw<float>({1, 2}));
  EXPECT_EQ(floats(load(e).state.at("w").tensor), (V{1, 2}));
  EXPECT_EQ(floats(load(e.set("data/weights/model.pt", w)).state.at("w").tensor), (V{5, 6})) << "the pickle takes precedence";
  e.remove("data/weights/model_weights_config.json")
      .remove("data/constants/model_constants_config.json")
      .set("data/constants/model.pt", "");
  EXPECT_EQ(floats(load(e).state.at("w").tensor), (V{5, 6}));
}

TEST_F(Container, P194_NeitherConfigNorPickle) {
  expect_says(error(Pt2Entries::plain().remove("data/weights/model_weights_config.json")),
              "archive/data/weights/model_weights_config.json not found in PT2 archive");
  expect_says(error(Pt2Entries::plain().remove("data/constants/model_constants_config.json")),
              "archive/data/constants/model_constants_config.json not found in PT2 archive");
  std::vector<ZipEntry> old = old_program();
  old.erase(old.begin() + 1);
  expect_says(error_of(zip(old)), "serialized_state_dict.pt not found in PT2 archive");
}

// ---- robustness

TEST_F(Container, P201_ErrorsNameFileEntryAndPlace) {
  const std::string message = error(with({{.name = "l.w", .meta = {.dtype = 99}}}, {}));
  expect_says(message, text("bad pt2 file ", path("p.pt2"),
                            ": archive/data/weights/model_weights_config.json: config.l.w.tensor_meta.dtype: "));
  expect_says(message, "99");
}

// ---- writing

TEST_F(Container, P203_WhatIsWrittenReadsBack) {
  const std::vector<std::string> specs = {parameter("w"), parameter("tied"), buffer("b"), buffer("n", false), constant("c")};
  const std::string json = program_text(specs);
  Pt2Entries e =
      Pt2Entries::plain(specs,
                        {{.name = "w", .meta = {.sizes = {2, 2}, .strides = {1, 2}}},
                         {.name = "tied", .meta = {.offset = 2, .requires_grad = false}},
                         {.name = "b", .file = "weight_1", .meta = {.dtype = 13, .requires_grad = false}, .is_param = false},
                         {.name = "absent", .file = "weight_2"}},
                        {{.name = "n", .file = "tensor_0", .meta = {.requires_grad = false}, .is_param = false},
                         {.name = "c",
                          .file = "tensor_1",
                          .meta = {.sizes = {}, .strides = {}, .dtype = 5, .requires_grad = false},
                          .is_param = false}});
  e.set("data/weights/weight_0", raw<float>({1, 2, 3, 4})).set("data/weights/weight_1", raw<uint16_t>({0x3FC0, 0x4000}));
  e.set("data/constants/tensor_0", raw<float>({5, 6})).set("data/constants/tensor_1", raw<int64_t>({9}));
  const Program p = load(e);
  save_pt2(path("out.pt2"), p, json);
  const Program q = load_pt2(path("out.pt2"));
  ASSERT_EQ(q.state.size(), 6u);
  for (const auto& [name, want] : p.state) {
    const StateEntry& got = q.state.at(name);
    EXPECT_EQ(got.is_parameter, want.is_parameter) << name;
    EXPECT_EQ(got.requires_grad, want.requires_grad) << name;
    EXPECT_TRUE(got.sizes.same(want.sizes));
    ASSERT_EQ(got.tensor.defined(), want.tensor.defined()) << name;
    if (!got.tensor.defined()) continue;
    expect_same(got.tensor, want.tensor);
    EXPECT_TRUE(got.tensor.strides().same(want.tensor.strides())) << name;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(got.tensor->storage->data()) % 64, 0u);
  }
  EXPECT_EQ(q.state.at("w").tensor->storage, q.state.at("tied").tensor->storage);
  EXPECT_NE(q.state.at("n").entry.find("data/constants/"), std::string::npos);
  EXPECT_NE(q.state.at("b").entry.find("data/weights/"), std::string::npos);

  const Pt2Archive a = open_pt2_archive(path("out.pt2"));
  for (const std::string name :
       {"archive_format", "archive_version", "byteorder", ".data/version", "models/model.json",
        "data/weights/model_weights_config.json", "data/constants/model_constants_config.json", "data/sample_inputs/model.pt"})
    EXPECT_TRUE(a.contains(name)) << name;
  EXPECT_EQ(a.read_text("models/model.json"), json);
  EXPECT_EQ(a.zip.size("archive/data/sample_inputs/model.pt"), 0u);
  for (const std::string& name : a.zip.names())
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.zip.read(name).data) % 64, 0u) << name;

  save_pt2(path("again.pt2"), q, json);
  EXPECT_EQ(bytes_of(path("again.pt2")), bytes_of(path("out.pt2"))) << "the same program gives the same bytes";
}

TEST_F(Container, P203_AFailedWriteLeavesNothing) {
  Program p = load(with({{.name = "w"}}, {{w0, raw<float>({1, 2})}}));
  p.state.at("w").tensor = make_tensor(Geometry::contiguous({2}, DType::u32));
  save_pt2(path("out.pt2"), load(Pt2Entries::plain()), "{}");
  const std::string old = bytes_of(path("out.pt2"));
  expect_says(user_error([&] { save_pt2(path("out.pt2"), p, "{}"); }), "the format has no dtype torch.uint32");
  EXPECT_EQ(bytes_of(path("out.pt2")), old);
  EXPECT_EQ(files(), 2u);
}

}  // namespace
}  // namespace ingot
