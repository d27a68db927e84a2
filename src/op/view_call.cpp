#include "op/view_call.hpp"

#include <algorithm>

#include "base/dtype.hpp"
#include "base/dtype_code.hpp"
#include "base/error.hpp"
#include "op/kernel.hpp"
#include "tensor/geometry.hpp"
#include "tensor/rows.hpp"

namespace ingot {
namespace {

// A tensor over the caller's memory.
Tensor wrap(const ingot_view& v) {
  Geometry g;
  g.dtype = dtype_of_code(v.dtype).value();
  for (int32_t i = 0; i < v.rank; i++) {
    g.sizes.push_back(v.sizes[i]);
    g.strides.push_back(v.strides[i]);
  }
  auto storage = Storage::wrap(v.data, required_bytes(g).number(), {});
  return Tensor(Ref<TensorImpl>(new TensorImpl(std::move(storage), std::move(g))));
}

class Results {
 public:
  using Allocate = std::function<void*(int64_t)>;
  Results(const Op& op, std::span<ingot_view> views, const Allocate& allocate) : op_(op), views_(views), allocate_(allocate) {}

  // Runs the kernel on the caller's memory where that has the layout the kernel gives its results.
  bool run_in_place(Args args) const {
    TensorList tensors;
    for (const ingot_view& v : views_) {
      if (!v.data) return false;
      tensors.push_back(wrap(v));
    }
    return call_into(op_, args, tensors);
  }

  void store(const Value& result) const {
    if (result.is_tensors() || result.is_values()) {
      TensorList all;
      add(result, all);
      require_count(all.size());
      for (std::size_t k = 0; k < views_.size(); k++) store(k, all[k]);
    } else if (!op_.schema.results.empty()) {
      require_count(1);
      store(0, result.is_number() ? number(result.to_scalar()) : result.tensor_or_none());
    }
  }

 private:
  const Op& op_;
  std::span<ingot_view> views_;
  const Allocate& allocate_;

  // Lists among results stand for their elements.
  static void add(const Value& result, TensorList& all) {
    if (result.is_tensor() || result.is_none()) all.push_back(result.tensor_or_none());
    else
      for (const Value& v : list_elements(result)) add(v, all);
  }
  void require_count(std::size_t count) const {
    INGOT_ENSURE(count == views_.size(), op_.name, " has ", count, " results, the caller wants ", views_.size());
  }
  // An undefined tensor is a result that was not asked for (a gradient, by its mask).
  void store(std::size_t k, const Tensor& t) const {
    if (!t.defined()) return;
    if (views_[k].data) {
      const Tensor place = wrap(views_[k]);
      INGOT_ENSURE(t.sizes().same(place.sizes()) && t.dtype() == place.dtype(), op_.name, ": result ", k, " is ", t.dtype(),
                   t.sizes(), ", the caller has memory for ", place.dtype(), place.sizes());
      return copy_elements(place, t);
    }
    const Geometry g = Geometry::contiguous(t.sizes(), t.dtype());
    const int64_t bytes = std::max<int64_t>(required_bytes(g).number(), 1), rank = g.dim();
    auto* lengths = static_cast<int64_t*>(allocate_(rank * 2 * static_cast<int64_t>(sizeof(int64_t)) + 1));
    for (int64_t i = 0; i < rank; i++) {
      lengths[i] = g.sizes[static_cast<std::size_t>(i)].number();
      lengths[rank + i] = g.strides[static_cast<std::size_t>(i)].number();
    }
    views_[k] = {allocate_(bytes), lengths, lengths + rank, static_cast<int32_t>(rank), aoti_code(g.dtype)};
    copy_elements(wrap(views_[k]), t);
  }

  static Tensor number(const Scalar& s) {
    const DType dtype = s.is_int() ? DType::i64 : s.is_bool() ? DType::b8 : s.is_float() ? DType::f64 : DType::c128;
    const Tensor t = make_tensor(Geometry::contiguous({}, dtype));
    fill_elements(t, s);
    return t;
  }
};

}  // namespace

void call_on_views(const ParsedCall& parsed, const ingot_view* tensors, const int64_t* integers, std::span<ingot_view> results,
                   const std::function<void*(int64_t bytes)>& allocate) {
  const Scoped<Layer> kernels_only(thread_state().layer, Layer::kernel);
  TensorList inputs;
  for (int i = 0; i < parsed.tensors(); i++) inputs.push_back(wrap(tensors[i]));
  const Values args = parsed.arguments(inputs, {integers, static_cast<std::size_t>(parsed.integers())});
  const Results into(parsed.op(), results, allocate);
  if (!into.run_in_place(args)) into.store(call(parsed.op(), args));
}

}  // namespace ingot
