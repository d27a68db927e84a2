#include "program/write_back.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "graph/storage_of.hpp"
#include "ingot/autograd.hpp"
#include "op/call.hpp"
#include "op/tensors.hpp"

namespace ingot {

namespace {

// Whether a tensor of the value lives where one of these is written.
bool lives_in(const Value& v, std::span<const Write> writes) {
  bool any = false;
  for_each_tensor(v, [&](const Tensor& t) {
    any = any || std::ranges::any_of(writes, [&](const Write& w) { return w.target->storage == t->storage; });
  });
  return any;
}
Value cloned(const Value& v) {
  return map_tensors(v, [](const Tensor& t) { return aten<"clone">(t); });
}

// What outputs may be written to, by kind and name.
using Targets = std::map<std::pair<InputSpec::Kind, std::string_view>, Value>;

Targets targets_of(const EntryPoint& entry, Args given) {
  Targets targets;
  std::size_t next = 0;
  for (const InputSpec& s : entry.inputs)
    if (s.node != nullptr) targets.emplace(std::pair(s.kind, std::string_view(s.name)), given[next++]);
  return targets;
}

}  // namespace

void write_at_once(std::vector<Write> writes, Values& results) {
  for (Value& r : results)
    if (lives_in(r, writes)) r = cloned(r);
  for (std::size_t i = 0; i < writes.size(); i++)
    if (lives_in(writes[i].value, std::span(writes).first(i))) writes[i].value = aten<"clone">(writes[i].value);
  for (const Write& w : writes) aten<"copy_">(w.target, w.value);
}

Values write_back(const EntryPoint& entry, const std::string& what, Args given, Args returned) {
  const bool any = std::any_of(entry.outputs.begin(), entry.outputs.end(), [](const OutputSpec& s) { return s.is_write(); });
  const Targets targets = any ? targets_of(entry, given) : Targets();
  Values rest;
  std::vector<Write> writes;
  for (std::size_t i = 0; i < entry.outputs.size(); i++) {
    const OutputSpec& s = entry.outputs[i];
    if (s.is_returned()) rest.push_back(returned[i]);
    if (!s.is_write()) continue;
    const auto target = targets.find({s.target_kind(), s.target});
    INGOT_REQUIRE(target != targets.end() && target->second.is_tensor() && returned[i].is_tensor(), what, ": ", s.target,
                  " is written by the program; both it and what is written should be tensors");
    writes.push_back({target->second.tensor(), returned[i].tensor()});
  }
  if (writes.empty()) return rest;
  const GradModeGuard no_grad(false);
  write_at_once(std::move(writes), rest);
  return rest;
}

std::set<std::size_t> declared_writes(const EntryPoint& entry) {
  std::set<const Node*> targets;
  for (const auto& n : entry.graph.nodes())
    if (n->kind == NodeKind::call && n->op->mutates() && n->args[0].is_node()) targets.insert(storage_of(n->args[0].node()));
  std::set<std::pair<InputSpec::Kind, std::string_view>> names;
  for (const OutputSpec& o : entry.outputs)
    if (o.is_write()) names.emplace(o.target_kind(), o.target);
  std::set<std::size_t> written;
  std::size_t placeholder = 0;
  for (const InputSpec& s : entry.inputs) {
    if (s.node == nullptr) continue;
    if (targets.contains(s.node) || names.contains({s.kind, s.name})) written.insert(placeholder);
    placeholder++;
  }
  return written;
}

}  // namespace ingot
