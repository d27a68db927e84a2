// One source by pkg-config: a function is compiled and its library runs.
#include <ingot/compile.hpp>
#include <ingot/ingot.hpp>

#include <cstdio>

int main() try {
  using namespace ingot;
  const Tensor x = randn({8, 4});
  const TensorFunction f = [](const TensorList& in) { return TensorList{softmax(in[0], 1)}; };
  return allclose(compiled_in_place(f, {x})({x})[0], f({x})[0]) ? 0 : 1;
} catch (const ingot::Error& e) {
  std::fprintf(stderr, "tiny: %s\n", e.what());
  return 1;
}
