// Programs of every family of ops, by makers: one function a family, which picks an op of it and
// arguments from the pool.
#include <algorithm>
#include <cmath>
#include <random>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "graph/fake.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "support/wide_makers.hpp"
#include "tensor/stand_in.hpp"

namespace ingot::testing {
namespace {

constexpr int64_t kMostElements = 60000;

class WideGenerator {
 public:
  WideGenerator(uint64_t seed, WideOptions options) : random_(seed * 2 + options.open), draft_(random_, options) {
    p_.seed = seed;
    p_.grid = false;
    if (options.open) open_sizes();
  }

  // Nothing where the calls that are left when unused draws are gone draw numbers that one of them
  // refuses, as an index.
  std::optional<Program> program() {
    draft_.options.layers ? make_layers() : make_signature();
    manual_seed(p_.seed);
    draft_.pool = make_inputs(p_).inputs;
    draft_.exact.assign(draft_.pool.size(), true);
    const int length = 2 + draft_.pick(13);
    for (int tries = 0; static_cast<int>(p_.body.size()) < length && tries < 6 * length && !overflowed_; tries++) add();
    choose_outputs();
    if (!draws_) return std::move(p_);
    try {
      Program p = without_unused_draws(p_);
      manual_seed(p.seed);
      run(p, make_inputs(p).inputs);
      return p;
    } catch (const UserError&) {
      return std::nullopt;
    }
  }

 private:
  std::mt19937_64 random_;
  Draft draft_;
  Program p_;
  bool overflowed_ = false, draws_ = false;

  // Half of the programs are compiled for sizes of two and more, which is what export assumes; the
  // others for every size, and some of these for an example that has a size of one.
  void open_sizes() {
    p_.least = p_.seed / 2 % 2 == 0 ? 2 : 0;
    if (p_.least == 2) p_.settings = {{7, 11}, {13, 5}, {2, 30}};
    else if (p_.seed / 4 % 4 == 0) p_.settings = {{6, 1}, {3, 1}, {1, 4}, {5, 0}};
    else p_.settings = {{7, 11}, {1, 5}, {0, 3}, {13, 1}, {2, 0}};
  }
  int64_t size() {
    static constexpr int64_t kSizes[] = {1, 2, 2, 3, 3, 4, 4, 6, 8};
    const int r = draft_.pick(40);
    if (r == 0) return 0;
    if (draft_.options.open && r < 20) return r < 14 ? -1 : -2;
    return kSizes[draft_.pick(9)];
  }
  DType dtype() {
    static constexpr DType kRare[] = {DType::f64, DType::f64, DType::f16,  DType::bf16, DType::i64, DType::i32, DType::b8,
                                      DType::u8,  DType::c64, DType::c128, DType::i16,  DType::f16, DType::bf16};
    return draft_.pick(8) < 5 ? DType::f32 : kRare[draft_.pick(13)];
  }
  void add_base(Base b) {
    b.requires_grad = is_differentiable(b.dtype) && draft_.pick(5) < 3;
    b.leaf |= draft_.pick(3) == 0;
    p_.inputs.push_back({static_cast<int>(p_.bases.size()), {}});
    p_.bases.push_back(std::move(b));
  }
  void make_signature() {
    p_.wrapped = !draft_.options.open && draft_.pick(16) == 0;
    const int64_t a = size(), b = size(), c = size();
    const int kind = draft_.pick(10);
    const DType t = dtype();
    if (kind < 2) {  // images and a kernel for them
      const int64_t channels = 1 + draft_.pick(4), side = 3 + draft_.pick(4);
      add_base({{draft_.options.open && draft_.pick(2) ? -1 : 1 + draft_.pick(2), channels, side, side}, t});
      Base w{{1 + draft_.pick(4), channels, 1 + draft_.pick(3), 1 + draft_.pick(3)}, t};
      w.leaf = w.is_weight = true;
      add_base(w);
    } else if (kind < 3) {  // long rows
      static const std::vector<int64_t> kLong[] = {{6000}, {3, 4000}, {2500, 3}, {1000, 1, 4}};
      static const std::vector<int64_t> kLongOpen[] = {{6000}, {-1, 2000}, {2500, -2}, {40000}};
      add_base({(draft_.options.open ? kLongOpen : kLong)[draft_.pick(4)], draft_.pick(3) ? DType::f32 : t});
    } else {
      const std::vector<int64_t> shapes[] = {{a}, {a, b}, {a, b}, {a, b, c}, {a, a}, {}};
      add_base({shapes[draft_.pick(6)], t});
    }
    const std::vector<int64_t> more[] = {{a}, {b}, {a, b}, {b, a}, {b, c}, {c, a, b}, {}, {1, b}, {a, 1}};
    for (int n = draft_.pick(3); n > 0; n--) {
      Base w{more[draft_.pick(9)], draft_.pick(2) ? t : dtype()};
      w.leaf = w.is_weight = draft_.pick(3) == 0;
      add_base(w);
    }
    if (draft_.pick(2)) {  // indices
      Base i{draft_.pick(2) ? more[draft_.pick(5)] : std::vector<int64_t>{1 + draft_.pick(5)}, DType::i64};
      i.below = 1 + draft_.pick(3);
      add_base(i);
    }
    alias_inputs();
  }
  // An image, kernels for it, and what normalizes it.
  void make_layers() {
    static constexpr DType kTypes[] = {DType::f32, DType::f32, DType::f32, DType::f64, DType::f16, DType::bf16};
    const DType t = kTypes[draft_.pick(6)], of_state = draft_.pick(3) ? t : DType::f32;
    const int dims = 1 + draft_.pick(3);
    const int64_t groups = 1 + draft_.pick(3), channels = groups * (1 + draft_.pick(2)), out = groups * (1 + draft_.pick(2));
    std::vector<int64_t> image{draft_.options.open && draft_.pick(3) ? -1 : 1 + draft_.pick(3), channels};
    std::vector<int64_t> kernel{out, channels / groups}, transposed{channels, 1 + draft_.pick(2)}, places;
    for (int k = 0; k < dims; k++) {
      image.push_back(draft_.options.open && draft_.pick(5) == 0 ? -2 : 2 + draft_.pick(dims == 3 ? 3 : 5));
      kernel.push_back(1 + draft_.pick(3));
      transposed.push_back(1 + draft_.pick(3));
    }
    for (const int64_t n : image) places.push_back(n > 0 && draft_.pick(2) ? n : 1);
    const auto add_weight = [&](const std::vector<int64_t>& sizes, DType dtype) {
      Base w{sizes, dtype};
      w.leaf = w.is_weight = true;
      add_base(w);
    };
    add_base({image, t});
    if (draft_.pick(4) == 0) add_base({image, t});
    add_weight(kernel, t);
    add_weight(transposed, t);
    add_weight({out}, t);
    add_weight({channels}, of_state);
    add_weight({channels}, of_state);
    draft_.buffers = static_cast<int>(p_.bases.size());
    const std::vector<int64_t> buffers[] = {{channels}, {channels}, {}};
    for (int k = 0; k < 3; k++) {
      add_weight(buffers[k], k < 2 ? of_state : DType::i64);
      p_.bases.back().requires_grad = false;
    }
    p_.bases[p_.bases.size() - 2].shift = 9;  // a variance is above zero
    Base i{places, DType::i64};
    i.below = 2;
    add_base(i);
  }
  // Sometimes a second input that looks at the base of another.
  void alias_inputs() {
    if (draft_.options.open || !draft_.options.writes || draft_.pick(6)) return;
    ProgramInput second{draft_.pick(static_cast<int>(p_.bases.size())), {}};
    if (p_.bases[static_cast<std::size_t>(second.base)].leaf) return;
    if (p_.bases[static_cast<std::size_t>(second.base)].sizes.size() >= 2 && draft_.pick(2))
      second.views.push_back(Step::of("transpose.int", {0}, {0, 1}));
    p_.inputs.push_back(std::move(second));
  }

  // What a step may not make: numbers that another order of rounding takes to infinity, or tensors
  // that take long.
  static bool is_tame(const Tensor& t) {
    const Tensor x = is_two_tensor(t) ? a(t) : t;
    if (x.numel().value() > kMostElements) return false;
    if (!is_differentiable(x.dtype()) || x.numel().value() == 0) return true;
    if (is_out_of_date(*x->storage)) return false;  // a conj of what was written since, which nobody may read
    const NoGrad no_grad;
    const Tensor wide = is_complex(x.dtype()) ? aten<"abs">(x.detach().to(DType::c128)) : x.detach().to(DType::f64);
    const double most = aten<"amax">(aten<"abs">(wide)).item_double();
    return most <= (real_of(x.dtype()) == DType::f16 ? 100 : 1000);  // false for NaN
  }

  // Whether the step makes more than is kept. Long rows are asked without bytes: the square of one
  // takes more memory than machines have.
  bool is_too_long(const Step& s) const {
    const auto is_longer = [](int64_t most) { return [most](const Tensor& t) { return t.numel().value() > most; }; };
    if (std::ranges::none_of(draft_.pool, is_longer(1000))) return false;
    ShapeEnv sizes;
    TensorList pool;
    for (const Value& v : make_fakes(Values(draft_.pool.begin(), draft_.pool.end()), {}, sizes)) pool.push_back(v.tensor());
    try {
      execute(s, pool);
    } catch (const UserError&) {
      return false;  // the data decides, or the step is refused
    }
    return std::ranges::any_of(pool, is_longer(kMostElements));
  }

  void add() {
    const Family& family = random_family(draft_);
    std::optional<Step> s = family.make(draft_);
    if (!s || draft_.pool.size() > 30) return;
    const std::size_t before = draft_.pool.size();
    std::vector<int> read;
    bool exact = true;
    for (const StepArg& a : s->args) read.insert(read.end(), a.tensors.begin(), a.tensors.end());
    for (const int k : read) exact = exact && (k < 0 || draft_.exact[static_cast<std::size_t>(k)]);
    if (family.needs_exact && !exact) return;
    s->rounds |= !family.moves;
    s->no_grad |= draft_.pick(40) == 0;
    if (is_too_long(*s)) return;
    const std::vector<uint32_t> versions = versions_of(before);
    try {
      execute(*s, draft_.pool);
    } catch (const UserError& e) {
      draft_.pool.resize(before);
      if (!draft_.options.refused) return;
      Program refused = p_;
      refused.body.push_back(std::move(*s));
      return draft_.options.refused(refused, e.what());
    }
    const bool made = draft_.pool.size() > before;
    if (draft_.pool.size() > before + 24) return draft_.pool.resize(before);  // pieces of something long
    for (std::size_t k = before; k < draft_.pool.size(); k++) {
      if (is_tame(draft_.pool[k])) continue;
      overflowed_ = versions != versions_of(before);  // what it wrote aside stays written
      return draft_.pool.resize(before);
    }
    for (std::size_t k = before; k < draft_.pool.size(); k++)
      draft_.exact.push_back(exact && (!s->rounds || !is_differentiable(draft_.pool[k].dtype())));
    draws_ |= family.draws;
    if (!made) written(*s, exact && !s->rounds);
    else if (versions != versions_of(before)) updated(versions);
    if (overflowed_) return draft_.pool.resize(before);  // what was written is past it, the program ends before it
    p_.body.push_back(std::move(*s));
  }
  // The tensor that a call wrote, and whatever shares its storage, is as exact as what was written.
  void written(const Step& s, bool exact) {
    const Tensor& t = draft_.pool[static_cast<std::size_t>(s.out >= 0 ? s.out : s.args[0].tensors[0])];
    if (!is_tame(t)) overflowed_ = true;
    for (std::size_t k = 0; k < draft_.pool.size(); k++)
      if (shares_storage(draft_.pool[k], t)) draft_.exact[k] = draft_.exact[k] && (exact || !is_differentiable(t.dtype()));
  }

  std::vector<uint32_t> versions_of(std::size_t count) const {
    std::vector<uint32_t> l;
    for (std::size_t k = 0; k < count; k++) l.push_back(draft_.pool[k].version());
    return l;
  }
  // The same of what a call wrote aside from what it makes.
  void updated(const std::vector<uint32_t>& before) {
    for (std::size_t k = 0; k < before.size(); k++) {
      if (draft_.pool[k].version() == before[k]) continue;
      if (!is_tame(draft_.pool[k])) overflowed_ = true;
      draft_.exact[k] = draft_.exact[k] && !is_differentiable(draft_.pool[k].dtype());
    }
  }

  void choose_outputs() {
    const int n = draft_.size(), results = 1 + draft_.pick(3);
    for (int k = 0; k < results; k++) {
      const int late = std::max(0, n - 1 - draft_.pick(4));
      const int chosen = draft_.pick(4) ? late : draft_.pick(n);
      // Eager refuses to read a conj of what was written since.
      const bool is_old = is_out_of_date(*draft_.pool[static_cast<std::size_t>(chosen)]->storage);
      p_.outputs.push_back(is_old ? 0 : chosen);
    }
  }
};

}  // namespace

Program wide_program(uint64_t seed, WideOptions options) {
  for (uint64_t other = seed;; other += uint64_t{1} << 40)
    if (std::optional<Program> p = WideGenerator(other, options).program()) return std::move(*p);
}

}  // namespace ingot::testing
