#include "loop/group.hpp"

#include <unordered_map>

#include "base/error.hpp"

namespace ingot::loop {
namespace {

Expr flat_offset(const Buffer& b, std::span<const Expr> index) {
  Expr offset = 0;
  for (std::size_t d = 0; d < index.size(); d++) offset = offset + index[d] * b.strides[d];
  return offset;
}

// `e` with one index for each load: its offset.
Expr flattened(const Program& p, const Expr& e) {
  std::unordered_map<Expr, Expr, ExprHash, ExprSame> done;
  visit(e, [&](const Expr& x) {
    std::vector<Expr> args;
    bool changed = false;
    if (x.op() != ExprOp::Idx)
      for (const Expr& a : x.args()) {
        args.push_back(done.at(a));
        changed = changed || !same(args.back(), a);
      }
    if (x.op() == ExprOp::Load)
      done.emplace(x, Expr::load(x->i, x.dtype(), {flat_offset(p.buffers[static_cast<std::size_t>(x->i)], args)}, x->name));
    else
      done.emplace(x, changed ? rebuild(x, args) : x);
  });
  return done.at(e);
}

Kernel single(const Program& p, const Computation& c) {
  Kernel k;
  const Buffer& out = p.buffers[static_cast<std::size_t>(c.out)];
  k.name = out.name;
  k.outer = c.vars;
  for (const Fold& f : c.folds) k.nests.push_back({f.vars, {{f.tmp, f.how, f.vars, flattened(p, f.body)}}, {}});
  k.nests.push_back({{}, {}, {{c.out, flat_offset(out, c.vars), flattened(p, c.value)}}});
  return k;
}

}  // namespace

std::vector<Kernel> group(Program& p, const std::vector<Computation>& computations) {
  std::vector<Kernel> kernels;
  for (const Computation& c : computations) kernels.push_back(single(p, c));
  return kernels;
}

}  // namespace ingot::loop
