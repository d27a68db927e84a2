// Distinct values of a tensor, or distinct slices along a dim. How many there are only the data
// decides.
#include <cmath>
#include <numeric>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "ingot/op/vjp.hpp"
#include "op/call.hpp"
#include "ops/batch/rules.hpp"
#include "ops/common/dense.hpp"
#include "ops/family.hpp"
#include "ops/index/indexing.hpp"
#include "ops/index/masked.hpp"
#include "tensor/geometry.hpp"

namespace ingot {
namespace {

// What one of the ops was asked for.
struct Request {
  std::optional<int> dim;  // none: over all elements
  bool consecutive = false;  // only neighbours are compared
  bool inverse = false, counts = false;
};

// Items are elements, or slices along dim; `order` sorts them and equal ones form a group.
struct Groups {
  std::vector<int64_t> order;  // of items
  std::vector<int64_t> start;  // first position in `order` of each group
};

// The items as rows of a contiguous [items, width] tensor.
Tensor items_of(const Tensor& self, const std::optional<int>& dim) {
  if (!dim) {
    const Tensor flat = dense(self, self.dtype());
    return make_alias(flat, Geometry::contiguous({flat.numel(), 1}, flat.dtype()));
  }
  Shape front{*dim};
  for (int d = 0; d < self.dim(); d++)
    if (d != *dim) front.push_back(d);
  const Tensor moved = dense(make_alias(self, permute_geometry(self->geom, front)), self.dtype());
  const int64_t n = self.size(*dim).number();
  return make_alias(moved, Geometry::contiguous({n, n == 0 ? Int(0) : floor_div(moved.numel(), n)}, moved.dtype()));
}

template <class T>
bool less(T a, T b) {  // NaN last
  return a < b || (b != b && a == a);
}
template <class T>
Groups group(const std::vector<T>& x, int64_t items, int64_t width, bool consecutive) {
  Groups g;
  g.order.resize(static_cast<std::size_t>(items));
  std::iota(g.order.begin(), g.order.end(), 0);
  const T* p = x.data();
  if (!consecutive)
    std::stable_sort(g.order.begin(), g.order.end(), [&](int64_t a, int64_t b) {
      return std::lexicographical_compare(p + a * width, p + (a + 1) * width, p + b * width, p + (b + 1) * width, less<T>);
    });
  for (int64_t i = 0; i < items; i++) {
    const int64_t a = i == 0 ? 0 : g.order[static_cast<std::size_t>(i - 1)], b = g.order[static_cast<std::size_t>(i)];
    if (i == 0 || !std::equal(p + a * width, p + (a + 1) * width, p + b * width)) g.start.push_back(i);
  }
  return g;
}
Groups group(const Tensor& items, bool consecutive) {
  const int64_t n = items.size(0).number(), width = items.size(1).number();
  return is_floating(items.dtype()) ? group(items.to_vector<double>(), n, width, consecutive)
                                    : group(items.to_vector<int64_t>(), n, width, consecutive);
}

void check(const Call& c, const Request& q) {
  const Tensor& self = c.tensor(0);
  INGOT_REQUIRE(!self.is_complex(), "\"", c.op.schema.name, "\" not implemented for '", scalar_type_name(self.dtype()), "'");
  if (!q.dim) return;
  for (int d = 0; d < self.dim(); d++)
    INGOT_REQUIRE(d == *q.dim || !statically_equal(self.size(d), 0),
                  "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied");
}

void meta(const Call& c, const Request& q, Outputs& o) {
  check(c, q);
  const Tensor& self = c.tensor(0);
  const Int most = q.dim ? self.size(*q.dim) : self.numel();
  const Int n = self->is_fake() ? data_dependent_size(c.op.schema.name, most)
                                : Int(static_cast<int64_t>(group(items_of(self, q.dim), q.consecutive).start.size()));
  if (!q.dim) {
    o.add(Shape{n}, self.dtype());
    o.add(q.inverse ? self.sizes() : Shape{0}, DType::i64);
    o.add(Shape{q.counts ? n : Int(0)}, DType::i64);
    return;
  }
  // Slices are stored one after the other, whatever dim they lie along.
  const auto d = static_cast<std::size_t>(*q.dim);
  Shape moved = self.sizes();
  moved.erase(d);
  moved.insert(0, n);
  Geometry g = Geometry::contiguous(moved, self.dtype());
  Shape back;
  for (int i = 0; i < self.dim(); i++) back.push_back(i == *q.dim ? 0 : i < *q.dim ? i + 1 : i);
  o.add(permute_geometry(g, back));
  o.add(Shape{most}, DType::i64);
  o.add(Shape{n}, DType::i64);
}

void kernel(const Call& c, const Request& q, std::span<const Tensor> r) {
  const Tensor items = items_of(c.tensor(0), q.dim);
  const Groups g = group(items, q.consecutive);
  const int64_t n = items.size(0).number(), width = items.size(1).number();
  const std::size_t count = g.start.size();
  const Tensor rows = q.dim ? make_tensor(Geometry::contiguous({static_cast<int64_t>(count), width}, items.dtype())) : r[0];
  const bool inverse = q.dim || q.inverse, counts = q.dim || q.counts;
  const int64_t bytes = width * items.itemsize();
  for (std::size_t k = 0; k < count; k++) {
    const int64_t begin = g.start[k], end = k + 1 < count ? g.start[k + 1] : n;
    std::copy_n(static_cast<const char*>(items.data_ptr()) + g.order[static_cast<std::size_t>(begin)] * bytes, bytes,
                static_cast<char*>(rows.data_ptr()) + static_cast<int64_t>(k) * bytes);
    if (counts) r.back().data<int64_t>()[k] = end - begin;
    if (inverse)
      for (int64_t i = begin; i < end; i++) r[1].data<int64_t>()[g.order[static_cast<std::size_t>(i)]] = static_cast<int64_t>(k);
  }
  if (!q.dim) return;
  Shape moved{static_cast<int64_t>(count)};
  Shape back;
  for (int d = 0; d < c.tensor(0).dim(); d++) {
    if (d != *q.dim) moved.push_back(c.tensor(0).sizes()[static_cast<std::size_t>(d)]);
    back.push_back(d == *q.dim ? 0 : d < *q.dim ? d + 1 : d);
  }
  copy_elements(r[0], make_alias(rows, permute_geometry(Geometry::contiguous(moved, rows.dtype()), back)));
}

int dim_of(const Call& c, const Value& dim) { return wrap_dim(dim.to_int64(), static_cast<int>(c.tensor(0).dim())); }

using Ask = Request (*)(const Call&);
template <Ask kAsk>
constexpr OpDef unique_op(std::string_view schema) {
  return {.schema = schema,
          .meta = [](const Call& c, Outputs& o) { meta(c, kAsk(c), o); },
          .kernel = [](const Call& c, std::span<const Tensor> r) { kernel(c, kAsk(c), r); },
          .vjp = refuse_vjp};
}

Request all_elements(const Call& c) { return {.dim = {}, .inverse = c[2].to_bool(), .counts = c[3].to_bool()}; }
Request all_slices(const Call& c) { return {.dim = dim_of(c, c[1])}; }
Request neighbours(const Call& c) {
  Request q{.dim = {}, .consecutive = true, .inverse = c[1].to_bool(), .counts = c[2].to_bool()};
  if (!c[3].is_none()) q.dim = dim_of(c, c[3]);
  return q;
}
Request neighbouring_slices(const Call& c) { return {.dim = dim_of(c, c[1]), .consecutive = true}; }

constexpr OpDef kUniqueOps[] = {
    with_batch(
        unique_op<all_elements>(
            "aten::_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, "
            "Tensor)"),
        refuse_dynamic_shape),
    with_batch(
        unique_op<all_slices>(
            "aten::unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, "
            "Tensor, Tensor)"),
        refuse_dynamic_shape),
    with_batch(
        unique_op<neighbours>(
            "aten::unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None) -> (Tensor, "
            "Tensor, Tensor)"),
        refuse_dynamic_shape),
    with_batch(
        unique_op<neighbouring_slices>(
            "aten::unique_dim_consecutive(Tensor self, int dim, bool return_inverse=False, bool return_counts=False) -> (Tensor, "
            "Tensor, Tensor)"),
        refuse_dynamic_shape),
};

}  // namespace

INGOT_FAMILY(unique, kUniqueOps)

}  // namespace ingot
