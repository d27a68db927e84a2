// What the io tests share: a folder that goes away, files as strings, tensors with known bytes.
#pragma once
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "support/test_folder.hpp"
#include "tensor/impl.hpp"

namespace ingot {

class IoTest : public ::testing::Test {
 protected:
  std::string path(std::string_view name) const { return folder_.file(name); }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_.path()), {}));
  }
  std::string put(std::string_view name, std::string_view bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }
  static std::string bytes_of(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  const testing::TestFolder folder_;
};

// Little-endian bytes of a number.
template <class T>
std::string le(T v) {
  std::string s(sizeof v, '\0');
  std::memcpy(s.data(), &v, sizeof v);
  return s;
}

// A dense tensor whose bytes count up; a bool one alternates.
inline Tensor counting_tensor(const Shape& sizes, DType dtype) {
  const Tensor t = make_tensor(Geometry::contiguous(sizes, dtype));
  const int64_t n = t.numel().number() * t.itemsize();
  auto* p = static_cast<unsigned char*>(t.data_ptr());
  for (int64_t i = 0; i < n; i++) p[i] = static_cast<unsigned char>(dtype == DType::b8 ? i % 2 : i % 251);
  return t;
}

inline Tensor strided(const Tensor& t, Shape sizes, Shape strides, Int offset = 0) {
  Geometry g;
  g.sizes = std::move(sizes);
  g.strides = std::move(strides);
  g.offset = offset;
  g.dtype = t.dtype();
  return make_alias(t, g);
}

// The element bytes in row-major order, gathered one by one: independent of the code under test.
inline std::string elements(const Tensor& t) {
  std::string out;
  const auto item = static_cast<std::size_t>(t.itemsize());
  const auto walk = [&](const auto& self, int64_t d, int64_t at) -> void {
    if (d == t.dim()) {
      out.append(static_cast<const char*>(t.data_ptr()) + at * static_cast<int64_t>(item), item);
      return;
    }
    for (int64_t i = 0; i < t.size(d).number(); i++) self(self, d + 1, at + i * t.stride(d).number());
  };
  walk(walk, 0, 0);
  return out;
}

inline void expect_same(const Tensor& got, const Tensor& want) {
  EXPECT_EQ(got.dtype(), want.dtype());
  EXPECT_TRUE(got.sizes().same(want.sizes())) << to_text(got.sizes()) << " against " << to_text(want.sizes());
  EXPECT_EQ(elements(got), elements(want));
}

// Runs f and returns the message of its user error; a failure of the test if there is none.
template <class F>
std::string user_error(F f) {
  try {
    f();
  } catch (const UserError& e) {
    return e.what();
  }
  ADD_FAILURE() << "expected a user error";
  return "";
}

// The bytes of a .npy file.
inline std::string npy(const std::string& dict, const std::string& data = "", int version = 1) {
  std::string out = "\x93NUMPY";
  out += static_cast<char>(version);
  out += '\0';
  return out + (version == 1 ? le<uint16_t>(dict.size()) : le<uint32_t>(dict.size())) + dict + data;
}

}  // namespace ingot
