#include "graph/fake.hpp"

#include <algorithm>
#include <cctype>
#include <limits>
#include <map>
#include <numeric>

#include "base/error.hpp"
#include "base/index.hpp"
#include "expr/text.hpp"
#include "tensor/geometry.hpp"

namespace ingot {
namespace {

bool is_open(const Tensor& t) { return t.sizes().is_symbolic() || t.strides().is_symbolic(); }

bool is_identifier(std::string_view s) {
  const auto letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; };
  return !s.empty() && letter(s[0]) &&
         std::all_of(s.begin(), s.end(), [&](char c) { return letter(c) || std::isdigit(static_cast<unsigned char>(c)); });
}

// The numbers of the examples that may be open, with the symbols of `open` in place.
class OpenNumbers {
 public:
  OpenNumbers(const Values& examples, const std::vector<OpenSize>& open, ShapeEnv& env) : examples_(examples), env_(env) {
    for (const Value& v : examples) {
      if (v.is_tensor()) numbers.push_back(v.tensor().sizes());
      else numbers.push_back(v.is_int() ? Shape({v.to_int()}) : Shape());
    }
    for (const OpenSize& o : open)
      if (is_identifier(o.name)) add_symbol(o);
    for (const OpenSize& o : open)
      if (!is_identifier(o.name)) add_derived(o);
  }

  std::vector<Shape> numbers;  // by input: sizes, or the one number

 private:
  const Values& examples_;
  ShapeEnv& env_;
  Names symbols_;

  SizeSource source_of(const OpenSize& o) const {
    INGOT_REQUIRE(o.input >= 0 && o.input < static_cast<int>(examples_.size()), "trace: open size '", o.name, "' names input ",
                  o.input, " of ", examples_.size());
    const Value& v = examples_[at(o.input)];
    INGOT_REQUIRE(v.is_tensor() || v.is_int(), "trace: open size '", o.name, "' names input ", o.input, ", which is a ",
                  v.kind_name(), "; tensors have sizes, and integers can be open");
    return {o.input, v.is_tensor() ? wrap_dim(o.dim, static_cast<int>(v.tensor().dim())) : -1};
  }
  Int& number_at(SizeSource s) { return numbers[at(s.input)][at(std::max(s.dim, 0))]; }

  void add_symbol(const OpenSize& o) {
    const SizeSource source = source_of(o);
    Int& number = number_at(source);
    const int64_t hint = number.value();
    const Expr* known = symbols_.find(o.name);
    if (known == nullptr) {
      number = env_.symbol(o.name, hint, o.lo, o.hi, source, o.kind);
      symbols_.add(number.expr());
      return;
    }
    const int64_t other = env_.hint(*known);
    INGOT_REQUIRE(other == hint, "trace: size '", o.name, "' is ", other, " in one example and ", hint, " in input ", o.input);
    number = env_.derived(*known, hint, source);
  }

  void add_derived(const OpenSize& o) {
    const SizeSource source = source_of(o);
    Int& number = number_at(source);
    number = env_.derived(parse(o.name, symbols_), number.value(), source);
  }
};

}  // namespace

std::vector<OpenSize> every_size_open(const Values& examples) {
  std::vector<OpenSize> open;
  std::map<int64_t, std::string> names;
  int next = 0;
  for (std::size_t i = 0; i < examples.size(); i++) {
    const Value& v = examples[i];
    if (v.is_int() && v.to_int().is_number() && !v.to_int().same(0) && !v.to_int().same(1)) {
      const bool negative = v.to_int64() < 0;
      open.push_back({static_cast<int>(i), 0, text("s", next++), negative ? std::numeric_limits<int64_t>::min() : 2, kUnbounded});
    }
    if (!v.is_tensor() || is_open(v.tensor())) continue;
    for (int d = 0; d < v.tensor().dim(); d++) {
      const int64_t size = v.tensor().size(d).value();
      if (size <= 1) continue;
      const auto [name, is_new] = names.emplace(size, text("s", next));
      next += is_new;
      open.push_back({static_cast<int>(i), d, name->second});
    }
  }
  return open;
}

Shape open_strides(const Tensor& example, const Shape& sizes) {
  if (!sizes.is_symbolic() || is_open(example)) return example.strides();
  const std::vector<int64_t> old_sizes = example.sizes().values(), old_strides = example.strides().values();
  std::vector<std::size_t> inner_first(sizes.size());
  std::iota(inner_first.rbegin(), inner_first.rend(), std::size_t{0});
  std::stable_sort(inner_first.begin(), inner_first.end(), [&](auto a, auto b) { return old_strides[a] < old_strides[b]; });
  Shape strides = example.strides();
  int64_t dense = 1;
  Int open = 1;
  for (const std::size_t d : inner_first) {
    if (old_strides[d] == 0) continue;
    if (old_strides[d] == dense) strides[d] = open;
    dense = old_strides[d] * std::max<int64_t>(old_sizes[d], 1);
    open = strides[d] * sizes[d];
  }
  return strides;
}

namespace {

// Bytes of the storage of example number `first`, and of those after it that share it. Where sizes
// are open, what it has at all sizes is the elements of the tensors: those of the one that reaches
// furthest in the examples.
template <class G>
Int storage_bytes(const Values& examples, const std::vector<Shape>& numbers, std::size_t first, const G& geometry) {
  const Storage* storage = examples[first].tensor()->storage.get();
  Int bytes = storage->nbytes();
  int64_t furthest = -1;
  bool any_open = false;
  for (std::size_t i = first; i < examples.size(); i++) {
    if (!examples[i].is_tensor() || examples[i].tensor()->storage.get() != storage) continue;
    if (is_open(examples[i].tensor())) return storage->nbytes();  // a fake that has open sizes already
    any_open = any_open || numbers[i].is_symbolic();
    const int64_t reached = required_bytes(examples[i].tensor()->geom).value();
    if (reached <= furthest) continue;
    furthest = reached;
    bytes = required_bytes(geometry(i));
  }
  return any_open ? bytes : storage->nbytes();
}

}  // namespace

Values make_fakes(const Values& examples, const std::vector<OpenSize>& open, ShapeEnv& env) {
  const std::vector<Shape> numbers = OpenNumbers(examples, open, env).numbers;
  std::unordered_map<const TensorImpl*, Tensor> made;
  std::unordered_map<const Storage*, Ref<Storage>> storages;
  const auto geometry = [&](std::size_t i) {
    const Tensor& t = examples[i].tensor();
    return Geometry{numbers[i], open_strides(t, numbers[i]), t.storage_offset(), t.dtype()};
  };
  Values fakes;
  for (std::size_t i = 0; i < examples.size(); i++) {
    if (examples[i].is_int()) fakes.push_back(numbers[i][0]);
    else if (!examples[i].is_tensor()) fakes.push_back(examples[i]);
    if (!examples[i].is_tensor()) continue;
    const Tensor& example = examples[i].tensor();
    Tensor& fake = made[example.impl()];
    if (!fake.defined()) {
      Ref<Storage>& storage = storages[example->storage.get()];
      if (!storage) storage = Storage::fake(storage_bytes(examples, numbers, i, geometry), example.device());
      fake = Tensor(make_ref<TensorImpl>(storage, geometry(i)));
    }
    fakes.push_back(fake);
  }
  return fakes;
}

}  // namespace ingot
