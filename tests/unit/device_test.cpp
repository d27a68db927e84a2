// What a device can do, and that storages, copies, fills and kernels ask it: over the CPU's driver
// and that of a fake device.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "fake_device.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "op/device_kernels.hpp"
#include "tensor/impl.hpp"

namespace ingot::test {
namespace {

using Floats = std::vector<float>;
using Log = std::vector<std::string>;

constexpr Device kCpu{}, kFake{DeviceType::cuda, 0}, kSecond{DeviceType::cuda, 1};

template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const UserError& e) {
    return e.what();
  }
  return "no error";
}

Floats floats(const Tensor& t) { return t.to_vector<float>(); }

// ---- without a driver

TEST(DeviceTest, AKindWithoutDriverIsAClearError) {
  ASSERT_EQ(find_driver(DeviceType::cuda), nullptr);
  const std::string none = "cuda:0: this build of Ingot has no CUDA; keep the tensors on the cpu";
  EXPECT_EQ(error_of([] { Storage::allocate(8, kFake); }), none);
  EXPECT_EQ(error_of([] { driver_of(kFake); }), none);
  EXPECT_EQ(error_of([] { zeros({2}, {.device = kFake}); }), "zeros: " + none);
  EXPECT_EQ(error_of([] { ones({2}).to(kFake); }), "_to_copy: " + none);
  EXPECT_EQ(error_of([] { ones({2}).to(Device{DeviceType::cuda}); }), "_to_copy: cuda: " + none.substr(8));
  EXPECT_EQ(error_of([] { register_driver(DeviceType::cpu, nullptr); }), "the CPU's driver is built in");
}

// Somebody else's memory of a device that we know nothing of.
TEST(DeviceTest, ElementsOfAnUnknownDeviceAreLeftAlone) {
  const Tensor t(Ref<TensorImpl>(
      new TensorImpl(Storage::wrap(reinterpret_cast<void*>(64), 8, {}, kFake), Geometry::contiguous({2}, float32))));
  for (const auto& use : std::vector<std::function<void()>>{[&] { t + t; }, [&] { t.sum(); }, [&] { t.to_vector<float>(); },
                                                            [&] { t[0].item(); }, [&] { t.to_string(); }, [&] { t.clone(); }})
    EXPECT_NE(error_of(use).find("this build of Ingot has no CUDA"), std::string::npos) << error_of(use);
}

// ---- the CPU's

TEST(DeviceTest, TheCpuIsADevice) {
  DeviceDriver& cpu = driver_of(kCpu);
  EXPECT_EQ(&cpu, find_driver(DeviceType::cpu));
  EXPECT_EQ(cpu.device_count(), 1);
  EXPECT_EQ(cpu.current_device(), 0);
  EXPECT_EQ(error_of([&] { cpu.set_current_device(1); }), "cpu:1: there is one cpu, number 0");
  EXPECT_EQ(numbered(kCpu), kCpu);
  auto* a = static_cast<char*>(cpu.allocate(kCpu, 0, {}));
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a) % 64, 0u);
  auto* b = static_cast<char*>(cpu.allocate_pinned(8));
  const Stream stream = cpu.create_stream(kCpu);
  EXPECT_EQ(stream, cpu.current_stream(kCpu));
  const Event begin = cpu.create_event(kCpu), end = cpu.create_event(kCpu);
  cpu.record(kCpu, begin, stream);
  cpu.fill(kCpu, b, "xy", 2, 4, stream);
  copy_bytes(a, kCpu, b, kCpu, 1);
  cpu.record(kCpu, end, stream);
  cpu.wait(kCpu, stream, end);
  cpu.synchronize(kCpu, stream);
  EXPECT_EQ(std::string(b, 8) + *a, "xyxyxyxyx");
  EXPECT_GE(cpu.elapsed(kCpu, begin, end), 0);
  cpu.destroy_event(kCpu, begin);
  cpu.destroy_event(kCpu, end);
  cpu.destroy_stream(kCpu, stream);
  cpu.free(kCpu, a);
  cpu.free_pinned(b);
}

// ---- a fake one

class FakeDeviceTest : public ::testing::Test {
 protected:
  void SetUp() override { the_device = &device; }
  void TearDown() override {
    EXPECT_EQ(device.live(), 0u);
    EXPECT_EQ(device.allocations, device.frees);
    the_device = nullptr;
  }
  FakeDevice device;
  static FakeDevice* the_device;  // for kernels, which are plain functions

  // a + alpha * b of dense tensors, when the stream gets to it.
  static void add(const Call& c, std::span<const Tensor> results) {
    FakeDevice& d = *the_device;
    const Device where = results[0].device();
    const auto at = [](const Tensor& t) { return t->bytes(); };
    d.enqueue(where, d.current_stream(where),
              [&d, a = at(c.tensor(0)), b = at(c.tensor(1)), r = at(results[0]), n = results[0].numel().number(),
               alpha = static_cast<float>(c[2].to_scalar().to_double())] {
                const auto *x = reinterpret_cast<float*>(d.real(a)), *y = reinterpret_cast<float*>(d.real(b));
                for (int64_t i = 0; i < n; i++) reinterpret_cast<float*>(d.real(r))[i] = x[i] + alpha * y[i];
              });
  }
};
FakeDevice* FakeDeviceTest::the_device = nullptr;

TEST_F(FakeDeviceTest, TensorsAreMadeThere) {
  const int64_t before = Storage::live_bytes();
  {
    const Tensor z = zeros({2, 3}, {.device = kFake}), f = full({2}, 2.5, {.device = kFake}),
                 i = ones({3}, {.dtype = int64, .device = Device{DeviceType::cuda}});
    EXPECT_EQ(device.log, (Log{"fill 6 x 4 on cuda:0", "fill 2 x 4 on cuda:0", "fill 3 x 8 on cuda:0"}));
    EXPECT_EQ(device.allocations, 3);
    EXPECT_EQ(Storage::live_bytes(), before + 24 + 8 + 24);
    EXPECT_EQ(i.device(), kFake) << "the current one, by its number";
    EXPECT_EQ(reinterpret_cast<uintptr_t>(z.data_ptr()) % 64, 0u);
    EXPECT_EQ(floats(z), Floats(6));
    EXPECT_EQ(floats(f), (Floats{2.5, 2.5}));
    EXPECT_EQ(i.to_vector<int64_t>(), (std::vector<int64_t>{1, 1, 1}));
    EXPECT_EQ(f[1].item().to_double(), 2.5);
    EXPECT_EQ(f.to_string(), "tensor([2.5000, 2.5000], device='cuda:0')");
    EXPECT_EQ(zeros_like(z).device(), kFake);
    EXPECT_EQ(empty({0}, {.device = kFake}).to_vector<float>(), Floats());
    device.set_current_device(1);
    EXPECT_EQ(zeros({1}, {.device = Device{DeviceType::cuda}}).device(), kSecond);
  }
  EXPECT_EQ(Storage::live_bytes(), before);
}

TEST_F(FakeDeviceTest, CopiesGoThroughTheDriver) {
  const Tensor a = tensor({1.f, 2.f, 3.f, 4.f, 5.f, 6.f}).view({2, 3});
  const Tensor there = a.to(kFake), back = there.to(kCpu);
  EXPECT_EQ(device.log, (Log{"copy 24 from cpu to cuda:0", "copy 24 from cuda:0 to cpu"}));
  EXPECT_EQ(floats(back), floats(a));
  EXPECT_EQ(there.to(kFake).data_ptr(), there.data_ptr()) << "it is there already";
  device.log.clear();

  const Tensor twin = there.clone(), next = there.to(kSecond);
  EXPECT_EQ(device.log, (Log{"copy 24 from cuda:0 to cuda:0", "copy 24 from cuda:0 to cuda:1"}));
  device.synchronize(kFake, {});
  EXPECT_EQ(floats(next), floats(a));
  EXPECT_EQ(next.device(), kSecond);
  device.log.clear();

  // Views are geometry, and cost nothing; what lies otherwise, or is of another type, is laid out
  // by the CPU.
  const Tensor turned = there.t();
  EXPECT_TRUE(device.log.empty());
  EXPECT_EQ(floats(turned.contiguous()), (Floats{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(there.to(int64).to_vector<int64_t>(), (std::vector<int64_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(there.to(int64).device(), kFake);
  EXPECT_EQ(floats(there.select(1, 1)), (Floats{2, 5}));
}

TEST_F(FakeDeviceTest, WritesIntoPartsLeaveTheRestAlone) {
  Tensor t = zeros({3, 3}, {.device = kFake});
  t.select(1, 1).fill_(7);
  t[0].copy_(tensor({1.f, 2.f, 3.f}));
  EXPECT_EQ(floats(t), (Floats{1, 2, 3, 0, 7, 0, 0, 7, 0}));
  Tensor here = zeros({3});
  here.copy_(t[0]);
  EXPECT_EQ(floats(here), (Floats{1, 2, 3})) << "copy_ goes from one device to another";
  EXPECT_EQ(here.device(), kCpu);
  t.zero_();
  EXPECT_EQ(device.log.back(), "fill 9 x 4 on cuda:0");
  Tensor number = scalar_tensor(3);
  number.copy_(full({}, 4.0, {.device = kFake}));
  EXPECT_EQ(number.item().to_double(), 4);
}

TEST_F(FakeDeviceTest, StoragesGrowThere) {
  const Ref<Storage> s = Storage::allocate(4, kFake);
  copy_bytes(s->data(), kFake, "abcd", kCpu, 4);
  s->resize(1000);
  EXPECT_EQ(device.log.back(), "copy 4 from cuda:0 to cuda:0");
  EXPECT_EQ(device.live(), 1u);
  char back[4];
  copy_bytes(back, kCpu, s->data(), kFake, 4);
  EXPECT_EQ(std::memcmp(back, "abcd", 4), 0);
  EXPECT_EQ(error_of([] { Storage::allocate(int64_t{1} << 40, kFake); }), "cuda:0 is out of memory");
  EXPECT_EQ(error_of([] { Storage::allocate(4, {DeviceType::cuda, 2}); }),
            "cuda:2: there are 2 devices of this kind, counted from 0");
}

TEST_F(FakeDeviceTest, AKernelOfTheKindIsCalled) {
  const DeviceKernel kernels[] = {{"add.Tensor", add}};
  register_kernels(DeviceType::cuda, kernels);
  Tensor a = full({3}, 2.0, {.device = kFake}), b = full({3}, 5.0, {.device = kFake});
  const Tensor sum = a + b;
  EXPECT_EQ(sum.device(), kFake);
  EXPECT_EQ(device.waiting(kFake), 3u) << "two fills and the kernel";
  EXPECT_EQ(floats(sum), (Floats{7, 7, 7}));
  a.add_(b, 2);  // derived variants run by it, too
  EXPECT_EQ(floats(a), (Floats{12, 12, 12}));
  EXPECT_EQ(floats(ones({3}) + ones({3})), (Floats{2, 2, 2})) << "the CPU has its own";

  Tensor x = ones({3}, {.device = kFake, .requires_grad = true});
  (x + b).backward(ones({3}, {.device = kFake}));
  EXPECT_EQ(floats(x.grad()), (Floats{1, 1, 1}));
}

TEST_F(FakeDeviceTest, AnOpWithoutKernelOfTheKindIsAClearError) {
  const Tensor a = ones({3}, {.device = kFake});
  const int before = device.allocations;
  const std::string none =
      "there is no kernel of mul.Tensor for cuda:0: move the tensors with to(cpu), or register one (register_kernels)";
  EXPECT_EQ(error_of([&] { a.mul(a); }), none);
  Tensor b = a.clone();
  EXPECT_EQ(error_of([&] { b.mul_(a); }), "mul_: " + none);
  EXPECT_NE(error_of([&] { eye(3, {.device = kFake}); }).find("there is no kernel of eye for cuda:0"), std::string::npos);
  EXPECT_EQ(device.allocations, before + 1) << "nothing was made for results";
  EXPECT_NE(error_of([&] { a + ones({3}); }).find("found at least two devices, cuda:0 and cpu"), std::string::npos);
  EXPECT_NE(error_of([&] { register_kernels(DeviceType::cpu, {}); }).find("OpDef::kernel"), std::string::npos);
}

TEST_F(FakeDeviceTest, StreamsRunInOrderAndWaitForEvents) {
  const Stream side = device.create_stream(kFake);
  const Event filled = device.create_event(kFake), copied = device.create_event(kFake);
  Tensor a = zeros({4}, {.device = kFake});
  a.fill_(1);
  a.fill_(2);
  device.record(kFake, filled, {});
  Tensor b;
  {
    device.set_current_stream(kFake, side);
    device.wait(kFake, side, filled);
    b = a.clone();
    device.record(kFake, copied, side);
    device.set_current_stream(kFake, {});
  }
  EXPECT_EQ(device.waiting(kFake), 4u) << "nobody has asked yet";
  device.synchronize(kFake, side);
  EXPECT_EQ(device.waiting(kFake), 0u) << "the side had to wait for it";
  EXPECT_EQ(device.elapsed(kFake, filled, copied), 3) << "the mark itself, the wait, the copy";
  EXPECT_EQ(floats(b), (Floats{2, 2, 2, 2}));
  device.destroy_event(kFake, filled);
  device.destroy_event(kFake, copied);
  device.destroy_stream(kFake, side);
}

}  // namespace
}  // namespace ingot::test
