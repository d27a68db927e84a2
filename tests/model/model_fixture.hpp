// A loaded model library with its functions by name, and containers and tensors that go with the
// test.
#pragma once
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "counting_host.hpp"
#include "ingot/aoti.h"
#include "ingot/model.h"

namespace ingot::test {

inline std::string library_path(const std::string& name, const std::string& arch = INGOT_ARCH) {
  return std::string(INGOT_TEST_MODEL_DIR) + "/" + name + "_" + arch + ".so";
}

class Library {
 public:
  explicit Library(const std::string& path) : handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (!handle_) ADD_FAILURE() << dlerror();
  }
  ~Library() {
    if (handle_) dlclose(handle_);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  void* symbol(const char* name) const { return handle_ ? dlsym(handle_, name) : nullptr; }

 private:
  void* handle_;
};

// library_call(lib, AOTInductorModelDelete)(model): the function of that name in that library.
#define library_call(library, name) (reinterpret_cast<decltype(&::name)>((library).symbol(#name)))

using Floats = std::vector<float>;
using ConstantsByName = std::unordered_map<std::string, AtenTensorHandle>;

inline AOTInductorConstantMapHandle handle_of(ConstantsByName& map) {
  return reinterpret_cast<AOTInductorConstantMapHandle>(&map);
}

inline std::vector<int64_t> dense(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> strides(sizes.size());
  int64_t step = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    strides[d] = step;
    step *= sizes[d];
  }
  return strides;
}

// A tensor over the values, which stay where they are.
template <class T>
AtenTensorHandle tensor_over(std::vector<T>& values, std::vector<int64_t> sizes, std::vector<int64_t> strides = {}) {
  HostTensor t;
  t.storage = reinterpret_cast<char*>(values.data());
  t.storage_bytes = static_cast<int64_t>(values.size() * sizeof(T));
  t.strides = strides.empty() ? dense(sizes) : strides;
  t.sizes = std::move(sizes);
  t.dtype = std::is_same_v<T, float> ? 6 : std::is_same_v<T, double> ? 7 : std::is_same_v<T, int64_t> ? 4 : 3;
  return new_handle(std::move(t));
}

// Elements of a dense tensor.
template <class T = float>
std::vector<T> values_of(AtenTensorHandle handle) {
  HostTensor& t = *tensor_of(handle);
  size_t count = 1;
  for (int64_t s : t.sizes) count *= static_cast<size_t>(s);
  const T* data = static_cast<const T*>(t.data());
  return count ? std::vector<T>(data, data + count) : std::vector<T>();
}

class Container {
 public:
  explicit Container(const Library& library, size_t models = 1) : library_(library) {
    EXPECT_EQ(library_call(library, AOTInductorModelContainerCreateWithDevice)(&handle_, models, "cpu", nullptr), 0);
  }
  ~Container() { library_call(library_, AOTInductorModelContainerDelete)(handle_); }
  Container(const Container&) = delete;
  Container& operator=(const Container&) = delete;

  AOTInductorModelContainerHandle get() const { return handle_; }
  operator AOTInductorModelContainerHandle() const { return handle_; }

  // Takes the inputs; the outputs are the caller's.
  AOTIRuntimeError run(std::vector<AtenTensorHandle> inputs, std::vector<AtenTensorHandle>& outputs) const {
    return library_call(library_, AOTInductorModelContainerRun)(handle_, inputs.data(), inputs.size(), outputs.data(),
                                                                outputs.size(), nullptr, nullptr);
  }

 private:
  const Library& library_;
  AOTInductorModelContainerHandle handle_ = nullptr;
};

// What a call that fails says: `Error: …` on standard error, and the same as the thread's last
// error.
template <class Call>
std::string message_of(const Library& library, Call call) {
  ::testing::internal::CaptureStderr();
  const AOTIRuntimeError status = call();
  const std::string printed = ::testing::internal::GetCapturedStderr();
  if (status == 0) return "no failure";
  EXPECT_EQ(status, 1);
  const std::string text = library_call(library, ingot_last_error)();
  EXPECT_EQ(printed.substr(printed.size() - std::min(printed.size(), text.size() + 8)), "Error: " + text + "\n");
  return text;
}

// ---- the program of programs/affine.c

struct AffineWeights {
  Floats w = Floats(128), b = Floats(8), c = {0.5f};

  AffineWeights() {
    for (int j = 0; j < 8; j++) {
      for (int k = 0; k < 16; k++) w[j * 16 + k] = static_cast<float>(j + k);
      b[j] = static_cast<float>(10 * j);
    }
  }
  static AffineWeights times(float factor) {
    AffineWeights weights;
    for (float& v : weights.w) v *= factor;
    for (float& v : weights.b) v *= factor;
    return weights;
  }
  Floats affine(const Floats& x) const {
    Floats y;
    for (size_t i = 0; i < x.size() / 16; i++) {
      for (int j = 0; j < 8; j++) {
        float sum = 0;
        for (int k = 0; k < 16; k++) sum += x[i * 16 + k] * 2 * w[j * 16 + k];
        y.push_back(sum + b[j] + c[0]);
      }
    }
    return y;
  }
};

inline Floats rows(int64_t count, float first = 1) {
  Floats x(static_cast<size_t>(count * 16));
  for (size_t i = 0; i < x.size(); i++) x[i] = first + static_cast<float>(i % 7);
  return x;
}

// The two outputs of a run that must succeed.
struct AffineResult {
  Floats y;
  float steps = -1;
};

inline AffineResult run_affine(const Container& container, Floats x) {
  std::vector<AtenTensorHandle> outputs(2);
  const int64_t count = static_cast<int64_t>(x.size() / 16);
  EXPECT_EQ(container.run({tensor_over(x, {count, 16})}, outputs), 0);
  if (!outputs[0]) return {};
  EXPECT_EQ(tensor_of(outputs[0])->sizes, (std::vector<int64_t>{count, 8}));
  AffineResult result{values_of(outputs[0]), values_of(outputs[1]).at(0)};
  for (AtenTensorHandle o : outputs) aoti_torch_delete_tensor_object(o);
  return result;
}

// What a run says that must fail.
inline std::string failed_run(const Library& library, const Container& container) {
  Floats x = rows(1);
  std::vector<AtenTensorHandle> outputs(2);
  return message_of(library, [&] { return container.run({tensor_over(x, {1, 16})}, outputs); });
}

// A map of tensors over weights, which outlive it.
class AffineMap {
 public:
  explicit AffineMap(AffineWeights& weights) {
    map["p_layer_weight"] = tensor_over(weights.w, {8, 16});
    map["p_layer_bias"] = tensor_over(weights.b, {8});
  }
  ~AffineMap() {
    for (auto& [name, handle] : map) aoti_torch_delete_tensor_object(handle);
  }
  AOTInductorConstantMapHandle handle() { return handle_of(map); }

  ConstantsByName map;
};

// Every test must leave as many handles as it found.
class ModelTest : public ::testing::Test {
 protected:
  void SetUp() override { before_ = live_handles(); }
  void TearDown() override {
    fail_in("");
    EXPECT_EQ(live_handles(), before_);
  }

 private:
  int64_t before_ = 0;
};

}  // namespace ingot::test
