// Trains a small GPT: first one step eagerly and compiled, with the same loss and gradients; then
// on, compiled, with little memory between forward and backward; saves it and loads it.
#include <ingot/aot.hpp>
#include <ingot/compile.hpp>
#include <ingot/error.hpp>
#include <ingot/nn.hpp>
#include <ingot/optim.hpp>

#include <cstdint>
#include <cstdio>

#include "parts.hpp"

using namespace ingot;

namespace {

constexpr int64_t kTokens = 16, kWidth = 32, kHeads = 4, kLength = 24, kBatch = 8;

struct Block : nn::Layer {
  nn::LayerNorm before{{kWidth}}, between{{kWidth}};
  nn::Linear qkv{kWidth, 3 * kWidth}, joined{kWidth, kWidth}, wide{kWidth, 4 * kWidth}, narrow{4 * kWidth, kWidth};
  Block() {
    add("before", before);
    add("qkv", qkv);
    add("joined", joined);
    add("between", between);
    add("wide", wide);
    add("narrow", narrow);
  }
  Tensor forward(const Tensor& x) override {
    const std::vector<Tensor> parts = qkv(before(x)).chunk(3, -1);
    const auto heads = [](const Tensor& t) { return t.reshape({kBatch, kLength, kHeads, kWidth / kHeads}).transpose(1, 2); };
    const Tensor seen = scaled_dot_product_attention(heads(parts[0]), heads(parts[1]), heads(parts[2]), {}, true);
    const Tensor y = x + joined(seen.transpose(1, 2).reshape({kBatch, kLength, kWidth}));
    return y + narrow(gelu(wide(between(y))));
  }
};

struct Gpt : nn::Layer {
  nn::Embedding token{kTokens, kWidth}, place{kLength, kWidth};
  Block first, second;
  nn::LayerNorm last{{kWidth}};
  nn::Linear head{kWidth, kTokens};
  Gpt() {
    add("token", token);
    add("place", place);
    add("first", first);
    add("second", second);
    add("last", last);
    add("head", head);
  }
  Tensor forward(const Tensor& ids) override { return head(last(second(first(token(ids) + place(arange(kLength)))))); }
  Tensor loss(const Tensor& ids, const Tensor& next) {
    return cross_entropy(forward(ids).reshape({kBatch * kLength, kTokens}), next.reshape({kBatch * kLength}));
  }
};

// Each token is three more than the one before it.
Tensor counted(int64_t begin) {
  std::vector<int64_t> ids;
  for (int64_t b = 0; b < kBatch; b++)
    for (int64_t k = 0; k < kLength; k++) ids.push_back((begin + b + 3 * k) % kTokens);
  return tensor(ids, {kBatch, kLength});
}

aot::AotModule compiled(Gpt& gpt, int64_t bytes) {
  aot::AotOptions options = aot::fusing_options();
  options.partition = aot::min_cut_partitioner({.activation_bytes = bytes});
  return aot::aot_module(
      gpt, [&gpt](const Tree& a) { return Tree(gpt.loss(a[0].leaf().tensor(), a[1].leaf().tensor())); }, options);
}

}  // namespace

void train_gpt() {
  manual_seed(7);
  Gpt gpt;
  const Tensor ids = counted(0), next = counted(3);
  const Tree batch = Tree::tuple({ids, next});

  const Tensor eager = gpt.loss(ids, next);
  eager.backward();
  TensorList wanted;
  for (const Tensor& p : gpt.parameters()) wanted.push_back(p.grad().clone());
  gpt.zero_grad();

  const aot::AotModule step = compiled(gpt, 64 << 10);
  const Tensor loss = step(batch).leaf().tensor();
  loss.backward();
  expect(allclose(loss, eager, 1e-4, 1e-5), "the compiled loss is the eager one");
  const TensorList parameters = gpt.parameters();
  for (std::size_t k = 0; k < parameters.size(); k++)
    expect(allclose(parameters[k].grad(), wanted[k], 1e-3, 1e-5), "gradient " + std::to_string(k) + " is the eager one");

  optim::AdamW optimizer(parameters, {.lr = 3e-3});
  const double before = loss.item_double();
  double after = before;
  for (int k = 0; k < 60; k++) {
    optimizer.zero_grad();
    const Tensor now = step(batch).leaf().tensor();
    now.backward();
    optimizer.step();
    after = now.item_double();
  }
  std::printf("the loss of the GPT went from %.3f to %.3f\n", before, after);
  expect(after < 0.2 * before, "the loss falls");

  bool refused = false;
  try {
    compiled(gpt, -1)(batch);
  } catch (const UserError& e) {
    refused = true;
    std::printf("refused: %s\n", e.what());
  }
  expect(refused, "a budget of less than no bytes is a user error");

  gpt.save("gpt.safetensors");
  Gpt other;
  expect(!equal(other(ids), gpt(ids)), "another GPT has other weights");
  other.load("gpt.safetensors");
  expect(equal(other(ids), gpt(ids)), "the GPT that was loaded is the one that was saved");
}
