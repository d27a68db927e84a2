#include "ops/higher_order/mapped_function.hpp"

#include <utility>

#include "base/error.hpp"
#include "op/call.hpp"
#include "op/function.hpp"
#include "op/upper_layers.hpp"

namespace ingot {
namespace {

// The layers above the running one have had their turn: of them vmap, which is asked for here, and
// the tape, which knows what functions bring along, act again.
class VmapLayer {
 public:
  VmapLayer()
      : grad_mode_(thread_state().grad_mode, thread_state().grad_mode && thread_state().layer <= Layer::autograd),
        active_(thread_state().active, static_cast<uint8_t>(thread_state().active & ~past())),
        layer_(thread_state().layer, Layer::transform) {}

 private:
  static unsigned past() { return (layer_bit(thread_state().layer) - 1u) & ~unsigned{layer_bit(Layer::autograd)}; }
  Scoped<bool> grad_mode_;
  Scoped<uint8_t> active_;
  Scoped<Layer> layer_;
};

}  // namespace

Value mapped_function(const Value& f, std::vector<std::vector<bool>> levels) {
  return make_function([f, levels = std::move(levels)](Args args) {
    // vmap is of tensors: other operands go around it.
    std::vector<std::size_t> tensors;
    TensorList given;
    for (std::size_t i = 0; i < args.size(); i++)
      if (args[i].is_tensor()) {
        tensors.push_back(i);
        given.push_back(args[i].tensor());
      }
    TensorFunction mapped = [&](const TensorList& members) {
      Values operands(args.begin(), args.end());
      for (std::size_t k = 0; k < tensors.size(); k++) operands[tensors[k]] = members[k];
      TensorList results;
      for (const Value& v : f.function()(operands)) {
        INGOT_REQUIRE(v.is_tensor() || v.is_none(), "a function that is called for every element should return tensors, found ",
                      v.kind_name());
        results.push_back(v.tensor_or_none());
      }
      return results;
    };
    for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
      VmapOptions options;
      options.in_dims.clear();
      for (const std::size_t i : tensors)
        options.in_dims.push_back(i < level->size() && (*level)[i] ? std::optional<int64_t>(0) : std::nullopt);
      mapped = upper_layers().vmap(std::move(mapped), options);
    }
    const VmapLayer layer;
    const TensorList results = mapped(given);
    Values values;
    for (const Tensor& t : results) values.push_back(t.defined() ? Value(t) : Value());
    return values;
  });
}

}  // namespace ingot
