// Runs every sample of tests/samples: eager against the shape rule on fakes, open sizes at two
// settings, first and second gradients against finite differences in double. One suite a sample
// file.
#include <gtest/gtest.h>

#include <cmath>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "expr/evaluate.hpp"
#include "graph/shape_env.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "support/sample_suite.hpp"
#include "tensor/rows.hpp"

namespace ingot::testing {
namespace {

std::string geometry_text(const Geometry& g) { return text(name_of(g.dtype), g.sizes, " strides ", g.strides); }

// ---- eager against fake
void check_fake(const Sample& s) {
  for (int setting = 0; setting < 2; setting++) {
    const SampleCall real = make_call(s, Make::real, setting);
    const Values want = results_of(call(*real.op, real.args));
    if (s.has("nofake")) continue;
    const SampleCall fake = make_call(s, Make::fake, setting);
    Scoped<bool> factories(thread_state().fake_factories, true);
    const Values got = results_of(call(*fake.op, fake.args));
    ASSERT_EQ(got.size(), want.size()) << s.where();
    for (std::size_t k = 0; k < want.size(); k++) {
      ASSERT_EQ(got[k].is_tensor(), want[k].is_tensor()) << s.where();
      if (!want[k].is_tensor()) continue;
      EXPECT_TRUE(got[k].tensor()->is_fake()) << s.where() << ": result " << k << " of a fake call has bytes";
      EXPECT_EQ(geometry_text(got[k].tensor()->geom), geometry_text(want[k].tensor()->geom)) << s.where() << " result " << k;
    }
  }
}

// ---- open sizes
void check_symbolic(const Sample& s) {
  if (s.has("nofake") || s.has("nosym") || dims_of(s, 0).empty()) return;
  ShapeEnv env;
  GuardScope scope(env);
  const SampleCall open = make_call(s, Make::symbolic, 0);
  Scoped<bool> factories(thread_state().fake_factories, true);
  const Values got = results_of(call(*open.op, open.args));
  for (int setting = 0; setting < 2; setting++) {
    const auto dims = dims_of(s, setting);
    Scoped<bool> real_factories(thread_state().fake_factories, false);
    const SampleCall real = make_call(s, Make::real, setting);
    const Values want = results_of(call(*real.op, real.args));
    ASSERT_EQ(got.size(), want.size()) << s.where();
    auto at = [&](Int v) { return v.is_number() ? v.number() : evaluate(v.expr(), dims); };
    for (std::size_t k = 0; k < want.size(); k++) {
      std::string guards;
      for (const Guard& g : env.guards()) guards += text(" ", to_text(g.condition), g.answer ? "" : " is false", ";");
      if (want[k].is_int()) {
        EXPECT_EQ(at(got[k].to_int()), want[k].to_int64()) << s.where();
      } else if (want[k].is_tensor()) {
        const Geometry& a = got[k].tensor()->geom;
        const Geometry& b = want[k].tensor()->geom;
        EXPECT_EQ(a.dtype, b.dtype) << s.where();
        ASSERT_EQ(a.dim(), b.dim()) << s.where();
        for (int i = 0; i < a.dim(); i++) {
          EXPECT_EQ(at(a.sizes[i]), b.sizes[i].number())
              << s.where() << " size " << i << " is " << to_text(a.sizes[i]) << ", guards:" << guards;
          EXPECT_EQ(at(a.strides[i]), b.strides[i].number())
              << s.where() << " stride " << i << " is " << to_text(a.strides[i]) << ", guards:" << guards;
        }
      }
    }
  }
}

// ---- gradients
// A tensor's numbers as doubles, complex as pairs: Re(conj(g)·v) is then a plain dot product.
std::vector<double> doubles_of(const Tensor& t) {
  Tensor dense = make_tensor(Geometry::contiguous(t.sizes(), t.dtype()));
  copy_elements(dense, t);
  const auto n = static_cast<std::size_t>(dense.numel().value()) * (t.is_complex() ? 2 : 1);
  return std::vector<double>(dense.data<double>(), dense.data<double>() + n);
}
double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double s = 0;
  for (std::size_t i = 0; i < a.size(); i++) s += a[i] * b[i];
  return s;
}
Tensor shifted(const Tensor& t, const Tensor& direction, double by) {
  Tensor r = make_tensor(Geometry::contiguous(t.sizes(), t.dtype()));
  copy_elements(r, t);
  const std::vector<double> d = doubles_of(direction);
  for (std::size_t i = 0; i < d.size(); i++) r.data<double>()[i] += by * d[i];
  return r;
}
Tensor direction_like(const Geometry& g, uint64_t seed) {
  Tensor r = make_tensor(Geometry::contiguous(g.sizes, g.dtype));
  const auto n = g.sizes.product().value() * (is_complex(g.dtype) ? 2 : 1);
  for (int64_t i = 0; i < n; i++) {
    uint64_t z = (seed * 1000003 + static_cast<uint64_t>(i) + 1) * 0x9E3779B97F4A7C15ull;
    z ^= z >> 29;
    z *= 0xBF58476D1CE4E5B9ull;
    z ^= z >> 32;
    r.data<double>()[i] = static_cast<double>(z >> 11) * 0x1p-53 - 0.5;
  }
  return r;
}
TensorList directions_like(const TensorList& l, uint64_t seed) {
  TensorList r;
  for (const Tensor& t : l) r.push_back(direction_like(t->geom, seed++));
  return r;
}

using Function = std::function<TensorList(const TensorList&)>;  // double tensors to double tensors
double weighted_sum(const TensorList& outs, const TensorList& weights) {
  double s = 0;
  for (std::size_t k = 0; k < outs.size(); k++) s += dot(doubles_of(outs[k]), doubles_of(weights[k]));
  return s;
}
// d/dt of Σ weights·f(x + t·v) at 0 by central differences.
double numeric(const Function& f, const TensorList& x, const TensorList& v, const TensorList& weights) {
  constexpr double h = 1e-6;
  TensorList up, down;
  for (std::size_t i = 0; i < x.size(); i++) {
    up.push_back(shifted(x[i], v[i], h));
    down.push_back(shifted(x[i], v[i], -h));
  }
  return (weighted_sum(f(up), weights) - weighted_sum(f(down), weights)) / (2 * h);
}
double analytic(const TensorList& grads, const TensorList& v) {
  double s = 0;
  for (std::size_t i = 0; i < v.size(); i++)
    if (grads[i].defined()) s += dot(doubles_of(grads[i]), doubles_of(v[i]));
  return s;
}
void expect_close(double got, double want, double scale, const std::string& what) {
  EXPECT_NEAR(got, want, 2e-5 * (1 + std::abs(want) + scale)) << what;
}

TensorList leaves_of(const TensorList& l) {
  TensorList r;
  for (const Tensor& t : l) r.push_back(make_alias(t, t->geom).requires_grad_());
  return r;
}

void check_gradients(const Sample& s) {
  if (s.has("nograd") || s.has("random")) return;
  const SampleCall c = make_call(s, Make::real, 0);
  const TensorList x = tensors_of(c.args, is_double);
  if (x.empty()) return;
  std::vector<bool> takes_part;
  const Function f = [&](const TensorList& in) {
    TensorList outs;
    const Values r = results_of(call(*c.op, with_tensors(c.args, is_double, in)));
    // Results of other types cannot be compared with finite differences.
    auto fits = [](const Value& v) { return v.is_tensor() && is_double(v.tensor()) && v.tensor().requires_grad(); };
    for (std::size_t k = 0; k < r.size(); k++)
      if (takes_part.empty() ? fits(r[k]) : takes_part[k]) outs.push_back(r[k].tensor());
    if (takes_part.empty())
      for (const Value& v : r) takes_part.push_back(fits(v));
    return outs;
  };
  TensorList leaves = leaves_of(x);
  TensorList outs = f(leaves);
  if (outs.empty()) return;
  const TensorList weights = directions_like(outs, 7);
  const TensorList grads = grad(outs, leaves, weights, {.retain_graph = true, .allow_unused = true});
  for (std::size_t i = 0; i < grads.size(); i++)
    if (grads[i].defined()) {
      EXPECT_EQ(to_text(grads[i].sizes()), to_text(x[i].sizes())) << s.where();
      EXPECT_EQ(grads[i].dtype(), x[i].dtype()) << s.where();
    }
  for (uint64_t seed : {101, 202}) {
    const TensorList v = directions_like(x, seed);
    NoGrad no_grad;
    expect_close(analytic(grads, v), numeric(f, x, v, weights), 0, s.where() + ": first gradient");
  }
  if (s.has("nogradgrad")) return;
  // The gradient as a function of inputs and weights, differentiated once more.
  const std::size_t n = x.size();
  std::vector<bool> has_grad;
  const auto second = [&](const TensorList& in, bool create_graph) {
    EnableGrad enable;
    TensorList xs(in.begin(), in.begin() + static_cast<int64_t>(n)), ws(in.begin() + static_cast<int64_t>(n), in.end());
    if (!create_graph) xs = leaves_of(xs);
    TensorList g = grad(f(xs), xs, ws, {.create_graph = create_graph, .allow_unused = true});
    TensorList r;
    for (std::size_t i = 0; i < g.size(); i++)
      if (has_grad.empty() ? g[i].defined() && g[i].requires_grad() : has_grad[i]) r.push_back(g[i]);
    if (has_grad.empty())
      for (const Tensor& t : g) has_grad.push_back(t.defined() && t.requires_grad());
    return r;
  };
  TensorList all = leaves;
  for (const Tensor& w : leaves_of(weights)) all.push_back(w);
  const TensorList g = second(all, true);
  if (g.empty()) return;
  const TensorList weights2 = directions_like(g, 31);
  const TensorList gg = grad(g, all, weights2, {.allow_unused = true});
  TensorList point = x;
  point.insert(point.end(), weights.begin(), weights.end());
  const TensorList v = directions_like(point, 303);
  const double want = numeric([&](const TensorList& in) { return second(in, false); }, point, v, weights2);
  expect_close(analytic(gg, v), want, 1, s.where() + ": second gradient");
}

const bool registered =
    register_sample_suites("Samples", INGOT_TEST_DATA "/../samples",
                           {{"FakeEqualsEager", check_fake}, {"OpenSizes", check_symbolic}, {"Gradients", check_gradients}});

}  // namespace
}  // namespace ingot::testing
