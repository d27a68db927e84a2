#include <algorithm>

#include "loop/text.hpp"

namespace ingot::loop {
namespace {

using ingot::same;

template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b);

bool same(const Fold& a, const Fold& b) {
  return same(a.tmp, b.tmp) && a.how == b.how && same(a.vars, b.vars) && same(a.body, b.body);
}
bool same(const Store& a, const Store& b) { return a.out == b.out && same(a.offset, b.offset) && same(a.value, b.value); }
bool same(const Nest& a, const Nest& b) {
  const auto same_fold = [](const Fold& x, const Fold& y) {  // its variables are the nest's
    return same(x.tmp, y.tmp) && x.how == y.how && same(x.body, y.body);
  };
  return same(a.vars, b.vars) && std::ranges::equal(a.folds, b.folds, same_fold) && same(a.stores, b.stores);
}
bool same(const Product::Element& a, const Product::Element& b) { return a.buffer == b.buffer && same(a.offset, b.offset); }
bool same(const Product& a, const Product& b) {
  return a.types == b.types && same(a.k, b.k) && same(a.vars, b.vars) && same(a.row, b.row) && same(a.column, b.column) &&
         same(a.rows, b.rows) && same(a.columns, b.columns) && same(a.sums, b.sums) && a.microkernel == b.microkernel &&
         a.place == b.place;
}
bool same(const KernelCall::Argument& a, const KernelCall::Argument& b) {
  return a.kind == b.kind && a.buffer == b.buffer && same(a.values, b.values);
}
bool same(const EagerCall::Size& a, const EagerCall::Size& b) {
  return a.result == b.result && a.dim == b.dim && same(a.symbol, b.symbol);
}
bool same(const Buffer& a, const Buffer& b) {
  return a.name == b.name && a.dtype == b.dtype && same(a.sizes, b.sizes) && same(a.strides, b.strides) && a.place == b.place &&
         same(a.offset, b.offset);
}
bool same(const Guard& a, const Guard& b) {
  return same(a.condition, b.condition) && a.answer == b.answer && a.asked_by == b.asked_by;
}

bool same(const Computation& a, const Computation& b) {
  return a.out == b.out && same(a.vars, b.vars) && same(a.folds, b.folds) && same(a.value, b.value) && same(a.leading, b.leading);
}
bool same(const Kernel& a, const Kernel& b) {
  return a.name == b.name && same(a.outer, b.outer) && same(a.nests, b.nests) && a.across == b.across &&
         same(a.scratch_bytes, b.scratch_bytes) && a.product.has_value() == b.product.has_value() &&
         (!a.product || same(*a.product, *b.product));
}
bool same(const KernelCall& a, const KernelCall& b) { return a.symbol == b.symbol && same(a.args, b.args); }
bool same(const EagerCall& a, const EagerCall& b) {
  return a.op == b.op && a.by_host == b.by_host && a.draws == b.draws && a.text == b.text && a.tensors == b.tensors &&
         same(a.integers, b.integers) && a.results == b.results && same(a.decides, b.decides);
}
bool same(const Decide& a, const Decide& b) { return same(a.symbol, b.symbol) && same(a.value, b.value); }
bool same(const Check& a, const Check& b) { return same(a.condition, b.condition) && a.message == b.message; }
bool same(const Step& a, const Step& b);
bool same(const Branch& a, const Branch& b) {
  return same(a.condition, b.condition) && same(a.then, b.then) && same(a.otherwise, b.otherwise);
}
bool same(const Repeat& a, const Repeat& b) {
  return same(a.test, b.test) && same(a.condition, b.condition) && same(a.body, b.body);
}
bool same(const Times& a, const Times& b) { return same(a.symbol, b.symbol) && same(a.count, b.count) && same(a.body, b.body); }
bool same(const Step& a, const Step& b) {
  if (a.index() != b.index()) return false;
  return std::visit([&]<class T>(const T& x) { return same(x, std::get<T>(b)); }, a);
}

template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  return std::ranges::equal(a, b, [](const T& x, const T& y) { return same(x, y); });
}

}  // namespace

bool same(const Program& a, const Program& b) {
  const auto number = [](const Program& p, std::size_t k) { return k < p.numbers.size() ? p.numbers[k] : Expr(); };
  for (std::size_t k = 0; k < a.inputs.size(); k++)
    if (!same(number(a, k), number(b, k))) return false;
  return a.name == b.name && same(a.symbols, b.symbols) && a.decided == b.decided && same(a.guards, b.guards) &&
         same(a.buffers, b.buffers) && a.inputs == b.inputs && a.constants == b.constants && a.outputs == b.outputs &&
         same(a.steps, b.steps) && same(a.arena_bytes, b.arena_bytes);
}

}  // namespace ingot::loop
