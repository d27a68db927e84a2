// What the verifier asks of loop programs (loop/verify.hpp), one rule after the other.
#include "loop/verify.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/error.hpp"
#include "loop/text.hpp"
#include "support/error_text.hpp"

namespace ingot::loop {
namespace {

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string said(const std::string& text) {
  const Program p = parse_program(text);
  return error_of([&] { verify(p); });
}

void expect_refused(const std::string& text, const std::string& why) {
  EXPECT_NE(said(text).find(why), std::string::npos) << said(text) << "\n" << text;
}

std::string with_steps(const std::string& steps) {
  return "program main(s0 >= 2, s1 >= 1 <= 8; u0 >= 0)\n  input x: f32[s0, 4]\n  input data: i64[8]\n  output y: f32[s0]\n" +
         steps;
}

// 8 rows by 48 columns, in blocks of 4 by 24.
const std::string kProduct = R"loop(program main()
  input a: f32[2, 16, 4]
  input b: f32[2, 16, 24]
  output y: f32[8, 48]
  scratch strip: f32[4, 48] at 0
  kernel mm parallel i0 < 2 scratch 768
    product strip[24*i2 + 48*i3 + i4] = a[64*i0 + 4*i1 + i3] * b[24*i1 + 384*i2 + i4] over i1 < 16 as f32 * f32 in f32; for i2 < 2; rows i3 < 4, columns i4 < 24 by fma.4x24
    for i3 < 4, i4 < 48: y[192*i0 + 48*i3 + i4] = strip[48*i3 + i4]
)loop";

TEST(LoopVerify, BlocksOfProductsLieInTheirBuffers) {
  EXPECT_NO_THROW(verify(parse_program(kProduct)));
  expect_refused(replaced(kProduct, "a[64*i0", "a[65*i0"), "kernel mm: expected an index of 'a' below 128, found 128");
  expect_refused(replaced(kProduct, "a[64*i0 + 4*i1", "a[64*i0 + 4*i1 - 1"), "expected an index of 'a' below 128, found -1");
  expect_refused(replaced(kProduct, "b[24*i1", "b[24*i1 + 1"), "expected an index of 'b' below 768, found 768");
  expect_refused(replaced(kProduct, "over i1 < 16", "over i1 < 17"), "expected an index of 'a' below 128, found 131");
  expect_refused(replaced(kProduct, "strip[24*i2", "strip[25*i2"), "expected an index of 'strip' below 48, found 48");
  expect_refused(replaced(kProduct, "48*i3 + i4] = a", "47*i3 + i4] = a"), "expected an index of 'strip' below 47, found 47");
  expect_refused(replaced(kProduct, "48*i3 + i4] = a", "49*i3 + i4] = a"), "expected an index of 'strip' below 192, found 194");
  expect_refused(replaced(kProduct, "rows i3 < 4", "rows i3 < 0"), "expected a number of rows, and one of columns");
}

// An input of 8 - s0 elements is none where s0 is 64.
TEST(LoopVerify, IndicesAreTriedWhereInputsExist) {
  const std::string program =
      "program main(s0 >= 2)\n  input x: f32[-s0 + 8]\n  input z: f32[8]\n  output y: f32[1]\n"
      "  kernel k parallel i0 < 1\n    do: y[i0] = z[s0]\n";
  EXPECT_NO_THROW(verify(parse_program(program)));
  expect_refused(replaced(program, "z[s0]", "z[s0 + 1]"), "expected an index of 'z' below 8, found 8");
  expect_refused(replaced(program, "  input x: f32[-s0 + 8]\n", ""), "expected an index of 'z' below 8, found 64");
}

TEST(LoopVerify, ProductsAreOfTheTypesOfTheirBuffers) {
  expect_refused(replaced(kProduct, "as f32 * f32", "as bf16 * f32"),
                 "expected 'a', which has the rows of the product, to be of type bf16, found f32");
  expect_refused(replaced(kProduct, "as f32 * f32", "as f32 * bf16"), "expected 'b', which has the columns of the product");
  expect_refused(replaced(kProduct, "in f32; for", "in f64; for"), "to be of type f64 or wider, found f32");
  // Many sums are added up in something wider.
  std::string wide = replaced(replaced(kProduct, "strip: f32", "strip: f64"), "scratch 768", "scratch 1536");
  wide = replaced(wide, "= strip[48*i3 + i4]", "= cast(f32, strip[48*i3 + i4])");
  EXPECT_NO_THROW(verify(parse_program(wide)));
}

TEST(LoopVerify, ScratchMemoryIsAKernelsOwn) {
  expect_refused(
      replaced(kProduct, "scratch 768", "scratch 767"),
      "expected 'strip' to end within the 767 bytes of scratch memory that the kernel asks for, found that it ends at 768");
  expect_refused(replaced(kProduct, "[4, 48] at 0", "[4, 48]"), "expected where scratch 'strip' lies");
  expect_refused(replaced(kProduct, "[4, 48] at 0", "[4, 48] at 32"), "at a multiple of 64 bytes, found 32");
  expect_refused(replaced(kProduct, "  kernel mm", "  strip[i0 < 4, i1 < 48] = f32(0.0)\n  kernel mm"),
                 "uses 'strip', which is scratch");
  expect_refused(replaced(kProduct, "parallel i0 < 2 scratch", "parallel i0 < 2 across scratch"), "cannot be 'across'");
}

TEST(LoopVerify, IndicesAreTriedWhereTheyAreSmallestAndLargest) {
  const auto stores = [](const std::string& index) { return with_steps("  y[i0 < s0] = x[i0, " + index + "]\n"); };
  EXPECT_EQ(said(stores("3")), "no error");
  expect_refused(stores("4"), "the computation of y: expected an index of 'x' below 4, found 4 of 4");
  // It falls as its variable grows: neither all the first values nor all the last are its ends.
  const auto folds = [](const std::string& index) {
    return with_steps("  y[i0 < s0] = %0 where %0 = sum(i1 < 3, i2 < 3) x[i0, " + index + "]\n");
  };
  EXPECT_EQ(said(folds("i1 % 2 + i2")), "no error");
  expect_refused(folds("i1 - i2 + 1"), "expected an index of 'x' below 4, found -1 of i1 - i2 + 1 where i1 = 0, i2 = 2");
  expect_refused(folds("i1 - i2 + 2"), "expected an index of 'x' below 4, found 4");
  // It is largest between them.
  expect_refused(folds("i2 + 2*(i1 % 2)"), "expected an index of 'x' below 4, found 4");
}

TEST(LoopVerify, OpenSizesAreTriedToo) {
  EXPECT_EQ(said(with_steps("  y[i0 < s0] = x[s0 - 1 - i0, 0]\n")), "no error");
  expect_refused(with_steps("  y[i0 < s0] = x[s0 - i0, 0]\n"), "expected an index of 'x' below 2, found 2 of ");
  expect_refused(with_steps("  y[i0 < s0 + 1] = x[0, 0]\n"), "expected an index of 'y' below 2, found 2");
  const std::string second = "  y[i0 < s0] = x[i0 + s1 - 1, 0]\n";
  expect_refused(with_steps(second), "expected an index of 'x'");
  EXPECT_EQ(said(replaced(with_steps(second), "  input x", "  guard s1 == 1\n  input x")), "no error");
  // What data decide is the author's.
  EXPECT_EQ(said(with_steps("  u0 = data[0]\n  y[i0 < s0] = x[u0, 0]\n")), "no error");
  EXPECT_EQ(said(with_steps("  y[i0 < s0] = x[data[0], 0]\n")), "no error");
}

TEST(LoopVerify, NumbersAreOfTheirKinds) {
  const std::string y = "  y[i0 < s0] = x[i0, 0]\n";
  expect_refused(with_steps("  arena t: f32[data[0]]\n" + y),
                 "expected an integer that symbols decide for a size, found data[0]");
  expect_refused(with_steps("  y[i0 < data[0]] = x[0, 0]\n"), "expected an integer that symbols decide for an extent");
  expect_refused(with_steps("  guard s0\n" + y), "expected a condition, found s0");
  expect_refused(with_steps("  check s0 else \"no\"\n" + y), "expected a condition, found s0");
  expect_refused(with_steps("  u0 = cast(f64, data[0])\n" + y), "expected a value of type i64, found f64");
  expect_refused(with_steps("  inputs x\n" + y), "expected each input once in the line 'inputs …'");
  expect_refused(with_steps("  lent t: f32[u0]\n  eager aten::op \"\" (x) -> (t) u0 = size 0 of 1\n" + y),
                 "expected one of 1 results, found 'of 1'");
  expect_refused(with_steps("  lent t: f32[u0]\n  eager aten::op \"\" (x) -> (t) u0 = size 1 of 0\n" + y),
                 "expected a dim of 't', which has 1, found 1");
}

}  // namespace
}  // namespace ingot::loop
