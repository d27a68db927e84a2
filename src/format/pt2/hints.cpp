#include "format/pt2/hints.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "tensor/impl.hpp"

namespace ingot {

namespace {

// The value of `unknown` where `number`, whose other symbols are in `known`, was `hint`: 4*s0 was
// 20 where s0 was 5.
std::optional<int64_t> solved(const Expr& number, const Expr& unknown, int64_t hint, const SymbolValues& known) {
  const auto factor = stride(number, unknown);
  if (!factor || !factor->is_const() || (*factor)->i == 0) return std::nullopt;
  const int64_t step = (*factor)->i;
  const int64_t rest = evaluate(number, [&](const Expr& s) { return s->name == unknown->name ? 0 : known.at(s->name); });
  int64_t difference;
  if (__builtin_sub_overflow(hint, rest, &difference)) return std::nullopt;
  if (step == -1 && difference == std::numeric_limits<int64_t>::min()) return std::nullopt;
  return difference % step == 0 ? std::optional(difference / step) : std::nullopt;
}

void add_hints(const Node& n, const SpelledValue& spelled, SymbolValues& hints) {
  const std::size_t count = n.meta.is_tensor() ? n.meta.tensor().sizes().size() : n.meta.is_int() ? 1 : 0;
  for (std::size_t k = 0; k < std::min(count, spelled.numbers.size()); k++) {
    const Expr number = n.meta.is_tensor() ? n.meta.tensor().sizes()[k].expr() : n.meta.to_int().expr();
    const Value& hint = spelled.numbers[k].hint;
    if (!hint.is_int() || !hint.to_int().is_number()) continue;
    std::vector<Expr> unknown;
    visit(number, [&](const Expr& x) {
      if (x.op() == ExprOp::Sym && !hints.contains(x->name)) unknown.push_back(x);
    });
    if (unknown.size() != 1) continue;
    try {
      if (const auto found = solved(number, unknown[0], hint.to_int64(), hints)) hints[unknown[0]->name] = *found;
    } catch (const UserError&) {  // a hint is no more than that: numbers that leave 64 bits tell nothing
    }
  }
}

}  // namespace

SymbolValues read_hints(const Graph& graph, const SpelledGraph& spelled) {
  SymbolValues hints;
  for (const auto& n : graph.nodes())
    if (const auto it = spelled.values.find(n.get()); it != spelled.values.end()) add_hints(*n, it->second, hints);
  return hints;
}

}  // namespace ingot
