// Sorting, selection and search. The order is PyTorch's: NaN is the largest number, ties go by
// index.
#include <cmath>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "base/parallel.hpp"
#include "ingot/ingot.hpp"
#include "ingot/op/lowering.hpp"
#include "ingot/op/vjp.hpp"
#include "kernels/sort.hpp"
#include "op/call.hpp"
#include "op/promotion.hpp"
#include "ops/batch/rules.hpp"
#include "ops/common/dense.hpp"
#include "ops/family.hpp"
#include "ops/sort/sort_rows.hpp"
#include "tensor/geometry.hpp"

namespace ingot {
namespace {

void require_ordered(const Call& c, const Tensor& t) {
  INGOT_REQUIRE(!t.is_complex(), c.op.schema.name, ": complex numbers have no order; found ", t.dtype());
}
int dim_of(const Tensor& self, const Value& dim) { return wrap_dim(dim.to_int64(), static_cast<int>(self.dim())); }

// sort(self, dim, descending) and sort.stable(self, stable, dim, descending)
struct SortArgs {
  int dim;
  bool descending;
};
SortArgs sort_args(const Call& c) {
  const int shift = c.args.size() == 4 ? 1 : 0;
  return {dim_of(c.tensor(0), c[1 + shift]), c[2 + shift].to_bool()};
}
void sort_meta(const Call& c, Outputs& o) {
  const Tensor& self = c.tensor(0);
  require_ordered(c, self);
  sort_args(c);
  Geometry g;
  g.sizes = self.sizes();
  g.strides = dense_strides_like(self.sizes(), self.strides());
  g.dtype = self.dtype();
  o.add(g);
  g.dtype = DType::i64;
  o.add(std::move(g));
}
void sort_kernel(const Call& c, std::span<const Tensor> r) {
  const SortArgs a = sort_args(c);
  const SortRows s = sort_rows_of(c.tensor(0), a.dim);
  const DenseResult values(r[0], s.data.dtype()), indices(r[1], DType::i64);
  parallel_for(0, s.rows, s.grain(), [&](int64_t begin, int64_t end) {
    const Scratch scratch(kernels::select_scratch_bytes(s.n));
    kernels::sort_rows(s.data.dtype(), s.data.data_ptr(), s.layout, s.n, a.descending, values.buffer().data_ptr(), s.layout,
                       indices.data<int64_t>(), s.layout, begin, end, scratch.get());
  });
  values.finish();
  indices.finish();
}

// One thread sorts all rows, in the order of the kernel's row numbering.
void sort_lower(Lowering& l) {
  using Arg = KernelArgument;
  const SortArgs a = sort_args(l.call);
  const Tensor& self = l.call.tensor(0);
  Expr n = 1, rows = 1, inner = 1;
  for (int d = 0; d < self.dim(); d++) {
    if (d == a.dim) n = l.size(0, d);
    else rows = rows * l.size(0, d);
    if (d > a.dim) inner = inner * l.size(0, d);
  }
  const Arg layout = Arg::array({inner, n * inner, 1, inner});  // Rows::along(n, inner)
  l.kernel("ingot_k_sort_rows", {Arg::int32(static_cast<int32_t>(self.dtype())), Arg::input(0), layout, Arg::int64(n),
                                 Arg::int32(a.descending), Arg::result(0), layout, Arg::result(1), layout, Arg::int64(0),
                                 Arg::int64(rows), Arg::scratch(n * kernels::select_scratch_bytes(1))});
}

void topk_meta(const Call& c, Outputs& o) {
  const Tensor& self = c.tensor(0);
  require_ordered(c, self);
  const int d = dim_of(self, c[2]);
  const Int k = c[1].to_int(), n = self.dim() == 0 ? Int(1) : self.size(d);
  INGOT_REQUIRE(!(k < 0) && k <= n, "selected index k out of range: found k=", k, " for dimension ", d, " of size ", n);
  Shape sizes = self.sizes();
  if (self.dim() > 0) sizes[static_cast<std::size_t>(d)] = k;
  o.add(sizes, self.dtype());
  o.add(std::move(sizes), DType::i64);
}
void topk_kernel(const Call& c, std::span<const Tensor> r) {
  const SortRows s = sort_rows_of(c.tensor(0), dim_of(c.tensor(0), c[2]));
  const int64_t k = c[1].to_int64();
  const kernels::Rows out = kernels::Rows::along(k, s.layout.inner);
  parallel_for(0, s.rows, s.grain(), [&](int64_t begin, int64_t end) {
    const Scratch scratch(kernels::select_scratch_bytes(s.n));
    kernels::topk_rows(s.data.dtype(), s.data.data_ptr(), s.layout, s.n, k, c[3].to_bool(), r[0].data_ptr(), out,
                       r[1].data<int64_t>(), out, begin, end, scratch.get());
  });
}

void kthvalue_meta(const Call& c, Outputs& o) {
  const Tensor& self = c.tensor(0);
  require_ordered(c, self);
  const int d = dim_of(self, c[2]);
  const Int k = c[1].to_int(), n = self.dim() == 0 ? Int(1) : self.size(d);
  INGOT_REQUIRE(k >= 1 && k <= n, "kthvalue(): selected number k out of range for dimension ", d, ": found k=", k, " of ", n);
  Shape sizes = self.sizes();
  if (self.dim() > 0) {
    if (c[3].to_bool()) sizes[static_cast<std::size_t>(d)] = 1;
    else sizes.erase(static_cast<std::size_t>(d));
  }
  o.add(sizes, self.dtype());
  o.add(std::move(sizes), DType::i64);
}
void kthvalue_kernel(const Call& c, std::span<const Tensor> r) {
  const SortRows s = sort_rows_of(c.tensor(0), dim_of(c.tensor(0), c[2]));
  parallel_for(0, s.rows, s.grain(), [&](int64_t begin, int64_t end) {
    const Scratch scratch(kernels::select_scratch_bytes(s.n));
    kernels::kthvalue_rows(s.data.dtype(), s.data.data_ptr(), s.layout, s.n, c[1].to_int64(), r[0].data_ptr(),
                           r[1].data<int64_t>(), begin, end, scratch.get());
  });
}

// Each value's gradient goes to where the value stood.
void put_back(Vjp& v, const Value& dim, bool kept = true) {
  if (v.grad().defined()) v.set(0, aten<"value_selecting_reduction_backward">(v.grad(), dim, v.result(1), v.sizes(0), kept));
}

// ---- search

bool search_right(const Value& right, const Value& side) {
  if (side.is_none()) return right.to_bool();
  const std::string& s = side.string();
  INGOT_REQUIRE(s == "left" || s == "right", "torch.searchsorted(): side can only be 'left' or 'right' but got ", s);
  INGOT_REQUIRE(s == "right" || !right.to_bool(), "torch.searchsorted(): side and right can't be set to opposites, got side of ",
                s, " while right was True");
  return s == "right";
}
void check_search(const Value& sequence, const Value& values, const Value& sorter) {
  const Tensor& seq = sequence.tensor();
  INGOT_REQUIRE(!seq.is_complex() && !(values.is_tensor() && values.tensor().is_complex()) && !values.is_complex(),
                "torch.searchsorted(): complex numbers have no order");
  INGOT_REQUIRE(seq.dim() > 0, "torch.searchsorted(): boundaries tensor should have positive dimension, but got 0 dimension");
  if (values.is_tensor()) {
    const Tensor& v = values.tensor();
    INGOT_REQUIRE(v.dtype() == seq.dtype() || v.dim() == 0,
                  "torch.searchsorted(): boundary tensor and input value tensor should have same dtype, but got boundary tensor "
                  "with dtype ",
                  seq.dtype(), " and input value tensor with dtype ", v.dtype());
    bool match = seq.dim() == 1 || seq.dim() == v.dim();
    for (int64_t d = 0; match && seq.dim() > 1 && d + 1 < seq.dim(); d++) match = seq.size(d) == v.size(d);
    INGOT_REQUIRE(
        match,
        "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and input "
        "value tensor must match, but we got boundaries tensor ",
        seq.sizes(), " and input value tensor ", v.sizes());
  } else {
    INGOT_REQUIRE(
        seq.dim() == 1,
        "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, but we got boundaries "
        "tensor dim(",
        seq.dim(), ")");
  }
  if (sorter.is_tensor()) {
    INGOT_REQUIRE(sorter.tensor().dtype() == DType::i64,
                  "torch.searchsorted(): sorter must be a tensor of long dtype but got dtype ", sorter.tensor().dtype());
    INGOT_REQUIRE(sorter.tensor().sizes() == seq.sizes(),
                  "torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor ", seq.sizes(),
                  " and got sorter tensor ", sorter.tensor().sizes());
  }
}
// out = where `values` stand in the sorted `sequence`, both in their common type.
void search(const Value& sequence, const Value& values, const Value& sorter, bool right, const Tensor& out) {
  const Value operands[] = {sequence, values};
  const DType dtype = result_type(operands);
  const Tensor seq = dense(sequence.tensor(), dtype);
  Tensor v;
  if (values.is_tensor()) {
    v = dense(values.tensor(), dtype);
  } else {
    v = make_tensor(Geometry::contiguous({}, dtype));
    fill_elements(v, values.to_scalar());
  }
  const int64_t n = seq.size(-1).number(), total = v.numel().number();
  const Tensor order = sorter.is_tensor() ? dense(sorter.tensor(), DType::i64) : Tensor();
  if (order.defined())
    for (int64_t i = 0, size = order.numel().number(); i < size; i++)
      INGOT_REQUIRE_INDEX(order.data<int64_t>()[i] >= 0 && order.data<int64_t>()[i] < n,
                          "torch.searchsorted(): sorter index out of range: found ", order.data<int64_t>()[i],
                          " for a sequence of ", n);
  const DenseResult result(out, DType::i64);
  // A shared sequence is searched value by value, a batched one row by row.
  const bool shared = seq.dim() == 1;
  const int64_t m = shared ? 1 : v.size(-1).number(), rows = m == 0 ? 0 : total / m;
  const kernels::Rows sequence_rows = shared ? kernels::Rows{1, 0, 0, 1} : kernels::Rows::along(n, 1),
                      value_rows = kernels::Rows::along(m, 1);
  parallel_for(0, rows, std::max<int64_t>(1, 2048 / std::max<int64_t>(1, m)), [&](int64_t begin, int64_t end) {
    kernels::searchsorted_rows(dtype, seq.data_ptr(), sequence_rows, n, order.defined() ? order.data<int64_t>() : nullptr,
                               v.data_ptr(), value_rows, m, right, result.data<int64_t>(), begin, end);
  });
  result.finish();
}
// searchsorted(sorted_sequence, self, out_int32, right, side, sorter)
void searchsorted_meta(const Call& c, Outputs& o) {
  check_search(c[0], c[1], c[5]);
  search_right(c[3], c[4]);
  o.add(c[1].is_tensor() ? c.tensor(1).sizes() : Shape{}, c[2].to_bool() ? DType::i32 : DType::i64);
}
void searchsorted_kernel(const Call& c, std::span<const Tensor> r) { search(c[0], c[1], c[5], search_right(c[3], c[4]), r[0]); }
// bucketize(self, boundaries, out_int32, right)
void bucketize_meta(const Call& c, Outputs& o) {
  INGOT_REQUIRE(c.tensor(1).dim() == 1, "torch.bucketize(): boundaries tensor must be 1 dimension, but got dim(",
                c.tensor(1).dim(), ")");
  if (c[0].is_tensor())
    INGOT_REQUIRE(!c.tensor(0).is_complex() && !c.tensor(1).is_complex(), "torch.bucketize(): complex numbers have no order");
  o.add(c[0].is_tensor() ? c.tensor(0).sizes() : Shape{}, c[2].to_bool() ? DType::i32 : DType::i64);
}
void bucketize_kernel(const Call& c, std::span<const Tensor> r) { search(c[1], c[0], Value(), c[3].to_bool(), r[0]); }

// ---- isin(elements, test_elements, assume_unique, invert); either may be a number

template <class T>
std::vector<T> numbers_of(const Value& v) {
  if (v.is_tensor()) return v.tensor().to_vector<T>();
  if constexpr (std::is_same_v<T, double>) return {v.to_double()};
  else return {v.to_scalar().to_int().value()};
}
template <class T>
void isin_row(const Call& c, const Tensor& out) {
  std::vector<T> tests = numbers_of<T>(c[1]);
  std::erase_if(tests, [](T x) { return x != x; });  // NaN is in nothing
  std::sort(tests.begin(), tests.end());
  const std::vector<T> elements = numbers_of<T>(c[0]);
  const bool invert = c[3].to_bool();
  bool* p = out.data<bool>();
  for (std::size_t i = 0; i < elements.size(); i++)
    p[i] = (elements[i] == elements[i] && std::binary_search(tests.begin(), tests.end(), elements[i])) != invert;
}
void isin_meta(const Call& c, Outputs& o) {
  for (int i = 0; i < 2; i++)
    INGOT_REQUIRE(!c[i].is_complex() && !(c[i].is_tensor() && c.tensor(i).is_complex()),
                  "isin: complex numbers are not supported");
  o.add(c[0].is_tensor() ? c.tensor(0).sizes() : Shape{}, DType::b8);
}
void isin_kernel(const Call& c, std::span<const Tensor> r) {
  const Value operands[] = {c[0], c[1]};
  if (is_floating(result_type(operands))) isin_row<double>(c, r[0]);
  else isin_row<int64_t>(c, r[0]);
}

using MetaRule = void (*)(const Call&, Outputs&);
using KernelRule = void (*)(const Call&, std::span<const Tensor>);
constexpr OpDef places(std::string_view schema, MetaRule meta, KernelRule kernel) {
  return {.schema = schema, .meta = meta, .kernel = kernel, .grad = {.none = true}};
}

// ---- batching of searches
// (sorted_sequence, self, …, sorter): each member searches its own row of a sequence, or all search
// one.
Value batch_searchsorted(const Batching& b) {
  const bool own = b.batched(0) || b.batched(5), number = !b[1].is_tensor();
  if (!own && b.rank(0) == 1) return call(b.op, b.args);
  if (number || b.rank(0) != b.rank(1)) {
    if (number || b.rank(0) != 1) return batch_loop(b);
    Values args = arguments_in_front(b);
    args[1] = aten<"reshape">(args[1].tensor(), Shape{b.size, b.sizes(1).product()});
    return aten<"reshape">(call(b.op, args).tensor(), b.with_batch(b.sizes(1)));
  }
  return call(b.op, arguments_in_front(b));
}
Value batch_bucketize(const Batching& b) {
  if (!b.batched(1)) return call(b.op, b.args);
  if (!b[0].is_tensor()) return batch_loop(b);
  (void)b.member_results();
  const Tensor values = aten<"reshape">(b.front(0), Shape{b.size, b.sizes(0).product()});
  return aten<"reshape">(aten<"searchsorted.Tensor">(b.tensor(1), values, b[2], b[3]), b.with_batch(b.sizes(0)));
}
Value batch_isin(const Batching& b) {
  const bool own_tests = b[1].is_tensor() && b.batched(1);
  return own_tests ? batch_loop(b) : call(b.op, b.args);
}

constexpr OpDef kSortOps[] = {
    {.schema = "aten::sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
     .meta = sort_meta,
     .kernel = sort_kernel,
     .vjp = [](Vjp& v) { put_back(v, v.arg(1)); },
     .saves = {{kResult - 1}},
     .lower = sort_lower,
     .batch = batch_dims,
     .result = {.order_is_free = true}},
    {.schema =
         "aten::sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
     .meta = sort_meta,
     .kernel = sort_kernel,
     .vjp = [](Vjp& v) { put_back(v, v.arg(2)); },
     .saves = {{kResult - 1}},
     .grad = {.node_number = 1},
     .lower = sort_lower,
     .batch = batch_dims,
     .result = {.order_is_free = true}},
    {.schema = "aten::argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor",
     .form = Form::composite,
     .body = [](const Call& c) -> Value { return atens<"sort">(c[0], c[1], c[2])[1]; },
     .result = {.order_is_free = true}},
    {.schema = "aten::argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor",
     .form = Form::composite,
     .body = [](const Call& c) -> Value { return atens<"sort.stable">(c[0], c[1], c[2], c[3])[1]; },
     .result = {.order_is_free = true}},
    {.schema = "aten::msort(Tensor self) -> Tensor",
     .form = Form::composite,
     .body = [](const Call& c) -> Value { return atens<"sort">(c[0], 0, false)[0]; }},
    {.schema =
         "aten::topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)",
     .meta = topk_meta,
     .kernel = topk_kernel,
     .vjp = [](Vjp& v) { put_back(v, v.arg(2)); },
     .saves = {{kResult - 1}},
     .batch = batch_dims,
     .result = {.order_is_free = true}},
    {.schema = "aten::kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
     .meta = kthvalue_meta,
     .kernel = kthvalue_kernel,
     .vjp = [](Vjp& v) { put_back(v, v.arg(2), v.arg(3).to_bool()); },
     .saves = {{kResult - 1}},
     .batch = batch_dims,
     .result = {.order_is_free = true}},
    with_batch(
        places(
            "aten::searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? "
            "sorter=None) -> Tensor",
            searchsorted_meta, searchsorted_kernel),
        batch_searchsorted),
    with_batch(
        places(
            "aten::searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? "
            "sorter=None) -> Tensor",
            searchsorted_meta, searchsorted_kernel),
        batch_searchsorted),
    with_batch(
        places("aten::bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
               bucketize_meta, bucketize_kernel),
        batch_bucketize),
    with_batch(
        places("aten::bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
               bucketize_meta, bucketize_kernel),
        batch_bucketize),
    with_batch(
        places(
            "aten::isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor",
            isin_meta, isin_kernel),
        batch_isin),
    with_batch(
        places(
            "aten::isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, bool assume_unique=False, bool invert=False) -> Tensor",
            isin_meta, isin_kernel),
        batch_isin),
    with_batch(
        places(
            "aten::isin.Scalar_Tensor(Scalar element, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor",
            isin_meta, isin_kernel),
        batch_isin),
};

}  // namespace

INGOT_FAMILY(sort, kSortOps)

}  // namespace ingot
