#include "support/transform_nestings.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "ingot/autograd.hpp"
#include "ingot/ingot.hpp"

namespace ingot::testing {

Tensor counted(const Shape& sizes) { return (arange(sizes.product()).to(float64).view(sizes) + 1) * 0.17 - 0.4; }

void expect_near(const Tensor& got, const Tensor& want, double tolerance) {
  ASSERT_EQ(got.defined(), want.defined());
  if (!want.defined()) return;
  ASSERT_EQ(got.sizes(), want.sizes());
  const std::vector<double> a = got.to_vector<double>(), b = want.to_vector<double>();
  for (std::size_t i = 0; i < a.size(); i++) ASSERT_NEAR(a[i], b[i], tolerance * (1 + std::abs(b[i]))) << "element " << i;
}

TensorFunction vector_of(const Member& m) {
  return [m](const TensorList& in) { return TensorList{m(in[0], in[1])}; };
}
TensorFunction scalar_of(const Member& m) {  // each element counts differently
  return [m](const TensorList& in) { return TensorList{(m(in[0], in[1]) * tensor({1, 1.75}, float64)).sum()}; };
}
TensorFunction total(const TensorFunction& f) {
  return [f](const TensorList& in) {
    Tensor sum;
    for (const Tensor& t : f(in)) {
      const Tensor s = (t * t + t).sum();
      sum = sum.defined() ? sum + s : s;
    }
    return TensorList{sum};
  };
}
const VmapOptions kFirst{.in_dims = {0, std::nullopt}};

namespace {

TensorFunction vjp_of(const TensorFunction& f) {
  return [f](const TensorList& in) {
    const Pullback p = vjp(f, in);
    TensorList r = p.pull({p.results[0].cos() * 2});
    r.push_back(p.results[0]);
    return r;
  };
}
TensorFunction jvp_of(const TensorFunction& f) {
  return [f](const TensorList& in) {
    const Pushforward p = jvp(f, in, {in[0].cos(), in[1].sin()});
    return TensorList{p.results[0], p.tangents[0]};
  };
}
TensorList with_both(const std::function<TensorFunction(int)>& make, const TensorList& in) {
  TensorList all = make(0)(in);
  for (const Tensor& t : make(1)(in)) all.push_back(t);
  return all;
}

}  // namespace

const std::vector<Nesting>& nestings() {
  static const std::vector<Nesting> list = {
      {"vmap", [](auto& m, auto& x, auto& w) { return vmap(vector_of(m), kFirst)({x[0], w}); }},
      {"vmap_of_both", [](auto& m, auto& x, auto&) { return vmap(vector_of(m))({x[0].clone(), x[1].clone()}); }},
      {"grad", [](auto& m, auto& x, auto& w) { return grad(scalar_of(m), {0, 1})({x[0][0], w}); }},
      {"vmap_grad", [](auto& m, auto& x, auto& w) { return vmap(grad(scalar_of(m), {0, 1}), kFirst)({x[0], w}); }},
      {"vmap_grad_of_one", [](auto& m, auto& x, auto& w) { return vmap(grad(scalar_of(m), {1}), kFirst)({x[0], w}); }},
      {"grad_vmap", [](auto& m, auto& x, auto& w) { return grad(total(vmap(vector_of(m), kFirst)), {0, 1})({x[0], w}); }},
      {"grad_vmap_over_the_weight",
       [](auto& m, auto& x, auto&) {
         return grad(total(vmap(vector_of(m), {.in_dims = {std::nullopt, 0}})), {0, 1})({x[0][0].clone(), x[1].clone()});
       }},
      {"grad_vmap_dims",
       [](auto& m, auto& x, auto& w) {
         return grad(total(vmap(vector_of(m), {.in_dims = {-1, std::nullopt}, .out_dims = {1}})),
                     {0, 1})({x[0].t().contiguous(), w});
       }},
      {"vmap_vjp", [](auto& m, auto& x, auto& w) { return vmap(vjp_of(vector_of(m)), kFirst)({x[0], w}); }},
      {"vjp_vmap", [](auto& m, auto& x, auto& w) { return vjp_of(vmap(vector_of(m), kFirst))({x[0], w}); }},
      {"vmap_jvp", [](auto& m, auto& x, auto& w) { return vmap(jvp_of(vector_of(m)), kFirst)({x[0], w}); }},
      {"jvp_vmap", [](auto& m, auto& x, auto& w) { return jvp_of(vmap(vector_of(m), kFirst))({x[0], w}); }},
      {"jacrev",
       [](auto& m, auto& x, auto& w) { return with_both([&](int i) { return jacrev(vector_of(m), i); }, {x[0][0], w}); }},
      {"jacfwd",
       [](auto& m, auto& x, auto& w) { return with_both([&](int i) { return jacfwd(vector_of(m), i); }, {x[0][0], w}); }},
      {"hessian",
       [](auto& m, auto& x, auto& w) { return with_both([&](int i) { return hessian(scalar_of(m), i); }, {x[0][0], w}); }},
      {"jacrev_jacrev",
       [](auto& m, auto& x, auto& w) {
         return with_both([&](int i) { return jacrev(jacrev(vector_of(m), i), 1 - i); }, {x[0][0], w});
       }},
      {"jacfwd_jacfwd",
       [](auto& m, auto& x, auto& w) {
         return with_both([&](int i) { return jacfwd(jacfwd(vector_of(m), i), i); }, {x[0][0], w});
       }},
      {"jacrev_vmap", [](auto& m, auto& x,
                         auto& w) { return with_both([&](int i) { return jacrev(vmap(vector_of(m), kFirst), i); }, {x[0], w}); }},
      {"jacfwd_vmap", [](auto& m, auto& x,
                         auto& w) { return with_both([&](int i) { return jacfwd(vmap(vector_of(m), kFirst), i); }, {x[0], w}); }},
      {"vmap_jacrev", [](auto& m, auto& x,
                         auto& w) { return with_both([&](int i) { return vmap(jacrev(vector_of(m), i), kFirst); }, {x[0], w}); }},
      {"vmap_jacfwd", [](auto& m, auto& x,
                         auto& w) { return with_both([&](int i) { return vmap(jacfwd(vector_of(m), i), kFirst); }, {x[0], w}); }},
      {"vmap_hessian",
       [](auto& m, auto& x, auto& w) {
         return with_both([&](int i) { return vmap(hessian(scalar_of(m), i), kFirst); }, {x[0], w});
       }},
      {"hessian_vmap",
       [](auto& m, auto& x, auto& w) {
         return with_both([&](int i) { return hessian(total(vmap(vector_of(m), kFirst)), i); }, {x[0], w});
       }},
      {"vmap_vmap", [](auto& m, auto& x, auto& w) { return vmap(vmap(vector_of(m), kFirst), kFirst)({x, w}); }},
      {"vmap_vmap_grad",
       [](auto& m, auto& x, auto& w) { return vmap(vmap(grad(scalar_of(m), {0, 1}), kFirst), kFirst)({x, w}); }},
      {"vmap_grad_vmap",
       [](auto& m, auto& x, auto& w) { return vmap(grad(total(vmap(vector_of(m), kFirst)), {0, 1}), kFirst)({x, w}); }},
      {"grad_vmap_vmap",
       [](auto& m, auto& x, auto& w) { return grad(total(vmap(vmap(vector_of(m), kFirst), kFirst)), {0, 1})({x, w}); }},
      {"grad_vmap_vmap_over_other_arguments",
       [](auto& m, auto& x, auto&) {
         const TensorFunction inner = vmap(vector_of(m), {.in_dims = {0, std::nullopt}, .out_dims = {1}});
         return grad(total(vmap(inner, {.in_dims = {std::nullopt, 0}})), {0, 1})({x[0].clone(), x[1].slice(0, 0, 3).clone()});
       }},
      {"grad_vmap_grad",
       [](auto& m, auto& x, auto& w) { return grad(total(vmap(grad(scalar_of(m), {0, 1}), kFirst)), {0, 1})({x[0], w}); }},
      {"vmap_grad_grad",
       [](auto& m, auto& x, auto& w) { return vmap(grad(total(grad(scalar_of(m), {0, 1})), {0, 1}), kFirst)({x[0], w}); }},
      {"vmap_of_a_pullback",
       [](auto& m, auto& x, auto& w) {
         const Pullback p = vjp(vmap(vector_of(m), kFirst), {x[0], w});
         return vmap(p.pull)({counted({3, 4, 2}).sin()});
       }},
      {"vmap_of_a_push",
       [](auto& m, auto& x, auto& w) {
         const Linearized l = linearize(vmap(vector_of(m), kFirst), {x[0], w});
         return vmap(l.push)({counted({3, 4, 2}).sin(), counted({3, 2})});
       }},
      {"backward_into_leaves",
       [](auto& m, auto& x, auto& w) {
         const Tensor a = x[0].clone().requires_grad_(), b = w.clone().requires_grad_();
         const Tensor y = vmap(vector_of(m), kFirst)({a, b})[0];
         (y * y).sum().backward();
         return TensorList{a.grad().defined() ? a.grad() : zeros_like(a), b.grad().defined() ? b.grad() : zeros_like(b)};
       }},
      {"functionalized_vmap_grad",
       [](auto& m, auto& x, auto& w) { return functionalize(vmap(grad(scalar_of(m), {0, 1}), kFirst))({x[0], w}); }},
      {"traced_vmap_grad",
       [](auto& m, auto& x, auto& w) { return make_fx(vmap(grad(scalar_of(m), {0, 1}), kFirst), {x[1], w * 2})({x[0], w}); }},
      {"traced_grad_vmap",
       [](auto& m, auto& x, auto& w) {
         return make_fx(functionalize(grad(total(vmap(vector_of(m), kFirst)), {0, 1})), {x[1], w * 2})({x[0], w});
       }},
  };
  return list;
}

namespace {

void expect_same(const Nesting& n, const SameFunction& f) {
  const Tensor x = counted({3, 4, 2}), w = tensor({0.7, -1.3}, float64);
  try {
    const TensorList want = n.run(f.plain, x, w), got = n.run(f.special, x, w);
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t k = 0; k < got.size(); k++) {
      SCOPED_TRACE("result " + std::to_string(k));
      expect_near(got[k], want[k]);
    }
  } catch (const std::exception& e) {
    ADD_FAILURE() << e.what();
  }
}

}  // namespace

void expect_same_in_every_nesting(const std::vector<SameFunction>& functions, const std::vector<std::string>& but) {
  for (const Nesting& n : nestings()) {
    if (std::find(but.begin(), but.end(), n.name) != but.end()) continue;
    for (const SameFunction& f : functions) {
      SCOPED_TRACE(std::string(n.name) + " of " + f.name);
      expect_same(n, f);
    }
  }
}

void expect_same_in_random_nestings(const std::vector<SameFunction>& functions, int count, unsigned seed) {
  std::mt19937 random(seed);
  const auto pick = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  for (int i = 0; i < count; i++) {
    const Nesting& n = nestings()[pick(nestings().size())];
    const SameFunction &a = functions[pick(functions.size())], &b = functions[pick(functions.size())],
                       &c = functions[pick(functions.size())];
    SCOPED_TRACE(std::string(n.name) + " of " + a.name + ", " + b.name + ", " + c.name);
    // The second function has the first one's result for its weight, so that every argument of it
    // differs by member.
    const auto composed = [](const Member& f, const Member& g, const Member& h) -> Member {
      return [=](const Tensor& x, const Tensor& w) {
        const Tensor y = f(x, w);
        return h(g(x, y.sin()), w);
      };
    };
    expect_same(n, {"", composed(a.special, b.special, c.special), composed(a.plain, b.plain, c.plain)});
  }
}

}  // namespace ingot::testing
