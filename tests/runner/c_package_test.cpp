// What is in a package, without loading it (ingot/ingot.h).
#include <set>

#include "bad_input_fixture.hpp"

namespace ingot {
namespace {

class Listing : public BadInput {
 protected:
  void TearDown() override {
    ingot_package_close(package_);
    BadInput::TearDown();
  }
  // Without a word of the error: it was opened.
  std::string open_package(const std::string& file) {
    ingot_package_close(std::exchange(package_, nullptr));
    return ingot_package_open(file.c_str(), &package_) == INGOT_OK ? "" : ingot_error();
  }
  std::string two_models() const {
    constexpr const char* kMetadata = R"({"AOTI_DEVICE_KEY": "cpu"})";
    write_package(path("two.pt2"),
                  {{"encoder", put("a.so", "no library"), kMetadata, ""}, {"decoder", put("b.so", "nor this"), kMetadata, ""}});
    return path("two.pt2");
  }
  ingot_package* package_ = nullptr;
};

// What the package holds are no libraries: nothing of it is loaded.
TEST_F(Listing, ModelsAreNamed) {
  ASSERT_EQ(open_package(two_models()), "");
  std::set<std::string> names;
  for (std::size_t k = 0; k < ingot_package_model_count(package_); k++) {
    const char* name = nullptr;
    ASSERT_EQ(ingot_package_model(package_, k, &name), INGOT_OK) << ingot_error();
    names.insert(name);
  }
  EXPECT_EQ(names, (std::set<std::string>{"decoder", "encoder"}));
  const char* name = nullptr;
  EXPECT_EQ(ingot_package_model(package_, 2, &name), INGOT_INVALID);
  expect_in("model 2: there are 2", ingot_error());
  EXPECT_EQ(ingot_package_model(package_, 0, nullptr), INGOT_INVALID);
  expect_in("the address for the answer is null", ingot_error());
  EXPECT_EQ(ingot_package_model(nullptr, 0, &name), INGOT_INVALID);
  expect_in("the package is null", ingot_error());
  EXPECT_EQ(ingot_package_model_count(nullptr), 0u);
}

TEST_F(Listing, AProgramHasNoModels) {
  ASSERT_EQ(open_package(golden("mlp/model.pt2")), "");
  EXPECT_EQ(ingot_package_model_count(package_), 0u);
}

TEST_F(Listing, WhatIsNoPackageIsRefused) {
  const struct {
    const char* name;
    std::string file;
    Words words;
  } rows[] = {
      {"no file", path("none.pt2"), {"none.pt2", "No such file"}},
      {"a text", put("text.pt2", "not a zip"), {"text.pt2", "zip"}},
      {"half a package", put("half.pt2", first(0.5, bytes_of(two_models()))), {"half.pt2", "zip"}},
      {"an empty file", put("empty.pt2", ""), {"empty.pt2"}},
  };
  for (const auto& row : rows) expect_words(row.name, open_package(row.file), row.words);
  EXPECT_EQ(ingot_package_open(nullptr, &package_), INGOT_INVALID);
  expect_in("the path is null", ingot_error());
  EXPECT_EQ(ingot_package_open(path("two.pt2").c_str(), nullptr), INGOT_INVALID);
  expect_in("the address for the answer is null", ingot_error());
}

}  // namespace
}  // namespace ingot
