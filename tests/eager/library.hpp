// A library with eager calls, as a compiler would make it: harness.c, the table of ops, the eager
// archive. Made and run here.
#pragma once
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <sstream>

#include "codegen/eager_ops.hpp"
#include "codegen/link.hpp"
#include "codegen/target.hpp"
#include "base/dtype.hpp"
#include "base/dtype_code.hpp"
#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "model/program.h"
#include "op/call.hpp"
#include "op/call_text.hpp"
#include "support/sanitized.hpp"
#include "support/test_folder.hpp"
#include "tensor/geometry.hpp"
#include "tensor/random.hpp"
#include "tensor/rows.hpp"

namespace ingot::testing {

inline std::string bytes_of_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  EXPECT_TRUE(in.good()) << path;
  return std::move(out).str();
}

inline void link_eager_library(const std::vector<std::string>& ops, const Target& target, const std::string& output) {
  const std::string harness = text(INGOT_EAGER_HARNESS, "_", to_text(arch_of(target)), ".o");
  const Object objects[] = {{"harness", bytes_of_file(harness)}, eager_ops(ops, target)};
  link_library(objects, target, output);
}

// One call, and what it is called with.
struct EagerCase {
  std::string text;
  TensorList tensors;
  std::vector<int64_t> integers;
};

constexpr Draw kTestDraw{42, 7};

// What this process's own eager library makes of it.
inline TensorList host_results(const EagerCase& c) {
  const ParsedCall parsed(c.text, find_op);
  default_generator()->set_state(kTestDraw);
  const Value v = call(parsed.op(), parsed.arguments(c.tensors, c.integers));
  if (v.is_tensors()) return v.tensors();
  return {v.is_number() ? scalar_tensor(v.to_scalar(), {.dtype = v.to_scalar().is_float() ? float64 : v.to_scalar().dtype()})
                        : v.tensor()};
}
inline std::string op_of(const EagerCase& c) { return ParsedCall(c.text, find_op).op().name; }

// A tensor as compiled code sees it.
class View {
 public:
  explicit View(const Tensor& t)
      : sizes_(t.sizes().values()), strides_(t.strides().values()), rank_(static_cast<int32_t>(t.dim())),
        code_(aoti_code(t.dtype())) {
    data_ = t->storage->data() ? t->bytes() : nullptr;
  }
  ingot_view get() const { return {data_, sizes_.data(), strides_.data(), rank_, code_}; }

 private:
  std::vector<int64_t> sizes_, strides_;
  int32_t rank_, code_;
  void* data_;
};

inline Tensor copy_of_view(const ingot_view& v) {
  Geometry g;
  g.dtype = dtype_of_code(v.dtype).value();
  for (int i = 0; i < v.rank; i++) {
    g.sizes.push_back(v.sizes[i]);
    g.strides.push_back(v.strides[i]);
  }
  auto storage = Storage::wrap(v.data, required_bytes(g).number(), {});
  const Tensor t(Ref<TensorImpl>(new TensorImpl(std::move(storage), g)));
  const Tensor copy = make_tensor(Geometry::contiguous(g.sizes, g.dtype));
  copy_elements(copy, t);
  return copy;
}

class EagerLibrary {
 public:
  explicit EagerLibrary(const std::vector<std::string>& ops) : path_(folder_.file("eager.so")) {
    link_eager_library(ops, native_target(), path_);
    handle_ = dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_TRUE(handle_) << dlerror();
    load("harness_new", make_);
    load("harness_free", free_);
    load("harness_error", error_);
    load("harness_offset", offset_);
    load("harness_call", call_);
  }
  ~EagerLibrary() { dlclose(handle_); }
  EagerLibrary(const EagerLibrary&) = delete;
  EagerLibrary& operator=(const EagerLibrary&) = delete;
  const std::string& path() const { return path_; }

  struct Run {
    int32_t status;
    std::string error;
    TensorList results;
    uint64_t draws;
  };
  // `places`: where results are written; an undefined one leaves it to the op.
  Run run(const EagerCase& c, const TensorList& places, bool refuse_memory = false, Draw draw = kTestDraw) const {
    std::vector<View> keep;
    std::vector<ingot_view> inputs, results;
    for (const Tensor& t : c.tensors) keep.emplace_back(t);
    for (const Tensor& t : places) keep.emplace_back(t.defined() ? t : zeros({}));
    for (std::size_t i = 0; i < keep.size(); i++) (i < c.tensors.size() ? inputs : results).push_back(keep[i].get());
    for (std::size_t k = 0; k < places.size(); k++)
      if (!places[k].defined()) results[k] = {};
    void* frame = make_(draw.seed, draw.offset, refuse_memory);
    Run r{call_(frame, lasting(c.text), inputs.data(), c.integers.data(), results.data(), static_cast<int32_t>(results.size())),
          error_(frame),
          {},
          0};
    r.draws = offset_(frame) - draw.offset;
    for (std::size_t k = 0; k < places.size() && r.status == 0; k++)
      r.results.push_back(places[k].defined() ? places[k] : results[k].data ? copy_of_view(results[k]) : Tensor());
    free_(frame);
    return r;
  }

 private:
  TestFolder folder_;
  std::string path_;
  void* handle_ = nullptr;
  void* (*make_)(uint64_t, uint64_t, int) = nullptr;
  void (*free_)(void*) = nullptr;
  const char* (*error_)(void*) = nullptr;
  uint64_t (*offset_)(void*) = nullptr;
  int32_t (*call_)(void*, const char*, const ingot_view*, const int64_t*, ingot_view*, int32_t) = nullptr;

  template <class F>
  void load(const char* name, F& f) {
    f = reinterpret_cast<F>(dlsym(handle_, name));
    EXPECT_TRUE(f) << name;
  }
  // In a model the text is a constant: one address, one text.
  static const char* lasting(const std::string& text) {
    static std::mutex mutex;
    static std::set<std::string> texts;
    const std::lock_guard lock(mutex);
    return texts.insert(text).first->c_str();
  }
};

// Every bit. Only a sanitizer's build of this process has kernels that were optimised in another
// way, and round otherwise: there two roundings to the type, or an error in float32.
inline bool same_elements(const Tensor& a, const Tensor& b) {
  if (!a.sizes().same(b.sizes()) || a.dtype() != b.dtype()) return false;
  const Tensor x = a.contiguous(), y = b.contiguous();
  if (std::memcmp(x.data_ptr(), y.data_ptr(), static_cast<std::size_t>(x.numel().number() * x.itemsize())) == 0) return true;
  const bool complex = is_complex(a.dtype());
  if (!kSanitized || !(is_floating(a.dtype()) || complex)) return false;
  const auto numbers = [&](const Tensor& t) { return (complex ? aten<"view_as_real">(t) : t).to_vector<double>(); };
  const std::vector<double> u = numbers(x), v = numbers(y);
  double largest = 1;
  for (const double e : v) largest = std::isfinite(e) ? std::max(largest, std::abs(e)) : largest;
  const double bound = a.dtype() == DType::bf16 ? 0x1p-7 : a.dtype() == DType::f16 ? 0x1p-10 : 1e-5;
  for (std::size_t i = 0; i < u.size(); i++)
    if (!(std::abs(u[i] - v[i]) <= bound * largest) && !(std::isnan(u[i]) && std::isnan(v[i])) && u[i] != v[i]) return false;
  return true;
}

// A tensor like `t` whose memory is laid out in another order, with a gap between elements.
inline Tensor odd_place(const Tensor& t) {
  Geometry g = t->geom;
  g.offset = 0;
  Int stride = 2;
  for (int d = 0; d < g.dim(); d++) {
    g.strides[static_cast<std::size_t>(d)] = stride;
    stride *= max(g.sizes[static_cast<std::size_t>(d)], 1);
  }
  return make_tensor(std::move(g));
}

// Runs the case three ways (results where eager would lay them out, in another layout, and left to
// the op) and compares every bit with this process's eager library.
inline void expect_same_as_host(const EagerLibrary& library, const EagerCase& c) {
  SCOPED_TRACE(c.text);
  const TensorList host = host_results(c);
  const uint64_t draws = default_generator()->state().offset - kTestDraw.offset;
  for (const int way : {0, 1, 2}) {
    TensorList places;
    for (const Tensor& t : host)
      places.push_back(!t.defined() || way == 2 ? Tensor()
                       : way == 1               ? odd_place(t)
                                                : make_tensor(Geometry{t.sizes(), t.strides(), 0, t.dtype()}));
    const EagerLibrary::Run r = library.run(c, places);
    ASSERT_EQ(r.status, 0) << "way " << way << ": " << r.error;
    EXPECT_EQ(r.draws, draws);
    for (std::size_t k = 0; k < host.size(); k++) {
      ASSERT_EQ(r.results[k].defined(), host[k].defined());
      EXPECT_TRUE(!host[k].defined() || same_elements(r.results[k], host[k])) << "way " << way << ", result " << k;
    }
  }
}

}  // namespace ingot::testing
