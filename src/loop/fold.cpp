#include "loop/fold.hpp"

#include <algorithm>

#include "base/index.hpp"

namespace ingot::loop {
namespace {

bool is_fixed(const Buffer& b) {
  return std::all_of(b.sizes.begin(), b.sizes.end(), [](const Expr& n) { return n.is_const(); });
}

bool has_symbol(const Expr& e) {
  bool found = false;
  // A walk does not follow the extent of a loop's variable.
  visit(e.op() == ExprOp::Idx ? e.arg(0) : e, [&](const Expr& x) { found = found || x.op() == ExprOp::Sym; });
  return found;
}
bool any_has_symbol(const std::vector<Expr>& all) { return std::any_of(all.begin(), all.end(), has_symbol); }

// Whether it computes the same at all sizes: loops over an open size, a size among the numbers and
// a place that depends on one differ from run to run, although everything that is read is constant
// and what is made has a fixed size.
bool is_the_same_at_all_sizes(const Kernel& k) {
  if (any_has_symbol(k.outer) || has_symbol(k.scratch_bytes)) return false;
  if (const auto& x = k.product; x && (any_has_symbol(x->k) || any_has_symbol(x->vars) ||
                                       std::ranges::any_of(x->offsets(), [](const Expr* e) { return has_symbol(*e); })))
    return false;
  return std::all_of(k.nests.begin(), k.nests.end(), [](const Nest& n) {
    return !any_has_symbol(n.vars) && std::none_of(n.folds.begin(), n.folds.end(), [](const Fold& f) {
      return any_has_symbol(f.vars) || has_symbol(f.body);
    }) && std::none_of(n.stores.begin(), n.stores.end(), [](const Store& s) {
      return has_symbol(s.offset) || has_symbol(s.value);
    });
  });
}

class Folding {
 public:
  Folding(Program& p, const std::vector<bool>& is_written) : program_(p), known_(p.buffers.size()) {
    for (std::size_t k = 0; k < p.constants.size(); k++) known_[at(p.constants[k])] = !(k < is_written.size() && is_written[k]);
  }

  std::optional<Program> run() {
    Steps folded, left;
    for (Step& s : program_.steps) {
      const bool folds = can_fold(s);
      if (folds)
        for (int b : written_by(s)) known_[at(b)] = true;
      (folds ? folded : left).push_back(std::move(s));
    }
    program_.steps = std::move(left);
    if (folded.empty()) return std::nullopt;

    Program fold = program_;
    fold.name = "fold";
    fold.steps = std::move(folded);
    fold.symbols.clear();
    fold.guards.clear();
    fold.inputs.clear();
    fold.numbers.clear();
    fold.outputs.clear();
    fold.decided = 0;
    // Buffers keep their numbers; those that it has nothing to do with may have sizes that it does
    // not know.
    const std::vector<bool> is_of_fold = used_by(fold.steps);
    for (std::size_t b = 0; b < fold.buffers.size(); b++)
      if (!is_of_fold[b] && fold.buffers[b].place != Place::constant)
        fold.buffers[b] = {fold.buffers[b].name, fold.buffers[b].dtype, {}, {}, Place::arena, {}};
    const std::vector<bool> is_used = used_by(program_.steps);
    for (const Step& s : fold.steps)
      for (int b : written_by(s)) {
        if (program_.buffers[at(b)].place != Place::arena || !is_used[at(b)]) continue;
        fold.buffers[at(b)].place = Place::output;
        fold.outputs.push_back(b);
        program_.buffers[at(b)].place = Place::constant;
        program_.constants.push_back(b);
      }
    return fold;
  }

 private:
  Program& program_;
  std::vector<bool> known_;  // by buffer: its elements are the same in every run

  // A step over constants that fills memory of its own, and says nothing about sizes.
  bool can_fold(const Step& s) const {
    const auto* kernel = std::get_if<Kernel>(&s);
    if (!kernel && !std::holds_alternative<EagerCall>(s)) return false;
    if (kernel && !is_the_same_at_all_sizes(*kernel)) return false;
    if (const auto* call = std::get_if<EagerCall>(&s); call && (call->draws || !call->integers.empty() || !call->decides.empty()))
      return false;
    const std::vector<int> written = written_by(s);
    for (int b : written)
      if ((program_.buffers[at(b)].place != Place::arena && program_.buffers[at(b)].place != Place::scratch) ||
          !is_fixed(program_.buffers[at(b)]))
        return false;
    bool reads_any = false;
    for (int b : buffers_of(s)) {
      if (std::find(written.begin(), written.end(), b) != written.end()) continue;
      if (!known_[at(b)]) return false;
      reads_any = true;
    }
    return reads_any;  // what reads nothing is cheaper made again than kept
  }

  // By buffer: whether any of the steps has to do with it.
  std::vector<bool> used_by(const Steps& steps) const {
    std::vector<bool> used(program_.buffers.size());
    for (const Step& s : steps)
      for (int b : buffers_of(s)) used[at(b)] = true;
    return used;
  }
};

}  // namespace

std::optional<Program> fold_constants(Program& p, const std::vector<bool>& is_written) { return Folding(p, is_written).run(); }

}  // namespace ingot::loop
