// Memory of sessions: what they say, and what the system says.
#include "ingot/ingot.h"

#include <malloc.h>

#include <algorithm>
#include <vector>

#include "compiler/function_program.hpp"
#include "ingot/nn.hpp"
#include "runner_fixture.hpp"
#include "support/sanitized.hpp"
#include "ingot/dlpack.hpp"

namespace ingot {
namespace {

// Eight layers of 4 MiB of weights each.
constexpr int64_t kLayers = 8, kWidth = 1024;
constexpr uint64_t kWeights = kLayers * kWidth * kWidth * sizeof(float);
// Sanitizers keep what was freed for a while.
constexpr uint64_t kSlack = kSanitized ? uint64_t{1} << 40 : 0;

// Bytes of this process alone: of files that are mapped, only what was written to.
uint64_t private_bytes() {
  malloc_trim(0);
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    uint64_t kilobytes = 0;
    if (word == "RssAnon:" && status >> kilobytes) return kilobytes * 1024;
  }
  ADD_FAILURE() << "the system does not say RssAnon";
  return 0;
}

class SessionMemory : public RunnerTest {
 protected:
  ~SessionMemory() override {
    for (ingot_session* s : sessions_) ingot_session_close(s);
  }

  std::string stack(Model::Weights::Kind weights) const {
    nn::Sequential layers{};
    for (int64_t k = 0; k < kLayers; k++) layers.append(nn::make<nn::Linear>(kWidth, kWidth));
    Program program = function_program([&](const TensorList& x) { return TensorList{layers(x[0])}; }, {zeros({8, kWidth})});
    compile(program, path("stack.so"), {.weights = weights});
    return path("stack.so");
  }

  ingot_session* open(const std::string& file) {
    ingot_session* s = nullptr;
    EXPECT_EQ(ingot_session_open(file.c_str(), nullptr, &s), INGOT_OK) << ingot_error();
    sessions_.push_back(s);
    return s;
  }
  void close(ingot_session* s) {
    std::erase(sessions_, s);
    ingot_session_close(s);
  }
  static Tensor run(ingot_session* s, const Tensor& input) {
    DLManagedTensorVersioned *x = to_dlpack_versioned(input), *y = nullptr;
    const DLTensor* in[] = {&x->dl_tensor};
    EXPECT_EQ(ingot_session_run(s, in, 1, &y, 1), INGOT_OK) << ingot_error();
    x->deleter(x);
    return y ? from_dlpack(y) : Tensor();
  }
  static uint64_t bytes(const ingot_session* s, ingot_memory_kind kind) {
    uint64_t n = 0;
    EXPECT_EQ(ingot_session_memory(s, kind, &n), INGOT_OK) << ingot_error();
    return n;
  }

 private:
  std::vector<ingot_session*> sessions_;
};

TEST_F(SessionMemory, FourSessionsTakeWhatOneTakes) {
  for (const auto kind : {Model::Weights::Kind::embedded, Model::Weights::Kind::external, Model::Weights::Kind::appended}) {
    const std::string file = stack(kind);
    const Tensor x = ones({8, kWidth});
    run(open(path("stack.so")), x);  // code and threads of the process
    const uint64_t before = private_bytes();
    std::vector<ingot_session*> sessions;
    Tensor first;
    for (int k = 0; k < 3; k++) {
      sessions.push_back(open(file));
      const Tensor y = run(sessions.back(), x);
      if (!first.defined()) first = y;
      EXPECT_TRUE(equal(y, first));
      EXPECT_EQ(bytes(sessions.back(), INGOT_MEMORY_CONSTANTS), 0u);
      EXPECT_GE(bytes(sessions.back(), INGOT_MEMORY_FOLDED), kWeights);
      EXPECT_EQ(bytes(sessions.back(), INGOT_MEMORY_SHARED), bytes(sessions.back(), INGOT_MEMORY_FOLDED));
    }
    EXPECT_LT(private_bytes(), before + kWeights / 4 + kSlack) << "three sessions more";
    for (ingot_session* s : sessions) close(s);
  }
}

// A package is unpacked once for all who have it open.
TEST_F(SessionMemory, SessionsOfAPackageShareToo) {
  for (const auto kind : {Model::Weights::Kind::embedded, Model::Weights::Kind::external}) {
    const std::string library = stack(kind), file = path("stack.pt2");
    const bool is_external = kind == Model::Weights::Kind::external;
    write_package(file, {{"model", library, "{}", is_external ? path("stack.so.safetensors") : ""}});
    const Tensor x = ones({8, kWidth});
    ingot_session *one = open(file), *two = open(file);
    EXPECT_TRUE(equal(run(one, x), run(two, x)));
    EXPECT_GE(bytes(one, INGOT_MEMORY_SHARED), kWeights);

    // Written anew, it is another one.
    std::filesystem::remove(file);
    write_package(file, {{"model", mlp(), "{}", ""}});
    expect_close(run(open(file), mlp_input()), mlp_output());
    EXPECT_TRUE(equal(run(one, x), run(two, x)));
    close(one);
    EXPECT_EQ(bytes(two, INGOT_MEMORY_SHARED), 0u);
  }
}

TEST_F(SessionMemory, UpdatesLeaveNothingBehind) {
  const std::string file = stack(Model::Weights::Kind::embedded);
  const Tensor x = ones({8, kWidth});
  ingot_session* s = open(file);
  run(s, x);
  const uint64_t before = private_bytes();
  const Tensor weight = zeros({kWidth, kWidth}), y = zeros({kWidth});
  DLManagedTensorVersioned* given = to_dlpack_versioned(weight);
  ingot_constant_info info{};
  ASSERT_EQ(ingot_session_constant(s, 0, &info), INGOT_OK);
  const ingot_named_tensor update{info.name, &given->dl_tensor};
  for (int round = 0; round < 10; round++) {
    ASSERT_EQ(ingot_session_update(s, &update, 1, true, false), INGOT_OK) << ingot_error();
    ASSERT_EQ(ingot_session_swap(s), INGOT_OK) << ingot_error();
    run(s, x);
    ASSERT_EQ(ingot_session_free_inactive(s), INGOT_OK);
  }
  given->deleter(given);
  // Those of a function are of the kind that an update which leaves them out copies (I058).
  EXPECT_GE(bytes(s, INGOT_MEMORY_CONSTANTS), kWeights);
  EXPECT_LT(bytes(s, INGOT_MEMORY_CONSTANTS), kWeights + info.bytes) << "once";
  EXPECT_GE(bytes(s, INGOT_MEMORY_FOLDED), kWeights);
  EXPECT_EQ(bytes(s, INGOT_MEMORY_SHARED), 0u);
  EXPECT_LT(private_bytes(), before + kWeights + kWeights / 4 + kSlack);
}

TEST_F(SessionMemory, AModelOfAnotherCompilerDoesNotSay) {
  ingot_session* s = open(std::string(INGOT_STUB_DIR) + "/stub_torch.so");
  uint64_t n = 0;
  EXPECT_EQ(ingot_session_memory(s, INGOT_MEMORY_FOLDED, &n), INGOT_INVALID);
  expect_in("does not say what memory it takes", ingot_error());
  EXPECT_EQ(ingot_session_memory(s, INGOT_MEMORY_FOLDED, nullptr), INGOT_INVALID);
}

}  // namespace
}  // namespace ingot
