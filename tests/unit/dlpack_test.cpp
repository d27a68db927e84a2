// Tensors over the DLPack ABI: nothing is copied, everything is released once.
#include "ingot/dlpack.hpp"

#include <cstddef>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "support/error_text.hpp"
#include "support/no_leaks.hpp"

namespace ingot {
namespace {

using DLPack = NoLeaks;

// Layouts fixed by the specification on 64-bit machines.
static_assert(sizeof(DLDataType) == 4 && sizeof(DLDevice) == 8 && sizeof(DLTensor) == 48);
static_assert(offsetof(DLTensor, data) == 0 && offsetof(DLTensor, device) == 8 && offsetof(DLTensor, ndim) == 16 &&
              offsetof(DLTensor, dtype) == 20 && offsetof(DLTensor, shape) == 24 && offsetof(DLTensor, strides) == 32 &&
              offsetof(DLTensor, byte_offset) == 40);
static_assert(offsetof(DLManagedTensor, manager_ctx) == 48 && offsetof(DLManagedTensor, deleter) == 56);
static_assert(offsetof(DLManagedTensorVersioned, manager_ctx) == 8 && offsetof(DLManagedTensorVersioned, deleter) == 16 &&
              offsetof(DLManagedTensorVersioned, flags) == 24 && offsetof(DLManagedTensorVersioned, dl_tensor) == 32);

// A foreign tensor that counts how often it was released.
template <class M>
struct Foreign {
  float data[6] = {0, 1, 2, 3, 4, 5};
  int64_t shape[2] = {2, 3}, strides[2] = {3, 1};
  int released = 0;
  M m{};

  Foreign() {
    m.dl_tensor = {data, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, strides, 0};
    m.manager_ctx = this;
    m.deleter = [](M* self) { static_cast<Foreign*>(self->manager_ctx)->released++; };
    if constexpr (std::is_same_v<M, DLManagedTensorVersioned>) m.version = {DLPACK_MAJOR_VERSION, 0};
  }
};
using Old = Foreign<DLManagedTensor>;
using New = Foreign<DLManagedTensorVersioned>;

TEST_F(DLPack, ExportSharesTheBytes) {
  const Tensor t = tensor({0., 1, 2, 3, 4, 5}, {2, 3});
  DLManagedTensor* m = to_dlpack(t);
  const DLTensor& d = m->dl_tensor;
  EXPECT_EQ(d.data, t.data_ptr());
  EXPECT_EQ(d.device.device_type, kDLCPU);
  EXPECT_EQ(d.device.device_id, 0);
  ASSERT_EQ(d.ndim, 2);
  EXPECT_EQ(d.shape[0], 2);
  EXPECT_EQ(d.shape[1], 3);
  EXPECT_EQ(d.strides[0], 3);
  EXPECT_EQ(d.strides[1], 1);
  EXPECT_EQ(d.byte_offset, 0u);
  static_cast<float*>(d.data)[4] = 40;
  EXPECT_EQ(t.to_vector<float>()[4], 40);
  m->deleter(m);
}

TEST_F(DLPack, ExportKeepsTheBytesAliveUntilTheDeleterRuns) {
  const int64_t bytes = Storage::live_bytes(), tensors = TensorImpl::live();
  Tensor t = ones({1000});
  Ref<Storage> storage = t->storage;
  EXPECT_EQ(storage->use_count(), 2u);
  DLManagedTensor* m = to_dlpack(t);
  EXPECT_EQ(storage->use_count(), 3u);
  EXPECT_EQ(t->use_count(), 1u) << "the export must not hold the user's own tensor, which may have a history";
  t = Tensor();
  storage = nullptr;
  EXPECT_EQ(Storage::live_bytes(), bytes + 4000);
  EXPECT_EQ(static_cast<float*>(m->dl_tensor.data)[999], 1);
  m->deleter(m);
  EXPECT_EQ(Storage::live_bytes(), bytes);
  EXPECT_EQ(TensorImpl::live(), tensors);
}

TEST_F(DLPack, ExportOfAViewPointsAtItsFirstElement) {
  const Tensor t = tensor({0., 1, 2, 3, 4, 5}, {2, 3});
  DLManagedTensor* m = to_dlpack(t.t().slice(0, 1, 3));
  EXPECT_EQ(*static_cast<float*>(m->dl_tensor.data), 1);
  EXPECT_EQ(m->dl_tensor.shape[0], 2);
  EXPECT_EQ(m->dl_tensor.strides[0], 1);
  EXPECT_EQ(m->dl_tensor.strides[1], 3);
  m->deleter(m);
  m = to_dlpack(t.slice(0, 1, 2));  // one row: its stride says nothing
  EXPECT_EQ(m->dl_tensor.strides[0], 1);
  m->deleter(m);
}

TEST_F(DLPack, AnExportDoesNotChangeWithItsTensor) {
  Tensor t = tensor({0., 1, 2, 3, 4, 5}, {2, 3});
  DLManagedTensor* m = to_dlpack(t);
  t->geom.sizes = {3, 2};
  EXPECT_EQ(m->dl_tensor.shape[0], 2);
  m->deleter(m);
}

TEST_F(DLPack, ZeroDimAndEmpty) {
  for (const Shape& sizes : {Shape{}, Shape{0}, Shape{2, 0, 3}}) {
    const Tensor t = zeros(sizes);
    const Tensor back = from_dlpack(to_dlpack(t));
    EXPECT_TRUE(back.sizes() == sizes);
    EXPECT_EQ(back.numel().value(), t.numel().value());
  }
  Old f;
  f.shape[0] = 0;
  f.m.dl_tensor.data = nullptr;  // allowed: there is nothing to read
  EXPECT_EQ(from_dlpack(&f.m).numel().value(), 0);
  EXPECT_EQ(f.released, 1);
}

TEST_F(DLPack, EveryDtypeGoesThere) {
  struct {
    DType t;
    int code, bits;
  } const table[] = {{uint8, 1, 8},    {int8, 0, 8},      {int16, 0, 16},         {int32, 0, 32},       {int64, 0, 64},
                     {float16, 2, 16}, {float32, 2, 32},  {float64, 2, 64},       {complex64, 5, 64},   {complex128, 5, 128},
                     {boolean, 6, 8},  {bfloat16, 4, 16}, {float8_e4m3fn, 10, 8}, {float8_e5m2, 12, 8}, {uint16, 1, 16},
                     {uint32, 1, 32},  {uint64, 1, 64}};
  static_assert(std::size(table) == kDTypes);
  for (const auto& [dtype, code, bits] : table) {
    SCOPED_TRACE(to_text(dtype));
    const Tensor t = tensor({0, 1, 1, 0}, {2, 2}, dtype);
    DLManagedTensorVersioned* m = to_dlpack_versioned(t);
    EXPECT_EQ(m->dl_tensor.dtype.code, code);
    EXPECT_EQ(m->dl_tensor.dtype.bits, bits);
    EXPECT_EQ(m->dl_tensor.dtype.lanes, 1);
    EXPECT_EQ(m->version.major, 1u);
    const Tensor back = from_dlpack(m);
    EXPECT_EQ(back.dtype(), dtype);
    EXPECT_EQ(back.data_ptr(), t.data_ptr());
    EXPECT_EQ(back.to_vector<double>(), t.to_vector<double>());
  }
}

template <class F>
class DLPackImport : public NoLeaks {};
using Forms = ::testing::Types<Old, New>;
TYPED_TEST_SUITE(DLPackImport, Forms);

TYPED_TEST(DLPackImport, ReleasesOnceWithTheLastTensor) {
  TypeParam f;
  {
    Tensor t = from_dlpack(&f.m);
    EXPECT_EQ(t.data_ptr(), f.data);
    EXPECT_EQ(t.to_vector<float>(), (std::vector<float>{0, 1, 2, 3, 4, 5}));
    Tensor row = t.select(0, 1);
    t = Tensor();
    EXPECT_EQ(f.released, 0) << "a view still reads the bytes";
    row.add_(1);
    EXPECT_EQ(f.data[3], 4);
  }
  EXPECT_EQ(f.released, 1);
}

TYPED_TEST(DLPackImport, NullStridesAreDense) {
  TypeParam f;
  f.m.dl_tensor.strides = nullptr;
  EXPECT_TRUE(from_dlpack(&f.m).strides() == (Shape{3, 1}));
}

TYPED_TEST(DLPackImport, StridesAndOffset) {
  TypeParam f;
  f.shape[0] = 2;
  f.shape[1] = 2;
  f.strides[0] = 1;
  f.strides[1] = 2;
  f.m.dl_tensor.byte_offset = 4;
  const Tensor t = from_dlpack(&f.m);
  EXPECT_EQ(t.data_ptr(), f.data + 1);
  EXPECT_EQ(t.to_vector<float>(), (std::vector<float>{1, 3, 2, 4}));
}

TYPED_TEST(DLPackImport, NoDeleterIsFine) {
  TypeParam f;
  f.m.deleter = nullptr;
  const Tensor t = from_dlpack(&f.m);
  EXPECT_EQ(t.to_vector<float>()[5], 5);
  EXPECT_EQ(f.released, 0);
}

TYPED_TEST(DLPackImport, RefusalsTakeNothing) {
  using F = void (*)(DLTensor&);
  const std::pair<F, const char*> bad[] = {
      {[](DLTensor& d) { d.ndim = -1; }, "bad number of dimensions -1"},
      {[](DLTensor& d) { d.ndim = 65; }, "bad number of dimensions 65"},
      {[](DLTensor& d) { d.shape = nullptr; }, "shape of a tensor with 2 dimensions is null"},
      {[](DLTensor& d) { d.shape[1] = -3; }, "bad size -3 of dimension 1"},
      {[](DLTensor& d) { d.strides[0] = -3; }, "negative strides are not supported, found stride -3 of dimension 0"},
      {[](DLTensor& d) { d.data = nullptr; }, "the data of a tensor of size [2, 3] is null"},
      {[](DLTensor& d) { d.byte_offset = 1; }, "not aligned to the 4 bytes"},
      {[](DLTensor& d) { d.dtype.lanes = 4; }, "lanes != 1, found 4"},
      {[](DLTensor& d) { d.dtype.lanes = 0; }, "lanes != 1, found 0"},
      {[](DLTensor& d) { d.dtype.bits = 24; }, "code 2 with 24 bits"},
      {[](DLTensor& d) { d.dtype.code = kDLOpaqueHandle; }, "code 3 with 32 bits"},
      {[](DLTensor& d) { d.dtype = {kDLBool, 1, 1}; }, "code 6 with 1 bits"},
      {[](DLTensor& d) { d.device.device_type = kDLMetal; }, "unsupported device type 8"},
      {[](DLTensor& d) { d.device = {kDLCUDA, 1000}; }, "bad CUDA device 1000"},
      {[](DLTensor& d) { d.device = {kDLCUDA, -1}; }, "bad CUDA device -1"},
      {[](DLTensor& d) {
         d.shape[0] = d.shape[1] = int64_t{1} << 40;
         d.strides = nullptr;
       },
       "overflow"},
      {[](DLTensor& d) { d.strides[0] = INT64_MAX; }, "overflow"},
  };
  for (const auto& [spoil, expected] : bad) {
    TypeParam f;
    spoil(f.m.dl_tensor);
    EXPECT_NE(error_of([&] { from_dlpack(&f.m); }).find(expected), std::string::npos)
        << "expected " << expected << ", found " << error_of([&] { from_dlpack(&f.m); });
    EXPECT_EQ(f.released, 0) << expected;
  }
  EXPECT_NE(error_of([] { from_dlpack(static_cast<decltype(TypeParam::m)*>(nullptr)); }).find("null"), std::string::npos);
}

TYPED_TEST(DLPackImport, DevicesOfTheHost) {
  for (DLDeviceType type : {kDLCPU, kDLCUDAHost, kDLROCMHost}) {
    TypeParam f;
    f.m.dl_tensor.device = {type, 0};
    EXPECT_EQ(from_dlpack(&f.m).device(), Device{});
  }
  TypeParam f;
  f.m.dl_tensor.device = {kDLCUDA, 3};
  EXPECT_EQ(from_dlpack(&f.m).device(), (Device{DeviceType::cuda, 3}));
}

TEST_F(DLPack, ReadOnlyTensorsCannotBeWritten) {
  New f;
  f.m.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
  Tensor t = from_dlpack(&f.m);
  EXPECT_TRUE(t->storage->is_read_only());
  EXPECT_NE(error_of([&] { t.add_(1); }).find("read-only"), std::string::npos);
  EXPECT_NE(error_of([&] { t.select(0, 1).zero_(); }).find("read-only"), std::string::npos);
  EXPECT_EQ(f.data[5], 5);
  EXPECT_EQ((t + 1).to_vector<float>()[5], 6);
  // It stays read-only for the next library.
  EXPECT_NE(error_of([&] { (void)to_dlpack(t); }).find("read-only"), std::string::npos);
  DLManagedTensorVersioned* m = to_dlpack_versioned(t);
  EXPECT_EQ(m->flags, DLPACK_FLAG_BITMASK_READ_ONLY);
  m->deleter(m);
  m = to_dlpack_versioned(ones({2}));
  EXPECT_EQ(m->flags, 0u);
  m->deleter(m);
}

TEST_F(DLPack, AnotherMajorVersionIsRefused) {
  New f;
  f.m.version = {2, 0};
  EXPECT_NE(error_of([&] { from_dlpack(&f.m); }).find("version 2.0 is not supported"), std::string::npos);
  EXPECT_EQ(f.released, 0);
  f.m.version = {1, 99};  // later minor versions only add codes
  EXPECT_EQ(from_dlpack(&f.m).dim(), 2);
}

TEST_F(DLPack, FakeAndUndefinedTensorsHaveNothingToExport) {
  EXPECT_NE(error_of([] { (void)to_dlpack(make_tensor(Geometry::contiguous({2}, float32), {}, true)); }).find("fake"),
            std::string::npos);
  EXPECT_NE(error_of([] { (void)to_dlpack(Tensor()); }).find("undefined"), std::string::npos);
  EXPECT_NE(error_of([] { (void)to_dlpack_versioned(Tensor()); }).find("undefined"), std::string::npos);
}

TEST_F(DLPack, GoingAroundManyTimesReleasesOnce) {
  New f;
  Tensor t = from_dlpack(&f.m);
  for (int i = 0; i < 5; i++) t = from_dlpack(to_dlpack(from_dlpack(to_dlpack_versioned(t))));
  EXPECT_EQ(t.data_ptr(), f.data);
  EXPECT_EQ(f.released, 0);
  t = Tensor();
  EXPECT_EQ(f.released, 1);
}

}  // namespace
}  // namespace ingot
