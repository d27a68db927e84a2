// Training as PyTorch does it: the five `train` goldens, run through the ops under autograd. Loss,
// gradients, loss curves and the parameters after all steps of SGD, SGD with momentum and weight
// decay, and AdamW agree within 1e-4.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "base/error.hpp"
#include "check/compare.hpp"
#include "format/pt2/load.hpp"
#include "ingot/nn.hpp"
#include "ingot/optim.hpp"
#include "io/safetensors.hpp"

namespace ingot {
namespace {

constexpr double kTolerance = 1e-4;

std::string folder(const std::string& model) { return std::string(INGOT_GOLDEN_DIR) + "/train/" + model; }

void expect_near(const Tensor& got, const Tensor& want, Tolerance tolerance, const std::string& what) {
  EXPECT_EQ(compare(got.detach(), want, tolerance).message, "") << what;
}

struct Golden {
  explicit Golden(const std::string& model) : values(SafeTensors::open(folder(model) + "/expected.safetensors")) {
    while (values.contains("x." + std::to_string(batches))) batches++;
    std::ifstream in(folder(model) + "/meta.json");
    std::stringstream s;
    s << in.rdbuf();
    meta = s.str();
  }
  // The numbers of the list that follows "name": in meta.json.
  std::vector<double> curve(const std::string& name) const {
    std::vector<double> v;
    std::size_t at = meta.find('[', meta.find('"' + name + '"')) + 1;
    const std::size_t end = meta.find(']', at);
    std::istringstream in(meta.substr(at, end - at));
    for (std::string number; std::getline(in, number, ',');) v.push_back(std::stod(number));
    return v;
  }
  SafeTensors values;
  int batches = 0;
  std::string meta;
};

// A model under training: its parameters by name, and the loss of a batch.
struct Trained {
  nn::NamedTensors parameters;
  std::function<Tensor(const Tensor& x, const Tensor& y)> loss;
};

Trained from_pt2(const std::string& model) {
  auto program = std::make_shared<Program>(load_pt2(folder(model) + "/model.pt2"));
  Trained t;
  for (auto& [name, entry] : program->state)
    if (entry.is_parameter) t.parameters.emplace_back(name, entry.tensor.requires_grad_());
  t.loss = [program](const Tensor& x, const Tensor& y) {
    const Value inputs[] = {x, y};
    return program->run(Args(inputs)).at(0).tensor();
  };
  return t;
}

TensorList tensors_of(const nn::NamedTensors& named) {
  TensorList l;
  for (const auto& [name, t] : named) l.push_back(t);
  return l;
}

std::unique_ptr<optim::Optimizer> make_optimizer(const std::string& name, TensorList parameters) {
  if (name == "sgd") return std::make_unique<optim::SGD>(std::move(parameters), optim::SGDOptions{.lr = 0.05});
  if (name == "sgd_momentum")
    return std::make_unique<optim::SGD>(std::move(parameters),
                                        optim::SGDOptions{.lr = 0.05, .momentum = 0.9, .weight_decay = 0.001});
  return std::make_unique<optim::AdamW>(std::move(parameters), optim::AdamWOptions{.lr = 0.001, .weight_decay = 0.01});
}

void check_training(const std::string& model, const std::function<Trained()>& make) {
  const Golden golden(model);
  {
    Trained t = make();
    const Tensor loss = t.loss(golden.values.get("x.0"), golden.values.get("y.0"));
    expect_near(loss, golden.values.get("loss"), model_tolerance(golden.values.get("loss")), model + " loss");
    loss.backward();
    int compared = 0;
    for (const auto& [name, p] : t.parameters) {
      if (!golden.values.contains("grad." + name)) continue;
      ASSERT_TRUE(p.grad().defined()) << model << " grad of " << name;
      const Tensor want = golden.values.get("grad." + name);
      expect_near(p.grad(), want, model_tolerance(want), model + " grad of " + name);
      compared++;
    }
    EXPECT_GT(compared, 0);
  }
  for (const std::string optimizer : {"sgd", "sgd_momentum", "adamw"}) {
    Trained t = make();
    auto step = make_optimizer(optimizer, tensors_of(t.parameters));
    const std::vector<double> curve = golden.curve(optimizer);
    ASSERT_GE(curve.size(), 5u);
    for (std::size_t s = 0; s < curve.size(); s++) {
      const std::string batch = std::to_string(s % static_cast<std::size_t>(golden.batches));
      step->zero_grad();
      const Tensor loss = t.loss(golden.values.get("x." + batch), golden.values.get("y." + batch));
      EXPECT_NEAR(loss.item_double(), curve[s], kTolerance * (1 + std::abs(curve[s])))
          << model << " " << optimizer << " step " << s;
      loss.backward();
      step->step();
    }
    for (const auto& [name, p] : t.parameters)
      expect_near(p, golden.values.get(optimizer + "." + name), {kTolerance, kTolerance}, model + " " + optimizer + " " + name);
  }
}

class Train : public ::testing::TestWithParam<const char*> {};
TEST_P(Train, AgreesWithPyTorch) {
  const std::string model = GetParam();
  check_training(model, [&] { return from_pt2(model); });
}
INSTANTIATE_TEST_SUITE_P(Golden, Train, ::testing::Values("mlp", "lenet", "resnet_tiny", "lstm", "gpt_tiny"),
                         [](const auto& info) { return std::string(info.param); });

// The same with the module API: the MLP rebuilt, its weights loaded by name.
TEST(TrainModules, MlpRebuiltWithModules) {
  check_training("mlp", [] {
    const Program program = load_pt2(folder("mlp") + "/model.pt2");
    auto shape = [&](const std::string& name) { return program.state.at(name).tensor.sizes(); };
    const Shape first = shape("m.0.weight"), second = shape("m.2.weight");
    auto net = std::make_shared<nn::Sequential>(std::initializer_list<std::shared_ptr<nn::Layer>>{
        nn::make<nn::Linear>(first[1].number(), first[0].number()), nn::make<nn::ReLU>(),
        nn::make<nn::Linear>(second[1].number(), second[0].number())});
    nn::NamedTensors values;
    for (const auto& [name, entry] : program.state) values.emplace_back(name.substr(2), entry.tensor);
    net->load_state(values);
    Trained t;
    for (auto& [name, p] : net->named_parameters()) t.parameters.emplace_back("m." + name, p);
    t.loss = [net](const Tensor& x, const Tensor& y) { return nn::cross_entropy((*net)(x), y); };
    return t;
  });
}

}  // namespace
}  // namespace ingot
