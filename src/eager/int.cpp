// Int where nothing is symbolic: numbers alone. Defines what expr/int.cpp, expr/assume.cpp and
// expr/guards.cpp define elsewhere, without the expressions.
#include "ingot/int.hpp"

#include <mutex>
#include <set>

#include "base/error.hpp"
#include "expr/assume.hpp"
#include "expr/guards.hpp"
#include "expr/if_known.hpp"
#include "expr/scalar.hpp"

namespace ingot {
namespace {

// A number of more than 63 bits (slice's "to the end" is one) is kept in memory: one address, one
// number.
const int64_t* place_of(int64_t v) {
  static std::mutex mutex;
  static std::set<int64_t> numbers;
  const std::lock_guard lock(mutex);
  return &*numbers.insert(v).first;
}
int64_t number_at(int64_t bits) { return *reinterpret_cast<const int64_t*>(bits - 1); }

template <class F>
Int checked(Int a, Int b, const char* sign, const F& overflows) {
  int64_t r;
  INGOT_REQUIRE(!overflows(a.number(), b.number(), &r), "integer overflow in ", a, sign, b);
  return r;
}
void require_divisor(Int b) { INGOT_REQUIRE(!b.same(0), "integer division by zero"); }

}  // namespace

bool Int::is_big() const { return true; }

Int Int::big(int64_t v) {
  Int r;
  r.bits_ = reinterpret_cast<int64_t>(place_of(v)) + 1;
  return r;
}

int64_t Int::slow_number() const { return number_at(bits_); }
int64_t Int::slow_value() const { return number_at(bits_); }

Int Int::slow_add(Int a, Int b) {
  return checked(a, b, " + ", [](int64_t x, int64_t y, int64_t* r) { return __builtin_add_overflow(x, y, r); });
}
Int Int::slow_sub(Int a, Int b) {
  return checked(a, b, " - ", [](int64_t x, int64_t y, int64_t* r) { return __builtin_sub_overflow(x, y, r); });
}
Int operator*(Int a, Int b) {
  return checked(a, b, " * ", [](int64_t x, int64_t y, int64_t* r) { return __builtin_mul_overflow(x, y, r); });
}

bool Int::slow_eq(Int a, Int b) { return a.same(b); }
bool Int::slow_lt(Int a, Int b) { return a.number() < b.number(); }

Int floor_div(Int a, Int b) {
  require_divisor(b);
  return b.same(-1) ? -a : Int(floor_quotient(a.number(), b.number()));
}
Int ceil_div(Int a, Int b) {
  const Int q = floor_div(a, b);
  return mod(a, b).same(0) ? q : q + 1;
}
Int mod(Int a, Int b) {
  require_divisor(b);
  return b.same(-1) ? Int(0) : Int(floor_remainder(a.number(), b.number()));
}
Int min(Int a, Int b) { return b < a ? b : a; }
Int max(Int a, Int b) { return a < b ? b : a; }

std::string to_text(Int v) { return std::to_string(v.number()); }
bool statically_equal(Int a, Int b) { return a.same(b); }
std::optional<bool> equal_if_known(Int a, Int b) { return a.same(b); }
std::optional<bool> less_if_known(Int a, Int b) { return a < b; }
bool data_decides(Int) { return false; }
void take_for_less(Int, Int, const std::string&) {}
bool is_truth(Int) { return false; }

// ---- conditions

GuardEnv* current_guard_env() { return nullptr; }

bool assume_nonzero(Int v, const std::string&) { return !v.same(0); }
bool assume_nonzero(Float v, const std::string&) { return v.value() != 0; }
bool assume_at_least(Int a, Int b, const std::string&) { return !(a < b); }
Int truth_of_at_most(Int a, Int b) { return b < a ? 0 : 1; }
Int truth_of_equal(const Shape& a, const Shape& b) { return a == b ? 1 : 0; }
void use_as_size(Int) {}
Int fresh_element(DType) { throw_internal_error(__FILE__, __LINE__, "a tensor of a model has its elements"); }

}  // namespace ingot
