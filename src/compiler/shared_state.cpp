#include "compiler/shared_state.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/error.hpp"
#include "tensor/impl.hpp"

namespace ingot {
namespace {

// Where the elements of one name lie.
struct Extent {
  std::size_t placeholder = 0;
  const StateEntry* entry = nullptr;
  Shape strides;
  int64_t first = 0, end = 0;  // in elements of the storage

  bool is_like(const Extent& other) const {
    return first == other.first && entry->sizes.same(other.entry->sizes) && strides.same(other.strides);
  }
};

// One storage, in memory or, where its bytes are left out, in the archive.
using StorageKey = std::tuple<const void*, std::string, DType>;

StorageKey storage_of(const StateEntry& e) {
  if (e.tensor.defined()) return {e.tensor->storage.get(), "", e.dtype};
  return {nullptr, e.entry, e.dtype};
}

Extent extent_of(std::size_t placeholder, const StateEntry& e) {
  Extent x{placeholder, &e, {}, 0, 0};
  x.strides = e.tensor.defined()   ? e.tensor.strides()
              : !e.strides.empty() ? e.strides
                                   : Geometry::contiguous(e.sizes, e.dtype).strides;
  x.first = (e.tensor.defined() ? e.tensor.storage_offset() : e.offset).value();
  x.end = x.first + 1;
  for (std::size_t d = 0; d < e.sizes.size(); d++) {
    if (e.sizes[d].value() == 0) return x.end = x.first, x;
    x.end += (e.sizes[d].value() - 1) * x.strides[d].value();
  }
  return x;
}

using Extents = std::vector<Extent>;

// Names whose elements lie among each other, in the order in which they begin.
std::vector<Extents> overlapping(Extents all) {
  std::stable_sort(all.begin(), all.end(), [](const Extent& a, const Extent& b) { return a.first < b.first; });
  std::vector<Extents> groups;
  int64_t end = 0;
  for (Extent& x : all) {
    if (groups.empty() || x.first >= end) groups.emplace_back();
    end = std::max(end, x.end);
    groups.back().push_back(std::move(x));
  }
  return groups;
}

void share_alike(const Extents& group, SharedState& state) {
  for (std::size_t k = 1; k < group.size(); k++) {
    const auto like = std::find_if(group.begin(), group.end(), [&](const Extent& x) { return x.is_like(group[k]); });
    state.names[group[k].placeholder].owner = like->placeholder;
  }
}

void share_parts(const Extents& group, SharedState& state) {
  const Extent& owner = group[0];
  int64_t end = 0;
  for (const Extent& x : group) {
    state.names[x.placeholder] = {owner.placeholder, x.first - owner.first};
    end = std::max(end, x.end);
  }
  state.covered[owner.placeholder] = end - owner.first;
}

}  // namespace

SharedState shared_state(const Program& p, const EntryPoint& entry, const std::set<std::size_t>& written) {
  SharedState state;
  std::map<StorageKey, Extents> storages;
  std::map<const void*, std::pair<DType, std::string>> written_storages;
  for (const InputSpec& s : entry.inputs) {
    if (s.node == nullptr) continue;
    const std::size_t k = state.names.size();
    state.names.push_back({k, 0});
    state.covered.push_back(0);
    const bool is_tensor =
        s.kind == InputSpec::Kind::parameter || s.kind == InputSpec::Kind::buffer || s.kind == InputSpec::Kind::constant;
    if (!is_tensor) continue;
    const StateEntry& e = p.state.at(s.name);
    if (const Extent x = extent_of(k, e); x.end > x.first) storages[storage_of(e)].push_back(x);
    if (written.contains(k) && e.tensor.defined()) written_storages[e.tensor->storage.get()] = {e.dtype, s.name};
  }
  for (const auto& [key, extents] : storages) {
    if (const auto it = written_storages.find(std::get<0>(key)); it != written_storages.end())
      INGOT_REQUIRE(it->second.first == std::get<DType>(key), p.name, ": ", it->second.second, " is ", it->second.first,
                    " and is written by the program; a name of another dtype (", std::get<DType>(key),
                    ") shares its storage, which has no compiled form");
    for (const Extents& group : overlapping(extents)) {
      const bool are_alike = std::all_of(group.begin(), group.end(), [&](const Extent& x) { return x.is_like(group[0]); });
      const bool is_written =
          std::any_of(group.begin(), group.end(), [&](const Extent& x) { return written.contains(x.placeholder); });
      if (are_alike || !is_written) share_alike(group, state);
      else share_parts(group, state);
    }
  }
  return state;
}

}  // namespace ingot
