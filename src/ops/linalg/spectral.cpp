// QR, eigenvalues, singular values, and the pseudo-inverse that has a gradient of its own.
#include "ops/batch/rules.hpp"
#include "ops/family.hpp"
#include "ops/linalg/linalg.hpp"
#include "ops/linalg/eigen.hpp"

namespace ingot {
namespace {

void check_converged(bool ok, std::string_view op) {
  INGOT_REQUIRE(ok, op,
                ": The algorithm failed to converge because the input matrix contained non-finite values or is ill-conditioned.");
}
// 1 / (x_j - x_i) with the diagonal kept out of harm's way: differences with ones on the diagonal.
Tensor gaps(const Tensor& x) {
  const Tensor d = x.unsqueeze(-2) - x.unsqueeze(-1);
  return with_diagonal(d, aten<"ones_like">(x));
}
Tensor skew(const Tensor& t) { return t - adjoint(t); }

// ---- QR

struct QrMode {
  bool q, reduced;
  explicit QrMode(const std::string& m) : q(m != "r"), reduced(m != "complete") {
    INGOT_REQUIRE(m == "reduced" || m == "complete" || m == "r", "qr received unrecognized mode '", m,
                  "' but expected one of 'reduced' (default), 'r', or "
                  "'complete'");
  }
};
void qr_meta(const Call& c, Outputs& o) {
  const Tensor& a = c.tensor(0);
  check_matrix(a, "linalg.qr");
  const QrMode mode(c[1].string());
  const Int m = a.size(-2), n = a.size(-1), k = mode.reduced ? min(m, n) : m;
  if (mode.q) o.add(column_major(joined(batch_of(a), {m, k}), a.dtype()));
  else o.add(Shape{0}, a.dtype());
  o.add(column_major(joined(batch_of(a), {k, n}), a.dtype()));
}
void qr_kernel(const Call& c, std::span<const Tensor> r) {
  const QrMode mode(c[1].string());
  on_scalar(r[1].dtype(), [&]<class S>(S) {
    const Matrices<S> a(c.tensor(0));
    const int64_t m = a.rows, n = a.cols, k = mode.reduced ? std::min(m, n) : m;
    const Matrices<S> q(mode.q ? a.batch : 0, m, k), upper(a.batch, k, n);
    for_batch(a.batch, m * n * std::min(m, n), [&](int64_t i) {
      std::vector<S> tau(static_cast<std::size_t>(std::min(m, n)));
      householder_qr(m, n, a[i], tau.data());
      for (int64_t j = 0; j < n; j++)
        for (int64_t l = 0; l < k; l++) upper[i][l + j * k] = l <= j ? a[i][l + j * m] : S(0);
      if (mode.q) householder_q(m, k, std::min(m, n), a[i], tau.data(), q[i]);
    });
    if (mode.q) q.store(r[0]);
    upper.store(r[1]);
  });
}
// A = Q R with square R: gA = (gQ + Q sym(triu(gR R^H - Q^H gQ))) R^-H, the diagonal counted once.
Tensor tall_qr_gradient(const Tensor& gq, const Tensor& gr, const Tensor& q, const Tensor& r) {
  Tensor m;
  if (gr.defined()) m = gr.matmul(adjoint(r));
  if (gq.defined()) m = m.defined() ? m - adjoint(q).matmul(gq) : -adjoint(q).matmul(gq);
  m = upper(m);
  const Tensor both = m + adjoint(m);
  const Tensor sym = with_diagonal(both, aten<"mul.Tensor">(both.diagonal(0, -2, -1), 0.5));
  const Tensor g = gq.defined() ? gq + q.matmul(sym) : q.matmul(sym);
  return solve_triangular_of(adjoint(r), g, false, false);
}
void qr_vjp(Vjp& v) {
  Tensor gq = v.grad(0), gr = v.grad(1);
  if (!gq.defined() && !gr.defined()) return;
  const std::string& mode = v.arg(1).string();
  const Tensor &q = v.result(0), &r = v.result(1);
  INGOT_REQUIRE(
      mode != "r",
      "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use linalg.qr(A, mode='reduced')");
  const Int m = q.size(-2), n = r.size(-1);
  INGOT_REQUIRE(mode != "complete" || m <= n,
                "The QR decomposition is not differentiable when mode='complete' and nrows > ncols");
  if (m >= n) return v.set(0, tall_qr_gradient(gq, gr, q, r));
  // Wide: A = [A1 A2], R = [R1 R2], R2 = Q^H A2 also depends on Q.
  const Tensor r1 = r.narrow(-1, 0, m), r2 = r.narrow(-1, m, n - m);
  if (!gr.defined()) return v.set(0, aten<"constant_pad_nd">(tall_qr_gradient(gq, {}, q, r1), Shape{0, n - m}));
  const Tensor gr1 = gr.narrow(-1, 0, m), gr2 = gr.narrow(-1, m, n - m);
  const Tensor through = q.matmul(r2.matmul(adjoint(gr2)));
  v.set(0, cat({tall_qr_gradient(gq.defined() ? gq + through : through, gr1, q, r1), q.matmul(gr2)}, -1));
}

void geqrf_meta(const Call& c, Outputs& o) {
  const Tensor& a = c.tensor(0);
  check_matrix(a, "torch.geqrf");
  o.add(column_major(a.sizes(), a.dtype()));
  o.add(joined(batch_of(a), {min(a.size(-2), a.size(-1))}), a.dtype());
}
void geqrf_kernel(const Call& c, std::span<const Tensor> r) {
  on_scalar(r[0].dtype(), [&]<class S>(S) {
    const Matrices<S> a(c.tensor(0)), tau(a.batch, std::min(a.rows, a.cols), 1);
    for_batch(a.batch, a.rows * a.cols * tau.rows, [&](int64_t i) { householder_qr(a.rows, a.cols, a[i], tau[i]); });
    a.store(r[0]);
    Geometry g = r[1]->geom;
    g.sizes.push_back(1);
    g.strides.push_back(1);
    tau.store(make_alias(r[1], std::move(g)));
  });
}

// ---- Hermitian eigenvalues: A, UPLO, compute_v

void eigh_meta(const Call& c, Outputs& o) {
  const Tensor& a = c.tensor(0);
  check_square(a, "linalg.eigh");
  const std::string& uplo = c[1].string();
  INGOT_REQUIRE(uplo == "L" || uplo == "U" || uplo == "l" || uplo == "u", "Expected UPLO argument to be 'L' or 'U', but got ",
                uplo);
  o.add(joined(batch_of(a), {a.size(-1)}), real_of(a.dtype()));
  if (c[2].to_bool()) o.add(column_major(a.sizes(), a.dtype()));
  else o.add(Shape{0}, a.dtype());
}
// Values [batch..., n] as a batch of columns.
Tensor as_columns(const Tensor& t) {
  Geometry g = t->geom;
  g.sizes.push_back(1);
  g.strides.push_back(1);
  return make_alias(t, std::move(g));
}
void eigh_kernel(const Call& c, std::span<const Tensor> r) {
  const bool up = c[1].string() == "U" || c[1].string() == "u", vectors = c[2].to_bool();
  const DType dtype = c.tensor(0).dtype();
  on_scalar(dtype, [&]<class S>(S) {
    const Matrices<S> a(c.tensor(0)), v(vectors ? a.batch : 0, a.rows, a.rows);
    const Matrices<double> values(a.batch, a.rows, 1);
    for_batch(a.rows ? a.batch : 0, a.rows * a.rows * a.rows, [&](int64_t i) {
      check_converged(hermitian_eigen<S>(a.rows, a[i], up, values[i], vectors ? v[i] : nullptr, epsilon_of(dtype)),
                      "linalg.eigh");
    });
    values.store(as_columns(r[0]));
    if (vectors) v.store(r[1]);
  });
}
void eigh_vjp(Vjp& v) {
  const Tensor &gl = v.grad(0), &gv = v.grad(1), &l = v.result(0), &q = v.result(1);
  INGOT_REQUIRE(v.arg(2).to_bool(), "linalg_eigh: the derivative needs the eigenvectors; call it with compute_v=True");
  if (!gl.defined() && !gv.defined()) return;
  const Tensor qh = adjoint(q);
  if (!gv.defined()) return v.set(0, (q * gl.unsqueeze(-2)).matmul(qh));
  const Tensor turn = aten<"mul.Tensor">(skew(qh.matmul(gv)), 0.5) / gaps(l);
  const Tensor diagonal = gl.defined() ? gl.to(q.dtype()) : aten<"zeros_like">(l).to(q.dtype());
  v.set(0, q.matmul(with_diagonal(turn, diagonal)).matmul(qh));
}

// ---- general eigenvalues

void eig_meta(const Call& c, Outputs& o) {
  const Tensor& a = c.tensor(0);
  check_square(a, "linalg.eig");
  const DType t = complex_of(a.dtype());
  o.add(joined(batch_of(a), {a.size(-1)}), t);
  o.add(column_major(a.sizes(), t));
}
void eig_kernel(const Call& c, std::span<const Tensor> r) {
  on_scalar(c.tensor(0).dtype(), [&]<class S>(S) {
    const Matrices<S> a(c.tensor(0));
    const Matrices<std::complex<double>> values(a.batch, a.rows, 1), v(a.batch, a.rows, a.rows);
    for_batch(a.rows ? a.batch : 0, a.rows * a.rows * a.rows,
              [&](int64_t i) { check_converged(general_eigen<S>(a.rows, a[i], values[i], v[i]), "linalg.eig"); });
    values.store(as_columns(r[0]));
    v.store(r[1]);
  });
}
void eig_vjp(Vjp& v) {
  const Tensor &gl = v.grad(0), &gv = v.grad(1), &l = v.result(0), &q = v.result(1);
  if (!gl.defined() && !gv.defined()) return;
  const Tensor qh = adjoint(q);
  auto solved = [&](const Tensor& b) { return atens<"_linalg_solve_ex">(qh, b)[0]; };
  if (!gv.defined()) return v.set(0, solved(gl.unsqueeze(-1) * qh));
  const Tensor m = qh.matmul(gv);
  // Eigenvectors have norm one: what would change it is taken out.
  const Tensor turn = (m - qh.matmul(q * aten<"real">(m.diagonal(0, -2, -1)).unsqueeze(-2))) / conjugate(gaps(l));
  v.set(0, solved(with_diagonal(turn, gl.defined() ? gl : aten<"zeros_like">(l)).matmul(qh)));
}

// ---- singular values: A, full_matrices, compute_uv, driver

void svd_meta(const Call& c, Outputs& o) {
  const Tensor& a = c.tensor(0);
  check_matrix(a, "linalg.svd");
  const Int m = a.size(-2), n = a.size(-1), k = min(m, n);
  const bool full = c[1].to_bool(), vectors = c[2].to_bool();
  const Shape batch = batch_of(a);
  if (vectors) o.add(column_major(joined(batch, {m, full ? m : k}), a.dtype()));
  else o.add(Shape{0}, a.dtype());
  o.add(joined(batch, {k}), real_of(a.dtype()));
  if (vectors) o.add(column_major(joined(batch, {full ? n : k, n}), a.dtype()));
  else o.add(Shape{0}, a.dtype());
}
void svd_kernel(const Call& c, std::span<const Tensor> r) {
  const bool full = c[1].to_bool(), vectors = c[2].to_bool();
  on_scalar(c.tensor(0).dtype(), [&]<class S>(S) {
    const Matrices<S> a(c.tensor(0));
    const int64_t m = a.rows, n = a.cols, k = std::min(m, n);
    const Matrices<S> u(vectors ? a.batch : 0, m, full ? m : k), vh(vectors ? a.batch : 0, full ? n : k, n);
    const Matrices<double> s(a.batch, k, 1);
    for_batch(a.batch, m * n * k, [&](int64_t i) {
      if (k > 0) {
        check_converged(singular_values<S>(m, n, a[i], full, vectors ? u[i] : nullptr, s[i], vectors ? vh[i] : nullptr),
                        "linalg.svd");
      } else if (vectors && full) {  // no columns or no rows: any orthonormal basis
        for (int64_t j = 0; j < m * m; j++) u[i][j] = S(j % (m + 1) == 0 ? 1.0 : 0.0);
        for (int64_t j = 0; j < n * n; j++) vh[i][j] = S(j % (n + 1) == 0 ? 1.0 : 0.0);
      }
    });
    s.store(as_columns(r[1]));
    if (vectors) u.store(r[0]), vh.store(r[2]);
  });
}
void svd_vjp(Vjp& v) {
  Tensor gu = v.grad(0), gs = v.grad(1), gvh = v.grad(2), u = v.result(0), s = v.result(1), vh = v.result(2);
  if (!gu.defined() && !gs.defined() && !gvh.defined()) return;
  INGOT_REQUIRE(v.arg(2).to_bool(), "linalg.svd: the derivative needs U and Vh; call it with compute_uv=True");
  const Int m = u.size(-2), n = vh.size(-1), k = s.size(-1);
  if (v.arg(1).to_bool() && !(m == n)) {  // only the thin part has a gradient
    u = u.narrow(-1, 0, k);
    vh = vh.narrow(-2, 0, k);
    if (gu.defined()) gu = gu.narrow(-1, 0, k);
    if (gvh.defined()) gvh = gvh.narrow(-2, 0, k);
  }
  const Tensor uh = adjoint(u), v_ = adjoint(vh);
  if (!gu.defined() && !gvh.defined())
    return v.set(0, m >= n ? u.matmul(gs.unsqueeze(-1) * vh) : (u * gs.unsqueeze(-2)).matmul(vh));
  const Tensor e = gaps(s * s);
  Tensor g;
  if (gu.defined()) {
    const Tensor du = skew(uh.matmul(gu));
    g = (du / e) * s.unsqueeze(-2);
    if (u.is_complex()) g = g + aten<"diag_embed">(du.diagonal(0, -2, -1) / aten<"mul.Tensor">(s, 2));
  }
  if (gvh.defined()) {
    const Tensor dv = s.unsqueeze(-1) * (skew(vh.matmul(adjoint(gvh))) / e);
    g = g.defined() ? g + dv : dv;
  }
  if (gs.defined()) g = g + aten<"diag_embed">(gs.to(u.dtype()));
  g = u.matmul(g);
  if (m > k && gu.defined()) {
    const Tensor t = gu / s.unsqueeze(-2);
    g = g + t - u.matmul(uh.matmul(t));
  }
  g = g.matmul(vh);
  if (n > k && gvh.defined()) {
    const Tensor t = gvh / s.unsqueeze(-1);
    g = g + u.matmul(t - t.matmul(v_).matmul(vh));
  }
  v.set(0, g);
}

// ---- pseudo-inverse: self, atol, rtol, hermitian

Value pinv_body(const Call& c) {
  const Tensor& a = c.tensor(0);
  check_matrix(a, "linalg.pinv");
  const DType real = real_of(a.dtype());
  const double eps = epsilon_of(real);
  if (a.numel() == 0) return aten<"zeros">(joined(batch_of(a), {a.size(-1), a.size(-2)}), a.dtype(), Value(), a.device());
  const bool hermitian = c[3].to_bool();
  Tensor s, left, right;  // A = left s right^H, |s| = the singular values
  if (hermitian) {
    const TensorList e = atens<"_linalg_eigh">(a);
    s = e[0], left = right = e[1];
  } else {
    const TensorList d = atens<"_linalg_svd">(a, false);
    s = d[1], left = d[0], right = adjoint(d[2]);
  }
  const Tensor size = hermitian ? s.abs() : s;
  const Tensor largest = hermitian ? amax(size, {-1}, true) : size.narrow(-1, 0, 1);
  // Without a tolerance: as many units in the last place as the matrix is long.
  Tensor bound;
  if (!c[2].is_none()) bound = c.tensor(2).to(real).unsqueeze(-1) * largest;
  else if (c[1].is_none())
    bound = aten<"mul.Tensor">(largest, Scalar(eps * static_cast<double>(std::max(a.size(-1).value(), a.size(-2).value()))));
  if (!c[1].is_none()) {
    const Tensor atol = c.tensor(1).to(real).unsqueeze(-1);
    if (!bound.defined())
      bound = where(atol > 0, aten<"zeros_like">(largest),
                    aten<"mul.Tensor">(largest, eps * static_cast<double>(std::max(a.size(-1).value(), a.size(-2).value()))));
    bound = maximum(atol, bound);
  }
  const Tensor inverse = where(size > bound, reciprocal(s), Scalar(0.0)).to(a.dtype());
  return (right * inverse.unsqueeze(-2)).matmul(adjoint(left)).contiguous();
}
void pinv_vjp(Vjp& v) {
  if (!v.need(0)) return;
  const Tensor a = v.saved(0), &p = v.result(), ph = adjoint(p), gh = adjoint(v.grad());
  if (a.size(-2) <= a.size(-1)) {
    const Tensor k = gh.matmul(p), kp = k.matmul(ph);
    v.set(0, -adjoint(p.matmul(k)) + kp - a.matmul(p).matmul(kp) + ph.matmul(p).matmul(gh - k.matmul(a)));
  } else {
    const Tensor k = p.matmul(gh), pk = ph.matmul(k);
    v.set(0, -adjoint(k.matmul(p)) + (gh - a.matmul(k)).matmul(p).matmul(ph) + pk - pk.matmul(p).matmul(a));
  }
}

constexpr OpDef kLinalgSpectralOps[] = {
    {.schema = "aten::linalg_qr(Tensor A, str mode=\"reduced\") -> (Tensor Q, Tensor R)",
     .meta = qr_meta,
     .kernel = qr_kernel,
     .vjp = qr_vjp,
     .saves = {{kResult}, {kResult - 1}},
     .autocast = Autocast::float32,
     .batch = batch_leading},
    {.schema = "aten::geqrf(Tensor self) -> (Tensor a, Tensor tau)",
     .meta = geqrf_meta,
     .kernel = geqrf_kernel,
     .vjp = refuse_vjp,
     .autocast = Autocast::float32,
     .batch = batch_leading},
    {.schema = "aten::_linalg_eigh(Tensor A, str UPLO=\"L\", bool compute_v=True) -> (Tensor eigenvalues, Tensor eigenvectors)",
     .meta = eigh_meta,
     .kernel = eigh_kernel,
     .vjp = eigh_vjp,
     .saves = {{kResult}, {kResult - 1}},
     .batch = batch_leading},
    {.schema = "aten::linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)",
     .meta = eig_meta,
     .kernel = eig_kernel,
     .vjp = eig_vjp,
     .saves = {{kResult}, {kResult - 1}},
     .autocast = Autocast::float32,
     .batch = batch_leading},
    {.schema =
         "aten::_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)",
     .meta = svd_meta,
     .kernel = svd_kernel,
     .vjp = svd_vjp,
     .saves = {{kResult}, {kResult - 1}, {kResult - 2}},
     .batch = batch_leading},
    {.schema =
         "aten::linalg_pinv.atol_rtol_tensor(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor",
     .body = pinv_body,
     .vjp = pinv_vjp,
     .saves = {{0}, {kResult}},
     .grad = {.refuses = 0b110}},  // the tolerances
};

}  // namespace

INGOT_FAMILY(linalg_spectral, kLinalgSpectralOps)

}  // namespace ingot
