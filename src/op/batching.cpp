#include "ingot/op/batching.hpp"

#include <algorithm>

#include "op/call.hpp"

namespace ingot {
namespace {

bool has(const std::vector<bool>& l) { return std::find(l.begin(), l.end(), true) != l.end(); }

}  // namespace

bool Batching::any() const { return std::any_of(batched_.begin(), batched_.end(), has); }
bool Batching::batched(int i) const { return has(batched_[static_cast<std::size_t>(i)]); }

int Batching::rank(int i) const { return static_cast<int>(tensor(i).dim()) - (batched(i) ? 1 : 0); }
Shape Batching::sizes(int i) const {
  const Shape& s = tensor(i).sizes();
  return batched(i) ? s.sub(1, s.size()) : s;
}

Shape Batching::with_batch(const Shape& sizes) const {
  Shape s{size};
  for (const Int n : sizes) s.push_back(n);
  return s;
}

Tensor Batching::repeated(const Tensor& t) const { return aten<"expand">(aten<"unsqueeze">(t, 0), with_batch(t.sizes())); }
Tensor Batching::front(int i) const {
  const Tensor t = args[static_cast<std::size_t>(i)].tensor_or_none();
  return !t.defined() || batched(i) ? t : repeated(t);
}
Tensor Batching::front(int i, int rank) const { return raise_rank(front(i), rank); }
TensorList Batching::fronts(int i) const {
  TensorList l = tensors(i);
  for (std::size_t k = 0; k < l.size(); k++)
    if (l[k].defined() && !batched(i, static_cast<int>(k))) l[k] = repeated(l[k]);
  return l;
}

Tensor Batching::member_fake(const Tensor& t, bool batched) const {
  Geometry g = t->geom;
  if (batched) g = {g.sizes.sub(1, g.sizes.size()), g.strides.sub(1, g.strides.size()), g.offset, g.dtype};
  return make_tensor(std::move(g), t.device(), true);
}

std::vector<Geometry> Batching::member_results() const {
  Values fakes;
  for (std::size_t i = 0; i < args.size(); i++) {
    if (args[i].is_tensor()) {
      fakes.push_back(member_fake(args[i].tensor(), has(batched_[i])));
    } else if (args[i].is_tensors()) {
      TensorList l = args[i].tensors();
      for (std::size_t k = 0; k < l.size(); k++)
        if (l[k].defined()) l[k] = member_fake(l[k], batched_[i][k]);
      fakes.push_back(std::move(l));
    } else {
      fakes.push_back(args[i]);
    }
  }
  const Scoped<Layer> kernel(thread_state().layer, Layer::kernel);
  const Value r = call(op, fakes);
  std::vector<Geometry> g;
  for (const Tensor& t : r.is_tensors() ? r.tensors() : TensorList{r.tensor()}) g.push_back(t.defined() ? t->geom : Geometry{});
  return g;
}

Tensor raise_rank(const Tensor& t, int rank) {
  Tensor r = t;
  for (int have = static_cast<int>(t.dim()) - 1; have < rank; have++) r = aten<"unsqueeze">(r, 1);
  return r;
}

Tensor merge_dims(const Tensor& t, int dim) {
  Shape s = t.sizes();
  const auto d = static_cast<std::size_t>(dim);
  s[d] = s[d] * s[d + 1];
  s.erase(d + 1);
  return aten<"reshape">(t, s);
}
Tensor split_dim(const Tensor& t, int dim, Int outer, Int inner) {
  Shape s = t.sizes();
  const auto d = static_cast<std::size_t>(dim);
  s[d] = inner;
  s.insert(d, outer);
  return aten<"reshape">(t, s);
}
Tensor move_dim(const Tensor& t, int from, int to) {
  if (from == to) return t;
  Shape order;
  for (int i = 0; i < t.dim(); i++)
    if (i != from) order.push_back(i);
  order.insert(static_cast<std::size_t>(to), from);
  return aten<"permute">(t, order);
}

}  // namespace ingot
