#include "format/pt2/meta.hpp"

#include "base/error.hpp"
#include "format/pt2/enums.hpp"
#include "io/dense.hpp"
#include "tensor/geometry.hpp"

namespace ingot {

Tensor read_tensor_meta(const Json& j, std::string_view name, Pt2Symbols& symbols, SpelledValue& spelled) {
  const Json meta = j.of("TensorMeta");
  spelled.map = SpelledValue::Map::tensor;
  spelled.requires_grad = meta.field("requires_grad").boolean();
  const Json device = meta.field("device");
  spelled.note = device_text(device);
  device_of(device);
  layout_of(meta.field("layout"));
  Geometry g;
  g.dtype = dtype_of(meta.field("dtype"));

  const Json sizes = meta.field("sizes"), strides = meta.field("strides");
  if (sizes.size() != strides.size())
    meta.fail(text("value ", name, ": ", sizes.size(), " sizes and ", strides.size(), " strides"));
  if (sizes.size() > kMaxFileDims)
    meta.fail(text("value ", name, ": ", sizes.size(), " dims, at most ", kMaxFileDims, " are allowed"));
  bool symbolic = false, known = true;
  const auto number = [&](const Json& n, bool only_descriptive) -> Int {
    const auto v = symbols.read_int(n, name, only_descriptive, spelled.numbers.emplace_back());
    symbolic |= !spelled.numbers.back().expression.empty();
    known &= v.has_value();
    return v.value_or(Int(0));
  };
  Shape shape, steps;
  sizes.for_each([&](const Json& s) {
    shape.push_back(number(s, false));
    if (shape.back().is_number() && shape.back().number() < 0) s.fail(text("value ", name, ": a size cannot be ", shape.back()));
  });
  strides.for_each([&](const Json& s) { steps.push_back(number(s, true)); });
  g.offset = number(meta.field("storage_offset"), true);
  g.sizes = shape;
  g.strides = known ? steps : contiguous_strides(g.sizes);
  if (!symbolic) spelled.numbers.clear();
  try {
    return make_tensor(std::move(g), {}, true);
  } catch (const UserError& e) {  // sizes whose product does not fit
    meta.fail(text("value ", name, ": ", e.what()));
  }
}

}  // namespace ingot
