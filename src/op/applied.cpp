#include "op/applied.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "op/setup.hpp"

namespace ingot {
namespace {

bool is_number(std::string_view s) {
  return !s.empty() && std::all_of(s.begin(), s.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Whether `rest` is what follows "_x" in the name of an encoding.
bool is_encoding(std::string_view rest, bool is_list) {
  constexpr std::string_view kEnds[] = {"_base_index", "_alias", "_slice_dim",      "_slice_start",
                                        "_slice_end",  "_size",  "_storage_offset", "_stride"};
  if (is_list) {
    if (rest == "_length") return true;
    if (!rest.starts_with('_')) return false;
    const std::size_t end = rest.find('_', 1);
    if (end == rest.npos || !is_number(rest.substr(1, end - 1))) return false;
    rest.remove_prefix(end);
  }
  return std::find(std::begin(kEnds), std::end(kEnds), rest) != std::end(kEnds);
}

}  // namespace

int operator_argument(const Op& op) { return op.form() == Form::higher_order ? op.schema.index_of("operator") : -1; }
int keywords_argument(const Op& op) { return op.form() == Form::higher_order ? op.schema.index_of("keywords") : -1; }

const SchemaArg* applied_parameter(const Op& applied, std::string_view name) {
  const int i = applied.schema.index_of(name);
  return i < 0 ? nullptr : &applied.schema.args[static_cast<std::size_t>(i)];
}

bool is_view_keyword(const Op& applied, std::string_view name) {
  if (name == kAllBases) return true;
  return std::any_of(applied.written.begin(), applied.written.end(), [&](int8_t w) {
    const SchemaArg& a = applied.schema.args[static_cast<std::size_t>(w)];
    const bool is_of_it = name.starts_with('_') && name.substr(1).starts_with(a.name);
    return is_of_it && is_encoding(name.substr(1 + a.name.size()), a.type.is_list());
  });
}

std::vector<ViewByPlace> views_by_place(const Op& applied, const Call& c) {
  constexpr std::string_view kPlace = "_storage_offset";
  const Values names = list_elements(c[keywords_argument(c.op)]);
  const std::size_t first = c.op.schema.args.size();
  const auto value_of = [&](std::string_view name) -> const Value& {
    for (std::size_t i = 0; i < names.size(); i++)
      if (names[i].string() == name) return c.args[first + i];
    throw_user_error(text("argument ", name, " of a functional call of ", applied.qualified(), " is missing"));
  };
  std::vector<ViewByPlace> found;
  for (std::size_t i = 0; i < names.size(); i++) {
    const std::string_view name = names[i].string();
    if (!name.ends_with(kPlace) || !is_view_keyword(applied, name)) continue;
    const Value& base = value_of(text(name.substr(0, name.size() - kPlace.size()), "_base_index"));
    found.push_back({first + i, list_elements(value_of(kAllBases)).at(static_cast<std::size_t>(base.to_int64())).tensor()});
  }
  return found;
}

bool is_kernel_alone(const Op& applied) { return is_from_outside(applied) && !applied.functional && !applied.def->body; }
bool is_call_of_kernel(const Op& op, Args args) {
  return keywords_argument(op) >= 0 && is_kernel_alone(ingot::op(args[static_cast<std::size_t>(operator_argument(op))].string()));
}

void refuse_gradient(const Op& op) {
  const Schema& s = op.schema;
  if (s.ns == "aten" || s.ns == "prims" || op.form() == Form::higher_order)
    throw_user_error(text("derivative for ", s.ns, "::", s.name, " is not implemented"));
  throw_user_error(text("Trying to backward through ", s.ns, ".", s.name, ".", s.overload.empty() ? "default" : s.overload,
                        " but no autograd formula was registered. Please use register_autograd to add one."));
}

}  // namespace ingot
