#include "op/setup.hpp"

#include "autograd/autocast.hpp"
#include "autograd/handler.hpp"
#include "ops/families.hpp"

namespace ingot {

void setup_ops() {
  for (auto family : op_families()) register_ops(family);
  install_handler(Layer::autocast, autocast_handler);
  install_handler(Layer::autograd, autograd_handler);
}

}  // namespace ingot
