#include "loop/fold.hpp"

#include <algorithm>

namespace ingot::loop {
namespace {

std::size_t at(int id) { return static_cast<std::size_t>(id); }

bool is_fixed(const Buffer& b) {
  return std::all_of(b.sizes.begin(), b.sizes.end(), [](const Expr& n) { return n.is_const(); });
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
    for (const Step& s : fold.steps)
      for (int b : written_by(s)) {
        if (program_.buffers[at(b)].place != Place::arena || !is_read_later(b)) continue;
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
    if (!std::holds_alternative<Kernel>(s) && !std::holds_alternative<EagerCall>(s)) return false;
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

  bool is_read_later(int buffer) const {
    bool found = false;
    each_step(program_.steps, [&](const Step& s) {
      const std::vector<int> used = buffers_of(s);
      found = found || std::find(used.begin(), used.end(), buffer) != used.end();
    });
    return found;
  }
};

}  // namespace

std::optional<Program> fold_constants(Program& p, const std::vector<bool>& is_written) { return Folding(p, is_written).run(); }

}  // namespace ingot::loop
