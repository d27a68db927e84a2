#include <algorithm>
#include <map>
#include <set>

#include "autograd/meta.hpp"
#include "base/dtype.hpp"
#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "ingot/nn/module.hpp"
#include "io/safetensors.hpp"
#include "nn/gradients.hpp"
#include "nn/named_values.hpp"
#include "nn/training_flag.hpp"
#include "op/call.hpp"

namespace ingot::nn {

Module::Module() : training_(make_ref<TrainingFlag>()) {}
Module::~Module() { training_->end(); }

// f(prefix, module) for this module and all below, parents first.
template <class F>
void Module::visit(const std::string& prefix, const F& f) const {
  f(prefix, *this);
  for (const auto& [name, child] : children_) child->visit(prefix + name + ".", f);
}

void Module::add_parameter(std::string name, Tensor& member, Tensor value) {
  member = std::move(value);
  if (!member.defined()) return;
  member.requires_grad_();
  parameters_.emplace_back(std::move(name), &member);
}
void Module::add_buffer(std::string name, Tensor& member, Tensor value) {
  member = std::move(value);
  if (member.defined()) buffers_.emplace_back(std::move(name), &member);
}

NamedTensors Module::named_parameters(bool every_name) const {
  NamedTensors r;
  std::set<TensorImpl*> seen;
  visit("", [&](const std::string& prefix, const Module& m) {
    for (const auto& [name, t] : m.parameters_)
      if (seen.insert(t->impl()).second || every_name) r.emplace_back(prefix + name, *t);
  });
  return r;
}
TensorList Module::parameters() const {
  TensorList r;
  for (auto& [name, t] : named_parameters()) r.push_back(t);
  return r;
}
NamedTensors Module::named_buffers() const {
  NamedTensors r;
  visit("", [&](const std::string& prefix, const Module& m) {
    for (const auto& [name, t] : m.buffers_) r.emplace_back(prefix + name, *t);
  });
  return r;
}
NamedTensors Module::state() const {
  NamedTensors r = named_parameters();
  for (auto& b : named_buffers()) r.push_back(std::move(b));
  return r;
}

std::vector<const Tensor*> Module::members() const {
  std::vector<const Tensor*> r;
  for (const auto list : {&Module::parameters_, &Module::buffers_})
    visit("", [&](const std::string&, const Module& m) {
      for (const auto& [name, t] : m.*list) r.push_back(t);
    });
  return r;
}
std::vector<const Module*> Module::modules() const {
  std::vector<const Module*> r;
  visit("", [&](const std::string&, const Module& m) { r.push_back(&m); });
  return r;
}

StateScope::StateScope(Module& module, const TensorList& state, bool every_name) {
  NamedTensors names = module.named_parameters(every_name);
  for (auto& b : module.named_buffers()) names.push_back(std::move(b));
  INGOT_REQUIRE(names.size() == state.size(), "the module has ", names.size(), " parameters and buffers, found ", state.size(),
                " tensors for them");
  std::map<TensorImpl*, Tensor> replacement;  // shared parameters stay shared
  for (std::size_t i = 0; i < state.size(); i++) {
    INGOT_REQUIRE(state[i].defined() && state[i].sizes() == names[i].second.sizes(), names[i].first, " has size ",
                  names[i].second.sizes(), ", found ", state[i].defined() ? to_text(state[i].sizes()) : std::string("no tensor"));
    replacement.emplace(names[i].second.impl(), state[i]);
  }
  std::size_t k = 0;
  const auto install = [&](Tensor* member) {
    old_.emplace_back(member, *member);
    *member = every_name ? state[k++] : replacement.at(member->impl());
  };
  const auto install_all = [&](auto list) {
    module.visit("", [&](const std::string&, const Module& m) {
      for (const auto& [name, t] : m.*list) install(t);
    });
  };
  install_all(&Module::parameters_);
  install_all(&Module::buffers_);
}
StateScope::~StateScope() {
  for (auto& [member, value] : old_) *member = value;
}

AttributeScope::AttributeScope(Module& module) {
  module.visit("", [&](const std::string& prefix, const Module& m) {
    for (const auto& [name, t] : m.attributes_) attributes_.push_back({prefix + name, t, *t});
  });
}
AttributeScope::~AttributeScope() {
  for (const Attribute& a : attributes_) *a.member = a.before;
}
std::vector<std::string> AttributeScope::assigned() const {
  std::vector<std::string> names;
  for (const Attribute& a : attributes_)
    if (!a.member->is_same(a.before)) names.push_back(a.name);
  return names;
}

void Module::train(bool on) {
  visit("", [&](const std::string&, const Module& m) { m.training_->set(on); });
}
bool Module::is_training() const {
  const TrainingFlag::State state = training_->state();
  TrainingReads::note(training_, state);
  return state == TrainingFlag::State::training;
}
void Module::zero_grad(bool set_to_none) { drop_gradients(parameters(), set_to_none); }

void Module::to(DType dtype) {
  INGOT_REQUIRE(is_floating(dtype) || is_complex(dtype),
                "nn.Module.to only accepts floating point or complex dtypes, but got desired dtype=", dtype);
  const NoGrad no_grad;
  const auto converts = [&](const Tensor& t) { return t.dtype() != dtype && (t.is_floating_point() || t.is_complex()); };
  for (const Tensor& p : parameters()) {  // each once: shared parameters stay shared
    if (converts(p)) set_data(p, p.detach().to(dtype));
    if (const Tensor g = p.grad(); g.defined() && converts(g)) set_data(g, g.detach().to(dtype));
  }
  std::map<TensorImpl*, Tensor> converted;  // shared buffers, too
  visit("", [&](const std::string&, const Module& m) {
    for (const auto& [name, t] : m.buffers_) {
      if (!converts(*t)) continue;
      Tensor& c = converted[t->impl()];
      if (!c.defined()) c = t->to(dtype);
      *t = c;
    }
  });
}

void Module::load_state(const NamedTensors& values) {
  std::map<std::string, Tensor> given(values.begin(), values.end());
  std::string problems;
  NamedTensors mine = named_parameters(true);
  for (auto& b : named_buffers()) mine.push_back(std::move(b));
  std::set<TensorImpl*> found;
  for (const auto& [name, t] : mine)
    if (given.contains(name)) found.insert(t.impl());
  for (const auto& [name, t] : mine) {
    auto it = given.find(name);
    if (it == given.end()) {
      if (!found.contains(t.impl())) problems += text("\n  missing: ", name, " of size ", t.sizes());
    } else if (!(it->second.sizes() == t.sizes()))
      problems += text("\n  size mismatch for ", name, ": expected ", t.sizes(), ", found ", it->second.sizes());
  }
  std::set<std::string> known;
  for (const auto& [name, t] : mine) known.insert(name);
  for (const auto& [name, t] : given)
    if (!known.contains(name)) problems += text("\n  unexpected: ", name, " of size ", t.sizes());
  INGOT_REQUIRE(problems.empty(), "load_state: the values do not fit the module:", problems);
  NoGrad no_grad;
  for (auto& [name, t] : mine)
    if (const auto it = given.find(name); it != given.end()) t.copy_(it->second);
}

void Module::save(const std::string& path) const { save_safetensors(path, state()); }
void Module::load(const std::string& path) { load_state(all_of(SafeTensors::open(path))); }

Sequential::Sequential(std::initializer_list<std::shared_ptr<Layer>> layers) {
  for (const auto& l : layers) append(l);
}
void Sequential::append(std::shared_ptr<Layer> layer) {
  add(std::to_string(layers_.size()), *layer);
  layers_.push_back(std::move(layer));
}
Tensor Sequential::forward(const Tensor& x) {
  Tensor y = x;
  for (auto& l : layers_) y = l->forward(y);
  return y;
}

void no_module(const std::string& name) { throw_user_error(text("the dictionary has no module ", name)); }

ParameterList::ParameterList(const TensorList& parameters) {
  for (const Tensor& p : parameters) append(p);
}
void ParameterList::append(const Tensor& parameter) {
  parameters_.push_back(std::make_unique<Tensor>());
  add_parameter(std::to_string(parameters_.size() - 1), *parameters_.back(), parameter);
}
ParameterDict::ParameterDict(const NamedTensors& parameters) {
  for (const auto& [name, p] : parameters) append(name, p);
}
void ParameterDict::append(const std::string& name, const Tensor& parameter) {
  parameters_.emplace_back(name, std::make_unique<Tensor>());
  add_parameter(name, *parameters_.back().second, parameter);
}
const Tensor& ParameterDict::operator[](const std::string& name) const {
  const auto found = std::ranges::find_if(parameters_, [&](const auto& p) { return p.first == name; });
  INGOT_REQUIRE(found != parameters_.end(), "the dictionary has no parameter ", name);
  return *found->second;
}

}  // namespace ingot::nn
