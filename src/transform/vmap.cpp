#include "ingot/transforms.hpp"

#include "base/error.hpp"
#include "op/call.hpp"
#include "tensor/geometry.hpp"
#include "transform/batched.hpp"

namespace ingot {
namespace {

using Dims = std::vector<std::optional<int64_t>>;

std::string dims_text(const Dims& dims) {
  std::string s;
  for (const auto& d : dims) s += (s.empty() ? "" : ", ") + (d ? std::to_string(*d) : "None");
  return dims.size() == 1 ? s : "(" + s + ")";
}

// One entry for each of `n` tensors.
Dims spread(const Dims& dims, std::size_t n, const char* which, const char* what) {
  if (dims.size() == 1) return Dims(n, dims[0]);
  INGOT_REQUIRE(dims.size() == n, "vmap: ", which, "=", dims_text(dims), " has ", dims.size(), " entries, but there are ", n, " ",
                what, ". Give one entry for each, or one for all.");
  return dims;
}

// The arguments with the mapped dim in front.
TensorList batches(const TensorList& arguments, const Dims& given, Dims& in_dims) {
  INGOT_REQUIRE(!arguments.empty(), "vmap(f, in_dims=", dims_text(given),
                ", ...)(<inputs>): Got no inputs. Maybe you forgot to add inputs, or you are trying to "
                "vmap over a function with no inputs. The latter is unsupported.");
  in_dims = spread(given, arguments.size(), "in_dims", "arguments");
  TensorList l;
  for (std::size_t i = 0; i < arguments.size(); i++) {
    const Tensor& t = arguments[i];
    INGOT_REQUIRE(t.defined(), "vmap: argument ", i, " is no tensor");
    if (!in_dims[i]) {
      l.push_back(t);
      continue;
    }
    const int64_t dim = *in_dims[i], rank = t.dim();
    INGOT_REQUIRE(dim >= -rank && dim < rank, "vmap(f, in_dims=", dims_text(given), ", ...)(<inputs>): Got in_dim=", dim,
                  " for an input, but the input is of dimensionality ", rank, " so expected in_dim to satisfy -", rank,
                  " <= in_dim < ", rank, ".");
    l.push_back(move_dim(t, wrap_dim(dim, static_cast<int>(rank)), 0));
  }
  return l;
}

Int batch_size(const TensorList& batches, const Dims& in_dims, const Dims& given) {
  std::optional<Int> size;
  for (std::size_t i = 0; i < batches.size(); i++) {
    if (!in_dims[i]) continue;
    const Int n = batches[i].sizes()[0];
    if (size && !(*size == n)) {
      Shape sizes;
      for (std::size_t k = 0; k < batches.size(); k++)
        if (in_dims[k]) sizes.push_back(batches[k].sizes()[0]);
      throw_user_error(text("vmap: Expected all tensors to have the same size in the mapped dimension, got sizes ", sizes,
                            " for the mapped dimension"));
    }
    if (!size) size = n;
  }
  INGOT_REQUIRE(size, "vmap(f, in_dims=", dims_text(given),
                ", ...)(<inputs>): in_dims maps over no argument; give at least one argument a dim");
  return *size;
}

Tensor result_of(const Tensor& t, int level, Int size, const std::optional<int64_t>& out_dim) {
  if (!t.defined()) return t;
  const BatchedState* s = batched_state(t);
  const bool batched = s && s->level == level;
  INGOT_REQUIRE(out_dim || !batched, "vmap(f, ...): `f` can not return a BatchedTensor when out_dim is None");
  if (!out_dim) return t;
  Tensor value = batched ? s->value : t;
  if (!batched) {
    Shape sizes{size};
    for (const Int n : t.sizes()) sizes.push_back(n);
    value = aten<"expand">(aten<"unsqueeze">(t, 0), sizes);
  }
  return move_dim(value, 0, wrap_dim(*out_dim, static_cast<int>(value.dim())));
}

}  // namespace

TensorFunction vmap(TensorFunction f, VmapOptions options) {
  return [f = std::move(f), options = std::move(options)](const TensorList& arguments) {
    Dims in_dims;
    const TensorList values = batches(arguments, options.in_dims, in_dims);
    const Int size = batch_size(values, in_dims, options.in_dims);
    TensorList results;
    int level = 0;
    {
      const VmapScope scope(size, options.randomness);
      level = scope.level();
      TensorList inside;
      for (std::size_t i = 0; i < values.size(); i++) inside.push_back(in_dims[i] ? make_batched(values[i], level) : values[i]);
      results = f(inside);
    }
    const Dims out_dims = spread(options.out_dims, results.size(), "out_dims", "results");
    for (std::size_t k = 0; k < results.size(); k++) results[k] = result_of(results[k], level, size, out_dims[k]);
    return results;
  };
}

}  // namespace ingot
