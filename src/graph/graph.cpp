#include "graph/graph.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace ingot {

Argument::Argument() = default;
Argument::Argument(const Argument& o) = default;
Argument::Argument(Argument&& o) noexcept = default;
Argument& Argument::operator=(const Argument& o) = default;
Argument& Argument::operator=(Argument&& o) noexcept = default;
Argument::~Argument() = default;
Argument::Argument(Value v) : v_(std::move(v)) {}
Argument::Argument(Node* n) : v_(n) {}

Argument Argument::list(std::vector<Argument> elements) {
  const bool constant = std::all_of(elements.begin(), elements.end(), [](const Argument& a) { return a.is_value(); });
  if (!constant) {
    Argument a;
    a.v_ = std::move(elements);
    return a;
  }
  Values values;
  for (Argument& e : elements) values.push_back(e.value());
  return list_value(std::move(values));
}

Node* Graph::add(NodeKind kind, std::string_view name, std::vector<Argument> args) {
  auto n = std::make_unique<Node>();
  n->kind = kind;
  n->id = static_cast<int>(nodes_.size());
  n->name = names_.unique(name);
  n->args = std::move(args);
  nodes_.push_back(std::move(n));
  return nodes_.back().get();
}

Node* Graph::placeholder(std::string_view name, Role role) {
  INGOT_ENSURE(inputs_.size() == nodes_.size(), "placeholder ", name, " comes after a node that is none");
  inputs_.push_back(add(NodeKind::placeholder, name, {}));
  inputs_.back()->role = role;
  return inputs_.back();
}

Node* Graph::attribute(std::string_view key, std::string_view name) {
  Node* n = add(NodeKind::attribute, name.empty() ? key : name, {});
  n->target = key;
  return n;
}

Node* Graph::call(const Op& op, std::vector<Argument> args, std::string_view name) {
  const auto& params = op.schema.args;
  INGOT_REQUIRE(args.size() <= params.size() || op.schema.variadic_args, op.name, " takes at most ", params.size(),
                " arguments, found ", args.size());
  for (std::size_t i = args.size(); i < params.size(); i++) {
    INGOT_REQUIRE(params[i].has_default, op.name, ": argument ", params[i].name, " is missing");
    args.push_back(params[i].default_value);
  }
  Node* n = add(NodeKind::call, name.empty() ? std::string_view(op.schema.name) : name, std::move(args));
  n->op = &op;
  return n;
}

Node* Graph::item(Node* list, int index, std::string_view name) {
  Node* n = add(NodeKind::item, name.empty() ? "getitem" : name, {Argument(list)});
  n->index = index;
  return n;
}

Node* Graph::scalar(ScalarFunction f, std::vector<Argument> args, std::string_view name) {
  INGOT_REQUIRE(static_cast<int>(args.size()) == arity_of(f), target_of(f), " takes ", arity_of(f), " arguments, found ",
                args.size());
  Node* n = add(NodeKind::scalar, name.empty() ? name_of(f) : name, std::move(args));
  n->function = f;
  return n;
}

Node* Graph::grad_mode(bool on, std::string_view name) {
  return add(NodeKind::grad_mode, name.empty() ? "_set_grad_enabled" : name, {Value(on)});
}

Node* Graph::vmap(VmapCall c, std::vector<Argument> args, std::string_view name) {
  const std::size_t count = schema_of(c).args.size();
  INGOT_REQUIRE(args.size() == count, target_of(c), " takes ", count, " arguments, found ", args.size());
  Node* n = add(NodeKind::vmap, name.empty() ? name_of(c) : name, std::move(args));
  n->vmap_call = c;
  return n;
}

Node* Graph::unsupported(std::string_view target, std::vector<Argument> args, std::string_view name) {
  Node* n = add(NodeKind::unsupported, name.empty() ? target : name, std::move(args));
  n->target = target;
  return n;
}

void Attributes::emplace_back(std::string key, Attribute a) {
  INGOT_REQUIRE(index_.emplace(key, entries_.size()).second, "attribute ", key, " is defined twice");
  entries_.emplace_back(std::move(key), std::move(a));
}

void Attributes::set(std::string key, Attribute a) {
  if (const auto it = index_.find(key); it != index_.end()) entries_[it->second].second = std::move(a);
  else emplace_back(std::move(key), std::move(a));
}

const Attribute* Attributes::find(std::string_view key) const {
  const auto it = index_.find(key);
  return it == index_.end() ? nullptr : &entries_[it->second].second;
}

}  // namespace ingot
