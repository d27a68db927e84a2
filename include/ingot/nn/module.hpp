// Modules: what has parameters, buffers and a mode, and modules made of modules.
#pragma once
#include <initializer_list>
#include <memory>

#include "ingot/nn/named_tensors.hpp"
#include "ingot/ref.hpp"

namespace ingot::nn {

class TrainingFlag;

class Module {
 public:
  Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  virtual ~Module();

  // Depth first, in the order of registration; "encoder.weight". A tensor registered twice is
  // listed once, or under `every_name`.
  NamedTensors named_parameters(bool every_name = false) const;
  TensorList parameters() const;
  NamedTensors named_buffers() const;
  NamedTensors state() const;  // parameters and buffers that are saved
  // Where they are kept: the tensors of named_parameters(true), then of named_buffers(), whichever
  // tensors these are by then.
  std::vector<const Tensor*> members() const;
  std::vector<const Module*> modules() const;  // this one and all below, parents first

  void train(bool on = true);
  void eval() { train(false); }
  // A function that asks while it is compiled (aot_function) is compiled again once the answer is
  // another.
  bool is_training() const;
  // What is_training() tells, for who wants to look again later: it outlives the module.
  const Ref<TrainingFlag>& training_flag() const { return training_; }
  void zero_grad(bool set_to_none = true);  // drops every parameter's gradient, or fills it with zeros
  // Converts floating and complex parameters, with their gradients, and buffers; `dtype` is
  // floating or complex. Parameters stay the tensors they are: an optimizer made before goes on
  // with them. Buffers become other tensors.
  void to(DType dtype);

  // Copies values into the parameters and buffers. User error listing every missing, unexpected or
  // misshapen name; a tensor of several names needs one of them, and takes what its last has.
  void load_state(const NamedTensors& values);
  void save(const std::string& path) const;  // safetensors
  void load(const std::string& path);

 protected:
  void add(std::string name, Module& child) { children_.emplace_back(std::move(name), &child); }
  void add_parameter(std::string name, Tensor& member, Tensor value);  // an undefined value: the module has none
  void add_buffer(std::string name, Tensor& member, Tensor value);
  // A member that is neither, and no part of the state. Known by its name, it can be watched
  // (AttributeScope).
  void add_attribute(std::string name, Tensor& member) { attributes_.emplace_back(std::move(name), &member); }

 private:
  std::vector<std::pair<std::string, Module*>> children_;
  std::vector<std::pair<std::string, Tensor*>> parameters_, buffers_, attributes_;
  Ref<TrainingFlag> training_;
  template <class F> void visit(const std::string& prefix, const F& f) const;
  friend class StateScope;
  friend class AttributeScope;
};

// In the scope the module's parameters and buffers are `state`, in the order of Module::state(): a
// module as a function of its state. What a forward writes into a buffer is written into these
// tensors. With `every_name` the parameters are those of named_parameters(true), and each name has
// the tensor given for it, also where the names stood for one tensor.
class StateScope {
 public:
  StateScope(Module& module, const TensorList& state, bool every_name = false);
  ~StateScope();
  StateScope(const StateScope&) = delete;
  StateScope& operator=(const StateScope&) = delete;

 private:
  std::vector<std::pair<Tensor*, Tensor>> old_;
};

// At the end of the scope the tensors that were added as attributes are again what they were at its
// beginning.
class AttributeScope {
 public:
  explicit AttributeScope(Module& module);
  ~AttributeScope();
  AttributeScope(const AttributeScope&) = delete;
  AttributeScope& operator=(const AttributeScope&) = delete;

  std::vector<std::string> assigned() const;  // names of those that are other tensors now

 private:
  struct Attribute {
    std::string name;
    Tensor* member;
    Tensor before;
  };
  std::vector<Attribute> attributes_;
};

// A module of one tensor to one tensor.
class Layer : public Module {
 public:
  virtual Tensor forward(const Tensor& x) = 0;
  Tensor operator()(const Tensor& x) { return forward(x); }
};

class Sequential : public Layer {
 public:
  Sequential(std::initializer_list<std::shared_ptr<Layer>> layers);
  Tensor forward(const Tensor& x) override;
  void append(std::shared_ptr<Layer> layer);
  std::size_t size() const { return layers_.size(); }
  Layer& operator[](std::size_t i) const { return *layers_.at(i); }

 private:
  std::vector<std::shared_ptr<Layer>> layers_;
};
// nn::Sequential net{nn::make<nn::Linear>(4, 8), nn::make<nn::ReLU>()};
template <class T, class... A>
std::shared_ptr<Layer> make(A&&... args) {
  return std::make_shared<T>(std::forward<A>(args)...);
}

[[noreturn]] void no_module(const std::string& name);  // user error: a dictionary has none of this name

// Modules by number ("0.weight"), and by name; who has them says what is done with them.
template <class T = Layer>
class ModuleList : public Module {
 public:
  ModuleList(std::initializer_list<std::shared_ptr<T>> modules = {}) {
    for (const auto& m : modules) append(m);
  }
  void append(std::shared_ptr<T> module) {
    add(std::to_string(modules_.size()), *module);
    modules_.push_back(std::move(module));
  }
  std::size_t size() const { return modules_.size(); }
  T& operator[](std::size_t i) const { return *modules_.at(i); }
  auto begin() const { return modules_.begin(); }
  auto end() const { return modules_.end(); }

 private:
  std::vector<std::shared_ptr<T>> modules_;
};
template <class T = Layer>
class ModuleDict : public Module {
 public:
  using Named = std::pair<std::string, std::shared_ptr<T>>;
  ModuleDict(std::initializer_list<Named> modules = {}) {
    for (const auto& [name, m] : modules) append(name, m);
  }
  void append(const std::string& name, std::shared_ptr<T> module) {
    add(name, *module);
    modules_.emplace_back(name, std::move(module));
  }
  std::size_t size() const { return modules_.size(); }
  T& operator[](const std::string& name) const {
    for (const auto& [n, m] : modules_)
      if (n == name) return *m;
    no_module(name);
  }
  auto begin() const { return modules_.begin(); }
  auto end() const { return modules_.end(); }

 private:
  std::vector<Named> modules_;
};

// Parameters by number and by name.
class ParameterList : public Module {
 public:
  ParameterList(const TensorList& parameters = {});
  void append(const Tensor& parameter);
  std::size_t size() const { return parameters_.size(); }
  const Tensor& operator[](std::size_t i) const { return *parameters_.at(i); }

 private:
  std::vector<std::unique_ptr<Tensor>> parameters_;
};
class ParameterDict : public Module {
 public:
  ParameterDict(const NamedTensors& parameters = {});
  void append(const std::string& name, const Tensor& parameter);
  std::size_t size() const { return parameters_.size(); }
  const Tensor& operator[](const std::string& name) const;

 private:
  std::vector<std::pair<std::string, std::unique_ptr<Tensor>>> parameters_;
};

}  // namespace ingot::nn
