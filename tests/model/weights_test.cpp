// Where the weights of a library are: in it, in a file beside it, behind it in its own file, or
// nowhere.
#include <filesystem>
#include <fstream>

#include "model_fixture.hpp"
#include "support/test_folder.hpp"

namespace ingot::test {
namespace {

namespace fs = std::filesystem;

using EmbeddedWeights = ModelTest;

TEST_F(EmbeddedWeights, I049_I050_EmbeddedWeightsAreEachContainersOwnWhereRunsWrite) {
  const Library library(library_path("affine"));
  const Container first(library), second(library);
  EXPECT_EQ(run_affine(first, rows(1)).steps, 1);
  EXPECT_EQ(run_affine(first, rows(1)).steps, 2);
  EXPECT_EQ(run_affine(second, rows(1)).steps, 1);
  EXPECT_EQ(run_affine(first, rows(1)).steps, 3);
}

// The elements of the constants that affine.c is made with, in the order of its table, without
// gaps.
std::string affine_elements() {
  const AffineWeights weights;
  Floats all = weights.w;
  all.insert(all.end(), {-1, -1});
  all.insert(all.end(), weights.b.begin(), weights.b.end());
  all.insert(all.end(), {0, 0.5f});
  return std::string(reinterpret_cast<const char*>(all.data()), all.size() * sizeof(float));
}

std::string failed_create(const Library& l) {
  AOTInductorModelContainerHandle container = nullptr;
  return message_of(l, [&] { return library_call(l, AOTInductorModelContainerCreateWithDevice)(&container, 1, "cpu", nullptr); });
}

// ---- weights behind the library, in its own file

class AppendedWeights : public ModelTest {
 protected:
  // A library with these bytes behind it, at a multiple of 16 KiB and `shift` more.
  std::string library(const std::string& behind, size_t shift = 0) {
    std::ifstream in(library_path("affine_appended"), std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(in)), {});
    bytes.resize((bytes.size() + 16383) / 16384 * 16384 + shift);
    const std::string path = folder_.file("appended" + std::to_string(count_++) + ".so");
    std::ofstream(path, std::ios::binary) << bytes << behind;
    return path;
  }
  static std::string area(uint64_t mark = 0x1122334455667788) {
    return affine_elements() + std::string(reinterpret_cast<const char*>(&mark), 8);
  }

 private:
  const testing::TestFolder folder_;
  int count_ = 0;
};

TEST_F(AppendedWeights, I049_AreMappedFromTheLibrarysOwnFile) {
  const Library l(library(area()));
  const Container container(l), other(l);
  const Floats x = rows(3);
  EXPECT_EQ(run_affine(container, x).y, AffineWeights().affine(x));
  // Changes stay in memory, and in their container.
  ConstantsByName map;
  ASSERT_EQ(library_call(l, AOTInductorModelContainerExtractConstantsMap)(container, handle_of(map), false), 0);
  static_cast<float*>(tensor_of(map.at("layer.bias"))->data())[0] = 5;
  EXPECT_EQ(run_affine(container, x).y[0], AffineWeights().affine(x)[0] + 5);
  EXPECT_EQ(run_affine(other, x).y, AffineWeights().affine(x));
  EXPECT_EQ(library_call(l, ingot_model_weights_file)(), nullptr);
}

TEST_F(AppendedWeights, I049_DamagedOnesAreNoticed) {
  const std::string wrong_mark = library(area(7)), shifted = library(area(), 64), missing = library("", 64);
  EXPECT_EQ(failed_create(Library(wrong_mark)),
            "Weights data seems corrupt: expected '" + wrong_mark + "' to end in 1122334455667788, found 0000000000000007");
  EXPECT_TRUE(
      failed_create(Library(shifted)).starts_with("weights_offset must be aligned to 16K boundary: those of '" + shifted));
  EXPECT_TRUE(failed_create(Library(missing)).starts_with("weights_offset must be aligned to 16K boundary: "));
  EXPECT_TRUE(failed_create(Library(library_path("affine_appended"))).find("Weights data seems corrupt") == 0 ||
              failed_create(Library(library_path("affine_appended"))).find("weights_offset must be aligned") == 0);
}

TEST_F(AppendedWeights, I026_I067_Blob) {
  const Library l(library(area()));
  const Container container(l);
  uint64_t size = 0;
  ASSERT_EQ(library_call(l, AOTInductorModelContainerGetConstantsBlobSize)(container, &size), 0);
  std::string blob = affine_elements();
  ASSERT_EQ(size, blob.size());
  AffineWeights weights = AffineWeights::times(2);
  memcpy(blob.data(), weights.w.data(), 512);
  weights.b = AffineWeights().b;
  ASSERT_EQ(library_call(l, AOTInductorModelUpdateConstantsFromBlob)(container, reinterpret_cast<const uint8_t*>(blob.data())),
            0);
  blob.assign(blob.size(), 'x');
  const Floats x = rows(3);
  EXPECT_EQ(run_affine(container, x).y, weights.affine(x));
}

// ---- weights in a file beside the library

class ExternalWeights : public ModelTest {
 protected:
  ExternalWeights() { fs::copy_file(library_path("affine_external"), library()); }

  std::string library() const { return folder_.file("affine.so"); }
  fs::path file() const { return folder_.file("affine.safetensors"); }

  // What the test model was compiled with, in the order of its table.
  static std::string contents() {
    std::string header = R"({"__metadata__":{"format":"test"}})";
    header.resize(56, ' ');
    const uint64_t length = header.size();
    return std::string(reinterpret_cast<const char*>(&length), 8) + header + elements();
  }
  static std::string elements() { return affine_elements(); }
  void write(const std::string& bytes) const { std::ofstream(file(), std::ios::binary) << bytes; }

 private:
  const testing::TestFolder folder_;
};

TEST_F(ExternalWeights, I049_AreMappedFromTheFileBesideTheLibrary) {
  write(contents());
  const Library l(library());
  EXPECT_STREQ(library_call(l, ingot_model_weights_file)(), "affine.safetensors");
  const Container container(l);
  const Floats x = rows(3);
  EXPECT_EQ(run_affine(container, x).y, AffineWeights().affine(x));
  // Or where the library is told.
  fs::rename(file(), file().string() + ".far");
  const auto set_file = library_call(l, ingot_model_set_weights_file);
  EXPECT_EQ(set_file(nullptr), 1);
  EXPECT_EQ(set_file(std::string(2000, 'x').c_str()), 1);
  EXPECT_EQ(set_file((file().string() + ".far").c_str()), 0);
  EXPECT_EQ(run_affine(Container(l), x).y, AffineWeights().affine(x));
  // Changes stay in memory.
  ConstantsByName map;
  ASSERT_EQ(library_call(l, AOTInductorModelContainerExtractConstantsMap)(container, handle_of(map), false), 0);
  static_cast<float*>(tensor_of(map.at("layer.bias"))->data())[0] = 5;
  EXPECT_EQ(run_affine(container, x).y[0], AffineWeights().affine(x)[0] + 5);
  const Container other(l);
  EXPECT_EQ(run_affine(other, x).y, AffineWeights().affine(x));
}

TEST_F(ExternalWeights, I049_AnotherFileIsNoticed) {
  const Library l(library());
  write(contents() + "x");
  EXPECT_EQ(failed_create(l), "the weights file '" + file().string() +
                                  "' is not the one this library was compiled with: size: expected 624 bytes, found 625");
  write(contents().substr(0, 100));
  EXPECT_EQ(failed_create(l), "the weights file '" + file().string() +
                                  "' is not the one this library was compiled with: size: expected 624 bytes, found 100");
  std::string other = contents();
  other[30] = 'T';
  write(other);
  EXPECT_TRUE(failed_create(l).starts_with(
      "the weights file '" + file().string() +
      "' is not the one this library was compiled with: hash of its header: expected 7f9ab21ebcaeb5b1, found "));
  other = contents();
  other[5] = 1;  // a header longer than the file
  write(other);
  EXPECT_EQ(failed_create(l),
            "the weights file '" + file().string() + "' is damaged: its header says 1099511627832 bytes of 624");
  fs::remove(file());
  fs::create_directory(file());
  EXPECT_NE(failed_create(l), "no failure");
}

TEST_F(ExternalWeights, I026_I067_Blob) {
  const Library l(library());
  const Container container(l);  // without the file: the constants may come later
  EXPECT_EQ(
      failed_run(l, container),
      "Constants are not mmap'd. Use AOTInductorModelUpdateConstantsBlob to initialize the constants first. (Constant 'p_layer_weight' "
      "has no value: there is no weights file '" +
          file().string() + "')");
  uint64_t size = 0;
  ASSERT_EQ(library_call(l, AOTInductorModelContainerGetConstantsBlobSize)(container, &size), 0);
  std::string blob = elements();
  ASSERT_EQ(size, blob.size());
  const auto update = library_call(l, AOTInductorModelUpdateConstantsFromBlob);
  ASSERT_EQ(update(container, reinterpret_cast<const uint8_t*>(blob.data())), 0);
  blob.assign(blob.size(), 'x');  // it has been copied
  const Floats x = rows(3);
  EXPECT_EQ(run_affine(container, x).y, AffineWeights().affine(x));
  EXPECT_EQ(message_of(l, [&] { return update(container, nullptr); }), "the blob of constants is null");

  const Library embedded(library_path("affine"));
  const Container other(embedded);
  EXPECT_EQ(
      message_of(embedded, [&] { return library_call(embedded, AOTInductorModelContainerGetConstantsBlobSize)(other, &size); }),
      "constant blob size is only available for mmap'd weights");
}

}  // namespace
}  // namespace ingot::test
