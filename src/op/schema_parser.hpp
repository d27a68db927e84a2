// The grammar of ATen schema strings, for every form that a schema is kept in: with the values of
// its defaults (op/schema.hpp), or with their texts alone.
#pragma once
#include <algorithm>

#include "base/error.hpp"
#include "op/schema_cursor.hpp"
#include "op/schema_type.hpp"

namespace ingot {

struct NamedSchemaKind {
  std::string_view name;
  Kind kind;
};
inline constexpr NamedSchemaKind kSchemaKinds[] = {
    {"Tensor", Kind::tensor},     {"int", Kind::integer},         {"SymInt", Kind::sym_int},
    {"float", Kind::real},        {"bool", Kind::boolean},        {"SymBool", Kind::sym_bool},
    {"complex", Kind::complex},   {"Scalar", Kind::scalar},       {"ScalarType", Kind::dtype},
    {"Layout", Kind::layout},     {"Device", Kind::device},       {"MemoryFormat", Kind::memory_format},
    {"str", Kind::string},        {"Generator", Kind::generator}, {"Storage", Kind::storage},
    {"Stream", Kind::stream},     {"Dimname", Kind::dimname},     {"Any", Kind::any},
    {"Function", Kind::function},
};
// Types of torch and none of ours. A capitalised name that is neither here nor above is a spelling
// error.
inline constexpr std::string_view kForeignSchemaTypes[] = {
    "QScheme",     "AnyEnumType",   "AnyListType",    "AnyTupleType", "AnyClassType", "NoneType", "SymFloat",
    "DeviceIndex", "DeviceObjType", "DispatchKeySet", "Capsule",      "PyObject",     "Function", "ConstQuantizerPtr"};
// Names that are followed by type arguments, where other names are followed by an alias annotation.
inline constexpr std::string_view kSchemaConstructors[] = {"Dict",     "Future", "RRef",  "Await",
                                                           "Optional", "Union",  "Tuple", "List"};

inline constexpr int kDeepestSchemaType = 16;

inline std::string to_text(const SchemaType& t) {
  std::string out = t.name;
  const std::string alias = t.alias.empty() ? "" : "(" + t.alias + ")";
  if (!t.alias_after_lists) out += alias;
  if (t.element_optional) out += "?";
  for (int i = 0; i < t.lists; i++) {
    out += "[";
    if (i == 0 && t.fixed_size >= 0) out += std::to_string(t.fixed_size);
    out += "]";
  }
  if (t.alias_after_lists) out += alias;
  if (t.optional) out += "?";
  return out;
}

// `S` is a SchemaOf; its read_default(SchemaCursor&, Arg&) takes what follows the '=' of an
// argument.
template <class S>
class SchemaParser {
 public:
  explicit SchemaParser(std::string_view text) : in_(text) {}

  S parse() {
    in_.skip_spaces();
    std::string_view word = in_.expect_word("the name of an operator");
    if (in_.accept("::")) {
      schema_.ns = word;
      word = in_.expect_word("the name of an operator");
    }
    schema_.name = word;
    if (in_.accept(".")) schema_.overload = in_.expect_word("the name of an overload");
    arguments();
    in_.skip_spaces();
    in_.expect("->");
    in_.skip_spaces();
    results();
    in_.skip_spaces();
    if (!in_.at_end()) in_.fail("the end of the schema");
    return std::move(schema_);
  }

 private:
  using Arg = typename S::Arg;
  SchemaCursor in_;
  S schema_;

  // The entries of a parenthesised, comma-separated list; `entry` returns false for one that must
  // be the last.
  template <class Entry>
  void parenthesised(Entry entry) {
    in_.expect("(");
    in_.skip_spaces();
    if (in_.accept(")")) return;
    while (true) {
      const bool more = entry();
      in_.skip_spaces();
      if (in_.accept(")")) return;
      if (!more) in_.fail("')' behind '...'");
      if (!in_.accept(",")) in_.fail("',' or ')'");
      in_.skip_spaces();
    }
  }

  void arguments() {
    bool keyword_only = false;
    bool star_open = false;
    parenthesised([&] {
      if (in_.accept("...")) {
        schema_.variadic_args = true;
        return false;
      }
      if (in_.at("*")) {
        if (keyword_only) in_.fail("one '*' only");
        in_.take();
        keyword_only = star_open = true;
        return true;
      }
      star_open = false;
      schema_.args.push_back(argument(keyword_only));
      return true;
    });
    if (star_open) in_.fail_at(in_.position() - 1, "an argument behind '*'");
  }

  Arg argument(bool keyword_only) {
    Arg a;
    a.keyword_only = keyword_only;
    a.type = type(0);
    in_.skip_spaces();
    const std::size_t name_at = in_.position();
    a.name = in_.expect_word("the name of an argument");
    if (schema_.index_of(a.name) >= 0) in_.fail_at(name_at, "a name no other argument has");
    in_.skip_spaces();
    if (!in_.accept("=")) return a;
    in_.skip_spaces();
    const std::size_t start = in_.position();
    a.has_default = true;
    read_default(in_, a);
    a.default_text = in_.since(start);
    return a;
  }

  void results() {
    if (in_.accept("...")) {
      schema_.variadic_results = true;
      return;
    }
    if (in_.peek() != '(') {
      schema_.results.push_back(result());
      return;
    }
    schema_.parenthesised_results = true;
    parenthesised([&] {
      if (in_.accept("...")) {
        schema_.variadic_results = true;
        return false;
      }
      schema_.results.push_back(result());
      return true;
    });
  }

  Arg result() {
    Arg r;
    r.type = type(0);
    in_.skip_spaces();
    r.name = in_.accept_word();
    return r;
  }

  SchemaType type(int depth) {
    if (depth > kDeepestSchemaType) in_.fail("a type that is nested less deeply");
    SchemaType t;
    base_type(t, depth);
    if (in_.peek() == '(') t.alias = alias();
    if (in_.at("?[")) {
      in_.take();
      t.element_optional = true;
    }
    while (in_.accept("[")) {
      if (SchemaCursor::is_digit(in_.peek())) {
        if (t.lists > 0) in_.fail("']': only the innermost list has a fixed size");
        t.fixed_size = fixed_size();
      }
      in_.expect("]");
      t.lists++;
    }
    if (t.lists > 0 && t.alias.empty() && in_.peek() == '(') {
      t.alias = alias();
      t.alias_after_lists = true;
    }
    t.optional = in_.accept("?");
    return t;
  }

  // Fills name and kind.
  void base_type(SchemaType& t, int depth) {
    t.kind = Kind::other;
    if (in_.peek() == '(') {  // a tuple
      t.name = type_arguments(depth);
      return;
    }
    const std::size_t start = in_.position();
    t.name = in_.expect_word("a type");
    while (in_.peek() == '.' && !in_.at("...")) {  // a class: __torch__.torch.classes.rnn.CellParamsBase
      in_.take();
      t.name.append(".").append(in_.expect_word("the rest of a class name"));
    }
    for (const NamedSchemaKind& k : kSchemaKinds) {
      if (k.name != t.name) continue;
      t.kind = k.kind;
      return;
    }
    if (std::find(std::begin(kSchemaConstructors), std::end(kSchemaConstructors), t.name) != std::end(kSchemaConstructors)) {
      if (in_.peek() != '(') in_.fail(text("'(' and the arguments of the type ", t.name));
      t.name += type_arguments(depth);
      return;
    }
    const bool variable = t.name[0] >= 'a' && t.name[0] <= 'z';  // "t", "tVal"
    const bool known =
        std::find(std::begin(kForeignSchemaTypes), std::end(kForeignSchemaTypes), t.name) != std::end(kForeignSchemaTypes);
    if (!variable && !known && t.name.find('.') == t.name.npos) in_.fail_at(start, "a type");
  }

  std::string type_arguments(int depth) {
    std::string out;
    parenthesised([&] {
      out.append(out.empty() ? "" : ", ").append(to_text(type(depth + 1)));
      return true;
    });
    return "(" + out + ")";
  }

  int fixed_size() {
    int n = 0;
    while (SchemaCursor::is_digit(in_.peek())) {
      n = n * 10 + (in_.take() - '0');
      if (n > 10000) in_.fail("a smaller list size");
    }
    return n;
  }

  // "(a!)", "(a -> *)", "(a|b)", "(*)": sets of names, before and after the call, and '!' where the
  // op writes.
  std::string alias() {
    in_.expect("(");
    std::string out = alias_set();
    const bool wrote = in_.accept("!");
    if (wrote) out += "!";
    in_.skip_spaces();
    if (in_.accept("->")) {
      in_.skip_spaces();
      out.append(" -> ").append(alias_set());
    }
    in_.expect(")");
    return out;
  }

  std::string alias_set() {
    if (in_.accept("*")) return "*";
    std::string out(in_.expect_word("an alias name or '*'"));
    while (in_.accept("|")) out.append("|").append(in_.expect_word("an alias name"));
    return out;
  }
};

}  // namespace ingot
