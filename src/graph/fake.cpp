#include "graph/fake.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/error.hpp"
#include "tensor/geometry.hpp"

namespace ingot {
namespace {

// Strides of the example with open sizes in place: a stride that spans the dim inside it goes on doing so.
Shape open_strides(const Tensor& example, const Shape& sizes) {
  if (!sizes.is_symbolic()) return example.strides();
  const std::vector<int64_t> old_sizes = example.sizes().values(), old_strides = example.strides().values();
  std::vector<std::size_t> inner_first(sizes.size());
  std::iota(inner_first.rbegin(), inner_first.rend(), std::size_t{0});
  std::stable_sort(inner_first.begin(), inner_first.end(), [&](auto a, auto b) { return old_strides[a] < old_strides[b]; });
  Shape strides = example.strides();
  int64_t dense = 1;
  Int open = 1;
  for (const std::size_t d : inner_first) {
    if (old_strides[d] == 0) continue;
    if (old_strides[d] == dense) strides[d] = open;
    dense = old_strides[d] * std::max<int64_t>(old_sizes[d], 1);
    open = strides[d] * sizes[d];
  }
  return strides;
}

// The examples' sizes with the symbols of `open` in place.
std::vector<Shape> open_sizes(const TensorList& examples, const std::vector<OpenSize>& open, HintEnv& env) {
  std::vector<Shape> sizes;
  for (const Tensor& t : examples) sizes.push_back(t.sizes());
  std::map<std::string, Int> symbols;
  for (const OpenSize& o : open) {
    INGOT_REQUIRE(o.input >= 0 && o.input < static_cast<int>(examples.size()), "trace: open size '", o.name, "' names input ", o.input,
                  " of ", examples.size());
    const auto input = static_cast<std::size_t>(o.input);
    const auto dim = static_cast<std::size_t>(wrap_dim(o.dim, static_cast<int>(examples[input].dim())));
    const int64_t hint = examples[input].size(o.dim).value();
    const auto known = symbols.find(o.name);
    if (known == symbols.end()) {
      sizes[input][dim] = symbols.emplace(o.name, env.symbol(o.name, hint, o.lo, o.hi)).first->second;
      continue;
    }
    const int64_t other = env.hint(known->second.expr());
    INGOT_REQUIRE(other == hint, "trace: size '", o.name, "' is ", other, " in one example and ", hint, " in input ", o.input);
    sizes[input][dim] = known->second;
  }
  return sizes;
}

}  // namespace

std::vector<OpenSize> every_size_open(const TensorList& examples) {
  std::vector<OpenSize> open;
  std::map<int64_t, std::string> names;
  for (std::size_t i = 0; i < examples.size(); i++)
    for (int d = 0; d < examples[i].dim(); d++) {
      const int64_t size = examples[i].size(d).value();
      if (size <= 1) continue;
      const auto name = names.emplace(size, text("s", names.size())).first->second;
      open.push_back({static_cast<int>(i), d, name});
    }
  return open;
}

TensorList make_fakes(const TensorList& examples, const std::vector<OpenSize>& open, HintEnv& env) {
  const std::vector<Shape> sizes = open_sizes(examples, open, env);
  std::unordered_map<const TensorImpl*, Tensor> made;
  std::unordered_map<const Storage*, Ref<Storage>> storages;
  TensorList fakes;
  for (std::size_t i = 0; i < examples.size(); i++) {
    const Tensor& example = examples[i];
    Tensor& fake = made[example.impl()];
    if (!fake.defined()) {
      Geometry g{sizes[i], open_strides(example, sizes[i]), example.storage_offset(), example.dtype()};
      Ref<Storage>& storage = storages[example->storage.get()];
      if (!storage) storage = Storage::fake(sizes[i].is_symbolic() ? required_bytes(g) : example->storage->nbytes(), example.device());
      fake = Tensor(make_ref<TensorImpl>(storage, std::move(g)));
    }
    fakes.push_back(fake);
  }
  return fakes;
}

}  // namespace ingot
