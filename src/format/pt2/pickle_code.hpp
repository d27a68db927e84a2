// The instructions of a pickle, one by one.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace ingot {

// Named as in Python's pickletools; the values are those of the format.
enum class PickleOp : uint8_t {
  // clang-format off
  PROTO = 0x80, GLOBAL = 'c', BINPUT = 'q', LONG_BINPUT = 'r', BINGET = 'h', LONG_BINGET = 'j', MARK = '(', TUPLE = 't',
  TUPLE1 = 0x85, TUPLE2 = 0x86, TUPLE3 = 0x87, EMPTY_TUPLE = ')', EMPTY_LIST = ']', APPEND = 'a', APPENDS = 'e',
  EMPTY_DICT = '}', SETITEM = 's', SETITEMS = 'u', BINUNICODE = 'X', BININT = 'J', BININT1 = 'K', BININT2 = 'M',
  LONG1 = 0x8a, BINFLOAT = 'G', NONE = 'N', NEWTRUE = 0x88, NEWFALSE = 0x89, REDUCE = 'R', BUILD = 'b', BINPERSID = 'Q',
  // clang-format on
  STOP = '.',
};

struct PickleStep {
  PickleOp op = PickleOp::STOP;
  std::size_t at = 0;     // where it stands, for messages
  int64_t integer = 0;    // BININT*, LONG1; the index of *PUT and *GET; the version of PROTO
  double real = 0;        // BINFLOAT
  std::string_view text;  // BINUNICODE; the module of GLOBAL
  std::string_view name;  // of GLOBAL
};

// Takes a pickle apart. User error, starting with `what`, for an instruction that is not in the
// list above, for one that reaches behind the end, and for an integer beyond 64 bits.
class PickleCode {
 public:
  PickleCode(std::string_view code, std::string what) : code_(code), what_(std::move(what)) {}
  PickleStep next();
  std::size_t size() const { return code_.size(); }
  // User error at the place of the last step.
  [[noreturn]] void fail(std::string_view message) const;

 private:
  std::string_view take(uint64_t n);
  std::string_view line();
  template <class T>
  T number();
  std::string_view code_;
  std::size_t at_ = 0, begin_ = 0;
  std::string what_;
};

}  // namespace ingot
