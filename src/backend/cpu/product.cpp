#include "backend/cpu/product.hpp"

#include <algorithm>

#include "backend/cpu/microkernel.hpp"
#include "base/dtype.hpp"
#include "base/error.hpp"
#include "base/index.hpp"
#include "base/long_sum.hpp"
#include "loop/contraction.hpp"
#include "loop/offset.hpp"

namespace ingot::cpu {
namespace {

using loop::Buffer;
using loop::Computation;
using loop::Contraction;
using loop::Fold;
using loop::Kernel;
using loop::Nest;
using loop::Place;
using loop::Product;
using loop::ProductSteps;
using loop::Program;

constexpr int64_t kAlignment = 64;
// Below these a block is mostly padding, or its loop too short to pay for the packing.
constexpr int64_t kFewestRows = 4, kFewestColumns = 8, kShortestSum = 8;

// Of one task: columns, whose sums stay in the cache next to the processor, and bytes of their
// factor, which the tasks after it, over the rows below, find in the one behind.
constexpr int64_t kFewestColumnsOfTask = 32, kMostColumns = 512, kMostBytes = 256 << 10;

Expr ceil_div(const Expr& a, int64_t b) { return floor_div(a + (b - 1), b); }
Expr aligned(const Expr& bytes) { return ceil_div(bytes, kAlignment) * kAlignment; }

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

// Columns as they lie in memory: those variables whose elements follow each other, the first of
// them cut into blocks, and the ones before, for each of whose values the block is another.
struct Run {
  std::vector<Expr> apart, vars;
  std::vector<int64_t> strides;  // of vars, in the factor's memory; the last is 1
  int64_t block = 0;             // values of vars[0] in one task
  int64_t within = 1;            // elements from the first to the last, for one value of vars[0]

  int64_t span(int64_t values) const { return (values - 1) * strides[0] + within; }
};

// How many columns a task should have at most if each has this many bytes in memory of its own.
int64_t most_columns(int64_t bytes, int64_t width) {
  const int64_t fewest = std::max(width, std::min(2 * width, kFewestColumnsOfTask));
  return std::clamp<int64_t>(kMostBytes / std::max<int64_t>(1, bytes), fewest, kMostColumns);
}

// How many values of the first variable make a block: the fewest panels, and some for each task's
// own cost. A block is never smaller than a panel.
int64_t choose_block(const Run& r, int64_t bytes, int64_t width) {
  const int64_t all = r.vars[0].arg(0)->i, most = std::min(all, std::max<int64_t>(1, most_columns(bytes, width) / r.strides[0]));
  auto panels = [&](int64_t values) { return (r.span(values) + width - 1) / width; };
  int64_t best = all, least = -1;
  for (int64_t n = most; n >= 1; n--) {
    const int64_t rest = all % n;
    if (r.span(n) < width || (rest > 0 && r.span(rest) < width)) continue;
    const int64_t total = (all / n) * (panels(n) + 1) + (rest > 0 ? panels(rest) + 1 : 0);
    if (least < 0 || total < least) best = n, least = total;
  }
  return best;
}

// Nothing where the factor `b` has to be laid out anew.
std::optional<Run> run_of(const Program& p, const Expr& b, const std::vector<Expr>& columns, const std::vector<Expr>& k,
                          int64_t width) {
  if (b.op() != ExprOp::Load || p.buffers[at(b->i)].place == Place::constant) return std::nullopt;
  Run r;
  int64_t span = 1;
  std::size_t first = columns.size();
  for (; first > 0; first--) {
    const Expr& v = columns[first - 1];
    const auto s = stride(b.arg(0), v);
    if (!s || !s->is_const() || !v.arg(0).is_const()) break;
    const int64_t step = (*s)->i;
    const bool follows = r.vars.empty() ? step == 1 : step >= span && step <= 2 * span;
    if (!follows) break;
    r.within = span;
    span += step * (v.arg(0)->i - 1);
    r.vars.insert(r.vars.begin(), v);
    r.strides.insert(r.strides.begin(), step);
  }
  if (r.vars.empty() || span < width) return std::nullopt;
  r.apart.assign(columns.begin(), columns.begin() + static_cast<std::ptrdiff_t>(first));
  // Taps that are near each other share their memory.
  int64_t bytes = size_of(b.dtype());
  for (const Expr& v : k)
    if (const auto s = stride(b.arg(0), v); s && s->is_const() && (*s)->i >= span && v.arg(0).is_const()) bytes *= v.arg(0)->i;
  r.block = choose_block(r, bytes, width);
  return r;
}

bool reads_constants(const Program& p, const Expr& e) {
  bool all = true;
  visit(e, [&](const Expr& x) { all = all && (x.op() != ExprOp::Load || p.buffers[at(x->i)].place == Place::constant); });
  return all;
}

// The one whose sums, with those that nobody looks at, cost least, as far as the sizes are known.
Microkernel choose_microkernel(const std::vector<Microkernel>& all, const Expr& rows, const Expr& columns) {
  auto padded = [](const Expr& n, int64_t unit) { return n.is_const() ? (n->i + unit - 1) / unit * unit : 1; };
  auto work = [&](const Microkernel& m) { return padded(rows, m.rows) * padded(columns, m.columns) * m.cost; };
  return *std::min_element(all.begin(), all.end(), [&](const auto& a, const auto& b) { return work(a) < work(b); });
}

class ProductBuilder {
 public:
  ProductBuilder(Program& p, const Computation& c, const Contraction& f, const std::vector<Microkernel>& microkernels)
      : program_(p), c_(c), f_(f), fold_(c.folds[0]), rows_(count_of(f.rows)), columns_(count_of(f.columns)),
        length_(count_of(fold_.vars)), name_(p.buffers[at(c.out)].name) {
    const Microkernel m = choose_microkernel(microkernels, rows_, columns_);
    x_.types = m.types;
    x_.microkernel = m.name;
    width_ = m.columns;
    height_ = m.rows;
    k_group_ = m.k_group;
  }

  ProductSteps build() {
    std::optional<Run> run;
    if (k_group_ == 1) run = run_of(program_, with_offsets(program_, f_.b), f_.columns, fold_.vars, width_);
    Kernel& kernel = steps_.kernel;
    kernel.name = name_;
    for (const Expr& v : f_.batch) add_outer(v);
    if (run)
      for (const Expr& v : run->apart) add_outer(v);
    x_.k = k_variables();
    std::vector<Expr> columns_here;  // the variables of the nest over the sums
    Expr sum_column;
    if (run) columns_in_place(*run, columns_here, sum_column);
    else columns_packed(columns_here, sum_column);
    // Rows that only one task reads are its own; others, and what is constant, are laid out by a
    // step before.
    const bool is_shared = kernel.outer.size() > f_.batch.size() || reads_constants(program_, f_.a);
    const Expr block = variable(ceil_div(rows_, height_));
    kernel.outer.push_back(block);
    const bool is_exact = !is_floating(f_.types.sums) || (length_.is_const() && length_->i <= kTermsInFloat);
    x_.sums.buffer = add_scratch(".strip", is_exact ? f_.types.sums : DType::f64, {Expr(height_), strip_width_});
    if (is_shared) x_.rows.offset = pack(".rows", f_.a, f_.rows, height_, block, x_.rows.buffer) + k_offset(x_.k, height_);
    else own_rows(height_ * block);
    sums(height_ * block, columns_here, sum_column);
    add_block();
    kernel.product = std::move(x_);
    return std::move(steps_);
  }

 private:
  Program& program_;
  const Computation& c_;
  const Contraction& f_;
  const Fold& fold_;
  Expr rows_, columns_, length_;
  std::string name_;
  int64_t width_, height_, k_group_;
  ProductSteps steps_;
  Product x_;  // its offsets are those of a block's first elements until the block's variables are added
  Expr panel_, first_column_, strip_width_;  // panels may overlap
  int64_t next_ = 0;
  std::vector<Expr> from_, to_;  // the computation's variables, in the kernel

  Expr variable(const Expr& extent) { return Expr::index(next_++, extent); }
  void add_block() {
    x_.vars = {panel_};
    x_.row = variable(Expr(height_));
    x_.column = variable(Expr(width_));
    x_.rows.offset = x_.rows.offset + k_group_ * x_.row;
    x_.columns.offset = x_.columns.offset + k_group_ * x_.column;
    x_.sums.offset = first_column_ + strip_width_ * x_.row + x_.column;
  }
  void add_outer(const Expr& v) {
    steps_.kernel.outer.push_back(variable(v.arg(0)));
    from_.push_back(v);
    to_.push_back(steps_.kernel.outer.back());
  }
  int add_buffer(const std::string& suffix, DType dtype, std::vector<Expr> sizes, Place place) {
    Buffer b{name_ + suffix, dtype, std::move(sizes), {}, place, {}};
    Expr stride = 1;
    b.strides.resize(b.sizes.size());
    for (std::size_t d = b.sizes.size(); d-- > 0; stride = stride * b.sizes[d]) b.strides[d] = stride;
    program_.buffers.push_back(std::move(b));
    return static_cast<int>(program_.buffers.size()) - 1;
  }
  int add_scratch(const std::string& suffix, DType dtype, std::vector<Expr> sizes) {
    const int id = add_buffer(suffix, dtype, std::move(sizes), Place::scratch);
    Buffer& b = program_.buffers[at(id)];
    b.offset = steps_.kernel.scratch_bytes;
    steps_.kernel.scratch_bytes = steps_.kernel.scratch_bytes + aligned(bytes_of(b));
    return id;
  }

  // New ones, that count k: as the fold does, or, where a step takes several k, steps and the k of
  // one.
  std::vector<Expr> k_variables() {
    std::vector<Expr> all;
    if (k_group_ > 1) all = {variable(ceil_div(length_, k_group_)), variable(Expr(k_group_))};
    else
      for (const Expr& v : fold_.vars) all.push_back(variable(v.arg(0)));
    return all;
  }
  // Where for these k the first of `size` members lies.
  Expr k_offset(const std::vector<Expr>& k, int64_t size) const {
    return k_group_ > 1 ? k[0] * (size * k_group_) + k[1] : flattened_index(k) * size;
  }
  // The factor; zero past the last k, which a step may go beyond.
  Expr or_zero(const Expr& factor, const Expr& k) const {
    return k_group_ > 1 ? select(k < length_, factor, zero_of(factor)) : factor;
  }
  static Expr zero_of(const Expr& factor) { return Expr::constant(factor.dtype(), 0.0); }

  // buffer[batch…, group, k, within] = factor at member `size*group + within` of `vars`, zero past
  // the last; where a step takes several k, these are one more dim, the last. Returns where group
  // `group` begins for the kernel's batch.
  Expr pack(const std::string& suffix, const Expr& factor, const std::vector<Expr>& vars, int64_t size, const Expr& group,
            int& buffer) {
    const Expr count = count_of(vars);
    std::vector<Expr> sizes, own, from, to;
    int64_t id = 0;
    for (const Expr& v : f_.batch) {
      own.push_back(Expr::index(id++, v.arg(0)));
      from.push_back(v);
      to.push_back(own.back());
    }
    const Expr g = Expr::index(id++, ceil_div(count, size)), step = Expr::index(id++, ceil_div(length_, k_group_)),
               within = Expr::index(id++, size), value = k_group_ > 1 ? Expr::index(id++, k_group_) : Expr(0);
    own.insert(own.end(), {g, step, within});
    if (k_group_ > 1) own.push_back(value);
    const Expr member = size * g + within, k = k_group_ * step + value;
    unflatten(vars, member, from, to);
    unflatten(fold_.vars, k, from, to);
    for (const Expr& v : own) sizes.push_back(v.arg(0));
    buffer = add_buffer(suffix, factor.dtype(), sizes, Place::arena);
    steps_.packs.push_back({buffer, own, {}, select(member < count, or_zero(substitute(factor, from, to), k), zero_of(factor))});
    const std::vector<Expr>& strides = program_.buffers[at(buffer)].strides;
    Expr offset = group * strides[f_.batch.size()];
    for (std::size_t d = 0; d < f_.batch.size(); d++) offset = offset + steps_.kernel.outer[d] * strides[d];
    return offset;
  }

  // How many values of the first variable of the columns make a block: whole panels. 0: they are
  // not cut.
  int64_t choose_packed_block() const {
    const Expr& all = f_.columns[0].arg(0);
    if (!columns_.is_const() || !length_.is_const()) return 0;
    const int64_t inner = columns_->i / std::max<int64_t>(1, all->i),
                  most = most_columns(size_of(f_.types.columns) * length_->i, width_) / std::max<int64_t>(1, inner);
    if (all->i <= most) return 0;
    auto fits = [&](int64_t n) { return n * inner % width_ == 0; };
    for (int64_t n = most; 2 * n > most; n--)  // rather blocks of one size
      if (fits(n) && all->i % n == 0) return n;
    for (int64_t n = most; n > 0; n--)
      if (fits(n)) return n;
    for (int64_t n = most + 1; n < all->i; n++)  // larger ones are better than one task for all columns
      if (fits(n)) return n;
    return 0;
  }
  void columns_packed(std::vector<Expr>& columns_here, Expr& sum_column) {
    const Expr all = f_.columns[0].arg(0);
    const int64_t cut = choose_packed_block();
    Expr start = 0, here = all, panels_before = 0;
    if (cut > 0) {
      const Expr block = variable(ceil_div(all, cut));
      steps_.kernel.outer.push_back(block);
      start = cut * block;
      here = all->i % cut == 0 ? Expr(cut) : min(Expr(cut), all - start);
      panels_before = block * floor_div(floor_div(columns_, all) * cut, width_);
    }
    const Expr columns = cut > 0 ? floor_div(columns_, all) * here : columns_;
    panel_ = variable(ceil_div(columns, width_));
    x_.columns.offset =
        pack(".packed", f_.b, f_.columns, width_, panels_before + panel_, x_.columns.buffer) + k_offset(x_.k, width_);
    first_column_ = width_ * panel_;
    strip_width_ = cut > 0 ? floor_div(columns_, all) * cut : ceil_div(columns_, width_) * width_;
    for (std::size_t i = 0; i < f_.columns.size(); i++) {
      columns_here.push_back(variable(i == 0 ? here : f_.columns[i].arg(0)));
      from_.push_back(f_.columns[i]);
      to_.push_back(i == 0 ? start + columns_here.back() : columns_here.back());
    }
    sum_column = flattened_index(columns_here);
  }

  void columns_in_place(const Run& r, std::vector<Expr>& columns_here, Expr& sum_column) {
    const Expr all = r.vars[0].arg(0);
    const bool is_cut = r.block < all->i;
    if (is_cut) steps_.kernel.outer.push_back(variable(ceil_div(all, r.block)));
    const Expr start = is_cut ? r.block * steps_.kernel.outer.back() : Expr(0);
    const Expr here = all->i % r.block == 0 ? Expr(r.block) : min(Expr(r.block), all - start);
    const Expr span = (here - 1) * r.strides[0] + r.within;
    panel_ = variable(ceil_div(span, width_));
    // The last panel ends where the columns do.
    first_column_ = r.span(r.block) % width_ == 0 && here.is_const() ? width_ * panel_ : min(width_ * panel_, span - width_);
    strip_width_ = r.span(r.block);
    std::vector<Expr> from = from_, to = to_;
    for (std::size_t i = 0; i < r.vars.size(); i++) {
      from.push_back(r.vars[i]);
      to.push_back(i == 0 ? start : Expr(0));
    }
    for (std::size_t i = 0; i < fold_.vars.size(); i++) {
      from.push_back(fold_.vars[i]);
      to.push_back(x_.k[i]);
    }
    const Expr b = with_offsets(program_, substitute(f_.b, from, to));
    x_.columns = {static_cast<int>(b->i), b.arg(0) + first_column_};
    sum_column = 0;
    for (std::size_t i = 0; i < r.vars.size(); i++) {
      columns_here.push_back(variable(i == 0 ? here : r.vars[i].arg(0)));
      from_.push_back(r.vars[i]);
      to_.push_back(i == 0 ? start + columns_here.back() : columns_here.back());
      sum_column = sum_column + columns_here.back() * r.strides[i];
    }
  }

  // Rows past the last are computed as the last, and nobody looks at them.
  void own_rows(const Expr& first_row) {
    const Expr steps = ceil_div(length_, k_group_);
    x_.rows = {add_scratch(".rows", f_.types.rows, {steps, Expr(height_ * k_group_)}), k_offset(x_.k, height_)};
    Nest n;
    std::vector<Expr> from = from_, to = to_;
    n.vars = k_variables();
    const Expr k = flattened_index(n.vars), offset = k_offset(n.vars, height_), local = variable(Expr(height_));
    if (k_group_ > 1) {
      unflatten(fold_.vars, k, from, to);
      n.vars.insert(n.vars.end() - 1, local);  // the k of a step lie side by side
    } else {
      from.insert(from.end(), fold_.vars.begin(), fold_.vars.end());
      to.insert(to.end(), n.vars.begin(), n.vars.end());
      n.vars.push_back(local);
    }
    unflatten(f_.rows, min(first_row + local, rows_ - 1), from, to);
    const Expr factor = or_zero(substitute(f_.a, from, to), k);
    n.stores.push_back({x_.rows.buffer, offset + k_group_ * local, with_offsets(program_, factor)});
    steps_.kernel.nests.push_back(std::move(n));
    x_.place = 1;
  }

  // What becomes of the sums: rows of the strip, then the result's own columns.
  void sums(const Expr& first_row, const std::vector<Expr>& columns_here, const Expr& sum_column) {
    Nest n;
    const Expr local = variable(min(Expr(height_), rows_ - first_row));
    n.vars.push_back(local);
    n.vars.insert(n.vars.end(), columns_here.begin(), columns_here.end());
    unflatten(f_.rows, first_row + local, from_, to_);
    std::vector<Expr> index = c_.leading;
    for (const Expr& v : c_.vars) index.push_back(substitute(v, from_, to_));
    // The sum is an element of the strip, which has its offset already: only the other loads get
    // theirs.
    const Expr tmp = Expr::tmp(-1, f_.types.sums);
    const Buffer& strip = program_.buffers[at(x_.sums.buffer)];
    const Expr sum =
        cast(f_.types.sums, Expr::load(x_.sums.buffer, strip.dtype, {local * strip_width_ + sum_column}, strip.name));
    from_.push_back(fold_.tmp);
    to_.push_back(tmp);
    const Expr value = substitute(with_offsets(program_, substitute(c_.value, from_, to_)), tmp, sum);
    n.stores.push_back({c_.out, offset_of(program_.buffers[at(c_.out)], index), value});
    steps_.kernel.nests.push_back(std::move(n));
  }
};

}  // namespace

std::optional<ProductSteps> as_product(Program& p, const Computation& c, const std::vector<Microkernel>& microkernels) {
  const std::optional<Contraction> f = contraction_of(c);
  if (!f || is_fewer(count_of(f->rows), kFewestRows) || is_fewer(count_of(f->columns), kFewestColumns) ||
      is_fewer(count_of(c.folds[0].vars), kShortestSum))
    return std::nullopt;
  const std::vector<Microkernel> own = of_types(microkernels, f->types);
  if (own.empty()) return std::nullopt;
  return ProductBuilder(p, c, *f, own).build();
}

}  // namespace ingot::cpu
