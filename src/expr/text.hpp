// The text form of expressions, and back: parse(print(e)) is e.
//
//   or < and < not < comparison < | < ^ < & < shift < + - < * / // % < unary minus < primary   (left associative)
//   primary  = number | true | false | inf | nan | type "(" number ")" | name | "%" name | name "[" list "]"
//            | function "(" list ")" | "cast(" type "," expr ")" | "select(" expr "," expr "," expr ")" | "(" expr ")"
//
// `//` and `%` are FloorDiv and Mod, `/` is true division. A number with a point or exponent is a
// float. Numbers take the type of the operand beside them; where none tells it, the type is
// written: f32(1.5).
//
// Shared subexpressions are written out at every use: whoever prints formulas with much sharing
// names parts as Tmps.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "ingot/expr.hpp"

namespace ingot {

// What a leaf is called. For a Load it names the buffer.
using LeafNamer = std::function<std::string(const Expr& leaf)>;
std::string default_name(const Expr& leaf);
std::string print(const Expr& e);
std::string print(const Expr& e, const LeafNamer& name);

// What names mean to the parser. Adding a name twice with another meaning is a user error.
class Names {
 public:
  struct Buffer {
    int64_t id;
    DType dtype;
    std::string load_name;  // of the Load nodes
    bool operator==(const Buffer&) const = default;
  };

  // A Sym, Idx or Tmp, or the buffer of a Load, under the name it prints with.
  void add(const Expr& leaf);
  // Any expression under a name; the name of a Tmp includes its '%'.
  void add(std::string name, const Expr& e);
  // A buffer whose loads carry this name.
  void add_buffer(std::string name, int64_t buffer, DType dtype);
  // Every leaf of `e`.
  static Names of(const Expr& e);
  // Names of an inner scope: where they do not have one, `outer`, which must live as long, does.
  static Names within(const Names& outer);

  const Expr* find(std::string_view name) const;
  const Buffer* find_buffer(std::string_view name) const;

 private:
  std::map<std::string, Expr, std::less<>> values_;
  std::map<std::string, Buffer, std::less<>> buffers_;
  const Names* outer_ = nullptr;

  void add_buffer(const std::string& name, const Buffer& buffer);
};

// User error with the position and what was expected for text that is not an expression over
// `names`.
Expr parse(std::string_view text, const Names& names);

}  // namespace ingot
