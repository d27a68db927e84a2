#include "loop/offset.hpp"

#include <unordered_map>

#include "base/index.hpp"

namespace ingot::loop {

Expr offset_of(const Buffer& b, std::span<const Expr> index) {
  Expr offset = 0;
  for (std::size_t d = 0; d < index.size(); d++) offset = offset + index[d] * b.strides[d];
  return offset;
}

Expr with_loads(const Expr& e, const std::function<Expr(const Expr& load, const std::vector<Expr>& index)>& load) {
  std::unordered_map<Expr, Expr, ExprHash, ExprSame> done;
  visit(e, [&](const Expr& x) {
    std::vector<Expr> args;
    bool changed = false;
    if (x.op() != ExprOp::Idx)
      for (const Expr& a : x.args()) {
        args.push_back(done.at(a));
        changed = changed || !same(args.back(), a);
      }
    done.emplace(x, x.op() == ExprOp::Load ? load(x, args) : changed ? rebuild(x, args) : x);
  });
  return done.at(e);
}

Expr with_offsets(const Program& p, const Expr& e) {
  return with_loads(e, [&](const Expr& load, const std::vector<Expr>& index) {
    return Expr::load(load->i, load.dtype(), {offset_of(p.buffers[at(load->i)], index)}, load->name);
  });
}

}  // namespace ingot::loop
