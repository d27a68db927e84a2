// Optimizers with PyTorch's update rules and defaults. step() reads each parameter's grad(); a
// parameter without one is left alone. A parameter may change its dtype after the optimizer was
// made (Module::to); the state that step() keeps stays in the old one.
//
//   optim::AdamW optimizer(body.parameters(), {.lr = 1e-4});
//   optimizer.add_group(head.parameters(), {.lr = 1e-3, .weight_decay = 0});
//   optim::CosineAnnealingLR scheduler(optimizer, steps);
//   …
//   nn::clip_grad_norm_(net.parameters(), 1.0);
//   optimizer.step();
//   scheduler.step();
#pragma once
#include "ingot/ingot.hpp"
#include "ingot/optim/averaged_model.hpp"
#include "ingot/optim/lr_scheduler.hpp"
#include "ingot/optim/optimizers.hpp"
