// x.index({…}), x.index_put_({…}, v) and x[tensor], with tensors among the indices: masks of
// several dims, integers and truths of no dims. Sizes and sums are PyTorch's.
#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "ingot/transforms.hpp"

namespace ingot {
namespace {

Tensor numbered() { return arange(120).view({2, 3, 4, 5}); }
// Elements by where they stand, so that no two orders of them have one sum.
int64_t sum_by_place(const Tensor& t) { return (t.flatten() * (arange(t.numel()) + 1)).sum().item_int(); }
Tensor mask_of(const Shape& size, const std::vector<int64_t>& set) {
  Tensor m = zeros({size.product()}, {.dtype = boolean});
  for (const int64_t k : set) m[k] = true;
  return m.view(size);
}

// Indices by name, as Python would write them or what they are.
std::vector<TensorIndex> indices_named(const std::string& names) {
  const std::map<std::string, TensorIndex> known{
      {"1", 1},
      {"-1", -1},
      {":", indexing::Slice()},
      {"1:3", indexing::Slice(1, 3)},
      {"::2", indexing::Slice({}, {}, 2)},
      {"None", indexing::None},
      {"...", indexing::Ellipsis},
      {"true", true},
      {"false", false},
      {"one", tensor(1)},
      {"yes", tensor(true)},
      {"no", tensor(false)},
      {"two", tensor({1, 0})},
      {"m23", mask_of({2, 3}, {2, 4})},
      {"m34", mask_of({3, 4}, {1, 11})},
      {"m45", mask_of({4, 5}, {5, 18})},
      {"m5", mask_of({5}, {1, 4})},
  };
  std::vector<TensorIndex> indices;
  std::istringstream words(names);
  for (std::string word; words >> word;) indices.push_back(known.at(word));
  return indices;
}

struct IndicesRow {
  const char* names;
  const char* sizes;  // or "refused"
  int64_t read;       // sum_by_place of x[indices]
  int64_t written;    // sum_by_place of x after x[indices] = 1000, 1001, …
};
const IndicesRow kIndicesRows[] = {
    {"m23 two", "[2, 5]", 4005, 1189035},
    {"m23 1:3 two", "[2, 2]", 763, 832143},
    {"m23 one", "[2, 5]", 4205, 1209960},
    {"one : two", "[3, 2, 5]", 43165, 2957035},
    {"one", "[3, 4, 5]", 181780, 5680160},
    {"no", "[0, 2, 3, 4, 5]", 0, 575960},
    {"yes", "[1, 2, 3, 4, 5]", 575960, 7835960},
    {"m34", "refused", 0, 0},
    {"1 m34 two", "[2]", 296, 741314},
    {"m23 None 1:3", "[2, 1, 2, 5]", 16760, 1895360},
    {"m23 true", "[2, 4, 5]", 66320, 3246960},
    {"m23 m45", "[2]", 241, 709287},
    {": m34 two", "[2, 2]", 774, 801614},
    {"two : m45", "[2, 3]", 1160, 923790},
    {"m23 1 two", "[2]", 216, 699574},
    {"m23 ... 1", "[2, 4]", 2836, 1092740},
    {"... m45", "[2, 3, 2]", 6236, 1270892},
    {": one m45", "[2, 2]", 748, 807324},
    {"one one one", "[5]", 1315, 978560},
    {"yes : two true", "[2, 2, 4, 5]", 171040, 4503560},
    {"yes yes no", "[0, 2, 3, 4, 5]", 0, 575960},
    {"one m34 two true", "[2]", 296, 741314},
    {"two one -1", "[2, 5]", 2955, 1203710},
    {"no yes ::2 1:3 -1", "[0, 1, 2, 5]", 0, 575960},
    {"yes one yes :", "[1, 3, 4, 5]", 181780, 5680160},
    {"yes true no 1", "[0, 3, 4, 5]", 0, 575960},
    {"yes ... false -1 one", "[0, 2, 3]", 0, 575960},
    {"-1 m34 m5", "[2]", 304, 744378},
    {"m23 two true", "[2, 5]", 4005, 1189035},
    {"yes one one", "[1, 4, 5]", 19460, 2241160},
    {"::2 ... yes 1 m5", "[1, 3, 2]", 742, 741236},
    {"1:3 no yes", "[1, 0, 3, 4, 5]", 0, 575960},
    {"one one no", "[0, 4, 5]", 0, 575960},
    {"true yes m23", "[2, 4, 5]", 66320, 3246960},
    {"two yes :", "[2, 3, 4, 5]", 359960, 7619960},
    {"m23 two m5", "[2]", 214, 698743},
    {"yes one ...", "[1, 3, 4, 5]", 181780, 5680160},
    {"two yes m34", "[2, 5]", 3305, 1169360},
    {"None ... m34 m5", "[1, 2, 2]", 798, 808230},
    {"... m34 one", "[2, 2]", 780, 803274},
    {"m23 None two ... one", "[2, 1]", 208, 696238},
    {"yes None : one", "[1, 1, 2, 4, 5]", 62120, 2875160},
    {"yes : no", "[0, 2, 3, 4, 5]", 0, 575960},
    {"yes two two", "[2, 4, 5]", 25920, 2455360},
    {"one no yes", "[0, 3, 4, 5]", 0, 575960},
    {"yes None false 1 one", "[0, 1, 4, 5]", 0, 575960},
    {"two m34 ...", "[2, 5]", 3305, 1169360},
    {"one yes -1", "[1, 4, 5]", 23660, 2564960},
    {"-1 yes one 1:3", "[1, 2, 5]", 5005, 1404035},
    {"true -1 m23", "refused", 0, 0},
    {"true two m23", "refused", 0, 0},
    {"no m34 :", "refused", 0, 0},
    {"one ... m34", "refused", 0, 0},
    {"m34 1:3 1:3", "refused", 0, 0},
};

TEST(TensorIndices, ReadAndWriteAsInPyTorch) {
  for (const IndicesRow& row : kIndicesRows) {
    SCOPED_TRACE(row.names);
    const std::vector<TensorIndex> indices = indices_named(row.names);
    Tensor x = numbered();
    if (std::string(row.sizes) == "refused") {
      EXPECT_THROW(x.index(indices), Error);
      EXPECT_THROW(x.index_put_(indices, 0), Error);
      continue;
    }
    const Tensor got = x.index(indices);
    std::ostringstream sizes;
    sizes << got.sizes();
    EXPECT_EQ(sizes.str(), row.sizes);
    EXPECT_EQ(sum_by_place(got), row.read);
    x.index_put_(indices, arange(got.numel()).view(got.sizes()) + 1000);
    EXPECT_EQ(sum_by_place(x), row.written);
  }
}

TEST(TensorIndices, AMaskBeforeAnotherIndexOfATensorOfThreeDims) {
  const Tensor x = numbered().select(3, 0);
  EXPECT_TRUE(equal(x.index({mask_of({2, 3}, {2, 4}), tensor({1, 0})}), tensor({45, 80})));
}

TEST(TensorIndices, AnIntegerOfNoDimsMakesAView) {
  Tensor x = zeros({3, 2});
  x.index({tensor(1)}).fill_(-1);
  EXPECT_EQ(x.to_vector<double>(), (std::vector<double>{0, 0, -1, -1, 0, 0}));
  x[tensor(-1)].fill_(2);
  EXPECT_EQ(x.to_vector<double>(), (std::vector<double>{0, 0, -1, -1, 2, 2}));
  x[tensor(0)] += 5;
  x[tensor(1)] = x[tensor(2)];
  EXPECT_EQ(x.to_vector<double>(), (std::vector<double>{5, 5, 2, 2, 2, 2}));
}

TEST(TensorIndices, ATruthOfNoDimsAddsADim) {
  const Tensor x = ones({3, 2});
  EXPECT_TRUE(x[tensor(false)].sizes().same({0, 3, 2}));
  EXPECT_TRUE(x[tensor(true)].sizes().same({1, 3, 2}));
  x[tensor(false)] = 7;
  EXPECT_TRUE(equal(x, ones({3, 2})));
  x[tensor(true)] += 1;
  EXPECT_TRUE(equal(x, ones({3, 2}) * 2));
}

// In a trace the integer is not read: the graph is right for another one.
TEST(TensorIndices, AnIntegerThatMustNotBeRead) {
  const Tensor x = numbered(), two = tensor({1, 0}), values = arange(30).view({3, 2, 5}) + 1000;
  const TensorFunction read = [](const TensorList& in) { return TensorList{in[0].index({in[1], indexing::Slice(), in[2]})}; };
  const TensorFunction write = [](const TensorList& in) {
    Tensor z = in[0].clone();
    z.index_put_({in[1], indexing::Slice(), in[2]}, in[3]);
    z[in[1]] += 1;
    return TensorList{z};
  };
  const GraphFunction traced_read = make_fx(functionalize(read), {x, tensor(0), two});
  const GraphFunction traced_write = make_fx(functionalize(write), {x, tensor(0), two, values});
  for (const int64_t k : {0, 1, -1}) {
    EXPECT_TRUE(equal(traced_read({x, tensor(k), two})[0], read({x, tensor(k), two})[0])) << k;
    EXPECT_TRUE(equal(traced_write({x, tensor(k), two, values})[0], write({x, tensor(k), two, values})[0])) << k;
  }
  EXPECT_EQ(sum_by_place(traced_read({x, tensor(1), two})[0]), 43165);
  const Tensor mapped = vmap(read, {.in_dims = {std::nullopt, 0, std::nullopt}})({x, tensor({1, 0}), two})[0];
  EXPECT_TRUE(equal(mapped, stack({read({x, tensor(1), two})[0], read({x, tensor(0), two})[0]})));
}

TEST(Selected, WhatIsSelectedIsAssigned) {
  Tensor a = zeros(4);
  const Tensor b = tensor({1.0, 2.0, 3.0, 4.0}), m = b > 2, k = tensor({0, 3});
  a[m] = b[m];
  EXPECT_EQ(a.to_vector<double>(), (std::vector<double>{0, 0, 3, 4}));
  a[k] = b[tensor({1, 2})];
  EXPECT_EQ(a.to_vector<double>(), (std::vector<double>{2, 0, 3, 3}));
  Tensor x = zeros({2, 2});
  const Tensor y = tensor({1.0, 2.0, 3.0, 4.0}, {2, 2});
  x[0] = y[1];
  EXPECT_EQ(x.to_vector<double>(), (std::vector<double>{3, 4, 0, 0}));
  x[1] = y[y > 2];
  EXPECT_EQ(x.to_vector<double>(), (std::vector<double>{3, 4, 3, 4}));
  x[x > 3] = y[0];
  EXPECT_EQ(x.to_vector<double>(), (std::vector<double>{3, 1, 3, 2}));
}

TEST(Selected, EveryCompoundAssignmentWrites) {
  Tensor x = tensor({5, 6, 7, 8});
  const Tensor m = tensor({false, true, true, false});
  const auto expect_now = [&](std::vector<int64_t> numbers) { EXPECT_EQ(x.to_vector<int64_t>(), numbers); };
  x[m] += 1, expect_now({5, 7, 8, 8});
  x[m] -= tensor({1, 2}), expect_now({5, 6, 6, 8});
  x[m] *= 3, expect_now({5, 18, 18, 8});
  x[m] %= 7, expect_now({5, 4, 4, 8});
  x[m] %= tensor({3, 5}), expect_now({5, 1, 4, 8});
  x[m] |= tensor(8), expect_now({5, 9, 12, 8});
  x[m] &= tensor({8, 6}), expect_now({5, 8, 4, 8});
  x[m] ^= tensor(1), expect_now({5, 9, 5, 8});
  Tensor y = tensor({1.0, 2.0, 4.0, 8.0});
  y[m] /= 2;
  y[m] += tensor({1.0, 1.0}, float64);  // the sum has the type of y, as in place
  EXPECT_EQ(y.to_vector<double>(), (std::vector<double>{1, 2, 3, 8}));
  EXPECT_EQ(y.dtype(), float32);
}

// A variable is what was read: Python's s = x[m]; s = y; s += 1.
TEST(Selected, AVariableIsAnotherTensor) {
  Tensor x = tensor({1.0, 2.0, 3.0});
  const Tensor m = x > 1, y = zeros(2);
  auto s = x[m];
  s += 1;
  s %= 3;
  EXPECT_EQ(s.to_vector<double>(), (std::vector<double>{0, 1}));
  s = y;
  EXPECT_TRUE(s.is_same(y));
  s = x[x < 2];
  EXPECT_EQ(s.to_vector<double>(), std::vector<double>{1});
  auto t = x[m];
  t = s;
  EXPECT_TRUE(t.is_same(s));
  EXPECT_EQ(x.to_vector<double>(), (std::vector<double>{1, 2, 3}));
}

}  // namespace
}  // namespace ingot
