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
    if (in_.peek() == '[') return list(type, depth, "[", "]");
    if (in_.peek() == '(' && is_tuple()) return list(type, depth, "(", ")");
    if (in_.peek() == '{') return map(depth);
    if (auto constant = accept_constant(in_)) return *std::move(constant);
    const std::size_t at = in_.position();
    const std::string path = in_.accept_path();
    if (path.empty()) in_.expected("an argument");
    return scope_.value(path, at);
  }

 private:
  TextCursor& in_;
  TextScope& scope_;

  void check_depth(int depth) {
    if (depth >= kMaxGraphTextDepth) in_.fail(in_.position(), text("lists nest deeper than ", kMaxGraphTextDepth));
  }

  // "(1, 2)" against the complex number "(1+2j)"
  bool is_tuple() {
    const std::size_t begin = in_.position();
    in_.expect("(");
    const char c = in_.peek();
    bool found = !(c == '-' || (c >= '0' && c <= '9'));
    if (!found) {
      in_.number(true);
      found = in_.peek() == ',';
    }
    in_.go_to(begin);
    return found;
  }

  // {'a': 1}: a list of pairs, which is how it prints.
  Argument map(int depth) {
    check_depth(depth);
    in_.expect("{");
    std::vector<Argument> pairs;
    while (!in_.accept("}")) {
      Value key = in_.string();
      in_.expect(":");
      pairs.push_back(Argument::list({std::move(key), read(nullptr, depth + 1)}));
      if (!in_.accept(",") && in_.peek() != '}') in_.expected("',' or '}'");
    }
    return pairs.empty() ? Argument(empty_list(nullptr)) : Argument::list(std::move(pairs));
  }

  // A tuple is a list, too: nothing here tells them apart.
  Argument list(const SchemaType* type, int depth, const char* open, const char* close) {
    check_depth(depth);
    in_.expect(open);
    const bool typed = type != nullptr && type->is_list();
    const SchemaType element = typed ? element_type(*type) : SchemaType();
    std::vector<Argument> elements;
    while (!in_.accept(close)) {
      elements.push_back(read(typed ? &element : nullptr, depth + 1));
      if (!in_.accept(",") && in_.peek() != *close) in_.expected(text("',' or '", close, "'"));
    }
    return elements.empty() ? Argument(empty_list(type)) : Argument::list(std::move(elements));
  }
};

}  // namespace

Argument parse_argument(TextCursor& in, const SchemaType* type, TextScope& scope) {
  return ArgumentParser(in, scope).read(type, 0);
}

}  // namespace ingot
