#include "autograd/function_gradient.hpp"

#include <algorithm>

#include "autograd/engine.hpp"
#include "autograd/inner_variable.hpp"
#include "base/error.hpp"
#include "op/function.hpp"

namespace ingot {

Value gradient_function(const Value& f, std::vector<bool> wanted) {
  return make_function([f, wanted = std::move(wanted)](Args args) {
    const std::size_t operands = wanted.size();
    INGOT_ENSURE(args.size() >= operands, "a gradient function without its operands");
    ThreadState& ts = thread_state();
    const bool create_graph = ts.grad_mode;  // before the tape is switched on for the function itself
    const Scoped<Layer> tape(ts.layer, std::min(ts.layer, Layer::autograd));
    const Scoped<bool> grad_mode(ts.grad_mode, true);
    Values inputs(args.begin(), args.begin() + static_cast<std::ptrdiff_t>(operands));
    std::vector<Edge> to;
    for (std::size_t i = 0; i < operands; i++) {
      if (!wanted[i]) continue;
      const auto node = make_ref<InnerVariable>(inputs[i].tensor());
      inputs[i] = node->variable(inputs[i].tensor());
      to.push_back({node, 0});
    }
    const Values results = f.function()(inputs);
    INGOT_REQUIRE(results.size() == args.size() - operands, "a function with ", results.size(), " results got ",
                  args.size() - operands, " gradients");
    std::vector<Edge> from;
    TensorList seeds;
    for (std::size_t k = 0; k < results.size(); k++) {
      if (!results[k].is_tensor() || !requires_grad(results[k].tensor())) continue;
      from.push_back(edge_of(results[k].tensor()));
      seeds.push_back(args[operands + k].tensor());
    }
    TensorList got = from.empty() ? TensorList(to.size()) : run_backward(from, seeds, to, {true, create_graph});
    // A function of a higher-order op returns tensors of its own.
    const auto is_operand = [&](const Tensor& t) {
      return std::any_of(args.begin(), args.end(),
                         [&](const Value& v) { return v.is_tensor() && v.tensor()->storage == t->storage; });
    };
    Values gradients;
    std::size_t next = 0;
    for (std::size_t i = 0; i < operands; i++) {
      if (!wanted[i]) continue;
      const Tensor& g = got[next++];
      if (!g.defined()) gradients.push_back(aten<"zeros_like">(inputs[i].tensor()));
      else gradients.push_back(is_operand(g) ? aten<"clone">(g) : g);
    }
    return gradients;
  });
}

}  // namespace ingot
