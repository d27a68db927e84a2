// Runs by names, and the sizes of their results before them (ingot/ingot.h).
#include "bad_input_fixture.hpp"
#include "compiler/pipeline.hpp"
#include "ingot/dlpack.hpp"
#include "op/call.hpp"

namespace ingot {
namespace {

// The golden program with x of [s, 4] and y of [2*s, 4], and four outputs.
class Named : public BadInput {
 protected:
  ingot_session* open_shapes() {
    Program program = load_pt2(golden("dynamic_shapes/model.pt2"));
    compile(program, path("shapes.so"));
    return open(path("shapes.so"));
  }
  static std::vector<std::string> output_names(const ingot_session* s) {
    std::vector<std::string> names;
    ingot_value value;
    for (std::size_t k = 0; k < ingot_session_output_count(s); k++) {
      EXPECT_EQ(ingot_session_output(s, k, &value), INGOT_OK);
      names.emplace_back(value.name);
    }
    return names;
  }
};

// A run of it by names, right in everything until a row spoils it.
struct NamedRun {
  explicit NamedRun(const std::vector<std::string>& names) {
    for (std::size_t k = 0; k < 4; k++) out[k].name = names[3 - k].c_str();
  }
  Place x{arange(12).to(float32).view({3, 4})}, y{ones({6, 4})};
  ingot_named_tensor in[3] = {{"y", &y.t}, {"x", &x.t}, {"x", &x.t}};
  ingot_named_output out[5] = {};
  const ingot_named_tensor* inputs = in;
  ingot_named_output* outputs = out;
  std::size_t input_count = 2, output_count = 4;
};

struct NamedRow {
  const char* name;
  void (*spoil)(NamedRun&);
  Words words;
};

const NamedRow kNamedRows[] = {
    // clang-format off
    {"backwards", [](NamedRun&) {}, {}},
    {"in order", [](NamedRun& r) { std::swap(r.in[0], r.in[1]), std::swap(r.out[0], r.out[3]); }, {}},
    {"an unknown input", [](NamedRun& r) { r.in[0].name = "z"; }, {"no input 'z'", "the inputs of the model are x, y"}},
    {"an input twice", [](NamedRun& r) { r.in[0].name = "x"; }, {"input 'x' is named twice", "are x, y"}},
    {"an input too many", [](NamedRun& r) { r.input_count = 3; }, {"input 'x' is named twice", "are x, y"}},
    {"a missing input", [](NamedRun& r) { r.input_count = 1; }, {"input 'x' is missing", "are x, y"}},
    {"no inputs", [](NamedRun& r) { r.input_count = 0; }, {"input 'x' is missing", "are x, y"}},
    {"a null name", [](NamedRun& r) { r.in[1].name = nullptr; }, {"the name of an input is null", "are x, y"}},
    {"null inputs", [](NamedRun& r) { r.inputs = nullptr; }, {"the array of inputs is null"}},
    {"a null tensor", [](NamedRun& r) { r.in[0].tensor = nullptr; }, {"input 1 (y)", "expected a tensor, found null"}},
    {"a wrong size", [](NamedRun& r) { r.y.sizes[0] = 5; }, {"input 1 (y)", "size of dim 0: expected 6", "found 5"}},
    {"an unknown output", [](NamedRun& r) { r.out[2].name = "z"; }, {"no output 'z'", "the outputs of the model are "}},
    {"an output twice", [](NamedRun& r) { r.out[2].name = r.out[1].name; }, {"is named twice", "the outputs of the model are "}},
    {"a missing output", [](NamedRun& r) { r.output_count = 3; }, {"is missing", "the outputs of the model are "}},
    {"an output without a name", [](NamedRun& r) { r.out[0].name = nullptr; }, {"the name of an output is null", "the outputs of the model are "}},
    {"null outputs", [](NamedRun& r) { r.outputs = nullptr; }, {"the array of outputs is null"}},
    // clang-format on
};

TEST_F(Named, RunsTakeNamesInAnyOrder) {
  ingot_session* s = open_shapes();
  const std::vector<std::string> names = output_names(s);
  ASSERT_EQ(names.size(), 4u);
  TensorList expected;
  {
    const NamedRun r(names);
    const DLTensor* in[] = {&r.x.t, &r.y.t};
    DLManagedTensorVersioned* out[4] = {};
    ASSERT_EQ(ingot_session_run(s, in, 2, out, 4), INGOT_OK) << ingot_error();
    for (DLManagedTensorVersioned* o : out) expected.push_back(from_dlpack(o));
  }
  for (const NamedRow& row : kNamedRows) {
    NamedRun r(names);
    row.spoil(r);
    const ingot_status status = ingot_session_run_named(s, r.inputs, r.input_count, r.outputs, r.output_count);
    EXPECT_EQ(status, row.words.empty() ? INGOT_OK : INGOT_INVALID) << row.name;
    expect_words(row.name, status == INGOT_OK ? "" : ingot_error(), row.words);
    for (const ingot_named_output& o : r.out) {
      if (status != INGOT_OK) EXPECT_EQ(o.tensor, nullptr) << row.name;
      else if (o.name)
        expect_close(from_dlpack(o.tensor),
                     expected[static_cast<std::size_t>(std::find(names.begin(), names.end(), o.name) - names.begin())]);
    }
  }
  NamedRun r(names);
  EXPECT_EQ(ingot_session_run_named(nullptr, r.in, 2, r.out, 4), INGOT_INVALID);
  EXPECT_STREQ(ingot_error(), "the session is null");
}

struct SizesRow {
  const char* name;
  int64_t x, y;
  std::size_t output;
  std::vector<int64_t> sizes;
  Words words;
};

TEST_F(Named, SizesOfOutputsAreKnownBeforeARun) {
  const SizesRow rows[] = {
      {"the first", 3, 6, 0, {6, 4}, {}},
      {"a product", 50, 100, 1, {200}, {}},
      {"a fixed one", 50, 100, 2, {4}, {}},
      {"a symbol", 2, 4, 3, {2}, {}},
      {"inputs that do not fit", 3, 7, 0, {0, 0}, {"input 1 (y)", "expected 6 (2*", "found 7"}},
      {"out of range", 101, 202, 0, {0, 0}, {"input 0 (x)", "expected 2 to 100, found 101"}},
      {"a negative size", -1, 202, 0, {0, 0}, {"input 0 (x)", "the size -1 is negative"}},
      {"past the end", 3, 6, 4, {0}, {"output 4: there are 4"}},
      {"too little room", 3, 6, 0, {0}, {"output 0 (", "expected room for 2 sizes, found 1"}},
  };
  ingot_session* s = open_shapes();
  for (const SizesRow& row : rows) {
    // Inputs that nobody has made yet.
    int64_t x_sizes[] = {row.x, 4}, y_sizes[] = {row.y, 4};
    DLTensor x = {nullptr, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, x_sizes, nullptr, 0}, y = x;
    y.shape = y_sizes;
    const DLTensor* in[] = {&x, &y};
    std::vector<int64_t> found(row.sizes.size(), -7);
    const ingot_status status =
        ingot_session_output_sizes(s, in, 2, row.output, found.data(), static_cast<int32_t>(found.size()));
    EXPECT_EQ(status, row.words.empty() ? INGOT_OK : INGOT_INVALID) << row.name;
    expect_words(row.name, status == INGOT_OK ? "" : ingot_error(), row.words);
    EXPECT_EQ(found, status == INGOT_OK ? row.sizes : std::vector<int64_t>(found.size(), -7)) << row.name;
  }
}

TEST_F(Named, WrongQuestionsForSizesAreRefused) {
  ingot_session* s = open(mlp());
  int64_t sizes[2] = {8, 64}, found[2] = {};
  DLTensor x = {nullptr, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, sizes, nullptr, 0};
  const DLTensor *in[] = {&x, &x}, *none[] = {nullptr};
  ASSERT_EQ(ingot_session_output_sizes(s, in, 1, 0, found, 2), INGOT_OK) << ingot_error();
  EXPECT_EQ(found[0], 8);
  EXPECT_EQ(found[1], 10);
  const auto refused = [&](ingot_status status, const char* words) {
    EXPECT_EQ(status, INGOT_INVALID) << words;
    expect_in(words, ingot_error());
  };
  refused(ingot_session_output_sizes(nullptr, in, 1, 0, found, 2), "the session is null");
  refused(ingot_session_output_sizes(s, in, 2, 0, found, 2), "expected 1 inputs, found 2");
  refused(ingot_session_output_sizes(s, nullptr, 1, 0, found, 2), "the array of inputs is null");
  refused(ingot_session_output_sizes(s, none, 1, 0, found, 2), "input 0 (x): expected a tensor, found null");
  refused(ingot_session_output_sizes(s, in, 1, 0, nullptr, 2), "the address for the answer is null");
  x.dtype.bits = 64;
  refused(ingot_session_output_sizes(s, in, 1, 0, found, 2), "input 0 (x): dtype: expected float32, found float64");
  x.dtype = {99, 3, 1};
  refused(ingot_session_output_sizes(s, in, 1, 0, found, 2), "models have no element type of code 99");
  refused(ingot_session_output_sizes(open(std::string(INGOT_STUB_DIR) + "/stub_torch.so"), in, 1, 0, found, 2),
          "was not made by Ingot");
}

// Rows that a mask picks: how many, nobody knows before. The other output has sizes.
TEST_F(Named, SizesThatDataDecidesAreKnownAfterARun) {
  const TensorFunction f = [](const TensorList& in) { return TensorList{in[0] + 1, aten<"nonzero">(in[0])}; };
  compile(f, {ones({5})}, {}, path("picked.so"));
  ingot_session* s = open(path("picked.so"));
  int64_t five[] = {5}, found[2] = {};
  const DLTensor x = {nullptr, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, five, nullptr, 0};
  const DLTensor* in[] = {&x};
  ASSERT_EQ(ingot_session_output_sizes(s, in, 1, 0, found, 1), INGOT_OK) << ingot_error();
  EXPECT_EQ(found[0], 5);
  EXPECT_EQ(ingot_session_output_sizes(s, in, 1, 1, found, 2), INGOT_INVALID);
  expect_in("output 1 (", ingot_error());
  expect_in("size of dim 0: elements of the inputs decide ", ingot_error());
}

}  // namespace
}  // namespace ingot
