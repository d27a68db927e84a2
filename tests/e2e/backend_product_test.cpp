// How products are laid out for microkernels, made-up ones among them: what the
// steps say is run here by their offsets alone.
#include "backend/cpu/product.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <span>
#include <string>

#include "backend/cpu/product_layout.hpp"
#include "base/index.hpp"
#include "expr/evaluate.hpp"
#include "loop/offset.hpp"
#include "loop/text.hpp"

namespace ingot {
namespace {

using loop::Product;
using loop::ProductTypes;

// Numbers of buffers, by what a loop program says of them.
class Numbers {
 public:
  Numbers(const loop::Program& p, std::map<const ExprNode*, int64_t> symbols) : p_(p), values_(std::move(symbols)) {
    for (const loop::Buffer& b : p.buffers) {
      Expr n = 1;
      for (const Expr& size : b.sizes) n = n * size;
      elements_.emplace_back(at(value(n)), -1000); // what nobody wrote
    }
  }
  std::vector<int64_t>& operator[](int buffer) { return elements_[at(buffer)]; }

  int64_t value(const Expr& e) {
    return evaluate(e, [&](const Expr& leaf) {
      if (leaf.op() != ExprOp::Load) return values_.at(leaf.node());
      Expr offset = leaf.arg(0);
      if (const loop::Buffer& b = p_.buffers[at(leaf->i)]; leaf.args().size() > 1) offset = loop::offset_of(b, leaf.args());
      return elements_[at(leaf->i)].at(at(value(offset)));
    });
  }
  // f() for all values of the variables.
  template <class F> void each(std::span<const Expr> vars, const F& f) {
    if (vars.empty()) return f();
    const int64_t extent = value(vars[0].arg(0));
    for (int64_t i = 0; i < extent; i++) {
      values_[vars[0].node()] = i;
      each(vars.subspan(1), f);
    }
  }

 private:
  const loop::Program& p_;
  std::map<const ExprNode*, int64_t> values_;
  std::vector<std::vector<int64_t>> elements_;
};

// What a schedule for made-up microkernels computes, and what the computation
// says.
void expect_product(const std::string& text, const std::string& symbol, int64_t size, int k_group) {
  SCOPED_TRACE(text + "  " + symbol + " = " + std::to_string(size) + ", groups of " + std::to_string(k_group));
  loop::Program p = loop::parse_program(text);
  const loop::Computation c = std::get<loop::Computation>(p.steps[0]);
  constexpr ProductTypes kWhole{DType::i64, DType::i64, DType::i64};
  const std::optional<loop::ProductSteps> steps = cpu::as_product(p, c, {{"made_up.4x8", kWhole, 4, 8, k_group}});
  ASSERT_TRUE(steps);
  const Product& x = *steps->kernel.product;
  const std::optional<cpu::ProductLayout> layout = cpu::layout_of(x);
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->k_group, k_group);
  EXPECT_EQ(p.buffers[at(x.sums.buffer)].dtype, DType::i64);

  std::map<const ExprNode*, int64_t> symbols;
  for (const Expr& s : p.symbols) symbols[s.node()] = size;
  Numbers numbers(p, symbols);
  for (const int b : p.inputs)
    for (std::size_t k = 0; k < numbers[b].size(); k++) numbers[b][k] = static_cast<int64_t>((k * 7 + at(b) * 3) % 11) - 5;
  numbers.each(c.vars, [&] {
    int64_t sum = 0;
    numbers.each(c.folds[0].vars, [&] { sum += numbers.value(c.folds[0].body); });
    numbers[c.out][at(numbers.value(loop::offset_of(p.buffers[at(c.out)], c.index())))] = sum;
  });
  const std::vector<int64_t> wanted = numbers[c.out];
  std::ranges::fill(numbers[c.out], -1000);
  for (const loop::Computation& pack : steps->packs)
    numbers.each(pack.vars, [&] {
      const int64_t offset = numbers.value(loop::offset_of(p.buffers[at(pack.out)], pack.index()));
      numbers[pack.out][at(offset)] = numbers.value(pack.value);
    });
  const auto run = [&](const loop::Nest& n) {
    numbers.each(n.vars, [&] {
      for (const loop::Store& s : n.stores) numbers[s.out].at(at(numbers.value(s.offset))) = numbers.value(s.value);
    });
  };
  std::vector<Expr> sums = x.vars;
  sums.insert(sums.end(), {x.row, x.column});
  numbers.each(steps->kernel.outer, [&] {
    for (std::size_t i = 0; i < x.place; i++) run(steps->kernel.nests[i]);
    numbers.each(sums, [&] {
      int64_t sum = 0;
      numbers.each(x.k, [&] {
        sum += numbers[x.rows.buffer].at(at(numbers.value(x.rows.offset))) *
               numbers[x.columns.buffer].at(at(numbers.value(x.columns.offset)));
      });
      numbers[x.sums.buffer].at(at(numbers.value(x.sums.offset))) = sum;
    });
    for (std::size_t i = x.place; i < steps->kernel.nests.size(); i++) run(steps->kernel.nests[i]);
  });
  EXPECT_EQ(numbers[c.out], wanted);
}

TEST(BackendProduct, FactorsArePackedInGroupsOfK) {
  const std::string matrix =
      "program main(s0 >= 1)\n  input x: i64[s0, 37]\n  "
      "input w: i64[37, 19]\n  output y: i64[s0, 19]\n"
      "  y[i0 < s0, i1 < 19] = %0 where %0 = sum(i2 < "
      "37) x[i0, i2]*w[i2, i1]\n";
  const std::string long_as_given =
      "program main(s0 >= 1)\n  input x: i64[9, s0]\n  input w: i64[20, s0]\n  "
      "output y: i64[9, 20]\n"
      "  y[i0 < 9, i1 < 20] = %0 where %0 = sum(i2 < s0) x[i0, i2]*w[i1, i2]\n";
  const std::string of_two =
      "program main(s0 >= 1)\n  input x: i64[2, 9, 3, s0]\n  input w: i64[2, "
      "3, s0, 11]\n  output y: i64[2, 9, 11]\n"
      "  y[i0 < 2, i1 < 9, i2 < 11] = %0 where %0 = sum(i3 < 3, i4 < s0) x[i0, "
      "i1, i3, i4]*w[i0, i3, i4, i2]\n";
  for (const std::string& text : {matrix, long_as_given, of_two})
    for (const int64_t size : {1, 5, 13})
      for (const int k_group : {1, 2, 4, 16}) expect_product(text, "s0", size, k_group);
}

} // namespace
} // namespace ingot
