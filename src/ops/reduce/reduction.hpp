// What a reduction op is, said once: which fold, over which of its arguments' dims, to which dtype.
// Eager rules come from this descriptor, and so does the compiled form.
#pragma once
#include "ingot/op/vjp.hpp"
#include "op/call.hpp"
#include "op/op.hpp"
#include "ops/common/gradient_terms.hpp"

namespace ingot {

enum class Fold : uint8_t { sum, prod, max, min, any, all, argmax, argmin };
enum class ReducedType : uint8_t {
  same,      // the input's
  widened,   // integers and bool become int64
  floating,  // the input's, which must be floating or complex
  boolean,   // bool; uint8 stays
  index,     // int64
};
struct Reduction {
  Fold fold;
  ReducedType type = ReducedType::same;
  int8_t dim = -1, keepdim = -1, dtype = -1;  // positions of those arguments; -1: over all dims, dims go, no dtype
  bool divide_by_count = false;               // mean
  bool nan_as_zero = false;                   // nansum
  bool nonzero = false;                       // folds x != 0 as a number (count_nonzero)
  bool empty_means_all = true;                // an empty list of dims
};

// ---- shape rules, for every op that reduces

// Which dims of a rank-`rank` tensor a `dim` argument names: None all, an int that one, a list
// those (none of them: all).
std::vector<bool> reduced_dims(const Value& dim, int rank, bool empty_means_all = true);
Shape reduced_sizes(const Shape& sizes, const std::vector<bool>& reduced, bool keepdim);
// Number of elements each result stands for.
Int reduced_count(const Shape& sizes, const std::vector<bool>& reduced);
// Refuses to take an extreme of nothing, in PyTorch's words.
void require_nonempty(const Call& c, const Tensor& self, const std::vector<bool>& reduced, bool dim_given);

// ---- gradients of reductions

// `t`, a result of reducing a rank-`rank` tensor, with the dims that went put back as size 1. A
// full reduction stays 0-dim.
Tensor restore_dims(const Tensor& t, const Value& dim, int rank, bool keepdim);
// The list form of a `dim` argument (None: all dims).
Shape dim_list(const Value& dim, int rank);
// Whether a rule may choose a cheaper form by t's elements: plain eager, nobody records.
inline bool may_look_at(const Tensor& t) {
  constexpr unsigned eager = layer_bit(Layer::autograd) | layer_bit(Layer::autocast) | layer_bit(Layer::kernel);
  return !t->is_fake() && !((t->layers | thread_state().active) & ~eager);
}
// Whether what is computed of t now may be differentiated.
inline bool wants_gradient(const Tensor& t) { return thread_state().grad_mode && t.requires_grad(); }
// The gradient of an extreme element, shared evenly by all elements that equal it; NaN equals NaN.
Tensor evenly_distributed(const Tensor& grad, const Tensor& self, const Tensor& value);

// ---- the generic rules
void reduction_meta(const Reduction& r, const Call& c, Outputs& out);
void reduction_kernel(const Reduction& r, const Call& c, const Tensor& result);
void reduction_lower(const Reduction& r, Lowering& l);

template <Reduction R>
inline constexpr Reduction reduction_of = R;

template <Reduction R>
constexpr OpDef reduction(std::string_view schema, void (*vjp)(Vjp&) = nullptr, Saves saves = {}, uint8_t backward_index = 0) {
  OpDef d;
  d.schema = schema;
  d.form = Form::reduction;
  d.meta = [](const Call& c, Outputs& o) { reduction_meta(reduction_of<R>, c, o); };
  d.kernel = [](const Call& c, std::span<const Tensor> r) { reduction_kernel(reduction_of<R>, c, r[0]); };
  d.lower = [](Lowering& l) { reduction_lower(reduction_of<R>, l); };
  d.vjp = vjp;
  d.saves = saves;
  d.grad.node_number = backward_index;
  d.grad.none = R.type == ReducedType::boolean || R.type == ReducedType::index;
  return d;
}

}  // namespace ingot
