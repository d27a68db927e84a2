#include "op/schema.hpp"

#include "op/schema_default.hpp"
#include "op/schema_parser.hpp"

namespace ingot {

namespace {

void append(std::string& out, const SchemaArg& a) {
  out += to_text(a.type);
  if (!a.name.empty()) out.append(" ").append(a.name);
  if (a.has_default) out.append("=").append(a.default_text);
}

void append_separator(std::string& out, bool& first) {
  if (!first) out += ", ";
  first = false;
}

}  // namespace

void read_default(SchemaCursor& in, SchemaArg& a) { a.default_value = parse_schema_default(in, a.type); }

Schema parse_schema(std::string_view text) { return SchemaParser<Schema>(text).parse(); }

std::string to_text(const Schema& s) {
  std::string out = s.ns.empty() ? "" : s.ns + "::";
  out.append(s.qualified()).append("(");
  bool first = true, keyword_only = false;
  for (const SchemaArg& a : s.args) {
    append_separator(out, first);
    if (a.keyword_only && !keyword_only) {
      out += "*, ";
      keyword_only = true;
    }
    append(out, a);
  }
  if (s.variadic_args) {
    append_separator(out, first);
    out += "...";
  }
  out += ") -> ";
  if (s.parenthesised_results) out += "(";
  first = true;
  for (const SchemaArg& r : s.results) {
    append_separator(out, first);
    append(out, r);
  }
  if (s.variadic_results) {
    append_separator(out, first);
    out += "...";
  }
  if (s.parenthesised_results) out += ")";
  return out;
}

}  // namespace ingot
