#include "compiler/aot_compiler.hpp"

#include <algorithm>
#include <mutex>

#include "aot/default_decompositions.hpp"
#include "aot/min_cut.hpp"
#include "base/error.hpp"
#include "base/parallel.hpp"
#include "compiler/functional_trace.hpp"
#include "compiler/program_calls.hpp"
#include "graph/copy.hpp"
#include "graph/dead_code.hpp"
#include "graph/interpret.hpp"
#include "ingot/autograd.hpp"
#include "runner/model_container_runner.hpp"
#include "runtime/package.hpp"
#include "tensor/geometry.hpp"
#include "tensor/random.hpp"

namespace ingot::aot {
namespace {

std::size_t at(const Node* n) { return static_cast<std::size_t>(n->id); }

// What the node's result is a view of by this one step: another node, or null.
const Node* viewed(const Node& n) {
  if (n.kind == NodeKind::item) {
    const Node* list = n.args[0].node();
    return list->kind == NodeKind::call && list->op->is_view() ? list : nullptr;
  }
  const bool is_alias = n.kind == NodeKind::call && (n.op->is_view() || (n.op->variant == Variant::inplace && n.meta.is_tensor()));
  return is_alias && n.args[0].is_node() ? n.args[0].node() : nullptr;
}
const Node* root_of(const Node* n) {
  while (const Node* base = viewed(*n)) n = base;
  return n;
}

// Whether views can be taken of what the library returns for the node: it returns dense tensors, and knows no other strides.
bool is_returned_as_it_is(const Node& n) {
  if (n.kind == NodeKind::attribute || !n.meta.is_tensor()) return false;
  const Geometry& g = n.meta.tensor()->geom;
  return !g.sizes.is_symbolic() && !g.strides.is_symbolic() && is_non_overlapping_and_dense(g.sizes, g.strides);
}

bool draws(const Graph& g) {
  return std::any_of(g.nodes().begin(), g.nodes().end(), [](const auto& n) { return n->kind == NodeKind::call && n->op->form() == Form::random; }) ||
         std::any_of(g.attributes.begin(), g.attributes.end(), [](const auto& entry) {
           const auto* inner = std::get_if<std::shared_ptr<const Graph>>(&entry.second);
           return inner && draws(**inner);
         });
}

// Values for the symbols of the graph's inputs: what the function was traced on, and for those that its data decides, and that are
// sizes of what the forward kept, any that their range has.
SymbolValues hints_of(const Values& examples) {
  std::map<std::string, Expr> symbols;
  for (const Value& v : examples) add_symbols(v, symbols);
  if (symbols.empty()) return {};
  const auto* env = dynamic_cast<const ShapeEnv*>(current_guard_env());
  INGOT_ENSURE(env, "a graph with open sizes is compiled outside of the environment of its symbols");
  SymbolValues hints = env->hints();
  int64_t next = 8;
  for (const auto& [name, symbol] : symbols)
    if (hints.emplace(name, std::clamp(next, symbol->lo, symbol->hi)).second) next += 4;
  return hints;
}

// The part of a graph that a library computes.
class GraphLibrary {
 public:
  // `graph` returns tensors and numbers that are computed, or does something.
  GraphLibrary(const Graph& graph, const Values& examples, const CompileOptions& options) {
    std::vector<bool> used(graph.nodes().size());
    for (const auto& n : graph.nodes()) for_each_node(n->args, [&](const Node* a) { used[at(a)] = true; });
    for_each_node(graph.outputs, [&](const Node* a) { used[at(a)] = true; });
    const SymbolValues hints = hints_of(examples);
    Examples taken;
    Values all = examples;
    for (std::size_t k = 0; k < examples.size(); k++) {
      const bool is_fixed = examples[k].is_number() && !(examples[k].is_int() && !examples[k].to_int().is_number());
      if (!used[at(graph.inputs()[k])] || is_fixed) continue;
      taken_.push_back(k);
      taken.add(examples[k], hints);
    }
    taken.name_underived();
    for (const auto& n : graph.nodes()) {
      if (n->kind != NodeKind::call || !n->op->mutates()) continue;
      INGOT_REQUIRE(n->op->def->rewires == Rewires::nothing, n->op->qualified(), " changes the storage of an input, which has no compiled form; "
                    "compile without keep_inference_input_mutations", provenance(*n));
      if (n->args[0].is_node()) note_written(graph, root_of(n->args[0].node()));
    }
    for (const Argument& a : graph.outputs) is_number_.push_back(a.node()->meta.is_number());

    const Interpreter interpreter(graph);
    Traced traced = trace_functional(
        [&](const Values& inputs) {
          for (std::size_t k = 0; k < inputs.size(); k++) all[taken_[k]] = inputs[k];
          return interpreter.run(all);
        },
        std::move(taken));
    draws_ = draws(traced.graph);
    const TemporaryFolder folder;
    const std::string path = folder.path() + "/graph.so";
    compile(traced, path, options);
    runner_ = std::make_unique<ModelContainerRunner>(path);
    runner_->set_threads(num_threads());
  }

  // One value for each output of the graph.
  Values run(const Values& arguments) {
    TensorList given;
    given.reserve(taken_.size());
    for (const std::size_t k : taken_) given.push_back(arguments[k].is_tensor() ? arguments[k].tensor() : number_tensor(arguments[k]));
    const TensorList found = draws_ ? run_drawing(std::move(given)) : runner_->boxed_run(std::move(given));
    for (const std::size_t k : written_) arguments[k].tensor()->storage->bump_version();
    INGOT_ENSURE(found.size() == is_number_.size(), "the library returned ", found.size(), " values of ", is_number_.size());
    Values results;
    results.reserve(found.size());
    for (std::size_t k = 0; k < found.size(); k++) results.push_back(is_number_[k] ? Value(found[k].item()) : Value(found[k]));
    return results;
  }

 private:
  std::unique_ptr<ModelContainerRunner> runner_;
  std::vector<std::size_t> taken_;    // arguments that the library takes
  std::vector<std::size_t> written_;  // … and writes
  std::vector<bool> is_number_;       // by output
  bool draws_ = false;
  std::mutex drawing_;

  void note_written(const Graph& graph, const Node* target) {
    for (std::size_t k = 0; k < graph.inputs().size(); k++)
      if (graph.inputs()[k] == target) written_.push_back(k);
  }
  // The random stream of the thread goes on where the run leaves it.
  TensorList run_drawing(TensorList given) {
    const std::lock_guard<std::mutex> lock(drawing_);
    Draw draw = default_generator()->state();
    const ModelLibrary& library = runner_->library();
    library.ingot_container_set_draw(runner_->container(), draw.seed, draw.offset);
    TensorList results = runner_->boxed_run(std::move(given));
    library.ingot_container_get_draw(runner_->container(), &draw.seed, &draw.offset);
    default_generator()->set_state(draw);
    return results;
  }
};

class CompiledGraph {
 public:
  CompiledGraph(const Graph& graph, const Values& examples, const CompileOptions& options) {
    collect(graph);
    Graph computed;
    GraphCopier copier(graph, computed);
    for (const auto& n : graph.nodes()) copier.copy(*n);
    for (const Node* n : computed_) computed.outputs.push_back(copier(const_cast<Node*>(n)));
    computed = without_dead_code(computed);
    const bool acts = std::any_of(computed.nodes().begin(), computed.nodes().end(), [&](const auto& n) { return has_side_effect(computed, *n); });
    if (!computed_.empty() || acts) library_ = std::make_unique<GraphLibrary>(computed, examples, options);
    if (!taken_.empty()) views_interpreter_ = std::make_unique<Interpreter>(views_);
  }

  Values run(Values& given) const {
    const Values arguments = std::move(given);
    given.clear();
    const Values computed = library_ ? library_->run(arguments) : Values();
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

 private:
  struct Source {
    enum Kind : uint8_t { constant, argument, computed, view } kind = constant;
    std::size_t index = 0;  // among the arguments, what the library returns, or the outputs of views_
    Value value = {};       // of a constant
  };
  std::vector<Source> outputs_;
  std::vector<const Node*> computed_;  // what the library returns
  std::vector<const Node*> taken_;     // outputs that are taken as views
  Graph views_;                        // takes them
  std::vector<Source> bases_;          // what it takes them of
  std::unique_ptr<Interpreter> views_interpreter_;
  std::unique_ptr<GraphLibrary> library_;

  static std::size_t place_in(std::vector<const Node*>& list, const Node* n) {
    const auto place = static_cast<std::size_t>(std::find(list.begin(), list.end(), n) - list.begin());
    if (place == list.size()) list.push_back(n);
    return place;
  }
  static std::size_t place_of_input(const Graph& graph, const Node* n) {
    return static_cast<std::size_t>(std::find(graph.inputs().begin(), graph.inputs().end(), n) - graph.inputs().begin());
  }
  Source source_of(const Graph& graph, const Node* n) {
    if (n->kind == NodeKind::placeholder) return {Source::argument, place_of_input(graph, n)};
    return {Source::computed, place_in(computed_, n)};
  }

  void collect(const Graph& graph) {
    for (const Argument& a : graph.outputs) {
      if (a.is_value()) {
        outputs_.push_back({Source::constant, 0, a.value()});
        continue;
      }
      INGOT_REQUIRE(a.is_node(), "an output of the graph is a list, which has no compiled form");
      const Node *n = a.node(), *root = root_of(n);
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
  }
  // Calls f for the root of a view, and for every number that a step on the way takes.
  template <class F>
  static void base_nodes(const Node* n, const F& f) {
    const Node* next = viewed(*n);
    if (next == nullptr) return f(n);
    base_nodes(next, f);
    for (std::size_t k = 1; k < n->args.size() && n->kind == NodeKind::call && n->op->is_view(); k++) for_each_node(n->args[k], f);
  }
  // Copies the steps on the way to the view. A write returns the tensor that it wrote.
  static void take(const Node* n, GraphCopier& copier, std::vector<bool>& has) {
    if (has[at(n)]) return;
    const Node* next = viewed(*n);
    take(next, copier, has);
    if (n->kind == NodeKind::call && !n->op->is_view()) copier.replace(*n, copier(const_cast<Node*>(next)));
    else copier.copy(*n);
    has[at(n)] = true;
  }
};

AotOptions fusing_options(CompileOptions options) {
  AotOptions o;
  o.forward = ingot_compiler(std::move(options));
  o.partition = [](const Joint& joint) { return partition_min_cut(joint); };
  o.decompositions = &default_decompositions();
  return o;
}

}  // namespace

Compiler ingot_compiler(CompileOptions options) {
  return [options = std::move(options)](const std::shared_ptr<const Graph>& graph, const Values& examples) -> Boxed {
    const GradModeGuard no_grad(false);
    const auto compiled = std::make_shared<const CompiledGraph>(*graph, examples, options);
    return [compiled](Values& arguments) {
      const GradModeGuard no_grad(false);
      return compiled->run(arguments);
    };
  };
}

AotFunction memory_efficient_fusion(TreeFunction f, CompileOptions options) { return aot_function(std::move(f), fusing_options(std::move(options))); }
AotFunction memory_efficient_fusion(const TensorFunction& f, CompileOptions options) { return aot_function(f, fusing_options(std::move(options))); }
AotModule memory_efficient_fusion(nn::Module& module, TreeFunction forward, CompileOptions options) {
  return aot_module(module, std::move(forward), fusing_options(std::move(options)));
}
AotModule memory_efficient_fusion(nn::Layer& layer, CompileOptions options) { return aot_module(layer, fusing_options(std::move(options))); }

}  // namespace ingot::aot
