#include "ingot/shape.hpp"

#include <algorithm>
#include <utility>

namespace ingot {

void Shape::grow() {
  const uint32_t capacity = capacity_ * 2;
  Int* data = new Int[capacity];
  std::copy(begin(), end(), data);
  if (data_ != inline_) delete[] data_;
  data_ = data;
  capacity_ = capacity;
}

void Shape::steal(Shape& o) {
  if (o.data_ == o.inline_) {
    std::copy(o.begin(), o.end(), inline_);
    size_ = o.size_;
    o.size_ = 0;
    return;
  }
  data_ = std::exchange(o.data_, o.inline_);
  size_ = std::exchange(o.size_, 0);
  capacity_ = std::exchange(o.capacity_, kInline);
}

void Shape::insert(std::size_t i, Int x) {
  push_back(x);
  std::rotate(begin() + i, end() - 1, end());
}

void Shape::erase(std::size_t i) {
  std::copy(begin() + i + 1, end(), begin() + i);
  size_--;
}

bool Shape::operator==(const Shape& o) const {
  if (size_ != o.size_) return false;
  for (std::size_t i = 0; i < size_; i++)
    if (!(data_[i] == o.data_[i])) return false;
  return true;
}

bool Shape::same(const Shape& o) const {
  return std::equal(begin(), end(), o.begin(), o.end(), [](Int a, Int b) { return a.same(b); });
}

std::string to_text(const Shape& s) {
  std::string r = "[";
  for (std::size_t i = 0; i < s.size(); i++) {
    if (i != 0) r += ", ";
    r += to_text(s[i]);
  }
  return r + "]";
}

}  // namespace ingot
