#include "loop/reach.hpp"

#include <algorithm>
#include <span>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "expr/evaluate.hpp"
#include "expr/text.hpp"

namespace ingot::loop {
namespace {

using Values = std::map<const ExprNode*, int64_t>;

// Sizes that are tried, as near to these as the symbol's range is.
constexpr int64_t kSizes[] = {1, 2, 7, 64};
// How many points of a space are looked at where its ends do not say it all.
constexpr int kMostPoints = 256;

// Nothing where a value is missing, or there is none: an overflow, a division by zero.
std::optional<int64_t> value_of(const Expr& e, const Values& values) {
  bool known = true;
  visit(e, [&](const Expr& x) {
    const bool is_leaf = x.op() == ExprOp::Sym || x.op() == ExprOp::Idx;
    known = known && x.op() != ExprOp::Load && x.op() != ExprOp::Tmp && !is_floating(x.dtype()) && !is_complex(x.dtype()) &&
            (!is_leaf || values.contains(x.node()));
  });
  if (!known) return std::nullopt;
  try {
    return evaluate(e, [&](const Expr& x) { return values.at(x.node()); });
  } catch (const UserError&) {
    return std::nullopt;
  }
}

class Search {
 public:
  Search(const Expr& index, const Expr& end, std::span<const Expr> vars, const Values& symbols)
      : index_(index), end_(end), vars_(vars), values_(symbols) {}

  std::optional<Reach::Outside> run() {
    for (const bool is_largest : {false, true}) {
      const Values symbols = values_;
      if (!at_end(is_largest)) return std::nullopt;
      if (std::optional<Reach::Outside> found = here()) return found;
      values_ = symbols;
    }
    const bool is_sum = std::ranges::all_of(vars_, [&](const Expr& v) { return !depends(index_, v) || stride(index_, v); });
    return is_sum ? std::nullopt : anywhere(0);
  }

 private:
  const Expr &index_, &end_;
  std::span<const Expr> vars_;
  Values values_;
  int points_ = 0;

  std::optional<Reach::Outside> here() const {
    const std::optional<int64_t> at = value_of(index_, values_), end = value_of(end_, values_);
    if (!at || !end || (*at >= 0 && *at < *end)) return std::nullopt;
    std::string where;
    visit(index_, [&](const Expr& x) {
      const bool is_leaf = x.op() == ExprOp::Sym || x.op() == ExprOp::Idx;
      if (is_leaf) where += text(where.empty() ? "where " : ", ", x, " = ", values_.at(x.node()));
    });
    return Reach::Outside{*at, *end, where};
  }

  // False where the loop does nothing, or may do nothing.
  bool at_end(bool is_largest) {
    for (const Expr& v : vars_) {
      const std::optional<int64_t> extent = value_of(v.arg(0), values_);
      if (!extent || *extent <= 0) return false;
      const std::optional<Expr> step = stride(index_, v);
      const bool falls = step && value_of(*step, values_).value_or(0) < 0;
      values_[v.node()] = is_largest != falls ? *extent - 1 : 0;
    }
    return true;
  }

  std::optional<Reach::Outside> anywhere(std::size_t k) {
    if (k == vars_.size()) return points_++ < kMostPoints ? here() : std::nullopt;
    const std::optional<int64_t> extent = value_of(vars_[k].arg(0), values_);
    if (!extent) return std::nullopt;
    const bool matters = depends(index_, vars_[k]) ||
                         std::ranges::any_of(vars_.subspan(k + 1), [&](const Expr& v) { return depends(v.arg(0), vars_[k]); });
    for (int64_t i = 0; i < (matters ? *extent : std::min<int64_t>(*extent, 1)) && points_ < kMostPoints; i++) {
      values_[vars_[k].node()] = i;
      if (std::optional<Reach::Outside> found = anywhere(k + 1)) return found;
    }
    return std::nullopt;
  }
};

// Whether there are inputs of such sizes.
bool have_inputs(const Program& p, const Values& values) {
  return std::ranges::all_of(p.buffers, [&](const Buffer& b) {
    return b.place != Place::input ||
           std::ranges::all_of(b.sizes, [&](const Expr& s) { return value_of(s, values).value_or(0) >= 0; });
  });
}

}  // namespace

Reach::Reach(const Program& p) {
  const std::span<const Expr> given(p.symbols.data(), p.symbols.size() - p.decided);
  for (const int64_t size : kSizes) {
    Values values;
    for (const Expr& s : given)
      if (!is_floating(s.dtype())) values[s.node()] = std::clamp(size, s->lo, s->hi);
    const bool holds = std::ranges::all_of(p.guards, [&](const Guard& g) {
      const std::optional<int64_t> answer = value_of(g.condition, values);
      return answer && (*answer != 0) == g.answer;
    });
    if (holds && have_inputs(p, values) && (samples_.empty() || samples_.back() != values)) samples_.push_back(std::move(values));
  }
}

std::optional<Reach::Outside> Reach::outside(const Expr& index, const Expr& end, const std::vector<Expr>& vars) const {
  for (const Values& symbols : samples_)
    if (std::optional<Outside> found = Search(index, end, vars, symbols).run()) return found;
  return std::nullopt;
}

}  // namespace ingot::loop
