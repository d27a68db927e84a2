#include "format/pt2/exported_program.hpp"

#include <algorithm>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "graph/interpret.hpp"
#include "graph/vmap_region.hpp"
#include "ingot/autograd.hpp"
#include "io/dense.hpp"
#include "op/call.hpp"
#include "op/tensors.hpp"

namespace ingot {

namespace {

void add_unsupported(const Graph& g, std::vector<const Node*>& out) {
  for (const auto& n : g.nodes())
    if (n->kind == NodeKind::unsupported && !is_vmap_node(*n)) out.push_back(n.get());
  for (const auto& [key, attribute] : g.attributes)
    if (const auto* inner = std::get_if<std::shared_ptr<const Graph>>(&attribute)) add_unsupported(**inner, out);
}

// Everything that keeps the program from running, in one message.
void require_runnable(const ExportedProgram& p) {
  std::string problems;
  const auto add = [&](const std::string& problem) { problems += text(problems.empty() ? "" : "\n", problem); };
  for (const Node* n : p.unsupported_nodes()) add(text("unsupported operator ", n->target, provenance(*n)));
  for (const InputSpec& s : p.inputs) {
    if (s.kind == InputSpec::Kind::custom_object)
      add(text("constant ", s.name, " is a custom class object (", s.class_name, ") and cannot be used"));
    if (const auto it = p.state.find(s.name);
        it != p.state.end() && s.kind != InputSpec::Kind::user && !it->second.tensor.defined())
      add(text("weight ", s.name, " (", it->second.entry, ") is not in the archive and was not supplied"));
  }
  INGOT_REQUIRE(problems.empty(), problems, p.unsupported_nodes().empty() ? "" : text("\n", kListMissing));
}

bool share_storage(const Value& v, const Tensor& t) {
  bool any = false;
  for_each_tensor(v, [&](const Tensor& m) { any |= m->storage == t->storage; });
  return any;
}
Value cloned(const Value& v) {
  return map_tensors(v, [](const Tensor& t) { return aten<"clone">(t); });
}

struct Write {
  Tensor target;
  Value source;
};

// Writes what a functional graph returns for its state, in order. Everything was computed before the first write: a
// result or a source that lives in a tensor which is about to be written is copied first.
void write_back(std::vector<Write> writes, Values& results) {
  if (writes.empty()) return;
  const GradModeGuard no_grad(false);
  for (Value& r : results)
    if (std::any_of(writes.begin(), writes.end(), [&](const Write& w) { return share_storage(r, w.target); })) r = cloned(r);
  for (std::size_t i = 0; i < writes.size(); i++)
    for (std::size_t k = 0; k < i; k++)
      if (share_storage(writes[i].source, writes[k].target)) {
        writes[i].source = cloned(writes[i].source);
        break;
      }
  for (const Write& w : writes) aten<"copy_">(w.target, w.source.tensor());
}

// Whether two names are the same elements of one storage: in memory or, where its bytes are left out, in the archive.
bool are_one(const StateEntry& a, const StateEntry& b) {
  if (a.tensor.defined() != b.tensor.defined() || a.dtype != b.dtype || !a.sizes.same(b.sizes)) return false;
  if (!a.tensor.defined()) return !a.entry.empty() && a.entry == b.entry && a.offset.same(b.offset) && a.strides.same(b.strides);
  return a.tensor->storage == b.tensor->storage && a.tensor.storage_offset().same(b.tensor.storage_offset()) &&
         a.tensor.strides().same(b.tensor.strides());
}

// Parameters that are the same elements (tied weights) are one tensor, as they are in PyTorch's module: it has one gradient.
void join_names(std::map<std::string, StateEntry>& state) {
  std::map<const Storage*, std::vector<StateEntry*>> by_storage;
  for (auto& [key, e] : state) {
    if (!e.tensor.defined() || !e.is_parameter) continue;
    std::vector<StateEntry*>& known = by_storage[&*e.tensor->storage];
    const auto same = std::ranges::find_if(known, [&](const StateEntry* k) { return are_one(*k, e); });
    if (same != known.end()) e.tensor = (*same)->tensor;
    else known.push_back(&e);
  }
}

std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& n : names) out += (out.empty() ? "" : ", ") + n;
  return out;
}

}  // namespace

std::vector<const InputSpec*> ExportedProgram::user_inputs() const {
  std::vector<const InputSpec*> out;
  for (const InputSpec& s : inputs)
    if (s.kind == InputSpec::Kind::user && s.node != nullptr) out.push_back(&s);
  return out;
}

const ModuleCall* ExportedProgram::own_call() const {
  const auto it =
      std::find_if(facts.module_calls.begin(), facts.module_calls.end(), [](const ModuleCall& c) { return c.fqn.empty(); });
  return it == facts.module_calls.end() || !it->in_spec ? nullptr : &*it;
}

std::vector<Leaf> ExportedProgram::input_leaves() const {
  std::vector<std::string> names;
  if (const ModuleCall* c = own_call()) {
    const auto& forward = c->forward_arg_names;
    const TreeSpec &args = c->in_spec->children[0], &kwargs = c->in_spec->children[1];
    for (std::size_t i = 0; i < args.children.size(); i++) {
      const std::string name = forward && i < forward->size() ? (*forward)[i] : text("args[", i, "]");
      for (std::string& leaf : leaf_names(args.children[i], name)) names.push_back(std::move(leaf));
    }
    for (std::size_t i = 0; i < kwargs.children.size(); i++)
      for (std::string& leaf :
           leaf_names(kwargs.children[i], kwargs.keys[i].is_string() ? kwargs.keys[i].string() : to_text(kwargs.keys[i])))
        names.push_back(std::move(leaf));
  }
  std::vector<Leaf> leaves;
  for (const InputSpec& s : inputs) {
    if (s.kind != InputSpec::Kind::user) continue;
    const bool is_constant = s.node == nullptr;
    leaves.push_back(
        {leaves.size() < names.size() ? names[leaves.size()] : s.name, is_constant ? s.fixed : s.node->meta, is_constant});
  }
  return leaves;
}

std::vector<Leaf> ExportedProgram::result_leaves() const {
  const ModuleCall* c = own_call();
  const std::vector<std::string> names = c && c->out_spec ? leaf_names(*c->out_spec, "output") : std::vector<std::string>();
  std::vector<Leaf> leaves;
  for (std::size_t i = 0; i < outputs.size(); i++) {
    if (!outputs[i].is_result()) continue;
    const Argument& a = graph.outputs[i];
    const std::string name = leaves.size() < names.size() ? names[leaves.size()] : text("output[", leaves.size(), "]");
    if (a.is_node()) leaves.push_back({name, a.node()->meta, false});
    else leaves.push_back({name, a.is_value() ? a.value() : Value(), a.is_value()});
  }
  return leaves;
}

std::vector<const Node*> ExportedProgram::unsupported_nodes() const {
  std::vector<const Node*> out;
  add_unsupported(graph, out);
  return out;
}

void ExportedProgram::supply(std::string_view key, const Tensor& t) {
  const auto it = state.find(std::string(key));
  INGOT_REQUIRE(it != state.end(), name, ": it has no parameter or buffer ", shown_name(key));
  StateEntry& e = it->second;
  INGOT_REQUIRE(t.defined(), name, ": ", key, " was supplied without a tensor");
  INGOT_REQUIRE(t.dtype() == e.dtype && t.sizes() == e.sizes, name, ": ", key, " should be ", e.dtype, " of size ", e.sizes,
                ", found ", t.dtype(), " of size ", t.sizes());
  const StateEntry before = e;
  for (auto& [other_name, other] : state)
    if (&other == &e || are_one(before, other)) other.tensor = t;
}

void ExportedProgram::prepare() {
  join_names(state);
  leaves_ = input_leaves();
  std::vector<InputCheck::Input> checked;
  for (const Leaf& leaf : leaves_)
    if (!leaf.is_constant) checked.push_back({leaf.name, leaf.meta});
  check_ = InputCheck(std::move(checked), symbol_ranges, facts.guards, warnings);
}

Values ExportedProgram::without_constants(Args given) const {
  const auto wanted =
      static_cast<std::size_t>(std::count_if(leaves_.begin(), leaves_.end(), [](const Leaf& l) { return !l.is_constant; }));
  if (given.size() == wanted) return Values(given.begin(), given.end());
  INGOT_REQUIRE(given.size() == leaves_.size(), name, " takes ", wanted, " inputs, found ", given.size());
  Values out;
  for (std::size_t i = 0; i < leaves_.size(); i++) {
    if (!leaves_[i].is_constant) out.push_back(given[i]);
    else if (check_inputs)
      INGOT_REQUIRE(given[i].same(leaves_[i].meta), "input ", leaves_[i].name, " must be ", leaves_[i].meta, ", got ", given[i]);
  }
  return out;
}

Values ExportedProgram::run(Args all_given) {
  const Values given = without_constants(all_given);
  require_runnable(*this);
  if (check_inputs) check_.check(given);

  Values values;
  std::map<std::string, Tensor> user;  // by the graph's name: targets of mutations
  std::size_t next = 0;
  for (const InputSpec& s : inputs) {
    if (s.node == nullptr) continue;
    if (s.kind == InputSpec::Kind::user) {
      if (given[next].is_tensor()) user[s.name] = given[next].tensor();
      values.push_back(given[next++]);
    } else if (s.kind == InputSpec::Kind::token) {
      values.push_back(make_tensor(Geometry::contiguous({0}, DType::f32)));
    } else {
      values.push_back(state.at(s.name).tensor);
    }
  }
  const Values all = Interpreter(graph).run(values);

  Values results;
  std::vector<Write> writes;
  gradients.clear();
  const auto write = [&](const OutputSpec& s, const Tensor& target, const Value& source) {
    INGOT_REQUIRE(target.defined() && source.is_tensor(), name, ": ", s.target,
                  " is written by the program; both it and what is written should be tensors");
    writes.push_back({target, source});
  };
  for (std::size_t i = 0; i < outputs.size(); i++) {
    const OutputSpec& s = outputs[i];
    switch (s.kind) {
      case OutputSpec::Kind::user:
      case OutputSpec::Kind::loss: results.push_back(all[i]); break;
      case OutputSpec::Kind::buffer_mutation:
      case OutputSpec::Kind::parameter_mutation: write(s, state.at(s.target).tensor, all[i]); break;
      case OutputSpec::Kind::user_input_mutation: write(s, user[s.target], all[i]); break;
      case OutputSpec::Kind::parameter_gradient:
      case OutputSpec::Kind::user_input_gradient:
        INGOT_REQUIRE(all[i].is_tensor() || all[i].is_none(), name, ": the gradient of ", s.target, " should be a tensor, found ",
                      all[i].kind_name());
        gradients[s.target] = all[i].tensor_or_none();
        break;
      case OutputSpec::Kind::token: break;
    }
  }
  write_back(std::move(writes), results);
  return results;
}

Tree ExportedProgram::call(const Tree& args, const Tree& kwargs) {
  const ModuleCall* c = own_call();
  INGOT_REQUIRE(c != nullptr && c->out_spec, name, ": the file does not say how its arguments nest; call it with a flat list");
  const TreeSpec &positional = c->in_spec->children[0], &keywords = c->in_spec->children[1];
  INGOT_REQUIRE(!args.is_leaf() && args.keys().empty(), name, ": positional arguments come as a tuple");
  INGOT_REQUIRE(!kwargs.is_leaf() && kwargs.keys().size() == kwargs.children().size(), name,
                ": keyword arguments come as a dict");
  INGOT_REQUIRE(args.children().size() == positional.children.size(), name, " takes ", positional.children.size(),
                " positional arguments, found ", args.children().size());
  const auto has = [](const Values& keys, const Value& k) {
    return std::any_of(keys.begin(), keys.end(), [&](const Value& x) { return x.same(k); });
  };
  std::vector<std::string> missing, extra;
  for (const Value& k : keywords.keys)
    if (!has(kwargs.keys(), k)) missing.push_back(k.is_string() ? k.string() : to_text(k));
  for (const Value& k : kwargs.keys())
    if (!has(keywords.keys, k)) extra.push_back(k.is_string() ? k.string() : to_text(k));
  INGOT_REQUIRE(missing.empty(), name, ": missing keyword arguments: ", listed(missing));
  INGOT_REQUIRE(extra.empty(), name, ": unexpected keyword arguments: ", listed(extra));

  Values leaves;
  const auto add = [&](const Tree& tree, const TreeSpec& spec, const std::string& path) {
    for (Value& v : flatten(tree, spec, path)) leaves.push_back(std::move(v));
  };
  const auto& forward = c->forward_arg_names;
  for (std::size_t i = 0; i < positional.children.size(); i++)
    add(args[i], positional.children[i], forward && i < forward->size() ? (*forward)[i] : text("args[", i, "]"));
  for (std::size_t i = 0; i < keywords.children.size(); i++) {
    const Value& k = keywords.keys[i];
    add(kwargs.at(k), keywords.children[i], k.is_string() ? k.string() : to_text(k));
  }
  return unflatten(run(leaves), *c->out_spec);
}

}  // namespace ingot
