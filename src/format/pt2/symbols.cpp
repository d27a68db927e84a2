#include "format/pt2/symbols.hpp"

#include <algorithm>
#include <limits>

#include "base/error.hpp"
#include "io/dense.hpp"

namespace ingot {

namespace {

bool is_digits(std::string_view s) {
  return !s.empty() && std::all_of(s.begin(), s.end(), [](char c) { return c >= '0' && c <= '9'; });
}
// Whether the name is one of these letters followed by a number.
bool is_symbol(std::string_view name, std::string_view letters) {
  return name.starts_with(letters) && is_digits(name.substr(letters.size()));
}

constexpr int64_t kLargestUnbounded = std::numeric_limits<int64_t>::max() - 1;  // from here on a bound says nothing

Value read_hint(const Json& expression) {
  const auto hint = expression.optional("hint");
  if (!hint) return {};
  const auto [tag, v] = hint->tagged();
  if (tag == "as_int") return v.integer();
  if (tag == "as_bool") return v.boolean();
  if (tag == "as_float") return v.real();
  hint->fail(text("SymExprHint: unknown tag ", shown_name(tag)));
}

}  // namespace

bool is_backed_symbol(std::string_view name) { return is_symbol(name, "s"); }

void Pt2Symbols::read_ranges(const Json& constraints) {
  for (const auto& [key, range] : constraints.fields()) {
    if (!is_backed_symbol(key) && !is_symbol(key, "u")) continue;
    const Json r = range.of("RangeConstraint");
    SymbolRange& declared = ranges[std::string(key)];
    if (const auto min = r.optional("min_val")) declared.min = min->integer();
    if (const auto max = r.optional("max_val")) declared.max = max->integer();
    if (declared.max && *declared.max >= kLargestUnbounded) declared.max.reset();
    if (declared.min && declared.max && *declared.min > *declared.max)
      r.fail(text("the range of ", key, " is empty: [", *declared.min, ", ", *declared.max, "]"));
  }
}

Expr Pt2Symbols::symbol(std::string_view name) {
  if (is_symbol(name, "zf") || is_symbol(name, "zuf")) return Expr::float_symbol(name);
  const bool backed = is_backed_symbol(name);
  INGOT_REQUIRE(backed || is_symbol(name, "u"), "expression: ", shown_name(name), " is no symbol (s77, u0, zf1, zuf0)");
  const auto it = ranges.find(std::string(name));
  const SymbolRange any;
  const SymbolRange& range = it == ranges.end() ? any : it->second;
  const int64_t unknown = backed ? 0 : std::numeric_limits<int64_t>::min();
  int64_t lo = range.min.value_or(unknown);
  if (backed && lo <= 2) lo = std::min<int64_t>(lo, 0);
  return Expr::symbol(name, lo, range.max.value_or(kUnbounded));
}

// Reads a text once, also one that cannot be read: a file may repeat it for every value.
template <class F>
const Pt2Symbols::Known& Pt2Symbols::known(Texts& texts, const std::string& expression, F&& parse) {
  const auto [it, is_new] = texts.try_emplace(expression);
  if (!is_new) return it->second;
  try {
    it->second.number = Int(parse(expression));
  } catch (const UnknownSymFunction& f) {
    it->second.problem = text("expression uses unknown function ", f.name);
  } catch (const UserError& e) {
    it->second.problem = e.what();
  }
  return it->second;
}

std::optional<Int> Pt2Symbols::read_int(const Json& sym_int, std::string_view name, bool only_descriptive,
                                        SpelledNumber& spelled) {
  const auto [tag, v] = sym_int.tagged();
  if (tag == "as_int") return Int(v.integer());
  if (tag != "as_expr") sym_int.fail(text("SymInt: unknown tag ", shown_name(tag)));
  const Json expression = v.of("SymExpr"), written = expression.field("expr_str");
  spelled = {written.string(), read_hint(expression)};
  const Known& k = known(numbers_, spelled.expression, [&](const std::string& e) { return parse_sym_int(e, *this); });
  if (k.number) return k.number;
  const std::string problem = text("value ", name, ": ", k.problem);
  if (!only_descriptive) written.fail(problem);
  warnings.push_back(problem);
  return std::nullopt;
}

Value Pt2Symbols::read_scalar(const Json& scalar, std::string_view name, SpelledNumber& spelled) {
  const auto [tag, v] = scalar.tagged();
  if (tag == "as_float") return v.real();
  if (tag == "as_bool") return v.boolean();
  if (tag != "as_expr") scalar.fail(text("unknown tag ", shown_name(tag)));
  const Json expression = v.of("SymExpr");
  spelled = {expression.field("expr_str").string(), read_hint(expression)};
  const Known& k = known(scalars_, spelled.expression, [&](const std::string& e) {
    parse_sym_expression(e, *this);
    return Expr(0);
  });
  if (!k.number) warnings.push_back(text("value ", name, ": ", k.problem));
  return {};
}

}  // namespace ingot
