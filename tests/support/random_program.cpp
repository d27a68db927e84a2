#include "support/random_program.hpp"

#include <algorithm>
#include <optional>
#include <random>

#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "tensor/geometry.hpp"

namespace ingot::testing {
namespace {

// Runs one call on the pool and adds its results to it.
void execute(const Step& s, TensorList& pool) {
  const Scoped<bool> grad_mode(thread_state().grad_mode, thread_state().grad_mode && !s.no_grad);
  const auto at = [&](int k) {
    INGOT_REQUIRE(k < static_cast<int>(pool.size()), "the program has no tensor ", k);
    return pool[static_cast<std::size_t>(k)];
  };
  Values args;
  for (const int k : s.tensors) args.push_back(at(k));
  args.insert(args.end(), s.rest.begin(), s.rest.end());
  const Op& o = op(s.op);
  if (s.out >= 0) {
    while (args.size() + 1 < o.schema.args.size()) args.push_back(o.schema.args[args.size()].default_value);
    args.push_back(at(s.out));
  }
  const Value r = call(o, args);
  if (o.mutates()) return;
  if (r.is_tensor()) pool.push_back(r.tensor());
  else pool.insert(pool.end(), r.tensors().begin(), r.tensors().end());
}

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  Program program() {
    make_signature();
    pool_ = make_inputs(program_, true).inputs;
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
  Program program_;
  TensorList pool_;

  int pick(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
  int size() const { return static_cast<int>(pool_.size()); }
  const Tensor& tensor(int k) const { return pool_[static_cast<std::size_t>(k)]; }

  void make_signature() {
    static const Shape kShapes[] = {{4}, {2, 3}, {3, 3}, {2, 2, 2}, {4, 1}, {1, 3, 2}};
    const int bases = 1 + pick(2);
    for (int b = 0; b < bases; b++) {
      program_.bases.push_back(kShapes[pick(6)]);
      program_.requires_grad.push_back(pick(2) == 0);
    }
    const int inputs = 1 + pick(3);
    for (int i = 0; i < inputs; i++) {
      ProgramInput input{pick(bases), {}};
      pool_ = {make_inputs(program_, true).bases[static_cast<std::size_t>(input.base)]};
      for (int views = pick(3); views > 0; views--) {
        Step s = random_view(size() - 1);
        // Views that overlap, that come in lists or that cut the history are taken inside the program only.
        if (s.op == "unbind.int" || s.op == "split.Tensor" || s.op == "expand" || s.op == "detach" || s.op == "as_strided")
          continue;
        if (runs(s)) input.views.push_back(std::move(s));
      }
      if (!(pool_.back().numel() == 0)) program_.inputs.push_back(std::move(input));
    }
    if (program_.inputs.empty()) program_.inputs.push_back({0, {}});
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
      case 0: return {"view", {self}, {Shape{-1}}};
      case 1: return {"transpose.int", {self}, {dim(), dim()}};
      case 2: return {"select.int", {self}, {dim(), 0}};
      case 3: return {"slice.Tensor", {self}, {dim(), 0, 1 + pick(3)}};
      case 4: return {"slice.Tensor", {self}, {dim(), pick(2), 100, 2}};
      case 5: return {"diagonal", {self}, {pick(3) - 1}};
      case 6: return {"unbind.int", {self}, {dim()}};
      case 7: return {"split.Tensor", {self}, {1 + pick(2), dim()}};
      case 8: return {"unsqueeze", {self}, {pick(rank + 1)}};
      case 9: return {"squeeze", {self}, {}};
      case 10: {
        Shape sizes = t.sizes();
        sizes.insert(0, 2);
        return {"expand", {self}, {sizes}};
      }
      case 11: {
        Shape dims;
        for (int d = rank; d-- > 0;) dims.push_back(d);
        return {"permute", {self}, {dims}};
      }
      case 12: return {"as_strided", {self}, {Shape{2}, Shape{1 + pick(2)}, pick(2)}};
      case 13: return {"t", {self}, {}};
      default: return {"detach", {self}, {}};
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
      case 0: s = {"add_.Scalar", {self}, {1.5}}; break;
      case 1: s = {"mul_.Scalar", {self}, {0.5}}; break;
      case 2: s = {"relu_", {self}, {}}; break;
      case 3: s = {"sin_", {self}, {}}; break;
      case 4: s = {"zero_", {self}, {}}; break;
      case 5: s = {"copy_", {self, partner(self)}, {}}; break;
      case 6: s = {"mul_.Tensor", {self, partner(self)}, {}}; break;
      case 7: s = {"add_.Tensor", {self, partner(self)}, {}}; break;
      case 8: s = {"fill_.Scalar", {self}, {0.25}}; break;
      default: s = {"sub_.Tensor", {self, partner(self)}, {}}; break;
    }
    s.no_grad = pick(8) == 0;
    return s;
  }
  Step random_value(int self) {
    switch (pick(6)) {
      case 0: return {"add.Tensor", {self, partner(self)}, {}};
      case 1: return {"mul.Tensor", {self, partner(self)}, {}};
      case 2: return {"sin", {self}, {}};
      case 3: return {"clone", {self}, {}};
      case 4: return {"sum.dim_IntList", {self}, {Shape{0}, true}};
      default: return {"neg", {self}, {}};
    }
  }
  Step random_out(int self) {
    const int out = partner(self);
    Step s = pick(2) == 0 ? Step{"sin.out", {self}, {}} : Step{"add.out", {self, partner(self)}, {}};
    s.out = out;
    s.no_grad = true;  // out= takes no part in gradients
    return s;
  }
  Step random_inplace_view(int self) {
    switch (pick(4)) {
      case 0: return {"t_", {self}, {}};
      case 1: return {"unsqueeze_", {self}, {0}};
      case 2: return {"transpose_", {self}, {0, -1}};
      default: return {"squeeze_", {self}, {}};
    }
  }
};

std::string to_text(const Step& s) {
  std::string out = s.op + "(";
  for (const int k : s.tensors) out += text(out.back() == '(' ? "" : ", ", "#", k);
  for (const Value& v : s.rest) out += text(", ", ingot::to_text(v));
  if (s.out >= 0) out += text(", out=#", s.out);
  return out + ")" + (s.no_grad ? " under no_grad" : "");
}

}  // namespace

std::string to_text(const Program& p) {
  std::string out;
  for (std::size_t b = 0; b < p.bases.size(); b++)
    out += text("base ", b, " of size ", p.bases[b], p.requires_grad[b] ? " requires grad\n" : "\n");
  for (std::size_t i = 0; i < p.inputs.size(); i++) {
    out += text("#", i, " = base ", p.inputs[i].base);
    for (const Step& s : p.inputs[i].views) out += "; " + to_text(s);
    out += "\n";
  }
  for (const Step& s : p.body) out += to_text(s) + "\n";
  out += "return";
  for (const int k : p.outputs) out += text(" #", k);
  return out + "\n";
}

ProgramInputs make_inputs(const Program& p, bool gradients) {
  ProgramInputs r;
  for (std::size_t b = 0; b < p.bases.size(); b++) {
    const Int n = p.bases[b].product();
    Tensor leaf = aten<"add.Scalar">(aten<"mul.Scalar">(aten<"arange">(n, DType::f32), 0.1), 0.05 * (static_cast<double>(b) + 1))
                      .view(p.bases[b])
                      .clone();
    if (gradients && p.requires_grad[b]) leaf.requires_grad_();
    r.leaves.push_back(leaf);
    r.bases.push_back(aten<"mul.Scalar">(leaf, 1.0));
  }
  for (const ProgramInput& input : p.inputs) {
    TensorList pool{r.bases[static_cast<std::size_t>(input.base)]};
    for (const Step& s : input.views) execute(s, pool);
    r.inputs.push_back(pool.back());
  }
  return r;
}

TensorList run(const Program& p, const TensorList& inputs) {
  TensorList pool = inputs, results;
  for (const Step& s : p.body) execute(s, pool);
  for (const int k : p.outputs) {
    INGOT_REQUIRE(k < static_cast<int>(pool.size()), "the program has no tensor ", k);
    results.push_back(pool[static_cast<std::size_t>(k)]);
  }
  return results;
}

Program random_program(uint64_t seed) { return Generator(seed).program(); }

namespace {

// The program without call i, or nothing where a later call or result needs what it makes.
std::optional<Program> without(const Program& p, std::size_t i) {
  TensorList pool = make_inputs(p, true).inputs;
  for (std::size_t k = 0; k < i; k++) execute(p.body[k], pool);
  const int first = static_cast<int>(pool.size());
  execute(p.body[i], pool);
  const int made = static_cast<int>(pool.size()) - first;
  Program q = p;
  q.body.erase(q.body.begin() + static_cast<std::ptrdiff_t>(i));
  bool needed = false;
  const auto renumber = [&](int& k) {
    needed |= k >= first && k < first + made;
    if (k >= first + made) k -= made;
  };
  for (std::size_t k = i; k < q.body.size(); k++) {
    for (int& t : q.body[k].tensors) renumber(t);
    renumber(q.body[k].out);
  }
  for (int& k : q.outputs) renumber(k);
  return needed ? std::nullopt : std::optional<Program>(std::move(q));
}

}  // namespace

Program shrink(Program p, const std::function<bool(const Program&)>& fails) {
  const auto still_fails = [&](const Program& q) {
    try {
      run(q, make_inputs(q, true).inputs);
    } catch (const UserError&) {
      return false;
    }
    return fails(q);
  };
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (std::size_t i = p.outputs.size(); i-- > 0 && p.outputs.size() > 1;) {
      Program q = p;
      q.outputs.erase(q.outputs.begin() + static_cast<std::ptrdiff_t>(i));
      if (still_fails(q)) p = std::move(q), smaller = true;
    }
    for (std::size_t i = p.body.size(); i-- > 0;)
      if (std::optional<Program> q = without(p, i); q && still_fails(*q)) p = std::move(*q), smaller = true;
  }
  return p;
}

}  // namespace ingot::testing
