#include "backend/cpu/product_layout.hpp"

#include <algorithm>

#include "backend/cpu/microkernel.hpp"
#include "base/dtype.hpp"
#include "base/error.hpp"
#include "base/long_sum.hpp"

namespace ingot::cpu {
namespace {

std::string text_of(const Microkernel& m) {
  return text(m.name, " for ", m.rows, " rows by ", m.columns, " columns as ", short_name_of(m.types.rows), " * ",
              short_name_of(m.types.columns), " in ", short_name_of(m.types.sums));
}

bool has_index(const Expr& e) {
  bool found = false;
  visit(e, [&](const Expr& x) { found = found || x.op() == ExprOp::Idx; });
  return found;
}

// The distance from one value of v to the next, where it is a number; else 0.
int64_t step_of(const Expr& offset, const Expr& v) {
  const std::optional<Expr> step = stride(offset, v);
  return step && step->is_const() ? (*step)->i : 0;
}

}  // namespace

std::optional<ProductLayout> layout_of(const loop::Product& x) {
  const std::optional<Expr> width = stride(x.sums.offset, x.row);
  const int64_t group = step_of(x.rows.offset, x.row);
  if (!width || has_index(*width) || step_of(x.sums.offset, x.column) != 1 || group < 1 ||
      step_of(x.columns.offset, x.column) != group || depends(x.rows.offset, x.column) || depends(x.columns.offset, x.row))
    return std::nullopt;
  ProductLayout l{x.row.arg(0)->i, x.column.arg(0)->i, group, x.k, {}, {}, {}, *width};
  std::vector<Expr> first = {x.row, x.column};
  if (group > 1) {
    if (x.k.empty() || !x.k.back().arg(0).is_const(group) || step_of(x.rows.offset, x.k.back()) != 1 ||
        step_of(x.columns.offset, x.k.back()) != 1)
      return std::nullopt;
    first.push_back(x.k.back());
    l.steps.pop_back();
  }
  const std::vector<Expr> zeros(first.size(), Expr(0));
  l.rows_offset = substitute(x.rows.offset, first, zeros);
  l.columns_offset = substitute(x.columns.offset, first, zeros);
  l.first_sum = substitute(x.sums.offset, first, zeros);
  return l;
}

bool is_packed(const ProductLayout& l) {
  return !l.steps.empty() && step_of(l.columns_offset, l.steps.back()) == l.columns * l.k_group;
}

std::optional<Blocks> blocks_of(const loop::Product& x) {
  const std::optional<ProductLayout> l = layout_of(x);
  INGOT_ENSURE(l, "no microkernel is for factors that lie so");
  return blocks_of(l->steps, std::max<int64_t>(1, kTermsOfOneSum / l->k_group));
}

Unroll unroll_of(const loop::Product& x) {
  const std::vector<Expr> steps = layout_of(x)->steps;
  const std::optional<Blocks> blocks = blocks_of(x);
  return blocks ? unroll_of(std::span(steps).subspan(blocks->level), blocks->size) : unroll_of(steps);
}

std::optional<std::string> why_no_code(const loop::Product& x, const Target& target) {
  Microkernel wanted{x.microkernel, x.types, static_cast<int>(x.row.arg(0)->i), static_cast<int>(x.column.arg(0)->i)};
  const std::vector<Microkernel> all = microkernels(target);
  const auto found = std::ranges::find(all, wanted.name, &Microkernel::name);
  if (found != all.end()) wanted.k_group = found->k_group, wanted.cost = found->cost;  // no text has these
  if (found == all.end() || *found != wanted) {
    std::string known;
    for (const Microkernel& m : all) known += (known.empty() ? "" : "; ") + text_of(m);
    return text("has no ", text_of(wanted), "; it has ", known);
  }
  if (const std::optional<ProductLayout> l = layout_of(x); l && l->k_group == found->k_group) return std::nullopt;
  return text("has ", x.microkernel,
              " for factors of which the elements of rows, and of columns, lie one after the other, and for sums in rows of one "
              "width");
}

}  // namespace ingot::cpu
