#include "program/write_back.hpp"

#include <algorithm>
#include <map>
#include <string_view>

#include "base/error.hpp"
#include "ingot/autograd.hpp"
#include "op/call.hpp"
#include "op/tensors.hpp"

namespace ingot {

namespace {

struct Write {
  Tensor target;
  Value source;
};

bool share_storage(const Value& v, const Tensor& t) {
  bool any = false;
  for_each_tensor(v, [&](const Tensor& m) { any |= m->storage == t->storage; });
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

Values write_back(const EntryPoint& entry, const std::string& what, Args given, Args returned) {
  const bool any = std::any_of(entry.outputs.begin(), entry.outputs.end(), [](const OutputSpec& s) { return s.is_write(); });
  const Targets targets = any ? targets_of(entry, given) : Targets();
  Values rest;
  std::vector<Write> writes;
  for (std::size_t i = 0; i < entry.outputs.size(); i++) {
    const OutputSpec& s = entry.outputs[i];
    if (s.is_write()) {
      const auto target = targets.find({s.target_kind(), s.target});
      INGOT_REQUIRE(target != targets.end() && target->second.is_tensor() && returned[i].is_tensor(), what, ": ", s.target,
                    " is written by the program; both it and what is written should be tensors");
      writes.push_back({target->second.tensor(), returned[i]});
    } else if (s.kind != OutputSpec::Kind::token) {
      rest.push_back(returned[i]);
    }
  }
  if (writes.empty()) return rest;
  const GradModeGuard no_grad(false);
  for (Value& r : rest)
    if (std::any_of(writes.begin(), writes.end(), [&](const Write& w) { return share_storage(r, w.target); })) r = cloned(r);
  for (std::size_t i = 0; i < writes.size(); i++)
    for (std::size_t k = 0; k < i; k++)
      if (share_storage(writes[i].source, writes[k].target)) {
        writes[i].source = cloned(writes[i].source);
        break;
      }
  for (const Write& w : writes) aten<"copy_">(w.target, w.source.tensor());
  return rest;
}

}  // namespace ingot
