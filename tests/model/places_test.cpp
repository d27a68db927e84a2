// Results in memory of the caller: written there where it suits, in new memory elsewhere.
#include <cstring>

#include "model_fixture.hpp"

namespace ingot::test {
namespace {

using Places = ModelTest;

// A run of programs/affine.c over two rows, with a place for y ([2, 8]) and none for the counter.
struct PlacedRun {
  alignas(64) float memory[64] = {};
  int64_t sizes[3] = {2, 8, 1}, strides[3] = {8, 1, 1};
  ingot_tensor_info places[2] = {{memory, INGOT_FLOAT32, 2, sizes, strides}, {}};
  Floats x = rows(2);

  // Whether y was written in place. It is right wherever it is.
  bool is_in_place(const Library& library, const Container& container, const float* input = nullptr) {
    const AtenTensorHandle given = tensor_over(x, {2, 16});
    if (input) tensor_of(given)->storage = reinterpret_cast<char*>(const_cast<float*>(input));
    AtenTensorHandle in = given, outputs[2] = {};
    EXPECT_EQ(library_call(library, ingot_container_run_into)(container, 0, &in, 1, places, outputs, 2, nullptr), 0)
        << library_call(library, ingot_last_error)();
    if (!outputs[0]) return false;
    EXPECT_EQ(values_of(outputs[0]), AffineWeights().affine(x));
    const bool is_there = tensor_of(outputs[0])->data() == places[0].data;
    EXPECT_TRUE(!is_there || std::memcmp(places[0].data, values_of(outputs[0]).data(), 64) == 0);
    for (AtenTensorHandle o : outputs) aoti_torch_delete_tensor_object(o);
    return is_there;
  }
};

TEST_F(Places, ThatSuitAreWrittenByTheRun) {
  const Library library(library_path("affine_pure"));
  const Container container(library);
  const struct {
    const char* name;
    void (*change)(PlacedRun&);
    bool is_in_place;
  } rows[] = {
      {"as it is", [](PlacedRun&) {}, true},
      {"elsewhere in the memory", [](PlacedRun& r) { r.places[0].data = r.memory + 16; }, true},
      {"no data", [](PlacedRun& r) { r.places[0].data = nullptr; }, false},
      {"not at 64 bytes", [](PlacedRun& r) { r.places[0].data = r.memory + 1; }, false},
      {"another dtype", [](PlacedRun& r) { r.places[0].dtype = INGOT_INT32; }, false},
      {"another rank", [](PlacedRun& r) { r.places[0].rank = 3; }, false},
      {"other sizes", [](PlacedRun& r) { r.sizes[0] = 3; }, false},
      {"other strides", [](PlacedRun& r) { r.strides[0] = 16; }, false},
      {"another place overlaps", [](PlacedRun& r) { r.places[1] = {r.memory + 8, INGOT_FLOAT32, 1, r.sizes + 2, r.strides + 2}; },
       false},
      {"another place beside it",
       [](PlacedRun& r) { r.places[1] = {r.memory + 16, INGOT_FLOAT32, 1, r.sizes + 2, r.strides + 2}; }, true},
  };
  for (const auto& row : rows) {
    PlacedRun r;
    row.change(r);
    EXPECT_EQ(r.is_in_place(library, container), row.is_in_place) << row.name;
  }
}

// The run would read what it has written.
TEST_F(Places, ThatOverlapAnInputAreLeftAlone) {
  const Library library(library_path("affine_pure"));
  const Container container(library);
  PlacedRun r;
  std::copy(r.x.begin(), r.x.end(), r.memory);
  EXPECT_FALSE(r.is_in_place(library, container, r.memory));
  EXPECT_TRUE(std::equal(r.x.begin(), r.x.end(), r.memory));
  PlacedRun half;
  std::copy(half.x.begin(), half.x.end(), half.memory + 8);
  EXPECT_FALSE(half.is_in_place(library, container, half.memory + 8));
}

}  // namespace
}  // namespace ingot::test
