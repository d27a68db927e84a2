#include "program/join.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <set>
#include <string>

#include "base/error.hpp"
#include "tensor/geometry.hpp"
#include "tensor/impl.hpp"

namespace ingot {
namespace {

Shape strides_of(const StateEntry& e) {
  if (e.tensor.defined()) return e.tensor.strides();
  return e.strides.empty() ? Geometry::contiguous(e.sizes, e.dtype).strides : e.strides;
}

// Of what is left out nothing is known to differ.
bool are_equal(const StateEntry& a, const StateEntry& b) {
  if (a.dtype != b.dtype || !a.sizes.same(b.sizes) || !strides_of(a).same(strides_of(b))) return false;
  if (!a.tensor.defined() || !b.tensor.defined() || a.tensor.data_ptr() == b.tensor.data_ptr()) return true;
  const int64_t bytes = required_bytes({a.sizes, strides_of(a), 0, a.dtype}).value();
  return bytes == 0 || std::memcmp(a.tensor.data_ptr(), b.tensor.data_ptr(), static_cast<std::size_t>(bytes)) == 0;
}

// What the program has under names that its exporter counted.
std::set<std::string> counted_names(const Program& p) {
  std::set<std::string> counted, named;
  for (const EntryPoint& e : p.entries)
    for (const InputSpec& s : e.inputs) (s.kind == InputSpec::Kind::constant ? counted : named).insert(s.name);
  std::set<std::string> only;
  std::ranges::set_difference(counted, named, std::inserter(only, only.end()));
  return only;
}

void rename(Program& p, const std::string& from, const std::string& to) {
  auto state = p.state.extract(from);
  state.key() = to;
  p.state.insert(std::move(state));
  for (EntryPoint& e : p.entries)
    for (InputSpec& s : e.inputs)
      if (s.kind == InputSpec::Kind::constant && s.name == from) s.name = to;
}

// The names that stand for other tensors than in `all` are called after their entry point.
void tell_apart(const Program& all, Program& added) {
  for (const std::string& name : counted_names(added)) {
    const auto known = all.state.find(name);
    const auto own = added.state.find(name);
    if (known == all.state.end() || own == added.state.end() || are_equal(known->second, own->second)) continue;
    std::string unique = added.main().name + "." + name;
    while (all.state.contains(unique) || added.state.contains(unique)) unique += "_";
    rename(added, name, unique);
  }
}

// Whether the later of two equal tensors has elements that the other lacks: its own, or those of a
// storage that its program alone says it shares.
bool has_more(const StateEntry& later, const StateEntry& e) {
  if (!later.tensor.defined() || !e.tensor.defined()) return later.tensor.defined() && !e.tensor.defined();
  return later.tensor->storage->nbytes().value() > e.tensor->storage->nbytes().value();
}

void add(Program& all, Program added) {
  tell_apart(all, added);
  for (auto& [name, later] : added.state) {
    // What the file leaves out is told apart by where it lies in the file, and this is another
    // file.
    if (!later.tensor.defined() && !later.entry.empty()) later.entry = text(added.name, ": ", later.entry);
    const auto [known, is_new] = all.state.try_emplace(name, later);
    if (is_new) continue;
    INGOT_REQUIRE(are_equal(known->second, later), "entry point '", added.main().name, "': expected the state '", name,
                  "' of the entry points before it, found another of that name (dtype, sizes, strides or elements differ); "
                  "export all of them from one module");
    if (has_more(later, known->second)) known->second = later;
  }
  for (EntryPoint& e : added.entries) {
    if (e.from.empty()) e.from = added.name;
    all.entries.push_back(std::move(e));
  }
  std::ranges::move(added.warnings, std::back_inserter(all.warnings));
  all.check_inputs = all.check_inputs && added.check_inputs;
}

}  // namespace

Program join(std::vector<Program> programs) {
  INGOT_REQUIRE(!programs.empty(), "join: expected at least one program");
  Program all = std::move(programs[0]);
  if (programs.size() == 1) return all;
  for (EntryPoint& e : all.entries)
    if (e.from.empty()) e.from = all.name;
  for (std::size_t k = 1; k < programs.size(); k++) add(all, std::move(programs[k]));
  all.name.clear();
  for (const EntryPoint& e : all.entries) all.name += (all.name.empty() ? "" : "+") + e.name;
  all.prepare();
  return all;
}

}  // namespace ingot
