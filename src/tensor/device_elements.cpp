#include "tensor/device_elements.hpp"

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "tensor/device.hpp"
#include "tensor/geometry.hpp"
#include "tensor/rows.hpp"

namespace ingot {
namespace {

bool is_dense(const Tensor& t) { return is_non_overlapping_and_dense(t.sizes(), t.strides()); }

int64_t bytes_from_first_to_last(const Geometry& from_first) { return required_bytes(from_first).number(); }

// The tensor's geometry, from its first element on.
Geometry from_first(const Tensor& t) {
  Geometry g = t->geom;
  g.offset = 0;
  return g;
}

// Does to t, which is on a device, what `write` does to a tensor of the CPU that lies as t does.
template <class Write>
void write_on_cpu(const Tensor& t, const Write& write) {
  const Geometry g = from_first(t);
  const Tensor written = is_dense(t) ? make_tensor(g) : elements_on_cpu(t);
  write(written);
  copy_bytes(t->bytes(), t->device(), written->bytes(), {}, bytes_from_first_to_last(g));
}

}  // namespace

Tensor elements_on_cpu(const Tensor& t) {
  if (is_on_cpu(t)) return t;
  const Geometry g = from_first(t);
  const Tensor copy = make_tensor(g);
  copy_bytes(copy->bytes(), {}, t->bytes(), t->device(), bytes_from_first_to_last(g));  // what is between them comes along
  return copy;
}

void copy_elements_between_devices(const Tensor& dst, const Tensor& src) {
  if (dst.numel() == 0) return;
  if (dst.dtype() == src.dtype() && dst.sizes().same(src.sizes()) && dst.strides().same(src.strides()) && is_dense(dst)) {
    const bool is_same = dst->storage == src->storage && dst->bytes() == src->bytes();
    if (!is_same) copy_bytes(dst->bytes(), dst->device(), src->bytes(), src->device(), dst.numel().number() * dst.itemsize());
    return;
  }
  const Tensor from = elements_on_cpu(src);
  if (is_on_cpu(dst)) copy_elements(dst, from);
  else write_on_cpu(dst, [&](const Tensor& written) { copy_elements(written, from); });
}

void fill_elements_on_device(const Tensor& dst, const Scalar& value, const void* element) {
  if (dst.numel() == 0) return;
  if (!is_dense(dst)) return write_on_cpu(dst, [&](const Tensor& written) { fill_elements(written, value); });
  DeviceDriver& driver = driver_of(dst->device());
  driver.fill(dst->device(), dst->bytes(), element, static_cast<int>(dst.itemsize()), dst.numel().number(),
              driver.current_stream(dst->device()));
}

void refuse_elements_of_device(Device device) {
  throw_user_error(text("the tensor is on ", device, ", where the cpu cannot read or write its elements; move it with to(cpu)"));
}

}  // namespace ingot
