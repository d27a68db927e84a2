#include "aot/backward_writes.hpp"

#include "base/error.hpp"
#include "transform/functional.hpp"

namespace ingot::aot {

BackwardWrites::Seen::Seen(const Tensor& t) : tensor(t), geom(t->geom) {
  const FunctionalStorage& s = *functional_state(t)->storage;
  mutations = s.mutations;
  resized = s.bytes.has_value();
}

bool BackwardWrites::Seen::is_written() const { return functional_state(tensor)->storage->mutations != mutations; }

BackwardWrites::BackwardWrites(const Values& inputs, const Values& given, const TensorList& tangents) {
  for (std::size_t k = 0; k < inputs.size(); k++)
    if (inputs[k].is_tensor()) inputs_.push_back({static_cast<int>(k), Seen(inputs[k].tensor()), Seen(given[k].tensor())});
  for (const Tensor& t : tangents) tangents_.emplace_back(t);
}

std::vector<int> BackwardWrites::found(const Metadata& meta) const {
  std::vector<int> written;
  for (const Input& i : inputs_) {
    const InputInfo& info = meta.inputs[static_cast<std::size_t>(i.index)];
    const Seen& seen = i.given;
    INGOT_REQUIRE(seen.tensor->geom.same(seen.geom),
                  "Found a graph input that had its metadata mutated in the backward. This is not supported: input ", i.index,
                  " has size ", seen.geom.sizes, " in the forward and ", seen.tensor.sizes(), " after the backward");
    INGOT_REQUIRE(seen.resized || !functional_state(seen.tensor)->storage->bytes,
                  "Found a graph input that had storage resizing in the backward. This is not supported: input ", i.index);
    if (!seen.is_written() && !i.own.is_written()) continue;
    INGOT_REQUIRE(info.mutation() == Mutation::none,
                  "Found a graph input that is written in the forward and in the backward. This is not supported: input ",
                  i.index, "; write a clone() of it in one of them");
    written.push_back(i.index);
  }
  for (const Seen& t : tangents_)
    INGOT_REQUIRE(
        !t.is_written(),
        "Found an input to the backward that was mutated during the backward pass. This is not supported: write a clone() of the gradient");
  return written;
}

}  // namespace ingot::aot
