// Padding. Constant padding is a copy into the middle; reflection and replication read each dim
// through a map of indices.
#include <complex>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "base/parallel.hpp"
#include "ingot/ingot.hpp"
#include "kernels/rounded.hpp"
#include "op/call.hpp"
#include "ingot/op/vjp.hpp"
#include "ops/common/autocast_policy.hpp"
#include "ops/batch/rules.hpp"
#include "ops/common/rank.hpp"
#include "ops/family.hpp"
#include "ops/common/lower_rules.hpp"
#include "ops/common/rule_for.hpp"
#include "tensor/geometry.hpp"
#include "tensor/rows.hpp"

namespace ingot {
namespace {

// pad lists (before, after) of the last dim first.
Int pad_before(const Shape& pad, int rank, int dim) { return 2 * (rank - dim) <= pad.dim() ? pad[2 * (rank - dim - 1)] : Int(0); }
Int pad_after(const Shape& pad, int rank, int dim) {
  return 2 * (rank - dim) <= pad.dim() ? pad[2 * (rank - dim - 1) + 1] : Int(0);
}

// ---- constant

// What is left of g where the padding is negative.
Geometry cropped(Geometry g, const Shape& pad) {
  for (int i = 0; i < g.dim(); i++) {
    const Int before = pad_before(pad, g.dim(), i), after = pad_after(pad, g.dim(), i);
    if (before < 0 || after < 0) g = slice_geometry(g, i, max(-before, 0), max(g.sizes[i] + min(after, 0), 0), 1);
  }
  return g;
}
void constant_pad_meta(const Call& c, Outputs& o) {
  const Tensor& self = c.tensor(0);
  const Shape& pad = c[1].ints();
  INGOT_REQUIRE(pad.dim() % 2 == 0, "constant_pad_nd: Length of pad must be even but instead it equals ", pad.dim());
  INGOT_REQUIRE(
      pad.dim() <= 2 * rank(self),
      "constant_pad_nd: Length of pad should be no more than twice the number of dimensions of the input. Pad length is ",
      pad.dim(), " while the input has ", rank(self), " dimensions.");
  Geometry g;
  g.dtype = self.dtype();
  bool grows = false;
  for (int i = 0; i < rank(self); i++) {
    const Int before = pad_before(pad, rank(self), i), after = pad_after(pad, rank(self), i),
              size = self.sizes()[i] + before + after;
    INGOT_REQUIRE(size >= 0, "constant_pad_nd: The input size ", self.sizes()[i], ", plus negative padding ", before, " and ",
                  after, " resulted in a negative output size, which is invalid. Check dimension ", i, " of your input.");
    grows = grows || before > 0 || after > 0;
    g.sizes.push_back(size);
  }
  if (grows) {
    g.strides = strides_for(g.sizes, suggest_memory_format(self.sizes(), self.strides()));
  } else {
    const Geometry part = cropped(self->geom, pad);
    g.strides = dense_strides_like(part.sizes, part.strides);
  }
  o.add(std::move(g));
}
void constant_pad_kernel(const Call& c, std::span<const Tensor> r) {
  const Shape& pad = c[1].ints();
  fill_elements(r[0], c[2].to_scalar());
  Geometry to = r[0]->geom;
  Geometry from = cropped(c.tensor(0)->geom, pad);
  for (int i = 0; i < to.dim(); i++) {
    const Int start = max(pad_before(pad, to.dim(), i), 0);
    to = slice_geometry(to, i, start, start + from.sizes[i], 1);
  }
  copy_elements(make_alias(r[0], std::move(to)), make_alias(c.tensor(0), std::move(from)));
}
Shape negated(const Shape& s) {
  Shape r;
  for (Int x : s) r.push_back(-x);
  return r;
}

// ---- reflection and replication over the last N dims

enum class Edge { reflect, replicate };
struct Padding {
  int dims;  // the last ones
  Edge edge;
};

void check_rank(int n, const Tensor& self, std::string_view name) {
  bool ok = rank(self) == n + 1 || rank(self) == n + 2;
  for (int i = rank(self) == n + 2 ? 1 : 0; ok && i < rank(self); i++) ok = !(self.sizes()[i] == 0);
  INGOT_REQUIRE(ok, name, ": Expected ", n + 1, "D or ", n + 2,
                "D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for "
                "input, but got: ",
                self.sizes());
}
Shape padded_sizes(Padding p, const Tensor& self, const Shape& pad, std::string_view name) {
  check_rank(p.dims, self, name);
  INGOT_REQUIRE(pad.dim() == 2 * p.dims, name, ": padding size is expected to be ", 2 * p.dims, ", but got: ", pad.dim());
  Shape sizes = self.sizes();
  for (int i = rank(self) - p.dims; i < rank(self); i++) {
    const Int before = pad_before(pad, rank(self), i), after = pad_after(pad, rank(self), i), size = self.sizes()[i];
    if (p.edge == Edge::reflect)
      INGOT_REQUIRE(before < size && after < size, name,
                    ": Padding size should be less than the corresponding input dimension, but got: padding (", before, ", ",
                    after, ") at dimension ", i, " of input ", self.sizes());
    sizes[i] = size + before + after;
    INGOT_REQUIRE(sizes[i] >= 1, name, ": input of size ", self.sizes(), " is too small. Calculated output size of dimension ", i,
                  ": ", sizes[i]);
  }
  return sizes;
}
// A batch keeps the input's memory format; PyTorch's 1-dim kernels and unbatched inputs give a
// contiguous result.
MemoryFormat format_of(int n, const Tensor& self) {
  return n == 1 || rank(self) == n + 1 ? MemoryFormat::contiguous : suggest_memory_format(self.sizes(), self.strides());
}
void pad_meta(Padding p, const Call& c, Outputs& o) {
  Geometry g;
  g.dtype = c.tensor(0).dtype();
  g.sizes = padded_sizes(p, c.tensor(0), c[1].ints(), c.op.schema.name);
  g.strides = strides_for(g.sizes, format_of(p.dims, c.tensor(0)));
  o.add(std::move(g));
}
void pad_backward_meta(Padding p, const Call& c, Outputs& o) {
  const Tensor& self = c.tensor(1);
  const Shape sizes = padded_sizes(p, self, c[2].ints(), c.op.schema.name);
  INGOT_REQUIRE(c.tensor(0).sizes() == sizes, c.op.schema.name, ": expected a gradient of size ", sizes, ", found ",
                c.tensor(0).sizes());
  Geometry g;
  g.dtype = c.tensor(0).dtype();
  g.sizes = self.sizes();
  g.strides = strides_for(g.sizes, format_of(p.dims, self));
  o.add(std::move(g));
}

// For each dim of the padded tensor, which index of the other one each of its indices reads.
using Maps = std::vector<std::vector<int64_t>>;
Maps index_maps(Padding p, const Shape& padded, const Shape& input, const Shape& pad) {
  Maps maps;
  const int n = padded.dim();
  for (int d = 0; d < n; d++) {
    std::vector<int64_t> m;
    const int64_t size = input[d].number(), before = d >= n - p.dims ? pad_before(pad, n, d).number() : 0;
    for (int64_t j = 0; j < padded[d].number(); j++) {
      int64_t x = j - before;
      if (p.edge == Edge::replicate) x = std::clamp<int64_t>(x, 0, size - 1);
      else if (x < 0) x = -x;
      else if (x >= size) x = 2 * (size - 1) - x;
      m.push_back(x);
    }
    maps.push_back(std::move(m));
  }
  return maps;
}
// Calls row(offset in padded, offset in input), in elements, for every row of the last dim of the
// padded tensor.
template <class F>
void each_row(const Geometry& padded, const Geometry& input, const Maps& maps, bool parallel, const F& row) {
  const int last = padded.dim() - 1;
  int64_t rows = 1;
  for (int d = 0; d < last; d++) rows *= padded.sizes[d].number();
  auto run = [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; k++) {
      int64_t rest = k, p = 0, i = 0;
      for (int d = last - 1; d >= 0; d--) {
        const int64_t at = rest % padded.sizes[d].number();
        rest /= padded.sizes[d].number();
        p += at * padded.strides[d].number();
        i += maps[d][at] * input.strides[d].number();
      }
      row(p, i);
    }
  };
  constexpr int64_t kElementsPerThread = 1 << 15;
  if (parallel)
    parallel_for(0, rows, std::max<int64_t>(1, kElementsPerThread / std::max<int64_t>(1, padded.sizes[last].number())), run);
  else run(0, rows);
}

void pad_kernel(Padding padding, const Call& c, std::span<const Tensor> r) {
  const Geometry &out = r[0]->geom, &in = c.tensor(0)->geom;
  const Maps maps = index_maps(padding, out.sizes, in.sizes, c[1].ints());
  const int64_t to_stride = out.strides.back().number(), from_stride = in.strides.back().number();
  auto copy_rows = [&]<class T>(T) {
    T* to = reinterpret_cast<T*>(r[0]->bytes());
    const T* from = reinterpret_cast<const T*>(c.tensor(0)->bytes());
    each_row(out, in, maps, true, [&](int64_t p, int64_t i) {
      const std::vector<int64_t>& m = maps.back();
      for (std::size_t j = 0; j < m.size(); j++) to[p + static_cast<int64_t>(j) * to_stride] = from[i + m[j] * from_stride];
    });
  };
  switch (size_of(out.dtype)) {
    case 1: return copy_rows(uint8_t{});
    case 2: return copy_rows(uint16_t{});
    case 4: return copy_rows(uint32_t{});
    case 8: return copy_rows(uint64_t{});
    default: return copy_rows(std::complex<double>{});
  }
}
// Several places of the padded gradient fall on one of the input: they are summed in double and
// rounded once, those of half types after every one, as PyTorch's are.
void pad_backward_kernel(Padding padding, const Call& c, std::span<const Tensor> r) {
  const bool complex = is_complex(r[0].dtype());
  const Tensor sum = make_tensor(Geometry::contiguous(r[0].sizes(), complex ? DType::c128 : DType::f64));
  fill_elements(sum, 0);
  const Geometry& grad = c.tensor(0)->geom;
  const Maps maps = index_maps(padding, grad.sizes, r[0].sizes(), c[2].ints());
  auto add_rows = [&]<class T>(Compute compute, T) {
    std::vector<T> row(maps.back().size());
    T* to = sum.data<T>();
    each_row(grad, sum->geom, maps, false, [&](int64_t p, int64_t i) {
      load_row(grad.dtype, c.tensor(0)->bytes() + p * size_of(grad.dtype), grad.strides.back().number(),
               static_cast<int64_t>(row.size()), compute, row.data());
      for (std::size_t j = 0; j < row.size(); j++) {
        T& at = to[i + maps.back()[j]];
        at += row[j];
        if constexpr (std::same_as<T, double>) {
          if (grad.dtype == DType::bf16) at = kernels::round_to(BFloat16{}, static_cast<float>(at));
          if (grad.dtype == DType::f16) at = kernels::round_to(Half{}, static_cast<float>(at));
        }
      }
    });
  };
  if (complex) add_rows(Compute::c128, std::complex<double>{});
  else add_rows(Compute::f64, double{});
  copy_elements(r[0], sum);
}

template <int N, Edge E, OpName Backward>
constexpr OpDef pad_op(std::string_view schema) {
  return {.schema = schema,
          .form = Form::external,
          .meta = rule_for<pad_meta, Padding{N, E}>,
          .kernel = rule_for<pad_kernel, Padding{N, E}>,
          .vjp = [](Vjp& v) { v.set(0, aten<Backward>(v.grad(), v.saved(0), v.arg(1))); },
          .saves = {{0}},
          .batch = batch_samples<N + 1>};
}
template <int N, Edge E, OpName Forward>
constexpr OpDef pad_backward_op(std::string_view schema) {
  return {.schema = schema,
          .form = Form::external,
          .meta = rule_for<pad_backward_meta, Padding{N, E}>,
          .kernel = rule_for<pad_backward_kernel, Padding{N, E}>,
          .vjp =
              [](Vjp& v) {
                if (v.need(0)) v.set(0, aten<Forward>(v.grad(), v.arg(2)));
              },
          .batch = batch_samples<N + 1>};
}

// ---- the composites

Value pad_circular_body(const Call& c) {
  Tensor r = c.tensor(0).contiguous();
  const Shape& pad = c[1].ints();
  const int n = rank(r), padded = pad.dim() / 2;
  INGOT_REQUIRE(pad.dim() % 2 == 0 && (n == padded + 1 || n == padded + 2),
                "_pad_circular: Invalid padding size, expected 2D to 5D input with padding of the last "
                "dims, got pad ",
                pad, " for input ", r.sizes());
  for (int d = n - padded; d < n; d++) {
    const Int before = pad_before(pad, n, d), after = pad_after(pad, n, d), size = r.sizes()[d];
    INGOT_REQUIRE(before <= size && after <= size, "_pad_circular: Padding value causes wrapping around more than once.");
    INGOT_REQUIRE(size + before + after >= 0, "_pad_circular: Negative padding value is resulting in an empty dimension");
    // What is cut off at one end does not come back at the other.
    const Int start = max(-before, 0), kept = size + min(after, 0) - start;
    INGOT_REQUIRE(before <= kept && after <= kept, "_pad_circular: cannot wrap ", max(before, after), " elements around of the ",
                  kept, " that negative padding leaves of ", size);
    const Tensor middle = r.narrow(d, start, kept);
    TensorList pieces;
    if (before > 0) pieces.push_back(middle.narrow(d, kept - before, before));
    pieces.push_back(middle);
    if (after > 0) pieces.push_back(middle.narrow(d, 0, after));
    if (pieces.size() > 1 || !(kept == size)) r = aten<"cat">(pieces, d);
  }
  return r.is_same(c.tensor(0)) ? r.clone() : r;
}

Value pad_with(const Tensor& self, const Shape& pad, std::string_view mode, const Value& value) {
  if (mode == "constant") return aten<"constant_pad_nd">(self, pad, value.is_none() ? Value(0.0) : value);
  INGOT_REQUIRE(value.is_none() || value.to_double() == 0, "pad: Padding mode \"", mode, "\" doesn't take in value argument");
  INGOT_REQUIRE(mode == "reflect" || mode == "replicate" || mode == "circular", "pad: Unrecognised padding mode ", mode);
  const int n = rank(self), padded = pad.dim() / 2;
  INGOT_REQUIRE(pad.dim() % 2 == 0 && padded >= 1 && padded <= 3 && (n == padded + 1 || n == padded + 2),
                "pad: Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now, found padding ", pad,
                " for input ", self.sizes());
  if (mode == "circular") return aten<"_pad_circular">(self, pad);
  if (mode == "reflect")
    return padded == 1   ? aten<"reflection_pad1d">(self, pad)
           : padded == 2 ? aten<"reflection_pad2d">(self, pad)
                         : aten<"reflection_pad3d">(self, pad);
  return padded == 1   ? aten<"replication_pad1d">(self, pad)
         : padded == 2 ? aten<"replication_pad2d">(self, pad)
                       : aten<"replication_pad3d">(self, pad);
}

void constant_pad_lower(Lowering& l) {
  const std::vector<Expr> at = variables_over(l, l.result(0).sizes);
  const Shape& pad = l.call[1].ints();
  const int n = static_cast<int>(at.size());
  std::vector<Expr> inside = at;
  Expr is_inside = true;
  for (int d = 0; d < n; d++) {
    const auto k = static_cast<std::size_t>(d);
    inside[k] = at[k] - pad_before(pad, n, d).expr();
    is_inside = is_inside && inside[k] >= Expr(0) && inside[k] < l.size(0, d);
  }
  const DType t = l.result(0).dtype;
  l.define(0, at, select(is_inside, l.load(0, inside), cast(t, l.load(2, {}))));
}

constexpr OpDef kPadOps[] = {
    {.schema = "aten::constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor",
     .form = Form::external,
     .meta = constant_pad_meta,
     .kernel = constant_pad_kernel,
     .vjp = [](Vjp& v) { v.set(0, aten<"constant_pad_nd">(v.grad(), negated(v.arg(1).ints()), 0)); },
     .lower = constant_pad_lower,
     .batch = batch_leading},
    {.schema = "aten::pad(Tensor self, SymInt[] pad, str mode=\"constant\", float? value=None) -> Tensor",
     .form = Form::composite,
     .body = [](const Call& c) { return pad_with(c.tensor(0), c[1].ints(), c[2].string(), c[3]); }},
    {.schema = "aten::_pad_enum(Tensor self, SymInt[] pad, int mode, float? value=None) -> Tensor",
     .form = Form::composite,
     .body =
         [](const Call& c) {
           constexpr std::string_view kModes[] = {"reflect", "replicate", "circular", "constant"};
           const int64_t mode = c[2].to_int64();
           INGOT_REQUIRE(mode >= 0 && mode < 4, "pad: Unrecognised padding mode ", mode);
           return pad_with(c.tensor(0), c[1].ints(), kModes[mode], c[3]);
         }},
    {.schema = "aten::_pad_circular(Tensor self, SymInt[] pad) -> Tensor", .form = Form::composite, .body = pad_circular_body},
    in_float32(pad_op<1, Edge::reflect, "reflection_pad1d_backward">(
        "aten::reflection_pad1d(Tensor self, SymInt[2] padding) -> Tensor")),
    in_float32(pad_op<2, Edge::reflect, "reflection_pad2d_backward">(
        "aten::reflection_pad2d(Tensor self, SymInt[4] padding) -> Tensor")),
    pad_op<3, Edge::reflect, "reflection_pad3d_backward">("aten::reflection_pad3d(Tensor self, SymInt[6] padding) -> Tensor"),
    in_float32(pad_op<1, Edge::replicate, "replication_pad1d_backward">(
        "aten::replication_pad1d(Tensor self, SymInt[2] padding) -> Tensor")),
    in_float32(pad_op<2, Edge::replicate, "replication_pad2d_backward">(
        "aten::replication_pad2d(Tensor self, SymInt[4] padding) -> Tensor")),
    in_float32(pad_op<3, Edge::replicate, "replication_pad3d_backward">(
        "aten::replication_pad3d(Tensor self, SymInt[6] padding) -> Tensor")),
    pad_backward_op<1, Edge::reflect, "reflection_pad1d">(
        "aten::reflection_pad1d_backward(Tensor grad_output, Tensor self, SymInt[2] padding) -> Tensor"),
    pad_backward_op<2, Edge::reflect, "reflection_pad2d">(
        "aten::reflection_pad2d_backward(Tensor grad_output, Tensor self, SymInt[4] padding) -> Tensor"),
    pad_backward_op<3, Edge::reflect, "reflection_pad3d">(
        "aten::reflection_pad3d_backward(Tensor grad_output, Tensor self, SymInt[6] padding) -> Tensor"),
    pad_backward_op<1, Edge::replicate, "replication_pad1d">(
        "aten::replication_pad1d_backward(Tensor grad_output, Tensor self, SymInt[2] padding) -> Tensor"),
    pad_backward_op<2, Edge::replicate, "replication_pad2d">(
        "aten::replication_pad2d_backward(Tensor grad_output, Tensor self, SymInt[4] padding) -> Tensor"),
    pad_backward_op<3, Edge::replicate, "replication_pad3d">(
        "aten::replication_pad3d_backward(Tensor grad_output, Tensor self, SymInt[6] padding) -> Tensor"),
};

}  // namespace

INGOT_FAMILY(pad, kPadOps)

}  // namespace ingot
