#include "aot/synthetic_base.hpp"

#include <algorithm>

#include "aot/dedupe.hpp"
#include "aot/inputs.hpp"
#include "base/error.hpp"
#include "ingot/autograd.hpp"

namespace ingot::aot {
namespace {

// R085: what autograd takes for views of one another.
bool are_views_of_one(const Tensor& a, const Tensor& b) {
  const Tensor x = view_base(a), y = view_base(b);
  return a.is_same(b) || (x.defined() && x.is_same(b)) || (y.defined() && y.is_same(a)) ||
         (x.defined() && y.defined() && x.is_same(y));
}

// R086.
Tensor common_base(const TensorList& members) {
  Tensor base;
  for (const Tensor& t : members)
    if (const Tensor b = view_base(t); b.defined()) base = b;
  if (!base.defined()) {
    const Tensor& t = members[0];
    const NoGrad scope;
    return aten<"as_strided">(detached(t), Shape{floor_div(t->storage->nbytes(), t.itemsize())}, Shape{1}, 0);
  }
  for (const Tensor& t : members) {
    const Tensor b = view_base(t);
    INGOT_REQUIRE(b.defined() ? b.is_same(base) : t.is_same(base),
                  "aot_autograd() does not yet handle non-differentiable view input mutations.");
  }
  return base;
}

// R084: with open sizes whether two of them overlap is a guard.
void require_few(const std::vector<std::size_t>& members, const Values& fakes, int most) {
  std::string all, open;
  for (const std::size_t i : members) {
    const Tensor& t = fakes[i].tensor();
    all += text(all.empty() ? "" : ", ", i);
    if (t.sizes().is_symbolic() || t.strides().is_symbolic() || t.storage_offset().is_symbolic())
      open += text(open.empty() ? "" : ", ", i);
  }
  INGOT_REQUIRE(
      static_cast<int>(members.size()) <= most || open.empty(), "Encountered a graph where:\n- ", members.size(),
      " graph inputs all share the same storage (input indices: [", all,
      "])\n- at least one of these aliased inputs was mutated\n"
      "- at least one of these inputs is being compiled with dynamic shapes (indices: [",
      open, "])\nCurrent limit: ", most,
      "\nKillswitch enabled: False\nCompile the function for fixed sizes, or give parameters as such: their sizes stay as they are");
}

void require_views_of_one(const TensorList& members, bool is_train) {
  for (std::size_t k = 0; k + 1 < members.size(); k++) {
    const Tensor &a = members[k], &b = members[k + 1];
    INGOT_REQUIRE(!is_train || (!requires_grad(a) && !requires_grad(b)) || are_views_of_one(a, b),
                  "aot_autograd() does not yet handle non-differentiable view input mutations.");
    INGOT_REQUIRE(a.dtype() == b.dtype(), "aot_autograd() does not yet handle input mutations on views with different dtypes.");
  }
}

}  // namespace

bool definitely_apart(const Tensor& a, const Tensor& b) {
  if (a.is_same(b)) return false;
  if (a.numel() == 0 || b.numel() == 0) return true;
  const bool in_order = a.storage_offset() <= b.storage_offset();
  const Tensor &x = in_order ? a : b, &y = in_order ? b : a;
  if (x.is_contiguous() && y.is_contiguous()) return x.storage_offset() + x.numel() <= y.storage_offset();
  Int last = x.storage_offset();
  for (int d = 0; d < x.dim(); d++) last = last + (x.size(d) - 1) * x.stride(d);
  if (last < y.storage_offset()) return true;
  if (x.dim() != 2 || y.dim() != 2 || !(x.stride(1) == 1) || !(y.stride(1) == 1) || !(x.stride(0) == y.stride(0))) return false;
  const Int s = x.stride(0), d = y.storage_offset() - x.storage_offset();
  if (d < x.size(1)) return false;
  if (s * (x.size(0) - 1) + x.size(1) <= d) return true;
  return mod(d, s) + y.size(1) <= s;
}

SyntheticBase::SyntheticBase(Prepared& p, const std::function<Values(const Values&)>& fake, int most) {
  struct Group {
    const Storage* storage;
    std::vector<std::size_t> members;
  };
  std::vector<Group> groups;
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < p.arguments.size(); i++) {
    if (!p.arguments[i].is_tensor()) {
      others.push_back(i);
      continue;
    }
    const Storage* s = p.arguments[i].tensor()->storage.get();
    const auto known = std::find_if(groups.begin(), groups.end(), [&](const Group& g) { return g.storage == s; });
    if (known == groups.end()) groups.push_back({s, {i}});
    else known->members.push_back(i);
  }
  const auto tensors = [&](const Group& g) {
    TensorList l;
    for (const std::size_t i : g.members) l.push_back(p.arguments[i].tensor());
    return l;
  };
  const auto overlaps = [&](const Group& g) {
    const TensorList l = tensors(g);
    for (std::size_t a = 0; a < l.size(); a++)
      for (std::size_t b = a + 1; b < l.size(); b++)
        if (!l[a].is_same(l[b]) && !definitely_apart(l[a], l[b])) return true;
    return false;
  };
  const auto needs_base = [&](const Group& g) {
    const bool is_written =
        std::any_of(g.members.begin(), g.members.end(), [&](std::size_t i) { return p.meta.inputs[i].mutates_data; });
    return g.members.size() > 1 && is_written && overlaps(g);
  };
  std::vector<Argument> bases, rest;
  for (const std::size_t i : others) rest.push_back({{i}});
  for (const Group& g : groups) {
    if (needs_base(g)) {
      require_few(g.members, p.fakes, most);
      require_views_of_one(tensors(g), p.meta.is_train);
      bases.push_back({g.members, true});
    } else {
      for (const std::size_t i : g.members) rest.push_back({{i}});
    }
  }
  if (bases.empty()) return;
  // R090
  INGOT_REQUIRE(
      !p.meta.has_wrappers,
      "Encountered aliased inputs that are mutated in the graph, but at least one input/output to the graph is a tensor subclass. "
      "This is not supported today. You can try to remove the aliasing yourself as a workaround, or otherwise file an issue on github.");
  state_.arguments = std::move(bases);
  state_.arguments.insert(state_.arguments.end(), rest.begin(), rest.end());

  struct Place {
    std::size_t argument;
    bool is_view;
    Shape sizes, strides;
    Int offset;
  };
  const Values fakes = p.fakes;
  p.arguments = bases_and_others(p.arguments);
  p.fakes = fake(p.arguments);
  separate_repeats(p.fakes);
  std::vector<Place> places(fakes.size());
  for (std::size_t k = 0; k < state_.arguments.size(); k++)
    for (const std::size_t i : state_.arguments[k].members) {
      if (!state_.arguments[k].is_base) {
        places[i] = {k, false, {}, {}, 0};
        continue;
      }
      const Tensor& t = fakes[i].tensor();
      // A member is no argument any more whose sizes could be open: it is the part of the base that
      // it is now, and a guard says so.
      places[i] = {k, true, Shape(t.sizes().values()), Shape(t.strides().values()), t.storage_offset().value()};
      if (p.meta.inputs[i].mutates_metadata) state_.looks_changed.push_back(i);
    }
  std::sort(state_.looks_changed.begin(), state_.looks_changed.end());
  p.f = [f = p.f, places, changed = state_.looks_changed](const Values& given) {
    Values all;
    for (const Place& at : places)
      all.push_back(at.is_view ? Value(aten<"as_strided">(given[at.argument].tensor(), at.sizes, at.strides, at.offset))
                               : given[at.argument]);
    Values outputs = f(all);
    for (const std::size_t i : changed) outputs.push_back(all[i]);
    return outputs;
  };
  p.collect_again();
}

std::optional<Metadata> SyntheticBase::expected_record(const Metadata& before, const Prepared& now) const {
  if (!changes_arguments()) return {};
  const auto has_tangent = [](const InputInfo& i) {
    return i.mutation() == Mutation::out_of_graph && i.mutates_data && i.requires_grad;
  };
  Metadata m = before;
  m.inputs.clear();
  m.tangents.clear();
  std::vector<int> place(before.inputs.size());
  std::vector<bool> in_base(before.inputs.size());
  std::vector<Tensor> tangent_of(before.inputs.size());
  std::size_t tangents = 0;
  for (std::size_t i = 0; i < before.inputs.size(); i++)
    if (has_tangent(before.inputs[i])) tangent_of[i] = before.tangents[tangents++];
  for (std::size_t k = 0; k < state_.arguments.size(); k++) {
    const Argument& a = state_.arguments[k];
    InputInfo info = before.inputs[a.members[0]];
    for (const std::size_t i : a.members) {
      place[i] = static_cast<int>(k);
      in_base[i] = a.is_base;
    }
    if (a.is_base) {
      const auto all_written = [&](bool InputInfo::* flag) {
        return std::all_of(a.members.begin(), a.members.end(),
                           [&](std::size_t i) { return !before.inputs[i].mutates_data || before.inputs[i].*flag; });
      };
      const auto any = [&](bool InputInfo::* flag) {
        return std::any_of(a.members.begin(), a.members.end(), [&](std::size_t i) { return before.inputs[i].*flag; });
      };
      info.is_leaf = is_leaf(now.fakes[k].tensor());
      info.mutates_data = true;
      info.mutates_metadata = info.mutates_storage_metadata = false;
      info.resizes_storage = any(&InputInfo::resizes_storage);
      info.hidden_from_autograd = all_written(&InputInfo::hidden_from_autograd);
      info.under_no_grad = all_written(&InputInfo::under_no_grad);
      info.requires_grad = any(&InputInfo::requires_grad);
      info.steps.clear();
    }
    if (has_tangent(info)) {
      const Tensor& like = a.is_base ? now.fakes[k].tensor() : tangent_of[a.members[0]];
      m.tangents.push_back(make_tensor(Geometry::contiguous(like.sizes(), like.dtype()), like.device(), true));
    }
    m.inputs.push_back(std::move(info));
  }
  m.tangents.insert(m.tangents.end(), before.tangents.begin() + static_cast<std::ptrdiff_t>(tangents), before.tangents.end());
  for (OutputInfo& o : m.outputs) {
    if (!o.base_is_input()) continue;
    const auto i = static_cast<std::size_t>(o.base);
    if (in_base[i] && o.kind == OutputKind::is_input) o.kind = OutputKind::alias_of_input;
    o.base = place[i];
  }
  for (const std::size_t i : state_.looks_changed) {
    OutputInfo o;
    o.kind = OutputKind::alias_of_input;
    o.is_tensor = true;
    o.base = place[i];
    o.requires_grad = before.inputs[i].requires_grad;
    if (m.outputs.size() < now.meta.outputs.size()) o.dynamic_dims = now.meta.outputs[m.outputs.size()].dynamic_dims;
    m.outputs.push_back(std::move(o));
  }
  return m;
}

std::vector<std::vector<std::size_t>> SyntheticBase::bases() const {
  std::vector<std::vector<std::size_t>> found;
  for (const Argument& a : state_.arguments)
    if (a.is_base) found.push_back(a.members);
  return found;
}

Values SyntheticBase::bases_and_others(const Values& given) const {
  Values all;
  for (const Argument& a : state_.arguments) {
    if (!a.is_base) {
      all.push_back(given[a.members[0]]);
      continue;
    }
    TensorList members;
    for (const std::size_t i : a.members) {
      members.push_back(given[i].tensor());
      INGOT_REQUIRE(members.back()->storage == members[0]->storage, "the function was compiled for arguments ", a.members[0],
                    " and ", i,  // R091
                    " that share memory, and now they do not; compile it again for these");
    }
    all.push_back(common_base(members));
  }
  return all;
}

FlatCallable SyntheticBase::around(FlatCallable inner) const {
  if (state_.arguments.empty()) return inner;
  return [inner = std::move(inner), self = *this](Values given) {
    Values changed, bases = self.bases_and_others(given);
    for (const std::size_t i : self.state_.looks_changed) changed.push_back(given[i]);
    given.clear();
    Values outputs = inner(std::move(bases));
    const std::size_t count = outputs.size() - self.state_.looks_changed.size();
    for (std::size_t k = 0; k < self.state_.looks_changed.size(); k++) {
      const Tensor& t = outputs[count + k].tensor();
      aten_value<"as_strided_">(changed[k], t.sizes(), t.strides(), t.storage_offset());
    }
    outputs.resize(count);
    // The function changed the looks before it took the views that it returns.
    for (const Value& v : outputs)
      if (const AutogradMeta* m = v.is_tensor() && !self.state_.looks_changed.empty() ? autograd_meta(v.tensor()) : nullptr;
          m && m->view)
        m->view->attr_version = v.tensor()->storage->version();
    return outputs;
  };
}

}  // namespace ingot::aot
