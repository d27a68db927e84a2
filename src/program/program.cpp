#include "program/program.hpp"

#include <algorithm>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "graph/interpret.hpp"
#include "io/dense.hpp"
#include "program/write_back.hpp"
#include "tensor/impl.hpp"

namespace ingot {

namespace {

// Everything that keeps the program from running, in one message.
void require_runnable(const Program& p, const EntryPoint& e) {
  std::string problems;
  const auto add = [&](const std::string& problem) { problems += text(problems.empty() ? "" : "\n", problem); };
  const std::vector<const Node*> unsupported = e.unsupported_nodes();
  for (const Node* n : unsupported) add(text("unsupported operator ", n->target, provenance(*n)));
  for (const InputSpec& s : e.inputs) {
    if (s.kind == InputSpec::Kind::custom_object)
      add(text("constant ", s.name, " is a custom class object (", s.class_name, ") and cannot be used"));
    if (const auto it = p.state.find(s.name);
        it != p.state.end() && s.kind != InputSpec::Kind::user && !it->second.tensor.defined())
      add(text("weight ", s.name, " (", it->second.entry, ") is not in the archive and was not supplied"));
  }
  INGOT_REQUIRE(problems.empty(), problems, unsupported.empty() ? "" : text("\n", kListMissing));
}

// Whether two names are the same elements of one storage: in memory or, where its bytes are left
// out, in the file.
bool are_one(const StateEntry& a, const StateEntry& b) {
  if (a.tensor.defined() != b.tensor.defined() || a.dtype != b.dtype || !a.sizes.same(b.sizes)) return false;
  if (!a.tensor.defined()) return !a.entry.empty() && a.entry == b.entry && a.offset.same(b.offset) && a.strides.same(b.strides);
  return a.tensor->storage == b.tensor->storage && a.tensor.storage_offset().same(b.tensor.storage_offset()) &&
         a.tensor.strides().same(b.tensor.strides());
}

// Parameters that are the same elements (tied weights) are one tensor, as they are in PyTorch's
// module: it has one gradient.
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

std::size_t Program::entry_named(std::string_view wanted) const {
  std::vector<std::string> names;
  for (const EntryPoint& e : entries) {
    if (e.name == wanted) return names.size();
    names.push_back(e.name);
  }
  throw_user_error(text(name, ": there is no entry point ", shown_name(wanted), "; it has ", listed(names)));
}

void Program::supply(std::string_view key, const Tensor& t) {
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

void Program::prepare() {
  join_names(state);
  prepared_.clear();
  for (const EntryPoint& e : entries) {
    std::vector<Leaf> leaves = e.input_leaves();
    std::vector<InputCheck::Input> checked;
    for (const Leaf& leaf : leaves)
      if (!leaf.is_constant) checked.push_back({leaf.name, leaf.meta});
    prepared_.push_back({std::move(leaves), InputCheck(std::move(checked), e.symbol_ranges, e.conditions)});
  }
}

Values Program::without_constants(Args given, const std::vector<Leaf>& leaves) const {
  const auto wanted =
      static_cast<std::size_t>(std::count_if(leaves.begin(), leaves.end(), [](const Leaf& l) { return !l.is_constant; }));
  if (given.size() == wanted) return Values(given.begin(), given.end());
  INGOT_REQUIRE(given.size() == leaves.size(), name, " takes ", wanted, " inputs, found ", given.size());
  Values out;
  for (std::size_t i = 0; i < leaves.size(); i++) {
    if (!leaves[i].is_constant) out.push_back(given[i]);
    else if (check_inputs)
      INGOT_REQUIRE(given[i].same(leaves[i].meta), "input ", leaves[i].name, " must be ", leaves[i].meta, ", got ", given[i]);
  }
  return out;
}

Values Program::run(Args all_given, std::size_t entry) {
  const EntryPoint& e = entries.at(entry);
  const Prepared& prepared = prepared_.at(entry);
  const Values given = without_constants(all_given, prepared.leaves);
  require_runnable(*this, e);
  if (check_inputs) {
    prepared.check.check(given);
    const std::string violation = e.sizes ? e.sizes->violation(given) : "";
    INGOT_REQUIRE(violation.empty(), name, ": ", violation);
  }

  Values values;
  std::size_t next = 0;
  for (const InputSpec& s : e.inputs) {
    if (s.node == nullptr) continue;
    if (s.kind == InputSpec::Kind::user) values.push_back(given[next++]);
    else if (s.kind == InputSpec::Kind::token) values.push_back(make_tensor(Geometry::contiguous({0}, DType::f32)));
    else values.push_back(state.at(s.name).tensor);
  }
  return keep_gradients(e, write_back(e, name, values, Interpreter(e.graph).run(values)));
}

Values Program::keep_gradients(const EntryPoint& entry, Args returned) {
  Values results;
  gradients.clear();
  std::size_t next = 0;
  for (const OutputSpec& s : entry.outputs) {
    if (!s.is_returned()) continue;
    const Value& v = returned[next++];
    if (s.is_result()) {
      results.push_back(v);
      continue;
    }
    INGOT_REQUIRE(v.is_tensor() || v.is_none(), name, ": the gradient of ", s.target, " should be a tensor, found ",
                  v.kind_name());
    gradients[s.target] = v.tensor_or_none();
  }
  return results;
}

Tree Program::call(const Tree& args, const Tree& kwargs, std::size_t entry) {
  const std::optional<CallSpec>& c = entries.at(entry).call_spec;
  INGOT_REQUIRE(c, name, ": the file does not say how its arguments nest; call it with a flat list");
  const TreeSpec &positional = c->in_spec.children[0], &keywords = c->in_spec.children[1];
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
  const auto& known = c->argument_names;
  for (std::size_t i = 0; i < positional.children.size(); i++)
    add(args[i], positional.children[i], known && i < known->size() ? (*known)[i] : text("args[", i, "]"));
  for (std::size_t i = 0; i < keywords.children.size(); i++) {
    const Value& k = keywords.keys[i];
    add(kwargs.at(k), keywords.children[i], k.is_string() ? k.string() : to_text(k));
  }
  return unflatten(run(leaves, entry), c->out_spec);
}

}  // namespace ingot
