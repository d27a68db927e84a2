// Programs of few calls over long rows.
#include <algorithm>
#include <cmath>
#include <optional>
#include <random>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "support/random_program.hpp"

namespace ingot::testing {
namespace {

class LongRows {
 public:
  LongRows(uint64_t seed, bool open) : random_(seed * 2 + open), open_(open) {
    p_.seed = seed;
    p_.grid = false;
  }

  Program program() {
    make_signature();
    manual_seed(p_.seed);
    pool_ = make_inputs(p_).inputs;
    for (int n = pick(3); n > 0; n--) add(elementwise());
    const int sums = 1 + pick(2);
    for (int made = 0, tries = 0; made < sums && tries < 20; tries++) made += add(summed());
    for (int n = pick(2); n > 0; n--) add(elementwise());
    for (int k = size(); k-- > 0 && p_.outputs.size() < 2;)
      if (p_.outputs.empty() || pick(2)) p_.outputs.push_back(k);
    return std::move(p_);
  }

 private:
  std::mt19937_64 random_;
  bool open_;
  Program p_;
  TensorList pool_;

  int pick(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
  int size() const { return static_cast<int>(pool_.size()); }
  const Tensor& at(int k) const { return pool_[static_cast<std::size_t>(k)]; }

  // Of every order of magnitude as often, and hardly ever a multiple of what a vector or a block
  // holds.
  int64_t length() {
    const double digits = pick(128) == 0 ? 7 : 3 + pick(301) / 100.0;
    return static_cast<int64_t>(std::pow(10.0, digits)) + pick(16);
  }
  DType dtype() {
    static constexpr DType kRare[] = {DType::f64, DType::f16, DType::bf16};
    return pick(5) < 3 ? DType::f32 : kRare[pick(3)];
  }
  // Both signs, one, or far from zero, where a variance has to subtract first.
  double shift(DType t) {
    const int kind = pick(5);
    if (kind < 2) return 0;
    if (kind < 4) return p_.seed % 3 == 0 ? 8.5 : 2.25;
    return t == DType::f32 || t == DType::f64 ? 1000 : 16;
  }
  void add_base(std::vector<int64_t> sizes, DType t, bool is_weight = false) {
    Base b{std::move(sizes), t};
    b.requires_grad = pick(4) > 0;
    b.leaf = b.is_weight = is_weight;
    b.shift = shift(t);
    p_.inputs.push_back({static_cast<int>(p_.bases.size()), {}});
    p_.bases.push_back(std::move(b));
  }
  void make_signature() {
    const int64_t n = length(), few = n > 200000 ? 1 + pick(2) : 2 + pick(4), other = 1 + pick(3), l = open_ ? -1 : n;
    if (open_) p_.settings = {{n}, {n / 3 + 1}, {std::min<int64_t>(2 * n + 5, 12000000)}};
    const DType t = dtype();
    const std::vector<int64_t> shapes[] = {{l}, {l}, {few, l}, {l, few}, {few, l, 2}};
    const std::vector<int64_t> chosen = shapes[n > 2000000 ? 0 : pick(5)];
    add_base(chosen, t);
    switch (pick(3)) {
      case 0: break;
      case 1: add_base(chosen, pick(4) ? t : dtype()); break;
      default:  // a product over the long dim, or, of few numbers, one whose gradient is
        if (chosen == shapes[0]) add_base({l, other}, t);
        else if (chosen == shapes[2]) add_base({l, other}, t);
        else add_base({other, chosen.back()}, t, true);
    }
  }

  std::optional<Step> elementwise() {
    static constexpr const char* kOps[] = {"sin", "sigmoid", "tanh", "square", "neg"};
    const int x = pick(3) ? size() - 1 : pick(size());
    switch (pick(4)) {
      case 0: return Step::of("mul.Scalar", {x}, {0.125});
      case 1: return Step::of("add.Scalar", {x}, {1.5});
      case 2: {
        const int y = pick(size());
        return at(x).sizes().same(at(y).sizes()) ? Step::of(pick(2) ? "mul.Tensor" : "add.Tensor", {x, y})
                                                 : std::optional<Step>();
      }
      default: return Step::of(kOps[pick(5)], {x});
    }
  }
  std::optional<Step> summed() {
    const int x = pick(3) ? size() - 1 : pick(size()), y = pick(size());
    const int64_t rank = at(x).dim();
    if (rank == 0) return std::nullopt;
    int dim = 0;  // the longest one, mostly
    for (int d = 1; d < rank; d++)
      if (at(x).size(d) > at(x).size(dim)) dim = d;
    if (pick(5) == 0) dim = pick(static_cast<int>(rank));
    const bool keep = pick(2);
    switch (pick(17)) {
      case 0: return Step::of("sum.dim_IntList", {x}, {Shape{dim}, keep});
      case 1: return Step::of("sum", {x});
      case 2: return Step::of("mean.dim", {x}, {Shape{dim}, keep});
      case 3: return Step::of("mean", {x});
      case 4: return Step::of("var.correction", {x}, {Shape{dim}, pick(2), keep});
      case 5: return Step::of("std.correction", {x}, {Shape{dim}, 1, keep});
      case 6: return Step::of("linalg_vector_norm", {x}, {1 + pick(3), Shape{dim}, keep});
      case 7: return Step::of("logsumexp", {x}, {Shape{dim}, keep});
      case 8: return Step::of("softmax.int", {x}, {dim});
      case 9: return Step::of("log_softmax.int", {x}, {dim});
      case 10: return Step::of("cumsum", {x}, {dim});
      case 11: return Step{"layer_norm", {tensor_arg(x), sizes_arg({{x, static_cast<int>(rank) - 1}})}};
      case 12: return at(x).sizes().same(at(y).sizes()) ? Step::of("mse_loss", {x, y}) : std::optional<Step>();
      case 13: return rank == 1 && at(y).sizes().same(at(x).sizes()) ? Step::of("dot", {x, y}) : std::optional<Step>();
      default: {
        const int last = static_cast<int>(p_.bases.size()) - 1;
        const Tensor& w = at(last);
        if (last == 0 || w.dim() != 2 || w.dtype() != at(x).dtype()) return std::nullopt;
        if (p_.bases[static_cast<std::size_t>(last)].is_weight)
          return w.size(1) == at(x).size(-1) ? Step::of("linear", {x, last}) : std::optional<Step>();
        return w.size(0) == at(x).size(-1) ? Step::of("matmul", {x, last}) : std::optional<Step>();
      }
    }
  }

  // Whether every order of summing has room: half of what is infinite.
  static bool is_tame(const Tensor& t) {
    const NoGrad no_grad;
    const double most = aten<"amax">(aten<"abs">(t.detach().to(DType::f64))).item_double();
    return most <= (t.dtype() == DType::f16 ? 30000 : 1e18);  // false for NaN
  }
  bool add(std::optional<Step> s) {
    if (!s) return false;
    const std::size_t before = pool_.size();
    s->rounds = true;
    try {
      execute(*s, pool_);
    } catch (const UserError&) {
      pool_.resize(before);
      return false;
    }
    if (!is_tame(pool_.back())) {
      pool_.resize(before);
      return false;
    }
    p_.body.push_back(std::move(*s));
    return true;
  }
};

}  // namespace

Program long_rows_program(uint64_t seed) { return LongRows(seed, false).program(); }
Program open_long_rows_program(uint64_t seed) { return LongRows(seed, true).program(); }

}  // namespace ingot::testing
