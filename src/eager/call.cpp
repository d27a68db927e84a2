// ingot_eager_call: an op of a model library that has no machine code of its own runs by its eager kernel.
#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <shared_mutex>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "base/dtype_code.hpp"
#include "eager/frame.hpp"
#include "eager/linked_op.hpp"
#include "op/call_text.hpp"
#include "op/kernel.hpp"
#include "tensor/geometry.hpp"
#include "tensor/rows.hpp"

namespace ingot {
namespace {

// Texts are constants of the library: an address is as good as the text.
const ParsedCall& parsed(const char* text) {
  static std::shared_mutex mutex;
  static std::map<const char*, std::unique_ptr<ParsedCall>> calls;
  {
    const std::shared_lock lock(mutex);
    if (const auto it = calls.find(text); it != calls.end()) return *it->second;
  }
  auto fresh = std::make_unique<ParsedCall>(text, find_called_op);
  const std::unique_lock lock(mutex);
  return *calls.try_emplace(text, std::move(fresh)).first->second;
}

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
  Results(ingot_frame* frame, const Op& op, std::span<ingot_view> views) : frame_(frame), op_(op), views_(views) {}

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
    if (result.is_tensors()) {
      require_count(result.tensors().size());
      for (std::size_t k = 0; k < views_.size(); k++) store(k, result.tensors()[k]);
    } else {
      require_count(1);
      store(0, result.is_number() ? number(result.to_scalar()) : result.tensor_or_none());
    }
  }

 private:
  ingot_frame* frame_;
  const Op& op_;
  std::span<ingot_view> views_;

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
    auto* lengths = static_cast<int64_t*>(memory(rank * 2 * static_cast<int64_t>(sizeof(int64_t)) + 1));
    for (int64_t i = 0; i < rank; i++) {
      lengths[i] = g.sizes[static_cast<std::size_t>(i)].number();
      lengths[rank + i] = g.strides[static_cast<std::size_t>(i)].number();
    }
    views_[k] = {memory(bytes), lengths, lengths + rank, static_cast<int32_t>(rank), aoti_code(g.dtype)};
    copy_elements(wrap(views_[k]), t);
  }

  void* memory(int64_t bytes) const {
    void* p = ingot_rt_alloc(frame_, bytes);
    if (!p) throw std::bad_alloc();
    return p;
  }

  static Tensor number(const Scalar& s) {
    const DType dtype = s.is_int() ? DType::i64 : s.is_bool() ? DType::b8 : s.is_float() ? DType::f64 : DType::c128;
    const Tensor t = make_tensor(Geometry::contiguous({}, dtype));
    fill_elements(t, s);
    return t;
  }
};

void run(ingot_frame* frame, const char* text, const ingot_view* tensors, const int64_t* integers, std::span<ingot_view> views) {
  const FrameScope scope(frame);
  const Scoped<Layer> kernels_only(thread_state().layer, Layer::kernel);
  const ParsedCall& parsed_call = parsed(text);
  TensorList inputs;
  for (int i = 0; i < parsed_call.tensors(); i++) inputs.push_back(wrap(tensors[i]));
  const Values args = parsed_call.arguments(inputs, {integers, static_cast<std::size_t>(parsed_call.integers())});
  const Results results(frame, parsed_call.op(), views);
  if (!results.run_in_place(args)) results.store(call(parsed_call.op(), args));
}

}  // namespace
}  // namespace ingot

int32_t ingot_eager_call(ingot_frame* frame, const char* call, const ingot_view* tensors, const int64_t* integers,
                         ingot_view* results, int32_t result_count) {
  try {
    ingot::run(frame, call, tensors, integers, {results, static_cast<std::size_t>(result_count)});
    return 0;
  } catch (const std::bad_alloc&) {
    return ingot_rt_fail(frame, "out of memory");
  } catch (const std::exception& e) {
    return ingot_rt_fail(frame, e.what());
  } catch (...) {
    return ingot_rt_fail(frame, "Unknown exception occurred.");  // aoti.cpp knows the words
  }
}
