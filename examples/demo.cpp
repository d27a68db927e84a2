// Trains a small network in a few seconds and shows the loss fall: two interleaved spirals, told
// apart by an MLP.
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <string>

#include "ingot/nn.hpp"
#include "ingot/optim.hpp"

using namespace ingot;

namespace {

struct Data {
  Tensor points, labels;
};

// Two spirals of n points each, with a little noise.
Data spirals(int64_t n) {
  std::vector<double> xy, label;
  for (int64_t c = 0; c < 2; c++)
    for (int64_t i = 0; i < n; i++) {
      const double r = static_cast<double>(i) / static_cast<double>(n), a = 8 * r + 3.14159265 * static_cast<double>(c);
      xy.push_back(r * std::cos(a));
      xy.push_back(r * std::sin(a));
      label.push_back(static_cast<double>(c));
    }
  return {tensor(xy, {2 * n, 2}) + randn({2 * n, 2}) * 0.01, tensor(label, int64)};
}

double accuracy(const Tensor& logits, const Tensor& labels) {
  return (logits.argmax(1) == labels).to(float32).mean().item_double();
}

std::string bar(double fraction) {
  const int n = static_cast<int>(fraction * 40 + 0.5);
  std::string s;
  for (int i = 0; i < n; i++) s += "█";
  return s;
}

}  // namespace

int main() {
  manual_seed(1);
  const Data data = spirals(200);
  nn::Sequential net{nn::make<nn::Linear>(2, 64), nn::make<nn::Tanh>(), nn::make<nn::Linear>(64, 64), nn::make<nn::Tanh>(),
                     nn::make<nn::Linear>(64, 2)};
  optim::AdamW optimizer(net.parameters(), {.lr = 1e-2});
  std::printf("Ingot: training an MLP (2-64-64-2) on two spirals, 400 points, AdamW\n\n  step   loss   accuracy\n");
  double first = 0, last = 0, correct = 0;
  constexpr int kSteps = 400;
  for (int step = 0; step <= kSteps; step++) {
    const Tensor logits = net(data.points);
    const Tensor loss = cross_entropy(logits, data.labels);
    last = loss.item_double();
    if (step == 0) first = last;
    if (step % 50 == 0) {
      correct = accuracy(logits, data.labels);
      std::printf("  %4d  %.4f   %5.1f %%  %s\n", step, last, 100 * correct, bar(last / first).c_str());
    }
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
  }
  const bool learned = last < 0.1 * first && correct > 0.95;
  std::printf("\n%s\n", learned ? "The loss fell and the spirals are told apart. Next: `make test`."
                                : "The loss did not fall as it should.");
  return learned ? 0 : 1;
}
