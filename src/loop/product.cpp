#include "loop/product.hpp"

#include <algorithm>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "loop/offset.hpp"

namespace ingot::loop {
namespace {

constexpr int64_t kAlignment = 64;
// Below these a tile is mostly padding, or its loop too short to pay for the packing.
constexpr int64_t kFewestRows = 4, kFewestColumns = 8, kShortestSum = 8;

bool depends_on_any(const Expr& e, const std::vector<Expr>& vars) {
  return std::any_of(vars.begin(), vars.end(), [&](const Expr& v) { return depends(e, v); });
}
Expr count_of(const std::vector<Expr>& vars) {
  Expr n = 1;
  for (const Expr& v : vars) n = n * v.arg(0);
  return n;
}
bool is_fewer(const Expr& n, int64_t least) { return n.is_const() && n->i < least; }

// vars[…] in terms of one variable that counts them all, row-major.
void unflatten(const std::vector<Expr>& vars, const Expr& flat, std::vector<Expr>& from, std::vector<Expr>& to) {
  Expr rest = flat;
  for (std::size_t i = vars.size(); i-- > 0;) {
    from.push_back(vars[i]);
    to.push_back(i == 0 ? rest : mod(rest, vars[i].arg(0)));
    rest = floor_div(rest, vars[i].arg(0));
  }
}
Expr flattened_index(const std::vector<Expr>& vars) {
  Expr e = 0;
  for (const Expr& v : vars) e = e * v.arg(0) + v;
  return e;
}

// The two factors of the body, in the order rows, columns; and whose variables are whose.
struct Factors {
  Expr a, b;
  std::vector<Expr> batch, rows, columns;
};
std::optional<Factors> factors_of(const Computation& c) {
  if (c.folds.size() != 1 || c.folds[0].how != Accumulate::sum) return std::nullopt;
  const Expr& body = c.folds[0].body;
  if (body.op() != ExprOp::Mul || body.args().size() != 2 || body.dtype() != DType::f32) return std::nullopt;
  for (std::size_t first = 0; first < 2; first++) {
    Factors f{body.arg(first), body.arg(1 - first), {}, {}, {}};
    for (const Expr& v : c.vars) {
      const bool in_a = depends(f.a, v), in_b = depends(f.b, v);
      (in_a && in_b ? f.batch : in_b ? f.columns : f.rows).push_back(v);
    }
    // Columns are what the result is contiguous in.
    if (!f.rows.empty() && !f.columns.empty() && same(f.columns.back(), c.vars.back())) return f;
  }
  return std::nullopt;
}

}  // namespace

std::optional<ProductSteps> as_product(Program& p, const Computation& c, const Machine& machine) {
  const auto f = factors_of(c);
  if (!f) return std::nullopt;
  const Fold& fold = c.folds[0];
  const Expr rows = count_of(f->rows), columns = count_of(f->columns), length = count_of(fold.vars);
  if (is_fewer(rows, kFewestRows) || is_fewer(columns, kFewestColumns) || is_fewer(length, kShortestSum)) return std::nullopt;
  for (const Expr& v : fold.vars)
    if (depends_on_any(v.arg(0), c.vars)) return std::nullopt;

  const int64_t width = int64_t{machine.lanes} * machine.tile_vectors, height = machine.tile_rows;
  const Expr panels = floor_div(columns + (width - 1), width);
  const std::string name = p.buffers[static_cast<std::size_t>(c.out)].name;
  auto add_buffer = [&](const std::string& suffix, std::vector<Expr> sizes, Place place) {
    Buffer b{name + suffix, DType::f32, std::move(sizes), {}, place, {}};
    Expr stride = 1;
    b.strides.resize(b.sizes.size());
    for (std::size_t d = b.sizes.size(); d-- > 0; stride = stride * b.sizes[d]) b.strides[d] = stride;
    p.buffers.push_back(std::move(b));
    return static_cast<int>(p.buffers.size()) - 1;
  };

  // packed[batch…, panel, k, lane] = b at column width*panel + lane; zero past the last.
  ProductSteps steps;
  {
    int64_t id = 0;
    std::vector<Expr> sizes, vars, from, to;
    for (const Expr& v : f->batch) {
      vars.push_back(Expr::index(id++, v.arg(0)));
      from.push_back(v);
      to.push_back(vars.back());
    }
    const Expr panel = Expr::index(id++, panels), k = Expr::index(id++, length), lane = Expr::index(id++, width);
    vars.insert(vars.end(), {panel, k, lane});
    const Expr column = width * panel + lane;
    unflatten(f->columns, column, from, to);
    unflatten(fold.vars, k, from, to);
    for (const Expr& v : vars) sizes.push_back(v.arg(0));
    const Expr value = substitute(f->b, from, to);
    steps.pack = {add_buffer(".packed", sizes, Place::arena), vars, {}, select(column < columns, value, Expr::constant(DType::f32, 0.0))};
  }

  Kernel& kernel = steps.kernel;
  kernel.name = name;
  int64_t id = 0;
  std::vector<Expr> from, to;
  for (const Expr& v : f->batch) {
    kernel.outer.push_back(Expr::index(id++, v.arg(0)));
    from.push_back(v);
    to.push_back(kernel.outer.back());
  }
  const Expr block = Expr::index(id++, floor_div(rows + (height - 1), height));
  kernel.outer.push_back(block);
  const Expr k = Expr::index(id++, length), row = Expr::index(id++, rows);
  Product product;
  product.row = row;
  product.k = k;
  {
    std::vector<Expr> a_from = from, a_to = to;
    unflatten(f->rows, row, a_from, a_to);
    unflatten(fold.vars, k, a_from, a_to);
    product.a = with_offsets(p, substitute(f->a, a_from, a_to));
  }
  product.first_row = height * block;
  product.rows = rows;
  product.length = length;
  product.panels = panels;
  product.packed = steps.pack.out;
  const Buffer& packed = p.buffers[static_cast<std::size_t>(product.packed)];
  product.packed_offset = 0;
  for (std::size_t d = 0; d < f->batch.size(); d++) product.packed_offset = product.packed_offset + kernel.outer[d] * packed.strides[d];
  product.height = static_cast<int>(height);
  product.width = static_cast<int>(width);
  product.strip = add_buffer(".strip", {Expr(height), panels * width}, Place::scratch);
  Buffer& strip = p.buffers[static_cast<std::size_t>(product.strip)];
  strip.offset = 0;
  const std::string strip_name = strip.name;
  kernel.scratch_bytes = floor_div(bytes_of(strip) + (kAlignment - 1), kAlignment) * kAlignment;
  if (product.a.op() != ExprOp::Load) {
    product.own_rows = add_buffer(".rows", {length, Expr(height)}, Place::scratch);
    Buffer& own = p.buffers[static_cast<std::size_t>(product.own_rows)];
    own.offset = kernel.scratch_bytes;
    kernel.scratch_bytes = kernel.scratch_bytes + floor_div(bytes_of(own) + (kAlignment - 1), kAlignment) * kAlignment;
  }

  // What becomes of the sums: rows of the strip, then the result's own columns.
  Nest n;
  const Expr local = Expr::index(id++, min(Expr(height), rows - product.first_row));
  n.vars.push_back(local);
  unflatten(f->rows, product.first_row + local, from, to);
  std::vector<Expr> columns_here;
  for (const Expr& v : f->columns) {
    columns_here.push_back(Expr::index(id++, v.arg(0)));
    n.vars.push_back(columns_here.back());
    from.push_back(v);
    to.push_back(columns_here.back());
  }
  from.push_back(fold.tmp);
  to.push_back(Expr::load(product.strip, DType::f32, {local * (panels * width) + flattened_index(columns_here)}, strip_name));
  std::vector<Expr> index = c.leading;
  for (const Expr& v : c.vars) index.push_back(substitute(v, from, to));
  // The sum is an element of the strip, which has its offset already: only the other loads get theirs.
  const Expr tmp = Expr::tmp(-1, DType::f32);
  const Expr sum = to.back();
  to.back() = tmp;
  const Expr value = substitute(with_offsets(p, substitute(c.value, from, to)), tmp, sum);
  n.stores.push_back({c.out, offset_of(p.buffers[static_cast<std::size_t>(c.out)], index), value});
  kernel.nests.push_back(std::move(n));
  kernel.product = std::move(product);
  return steps;
}

}  // namespace ingot::loop
