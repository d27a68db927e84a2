// The layers above the ops, as a program has them. Nothing refers to this file: who links
// ingot_setup has it (CMakeLists.txt).
#include "autograd/autocast.hpp"
#include "autograd/custom_function.hpp"
#include "autograd/function_gradient.hpp"
#include "autograd/handler.hpp"
#include "autograd/meta.hpp"
#include "op/upper_layers.hpp"
#include "ops/families.hpp"

namespace ingot {
namespace {

class EagerLayers final : public UpperLayers {
 public:
  void set_up() const override {
    for (const Family family : op_families()) register_ops(family);
    register_ops(custom_function_ops());
    install_once(Layer::autocast, autocast_handler);
    install_once(Layer::autograd, autograd_handler);
  }

  bool requires_grad(const Tensor& t) const override { return ingot::requires_grad(t); }
  void set_requires_grad(const Tensor& t, bool on) const override { ingot::set_requires_grad(t, on); }
  bool is_leaf(const Tensor& t) const override { return ingot::is_leaf(t); }
  Value gradient_function(const Value& f, std::vector<bool> wanted) const override {
    return ingot::gradient_function(f, std::move(wanted));
  }

  TensorFunction vmap(TensorFunction f, VmapOptions options) const override {
    return ingot::vmap(std::move(f), std::move(options));
  }
};

constexpr EagerLayers kEagerLayers;

}  // namespace
}  // namespace ingot

extern "C" const ingot::UpperLayers* ingot_upper_layers() { return &ingot::kEagerLayers; }
