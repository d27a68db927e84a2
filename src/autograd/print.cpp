// Tensor's text with its history: "tensor([1., 2.], grad_fn=<MulBackward0>)".
#include "tensor/print.hpp"

#include "autograd/meta.hpp"
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

}  // namespace ingot
