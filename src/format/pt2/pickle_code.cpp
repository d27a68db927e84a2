#include "format/pt2/pickle_code.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/error.hpp"

namespace ingot {

void PickleCode::fail(std::string_view message) const { throw_user_error(text(what_, ": at byte ", begin_, ": ", message)); }

std::string_view PickleCode::take(uint64_t n) {
  if (n > code_.size() - at_) fail("the pickle is cut short");
  at_ += n;
  return code_.substr(at_ - n, n);
}

std::string_view PickleCode::line() {
  const std::size_t end = code_.find('\n', at_);
  if (end == code_.npos) fail("the pickle is cut short");
  const std::string_view s = take(end - at_);
  take(1);
  return s;
}

template <class T>
T PickleCode::number() {
  T v;
  std::memcpy(&v, take(sizeof v).data(), sizeof v);
  return v;
}

PickleStep PickleCode::next() {
  PickleStep s;
  s.at = begin_ = at_;
  const auto byte = number<uint8_t>();
  s.op = static_cast<PickleOp>(byte);
  switch (s.op) {
    case PickleOp::PROTO:
    case PickleOp::BINPUT:
    case PickleOp::BINGET:
    case PickleOp::BININT1: s.integer = number<uint8_t>(); break;
    case PickleOp::BININT2: s.integer = number<uint16_t>(); break;
    case PickleOp::LONG_BINPUT:
    case PickleOp::LONG_BINGET: s.integer = number<uint32_t>(); break;
    case PickleOp::BININT: s.integer = number<int32_t>(); break;
    case PickleOp::LONG1: {
      const std::string_view bytes = take(number<uint8_t>());
      if (bytes.size() > 8) fail(text("an integer of ", bytes.size(), " bytes; at most 8 are read"));
      const bool negative = !bytes.empty() && static_cast<signed char>(bytes.back()) < 0;
      uint64_t v = negative ? ~uint64_t{0} : 0;  // the sign fills what the bytes leave
      for (std::size_t i = bytes.size(); i-- > 0;) v = v << 8 | static_cast<unsigned char>(bytes[i]);
      s.integer = static_cast<int64_t>(v);
      break;
    }
    case PickleOp::BINFLOAT: {  // the one big-endian number
      uint64_t v = 0;
      for (const char c : take(8)) v = v << 8 | static_cast<unsigned char>(c);
      s.real = std::bit_cast<double>(v);
      break;
    }
    case PickleOp::BINUNICODE: s.text = take(number<uint32_t>()); break;
    case PickleOp::GLOBAL:
      s.text = line();
      s.name = line();
      break;
    // clang-format off
    case PickleOp::MARK: case PickleOp::TUPLE: case PickleOp::TUPLE1: case PickleOp::TUPLE2: case PickleOp::TUPLE3:
    case PickleOp::EMPTY_TUPLE: case PickleOp::EMPTY_LIST: case PickleOp::APPEND: case PickleOp::APPENDS:
    case PickleOp::EMPTY_DICT: case PickleOp::SETITEM: case PickleOp::SETITEMS: case PickleOp::NONE: case PickleOp::NEWTRUE:
    case PickleOp::NEWFALSE: case PickleOp::REDUCE: case PickleOp::BUILD: case PickleOp::BINPERSID: case PickleOp::STOP:
    // clang-format on
      break;
    default: {
      constexpr char kHex[] = "0123456789abcdef";
      fail(text("the instruction 0x", std::string{kHex[byte >> 4], kHex[byte & 15]}, " is not allowed"));
    }
  }
  return s;
}

}  // namespace ingot
