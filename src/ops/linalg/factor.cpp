// Factorisations and what they solve: Cholesky, LU, triangular systems, inverses, determinants.
#include "ops/batch/rules.hpp"
#include "ops/family.hpp"
#include "ops/linalg/linalg.hpp"

namespace ingot {
namespace {

Shape pivot_sizes(const Tensor& a) { return joined(batch_of(a), {min(a.size(-2), a.size(-1))}); }

// The last two dims exchanged.
Tensor transposed_view(const Tensor& t) {
  Geometry g = t->geom;
  const std::size_t n = g.sizes.size();
  std::swap(g.sizes[n - 1], g.sizes[n - 2]);
  std::swap(g.strides[n - 1], g.strides[n - 2]);
  return make_alias(t, std::move(g));
}

// ---- Cholesky

void cholesky_ex_meta(const Call& c, Outputs& o) {
  const Tensor& a = c.tensor(0);
  check_square(a, "linalg.cholesky_ex");
  o.add(column_major(a.sizes(), a.dtype()));
  o.add(batch_of(a), DType::i32);
}
void refuse_failure(const Tensor& info, std::string_view op, std::string_view what) {
  const int64_t n = info.numel().value();
  for (int64_t i = 0; i < n; i++)
    INGOT_REQUIRE(info.data<int32_t>()[i] == 0, op, ": ", info.dim() ? text("(Batch element ", i, "): ") : std::string(), what,
                  " (input is not invertible or not positive-definite; error code ", info.data<int32_t>()[i], ")");
}
void cholesky_ex_kernel(const Call& c, std::span<const Tensor> r) {
  const bool up = c[1].to_bool();
  on_scalar(r[0].dtype(), [&]<class S>(S) {
    // The upper factor is the adjoint of the lower one of the adjoint.
    const Matrices<S> m(up ? transposed_view(c.tensor(0)) : c.tensor(0));
    for_batch(m.batch, m.rows * m.rows * m.rows, [&](int64_t i) {
      S* a = m[i];
      const int64_t n = m.rows;
      if (up)
        for (int64_t k = 0; k < n * n; k++) a[k] = conj_of(a[k]);
      r[1].data<int32_t>()[i] = cholesky(n, a);
      if (up)
        for (int64_t j = 0; j < n; j++)
          for (int64_t k = j; k < n; k++) {
            const S low = a[k + j * n];
            a[k + j * n] = conj_of(a[j + k * n]);
            a[j + k * n] = conj_of(low);
          }
    });
    m.store(r[0]);
  });
  if (c[2].to_bool()) refuse_failure(r[1], "linalg.cholesky_ex", "The factorization could not be completed");
}
Tensor cholesky_gradient(const Tensor& grad, bool up, const Tensor& factor) {
  const Tensor l = up ? adjoint(factor) : factor, g = up ? adjoint(grad) : grad;
  const Tensor phi = lower(adjoint(l).matmul(g));
  Tensor x = aten<"mul.Tensor">(phi + adjoint(lower(phi, -1)), 0.5);
  x = solve_triangular_of(adjoint(l), x, true);
  return solve_triangular_of(l, x, false, false);
}

// ---- triangular systems: A, B, upper, left, unitriangular

void solve_triangular_meta(const Call& c, Outputs& o) {
  const Tensor &a = c.tensor(0), &b = c.tensor(1);
  const std::string_view op = "linalg.solve_triangular";
  check_square(a, op);
  check_matrix(b, op, "B");
  check_same_dtype(a, b, op);
  INGOT_REQUIRE(a.size(-1) == b.size(c[3].to_bool() ? -2 : -1), op, ": Incompatible shapes of A and B for the equation ",
                c[3].to_bool() ? "AX = B" : "XA = B", " (", a.sizes(), " and ", b.sizes(), ")");
  o.add(column_major(joined(broadcast_shapes(batch_of(a), batch_of(b), op), {b.size(-2), b.size(-1)}), b.dtype()));
}
void solve_triangular_kernel(const Call& c, std::span<const Tensor> r) {
  const bool up = c[2].to_bool(), left = c[3].to_bool(), unit = c[4].to_bool();
  on_scalar(r[0].dtype(), [&]<class S>(S) {
    const Shape batch = batch_of(r[0]);
    const Matrices<S> a(c.tensor(0), batch);
    // X A = B is A^T X^T = B^T.
    const Matrices<S> x(left ? c.tensor(1) : transposed_view(c.tensor(1)), batch);
    for_batch(a.batch, a.rows * a.rows * x.cols, [&](int64_t i) {
      solve_triangular(a.rows, x.cols, a[i], a.rows, up, left ? Use::plain : Use::transpose, unit, x[i]);
    });
    x.store(left ? r[0] : transposed_view(r[0]));
  });
}
void solve_triangular_vjp(Vjp& v) {
  const bool up = v.arg(2).to_bool(), left = v.arg(3).to_bool(), unit = v.arg(4).to_bool();
  const Tensor gb = solve_triangular_of(adjoint(v.saved(0)), v.grad(), !up, left, unit);
  if (v.need(0)) {
    const Tensor xh = adjoint(v.result()), ga = left ? -gb.matmul(xh) : -xh.matmul(gb);
    v.set(0, up ? upper(ga, unit) : lower(ga, -static_cast<int64_t>(unit)));
  }
  if (v.need(1)) v.set(1, gb);
}
// The old one: B, A, upper, transpose, unitriangular -> (X, a copy of A)
Value triangular_solve_body(const Call& c) {
  const Tensor &b = c.tensor(0), &a = c.tensor(1);
  check_square(a, "triangular_solve");
  check_matrix(b, "triangular_solve", "b");
  const bool flip = c[3].to_bool();
  const Tensor x = solve_triangular_of(flip ? a.transpose(-2, -1) : a, b, c[2].to_bool() != flip, true, c[4].to_bool());
  const Tensor copy = a.expand(joined(batch_of(x), {a.size(-2), a.size(-1)})).transpose(-2, -1);
  return TensorList{x, aten<"clone">(copy, MemoryFormat::contiguous).transpose(-2, -1)};
}
void triangular_solve_vjp(Vjp& v) {
  const bool up = v.arg(2).to_bool(), flip = v.arg(3).to_bool(), unit = v.arg(4).to_bool();
  const Tensor a = v.saved(1), x = v.result(0), &g = v.grad(0), &gm = v.grad(1);
  Tensor gb, ga;
  if (g.defined()) {
    const Tensor ah = adjoint(a);
    gb = solve_triangular_of(flip ? conjugate(a) : ah, g, up == flip, true, unit);
    if (v.need(1)) {
      ga = flip ? -conjugate(x).matmul(gb.transpose(-2, -1)) : -gb.matmul(adjoint(x));
      ga = up ? upper(ga, unit) : lower(ga, -static_cast<int64_t>(unit));
    }
  }
  if (v.need(0) && gb.defined()) v.set(0, gb);
  if (v.need(1) && gm.defined()) ga = ga.defined() ? ga + gm : gm;
  if (v.need(1) && ga.defined()) v.set(1, ga);
}

// ---- LU

void lu_factor_ex_meta(const Call& c, Outputs& o) {
  const Tensor& a = c.tensor(0);
  check_matrix(a, "torch.lu_factor_ex");
  o.add(column_major(a.sizes(), a.dtype()));
  o.add(pivot_sizes(a), DType::i32);
  o.add(batch_of(a), DType::i32);
}
// LU into r[at], pivots into r[at + 1]; returns the codes.
template <class S>
std::vector<int32_t> factor_into(const Matrices<S>& m, const Tensor& lu, const Tensor& pivots, bool pivot) {
  std::vector<int32_t> info(static_cast<std::size_t>(m.batch));
  const int64_t k = std::min(m.rows, m.cols);
  for_batch(m.batch, m.rows * m.cols * k, [&](int64_t i) {
    info[static_cast<std::size_t>(i)] = lu_factor(m.rows, m.cols, m[i], pivots.data<int32_t>() + i * k, pivot);
  });
  m.store(lu);
  return info;
}
void lu_factor_ex_kernel(const Call& c, std::span<const Tensor> r) {
  on_scalar(r[0].dtype(), [&]<class S>(S) {
    const std::vector<int32_t> info = factor_into(Matrices<S>(c.tensor(0)), r[0], r[1], c[1].to_bool());
    std::copy(info.begin(), info.end(), r[2].data<int32_t>());
  });
  if (c[2].to_bool()) refuse_failure(r[2], "torch.linalg.lu_factor_ex", "U has a zero on the diagonal");
}
// The gradient of A = P L U from those of L and U (either may be undefined).
Tensor lu_gradient(Tensor gl, Tensor gu, const Tensor& p, const Tensor& l, const Tensor& u, bool pivot) {
  const Int m = l.size(-2), n = u.size(-1);
  // Only the triangles are free.
  if (gl.defined()) gl = lower(gl, -1);
  if (gu.defined()) gu = upper(gu);
  Tensor g;
  const Tensor lh = adjoint(l), uh = adjoint(u);
  if (m == n) {
    if (gl.defined()) g = lower(lh.matmul(gl), -1);
    if (gu.defined()) g = g.defined() ? g + upper(gu.matmul(uh)) : upper(gu.matmul(uh));
    g = solve_triangular_of(uh, g, false, false);
    g = solve_triangular_of(lh, g, true, true, true);
  } else if (m < n) {
    auto first = [&](const Tensor& t) { return t.narrow(-1, 0, m); };
    auto rest = [&](const Tensor& t) { return t.narrow(-1, m, n - m); };
    if (gl.defined()) g = lh.matmul(gl);
    if (gu.defined()) g = g.defined() ? g - gu.matmul(uh) : -gu.matmul(uh);
    g = solve_triangular_of(adjoint(first(u)), lower(g, -1), false, false);
    if (gu.defined()) g = cat({g + first(gu), rest(gu)}, -1);
    g = solve_triangular_of(lh, g, true, true, true);
    if (!gu.defined()) g = cat({g, aten<"zeros_like">(rest(u))}, -1);
  } else {
    auto first = [&](const Tensor& t) { return t.narrow(-2, 0, n); };
    auto rest = [&](const Tensor& t) { return t.narrow(-2, n, m - n); };
    if (gu.defined()) g = gu.matmul(uh);
    if (gl.defined()) g = g.defined() ? g - lh.matmul(gl) : -lh.matmul(gl);
    g = solve_triangular_of(adjoint(first(l)), upper(g), true, true, true);
    if (gl.defined()) g = cat({g + first(gl), rest(gl)}, -2);
    g = solve_triangular_of(uh, g, false, false);
    if (!gl.defined()) g = cat({g, aten<"zeros_like">(rest(l))}, -2);
  }
  return pivot ? p.matmul(g) : g;
}
void lu_factor_ex_vjp(Vjp& v) {
  if (!v.grad(0).defined()) return;
  const bool pivot = v.arg(1).to_bool();
  const TensorList plu = atens<"lu_unpack">(v.result(0), v.result(1), true, pivot);
  const Int k = min(v.result(0).size(-2), v.result(0).size(-1));
  v.set(0, lu_gradient(v.grad(0).narrow(-1, 0, k), v.grad(0).narrow(-2, 0, k), plu[0], plu[1], plu[2], pivot));
}

// LU_data, LU_pivots, unpack_data, unpack_pivots -> P, L, U
void lu_unpack_meta(const Call& c, Outputs& o) {
  const Tensor &lu = c.tensor(0), &piv = c.tensor(1);
  check_matrix(lu, "torch.lu_unpack", "LU_data");
  INGOT_REQUIRE(!c[3].to_bool() || piv.dtype() == DType::i32,
                "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.");
  INGOT_REQUIRE(!c[3].to_bool() || piv.sizes() == pivot_sizes(lu), "torch.lu_unpack: expected LU_pivots of size ",
                pivot_sizes(lu), ", found ", piv.sizes());
  const Int m = lu.size(-2), n = lu.size(-1), k = min(m, n);
  const Shape batch = batch_of(lu);
  o.add(c[3].to_bool() ? joined(batch, {m, m}) : Shape{0}, lu.dtype());
  o.add(c[2].to_bool() ? joined(batch, {m, k}) : Shape{0}, lu.dtype());
  o.add(c[2].to_bool() ? joined(batch, {k, n}) : Shape{0}, lu.dtype());
}
void lu_unpack_kernel(const Call& c, std::span<const Tensor> r) {
  on_scalar(c.tensor(0).dtype(), [&]<class S>(S) {
    const Matrices<S> lu(c.tensor(0));
    const int64_t m = lu.rows, n = lu.cols, k = std::min(m, n);
    if (c[2].to_bool()) {
      const Matrices<S> l(lu.batch, m, k), u(lu.batch, k, n);
      for (int64_t b = 0; b < lu.batch; b++) {
        for (int64_t j = 0; j < k; j++)
          for (int64_t i = 0; i < m; i++) l[b][i + j * m] = i > j ? lu[b][i + j * m] : S(i == j ? 1.0 : 0.0);
        for (int64_t j = 0; j < n; j++)
          for (int64_t i = 0; i < k; i++) u[b][i + j * k] = i <= j ? lu[b][i + j * m] : S(0);
      }
      l.store(r[1]);
      u.store(r[2]);
    }
    if (c[3].to_bool()) {
      const Matrices<S> p(lu.batch, m, m);
      const Tensor pivots = make_tensor(Geometry::contiguous(c.tensor(1).sizes(), DType::i32));
      copy_elements(pivots, c.tensor(1));
      std::vector<int64_t> order(static_cast<std::size_t>(m));
      for (int64_t b = 0; b < lu.batch; b++) {
        for (int64_t i = 0; i < m; i++) order[static_cast<std::size_t>(i)] = i;
        for (int64_t i = 0; i < k; i++) {
          const int64_t with = pivots.data<int32_t>()[b * k + i] - 1;
          INGOT_REQUIRE(with >= 0 && with < m, "torch.lu_unpack: pivots must be between 1 and ", m, ", found ", with + 1);
          std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(with)]);
        }
        std::fill(p[b], p[b] + m * m, S(0));
        for (int64_t i = 0; i < m; i++) p[b][order[static_cast<std::size_t>(i)] + i * m] = S(1);
      }
      p.store(r[0]);
    }
  });
}
void lu_unpack_vjp(Vjp& v) {
  const Tensor &gl = v.grad(1), &gu = v.grad(2);
  const Int m = v.sizes(0)[v.sizes(0).size() - 2], n = v.sizes(0)[v.sizes(0).size() - 1], k = min(m, n);
  const Tensor low = gl.defined() ? lower(gl, -1) : Tensor(), up = gu.defined() ? upper(gu) : Tensor();
  if (!low.defined() && !up.defined()) return;
  auto widened = [&](const Tensor& t) {  // m x n with zeros beyond t
    return aten<"constant_pad_nd">(t, Shape{0, n - t.size(-1), 0, m - t.size(-2)});
  };
  Tensor g;
  if (low.defined()) g = n == k ? low : widened(low);
  if (up.defined()) {
    const Tensor u = m == k ? up : widened(up);
    g = g.defined() ? g + u : u;
  }
  v.set(0, g);
}

Value linalg_lu_body(const Call& c) {
  const TensorList f = atens<"linalg_lu_factor_ex">(c[0], c[1]);
  return atens<"lu_unpack">(f[0], f[1], true, c[1].to_bool());
}
void linalg_lu_vjp(Vjp& v) {
  if (!v.grad(1).defined() && !v.grad(2).defined()) return;
  v.set(0, lu_gradient(v.grad(1), v.grad(2), v.result(0), v.result(1), v.result(2), v.arg(1).to_bool()));
}

// ---- LU solves: LU, pivots, B, left, adjoint

void lu_solve_meta(const Call& c, Outputs& o) {
  const Tensor &lu = c.tensor(0), &piv = c.tensor(1), &b = c.tensor(2);
  const std::string_view op = "torch.linalg.lu_solve";
  check_square(lu, op, "LU");
  check_matrix(b, op, "B");
  check_same_dtype(lu, b, op);
  INGOT_REQUIRE(piv.dtype() == DType::i32 && piv.sizes() == pivot_sizes(lu), op, ": expected int32 pivots of size ",
                pivot_sizes(lu), ", found ", piv.dtype(), " of size ", piv.sizes());
  INGOT_REQUIRE(lu.size(-1) == b.size(c[3].to_bool() ? -2 : -1), op, ": Incompatible shapes of A and B (", lu.sizes(), " and ",
                b.sizes(), ")");
  o.add(column_major(joined(broadcast_shapes(batch_of(lu), batch_of(b), op), {b.size(-2), b.size(-1)}), b.dtype()));
}
void lu_solve_kernel(const Call& c, std::span<const Tensor> r) {
  const bool left = c[3].to_bool(), adjoint = c[4].to_bool();
  on_scalar(r[0].dtype(), [&]<class S>(S) {
    const Shape batch = batch_of(r[0]);
    const Matrices<S> lu(c.tensor(0), batch), x(left ? c.tensor(2) : transposed_view(c.tensor(2)), batch);
    const Tensor pivots = make_tensor(Geometry::contiguous(joined(batch, {lu.rows}), DType::i32));
    copy_elements(pivots, make_alias(c.tensor(1), expand_geometry(c.tensor(1)->geom, pivots.sizes())));
    const int64_t n = pivots.numel().value();
    for (int64_t i = 0; i < n; i++)
      INGOT_REQUIRE(pivots.data<int32_t>()[i] >= 1 && pivots.data<int32_t>()[i] <= lu.rows,
                    "Pivots given to lu_solve must all be greater or equal to 1 "
                    "and at most the size of the matrix. Did you properly pass the result of lu_factor?");
    for_batch(lu.batch, lu.rows * lu.rows * x.cols, [&](int64_t i) {
      // X A^H = B is conj(A) X^T = B^T: solved for the conjugate.
      auto flip = [&] {
        for (int64_t k = 0; k < x.rows * x.cols; k++) x[i][k] = conj_of(x[i][k]);
      };
      const Use use = left ? (adjoint ? Use::adjoint : Use::plain) : adjoint ? Use::plain : Use::transpose;
      if (!left && adjoint) flip();
      lu_solve(lu.rows, x.cols, lu[i], pivots.data<int32_t>() + i * lu.rows, use, x[i]);
      if (!left && adjoint) flip();
    });
    x.store(left ? r[0] : transposed_view(r[0]));
  });
}
void lu_solve_vjp(Vjp& v) {
  const Tensor lu = v.saved(0), &g = v.grad();
  const bool left = v.arg(3).to_bool(), adj = v.arg(4).to_bool();
  if (v.need(2)) v.set(2, aten<"linalg_lu_solve">(lu, v.saved(1), g, left, !adj));
  if (!v.need(0)) return;
  const TensorList plu = atens<"lu_unpack">(lu, v.saved(1));
  const Tensor &p = plu[0], lh = adjoint(plu[1]), uh = adjoint(plu[2]), &x = v.result();
  if (left != adj) {
    const Tensor gr = solve_triangular_of(uh, -(left ? g : adjoint(g)).matmul(left ? adjoint(x) : x), false);
    const Tensor gl = lower(solve_triangular_of(lh, gr.matmul(uh), true, true, true), -1);
    v.set(0, gl + upper(gr));
  } else {
    Tensor gr = -p.transpose(-2, -1).matmul(left ? x : adjoint(x)).matmul(left ? adjoint(g) : g).matmul(p);
    gr = solve_triangular_of(lh, gr, true, false, true);
    const Tensor gu = upper(solve_triangular_of(uh, lh.matmul(gr), false, false));
    v.set(0, lower(gr, -1) + gu);
  }
}

// ---- general systems: A, B, left, check_errors -> (X, LU, pivots, info)

// B is a batch of vectors if it is one dim short of A's batch of matrices.
bool is_vector_case(const Tensor& a, const Tensor& b) {
  return b.dim() == 1 || (a.dim() - 1 == b.dim() && b.sizes() == a.sizes().sub(0, a.sizes().size() - 1));
}
void solve_ex_meta(const Call& c, Outputs& o) {
  const Tensor &a = c.tensor(0), &b = c.tensor(1);
  const std::string_view op = "linalg.solve";
  check_square(a, op);
  check_same_dtype(a, b, op);
  const bool vector = is_vector_case(a, b), left = c[2].to_bool();
  INGOT_REQUIRE(!vector || left, op, ": Vector broadcasting of the left hand side is not supported for left=False.");
  INGOT_REQUIRE(vector || b.dim() >= 2, op, ": expected B with at least 1 dim, found ", b.sizes());
  const Int rows = vector ? b.size(-1) : b.size(left ? -2 : -1);
  INGOT_REQUIRE(a.size(-1) == rows, op, ": Incompatible shapes of A and B for the equation ", left ? "AX = B" : "XA = B", " (",
                a.sizes(), " and ", b.sizes(), ")");
  const Shape batch = broadcast_shapes(batch_of(a), vector ? b.sizes().sub(0, b.sizes().size() - 1) : batch_of(b), op);
  if (vector) o.add(joined(batch, {b.size(-1)}), b.dtype());
  else o.add(column_major(joined(batch, {b.size(-2), b.size(-1)}), b.dtype()));
  o.add(column_major(a.sizes(), a.dtype()));
  o.add(pivot_sizes(a), DType::i32);
  o.add(batch_of(a), DType::i32);
}
void solve_ex_kernel(const Call& c, std::span<const Tensor> r) {
  const Tensor &a = c.tensor(0), &b = c.tensor(1);
  const bool vector = is_vector_case(a, b), left = c[2].to_bool();
  auto column = [](const Tensor& t) {
    Geometry g = t->geom;
    g.sizes.push_back(1);
    g.strides.push_back(1);
    return make_alias(t, std::move(g));
  };
  on_scalar(r[0].dtype(), [&]<class S>(S) {
    const std::vector<int32_t> info = factor_into(Matrices<S>(a), r[1], r[2], true);
    std::copy(info.begin(), info.end(), r[3].data<int32_t>());
    const Tensor out = vector ? column(r[0]) : r[0], rhs = vector ? column(b) : b;
    const Shape batch = batch_of(out);
    const Matrices<S> lu(r[1], batch), x(left ? rhs : transposed_view(rhs), batch);
    const Tensor pivots = make_tensor(Geometry::contiguous(joined(batch, {lu.rows}), DType::i32));
    copy_elements(pivots, make_alias(r[2], expand_geometry(r[2]->geom, pivots.sizes())));
    for_batch(lu.batch, lu.rows * lu.rows * x.cols, [&](int64_t i) {
      lu_solve(lu.rows, x.cols, lu[i], pivots.data<int32_t>() + i * lu.rows, left ? Use::plain : Use::transpose, x[i]);
    });
    x.store(left ? out : transposed_view(out));
  });
  if (c[3].to_bool()) refuse_failure(r[3], "torch.linalg.solve_ex", "The solver failed because the input matrix is singular.");
}
void solve_ex_vjp(Vjp& v) {
  if (!v.grad(0).defined()) return;
  const Tensor a = v.saved(0), x = v.result(0);
  const bool left = v.arg(2).to_bool();
  const Shape &sa = v.sizes(0), &sb = v.sizes(1);
  const bool vector = sb.dim() == 1 || (sa.dim() - 1 == sb.dim() && sb == sa.sub(0, sa.size() - 1));
  auto matrix = [&](const Tensor& t) { return vector ? t.unsqueeze(-1) : t; };
  const Tensor gb = atens<"_linalg_solve_ex">(adjoint(a), matrix(v.grad(0)), left)[0];
  if (v.need(0)) v.set(0, left ? -gb.matmul(adjoint(matrix(x))) : -adjoint(x).matmul(gb));
  if (v.need(1)) v.set(1, vector ? gb.squeeze(-1) : gb);
}

// ---- inverse and determinants

void inv_ex_meta(const Call& c, Outputs& o) {
  const Tensor& a = c.tensor(0);
  check_square(a, "linalg.inv");
  o.add(column_major(a.sizes(), a.dtype()));
  o.add(batch_of(a), DType::i32);
}
void inv_ex_kernel(const Call& c, std::span<const Tensor> r) {
  on_scalar(r[0].dtype(), [&]<class S>(S) {
    const Matrices<S> a(c.tensor(0)), x(a.batch, a.rows, a.cols);
    const int64_t n = a.rows;
    for_batch(a.batch, n * n * n, [&](int64_t i) {
      std::vector<int32_t> pivots(static_cast<std::size_t>(n));
      r[1].data<int32_t>()[i] = lu_factor(n, n, a[i], pivots.data(), true);
      for (int64_t k = 0; k < n * n; k++) x[i][k] = S(k % (n + 1) == 0 ? 1.0 : 0.0);
      lu_solve(n, n, a[i], pivots.data(), Use::plain, x[i]);
    });
    x.store(r[0]);
  });
  if (c[1].to_bool())
    refuse_failure(r[1], "linalg.inv_ex",
                   "The diagonal element is zero, the inversion could not be completed because the input matrix is singular.");
}

int sign_of_pivots(const int32_t* pivots, int64_t n) {
  int s = 1;
  for (int64_t i = 0; i < n; i++)
    if (pivots[i] != i + 1) s = -s;
  return s;
}
void det_meta(const Call& c, Outputs& o) {
  const Tensor& a = c.tensor(0);
  check_square(a, "linalg.det");
  o.add(batch_of(a), a.dtype());
  o.add(column_major(a.sizes(), a.dtype()));
  o.add(pivot_sizes(a), DType::i32);
}
// One value a matrix, written through a buffer of the compute type.
template <class S, class F>
void store_values(const Tensor& result, int64_t batch, const F& value) {
  constexpr DType t = std::is_same_v<S, double> ? DType::f64 : DType::c128;
  const Tensor buffer = make_tensor(Geometry::contiguous(result.sizes(), t));
  for (int64_t i = 0; i < batch; i++) buffer.data<S>()[i] = value(i);
  copy_elements(result, buffer);
}
void det_kernel(const Call& c, std::span<const Tensor> r) {
  on_scalar(r[0].dtype(), [&]<class S>(S) {
    const Matrices<S> m(c.tensor(0));
    const int64_t n = m.rows;
    factor_into(m, r[1], r[2], true);
    store_values<S>(r[0], m.batch, [&](int64_t i) {
      S d = S(sign_of_pivots(r[2].data<int32_t>() + i * n, n));
      for (int64_t k = 0; k < n; k++) d *= m[i][k + k * n];
      return d;
    });
  });
}
void det_vjp(Vjp& v) {
  const Tensor &g = v.grad(0), a = v.saved(0), &d = v.result(0);
  if (!g.defined()) return;
  const Tensor diagonal = aten<"diag_embed">((g * conjugate(d)).unsqueeze(-1).expand(joined(batch_of(a), {a.size(-1)})));
  if (thread_state().grad_mode) {
    v.set(0, atens<"_linalg_solve_ex">(adjoint(a), diagonal)[0]);
    return;
  }
  // The determinant is smooth where A is singular: nudge zeros off the diagonal of U.
  const double eps = epsilon_of(a.dtype());
  const Tensor u = v.result(1).diagonal(0, -2, -1);
  const Tensor nudge = aten<"diag_embed">(where(u == 0, aten<"full_like">(u, eps), aten<"zeros_like">(u)));
  v.set(0, aten<"linalg_lu_solve">(v.result(1) + nudge, v.result(2), diagonal, true, true));
}
void slogdet_meta(const Call& c, Outputs& o) {
  const Tensor& a = c.tensor(0);
  check_square(a, "linalg.slogdet");
  o.add(batch_of(a), a.dtype());
  o.add(batch_of(a), real_of(a.dtype()));
  o.add(column_major(a.sizes(), a.dtype()));
  o.add(pivot_sizes(a), DType::i32);
}
void slogdet_kernel(const Call& c, std::span<const Tensor> r) {
  on_scalar(r[0].dtype(), [&]<class S>(S) {
    const Matrices<S> m(c.tensor(0));
    const int64_t n = m.rows;
    factor_into(m, r[2], r[3], true);
    store_values<S>(r[0], m.batch, [&](int64_t i) {
      S s = S(sign_of_pivots(r[3].data<int32_t>() + i * n, n));
      for (int64_t k = 0; k < n; k++) {
        const S u = m[i][k + k * n];
        s *= std::abs(u) == 0 ? S(0) : u / std::abs(u);
      }
      return s;
    });
    store_values<double>(r[1], m.batch, [&](int64_t i) {
      double l = 0;
      for (int64_t k = 0; k < n; k++) l += std::log(std::abs(m[i][k + k * n]));
      return l;
    });
  });
}
void slogdet_vjp(Vjp& v) {
  const Tensor a = v.saved(0), &gs = v.grad(0), &gl = v.grad(1);
  Tensor g = gl;
  if (a.is_complex() && gs.defined()) {  // sign = exp(i arg det): only its phase moves
    const Tensor phase =
        aten<"mul.Scalar">(aten<"imag">(conjugate(gs) * v.result(0)).to(a.dtype()), Value(std::complex<double>(0, -1)));
    g = g.defined() ? g + phase : phase;
  }
  if (!g.defined()) return;
  const Tensor diagonal = aten<"diag_embed">(g.to(a.dtype()).unsqueeze(-1).expand(joined(batch_of(a), {a.size(-1)})));
  v.set(0, atens<"_linalg_solve_ex">(adjoint(a), diagonal)[0]);
}

// A vector on the right is a matrix of one column.
Value batch_solve(const Batching& b) {
  const bool vector =
      b.rank(1) == 1 || (b.rank(0) - 1 == b.rank(1) && b.sizes(1) == b.sizes(0).sub(0, static_cast<std::size_t>(b.rank(1))));
  if (!vector) return batch_cores<2, 2>(b);
  if (b.rank(0) - 1 != b.rank(1)) return batch_loop(b);
  return call(b.op, arguments_in_front(b));
}

constexpr OpDef kLinalgFactorOps[] = {
    {.schema = "aten::linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor info)",
     .meta = cholesky_ex_meta,
     .kernel = cholesky_ex_kernel,
     .vjp =
         [](Vjp& v) {
           if (v.grad(0).defined()) v.set(0, cholesky_gradient(v.grad(0), v.arg(1).to_bool(), v.result(0)));
         },
     .saves = {{kResult}},
     .autocast = Autocast::float32,
     .batch = batch_leading},
    {.schema =
         "aten::linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False) -> Tensor",
     .meta = solve_triangular_meta,
     .kernel = solve_triangular_kernel,
     .vjp = solve_triangular_vjp,
     .saves = {{0}, {kResult, 0}},
     .batch = batch_cores<2, 2>},
    {.schema =
         "aten::triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False) -> (Tensor solution, "
         "Tensor cloned_coefficient)",
     .body = triangular_solve_body,
     .vjp = triangular_solve_vjp,
     .saves = {{1}, {kResult, 1}},
     .autocast = Autocast::float32},
    {.schema =
         "aten::linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor LU, Tensor pivots, Tensor info)",
     .meta = lu_factor_ex_meta,
     .kernel = lu_factor_ex_kernel,
     .vjp = lu_factor_ex_vjp,
     .saves = {{kResult}, {kResult - 1}},
     .batch = batch_leading},
    {.schema =
         "aten::lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) -> (Tensor P, Tensor L, Tensor U)",
     .meta = lu_unpack_meta,
     .kernel = lu_unpack_kernel,
     .vjp = lu_unpack_vjp,
     .grad = {.results = 0b110},
     .batch = batch_cores<2, 1>},
    {.schema = "aten::linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)",
     .body = linalg_lu_body,
     .vjp = linalg_lu_vjp,
     .saves = {{kResult}, {kResult - 1}, {kResult - 2}},
     .grad = {.results = 0b110}},
    {.schema = "aten::linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> Tensor",
     .meta = lu_solve_meta,
     .kernel = lu_solve_kernel,
     .vjp = lu_solve_vjp,
     .saves = {{0}, {1}, {kResult, 0}},
     .batch = batch_cores<2, 1, 2>},
    {.schema =
         "aten::_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor LU, Tensor pivots, "
         "Tensor info)",
     .meta = solve_ex_meta,
     .kernel = solve_ex_kernel,
     .vjp = solve_ex_vjp,
     .saves = {{0}, {kResult}},
     .grad = {.results = 0b1},  // the factors are for the backward
     .batch = batch_solve},
    {.schema = "aten::linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)",
     .meta = inv_ex_meta,
     .kernel = inv_ex_kernel,
     .vjp =
         [](Vjp& v) {
           if (!v.grad(0).defined()) return;
           const Tensor h = adjoint(v.result(0));
           v.set(0, -h.matmul(v.grad(0).matmul(h)));
         },
     .saves = {{kResult}},
     .autocast = Autocast::float32,
     .batch = batch_leading},
    {.schema = "aten::_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)",
     .meta = det_meta,
     .kernel = det_kernel,
     .vjp = det_vjp,
     .saves = {{0}, {kResult}, {kResult - 1}, {kResult - 2}},
     .grad = {.results = 0b1},
     .batch = batch_leading},
    {.schema = "aten::_linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)",
     .meta = slogdet_meta,
     .kernel = slogdet_kernel,
     .vjp = slogdet_vjp,
     .saves = {{0}, {kResult}},
     .grad = {.results = 0b11},
     .batch = batch_leading},
};

}  // namespace

INGOT_FAMILY(linalg_factor, kLinalgFactorOps)

}  // namespace ingot
