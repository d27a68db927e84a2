#include "loop/contraction.hpp"

#include <algorithm>

namespace ingot::loop {

std::optional<Contraction> contraction_of(const Computation& c) {
  if (c.folds.size() != 1 || c.folds[0].how != Accumulate::sum) return std::nullopt;
  const Fold& fold = c.folds[0];
  const Expr& body = fold.body;
  if (body.op() != ExprOp::Mul || body.args().size() != 2) return std::nullopt;
  for (const Expr& v : fold.vars)
    if (std::any_of(c.vars.begin(), c.vars.end(), [&](const Expr& own) { return depends(v.arg(0), own); })) return std::nullopt;
  for (std::size_t first = 0; first < 2; first++) {
    Contraction r{body.arg(first), body.arg(1 - first), {}, {}, {}, {}};
    for (const Expr& v : c.vars) {
      const bool in_a = depends(r.a, v), in_b = depends(r.b, v);
      (in_a && in_b ? r.batch : in_b ? r.columns : r.rows).push_back(v);
    }
    if (r.rows.empty() || r.columns.empty() || !same(r.columns.back(), c.vars.back())) continue;
    r.types = {r.a.dtype(), r.b.dtype(), fold.tmp.dtype()};
    return r;
  }
  return std::nullopt;
}

}  // namespace ingot::loop
