#include "op/function.hpp"

#include <utility>

namespace ingot {

namespace {
class CppFunction final : public Callable {
 public:
  explicit CppFunction(std::function<Values(Args)> f) : f_(std::move(f)) {}
  Values operator()(Args args) const override { return f_(args); }

 private:
  std::function<Values(Args)> f_;
};
}  // namespace

Value make_function(std::function<Values(Args)> f) { return Ref<Callable>(make_ref<CppFunction>(std::move(f))); }

const CallingConvention* calling_convention(const Op& op) { return op.def->convention ? &op.def->convention() : nullptr; }

}  // namespace ingot
