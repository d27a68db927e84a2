// Int: a size, stride, offset or index. A plain number, or an interned symbolic expression while a
// program is traced with open sizes. Rules are written once over Int: arithmetic on numbers is
// arithmetic, arithmetic on symbols builds expressions. A comparison is answered from ranges where
// that proves it, else by the shape environment of the thread, which answers by its hint and
// records a guard; without an environment it is a user error.
#pragma once
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>

namespace ingot {

class Expr;
struct ExprNode;

class Int {
 public:
  constexpr Int() = default;
  template <std::integral T>
  constexpr Int(T v) : bits_(0) {
    const auto x = static_cast<int64_t>(v);
    if (fits(x)) bits_ = x * 2;
    else *this = big(x);
  }
  // An expression of integer type; a constant expression becomes the plain number.
  explicit Int(const Expr& e);

  constexpr bool is_number() const { return (bits_ & 1) == 0 || is_big(); }
  constexpr bool is_symbolic() const { return !is_number(); }
  // The plain number. Requires is_number(): an internal error otherwise.
  constexpr int64_t number() const { return (bits_ & 1) == 0 ? bits_ / 2 : slow_number(); }
  // The plain number; for an expression the shape environment's value, with a guard that it stays
  // so ("specialised").
  int64_t value() const { return (bits_ & 1) == 0 ? bits_ / 2 : slow_value(); }
  // `int64_t n = x.size(0)` is value(); `auto n = x.size(0)` keeps a symbol. To no other type by
  // itself, so that arithmetic with plain numbers stays ours.
  template <std::same_as<int64_t> T>
  operator T() const {
    return value();
  }
  template <class T>
    requires(std::integral<T> || std::floating_point<T>) && (!std::same_as<T, int64_t> && !std::same_as<T, bool>)
  explicit operator T() const {
    return static_cast<T>(value());
  }
  Expr expr() const;

  // Structural identity: never guards.
  constexpr bool same(Int o) const { return bits_ == o.bits_; }
  std::size_t hash() const { return static_cast<std::size_t>(bits_) * 0x9E3779B97F4A7C15ull; }

  friend Int operator+(Int a, Int b) { return both_small(a, b) ? Int(a.bits_ / 2 + b.bits_ / 2) : slow_add(a, b); }
  friend Int operator-(Int a, Int b) { return both_small(a, b) ? Int(a.bits_ / 2 - b.bits_ / 2) : slow_sub(a, b); }
  friend Int operator*(Int a, Int b);
  // As C++ divides: towards zero. User error for a divisor of zero. floor_div and mod round down.
  friend Int operator/(Int a, Int b);
  friend Int operator%(Int a, Int b) { return a - a / b * b; }
  Int operator-() const { return Int(0) - *this; }
  Int& operator+=(Int o) { return *this = *this + o; }
  Int& operator-=(Int o) { return *this = *this - o; }
  Int& operator*=(Int o) { return *this = *this * o; }
  Int& operator++() { return *this += 1; }
  Int& operator--() { return *this -= 1; }

  friend bool operator==(Int a, Int b) { return a.bits_ == b.bits_ || (!both_small(a, b) && slow_eq(a, b)); }
  friend bool operator<(Int a, Int b) { return both_small(a, b) ? a.bits_ < b.bits_ : slow_lt(a, b); }
  friend bool operator>(Int a, Int b) { return b < a; }
  friend bool operator<=(Int a, Int b) { return !(b < a); }
  friend bool operator>=(Int a, Int b) { return !(a < b); }

  // The same beside a plain number: no conversion of an Int competes with these.
  // clang-format off
  template <std::integral T> friend Int operator+(Int a, T b) { return a + Int(b); }
  template <std::integral T> friend Int operator+(T a, Int b) { return Int(a) + b; }
  template <std::integral T> friend Int operator-(Int a, T b) { return a - Int(b); }
  template <std::integral T> friend Int operator-(T a, Int b) { return Int(a) - b; }
  template <std::integral T> friend Int operator*(Int a, T b) { return a * Int(b); }
  template <std::integral T> friend Int operator*(T a, Int b) { return Int(a) * b; }
  template <std::integral T> friend Int operator/(Int a, T b) { return a / Int(b); }
  template <std::integral T> friend Int operator/(T a, Int b) { return Int(a) / b; }
  template <std::integral T> friend Int operator%(Int a, T b) { return a % Int(b); }
  template <std::integral T> friend Int operator%(T a, Int b) { return Int(a) % b; }
  template <std::integral T> friend bool operator==(Int a, T b) { return a == Int(b); }
  template <std::integral T> friend bool operator<(Int a, T b) { return a < Int(b); }
  template <std::integral T> friend bool operator<(T a, Int b) { return Int(a) < b; }
  template <std::integral T> friend bool operator>(Int a, T b) { return a > Int(b); }
  template <std::integral T> friend bool operator>(T a, Int b) { return Int(a) > b; }
  template <std::integral T> friend bool operator<=(Int a, T b) { return a <= Int(b); }
  template <std::integral T> friend bool operator<=(T a, Int b) { return Int(a) <= b; }
  template <std::integral T> friend bool operator>=(Int a, T b) { return a >= Int(b); }
  template <std::integral T> friend bool operator>=(T a, Int b) { return Int(a) >= b; }
  // Beside a real number it is value().
  template <std::floating_point T> friend T operator*(T a, Int b) { return a * static_cast<T>(b); }
  template <std::floating_point T> friend T operator*(Int a, T b) { return static_cast<T>(a) * b; }
  template <std::floating_point T> friend T operator/(T a, Int b) { return a / static_cast<T>(b); }
  template <std::floating_point T> friend T operator/(Int a, T b) { return static_cast<T>(a) / b; }
  // clang-format on

 private:
  // Even: the number times two. Odd: pointer to an interned node, plus one.
  int64_t bits_ = 0;

  static constexpr bool fits(int64_t v) { return v >= -(int64_t{1} << 62) && v < (int64_t{1} << 62); }
  static constexpr bool both_small(Int a, Int b) { return ((a.bits_ | b.bits_) & 1) == 0; }
  bool is_big() const;  // a number outside 63 bits, kept as a constant node (slice's "to the end" is one)
  static Int big(int64_t v);
  int64_t slow_number() const;
  int64_t slow_value() const;
  static Int slow_add(Int a, Int b);
  static Int slow_sub(Int a, Int b);
  static bool slow_eq(Int a, Int b);
  static bool slow_lt(Int a, Int b);
};

Int floor_div(Int a, Int b);  // rounds to minus infinity
Int ceil_div(Int a, Int b);
Int mod(Int a, Int b);        // has the sign of b
Int min(Int a, Int b);
Int max(Int a, Int b);
inline Int operator/(Int a, Int b) { return (a < 0) == (b < 0) ? floor_div(a, b) : -floor_div(-a, b); }
std::string to_text(Int v);   // "12", "s0", "2*s0 + 1"

// True where `a == b` is known without asking the environment for more than ranges: never records a
// guard.
bool statically_equal(Int a, Int b);

}  // namespace ingot
