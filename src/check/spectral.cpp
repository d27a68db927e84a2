#include "check/spectral.hpp"

#include <algorithm>
#include <cmath>
#include <complex>

#include "base/dtype.hpp"
#include "ingot/autograd.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "tensor/impl.hpp"

namespace ingot {

// Which results hold the values, the vectors as columns, and those as rows.
struct SpectralFreedom {
  std::string_view op;  // without overload
  int values, columns, more_columns, rows;
  bool unordered;
  std::string_view reason;
};

namespace {

constexpr int kNone = -1;
constexpr SpectralFreedom kFreedoms[] = {
    {"aten._linalg_eigh", 0, 1, kNone, kNone, false,
     "an eigenvector times a phase is one too; equal eigenvalues share a subspace"},
    {"aten._linalg_eigvals", 0, kNone, kNone, kNone, true, "eigenvalues of a general matrix have no order"},
    {"aten._linalg_svd", 1, 0, kNone, 2, false,
     "a pair of singular vectors times a phase is one too; beyond min(m, n) any basis will do"},
    {"aten.linalg_eig", 0, 1, kNone, kNone, true, "eigenvalues of a general matrix have no order, their vectors no phase"},
    {"aten.linalg_eigh", 0, 1, kNone, kNone, false, "as _linalg_eigh"},
    {"aten.linalg_eigvals", 0, kNone, kNone, kNone, true, "as _linalg_eigvals"},
    {"aten.linalg_svd", 1, 0, kNone, 2, false, "as _linalg_svd"},
    {"aten.svd", 1, 0, 2, kNone, false, "as _linalg_svd, with V in columns"},
};

// Singular or eigenvalues this close, relative to the largest, share a subspace.
constexpr double kSame = 1e-4;

Tensor adjoint(const Tensor& t) { return aten<"conj_physical">(t.transpose(-2, -1)); }
Tensor wide(const Tensor& t) { return t.detach().to(t.is_complex() ? DType::c128 : DType::f64); }
bool fits(int which, const TensorList& got, const TensorList& want) {
  if (which == kNone) return true;
  const auto k = static_cast<std::size_t>(which);
  return k < got.size() && k < want.size() && got[k].defined() && got[k].sizes() == want[k].sizes() &&
         got[k].dtype() == want[k].dtype();
}

// For every matrix of a batch: place k holds which of `got` is the k-th of `want`, each taken once,
// the nearest first come.
Tensor matching_order(const Tensor& got, const Tensor& want) {
  const Tensor a = got.detach().to(DType::c128).contiguous(), b = want.to(DType::c128).contiguous();
  const Tensor order = make_tensor(Geometry::contiguous(got.sizes(), DType::i64));
  const int64_t n = got.size(-1).value(), batch = n > 0 ? got.numel().value() / n : 0;
  for (int64_t i = 0; i < batch; i++) {
    const auto *x = a.data<std::complex<double>>() + i * n, *y = b.data<std::complex<double>>() + i * n;
    std::vector<bool> taken(static_cast<std::size_t>(n));
    for (int64_t k = 0; k < n; k++) {
      int64_t best = -1;
      for (int64_t j = 0; j < n; j++)
        if (!taken[static_cast<std::size_t>(j)] && (best < 0 || std::abs(x[j] - y[k]) < std::abs(x[best] - y[k]))) best = j;
      taken[static_cast<std::size_t>(best)] = true;
      order.data<int64_t>()[i * n + k] = best;
    }
  }
  return order;
}
Tensor reordered(const Tensor& t, const Tensor& order) {  // of the last dim
  const Tensor index = t.dim() == order.dim() ? order : order.unsqueeze(-2).expand(t.sizes());
  return aten<"gather">(t, -1, index);
}

// Columns of `got` to be mixed with one another so that they can be equal to those of `want`: those
// of equal values, and those that belong to no value. The mixture is what `want` is in terms of
// `got`.
Tensor mixture(const Tensor& got, const Tensor& want, const Tensor& values, bool orthonormal) {
  const Tensor inner = adjoint(wide(got)).matmul(wide(want));
  const Int columns = inner.size(-1), known = values.size(-1);
  Tensor v = wide(values).abs();
  // The columns beyond all values share one that no other has.
  if (!(columns == known)) v = aten<"constant_pad_nd">(v, Shape{0, columns - known}, -1.0);
  Tensor together = aten<"eye">(columns, DType::b8);
  if (orthonormal && columns > 0) {
    const Tensor signed_values = columns == known ? wide(values) : v;
    const Tensor gap = (signed_values.unsqueeze(-1) - signed_values.unsqueeze(-2)).abs();
    together = aten<"logical_or">(together, gap <= aten<"amax">(v, Shape{-1}, true).unsqueeze(-1) * kSame);
  }
  return inner * together.to(inner.dtype());
}
Tensor mixed(const Tensor& t, const Tensor& m) { return wide(t).matmul(m).to(t.dtype()); }

struct Alignment {
  const SpectralFreedom& free;
  Tensor order;                   // of eigenvalues
  Tensor columns, more, rows;     // mixtures

  Alignment(const SpectralFreedom& f, const TensorList& results, const TensorList& want) : free(f) {
    const auto at = [](const TensorList& l, int k) { return l[static_cast<std::size_t>(k)]; };
    const Tensor& values = at(want, f.values);
    if (f.unordered) order = matching_order(at(results, f.values), values);
    if (f.columns == kNone) return;
    const Tensor got = f.unordered ? reordered(at(results, f.columns), order) : at(results, f.columns);
    columns = mixture(got, at(want, f.columns), values, !f.unordered);
    // The partners of a pair turn together; only what is beyond the values turns on its own.
    const auto partner = [&](const Tensor& own) {
      const Int k = values.size(-1), n = own.size(-1);
      const Tensor shared = columns.narrow(-2, 0, k).narrow(-1, 0, k);
      if (n == k) return shared;
      const Tensor corner = aten<"constant_pad_nd">(shared, Shape{0, n - k, 0, n - k});
      const Tensor rest = aten<"constant_pad_nd">(own.narrow(-2, k, n - k).narrow(-1, k, n - k), Shape{k, 0, k, 0});
      return corner + rest;
    };
    if (f.more_columns != kNone) more = partner(mixture(at(results, f.more_columns), at(want, f.more_columns), values, true));
    if (f.rows != kNone) rows = partner(mixture(adjoint(at(results, f.rows)), adjoint(at(want, f.rows)), values, true));
  }

  // `t` as wanted results are: f(columns, mixture) for each kind of vectors.
  TensorList results(TensorList t) const {
    if (free.unordered) change(t, free.values, [&](const Tensor& x) { return reordered(x, order); });
    if (free.unordered) change(t, free.columns, [&](const Tensor& x) { return reordered(x, order); });
    change(t, free.columns, [&](const Tensor& x) { return mixed(x, columns); });
    change(t, free.more_columns, [&](const Tensor& x) { return mixed(x, more); });
    change(t, free.rows, [&](const Tensor& x) { return adjoint(mixed(adjoint(x), rows)); });
    return t;
  }
  // The adjoint of `results`.
  TensorList tangents(TensorList t) const {
    change(t, free.columns, [&](const Tensor& x) { return mixed(x, adjoint(columns)); });
    change(t, free.more_columns, [&](const Tensor& x) { return mixed(x, adjoint(more)); });
    change(t, free.rows, [&](const Tensor& x) { return adjoint(mixed(adjoint(x), adjoint(rows))); });
    if (free.unordered) {
      const Tensor back = aten<"argsort">(order, -1, false);
      change(t, free.values, [&](const Tensor& x) { return reordered(x, back); });
      change(t, free.columns, [&](const Tensor& x) { return reordered(x, back); });
    }
    return t;
  }

 private:
  template <class F>
  static void change(TensorList& t, int which, const F& f) {
    const auto k = static_cast<std::size_t>(which);
    if (which != kNone && k < t.size() && t[k].defined()) t[k] = f(t[k]);
  }
};

bool can_align(const SpectralFreedom& f, const TensorList& got, const TensorList& want) {
  return fits(f.values, got, want) && fits(f.columns, got, want) && fits(f.more_columns, got, want) && fits(f.rows, got, want);
}

}  // namespace

const SpectralFreedom* spectral_freedom(const std::vector<std::string>& targets) {
  const auto is_operator = [](std::string_view t) { return t.starts_with("aten."); };
  const auto one = std::find_if(targets.begin(), targets.end(), is_operator);
  if (one == targets.end() || std::count_if(targets.begin(), targets.end(), is_operator) != 1) return nullptr;
  const std::string_view op = std::string_view(*one).substr(0, one->rfind('.'));
  const auto* found =
      std::find_if(std::begin(kFreedoms), std::end(kFreedoms), [&](const SpectralFreedom& f) { return f.op == op; });
  return found == std::end(kFreedoms) ? nullptr : found;
}

TensorList align_results(const SpectralFreedom& freedom, const TensorList& results, const TensorList& want) {
  NoGrad no_grad;
  return can_align(freedom, results, want) ? Alignment(freedom, results, want).results(results) : results;
}

TensorList align_tangents(const SpectralFreedom& freedom, const TensorList& results, const TensorList& want,
                          const TensorList& tangents) {
  NoGrad no_grad;
  return can_align(freedom, results, want) ? Alignment(freedom, results, want).tangents(tangents) : tangents;
}

}  // namespace ingot
