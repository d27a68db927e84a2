// What Ingot throws. A user error says what was expected, what was found, where and what to do; an
// internal error is a defect of Ingot. Messages start lower-case and end without a period unless
// PyTorch's own text is reproduced.
//
//   try { model(x); } catch (const ingot::UserError& e) { std::cerr << e.what() << '\n'; }
//
// A header of its own: with ingot/session.hpp it needs no library but libingot_runtime.so.
#pragma once
#include <stdexcept>

namespace ingot {

struct Error : std::runtime_error {
  using runtime_error::runtime_error;
  bool names_op = false;  // whether the message says which op refused; for Ingot's own folders
};
struct UserError : Error {
  using Error::Error;
};
// An index or dimension outside its range: PyTorch raises IndexError where it raises RuntimeError
// elsewhere.
struct IndexError : UserError {
  using UserError::UserError;
};
struct InternalError : Error {
  using Error::Error;
};

}  // namespace ingot
