#include "compiler/functional_graph.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <unordered_map>

#include "graph/copy.hpp"
#include "graph/node_table.hpp"
#include "graph/storage_of.hpp"
#include "op/call.hpp"
#include "op/tensors.hpp"
#include "pass/compiler_passes.hpp"
#include "pass/decompose.hpp"
#include "tensor/impl.hpp"

namespace ingot {
namespace {

bool are_tensors(const Value& meta) { return meta.is_tensor() || meta.is_tensors(); }

// An assertion, say: nothing takes its place, and nobody waits for it.
bool only_acts(const Op& op) {
  return op.schema.results.empty() && !op.def->effects.ordered && !op.comes_apart() && !core_decompositions().contains(&op);
}

bool is_functional(const Graph& graph, const Node& n) {
  switch (n.kind) {
    case NodeKind::placeholder: return true;
    case NodeKind::attribute: return std::holds_alternative<Tensor>(*graph.find_attribute(n.target));
    case NodeKind::item: return are_tensors(n.meta);
    case NodeKind::scalar: return n.meta.is_number();
    case NodeKind::call:
      return (n.meta.is_number() || (are_tensors(n.meta) && !n.op->comes_apart()) || only_acts(*n.op)) &&
             std::ranges::none_of(n.args, [](const Argument& a) { return a.is_value() && a.value().is_generator(); });
    default: return false;
  }
}

// Whether nothing is written but inputs, by what functionalize leaves of writes, and nothing looks
// at one that was.
bool writes_last(const Graph& graph) {
  std::set<const Node*> written;
  bool is_read = false;
  const auto reads = [&](const Node* a) { is_read = is_read || written.contains(storage_of(a)); };
  for (const auto& n : graph.nodes()) {
    const bool writes = n->kind == NodeKind::call && n->op->mutates();
    if (writes && n->op != &op_ref<"copy_">()) return false;
    for (std::size_t k = writes ? 1 : 0; k < n->args.size() && !written.empty(); k++) for_each_node(n->args[k], reads);
    if (!writes) continue;
    if (!n->args[0].is_node() || n->args[0].node()->kind != NodeKind::placeholder) return false;
    written.insert(n->args[0].node());
  }
  for_each_node(graph.outputs, reads);
  return !is_read;
}

bool lie_alike(const Geometry& a, const Geometry& b) {
  return a.sizes.same(b.sizes) && a.strides.same(b.strides) && a.offset.same(b.offset) && a.dtype == b.dtype;
}

// Sizes of a function, in its environment, as those of a graph that is taken out of it.
class OwnSizes {
 public:
  OwnSizes(ShapeEnv* function, const ShapeEnv& own, const std::map<std::string, Expr>& named) : function_(function), own_(own) {
    for (const auto& [name, size] : named) {
      sizes_.push_back(size);
      names_.push_back(own.find(name)->expr);
    }
  }

  // Whether all that was asked for could be said, without data.
  bool are_known() const { return are_known_; }

  Expr operator()(const Expr& e) {
    if (e.is_const()) return e;
    const std::optional<Expr> own = said(function_ ? function_->simplify(e) : e);
    are_known_ = are_known_ && own && (!function_ || !function_->needs_data(e));
    return own.value_or(e);
  }
  Int operator()(Int v) { return v.is_number() ? v : Int((*this)(v.expr())); }
  Shape operator()(const Shape& s) {
    Shape own;
    for (const Int& i : s) own.push_back((*this)(i));
    return own;
  }
  Value operator()(const Value& meta) {
    if (meta.is_int()) return (*this)(meta.to_int());
    if (meta.is_float() && meta.to_float().is_symbolic()) return Float((*this)(meta.to_float().expr()));
    return map_tensors(meta, [&](const Tensor& t) {
      const Geometry& g = t->geom;
      const Geometry own{(*this)(g.sizes), (*this)(g.strides), (*this)(g.offset), g.dtype};
      const Ref<Storage> storage = (*this)(t->storage);
      return lie_alike(g, own) && storage == t->storage ? t : Tensor(make_ref<TensorImpl>(storage, own));
    });
  }
  Ref<Storage> operator()(const Ref<Storage>& storage) {
    if (storage->nbytes().is_number()) return storage;
    Ref<Storage>& own = storages_[storage.get()];
    if (!own) own = Storage::fake((*this)(storage->nbytes()), storage->device());
    return own;
  }

  // What the function needs of its sizes, as far as the graph has them.
  std::vector<Guard> guards() const {
    std::vector<Guard> all;
    if (!function_) return all;
    for (const Guard& g : function_->guards()) {
      std::optional<Expr> condition = said(g.condition);
      if (!condition) condition = said(function_->with_known_symbols(g.condition));
      if (condition && !condition->is_const()) all.push_back({*condition, g.answer, g.asked_by});
    }
    return all;
  }

 private:
  ShapeEnv* function_;
  const ShapeEnv& own_;
  std::vector<Expr> sizes_, names_;  // what has a name of its own, and that name
  std::unordered_map<const Storage*, Ref<Storage>> storages_;  // of the function, and the graph's own
  bool are_known_ = true;

  std::optional<Expr> said(const Expr& e) const {
    const Expr in_names = substitute(e, sizes_, names_);
    std::vector<Expr> from, to;
    bool is_known = true;
    visit(in_names, [&](const Expr& x) {
      if (x.op() != ExprOp::Sym) return;
      const ShapeEnv::Symbol* own = own_.find(x->name);
      is_known = is_known && own != nullptr;
      if (own == nullptr || same(own->expr, x)) return;
      from.push_back(x);
      to.push_back(own->expr);
    });
    if (!is_known) return {};
    return substitute(in_names, from, to);
  }
};

// The graph over the inputs that are taken, with numbers in the place of those that are known.
// `metas`: by node.
Pass taken_inputs_pass(const GraphToTake& g, const Values& metas) {
  const auto over_taken = [&g, &metas](const Graph& from) {
    Graph to;
    GraphCopier copier(from, to);
    const auto copy = [&](const Node& n) { copier.copy(n)->meta = metas[at(&n)]; };
    for (std::size_t k = 0; k < from.inputs().size(); k++)
      if (g.inputs[k].is_number()) copier.replace(*from.inputs()[k], Argument(g.inputs[k]));
    for (const std::size_t k : g.taken) copy(*from.inputs()[k]);
    for (const auto& n : from.nodes()) {
      if (n->kind == NodeKind::placeholder) continue;
      const Value& meta = metas[at(n.get())];
      if (meta.is_int() && meta.to_int().is_number()) copier.replace(*n, Argument(meta));
      else copy(*n);
    }
    copier.copy_outputs();
    return to;
  };
  return {kTakenInputs.name, over_taken, kTakenInputs.required};
}

}  // namespace

std::optional<Traced> as_functional(const GraphToTake& g) {
  if (!std::ranges::all_of(g.graph.nodes(), [&](const auto& n) { return is_functional(g.graph, *n); })) return {};
  if (!writes_last(g.graph)) return {};
  // All that is recorded of what is computed would have to be found anew.
  if (g.examples.any_lies_otherwise()) return {};
  Traced made;
  const Values fakes = make_fakes(g.examples.values, g.examples.open, made.sizes);
  OwnSizes own(dynamic_cast<ShapeEnv*>(current_guard_env()), made.sizes, g.named);
  Values metas(g.graph.nodes().size());
  for (std::size_t k = 0; k < g.taken.size(); k++) {
    const Node* input = g.graph.inputs()[g.taken[k]];
    const Value meta = own(g.inputs[g.taken[k]]);
    const bool lies_so = meta.is_tensor() && lie_alike(meta.tensor()->geom, fakes[k].tensor()->geom);
    metas[at(input)] = lies_so ? meta : fakes[k];
  }
  for (const Value& v : g.inputs)
    if (v.is_float()) own(v);  // no library takes them
  for (const auto& n : g.graph.nodes())
    if (n->kind != NodeKind::placeholder) metas[at(n.get())] = own(n->meta);
  if (!own.are_known()) return {};
  for (const Guard& guard : own.guards()) made.sizes.learn(guard);
  made.graph = run_passes(g.graph, std::array{taken_inputs_pass(g, metas), decompose_pass(made.sizes)});
  return made;
}

}  // namespace ingot
