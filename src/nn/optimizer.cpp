#include "ingot/optim/optimizer.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "ingot/sparse.hpp"
#include "io/safetensors.hpp"
#include "nn/gradients.hpp"
#include "nn/named_values.hpp"

namespace ingot::optim {

Optimizer::Optimizer(TensorList parameters) : Optimizer(std::move(parameters), {}, false) {}
Optimizer::Optimizer(TensorList parameters, std::vector<const char*> slots, bool counts)
    : slots_(std::move(slots)), counts_(counts) {
  INGOT_REQUIRE(!parameters.empty(), "optimizer got an empty parameter list");
  add_parameters(std::move(parameters));
}

void Optimizer::add_parameters(TensorList parameters) {
  std::set<TensorImpl*> seen, elsewhere;
  for (const Tensor& p : parameters_) elsewhere.insert(p.impl());
  for (std::size_t i = 0; i < parameters.size(); i++) {
    const Tensor& p = parameters[i];
    INGOT_REQUIRE(p.defined(), "optimizer can only optimize Tensors, but parameter ", i, " is undefined");
    INGOT_REQUIRE(p.is_leaf(), "can't optimize a non-leaf Tensor: parameter ", i, " is the result of ", p.grad_fn_name());
    INGOT_REQUIRE(seen.insert(p.impl()).second, "optimizer contains a parameter group with duplicate parameters: parameter ", i,
                  " was given before");
    INGOT_REQUIRE(!elsewhere.contains(p.impl()), "some parameters appear in more than one parameter group: parameter ", i,
                  " is in another group already");
  }
  parameters_.insert(parameters_.end(), parameters.begin(), parameters.end());
  states_.resize(parameters_.size());
  ends_.push_back(parameters_.size());
  initial_lr_.emplace_back();
}

void Optimizer::zero_grad(bool set_to_none) { drop_gradients(parameters_, set_to_none); }

TensorList Optimizer::parameters(std::size_t group) const {
  const auto at = [&](std::size_t i) { return parameters_.begin() + static_cast<std::ptrdiff_t>(i); };
  INGOT_REQUIRE(group < groups(), "the optimizer has ", groups(), " groups, found ", group);
  return TensorList(at(begin_of(group)), at(end_of(group)));
}

// ---- options

std::vector<NamedNumber> Optimizer::numbers_of(const std::vector<NamedOption>& options) {
  std::vector<NamedNumber> numbers;
  for (const auto& [name, option] : options) {
    const auto number = [](const auto* o) -> std::optional<double> {
      if constexpr (requires { o->has_value(); }) return *o;
      else return static_cast<double>(*o);
    };
    numbers.emplace_back(name, std::visit(number, option));
  }
  return numbers;
}
static void set_number(const NamedOption::second_type& option, double value) {
  std::visit([&](auto* o) { *o = static_cast<std::decay_t<decltype(*o)>>(value); }, option);
}
// The one of that name; null where there is none.
template <class Option>
static const Option* find_option(const std::vector<std::pair<const char*, Option>>& options, const std::string& name) {
  const auto found = std::ranges::find_if(options, [&](const auto& o) { return name == o.first; });
  return found == options.end() ? nullptr : &found->second;
}
bool Optimizer::has_option(std::size_t group, const std::string& name) const {
  return find_option(option_numbers(group), name) != nullptr;
}
double Optimizer::option(std::size_t group, const std::string& name) const {
  const std::vector<NamedNumber> numbers = option_numbers(group);
  const auto* o = find_option(numbers, name);
  INGOT_REQUIRE(o, "the optimizer has no option ", name);
  return o->value_or(0);
}
void Optimizer::set_option(std::size_t group, const std::string& name, double value) {
  const std::vector<NamedOption> options = named_options(group);
  const auto* o = find_option(options, name);
  INGOT_REQUIRE(o, "the optimizer has no option ", name);
  set_number(*o, value);
}
void Optimizer::set_lr(double lr) {
  for (std::size_t group = 0; group < groups(); group++) set_lr(group, lr);
}

// ---- state

Shape Optimizer::slot_size(std::size_t, const Tensor& parameter) const { return parameter.sizes(); }
void Optimizer::load_shared_state(const nn::NamedTensors& values) {
  INGOT_REQUIRE(values.empty(), "load_state: unexpected: ", values[0].first);
}

nn::NamedTensors Optimizer::state() const {
  nn::NamedTensors r;
  for (std::size_t group = 0; group < groups(); group++) {
    const std::string prefix = text("param_groups.", group, ".");
    for (const auto& [name, number] : option_numbers(group))
      if (number) r.emplace_back(prefix + name, nn::value_of(*number));
    if (initial_lr_[group]) r.emplace_back(prefix + "initial_lr", nn::value_of(*initial_lr_[group]));
    std::vector<int64_t> numbers;
    for (std::size_t i = begin_of(group); i < end_of(group); i++) numbers.push_back(static_cast<int64_t>(i));
    r.emplace_back(prefix + "params", tensor(numbers));
  }
  for (std::size_t i = 0; i < states_.size(); i++) {
    const std::string prefix = text("state.", i, ".");
    if (counts_ && states_[i].step) r.emplace_back(prefix + "step", nn::value_of(static_cast<double>(states_[i].step)));
    for (std::size_t k = 0; k < slots_.size(); k++)
      if (const Tensor& t = states_[i].slots[k]; t.defined()) r.emplace_back(prefix + slots_[k], to_dense(t));
  }
  for (auto& [name, t] : shared_state()) r.emplace_back("state.0." + name, t);
  return r;
}

void Optimizer::load_state(const nn::NamedTensors& values) {
  std::map<std::string, Tensor> given(values.begin(), values.end());
  std::string problems;
  const auto take = [&](const std::string& name) {
    const auto it = given.find(name);
    Tensor t = it == given.end() ? Tensor() : it->second;
    if (t.defined()) given.erase(it);
    return t;
  };
  const auto has_size = [&](const std::string& name, const Tensor& t, const Shape& size) {
    const bool same = t.sizes() == size;
    if (!same) problems += text("\n  size mismatch for ", name, ": expected ", size, ", found ", t.sizes());
    return same;
  };
  const auto take_number = [&](const std::string& name) -> std::optional<double> {
    const Tensor t = take(name);
    if (!t.defined() || !has_size(name, t, {})) return {};
    return t.item_double();
  };
  std::vector<std::pair<NamedOption::second_type, double>> options;
  std::vector<std::optional<double>*> absent;
  std::vector<std::optional<double>> initial;
  for (std::size_t group = 0; group < groups(); group++) {
    const std::string prefix = text("param_groups.", group, ".");
    for (const auto& [name, option] : named_options(group)) {
      const auto* optional = std::get_if<std::optional<double>*>(&option);
      const bool there = given.contains(prefix + name);
      if (const auto x = take_number(prefix + name)) options.emplace_back(option, *x);
      else if (optional) absent.push_back(*optional);
      else if (!there) problems += text("\n  missing: ", prefix, name);
    }
    initial.push_back(take_number(prefix + "initial_lr"));
    const Tensor numbers = take(prefix + "params");
    if (!numbers.defined()) problems += text("\n  missing: ", prefix, "params");
    else has_size(prefix + "params", numbers, {static_cast<int64_t>(end_of(group) - begin_of(group))});
  }
  std::vector<State> states(states_.size());
  for (std::size_t i = 0; i < states_.size(); i++) {
    const std::string prefix = text("state.", i, ".");
    if (counts_) states[i].step = static_cast<int64_t>(take_number(prefix + "step").value_or(0));
    for (std::size_t k = 0; k < slots_.size(); k++)
      if (const Tensor t = take(prefix + slots_[k]); t.defined() && has_size(prefix + slots_[k], t, slot_size(k, parameters_[i])))
        states[i].slots[k] = t.detach().clone();
  }
  nn::NamedTensors shared;
  for (auto it = given.begin(); it != given.end();)
    if (slots_.empty() && it->first.starts_with("state.0.")) {
      shared.emplace_back(it->first.substr(8), it->second);
      it = given.erase(it);
    } else {
      ++it;
    }
  for (const auto& [name, t] : given) problems += text("\n  unexpected: ", name, " of size ", t.sizes());
  INGOT_REQUIRE(problems.empty(), "load_state: the values do not fit the optimizer:", problems);
  load_shared_state(shared);
  states_ = std::move(states);
  initial_lr_ = std::move(initial);
  for (const auto& [option, value] : options) set_number(option, value);
  for (std::optional<double>* o : absent) o->reset();
}

void Optimizer::save(const std::string& path) const { save_safetensors(path, state()); }
void Optimizer::load(const std::string& path) { load_state(nn::all_of(SafeTensors::open(path))); }

}  // namespace ingot::optim
