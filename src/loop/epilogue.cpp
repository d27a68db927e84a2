#include "loop/epilogue.hpp"

#include <algorithm>
#include <map>

#include "base/index.hpp"
#include "loop/offset.hpp"

namespace ingot::loop {
namespace {

// Whether e counts through the values of some of `vars`, each value of [0, size) once: c0*v0 + v1
// with c0 the extent of v1 and so on. Those variables are marked as used.
bool counts_once(Expr e, const Expr& size, const std::vector<Expr>& vars, std::vector<bool>& used) {
  Expr radix = 1;
  for (bool progress = true; progress && !e.is_const(0);) {
    progress = false;
    for (std::size_t i = 0; i < vars.size() && !progress; i++) {
      if (used[i]) continue;
      const auto factor = stride(e, vars[i]);
      if (!factor || !same(*factor, radix)) continue;
      used[i] = true;
      e = e - radix * vars[i];
      radix = radix * vars[i].arg(0);
      progress = true;
    }
  }
  return e.is_const(0) && same(radix, size);
}

// The one index with which the reader loads the buffer; nothing where there are several or none.
std::vector<Expr> only_index(const Computation& reader, int buffer) {
  std::vector<Expr> index;
  bool one = reader.folds.empty(), found = false;
  visit(reader.value, [&](const Expr& x) {
    if (x.op() != ExprOp::Load || x->i != buffer) return;
    if (found && !same(x.args(), index)) one = false;
    index.assign(x.args().begin(), x.args().end());
    found = true;
  });
  return one && found ? index : std::vector<Expr>{};
}

bool is_one_to_one(const std::vector<Expr>& index, const Buffer& b, const std::vector<Expr>& vars) {
  if (index.size() != b.sizes.size()) return false;
  std::vector<bool> used(vars.size());
  for (std::size_t d = 0; d < index.size(); d++)
    if (!counts_once(index[d], b.sizes[d], vars, used)) return false;
  for (std::size_t i = 0; i < vars.size(); i++)
    if (!used[i] && !vars[i].arg(0).is_const(1)) return false;
  return true;
}

// The reader with the reduction's folds in the place of its loads.
Computation joined(const Computation& reduction, const Computation& reader, const std::vector<Expr>& index) {
  int64_t next = 0;
  for (const Expr& v : reader.vars) next = std::max(next, v->i + 1);
  std::vector<Expr> from = reduction.vars, to = index;
  Computation c{reader.out, reader.vars, {}, {}, reader.leading};
  for (const Fold& f : reduction.folds) {
    Fold moved{f.tmp, f.how, {}, {}};
    for (const Expr& v : f.vars) {
      moved.vars.push_back(Expr::index(next++, v.arg(0)));
      from.push_back(v);
      to.push_back(moved.vars.back());
    }
    moved.body = substitute(f.body, from, to);
    c.folds.push_back(std::move(moved));
  }
  const Expr value = substitute(reduction.value, from, to);
  c.value = with_loads(reader.value, [&](const Expr& load, const std::vector<Expr>& args) {
    return load->i == reduction.out ? value : Expr::load(load->i, load.dtype(), args, load->name);
  });
  return c;
}

// Whether nothing that computation `from` reads is written by those after it, up to `to`.
bool can_move(const std::vector<Computation>& run, std::size_t from, std::size_t to) {
  const std::vector<int> read = buffers_of(Step(run[from]));
  for (std::size_t i = from + 1; i <= to; i++)
    if (std::find(read.begin(), read.end(), run[i].out) != read.end()) return false;
  return true;
}

}  // namespace

void fuse_epilogues(const Program& p, std::vector<Computation>& run, const std::vector<int>& readers) {
  std::map<int, std::size_t> made_by;
  std::vector<bool> gone(run.size());
  for (std::size_t i = 0; i < run.size(); i++) {
    std::vector<int> read;
    visit(run[i].value, [&](const Expr& x) {
      if (x.op() == ExprOp::Load) read.push_back(static_cast<int>(x->i));
    });
    for (int b : read) {
      const auto made = made_by.find(b);
      if (made == made_by.end() || gone[made->second] || run[made->second].folds.empty() || readers[at(b)] != 1) continue;
      if (!run[made->second].leading.empty() || !can_move(run, made->second, i)) continue;
      const std::vector<Expr> index = only_index(run[i], b);
      if (index.empty() || !is_one_to_one(index, p.buffers[at(b)], run[i].vars)) continue;
      run[i] = joined(run[made->second], run[i], index);
      gone[made->second] = true;
      break;
    }
    made_by[run[i].out] = i;
  }
  std::vector<Computation> left;
  for (std::size_t i = 0; i < run.size(); i++)
    if (!gone[i]) left.push_back(std::move(run[i]));
  run = std::move(left);
}

}  // namespace ingot::loop
