// An op of the program's own, with every rule: it runs eagerly, under vmap and with gradients, and
// compiled as loops, without its kernel.
#include <ingot/compile.hpp>
#include <ingot/ingot.hpp>
#include <ingot/op.hpp>
#include <ingot/transforms.hpp>

#include <atomic>
#include <cmath>
#include <cstdint>

#include "parts.hpp"

using namespace ingot;

namespace {

std::atomic<int> kernel_calls = 0;

void softsign_meta(const Call& c, Outputs& o) { o.add(c.tensor(0).sizes(), c.tensor(0).dtype()); }

void softsign_kernel(const Call& c, std::span<const Tensor> results) {
  kernel_calls++;
  const Tensor x = c.tensor(0).contiguous();
  if (x.dtype() != float32) throw UserError("outside::softsign: expected float32");
  const float* in = x.data<float>();
  float* out = results[0].data<float>();
  for (int64_t k = 0; k < x.numel().value(); k++) out[k] = in[k] / (1 + std::fabs(in[k]));
}

void softsign_vjp(Vjp& v) {
  if (!v.need(0)) return;
  const Tensor scale = abs(v.saved(0)) + 1;
  v.set(0, v.grad() / (scale * scale));
}

void softsign_lower(Lowering& l) {
  std::vector<Expr> at;
  for (int d = 0; d < l.result(0).dim(); d++) at.push_back(l.variable(l.size(0, d)));
  const Expr x = l.load(0, at);
  l.define(0, at, x / (Expr(1.0) + abs(x)));
}

Value softsign_batch(const Batching& b) { return aten<"outside::softsign">(b.front(0)); }

constexpr OpDef kOps[] = {{.schema = "outside::softsign(Tensor x) -> Tensor",
                           .meta = softsign_meta,
                           .kernel = softsign_kernel,
                           .vjp = softsign_vjp,
                           .saves = {{0, 0}},
                           .lower = softsign_lower,
                           .batch = softsign_batch}};

}  // namespace

void define_op() {
  register_ops(kOps);
  const TensorFunction f = [](const TensorList& in) { return TensorList{aten<"outside::softsign">(in[0]) * 2}; };
  const Tensor x = randn({5, 7});
  const Tensor wanted = x / (abs(x) + 1) * 2;
  expect(allclose(f({x})[0], wanted), "the op computes x / (1 + |x|)");
  expect(allclose(call(op("outside::softsign"), {x}).tensor() * 2, wanted), "it is called by a name");
  expect(allclose(vmap(f)({x})[0], wanted), "it takes part in vmap");

  const TensorFunction total = [&](const TensorList& in) { return TensorList{f(in)[0].sum()}; };
  const Tensor scale = abs(x) + 1;
  const Tensor gradient = full_like(x, 2) / (scale * scale);
  expect(allclose(grad(total)({x})[0], gradient), "its gradient is 1 / (1 + |x|)^2");

  const int eager_calls = kernel_calls;
  const TensorFunction fast = compiled_in_place(f, {x}, {{.input = 0, .dim = 0, .name = "rows"}});
  expect(allclose(fast({x})[0], wanted), "compiled, it computes the same");
  const Tensor longer = randn({11, 7});
  expect(allclose(fast({longer})[0], longer / (abs(longer) + 1) * 2), "for another number of rows, too");
  const Tensor w = x.detach().requires_grad_();
  aot::memory_efficient_fusion(total)(TensorList{w})[0].backward();
  expect(allclose(w.grad(), gradient), "and so does its compiled gradient");
  expect(kernel_calls == eager_calls, "what is compiled has loops in the place of the kernel");
}
