// Overloads that no call fits equally.
#include <algorithm>

#include "generate/function.hpp"

namespace ingot::generate {
namespace {

// Parameter types that the same arguments fit.
std::string fits_of(std::string type) {
  const auto without = [&type](std::string_view part) {
    for (std::size_t at; (at = type.find(part)) != type.npos;) type.erase(at, part.size());
  };
  without("const ");
  without("std::optional<");
  without("&");
  without(" ");
  std::erase(type, '>');
  if (type == "OptionalShape" || type == "SizeList") return "Shape";
  if (type == "Int" || type == "int" || type == "int64_t") return "Int";
  if (type == "std::vector<Tensor") return "TensorList";
  return type;
}

// Whether the first n parameters take the same arguments.
bool alike(const Function& a, const Function& b, std::size_t n) {
  for (std::size_t i = 0; i < n; i++)
    if (fits_of(a.parameters[i].type) != fits_of(b.parameters[i].type)) return false;
  return true;
}

bool is_list(const Parameter& p) { return p.type == "const Shape&" || p.type == "const OptionalShape&"; }
bool is_symbolic(const Parameter& p) { return p.type == "Int" || p.type == "const Int&"; }

// Makes a parameter a list that no number is.
void take_no_number(Function& f, std::size_t i) {
  f.parameters[i].type = "const SizeList&";
  const std::string& name = f.parameters[i].name;
  for (std::string& value : f.values)
    if (value == name || value == "value_of(" + name + ")") value = name + ".sizes()";
}

bool takes_number(const std::vector<Function>& set, std::size_t i) {
  return std::any_of(set.begin(), set.end(), [i](const Function& g) {
    if (i >= g.parameters.size()) return false;
    const std::string fits = fits_of(g.parameters[i].type);
    return fits == "Shape" || fits == "Int";
  });
}

// Drops the parameters from number `from` on, if they are by keyword and None unless given.
bool gives_way(Function& g, std::size_t from) {
  for (std::size_t i = from; i < g.parameters.size(); i++)
    if (!g.parameters[i].keyword_only || !g.parameters[i].has_default || g.parameters[i].default_text != "{}") return false;
  for (; g.parameters.size() > from; g.parameters.pop_back())
    for (std::string& value : g.values)
      if (value == g.parameters.back().name) value = "Value()";
  return true;
}

}  // namespace

std::string add_overload(std::vector<Function>& set, Function f) {
  const std::size_t first = f.is_method ? 0 : 1;
  if (f.parameters.size() > first && f.parameters[first].type == "bool" && takes_number(set, first)) {
    if (!f.parameters[first].has_default) return "a number of another " + f.name + "'s would be its bool";
    f.parameters.resize(first);
    f.values.resize(1);  // the schema's defaults stand for the rest
  }
  for (Function& g : set) {
    for (std::size_t n = f.required(); n <= f.parameters.size(); n++) {
      if (n < g.required() || n > g.parameters.size() || !alike(f, g, n)) continue;
      if (n > 0 && !f.parameters[n - 1].keyword_only && gives_way(g, n - 1)) continue;
      if (n == f.parameters.size()) return g.op.empty() ? "by hand" : "the same call as " + g.op;
      for (std::size_t i = 0; i <= n; i++) f.parameters[i].has_default = false;  // one more has to be given
    }
    for (std::size_t i = 0; i < std::min(f.parameters.size(), g.parameters.size()); i++) {
      if (is_list(f.parameters[i]) && is_symbolic(g.parameters[i])) take_no_number(f, i);
      if (is_symbolic(f.parameters[i]) && is_list(g.parameters[i]) && !g.op.empty()) take_no_number(g, i);
    }
  }
  set.push_back(std::move(f));
  return "";
}

}  // namespace ingot::generate
