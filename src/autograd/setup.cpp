#include "op/setup.hpp"

#include "autograd/autocast.hpp"
#include "autograd/custom_function.hpp"
#include "autograd/handler.hpp"
#include "ops/families.hpp"

namespace ingot {

void setup_ops() {
  for (auto family : op_families()) register_ops(family);
  register_ops(custom_function_ops());
  install_once(Layer::autocast, autocast_handler);
  install_once(Layer::autograd, autograd_handler);
}

}  // namespace ingot
