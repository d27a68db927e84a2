// The compiled form of every reduction, from the same descriptor as the eager one.
#include "base/error.hpp"
#include "ops/reduce/carried_fold.hpp"
#include "ops/reduce/reduction.hpp"

namespace ingot {
namespace {

Accumulate accumulate_of(Fold f) {
  switch (f) {
    case Fold::sum: return Accumulate::sum;
    case Fold::prod: return Accumulate::product;
    case Fold::max: return Accumulate::max;
    case Fold::min: return Accumulate::min;
    case Fold::any: return Accumulate::any;
    case Fold::all: return Accumulate::all;
    case Fold::argmax: return Accumulate::max;
    case Fold::argmin: return Accumulate::min;
  }
  return Accumulate::sum;
}

Expr zero(DType t) { return Expr::constant(t, 0); }

}  // namespace

void reduction_lower(const Reduction& r, Lowering& l) {
  const Tensor& self = l.call.tensor(0);
  const auto reduced = reduced_dims(r.dim >= 0 ? l.call[r.dim] : Value(), static_cast<int>(self.dim()), r.empty_means_all);
  const bool keepdim = r.keepdim >= 0 && l.call[r.keepdim].to_bool();
  std::vector<Expr> index, vars, over;
  for (int d = 0; d < self.dim(); d++) {
    index.push_back(l.variable(l.size(0, d)));
    if (reduced[static_cast<std::size_t>(d)]) over.push_back(index.back());
    if (!reduced[static_cast<std::size_t>(d)]) vars.push_back(index.back());
    else if (keepdim) vars.push_back(l.variable(1));
  }

  if (r.fold == Fold::argmax || r.fold == Fold::argmin) {
    // Where the extreme, or NaN, stands first.
    const Expr x = l.load(0, index), extreme = l.fold(accumulate_of(r.fold), over, x);
    Expr position = 0, count = 1;
    for (const Expr& v : over) position = position * v.arg(0) + v, count = count * v.arg(0);
    const Expr first =
        l.fold(Accumulate::min, over, select(is_floating(x.dtype()) ? x == extreme || isnan(x) : x == extreme, position, count));
    return l.define(0, std::move(vars), first);
  }
  const bool truth = r.fold == Fold::any || r.fold == Fold::all;
  const DType type = truth ? DType::b8 : dtype_of(compute_type(l.result(0).dtype));
  Expr x = l.load(0, index);
  if (truth || r.nonzero) x = x != zero(x.dtype());
  if (r.nan_as_zero && is_floating(x.dtype())) x = select(isnan(x), zero(x.dtype()), x);
  const bool is_carried = r.fold == Fold::sum || r.fold == Fold::prod;
  const Accumulate how = accumulate_of(r.fold);
  Expr value = is_carried ? carried_fold(l, how, over, cast(type, x)) : l.fold(how, over, cast(type, x));
  if (r.divide_by_count) value = value / cast(value.dtype(), reduced_count(self.sizes(), reduced).expr());
  l.define(0, std::move(vars), cast(type, value));
}

}  // namespace ingot
