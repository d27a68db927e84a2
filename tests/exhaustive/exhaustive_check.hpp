// What the exhaustive suites of the dispatch specification ask of each sample (X02 to X05): a
// function and its compiled form agree in results and gradients, on the data that it is compiled
// with and, the same compiled function, on other data.
#pragma once
#include <algorithm>
#include <functional>
#include <optional>
#include <string>

#include "aot/aot.hpp"
#include "aot/min_cut.hpp"
#include "base/error.hpp"
#include "check/run_case.hpp"
#include "ingot/autograd.hpp"
#include "ingot/ingot.hpp"
#include "tensor/geometry.hpp"

namespace ingot::aot {

// X01, A193 and A194: how operators are compiled.
inline AotOptions static_min_cut() {
  return {.partition = [](const Joint& j) { return partition_min_cut(j); }};
}
inline AotOptions dynamic_min_cut() {
  AotOptions o = static_min_cut();
  o.dynamic = o.debug_assert = true;
  return o;
}

struct ExhaustiveSample {
  TensorFunction f;
  std::function<TensorList()> arguments;  // new tensors of the same values each time: f may write them
  bool other_data = true;  // X05 is asked
};

class ExhaustiveCheck {
 public:
  ExhaustiveCheck(const ExhaustiveSample& sample, const AotOptions& options)
      : sample_(sample), compiled_(aot_function(sample.f, options)) {}

  // Failed: `message` is what is wrong. Skipped: there is nothing to compare (X06), and `message`
  // says why. `partly`: why gradients, or other data, could not be compared.
  CheckResult run() {
    try {
      const std::optional<Side> eager = eagerly(sample_.arguments);
      if (!eager) return skipped(refusal_);
      compare_with(*eager, sample_.arguments, "");
      if (sample_.other_data && result_.message.empty()) compare_on_other_data();
    } catch (const std::exception& e) {
      if (is_dynamic_output_shape(e.what())) return skipped(e.what());
      fail(e.what(), "");
    }
    return result_;
  }

 private:
  struct Side {
    TensorList arguments, outputs, gradients;
  };
  using Arguments = std::function<TensorList()>;

  const ExhaustiveSample& sample_;
  AotFunction compiled_;
  CheckResult result_;
  std::string refusal_;  // eager's

  // X02: gradients of the sum of |sum of an output| with respect to the arguments that require
  // grad.
  static Side differentiate(const TensorFunction& f, const Arguments& make) {
    Side s;
    s.arguments = make();
    manual_seed(0);
    s.outputs = f(s.arguments);
    Tensor total;
    for (const Tensor& t : s.outputs)
      if (t.defined()) total = total.defined() ? total + t.sum().abs() : t.sum().abs();
    TensorList leaves;
    for (const Tensor& t : s.arguments)
      if (t.requires_grad()) leaves.push_back(t);
    INGOT_REQUIRE(total.defined() && !leaves.empty(), "there is nothing to differentiate");
    s.gradients = grad({total}, leaves, {}, {.allow_unused = true});
    return s;
  }

  // Nothing where eager refuses the call or has no gradients of it.
  std::optional<Side> eagerly(const Arguments& make) {
    try {
      return differentiate(sample_.f, make);
    } catch (const UserError& e) {
      refusal_ = e.what();
      return std::nullopt;
    }
  }

  void compare_with(const Side& eager, const Arguments& make, const std::string& when) {
    const TensorFunction compiled = [this](const TensorList& in) { return compiled_(in); };
    if (std::none_of(eager.gradients.begin(), eager.gradients.end(), [](const Tensor& t) { return t.defined(); })) {
      result_.partly = "X03: eager has no gradient";
      return require_no_gradient(compiled, make, when);
    }
    const Side found = differentiate(compiled, make);
    compare_lists("Outputs of the operator are different in eager-mode PyTorch vs AOTAutograd", eager.outputs, found.outputs,
                  when);
    compare_lists("Gradients of the operator are different in eager-mode PyTorch vs AOTAutograd", eager.gradients,
                  found.gradients, when);
    compare_lists("Arguments after the call are different in eager-mode PyTorch vs AOTAutograd", eager.arguments, found.arguments,
                  when);
  }

  // X03
  void require_no_gradient(const TensorFunction& compiled, const Arguments& make, const std::string& when) {
    std::string error = "none";
    try {
      differentiate(compiled, make);
    } catch (const UserError& e) {
      error = e.what();
    }
    if (error.find("does not require grad and does not have a grad_fn") == error.npos)
      fail(text("X03: eager has no gradient, and the compiled function should refuse one; its error is: ", error), when);
  }

  // X04
  void compare_lists(const std::string& fault, const TensorList& want, const TensorList& found, const std::string& when) {
    if (want.size() != found.size()) return fail(text(fault, ": got ", found.size(), ", want ", want.size()), when);
    for (std::size_t k = 0; k < want.size(); k++) {
      const std::string d = difference(want[k], found[k]);
      if (!d.empty()) fail(text(fault, ": number ", k, ": ", d), when);
    }
  }
  static std::string difference(const Tensor& want, const Tensor& found) {
    if (!want.defined()) return found.defined() ? "got a tensor, want None" : "";
    return compare(found, want, tolerance_for(want.dtype(), false, {}, {})).message;  // H13
  }

  // X05. What eager refuses says nothing about the compiled function.
  void compare_on_other_data() {
    const Arguments make = [this] {
      manual_seed(1);
      TensorList l;
      for (const Tensor& t : sample_.arguments()) l.push_back(t.is_floating_point() ? uniform_like(t) : t);
      return l;
    };
    if (const std::optional<Side> eager = eagerly(make)) compare_with(*eager, make, " (X05, on random data)");
    else result_.partly = text("X05: eager refuses random data: ", refusal_);
  }

  // Of the same strides, also where elements share an address.
  static Tensor uniform_like(const Tensor& t) {
    const Tensor elements = rand({required_bytes(t->geom).value() / t.itemsize()}, {.dtype = t.dtype()});
    return make_alias(elements, t->geom).requires_grad_(t.requires_grad());
  }

  void fail(const std::string& what, const std::string& when) {
    result_.outcome = CheckResult::Outcome::failed;
    if (result_.message.empty()) result_.message = what + when;
  }
  CheckResult skipped(const std::string& why) {
    result_.outcome = CheckResult::Outcome::skipped;
    result_.message = text("X06: ", why);
    return result_;
  }
  static bool is_dynamic_output_shape(std::string_view error) {
    return error.find("the size of a result depends on data; it cannot be traced") != error.npos;
  }
};

}  // namespace ingot::aot
