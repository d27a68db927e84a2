#include "check/case_inputs.hpp"

#include <cstring>

#include "base/error.hpp"
#include "op/call.hpp"
#include "tensor/impl.hpp"

namespace ingot {
namespace {

// The elements of `t` in a tensor of other strides, copied one by one: strides may be those of an
// expanded tensor.
Tensor with_strides(const Tensor& t, const std::vector<int64_t>& strides) {
  Geometry g;
  g.sizes = t.sizes();
  g.strides = Shape(strides);
  g.dtype = t.dtype();
  const Tensor out = make_tensor(std::move(g));
  const int64_t n = t.numel().value(), item = t.itemsize();
  const std::vector<int64_t> sizes = t.sizes().values();
  const char* from = static_cast<const char*>(t.data_ptr());
  char* to = static_cast<char*>(out.data_ptr());
  std::vector<int64_t> index(sizes.size());
  for (int64_t i = 0; i < n; i++, from += item) {
    int64_t at = 0;
    for (std::size_t d = 0; d < sizes.size(); d++) at += index[d] * strides[d];
    std::memcpy(to + at * item, from, static_cast<std::size_t>(item));
    for (std::size_t d = sizes.size(); d-- > 0 && ++index[d] == sizes[d];) index[d] = 0;
  }
  return out;
}

}  // namespace

TensorList case_inputs(const Case& c, const SafeTensors& data, bool gradients) {
  TensorList inputs;
  for (std::size_t i = 0; data.contains(text("in.", i)); i++) {
    const std::string key = text("in.", i);
    const Tensor t = data.get(key);
    const auto strides = c.strides.find(key);
    const bool known = strides != c.strides.end() && strides->second.size() == static_cast<std::size_t>(t.dim());
    INGOT_REQUIRE(known || c.kind != Case::Kind::op, c.name, ": the index has no strides for ", key);
    inputs.push_back(known ? with_strides(t, strides->second) : aten<"clone">(t));
    if (gradients && data.contains(text("grad.", i))) inputs.back().requires_grad_();
  }
  return inputs;
}

}  // namespace ingot
