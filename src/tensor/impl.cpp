#include "tensor/impl.hpp"

#include <atomic>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "tensor/geometry.hpp"
#include "tensor/stand_in.hpp"

namespace ingot {
namespace {
std::atomic<int64_t> live_tensors{0};
}

TensorImpl::TensorImpl(Ref<Storage> s, Geometry g) : storage(std::move(s)), geom(std::move(g)) {
  live_tensors.fetch_add(1, std::memory_order_relaxed);
}
TensorImpl::~TensorImpl() { live_tensors.fetch_sub(1, std::memory_order_relaxed); }
int64_t TensorImpl::live() { return live_tensors.load(std::memory_order_relaxed); }
uint64_t TensorImpl::identity() const {
  static std::atomic<uint64_t> next{1};
  uint64_t id = identity_.load(std::memory_order_relaxed);
  if (id == 0) {
    const uint64_t fresh = next.fetch_add(1, std::memory_order_relaxed);
    if (identity_.compare_exchange_strong(id, fresh, std::memory_order_relaxed)) id = fresh;
  }
  return id;
}
int64_t TensorImpl::element_size() const { return size_of(geom.dtype); }

Geometry Geometry::contiguous(Shape sizes, DType dtype) {
  Geometry g;
  g.strides = contiguous_strides(sizes);
  g.sizes = std::move(sizes);
  g.dtype = dtype;
  return g;
}

Tensor make_tensor(Geometry g, Device device, bool fake) {
  for (Int s : g.sizes)
    INGOT_REQUIRE(s.is_symbolic() || s.number() >= 0, "a tensor cannot have the negative size ", s, " in ", g.sizes);
  const Int bytes = required_bytes(g);
  auto storage = fake ? Storage::fake(bytes, device) : Storage::allocate(bytes.value(), device);
  return Tensor(Ref<TensorImpl>(new TensorImpl(std::move(storage), std::move(g))));
}

Tensor make_alias(const Tensor& t, Geometry g) { return Tensor(Ref<TensorImpl>(new TensorImpl(t->storage, std::move(g)))); }

Tensor detached(const Tensor& t) {
  Tensor r = make_alias(t, t->geom);
  r->layers = t->layers;
  r->inference = t->inference;
  r->share_identity(*t.impl());
  if (t->special) r->special = t->special->clone();
  return r;
}

// ---- the parts of Tensor that need no op
Tensor::Tensor(Ref<TensorImpl> impl) : impl_(std::move(impl)) {}

namespace {
const TensorImpl& checked(const Tensor& t) {
  INGOT_REQUIRE(t.defined(), "the tensor is undefined: nothing was assigned to it");
  return *t.impl();
}
}  // namespace

int64_t Tensor::dim() const { return checked(*this).geom.dim(); }
const Shape& Tensor::sizes() const { return checked(*this).geom.sizes; }
const Shape& Tensor::strides() const { return checked(*this).geom.strides; }
// The place of a dim that is there. A tensor without dims takes 0 and -1 for some ops (sum), but
// has neither a size nor a stride.
static std::size_t place_of_dim(const Tensor& t, int64_t d) {
  INGOT_REQUIRE_INDEX(t.dim() > 0, "Dimension specified as ", d, " but tensor has no dimensions");
  return static_cast<std::size_t>(wrap_dim(d, static_cast<int>(t.dim())));
}
Int Tensor::size(int64_t d) const { return sizes()[place_of_dim(*this, d)]; }
Int Tensor::stride(int64_t d) const { return strides()[place_of_dim(*this, d)]; }
Int Tensor::storage_offset() const { return checked(*this).geom.offset; }
Int Tensor::numel() const { return checked(*this).geom.numel(); }
DType Tensor::dtype() const { return checked(*this).geom.dtype; }
Device Tensor::device() const { return checked(*this).device(); }
int64_t Tensor::itemsize() const { return size_of(dtype()); }
bool Tensor::is_contiguous(MemoryFormat f) const { return ingot::is_contiguous(sizes(), strides(), f); }
bool Tensor::is_floating_point() const { return is_floating(dtype()); }
bool Tensor::is_complex() const { return ingot::is_complex(dtype()); }
uint32_t Tensor::version() const {
  INGOT_REQUIRE(!checked(*this).inference, "Inference tensors do not track version counter.");
  return impl()->storage->version();
}

void* Tensor::data_ptr() const {
  INGOT_REQUIRE(!checked(*this).is_fake(), "this tensor of size ", sizes(),
                impl()->special
                    ? " has no data of its own: it is a batched, functional or wrapper tensor, and its values are inside"
                    : " has no data: it is a fake tensor, made to compute shapes only");
  require_current(*impl()->storage, "data_ptr");
  return impl()->bytes();
}

}  // namespace ingot
