// Geometry of views: sizes and strides, plain and symbolic, against their definitions.
#include "tensor/geometry.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "base/error.hpp"
#include "expr/evaluate.hpp"
#include "graph/shape_env.hpp"
#include "ops/pointwise/result_strides.hpp"
#include "support/error_text.hpp"

namespace ingot {
namespace {

Geometry geometry(Shape sizes, Shape strides, Int offset = 0) {
  Geometry g;
  g.sizes = std::move(sizes);
  g.strides = std::move(strides);
  g.offset = offset;
  return g;
}

// Addresses of all elements, row-major.
std::vector<int64_t> addresses(const Geometry& g) {
  std::vector<int64_t> a{g.offset.number()};
  for (std::size_t d = 0; d < g.sizes.size(); d++) {
    std::vector<int64_t> next;
    for (int64_t x : a)
      for (int64_t i = 0; i < g.sizes[d].number(); i++) next.push_back(x + i * g.strides[d].number());
    a = std::move(next);
  }
  return a;
}

// Geometries of small tensors of all kinds: dense, permuted, sliced, expanded, with dims of one
// element and of none.
std::vector<Geometry> small_geometries() {
  std::vector<Geometry> all;
  for (const Shape& sizes : {Shape{}, Shape{1}, Shape{6}, Shape{2, 3}, Shape{2, 1, 3}, Shape{2, 2, 3}, Shape{4, 3}, Shape{0, 3},
                             Shape{1, 1}, Shape{2, 3, 2, 2}}) {
    const Geometry dense = Geometry::contiguous(sizes, DType::f32);
    all.push_back(dense);
    for (int a = 0; a < dense.dim(); a++) {
      for (int b = a + 1; b < dense.dim(); b++) {
        Shape dims;
        for (int i = 0; i < dense.dim(); i++) dims.push_back(i == a ? b : i == b ? a : i);
        all.push_back(permute_geometry(dense, dims));
        all.push_back(slice_geometry(permute_geometry(dense, dims), 0, 0, {}, 2));
      }
      all.push_back(slice_geometry(dense, a, 1, {}, 1));
      all.push_back(slice_geometry(dense, a, 0, {}, 2));
      all.push_back(slice_geometry(dense, a, 0, 1, 1));
      if (dense.sizes[a] == 1) {
        Shape wider = sizes;
        wider[a] = 2;
        all.push_back(expand_geometry(dense, wider));
      }
      Shape more = sizes;
      more.insert(0, 2);
      all.push_back(expand_geometry(dense, more));
    }
  }
  return all;
}
std::string describe(const Geometry& g) { return text("sizes ", g.sizes, " strides ", g.strides); }

// Every way to write n as an ordered product, with up to `dims` factors (ones included).
void factorisations(int64_t n, int dims, Shape so_far, std::vector<Shape>& out) {
  if (dims == 0) {
    if (n == 1) out.push_back(so_far);
    return;
  }
  for (int64_t f = 1; f <= n; f++)
    if (n % f == 0) {
      Shape s = so_far;
      s.push_back(f);
      factorisations(n / f, dims - 1, s, out);
    }
}

TEST(Geometry, WrapDim) {
  EXPECT_EQ(wrap_dim(0, 3), 0);
  EXPECT_EQ(wrap_dim(-1, 3), 2);
  EXPECT_EQ(wrap_dim(-3, 3), 0);
  EXPECT_EQ(wrap_dim(0, 0), 0);
  EXPECT_EQ(wrap_dim(-1, 0), 0);
  EXPECT_THROW(wrap_dim(1, 0), IndexError);
  EXPECT_EQ(error_of([] { wrap_dim(3, 3); }), "Dimension out of range (expected to be in range of [-3, 2], but got 3)");
  EXPECT_EQ(error_of([] { wrap_dim(-2, 0); }), "Dimension out of range (expected to be in range of [-1, 0], but got -2)");
}

TEST(Geometry, ContiguousStrides) {
  EXPECT_TRUE(contiguous_strides({}).same({}));
  EXPECT_TRUE(contiguous_strides({5}).same({1}));
  EXPECT_TRUE(contiguous_strides({2, 3, 4}).same({12, 4, 1}));
  EXPECT_TRUE(contiguous_strides({2, 0, 4}).same({4, 4, 1}));  // an empty dim counts as one
  EXPECT_TRUE(contiguous_strides({0}).same({1}));
}

TEST(Geometry, ChannelsLast) {
  EXPECT_TRUE(strides_for({2, 3, 4, 5}, MemoryFormat::channels_last).same({60, 1, 15, 3}));
  EXPECT_TRUE(strides_for({2, 3, 4, 5, 6}, MemoryFormat::channels_last_3d).same({360, 1, 90, 18, 3}));
  EXPECT_TRUE(strides_for({2, 3}, MemoryFormat::contiguous).same({3, 1}));
  EXPECT_NE(error_of([] { strides_for({2, 3, 4}, MemoryFormat::channels_last); }).find("required rank 4 tensor to use"),
            std::string::npos);
  EXPECT_NE(error_of([] { strides_for({2, 3, 4, 5}, MemoryFormat::channels_last_3d); }).find("required rank 5 tensor"),
            std::string::npos);

  EXPECT_TRUE(is_contiguous({2, 3, 4, 5}, {60, 1, 15, 3}, MemoryFormat::channels_last));
  EXPECT_FALSE(is_contiguous({2, 3, 4, 5}, {60, 20, 5, 1}, MemoryFormat::channels_last));
  EXPECT_FALSE(is_contiguous({2, 3, 4}, {12, 4, 1}, MemoryFormat::channels_last));
  EXPECT_TRUE(is_contiguous({2, 1, 4, 5}, {20, 20, 5, 1}, MemoryFormat::channels_last)) << "one channel: both formats at once";
}

TEST(Geometry, SuggestedFormat) {
  using enum MemoryFormat;
  EXPECT_EQ(suggest_memory_format({2, 3, 4, 5}, {60, 1, 15, 3}), channels_last);
  EXPECT_EQ(suggest_memory_format({2, 3, 4, 5}, {60, 20, 5, 1}), contiguous);
  EXPECT_EQ(suggest_memory_format({2, 3, 4, 5, 6}, {360, 1, 90, 18, 3}), channels_last_3d);
  EXPECT_EQ(suggest_memory_format({2, 1, 4, 4}, {16, 16, 4, 1}), contiguous);
  EXPECT_EQ(suggest_memory_format({2, 1, 4, 4}, {16, 1, 4, 1}), channels_last);
  EXPECT_EQ(suggest_memory_format({4, 1, 1, 1}, {1, 1, 1, 1}), contiguous) << "N111 tells nothing";
  EXPECT_EQ(suggest_memory_format({2, 3, 0, 5}, {15, 1, 15, 3}), contiguous);
  EXPECT_EQ(suggest_memory_format({2, 3, 4, 5}, {0, 0, 0, 0}), contiguous);
  EXPECT_EQ(suggest_memory_format({2, 3}, {3, 1}), contiguous);
}

TEST(Geometry, IsContiguous) {
  EXPECT_TRUE(is_contiguous({}, {}));
  EXPECT_TRUE(is_contiguous({2, 3}, {3, 1}));
  EXPECT_FALSE(is_contiguous({2, 3}, {1, 2}));
  EXPECT_FALSE(is_contiguous({2, 3}, {6, 2}));
  EXPECT_TRUE(is_contiguous({1, 3}, {77, 1})) << "the stride of one element is never used";
  EXPECT_TRUE(is_contiguous({2, 1, 3}, {3, 0, 1}));
  EXPECT_TRUE(is_contiguous({0, 3}, {1, 7})) << "nothing is contiguous";
  EXPECT_FALSE(is_contiguous({2}, {0}));
}

TEST(Geometry, DenseMeansEveryAddressOnce) {
  for (const Geometry& g : small_geometries()) {
    std::vector<int64_t> a = addresses(g);
    const std::set<int64_t> distinct(a.begin(), a.end());
    const bool dense = distinct.size() == a.size() &&
                       (a.empty() || *distinct.rbegin() - *distinct.begin() + 1 == static_cast<int64_t>(a.size()));
    EXPECT_EQ(is_non_overlapping_and_dense(g.sizes, g.strides), dense) << describe(g);
  }
}

TEST(Geometry, OverlapMeansAnAddressTwice) {
  for (const Geometry& g : small_geometries()) {
    std::vector<int64_t> a = addresses(g);
    const std::set<int64_t> distinct(a.begin(), a.end());
    EXPECT_EQ(may_overlap(g), distinct.size() != a.size()) << describe(g);
  }
  EXPECT_TRUE(may_overlap(geometry({3, 2}, {1, 1})));  // unfolded windows
  EXPECT_TRUE(may_overlap(geometry({3, 2}, {2, 3}))) << "it may: the test is cheap, not exact";
}

TEST(Geometry, RequiredBytes) {
  auto bytes = [](const Geometry& g) { return required_bytes(g).number(); };
  EXPECT_EQ(bytes(Geometry::contiguous({2, 3}, DType::f32)), 24);
  EXPECT_EQ(bytes(Geometry::contiguous({}, DType::c128)), 16);
  EXPECT_EQ(bytes(Geometry::contiguous({0, 3}, DType::f32)), 0);
  EXPECT_EQ(bytes(geometry({2, 3}, {0, 1}, 5)), 32);
  EXPECT_EQ(bytes(geometry({0}, {1}, 5)), 0);
  for (const Geometry& g : small_geometries()) {
    const auto a = addresses(g);
    EXPECT_EQ(bytes(g), a.empty() ? 0 : 4 * (*std::max_element(a.begin(), a.end()) + 1)) << describe(g);
  }
  EXPECT_THROW(required_bytes(geometry({int64_t{1} << 40, int64_t{1} << 40}, {int64_t{1} << 40, 1})), UserError);
}

TEST(Geometry, Broadcast) {
  EXPECT_TRUE(broadcast_shapes({2, 1}, {3}, "add").same({2, 3}));
  EXPECT_TRUE(broadcast_shapes({}, {2}, "add").same({2}));
  EXPECT_TRUE(broadcast_shapes({0}, {1}, "add").same({0}));
  EXPECT_TRUE(broadcast_shapes({5, 1, 3}, {1, 4, 1}, "add").same({5, 4, 3}));
  EXPECT_NE(error_of([] {
              broadcast_shapes({2, 3}, {2, 4}, "add");
            }).find("The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1"),
            std::string::npos);
  EXPECT_THROW(broadcast_shapes({0}, {2}, "add"), UserError);
}

TEST(Geometry, InferSize) {
  EXPECT_TRUE(infer_size({2, -1}, 6).same({2, 3}));
  EXPECT_TRUE(infer_size({-1}, 6).same({6}));
  EXPECT_TRUE(infer_size({6}, 6).same({6}));
  EXPECT_TRUE(infer_size({}, 1).same({}));
  EXPECT_TRUE(infer_size({-1, 3}, 0).same({0, 3}));
  EXPECT_TRUE(infer_size({0, 7}, 0).same({0, 7}));
  EXPECT_EQ(error_of([] { infer_size({4, -1}, 6); }), "shape '[4, -1]' is invalid for input of size 6");
  EXPECT_EQ(error_of([] { infer_size({2, 2}, 6); }), "shape '[2, 2]' is invalid for input of size 6");
  EXPECT_NE(error_of([] { infer_size({-1, -1}, 6); }).find("only one dimension can be inferred"), std::string::npos);
  EXPECT_NE(error_of([] { infer_size({-2, 3}, 6); }).find("invalid shape dimension -2"), std::string::npos);
  EXPECT_EQ(error_of([] { infer_size({-1, 0}, 0); }),
            "cannot reshape tensor of 0 elements into shape [-1, 0] because the unspecified "
            "dimension size -1 can be any value and is ambiguous");
}

// A view exists exactly when strides reproduce the addresses.
TEST(Geometry, ViewStridesFindEveryView) {
  int found = 0, refused = 0;
  for (const Geometry& g : small_geometries()) {
    const int64_t n = g.numel().number();
    if (n == 0) continue;
    const std::vector<int64_t> want = addresses(g);
    for (int dims = 0; dims <= 4; dims++) {
      std::vector<Shape> shapes;
      factorisations(n, dims, {}, shapes);
      for (const Shape& s : shapes) {
        const auto strides = view_strides(g.sizes, g.strides, s);
        // The only strides that could do: the address of the first neighbour along each dim.
        Shape candidate = Shape::filled(s.size(), 0);
        int64_t step = n;
        for (std::size_t d = 0; d < s.size(); d++) {
          step /= s[d].number();
          if (s[d].number() > 1) candidate[d] = want[static_cast<std::size_t>(step)] - want[0];
        }
        const bool exists = addresses(geometry(s, candidate, g.offset)) == want;
        ASSERT_EQ(strides.has_value(), exists) << describe(g) << " as " << to_text(s);
        if (strides) {
          ASSERT_EQ(addresses(geometry(s, *strides, g.offset)), want) << describe(g) << " as " << to_text(s);
        }
        (exists ? found : refused)++;
      }
    }
  }
  EXPECT_GT(found, 500);
  EXPECT_GT(refused, 100);
}

TEST(Geometry, ViewStridesOfNothing) {
  EXPECT_TRUE(view_strides({0, 3}, {3, 1}, {0, 3})->same({3, 1}));
  EXPECT_TRUE(view_strides({0, 3}, {1, 7}, {3, 0})->same({1, 1}));
  EXPECT_TRUE(view_strides({}, {}, {1, 1})->same({1, 1}));
}

TEST(Geometry, DenseStridesKeepTheOrderOfDims) {
  EXPECT_TRUE(dense_strides_like({2, 3}, {1, 2}).same({1, 2}));         // dense already
  EXPECT_TRUE(dense_strides_like({2, 3}, {6, 2}).same({3, 1}));         // sliced
  EXPECT_TRUE(dense_strides_like({3, 2}, {2, 6}).same({1, 3}));         // sliced and transposed
  EXPECT_TRUE(dense_strides_like({2, 3}, {0, 1}).same({3, 1}));         // expanded
  EXPECT_TRUE(dense_strides_like({2, 3, 4, 5}, {120, 2, 30, 6}).same({60, 1, 15, 3}));  // sliced channels_last
  for (const Geometry& g : small_geometries()) {
    const Geometry dense = geometry(g.sizes, dense_strides_like(g.sizes, g.strides));
    EXPECT_TRUE(is_non_overlapping_and_dense(dense.sizes, dense.strides)) << describe(g) << " became " << describe(dense);
  }
}

TEST(Geometry, Expand) {
  const Geometry g = Geometry::contiguous({3, 1}, DType::f32);
  EXPECT_TRUE(expand_geometry(g, {3, 4}).strides.same({1, 0}));
  EXPECT_TRUE(expand_geometry(g, {2, 3, 4}).strides.same({0, 1, 0}));
  EXPECT_TRUE(expand_geometry(g, {-1, 4}).sizes.same({3, 4}));
  EXPECT_TRUE(expand_geometry(g, {-1, -1}).strides.same({1, 1}));
  EXPECT_TRUE(expand_geometry(g, {3, 0}).sizes.same({3, 0}));
  EXPECT_NE(error_of([&] { expand_geometry(g, {2, 1}); })
                .find("The expanded size of the tensor (2) must match the existing size (3) at "
                      "non-singleton dimension 0.  Target sizes: [2, 1].  Tensor sizes: [3, 1]"),
            std::string::npos);
  EXPECT_NE(
      error_of([&] { expand_geometry(g, {3}); }).find("must be greater or equal to the number of dimensions in the tensor (2)"),
      std::string::npos);
  EXPECT_NE(error_of([&] { expand_geometry(g, {-1, 3, 1}); }).find("isn't allowed in a leading, non-existing dimension 0"),
            std::string::npos);
}

TEST(Geometry, Permute) {
  const Geometry g = Geometry::contiguous({2, 3, 4}, DType::f32);
  const Geometry p = permute_geometry(g, {2, 0, -2});
  EXPECT_TRUE(p.sizes.same({4, 2, 3}));
  EXPECT_TRUE(p.strides.same({1, 12, 4}));
  EXPECT_NE(error_of([&] { permute_geometry(g, {0, 1}); }).find("input.dim() = 3 is not equal to len(dims) = 2"),
            std::string::npos);
  EXPECT_NE(error_of([&] { permute_geometry(g, {0, 1, 1}); }).find("duplicate dims are not allowed"), std::string::npos);
  EXPECT_THROW(permute_geometry(g, {0, 1, 3}), IndexError);
}

TEST(Geometry, Select) {
  const Geometry g = Geometry::contiguous({2, 3, 4}, DType::f32);
  const Geometry s = select_geometry(g, 1, -1);
  EXPECT_TRUE(s.sizes.same({2, 4}));
  EXPECT_TRUE(s.strides.same({12, 1}));
  EXPECT_EQ(s.offset.number(), 8);
  EXPECT_EQ(error_of([&] { select_geometry(g, 0, 2); }),
            "select(): index 2 out of range for tensor of size [2, 3, 4] at dimension 0");
  EXPECT_THROW(select_geometry(g, 0, -3), IndexError);
  EXPECT_EQ(error_of([] { select_geometry(Geometry{}, 0, 0); }), "select() cannot be applied to a 0-dim tensor.");
}

// Python's slices, by definition.
TEST(Geometry, SliceIsPythons) {
  const Geometry g = geometry({5, 2}, {2, 1}, 3);
  const int64_t n = 5;
  auto clamp = [&](int64_t v) { return std::min(std::max(v < 0 ? v + n : v, int64_t{0}), n); };
  for (int64_t b = -7; b <= 7; b++)
    for (int64_t e = -7; e <= 7; e++)
      for (int64_t step : {1, 2, 3, 9}) {
        int64_t count = 0;
        for (int64_t i = clamp(b); i < clamp(e); i += step) count++;
        const Geometry s = slice_geometry(g, 0, b, e, step);
        EXPECT_EQ(s.sizes[0].number(), count) << b << ":" << e << ":" << step;
        EXPECT_EQ(s.offset.number(), 3 + 2 * clamp(b));
        EXPECT_EQ(s.strides[0].number(), 2 * step);
      }
  EXPECT_TRUE(slice_geometry(g, 0, {}, {}, 1).same(g));
  EXPECT_TRUE(slice_geometry(g, 0, 0, INT64_MAX, 1).same(g));
  EXPECT_THROW(slice_geometry(g, 0, 0, 5, 0), UserError);
  EXPECT_THROW(slice_geometry(g, 0, 0, 5, -1), UserError);
  EXPECT_THROW(slice_geometry(g, 2, 0, 5, 1), IndexError);
}

// ---- symbolic sizes: a rule run once on symbols gives, wherever its guards hold, what it gives on
// numbers.
using Rule = std::function<Geometry(const Geometry&, Int s, Int t)>;

Geometry evaluated(const Geometry& g, const std::map<std::string, int64_t, std::less<>>& at) {
  auto numbers = [&](const Shape& s) {
    Shape r;
    for (Int x : s) r.push_back(evaluate(x.expr(), at));
    return r;
  };
  return geometry(numbers(g.sizes), numbers(g.strides), evaluate(g.offset.expr(), at));
}

// Runs the rule with s, t as symbols (hints 4 and 6), then compares at other values; returns the
// guards it took.
std::size_t check_symbolic(const Rule& rule, const std::function<Geometry(Int s, Int t)>& input) {
  ShapeEnv env;
  Geometry symbolic;
  {
    GuardScope scope(env);
    const Int s = env.symbol("s", 4), t = env.symbol("t", 6);
    symbolic = rule(input(s, t), s, t);
  }
  int compared = 0;
  for (int64_t s = 2; s <= 9; s++)
    for (int64_t t = 2; t <= 9; t++) {
      const std::map<std::string, int64_t, std::less<>> at = {{"s", s}, {"t", t}};
      bool holds = true;
      for (const Guard& g : env.guards()) holds &= (evaluate(g.condition, at) != 0) == g.answer;
      if (!holds) continue;
      compared++;
      const Geometry got = evaluated(symbolic, at), want = rule(input(s, t), s, t);
      EXPECT_TRUE(got.same(want)) << "at s=" << s << " t=" << t << ": " << describe(got) << ", expected " << describe(want)
                                  << " from " << describe(symbolic);
    }
  EXPECT_GT(compared, 0) << "the guards do not even hold at the hints";
  return env.guards().size();
}
Geometry dense(const Shape& sizes) { return Geometry::contiguous(sizes, DType::f32); }

Geometry viewed(const Geometry& g, const Shape& size) {
  const Shape sizes = infer_size(size, g.numel());
  const auto strides = view_strides(g.sizes, g.strides, sizes);
  INGOT_REQUIRE(strides, "no view");
  return geometry(sizes, *strides, g.offset);
}

// What a formula of two operands makes.
Geometry of_both(const Geometry& a, const Geometry& b) {
  const Shape sizes = broadcast_shapes(a.sizes, b.sizes, "add");
  return geometry(sizes, elementwise_strides(sizes, {make_tensor(a, {}, true), make_tensor(b, {}, true)}), 0);
}

TEST(SymbolicGeometry, ElementwiseStrides) {
  const auto input = [](Int s, Int t) { return dense({1, 1, s, t}); };
  // The last half, which has one element where t is 2 or 3: there its stride counts, and tells dims
  // apart that nothing else does.
  const auto halved = [](const Geometry& g, Int, Int t) {
    return of_both(permute_geometry(g, {3, 2, 1, 0}), slice_geometry(g, 3, floor_div(t + 1, 2), t, 1));
  };
  EXPECT_EQ(check_symbolic(halved, input), 2u);  // and whether the half ends where the input does
  // Two such dims.
  const auto halved_twice = [](const Geometry& g, Int s, Int t) {
    const Geometry half = slice_geometry(slice_geometry(g, 3, floor_div(t + 1, 2), t, 1), 2, floor_div(s + 1, 2), s, 1);
    return of_both(permute_geometry(g, {3, 2, 1, 0}), half);
  };
  EXPECT_EQ(check_symbolic(halved_twice, input), 4u);
  // Where a dim lies that has one element is not asked.
  const auto biased = [](const Geometry& g, Int, Int t) { return of_both(slice_geometry(g, 3, 0, t - 1, 1), dense({1, 1, 1})); };
  EXPECT_EQ(check_symbolic(biased, input), 0u);
  // Of many such dims it is asked, since to find out whether it matters would take too long.
  const auto many = [](const Geometry& g, Int, Int) { return of_both(g, dense(Shape::filled(13, 1))); };
  EXPECT_GT(check_symbolic(many, [](Int, Int t) { return dense(Shape::filled(13, floor_div(t, 2))); }), 0u);
}

TEST(SymbolicGeometry, ViewsWithoutGuards) {
  // What holds for every size must not be asked.
  EXPECT_EQ(
      check_symbolic([](const Geometry& g, Int, Int) { return viewed(g, {-1}); }, [](Int s, Int t) { return dense({s, t, 3}); }),
      0u);
  EXPECT_EQ(check_symbolic([](const Geometry& g, Int s, Int t) { return viewed(g, {s * t, 3}); },
                           [](Int s, Int t) { return dense({s, t, 3}); }),
            0u);
  EXPECT_EQ(check_symbolic([](const Geometry& g, Int s, Int) { return viewed(g, {s, -1}); },
                           [](Int s, Int t) { return dense({s, t, 3}); }),
            0u);
  EXPECT_EQ(check_symbolic([](const Geometry& g, Int s, Int t) { return viewed(g, {s, t, 2, 3}); },
                           [](Int s, Int t) { return dense({s, t, 6}); }),
            0u);
  EXPECT_EQ(check_symbolic([](const Geometry& g, Int, Int) { return permute_geometry(g, {2, 0, 1}); },
                           [](Int s, Int t) { return dense({s, 3, t}); }),
            0u);
  EXPECT_EQ(check_symbolic([](const Geometry& g, Int s, Int t) { return expand_geometry(g, {s, t}); },
                           [](Int, Int t) { return dense({1, t}); }),
            0u);
  EXPECT_EQ(check_symbolic([](const Geometry& g, Int, Int) { return select_geometry(g, 1, -1); },
                           [](Int s, Int t) { return dense({s, t}); }),
            0u);
  EXPECT_EQ(check_symbolic([](const Geometry& g, Int, Int) { return slice_geometry(g, 0, 1, {}, 1); },
                           [](Int s, Int t) { return dense({s, t}); }),
            0u);
  EXPECT_EQ(check_symbolic([](const Geometry& g, Int, Int) { return slice_geometry(g, 1, 0, INT64_MAX, 2); },
                           [](Int s, Int t) { return dense({s, t}); }),
            0u);
}

TEST(SymbolicGeometry, ViewsThatAsk) {
  check_symbolic([](const Geometry& g, Int, Int) { return viewed(g, {-1, 2}); }, [](Int s, Int t) { return dense({s, t}); });
  check_symbolic([](const Geometry& g, Int, Int) { return viewed(g, {4, -1}); }, [](Int s, Int) { return dense({s, 3}); });
  check_symbolic([](const Geometry& g, Int, Int) { return select_geometry(g, 0, 3); },
                 [](Int s, Int t) { return dense({s, t}); });
  check_symbolic([](const Geometry& g, Int, Int) { return slice_geometry(g, 0, -3, {}, 1); },
                 [](Int s, Int t) { return dense({s, t}); });
  check_symbolic([](const Geometry& g, Int, Int) { return slice_geometry(g, 0, 1, 5, 2); },
                 [](Int s, Int t) { return dense({s, t}); });
  check_symbolic([](const Geometry& g, Int s, Int) { return slice_geometry(g, 1, s - 1, s + 1, 1); },
                 [](Int s, Int t) { return dense({s, t}); });
  check_symbolic([](const Geometry& g, Int, Int t) { return expand_geometry(g, {3, t}); },
                 [](Int s, Int) { return dense({s - 3}); });
  check_symbolic([](const Geometry& g, Int, Int) { return geometry(g.sizes, dense_strides_like(g.sizes, g.strides)); },
                 [](Int s, Int t) { return slice_geometry(permute_geometry(dense({s, t}), {1, 0}), 0, 0, 2, 1); });
  check_symbolic([](const Geometry& g, Int, Int) { return viewed(g, {-1}); },
                 [](Int s, Int t) { return slice_geometry(dense({s, t}), 0, 0, s, 1); });
}

TEST(SymbolicGeometry, Predicates) {
  ShapeEnv env;
  GuardScope scope(env);
  const Int s = env.symbol("s", 4), t = env.symbol("t", 6);
  EXPECT_TRUE(is_contiguous({s, t}, contiguous_strides({s, t})));
  EXPECT_TRUE(contiguous_strides({2, s, t}).same({s * t, t, 1}));
  EXPECT_TRUE(is_non_overlapping_and_dense({s, t}, {t, 1}));
  EXPECT_TRUE(broadcast_shapes({s, 1}, {t}, "add").same({s, t}));
  EXPECT_TRUE(broadcast_shapes({s}, {s}, "add").same({s}));
  EXPECT_TRUE(infer_size({s, -1}, s * t).same({s, t}));
  EXPECT_TRUE(required_bytes(Geometry::contiguous({s, t}, DType::f32)).same(s * t * 4));
  EXPECT_TRUE(env.guards().empty()) << "all of this holds for every s, t >= 2; asked was " << to_text(env.guards()[0].condition);
  EXPECT_FALSE(is_contiguous({s, t}, {1, s}));
  EXPECT_TRUE(broadcast_shapes({s}, {4}, "add").same({4})) << "a guarded equal size becomes the number";
  EXPECT_FALSE(env.guards().empty());
  EXPECT_THROW(broadcast_shapes({s}, {t}, "add"), UserError);
}

TEST(SymbolicGeometry, NothingIsAskedAboutASizeWhoseStrideIsTheExpectedOne) {
  ShapeEnv env;
  GuardScope scope(env);
  const Int u = env.fresh_symbol();  // data decides it
  EXPECT_TRUE(is_contiguous({u, 3}, {3, 1}));
  EXPECT_TRUE(is_contiguous({u, 1}, {1, u})) << "as nonzero returns the places of a vector";
  EXPECT_TRUE(is_non_overlapping_and_dense({u, 1}, {1, u}));
}

TEST(SymbolicGeometry, WithoutAnEnvironmentAQuestionIsAnError) {
  Int s;
  {
    ShapeEnv env;
    s = env.symbol("u", 4);
  }
  EXPECT_THROW(infer_size({2, -1}, s), UserError);
  EXPECT_THROW((void)s.value(), UserError);
  EXPECT_TRUE(contiguous_strides({s, s}).same({s, 1}));
}

}  // namespace
}  // namespace ingot
