// What the spectral decompositions (eigen.hpp) are made of: plane rotations and products of
// reflectors.
#pragma once
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "ops/linalg/matrices.hpp"

namespace ingot {

// A column-major matrix.
template <class S>
struct View {
  S* data;
  int64_t n;  // leading dim
  S& operator()(int64_t i, int64_t j) const { return data[i + j * n]; }
};

template <class S>
bool all_finite(const std::vector<S>& m) {
  return std::all_of(m.begin(), m.end(), [](S x) { return std::isfinite(std::real(x)) && std::isfinite(std::imag(x)); });
}

// The plane rotation (x, y) <- (c x + s y, c y - s x) of two rows or columns.
struct Rotation {
  double c = 1, s = 0;
  void apply(double& x, double& y) const {
    const double t = c * x + s * y;
    y = c * y - s * x;
    x = t;
  }
};

// A rotation with c >= 0 that maps (f, g) to (r, 0), r of f's sign.
struct Givens : Rotation {
  double r = 0;
  Givens(double f, double g) {
    if (g == 0) {
      r = f;
    } else if (f == 0) {
      c = 0;
      s = std::copysign(1.0, g);
      r = std::abs(g);
    } else {
      const double d = std::hypot(f, g);
      c = std::abs(f) / d;
      r = std::copysign(d, f);
      s = g / r;
    }
  }
};

// A product of reflectors I - tau v v^H, each on the rows from `first`.
template <class S>
struct Reflectors {
  struct One {
    int64_t first;
    S tau;
    std::vector<S> v;
  };
  std::vector<One> list;

  // m (rows x cols, column-major) = H_0 H_1 … m
  void apply(int64_t rows, int64_t cols, S* m) const {
    for (auto h = list.rbegin(); h != list.rend(); ++h)
      for (int64_t c = 0; c < cols; c++) {
        S* x = m + c * rows + h->first;
        S dot = 0;
        for (std::size_t k = 0; k < h->v.size(); k++) dot += conj_of(h->v[k]) * x[k];
        dot *= h->tau;
        for (std::size_t k = 0; k < h->v.size(); k++) x[k] -= h->v[k] * dot;
      }
  }
};

// The reflector whose adjoint maps x to (beta, 0, …).
template <class S>
typename Reflectors<S>::One make_reflector(int64_t first, std::vector<S> x, double& beta) {
  const S tau = reflector(static_cast<int64_t>(x.size()), x.data());
  beta = std::real(x[0]);
  x[0] = S(1);
  return {first, tau, std::move(x)};
}

}  // namespace ingot
