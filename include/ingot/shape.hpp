// Shape: the sizes or strides of a tensor, or any short list of integers. Up to five stay inside
// the object.
#pragma once
#include <concepts>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ingot/int.hpp"

namespace ingot {

class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<Int> l) {
    for (Int x : l) push_back(x);
  }
  // One number is a list of one: x.view(-1), x.sum(0), zeros(3).
  Shape(Int x) { push_back(x); }
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Shape(T x) {
    push_back(x);
  }
  Shape(std::span<const Int> s) {
    for (Int x : s) push_back(x);
  }
  Shape(std::span<const int64_t> s) {
    for (int64_t x : s) push_back(x);
  }
  Shape(const std::vector<int64_t>& s) : Shape(std::span<const int64_t>(s)) {}
  Shape(const Shape& o) : Shape(std::span<const Int>(o.begin(), o.size())) {}
  Shape(Shape&& o) noexcept { steal(o); }
  Shape& operator=(const Shape& o) {
    if (this != &o) {
      clear();
      for (Int x : o) push_back(x);
    }
    return *this;
  }
  Shape& operator=(Shape&& o) noexcept {
    if (this != &o) {
      release();
      steal(o);
    }
    return *this;
  }
  ~Shape() { release(); }
  static Shape filled(std::size_t n, Int x) {
    Shape s;
    for (std::size_t i = 0; i < n; i++) s.push_back(x);
    return s;
  }

  std::size_t size() const { return size_; }
  int dim() const { return static_cast<int>(size_); }
  bool empty() const { return size_ == 0; }
  Int* begin() { return data_; }
  Int* end() { return data_ + size_; }
  const Int* begin() const { return data_; }
  const Int* end() const { return data_ + size_; }
  const Int* data() const { return data_; }
  Int& operator[](std::size_t i) { return data_[i]; }
  const Int& operator[](std::size_t i) const { return data_[i]; }
  Int& back() { return data_[size_ - 1]; }
  const Int& back() const { return data_[size_ - 1]; }
  operator std::span<const Int>() const { return {data_, size_}; }

  void push_back(Int x) {
    if (size_ == capacity_) grow();
    data_[size_++] = x;
  }
  void pop_back() { size_--; }
  void clear() { size_ = 0; }
  void insert(std::size_t i, Int x);
  void erase(std::size_t i);
  void resize(std::size_t n, Int x = 0) {
    while (size_ > n) pop_back();
    while (size_ < n) push_back(x);
  }
  Shape sub(std::size_t from, std::size_t to) const { return Shape(std::span<const Int>(data_ + from, to - from)); }

  Int product() const {
    Int p = 1;
    for (Int x : *this) p = p * x;
    return p;
  }
  bool is_symbolic() const {
    for (Int x : *this)
      if (x.is_symbolic()) return true;
    return false;
  }
  // The plain numbers, specialising symbols (see Int::value).
  std::vector<int64_t> values() const {
    std::vector<int64_t> v;
    for (Int x : *this) v.push_back(x.value());
    return v;
  }
  // Equality may ask the shape environment; `same` never does.
  bool operator==(const Shape& o) const;
  bool same(const Shape& o) const;

 private:
  static constexpr uint32_t kInline = 5;
  Int* data_ = inline_;
  uint32_t size_ = 0, capacity_ = kInline;
  Int inline_[kInline];

  void grow();
  void release() {
    if (data_ != inline_) delete[] data_;
    data_ = inline_;
    size_ = 0;
    capacity_ = kInline;
  }
  void steal(Shape& o);
};

std::string to_text(const Shape& s);  // "[2, 3]"

// A list or none, as a parameter: {}, 0, {0, 1}, a Shape.
class OptionalShape {
 public:
  OptionalShape() = default;
  OptionalShape(std::nullopt_t) {}
  OptionalShape(std::initializer_list<Int> l) : value_(l), given_(true) {}
  template <class T>
    requires std::convertible_to<const T&, Shape>
  OptionalShape(const T& list) : value_(list), given_(true) {}
  explicit operator bool() const { return given_; }
  const Shape& operator*() const { return value_; }

 private:
  Shape value_;
  bool given_ = false;
};

// A list, as a parameter where a number would mean something else: x.split({2, 3}), x.split(2).
class SizeList {
 public:
  SizeList(std::initializer_list<Int> l) : value_(l) {}
  SizeList(const Shape& list) : value_(list) {}
  SizeList(const std::vector<int64_t>& list) : value_(list) {}
  const Shape& sizes() const { return value_; }

 private:
  Shape value_;
};

}  // namespace ingot
