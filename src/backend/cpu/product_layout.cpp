#include "backend/cpu/product_layout.hpp"

#include <algorithm>

#include "backend/cpu/microkernel.hpp"
#include "base/dtype.hpp"
#include "base/error.hpp"

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

bool follow_each_other(const Expr& offset, const Expr& v) {
  const std::optional<Expr> step = stride(offset, v);
  return step && step->is_const(1);
}

}  // namespace

std::optional<ProductLayout> layout_of(const loop::Product& x) {
  const std::optional<Expr> width = stride(x.sums.offset, x.row);
  if (!follow_each_other(x.rows.offset, x.row) || !follow_each_other(x.columns.offset, x.column) ||
      !follow_each_other(x.sums.offset, x.column) || !width || has_index(*width) || depends(x.rows.offset, x.column) ||
      depends(x.columns.offset, x.row))
    return std::nullopt;
  const Expr first[] = {x.row, x.column}, zeros[] = {0, 0};
  return ProductLayout{x.row.arg(0)->i,
                       x.column.arg(0)->i,
                       substitute(x.rows.offset, first, zeros),
                       substitute(x.columns.offset, first, zeros),
                       substitute(x.sums.offset, first, zeros),
                       *width};
}

std::optional<std::string> why_no_code(const loop::Product& x, const Target& target) {
  const Microkernel wanted{x.microkernel, x.types, static_cast<int>(x.row.arg(0)->i), static_cast<int>(x.column.arg(0)->i)};
  const std::vector<Microkernel> all = microkernels(target);
  if (std::ranges::find(all, wanted) == all.end()) {
    std::string known;
    for (const Microkernel& m : all) known += (known.empty() ? "" : "; ") + text_of(m);
    return text("has no ", text_of(wanted), "; it has ", known);
  }
  if (layout_of(x)) return std::nullopt;
  return text("has ", x.microkernel,
              " for factors of which the elements of rows, and of columns, lie one after the other, and for sums in rows of one "
              "width");
}

}  // namespace ingot::cpu
