// The M-check of the dispatch specification: a module as a function of its parameters, buffers and
// arguments, in training and in evaluation, agrees with itself compiled (M01 to M03).
#pragma once
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "aot/module.hpp"
#include "exhaustive/exhaustive_check.hpp"
#include "ingot/nn.hpp"

namespace ingot::aot {

struct ModuleSample {
  std::string name;  // begins with the module's own
  std::shared_ptr<nn::Module> module;
  TensorFunction forward;
  TensorList arguments;  // floating ones get gradients
};

// Every module of nn.hpp, and its losses.
std::vector<ModuleSample> nn_modules();

inline CheckResult check_module(const ModuleSample& s, AotOptions options) {
  const ModuleFunction function = as_function(*s.module, [&](const Tree& arguments) {
    TensorList in;
    for (const Tree& t : arguments.children()) in.push_back(t.leaf().tensor());
    const TensorList out = s.forward(in);
    return Tree::list({out.begin(), out.end()});
  });
  options.params_and_buffers = static_cast<int>(function.state.size());
  const auto copy_of = [](const Tensor& t, bool requires_grad) { return t.detach().clone().requires_grad_(requires_grad); };
  const ExhaustiveSample sample{
      .f =
          [&](const TensorList& in) {
            const Tree results = function.f(Tree::list({in.begin(), in.end()}));
            TensorList out;
            for (const Tree& t : results.children()) out.push_back(t.leaf().tensor());
            return out;
          },
      .arguments =
          [&] {
            TensorList l;
            for (const Tensor& t : function.state) l.push_back(copy_of(t, t.requires_grad()));
            for (const Tensor& t : s.arguments) l.push_back(copy_of(t, t.is_floating_point()));
            return l;
          },
  };
  return ExhaustiveCheck(sample, options).run();
}

inline void check_modules(const std::vector<ModuleSample>& samples, const AotOptions& options) {
  for (const ModuleSample& s : samples)
    for (const bool training : {true, false}) {
      s.module->train(training);
      const CheckResult r = check_module(s, options);
      EXPECT_EQ(r.message + r.partly, "") << s.name << (training ? " in training" : " in evaluation");
    }
}

}  // namespace ingot::aot
