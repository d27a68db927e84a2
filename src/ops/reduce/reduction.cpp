#include "ops/reduce/reduction.hpp"

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "ops/reduce/fold.hpp"
#include "tensor/geometry.hpp"

namespace ingot {

std::vector<bool> reduced_dims(const Value& dim, int rank, bool empty_means_all) {
  std::vector<bool> reduced(static_cast<std::size_t>(rank), false);
  if (dim.is_none() || (empty_means_all && dim.is_ints() && dim.ints().empty())) {
    reduced.assign(reduced.size(), true);
    return reduced;
  }
  const Shape dims = dim.is_ints() ? dim.ints() : Shape{dim.to_int()};
  for (Int d : dims) {
    const int w = wrap_dim(d.value(), rank);
    if (rank == 0) continue;
    INGOT_REQUIRE(!reduced[w], "dim ", w, " appears multiple times in the list of dims");
    reduced[w] = true;
  }
  return reduced;
}

Shape reduced_sizes(const Shape& sizes, const std::vector<bool>& reduced, bool keepdim) {
  Shape s;
  for (std::size_t i = 0; i < sizes.size(); i++) {
    if (!reduced[i]) s.push_back(sizes[i]);
    else if (keepdim) s.push_back(1);
  }
  return s;
}

Int reduced_count(const Shape& sizes, const std::vector<bool>& reduced) {
  Int n = 1;
  for (std::size_t i = 0; i < sizes.size(); i++)
    if (reduced[i]) n = n * sizes[i];
  return n;
}

void require_nonempty(const Call& c, const Tensor& self, const std::vector<bool>& reduced, bool dim_given) {
  bool empty = false;
  for (std::size_t i = 0; i < reduced.size(); i++) {
    if (!(self.sizes()[i] == 0)) continue;
    empty = true;
    INGOT_REQUIRE_INDEX(!dim_given || !reduced[i], c.op.schema.name, "(): Expected reduction dim ", i, " to have non-zero size.");
  }
  INGOT_REQUIRE(!empty || dim_given, c.op.schema.name,
                "(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
                "reduction dim with the 'dim' argument.");
}

Shape dim_list(const Value& dim, int rank) {
  Shape s;
  const std::vector<bool> reduced = reduced_dims(dim, rank);
  for (int i = 0; i < rank; i++)
    if (reduced[i]) s.push_back(i);
  return s;
}

Tensor restore_dims(const Tensor& t, const Value& dim, int rank, bool keepdim) {
  if (keepdim || dim.is_none() || (dim.is_ints() && dim.ints().empty())) return t;  // 0-dim: broadcasts as it is
  Tensor r = t;
  for (Int d : dim_list(dim, rank)) r = aten<"unsqueeze">(r, d);
  return r;
}

Tensor evenly_distributed(const Tensor& grad, const Tensor& self, const Tensor& value) {
  const Tensor both_nan = aten<"logical_and">(aten<"isnan">(self), aten<"isnan">(value));
  const Tensor mask = aten<"logical_or">(aten<"eq.Tensor">(self, value), both_nan);
  return aten<"mul.Tensor">(mask, aten<"div.Tensor">(grad, aten<"sum">(mask)));
}

FoldSpace fold_space(const Tensor& in, const std::vector<bool>& reduced, std::span<const Tensor> outs) {
  FoldSpace s;
  s.data = in->bytes();
  s.dtype = in.dtype();
  s.out_count = static_cast<int>(outs.size());
  const std::size_t rank = reduced.size();
  for (std::size_t k = 0; k < outs.size(); k++) {
    s.out[k] = outs[k]->bytes();
    s.out_itemsize[k] = outs[k]->element_size();
  }
  std::vector<std::size_t> next(outs.size(), 0);  // dim of each output
  for (std::size_t d = 0; d < rank; d++) {
    FoldSpace::Axis a{in.sizes()[d].number(), in.strides()[d].number(), {}};
    (reduced[d] ? s.length : s.outputs) *= a.size;
    for (std::size_t k = 0; k < outs.size(); k++) {
      const bool keepdim = outs[k].sizes().size() == rank;
      if (reduced[d]) next[k] += keepdim;
      else a.out[k] = outs[k].strides()[next[k]++].number();
    }
    if (a.size != 1) (reduced[d] ? s.reduced : s.kept).push_back(a);
  }
  auto arrange = [](std::vector<FoldSpace::Axis>& axes) {
    std::stable_sort(axes.begin(), axes.end(), [](const auto& a, const auto& b) { return a.in > b.in; });
    std::vector<FoldSpace::Axis> merged;
    for (const FoldSpace::Axis& a : axes) {
      bool fits = !merged.empty() && merged.back().in == a.in * a.size;
      for (int k = 0; fits && k < FoldSpace::kOutputs; k++) fits = merged.back().out[k] == a.out[k] * a.size;
      if (fits) {
        const int64_t size = merged.back().size * a.size;
        merged.back() = a;
        merged.back().size = size;
      } else {
        merged.push_back(a);
      }
    }
    axes = std::move(merged);
  };
  arrange(s.kept);
  arrange(s.reduced);
  s.by_columns = !s.kept.empty() && !s.reduced.empty() && s.kept.back().in < s.reduced.back().in;
  return s;
}

namespace {

DType result_dtype(const Reduction& r, const Call& c) {
  const DType in = c.tensor(0).dtype();
  if (r.dtype >= 0 && !c[r.dtype].is_none()) {
    const DType t = c[r.dtype].dtype();
    INGOT_REQUIRE(r.type != ReducedType::floating || is_floating(t) || is_complex(t), c.op.schema.name,
                  "(): could not infer output dtype. "
                  "Optional dtype must be either a floating point or complex dtype. Got: ",
                  scalar_type_name(t));
    return t;
  }
  switch (r.type) {
    case ReducedType::same: return in;
    case ReducedType::widened: return is_integral(in) || in == DType::b8 ? DType::i64 : in;
    case ReducedType::floating:
      INGOT_REQUIRE(is_floating(in) || is_complex(in), c.op.schema.name,
                    "(): could not infer output dtype. Input dtype must be either a "
                    "floating point or complex dtype. Got: ",
                    scalar_type_name(in));
      return in;
    case ReducedType::boolean: return in == DType::u8 ? DType::u8 : DType::b8;
    case ReducedType::index: return DType::i64;
  }
  return in;
}

// How an accumulator is stored: unsigned sums are int64 again.
template <class Acc>
using Kept = std::conditional_t<std::same_as<Acc, uint64_t>, int64_t, Acc>;

template <class T>
struct NanSumFold : SumFold<T> {
  using typename SumFold<T>::Acc;
  void add(Acc& a, T x, int64_t) const { a += x == x ? static_cast<Acc>(x) : Acc(0); }
  void row(Acc& a, const T* x, int64_t n) const {
    for (int64_t i = 0; i < n; i++) add(a, x[i], 0);
  }
};

}  // namespace

void reduction_meta(const Reduction& r, const Call& c, Outputs& out) {
  const Tensor& self = c.tensor(0);
  const int rank = static_cast<int>(self.dim());
  const Value dim = r.dim >= 0 ? c[r.dim] : Value();
  const auto reduced = reduced_dims(dim, rank, r.empty_means_all);
  const DType dtype = result_dtype(r, c);
  const bool extreme = r.fold == Fold::max || r.fold == Fold::min || r.fold == Fold::argmax || r.fold == Fold::argmin;
  if (extreme) {
    INGOT_REQUIRE(!is_complex(self.dtype()), "\"", c.op.schema.name, "\" not implemented for '", scalar_type_name(self.dtype()),
                  "'");
    require_nonempty(c, self, reduced, !dim.is_none() && !(dim.is_ints() && dim.ints().empty()));
  }
  out.add(reduced_sizes(self.sizes(), reduced, r.keepdim >= 0 && c[r.keepdim].to_bool()), dtype);
}

void reduction_kernel(const Reduction& r, const Call& c, const Tensor& result) {
  Tensor in = c.tensor(0);
  auto reduced = reduced_dims(r.dim >= 0 ? c[r.dim] : Value(), static_cast<int>(in.dim()), r.empty_means_all);
  const bool index = r.fold == Fold::argmax || r.fold == Fold::argmin;
  if (index && reduced.size() > 1 && std::count(reduced.begin(), reduced.end(), true) > 1) {
    // Positions are those of the flattened tensor.
    in = make_tensor(Geometry::contiguous({in.numel()}, in.dtype()));
    copy_elements(make_alias(in, Geometry::contiguous(c.tensor(0).sizes(), in.dtype())), c.tensor(0));
    reduced = {true};
  }
  const Tensor out =
      index && reduced.size() == 1 && result.dim() != 1 ? make_alias(result, Geometry::contiguous({}, DType::i64)) : result;
  const FoldSpace s = fold_space(in, reduced, std::span(&out, 1));
  const DType to = out.dtype();
  auto store = [&]<class F>(const F& f, const auto& value) {
    fold(s, f, [&](const typename F::Acc* acc, int64_t n, char* const* p, const int64_t* stride) {
      using R = Kept<std::remove_cvref_t<decltype(value(*acc))>>;
      store_each<R>(acc, n, to, p[0], stride[0], value);
    });
  };
  auto same = [](const auto& a) { return a; };
  const auto count = static_cast<double>(s.length);
  if (r.nonzero) return store(SumFold<bool>{}, same);
  switch (r.fold) {
    case Fold::any: return store(LogicFold<false>{}, same);
    case Fold::all: return store(LogicFold<true>{}, same);
    case Fold::sum:
      return with_compute(compute_type(to), [&]<class T>(T) {
        if constexpr (std::same_as<T, bool>) return store(LogicFold<false>{}, same);
        else if (r.nan_as_zero) return store(NanSumFold<T>{}, same);
        else if (!r.divide_by_count) return store(SumFold<T>{}, same);
        else if constexpr (!std::same_as<T, int64_t>) return store(SumFold<T>{}, [&](const auto& a) { return a / count; });
      });
    case Fold::prod:
      return with_compute(compute_type(to), [&]<class T>(T) {
        if constexpr (std::same_as<T, bool>) return store(LogicFold<true>{}, same);
        else return store(ProdFold<T>{}, same);
      });
    default: break;
  }
  with_compute(compute_type(in.dtype()), [&]<class T>(T) {
    if constexpr (!std::same_as<T, std::complex<double>>) {
      auto value = [](const auto& a) { return a.value; };
      auto at = [](const auto& a) { return a.at; };
      if (r.fold == Fold::max) store(ExtremeFold<T, true>{}, value);
      else if (r.fold == Fold::min) store(ExtremeFold<T, false>{}, value);
      else if (r.fold == Fold::argmax) store(ExtremeFold<T, true>{}, at);
      else store(ExtremeFold<T, false>{}, at);
    }
  });
}

}  // namespace ingot
