// Several tensors into one: cat, stack and what is made of them, and the grids of several vectors.
#include "base/dtype.hpp"
#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "op/promotion.hpp"
#include "ingot/op/vjp.hpp"
#include "ops/batch/rules.hpp"
#include "ops/common/composite.hpp"
#include "ops/common/rank.hpp"
#include "ops/family.hpp"
#include "ops/common/lower_rules.hpp"
#include "tensor/geometry.hpp"
#include "tensor/rows.hpp"

namespace ingot {
namespace {

const TensorList& tensors_of(const Call& c, std::string_view what) {
  INGOT_REQUIRE(c[0].is_tensors() && !c[0].tensors().empty(), what, " expects a non-empty TensorList");
  return c[0].tensors();
}
DType common_dtype(const TensorList& l) {
  TypePromotion p;
  for (const Tensor& t : l) p.add(t);
  return p.result();
}

// ---- cat

// The rank of the result. An empty vector fits tensors of any rank: old programs start a loop of
// cats with it.
int cat_rank(std::span<const Geometry* const> l) {
  for (const Geometry* g : l)
    if (g->dim() != 1) return g->dim();
  return 1;
}
bool is_skipped(const Geometry& g, int rank) { return rank != 1 && g.dim() == 1 && g.sizes[0] == 0; }

// All inputs channels-last: so is the result.
MemoryFormat cat_format(const TensorList& l) {
  const MemoryFormat first = suggest_memory_format(l[0].sizes(), l[0].strides());
  for (const Tensor& t : l)
    if (suggest_memory_format(t.sizes(), t.strides()) != first) return MemoryFormat::contiguous;
  return first;
}

std::vector<const Geometry*> geometries(const TensorList& l) {
  std::vector<const Geometry*> g;
  for (const Tensor& t : l) g.push_back(&t->geom);
  return g;
}

void cat_meta(const Call& c, Outputs& o) {
  INGOT_REQUIRE(c[0].is_tensors() && !c[0].tensors().empty(), "torch.cat(): expected a non-empty list of Tensors");
  const TensorList& l = c[0].tensors();
  for (std::size_t i = 0; i < l.size(); i++)
    INGOT_REQUIRE(l[i].dim() > 0, "cat(): zero-dimensional tensor (at position ", i, ") cannot be concatenated");
  const int n = cat_rank(geometries(l)), dim = wrap_dim(c[1].to_int64(), n);
  Shape sizes;
  for (std::size_t i = 0; i < l.size(); i++) {
    if (is_skipped(l[i]->geom, n)) continue;
    const Shape& s = l[i].sizes();
    INGOT_REQUIRE(s.dim() == n, "cat(): Tensors must have same number of dimensions: got ", n, " and ", s.dim());
    if (sizes.empty()) {
      sizes = s;
      continue;
    }
    for (int d = 0; d < n; d++) {
      if (d == dim) continue;
      INGOT_REQUIRE(sizes[d] == s[d], "cat(): Sizes of tensors must match except in dimension ", dim, ". Expected size ",
                    sizes[d], " but got size ", s[d], " for tensor number ", i, " in the list.");
      if (!s[d].is_symbolic()) sizes[d] = s[d];  // a number says more than a symbol equal to it
    }
    sizes[dim] = sizes[dim] + s[dim];
  }
  Geometry g;
  g.dtype = common_dtype(l);
  g.strides = strides_for(sizes, cat_format(l));
  g.sizes = std::move(sizes);
  o.add(std::move(g));
}
void cat_kernel(const Call& c, std::span<const Tensor> r) {
  const int dim = wrap_dim(c[1].to_int64(), rank(r[0]));
  Int at = 0;
  for (const Tensor& t : c[0].tensors()) {
    if (is_skipped(t->geom, rank(r[0]))) continue;
    const Int end = at + t.sizes()[dim];
    copy_elements(make_alias(r[0], slice_geometry(r[0]->geom, dim, at, end, 1)), t);
    at = end;
  }
}
void cat_vjp(Vjp& v) {
  std::vector<const Geometry*> l;
  for (const Geometry& g : v.arg_geoms[0]) l.push_back(&g);
  const int n = cat_rank(l), dim = wrap_dim(v.arg(1).to_int64(), n);
  Int at = 0;
  for (int k = 0; k < v.list_size(0); k++) {
    const Geometry& g = v.geom(0, k);
    if (is_skipped(g, n)) {
      if (v.need(0, k)) v.set(0, k, aten<"zeros">(g.sizes, g.dtype, Value(), v.grad().device()));
      continue;
    }
    if (v.need(0, k)) v.set(0, k, v.grad().narrow(dim, at, g.sizes[dim]));
    at = at + g.sizes[dim];
  }
}

// ---- stack

Value stack_body(const Call& c) {
  INGOT_REQUIRE(c[0].is_tensors() && !c[0].tensors().empty(), "stack expects a non-empty TensorList");
  const TensorList& l = c[0].tensors();
  for (std::size_t i = 1; i < l.size(); i++)
    INGOT_REQUIRE(l[i].sizes() == l[0].sizes(), "stack expects each tensor to be equal size, but got ", l[0].sizes(),
                  " at entry 0 and ", l[i].sizes(), " at entry ", i);
  const int dim = wrap_dim(c[1].to_int64(), rank(l[0]) + 1);
  if (dim < rank(l[0])) {  // splitting the joined dim is a view
    Shape sizes = l[0].sizes();
    sizes.insert(static_cast<std::size_t>(dim), static_cast<int64_t>(l.size()));
    return aten<"view">(aten<"cat">(l, dim), sizes);
  }
  TensorList wide;
  for (const Tensor& t : l) wide.push_back(t.unsqueeze(dim));
  return aten<"cat">(wide, dim);
}
void stack_vjp(Vjp& v) {
  const TensorList g = v.grad().unbind(v.arg(1).to_int64());
  for (int k = 0; k < v.list_size(0); k++)
    if (v.need(0, k)) v.set(0, k, g[static_cast<std::size_t>(k)]);
}

Value vstack_body(const Call& c) { return aten<"cat">(Value(atens<"atleast_2d.Sequence">(tensors_of(c, "vstack"))), 0); }
Value cat_body(const Call& c) { return aten<"cat">(c[0], c[1]); }
Value hstack(const TensorList& l) {
  const TensorList wide = atens<"atleast_1d.Sequence">(l);
  return aten<"cat">(wide, wide[0].dim() == 1 ? 0 : 1);
}

// ---- block_diag: every tensor as a matrix, scalars 1×1 and vectors one row

Shape matrix_sizes(const Shape& s) {
  INGOT_REQUIRE(s.dim() <= 2, "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input has ", s.dim(),
                " dimensions");
  return s.dim() == 2 ? s : s.dim() == 1 ? Shape{1, s[0]} : Shape{1, 1};
}
void block_diag_meta(const Call& c, Outputs& o) {
  Shape sizes{0, 0};
  if (!c[0].is_tensors() || c[0].tensors().empty()) return o.add({1, 0}, thread_state().default_dtype);
  for (const Tensor& t : c[0].tensors()) {
    const Shape m = matrix_sizes(t.sizes());
    sizes = {sizes[0] + m[0], sizes[1] + m[1]};
  }
  o.add(sizes, common_dtype(c[0].tensors()));
}
void block_diag_kernel(const Call& c, std::span<const Tensor> r) {
  fill_elements(r[0], 0);
  if (!c[0].is_tensors()) return;
  Int row = 0, col = 0;
  for (const Tensor& t : c[0].tensors()) {
    const Shape m = matrix_sizes(t.sizes());
    const Geometry rows = slice_geometry(r[0]->geom, 0, row, row + m[0], 1);
    copy_elements(make_alias(r[0], slice_geometry(rows, 1, col, col + m[1], 1)), t);
    row = row + m[0];
    col = col + m[1];
  }
}
void block_diag_vjp(Vjp& v) {
  Int row = 0, col = 0;
  for (int k = 0; k < v.list_size(0); k++) {
    const Shape m = matrix_sizes(v.geom(0, k).sizes);
    if (v.need(0, k)) v.set(0, k, v.grad().narrow(0, row, m[0]).narrow(1, col, m[1]).reshape(v.geom(0, k).sizes));
    row = row + m[0];
    col = col + m[1];
  }
}

// ---- grids

// `xy`: rows of the grid are the second vector, columns the first, as in a picture.
TensorList meshgrid(TensorList l, bool xy) {
  xy = xy && l.size() >= 2;
  if (xy) std::swap(l[0], l[1]);
  Shape shape;
  for (const Tensor& t : l) {
    INGOT_REQUIRE(t.dim() <= 1, "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: ", t.dim(), "D");
    INGOT_REQUIRE(t.dtype() == l[0].dtype(), "torch.meshgrid expects all tensors to have the same dtype");
    shape.push_back(t.numel());
  }
  TensorList grids;
  for (std::size_t i = 0; i < l.size(); i++) {
    Shape view = Shape::filled(l.size(), 1);
    view[i] = -1;
    grids.push_back(l[i].view(view).expand(shape));
  }
  if (xy) std::swap(grids[0], grids[1]);
  return grids;
}
Value cartesian_prod_body(const Call& c) {
  const TensorList& l = tensors_of(c, "cartesian_prod");
  for (const Tensor& t : l) INGOT_REQUIRE(t.dim() == 1, "cartesian_prod: Expect a 1D vector, but got shape ", t.sizes());
  if (l.size() == 1) return l[0];
  TensorList columns;
  for (const Tensor& g : meshgrid(l, false)) columns.push_back(g.flatten());
  return aten<"stack">(columns, 1);
}
Value combinations_body(const Call& c) {
  const Tensor& self = c.tensor(0);
  const int64_t r = c[1].to_int64();
  INGOT_REQUIRE(self.dim() == 1, "combinations: Expect a 1D vector, but got shape ", self.sizes());
  INGOT_REQUIRE(r >= 0, "combinations: Expect a non-negative number, but got ", r);
  if (r == 0) return aten<"new_empty">(self, Shape{0});
  const Tensor at = aten<"arange">(self.numel(), DType::i64, Value(), self.device());
  const TensorList index = meshgrid(TensorList(static_cast<std::size_t>(r), at), false);
  // Indices in (strictly) rising order name each combination once. How many there are is known
  // without looking.
  const bool again = c[2].to_bool();
  Int count = 1;
  for (int64_t k = 0; k < r; k++) count = floor_div(count * (again ? self.numel() + k : self.numel() - k), k + 1);
  Tensor mask = aten<"ones">(index[0].sizes(), DType::b8, Value(), self.device());
  for (std::size_t i = 0; i + 1 < index.size(); i++)
    mask =
        aten<"logical_and">(mask, again ? aten<"le.Tensor">(index[i], index[i + 1]) : aten<"lt.Tensor">(index[i], index[i + 1]));
  return aten<"index.Tensor">(self, TensorList{aten<"nonzero_static">(mask, count)});
}

// ---- sequences of different lengths, lists of tensors as one vector

Value pad_sequence_body(const Call& c) {
  const TensorList& l = tensors_of(c, "pad_sequence");
  const bool batch_first = c[1].to_bool(), left = c[3].string() == "left";
  INGOT_REQUIRE(left || c[3].string() == "right", "pad_sequence: Expected padding_side to be one of left or right, but got ",
                c[3].string(), ".");
  Int longest = 0;
  for (const Tensor& t : l) {
    INGOT_REQUIRE(t.dim() > 0, "pad_sequence: expected sequences with at least one dimension, found a 0-dim tensor");
    longest = max(longest, t.sizes()[0]);
  }
  TensorList padded;
  for (const Tensor& t : l) {
    Shape pad = Shape::filled(static_cast<std::size_t>(2 * t.dim()), 0);
    pad[pad.size() - (left ? 2 : 1)] = longest - t.sizes()[0];
    padded.push_back(aten<"constant_pad_nd">(t, pad, c[2]));
  }
  return aten<"stack">(padded, batch_first ? 0 : 1);
}
Value flatten_dense_body(const Call& c) {
  TensorList flat;
  for (const Tensor& t : tensors_of(c, "flatten_dense_tensors")) flat.push_back(t.contiguous().view({-1}));
  return aten<"cat">(flat, 0);
}
Value unflatten_dense_body(const Call& c) {
  TensorList r;
  Int at = 0;
  if (!c[1].is_tensors()) return Value(std::move(r));
  for (const Tensor& t : c[1].tensors()) {
    r.push_back(c.tensor(0).narrow(0, at, t.numel()).view(t.sizes()));
    at = at + t.numel();
  }
  return Value(std::move(r));
}

// The batch dim is in front of every member. A member of size [0] fits any other, and adds nothing.
Value batch_cat(const Batching& b) {
  const TensorList fronts = b.fronts(0);
  int most = 0;
  for (const Tensor& t : fronts) most = std::max(most, rank(t) - 1);
  TensorList l;
  for (const Tensor& t : fronts)
    if (most == 1 || rank(t) != 2 || !(t.sizes()[1] == 0)) l.push_back(t);
  return aten<"cat">(l.empty() ? fronts : l, wrap_dim(b[1].to_int64(), most) + 1);
}

// An element is chosen from at most so many tensors: that is a masked load of each, and of
// thousands takes LLVM minutes. More are copied one by one, by the eager kernel.
constexpr std::size_t kMostChosen = 64;

// Each element comes from the tensor whose part of the dim it lies in; a tensor of size [0] has
// none.
void cat_lower(Lowering& l) {
  const std::vector<Expr> at = variables_over(l, l.result(0).sizes);
  const auto dim = static_cast<std::size_t>(wrap_dim(l.call[1].to_int64(), static_cast<int>(at.size())));
  const TensorList& tensors = l.call[0].tensors();
  struct Piece {
    int item;
    Expr start;
  };
  std::vector<Piece> pieces;
  Expr end(0);
  for (std::size_t k = 0; k < tensors.size(); k++) {
    if (tensors[k].sizes().size() != at.size()) continue;
    pieces.push_back({static_cast<int>(k), end});
    end = end + tensors[k].sizes()[dim].expr();
  }
  if (pieces.size() > kMostChosen) return;  // to the eager library
  // Halves of halves: as deep as the logarithm of how many there are, and as many comparisons an
  // element.
  const auto joined = [&](const auto& self, std::size_t first, std::size_t last) -> Expr {
    if (last - first > 1) {
      const std::size_t middle = first + (last - first) / 2;
      return select(at[dim] < pieces[middle].start, self(self, first, middle), self(self, middle, last));
    }
    std::vector<Expr> own = at;
    own[dim] = at[dim] - pieces[first].start;
    return cast(l.result(0).dtype, l.load_item(0, pieces[first].item, own));
  };
  l.define(0, at, pieces.empty() ? Expr::constant(l.result(0).dtype, 0) : joined(joined, 0, pieces.size()));
}

constexpr OpDef kJoinOps[] = {
    {.schema = "aten::cat(Tensor[] tensors, int dim=0) -> Tensor",
     .form = Form::external,
     .meta = cat_meta,
     .kernel = cat_kernel,
     .vjp = cat_vjp,
     .autocast = Autocast::promote,
     .lower = cat_lower,
     .batch = batch_cat},
    composite("aten::concat(Tensor[] tensors, int dim=0) -> Tensor", cat_body),
    composite("aten::concatenate(Tensor[] tensors, int dim=0) -> Tensor", cat_body),
    {.schema = "aten::stack(Tensor[] tensors, int dim=0) -> Tensor",
     .form = Form::external,
     .body = stack_body,
     .vjp = stack_vjp,
     .autocast = Autocast::promote},
    {.schema = "aten::_stack(Tensor[] tensors, int dim=0) -> Tensor", .form = Form::external, .body = stack_body},
    composite("aten::hstack(Tensor[] tensors) -> Tensor", [](const Call& c) { return hstack(tensors_of(c, "hstack")); }),
    composite("aten::vstack(Tensor[] tensors) -> Tensor", vstack_body),
    composite("aten::row_stack(Tensor[] tensors) -> Tensor", vstack_body),
    composite("aten::dstack(Tensor[] tensors) -> Tensor",
              [](const Call& c) -> Value { return aten<"cat">(atens<"atleast_3d.Sequence">(tensors_of(c, "dstack")), 2); }),
    composite("aten::column_stack(Tensor[] tensors) -> Tensor",
              [](const Call& c) -> Value {
                TensorList l;
                for (const Tensor& t : tensors_of(c, "column_stack")) l.push_back(t.dim() <= 1 ? t.reshape({t.numel(), 1}) : t);
                return hstack(l);
              }),
    // Each tensor cut into `num_chunks` along dim (zeros fill the last one), the pieces of all
    // tensors side by side.
    {.schema = "aten::_chunk_cat(Tensor[] tensors, int dim, int num_chunks) -> Tensor",
     .form = Form::external,
     .body = [](const Call& c) -> Value {
       const TensorList& l = tensors_of(c, "_chunk_cat");
       const int64_t chunks = c[2].to_int64();
       INGOT_REQUIRE(chunks >= 1, "_chunk_cat expects positive num_chunks");
       const int dim = wrap_dim(c[1].to_int64(), rank(l[0]));
       TensorList pieces;
       for (const Tensor& t : l) {
         INGOT_REQUIRE(dim < rank(t), "_chunk_cat expects every tensor to have dim ", dim, ", found size ", t.sizes());
         const Int size = t.sizes()[dim], padded = ceil_div(size, chunks) * chunks;
         Shape pad = Shape::filled(static_cast<std::size_t>(2 * (rank(t) - dim)), 0);
         pad.back() = padded - size;
         Shape view = t.sizes().sub(0, dim);
         Int rest = floor_div(padded, chunks);
         for (int i = dim + 1; i < rank(t); i++) rest = rest * t.sizes()[i];
         view.push_back(chunks);
         view.push_back(rest);
         pieces.push_back((padded == size ? t : aten<"constant_pad_nd">(t, pad, 0)).reshape(view));
       }
       return aten<"cat">(pieces, dim + 1);
     }},
    {.schema = "aten::block_diag(Tensor[] tensors) -> Tensor",
     .form = Form::external,
     .meta = block_diag_meta,
     .kernel = block_diag_kernel,
     .vjp = block_diag_vjp},
    composite("aten::meshgrid(Tensor[] tensors) -> Tensor[]",
              [](const Call& c) -> Value { return meshgrid(tensors_of(c, "meshgrid"), false); }),
    composite("aten::meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]",
              [](const Call& c) -> Value {
                const std::string& indexing = c[1].string();
                INGOT_REQUIRE(indexing == "ij" || indexing == "xy",
                              "torch.meshgrid: indexing must be one of \"xy\" or \"ij\", but received: ", indexing);
                return meshgrid(tensors_of(c, "meshgrid"), indexing == "xy");
              }),
    composite(
        "aten::pad_sequence(Tensor[] sequences, bool batch_first=False, float padding_value=0., str padding_side=\"right\") -> Tensor",
        pad_sequence_body),
    composite("aten::flatten_dense_tensors(Tensor[] tensors) -> Tensor", flatten_dense_body),
    composite("aten::unflatten_dense_tensors(Tensor flat, Tensor[] tensors) -> Tensor[]", unflatten_dense_body),
    aliasing_composite("aten::cartesian_prod(Tensor[] tensors) -> Tensor", cartesian_prod_body),
    composite("aten::combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor", combinations_body),
};

}  // namespace

INGOT_FAMILY(join, kJoinOps)

}  // namespace ingot
