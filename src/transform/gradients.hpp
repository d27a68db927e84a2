// Derivatives of functions: transforms from a function to the function that is its derivative, which nest in any order with
// each other, with vmap, functionalize and trace. They differ from `backward` in that nothing is accumulated, arguments need not
// require grad, and grad mode outside does not turn them off.
#pragma once
#include "graph/trace.hpp"

namespace ingot {

// f at a point, and the linear function that takes gradients of its results to gradients of its arguments.
struct Pullback {
  TensorList results;
  // One cotangent for each result; one gradient for each argument, zeros where the argument is not used. May be called again.
  TensorFunction pull;
};
Pullback vjp(const TensorFunction& f, const TensorList& at);

// The gradient of f's one scalar result with respect to the arguments `which`.
TensorFunction grad(TensorFunction f, std::vector<int> which = {0});
// The same, with the value of f after the gradients.
TensorFunction grad_and_value(TensorFunction f, std::vector<int> which = {0});

// f at a point, and the linear function that takes changes of the arguments to changes of the results.
struct Linearized {
  TensorList results;
  TensorFunction push;  // one tangent for each argument; one for each result. May be called again
};
Linearized linearize(const TensorFunction& f, const TensorList& at);
// f at a point, and how its results change as the arguments move along `tangents`.
struct Pushforward {
  TensorList results, tangents;
};
Pushforward jvp(const TensorFunction& f, const TensorList& at, const TensorList& tangents);

// Jacobians of f's results with respect to argument `which`: for each result a tensor of size (result's sizes, argument's
// sizes). jacrev makes all rows at once from results to arguments, jacfwd all columns from arguments to results.
TensorFunction jacrev(TensorFunction f, int which = 0);
TensorFunction jacfwd(TensorFunction f, int which = 0);
// The second derivative of f's one result: jacfwd of jacrev.
TensorFunction hessian(TensorFunction f, int which = 0);

}  // namespace ingot
