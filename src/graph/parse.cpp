#include <algorithm>
#include <limits>
#include <unordered_map>

#include "base/error.hpp"
#include "graph/annotation.hpp"
#include "graph/source.hpp"
#include "graph/target.hpp"
#include "graph/text.hpp"
#include "graph/text_argument.hpp"
#include "graph/verify.hpp"
#include "op/applied.hpp"

namespace ingot {

namespace {

// Longer signs before their prefixes.
constexpr std::string_view kSigns[] = {"**", "//", "<<", ">>", "==", "!=", "<=", ">=", "+",
                                       "-",  "*",  "/",  "%",  "<",  ">",  "&",  "|"};

// Every node below a comment keeps it: longer ones are not source lines, and would make a big graph
// of a small text.
constexpr std::size_t kMaxComment = 4096;

// What one text shares over all its graphs.
struct Shared {
  TextCursor in;
  Names symbols;
  std::unordered_map<std::string, const Op*> ops;  // by target; null: unknown

  const Op* op(const std::string& target) {
    const auto [it, fresh] = ops.try_emplace(target, nullptr);
    if (fresh) it->second = find_target(target);
    return it->second;
  }
};

class GraphParser final : TextScope {
 public:
  GraphParser(Shared& shared, const Attributes* attributes, int depth) : shared_(shared), in_(shared.in), depth_(depth) {
    if (attributes) graph_.attributes = *attributes;
  }

  Graph parse_text() {
    const std::size_t indent = first_token("'def forward' or 'class'");
    if (at_word("class")) module(indent);
    else function(indent);
    if (std::size_t unused; next_token(unused)) in_.expected("the end of the text");
    return finish();
  }

  // From the word "class" that stands after `indent` spaces, to the last of the classes nested in
  // it.
  void module(std::size_t indent) {
    in_.expect("class");
    class_name();
    in_.expect("(torch.nn.Module):");
    in_.end_line();
    const std::size_t inner = first_token("'def forward'");
    if (inner <= indent) in_.expected("an indented 'def forward'");
    function(inner);
    for (std::size_t found; next_token(found);) {
      if (found < inner) return back_to_line_start(found);
      if (found > inner || !at_word("class")) in_.expected("'class' of a subgraph");
      subgraph(inner);
    }
  }

  Graph finish() {
    for (const Fetch& f : fetches_) bind_attribute(f);
    return std::move(graph_);
  }

 private:
  struct Fetch {
    Node* node;
    std::size_t at;
  };
  struct Definition {
    Node* node;
    std::size_t at;
    std::size_t released_at = 0;
  };

  Shared& shared_;
  TextCursor& in_;
  const int depth_;
  Graph graph_;
  std::unordered_map<std::string, Definition> values_;
  std::vector<Fetch> fetches_;  // attribute nodes: what they fetch may be defined below them
  std::string stack_trace_;     // of the comment above

  // ---- lines

  // Goes to the first token of the next line that has one, over blank lines and comments.
  bool next_token(std::size_t& indent) {
    for (; !in_.at_end(); in_.next_line()) {
      if (in_.is_blank()) continue;
      indent = in_.indent();
      if (in_.peek() != '#') return true;
      source_comment(in_.rest_of_line());
    }
    return false;
  }
  std::size_t first_token(std::string_view what) {
    std::size_t indent = 0;
    if (!next_token(indent)) in_.expected(what);
    return indent;
  }
  void back_to_line_start(std::size_t indent) { in_.go_to(in_.position() - indent); }

  bool at_word(std::string_view word) {
    const std::size_t begin = in_.position();
    const bool found = in_.accept_identifier() == word;
    in_.go_to(begin);
    return found;
  }

  // "# File: model.py:12 in forward, code: y = x + 1"
  void source_comment(std::string_view comment) {
    if (comment.size() > kMaxComment) return;
    constexpr std::string_view kFile = "# File: ", kIn = " in ", kCode = ", code: ", kNone = "# No stacktrace found";
    if (comment.starts_with(kNone)) stack_trace_.clear();
    if (!comment.starts_with(kFile)) return;
    const auto between = [&](std::size_t from, std::size_t to) { return std::string(comment.substr(from, to - from)); };
    for (std::size_t colon = kFile.size(); (colon = comment.find(':', colon)) != comment.npos; colon++) {
      const std::size_t in = comment.find_first_not_of("0123456789", colon + 1);
      if (in == comment.npos || in == colon + 1 || comment.substr(in, kIn.size()) != kIn) continue;
      const std::size_t code = comment.find(kCode, in);
      if (code == comment.npos) return;
      stack_trace_ = to_stack_trace({between(kFile.size(), colon), between(colon + 1, in), between(in + kIn.size(), code),
                                     between(code + kCode.size(), comment.size())});
      return;
    }
  }

  // ---- classes

  std::string class_name() {
    if (in_.accept("<lambda>")) return "<lambda>";
    if (in_.peek() == '"') return in_.string();
    return std::string(in_.expect_identifier("the name of a class"));
  }

  void subgraph(std::size_t indent) {
    const std::size_t at = in_.position();
    if (depth_ + 1 > kMaxGraphTextDepth) in_.fail(at, text("classes nest deeper than ", kMaxGraphTextDepth));
    in_.expect("class");
    const std::string key = class_name();
    in_.go_to(at);
    const Attribute* given = graph_.find_attribute(key);
    const auto* stand_in = given ? std::get_if<std::shared_ptr<const Graph>>(given) : nullptr;
    if (given && !stand_in) in_.fail(at, text("attribute ", key, " is a tensor, and the text has a class for it"));
    if (!subgraphs_.emplace(key, true).second) in_.fail(at, text("subgraph ", key, " is defined twice"));
    GraphParser parser(shared_, stand_in && *stand_in ? &(*stand_in)->attributes : nullptr, depth_ + 1);
    parser.module(indent);
    graph_.attributes.set(key, std::make_shared<const Graph>(parser.finish()));
  }
  std::unordered_map<std::string, bool> subgraphs_;  // those the text has

  void bind_attribute(const Fetch& f) {
    const std::string& key = f.node->target;
    if (graph_.find_attribute(key)) return;
    if (!f.node->meta.is_tensor())
      in_.fail(f.at, text("the text does not say what self.", key, " is: it has no class and no annotation for it, and no ",
                          "attribute was given"));
    graph_.attributes.emplace_back(key, f.node->meta.tensor());
  }

  // ---- functions

  void function(std::size_t indent) {
    for (const std::string_view word : {"def", "forward"})
      if (const std::size_t at = (in_.peek(), in_.position()); in_.accept_identifier() != word) {
        in_.go_to(at);
        in_.expected("'def forward(self'");
      }
    in_.expect("(");
    in_.expect("self");
    while (in_.accept(",")) {
      const std::size_t at = (in_.peek(), in_.position());
      const std::string name = new_name(in_.expect_identifier("the name of an input"), at);
      Role role = role_of_name(name);
      const Value meta = annotation(role, true);
      define(graph_.placeholder(name, role), at, meta);
    }
    in_.expect(")");
    in_.expect(":");
    in_.end_line();
    const std::size_t inner = first_token("a statement");
    if (inner <= indent) in_.expected("an indented statement");
    for (std::size_t found = inner; found == inner;) {
      if (at_word("return")) return results();
      statement();
      found = first_token("'return'");
    }
    in_.expected(text("a statement indented by ", inner, " spaces"));
  }

  std::string new_name(std::string_view name, std::size_t at) {
    if (is_reserved(name)) in_.fail(at, text("'", name, "' has a meaning in Python, and cannot name a value"));
    if (const auto it = values_.find(std::string(name)); it != values_.end())
      in_.fail(at, text("'", name, "' is already defined on line ", in_.line_of(it->second.at)));
    return std::string(name);
  }

  void define(Node* n, std::size_t at, const Value& meta) {
    n->meta = meta;
    values_.emplace(n->name, Definition{n, at});
  }

  // It may say the role too, or alone.
  Value annotation(Role& role, bool of_input) {
    if (!in_.accept(":")) return {};
    const std::size_t at = (in_.peek(), in_.position());
    const std::string s = in_.string();
    std::string_view rest = s;
    if (const auto said = take_role(rest, of_input)) {
      role = *said;
      if (rest.empty()) return {};
    }
    try {
      return parse_annotation(rest, shared_.symbols);
    } catch (const UserError& e) {
      in_.fail(at, e.what());
    }
  }

  void results() {
    in_.expect("return");
    const char open = in_.peek();
    const std::size_t at = in_.position();
    graph_.returns = open == '[' ? Graph::Returns::list : Graph::Returns::bare;
    if (open == '(' && !is_complex_number()) graph_.returns = Graph::Returns::tuple;
    if (graph_.returns == Graph::Returns::bare) {
      graph_.outputs.push_back(argument());
    } else {
      in_.go_to(at + 1);
      const char* const close = open == '[' ? "]" : ")";
      while (!in_.accept(close)) {
        graph_.outputs.push_back(argument());
        if (in_.accept(",")) continue;
        if (open == '(' && graph_.outputs.size() == 1) in_.expected("',' of a tuple");
        in_.expect(close);
        break;
      }
    }
    in_.end_line();
  }

  // "(1+2j)" against "(a,)"
  bool is_complex_number() {
    const std::size_t begin = in_.position();
    in_.expect("(");
    const char c = in_.peek();
    bool found = c == '-' || (c >= '0' && c <= '9');
    if (found) {
      in_.number(true);
      found = in_.peek() == '+' || in_.peek() == '-';
    }
    in_.go_to(begin);
    return found;
  }

  void statement() {
    const std::size_t at = in_.position();
    const std::string name = new_name(in_.expect_identifier("a statement"), at);
    Role role = Role::value;
    const Value meta = annotation(role, false);
    in_.expect("=");
    Node* n = right_hand_side(name);
    n->role = role;
    if (n->name != name) in_.fail(at, text("'", name, "' cannot name a value"));
    n->stack_trace = stack_trace_;
    define(n, at, meta);
    if (in_.accept(";")) releases();
    in_.end_line();
  }

  // "a = b = None"
  void releases() {
    while (true) {
      const std::size_t at = (in_.peek(), in_.position());
      const std::string_view name = in_.expect_identifier("the name of a value to release");
      if (name == "None") return;
      definition(name, at).released_at = at;
      in_.expect("=");
    }
  }

  // ---- right-hand sides

  Node* right_hand_side(const std::string& name) {
    const char c = in_.peek();
    const std::size_t begin = in_.position();
    if (c == '-' || c == '+') {
      // A sign and an operand, unless the sign belongs to the first number of an operation: -1 * x.
      if (c == '-' && begins_signed_operation()) return operation(argument(), name);
      in_.go_to(begin + 1);
      return graph_.scalar(*find_sign(std::string_view(&c, 1), 1), {argument()}, name);
    }
    if (const std::string path = in_.accept_path(); !path.empty()) {
      if (path.starts_with("self.")) return fetch(path.substr(5), begin, name);
      if (path == "self") in_.fail(begin, "expected the name of an attribute: self.name");
      if (in_.accept("(")) return call(path, begin, name);
      in_.go_to(begin);
    }
    if (in_.peek() == '"' || in_.peek() == '\'') {
      const std::string target = in_.string();
      in_.expect("(");
      return graph_.unsupported(target, arguments_of_unknown(target), name);
    }
    Argument left = argument();
    if (in_.accept("[")) return item(left, begin, name);
    return operation(std::move(left), name);
  }

  bool begins_signed_operation() {
    const std::size_t begin = in_.position();
    in_.go_to(begin + 1);
    const char c = in_.peek();
    bool found = (c >= '0' && c <= '9') || at_word("inf") || at_word("nan");
    in_.go_to(begin);
    if (found) {
      in_.number();
      found = in_.peek() != ';' && in_.peek() != '#' && !in_.is_blank();
      in_.go_to(begin);
    }
    return found;
  }

  Node* operation(Argument left, const std::string& name) {
    for (const std::string_view sign : kSigns)
      if (in_.accept(sign)) return graph_.scalar(*find_sign(sign, 2), {std::move(left), argument()}, name);
    in_.expected("a call, an operator or '['");
  }

  Node* fetch(const std::string& key, std::size_t at, const std::string& name) {
    Node* n = graph_.attribute(key, name);
    fetches_.push_back({n, at});
    return n;
  }

  Node* item(const Argument& list, std::size_t at, const std::string& name) {
    if (!list.is_node()) in_.fail(at, "an element can only be taken of a value");
    const std::size_t index_at = (in_.peek(), in_.position());
    const Value index = in_.number();
    const bool in_range = index.is_int() && !(index.to_int() < 0) && index.to_int() <= std::numeric_limits<int>::max();
    if (!in_range) in_.fail(index_at, "expected the number of an element");
    in_.expect("]");
    return graph_.item(list.node(), static_cast<int>(index.to_int64()), name);
  }

  // From behind the '('.
  Node* call(const std::string& target, std::size_t at, const std::string& name) {
    if (const Op* op = shared_.op(target)) return graph_.call(*op, op_arguments(*op), name);
    std::vector<Argument> args = arguments_of_unknown(target);
    if (target == kGradModeTarget) {
      const bool one_flag = args.size() == 1 && args[0].is_value() && args[0].value().is_bool();
      if (!one_flag) in_.fail(at, text(target, " takes True or False"));
      return graph_.grad_mode(args[0].value().to_bool(), name);
    }
    if (const auto f = find_scalar_function(target)) {
      if (static_cast<int>(args.size()) != arity_of(*f))
        in_.fail(at, text(target, " takes ", arity_of(*f), " arguments, found ", args.size()));
      return graph_.scalar(*f, std::move(args), name);
    }
    if (const auto c = find_vmap_call(target)) {
      const std::size_t count = schema_of(*c).args.size();
      if (args.size() != count) in_.fail(at, text(target, " takes ", count, " arguments, found ", args.size()));
      return graph_.vmap(*c, std::move(args), name);
    }
    return graph_.unsupported(target, std::move(args), name);
  }

  // Up to the ')'. Without a schema nobody knows where an argument with a name belongs.
  std::vector<Argument> arguments_of_unknown(const std::string& target) {
    std::vector<Argument> args;
    while (!in_.accept(")")) {
      if (in_.at_keyword_argument()) in_.expected(text("an argument without a name: ", target, " is no operator Ingot knows"));
      args.push_back(argument());
      if (!in_.accept(",") && in_.peek() != ')') in_.expected("',' or ')'");
    }
    return args;
  }

  std::vector<Argument> op_arguments(const Op& op) {
    const auto& params = op.schema.args;
    std::vector<Argument> args(params.size());
    std::vector<bool> given(params.size());
    std::size_t positional = 0;
    bool by_keyword = false;
    while (!in_.accept(")")) {
      const std::size_t at = (in_.peek(), in_.position());
      by_keyword |= in_.at_keyword_argument();
      if (keywords_argument(op) >= 0 && (by_keyword || given[0])) {
        named_argument(op, args);
        given[static_cast<std::size_t>(keywords_argument(op))] = true;
        if (!in_.accept(",") && in_.peek() != ')') in_.expected("',' or ')'");
        continue;
      }
      const std::size_t i = by_keyword ? keyword(op) : positional++;
      if (!by_keyword) require_place(op, i, at);
      if (i >= params.size()) {
        args.push_back(argument());
      } else {
        if (given[i]) in_.fail(at, text("argument '", params[i].name, "' is given twice"));
        given[i] = true;
        args[i] = static_cast<int>(i) == operator_argument(op) ? applied_operator() : argument(&params[i].type);
        if (const std::string f = argument_fault(graph_, params[i], args[i]); !f.empty())
          in_.fail(at, text("argument '", params[i].name, "' ", f, "; the schema is ", to_text(op.schema)));
      }
      if (!in_.accept(",") && in_.peek() != ')') in_.expected("',' or ')'");
    }
    for (std::size_t i = 0; i < params.size(); i++) {
      if (given[i]) continue;
      if (!params[i].has_default)
        in_.fail(in_.position() - 1, text("argument '", params[i].name, "' is missing; the schema is ", to_text(op.schema)));
      args[i] = params[i].default_value;
    }
    return args;
  }

  // Of an op that applies another: torch.ops.aten.add_.Tensor, or its name as a string.
  Argument applied_operator() {
    const std::size_t at = (in_.peek(), in_.position());
    if (in_.peek() == '"' || in_.peek() == '\'') return Value(in_.string());
    const std::string target = in_.accept_path();
    const Op* applied = shared_.op(target);
    if (!applied) in_.fail(at, text("expected an operator that Ingot knows, found ", target.empty() ? "none" : target));
    return Value(applied->name);
  }

  // `name = value` that an op hands on to the one it applies: (operator, keywords, values…).
  void named_argument(const Op& op, std::vector<Argument>& args) {
    const std::size_t at = in_.position();
    if (!in_.at_keyword_argument()) in_.expected("an argument with a name: those after the operator have one");
    const std::string key(in_.expect_identifier("the name of an argument"));
    in_.expect("=");
    const Op* applied = args[0].is_value() && args[0].value().is_string() ? find_op(args[0].value().string()) : nullptr;
    if (!applied) in_.fail(at, text("the operator of ", op.name, " must be one that Ingot knows, and come first"));
    const SchemaArg* param = applied_parameter(*applied, key);
    if (!param && !is_view_keyword(*applied, key)) in_.fail(at, text(applied->qualified(), " has no argument '", key, "'"));
    Argument& keywords = args[static_cast<std::size_t>(keywords_argument(op))];
    Values names = keywords.is_none() ? Values() : keywords.value().values();
    if (std::any_of(names.begin(), names.end(), [&](const Value& n) { return n.string() == key; }))
      in_.fail(at, text("argument '", key, "' is given twice"));
    names.emplace_back(key);
    keywords = Value(std::move(names));
    args.push_back(argument(param ? &param->type : nullptr));
    const std::string f = param ? argument_fault(graph_, *param, args.back()) : "";
    if (!f.empty()) in_.fail(at, text("argument '", key, "' ", f, "; the schema is ", to_text(applied->schema)));
  }

  std::size_t keyword(const Op& op) {
    const std::size_t at = in_.position();
    const std::string_view key = in_.expect_identifier("the name of an argument");
    in_.expect("=");
    const int i = op.schema.index_of(key);
    if (i < 0) in_.fail(at, text(op.name, " has no argument '", key, "'; the schema is ", to_text(op.schema)));
    return static_cast<std::size_t>(i);
  }

  void require_place(const Op& op, std::size_t i, std::size_t at) const {
    const auto& params = op.schema.args;
    if (i >= params.size() && !op.schema.variadic_args)
      in_.fail(at, text(op.name, " takes at most ", params.size(), " arguments; the schema is ", to_text(op.schema)));
    if (i < params.size() && params[i].keyword_only)
      in_.fail(at, text("argument '", params[i].name, "' of ", op.name, " goes by name: ", params[i].name, " = …"));
  }

  // ---- values

  Argument argument(const SchemaType* type = nullptr) { return parse_argument(in_, type, *this); }

  Node* value(const std::string& name, std::size_t at) override {
    const Definition& d = definition(name, at);
    if (d.released_at != 0) in_.fail(at, text("'", name, "' was released on line ", in_.line_of(d.released_at)));
    return d.node;
  }

  Definition& definition(std::string_view name, std::size_t at) {
    const auto it = values_.find(std::string(name));
    if (it == values_.end()) in_.fail(at, text("'", name, "' is not defined above"));
    return it->second;
  }
};

}  // namespace

Graph parse_graph(std::string_view text, const ParseOptions& options) {
  Shared shared{TextCursor(text, options.file), options.symbols ? *options.symbols : Names(), {}};
  return GraphParser(shared, options.attributes, 0).parse_text();
}

}  // namespace ingot
