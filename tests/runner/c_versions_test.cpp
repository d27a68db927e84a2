// Programs that were compiled with another ingot/ingot.h than the library: sizes of their options,
// versions that go together.
#include <cstddef>

#include "bad_input_fixture.hpp"

namespace ingot {
namespace {

// Options as a header of another version has them.
struct OtherOptions {
  ingot_options known = INGOT_OPTIONS_INIT;
  int64_t later[2] = {};
};

struct OptionsRow {
  const char* name;
  void (*spoil)(OtherOptions&);
  Words words;
};

const OptionsRow kOptionsRows[] = {
    // clang-format off
    {"as they begin", [](OtherOptions&) {}, {}},
    {"no size", [](OtherOptions& o) { o.known.size = 0; }, {"ingot_options: size", "expected sizeof(ingot_options)", "found 0", "INGOT_OPTIONS_INIT"}},
    {"half of a size", [](OtherOptions& o) { o.known.size = 4; }, {"size: expected", "found 4"}},
    {"a field cut in two", [](OtherOptions& o) { o.known.size = sizeof(ingot_options) - 4; }, {"size: expected", "found 36"}},
    {"a size that was never set", [](OtherOptions& o) { o.known.size = SIZE_MAX - 7; }, {"size: expected", "found 18446744073709551608"}},
    {"an older header, without the field", [](OtherOptions& o) { o.known.size = offsetof(ingot_options, device), o.known.device = "toaster"; }, {}},
    {"an older header, with the field", [](OtherOptions& o) { o.known.size = offsetof(ingot_options, models), o.known.device = "toaster"; }, {"toaster"}},
    {"a newer header", [](OtherOptions& o) { o.known.size = sizeof o; }, {}},
    {"a newer header, a new field set", [](OtherOptions& o) { o.known.size = sizeof o, o.later[1] = 1 << 8; }, {"a field at byte 49 is set", "the first 40 bytes", "found " INGOT_PROJECT_VERSION}},
    {"no models", [](OtherOptions& o) { o.known.models = -1; }, {"models and threads must not be negative"}},
    // clang-format on
};

TEST_F(BadInput, OptionsOfOtherHeaders) {
  const std::string file = mlp();
  for (const OptionsRow& row : kOptionsRows) {
    OtherOptions o;
    row.spoil(o);
    ingot_session* s = nullptr;
    const ingot_status status = ingot_session_open(file.c_str(), &o.known, &s);
    EXPECT_EQ(status, row.words.empty() ? INGOT_OK : INGOT_INVALID) << row.name;
    expect_words(row.name, status == INGOT_OK ? "" : ingot_error(), row.words);
    if (status == INGOT_OK) expect_works(s, row.name);
    ingot_session_close(s);
  }
}

TEST(Versions, AreThoseOfTheProject) {
  EXPECT_STREQ(ingot_version(), INGOT_PROJECT_VERSION);
  EXPECT_EQ(text(INGOT_VERSION_MAJOR, ".", INGOT_VERSION_MINOR, ".", INGOT_VERSION_PATCH), INGOT_PROJECT_VERSION);
}

TEST(Versions, ALibraryOlderThanTheHeaderIsRefused) {
  constexpr int32_t kMajor = INGOT_VERSION_MAJOR, kMinor = INGOT_VERSION_MINOR, kPatch = INGOT_VERSION_PATCH;
  EXPECT_EQ(INGOT_CHECK_VERSION(), INGOT_OK);
  EXPECT_EQ(ingot_check_version(kMajor, kMinor, kPatch - 1), INGOT_OK);
  const int32_t wanted[][3] = {
      {kMajor, kMinor, kPatch + 1}, {kMajor, kMinor + 1, 0}, {kMajor + 1, 0, 0}, {kMajor - 1, kMinor, kPatch}};
  for (const auto& [major, minor, patch] : wanted) {
    EXPECT_EQ(ingot_check_version(major, minor, patch), INGOT_INVALID);
    expect_in(text("expected ", major, ".", minor, ".", patch), ingot_error());
    expect_in("found " INGOT_PROJECT_VERSION, ingot_error());
  }
}

}  // namespace
}  // namespace ingot
