// Weights that a package has beside its library (I106, I111).
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "host/container.hpp"
#include "host/package.hpp"
#include "ingot/dtype.hpp"
#include "tensor/storage.hpp"

namespace ingot {

// By file of data/weights: each is one storage, which all weights that lie in it share.
using WeightStorages = std::map<std::string, Ref<Storage>>;

// A constant of the library, and where its elements lie.
struct ListedWeight {
  std::string name;  // in the library
  DType dtype = DType::f32;
  Ref<Storage> storage;
  std::vector<int64_t> sizes, strides;
  int64_t offset = 0;  // in elements
};

// Those of the model's weights_config.json that are among `constants`; none where there is no such
// file. Storages that are not among `storages` yet are read and added. User error for a file that
// does not keep to the format, and for weights that lie outside of their storage.
std::vector<ListedWeight> listed_weights(const UnpackedModel& model, const std::vector<ModelContainer::Constant>& constants,
                                         WeightStorages& storages);

}  // namespace ingot
