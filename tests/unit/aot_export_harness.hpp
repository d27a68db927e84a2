// Modules and calls that the tests of export share.
#pragma once
#include <gtest/gtest.h>

#include "aot/export.hpp"
#include "graph/interpret.hpp"
#include "graph/text.hpp"
#include "graph/verify.hpp"
#include "ingot/autograd.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "support/error_text.hpp"
#include "support/no_leaks.hpp"

namespace ingot::aot {

inline const ExportOptions kPreDispatch{.pre_dispatch = true};

using Function = std::function<TensorList(const TensorList&)>;

inline Tree tuple_of(const TensorList& l) { return Tree::tuple({l.begin(), l.end()}); }
inline TensorList tensors_of(const Tree& t) {
  TensorList l;
  for (const Tree& c : t.children()) l.push_back(c.leaf().tensor());
  return l;
}
inline TreeFunction over_tuple(Function f) {
  return [f = std::move(f)](const Tree& arguments) { return tuple_of(f(tensors_of(arguments))); };
}

// The specification's TestMod: one parameter p, and forward(arguments) = f(p, arguments).
struct TestMod : nn::Module {
  Tensor p;
  explicit TestMod(Function f) : f_(std::move(f)) { add_parameter("p", p, ones({2})); }
  TreeFunction forward() {
    return over_tuple([this](const TensorList& in) {
      TensorList all{p};
      all.insert(all.end(), in.begin(), in.end());
      return f_(all);
    });
  }

 private:
  Function f_;
};

// A module without state.
struct Stateless : nn::Module {};

class AotExport : public NoLeaks {
 protected:
  // Verified: whatever is exported is a program that the rules for graphs allow.
  static Exported exported(nn::Module& m, const TreeFunction& forward, const TensorList& in, const ExportOptions& o = {}) {
    Exported e = aot_export_module(m, forward, tuple_of(in), o);
    verify(e.graph);
    return e;
  }
  static std::string listing(const Function& f, const TensorList& in, const ExportOptions& o = {}) {
    TestMod m(f);
    return print(exported(m, m.forward(), in, o).graph);
  }
  static Exported stateless(const Function& f, const TensorList& in, const ExportOptions& o = {}) {
    Stateless m;
    return exported(m, over_tuple(f), in, o);
  }
  static const Graph& subgraph(const Graph& g, std::string_view name) {
    const Attribute* a = g.find_attribute(name);
    if (!a) throw std::runtime_error("the graph has no " + std::string(name) + ":\n" + print(g));
    return *std::get<std::shared_ptr<const Graph>>(*a);
  }
  static TensorList run(const Graph& g, const TensorList& in) {
    TensorList out;
    for (const Value& v : Interpreter(g).run(Values(in.begin(), in.end()))) out.push_back(v.tensor_or_none());
    return out;
  }
  static void expect_equal(const TensorList& want, const TensorList& found) {
    ASSERT_EQ(want.size(), found.size());
    for (std::size_t k = 0; k < want.size(); k++) {
      ASSERT_EQ(to_text(want[k].sizes()), to_text(found[k].sizes())) << "result " << k;
      const std::vector<double> w = detached(want[k]).to_vector<double>(), f = detached(found[k]).to_vector<double>();
      for (std::size_t i = 0; i < w.size(); i++)
        EXPECT_NEAR(w[i], f[i], 1e-5 + 1.3e-6 * std::abs(w[i])) << "result " << k << " element " << i;
    }
  }

  // The message of each of the three ways to export f over (p, in…): the simple one without and
  // with gradients, and the module.
  static std::vector<std::string> three_errors(const Function& f, const std::function<TensorList()>& inputs,
                                               bool functionalize_rng_ops = false) {
    std::vector<std::string> errors;
    for (const bool joint : {false, true}) {
      TensorList all{ones({2}).requires_grad_()};
      for (const Tensor& t : inputs()) all.push_back(t);
      errors.push_back(error_of([&] {
        aot_export_joint_simple(over_tuple(f), tuple_of(all),
                                {.trace_joint = joint, .functionalize_rng_ops = functionalize_rng_ops});
      }));
    }
    TestMod m(f);
    errors.push_back(error_of(
        [&] { aot_export_module(m, m.forward(), tuple_of(inputs()), {.functionalize_rng_ops = functionalize_rng_ops}); }));
    return errors;
  }
  static void expect_three_errors(const std::string& words, const Function& f, const std::function<TensorList()>& inputs,
                                  bool functionalize_rng_ops = false) {
    for (const std::string& e : three_errors(f, inputs, functionalize_rng_ops)) EXPECT_NE(e.find(words), std::string::npos) << e;
  }
};

}  // namespace ingot::aot
