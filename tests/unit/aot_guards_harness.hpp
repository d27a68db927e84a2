// Calls of a compiled function beside eager's, and what a call that breaks a guard is to do.
#pragma once
#include <algorithm>
#include <cmath>

#include "aot/guards.hpp"
#include "support/aot_harness.hpp"
#include "support/tracked.hpp"

namespace ingot::aot {

inline Tensor at(const Tree& a, std::size_t k) { return a[k].leaf().tensor(); }
// One to n, and so on.
inline Tensor counted(const Shape& sizes, DType dtype = float32) { return arange(1, sizes.product() + 1).to(dtype).view(sizes); }

// What the call writes to stderr with INGOT_LOG=guards.
inline std::string log_of(const std::function<void()>& f) {
  ::setenv("INGOT_LOG", "guards", 1);
  ::testing::internal::CaptureStderr();
  try {
    f();
  } catch (...) {
    ::unsetenv("INGOT_LOG");
    ::testing::internal::GetCapturedStderr();
    throw;
  }
  ::unsetenv("INGOT_LOG");
  return ::testing::internal::GetCapturedStderr();
}

// ---- one call, as a caller sees it

struct Arguments {
  Tree arguments;
  TensorList leaves = {};  // whose gradients are looked at, beside the arguments
};
using Make = std::function<Arguments()>;
using Around = std::function<void(const std::function<void()>&)>;

struct Seen {
  Values arguments, outputs;
  TensorList grads;
};

inline Seen seen_of(const TreeFunction& f, const Make& make, const Around& around) {
  Seen s;
  const Arguments made = make();
  s.arguments = flatten(made.arguments).leaves;
  const auto run = [&] {
    s.outputs = flatten(f(made.arguments)).leaves;
    for (const Value& v : s.outputs)
      if (v.is_tensor() && requires_grad(v.tensor()) && !is_leaf(v.tensor())) backward({v.tensor().sum()}, {}, true);
  };
  if (around) around(run);
  else run();
  TensorList leaves = made.leaves;
  for (const Value& v : s.arguments)
    if (v.is_tensor() && is_leaf(v.tensor())) leaves.push_back(v.tensor());
  for (const Tensor& t : leaves) s.grads.push_back(t.grad());
  return s;
}

class AotGuards : public AotHarness {
 protected:
  static void expect_same_value(const Value& want, const Value& found, const std::string& what) {
    ASSERT_EQ(want.kind_name(), found.kind_name()) << what;
    if (!want.is_tensor()) {
      EXPECT_EQ(to_text(want), to_text(found)) << what;
      return;
    }
    const Tensor &w = want.tensor(), &g = found.tensor();
    EXPECT_EQ(requires_grad(w), requires_grad(g)) << what;
    EXPECT_EQ(is_leaf(w), is_leaf(g)) << what;
    EXPECT_EQ(to_text(w.strides()), to_text(g.strides())) << what;
    EXPECT_EQ(w.dtype(), g.dtype()) << what;
    expect_same(w, g, what);
  }

  static void expect_same_call(const Seen& want, const Seen& found, const std::string& what) {
    ASSERT_EQ(want.outputs.size(), found.outputs.size()) << what;
    for (std::size_t k = 0; k < want.outputs.size(); k++) {
      expect_same_value(want.outputs[k], found.outputs[k], text(what, ": output ", k));
      for (std::size_t i = 0; i < want.arguments.size() && want.outputs[k].is_tensor(); i++) {
        if (!want.arguments[i].is_tensor()) continue;
        const auto related = [&](const Seen& s) {
          const Tensor &o = s.outputs[k].tensor(), &a = s.arguments[i].tensor();
          return text(o.is_same(a), o->storage == a->storage);
        };
        EXPECT_EQ(related(want), related(found)) << what << ": output " << k << " and argument " << i;
      }
    }
    ASSERT_EQ(want.arguments.size(), found.arguments.size()) << what;
    for (std::size_t k = 0; k < want.arguments.size(); k++)
      expect_same_value(want.arguments[k], found.arguments[k], text(what, ": argument ", k));
    ASSERT_EQ(want.grads.size(), found.grads.size()) << what;
    for (std::size_t k = 0; k < want.grads.size(); k++) expect_same(want.grads[k], found.grads[k], text(what, ": gradient ", k));
  }

  struct Row {
    const char* name;
    TreeFunction f;
    Make first, second;
    std::vector<const char*> words;  // of the guard
    Around around_first = {}, around_second = {};
    AotOptions options = {};
  };

  // The second call breaks what the first one made the compilation assume, and is compiled for.
  // Neither of them is again.
  static void expect_recompiled(const Row& row) {
    SCOPED_TRACE(row.name);
    int forwards = 0;
    AotOptions options = row.options;
    options.forward = [&](std::shared_ptr<const Graph> g, const Values& examples) {
      forwards++;
      return nop(std::move(g), examples);
    };
    options.backward = nop;
    const AotFunction compiled = aot_function(row.f, options);
    const TreeFunction g = [&](const Tree& a) { return compiled(a); };
    expect_same_call(seen_of(row.f, row.first, row.around_first), seen_of(g, row.first, row.around_first), "the first call");
    EXPECT_EQ(compiled.variants(), 1);
    EXPECT_EQ(forwards, 1);
    Seen found;
    const std::string log = log_of([&] { found = seen_of(g, row.second, row.around_second); });
    expect_same_call(seen_of(row.f, row.second, row.around_second), found, "the second call");
    EXPECT_EQ(compiled.variants(), 2);
    EXPECT_EQ(forwards, 2);
    EXPECT_NE(log.find(text("[guards] function ", compiled.id(), " is compiled again, variant 2 of at most 8\n  variant 1: ")),
              std::string::npos)
        << log;
    for (const char* word : row.words) EXPECT_NE(log.find(word), std::string::npos) << word << " in\n" << log;
    for (int k = 0; k < 2; k++) {
      const std::string more = log_of([&] {
        seen_of(g, row.first, row.around_first);
        seen_of(g, row.second, row.around_second);
      });
      EXPECT_EQ(more, "") << "nothing broke";
    }
    EXPECT_EQ(compiled.variants(), 2);
    EXPECT_EQ(forwards, 2);
  }
};

inline Make given(std::function<Tree()> make) {
  return [make] { return Arguments{make()}; };
}
inline Make tensors(std::function<TensorList()> make) {
  return [make] {
    const TensorList l = make();
    return Arguments{Tree::tuple({l.begin(), l.end()})};
  };
}
inline Make value(Value v) {
  return given([v] { return Tree::tuple({counted({3}), Tree(v)}); });
}

// ---- functions

inline TreeFunction adds_to_first() {
  return [](const Tree& a) {
    Tensor(at(a, 0)).add_(1);
    return Tree(at(a, 0) + at(a, 1));
  };
}
inline TreeFunction product() {
  return [](const Tree& a) { return Tree(at(a, 0) * at(a, 1)); };
}
inline TreeFunction twice() {
  return [](const Tree& a) { return Tree(at(a, 0) * 2); };
}
inline TreeFunction view_and_sum() {
  return [](const Tree& a) { return Tree::tuple({at(a, 0).reshape({-1}), at(a, 0).sum()}); };
}
inline TreeFunction by_number() {
  return [](const Tree& a) {
    const Value v = a[1].leaf();
    if (v.is_none()) return Tree(at(a, 0).neg());
    if (v.is_tensor()) return Tree(at(a, 0) + v.tensor());
    if (v.is_string()) return Tree(v.string() == "sin" ? at(a, 0).sin() : at(a, 0).cos());
    if (v.is_bool()) return Tree(v.to_bool() ? at(a, 0).exp() : at(a, 0).log());
    if (v.is_float() && std::isnan(v.to_double())) return Tree(at(a, 0).sqrt());
    return Tree(aten<"mul.Scalar">(at(a, 0), v.to_scalar()));
  };
}

}  // namespace ingot::aot
