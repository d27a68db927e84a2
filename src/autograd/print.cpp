// Tensor's text with its history: "tensor([1., 2.], grad_fn=<MulBackward0>)".
#include "tensor/print.hpp"

#include <ostream>

#include "autograd/meta.hpp"
#include "base/dtype.hpp"
#include "base/error.hpp"

namespace ingot {

std::string Tensor::to_string() const {
  std::vector<std::string> suffixes;
  if (defined() && autograd_meta(*this)) {
    std::string fn;
    try {
      fn = grad_fn_name();
    } catch (const UserError&) {
      fn = "Invalid";  // a view whose base was written in a way its history cannot follow
    }
    if (!fn.empty()) suffixes.push_back("grad_fn=<" + fn + ">");
    else if (requires_grad()) suffixes.emplace_back("requires_grad=True");
  }
  return tensor_text(*this, thread_state().default_dtype, suffixes);
}

std::ostream& operator<<(std::ostream& out, const Tensor& t) { return out << t.to_string(); }
std::ostream& operator<<(std::ostream& out, const Scalar& s) { return out << to_text(s); }
std::ostream& operator<<(std::ostream& out, const Shape& s) { return out << to_text(s); }
std::ostream& operator<<(std::ostream& out, Int v) { return out << to_text(v); }
std::ostream& operator<<(std::ostream& out, DType t) { return out << to_text(t); }
std::ostream& operator<<(std::ostream& out, Device d) { return out << to_text(d); }

}  // namespace ingot
