#include "support/refusal_conditions.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "autograd/meta.hpp"
#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "tensor/geometry.hpp"
#include "tensor/impl.hpp"
#include "transform/functional.hpp"

namespace ingot::testing {

bool looks_past_inputs(const Program& p, std::size_t setting, bool apart) {
  TensorList pool = make_inputs(p, {.gradients = false, .setting = setting}).inputs;
  std::vector<std::optional<int64_t>> reached;  // by value, the bytes that its input or inputs have
  for (const Tensor& t : pool) {
    int64_t furthest = 0;
    for (const Tensor& other : pool)
      if (apart ? other.is_same(t) : other->storage == t->storage)
        furthest = std::max(furthest, required_bytes(other->geom).value());
    reached.emplace_back(furthest);
  }
  manual_seed(p.seed);
  for (const Step& s : p.body) {
    execute(s, pool);
    if (pool.size() == reached.size()) continue;
    const auto base = static_cast<std::size_t>(s.args[0].tensors.at(0));
    const bool is_view = pool.back()->storage == pool[base]->storage;
    reached.resize(pool.size(), is_view ? reached[base] : std::nullopt);
    const Op* op = find_op(s.op);
    if (op && op->def->view.from_storage && reached.back() && required_bytes(pool.back()->geom).value() > *reached.back())
      return true;
  }
  return false;
}

bool looks_past_its_tensor(const Program& p, std::size_t setting) {
  TensorList pool = make_inputs(p, {.gradients = false, .setting = setting}).inputs;
  manual_seed(p.seed);
  for (const Step& s : p.body) {
    const std::size_t before = pool.size();
    execute(s, pool);
    const Op* op = find_op(s.op);
    if (pool.size() == before || !op || !op->def->view.from_storage) continue;
    if (!looks_within(pool.back()->geom, pool[static_cast<std::size_t>(s.args[0].tensors.at(0))]->geom)) return true;
  }
  return false;
}

ResizedInputs resized_inputs(const Program& p, std::size_t setting) {
  TensorList pool = make_inputs(p, {.gradients = false, .setting = setting}).inputs;
  const TensorList inputs = pool;
  const bool is_open = !p.settings[0].empty();
  ResizedInputs r;
  manual_seed(p.seed);
  for (const Step& s : p.body) {
    std::vector<std::pair<int64_t, int64_t>> before;  // the bytes that are there, and the elements
    std::vector<Shape> sizes;
    for (const Tensor& t : inputs) {
      int64_t bytes = is_open ? 0 : t->storage->nbytes().value();
      for (const Tensor& other : inputs)
        if (other->storage == t->storage) bytes = std::max(bytes, required_bytes(other->geom).value());
      before.emplace_back(bytes, t.numel().value());
      sizes.push_back(t.sizes());
    }
    execute(s, pool);
    for (std::size_t i = 0; i < inputs.size() && s.out >= 0; i++) {
      r.larger = r.larger || required_bytes(inputs[i]->geom).value() > before[i].first;
      r.smaller = r.smaller || inputs[i].numel().value() < before[i].second;
      r.reshaped = r.reshaped || !inputs[i].sizes().same(sizes[i]);
    }
  }
  return r;
}

Conditions conditions_of(const Program& p, const InputOptions& options) {
  Conditions c;
  TensorList pool = make_inputs(p, options).inputs;
  const TensorList inputs = pool;
  // By value, what the way from what lives on its storage to it has. An input that looks otherwise
  // afterwards is recorded as a view, and so is one of several on one storage.
  struct Way {
    bool is_view = false, by_places = false;
  };
  std::vector<Way> ways(pool.size());
  // By input, whether the others, or nobody, have elements of its storage; of what is not row-major
  // open sizes may not tell.
  std::vector<bool> is_part(inputs.size());
  const bool changes_looks = std::ranges::any_of(p.body, [](const Step& s) {
    const Op* op = find_op(s.op);
    return s.out >= 0 || (op && op->is_inplace_view());
  });
  for (std::size_t i = 0; i < inputs.size(); i++) {
    const bool is_shared = std::ranges::count_if(inputs, [&](const Tensor& t) { return t->storage == inputs[i]->storage; }) > 1;
    ways[i].is_view = is_shared || changes_looks;
    c.refers_to_places |= is_shared;
    const Tensor& t = inputs[i];
    is_part[i] = is_shared || !t.is_contiguous() || t.storage_offset().value() != 0 ||
                 t.numel().value() * t.itemsize() != t->storage->nbytes().value();
  }
  const auto looks_past = [&](const Tensor& t, const Geometry& from) {
    if (!looks_within(t->geom, from)) return true;
    for (std::size_t i = 0; i < inputs.size(); i++)
      if (inputs[i]->storage == t->storage && is_part[i]) return true;
    return false;
  };
  manual_seed(p.seed);
  for (const Step& s : p.body) {
    std::vector<Geometry> before;
    for (const Tensor& t : pool) before.push_back(t->geom);
    try {
      execute(s, pool, options.run);
    } catch (const UserError&) {
      return c;
    }
    const Op* op = find_op(s.op);
    const bool by_places = op && op->def->view.from_storage, is_inplace_view = op && op->is_inplace_view();
    c.refers_to_places |= by_places || s.out >= 0;
    // A program of other ops may end with a view of what it made.
    ways.resize(pool.size(), {.is_view = op && op->form() == Form::composite});
    std::vector<std::size_t> written;
    if (s.out >= 0) written.push_back(static_cast<std::size_t>(s.out));
    for (std::size_t a = 0; a < s.args.size(); a++)
      for (const int arg : s.args[a].tensors) {
        if (arg < 0) continue;
        const auto of = static_cast<std::size_t>(arg);
        if (s.out < 0 && op && std::ranges::count(op->written, static_cast<int8_t>(a)) > 0) written.push_back(of);
        for (std::size_t k = before.size(); k < pool.size(); k++) {
          if (pool[k]->storage != pool[of]->storage) continue;
          const bool is_it = pool[k].is_same(pool[of]);
          ways[k].is_view |= !is_it || ways[of].is_view;
          ways[k].by_places |= ways[of].by_places || (by_places && ways[of].is_view);
          c.looks_past |= by_places && looks_past(pool[k], before[of]);
        }
      }
    for (const std::size_t w : written) {
      const Tensor& target = pool[w];
      const bool is_laid_anew = is_inplace_view || (s.out >= 0 && !target->geom.same(before[w]));
      for (std::size_t k = 0; k < pool.size() && is_laid_anew; k++) {
        if (!pool[k].is_same(target)) continue;
        ways[k].by_places |= (by_places || s.out >= 0) && ways[k].is_view;
        ways[k].is_view = true;
      }
      c.looks_past |= is_laid_anew && (by_places || s.out >= 0) && looks_past(target, before[w]);
      c.writes_by_places |= !is_inplace_view && ways[w].by_places;
      c.grows |= s.out >= 0 && required_bytes(target->geom).value() > required_bytes(before[w]).value();
      c.turns_leaf |= (is_inplace_view || s.out >= 0) && target.is_leaf() && target.requires_grad();
    }
    for (const Tensor& t : pool) c.refers_to_places |= may_overlap(t->geom);
  }
  return c;
}

bool shares_storage_of_inputs(const Program& p, std::size_t setting) {
  const TensorList inputs = make_inputs(p, {.setting = setting}).inputs;
  return std::ranges::any_of(inputs, [&](const Tensor& a) {
    return std::ranges::count_if(inputs, [&](const Tensor& b) { return a->storage == b->storage; }) > 1;
  });
}
bool makes_history_on_inputs(const Program& p, std::size_t setting) {
  const auto base_of = [](const Tensor& t) {
    const AutogradMeta* m = autograd_meta(t);
    return m && m->view ? m->view->base : t;
  };
  const ResizedInputs resized = resized_inputs(p, setting);
  const bool any_is_resized = resized.larger || resized.smaller || resized.reshaped;
  const TensorList inputs = make_inputs(p, {.setting = setting}).inputs;
  manual_seed(p.seed);
  const TensorList results = run(p, inputs);
  return std::ranges::any_of(results, [&](const Tensor& r) {
    return r.requires_grad() && std::ranges::any_of(inputs, [&](const Tensor& t) {
             return t->storage == r->storage && (any_is_resized || !base_of(r).is_same(base_of(t)));
           });
  });
}

}  // namespace ingot::testing
