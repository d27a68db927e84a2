// Random programs as machine code, for open sizes and with gradients, against eager.
// `ingot_program_fuzz` runs as many as one likes.
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "compiled_programs/compare_compiled.hpp"
#include "compiler/aot_compiler.hpp"
#include "compiler/compiled_program.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "support/agreement_counts.hpp"
#include "support/test_folder.hpp"

namespace ingot::testing {
namespace {

int sum_of(const Counts& counts) {
  int sum = 0;
  for (const auto& [name, n] : counts) sum += n;
  return sum;
}

int agreeing_settings(const CompiledComparison& c) {
  const auto it = c.settings.find(SettingAgreement::agree);
  return it == c.settings.end() ? 0 : it->second;
}

TEST(CompiledRandom, ProgramsEqualEager) {
  Found found;
  Counts settings;
  int all_settings = 0;
  for (uint64_t seed = 1; seed <= 100; seed++) {
    const Program p = wide_program(seed, {.open = true, .writes = seed % 2 == 0});
    const CompiledComparison c = compare_compiled(p);
    found.add(c);
    for (const auto& [kind, n] : c.settings) settings[name_of(kind)] += n;
    all_settings += static_cast<int>(p.settings.size());
    ASSERT_NE(c.agreement, Agreement::differs)
        << "seed " << seed << ": " << c.what << "\n"
        << to_text(shrink(p, [](const Program& q) { return compare_compiled(q).agreement == Agreement::differs; }));
  }
  EXPECT_EQ(found.programs,
            (Counts{{name_of(Agreement::agrees), 76},
                    {name_of(Agreement::agrees_at_some_sizes), 18},
                    {name_of(Agreement::refused_sizes), 5},  // unbind and split, say, tell how many results there are
                    {name_of(Agreement::refused_looks), 1}}));
  EXPECT_EQ(settings, (Counts{{name_of(SettingAgreement::agree), 341},
                              {name_of(SettingAgreement::both_refuse), 7},
                              // squeeze, view and broadcasting ask whether an open size is 0 or 1
                              {name_of(SettingAgreement::other_sizes), 35},
                              {name_of(SettingAgreement::refused), 3}}));
  EXPECT_EQ(sum_of(settings), all_settings);
}

TEST(CompiledRandom, ProgramsWithGradientsEqualEager) {
  Found found;
  for (uint64_t seed = 1; seed <= 100; seed++) {
    const Program p = wide_program(seed);
    const Comparison c = compare_compiled_with_gradients(p);
    found.add(c);
    ASSERT_NE(c.agreement, Agreement::differs)
        << "seed " << seed << ": " << c.what << "\n"
        << to_text(
               shrink(p, [](const Program& q) { return compare_compiled_with_gradients(q).agreement == Agreement::differs; }));
  }
  EXPECT_EQ(found, (Found{{{name_of(Agreement::agrees), 89},
                           {name_of(Agreement::refused_backward), 10},
                           {name_of(Agreement::refused_wrappers), 1}},
                          gradients(236, 146, 0, 0, 0, 0)}));
}

TEST(CompiledRandom, OpenProgramsWithGradientsEqualEager) {
  Found found;
  Counts settings;
  int all_settings = 0;
  for (uint64_t seed = 1; seed <= 50; seed++) {
    const Program p = wide_program(seed, {.open = true, .writes = seed % 2 == 0});
    const CompiledComparison c = compare_open_with_gradients(p);
    found.add(c);
    for (const auto& [kind, n] : c.settings) settings[name_of(kind)] += n;
    all_settings += static_cast<int>(p.settings.size());
    ASSERT_NE(c.agreement, Agreement::differs) << "seed " << seed << ": " << c.what << "\n" << to_text(p);
  }
  EXPECT_EQ(found, (Found{{{name_of(Agreement::agrees), 50}}, gradients(519, 308, 0, 0, 0, 0)}));
  EXPECT_EQ(settings, (Counts{{name_of(SettingAgreement::agree), 186},
                              {name_of(SettingAgreement::both_refuse), 6},
                              {name_of(SettingAgreement::unread_refused), 1}}));
  EXPECT_EQ(sum_of(settings), all_settings);
}

// Programs of views and writes. A library is one function of inputs that lie apart and look as they
// did afterwards, so that it takes fewer of them than what has gradients does.
TEST(CompiledRandom, ProgramsOfAliasesEqualEager) {
  Counts found;
  for (uint64_t seed = 1; seed <= 100; seed++) {
    const Program p = random_program(seed);
    const CompiledComparison c = compare_compiled(p);
    found[name_of(c.agreement)]++;
    ASSERT_NE(c.agreement, Agreement::differs) << "seed " << seed << ": " << c.what << "\n" << to_text(p);
  }
  EXPECT_EQ(found, (Counts{{name_of(Agreement::agrees), 29},
                           {name_of(Agreement::refused_as_strided), 2},
                           {name_of(Agreement::refused_looks), 30},
                           {name_of(Agreement::refused_aliases), 38},
                           {name_of(Agreement::refused_gaps), 1}}));
}
TEST(CompiledRandom, ProgramsOfAliasesWithGradientsEqualEager) {
  Counts found;
  for (uint64_t seed = 1; seed <= 160; seed++) {
    const Program p = random_program(seed);
    const Comparison c = compare_compiled_with_gradients(p);
    found[name_of(c.agreement)]++;
    ASSERT_NE(c.agreement, Agreement::differs) << "seed " << seed << ": " << c.what << "\n" << to_text(p);
  }
  EXPECT_EQ(found, (Counts{{name_of(Agreement::agrees), 102},
                           {name_of(Agreement::agrees_in_values), 10},
                           {name_of(Agreement::refused_backward), 32},
                           {name_of(Agreement::refused_as_strided), 9},
                           {name_of(Agreement::refused_storage), 5},
                           {name_of(Agreement::refused_gaps), 2}}));
}
TEST(CompiledRandom, OpenProgramsOfAliasesEqualEager) {
  Counts found, with_gradients;
  int compared = 0;
  for (uint64_t seed = 1; seed <= 80; seed++) {
    const Program p = open_random_program(seed);
    const CompiledComparison c = compare_compiled(p);
    found[name_of(c.agreement)]++;
    compared += agreeing_settings(c);
    ASSERT_NE(c.agreement, Agreement::differs) << "seed " << seed << ": " << c.what << "\n" << to_text(p);
    if (seed > 30) continue;
    const CompiledComparison d = compare_open_with_gradients(p);
    with_gradients[name_of(d.agreement)]++;
    compared += agreeing_settings(d);
    ASSERT_NE(d.agreement, Agreement::differs) << "seed " << seed << ": " << d.what << "\n" << to_text(p);
  }
  EXPECT_EQ(found, (Counts{{name_of(Agreement::agrees), 12},
                           {name_of(Agreement::agrees_at_some_sizes), 6},
                           {name_of(Agreement::refused_as_strided), 2},
                           {name_of(Agreement::refused_storage), 2},
                           {name_of(Agreement::refused_sizes), 6},
                           {name_of(Agreement::refused_strides), 1},
                           {name_of(Agreement::refused_looks), 21},
                           {name_of(Agreement::refused_aliases), 30}}));
  EXPECT_EQ(with_gradients, (Counts{{name_of(Agreement::agrees), 23},
                                    {name_of(Agreement::agrees_in_values), 2},
                                    {name_of(Agreement::refused_as_strided), 2},
                                    {name_of(Agreement::refused_storage), 1},
                                    {name_of(Agreement::refused_backward), 2}}));
  EXPECT_EQ(compared, 130);
}

// Found by ingot_program_fuzz: a compiled function has the elements of its arguments, lying as they
// like, and an as_strided by places of their storage was taken of those.
TEST(CompiledRandom, ViewsOfStoragesThatAreNotThereAreRefused) {
  const Tensor base = aten<"arange">(6, DType::f32);
  const auto message = [](const Tensor& x, const TensorFunction& f) -> std::string {
    try {
      const TensorList eager = f({x}), compiled = aot::memory_efficient_fusion(f)(TensorList{x});
      return eager[0].to_vector<float>() == compiled[0].to_vector<float>() ? "" : "other numbers";
    } catch (const UserError& e) {
      return e.what();
    }
  };
  const TensorFunction near = [](const TensorList& in) {
    return TensorList{aten<"as_strided">(in[0], Shape{2}, Shape{1}, 1) * 2};
  };
  EXPECT_EQ(message(base, near), "");
  const std::string words = "refers to the storage of a tensor with elements of others around or between its own";
  EXPECT_NE(message(base.slice(0, 1, 6), near).find(words), std::string::npos) << message(base.slice(0, 1, 6), near);
  const Tensor woven = aten<"slice.Tensor">(base.view({2, 3}).t(), 0, 0, 100, 2);  // elements 0, 3, 2, 5
  EXPECT_NE(message(woven, near).find(words), std::string::npos) << message(woven, near);
  const TensorFunction row = [](const TensorList& in) {
    return TensorList{aten<"as_strided">(in[0].select(0, 0), Shape{2}, Shape{3}, 0) * 2};
  };
  EXPECT_EQ(message(base.view({2, 3}), row), "");
}

// Programs of ingot_program_fuzz that once differed, by the way they differed in.
TEST(CompiledRandom, ProgramsThatDifferedAgree) {
  const auto open_with_gradients = [](uint64_t seed) { return compare_open_with_gradients(open_random_program(seed)).agreement; };
  const auto open = [](uint64_t seed) { return compare_compiled(open_random_program(seed)).agreement; };
  // A guard that follows from others, and a storage of open size, in the names of a graph.
  EXPECT_EQ(open_with_gradients(4280004739), Agreement::agrees);
  EXPECT_EQ(open_with_gradients(4280005921), Agreement::agrees);
  // Results and inputs that are given another size.
  EXPECT_EQ(open_with_gradients(4270002361), Agreement::refused_backward);
  EXPECT_EQ(open_with_gradients(4270002403), Agreement::refused_smaller_input);
  EXPECT_EQ(open_with_gradients(4270003801), Agreement::refused_storage);
  // Inputs that lie otherwise than recorded.
  EXPECT_EQ(open(4270000490), Agreement::agrees);
  EXPECT_EQ(open(4270003487), Agreement::agrees_at_some_sizes);
  EXPECT_EQ(open(4270004159), Agreement::refused_strides);
  EXPECT_EQ(compare_compiled_with_gradients(random_program(4270004571)).agreement, Agreement::agrees);
  // An order of dims that is known where a size is one.
  EXPECT_EQ(open(4300000251), Agreement::agrees_at_some_sizes);
  // A result's order of dims is another one where a size that is made of open ones is one.
  const Program split_at_one = wide_program(4350000385, {.open = true, .writes = false});
  EXPECT_EQ(compare_open_with_gradients(split_at_one).agreement, Agreement::agrees);
  // A view in place of an input that changes nothing at the sizes that a guard allows, but would at
  // others.
  EXPECT_EQ(open(4340001819), Agreement::agrees_at_some_sizes);
  // A call that makes more values than it was recorded with, so that later ones mean others.
  const Program more_values = wide_program(4340000459, {.open = true, .writes = false});
  EXPECT_EQ(compare_open_with_gradients(more_values).agreement, Agreement::agrees);
  // A view in place of a view that nobody reads, which eager refuses at other sizes.
  EXPECT_EQ(open(4310004041), Agreement::agrees_at_some_sizes);
  // An operand of control flow, of open size, that is written before the backward.
  const Program layers = wide_program(4310000396, {.open = true, .writes = true, .layers = true});
  EXPECT_EQ(compare_open_with_gradients(layers).agreement, Agreement::refused_operand);
  // Gradients of attention next to a one-hot row, of doubles.
  EXPECT_EQ(compare_compiled_with_gradients(wide_program(4460002440)).agreement, Agreement::agrees);
  // Inputs of one storage, which a library takes for apart: the write is no write through a view.
  EXPECT_EQ(open(4440009654), Agreement::agrees);
  // An input that an out= gives other sizes where nothing is recorded, at the second sizes alone.
  EXPECT_EQ(open_with_gradients(4370001382), Agreement::refused_smaller_input);
  // A size of an input that would be negative at sizes that the verifier tries.
  const Program small_inputs = wide_program(4370000458, {.open = true, .writes = true, .layers = true});
  EXPECT_EQ(compare_open_with_gradients(small_inputs).agreement, Agreement::agrees);
  // A size of what the backward is given that a guard of the forward made a number.
  const Program known_since = wide_program(4430000348, {.open = true, .writes = true, .layers = true});
  EXPECT_EQ(compare_open_with_gradients(known_since).agreement, Agreement::agrees);
  // Inputs that share a storage without elements count as apart, and refuse what they would then.
  EXPECT_EQ(open_with_gradients(4330006285), Agreement::refused_backward);
  // Results that share a storage whose size is a number since an out= asked for it.
  EXPECT_EQ(open_with_gradients(4390005790), Agreement::agrees);
  // An input whose open size is a number since a write asked for it, and a view in place of it that
  // changes nothing.
  EXPECT_EQ(open(4400003004), Agreement::refused_aliases);
  EXPECT_EQ(open(4400005757), Agreement::agrees);
  // A result that looks, by places in the storage, at more than it is taken of has.
  EXPECT_EQ(open_with_gradients(4400006845), Agreement::agrees_in_values);
  // Bounds of rounding: gelu far from zero, numbers next to zero, a maximum and a logarithm, the
  // gradient of log_softmax at a row that is nearly one-hot, logaddexp next to zero, weights of
  // attention that are, celu, logsumexp of truth values.
  EXPECT_EQ(compare_compiled_with_gradients(wide_program(4280003058)).agreement, Agreement::agrees);
  EXPECT_EQ(compare_compiled(open_long_rows_program(4310000137)).agreement, Agreement::agrees);
  EXPECT_EQ(compare_compiled(wide_program(4350000952, {.open = true, .writes = true})).agreement, Agreement::agrees);
  EXPECT_EQ(compare_compiled(wide_program(4390004628, {.open = true, .writes = true})).agreement, Agreement::agrees);
  EXPECT_EQ(compare_compiled(wide_program(4400001844, {.open = true, .writes = true})).agreement, Agreement::agrees);
  const Program of_truth_values = wide_program(4410000165, {.layers = true});
  EXPECT_EQ(compare_compiled_with_gradients(of_truth_values).agreement, Agreement::agrees);
  const Program nearly_one_hot = wide_program(4330000368, {.open = true, .writes = true});
  EXPECT_EQ(compare_open_with_gradients(nearly_one_hot).agreement, Agreement::agrees);
}

// Found by ingot_program_fuzz: no library takes an input that lies so (4 elements of 6, no dim
// inside the other), and what is computed of a copy lies otherwise than recorded, which a write by
// places goes by.
TEST(CompiledRandom, WritesByPlacesAreOfValuesThatLieAsRecorded) {
  const TensorFunction f = [](const TensorList& in) {
    const Tensor square = in[0] * in[0];
    Tensor row = aten<"as_strided">(square, Shape{2}, Shape{2}, 0);
    row.mul_(0.5);
    return TensorList{row, square};
  };
  const Tensor x = aten<"slice.Tensor">((aten<"arange">(6, DType::f32) + 1).view({2, 3}).t(), 0, 0, 100, 2);
  const TensorList want = f({x}), got = aot::memory_efficient_fusion(f)(TensorList{x});
  for (std::size_t k = 0; k < want.size(); k++) EXPECT_EQ(got[k].to_vector<float>(), want[k].to_vector<float>()) << k;

  // Of an input, whose gaps or place in a storage no library has, they are refused.
  const TensorFunction by_diagonal = [](const TensorList& in) {
    aten<"diagonal">(aten<"expand">(in[0], Shape{2, 2, 2}), 1).zero_();
    return TensorList{in[0] * 2};
  };
  const TensorFunction by_places = [](const TensorList& in) {
    aten<"as_strided">(in[0], Shape{2}, Shape{1}, 2).zero_();
    return TensorList{in[0] * 2};
  };
  const Tensor inside = aten<"slice.Tensor">(aten<"arange">(6, DType::f32) + 1, 0, 2);
  for (const auto& [writes, t] : {std::pair(by_diagonal, x), std::pair(by_places, inside)}) {
    try {
      aot::memory_efficient_fusion(writes)(TensorList{t});
      ADD_FAILURE() << "it ran";
    } catch (const UserError& e) {
      const std::string message = e.what();
      EXPECT_NE(message.find("refers to the storage of a tensor with elements of others"), std::string::npos) << message;
    }
  }
}

// Found by ingot_program_fuzz: a library lays an input out as its example lay, and took such a view
// of the copy.
TEST(CompiledRandom, ViewsByPlacesAreOfInputsThatLieAsTheExample) {
  const TestFolder folder;
  const auto diagonal = [](const Tensor& t) { return aten<"as_strided">(t, Shape{2}, Shape{4}, 0); };
  const TensorFunction read = [&](const TensorList& in) { return TensorList{diagonal(in[0]) * 2}; };
  // What is written since it was taken, it sees; the last write overwrites what the first one made.
  const TensorFunction written = [&](const TensorList& in) {
    Tensor x = in[0];
    const Tensor d = diagonal(x);
    x.add_(1);
    const Tensor then = d.clone();
    x.zero_();
    return TensorList{then};
  };
  for (const TensorFunction& f : {read, written}) {
    const auto example = [] { return aten<"arange">(6, DType::f32).view({2, 3}); };
    const CallableModel model = aot_load("cpu", aot_compile(f, {example()}, folder.file("diagonal.so")));
    const auto run = [&](const Tensor& x) { return model(Tree::tuple({x}))[0].leaf().tensor().to_vector<float>(); };
    EXPECT_EQ(run(example()), f({example()})[0].to_vector<float>());
    const Tensor otherwise = aten<"arange">(6, DType::f32).view({3, 2}).t();
    try {
      run(otherwise);
      ADD_FAILURE() << "it ran";
    } catch (const UserError& e) {
      const std::string message = e.what();
      EXPECT_NE(message.find("strides: expected [3, 1], found [1, 2]; the program takes views of it by places of its storage"),
                std::string::npos)
          << message;
    }
  }
}

// A program of the fuzzer's, written out: sizes of bases below zero are open, -1 the first of a
// setting.
Program written_program(std::vector<std::vector<int64_t>> bases, std::vector<std::vector<int64_t>> settings,
                        std::vector<ProgramInput> inputs, std::vector<Step> body, int output) {
  Program p;
  for (std::vector<int64_t>& sizes : bases) p.bases.push_back({.sizes = std::move(sizes)});
  p.settings = std::move(settings);
  p.least = 0;
  p.inputs = std::move(inputs);
  p.body = std::move(body);
  p.outputs = {output};
  return p;
}
Step without_gradients(Step s, int out = -1) {
  s.no_grad = true;
  s.out = out;
  return s;
}
const Step kEvenColumns = Step::of("slice.Tensor", {0}, {1, 0, 100, 2});
const Step kFirst = Step::of("select.int", {0}, {0, 0});

struct WrittenProgram {
  const char* found;
  Program program;
  Agreement library = Agreement::agrees, with_gradients = Agreement::agrees;
};
class WrittenPrograms : public ::testing::TestWithParam<WrittenProgram> {};

// Found by ingot_program_fuzz, in programs of aliases with open sizes.
TEST_P(WrittenPrograms, EqualEagerOrAreRefused) {
  const WrittenProgram& w = GetParam();
  const CompiledComparison library = compare_compiled(w.program), with_gradients = compare_open_with_gradients(w.program);
  EXPECT_STREQ(name_of(library.agreement), name_of(w.library)) << library.what;
  EXPECT_STREQ(name_of(with_gradients.agreement), name_of(w.with_gradients)) << with_gradients.what;
}
INSTANTIATE_TEST_SUITE_P(
    CompiledRandom, WrittenPrograms,
    ::testing::Values(
        WrittenProgram{"a result of an argument whose strides say nothing for other sizes lay row-major",
                       written_program({{-1, -2, -3}}, {{1, 3, 2}, {5, 9, 7}}, {{0, {Step::of("diagonal", {0}, {0})}}},
                                       {Step::of("mul.Tensor", {0, 0})}, 1),
                       Agreement::refused_sizes},
        WrittenProgram{"a library keeps the order of dims that was recorded, also where eager has gaps",
                       written_program({{-1, -2}}, {{3, 3}, {9, 9}}, {{0, {Step::of("slice.Tensor", {0}, {1, 0, 3})}}},
                                       {Step::of("permute", {0}, {Shape{1, 0}})}, 1)},
        WrittenProgram{"the storage of two arguments had the bytes of the first, a part of the second",
                       written_program({{-1, -2}}, {{2, 3}, {3, 5}}, {{0, {kEvenColumns}}, {0, {}}},
                                       {Step::of("as_strided", {1}, {Shape{2}, Shape{2}, 1}), Step::of("neg", {2})}, 3),
                       Agreement::refused_strides},
        WrittenProgram{"and none, where the first had no elements",
                       written_program({{-1, -2, -3}}, {{1, 3, 2}, {1, 1, 4}}, {{0, {Step::of("diagonal", {0}, {1})}}, {0, {}}},
                                       {Step::of("as_strided", {1}, {Shape{2}, Shape{1}, 0}), Step::of("neg", {2})}, 3),
                       Agreement::refused_sizes},
        WrittenProgram{
            "nor was out= found to fit into it",
            written_program({{-1, -2, -3}}, {{1, 3, 2}, {5, 9, 7}}, {{0, {Step::of("slice.Tensor", {0}, {0, 0, 1})}}, {0, {}}},
                            {without_gradients(Step::of("add.out", {1, 1}), 0), Step::of("neg", {1})}, 2),
            Agreement::refused_aliases, Agreement::refused_storage},
        WrittenProgram{
            "an argument that is written, and of which a size is known since, might lie otherwise than its views' places say",
            written_program({{-1, -2}}, {{4, 1}, {5, 2}}, {{0, {kEvenColumns}}},
                            {Step::of("as_strided", {0}, {Shape{2}, Shape{1}, 0}), Step::of("add_.Scalar", {0}, {1.5}),
                             Step::of("add.Tensor", {1, 1})},
                            2),
            Agreement::refused_strides, Agreement::refused_gaps},
        WrittenProgram{
            "an out= that fits into the storage around an argument was said not to",
            written_program({{-1}, {-2, -2}}, {{4, 3}, {11, 9}}, {{1, {kFirst}}, {0, {Step::of("slice.Tensor", {0}, {0, 0, 3})}}},
                            {without_gradients(Step::of("sin.out", {0}), 1), Step::of("neg", {0})}, 2),
            Agreement::refused_sizes, Agreement::refused_larger_input},
        WrittenProgram{"how an input looks that out= made smaller was said in symbols",
                       written_program({{2, -1}, {-2, -3}}, {{3, 3, 3}, {4, 4, 4}}, {{0, {}}, {1, {}}},
                                       {without_gradients(Step::of("sin.out", {0}), 1)}, 1),
                       Agreement::refused_looks},
        WrittenProgram{
            "a view was taken again, by its steps, of what out= had given another size",
            written_program({{2, -1, 1}}, {{2}, {7}}, {{0, {}}},
                            {Step::of("mul.Scalar", {0}, {2}), Step::of("transpose.int", {1}, {1, 0}), Step::of("sum", {1}),
                             without_gradients(Step::of("sin.out", {3}), 1), Step::of("mul_.Scalar", {2}, {0.5})},
                            2)},
        WrittenProgram{"what looks at a result after the metadata pass made tensors with bytes of open strides",
                       written_program({{-1, -2}}, {{2, 3}, {4, 1}}, {{0, {}}, {0, {}}},
                                       {Step::of("unbind.int", {1}, {0}), Step::of("as_strided", {3}, {Shape{2}, Shape{1}, 0}),
                                        Step::of("permute", {0}, {Shape{1, 0}}), Step::of("detach", {4}),
                                        without_gradients(Step::of("add.out", {6, 6}), 6)},
                                       5),
                       Agreement::refused_as_strided, Agreement::refused_as_strided},
        WrittenProgram{"a write to repeated elements, which eager refuses, ran at open sizes",
                       written_program({{-1, -2, -3}}, {{1, 3, 2}, {1, 3, 1}}, {{0, {}}},
                                       {Step::of("mul.Tensor", {0, 0}), Step::of("expand", {1}, {Shape{2, 1, 3, 2}}),
                                        Step::of("select.int", {2}, {0, 0}), Step::of("mul_.Scalar", {3}, {0.5})},
                                       3)},
        WrittenProgram{"setStorage said that elements of a larger storage are not there",
                       written_program({{-1, -2}}, {{4, 2}, {11, 5}}, {{0, {kFirst}}},
                                       {Step::of("as_strided", {0}, {Shape{2}, Shape{2}, 0}), Step::of("neg", {1})}, 2),
                       Agreement::refused_storage, Agreement::refused_storage},
        WrittenProgram{"a library takes arguments for apart, and looked past the elements of one",
                       written_program({{-1, -2}}, {{4, 2}, {11, 5}}, {{0, {}}, {0, {kFirst}}},
                                       {Step::of("as_strided", {1}, {Shape{2}, Shape{2}, 0}), Step::of("add.Tensor", {2, 0})}, 3),
                       Agreement::refused_storage, Agreement::refused_gaps},
        WrittenProgram{
            "setStorage said so of a written part of a storage of fixed size",
            written_program({{4}}, {{}}, {{0, {Step::of("slice.Tensor", {0}, {0, 0, 100, 2})}}},
                            {Step::of("as_strided", {0}, {Shape{2}, Shape{2}, 0}), Step::of("sub_.Tensor", {1, 1})}, 1),
            Agreement::refused_gaps, Agreement::refused_storage}),
    [](const auto& info) { return text("Program", info.index); });

// Few calls over long rows, each element judged by what rounding does to it.
TEST(CompiledRandom, LongRowsEqualEager) {
  int compared = 0;
  for (uint64_t seed = 1; seed <= 10; seed++) {
    const CompiledComparison c = compare_compiled(open_long_rows_program(seed));
    compared += agreeing_settings(c);
    EXPECT_EQ(c.agreement, Agreement::agrees) << "seed " << seed << ": " << c.what;
    const Comparison d = compare_compiled_with_gradients(long_rows_program(seed));
    EXPECT_EQ(d.agreement, Agreement::agrees) << "seed " << seed << ": " << d.what;
  }
  EXPECT_EQ(compared, 30);
}

// Layers with weights and buffers that are updated.
TEST(CompiledRandom, LayersEqualEager) {
  Counts found, open;
  for (uint64_t seed = 1; seed <= 60; seed++) {
    const Program p = wide_program(seed, {.layers = true});
    const Comparison c = compare_compiled_with_gradients(p);
    found[name_of(c.agreement)]++;
    ASSERT_NE(c.agreement, Agreement::differs) << "seed " << seed << ": " << c.what << "\n" << to_text(p);
    if (seed > 30) continue;
    const Program q = wide_program(seed, {.open = true, .writes = seed % 2 == 0, .layers = true});
    const CompiledComparison d = compare_compiled(q);
    open[name_of(d.agreement)]++;
    ASSERT_NE(d.agreement, Agreement::differs) << "seed " << seed << ": " << d.what << "\n" << to_text(q);
    const CompiledComparison e = compare_open_with_gradients(q);
    open[name_of(e.agreement)]++;
    ASSERT_NE(e.agreement, Agreement::differs) << "seed " << seed << ": " << e.what << "\n" << to_text(q);
  }
  EXPECT_EQ(found, (Counts{{name_of(Agreement::agrees), 57}, {name_of(Agreement::refused_backward), 3}}));
  EXPECT_EQ(open, (Counts{{name_of(Agreement::agrees), 53},
                          {name_of(Agreement::agrees_at_some_sizes), 4},
                          {name_of(Agreement::refused_sizes), 1},
                          {name_of(Agreement::refused_backward), 1},
                          {name_of(Agreement::refused_looks), 1}}));
}

// Differences that rounding explains: before digamma near a pole, in what was written in place
// before a sine, and in what is divided by a sum that cancels, to nothing or nearly.
TEST(CompiledRandom, RoundingIsMeasuredNotGuessed) {
  EXPECT_EQ(compare_compiled(wide_program(900200, {.open = true})).what, "");
  EXPECT_EQ(compare_compiled_with_gradients(wide_program(4201008)).what, "");
  EXPECT_EQ(compare_open_with_gradients(wide_program(1635000923, {.open = true, .writes = false})).what, "");
}

// Found by ingot_program_fuzz: the strides of what a backward is given have an open size that its
// sizes do not have.
TEST(CompiledRandom, OpenSizesOfStridesAloneAreKnown) {
  EXPECT_EQ(compare_open_with_gradients(wide_program(1635002234, {.open = true})).what, "");
}

// Found by ingot_program_fuzz: the compiler crashed.
TEST(CompiledRandom, InputsThatLookOtherwiseAfterwardsAreRefused) {
  const TestFolder folder;
  const TensorFunction f = [](const TensorList& in) {
    aten_value<"unsqueeze_">(in[1], 0);
    return TensorList{in[0] + 1};
  };
  try {
    aot_compile(f, {ones({2, 3}), ones({2, 3})}, folder.file("program.so"));
    FAIL() << "it compiled";
  } catch (const UserError& e) {
    EXPECT_NE(std::string(e.what()).find("Found an input that received a metadata mutation"), std::string::npos) << e.what();
  }
}

// As PyTorch's export has it, too: in-place views that leave an input as it was are nothing that a
// library would have to do.
TEST(CompiledRandom, InPlaceViewsThatChangeNothingAreNoWrites) {
  const TestFolder folder;
  const TensorFunction f = [](const TensorList& in) {
    aten_value<"t_">(in[0]);  // of one dim
    aten_value<"transpose_">(in[1], 0, 1);
    const Tensor transposed = in[1] * 2;
    aten_value<"transpose_">(in[1], 0, 1);
    Tensor(in[2]).add_(1);
    aten_value<"unsqueeze_">(in[2], 0);
    Tensor(in[2]).mul_(3);
    aten_value<"squeeze_.dim">(in[2], 0);
    return TensorList{in[0] + 1, transposed, in[1]};
  };
  const std::vector<OpenSize> open = {{0, 0, "n", 0}, {1, 0, "r"}};
  const CallableModel model =
      aot_load("cpu", aot_compile(f, {ones({4}), ones({2, 3}), ones({2})}, folder.file("p.so"), {}, open));
  for (const int64_t n : {0, 1, 5}) {
    const auto make = [&] { return TensorList{rand({n}), rand({n + 2, 3}), ones({2})}; };
    manual_seed(1);
    const TensorList want_in = make();
    const TensorList want = f(want_in);
    manual_seed(1);
    const TensorList in = make();
    const Tree got = model(Tree::tuple({in.begin(), in.end()}));
    for (std::size_t k = 0; k < want.size(); k++) {
      EXPECT_TRUE(got.children()[k].leaf().tensor().sizes().same(want[k].sizes())) << "result " << k << ", n " << n;
      EXPECT_EQ(got.children()[k].leaf().tensor().to_vector<float>(), want[k].to_vector<float>())
          << "result " << k << ", n " << n;
    }
    for (std::size_t k = 0; k < in.size(); k++) EXPECT_EQ(in[k].to_vector<float>(), want_in[k].to_vector<float>()) << k;
    // Those two are not written, so they may share their memory.
    const Tensor both = rand({(n + 2) * 3});
    const TensorList sharing = {both.narrow(0, 0, n), both.view({n + 2, 3}), ones({2})};
    const Tree of_both = model(Tree::tuple({sharing.begin(), sharing.end()}));
    EXPECT_EQ(of_both.children()[2].leaf().tensor().to_vector<float>(), sharing[1].to_vector<float>());
  }
}

}  // namespace
}  // namespace ingot::testing
