#include "support/seen.hpp"

#include <algorithm>
#include <cmath>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "ingot/autograd.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "support/perturb.hpp"
#include "support/wide_makers.hpp"
#include "support/wrappers.hpp"
#include "tensor/geometry.hpp"
#include "tensor/random.hpp"
#include "tensor/stand_in.hpp"

namespace ingot::testing {
namespace {

// Plain tensors, by their names.
template <class F>
void for_each_part(const std::string& name, const Tensor& t, const F& f) {
  if (!is_two_tensor(t)) return f(name, t);
  for_each_part(name + ".a", a(t), f);
  for_each_part(name + ".b", b(t), f);
}

// The strides that an element's place depends on: those of dims with more than one index, of a
// tensor with elements.
std::string lies(const Tensor& t) {
  std::string s;
  for (int64_t d = 0; d < t.dim(); d++)
    s += text(s.empty() ? "" : ", ", t.size(d) > 1 && t.numel() > 0 ? text(t.stride(d)) : "-");
  return "[" + s + "]";
}

void add(std::vector<Seen>& l, const std::string& what, const Tensor& t, bool strides, const std::string& facts) {
  const NoGrad no_grad;
  for_each_part(what, t, [&](const std::string& name, const Tensor& part) {
    if (is_out_of_date(*part->storage)) return l.push_back({name, "out of date", Tensor()});
    l.push_back({name, text(part.dtype(), part.sizes(), strides ? " strides " + lies(part) : "", facts), part.detach().clone()});
  });
}

// Nothing but values: a write to a view of several makes eager refuse to say more.
std::vector<Seen> seen_values(const Outcome& o) {
  std::vector<Seen> l;
  for (std::size_t k = 0; k < o.results.size(); k++) add(l, text("result ", k), o.results[k], false, "");
  for (std::size_t b = 0; b < o.in.bases.size(); b++) add(l, text("base ", b), o.in.bases[b], false, "");
  for (std::size_t i = 0; i < o.in.inputs.size(); i++) add(l, text("input ", i), o.in.inputs[i], false, "");
  return l;
}

std::string autograd_facts(const Tensor& t) {
  return text(t.requires_grad() ? ", requires grad" : "", t.is_leaf() ? ", a leaf" : "");
}

std::string values_text(const Tensor& t) {
  std::string out = text(t.sizes(), " {");
  const std::vector<double> v = numbers(t);
  for (std::size_t i = 0; i < std::min<std::size_t>(v.size(), 12); i++) out += text(" ", v[i]);
  return out + (v.size() > 12 ? " … }" : " }");
}

bool same(double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); }

// Elements that changed, by the tensors seen before and after.
std::vector<std::vector<bool>> changed(const std::vector<Seen>& before, const std::vector<Seen>& after) {
  std::vector<std::vector<bool>> l;
  for (std::size_t k = 0; k < before.size(); k++) {
    if (!before[k].values.defined() || !after[k].values.defined()) {
      l.emplace_back();  // nothing that could be compared
      continue;
    }
    const std::vector<double> x = numbers(before[k].values), y = numbers(after[k].values);
    std::vector<bool> c(x.size());
    for (std::size_t i = 0; i < x.size(); i++) c[i] = !same(x[i], y[i]);
    l.push_back(std::move(c));
  }
  return l;
}

// Runs the program once more, call by call, for what a comparison leaves out: Outcome::only_viewed
// and Outcome::free_strides.
void look_at_calls(const Program& p, const InputOptions& options, Outcome& o) {
  const auto is_view = [](const Step& s) {
    const Op* op = find_op(s.op);
    return op && op->is_inplace_view();
  };
  if (std::none_of(p.body.begin(), p.body.end(), [&](const Step& s) { return s.out >= 0 || is_view(s); })) return;
  const ProgramInputs in = make_inputs(p, options);
  TensorList pool = in.inputs;
  const TensorList inputs = pool;
  std::vector<Geometry> before;
  for (const Tensor& t : inputs) before.push_back(t->geom);
  std::vector<bool> viewed(inputs.size()), written(inputs.size()), free(inputs.size());
  const auto mark = [&](std::vector<bool>& l, const Tensor& t) {
    for (std::size_t i = 0; i < inputs.size(); i++)
      if (inputs[i]->storage == t->storage) l[i] = true;
  };
  const auto is_free = [&](const Tensor& t) {
    for (std::size_t k = 0; k < pool.size(); k++)
      if (free[k] && shares_storage(pool[k], t)) return true;
    return false;
  };
  const auto name_all = [&](const auto& leaves_out) {
    for (std::size_t k = 0; k < p.outputs.size(); k++)
      if (leaves_out(p.outputs[k], nullptr)) o.free_strides.insert(text("result ", k));
    for (std::size_t b = 0; b < in.bases.size(); b++)
      if (leaves_out(-1, &in.bases[b])) o.free_strides.insert(text("base ", b));
    for (std::size_t i = 0; i < inputs.size(); i++)
      if (leaves_out(static_cast<int>(i), nullptr)) o.free_strides.insert(text("input ", i));
  };
  manual_seed(p.seed);
  for (const Step& s : p.body) {
    bool reaches = false;
    for (const StepArg& a : s.args)
      for (const int k : a.tensors) reaches = reaches || (k >= 0 && free[static_cast<std::size_t>(k)]);
    try {
      execute(s, pool, options.run);
    } catch (const UserError&) {  // what runs the program says so, or runs it without the call
      return name_all([](int, const Tensor*) { return true; });
    }
    free.resize(pool.size(), reaches);
    const Op* op = find_op(s.op);
    if (!op || !op->mutates()) continue;
    const Tensor& target = pool[static_cast<std::size_t>(s.out >= 0 ? s.out : s.args[0].tensors[0])];
    mark(is_view(s) ? viewed : written, target);
    if (s.out < 0) continue;
    free[static_cast<std::size_t>(s.out)] = true;
    for (std::size_t k = 0; k < pool.size(); k++) free[k] = free[k] || shares_storage(pool[k], target);
  }
  name_all([&](int k, const Tensor* base) {
    return base ? is_free(*base) : static_cast<std::size_t>(k) >= free.size() || free[static_cast<std::size_t>(k)];
  });
  for (std::size_t i = 0; i < inputs.size(); i++)
    if (!inputs[i]->geom.same(before[i])) mark(written, inputs[i]);
  for (std::size_t i = 0; i < inputs.size(); i++) viewed[i] = viewed[i] && !written[i];
  if (std::ranges::count(viewed, true) > 0) o.only_viewed = viewed;
}

TensorList tracked_leaves(const Outcome& o) {
  TensorList l;
  for (const Tensor& t : o.in.leaves)
    if (t.requires_grad() && t.is_leaf()) l.push_back(t);  // a leaf that was written is none any more
  return l;
}
Tensor seed_of(const Tensor& root) {
  const Tensor grid = (aten<"arange">(root.numel(), DType::f32) * 0.25 + 1).view(root.sizes());
  const Tensor seed = aten<"remainder.Scalar">(grid, 2.125).to(root.dtype());  // long tensors would have large ones otherwise
  return is_two_tensor(root) ? two_tensor(seed, seed.clone()) : seed;
}
// Zeros where a root has no way to a leaf. `perturb`: RunOptions'.
std::vector<Seen> gradients_of(const TensorList& roots, const TensorList& seeds, const TensorList& leaves,
                               const std::string& name, uint64_t perturb = 0) {
  std::vector<Seen> l;
  Perturbing perturbing(perturb);
  std::optional<ModeScope> off;
  if (perturb) off.emplace(perturbing);
  TensorList grads = grad(roots, leaves, seeds, {.retain_graph = true, .allow_unused = true});
  off.reset();
  for (std::size_t i = 0; i < leaves.size(); i++) {
    if (!grads[i].defined()) grads[i] = aten<"zeros_like">(leaves[i]);
    const NoGrad no_grad;
    for_each_part(text("gradient ", i, " of ", name), grads[i], [&](const std::string& part, const Tensor& t) {
      l.push_back({part, text(t.dtype(), t.sizes()), t.detach().clone(), lies(t)});
    });
  }
  return l;
}
// Results and inputs.
TensorList roots_of(const Outcome& o) {
  TensorList all = o.results;
  all.insert(all.end(), o.in.inputs.begin(), o.in.inputs.end());
  return all;
}
std::string root_name(const Outcome& o, std::size_t k) {
  return k < o.results.size() ? text("result ", k) : text("input ", k - o.results.size());
}

}  // namespace

std::vector<double> numbers(const Tensor& t) {
  if (is_complex(t.dtype())) return aten<"view_as_real">(aten<"resolve_conj">(t)).to_vector<double>();
  return t.to_vector<double>();
}

Outcome outcome_of(const Program& p, const InputOptions& options, const ProgramRunner& f) {
  Outcome o;
  o.in = make_inputs(p, options);
  o.perturb = options.run.perturb;
  for (const Tensor& t : o.in.inputs) o.versions.push_back(t.version());
  look_at_calls(p, options, o);
  manual_seed(p.seed);
  const Draw before = default_generator()->state();
  o.results = f(o.in.inputs);
  o.drawn = default_generator()->state().offset - before.offset;
  return o;
}

std::vector<Seen> seen(const Outcome& o) {
  const auto is_written = [](const Outcome& of, std::size_t i) {
    return of.counts_writes && (of.only_viewed.empty() || !of.only_viewed[i]) && of.in.inputs[i].version() > of.versions[i];
  };
  std::vector<Seen> l;
  const auto show = [&](const std::string& name, const Tensor& t, const std::string& facts) {
    add(l, name, t, !o.free_strides.contains(name), facts);
  };
  for (std::size_t k = 0; k < o.results.size(); k++) show(text("result ", k), o.results[k], autograd_facts(o.results[k]));
  for (std::size_t b = 0; b < o.in.bases.size(); b++) show(text("base ", b), o.in.bases[b], autograd_facts(o.in.bases[b]));
  for (std::size_t i = 0; i < o.in.inputs.size(); i++)
    show(text("input ", i), o.in.inputs[i], autograd_facts(o.in.inputs[i]) + (is_written(o, i) ? ", written" : ""));
  return l;
}

SeenGradients seen_gradients(const Outcome& o) {
  SeenGradients r;
  const TensorList leaves = tracked_leaves(o), all = roots_of(o);
  const auto add_roots = [&](const std::string& name, const TensorList& given) {
    r.roots.push_back(name);
    r.gradients.emplace_back();
    r.refusals.emplace_back();
    TensorList roots, seeds;
    for (const Tensor& root : given) {
      if (!root.requires_grad()) continue;
      roots.push_back(root);
      seeds.push_back(seed_of(root));
    }
    if (roots.empty() || leaves.empty()) return;
    try {
      r.gradients.back() = gradients_of(roots, seeds, leaves, name, o.perturb == 0 ? 0 : o.perturb * 8192 + r.roots.size());
    } catch (const UserError& e) {
      r.refusals.back() = e.what();
    }
  };
  // A compiled function of wrappers wants the gradients of all its results at once, in PyTorch too.
  if (std::any_of(all.begin(), all.end(), is_two_tensor)) {
    add_roots("all", all);
    return r;
  }
  for (std::size_t k = 0; k < all.size(); k++) add_roots(root_name(o, k), {all[k]});
  return r;
}

std::vector<Seen> seen_gradients_among_zeros(const Outcome& o, std::size_t root) {
  const TensorList all = roots_of(o);
  const auto is_returned = [&](std::size_t k) {
    const std::size_t results = o.results.size();
    return k < results || o.in.inputs[k - results].version() > o.versions[k - results];
  };
  TensorList roots, seeds;
  for (std::size_t k = 0; k < all.size(); k++) {
    if (!all[k].requires_grad() || (k != root && !is_returned(k))) continue;
    roots.push_back(all[k]);
    seeds.push_back(k == root ? seed_of(all[k]) : aten<"zeros_like">(all[k].detach()));
  }
  try {
    return gradients_of(roots, seeds, tracked_leaves(o), root_name(o, root));
  } catch (const UserError&) {
    return {};
  }
}

Allowance::Allowance(const Program& p, std::size_t setting, bool gradients) : p_(p), setting_(setting), gradients_(gradients) {}

void Allowance::measure() {
  allowed_.emplace();
  const auto all_of = [&](const RunOptions& run_options, bool* draws) {
    const Outcome o = outcome_of(p_, {.gradients = gradients_, .setting = setting_, .run = run_options},
                                 [&](const TensorList& in) { return run(p_, in, run_options); });
    if (draws) *draws = o.drawn > 0;
    std::vector<Seen> l = seen(o);
    if (gradients_)
      for (auto& g : seen_gradients(o).gradients) l.insert(l.end(), g.begin(), g.end());
    return l;
  };
  bool draws = false;
  std::map<std::string, Tensor> plain;
  for (const Seen& s : all_of({}, &draws)) plain[s.what] = s.values;
  std::map<std::string, std::vector<double>> off;
  const auto add_variant = [&](const RunOptions& o) {
    for (const Seen& s : all_of(o, nullptr)) {
      const auto other = plain.find(s.what);
      if (other == plain.end() || !is_differentiable(s.values.dtype())) continue;
      const std::vector<double> x = numbers(s.values), y = numbers(other->second);
      std::vector<double>& most = off[s.what];
      most.resize(y.size());
      for (std::size_t i = 0; i < std::min(x.size(), y.size()); i++)
        if (std::isfinite(x[i]) && std::isfinite(y[i])) most[i] = std::max(most[i], std::abs(x[i] - y[i]));
        else if (std::isfinite(x[i]) != std::isfinite(y[i])) finite_by_chance_.insert({s.what, i});
    }
  };
  if (!draws) add_variant({.wide = true});  // a wider type draws other numbers
  for (uint64_t seed = 1; seed <= variants_; seed++) add_variant({.perturb = seed});
  for (const auto& [what, t] : plain) {
    if (!is_differentiable(t.dtype())) continue;
    std::vector<double> all = numbers(t), most = off[what];
    most.resize(all.size());
    double least = 0;
    if (widened(t.dtype()) == t.dtype())
      for (const double x : all)
        if (std::isfinite(x)) least = std::max(least, std::abs(x));
    for (std::size_t i = 0; i < all.size(); i++)
      all[i] = 8 * most[i] + 8 * unit_of(t.dtype()) * std::max(least, std::isfinite(all[i]) ? std::abs(all[i]) : 0);
    (*allowed_)[what] = std::move(all);
  }
}

double Allowance::allowed(const Seen& s, std::size_t i) {
  if (!is_differentiable(s.values.dtype())) return 0;
  if (!allowed_) measure();
  const auto at = allowed_->find(s.what);
  return at == allowed_->end() || i >= at->second.size() ? 0 : at->second[i];
}

bool Allowance::is_allowed(double off, const Seen& s, std::size_t i) {
  constexpr uint64_t kMostVariants = 24;
  const auto fits = [&] { return off <= allowed(s, i) || (!std::isfinite(off) && finite_by_chance_.contains({s.what, i})); };
  if (fits()) return true;
  if (variants_ == kMostVariants) return false;
  variants_ = kMostVariants;
  allowed_.reset();
  return fits();
}

std::optional<std::string> Allowance::difference(const std::vector<Seen>& want, const std::vector<Seen>& got) {
  for (std::size_t k = 0; k < std::max(want.size(), got.size()); k++) {
    if (k >= want.size() || k >= got.size() || want[k].what != got[k].what)
      return text(k < want.size() ? want[k].what : got[k].what, " is seen on one side only");
    const Seen &w = want[k], &g = got[k];
    if (w.facts != g.facts) return text(w.what, ": eager ", w.facts, "; got ", g.facts);
    if (!w.values.defined()) continue;  // nobody may read it
    const auto both = [&](double off, std::size_t i) {
      return text(w.what, ": eager ", values_text(w.values), ", got ", values_text(g.values), ", element ", i, " off by ", off,
                  " of ", allowed(w, i));
    };
    if (!is_differentiable(w.values.dtype())) {
      const std::vector<int64_t> x = w.values.to_vector<int64_t>(), y = g.values.to_vector<int64_t>();
      if (x != y) return both(0, static_cast<std::size_t>(std::mismatch(x.begin(), x.end(), y.begin()).first - x.begin()));
      continue;
    }
    const std::vector<double> x = numbers(w.values), y = numbers(g.values);
    const double unit = unit_of(w.values.dtype());
    for (std::size_t i = 0; i < x.size(); i++) {
      if (same(x[i], y[i])) continue;
      const double off = std::abs(x[i] - y[i]);
      if (std::isfinite(off) && off <= 2 * unit * std::abs(x[i])) continue;
      if (!is_allowed(off, w, i)) return both(off, i);
    }
  }
  return std::nullopt;
}

std::optional<std::string> aliasing_difference(const Outcome& want, const Outcome& got) {
  const NoGrad no_grad;
  for (std::size_t k = 0; k < want.results.size(); k++) {
    if (is_two_tensor(want.results[k]) || may_overlap(want.results[k]->geom)) continue;
    if (is_stand_in(*want.results[k]->storage)) continue;  // which nobody may write
    Tensor x = want.results[k].detach(), y = got.results[k].detach();
    if (may_overlap(y->geom)) return text("result ", k, " overlaps itself");
    const std::vector<Seen> before = seen_values(want), before_got = seen_values(got);
    double step = x.dtype() == DType::bf16 ? 64 : 2, most = 0;  // a step that no rounding takes back
    if (is_differentiable(x.dtype()))
      for (const double v : numbers(x)) most = std::isfinite(v) ? std::max(most, std::abs(v)) : most;
    while (step < 4 * unit_of(x.dtype()) * most) step *= 2;
    for (Tensor* t : {&x, &y}) {
      if (t->dtype() == DType::b8) aten_value<"logical_not_">(*t);
      else if (is_differentiable(t->dtype())) t->add_(Scalar(step));
      else t->add_(Scalar(2));
    }
    const auto a = changed(before, seen_values(want)), b = changed(before_got, seen_values(got));
    for (std::size_t i = 0; i < a.size(); i++)
      if (!a[i].empty() && a[i] != b[i]) return text("a write to result ", k, " changes other elements of ", before[i].what);
  }
  return std::nullopt;
}

}  // namespace ingot::testing
