// Sums, means, products, extremes and truth values over dims.
#include "base/dtype.hpp"
#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "ops/families.hpp"
#include "ops/reduction.hpp"

namespace ingot {
namespace {

int rank_of(const Vjp& v) { return v.sizes(0).dim(); }

// The gradient of a sum: the result's gradient, spread over the elements it stands for.
Tensor spread(const Vjp& v, const Value& dim, bool keepdim) {
  return aten<"expand">(restore_dims(v.grad(), dim, rank_of(v), keepdim), v.sizes(0));
}
void sum_vjp(Vjp& v) { v.set(0, aten<"expand">(v.grad(), v.sizes(0))); }
void sum_dim_vjp(Vjp& v) { v.set(0, spread(v, v.arg(1), v.arg(2).to_bool())); }
void mean_vjp(Vjp& v) { v.set(0, aten<"div.Scalar">(aten<"expand">(v.grad(), v.sizes(0)), v.sizes(0).product())); }
void mean_dim_vjp(Vjp& v) {
  const Int n = reduced_count(v.sizes(0), reduced_dims(v.arg(1), rank_of(v)));
  v.set(0, aten<"div.Scalar">(spread(v, v.arg(1), v.arg(2).to_bool()), n));
}

constexpr Reduction total{.fold = Fold::sum, .type = ReducedType::widened, .dtype = 1};
constexpr Reduction partial{.fold = Fold::sum, .type = ReducedType::widened, .dim = 1, .keepdim = 2, .dtype = 3};
constexpr Reduction mean_all{.fold = Fold::sum, .type = ReducedType::floating, .dtype = 1, .divide_by_count = true};
constexpr Reduction mean_dims{.fold = Fold::sum, .type = ReducedType::floating, .dim = 1, .keepdim = 2, .dtype = 3, .divide_by_count = true};

constinit const OpDef kOps[] = {
    reduction<total>("aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor", sum_vjp),
    reduction<partial>("aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", sum_dim_vjp, {}, 1),
    reduction<mean_all>("aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor", mean_vjp),
    reduction<mean_dims>("aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", mean_dim_vjp, {}, 1),
};

}  // namespace

Family reduce_family() { return kOps; }

}  // namespace ingot
