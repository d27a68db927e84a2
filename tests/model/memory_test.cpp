// What memory constants take: what is there once for all containers of a library, and what goes
// when it is of no more use.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include "model_fixture.hpp"
#include "support/sanitized.hpp"
#include "support/test_folder.hpp"

namespace ingot::test {
namespace {

// Of affine.c: the folded weight, and its sources.
constexpr uint64_t kFolded = 512, kWeight = 512, kBias = 40, kSteps = 4, kConstant = 4;

struct Counts {
  uint64_t constants = 0, folded = 0, shared = 0;
  bool operator==(const Counts&) const = default;
  friend std::ostream& operator<<(std::ostream& out, const Counts& c) {
    return out << c.constants << " of constants, " << c.folded << " folded, " << c.shared << " of them shared";
  }
};

class Memory : public ModelTest {
 protected:
  explicit Memory(const std::string& path = library_path("affine_pure")) : library(path) {}

  Counts counts(const Container& container) const {
    const auto count = library_call(library, ingot_container_memory);
    Counts c;
    EXPECT_EQ(count(container, INGOT_MEMORY_CONSTANTS, &c.constants), 0);
    EXPECT_EQ(count(container, INGOT_MEMORY_FOLDED, &c.folded), 0);
    EXPECT_EQ(count(container, INGOT_MEMORY_SHARED, &c.shared), 0);
    return c;
  }
  int foldings() const { return *static_cast<int*>(library.symbol("ingot_test_folds")); }
  void on_fold(void (*action)()) const { *static_cast<void (**)()>(library.symbol("ingot_test_on_fold")) = action; }

  void update(const Container& container, ConstantsByName map, bool inactive) const {
    EXPECT_EQ(library_call(library, AOTInductorModelContainerUpdateConstantBuffer)(container, handle_of(map), inactive, false),
              0);
    for (auto& [name, handle] : map) aoti_torch_delete_tensor_object(handle);
  }
  void swap(const Container& container) const {
    EXPECT_EQ(library_call(library, AOTInductorModelContainerSwapConstantBuffer)(container), 0);
  }
  std::string failed_swap(const Container& container) const {
    return message_of(library, [&] { return library_call(library, AOTInductorModelContainerSwapConstantBuffer)(container); });
  }
  void free_inactive(const Container& container) const {
    EXPECT_EQ(library_call(library, AOTInductorModelContainerFreeInactiveConstantBuffer)(container), 0);
  }

  const Library library;
  const Floats x = rows(3);
};

TEST_F(Memory, ContainersOfALibraryShareWhatIsFoldedFromItsWeights) {
  std::vector<std::unique_ptr<Container>> containers;
  for (int i = 0; i < 4; i++) containers.push_back(std::make_unique<Container>(library));
  EXPECT_EQ(counts(*containers[0]), (Counts{0, 0, 0}));
  EXPECT_EQ(run_affine(*containers[0], x).y, AffineWeights().affine(x));
  EXPECT_EQ(counts(*containers[0]), (Counts{0, kFolded, 0}));
  for (const auto& c : containers) EXPECT_EQ(run_affine(*c, x).y, AffineWeights().affine(x));
  for (const auto& c : containers) EXPECT_EQ(counts(*c), (Counts{0, kFolded, kFolded}));
  EXPECT_EQ(foldings(), 1);

  // Each goes by itself, and what they shared with the last one.
  containers.erase(containers.begin());
  EXPECT_EQ(run_affine(*containers[0], x).y, AffineWeights().affine(x));
  containers.resize(1);
  EXPECT_EQ(counts(*containers[0]), (Counts{0, kFolded, 0}));
  containers.push_back(std::make_unique<Container>(library));
  EXPECT_EQ(run_affine(*containers[1], x).y, AffineWeights().affine(x));
  EXPECT_EQ(foldings(), 1);
  containers.clear();
  EXPECT_EQ(run_affine(Container(library), x).y, AffineWeights().affine(x));
  EXPECT_EQ(foldings(), 2);
}

TEST_F(Memory, FirstRunsAtTheSameTimeFoldOnce) {
  for (int round = 1; round <= 20; round++) {
    std::vector<std::unique_ptr<Container>> containers;
    for (int i = 0; i < 4; i++) containers.push_back(std::make_unique<Container>(library));
    on_fold([] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); });
    std::atomic<int> right = 0;
    std::vector<std::thread> threads;
    for (const auto& c : containers) threads.emplace_back([&] { right += run_affine(*c, x).y == AffineWeights().affine(x); });
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(right, 4);
    EXPECT_EQ(foldings(), round);
  }
}

TEST_F(Memory, AFoldingThatFailsIsTriedAgainByTheNext) {
  const Container first(library), second(library);
  int& fails = *static_cast<int*>(library.symbol("ingot_test_fold_fails"));
  fails = 1;
  EXPECT_EQ(failed_run(library, first), "cannot fold this weight");
  EXPECT_EQ(failed_run(library, second), "cannot fold this weight");
  fails = 0;
  for (const Container* c : {&first, &second}) EXPECT_EQ(run_affine(*c, x).y, AffineWeights().affine(x));
  EXPECT_EQ(foldings(), 3);
}

// Who has a tensor over the library's own weights may write there at any time: the next folding
// sees it, whoever has folded them before.
TEST_F(Memory, I062_AFoldingSeesWhatWasWrittenThroughATensor) {
  const auto fold = [&](const Container& container) {
    EXPECT_EQ(library_call(library, AOTInductorModelContainerRunConstantFolding)(container, false, nullptr, nullptr), 0);
  };
  const Container first(library), second(library);
  for (const Container* c : {&first, &second}) EXPECT_EQ(run_affine(*c, x).y, AffineWeights().affine(x));
  AtenTensorHandle weight = nullptr;
  ASSERT_EQ(library_call(library, ingot_container_constant)(first, "p_layer_weight", false, &weight), 0);
  auto* w = static_cast<float*>(tensor_of(weight)->data());
  AffineWeights weights;
  for (const int k : {3, 5}) {  // what was handed out once can be written again
    const Floats before = weights.affine(x);
    w[k] += 100;
    weights.w[k] += 100;
    EXPECT_EQ(run_affine(first, x).y, before) << "nobody has folded it";
    fold(first);
    EXPECT_EQ(run_affine(first, x).y, weights.affine(x));
  }
  EXPECT_EQ(counts(first), (Counts{0, kFolded, 0})) << "its own";

  // The bytes are those of all containers.
  EXPECT_EQ(run_affine(second, x).y, AffineWeights().affine(x));
  fold(second);
  EXPECT_EQ(run_affine(second, x).y, weights.affine(x));
  EXPECT_EQ(run_affine(Container(library), x).y, weights.affine(x));
  EXPECT_EQ(foldings(), 5);
}

TEST_F(Memory, AnUpdateTakesItsContainerAloneOutOfTheOthers) {
  const Container first(library), second(library);
  run_affine(first, x);
  run_affine(second, x);
  AffineWeights weights = AffineWeights::times(2);
  update(first, {{"p_layer_weight", tensor_over(weights.w, {8, 16})}}, false);
  weights.b = AffineWeights().b;
  // What was folded before is of no use, and gone at once.
  EXPECT_EQ(counts(first), (Counts{kWeight, 0, 0}));
  EXPECT_EQ(counts(second), (Counts{0, kFolded, 0}));
  EXPECT_EQ(run_affine(first, x).y, weights.affine(x));
  EXPECT_EQ(run_affine(second, x).y, AffineWeights().affine(x));
  EXPECT_EQ(counts(first), (Counts{kWeight, kFolded, 0}));
  EXPECT_EQ(foldings(), 2);

  // The user's own tensors in the place of copies.
  AffineMap map(weights);
  ASSERT_EQ(library_call(library, AOTInductorModelContainerUpdateUserManagedConstantBuffer)(first, map.handle(), false, false),
            0);
  EXPECT_EQ(counts(first), (Counts{0, 0, 0}));
  EXPECT_EQ(run_affine(first, x).y, weights.affine(x));
}

TEST_F(Memory, I058_TheInactiveSetBeginsAsTheActiveOne) {
  const Container container(library);
  run_affine(container, x);
  AffineWeights weights;
  weights.b = Floats(8, 1000);
  update(container, {{"p_layer_bias", tensor_over(weights.b, {8})}}, true);
  // Buffers and tensor constants are copied, and the weight is where it was.
  EXPECT_EQ(counts(container), (Counts{kBias + kSteps + kConstant, kFolded, 0}));
  EXPECT_EQ(run_affine(container, x).y, AffineWeights().affine(x));
  swap(container);
  EXPECT_EQ(run_affine(container, x).y, weights.affine(x));

  // The set that was active until then begins anew, and updates add up until the next swap.
  AffineWeights later = weights;
  later.w = AffineWeights::times(3).w;
  update(container, {{"p_layer_weight", tensor_over(later.w, {8, 16})}}, true);
  later.c = {7};
  update(container, {{"_tensor_constant0", tensor_over(later.c, {1})}}, true);
  EXPECT_EQ(run_affine(container, x).y, weights.affine(x));
  swap(container);
  EXPECT_EQ(run_affine(container, x).y, later.affine(x));
  swap(container);
  EXPECT_EQ(run_affine(container, x).y, weights.affine(x));
  swap(container);

  // What is free takes nothing, and what is left is there once.
  free_inactive(container);
  EXPECT_EQ(counts(container), (Counts{kWeight + kBias + kSteps + kConstant, kFolded, 0}));
  EXPECT_EQ(run_affine(container, x).y, later.affine(x));
}

// Ingot's own updates add up, whatever they are of; with PyTorch's, buffers and tensor constants
// that one leaves out are the active set's again.
TEST_F(Memory, I058_UpdatesOfTheInactiveSetAddUp) {
  const auto update_own = library_call(library, ingot_container_update);
  for (const bool is_own : {true, false}) {
    const Container container(library);
    const auto give = [&](const char* name, Floats values) {
      const AtenTensorHandle tensor = tensor_over(values, {static_cast<int64_t>(values.size())});
      if (!is_own) return update(container, {{name, tensor}}, true);
      const AOTInductorConstantMapEntry pair = {name, tensor};
      EXPECT_EQ(update_own(container, &pair, 1, true, false), 0);
      aoti_torch_delete_tensor_object(tensor);
    };
    AffineWeights weights;
    weights.b = Floats(8, 1000);
    weights.c = {7};
    give("b_steps", {77});
    give("_tensor_constant0", weights.c);
    give("p_layer_bias", weights.b);
    EXPECT_EQ(run_affine(container, x).y, AffineWeights().affine(x));
    EXPECT_EQ(run_affine(container, x).steps, 0);
    swap(container);
    if (!is_own) weights.c = AffineWeights().c;
    const float steps = is_own ? 77 : 0;
    EXPECT_EQ(run_affine(container, x).y, weights.affine(x));
    EXPECT_EQ(run_affine(container, x).steps, steps);

    // The other set had none of them, and begins with them now.
    weights.b = Floats(8, 2000);
    give("p_layer_bias", weights.b);
    swap(container);
    EXPECT_EQ(run_affine(container, x).y, weights.affine(x));
    EXPECT_EQ(run_affine(container, x).steps, steps);
  }
}

// A tensor of either set is written without the other's notice, whenever it was taken.
TEST_F(Memory, I050_I058_WhatIsExtractedOfASetIsItsOwn) {
  for (const bool of_inactive : {false, true})
    for (const bool before_the_update : {false, true}) {
      if (of_inactive && before_the_update) continue;  // it has none then
      const Container container(library);
      ConstantsByName map;
      const auto extract = [&] {
        const auto call = library_call(library, AOTInductorModelContainerExtractConstantsMap);
        ASSERT_EQ(call(container, handle_of(map), of_inactive), 0);
      };
      if (before_the_update) extract();
      AffineWeights weights;
      weights.b = Floats(8, 1000);
      update(container, {{"p_layer_bias", tensor_over(weights.b, {8})}}, true);
      if (!before_the_update) extract();
      float& written = static_cast<float*>(tensor_of(map.at("layer.weight"))->data())[0];
      written += 100;
      if (of_inactive) {
        EXPECT_EQ(run_affine(container, x).y, AffineWeights().affine(x));
      } else {
        swap(container);
        EXPECT_EQ(run_affine(container, x).y, weights.affine(x));
      }
      written -= 100;  // what is embedded all containers of the process have
    }
}

TEST_F(Memory, I058_I061_TheUsersTensorsAreInBothSets) {
  const Container container(library);
  AffineWeights weights = AffineWeights::times(2);
  {
    AffineMap map(weights);
    ASSERT_EQ(
        library_call(library, AOTInductorModelContainerUpdateUserManagedConstantBuffer)(container, map.handle(), false, false),
        0);
  }
  Floats bias(8, 5);
  update(container, {{"p_layer_bias", tensor_over(bias, {8})}}, true);
  EXPECT_EQ(counts(container).constants, kBias + kSteps + kConstant) << "the weight is the user's in both";
  swap(container);
  free_inactive(container);
  AffineWeights expected = weights;
  expected.b = bias;
  EXPECT_EQ(run_affine(container, x).y, expected.affine(x));
}

TEST_F(Memory, I065_ASetWithoutAllValuesIsNotSwappedIn) {
  const Container container(library);
  EXPECT_EQ(run_affine(container, x).y, AffineWeights().affine(x));
  EXPECT_EQ(failed_swap(container),
            "the inactive constants cannot become the active ones, which stay in use: they have no values. Update the inactive "
            "ones first");
  EXPECT_EQ(run_affine(container, x).y, AffineWeights().affine(x));

  // Of a library without weights the active set may have none either.
  const Library bare(library_path("affine_none"));
  const Container empty(bare);
  AffineWeights weights = AffineWeights::times(2);
  AffineMap map(weights);
  ASSERT_EQ(library_call(bare, AOTInductorModelContainerUpdateConstantBuffer)(empty, map.handle(), true, false), 0);
  const auto swap = library_call(bare, AOTInductorModelContainerSwapConstantBuffer);
  EXPECT_EQ(message_of(bare, [&] { return swap(empty); }),
            "the inactive constants cannot become the active ones, which stay in use: constant 'b_steps' has no value. Update "
            "the inactive ones first");
  Floats steps = {9}, none;
  map.map["b_steps"] = tensor_over(steps, {1});
  map.map["_tensor_constant0"] = tensor_over(weights.c, {1});
  map.map["p_empty"] = tensor_over(none, {0});
  ASSERT_EQ(library_call(bare, AOTInductorModelContainerUpdateConstantBuffer)(empty, map.handle(), true, false), 0);
  ASSERT_EQ(swap(empty), 0);
  EXPECT_EQ(run_affine(empty, x).y, weights.affine(x));
}

TEST_F(Memory, WhatIsAskedForMustBeAKind) {
  const Container container(library);
  uint64_t bytes = 0;
  const auto count = library_call(library, ingot_container_memory);
  const auto why = library_call(library, ingot_last_error);
  EXPECT_EQ(count(container, static_cast<ingot_memory_kind>(3), &bytes), 1);
  EXPECT_STREQ(why(), "kind of memory: expected one of ingot_memory_kind, found 3");
  EXPECT_EQ(count(container, INGOT_MEMORY_FOLDED, nullptr), 1);
  EXPECT_STREQ(why(), "the address for the answer is null");
}

std::atomic<bool> is_folding{false}, may_end{false};

// Where a fork finds another thread at work on what containers share, nobody ends it in the child,
// whose new containers do it themselves.
TEST_F(Memory, AForkDuringAFoldingHangsNowhere) {
  if (kThreadSanitized) GTEST_SKIP() << "the thread sanitizer does not let a fork of a process with threads start new ones";
  const Container container(library);
  is_folding = may_end = false;
  on_fold([] {
    is_folding = true;
    while (!may_end) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  std::thread caller([&] { EXPECT_EQ(run_affine(container, x).y, AffineWeights().affine(x)); });
  while (!is_folding) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    on_fold(nullptr);
    const Container one(library), two(library);
    const bool is_well = run_affine(one, x).y == AffineWeights().affine(x) && run_affine(two, x).y == AffineWeights().affine(x) &&
                         counts(one) == Counts{0, kFolded, kFolded};
    _exit(is_well ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  may_end = true;
  caller.join();
  on_fold(nullptr);
}

// ---- weights in a file beside the library

class MemoryOfFiles : public Memory {
 protected:
  explicit MemoryOfFiles(const std::string& name = "affine_external", size_t around = 0)
      : Memory(library_path(name)), around_(around) {
    write(1);
    EXPECT_EQ(library_call(library, ingot_model_set_weights_file)(file().c_str()), 0);
  }

  // What affine.c expects, with weights times the factor.
  void write(float factor) const {
    const AffineWeights weights = AffineWeights::times(factor);
    std::string header = R"({"__metadata__":{"format":"test"}})";
    header.resize(56, ' ');
    const uint64_t length = header.size();
    Floats all = weights.w;
    all.insert(all.end(), {-1, -1});
    all.insert(all.end(), weights.b.begin(), weights.b.end());
    all.insert(all.end(), {0, 0.5f});
    std::filesystem::remove(file());
    std::ofstream out(file(), std::ios::binary);
    out.write(reinterpret_cast<const char*>(&length), 8);
    out << header << std::string(around_, 0);
    out.write(reinterpret_cast<const char*>(all.data()), static_cast<std::streamsize>(all.size() * sizeof(float)));
    out << std::string(around_, 0);
  }
  std::string file() const { return folder_.file("weights.safetensors"); }

 private:
  const testing::TestFolder folder_;
  const size_t around_;  // bytes of the file before the elements, and behind them
};

TEST_F(MemoryOfFiles, I049_ContainersOfOneFileShareAndThoseOfItsSuccessorDoNot) {
  const Container first(library), second(library);
  for (const Container* c : {&first, &second}) EXPECT_EQ(run_affine(*c, x).y, AffineWeights().affine(x));
  EXPECT_EQ(foldings(), 1);
  write(2);
  const Container third(library);
  EXPECT_EQ(run_affine(third, x).y, AffineWeights::times(2).affine(x));
  EXPECT_EQ(run_affine(first, x).y, AffineWeights().affine(x));
  EXPECT_EQ(counts(third), (Counts{0, kFolded, 0}));
  EXPECT_EQ(counts(second), (Counts{0, kFolded, kFolded}));
}

// Elements in whole pages of the file, which a folding gives back to the system, whatever the size
// of a page; and runs count themselves.
class MemoryOfPages : public MemoryOfFiles {
 protected:
  MemoryOfPages() : MemoryOfFiles("affine_pages", 65536) {}
};

// A container maps the file for itself, so what is written to its constants is seen nowhere else.
TEST_F(MemoryOfPages, I050_WhatWasWrittenToAConstantIsNotShared) {
  const Container first(library), second(library);
  ConstantsByName map;
  ASSERT_EQ(library_call(library, AOTInductorModelContainerExtractConstantsMap)(first, handle_of(map), false), 0);
  AffineWeights weights;
  weights.w[3] += 100;
  static_cast<float*>(tensor_of(map.at("layer.weight"))->data())[3] += 100;
  EXPECT_EQ(run_affine(first, x).y, weights.affine(x));
  EXPECT_EQ(run_affine(second, x).y, AffineWeights().affine(x));
  EXPECT_EQ(foldings(), 2);
  EXPECT_EQ(values_of(map.at("layer.weight")), weights.w) << "and stays, whatever a folding gives back";
}

TEST_F(MemoryOfPages, I049_I050_NoFoldingForgetsWhatRunsWrote) {
  const Container container(library);
  EXPECT_EQ(counts(container), (Counts{kSteps, 0, 0}));
  for (float steps = 1; steps <= 3; steps++) EXPECT_EQ(run_affine(container, x).steps, steps);
  AffineWeights weights;
  weights.w = AffineWeights::times(2).w;
  update(container, {{"p_layer_weight", tensor_over(weights.w, {8, 16})}}, false);
  const AffineResult updated = run_affine(container, x);
  EXPECT_EQ(updated.y, weights.affine(x));
  EXPECT_EQ(updated.steps, 4);

  // Nor one of the set that is not running.
  AffineWeights later;
  later.w = AffineWeights::times(3).w;
  update(container, {{"p_layer_weight", tensor_over(later.w, {8, 16})}}, true);
  EXPECT_EQ(library_call(library, AOTInductorModelContainerRunConstantFolding)(container, true, nullptr, nullptr), 0);
  EXPECT_EQ(run_affine(container, x).steps, 5);
  swap(container);
  const AffineResult swapped = run_affine(container, x);
  EXPECT_EQ(swapped.y, later.affine(x));
  EXPECT_EQ(swapped.steps, 5) << "four that were copied with the update, and this one";
}

}  // namespace
}  // namespace ingot::test
