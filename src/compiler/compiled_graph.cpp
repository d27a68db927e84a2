#include "compiler/compiled_graph.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "base/error.hpp"
#include "base/index.hpp"
#include "expr/evaluate.hpp"
#include "graph/copy.hpp"
#include "graph/dead_code.hpp"
#include "graph/node_table.hpp"
#include "graph/storage_of.hpp"
#include "graph/text.hpp"
#include "io/file.hpp"
#include "loop/lowerer.hpp"
#include "op/call.hpp"
#include "pass/compiler_passes.hpp"
#include "pass/dead_code.hpp"
#include "tensor/geometry.hpp"

namespace ingot::aot {
namespace {

// Whether what is returned for the node lies as its meta says, so that views can be taken of it.
bool is_returned_as_it_is(const Node& n) {
  if (n.kind == NodeKind::attribute || !n.meta.is_tensor()) return false;
  const Geometry& g = n.meta.tensor()->geom;
  if (g.sizes.is_symbolic() || g.strides.is_symbolic()) return loop::dense_geometry(g).strides.same(g.strides);
  return !may_overlap(g);
}
Tensor laid_out(const Tensor& t, const Shape& strides) {
  if (t.strides().same(strides)) return t;
  const Tensor r = aten<"empty_strided">(t.sizes(), strides, t.dtype());
  aten_value<"copy_">(r, t);
  return r;
}

std::size_t place_in(std::vector<const Node*>& list, const Node* n) {
  const auto place = static_cast<std::size_t>(std::find(list.begin(), list.end(), n) - list.begin());
  if (place == list.size()) list.push_back(n);
  return place;
}
std::size_t place_of_input(const Graph& graph, const Node* n) {
  return static_cast<std::size_t>(std::find(graph.inputs().begin(), graph.inputs().end(), n) - graph.inputs().begin());
}

// Calls f for the root of a view, and for every number that a step on the way takes.
template <class F>
void base_nodes(const Node* n, const F& f) {
  const Node* next = viewed(*n);
  if (next == nullptr) return f(n);
  base_nodes(next, f);
  for (std::size_t k = 1; k < n->args.size() && n->kind == NodeKind::call && n->op->is_view(); k++) for_each_node(n->args[k], f);
}
// Copies the steps on the way to the view. A write returns the tensor that it wrote.
void take(const Node* n, GraphCopier& copier, std::vector<bool>& has) {
  if (has[at(n)]) return;
  const Node* next = viewed(*n);
  take(next, copier, has);
  if (n->kind == NodeKind::call && !n->op->is_view()) copier.replace(*n, copier(const_cast<Node*>(next)));
  else copier.copy(*n);
  has[at(n)] = true;
}

// ---- the files

std::string library_file(const std::string& folder) { return folder + "/graph.so"; }
std::string graph_file(const std::string& folder, const std::string& entry) { return folder + "/" + entry + ".txt"; }
std::string plan_file(const std::string& folder, const std::string& entry) { return folder + "/" + entry + ".plan"; }

void write_file(const std::string& path, std::string_view bytes) {
  PendingFile file(path);
  file.write(bytes);
  file.commit();
}

// ---- graphs on their way into a library

// Graphs on their way into one library, as entry points of a program: those that compute something.
class GraphsOfLibrary {
 public:
  GraphsOfLibrary() { program_.name = "model", program_.entries.clear(); }

  void add(const GraphToCompile& g) {
    Taken t{std::make_shared<CompiledGraph>(g.graph), {}, {}, {}};
    const Graph computed = t.compiled->computed(g.graph);
    const bool acts = std::ranges::any_of(computed.nodes(), [&](const auto& n) { return has_side_effect(computed, *n); });
    if (!computed.outputs.empty() || acts) {
      GraphPart part = part_of(g.entry, computed, g.examples);
      t.entry = program_.entries.size();
      t.plan = std::move(part.plan);
      t.named = std::move(part.named);
      program_.entries.push_back(std::move(part.entry));
    }
    graphs_.push_back(std::move(t));
  }

  // What is known of the sizes of the only one that was added so far; and that one alone again,
  // with no more known of them.
  std::optional<ShapeEnv> first_sizes() const { return program_.entries.empty() ? std::nullopt : program_.main().sizes; }
  void keep_first(std::optional<ShapeEnv> sizes) {
    graphs_.resize(1);
    program_.entries.resize(graphs_[0].entry ? 1 : 0);
    if (graphs_[0].entry) program_.main().sizes = std::move(sizes);
  }

  // By graph, in the order in which they were added.
  std::vector<std::shared_ptr<const CompiledGraph>> compile(const CompileOptions& options, const std::string& folder) {
    if (!program_.entries.empty()) {
      ingot::compile(program_, library_file(folder), options);
      std::vector<std::string> names;
      for (const EntryPoint& e : program_.entries) names.push_back(e.name);
      const auto library = std::make_shared<GraphLibrary>(library_file(folder), names);
      for (Taken& t : graphs_) {
        if (!t.entry) continue;
        pass_on_guards(*program_.entries[*t.entry].sizes, t.named);
        t.compiled->run_by(library, *t.entry, std::move(t.plan));
      }
    }
    std::vector<std::shared_ptr<const CompiledGraph>> made;
    for (const Taken& t : graphs_) made.push_back(t.compiled);
    return made;
  }

 private:
  struct Taken {
    std::shared_ptr<CompiledGraph> compiled;
    std::optional<std::size_t> entry;  // of the program; none: nothing is computed
    GraphPlan plan;
    NamedSizes named;
  };
  std::vector<Taken> graphs_;
  Program program_;
};

}  // namespace

std::vector<std::shared_ptr<const CompiledGraph>> compile_graphs(std::span<const GraphToCompile> graphs,
                                                                 const CompileOptions& options, const std::string& folder) {
  GraphsOfLibrary all;
  for (const GraphToCompile& g : graphs) all.add(g);
  return all.compile(options, folder);
}

CompiledForwardBackward compile_forward_backward(const GraphToCompile& forward, const GraphToCompile& backward,
                                                 const CompileOptions& options, const std::string& folder) {
  GraphsOfLibrary both;
  both.add(forward);
  const std::optional<ShapeEnv> sizes = both.first_sizes();
  std::string why;
  try {
    both.add(backward);
    const auto made = both.compile(options, folder);
    return {made[0], made[1], ""};
  } catch (const UserError& e) {
    why = e.what();
  }
  both.keep_first(sizes);  // without what lowering left in them
  return {both.compile(options, folder)[0], nullptr, why};
}

Graph CompiledGraph::computed(const Graph& graph) const {
  const auto with_computed_outputs = [this](const Graph& g) {
    Graph to;
    GraphCopier copier(g, to);
    for (const auto& n : g.nodes()) copier.copy(*n);
    for (const Node* n : computed_) to.outputs.push_back(copier(const_cast<Node*>(n)));
    return to;
  };
  const Pass computed_outputs{kComputedOutputs.name, with_computed_outputs, kComputedOutputs.required};
  return run_passes(graph, std::array{computed_outputs, dead_code_pass()});
}

void CompiledGraph::run_by(std::shared_ptr<GraphLibrary> library, std::size_t entry, GraphPlan plan) {
  library_ = std::move(library);
  entry_ = entry;
  plan_ = std::move(plan);
}

void CompiledGraph::save(const Graph& graph, const std::string& entry, const std::string& folder) const {
  write_plan(plan_file(folder, entry), plan_);
  write_file(graph_file(folder, entry), print(graph, GraphForm::full));
}

std::vector<std::shared_ptr<const CompiledGraph>> CompiledGraph::read(const std::string& folder,
                                                                      std::span<const std::string_view> entries) {
  std::vector<std::shared_ptr<CompiledGraph>> all;
  std::vector<std::string> names;  // of those that compute something
  for (const std::string_view name : entries) {
    const std::string entry(name), file = graph_file(folder, entry);
    const Graph graph = parse_graph(MappedFile::open(file)->bytes(), {.file = file});
    all.push_back(std::make_shared<CompiledGraph>(graph));
    CompiledGraph& made = *all.back();
    made.plan_ = read_plan(plan_file(folder, entry), graph);
    INGOT_REQUIRE(made.plan_.is_number.size() == made.computed_.size(), folder, ": expected a library with ",
                  made.computed_.size(), " results");
    made.computed_.clear();  // nodes of a graph that goes
    made.entry_ = names.size();
    if (made.plan_.computes) names.push_back(entry);
  }
  const auto library = names.empty() ? nullptr : std::make_shared<GraphLibrary>(library_file(folder), names);
  for (const auto& made : all)
    if (made->plan_.computes) made->library_ = library;
  return {all.begin(), all.end()};
}

void CompiledGraph::lay_out(const Values& arguments, Values& computed) const {
  if (with_gaps_.empty()) return;
  SymbolValues values;
  for (const auto& [name, place] : sizes_) values[name] = arguments[at(place.input)].tensor().size(place.dim).value();
  for (const auto& [k, strides] : with_gaps_) {
    Shape now;
    for (const Int& s : strides) now.push_back(evaluate(s.expr(), values));
    const Tensor& t = computed[k].tensor();
    if (!may_overlap({t.sizes(), now, 0, t.dtype()})) computed[k] = laid_out(t, now);
  }
}

Values CompiledGraph::run(Values& given) const {
  const Values arguments = std::move(given);
  given.clear();
  Values computed = library_ ? library_->run(entry_, plan_, arguments) : Values();
  lay_out(arguments, computed);
  Values taken;
  if (views_interpreter_) {
    Values bases;
    bases.reserve(bases_.size());
    for (const Source& s : bases_) bases.push_back(s.kind == Source::argument ? arguments[s.index] : computed[s.index]);
    taken = views_interpreter_->run(bases);
  }
  Values results;
  results.reserve(outputs_.size());
  for (const Source& s : outputs_) {
    switch (s.kind) {
      case Source::constant: results.push_back(s.value); break;
      case Source::argument: results.push_back(arguments[s.index]); break;
      case Source::computed: results.push_back(computed[s.index]); break;
      case Source::view: results.push_back(taken[s.index]); break;
    }
  }
  return results;
}

CompiledGraph::Source CompiledGraph::source_of(const Graph& graph, const Node* n) {
  if (n->kind == NodeKind::placeholder) return {Source::argument, place_of_input(graph, n)};
  return {Source::computed, place_in(computed_, n)};
}

void CompiledGraph::collect(const Graph& graph) {
  for (const Argument& a : graph.outputs) {
    if (a.is_value()) {
      outputs_.push_back({Source::constant, 0, a.value()});
      continue;
    }
    INGOT_REQUIRE(a.is_node(), "an output of the graph is a list, which has no compiled form");
    const Node *n = a.node(), *root = storage_of(n);
    const bool is_view = root != n && (root->kind == NodeKind::placeholder || is_returned_as_it_is(*root));
    outputs_.push_back(is_view ? Source{Source::view, place_in(taken_, n)} : source_of(graph, n));
  }
  GraphCopier copier(graph, views_);
  std::vector<bool> has(graph.nodes().size());
  const auto base = [&](const Node* n) {
    if (has[at(n)]) return;
    has[at(n)] = true;
    bases_.push_back(source_of(graph, n));
    copier.replace(*n, views_.placeholder(n->name));
  };
  for (const Node* n : taken_) base_nodes(n, base);
  for (const Node* n : taken_) take(n, copier, has);
  for (const Node* n : taken_) views_.outputs.push_back(copier(const_cast<Node*>(n)));
  if (!taken_.empty()) views_interpreter_ = std::make_unique<Interpreter>(views_);
  find_gaps(graph);
}

void CompiledGraph::find_gaps(const Graph& graph) {
  for (std::size_t i = 0; i < graph.inputs().size(); i++) {
    const Value& meta = graph.inputs()[i]->meta;
    for (int d = 0; meta.is_tensor() && d < meta.tensor().dim(); d++)
      if (const Expr size = meta.tensor().sizes()[d].expr(); size.op() == ExprOp::Sym)
        sizes_.emplace(size->name, SizeSource{static_cast<int>(i), d});
  }
  for (std::size_t k = 0; k < computed_.size(); k++) {
    const Node& n = *computed_[k];
    if (n.kind == NodeKind::attribute || !n.meta.is_tensor()) continue;
    const Geometry& g = n.meta.tensor()->geom;
    const bool is_open = g.sizes.is_symbolic() || g.strides.is_symbolic();
    if (is_open ? is_returned_as_it_is(n) : may_overlap(g) || is_non_overlapping_and_dense(g.sizes, g.strides)) continue;
    bool is_known = true;
    for (const Int& s : g.strides)
      visit(s.expr(), [&](const Expr& e) { is_known = is_known && (e.op() != ExprOp::Sym || sizes_.contains(e->name)); });
    if (is_known) with_gaps_.emplace_back(k, g.strides);
  }
}

}  // namespace ingot::aot
