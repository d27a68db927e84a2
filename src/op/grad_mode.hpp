// Switches of the grad mode that a program makes, as opposed to those that layers make around their own calls: a trace above
// autograd records the program's.
#pragma once

namespace ingot {

// Sets the mode of this thread, and tells whoever listens.
void switch_grad_mode(bool on);

// Called after every switch, on its thread. One listener for the process, installed as often as one likes.
using GradModeListener = void (*)(bool on);
void listen_to_grad_mode(GradModeListener listener);

}  // namespace ingot
