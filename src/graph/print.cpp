#include <vector>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "graph/annotation.hpp"
#include "graph/node_table.hpp"
#include "graph/same.hpp"
#include "graph/source.hpp"
#include "graph/target.hpp"
#include "graph/text.hpp"
#include "op/applied.hpp"
#include "op/call_text.hpp"
#include "op/text_constant.hpp"

namespace ingot {

namespace {

constexpr std::string_view kIndent = "    ";

std::string double_quoted(std::string_view s) {
  std::string out = "\"";
  for (const char c : s) {
    constexpr char kHex[] = "0123456789abcdef";
    const auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') (out += '\\') += c;
    else if (u < 0x20 || u == 0x7f) ((out += "\\x") += kHex[u >> 4]) += kHex[u & 15];
    else out += c;
  }
  return out += '"';
}

// "a.b" as it is; a part that is no identifier is fetched by getattr, as FX does:
// getattr(self.layers, "0").weight.
std::string path_text(std::string_view path) {
  std::vector<std::string_view> parts;
  for (std::size_t dot; (dot = path.find('.')) != path.npos; path.remove_prefix(dot + 1)) parts.push_back(path.substr(0, dot));
  parts.push_back(path);
  std::string prefix, out(parts[0]);
  for (std::size_t i = 1; i < parts.size(); i++) {
    if (is_identifier(parts[i])) {
      (out += '.') += parts[i];
    } else {
      prefix += "getattr(";
      out += text(", ", double_quoted(parts[i]), ")");
    }
  }
  return prefix + out;
}

// An unknown operator stands as it is if that reads back as one, else in quotes.
std::string unknown_target_text(const std::string& target) {
  const std::string_view head = std::string_view(target).substr(0, target.find('.'));
  const bool as_it_is = is_identifier(head) && head != "self" && head != "getattr" && !is_known_target(target);
  return as_it_is ? path_text(target) : double_quoted(target);
}

template <class List, class F>
std::string joined(const List& elements, const F& text_of) {
  std::string out;
  for (std::size_t i = 0; i < elements.size(); i++) {
    if (i > 0) out += ", ";
    out += text_of(elements[i]);
  }
  return out;
}

class Printer {
 public:
  explicit Printer(GraphForm form) : form_(form) {}

  void module(const Graph& g, std::string_view name, const std::string& indent) {
    out_ += text(indent, "class ", name, "(torch.nn.Module):\n");
    const std::string inner = text(indent, kIndent);
    function(g, inner);
    for (const auto& [key, attribute] : g.attributes) {
      const auto* subgraph = std::get_if<std::shared_ptr<const Graph>>(&attribute);
      if (subgraph == nullptr || *subgraph == nullptr) continue;
      out_ += '\n';
      module(**subgraph, is_identifier(key) ? key : double_quoted(key), inner);
    }
  }

  void function(const Graph& g, const std::string& indent) {
    out_ += indent + "def forward(self";
    for (const auto& n : g.nodes())
      if (n->kind == NodeKind::placeholder) out_ += text(", ", n->name, annotation(g, *n));
    out_ += "):\n";
    Releases releases(g);
    const std::string inner = text(indent, kIndent);
    std::string source;
    for (const auto& n : g.nodes()) {
      if (n->kind == NodeKind::placeholder) continue;
      if (form_ != GraphForm::plain) source_comment(*n, inner, source);
      out_ += text(inner, n->name, annotation(g, *n), " = ", call_text(*n), releases.after(*n), "\n");
    }
    out_ += text(inner, "return ", result_text(g), "\n");
  }

  std::string take() { return std::move(out_); }

 private:
  const GraphForm form_;
  std::string out_;

  // Which values nobody uses after a node (G04).
  class Releases {
   public:
    explicit Releases(const Graph& g) : graph_(g), last_user_(g.nodes().size()) {
      for (const auto& n : g.nodes())
        for_each_node(n->args, [&](const Node* used) {
          if (owned(used)) last_user_[at(used)] = n.get();
        });
      for_each_node(g.outputs, [&](const Node* used) {
        if (owned(used)) last_user_[at(used)] = nullptr;
      });
    }
    std::string after(const Node& n) {
      std::string out;
      for_each_node(n.args, [&](const Node* used) {
        if (!owned(used) || last_user_[at(used)] != &n) return;
        last_user_[at(used)] = nullptr;  // once, where it occurs twice
        out += used->name + " = ";
      });
      return out.empty() ? out : ";  " + out + "None";
    }

   private:
    const Graph& graph_;
    std::vector<const Node*> last_user_;
    bool owned(const Node* n) const { return n->id >= 0 && at(n) < last_user_.size() && graph_.nodes()[at(n)].get() == n; }
  };

  // Before the first node, and where the source changes.
  void source_comment(const Node& n, const std::string& indent, std::string& last) {
    std::string source = "No stacktrace found for following nodes";
    if (const auto f = innermost_frame(source_of(n).stack_trace))
      source = text("File: ", f->file, ":", f->line, " in ", f->function, ", code: ", f->code);
    if (source == last) return;
    out_ += text(last.empty() ? "" : "\n", indent, "# ", source, "\n");
    last = std::move(source);
  }

  std::string annotation(const Graph& g, const Node& n) const {
    // FX has no roles: where the name tells that an input is a tangent, as in all of the AOT stack,
    // the text of its forms is FX's.
    const Role role = form_ == GraphForm::full ? n.role : told_by_fx(n.role);
    const bool says_role = role != (n.kind == NodeKind::placeholder ? role_of_name(n.name) : Role::value);
    std::string said(says_role ? word_of(role) : "");
    const std::string known = form_ == GraphForm::plain ? "" : known_text(g, n);
    if (says_role && !known.empty()) said += ' ';
    said += known;
    return said.empty() ? said : text(": \"", said, "\"");
  }
  std::string known_text(const Graph& g, const Node& n) const {
    const Attribute* a = n.kind == NodeKind::attribute ? g.find_attribute(n.target) : nullptr;
    if (const auto* t = a ? std::get_if<Tensor>(a) : nullptr; t != nullptr && t->defined()) return tensor_text(*t);
    if (n.meta.is_tensor()) return tensor_text(n.meta.tensor());
    if (n.meta.is_int() && n.meta.to_int().is_symbolic()) return text("Sym(", n.meta.to_int(), ")");
    if (n.meta.is_float() && n.meta.to_float().is_symbolic()) return text("Sym(", n.meta.to_float(), ")");
    return {};
  }
  std::string tensor_text(const Tensor& t) const {
    const std::string rest = form_ == GraphForm::full ? text(t.strides(), t.device()) : "";
    return text(short_name_of(t.dtype()), t.sizes(), rest);
  }

  static std::string arguments_text(const std::vector<Argument>& args) {
    return joined(args, [](const Argument& a) { return print(a); });
  }

  static std::string call_text(const Node& n) {
    switch (n.kind) {
      case NodeKind::attribute: return path_text("self." + n.target);
      case NodeKind::item: return text(arguments_text(n.args), "[", n.index, "]");
      case NodeKind::call: return text(n.op ? target_of(*n.op) : "None", "(", n.op ? op_arguments(*n.op, n.args) : "", ")");
      case NodeKind::grad_mode: return text(kGradModeTarget, "(", arguments_text(n.args), ")");
      case NodeKind::vmap: return text(target_of(n.vmap_call), "(", arguments_text(n.args), ")");
      case NodeKind::unsupported: return text(unknown_target_text(n.target), "(", arguments_text(n.args), ")");
      default: break;
    }
    const std::string_view spelling = spelling_of(n.function);
    if (is_sign(spelling) && n.args.size() == 1) return text(spelling, print(n.args[0]));
    if (is_sign(spelling) && n.args.size() == 2) return text(print(n.args[0]), " ", spelling, " ", print(n.args[1]));
    return text(spelling, "(", arguments_text(n.args), ")");
  }

  // (2, 3) and (2,) where FX has tuples.
  static std::string tuple_text(const Argument& a) {
    std::string list = print(a);
    if (list.size() < 2 || list[0] != '[') return list;
    const bool is_single = list.size() > 2 && list.find(',') == list.npos;
    return text("(", list.substr(1, list.size() - 2), is_single ? ",)" : ")");
  }

  // An op that applies another one: that stands as its target, and what is handed on by name has
  // its name.
  static std::string applied_arguments(const Op& op, const std::vector<Argument>& args) {
    const int keywords = keywords_argument(op);
    const Argument* names = keywords < 0 || static_cast<std::size_t>(keywords) >= args.size() ? nullptr : &args[keywords];
    std::vector<std::string> keys;
    if (names && names->is_value() && names->value().is_values())
      for (const Value& v : names->value().values()) keys.push_back(v.is_string() ? v.string() : "");
    std::string out;
    std::size_t next = 0;
    for (std::size_t i = 0; i < args.size(); i++) {
      if (static_cast<int>(i) == keywords) continue;
      const bool is_string = args[i].is_value() && args[i].value().is_string();
      const Op* applied = static_cast<int>(i) == operator_argument(op) && is_string ? find_op(args[i].value().string()) : nullptr;
      std::string value = applied ? target_of(*applied) : print(args[i]);
      if (keywords >= 0 && i >= op.schema.args.size() && next < keys.size()) {
        const std::string& key = keys[next++];
        const bool is_tuple = key.starts_with('_') && (key.ends_with("_size") || key.ends_with("_stride"));
        value = text(key, " = ", is_tuple ? tuple_text(args[i]) : value);
      }
      out += text(out.empty() ? "" : ", ", value);
    }
    return out;
  }

  static std::string op_arguments(const Op& op, const std::vector<Argument>& args) {
    if (applies_another(op)) return applied_arguments(op, args);
    const auto& params = op.schema.args;
    const auto is_default = [&](std::size_t i) {
      const bool may_be = i < params.size() && params[i].has_default && args[i].is_value();
      return may_be && same(args[i].value(), params[i].default_value);
    };
    return call_arguments_text(op, args.size(), is_default, [&](std::size_t i) { return print(args[i]); });
  }

  static std::string result_text(const Graph& g) {
    const std::string list = arguments_text(g.outputs);
    switch (g.returns) {
      case Graph::Returns::list: return "[" + list + "]";
      case Graph::Returns::bare: return list;
      default: return text("(", list, g.outputs.size() == 1 ? ",)" : ")");
    }
  }
};

}  // namespace

std::string print(const Argument& a) {
  if (a.is_node()) return a.node()->name;
  if (a.is_value()) return constant_text(a.value());
  return "[" + joined(a.elements(), [](const Argument& e) { return print(e); }) + "]";
}

std::string print(const Graph& g, GraphForm form) {
  Printer p(form);
  if (form == GraphForm::plain) p.function(g, "");
  else p.module(g, "<lambda>", "");
  return p.take();
}

}  // namespace ingot
