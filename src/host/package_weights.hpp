// Weights that a package has beside its library (I106, I111).
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "host/container.hpp"
#include "host/package.hpp"
#include "ingot/dtype.hpp"
#include "tensor/storage.hpp"

namespace ingot {

// A constant of the library, and where its elements lie.
struct ListedWeight {
  std::string name;  // in the library
  DType dtype = DType::f32;
  Ref<Storage> storage;
  std::vector<int64_t> sizes, strides;
  int64_t offset = 0;  // in elements
};

// The weights of one model. Those that weights_config.json lists are used where they lie: the value
// outlives the container that they are given to.
class PackageWeights {
 public:
  // A handle over a weight's elements, which the container's library releases.
  using MakeHandle = std::function<AtenTensorHandle(const ListedWeight&)>;

  // Before they are given: storages that another model of the same package has weights in are not
  // read again.
  void share(const PackageWeights& other) { storages_ = other.storages_; }
  // Gives the container what lies beside its library, if anything does. User error for a file that
  // does not keep to the format, and for weights that lie outside of their storage.
  void give(const UnpackedModel& model, ModelContainer& container, const MakeHandle& handle, CallSite from = CallSite::current());

 private:
  std::map<std::string, Ref<Storage>> storages_;  // by file of data/weights, each of which is one

  std::vector<ListedWeight> listed(const UnpackedModel& model, const std::vector<ModelContainer::Constant>& constants);
};

}  // namespace ingot
