// What a run says to inputs that are not what the program was compiled for, and what it does with
// those that only lie otherwise.
#include <functional>

#include "model_fixture.hpp"

namespace ingot::test {
namespace {

using Inputs = ModelTest;

// The inputs of programs/many.c, right at first.
struct Many {
  int64_t s0 = 4, s1 = 3;
  Floats a = Floats(12);
  std::vector<int64_t> b = {5, -1, 0, 7}, n = {2};
  std::vector<double> c = std::vector<double>(8);

  Many() {
    for (size_t i = 0; i < a.size(); i++) a[i] = static_cast<float>(i);
  }
  std::vector<AtenTensorHandle> handles() {
    return {tensor_over(a, {s0, s1}, {1, s0}), tensor_over(b, {s0}), tensor_over(c, {2 * s0}), tensor_over(n, {})};
  }
  static void release(const std::vector<AtenTensorHandle>& outputs) {
    for (AtenTensorHandle o : outputs) {
      if (o) aoti_torch_delete_tensor_object(o);
    }
  }
};

struct Bad {
  const char* what;
  std::function<void(std::vector<AtenTensorHandle>&)> spoil;
  const char* message;
};

TEST_F(Inputs, I044_EveryKindOfWrongInputIsNamed) {
  const auto sizes = [](int k, std::vector<int64_t> sizes) {
    return [=](std::vector<AtenTensorHandle>& h) {
      tensor_of(h[k])->sizes = sizes;
      tensor_of(h[k])->strides = dense(sizes);
    };
  };
  static std::vector<int64_t> numbers = {-1, 101};
  static std::vector<float> room(1 << 12);
  const auto roomy = [sizes](int k, std::vector<int64_t> s) {
    return [=](std::vector<AtenTensorHandle>& h) {
      sizes(k, s)(h);
      tensor_of(h[k])->storage = reinterpret_cast<char*>(room.data());
    };
  };
  const Bad table[] = {
      {"null", [](auto& h) { aoti_torch_delete_tensor_object(h[1]), h[1] = nullptr; },
       "input 1 (b): expected a tensor, found null"},
      {"dtype", [](auto& h) { tensor_of(h[0])->dtype = 7; }, "input 0 (a): dtype: expected float32, found float64"},
      {"dtype of a number", [](auto& h) { tensor_of(h[3])->dtype = 3; }, "input 3 (n): dtype: expected int64, found int32"},
      {"a dtype that the host has and we have not", [](auto& h) { tensor_of(h[0])->dtype = 50; },
       "input 0 (a): dtype: expected float32, found an unknown dtype"},
      {"rank", sizes(0, {12}), "input 0 (a): number of dims: expected 2, found 1"},
      {"rank of a number", sizes(3, {1}), "input 3 (n): number of dims: expected 0, found 1"},
      {"too many dims", sizes(1, {4, 1}), "input 1 (b): number of dims: expected 1, found 2"},
      {"device", [](auto& h) { tensor_of(h[2])->device = kOtherDevice; },
       "input 2 (c): device: expected cpu, found a tensor on the host's device type 71"},
      {"layout", [](auto& h) { tensor_of(h[0])->layout = kSparse; },
       "input 0 (a): layout: expected a strided tensor, found the host's layout 81"},
      {"no elements behind it", [](auto& h) { tensor_of(h[2])->storage = nullptr; },
       "input 2 (c): expected elements, found none behind the tensor"},
      {"a size that must equal another", sizes(1, {3}), "input 1 (b): size of dim 0: expected 4 (s0), found 3"},
      {"a size that follows from another", sizes(2, {7}), "input 2 (c): size of dim 0: expected 8 (2*s0), found 7"},
      {"too small", roomy(0, {1, 1}), "input 0 (a): dim 0 (s0): expected at least 2, found 1"},
      {"zero", roomy(0, {0, 1}), "input 0 (a): dim 0 (s0): expected at least 2, found 0"},
      {"too large", roomy(0, {2, 1001}), "input 0 (a): dim 1 (s1): expected 0 to 1000, found 1001"},
      {"a number too small", [](auto& h) { tensor_of(h[3])->storage = reinterpret_cast<char*>(&numbers[0]); },
       "s2: expected 0 to 100, found -1"},
      {"a number too large", [](auto& h) { tensor_of(h[3])->storage = reinterpret_cast<char*>(&numbers[1]); },
       "s2: expected 0 to 100, found 101"},
      {"guard with a reason", [&](auto& h) { roomy(0, {3, 1})(h), roomy(1, {3})(h), roomy(2, {6})(h); },
       "sizes of the inputs: expected s0 % 2 == 0 (the view of a in aten.view), found s0 = 3"},
      {"guard of two symbols", [&](auto& h) { roomy(0, {2, 5})(h), roomy(1, {2})(h), roomy(2, {4})(h); },
       "sizes of the inputs: expected s1 <= s0, found s0 = 2, s1 = 5"},
  };
  const Library library(library_path("many"));
  const Container container(library);
  for (const Bad& bad : table) {
    Many many;
    std::vector<AtenTensorHandle> handles = many.handles(), outputs(4);
    bad.spoil(handles);
    EXPECT_EQ(message_of(library, [&] { return container.run(handles, outputs); }), bad.message) << bad.what;
    EXPECT_EQ(outputs, std::vector<AtenTensorHandle>(4)) << bad.what;
  }
  // And the container is as good as new.
  Many many;
  std::vector<AtenTensorHandle> outputs(4);
  EXPECT_EQ(container.run(many.handles(), outputs), 0);
  Many::release(outputs);
}

TEST_F(Inputs, FixedSizesAndRanges) {
  const Library library(library_path("affine"));
  const Container container(library);
  Floats x(65 * 16);
  std::vector<AtenTensorHandle> outputs(2);
  const auto message = [&](std::vector<int64_t> sizes) {
    return message_of(library, [&] { return container.run({tensor_over(x, sizes)}, outputs); });
  };
  EXPECT_EQ(message({3, 8}), "input 0 (x): size of dim 1: expected 16, found 8");
  EXPECT_EQ(message({65, 16}), "input 0 (x): dim 0 (s0): expected 1 to 64, found 65");
  EXPECT_EQ(message({0, 16}), "input 0 (x): dim 0 (s0): expected 1 to 64, found 0");
}

TEST_F(Inputs, ChecksOfSizesCanBeTurnedOff) {
  const Library library(library_path("many"));
  const Container container(library);
  Many many;
  many.s0 = 3;  // breaks a guard that the code of this program does not in truth need
  std::vector<AtenTensorHandle> outputs(4);
  EXPECT_EQ(message_of(library, [&] { return container.run(many.handles(), outputs); }).substr(0, 20), "sizes of the inputs:");
  ASSERT_EQ(library_call(library, ingot_container_set_checks)(container, false), 0);
  EXPECT_EQ(container.run(many.handles(), outputs), 0);
  Many::release(outputs);
  // What the runtime itself relies on is checked all the same.
  std::vector<AtenTensorHandle> handles = many.handles();
  tensor_of(handles[0])->dtype = 7;
  EXPECT_EQ(message_of(library, [&] { return container.run(handles, outputs); }),
            "input 0 (a): dtype: expected float32, found float64");
  ASSERT_EQ(setenv("AOTI_RUNTIME_CHECK_INPUTS", "0", 1), 0);
  const Container unchecked(library);
  ASSERT_EQ(unsetenv("AOTI_RUNTIME_CHECK_INPUTS"), 0);
  EXPECT_EQ(unchecked.run(many.handles(), outputs), 0);
  Many::release(outputs);
}

TEST_F(Inputs, OtherStridesAndAddressesAreCopiedAndWrittenBack) {
  const Library library(library_path("many"));
  const Container container(library);
  const auto check = [&](std::vector<AtenTensorHandle> handles, const Floats& a_before, const auto& a_after) {
    std::vector<AtenTensorHandle> outputs(4);
    ASSERT_EQ(container.run(handles, outputs), 0);
    Floats twice;
    for (int i = 0; i < 4; i++) {
      for (int j = 0; j < 3; j++) twice.push_back(2 * a_before[i + 4 * j] + 2);
    }
    EXPECT_EQ(values_of(outputs[0]), twice);
    EXPECT_EQ(values_of<int64_t>(outputs[1]), (std::vector<int64_t>{5, 7}));
    EXPECT_EQ(values_of<int64_t>(outputs[3]), (std::vector<int64_t>{1999 * 1000}));
    for (int j = 0; j < 3; j++) {
      for (int i = 0; i < 4; i++) EXPECT_EQ(a_after(i, j), a_before[i + 4 * j] + 1) << i << " " << j;
    }
    Many::release(outputs);
  };
  Many many;
  const Floats before = many.a;
  check(many.handles(), before, [&](int i, int j) { return many.a[i + 4 * j]; });  // in place

  Floats row_major(12);  // rows first, where the program expects columns first
  for (int i = 0; i < 4; i++) {
    for (int j = 0; j < 3; j++) row_major[i * 3 + j] = before[i + 4 * j];
  }
  std::vector<AtenTensorHandle> handles = many.handles();
  aoti_torch_delete_tensor_object(handles[0]);
  handles[0] = tensor_over(row_major, {4, 3});
  check(handles, before, [&](int i, int j) { return row_major[i * 3 + j]; });

  Floats sparse(200);  // every other element of every other row, behind an offset
  for (int i = 0; i < 4; i++) {
    for (int j = 0; j < 3; j++) sparse[5 + i * 40 + j * 2] = before[i + 4 * j];
  }
  handles = many.handles();
  aoti_torch_delete_tensor_object(handles[0]);
  handles[0] = tensor_over(sparse, {4, 3}, {40, 2});
  tensor_of(handles[0])->offset = 5;
  check(handles, before, [&](int i, int j) { return sparse[5 + i * 40 + j * 2]; });
  EXPECT_EQ(sparse[0], 0);
  EXPECT_EQ(sparse[6], 0);

  // Bytes that begin anywhere: of the tensor that is written, of one that is read and of the
  // number.
  std::vector<char> bytes(200);
  memcpy(bytes.data() + 1, before.data(), 48);
  memcpy(bytes.data() + 101, many.b.data(), 32);
  memcpy(bytes.data() + 181, many.n.data(), 8);
  handles = many.handles();
  tensor_of(handles[0])->storage = bytes.data() + 1;
  tensor_of(handles[1])->storage = bytes.data() + 101;
  tensor_of(handles[3])->storage = bytes.data() + 181;
  check(handles, before, [&](int i, int j) {
    float v;
    memcpy(&v, bytes.data() + 1 + 4 * (i + 4 * j), 4);
    return v;
  });

  // An expanded input: all of b is one element.
  handles = many.handles();
  tensor_of(handles[1])->strides = {0};
  std::vector<AtenTensorHandle> outputs(4);
  ASSERT_EQ(container.run(handles, outputs), 0);
  EXPECT_EQ(values_of<int64_t>(outputs[1]), (std::vector<int64_t>{5, 5, 5, 5}));
  Many::release(outputs);
}

TEST_F(Inputs, EmptyTensorsRun) {
  const Library library(library_path("many"));
  const Container container(library);
  Many many;
  many.s1 = 0;
  many.b = {-1, -1, -1, -1};
  std::vector<AtenTensorHandle> handles = many.handles(), outputs(4);
  tensor_of(handles[0])->storage = nullptr;
  ASSERT_EQ(container.run(handles, outputs), 0);
  EXPECT_EQ(tensor_of(outputs[0])->sizes, (std::vector<int64_t>{4, 0}));
  EXPECT_EQ(tensor_of(outputs[1])->sizes, (std::vector<int64_t>{0}));
  Many::release(outputs);
}

TEST_F(Inputs, FailuresOfTheProgramItself) {
  const Library library(library_path("many"));
  const Container container(library);
  Many many;
  const Floats before = many.a;
  const auto message = [&](int64_t n) {
    std::vector<AtenTensorHandle> outputs(4);
    many.n = {n};
    const std::string text = message_of(library, [&] { return container.run(many.handles(), outputs); });
    Many::release(outputs);
    return text;
  };
  EXPECT_EQ(message(99), "n must not be 99");
  EXPECT_EQ(message(98), "the program failed and did not say why");
  EXPECT_EQ(message(97), "out of memory: 9223372036854775807 bytes are not to be had");
  EXPECT_EQ(message(96), "the program did not make output 0 (twice)");
  EXPECT_EQ(many.a, before);
  EXPECT_EQ(message(95), "no failure");
}

// A failure says `Error: ` and why; an exception that is no standard one says nothing, and so it is
// printed.
TEST_F(Inputs, I004_FailuresAreWrittenToStandardError) {
  const Library library(library_path("many"));
  const Container container(library);
  Many many;
  const auto printed = [&](int64_t n) {
    std::vector<AtenTensorHandle> outputs(4);
    many.n = {n};
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(container.run(many.handles(), outputs), AOTI_RUNTIME_FAILURE);
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(printed(99), "Error: n must not be 99\n");
  EXPECT_EQ(printed(97), "Error: out of memory: 9223372036854775807 bytes are not to be had\n");
  EXPECT_EQ(printed(94), "Unknown exception occurred.\n");
}

TEST_F(Inputs, RandomDrawsFollowTheSeed) {
  const Library library(library_path("many"));
  const Container container(library), other(library);
  Many many;
  const auto draw = [&](const Container& c) {
    std::vector<AtenTensorHandle> outputs(4);
    EXPECT_EQ(c.run(many.handles(), outputs), 0);
    const std::vector<int64_t> values = values_of<int64_t>(outputs[2]);
    Many::release(outputs);
    return values;
  };
  constexpr int64_t kDefaultSeed = 67280421310721;  // Generator::kDefaultSeed
  EXPECT_EQ(draw(container), (std::vector<int64_t>{kDefaultSeed, 0}));
  EXPECT_EQ(draw(container), (std::vector<int64_t>{kDefaultSeed, 1}));
  EXPECT_EQ(draw(other), (std::vector<int64_t>{kDefaultSeed, 0}));
  ASSERT_EQ(library_call(library, ingot_container_set_seed)(container, 7), 0);
  EXPECT_EQ(draw(container), (std::vector<int64_t>{7, 0}));
  uint64_t seed = 0, offset = 0;
  ASSERT_EQ(library_call(library, ingot_container_get_draw)(container, &seed, &offset), 0);
  EXPECT_EQ(seed, 7u);
  EXPECT_EQ(offset, 1u);
  draw(container);
  ASSERT_EQ(library_call(library, ingot_container_set_draw)(container, seed, offset), 0);
  EXPECT_EQ(draw(container), (std::vector<int64_t>{7, 1}));
}

}  // namespace
}  // namespace ingot::test
