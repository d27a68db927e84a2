#include "graph/text_argument.hpp"

#include "base/error.hpp"
#include "graph/text.hpp"
#include "op/fits.hpp"
#include "op/text_constant.hpp"

namespace ingot {

namespace {

class ArgumentParser {
 public:
  ArgumentParser(TextCursor& in, TextScope& scope) : in_(in), scope_(scope) {}

  Argument read(const SchemaType* type, int depth) {
    if (in_.peek() == '[') return list(type, depth);
    if (auto constant = accept_constant(in_)) return *std::move(constant);
    const std::size_t at = in_.position();
    const std::string path = in_.accept_path();
    if (path.empty()) in_.expected("an argument");
    return scope_.value(path, at);
  }

 private:
  TextCursor& in_;
  TextScope& scope_;

  Argument list(const SchemaType* type, int depth) {
    if (depth >= kMaxGraphTextDepth) in_.fail(in_.position(), text("lists nest deeper than ", kMaxGraphTextDepth));
    in_.expect("[");
    const bool typed = type != nullptr && type->is_list();
    const SchemaType element = typed ? element_type(*type) : SchemaType();
    std::vector<Argument> elements;
    while (!in_.accept("]")) {
      elements.push_back(read(typed ? &element : nullptr, depth + 1));
      if (!in_.accept(",") && in_.peek() != ']') in_.expected("',' or ']'");
    }
    return elements.empty() ? Argument(empty_list(type)) : Argument::list(std::move(elements));
  }
};

}  // namespace

Argument parse_argument(TextCursor& in, const SchemaType* type, TextScope& scope) {
  return ArgumentParser(in, scope).read(type, 0);
}

}  // namespace ingot
