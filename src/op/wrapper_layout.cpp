#include "op/wrapper_layout.hpp"

#include <algorithm>
#include <span>

#include "base/error.hpp"

namespace ingot {
namespace {

void append_leaves(const Tensor& t, TensorList& leaves) {
  const WrapperState* s = wrapper_state(t);
  if (!s) return leaves.push_back(t);
  for (const Tensor& inner : s->inner) append_leaves(inner, leaves);
}

using Leaves = std::span<const Tensor>;

bool same_tensors(Leaves a, Leaves b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Tensor& x, const Tensor& y) { return x.is_same(y); });
}
bool same_storages(Leaves a, Leaves b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Tensor& x, const Tensor& y) { return x->storage == y->storage; });
}

// Puts wrappers together, and remembers them so that what aliases does so again.
class Builder {
 public:
  Tensor build(const WrapperLayout& l, Leaves leaves) {
    if (!l.cls) return leaves.front();
    for (const Built& b : built_)
      if (same_tensors(b.leaves, leaves) && same_metadata(*b.layout, l)) return b.tensor;
    TensorList inner;
    std::size_t next = 0;
    for (const WrapperLayout& i : l.inner) {
      const std::size_t n = i.leaves();
      inner.push_back(build(i, leaves.subspan(next, n)));
      next += n;
    }
    const Tensor t = l.cls->unflatten(inner, l.metadata, l.sizes, l.strides);
    INGOT_REQUIRE(wrapper_state(t), l.cls->name(), ": unflatten made a tensor that is no wrapper");
    for (const Built& b : built_)
      if (l.cls->has_storage() && same_storages(b.leaves, leaves) && same_classes(*b.layout, l)) t->storage = b.tensor->storage;
    built_.push_back({&l, leaves, t});
    return t;
  }

 private:
  struct Built {
    const WrapperLayout* layout;
    Leaves leaves;
    Tensor tensor;
  };
  std::vector<Built> built_;
};

bool same_nesting(const WrapperLayout& a, const WrapperLayout& b, bool with_metadata) {
  return a.cls == b.cls && (!with_metadata || a.metadata.same(b.metadata)) &&
         std::equal(a.inner.begin(), a.inner.end(), b.inner.begin(), b.inner.end(),
                    [&](const WrapperLayout& x, const WrapperLayout& y) { return same_nesting(x, y, with_metadata); });
}

}  // namespace

std::size_t WrapperLayout::leaves() const {
  if (!cls) return 1;
  std::size_t n = 0;
  for (const WrapperLayout& i : inner) n += i.leaves();
  return n;
}

WrapperLayout layout_of(const Tensor& t) {
  WrapperLayout l;
  if (t.defined()) {
    l.sizes = t.sizes();
    l.strides = t.strides();
  }
  if (const WrapperState* s = wrapper_state(t)) {
    l.cls = s->cls;
    l.metadata = s->metadata;
    for (const Tensor& inner : s->inner) l.inner.push_back(layout_of(inner));
  }
  return l;
}

bool same_classes(const WrapperLayout& a, const WrapperLayout& b) { return same_nesting(a, b, false); }
bool same_metadata(const WrapperLayout& a, const WrapperLayout& b) { return same_nesting(a, b, true); }

std::string to_text(const WrapperLayout& l) {
  if (!l.cls) return "Tensor";
  const std::vector<std::string> names = l.cls->inner_names(l.metadata);
  std::string s = l.cls->name() + "(";
  for (std::size_t k = 0; k < l.inner.size(); k++) s += text(k == 0 ? "" : ", ", names[k], "=", l.inner[k]);
  return s + (l.metadata.is_none() ? ")" : text(", metadata=", l.metadata, ")"));
}

Flattened flatten_wrappers(const TensorList& tensors) {
  Flattened f;
  for (const Tensor& t : tensors) {
    append_leaves(t, f.leaves);
    f.layouts.push_back(layout_of(t));
  }
  return f;
}

TensorList unflatten_wrappers(const std::vector<WrapperLayout>& layouts, const TensorList& leaves) {
  std::size_t want = 0;
  for (const WrapperLayout& l : layouts) want += l.leaves();
  INGOT_REQUIRE(want == leaves.size(), "unflatten_wrappers: the layouts need ", want, " plain tensors, found ", leaves.size());
  Builder builder;
  TensorList tensors;
  std::size_t next = 0;
  for (const WrapperLayout& l : layouts) {
    const std::size_t n = l.leaves();
    tensors.push_back(builder.build(l, Leaves(leaves).subspan(next, n)));
    next += n;
  }
  return tensors;
}

DenseFunction dense_function(TensorFunction f, std::vector<WrapperLayout> arguments) {
  auto results = std::make_shared<std::vector<WrapperLayout>>();
  auto function = [f = std::move(f), arguments = std::move(arguments), results](const TensorList& leaves) {
    Flattened flat = flatten_wrappers(f(unflatten_wrappers(arguments, leaves)));
    *results = std::move(flat.layouts);
    return std::move(flat.leaves);
  };
  return {std::move(function), results};
}

}  // namespace ingot
