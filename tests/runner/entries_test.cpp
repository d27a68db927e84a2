// Libraries with several entry points, compiled from several programs (tests/golden/entries.tar.xz:
// a language model with caches).
#include <atomic>
#include <cmath>
#include <thread>

#include "ingot/ingot.h"
#include "host/torch/callable.hpp"
#include "program/join.hpp"
#include "runner_fixture.hpp"
#include "ingot/dlpack.hpp"

namespace ingot {
namespace {

const char* const kNames[] = {"prefill", "decode", "evaluate", "cached"};

class EntriesTest : public RunnerTest {
 protected:
  static std::string file(const std::string& name) { return std::string(INGOT_GOLDEN_DIR) + "/entries/" + name; }

  std::string language_model(const CompileOptions& options = {}) const {
    std::vector<Program> programs;
    for (const char* name : kNames) programs.push_back(named(name, load_pt2(file("lm.pt2"), name)));
    Program all = join(std::move(programs));
    compile(all, path("lm.so"), options);
    return path("lm.so");
  }
  static Program named(const std::string& entry, Program p) {
    p.main().name = entry;
    return p;
  }
  static Program joined(Program first, Program second) {
    std::vector<Program> both;
    both.push_back(std::move(first));
    both.push_back(std::move(second));
    return join(std::move(both));
  }
  Tensor of_case(const std::string& name) const { return cases_.get(name); }

 private:
  SafeTensors cases_ = SafeTensors::open(file("cases.safetensors"));
};

// Sessions of all entry points of one library.
class Sessions {
 public:
  explicit Sessions(const std::string& library, int models = 1) {
    ingot_options options = INGOT_OPTIONS_INIT;
    options.models = models;
    EXPECT_EQ(ingot_session_open(library.c_str(), &options, &list_[0]), INGOT_OK) << ingot_error();
    for (int k = 1; k < 4; k++) EXPECT_EQ(ingot_session_open_entry(list_[0], kNames[k], &list_[k]), INGOT_OK) << ingot_error();
  }
  ~Sessions() {
    for (ingot_session* s : list_) ingot_session_close(s);  // the first goes first: the others keep the model
  }
  Sessions(const Sessions&) = delete;
  Sessions& operator=(const Sessions&) = delete;
  ingot_session* operator[](int k) const { return list_[k]; }

  TensorList run(int entry, const TensorList& inputs) const {
    std::vector<DLManagedTensorVersioned*> managed, out(ingot_session_output_count(list_[entry]));
    std::vector<const DLTensor*> in;
    for (const Tensor& t : inputs) {
      managed.push_back(to_dlpack_versioned(t));
      in.push_back(&managed.back()->dl_tensor);
    }
    const ingot_status status = ingot_session_run(list_[entry], in.data(), in.size(), out.data(), out.size());
    for (DLManagedTensorVersioned* m : managed) m->deleter(m);
    if (status != INGOT_OK) return {};
    TensorList results;
    for (DLManagedTensorVersioned* o : out) results.push_back(from_dlpack(o));
    return results;
  }

 private:
  ingot_session* list_[4] = {};
};

TEST_F(EntriesTest, AreFoundByName) {
  const Sessions lm(language_model());
  ASSERT_EQ(ingot_session_entry_count(lm[0]), 4u);
  for (std::size_t k = 0; k < 4; k++) {
    const char* name = nullptr;
    ASSERT_EQ(ingot_session_entry_name(lm[2], k, &name), INGOT_OK);
    EXPECT_STREQ(name, kNames[k]);
  }
  EXPECT_EQ(ingot_session_input_count(lm[0]), 1u);
  EXPECT_EQ(ingot_session_input_count(lm[1]), 2u);
  EXPECT_EQ(ingot_session_input_count(lm[3]), 0u);
  EXPECT_EQ(ingot_session_output_count(lm[3]), 2u);
  EXPECT_EQ(ingot_session_symbol_count(lm[0]), 1u);
  EXPECT_EQ(ingot_session_symbol_count(lm[1]), 0u);
  ingot_value value;
  ASSERT_EQ(ingot_session_input(lm[1], 1, &value), INGOT_OK);
  EXPECT_STREQ(value.name, "at");
  EXPECT_EQ(ingot_session_input(lm[0], 1, &value), INGOT_INVALID);
  expect_in("input 1: there are 1", ingot_error());

  ingot_session* none = nullptr;
  EXPECT_EQ(ingot_session_open_entry(lm[0], "encode", &none), INGOT_INVALID);
  expect_in("the library has no entry point 'encode'; it has prefill, decode, evaluate, cached", ingot_error());
  EXPECT_EQ(ingot_session_open_entry(lm[0], nullptr, &none), INGOT_INVALID);
  EXPECT_EQ(ingot_session_open_entry(nullptr, "decode", &none), INGOT_INVALID);
  EXPECT_EQ(none, nullptr);
  const char* name = nullptr;
  EXPECT_EQ(ingot_session_entry_name(lm[0], 4, &name), INGOT_INVALID);
  expect_in("entry point 4: there are 4", ingot_error());
}

// What one writes the next one finds, and nothing that others write is taken for constant.
TEST_F(EntriesTest, ShareWeightsAndCaches) {
  const Sessions lm(language_model());
  EXPECT_EQ(ingot_session_constant_count(lm[0]), ingot_session_constant_count(lm[1]));
  std::size_t stored = 0;
  for (std::size_t k = 0; k < ingot_session_constant_count(lm[0]); k++) {
    ingot_constant_info info;
    ASSERT_EQ(ingot_session_constant(lm[0], k, &info), INGOT_OK);
    stored += !info.is_folded;
  }
  EXPECT_EQ(stored, 11u);  // nine parameters and two caches, each once

  const Tensor before = lm.run(3, {}).at(0);
  for (const double x : before.to_vector<double>()) EXPECT_EQ(x, 0);
  expect_close(lm.run(0, {of_case("prompt")}).at(0), of_case("prefill"));
  for (const char* k : {"0", "1", "2"})
    expect_close(lm.run(1, {of_case(text("next.", k)), of_case(text("at.", k))}).at(0), of_case(text("decode.", k)));
  expect_close(lm.run(2, {of_case("text")}).at(0), of_case("evaluate"));
  const TensorList cached = lm.run(3, {});
  ASSERT_EQ(cached.size(), 2u);
  expect_close(cached[0], of_case("cached.0"));
  expect_close(cached[1], of_case("cached.1"));

  // An update by one session is an update for all; what is computed from weights is computed anew.
  const Tensor zeros = zeros_like(of_case("prefill")).reshape({48}), weight = ingot::zeros({48, 16});
  DLManagedTensorVersioned *b = to_dlpack_versioned(zeros), *w = to_dlpack_versioned(weight);
  const ingot_named_tensor update[] = {{"lm.head.bias", &b->dl_tensor}, {"lm.head.weight", &w->dl_tensor}};
  ASSERT_EQ(ingot_session_update(lm[3], update, 2, false, false), INGOT_OK) << ingot_error();
  b->deleter(b);
  w->deleter(w);
  expect_close(lm.run(2, {of_case("text")}).at(0), ingot::full({}, std::log(48.0)));
  expect_close(lm.run(1, {of_case("next.0"), of_case("at.0")}).at(0), ingot::zeros({1, 48}));
}

TEST_F(EntriesTest, RunAtTheSameTime) {
  const Sessions lm(language_model(), 4);
  const Tensor prefilled = lm.run(0, {of_case("prompt")}).at(0);
  expect_close(prefilled, of_case("prefill"));
  const Tensor logits = lm.run(1, {of_case("next.0"), of_case("at.0")}).at(0), loss = lm.run(2, {of_case("text")}).at(0);
  std::atomic<int> wrong{0};
  const auto repeat = [&](int entry, const TensorList& inputs, const Tensor& expected) {
    for (int i = 0; i < 300; i++) {
      const TensorList found = lm.run(entry, inputs);
      wrong += found.size() != 1 || found[0].to_vector<double>() != expected.to_vector<double>();
    }
  };
  const TensorList text{of_case("text")}, token{of_case("next.0"), of_case("at.0")};
  std::vector<std::thread> callers;
  callers.emplace_back(repeat, 0, TensorList{of_case("prompt")}, prefilled);  // writes what it found, too
  callers.emplace_back(repeat, 2, text, loss);
  callers.emplace_back(repeat, 1, token, logits);  // writes what it found
  callers.emplace_back([&] {
    for (int i = 0; i < 300; i++) wrong += lm.run(3, {}).size() != 2;
  });
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(wrong, 0);
}

// Weights wherever they are, and several levels.
TEST_F(EntriesTest, WhereverTheWeightsAre) {
  for (const auto kind : {Model::Weights::Kind::external, Model::Weights::Kind::appended}) {
    CompileOptions options;
    options.weights = kind;
    options.targets.push_back(parse_target(to_text(arch_of(options.targets[0]))));
    const Sessions lm(language_model(options));
    expect_close(lm.run(0, {of_case("prompt")}).at(0), of_case("prefill"));
    expect_close(lm.run(1, {of_case("next.0"), of_case("at.0")}).at(0), of_case("decode.0"));
    expect_close(lm.run(2, {of_case("text")}).at(0), of_case("evaluate"));
  }
}

TEST_F(EntriesTest, RunFromCpp) {
  const auto prefill = std::make_shared<ModelContainerRunner>(language_model());
  const auto decode = std::make_shared<ModelContainerRunner>(*prefill, "decode");
  EXPECT_EQ(prefill->container(), decode->container());
  EXPECT_EQ(prefill->entry_name(), "");
  EXPECT_EQ(decode->entry_name(), "decode");
  EXPECT_EQ(decode->input_names(), (std::vector<std::string>{"token", "at"}));
  EXPECT_EQ(decode->output_names().size(), 1u);
  expect_close(prefill->run({of_case("prompt")}).at(0), of_case("prefill"));
  const Tree result = CallableModel(decode)(Tree::tuple({Tree(of_case("next.0")), Tree(of_case("at.0"))}));
  expect_close(result.leaf().tensor(), of_case("decode.0"));
  expect_close(ModelContainerRunner(path("lm.so"), {.entry = "evaluate"}).run({of_case("text")}).at(0), of_case("evaluate"));
  expect_in("has no entry point 'encode'",
            error_of([&] { ModelContainerRunner(path("lm.so"), RunnerOptions{.entry = "encode"}); }));
}

TEST_F(EntriesTest, HaveNamesOfTheirOwn) {
  Program twice = joined(named("a", load_pt2(file("prefill.pt2"))), named("a", load_pt2(file("evaluate.pt2"))));
  expect_in("two entry points are called 'a'", error_of([&] { compile(twice, path("other.so")); }));
  EXPECT_FALSE(std::filesystem::exists(path("other.so")));
}

// The entry that reads knows two buffers as constants of their own, the one that writes as parts of
// one storage.
TEST_F(EntriesTest, SeeWhatIsWrittenToPartsOfOneStorage) {
  for (const bool reader_first : {true, false}) {
    Program read = named("read", load_pt2(file("read.pt2"))), write = named("write", load_pt2(file("write.pt2")));
    Program both = reader_first ? joined(std::move(read), std::move(write)) : joined(std::move(write), std::move(read));
    compile(both, path("parts.so"));
    ModelContainerRunner first(path("parts.so")), second(first, reader_first ? "write" : "read");
    ModelContainerRunner &reads = reader_first ? first : second, &writes = reader_first ? second : first;
    const auto elements = [](const Tensor& t) { return t.to_vector<double>(); };
    const Tensor none = ingot::zeros({6});
    TensorList found = reads.run({none});
    EXPECT_EQ(elements(found.at(0)), (std::vector<double>{0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(elements(found.at(1)), (std::vector<double>{4, 5, 6, 7, 8, 9}));
    EXPECT_EQ(elements(writes.run({ingot::full({6}, 100.0)}).at(0)), (std::vector<double>{200, 200, 12, 14, 16, 18}));
    found = reads.run({none});
    EXPECT_EQ(elements(found.at(0)), (std::vector<double>{100, 100, 100, 100, 100, 100}));
    EXPECT_EQ(elements(found.at(1)), (std::vector<double>{100, 100, 6, 7, 8, 9}));
  }
}

// Weights that several entries want in another layout are kept in it once.
TEST_F(EntriesTest, WhatIsComputedFromWeightsIsKeptOnce) {
  Program prefill = named("prefill", load_pt2(file("prefill.pt2")));
  compile(prefill, path("one.so"));
  Program both = joined(std::move(prefill), named("evaluate", load_pt2(file("evaluate.pt2"))));
  compile(both, path("two.so"));
  const auto constants = [](const std::string& library) {
    const ModelContainerRunner runner(library);
    std::size_t count = 0;
    EXPECT_EQ(runner.library().AOTInductorModelContainerGetNumConstants(runner.container(), &count), 0);
    return count;
  };
  EXPECT_GT(constants(path("one.so")), 11u);
  EXPECT_EQ(constants(path("one.so")), constants(path("two.so")));
}

}  // namespace
}  // namespace ingot
