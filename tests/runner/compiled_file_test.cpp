// What compiled files say of themselves, and that damage to them is seen, without loading them.
#include "host/compiled_file.hpp"

#include <algorithm>
#include <random>
#include <vector>

#include "base/checksum.hpp"
#include "runner_fixture.hpp"

namespace ingot {
namespace {

constexpr int kFlips = 200;

class CompiledFile : public RunnerTest {
 protected:
  std::string library(const std::string& target, Model::Weights::Kind weights = Model::Weights::Kind::embedded) const {
    return bytes_of(mlp("m.so", {.targets = {parse_target(target)}, .weights = weights}));
  }
  std::string package() const {
    write_package(path("p.pt2"), {{.name = "model", .library = mlp(), .metadata = "{}", .weights = ""}});
    return bytes_of(path("p.pt2"));
  }
  static std::string bytes_of(const std::string& file) { return std::string(MappedFile::open(file)->bytes()); }
  static bool is_accepted(std::string_view library) {
    const std::optional<LibraryNote> note = library_note(library);
    return note && is_whole(library, *note);
  }

  // Random bits of the file, and one of each byte that a reader looks at first.
  static void expect_flips_refused(const std::string& file, const std::vector<std::size_t>& places,
                                   bool (*accepts)(std::string_view)) {
    ASSERT_TRUE(accepts(file));
    std::mt19937_64 random(21);
    std::vector<std::size_t> bits;
    for (int k = 0; k < kFlips; k++) bits.push_back(random() % (file.size() * 8));
    for (const std::size_t byte : places) bits.push_back(byte * 8 + random() % 8);
    std::string damaged = file;
    for (const std::size_t bit : bits) {
      const auto mask = static_cast<char>(1 << bit % 8);
      damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ mask);
      EXPECT_FALSE(accepts(damaged)) << "bit " << bit % 8 << " of byte " << bit / 8;
      damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ mask);
    }
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, file.size() / 2, file.size() - 1})
      EXPECT_FALSE(accepts(std::string_view(file).substr(0, size))) << "cut to " << size;
    EXPECT_FALSE(accepts(file + '\0'));
  }
};

// The ELF header, the table of segments, and the note.
std::vector<std::size_t> places_of(const std::string& library) {
  std::vector<std::size_t> places;
  for (std::size_t k = 0; k < 512; k++) places.push_back(k);
  const std::size_t note = library_note(library)->checksum_at;
  for (std::size_t k = 0; k < 64; k++) places.push_back(note - 24 + k);
  return places;
}

TEST_F(CompiledFile, FlippedBitsOfALibraryAreSeen) {
  for (const std::string target : {"x86_64", "aarch64"}) {
    SCOPED_TRACE(target);
    for (const auto weights : {Model::Weights::Kind::embedded, Model::Weights::Kind::appended, Model::Weights::Kind::external}) {
      const std::string file = library(target, weights);
      expect_flips_refused(file, places_of(file), is_accepted);
    }
  }
}

TEST_F(CompiledFile, FlippedBitsOfAPackageAreSeen) {
  const std::string file = package();
  std::vector<std::size_t> places;
  for (std::size_t k = 0; k < 256; k++) places.insert(places.end(), {k, file.size() - 1 - k});
  expect_flips_refused(file, places, is_whole_package);
}

TEST_F(CompiledFile, TheNoteSaysWhatMadeTheLibrary) {
  const LibraryNote note = *library_note(library("aarch64"));
  EXPECT_TRUE(note.made_by.starts_with("ingot " INGOT_PROJECT_VERSION ", LLVM 19.")) << note.made_by;
  EXPECT_EQ(note.options, "--target aarch64-unknown-linux-gnu --cpu generic --weights embed");
  EXPECT_EQ(note.weights, "");
  CompileOptions options{.targets = {parse_target("x86_64", "x86-64-v3"), parse_target("x86_64", "x86-64-v2")},
                         .debug_info = true};
  options.skip = {"fold", "merge_equal"};
  EXPECT_EQ(library_note(bytes_of(mlp("o.so", options)))->options,
            "--target x86_64-unknown-linux-gnu --cpu x86-64-v3,x86-64-v2 --weights embed --skip fold,merge_equal --debug");
}

TEST_F(CompiledFile, TheChecksumIsThatOfTheFile) {
  const std::string first = library("x86_64"), second = library("x86_64");
  EXPECT_EQ(first, second) << "the same program and options give the same bytes";
  EXPECT_EQ(library_note(first)->checksum.size(), 32u);
  EXPECT_NE(library_note(first)->checksum, library_note(library("aarch64"))->checksum);
  // With its weights in another file, it knows that file's.
  const std::string external = library("x86_64", Model::Weights::Kind::external);
  Checksum sum;
  sum.add(bytes_of(path("m.so.safetensors")));
  EXPECT_EQ(library_note(external)->weights, sum.text());
}

TEST_F(CompiledFile, OtherFilesHaveNone) {
  EXPECT_FALSE(library_note("").has_value());
  EXPECT_FALSE(library_note("no library").has_value());
  EXPECT_FALSE(library_note(bytes_of("/proc/self/exe")).has_value());
  EXPECT_FALSE(package_checksum("PK").has_value());
  EXPECT_FALSE(is_whole_package(library("x86_64")));
}

}  // namespace
}  // namespace ingot
