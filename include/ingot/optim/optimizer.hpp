// What optimizers have in common: parameters in groups with options of their own, and state that
// is kept from step to step and can be stored.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ingot/autograd.hpp"
#include "ingot/nn/named_tensors.hpp"

namespace ingot::optim {

// An option by the name that PyTorch's parameter groups have for it, and where it is; one of a pair
// is "betas.0".
using NamedOption = std::pair<const char*, std::variant<double*, bool*, int64_t*, std::optional<double>*>>;
// An option by the same name, and what it is; nothing for an optional one that is not there.
using NamedNumber = std::pair<const char*, std::optional<double>>;

class Optimizer {
 public:
  // User error for no parameters, one given twice, and one that is no leaf.
  explicit Optimizer(TensorList parameters);
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;
  virtual ~Optimizer() = default;
  virtual void step() = 0;
  void zero_grad(bool set_to_none = true);  // drops the gradients, or fills them with zeros

  // ---- groups: those given first are group 0
  std::size_t groups() const { return ends_.size(); }
  TensorList parameters(std::size_t group) const;
  double lr(std::size_t group = 0) const { return option(group, "lr"); }
  void set_lr(double lr);  // of every group
  void set_lr(std::size_t group, double lr) { set_option(group, "lr", lr); }
  // Any number among the options, by its name. User error where there is none of that name.
  bool has_option(std::size_t group, const std::string& name) const;
  double option(std::size_t group, const std::string& name) const;
  void set_option(std::size_t group, const std::string& name, double value);
  // The learning rate that schedulers count from; nothing before a scheduler was made.
  std::optional<double>& initial_lr(std::size_t group) { return initial_lr_.at(group); }

  // ---- state: the numbers and tensors of PyTorch's state_dict, a dot for every level:
  // "state.0.exp_avg", "param_groups.1.lr". An optimizer of the same parameters that loads them
  // goes on with the same bits. Tensors are the ones that step() writes; those that are loaded are
  // copied.
  nn::NamedTensors state() const;
  // User error that lists every name which is missing, unexpected or of another size.
  void load_state(const nn::NamedTensors& values);
  void save(const std::string& path) const;  // safetensors
  void load(const std::string& path);

 protected:
  // What is kept for a parameter; a slot is undefined until a step fills it.
  struct State {
    int64_t step = 0;
    std::array<Tensor, 3> slots;
  };
  // `slots` are the names of what State keeps, `counts` says whether `step` does.
  Optimizer(TensorList parameters, std::vector<const char*> slots, bool counts);
  void add_parameters(TensorList parameters);  // as another group
  std::size_t begin_of(std::size_t group) const { return group ? ends_[group - 1] : 0; }
  std::size_t end_of(std::size_t group) const { return ends_[group]; }

  virtual std::vector<NamedOption> named_options(std::size_t) { return {}; }
  virtual std::vector<NamedNumber> option_numbers(std::size_t) const { return {}; }
  static std::vector<NamedNumber> numbers_of(const std::vector<NamedOption>& options);
  virtual Shape slot_size(std::size_t slot, const Tensor& parameter) const;
  // State that is kept once for all parameters, under "state.0.".
  virtual nn::NamedTensors shared_state() const { return {}; }
  virtual void load_shared_state(const nn::NamedTensors& values);

  TensorList parameters_;
  std::vector<State> states_;  // of each parameter

 private:
  std::vector<const char*> slots_;
  bool counts_ = false;
  std::vector<std::size_t> ends_;
  std::vector<std::optional<double>> initial_lr_;
};

// An optimizer whose groups have these options: an aggregate that says what it refuses (`check`)
// and what it is made of (`named`).
template <class O>
class OptimizerOf : public Optimizer {
 public:
  // Further parameters, with options of their own. User error as of the constructor.
  void add_group(TensorList parameters, O o) {
    o.check();
    add_parameters(std::move(parameters));
    options_.push_back(std::move(o));
  }
  // May be changed from step to step.
  O& options(std::size_t group = 0) { return options_.at(group); }

 protected:
  OptimizerOf(TensorList parameters, O o, std::vector<const char*> slots, bool counts)
      : Optimizer(std::move(parameters), std::move(slots), counts) {
    o.check();
    options_.push_back(std::move(o));
  }
  std::vector<NamedOption> named_options(std::size_t group) override { return options_.at(group).named(); }
  std::vector<NamedNumber> option_numbers(std::size_t group) const override {
    O copy = options_.at(group);  // named() says where to write
    return numbers_of(copy.named());
  }
  // f(options, number of the parameter, parameter, gradient) for every parameter that has a
  // gradient.
  template <class F>
  void each(const F& f) {
    const NoGrad no_grad;
    for (std::size_t group = 0; group < options_.size(); group++)
      for (std::size_t i = begin_of(group); i < end_of(group); i++)
        if (const Tensor gradient = parameters_[i].grad(); gradient.defined()) f(options_[group], i, parameters_[i], gradient);
  }

  std::vector<O> options_;
};

}  // namespace ingot::optim
