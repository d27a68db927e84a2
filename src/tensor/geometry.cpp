#include "tensor/geometry.hpp"

#include <algorithm>
#include <numeric>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "expr/if_known.hpp"
#include "tensor/dim_order.hpp"

namespace ingot {

int wrap_dim(int64_t dim, int rank) {
  const int64_t n = std::max(rank, 1);
  INGOT_REQUIRE_INDEX(dim >= -n && dim < n, "Dimension out of range (expected to be in range of [", -n, ", ", n - 1,
                      "], but got ", dim, ")");
  return static_cast<int>(dim < 0 ? dim + n : dim);
}

Shape contiguous_strides(const Shape& sizes) {
  Shape r = Shape::filled(sizes.size(), 1);
  // ATen counts an empty dim as one element, so strides stay positive. max() of a number or an open
  // size needs no guard.
  for (int i = sizes.dim() - 2; i >= 0; i--) {
    Int below = sizes[i + 1];
    if (below.is_number() && below.number() == 0) below = 1;
    r[i] = r[i + 1] * below;
  }
  return r;
}

namespace {
// The order dims are laid out in memory for a channels-last format, innermost first.
Shape channels_last_order(int rank) { return rank == 4 ? Shape{1, 3, 2, 0} : Shape{1, 4, 3, 2, 0}; }
int rank_of(MemoryFormat f) { return f == MemoryFormat::channels_last ? 4 : 5; }
bool is_channels_last(MemoryFormat f) { return f == MemoryFormat::channels_last || f == MemoryFormat::channels_last_3d; }
}  // namespace

Shape strides_for(const Shape& sizes, MemoryFormat format) {
  if (!is_channels_last(format)) return contiguous_strides(sizes);
  INGOT_REQUIRE(sizes.dim() == rank_of(format), "required rank ", rank_of(format), " tensor to use ", format,
                " format, found rank ", sizes.dim());
  Shape r = Shape::filled(sizes.size(), 1);
  Int next = 1;
  for (Int d : channels_last_order(sizes.dim())) {
    r[d.number()] = next;
    const Int s = sizes[d.number()];
    next = next * (s.is_number() && s.number() == 0 ? Int(1) : s);
  }
  return r;
}

// Where only data decides, the answer is no: what is done then is right for every layout. A size
// that it decides is taken for one that is more than 1, and a stride that is the right one for such
// a size is right for 1.
bool is_contiguous(const Shape& sizes, const Shape& strides) {
  for (Int s : sizes)
    if (s.is_number() && s.number() == 0) return true;
  Int expected = 1;
  for (int i = sizes.dim() - 1; i >= 0; i--) {
    // Nothing is asked about a size whose stride is the expected one: a size of 1 would change
    // nothing.
    if (!statically_equal(strides[i], expected)) {
      if (equal_if_known(sizes[i], 1).value_or(false)) continue;
      if (!equal_if_known(strides[i], expected).value_or(false)) return false;
    }
    expected = expected * sizes[i];
  }
  return true;
}

bool is_contiguous(const Shape& sizes, const Shape& strides, MemoryFormat format) {
  if (!is_channels_last(format)) return is_contiguous(sizes, strides);
  if (sizes.dim() != rank_of(format)) return false;
  Int expected = 1;
  for (Int d : channels_last_order(sizes.dim())) {
    const auto i = static_cast<std::size_t>(d.number());
    if (equal_if_known(sizes[i], 1).value_or(false)) continue;
    if (!equal_if_known(strides[i], expected).value_or(false)) return false;
    expected = expected * sizes[i];
  }
  return true;
}

bool statically_same(const Geometry& a, const Geometry& b) {
  if (a.same(b)) return true;
  const auto equal = [](Int x, Int y) { return statically_equal(x, y); };
  return a.dtype == b.dtype && std::ranges::equal(a.sizes, b.sizes, equal) && std::ranges::equal(a.strides, b.strides, equal) &&
         equal(a.offset, b.offset);
}

bool is_non_overlapping_and_dense(const Shape& sizes, const Shape& strides) {
  if (is_contiguous(sizes, strides)) return true;
  // Dims by stride, size-1 dims last: dense if each stride is the product of the sizes below it.
  std::vector<int> perm(sizes.size());
  std::iota(perm.begin(), perm.end(), 0);
  const auto is_short = [&](int d) { return less_if_known(sizes[d], 2).value_or(false); };
  bool is_ordered = true;
  std::stable_sort(perm.begin(), perm.end(), [&](int a, int b) {
    if (is_short(a)) return false;
    if (is_short(b)) return true;
    const std::optional<bool> less = less_if_known(strides[a], strides[b]);
    is_ordered = is_ordered && less;
    return less.value_or(false);
  });
  if (!is_ordered) return false;
  Int expected = 1;
  for (int i : perm) {
    if (is_short(i)) return true;
    if (!equal_if_known(strides[i], expected).value_or(false)) return false;
    expected = expected * sizes[i];
  }
  return true;
}

MemoryFormat suggest_memory_format(const Shape& sizes, const Shape& strides) {
  const int rank = sizes.dim();
  if (rank != 4 && rank != 5) return MemoryFormat::contiguous;
  // ATen's rule: strides grow along C < W < H < N, ties allowed only where a size is 1 tells
  // nothing.
  Int min = 0;
  if (strides[1] == 0) return MemoryFormat::contiguous;
  for (Int d : channels_last_order(rank)) {
    const auto i = static_cast<std::size_t>(d.number());
    if (sizes[i] == 0) return MemoryFormat::contiguous;
    if (strides[i] < min) return MemoryFormat::contiguous;
    // An N111 tensor is ambiguous: it stays contiguous.
    if (i == 0 && min == strides[1]) return MemoryFormat::contiguous;
    min = strides[i];
    if (sizes[i] > 1) min = min * sizes[i];
  }
  return rank == 4 ? MemoryFormat::channels_last : MemoryFormat::channels_last_3d;
}

Int required_bytes(const Geometry& g) {
  Int last = g.offset + 1;
  for (std::size_t i = 0; i < g.sizes.size(); i++) {
    if (g.sizes[i].is_number() && g.sizes[i].number() == 0) return 0;
    last = last + (g.sizes[i] - 1) * g.strides[i];
  }
  return last * size_of(g.dtype);
}

bool may_overlap(const Geometry& g) {
  std::vector<std::pair<int64_t, int64_t>> dims;  // (stride, size)
  for (std::size_t i = 0; i < g.sizes.size(); i++) {
    const int64_t n = g.sizes[i].value();
    if (n == 0) return false;
    if (n > 1) dims.emplace_back(std::abs(g.strides[i].value()), n);
  }
  std::sort(dims.begin(), dims.end());
  int64_t reach = 0;  // furthest element the smaller strides reach
  for (auto [stride, n] : dims) {
    if (stride <= reach) return true;
    reach += stride * (n - 1);
  }
  return false;
}

Shape broadcast_shapes(const Shape& a, const Shape& b, std::string_view op) {
  const std::size_t n = std::max(a.size(), b.size());
  Shape r = Shape::filled(n, 1);
  for (std::size_t k = 0; k < n; k++) {  // k counts from the last dim
    const Int x = k < a.size() ? a[a.size() - 1 - k] : Int(1), y = k < b.size() ? b[b.size() - 1 - k] : Int(1);
    Int& out = r[n - 1 - k];
    if (x.same(y)) out = x;
    else if (x.is_number() && x.number() == 1) out = y;
    else if (y.is_number() && y.number() == 1) out = x;
    else if (x == y) out = x.is_number() ? x : y;
    else if (x == 1) out = y;
    else if (y == 1) out = x;
    else
      throw_user_error(text(op, ": The size of tensor a (", x, ") must match the size of tensor b (", y,
                            ") at non-singleton dimension ", static_cast<int64_t>(n - 1 - k), "; found shapes ", a, " and ", b));
  }
  return r;
}

Shape infer_size(const Shape& size, Int numel) {
  Shape r = size;
  int hole = -1;
  Int known = 1;
  for (int i = 0; i < size.dim(); i++) {
    if (size[i].is_number() && size[i].number() == -1) {
      INGOT_REQUIRE(hole < 0, "only one dimension can be inferred, found ", size);
      hole = i;
    } else {
      INGOT_REQUIRE(!size[i].is_number() || size[i].number() >= 0, "invalid shape dimension ", size[i], " in ", size);
      known = known * size[i];
    }
  }
  if (hole >= 0) {
    INGOT_REQUIRE(!(known.is_number() && known.number() == 0), "cannot reshape tensor of ", numel, " elements into shape ", size,
                  " because the unspecified dimension size -1 can be any value and is ambiguous");
    r[hole] = floor_div(numel, known);
    INGOT_REQUIRE(statically_equal(r[hole] * known, numel) || r[hole] * known == numel, "shape '", size,
                  "' is invalid for input of size ", numel);
  } else {
    INGOT_REQUIRE(statically_equal(known, numel) || known == numel, "shape '", size, "' is invalid for input of size ", numel);
  }
  return r;
}

std::optional<Shape> view_strides(const Shape& sizes, const Shape& strides, const Shape& new_sizes) {
  // Elements are the same number (infer_size checked it). Walk old dims from the last, gathering
  // runs that are contiguous in memory; each run must be covered exactly by new dims.
  if (sizes.product().same(0) || new_sizes.product().same(0)) {
    if (sizes.same(new_sizes)) return strides;
    return contiguous_strides(new_sizes);
  }
  // What has no elements, which is asked where it was not known, is viewed as anything.
  const auto none = [&]() -> std::optional<Shape> {
    if (sizes.product() == 0) return contiguous_strides(new_sizes);
    return std::nullopt;
  };
  Shape r = Shape::filled(new_sizes.size(), 1);
  if (sizes.empty()) return r;
  int view_d = new_sizes.dim() - 1;
  Int chunk_base = strides.back(), run = 1, view_run = 1;
  for (int d = sizes.dim() - 1; d >= 0; d--) {
    run = run * sizes[d];
    // Where the data decides: as if sizes were large. What the run is covered by is asked at its
    // end.
    const bool ends = d == 0 || (!equal_if_known(sizes[d - 1], 1).value_or(false) &&
                                 !equal_if_known(strides[d - 1], run * chunk_base).value_or(false));
    if (!ends) continue;
    while (view_d >= 0 && (!statically_equal(view_run, run) || statically_equal(new_sizes[view_d], 1)) &&
           (less_if_known(view_run, run).value_or(true) || new_sizes[view_d] == 1)) {
      r[view_d] = view_run * chunk_base;
      view_run = view_run * new_sizes[view_d];
      view_d--;
    }
    if (!statically_equal(view_run, run) && !(view_run == run)) return none();
    if (d > 0) {
      chunk_base = strides[d - 1];
      run = 1;
      view_run = 1;
    }
  }
  if (view_d != -1) return none();
  return r;
}

Shape strides_in_order_of(const Shape& sizes, const std::vector<Shape>& strides) {
  const std::vector<int> dims = inner_first(sizes, strides);
  if (std::is_sorted(dims.rbegin(), dims.rend())) return contiguous_strides(sizes);
  Shape r = Shape::filled(sizes.size(), 1);
  Int next = 1;
  for (int d : dims) {
    r[d] = next;
    next = next * sizes[d];
  }
  return r;
}

Shape dense_strides_like(const Shape& sizes, const Shape& strides) {
  return is_non_overlapping_and_dense(sizes, strides) ? strides : strides_in_order_of(sizes, {strides});
}

Geometry expand_geometry(const Geometry& g, const Shape& sizes) {
  INGOT_REQUIRE(sizes.size() >= g.sizes.size(), "expand: the number of sizes provided (", sizes.dim(),
                ") must be greater or equal to the number of dimensions in the tensor (", g.dim(), ")");
  Geometry r = g;
  r.sizes = sizes;
  r.strides = Shape::filled(sizes.size(), 0);
  const int lead = sizes.dim() - g.dim();
  for (int i = sizes.dim() - 1; i >= 0; i--) {
    const Int want = sizes[i];
    if (i < lead) {
      INGOT_REQUIRE(!(want.is_number() && want.number() < 0), "expand: the expanded size of the tensor (", want,
                    ") isn't allowed in a leading, non-existing dimension ", i);
      // A new dim of size 1 is no broadcast: it gets the stride unsqueeze would give it, but not on
      // a 0-dim tensor (ATen's rule).
      if (want.same(1) && g.dim() > 0) r.strides[i] = r.sizes[i + 1] * r.strides[i + 1];
      continue;
    }
    const Int have = g.sizes[i - lead];
    if (want.is_number() && want.number() == -1) {
      r.sizes[i] = have;
      r.strides[i] = g.strides[i - lead];
    } else if (have.same(want) || (!(have.is_number() && have.number() == 1) && have == want)) {
      r.strides[i] = g.strides[i - lead];
    } else {
      INGOT_REQUIRE(have == 1, "expand: The expanded size of the tensor (", want, ") must match the existing size (", have,
                    ") at non-singleton dimension ", i, ".  Target sizes: ", sizes, ".  Tensor sizes: ", g.sizes);
    }
  }
  return r;
}

Geometry permute_geometry(const Geometry& g, const Shape& dims) {
  INGOT_REQUIRE(dims.dim() == g.dim(),
                "permute(sparse_coo): number of dimensions in the tensor input does not match the length of "
                "the desired ordering of dimensions i.e. input.dim() = ",
                g.dim(), " is not equal to len(dims) = ", dims.dim());
  Geometry r = g;
  std::vector<bool> seen(dims.size());
  for (std::size_t i = 0; i < dims.size(); i++) {
    const auto d = static_cast<std::size_t>(wrap_dim(dims[i].value(), g.dim()));
    INGOT_REQUIRE(!seen[d], "permute(): duplicate dims are not allowed.");
    seen[d] = true;
    r.sizes[i] = g.sizes[d];
    r.strides[i] = g.strides[d];
  }
  return r;
}

namespace {
// A negative place counts from behind. Where only data decides which it is, the number is written
// so that it is right for both.
Int from_the_front(Int i, Int size) {
  const auto negative = less_if_known(i, 0);
  if (!negative) return i + size * min(max(-i, 0), 1);
  return *negative ? i + size : i;
}
}  // namespace

Geometry select_geometry(const Geometry& g, int64_t dim, Int index) {
  INGOT_REQUIRE_INDEX(g.dim() > 0, "select() cannot be applied to a 0-dim tensor.");
  const auto d = static_cast<std::size_t>(wrap_dim(dim, g.dim()));
  const Int size = g.sizes[d];
  const auto problem = [&] {
    return text("select(): index ", index, " out of range for tensor of size ", g.sizes, " at dimension ",
                static_cast<int64_t>(d));
  };
  const auto before = less_if_known(index, -size), within = less_if_known(index, size);
  INGOT_REQUIRE_INDEX(!before.value_or(false) && within.value_or(true), problem());
  if (!before) take_for_less(-size - 1, index, problem());
  if (!within) take_for_less(index, size, problem());
  Geometry r = g;
  const Int i = from_the_front(index, size);
  r.offset = g.offset + i * g.strides[d];
  r.sizes.erase(d);
  r.strides.erase(d);
  return r;
}

Geometry slice_geometry(const Geometry& g, int64_t dim, std::optional<Int> start, std::optional<Int> end, Int step) {
  INGOT_REQUIRE(g.dim() > 0, "slice() cannot be applied to a 0-dim tensor.");
  const auto d = static_cast<std::size_t>(wrap_dim(dim, g.dim()));
  INGOT_REQUIRE(step > 0, "slice step must be positive, found ", step);
  const Int size = g.sizes[d];
  auto clamp = [&](Int v) {
    v = from_the_front(v, size);
    const auto before = less_if_known(v, 0);
    if (!before) v = max(v, 0);
    else if (*before) return Int(0);
    const auto beyond = less_if_known(size, v);  // in this order: an end that is known to be within an open size needs no guard
    if (!beyond) return min(v, size);
    return *beyond ? size : v;
  };
  constexpr int64_t kEnd = INT64_MAX;  // PyTorch's "to the end": must not be compared with an open size
  const Int b = start ? clamp(*start) : Int(0);
  const Int e = !end || (end->is_number() && end->number() == kEnd) ? size : clamp(*end);
  const auto empty = less_if_known(e, b);
  // What data decides stays a number that is seen not to be negative.
  const Int length = !empty || data_decides(e - b) ? max(e - b, 0) : *empty ? Int(0) : e - b;
  Geometry r = g;
  r.offset = g.offset + b * g.strides[d];
  r.sizes[d] = step.same(1) ? length : ceil_div(length, step);
  r.strides[d] = g.strides[d] * step;
  return r;
}

}  // namespace ingot
