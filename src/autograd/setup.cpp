#include "op/setup.hpp"

#include "autograd/autocast.hpp"
#include "autograd/handler.hpp"
#include "ops/families.hpp"

namespace ingot {

void setup_ops() {
  for (auto family : op_families()) register_ops(family);
  install_once(Layer::autocast, autocast_handler);
  install_once(Layer::autograd, autograd_handler);
}

}  // namespace ingot
