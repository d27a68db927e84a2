// A library with several entry points (programs/entries.c): one set of constants, described and run
// by name and place.
#include <atomic>
#include <thread>

#include "model_fixture.hpp"

namespace ingot::test {
namespace {

class Entries : public ModelTest {
 protected:
  const Library library_{library_path("entries")};

  // What an entry makes of x, or nothing after a failure.
  Floats run(const Container& container, size_t entry, Floats x, std::vector<int64_t> n = {}) const {
    std::vector<AtenTensorHandle> inputs{tensor_over(x, {static_cast<int64_t>(x.size())})};
    if (!n.empty()) {
      inputs.push_back(tensor_over(n, {}));
    }
    AtenTensorHandle output = nullptr;
    if (library_call(library_, ingot_container_run_entry)(container, entry, inputs.data(), inputs.size(), &output, 1, nullptr) !=
        0)
      return {};
    const Floats y = values_of(output);
    aoti_torch_delete_tensor_object(output);
    return y;
  }
};

TEST_F(Entries, AreDescribedEachByItself) {
  EXPECT_EQ(library_call(library_, ingot_model_entry_count)(), 2u);
  const auto entry = library_call(library_, ingot_model_entry);
  ingot_entry_info info;
  ASSERT_EQ(entry(0, &info), 0);
  EXPECT_STREQ(info.name, "scale");
  EXPECT_STREQ(info.in_spec, "scale in");
  EXPECT_STREQ(info.out_spec, "scale out");
  EXPECT_EQ(info.input_count, 1u);
  EXPECT_EQ(info.output_count, 1u);
  EXPECT_EQ(info.symbol_count, 1u);
  EXPECT_EQ(info.guard_count, 0u);
  ASSERT_EQ(entry(1, &info), 0);
  EXPECT_STREQ(info.name, "shift");
  EXPECT_EQ(info.input_count, 2u);
  EXPECT_EQ(info.guard_count, 1u);
  EXPECT_EQ(entry(2, &info), 1);
  EXPECT_STREQ(library_call(library_, ingot_last_error)(), "entry point 2: there are 2");

  ingot_value_info value;
  ASSERT_EQ(library_call(library_, ingot_entry_input)(1, 1, &value), 0);
  EXPECT_STREQ(value.name, "n");
  EXPECT_TRUE(value.is_number);
  EXPECT_EQ(library_call(library_, ingot_entry_input)(0, 1, &value), 1);
  EXPECT_STREQ(library_call(library_, ingot_last_error)(), "input 1: there are 1");
  ASSERT_EQ(library_call(library_, ingot_entry_output)(1, 0, &value), 0);
  EXPECT_STREQ(value.sizes[0], "4");
  ingot_symbol_info symbol;
  ASSERT_EQ(library_call(library_, ingot_entry_symbol)(1, 0, &symbol), 0);
  EXPECT_EQ(symbol.max, 9);
  const char* condition = nullptr;
  ASSERT_EQ(library_call(library_, ingot_entry_guard)(1, 0, &condition), 0);
  EXPECT_STREQ(condition, "s0 != 7");
  EXPECT_EQ(library_call(library_, ingot_entry_guard)(0, 0, &condition), 1);

  // What names no entry is about the first one.
  EXPECT_EQ(library_call(library_, ingot_model_input_count)(), 1u);
  EXPECT_EQ(library_call(library_, ingot_model_symbol)(0, &symbol), 0);
  EXPECT_EQ(symbol.max, 1000);
}

TEST_F(Entries, AreFoundByName) {
  const auto find = library_call(library_, ingot_model_find_entry);
  const auto error = library_call(library_, ingot_last_error);
  const Container container(library_);
  size_t scale = 9, shift = 9, none = 9;
  ASSERT_EQ(find("scale", &scale), 0);
  ASSERT_EQ(find("shift", &shift), 0);
  EXPECT_EQ(run(container, shift, {1, 2, 3, 4}, {6}), (Floats{17, 18, 19, 20}));
  EXPECT_EQ(run(container, scale, {1, 2, 3}), (Floats{20, 25, 30}));
  for (const char* name : {"encode", "shif", "shifts", "Scale", ""}) {
    EXPECT_EQ(find(name, &none), 1);
    EXPECT_EQ(error(), std::string("the library has no entry point '") + name + "'; it has scale, shift");
  }
  EXPECT_EQ(find(nullptr, &none), 1);
  EXPECT_STREQ(error(), "the name of an entry point is null");
  EXPECT_EQ(none, 9u);
}

// What a run would make of inputs, asked before there are any.
TEST_F(Entries, SymbolsOfInputsWithoutARun) {
  const auto ask = library_call(library_, ingot_entry_symbol_values);
  const auto failure = [&](size_t entry, const std::vector<ingot_tensor_info>& inputs) {
    int64_t value = 0;
    size_t decided = 0;
    EXPECT_EQ(ask(entry, inputs.data(), inputs.size(), &value, &decided), 1);
    return std::string(library_call(library_, ingot_last_error)());
  };
  constexpr int32_t kInt64 = 4, kFloat32 = 6;
  int64_t nine[] = {9}, four[] = {4}, past[] = {1001}, value = -1, number = 6;
  size_t decided = 0;
  const ingot_tensor_info x = {nullptr, kFloat32, 1, nine, nullptr};
  ASSERT_EQ(ask(0, &x, 1, &value, &decided), 0);
  EXPECT_EQ(decided, 1u);
  EXPECT_EQ(value, 9);
  const ingot_tensor_info of_shift = {nullptr, kFloat32, 1, four, nullptr}, n = {&number, kInt64, 0, nullptr, nullptr};
  const ingot_tensor_info both[] = {of_shift, n};
  ASSERT_EQ(ask(1, both, 2, &value, &decided), 0);
  EXPECT_EQ(value, 6);  // a number is read
  EXPECT_EQ(failure(2, {x}), "entry point 2: there are 2");
  EXPECT_EQ(failure(1, {of_shift}), "inputs: expected 2, found 1");
  EXPECT_EQ(failure(0, {{nullptr, kInt64, 1, nine, nullptr}}), "input 0 (x): dtype: expected float32, found int64");
  EXPECT_EQ(failure(0, {{nullptr, kFloat32, 0, nullptr, nullptr}}), "input 0 (x): number of dims: expected 1, found 0");
  EXPECT_EQ(failure(0, {{nullptr, kFloat32, 1, nullptr, nullptr}}), "input 0 (x): expected sizes, found null");
  EXPECT_EQ(failure(0, {{nullptr, kFloat32, 1, past, nullptr}}), "input 0 (x): dim 0 (s0): expected 0 to 1000, found 1001");
  EXPECT_EQ(failure(1, {x, n}), "input 0 (x): size of dim 0: expected 4, found 9");
  EXPECT_EQ(failure(1, {of_shift, {nullptr, kInt64, 0, nullptr, nullptr}}), "input 1 (n): expected a number, found none");
  number = 7;
  EXPECT_EQ(failure(1, {of_shift, n}), "sizes of the inputs: expected s0 != 7, found s0 = 7");
}

TEST_F(Entries, SizesOfConstants) {
  int32_t rank = -1;
  const int64_t* sizes = nullptr;
  ASSERT_EQ(library_call(library_, ingot_model_constant_sizes)(2, &rank, &sizes), 0);
  EXPECT_EQ(rank, 1);
  EXPECT_EQ(sizes[0], 1);
  EXPECT_EQ(library_call(library_, ingot_model_constant_sizes)(3, &rank, &sizes), 1);
  EXPECT_STREQ(library_call(library_, ingot_last_error)(), "constant 3: there are 3");
}

TEST_F(Entries, RunOverOneSetOfConstants) {
  const Container container(library_);
  EXPECT_EQ(run(container, 0, {1, 2, 3}), (Floats{20, 25, 30}));
  EXPECT_EQ(run(container, 1, {1, 2, 3, 4}, {6}), (Floats{17, 18, 19, 20}));
  // An update is seen by both, and what each computes from the constant is computed anew.
  Floats seven = {7};
  AtenTensorHandle w = tensor_over(seven, {1});
  const AOTInductorConstantMapEntry pair = {"w", w};
  ASSERT_EQ(library_call(library_, ingot_container_update)(container, &pair, 1, false, true), 0);
  aoti_torch_delete_tensor_object(w);
  EXPECT_EQ(run(container, 1, {1, 2, 3, 4}, {6}), (Floats{21, 22, 23, 24}));
  EXPECT_EQ(run(container, 0, {1, 2, 3}), (Floats{28, 35, 42}));

  // The first is the one that PyTorch's interface runs.
  Floats x = {2};
  std::vector<AtenTensorHandle> outputs(1);
  ASSERT_EQ(container.run({tensor_over(x, {1})}, outputs), 0);
  EXPECT_EQ(values_of(outputs[0]), (Floats{35}));
  aoti_torch_delete_tensor_object(outputs[0]);
}

TEST_F(Entries, CheckTheirOwnInputs) {
  const Container container(library_);
  const auto error = library_call(library_, ingot_last_error);
  EXPECT_EQ(run(container, 1, {1, 2, 3, 4}), Floats());
  EXPECT_STREQ(error(), "expected inputs vector size to be 2, but got 1");
  EXPECT_EQ(run(container, 0, {1}, {2}), Floats());
  EXPECT_STREQ(error(), "expected inputs vector size to be 1, but got 2");
  EXPECT_EQ(run(container, 1, {1, 2, 3}, {2}), Floats());
  EXPECT_STREQ(error(), "input 0 (x): size of dim 0: expected 4, found 3");
  EXPECT_EQ(run(container, 1, {1, 2, 3, 4}, {7}), Floats());
  EXPECT_STREQ(error(), "sizes of the inputs: expected s0 != 7, found s0 = 7");
  EXPECT_EQ(run(container, 1, {1, 2, 3, 4}, {12}), Floats());
  EXPECT_STREQ(error(), "s0: expected 0 to 9, found 12");
  EXPECT_EQ(run(container, 2, {1}), Floats());
  EXPECT_STREQ(error(), "entry point 2: there are 2");
}

TEST_F(Entries, RunAtTheSameTime) {
  const Container container(library_, 4);
  std::atomic<int> wrong{0};
  const auto caller = [&](size_t entry) {
    for (int i = 0; i < 500; i++) {
      const Floats y = entry == 0 ? run(container, 0, {1, 2, 3}) : run(container, 1, {1, 2, 3, 4}, {6});
      wrong += y != (entry == 0 ? Floats{20, 25, 30} : Floats{17, 18, 19, 20});
    }
  };
  std::vector<std::thread> callers;
  for (size_t k = 0; k < 4; k++) callers.emplace_back(caller, k % 2);
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace ingot::test
