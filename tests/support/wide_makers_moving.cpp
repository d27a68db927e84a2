// Families that move numbers: views, copies, indexing, order, conversions, writes.
#include "base/dtype.hpp"
#include "op/call.hpp"
#include "support/wide_makers.hpp"

namespace ingot::testing {
namespace {

int same_as(Draft& d, int self) {
  const int k =
      d.any([&](const Tensor& t, int) { return t.dtype() == d.at(self).dtype() && t.sizes().same(d.at(self).sizes()); });
  return k < 0 ? self : k;
}

// A dim of x and an index tensor of one dim.
struct Indexed {
  int x = -1, dim = 0, index = -1;
};
Indexed indexed(Draft& d) {
  Indexed r;
  r.x = d.any_of_rank(1);
  r.index = d.any([](const Tensor& t, int) { return t.dtype() == DType::i64 && t.dim() == 1; });
  if (r.x >= 0) r.dim = d.dim_of(r.x);
  return r;
}

}  // namespace

Made move_by_view(Draft& d) {
  const int x = d.any();
  const int rank = static_cast<int>(d.at(x).dim());
  if (rank > 5) return none();
  const auto dim = [&] { return Value(d.dim_of(x)); };
  switch (d.pick(18)) {
    case 0: return Step::of("view", {x}, {Shape{-1}});
    case 1: {
      const Value a = dim(), b = dim();
      return Step::of("transpose.int", {x}, {a, b});
    }
    case 2: return Step::of("select.int", {x}, {dim(), d.pick(2) - 1});
    case 3: return Step::of("slice.Tensor", {x}, {dim(), d.pick(2), Value(), 1 + d.pick(2)});
    case 4: return Step::of("slice.Tensor", {x}, {dim(), 0, 1 + d.pick(3)});
    case 5: return Step::of("diagonal", {x}, {d.pick(3) - 1});
    case 6: return Step::of("unbind.int", {x}, {dim()});
    case 7: return Step::of("split.Tensor", {x}, {1 + d.pick(3), dim()});
    case 8: return Step::of("unsqueeze", {x}, {d.pick(rank + 1)});
    case 9: return Step::of("squeeze", {x});
    case 10: {
      Shape sizes = Shape::filled(static_cast<std::size_t>(rank) + 1, -1);
      sizes[0] = 2;
      return Step::of("expand", {x}, {sizes});
    }
    case 11: {
      Shape dims;
      for (int k = rank; k-- > 0;) dims.push_back(k);
      return Step::of("permute", {x}, {dims});
    }
    case 12: return rank == 2 ? Step::of("t", {x}) : none();
    case 13: return d.pick(3) ? none() : Step::of("detach", {x});
    case 14: return rank >= 2 ? Step::of("flatten.using_ints", {x}, {0, 1}) : none();
    case 15: return Step::of("unfold", {x}, {dim(), 2, 1 + d.pick(2)});
    case 16: return d.options.open ? none() : Step::of("as_strided", {x}, {Shape{2}, Shape{1 + d.pick(2)}, d.pick(2)});
    default: return Step::of("chunk", {x}, {2, dim()});
  }
}

Made move_by_copy(Draft& d) {
  const int x = d.any_of_rank(1);
  if (x < 0) return none();
  const int dim = d.dim_of(x);
  switch (d.pick(13)) {
    case 0: return Step{"cat", {tensors_arg({x, same_as(d, x)}), dim}};
    case 1: return Step{"stack", {tensors_arg({x, same_as(d, x)}), dim}};
    case 2: return Step::of("flip", {x}, {Shape{dim}});
    case 3: return Step::of("roll", {x}, {Shape{1}, Shape{dim}});
    case 4:
      return Step::of("repeat", {x}, {[&] {
                        Shape s = Shape::filled(static_cast<std::size_t>(d.at(x).dim()), 1);
                        s[static_cast<std::size_t>(dim)] = 2;
                        return s;
                      }()});
    case 5: return Step::of("constant_pad_nd", {x}, {Shape{d.pick(3) - 1, d.pick(3)}, 0.5});
    case 6: {
      const bool lower = d.pick(2);
      return Step::of(lower ? "tril" : "triu", {x}, {d.pick(3) - 1});
    }
    case 7: return Step::of("repeat_interleave.self_int", {x}, {2, dim});
    case 8: return Step::of("clone", {x});
    case 9: return Step::of("contiguous", {x});
    case 10: return Step::of("diag_embed", {x});
    case 11: return Step::of("reshape", {x}, {Shape{-1}});
    default: {
      const int y = d.any([&](const Tensor& t, int) { return t.dim() == d.at(x).dim(); });
      return Step{"cat", {tensors_arg({x, y}), dim}};
    }
  }
}

Made index_read(Draft& d) {
  const auto [x, dim, index] = indexed(d);
  const int any_index = d.any_index();
  if (x < 0 || any_index < 0) return none();
  switch (d.pick(7)) {
    case 0: return index < 0 ? none() : std::optional<Step>(Step{"index_select", {tensor_arg(x), dim, tensor_arg(index)}});
    case 1: {
      const int i = d.any([&](const Tensor& t, int) { return t.dtype() == DType::i64 && t.dim() == d.at(x).dim(); });
      return i < 0 ? none() : std::optional<Step>(Step{"gather", {tensor_arg(x), dim, tensor_arg(i)}});
    }
    case 2: return Step{"index.Tensor", {tensor_arg(x), tensors_arg({any_index})}};
    case 3:
      return d.at(x).dim() < 2 ? none()
                               : std::optional<Step>(Step{"index.Tensor", {tensor_arg(x), tensors_arg({-1, any_index})}});
    case 4: return d.at(x).dim() == 2 ? Step::of("embedding", {x, any_index}) : none();
    case 5: return Step::of("take", {x, any_index});
    default: {
      const int mask = d.any([](const Tensor& t, int) { return t.dtype() == DType::b8; });
      return mask < 0 ? none() : Step::of("masked_fill.Scalar", {d.broadcasts_with(mask), mask}, {0.5});
    }
  }
}

Made index_sum(Draft& d) {
  const auto [x, dim, index] = indexed(d);
  if (x < 0) return none();
  const int i = d.any([&](const Tensor& t, int) { return t.dtype() == DType::i64 && t.dim() == d.at(x).dim(); });
  const int source = d.any([&](const Tensor& t, int) { return t.dtype() == d.at(x).dtype() && t.dim() == d.at(x).dim(); });
  switch (d.pick(5)) {
    case 0:
      return i < 0 || source < 0
                 ? none()
                 : std::optional<Step>(Step{"scatter_add", {tensor_arg(x), dim, tensor_arg(i), tensor_arg(source)}});
    case 1:
      return index < 0 || source < 0
                 ? none()
                 : std::optional<Step>(Step{"index_add", {tensor_arg(x), dim, tensor_arg(index), tensor_arg(source)}});
    case 2:
      return index < 0 || source < 0
                 ? none()
                 : std::optional<Step>(Step{"index_put", {tensor_arg(x), tensors_arg({index}), tensor_arg(source), true}});
    case 3:
      return i < 0 || source < 0
                 ? none()
                 : std::optional<Step>(Step{"scatter_reduce.two",
                                            {tensor_arg(x), dim, tensor_arg(i), tensor_arg(source), d.pick(2) ? "sum" : "mean"}});
    default: return Step::of("trapezoid.dx", {x}, {0.5, dim});
  }
}

Made index_write(Draft& d) {
  const auto [x, dim, index] = indexed(d);
  if (x < 0) return none();
  const int i = d.any([&](const Tensor& t, int) { return t.dtype() == DType::i64 && t.dim() == d.at(x).dim(); });
  switch (d.pick(6)) {
    case 0: return i < 0 ? none() : std::optional<Step>(Step{"scatter.value", {tensor_arg(x), dim, tensor_arg(i), 0.5}});
    case 1:
      return index < 0 ? none() : std::optional<Step>(Step{"index_fill.int_Scalar", {tensor_arg(x), dim, tensor_arg(index), 2}});
    case 2: {
      const int v = d.any([&](const Tensor& t, int) { return t.dim() == 0 && t.dtype() == d.at(x).dtype(); });
      return index < 0 || v < 0 ? none()
                                : std::optional<Step>(Step{"index_put", {tensor_arg(x), tensors_arg({index}), tensor_arg(v)}});
    }
    case 3: {
      const int v = d.any([&](const Tensor& t, int) { return t.dim() + 1 == d.at(x).dim() && t.dtype() == d.at(x).dtype(); });
      return v < 0 ? none() : Step::of("select_scatter", {x, v}, {dim, 0});
    }
    case 4: {
      const int v = d.any([&](const Tensor& t, int) { return t.dim() == d.at(x).dim() && t.dtype() == d.at(x).dtype(); });
      return v < 0 ? none() : Step::of("slice_scatter", {x, v}, {dim, d.pick(2), Value(), 1 + d.pick(2)});
    }
    default:  // of classes in range, which at other sizes are others: a graph does not look, in PyTorch neither
      return d.at(x).dtype() == DType::i64 && d.at(x).dim() <= 2 && !d.options.open ? Step::of("one_hot", {x}, {4}) : none();
  }
}

Made sorted(Draft& d) {
  const int x = d.any_of_rank(1);
  if (x < 0) return none();
  const int dim = d.dim_of(x);
  switch (d.pick(5)) {
    case 0: return Step::of("sort", {x}, {dim, d.pick(2) == 0});
    case 1: return Step::of("sort.stable", {x}, {true, dim, d.pick(2) == 0});
    case 2: return Step::of("topk", {x}, {1 + d.pick(2), dim, d.pick(2) == 0});
    case 3: return Step::of("argsort", {x}, {dim, d.pick(2) == 0});
    default: {
      const int row = d.any([&](const Tensor& t, int) { return t.dim() == 1 && t.dtype() == d.at(x).dtype(); });
      return row < 0 ? none() : Step::of("bucketize.Tensor", {x, row});
    }
  }
}

Made converted(Draft& d) {
  static constexpr DType kTypes[] = {DType::f32, DType::f32, DType::f64, DType::f16, DType::bf16,
                                     DType::i64, DType::i32, DType::b8,  DType::c64, DType::u8};
  const int x = d.any();
  const DType to = kTypes[d.pick(10)];
  if (is_complex(d.at(x).dtype()) && !is_complex(to)) return none();
  if (!is_differentiable(to) && is_differentiable(d.at(x).dtype()) && !d.exact[static_cast<std::size_t>(x)]) return none();
  if (to == DType::u8 && is_differentiable(d.at(x).dtype())) return none();  // of what is below 0: undefined
  if (d.pick(2) == 0) return Step::of("_to_copy", {x}, {to});
  // Where it copies it says so: run in wider types it would hand its argument through.
  return to == d.at(x).dtype() ? Step::of("to.dtype", {x}, {to}) : Step::of("to.dtype", {x}, {to, false, true});
}

Made write_rounding(Draft& d) {
  if (!d.options.writes) return none();
  static constexpr const char* kOps[] = {"add_.Tensor", "mul_.Tensor", "sub_.Tensor", "div_.Tensor"};
  static constexpr const char* kUnary[] = {"sin_", "tanh_", "sigmoid_", "exp_", "neg_", "square_"};
  const int x = d.any();
  Step s;
  switch (d.pick(7)) {
    case 0: s = Step::of("add_.Scalar", {x}, {1}); break;
    case 1: s = Step::of("mul_.Scalar", {x}, {2}); break;
    case 2: s = Step::of(d.one_of(kUnary), {x}); break;
    case 3: {
      s = d.pick(2) ? Step::of("sin.out", {x}) : Step::of("add.out", {x, same_as(d, x)});
      s.out = same_as(d, x);
      s.no_grad = true;
      break;
    }
    case 4: {
      const auto [y, dim, index] = indexed(d);
      if (y < 0 || index < 0) return none();
      s = Step{"index_add_", {tensor_arg(y), dim, tensor_arg(index), tensor_arg(same_as(d, y))}};
      break;
    }
    default: {
      const char* const op = d.one_of(kOps);
      s = Step::of(op, {x, d.broadcasts_with(x)});
    }
  }
  s.no_grad |= d.pick(8) == 0;
  return s;
}

Made write_moving(Draft& d) {
  if (!d.options.writes) return none();
  const int x = d.any();
  Step s;
  switch (d.pick(6)) {
    case 0: s = Step::of("zero_", {x}); break;
    case 1: s = Step::of("fill_.Scalar", {x}, {2}); break;
    case 2: {
      const int mask = d.any([](const Tensor& t, int) { return t.dtype() == DType::b8; });
      if (mask < 0) return none();
      s = Step::of("masked_fill_.Scalar", {d.broadcasts_with(mask), mask}, {0.5});
      break;
    }
    case 3: {
      const auto [y, dim, index] = indexed(d);
      if (y < 0 || index < 0) return none();
      s = Step{"index_fill_.int_Scalar", {tensor_arg(y), dim, tensor_arg(index), 1}};
      break;
    }
    default: {
      const int from = d.broadcasts_with(x);
      if (is_complex(d.at(from).dtype()) && !is_complex(d.at(x).dtype())) return none();
      if (!is_differentiable(d.at(x).dtype()) && is_differentiable(d.at(from).dtype())) return none();
      s = Step::of("copy_", {x, from});
    }
  }
  s.no_grad |= d.pick(8) == 0;
  return s;
}

Made write_kinked(Draft& d) {
  if (!d.options.writes) return none();
  const int x = d.any();
  return d.pick(2) ? Step::of("relu_", {x}) : Step::of("clamp_", {x}, {-0.25, 1.5});
}

Made view_in_place(Draft& d) {
  if (!d.options.writes) return none();
  const int x = d.any();
  switch (d.pick(4)) {
    case 0: return Step::of("t_", {x});
    case 1: return Step::of("unsqueeze_", {x}, {0});
    case 2: return Step::of("transpose_", {x}, {0, -1});
    default: return Step::of("squeeze_", {x});
  }
}

}  // namespace ingot::testing
