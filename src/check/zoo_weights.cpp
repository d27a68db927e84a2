#include "check/zoo_weights.hpp"

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "io/json.hpp"
#include "io/dense.hpp"
#include "io/file.hpp"
#include "tensor/impl.hpp"

namespace ingot {

namespace {

uint64_t fnv1a(std::string_view s) {
  uint64_t h = 0xCBF29CE484222325u;
  for (const char c : s) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return h;
}

// The finaliser of splitmix64.
uint64_t mixed(uint64_t z) {
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

}  // namespace

Tensor zoo_weight(std::string_view name, float offset, float scale, const Shape& shape) {
  const Tensor t = make_tensor(Geometry::contiguous(shape, DType::f32));
  auto* const out = static_cast<float*>(t.data_ptr());
  const uint64_t seed = fnv1a(name);
  constexpr int64_t kGrain = 1 << 16;
  parallel_for(0, t.numel().value(), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
      const uint64_t z = mixed(seed + static_cast<uint64_t>(i + 1) * 0x9E3779B97F4A7C15u);
      const float unit = static_cast<float>(z >> 40) * 0x1p-24f;
      // Each step is rounded: volatile keeps the compiler from fusing the product into the sum.
      volatile float product = scale * (unit * 2 - 1);
      out[i] = offset + product;
    }
  });
  return t;
}

std::map<std::string, ZooWeight> read_zoo_weights(const std::string& path) {
  const Ref<MappedFile> file = MappedFile::open(path);
  const JsonDocument document(file->bytes(), path);
  std::map<std::string, ZooWeight> out;
  for (const auto& [name, spec] : document.root().fields()) {
    const Json shape = spec.field("shape");
    const auto sizes = shape.map([](const Json& n) { return n.integer(); });
    if (sizes.size() > kMaxFileDims || !dense_bytes(sizes, DType::f32)) shape.fail("a negative size, or too large a tensor");
    out[std::string(name)] = {static_cast<float>(spec.field("offset").real()), static_cast<float>(spec.field("scale").real()),
                              Shape(sizes)};
  }
  return out;
}

void supply_zoo_weights(Program& program, const std::map<std::string, ZooWeight>& weights) {
  std::map<std::string, Tensor> made;  // by payload
  for (const auto& [name, e] : program.state) {
    const auto it = weights.find(name);
    if (e.tensor.defined() || it == weights.end() || made.contains(e.entry)) continue;
    made[e.entry] = zoo_weight(name, it->second.offset, it->second.scale, it->second.shape);
  }
  for (const auto& [name, e] : program.state) {
    const auto it = made.find(e.entry);
    if (!e.tensor.defined() && it != made.end()) program.supply(name, it->second);
  }
}

}  // namespace ingot
