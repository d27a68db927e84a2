// Libraries for a device that is not the CPU: whose memory a run is given, and on which stream.
#include "model_fixture.hpp"
#include "model/program.h"
#include "programs/fake_device_record.h"

namespace ingot::test {
namespace {

class DeviceModel : public ModelTest {
 protected:
  DeviceModel() : library(library_path("affine_device")) {
    record = static_cast<ingot_test_device_record*>(library.symbol("ingot_test_device"));
  }
  AOTInductorModelContainerHandle create(const char* device, size_t models = 1) {
    AOTInductorModelContainerHandle container = nullptr;
    EXPECT_EQ(library_call(library, AOTInductorModelContainerCreateWithDevice)(&container, models, device, nullptr), 0);
    return container;
  }
  void destroy(AOTInductorModelContainerHandle container) {
    EXPECT_EQ(library_call(library, AOTInductorModelContainerDelete)(container), 0);
    EXPECT_EQ(record->live, 0);
    EXPECT_EQ(record->wrong_releases, 0);
  }
  // On the device, which the host calls so.
  AtenTensorHandle input(Floats& x, std::vector<int64_t> strides = {}, int32_t device = kOtherDevice) {
    AtenTensorHandle t = tensor_over(x, {static_cast<int64_t>(x.size() / 16), 16}, std::move(strides));
    tensor_of(t)->device = device;
    return t;
  }
  AOTIRuntimeError run(AOTInductorModelContainerHandle container, AtenTensorHandle x, AffineResult* result, int stream,
                       bool single_threaded = false) {
    AtenTensorHandle outputs[2] = {};
    const auto function = single_threaded ? library_call(library, AOTInductorModelContainerRunSingleThreaded)
                                          : library_call(library, AOTInductorModelContainerRun);
    const AOTIRuntimeError status = function(container, &x, 1, outputs, 2, stream_of(stream), nullptr);
    if (status == 0) {
      for (AtenTensorHandle o : outputs) EXPECT_EQ(tensor_of(o)->device, kOtherDevice);
      *result = {values_of(outputs[0]), values_of(outputs[1]).at(0)};
      for (AtenTensorHandle o : outputs) aoti_torch_delete_tensor_object(o);
    }
    return status;
  }
  static AOTInductorStreamHandle stream_of(int k) {
    static char streams[4];
    return k ? reinterpret_cast<AOTInductorStreamHandle>(&streams[k]) : nullptr;
  }

  Library library;
  ingot_test_device_record* record;
};

TEST_F(DeviceModel, RunsAreGivenTheStreamAndMemoryOfTheDevice) {
  const auto container = create("cuda:3");
  EXPECT_EQ(record->copies[INGOT_COPY_TO_DEVICE], 4) << "its constants, but the empty one";
  Floats x = rows(3);
  const Floats expected = AffineWeights().affine(x);
  AffineResult result;
  ASSERT_EQ(run(container, input(x), &result, 1), 0);
  EXPECT_EQ(result.y, expected);
  EXPECT_EQ(result.steps, 1);
  EXPECT_EQ(record->stream, static_cast<void*>(stream_of(1)));
  EXPECT_EQ(record->arena_stream, static_cast<void*>(stream_of(1)));
  EXPECT_EQ(record->index, 3);
  EXPECT_EQ(record->foreign, 0);
  EXPECT_EQ(record->live, 3) << "constants, the folded one, the arena; what was asked for until the end of the run is gone";

  // Memory is kept, and waits for the run before only where that was on another stream.
  const int allocations = record->allocations, waits = record->waits;
  ASSERT_EQ(run(container, input(x), &result, 1), 0);
  EXPECT_EQ(record->allocations, allocations + 1) << "until the end of the run";
  EXPECT_EQ(record->waits, waits);
  ASSERT_EQ(run(container, input(x), &result, 2, true), 0);
  EXPECT_EQ(record->waits, waits + 1);
  EXPECT_EQ(record->wait_stream, static_cast<void*>(stream_of(1)));
  EXPECT_EQ(record->stream, static_cast<void*>(stream_of(2)));
  EXPECT_EQ(result.steps, 3);

  // An entry by its place is on the caller's stream as well.
  AtenTensorHandle x_handle = input(x), outputs[2] = {};
  ASSERT_EQ(library_call(library, ingot_container_run_entry)(container, 0, &x_handle, 1, outputs, 2, stream_of(3)), 0);
  EXPECT_EQ(record->stream, static_cast<void*>(stream_of(3)));
  for (AtenTensorHandle o : outputs) aoti_torch_delete_tensor_object(o);
  destroy(container);

  // A constant that runs write, too: another model finds what the one before it left.
  const auto two = create("cuda", 2);
  ASSERT_EQ(run(two, input(x), &result, 1), 0);
  const int before = record->waits;
  ASSERT_EQ(run(two, input(x), &result, 1), 0);
  EXPECT_EQ(record->waits, before);
  ASSERT_EQ(run(two, input(x), &result, 2), 0);
  EXPECT_GT(record->waits, before);
  EXPECT_EQ(record->wait_stream, static_cast<void*>(stream_of(1)));
  EXPECT_EQ(result.steps, 3) << "the library's own numbers are as they were";
  destroy(two);
}

TEST_F(DeviceModel, ConstantsAreCopiedToTheDevice) {
  const auto container = create("cuda");
  AffineWeights doubled = AffineWeights::times(2);
  {
    AffineMap map(doubled);  // tensors of the host
    ASSERT_EQ(library_call(library, AOTInductorModelContainerUpdateConstantBuffer)(container, map.handle(), false, false), 0);
    EXPECT_EQ(record->copies[INGOT_COPY_TO_DEVICE], 6);
    ASSERT_EQ(library_call(library, AOTInductorModelContainerRunConstantFolding)(container, false, stream_of(1), nullptr), 0);
    const auto in_place = library_call(library, AOTInductorModelContainerUpdateUserManagedConstantBuffer);
    EXPECT_NE(message_of(library, [&] { return in_place(container, map.handle(), false, false); }).find("mixed device constants"),
              std::string::npos);
    tensor_of(map.map["p_layer_weight"])->strides = {1, 8};
    EXPECT_NE(message_of(library,
                         [&] {
                           return library_call(library, AOTInductorModelContainerUpdateConstantBuffer)(container, map.handle(),
                                                                                                       false, false);
                         })
                  .find("Only the CPU lays elements out anew"),
              std::string::npos);
  }
  Floats x = rows(2);
  AffineResult result;
  ASSERT_EQ(run(container, input(x), &result, 1), 0);
  EXPECT_EQ(result.y, doubled.affine(x));
  EXPECT_EQ(record->foreign, 0);
  destroy(container);
}

TEST_F(DeviceModel, WhatIsNotOnTheDeviceIsRefused) {
  const auto container = create("cuda:0");
  Floats x = rows(16);
  AffineResult result;
  const auto failure = [&](AtenTensorHandle t) { return message_of(library, [&] { return run(container, t, &result, 0); }); };
  EXPECT_EQ(failure(input(x, {}, kCpu)), "input 0 (x): device: expected cuda, found a tensor on the host's device type 70");
  EXPECT_EQ(failure(input(x, {1, 16})),
            "input 0 (x): strides: expected [16, 1], found [1, 16]; copy it so that it lies like this");
  ASSERT_EQ(run(container, input(x), &result, 0), 0);
  record->refuse = 1;  // what a run asks for by itself; its arena is there
  EXPECT_EQ(failure(input(x)), "cuda:0: no memory is left");
  ASSERT_EQ(run(container, input(x), &result, 0), 0);
  destroy(container);

  AOTInductorModelContainerHandle none = nullptr;
  const auto create_with_device = library_call(library, AOTInductorModelContainerCreateWithDevice);
  EXPECT_EQ(message_of(library, [&] { return create_with_device(&none, 1, "cpu", nullptr); }),
            "device: expected cuda, which this library was compiled for, found cpu");
  record->refuse = 1;
  EXPECT_EQ(message_of(library, [&] { return create_with_device(&none, 1, "cuda", nullptr); }), "cuda:0: no memory is left");
  EXPECT_EQ(record->live, 0);
}

TEST_F(DeviceModel, BareModelsAreOnTheFirstDevice) {
  AOTInductorModelHandle model = nullptr;
  ASSERT_EQ(library_call(library, AOTInductorModelCreate)(&model, nullptr), 0);
  Floats x = rows(1);
  AtenTensorHandle in = input(x), outputs[2] = {};
  ASSERT_EQ(library_call(library, AOTInductorModelRun)(model, &in, outputs), 0);
  EXPECT_EQ(values_of(outputs[0]), AffineWeights().affine(x));
  for (AtenTensorHandle o : outputs) aoti_torch_delete_tensor_object(o);
  EXPECT_EQ(record->index, 0);
  EXPECT_EQ(record->stream, nullptr);
  EXPECT_EQ(library_call(library, AOTInductorModelDelete)(model), 0);
  EXPECT_EQ(record->live, 0);
}

}  // namespace
}  // namespace ingot::test
