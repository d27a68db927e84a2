#include "support/random_program.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "graph/trace.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "support/perturb.hpp"
#include "support/wide_makers.hpp"
#include "tensor/random.hpp"
#include "support/wrappers.hpp"
#include "tensor/stand_in.hpp"

namespace ingot::testing {
namespace {

Tensor base_values(const Program& p, std::size_t b, const Shape& sizes, const InputOptions& o) {
  const Base& base = p.bases[b];
  const DType dtype = o.run.wide ? widened(base.dtype) : base.dtype;
  if (p.grid)  // made by an op, which a mode may look after
    return aten<"add.Scalar">(aten<"mul.Scalar">(aten<"arange">(sizes.product(), base.dtype), 0.1),
                              0.05 * (static_cast<double>(b) + 1))
        .view(sizes)
        .to(dtype)
        .clone();
  return drawn_values({p.seed, b, base.dtype, base.below, base.shift}, sizes).to(dtype);
}

}  // namespace

Shape sizes_of(const Program& p, std::size_t base, std::size_t setting) {
  Shape sizes;
  for (const int64_t n : p.bases[base].sizes) sizes.push_back(n >= 0 ? n : p.settings[setting][static_cast<std::size_t>(-1 - n)]);
  return sizes;
}

Tensor drawn_values(const DrawnBase& of, const Shape& sizes) {
  const int64_t n = sizes.product().value() * (is_complex(of.dtype) ? 2 : 1);
  std::vector<double> v(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < v.size(); i++) {
    const double u = drawn(of.seed * 64 + of.base, i);
    if (of.dtype == DType::b8) v[i] = u < 0.5;
    else if (of.below > 0) v[i] = std::floor(u * static_cast<double>(of.below));
    else if (!is_floating(of.dtype) && !is_complex(of.dtype)) v[i] = std::floor(u * 16) - (of.dtype == DType::u8 ? 0 : 8);
    else  // a third of the programs have larger values
      v[i] = std::ldexp(std::floor(u * 1024) - 512, of.seed % 3 == 0 ? -6 : -8) + of.shift;
  }
  Tensor t = tensor(v, DType::f64);
  if (is_complex(of.dtype)) t = aten<"view_as_complex">(t.view({-1, 2}));
  return t.to(of.dtype).to(widened(of.dtype)).view(sizes).clone();
}

StepArg tensor_arg(int k) { return {StepArg::Kind::tensor, std::vector<int>{k}}; }
StepArg tensors_arg(std::vector<int> l) { return {StepArg::Kind::tensors, std::move(l)}; }
StepArg size_arg(int tensor, int dim) { return {StepArg::Kind::size, std::vector<SizeArg>{{tensor, dim}}}; }
StepArg sizes_arg(std::vector<SizeArg> l) { return {StepArg::Kind::sizes, std::move(l)}; }

Step Step::of(std::string op, const std::vector<int>& tensors, const Values& rest) {
  Step s{std::move(op), {}};
  for (const int k : tensors) s.args.push_back(tensor_arg(k));
  for (const Value& v : rest) s.args.emplace_back(v);
  return s;
}

void execute(const Step& s, TensorList& pool, const RunOptions& options) {
  const Scoped<bool> grad_mode(thread_state().grad_mode, thread_state().grad_mode && !s.no_grad);
  DType& of_numbers = thread_state().default_dtype;
  const Scoped<DType> widest(of_numbers, options.wide ? widened(of_numbers) : of_numbers);
  const auto at = [&](int k) {
    INGOT_REQUIRE(k < static_cast<int>(pool.size()), "the program has no tensor ", k);
    return pool[static_cast<std::size_t>(k)];
  };
  const auto size = [&](const SizeArg& a) { return a.tensor < 0 ? Int(a.number) : at(a.tensor).size(a.dim); };
  Values args;
  for (const StepArg& a : s.args) {
    switch (a.kind) {
      case StepArg::Kind::value:
        args.push_back(options.wide && a.value.is_dtype() ? Value(widened(a.value.dtype())) : a.value);
        break;
      case StepArg::Kind::tensor: args.push_back(a.tensors[0] < 0 ? Value() : Value(at(a.tensors[0]))); break;
      case StepArg::Kind::tensors: {
        TensorList l;
        for (const int k : a.tensors) l.push_back(k < 0 ? Tensor() : at(k));
        args.emplace_back(std::move(l));
        break;
      }
      case StepArg::Kind::size: args.emplace_back(size(a.sizes[0])); break;
      case StepArg::Kind::sizes: {
        Shape l;
        for (const SizeArg& e : a.sizes) l.push_back(size(e));
        args.emplace_back(std::move(l));
        break;
      }
    }
  }
  const ProgramFunction* function = nullptr;
  for (const ProgramFunction& f : program_functions())
    if (s.op == f.name) function = &f;
  // A function decides by a sum, whose sign stays if its operands do.
  Perturbing perturbing(options.perturb * 4096 + pool.size(), function ? Perturbing::as_they_are : Perturbing::also_of_sums);
  std::optional<ModeScope> off;
  if (options.perturb && s.rounds) off.emplace(perturbing);
  const auto add = [&](const TensorList& made) { pool.insert(pool.end(), made.begin(), made.end()); };
  if (function) {
    TensorList in;
    for (const Value& v : args) in.push_back(v.tensor());
    return add(function->run(in));
  }
  const Op& o = op(s.op);
  if (s.out >= 0) {
    while (args.size() + 1 < o.schema.args.size()) args.push_back(o.schema.args[args.size()].default_value);
    args.emplace_back(at(s.out));
  }
  const Value r = call(o, args);
  if (!o.mutates()) add(r.is_tensor() ? TensorList{r.tensor()} : r.tensors());
}

ProgramInputs make_inputs(const Program& p, const InputOptions& o) {
  ProgramInputs r;
  for (std::size_t b = 0; b < p.bases.size(); b++) {
    Tensor leaf = base_values(p, b, sizes_of(p, b, o.setting), o);
    if (p.wrapped) leaf = two_tensor(leaf, is_differentiable(leaf.dtype()) ? leaf * 0.5 : leaf.clone());
    if (o.gradients && p.bases[b].requires_grad) leaf.requires_grad_();
    r.leaves.push_back(leaf);
    r.bases.push_back(p.bases[b].leaf ? leaf : is_differentiable(leaf.dtype()) ? aten<"mul.Scalar">(leaf, 1.0) : leaf.clone());
  }
  for (const ProgramInput& input : p.inputs) {
    TensorList pool{r.bases[static_cast<std::size_t>(input.base)]};
    for (const Step& s : input.views) execute(s, pool);
    r.inputs.push_back(pool.back());
  }
  return r;
}

TensorList run_all(const Program& p, const TensorList& inputs, const RunOptions& options) {
  TensorList pool = inputs;
  for (const Step& s : p.body) execute(s, pool, options);
  return pool;
}

TensorList run(const Program& p, const TensorList& inputs, const RunOptions& options) {
  const TensorList pool = run_all(p, inputs, options);
  TensorList results;
  for (const int k : p.outputs) {
    INGOT_REQUIRE(k < static_cast<int>(pool.size()), "the program has no tensor ", k);
    results.push_back(pool[static_cast<std::size_t>(k)]);
    require_current(*results.back()->storage, "a result");
  }
  return results;
}

namespace {

template <class F>
void for_each_tensor_arg(Step& s, const F& f) {
  for (StepArg& a : s.args) {
    for (int& k : a.tensors) f(k);
    for (SizeArg& e : a.sizes) f(e.tensor);
  }
  f(s.out);
}

// The program without call i, or nothing where a later call or result needs what it makes.
std::optional<Program> without(const Program& p, std::size_t i) {
  TensorList pool = make_inputs(p).inputs;
  manual_seed(p.seed);
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
  for (std::size_t k = i; k < q.body.size(); k++) for_each_tensor_arg(q.body[k], renumber);
  for (int& k : q.outputs) renumber(k);
  return needed ? std::nullopt : std::optional<Program>(std::move(q));
}

// Whether each call is needed for a result, or writes something; with `seen_writes`, something that
// a result or an input shows, and it may also draw: the random stream goes on by what nobody reads.
// Without `sizes`, needed for its values: not what an out= replaces.
std::vector<bool> needed(const Program& p, bool seen_writes = false, bool sizes = true) {
  TensorList pool = make_inputs(p).inputs;
  const std::size_t inputs = pool.size();
  std::vector<std::pair<int, int>> made;  // by call: first and past the last
  std::vector<bool> draws;
  std::vector<std::vector<std::size_t>> updates;  // by call: what it wrote aside from what it makes, as running statistics
  manual_seed(p.seed);
  for (const Step& s : p.body) {
    const int first = static_cast<int>(pool.size());
    const uint64_t before = default_generator()->state().offset;
    std::vector<uint32_t> versions;
    for (const Tensor& t : pool) versions.push_back(t.version());
    execute(s, pool);
    updates.emplace_back();
    for (std::size_t k = 0; k < versions.size(); k++)
      if (pool[k].version() != versions[k]) updates.back().push_back(k);
    draws.push_back(default_generator()->state().offset != before);
    made.emplace_back(first, static_cast<int>(pool.size()));
  }
  std::vector<bool> live(pool.size()), calls(p.body.size());
  for (const int k : p.outputs) live[static_cast<std::size_t>(k)] = true;
  for (std::size_t i = p.body.size(); i-- > 0;) {
    const auto [first, last] = made[i];
    calls[i] = seen_writes ? draws[i] : first == last;
    if (first == last && seen_writes) {
      const auto written = static_cast<std::size_t>(p.body[i].out >= 0 ? p.body[i].out : p.body[i].args[0].tensors[0]);
      // An in-place view changes how its tensor lies, which other views do not show.
      const bool changes_elements = !op(p.body[i].op).is_inplace_view();
      const auto shows_it = [&](std::size_t k) {
        return changes_elements ? shares_storage(pool[k], pool[written]) : k == written;
      };
      for (std::size_t k = 0; k < pool.size(); k++) calls[i] = calls[i] || ((live[k] || k < inputs) && shows_it(k));
    }
    for (int k = first; k < last; k++) calls[i] = calls[i] || live[static_cast<std::size_t>(k)];
    if (first < last)
      for (const std::size_t k : updates[i]) calls[i] = calls[i] || live[k] || k < inputs || !seen_writes;
    if (!calls[i]) continue;
    Step s = p.body[i];
    if (!sizes)
      std::erase_if(s.args, [](const StepArg& a) { return a.kind == StepArg::Kind::size || a.kind == StepArg::Kind::sizes; });
    for_each_tensor_arg(s, [&](int& k) {
      if (k >= 0) live[static_cast<std::size_t>(k)] = true;
    });
    if (sizes || s.out < 0) continue;
    const auto out = static_cast<std::size_t>(s.out);
    const auto shows_it = [&](std::size_t k) {
      return k != out && (live[k] || k < inputs) && shares_storage(pool[k], pool[out]);
    };
    const bool is_read = std::ranges::any_of(s.args, [&](const StepArg& a) { return std::ranges::count(a.tensors, s.out) > 0; });
    bool is_seen = is_read || out < inputs;
    for (std::size_t k = 0; k < pool.size() && !is_seen; k++) is_seen = shows_it(k);
    live[out] = is_seen;
  }
  return calls;
}

// Without input i, which nothing uses.
std::optional<Program> without_input(const Program& p, std::size_t i) {
  Program q = p;
  q.inputs.erase(q.inputs.begin() + static_cast<std::ptrdiff_t>(i));
  bool needed = q.inputs.empty();
  const auto renumber = [&](int& k) {
    needed |= k == static_cast<int>(i);
    if (k > static_cast<int>(i)) k--;
  };
  for (Step& s : q.body) for_each_tensor_arg(s, renumber);
  for (int& k : q.outputs) renumber(k);
  return needed ? std::nullopt : std::optional<Program>(std::move(q));
}

// Every change of a program that makes it simpler without leaving anything out.
std::vector<Program> simpler(const Program& p) {
  std::vector<Program> l;
  const auto with = [&](const std::function<void(Program&)>& change) {
    Program q = p;
    change(q);
    l.push_back(std::move(q));
  };
  if (p.wrapped) with([](Program& q) { q.wrapped = false; });
  for (std::size_t k = 1; k < p.settings.size(); k++)
    with([k](Program& q) { q.settings.erase(q.settings.begin() + static_cast<std::ptrdiff_t>(k)); });
  for (std::size_t i = 0; i < p.inputs.size(); i++)
    if (!p.inputs[i].views.empty()) with([i](Program& q) { q.inputs[i].views.pop_back(); });
  for (std::size_t b = 0; b < p.bases.size(); b++) {
    const Base& base = p.bases[b];
    if (base.requires_grad) with([b](Program& q) { q.bases[b].requires_grad = false; });
    if (is_differentiable(base.dtype) && base.dtype != DType::f32) with([b](Program& q) { q.bases[b].dtype = DType::f32; });
    for (std::size_t d = 0; d < base.sizes.size(); d++)
      if (base.sizes[d] > 1) with([b, d](Program& q) { q.bases[b].sizes[d] = (q.bases[b].sizes[d] + 1) / 2; });
  }
  for (std::size_t k = 0; k < p.body.size(); k++)
    if (p.body[k].no_grad) with([k](Program& q) { q.body[k].no_grad = false; });
  return l;
}

}  // namespace

namespace {

Program only(const Program& p, const std::vector<bool>& live) {
  Program q = p;
  for (std::size_t i = p.body.size(); i-- > 0;) {
    if (live[i]) continue;
    if (std::optional<Program> fewer = without(q, i)) q = std::move(*fewer);
  }
  return q;
}

}  // namespace

Program without_unused_draws(const Program& p) { return only(p, needed(p)); }
Program without_dead_calls(const Program& p) { return only(p, needed(p, true)); }
namespace {

// How many values there are after each call, as far as it can be said without data.
std::vector<std::size_t> values_made(const Program& p, const InputOptions& options) {
  std::vector<std::size_t> made;
  try {
    trace(
        [&](const TensorList& inputs) {
          TensorList pool = inputs;
          for (const Step& s : p.body) {
            execute(s, pool, options.run);
            made.push_back(pool.size());
          }
          return TensorList();
        },
        make_inputs(p, options).inputs);
  } catch (const UserError&) {  // the caller knows that something is refused
  }
  return made;
}

bool runs(const Program& p) {
  try {
    manual_seed(p.seed);
    run(p, make_inputs(p).inputs);
  } catch (const UserError&) {
    return false;
  }
  return true;
}

}  // namespace

bool makes_other_values(const Program& p, const InputOptions& options) {
  const std::vector<std::size_t> here = values_made(p, options), first = values_made(p, {.gradients = options.gradients});
  return !std::equal(here.begin(), here.begin() + static_cast<std::ptrdiff_t>(std::min(here.size(), first.size())),
                     first.begin());
}
bool refuses_unread(const Program& p, const InputOptions& options) {
  const std::vector<bool> is_read = needed(p, true, false);
  TensorList pool = make_inputs(p, options).inputs;
  manual_seed(p.seed);
  for (std::size_t i = 0; i < p.body.size(); i++) {
    try {
      execute(p.body[i], pool, options.run);
    } catch (const UserError&) {
      return !is_read[i];
    }
  }
  return false;
}

Program shrink(Program p, const std::function<bool(const Program&)>& fails) {
  if (!runs(p)) return p;  // to leave calls out it has to be run
  const auto still_fails = [&](const Program& q) { return runs(q) && fails(q); };
  for (bool smaller = true; smaller;) {
    smaller = false;
    const auto take = [&](Program q) {
      if (!still_fails(q)) return false;
      p = std::move(q);
      return smaller = true;
    };
    for (std::size_t i = p.outputs.size(); i-- > 0 && p.outputs.size() > 1;) {
      Program q = p;
      q.outputs.erase(q.outputs.begin() + static_cast<std::ptrdiff_t>(i));
      take(std::move(q));
    }
    for (std::size_t i = p.body.size(); i-- > 0;)
      if (std::optional<Program> q = without(p, i)) take(std::move(*q));
    for (std::size_t i = p.inputs.size(); i-- > 0;)
      if (std::optional<Program> q = without_input(p, i)) take(std::move(*q));
    if (smaller) continue;
    for (Program& q : simpler(p))
      if (take(std::move(q))) break;
  }
  return p;
}

}  // namespace ingot::testing
