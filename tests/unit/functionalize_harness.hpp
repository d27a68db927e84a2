// What tests of functionalize have in common: what it makes of a program, as text, and that this
// computes the same.
#pragma once
#include <gtest/gtest.h>

#include <string>

#include "graph/dead_code.hpp"
#include "graph/text.hpp"
#include "graph/trace.hpp"
#include "ingot/ingot.hpp"
#include "ingot/transforms.hpp"
#include "support/error_text.hpp"
#include "support/no_leaks.hpp"

namespace ingot::testing {

class Functionalize : public NoLeaks {};

inline std::string listing(const TensorFunction& f, const TensorList& examples) {
  Traced t = trace(functionalize(f), examples);
  return print(without_dead_code(t.graph));
}

// Runs f and functionalize(f) on copies and compares results and what is left in the arguments.
inline void expect_same(const TensorFunction& f, const TensorList& in) {
  TensorList a, b;
  for (const Tensor& t : in) a.push_back(t.clone()), b.push_back(t.clone());
  const TensorList x = f(a), y = functionalize(f)(b);
  ASSERT_EQ(x.size(), y.size());
  for (std::size_t k = 0; k < x.size(); k++) {
    EXPECT_EQ(x[k].sizes(), y[k].sizes());
    EXPECT_EQ(x[k].to_vector<double>(), y[k].to_vector<double>()) << "result " << k;
  }
  for (std::size_t k = 0; k < a.size(); k++) EXPECT_EQ(a[k].to_vector<double>(), b[k].to_vector<double>()) << "argument " << k;
}

inline Tensor count(const Shape& sizes) { return arange(sizes.product()).to(float32).view(sizes).clone(); }

template <class F>
void expect_error(const F& f, const std::string& words) {
  const std::string message = error_of(f);
  EXPECT_NE(message.find(words), std::string::npos) << message;
}

}  // namespace ingot::testing
