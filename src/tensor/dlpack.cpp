#include "ingot/dlpack.hpp"

#include <algorithm>

#include "base/dlpack_type.hpp"
#include "base/error.hpp"
#include "tensor/geometry.hpp"
#include "tensor/impl.hpp"

namespace ingot {
namespace {

DType from_dl(DLDataType d) {
  INGOT_REQUIRE(d.lanes == 1, "from_dlpack: Ingot does not support lanes != 1, found ", d.lanes, " lanes");
  const auto dtype = dtype_of_dlpack(d);
  INGOT_REQUIRE(dtype, "from_dlpack: unsupported dtype: code ", d.code, " with ", d.bits, " bits");
  return *dtype;
}

DLDevice to_dl(Device d) { return {d.type == DeviceType::cpu ? kDLCPU : kDLCUDA, std::max<int32_t>(d.index, 0)}; }

Device from_dl(DLDevice d) {
  switch (d.device_type) {
    case kDLCPU:
    case kDLCUDAHost:
    case kDLROCMHost: return {};  // pinned memory is the host's
    case kDLCUDA:
      INGOT_REQUIRE(d.device_id >= 0 && d.device_id < 128, "from_dlpack: bad CUDA device ", d.device_id, "; expected 0 to 127");
      return {DeviceType::cuda, static_cast<int8_t>(d.device_id)};
    default:
      throw_user_error(
          text("from_dlpack: unsupported device type ", static_cast<int32_t>(d.device_type), "; expected CPU or CUDA memory"));
  }
}

// What an exported tensor owns. M is one of the two managed forms.
template <class M>
struct Export {
  M managed{};
  Tensor keep;  // a handle of its own: the user's tensor may change its geometry or gain history
  std::vector<int64_t> shape, strides;
};

template <class M>
M* export_tensor(const Tensor& t) {
  INGOT_REQUIRE(t.defined(), "to_dlpack: the tensor is undefined");
  auto e = std::make_unique<Export<M>>();
  e->shape = t.sizes().values();
  e->strides = t.strides().values();
  // A stride along a dim of one element is never used; consumers that check for density want 1
  // there, as PyTorch exports it.
  for (std::size_t i = 0; i < e->shape.size(); i++)
    if (e->shape[i] < 2) e->strides[i] = 1;
  DLTensor& d = e->managed.dl_tensor;
  d.data = t.data_ptr();
  d.device = to_dl(t.device());
  d.ndim = static_cast<int32_t>(t.dim());
  d.dtype = dlpack_type(t.dtype());
  d.shape = e->shape.data();
  d.strides = e->strides.data();
  d.byte_offset = 0;
  e->keep = make_alias(t, t->geom);
  e->managed.manager_ctx = e.get();
  e->managed.deleter = [](M* m) { delete static_cast<Export<M>*>(m->manager_ctx); };
  return &e.release()->managed;
}

// Checks everything before anything is taken.
template <class M>
Tensor import_tensor(M* m, bool read_only) {
  const DLTensor& d = m->dl_tensor;
  constexpr int32_t kMaxDims = 64;
  INGOT_REQUIRE(d.ndim >= 0 && d.ndim <= kMaxDims, "from_dlpack: bad number of dimensions ", d.ndim, "; expected 0 to ",
                kMaxDims);
  INGOT_REQUIRE(d.ndim == 0 || d.shape, "from_dlpack: the shape of a tensor with ", d.ndim, " dimensions is null");
  const Device device = from_dl(d.device);
  Geometry g;
  g.dtype = from_dl(d.dtype);
  for (int32_t i = 0; i < d.ndim; i++) {
    INGOT_REQUIRE(d.shape[i] >= 0, "from_dlpack: bad size ", d.shape[i], " of dimension ", i);
    g.sizes.push_back(d.shape[i]);
  }
  if (d.strides)
    for (int32_t i = 0; i < d.ndim; i++) {
      INGOT_REQUIRE(d.strides[i] >= 0 || d.shape[i] < 2, "from_dlpack: negative strides are not supported, found stride ",
                    d.strides[i], " of dimension ", i);
      g.strides.push_back(std::max<int64_t>(d.strides[i], 0));
    }
  else g.strides = contiguous_strides(g.sizes);
  const int64_t bytes = required_bytes(g).number();
  auto* data = static_cast<char*>(d.data) + (d.data ? d.byte_offset : 0);
  INGOT_REQUIRE(d.data || bytes == 0, "from_dlpack: the data of a tensor of size ", g.sizes, " is null");
  const auto align = static_cast<uintptr_t>(std::min(size_of(g.dtype), 8));
  INGOT_REQUIRE(bytes == 0 || reinterpret_cast<uintptr_t>(data) % align == 0, "from_dlpack: the data is not aligned to the ",
                align, " bytes an element of ", g.dtype, " needs");
  auto storage = Storage::wrap(
      data, bytes,
      [m] {
        if (m->deleter) m->deleter(m);
      },
      device);
  if (read_only) storage->mark_read_only();
  return Tensor(Ref<TensorImpl>(new TensorImpl(std::move(storage), std::move(g))));
}

}  // namespace

DLManagedTensor* to_dlpack(const Tensor& t) {
  INGOT_REQUIRE(!t.defined() || !t->storage->is_read_only(),
                "to_dlpack: the tensor is read-only, which only the versioned form can say; use "
                "to_dlpack_versioned or clone() the tensor");
  return export_tensor<DLManagedTensor>(t);
}

DLManagedTensorVersioned* to_dlpack_versioned(const Tensor& t) {
  DLManagedTensorVersioned* m = export_tensor<DLManagedTensorVersioned>(t);
  m->version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  m->flags = t->storage->is_read_only() ? DLPACK_FLAG_BITMASK_READ_ONLY : 0;
  return m;
}

Tensor from_dlpack(DLManagedTensor* m) {
  INGOT_REQUIRE(m, "from_dlpack: null tensor");
  return import_tensor(m, false);
}

Tensor from_dlpack(DLManagedTensorVersioned* m) {
  INGOT_REQUIRE(m, "from_dlpack: null tensor");
  INGOT_REQUIRE(m->version.major == DLPACK_MAJOR_VERSION, "from_dlpack: DLPack version ", m->version.major, ".", m->version.minor,
                " is not supported; expected major version ", DLPACK_MAJOR_VERSION);
  return import_tensor(m, m->flags & DLPACK_FLAG_BITMASK_READ_ONLY);
}

}  // namespace ingot
