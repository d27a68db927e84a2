// What a session says of its model: metadata, shapes of constants, where weights are; and random
// numbers that begin anew.
#include "bad_input_fixture.hpp"
#include "compiler/pipeline.hpp"
#include "ingot/dlpack.hpp"

namespace ingot {
namespace {

class Information : public BadInput {
 protected:
  std::string noisy() const {
    const TensorFunction f = [](const TensorList& in) { return TensorList{in[0] + rand({8})}; };
    compile(f, {zeros({8})}, {}, path("noisy.so"));
    return path("noisy.so");
  }
};

struct CallRow {
  const char* name;
  ingot_status (*call)(ingot_session*);
  Words words;
};

const char* text_place = nullptr;
ingot_constant_info info_place;

const CallRow kCallRows[] = {
    // clang-format off
    {"metadata past the end", [](ingot_session* s) { return ingot_session_metadata(s, 2, &text_place, &text_place); }, {"metadata entry 2: there are 2"}},
    {"metadata, no place for the key", [](ingot_session* s) { return ingot_session_metadata(s, 0, nullptr, &text_place); }, {"address for the answer is null"}},
    {"metadata, no place for the value", [](ingot_session* s) { return ingot_session_metadata(s, 0, &text_place, nullptr); }, {"address for the answer is null"}},
    {"metadata of nothing", [](ingot_session*) { return ingot_session_metadata(nullptr, 0, &text_place, &text_place); }, {"the session is null"}},
    {"an unknown key", [](ingot_session* s) { return ingot_session_find_metadata(s, "verson", &text_place); }, {"no metadata 'verson'", "it has author, version"}},
    {"a null key", [](ingot_session* s) { return ingot_session_find_metadata(s, nullptr, &text_place); }, {"the key is null"}},
    {"a key, no place", [](ingot_session* s) { return ingot_session_find_metadata(s, "version", nullptr); }, {"address for the answer is null"}},
    {"a key of nothing", [](ingot_session*) { return ingot_session_find_metadata(nullptr, "version", &text_place); }, {"the session is null"}},
    {"weights of nothing", [](ingot_session*) { return ingot_session_weights_file(nullptr, &text_place); }, {"the session is null"}},
    {"weights, no place", [](ingot_session* s) { return ingot_session_weights_file(s, nullptr); }, {"address for the answer is null"}},
    {"a seed of nothing", [](ingot_session*) { return ingot_session_set_seed(nullptr, 1); }, {"the session is null"}},
    {"a constant past the end", [](ingot_session* s) { return ingot_session_constant(s, 6, &info_place); }, {"constant 6: there are 6"}},
    // clang-format on
};

TEST_F(Information, WrongQuestionsAreRefused) {
  ingot_session* s = open(mlp("mlp.so", {.metadata = {{"version", "3"}, {"author", "ü, with = and \"\\\""}}}));
  for (const CallRow& row : kCallRows) {
    EXPECT_EQ(row.call(s), INGOT_INVALID) << row.name;
    expect_words(row.name, ingot_error(), row.words);
    expect_works(s, row.name);
  }
}

TEST_F(Information, MetadataOfTheCompileIsThereAtTheRun) {
  ingot_session* s = open(mlp("mlp.so", {.metadata = {{"version", "3"}, {"author", "ü, with = and \"\\\""}, {"empty", ""}}}));
  ASSERT_EQ(ingot_session_metadata_count(s), 3u);
  const char *key = nullptr, *value = nullptr;
  std::map<std::string, std::string> all;
  for (std::size_t k = 0; k < 3; k++) {
    ASSERT_EQ(ingot_session_metadata(s, k, &key, &value), INGOT_OK) << ingot_error();
    all[key] = value;
  }
  EXPECT_EQ(all, (std::map<std::string, std::string>{{"author", "ü, with = and \"\\\""}, {"empty", ""}, {"version", "3"}}));
  ASSERT_EQ(ingot_session_find_metadata(s, "version", &value), INGOT_OK) << ingot_error();
  EXPECT_STREQ(value, "3");
  ASSERT_EQ(ingot_session_find_metadata(s, "empty", &value), INGOT_OK) << ingot_error();
  EXPECT_STREQ(value, "");
  EXPECT_EQ(ingot_session_metadata_count(open(mlp("without.so"))), 0u);
  EXPECT_EQ(ingot_session_metadata_count(nullptr), 0u);
}

TEST_F(Information, KeysOfIngotsOwnAreNotForUsers) {
  for (const char* key : {"ingot.constant_results", "entry.forward.x", "fixed_input.0", ""}) {
    const std::string why = error_of([&] { mlp("bad.so", {.metadata = {{key, "x"}}}); });
    expect_in(*key ? text("metadata: '", key, "': keys that begin with 'ingot.'") : "keys that are not empty", why);
  }
  expect_in("without zero bytes", error_of([&] { mlp("bad.so", {.metadata = {{"k", std::string(1, '\0')}}}); }));
}

TEST_F(Information, ConstantsHaveShapes) {
  for (const auto weights : {Model::Weights::Kind::embedded, Model::Weights::Kind::none}) {
    ingot_session* s = open(mlp("mlp.so", {.weights = weights}));
    ingot_constant_info info;
    ASSERT_EQ(ingot_session_constant(s, 0, &info), INGOT_OK);
    EXPECT_STREQ(info.name, "a.weight");
    ASSERT_EQ(info.rank, 2);
    EXPECT_EQ(info.sizes[0], 128);
    EXPECT_EQ(info.sizes[1], 64);
    ASSERT_EQ(ingot_session_constant(s, 1, &info), INGOT_OK);
    ASSERT_EQ(info.rank, 1);
    EXPECT_EQ(info.sizes[0], 128);
  }
  ingot_constant_info info;
  ASSERT_EQ(ingot_session_constant(open(std::string(INGOT_STUB_DIR) + "/stub_torch.so"), 0, &info), INGOT_OK);
  EXPECT_EQ(info.rank, -1);
  EXPECT_EQ(info.sizes, nullptr);
}

TEST_F(Information, TheWeightsFileIsNamed) {
  const char* file = "";
  ASSERT_EQ(ingot_session_weights_file(open(mlp()), &file), INGOT_OK) << ingot_error();
  EXPECT_EQ(file, nullptr);
  ASSERT_EQ(ingot_session_weights_file(open(mlp("ext.so", {.weights = Model::Weights::Kind::external})), &file), INGOT_OK);
  EXPECT_STREQ(file, "ext.so.safetensors");
  EXPECT_EQ(ingot_session_weights_file(open(std::string(INGOT_STUB_DIR) + "/stub_torch.so"), &file), INGOT_INVALID);
  expect_in("was not made by Ingot", ingot_error());
}

TEST_F(Information, ASeedBeginsTheRandomNumbersAnew) {
  ingot_session* s = open(noisy());
  const auto run = [&] {
    DLManagedTensorVersioned *x = to_dlpack_versioned(zeros({8})), *out = nullptr;
    const DLTensor* in[] = {&x->dl_tensor};
    EXPECT_EQ(ingot_session_run(s, in, 1, &out, 1), INGOT_OK) << ingot_error();
    x->deleter(x);
    return from_dlpack(out).to_vector<float>();
  };
  ASSERT_EQ(ingot_session_set_seed(s, 7), INGOT_OK) << ingot_error();
  const std::vector<float> first = run(), second = run();
  EXPECT_NE(first, second);
  ASSERT_EQ(ingot_session_set_seed(s, 7), INGOT_OK) << ingot_error();
  EXPECT_EQ(run(), first);
  EXPECT_EQ(run(), second);
  ASSERT_EQ(ingot_session_set_seed(s, 8), INGOT_OK) << ingot_error();
  EXPECT_NE(run(), first);
  s = open(std::string(INGOT_STUB_DIR) + "/stub_torch.so");
  EXPECT_EQ(ingot_session_set_seed(s, 7), INGOT_INVALID);
  expect_in("was not made by Ingot", ingot_error());
}

}  // namespace
}  // namespace ingot
