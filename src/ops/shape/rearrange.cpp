// Rearrangements of one tensor that are no views: repeat, flip, roll, triangles, and the ops that
// resize in place.
#include "base/dtype.hpp"
#include "base/error.hpp"
#include "expr/guards.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "ingot/op/vjp.hpp"
#include "ops/batch/rules.hpp"
#include "ops/common/composite.hpp"
#include "ops/common/rank.hpp"
#include "ops/family.hpp"
#include "ops/common/lower_rules.hpp"
#include "ops/reduce/reduction.hpp"
#include "ops/shape/view_geometry.hpp"
#include "tensor/geometry.hpp"
#include "tensor/rows.hpp"

namespace ingot {
namespace {

using Body = Value (*)(const Call&);

// ---- repeat

void repeat_meta(const Call& c, Outputs& o) {
  const Tensor& self = c.tensor(0);
  Shape sizes = c[1].ints();
  const int lead = sizes.dim() - rank(self);
  INGOT_REQUIRE(lead >= 0, "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor");
  for (int i = 0; i < sizes.dim(); i++) {
    INGOT_REQUIRE(sizes[i] >= 0, "Trying to create tensor with negative dimension ", sizes[i], ": ", sizes);
    if (i >= lead) sizes[i] = sizes[i] * self.sizes()[i - lead];
  }
  o.add(std::move(sizes), self.dtype());
}
// Every dim of the result is (repeats, size): the copies are one broadcast.
void repeat_kernel(const Call& c, std::span<const Tensor> r) {
  const Geometry& in = c.tensor(0)->geom;
  const int lead = rank(r[0]) - in.dim();
  if (r[0].numel() == 0) return;
  Geometry to = r[0]->geom, from = in;
  from.sizes = from.strides = {};
  for (int i = 0; i < rank(r[0]); i++) {
    const bool own = i >= lead;
    to = split_dim(std::move(to), 2 * i, c[1].ints()[i], own ? in.sizes[i - lead] : Int(1));
    from.sizes.push_back(1);
    from.strides.push_back(0);
    from.sizes.push_back(own ? in.sizes[i - lead] : Int(1));
    from.strides.push_back(own ? in.strides[i - lead] : Int(0));
  }
  copy_elements(make_alias(r[0], std::move(to)), make_alias(c.tensor(0), std::move(from)));
}
void repeat_vjp(Vjp& v) {
  const Shape &repeats = v.arg(1).ints(), &sizes = v.sizes(0);
  const int lead = repeats.dim() - sizes.dim();
  for (Int r : repeats)
    if (r == 0) return v.set(0, aten<"zeros">(sizes, v.grad().dtype(), Value(), v.grad().device()));
  Tensor g = v.grad();
  for (int i = 0; i < lead; i++) g = g.sum({0});
  Shape split, dims;
  for (int i = 0; i < sizes.dim(); i++) {
    if (!(repeats[lead + i] == 1)) {
      dims.push_back(split.dim());
      split.push_back(repeats[lead + i]);
    }
    split.push_back(sizes[i]);
  }
  v.set(0, dims.empty() ? g : g.reshape(split).sum(dims));
}

// ---- repeat_interleave

std::vector<int64_t> repeat_counts(const Tensor& repeats) {
  std::vector<int64_t> n = repeats.to_vector<int64_t>();
  for (int64_t k : n) INGOT_REQUIRE(k >= 0, "repeat_interleave: repeats can not be negative");
  return n;
}
void repeat_interleave_meta(const Call& c, Outputs& o) {
  const Tensor& repeats = c.tensor(0);
  INGOT_REQUIRE(repeats.dim() == 1, "repeat_interleave only accept 1D vector as repeat");
  INGOT_REQUIRE(repeats.dtype() == DType::i64 || repeats.dtype() == DType::i32,
                "repeat_interleave: repeats has to be Long or Int tensor");
  Int size = c[1].int_or(-1);
  if (c[1].is_none() && repeats->is_fake()) {
    GuardEnv* env = current_guard_env();
    INGOT_REQUIRE(env, "repeat_interleave: the size of the result depends on the data of repeats; give output_size");
    size = env->fresh_symbol();
  } else if (c[1].is_none()) {
    int64_t sum = 0;
    for (int64_t k : repeat_counts(repeats)) sum += k;
    size = sum;
  }
  o.add({size}, repeats.dtype());
}
void repeat_interleave_kernel(const Call& c, std::span<const Tensor> r) {
  const std::vector<int64_t> counts = repeat_counts(c.tensor(0));
  const int64_t size = r[0].numel().number();
  std::vector<int64_t> at;
  for (std::size_t i = 0; i < counts.size(); i++)
    at.insert(at.end(), static_cast<std::size_t>(counts[i]), static_cast<int64_t>(i));
  INGOT_REQUIRE(static_cast<int64_t>(at.size()) == size,
                "repeat_interleave: allocated size does not match required size: repeats sum to ", at.size(), ", output_size is ",
                size);
  store_row(Compute::i64, at.data(), size, r[0].dtype(), r[0].data_ptr(), 1);
}
Value repeat_interleave_int(const Call& c) {
  const Tensor input = c[2].is_none() || rank(c.tensor(0)) == 0 ? c.tensor(0).flatten() : c.tensor(0);
  const int dim = wrap_dim(c[2].is_none() ? 0 : c[2].to_int64(), rank(input));
  const Int repeats = c[1].to_int();
  INGOT_REQUIRE(repeats >= 0, "repeat_interleave: Repeats must be non-negative");
  const Tensor wide = input.unsqueeze(dim + 1);
  Shape sizes = wide.sizes();
  sizes[dim + 1] = repeats;
  return aten<"clone">(wide.expand(sizes), MemoryFormat::contiguous).flatten(dim, dim + 1);
}
Value repeat_interleave_tensor(const Call& c) {
  const Tensor input = c[2].is_none() || rank(c.tensor(0)) == 0 ? c.tensor(0).flatten() : c.tensor(0);
  const int dim = wrap_dim(c[2].is_none() ? 0 : c[2].to_int64(), rank(input));
  Tensor repeats = c.tensor(1);
  const Int size = input.sizes()[dim];
  INGOT_REQUIRE(repeats.dim() <= 1, "repeat_interleave: repeats must be 0-dim or 1-dim tensor");
  if (repeats.dim() == 0 || repeats.sizes()[0] == 1) repeats = repeats.reshape({1}).expand({size});
  else
    INGOT_REQUIRE(repeats.sizes()[0] == size,
                  "repeat_interleave: repeats must have the same size as input along dim, but got repeats.size(0) = ",
                  repeats.sizes()[0], " and input.size(", dim, ") = ", size);
  return aten<"index_select">(input, dim, aten<"repeat_interleave.Tensor">(repeats, c[3]));
}

// ---- flip, roll, rot90

void flip_meta(const Call& c, Outputs& o) {
  const Tensor& self = c.tensor(0);
  std::vector<bool> seen(static_cast<std::size_t>(std::max(rank(self), 1)));
  for (Int d : c[1].ints()) {
    const int w = wrap_dim(d.value(), rank(self));
    INGOT_REQUIRE(!seen[w], "flip: dim ", w, " appears multiple times in the list of dims");
    seen[w] = true;
  }
  Geometry g;
  g.sizes = self.sizes();
  g.strides = dense_strides_like(self.sizes(), self.strides());
  g.dtype = self.dtype();
  o.add(std::move(g));
}
void flip_kernel(const Call& c, std::span<const Tensor> r) {
  Geometry from = c.tensor(0)->geom;
  if (from.numel() == 0) return;
  for (Int d : c[1].ints()) {
    if (from.dim() == 0) break;
    const int w = wrap_dim(d.value(), from.dim());
    from.offset = from.offset + (from.sizes[w] - 1) * from.strides[w];
    from.strides[w] = -from.strides[w];
  }
  copy_elements(r[0], make_alias(c.tensor(0), std::move(from)));
}

Tensor roll(const Tensor& self, Int shift, int64_t dim) {
  if (self.numel() == 0) return self.clone();
  const int d = wrap_dim(dim, rank(self));
  const Int size = self.dim() ? self.sizes()[d] : Int(1);
  if (self.dim() == 0) return self.clone();
  const Int start = mod(size - shift, size);
  return aten<"cat">(TensorList{self.narrow(d, start, size - start), self.narrow(d, 0, start)}, d);
}
Value roll_body(const Call& c) {
  const Tensor& self = c.tensor(0);
  const Shape &shifts = c[1].ints(), &dims = c[2].ints();
  INGOT_REQUIRE(!shifts.empty(), "roll: `shifts` required");
  if (dims.empty() && shifts.size() == 1) return roll(self.contiguous().view({-1}), shifts[0], 0).view(self.sizes());
  INGOT_REQUIRE(shifts.size() == dims.size(), "roll: shifts and dimensions must align. shifts: ", shifts.dim(),
                ", dims:", dims.dim());
  Tensor r = self;
  for (std::size_t i = 0; i < dims.size(); i++) r = roll(r, shifts[i], dims[i].value());
  return r;
}
Shape negated(const Shape& s) {
  Shape r;
  for (Int x : s) r.push_back(-x);
  return r;
}

Value rot90_body(const Call& c) {
  const Tensor& self = c.tensor(0);
  const Shape& dims = c[2].ints();
  INGOT_REQUIRE(dims.size() == 2, "rot90: expected total rotation dims == 2, but got dims = ", dims.dim());
  INGOT_REQUIRE(rank(self) >= 2, "rot90: expected total dims >= 2, but got total dims = ", rank(self));
  const int a = wrap_dim(dims[0].value(), rank(self)), b = wrap_dim(dims[1].value(), rank(self));
  INGOT_REQUIRE(a != b, "rot90: expected rotation dims to be different, but got dim0 = ", dims[0], " and dim1 = ", dims[1]);
  switch (((c[1].to_int64() % 4) + 4) % 4) {
    case 1: return aten<"flip">(self, Shape{b}).transpose(a, b);
    case 2: return aten<"flip">(self, Shape{a, b});
    case 3: return aten<"flip">(self, Shape{a}).transpose(a, b);
    default: return aten<"clone">(self, MemoryFormat::contiguous);
  }
}

// ---- triangles

void triangle_meta(const Call& c, Outputs& o) {
  INGOT_REQUIRE(rank(c.tensor(0)) >= 2, c.op.schema.name, ": input tensor must have at least 2 dimensions");
  o.add(c.tensor(0).sizes(), c.tensor(0).dtype());
}
// Upper: keeps column - row >= k; lower: <= k.
template <bool Upper>
void triangle_kernel(const Call& c, std::span<const Tensor> r) {
  const Geometry &out = r[0]->geom, &in = c.tensor(0)->geom;
  const int64_t rows = out.sizes[out.dim() - 2].number(), cols = out.sizes.back().number(), k = c[1].to_int64();
  fill_elements(r[0], 0);
  for (int64_t i = 0; i < rows; i++) {
    // k may be as large as int64 allows: the edge is clamped before anything is added to it.
    const int64_t edge = std::clamp<int64_t>(k, -rows - 1, cols + 1) + i;
    const int64_t begin = Upper ? std::clamp<int64_t>(edge, 0, cols) : 0,
                  end = Upper ? cols : std::clamp<int64_t>(edge + 1, 0, cols);
    if (begin >= end) continue;
    auto row = [&](const Geometry& g) { return slice_geometry(select_geometry(g, -2, i), -1, begin, end, 1); };
    copy_elements(make_alias(r[0], row(out)), make_alias(c.tensor(0), row(in)));
  }
}
template <bool Upper>
void triangle_lower(Lowering& l) {
  const std::vector<Expr> at = variables_over(l, l.result(0).sizes);
  const int row_dim = static_cast<int>(at.size()) - 2, column_dim = row_dim + 1;
  const Expr &row = at[static_cast<std::size_t>(row_dim)], &column = at[static_cast<std::size_t>(column_dim)];
  const Expr k = min(max(l.call[1].to_int().expr(), -l.size(0, row_dim) - 1), l.size(0, column_dim) + 1);
  const Expr is_kept = Upper ? column >= row + k : column <= row + k;
  l.define(0, at, select(is_kept, l.load(0, at), Expr::constant(l.result(0).dtype, 0)));
}
template <OpName Name, bool Upper>
constexpr OpDef triangle_op(std::string_view schema) {
  return {.schema = schema,
          .form = Form::external,
          .meta = triangle_meta,
          .kernel = triangle_kernel<Upper>,
          .vjp = [](Vjp& v) { v.set(0, aten<Name>(v.grad(), v.arg(1))); },
          .lower = triangle_lower<Upper>,
          .batch = batch_leading};
}

// ---- one_hot

Value one_hot_body(const Call& c) {
  const Tensor& self = c.tensor(0);
  int64_t classes = c[1].to_int64();
  INGOT_REQUIRE(self.dtype() == DType::i64, "one_hot is only applicable to index tensor of type LongTensor.");
  if (may_look_at(self)) {
    const std::vector<int64_t> v = self.to_vector<int64_t>();
    INGOT_REQUIRE(!v.empty() || classes > 0, "one_hot: Can not infer total number of classes from empty tensor.");
    int64_t top = -1;
    for (int64_t x : v) {
      INGOT_REQUIRE(x >= 0, "one_hot: Class values must be non-negative.");
      top = std::max(top, x);
    }
    if (classes == -1) classes = top + 1;
    INGOT_REQUIRE(classes > top, "one_hot: Class values must be smaller than num_classes.");
  }
  INGOT_REQUIRE(classes > 0, "one_hot: the number of classes depends on the data; give num_classes, found ", classes);
  return aten<"eq.Tensor">(self.unsqueeze(-1), aten<"arange">(classes, DType::i64, Value(), self.device())).to(DType::i64);
}

// ---- in place: other sizes, another storage

Value resize_in_place(const Tensor& self, const Shape& sizes, const Value& format) {
  INGOT_REQUIRE(!self.requires_grad(), "cannot resize variables that require grad");
  for (Int s : sizes) INGOT_REQUIRE(s >= 0, "Trying to create tensor with negative dimension ", s, ": ", sizes);
  INGOT_REQUIRE(format.is_none() || format.memory_format() != MemoryFormat::preserve, "Unsupported memory format preserve");
  Geometry g = self->geom;
  g.strides = strides_for(sizes, format.is_none() ? MemoryFormat::contiguous : format.memory_format());
  g.sizes = sizes;
  if (format.is_none() && self.sizes().same(sizes)) g.strides = self.strides();
  const Int need = required_bytes(g);
  if (self->storage->nbytes() < need) self->storage->resize(need);
  self->geom = std::move(g);
  return Value(self);
}
Value set_in_place(const Tensor& self, const Tensor& source, Geometry g) {
  INGOT_REQUIRE(self.dtype() == source.dtype(), "Could not set tensor of type ", self.dtype(), " to a tensor of type ",
                source.dtype());
  const Int need = required_bytes(g), have = source->storage->nbytes();
  // A source whose storage was emptied is taken as it is.
  INGOT_REQUIRE(g.same(source->geom) || statically_equal(need, have) || need <= have, "setStorage: sizes ", g.sizes, ", strides ",
                g.strides, ", storage offset ", g.offset, " requiring a storage size of ", need,
                " are out of bounds for storage of size ", have);
  self->storage = source->storage;
  self->geom = std::move(g);
  return Value(self);
}
// The diagonal from the first element on; `wrap`: of a tall matrix, it starts again after each full
// block.
Value fill_diagonal_body(const Call& c) {
  const Tensor& self = c.tensor(0);
  INGOT_REQUIRE(rank(self) >= 2, "fill_diagonal_: dimensions must larger than 1, found ", rank(self));
  for (int i = 0; i < rank(self); i++)
    INGOT_REQUIRE(rank(self) == 2 || self.sizes()[i] == self.sizes()[0],
                  "fill_diagonal_: all dimensions of input must be of equal length, found ", self.sizes());
  Tensor diagonal = self;  // by views of dims: one of the storage could not be followed where self is a view itself
  for (int i = 1; i < rank(self); i++) diagonal = diagonal.diagonal(0, rank(diagonal) - 2, rank(diagonal) - 1);
  aten_value<"fill_.Scalar">(diagonal, c[1]);
  const Int height = self.sizes()[0], width = self.sizes()[1];
  if (c[2].to_bool() && rank(self) == 2)
    for (Int row = width + 1; row < height; row = row + width + 1)
      aten_value<"fill_.Scalar">(self.slice(0, row, min(row + width, height)).diagonal(), c[1]);
  return c[0];
}
constexpr OpDef metadata_op(std::string_view schema, Rewires what, Body body) {
  OpDef d{.schema = schema, .form = Form::external, .body = body};
  d.grad.none = true;
  d.effects.rewires = what;
  return d;
}

Value batch_repeat(const Batching& b) {
  const Shape& repeats = b[1].ints();
  INGOT_REQUIRE(repeats.dim() >= b.rank(0),
                "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor");
  Shape all{1};
  for (const Int n : repeats) all.push_back(n);
  return aten<"repeat">(b.front(0, repeats.dim()), all);
}
// Without the size of its result it has as many elements as the data says.
Value batch_repeat_interleave(const Batching& b) { return b[1].is_none() ? refuse_dynamic_shape(b) : batch_loop(b); }

void repeat_lower(Lowering& l) {
  const std::vector<Expr> at = variables_over(l, l.result(0).sizes);
  const int rank = static_cast<int>(l.call.tensor(0).dim());
  std::vector<Expr> own(at.end() - rank, at.end());
  for (int d = 0; d < rank; d++) own[static_cast<std::size_t>(d)] = mod(own[static_cast<std::size_t>(d)], l.size(0, d));
  if (!statically_equal(l.call.tensor(0).numel(), 0)) l.define(0, at, l.load(0, own));
}
void flip_lower(Lowering& l) {
  const std::vector<Expr> at = variables_over(l, l.result(0).sizes);
  std::vector<Expr> own = at;
  for (Int d : l.call[1].ints()) {
    const int k = wrap_dim(d.value(), static_cast<int>(at.size()));
    if (!at.empty()) own[static_cast<std::size_t>(k)] = l.size(0, k) - 1 - at[static_cast<std::size_t>(k)];
  }
  l.define(0, at, l.load(0, own));
}

constexpr OpDef kRearrangeOps[] = {
    {.schema = "aten::repeat(Tensor self, SymInt[] repeats) -> Tensor",
     .form = Form::external,
     .meta = repeat_meta,
     .kernel = repeat_kernel,
     .vjp = repeat_vjp,
     .lower = repeat_lower,
     .batch = batch_repeat},
    composite("aten::tile(Tensor self, SymInt[] dims) -> Tensor",
              [](const Call& c) -> Value {
                Shape repeats = c[1].ints();
                while (repeats.dim() < rank(c.tensor(0))) repeats.insert(0, 1);
                return aten<"repeat">(c[0], repeats);
              }),
    {.schema = "aten::repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor",
     .form = Form::external,
     .meta = repeat_interleave_meta,
     .kernel = repeat_interleave_kernel,
     .grad = {.none = true},
     .batch = batch_repeat_interleave},
    composite(
        "aten::repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor",
        [](const Call& c) { return c[1].is_tensor() ? repeat_interleave_tensor(c) : repeat_interleave_int(c); }),
    composite(
        "aten::repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor",
        repeat_interleave_int),
    {.schema = "aten::flip(Tensor self, int[] dims) -> Tensor",
     .form = Form::external,
     .meta = flip_meta,
     .kernel = flip_kernel,
     .vjp = [](Vjp& v) { v.set(0, aten<"flip">(v.grad(), v.arg(1))); },
     .lower = flip_lower,
     .batch = batch_dims},
    composite("aten::fliplr(Tensor self) -> Tensor",
              [](const Call& c) -> Value {
                INGOT_REQUIRE(rank(c.tensor(0)) >= 2, "fliplr: Input must be >= 2-d, found ", rank(c.tensor(0)));
                return aten<"flip">(c[0], Shape{1});
              }),
    composite("aten::flipud(Tensor self) -> Tensor",
              [](const Call& c) -> Value {
                INGOT_REQUIRE(rank(c.tensor(0)) >= 1, "flipud: Input must be >= 1-d, found ", rank(c.tensor(0)));
                return aten<"flip">(c[0], Shape{0});
              }),
    {.schema = "aten::roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor",
     .form = Form::external,
     .body = roll_body,
     .vjp = [](Vjp& v) { v.set(0, aten<"roll">(v.grad(), negated(v.arg(1).ints()), v.arg(2))); }},
    {.schema = "aten::rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor",
     .form = Form::external,
     .body = rot90_body,
     .vjp = [](Vjp& v) { v.set(0, aten<"rot90">(v.grad(), -v.arg(1).to_int64(), v.arg(2))); }},
    triangle_op<"tril", false>("aten::tril(Tensor self, SymInt diagonal=0) -> Tensor"),
    triangle_op<"triu", true>("aten::triu(Tensor self, SymInt diagonal=0) -> Tensor"),
    {.schema = "aten::trace(Tensor self) -> Tensor",
     .form = Form::reduction,
     .body = [](const Call& c) -> Value {
       INGOT_REQUIRE(rank(c.tensor(0)) == 2, "trace: expected a matrix, but got tensor with dim ", rank(c.tensor(0)));
       return c.tensor(0).diagonal().sum();
     },
     .vjp = [](Vjp& v) { v.set(0, aten<"trace_backward">(v.grad(), v.sizes(0))); },
     .autocast = Autocast::float32},
    composite("aten::trace_backward(Tensor grad, SymInt[] sizes) -> Tensor",
              [](const Call& c) -> Value {
                const Shape& s = c[1].ints();
                INGOT_REQUIRE(s.size() == 2, "trace_backward: expected matrix input, found sizes ", s);
                return aten<"diagonal_backward">(c.tensor(0).expand({min(s[0], s[1])}), s, 0, 0, 1);
              }),
    composite("aten::diag(Tensor self, int diagonal=0) -> Tensor",
              [](const Call& c) -> Value {
                const int n = rank(c.tensor(0));
                INGOT_REQUIRE(n == 1 || n == 2, "diag(): Supports 1D or 2D tensors. Got ", n, "D");
                return n == 1 ? aten<"diag_embed">(c[0], c[1]) : aten<"diagonal_copy">(c[0], c[1]);
              }),
    composite("aten::diagflat(Tensor self, int offset=0) -> Tensor",
              [](const Call& c) -> Value { return aten<"diag">(c.tensor(0).contiguous().view({-1}), c[1]); }),
    composite("aten::fill_diagonal_(Tensor(a!) self, Scalar fill_value, bool wrap=False) -> Tensor(a!)", fill_diagonal_body),
    composite("aten::one_hot(Tensor self, int num_classes=-1) -> Tensor", one_hot_body),
    composite("aten::requires_grad_(Tensor(a!) self, bool requires_grad=True) -> Tensor(a!)",
              [](const Call& c) -> Value { return Tensor(c.tensor(0)).requires_grad_(c[1].to_bool()); }),
    metadata_op("aten::resize_(Tensor(a!) self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor(a!)", Rewires::size,
                [](const Call& c) { return resize_in_place(c.tensor(0), c[1].ints(), c[2]); }),
    metadata_op("aten::resize_as_(Tensor(a!) self, Tensor the_template, *, MemoryFormat? memory_format=None) -> Tensor(a!)",
                Rewires::size,
                [](const Call& c) {
                  const Tensor& like = c.tensor(1);
                  const bool preserve = c[2].is_memory_format() && c[2].memory_format() == MemoryFormat::preserve;
                  return resize_in_place(c.tensor(0), like.sizes(),
                                         preserve ? Value(suggest_memory_format(like.sizes(), like.strides())) : c[2]);
                }),
    metadata_op("aten::set_.source_Tensor(Tensor(a!) self, Tensor source) -> Tensor(a!)", Rewires::storage,
                [](const Call& c) { return set_in_place(c.tensor(0), c.tensor(1), c.tensor(1)->geom); }),
    metadata_op(
        "aten::set_.source_Tensor_storage_offset(Tensor(a!) self, Tensor source, SymInt storage_offset, SymInt[] size, SymInt[] stride=[]) -> "
        "Tensor(a!)",
        Rewires::storage,
        [](const Call& c) {
          Geometry g = Geometry::contiguous(c[3].ints(), c.tensor(1).dtype());
          g.offset = c[2].to_int();
          if (!c[4].ints().empty()) g.strides = c[4].ints();
          INGOT_REQUIRE(g.strides.size() == g.sizes.size(), "set_: size ", g.sizes, " and stride ", g.strides,
                        " must have the same length");
          return set_in_place(c.tensor(0), c.tensor(1), std::move(g));
        }),
    {.schema = "aten::resize(Tensor self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor",
     .body = [](const Call& c) -> Value { return resize_in_place(aten<"clone">(c.tensor(0)), c[1].ints(), c[2]); }},
    metadata_op("inductor::resize_storage_bytes_(Tensor variable, SymInt new_size) -> ()", Rewires::bytes,
                [](const Call& c) -> Value {
                  INGOT_REQUIRE(!(c[1].to_int() < 0), "resize_storage_bytes_: a storage cannot have ", c[1].to_int(), " bytes");
                  c.tensor(0)->storage->resize(c[1].to_int());
                  return {};
                }),
    metadata_op("aten::set_(Tensor(a!) self) -> Tensor(a!)", Rewires::storage,
                [](const Call& c) {
                  const Tensor none =
                      make_tensor(Geometry::contiguous({0}, c.tensor(0).dtype()), c.tensor(0).device(), c.tensor(0)->is_fake());
                  return set_in_place(c.tensor(0), none, none->geom);
                }),
};

}  // namespace

INGOT_FAMILY(rearrange, kRearrangeOps)

}  // namespace ingot
