#include "aot/inputs.hpp"

#include "aot/dense.hpp"
#include "autograd/meta.hpp"
#include "base/error.hpp"
#include "ingot/autograd.hpp"
#include "transform/functional.hpp"

namespace ingot::aot {
namespace {

class NoHistory final : public GradNode {
 public:
  std::string name() const override { return "InputBackward"; }
  TensorList apply(const TensorList&, const std::vector<bool>&) override {
    throw_internal_error(__FILE__, __LINE__, "a backward went through an example of an input");
  }
};

}  // namespace

Values fake_inputs(const Values& inputs, const std::vector<OpenSize>& open, ShapeEnv& env, bool as_leaves) {
  const DenseLayout layout(inputs);
  INGOT_REQUIRE(!layout.has_wrappers() || open.empty(),
                "open sizes of wrapper tensors are not supported; compile them for the sizes of the example");
  Values fakes = layout.wrapped(make_fakes(unwrapped(inputs), open, env));
  for (std::size_t k = 0; k < inputs.size(); k++) {
    if (!inputs[k].is_tensor() || !requires_grad(inputs[k].tensor())) continue;
    Tensor fake = fakes[k].tensor();
    if (requires_grad(fake)) continue;  // one tensor, given twice
    if (as_leaves && is_leaf(inputs[k].tensor())) {
      fake.requires_grad_();
      continue;
    }
    const Ref<GradNode> node = make_ref<NoHistory>();
    node->results = {fake->geom};
    set_history(fake, node, 0);
  }
  return fakes;
}

Tensor view_base(const Tensor& t) {
  const AutogradMeta* m = autograd_meta(t);
  return m && m->view ? m->view->base : Tensor();
}

bool has_open_sizes(const Value& v) { return v.is_tensor() && v.tensor()->is_fake() && v.tensor().sizes().is_symbolic(); }

Tensor functional_input(const Tensor& value, const Tensor& fake) {
  Tensor t = to_functional(value);
  if (!requires_grad(fake)) return t;
  if (is_leaf(fake)) return t.requires_grad_();
  set_history(t, grad_fn(fake), autograd_meta(fake)->result_nr);
  return t;
}

Tensor plain_input(const Tensor& fake) {
  if (wrapper_state(fake)) {
    Values leaves = unwrapped({fake});
    for (Value& v : leaves) v = plain_input(v.tensor());
    return DenseLayout({fake}).wrapped(std::move(leaves))[0].tensor();
  }
  return Tensor(make_ref<TensorImpl>(Storage::fake(fake->storage->nbytes(), fake.device()), fake->geom));
}

}  // namespace ingot::aot
