// Views made of views, and reshape, which copies only where no view can do it.
#include "base/error.hpp"
#include "expr/assume.hpp"
#include "ingot/ingot.hpp"
#include "ingot/op/vjp.hpp"
#include "op/call.hpp"
#include "ops/common/composite.hpp"
#include "ops/common/rank.hpp"
#include "ops/family.hpp"
#include "tensor/geometry.hpp"

namespace ingot {
namespace {

Value reshape_body(const Call& c) {
  const Tensor& self = c.tensor(0);
  const Shape shape = infer_size(c[1].ints(), self.numel());
  if (view_strides(self.sizes(), self.strides(), shape)) return aten<"view">(self, shape);
  return aten<"_unsafe_view">(aten<"clone">(self, MemoryFormat::contiguous), shape);
}
Value flatten_body(const Call& c) {
  const Tensor& self = c.tensor(0);
  const int start = wrap_dim(c[1].to_int64(), rank(self)), end = wrap_dim(c[2].to_int64(), rank(self));
  INGOT_REQUIRE(start <= end, "flatten() has invalid args: start_dim cannot come after end_dim");
  if (rank(self) == 0) return self.reshape({1});
  if (start == end) return c[0];
  Shape shape = self.sizes().sub(0, start);
  shape.push_back(self.sizes().sub(start, end + 1).product());
  for (int i = end + 1; i < rank(self); i++) shape.push_back(self.sizes()[i]);
  return self.reshape(shape);
}
Value unflatten_body(const Call& c) {
  const Tensor& self = c.tensor(0);
  const Shape& sizes = c[2].ints();
  INGOT_REQUIRE(!sizes.empty(), "unflatten: sizes must be non-empty");
  INGOT_REQUIRE(rank(self) > 0, "unflatten: the tensor has no dimension to unflatten");
  const int dim = wrap_dim(c[1].to_int64(), rank(self));
  Int known = 1;
  bool hole = false;
  for (Int s : sizes) {
    if (s.is_number() && s.number() == -1) hole = true;
    else known = known * s;
  }
  const Int size = self.sizes()[dim];
  INGOT_REQUIRE(hole ? !(known == 0) && mod(size, known) == 0 : known == size, "unflatten: Provided sizes ", sizes,
                " don't multiply up to the size of dim ", dim, " (", size, ") in the input tensor");
  Shape shape = self.sizes().sub(0, dim);
  for (Int s : infer_size(sizes, size)) shape.push_back(s);
  for (int i = dim + 1; i < rank(self); i++) shape.push_back(self.sizes()[i]);
  return self.view(shape);
}

Tensor narrowed(const Tensor& self, int64_t dim, Int start, Int length) {
  INGOT_REQUIRE(rank(self) > 0, "narrow() cannot be applied to a 0-dim tensor.");
  INGOT_REQUIRE(length >= 0, "narrow(): length must be non-negative.");
  const Int size = self.sizes()[wrap_dim(dim, rank(self))];
  INGOT_REQUIRE_INDEX(!(start < -size) && start <= size, "Dimension out of range (expected to be in range of [", -size, ", ",
                      size, "], but got ", start, ")");
  if (start < 0) start = start + size;
  INGOT_REQUIRE(start + length <= size, "start (", start, ") + length (", length, ") exceeds dimension size (", size, ").");
  return aten<"slice.Tensor">(self, dim, start, start + length, 1);
}

Value movedim_body(const Tensor& self, const Shape& source, const Shape& destination) {
  INGOT_REQUIRE(source.size() == destination.size(), "movedim: Invalid source or destination dims: source (", source,
                " dims) should contain the "
                "same number of dims as destination (",
                destination, " dims)");
  const int n = rank(self);
  std::vector<int> order(static_cast<std::size_t>(n), -1);
  std::vector<bool> moved(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < source.size(); i++) {
    const int from = wrap_dim(source[i].value(), n), to = wrap_dim(destination[i].value(), n);
    if (n == 0) continue;
    INGOT_REQUIRE(!moved[from], "movedim: repeated dim in `source` (", source, ")");
    INGOT_REQUIRE(order[to] < 0, "movedim: repeated dim in `destination` (", destination, ")");
    moved[from] = true;
    order[to] = from;
  }
  if (n == 0 || source.empty()) return aten<"alias">(self);
  Shape dims;
  int next = 0;
  for (int& o : order) {
    if (o < 0) {
      while (moved[next]) next++;
      o = next++;
    }
    dims.push_back(o);
  }
  return self.permute(dims);
}
Value movedim_ints(const Call& c) { return movedim_body(c.tensor(0), {c[1].to_int()}, {c[2].to_int()}); }
Value movedim_lists(const Call& c) { return movedim_body(c.tensor(0), c[1].ints(), c[2].ints()); }
Value swap_dims(const Call& c) { return aten<"transpose.int">(c[0], c[1], c[2]); }
Value swap_dims_in_place(const Call& c) { return aten<"transpose_">(c[0], c[1], c[2]); }

Tensor matrix_transpose(const Tensor& t, std::string_view name) {
  INGOT_REQUIRE(rank(t) >= 2, "tensor.", name, " is only supported on matrices or batches of matrices. Got ", rank(t),
                "-D tensor.");
  return t.transpose(-2, -1);
}
Tensor lazy_conjugate(const Tensor& t) { return t.is_complex() ? aten<"conj">(t) : t; }

// A name in `unsafe_*` says that results are no views for autograd: they may be written one by one.
template <OpName Split>
constexpr OpDef unsafe_split_op(std::string_view schema) {
  return {.schema = schema,
          .form = Form::external,
          .body = [](const Call& c) { return call(op_ref<Split>(), c.args); },
          .vjp = [](Vjp& v) { op_ref<Split>().def->vjp(v); }};
}
template <OpName Split, OpName SplitWithSizes>
Value chunk_body(const Call& c) {
  const Tensor& self = c.tensor(0);
  const int64_t chunks = c[1].to_int64();
  INGOT_REQUIRE(rank(self) > 0, "chunk expects at least a 1-dimensional tensor");
  INGOT_REQUIRE(chunks > 0, "chunk expects `chunks` to be greater than 0, got: ", chunks);
  const Int size = self.sizes()[wrap_dim(c[2].to_int64(), rank(self))];
  // split would drop the number of chunks of an empty dim.
  if (size == 0) return aten_value<SplitWithSizes>(self, Shape::filled(static_cast<std::size_t>(chunks), 0), c[2]);
  return aten_value<Split>(self, ceil_div(size, chunks), c[2]);
}

TensorList split_at(const Tensor& self, const Shape& indices, int64_t dim) {
  TensorList r;
  Int start = 0;
  for (Int end : indices) {
    r.push_back(self.slice(dim, start, end));
    start = end;
  }
  r.push_back(self.slice(dim, start, self.size(dim)));
  return r;
}
// A place along a dim that data decides, which is at most `most` when the program runs.
Int place_in_data(const Tensor& place, Int most) {
  const Int i = aten_value<"item">(place).to_int();
  if (i.is_number()) return i;
  aten_value<"sym_constrain_range_for_size">(i);
  aten_value<"_assert_scalar">(truth_of_at_most(i, most), "tensor_split: a piece ends beyond the tensor");
  return i;
}
// The same where a program is traced, whose data is not there: each piece begins at a number that
// the data will say, and is as long as another. The numbers are brought into the tensor by the
// program itself, as slice brings known ones.
TensorList split_by_data(const Tensor& self, const Tensor& indices, int64_t dim) {
  const Int size = self.size(dim);
  const Tensor ends =
      aten<"clamp">(aten<"where.self">(aten<"lt.Scalar">(indices, 0), aten<"add.Scalar">(indices, size), indices), 0, size);
  TensorList r;
  Int start = 0;
  for (int64_t k = 0, n = indices.size(0).value(); k < n; k++) {
    const Tensor end = ends.select(0, k);
    const Tensor length = k == 0 ? end : aten<"clamp_min">(end - ends.select(0, k - 1), 0);
    r.push_back(self.slice(dim, start, start + place_in_data(length, size - start)));
    start = place_in_data(end, size);
  }
  r.push_back(self.slice(dim, start, size));
  return r;
}
TensorList split_sections(const Tensor& self, int64_t sections, int64_t dim) {
  INGOT_REQUIRE(sections > 0, "number of sections must be larger than 0, got ", sections);
  const Int size = self.size(dim), least = floor_div(size, sections), extra = mod(size, sections);
  TensorList r;
  Int start = 0;
  for (int64_t k = 0; k < sections; k++) {
    const Int end = start + least + (extra.is_number() && extra.number() == 0 ? Int(0) : extra > k ? Int(1) : Int(0));
    r.push_back(self.slice(dim, start, end));
    start = end;
  }
  return r;
}
void check_splittable(const Tensor& self) {
  INGOT_REQUIRE(rank(self) > 0, "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims");
}
// hsplit, vsplit, dsplit: along dim 1 (0 of a vector), 0, 2. `at` is a number of sections or a list
// of indices.
Value axis_split(const Call& c, std::string_view name, int least_rank, int64_t dim) {
  const Tensor& self = c.tensor(0);
  INGOT_REQUIRE(rank(self) >= least_rank, "torch.", name, " requires a tensor with at least ", least_rank, " dimension",
                least_rank > 1 ? "s" : "", ", but got a tensor with ", rank(self), " dimensions!");
  if (c[1].is_ints()) return split_at(self, c[1].ints(), dim);
  const int64_t sections = c[1].to_int64();
  INGOT_REQUIRE(sections > 0 && mod(self.size(dim), sections) == 0, "torch.", name, " attempted to split along dimension ", dim,
                ", but the size of the dimension ", self.size(dim), " is not divisible by the split_size ", sections, "!");
  return split_sections(self, sections, dim);
}
Value hsplit_body(const Call& c) { return axis_split(c, "hsplit", 1, rank(c.tensor(0)) == 1 ? 0 : 1); }
Value vsplit_body(const Call& c) { return axis_split(c, "vsplit", 2, 0); }
Value dsplit_body(const Call& c) { return axis_split(c, "dsplit", 3, 2); }

template <int N>
Tensor at_least(const Tensor& t) {
  if (rank(t) >= N) return t;
  if (rank(t) == 0) return t.reshape(Shape::filled(N, 1));
  if (N == 2) return t.unsqueeze(0);
  return rank(t) == 1 ? t.unsqueeze(0).unsqueeze(-1) : t.unsqueeze(-1);
}
template <int N>
Value at_least_one(const Call& c) {
  return at_least<N>(c.tensor(0));
}
template <int N>
Value at_least_each(const Call& c) {
  TensorList r;
  if (c[0].is_tensors())
    for (const Tensor& t : c[0].tensors()) r.push_back(at_least<N>(t));
  return Value(std::move(r));
}

Value broadcast_tensors_body(const Call& c) {
  TensorList r;
  if (!c[0].is_tensors() || c[0].tensors().empty()) return Value(std::move(r));
  Shape sizes = c[0].tensors()[0].sizes();
  for (const Tensor& t : c[0].tensors()) sizes = broadcast_shapes(sizes, t.sizes(), "broadcast_tensors");
  for (const Tensor& t : c[0].tensors()) r.push_back(t.expand(sizes));
  return Value(std::move(r));
}

constexpr OpDef kViewCompositeOps[] = {
    composite("aten::reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)", reshape_body),
    composite("aten::reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)",
              [](const Call& c) -> Value { return c.tensor(0).reshape(c.tensor(1).sizes()); }),
    composite("aten::view_as(Tensor(a) self, Tensor other) -> Tensor(a)",
              [](const Call& c) -> Value { return c.tensor(0).view(c.tensor(1).sizes()); }),
    composite("aten::flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)", flatten_body),
    composite("aten::unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)", unflatten_body),
    composite("aten::ravel(Tensor(a) self) -> Tensor(a)",
              [](const Call& c) -> Value { return c.tensor(0).contiguous().view({-1}); }),
    {.schema = "aten::_unsafe_view(Tensor self, SymInt[] size) -> Tensor",
     .form = Form::external,
     .body = [](const Call& c) -> Value { return aten<"view">(c[0], c[1]); },
     .vjp = [](Vjp& v) { v.set(0, aten<"reshape">(v.grad(), v.sizes(0))); }},
    composite("aten::narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)",
              [](const Call& c) -> Value { return narrowed(c.tensor(0), c[1].to_int64(), c[2].to_int(), c[3].to_int()); }),
    composite("aten::narrow.Tensor(Tensor(a) self, int dim, Tensor start, SymInt length) -> Tensor(a)",
              [](const Call& c) -> Value {
                Value start = c[2];
                if (start.is_tensor()) {
                  const Tensor& t = start.tensor();
                  INGOT_REQUIRE(t.dim() == 0 && !t.is_floating_point() && !t.is_complex() && t.dtype() != DType::b8,
                                "start must be an 0-dim integral Tensor.");
                  start = aten_value<"item">(t);
                }
                return narrowed(c.tensor(0), c[1].to_int64(), start.to_int(), c[3].to_int());
              }),
    composite("aten::movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)", movedim_ints),
    composite("aten::movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)", movedim_lists),
    composite("aten::moveaxis.int(Tensor(a) self, int source, int destination) -> Tensor(a)", movedim_ints),
    composite("aten::moveaxis.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)", movedim_lists),
    composite("aten::swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)", swap_dims),
    composite("aten::swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", swap_dims),
    composite("aten::swapaxes_(Tensor(a!) self, int axis0, int axis1) -> Tensor(a!)", swap_dims_in_place),
    composite("aten::swapdims_(Tensor(a!) self, int dim0, int dim1) -> Tensor(a!)", swap_dims_in_place),
    composite("aten::mT(Tensor(a) self) -> Tensor(a)",
              [](const Call& c) -> Value { return matrix_transpose(c.tensor(0), "mT"); }),
    composite("aten::mH(Tensor(a) self) -> Tensor(a)",
              [](const Call& c) -> Value { return lazy_conjugate(matrix_transpose(c.tensor(0), "mH")); }),
    composite("aten::adjoint(Tensor(a) self) -> Tensor(a)",
              [](const Call& c) -> Value { return lazy_conjugate(matrix_transpose(c.tensor(0), "adjoint()")); }),
    composite("aten::matrix_H(Tensor(a) self) -> Tensor(a)",
              [](const Call& c) -> Value {
                const Tensor& self = c.tensor(0);
                INGOT_REQUIRE(rank(self) == 2 || rank(self) == 0, "tensor.H is only supported on matrices (2-D tensors). Got ",
                              rank(self), "-D tensor.");
                return lazy_conjugate(rank(self) == 2 ? self.transpose(0, 1) : self);
              }),
    composite("aten::numpy_T(Tensor(a) self) -> Tensor(a)",
              [](const Call& c) -> Value {
                Shape dims;
                for (int i = rank(c.tensor(0)); i-- > 0;) dims.push_back(i);
                return c.tensor(0).permute(dims);
              }),
    composite("aten::chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]",
              chunk_body<"split.Tensor", "split_with_sizes">),
    aliasing_composite("aten::unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]",
                       chunk_body<"unsafe_split.Tensor", "unsafe_split_with_sizes">),
    unsafe_split_op<"split.Tensor">("aten::unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]"),
    unsafe_split_op<"split_with_sizes">(
        "aten::unsafe_split_with_sizes(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]"),
    composite("aten::split(Tensor(a -> *) self, int[] split_sizes, int dim=0) -> Tensor(a)[]",
              [](const Call& c) { return aten_value<"split_with_sizes">(c[0], c[1], c[2]); }),
    composite("aten::split.sizes(Tensor(a -> *) self, SymInt[] split_size, int dim=0) -> Tensor(a)[]",
              [](const Call& c) { return aten_value<"split_with_sizes">(c[0], c[1], c[2]); }),
    composite("aten::tensor_split.sections(Tensor(a -> *) self, SymInt sections, int dim=0) -> Tensor(a)[]",
              [](const Call& c) -> Value {
                check_splittable(c.tensor(0));
                return split_sections(c.tensor(0), c[1].to_int64(), c[2].to_int64());
              }),
    composite("aten::tensor_split.indices(Tensor(a -> *) self, SymInt[] indices, int dim=0) -> Tensor(a)[]",
              [](const Call& c) -> Value {
                check_splittable(c.tensor(0));
                return split_at(c.tensor(0), c[1].ints(), c[2].to_int64());
              }),
    composite(
        "aten::tensor_split.tensor_indices_or_sections(Tensor(a -> *) self, Tensor tensor_indices_or_sections, int dim=0) -> Tensor(a)[]",
        [](const Call& c) -> Value {
          check_splittable(c.tensor(0));
          if (!c[1].is_tensor()) return split_sections(c.tensor(0), c[1].to_int64(), c[2].to_int64());
          const Tensor& at = c.tensor(1);
          INGOT_REQUIRE(at.dtype() == DType::i64,
                        "tensor_split expected tensor_indices_or_sections to have dtype of long, but got ", at.dtype());
          INGOT_REQUIRE(
              at.dim() <= 1,
              "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, but "
              "got a tensor with ",
              at.dim(), " dims");
          if (at.dim() == 0) return split_sections(c.tensor(0), aten_value<"item">(at).to_int64(), c[2].to_int64());
          if (at->is_fake()) return split_by_data(c.tensor(0), at, c[2].to_int64());
          return split_at(c.tensor(0), Shape(at.to_vector<int64_t>()), c[2].to_int64());
        }),
    composite("aten::hsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]", hsplit_body),
    composite("aten::hsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]", hsplit_body),
    composite("aten::vsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]", vsplit_body),
    composite("aten::vsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]", vsplit_body),
    composite("aten::dsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]", dsplit_body),
    composite("aten::dsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]", dsplit_body),
    composite("aten::expand_as(Tensor(a) self, Tensor other) -> Tensor(a)",
              [](const Call& c) -> Value { return c.tensor(0).expand(c.tensor(1).sizes()); }),
    composite("aten::broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)",
              [](const Call& c) -> Value { return c.tensor(0).expand(c[1].ints()); }),
    composite("aten::broadcast_tensors(Tensor[] tensors) -> Tensor[]", broadcast_tensors_body),
    aliasing_composite("aten::atleast_1d(Tensor self) -> Tensor", at_least_one<1>),
    aliasing_composite("aten::atleast_1d.Sequence(Tensor[] tensors) -> Tensor[]", at_least_each<1>),
    aliasing_composite("aten::atleast_2d(Tensor self) -> Tensor", at_least_one<2>),
    aliasing_composite("aten::atleast_2d.Sequence(Tensor[] tensors) -> Tensor[]", at_least_each<2>),
    aliasing_composite("aten::atleast_3d(Tensor self) -> Tensor", at_least_one<3>),
    aliasing_composite("aten::atleast_3d.Sequence(Tensor[] tensors) -> Tensor[]", at_least_each<3>),
    composite("aten::linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor(a)",
              [](const Call& c) -> Value { return aten<"diagonal">(c[0], c[1], c[2], c[3]); }),
};

}  // namespace

INGOT_FAMILY(view_composite, kViewCompositeOps)

}  // namespace ingot
