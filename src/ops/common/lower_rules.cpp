#include "ops/common/lower_rules.hpp"

namespace ingot {

void check_indices_in_range(Lowering& l, int argument, int item, const Expr& low, const Expr& size, const std::string& message,
                            const Expr& unread) {
  const Shape& sizes =
      item < 0 ? l.call.tensor(argument).sizes() : l.call[argument].tensors()[static_cast<std::size_t>(item)].sizes();
  const std::vector<Expr> vars = variables_over(l, sizes);
  const Expr i = cast(DType::i64, item < 0 ? l.load(argument, vars) : l.load_item(argument, item, vars));
  const Expr fits = l.fold(Accumulate::all, vars, i >= low && i < size);
  l.check(l.load_temporary(l.temporary({}, fits || unread), {}), message);
}

}  // namespace ingot
