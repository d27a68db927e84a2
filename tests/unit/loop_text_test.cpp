// Loop programs as text, and back. What compiled programs have is read back wherever everything is
// verified (compiler/pipeline.cpp): here is what a text may say, and what it may not.
#include "loop/text.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "support/error_text.hpp"

namespace ingot::loop {
namespace {

// Something of everything.
constexpr std::string_view kEverything =
    R"loop(program main(s0 >= 2, s1 >= 1 <= 8, n; u0 >= 0, row3 >= 0, zuf0: real) arena 64*((s0 + 15) // 16)
  guard s0 != 4
  guard s0 == 7 is false for "aten::view at \"model.py\":12\nsaid"
  input x: f32[s0, 4]
  input count: i64[] is s1
  input twice: i64[] is 2*s0
  constant w: bf16[4, 3]
  constant c: c64[2] strides [3]
  arena sum_1: f32[s0] at 64*((3*s0 + 15) // 16)
  output t: f32[3, s0] strides [1, 3]
  lent picked: f32[u0]
  scratch row.0: f64[4] at 0
  arena flag: b8[]
  outputs t, x
  sum_1[i0 < s0] = %0 where %0 = sum(i1 < 4) x[i0, i1]*cast(f32, w[i1, 2]), %1 = max(i2 < s0, i3 < min(i2 + 1, 4)) %0 + x[i2, i3]
  t[2, i0 < s0] = select(i0 < 3, f32(1.5), f32(-inf))
  flag[] = %0 where %0 = all() true
  kernel softmax parallel i0 < s0
    for i1 < 4: %0 max= x[4*i0 + i1]
    for i1 < 4: %1 += exp(x[4*i0 + i1] - %0); row.0[i1] = cast(f64, %0)
    do: sum_1[i0] = %1
  kernel mm parallel i0 < 2, i3 < min(s0, 8) across scratch 64*s0
    product row.0[12*i2 + 36*i4 + i5] = x[48*i0 + 4*i1 + i4] * w[12*i1 + 48*i2 + i5] over i1 < 4 as f32 * bf16 in f64; for i2 < 3; rows i4 < 4, columns i5 < 12 by fma.4x12
    do: %0 and= 0.0 < x[i0]; flag[0] = %0
  kernel nothing
  call ingot_k_sort_rows(int 6, sum_1, {1, s0, 1, 1}, (s0), {}, &picked, null)
  eager aten::topk draws "aten.topk.default(%0, \"a) -> (b\", 3)" (sum_1, x; s0, zuf0) -> (picked) u0 = size 0 of 0
  host mine::op "mine.op(%0)" () -> ()
  zuf0 = cast(f64, sum_1[0])
  check u0 < 9 and s1 != u0 else "too \\ many: \"u0\""
  if flag[]
    t[i0 < 3, i1 < s0] = f32(0.0)
    if 0.0 < zuf0
    else
      flag[] = true
  else
  repeat
    flag[] = not flag[]
  while flag[]
    times row3 < s0
      t[row3, i0 < s0] = x[i0, row3]
)loop";

TEST(LoopText, SaysEverything) {
  const Program p = parse_program(kEverything);
  EXPECT_EQ(to_text(p), kEverything);
  EXPECT_TRUE(same(parse_program(to_text(p)), p));
  EXPECT_EQ(p.symbols.size(), 6u);
  EXPECT_EQ(p.decided, 3u);
  EXPECT_EQ(p.guards[1].asked_by, "aten::view at \"model.py\":12\nsaid");
  EXPECT_FALSE(p.guards[1].answer);
  EXPECT_EQ(p.outputs, (std::vector<int>{6, 0}));
  EXPECT_FALSE(p.numbers[0].valid());
  EXPECT_TRUE(same(p.numbers[1], p.symbols[1]));
  const auto& mm = std::get<Kernel>(p.steps[4]);
  EXPECT_EQ(mm.product->place, 0u);
  EXPECT_EQ(mm.product->microkernel, "fma.4x12");
  EXPECT_TRUE(mm.product->row.arg(0).is_const(4));
  EXPECT_TRUE(mm.product->column.arg(0).is_const(12));
  EXPECT_EQ(mm.product->types, (ProductTypes{DType::f32, DType::bf16, DType::f64}));
  EXPECT_TRUE(mm.across);
  EXPECT_EQ(std::get<EagerCall>(p.steps[7]).text, "aten.topk.default(%0, \"a) -> (b\", 3)");
}

// The types of a product are its own: a byte may hold two elements, and sums are wider than what is
// multiplied.
TEST(LoopText, ProductsSayTheirTypes) {
  const Program p = parse_program(kEverything);
  const ProductTypes all[] = {{DType::f32, DType::f32, DType::f32},
                              {DType::bf16, DType::bf16, DType::f32},
                              {DType::u8, DType::i8, DType::i32},
                              {DType::f16, DType::i8, DType::f32},
                              {DType::f64, DType::f64, DType::f64}};
  for (const ProductTypes& types : all) {
    Program q = p;
    std::get<Kernel>(q.steps[4]).product->types = types;
    const Program back = parse_program(to_text(q));
    EXPECT_TRUE(same(back, q)) << to_text(q);
    EXPECT_FALSE(same(back, p)) << to_text(q);
    EXPECT_EQ(std::get<Kernel>(back.steps[4]).product->types, types);
  }
}

// A change anywhere makes another program, whose text reads back too, or none; a few mean the same.
TEST(LoopText, ChangedTextsAreProgramsOrErrors) {
  const std::string whole(kEverything);
  const Program p = parse_program(whole);
  int other = 0, refused = 0;
  for (std::size_t at = 0; at < whole.size(); at++)
    for (const char c : {'0', 'i', ' ', '(', '"', '\n', '%'}) {
      if (whole[at] == c) continue;
      std::string changed = whole;
      changed[at] = c;
      try {
        const Program q = parse_program(changed);
        EXPECT_TRUE(same(parse_program(to_text(q)), q)) << changed.substr(at > 20 ? at - 20 : 0, 40);
        other += !same(q, p);
      } catch (const UserError& e) {
        EXPECT_TRUE(std::string_view(e.what()).starts_with("cannot parse loop program, line ")) << e.what();
        refused++;
      }
    }
  EXPECT_GT(other, 900);
  EXPECT_GT(refused, 4000);
  for (std::size_t n = 0; n < whole.size(); n++) (void)error_of([&] { parse_program(whole.substr(0, n)); });
}

TEST(LoopText, TextsOfTheIrPage) {
  std::ifstream doc(std::filesystem::path(INGOT_TEST_DATA).parent_path().parent_path() / "docs/ir.md");
  int found = 0;
  for (std::string line; std::getline(doc, line);) {
    if (line != "```loop") continue;
    std::string block;
    while (std::getline(doc, line) && line != "```") block += line + "\n";
    EXPECT_EQ(to_text(parse_program(block)), block);
    found++;
  }
  EXPECT_EQ(found, 2);
}

TEST(LoopText, ErrorsNameLineAndWhatWasExpected) {
  const auto says = [](std::string_view steps) {
    return error_of([&] {
      parse_program(std::string("program p(s0 >= 2)\n  input x: f32[s0]\n  output y: f32[s0]\n") + std::string(steps));
    });
  };
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"  y[i0 < s0] = z[i0]\n", "line 4: cannot parse expression, position 0: unknown buffer 'z', found 'z[i0]'"},
      {"  y[i0 < s1] = x[i0]\n", "line 4: cannot parse expression, position 0: unknown name 's1'"},
      {"  y[i0 < s0] = x[i1]\n", "unknown name 'i1'"},
      {"  z[i0 < s0] = x[i0]\n", "there is no buffer 'z'"},
      {"  input x: f32[]\n", "there are two buffers 'x'"},
      {"  arena a: f33[]\n", "f33"},
      {"  arena a: f32[s0 < 2]\n", "expected an integer for a size, found false"},
      {"  arena a: f32[2] strides [1.5]\n", "expected an integer for a stride, found 1.5"},
      {"  kernel k parallel i0 < s0 scratch 7 > 8\n", "expected an integer for the bytes of scratch memory, found false"},
      {"  y[i0 < 1.5] = x[i0]\n", "expected an integer for the extent of i0, found 1.5"},
      {"  arena a: f32[2, 2] strides [1]\n", "expected 2 strides of 'a', found 1"},
      {"  arena a: f32[2\n", "expected ']'"},
      {"  u0 = 1\n", "there is no symbol 'u0'"},
      {"  kernel k parallel i0 < s0\n    for i1 < 2: %0 ?= x[i0]\n",
       "line 5: expected +=, *=, min=, max=, and= or or=, found '?='"},
      {"  y[i0 < s0] = %0 where %0 = median(i1 < 2) x[i0]\n", "expected sum, product, min, max, all or any, found 'median'"},
      {"  check true\n", "expected ' else ' in 'true'"},
      {"  check true else nothing\n", "expected a string in quotes, found 'nothing'"},
      {"  check true else \"open\n", "expected the end of the string"},
      {"  if true\n    check true else \"\"\n", "expected 'else', as far to the right as the step that it belongs to"},
      {"      check true else \"\"\n", "expected a step of the program, two spaces to the right"},
      {"  call f(x, &nobody)\n", "there is no buffer 'nobody'"},
      {"  kernel k\n    product y[0] = x[0] * x[0] over i0 < 1 as f32 * f32 in f32; rows i1 < one, columns i2 < 1 by fma\n",
       "unknown name 'one'"},
      {"  kernel k\n    product y[0] = x[0] * x[0] over i0 < 1 as f32 * f32 in f32; for i1 < 1; columns i2 < 1 by fma\n",
       "expected '; rows '"},
      {"  kernel k\n    product y[0] = x[0] * x[0] over i0 < 1 as f32 * f32 in f32; rows i1 < 1, columns i2 < 1\n",
       "expected ' by ' in 'i2 < 1"},
      {"  kernel k\n    product y[0] = x[0] * x[0] over i0 < 1 as f32 * f32 in f32; rows i1 < 1, columns i2 < 1 by \n",
       "expected the name of a microkernel"},
      {"  kernel k\n    product y[0] = x[0] * x over i0 < 1 as f32 * f32 in f32; rows i1 < 1, columns i2 < 1 by fma\n",
       "expected '[', found the end of the line"},
      {"  kernel k\n    product y[0] = x[0] * x[0] over i0 < 1; rows i1 < 1, columns i2 < 1 by fma\n",
       "expected ' as ' in 'i0 < 1"},
      {"  kernel k\n    product y[0] = x[0] * x[0] over i0 < 1 as f32 * f33 in f32; rows i1 < 1, columns i2 < 1 by fma\n", "f33"},
  };
  for (const auto& [steps, wanted] : cases) EXPECT_NE(says(steps).find(wanted), std::string::npos) << says(steps);
  EXPECT_NE(error_of([] { parse_program(""); }).find("line 1: expected a program, found nothing"), std::string::npos);
  EXPECT_NE(error_of([] { parse_program("program p(s0 >= 3 <= 2)"); }).find("expected a range that is not empty"),
            std::string::npos);
  std::string deep = "program p()\n  arena f: b8[]\n";
  for (std::size_t k = 1; k < 500; k++) deep += std::string(2 * k, ' ') + "repeat\n";
  EXPECT_NE(error_of([&] { parse_program(deep); }).find("the steps nest too deeply"), std::string::npos);
}

}  // namespace
}  // namespace ingot::loop
