// Minimal, until the family lands: sort alone, with the rule that the compiled form needs.
#include "base/parallel.hpp"
#include "kernels/sort.hpp"
#include "op/lowering.hpp"
#include "ops/families.hpp"
#include "tensor/geometry.hpp"

namespace ingot {
namespace {

// The rows along one dim of a dense tensor: `outer` * `inner` of them.
template <class T>
struct RowSpace {
  T n = 1, outer = 1, inner = 1;
};
template <class T, class Size>
RowSpace<T> rows_along(int rank, int dim, const Size& size) {
  RowSpace<T> s;
  for (int d = 0; d < rank; d++) {
    if (d == dim) s.n = size(d);
    else (d < dim ? s.outer : s.inner) = (d < dim ? s.outer : s.inner) * size(d);
  }
  return s;
}

void sort_meta(const Call& c, Outputs& o) {
  const Geometry& g = c.tensor(0)->geom;
  wrap_dim(c[1].to_int64(), g.dim());
  o.add(g.sizes, g.dtype);
  o.add(g.sizes, DType::i64);
}

void sort_kernel(const Call& c, std::span<const Tensor> r) {
  const Tensor self = c.tensor(0).contiguous();
  const int rank = static_cast<int>(self.dim());
  const auto s = rows_along<int64_t>(rank, wrap_dim(c[1].to_int64(), rank), [&](int d) { return self.size(d).number(); });
  const auto rows = kernels::Rows::along(s.n, s.inner);
  std::vector<char> scratch(static_cast<std::size_t>(kernels::select_scratch_bytes(s.n)));
  kernels::sort_rows(self.dtype(), self.data_ptr(), rows, s.n, c[2].to_bool(), r[0].data_ptr(), rows, r[1].data<int64_t>(), rows, 0,
                     s.outer * s.inner, scratch.data());
}

void sort_lower(Lowering& l) {
  using K = KernelArgument;
  const int rank = static_cast<int>(l.call.tensor(0).dim());
  const auto s = rows_along<Expr>(rank, wrap_dim(l.call[1].to_int64(), rank), [&](int d) { return l.size(0, d); });
  const K rows = K::array({s.inner, s.n * s.inner, 1, s.inner});
  l.kernel("ingot_k_sort_rows",
           {K::int32(static_cast<int>(l.call.tensor(0).dtype())), K::input(0), rows, K::int64(s.n), K::int32(l.call[2].to_bool()), K::result(0), rows,
            K::result(1), rows, K::int64(0), K::int64(s.outer * s.inner), K::scratch(s.n * kernels::select_scratch_bytes(1))});
}

constinit const OpDef kOps[] = {
    {.schema = "aten::sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
     .meta = sort_meta,
     .kernel = sort_kernel,
     .lower = sort_lower},
};

}  // namespace

Family sort_family() { return kOps; }

}  // namespace ingot
