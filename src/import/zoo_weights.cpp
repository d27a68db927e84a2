#include "import/zoo_weights.hpp"

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "import/json.hpp"
#include "io/file.hpp"
#include "tensor/geometry.hpp"

namespace ingot {

namespace {

uint64_t fnv1a(std::string_view s) {
  uint64_t h = 0xCBF29CE484222325;
  for (const char c : s) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return h;
}

uint64_t splitmix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

}  // namespace

Tensor zoo_weight(std::string_view name, float offset, float scale, const Shape& sizes) {
  const Tensor t = make_tensor(Geometry::contiguous(sizes, DType::f32));
  auto* out = static_cast<float*>(t.data_ptr());
  const uint64_t h = fnv1a(name);
  const int64_t n = t.numel().value();
  parallel_for(0, n, 1 << 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
      const uint64_t z = splitmix(h + (static_cast<uint64_t>(i) + 1) * 0x9E3779B97F4A7C15);
      const float unit = static_cast<float>(z >> 40) * 0x1p-24f;
      // Two roundings, as the rule has them: a fused multiply-add would differ in the last bit.
      volatile float product = scale * (unit * 2 - 1);
      out[i] = offset + product;
    }
  });
  return t;
}

void supply_zoo_weights(ExportedProgram& p, const std::string& path) {
  const Ref<MappedFile> file = MappedFile::open(path);
  const JsonDocument document(file->bytes(), path);
  for (const auto& [name, facts] : document.root().fields()) {
    const auto entry = p.state.find(std::string(name));
    if (entry == p.state.end()) facts.fail(text(p.name, " has no weight of this name"));
    if (entry->second.tensor.defined()) continue;
    const auto sizes = facts.field("shape").map([](const Json& s) { return s.integer(); });
    const Tensor t = zoo_weight(name, static_cast<float>(facts.field("offset").real()),
                                static_cast<float>(facts.field("scale").real()), Shape(sizes));
    // Tied weights are one payload under several names.
    for (auto& [other, e] : p.state)
      if (e.entry == entry->second.entry && !e.tensor.defined()) p.supply(other, t);
  }
}

}  // namespace ingot
