#include <algorithm>
#include <optional>
#include <random>

#include "base/error.hpp"
#include "support/random_program.hpp"

namespace ingot::testing {
namespace {

class Generator {
 public:
  Generator(uint64_t seed, bool open) : random_(seed), open_(open) { program_.seed = seed; }

  Program program() {
    make_signature();
    pool_ = make_inputs(program_).inputs;
    const int length = 3 + pick(28);
    for (int tries = 0; static_cast<int>(program_.body.size()) < length && tries < 4 * length; tries++) add(random_step());
    const int results = 1 + pick(4);
    for (int tries = 0; static_cast<int>(program_.outputs.size()) < results && tries < 16; tries++)
      if (const int k = pick(size()); !(tensor(k).numel() == 0)) program_.outputs.push_back(k);
    if (program_.outputs.empty()) program_.outputs.push_back(0);
    return std::move(program_);
  }

 private:
  std::mt19937_64 random_;
  bool open_;
  Program program_;
  TensorList pool_;

  int pick(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
  int size() const { return static_cast<int>(pool_.size()); }
  const Tensor& tensor(int k) const { return pool_[static_cast<std::size_t>(k)]; }

  void make_signature() {
    static const std::vector<int64_t> kShapes[] = {{4}, {2, 3}, {3, 3}, {2, 2, 2}, {4, 1}, {1, 3, 2}};
    const int bases = 1 + pick(2);
    for (int b = 0; b < bases; b++) {
      Base base;
      base.sizes = kShapes[pick(6)];
      base.requires_grad = pick(2) == 0;
      program_.bases.push_back(std::move(base));
    }
    if (open_) open_sizes();
    const int inputs = 1 + pick(3);
    for (int i = 0; i < inputs; i++) {
      ProgramInput input{pick(bases), {}};
      pool_ = {make_inputs(program_).bases[static_cast<std::size_t>(input.base)]};
      for (int views = pick(3); views > 0; views--) {
        Step s = random_view(size() - 1);
        // Views that overlap, that come in lists or that cut the history are taken inside the
        // program only.
        if (s.op == "unbind.int" || s.op == "split.Tensor" || s.op == "expand" || s.op == "detach" || s.op == "as_strided")
          continue;
        if (runs(s)) input.views.push_back(std::move(s));
      }
      if (!(pool_.back().numel() == 0)) program_.inputs.push_back(std::move(input));
    }
    if (program_.inputs.empty()) program_.inputs.push_back({0, {}});
    for (std::size_t k = program_.settings.size(); k-- > 1;)
      if (!has_same_inputs(k)) program_.settings.erase(program_.settings.begin() + static_cast<std::ptrdiff_t>(k));
  }

  // Two sizes of three are open, and open sizes that are equal often stand for one. Half of the
  // programs are compiled for sizes of two and more, the others for every size.
  void open_sizes() {
    program_.least = program_.seed % 2 == 0 ? 2 : 0;
    std::vector<int64_t> first;
    for (Base& base : program_.bases) {
      for (int64_t& n : base.sizes) {
        if (n < program_.least || pick(3) == 0) continue;
        std::size_t k = pick(3) == 0 ? first.size() : 0;
        while (k < first.size() && first[k] != n) k++;
        if (k == first.size()) first.push_back(n);
        n = -1 - static_cast<int64_t>(k);
      }
    }
    program_.settings = {first};
    if (first.empty()) return;
    const auto also = [&](const auto& size) {
      std::vector<int64_t> other;
      for (const int64_t n : first) other.push_back(size(n));
      program_.settings.push_back(std::move(other));
    };
    also([](int64_t n) { return n + 1; });
    also([](int64_t n) { return 2 * n + 3; });
    if (program_.least == 2) return;
    also([](int64_t n) { return n % 2 == 0 ? 1 : n; });
    also([](int64_t n) { return n % 2 == 0 ? 2 * n : 1; });
    also([](int64_t n) { return n % 2 == 0 ? 0 : n; });
  }

  // Whether the inputs have as many dims as at the first sizes, and none of their views is refused.
  bool has_same_inputs(std::size_t setting) const {
    try {
      const TensorList first = make_inputs(program_).inputs, other = make_inputs(program_, {.setting = setting}).inputs;
      return std::ranges::equal(first, other, {}, &Tensor::dim, &Tensor::dim);
    } catch (const UserError&) {
      return false;
    }
  }

  // Whether the call runs; its results are in the pool then.
  bool runs(const Step& s) {
    try {
      execute(s, pool_);
      return true;
    } catch (const UserError&) {
      return false;
    }
  }
  void add(std::optional<Step> s) {
    if (s && size() <= 40 && runs(*s)) program_.body.push_back(std::move(*s));
  }

  std::optional<Step> random_step() {
    const int self = pick(size());
    if (tensor(self).dim() > 5) return std::nullopt;
    const int kind = pick(20);
    if (kind < 8) return random_view(self);
    if (kind < 14) return random_write(self);
    if (kind < 17) return random_value(self);
    if (kind < 18) return random_out(self);
    return random_inplace_view(self);
  }

  Step random_view(int self) {
    const Tensor& t = tensor(self);
    const int rank = static_cast<int>(t.dim());
    const auto dim = [&] { return Value(pick(std::max(rank, 1))); };
    switch (pick(15)) {
      case 0: return Step::of("view", {self}, {Shape{-1}});
      case 1: return Step::of("transpose.int", {self}, {dim(), dim()});
      case 2: return Step::of("select.int", {self}, {dim(), 0});
      case 3: return Step::of("slice.Tensor", {self}, {dim(), 0, 1 + pick(3)});
      case 4: return Step::of("slice.Tensor", {self}, {dim(), pick(2), 100, 2});
      case 5: return Step::of("diagonal", {self}, {pick(3) - 1});
      case 6: return Step::of("unbind.int", {self}, {dim()});
      case 7: return Step::of("split.Tensor", {self}, {1 + pick(2), dim()});
      case 8: return Step::of("unsqueeze", {self}, {pick(rank + 1)});
      case 9: return Step::of("squeeze", {self}, {});
      case 10: {
        Shape sizes = t.sizes();
        sizes.insert(0, 2);
        return Step::of("expand", {self}, {sizes});
      }
      case 11: {
        Shape dims;
        for (int d = rank; d-- > 0;) dims.push_back(d);
        return Step::of("permute", {self}, {dims});
      }
      case 12: return Step::of("as_strided", {self}, {Shape{2}, Shape{1 + pick(2)}, pick(2)});
      case 13: return Step::of("t", {self}, {});
      default: return Step::of("detach", {self}, {});
    }
  }

  // Another tensor of the same size; the tensor itself if none is found.
  int partner(int self) {
    for (int tries = 0; tries < 8; tries++)
      if (const int k = pick(size()); tensor(k).sizes().same(tensor(self).sizes())) return k;
    return self;
  }

  std::optional<Step> random_write(int self) {
    Step s;
    s.no_grad = pick(8) == 0;
    switch (pick(10)) {
      case 0: s = Step::of("add_.Scalar", {self}, {1.5}); break;
      case 1: s = Step::of("mul_.Scalar", {self}, {0.5}); break;
      case 2: s = Step::of("relu_", {self}, {}); break;
      case 3: s = Step::of("sin_", {self}, {}); break;
      case 4: s = Step::of("zero_", {self}, {}); break;
      case 5: s = Step::of("copy_", {self, partner(self)}, {}); break;
      case 6: s = Step::of("mul_.Tensor", {self, partner(self)}, {}); break;
      case 7: s = Step::of("add_.Tensor", {self, partner(self)}, {}); break;
      case 8: s = Step::of("fill_.Scalar", {self}, {0.25}); break;
      default: s = Step::of("sub_.Tensor", {self, partner(self)}, {}); break;
    }
    s.no_grad = pick(8) == 0;
    return s;
  }
  Step random_value(int self) {
    switch (pick(6)) {
      case 0: return Step::of("add.Tensor", {self, partner(self)}, {});
      case 1: return Step::of("mul.Tensor", {self, partner(self)}, {});
      case 2: return Step::of("sin", {self}, {});
      case 3: return Step::of("clone", {self}, {});
      case 4: return Step::of("sum.dim_IntList", {self}, {Shape{0}, true});
      default: return Step::of("neg", {self}, {});
    }
  }
  Step random_out(int self) {
    const int out = partner(self);
    Step s = pick(2) == 0 ? Step::of("sin.out", {self}, {}) : Step::of("add.out", {self, partner(self)}, {});
    s.out = out;
    s.no_grad = true;  // out= takes no part in gradients
    return s;
  }
  Step random_inplace_view(int self) {
    switch (pick(4)) {
      case 0: return Step::of("t_", {self}, {});
      case 1: return Step::of("unsqueeze_", {self}, {0});
      case 2: return Step::of("transpose_", {self}, {0, -1});
      default: return Step::of("squeeze_", {self}, {});
    }
  }
};

}  // namespace

Program random_program(uint64_t seed) { return Generator(seed, false).program(); }
Program open_random_program(uint64_t seed) { return Generator(seed, true).program(); }

}  // namespace ingot::testing
