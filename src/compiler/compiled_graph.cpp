#include "compiler/compiled_graph.hpp"

#include <algorithm>
#include <filesystem>

#include "autograd/unseen_writes.hpp"
#include "base/error.hpp"
#include "base/parallel.hpp"
#include "compiler/functional_trace.hpp"
#include "compiler/program_calls.hpp"
#include "expr/text.hpp"
#include "graph/copy.hpp"
#include "graph/dead_code.hpp"
#include "graph/text.hpp"
#include "io/file.hpp"
#include "io/json.hpp"
#include "io/json_writer.hpp"
#include "loop/lowerer.hpp"
#include "op/call.hpp"
#include "tensor/geometry.hpp"
#include "tensor/random.hpp"
#include "tensor/stand_in.hpp"

namespace ingot::aot {
namespace {

std::size_t at(const Node* n) { return static_cast<std::size_t>(n->id); }

// What the node's result is a view of by this one step: another node, or null.
const Node* viewed(const Node& n) {
  if (n.kind == NodeKind::item) {
    const Node* list = n.args[0].node();
    return list->kind == NodeKind::call && list->op->is_view() ? list : nullptr;
  }
  const bool is_alias =
      n.kind == NodeKind::call && (n.op->is_view() || (n.op->variant == Variant::inplace && n.meta.is_tensor()));
  return is_alias && n.args[0].is_node() ? n.args[0].node() : nullptr;
}
const Node* root_of(const Node* n) {
  while (const Node* base = viewed(*n)) n = base;
  return n;
}

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

bool draws(const Graph& g) {
  return std::any_of(g.nodes().begin(), g.nodes().end(),
                     [](const auto& n) { return n->kind == NodeKind::call && n->op->form() == Form::random; }) ||
         std::any_of(g.attributes.begin(), g.attributes.end(), [](const auto& entry) {
           const auto* inner = std::get_if<std::shared_ptr<const Graph>>(&entry.second);
           return inner && draws(**inner);
         });
}

// Sizes that the environment knows to be equal have one name: a library that is made of the forward's results does not see why.
Values with_equal_sizes(Values examples) {
  auto* env = dynamic_cast<ShapeEnv*>(current_guard_env());
  if (env == nullptr || !env->any_equalities()) return examples;
  for (Value& v : examples) {
    if (v.is_int()) v = Value(env->simplify(v.to_int()));
    if (!v.is_tensor()) continue;
    Geometry g = v.tensor()->geom;
    g.sizes = env->simplify(g.sizes);
    g.strides = env->simplify(g.strides);
    v = make_tensor(g, v.tensor().device(), true);
  }
  return examples;
}

bool has_many_of_each(const Values& examples, const SymbolValues& hints) {
  return std::ranges::all_of(examples, [&](const Value& v) {
    return !v.is_tensor() ||
           std::ranges::all_of(v.tensor().sizes(), [&](Int n) { return n.is_number() || evaluate(n.expr(), hints) >= 2; });
  });
}

// Values for the symbols of the graph's inputs: what the function was traced on, and for those that its data decides, and that are
// sizes of what the forward kept, any that their range has. They rise or fall, whichever makes sizes that say how a tensor lies: one
// is the difference of two numbers.
SymbolValues hints_of(const Values& examples) {
  std::map<std::string, Expr> symbols;
  for (const Value& v : examples) add_symbols(v, symbols);
  const auto* env = dynamic_cast<const ShapeEnv*>(current_guard_env());
  INGOT_ENSURE(env || symbols.empty(), "a graph with open sizes is compiled outside of the environment of its symbols");
  if (env == nullptr) return {};
  const auto with_steps = [&](int64_t next, int64_t step) {
    SymbolValues hints = env->hints();
    for (const auto& [name, symbol] : symbols) {
      const int64_t value = is_floating(symbol.dtype()) ? next : std::clamp(next, symbol->lo, symbol->hi);
      if (hints.emplace(name, value).second) next += step;
    }
    return hints;
  };
  const int64_t step = 4, first = 8;
  const SymbolValues rising = with_steps(first, step);
  if (has_many_of_each(examples, rising)) return rising;
  const SymbolValues falling = with_steps(first + step * static_cast<int64_t>(symbols.size()), -step);
  return has_many_of_each(examples, falling) ? falling : rising;
}

// What the library needs of sizes the function needs as well: then its guards say so before the library has to. `named` are those that
// the library has names of its own for.
void pass_on_guards(const ShapeEnv& library, const std::map<std::string, Expr>& named) {
  auto* env = dynamic_cast<ShapeEnv*>(current_guard_env());
  if (!env) return;
  for (const Guard& g : library.guards()) {
    std::vector<Expr> symbols, values;
    bool is_known = true;
    visit(g.condition, [&](const Expr& x) {
      if (x.op() != ExprOp::Sym) return;
      const auto own = named.find(x->name);
      const ShapeEnv::Symbol* symbol = env->find(x->name);
      is_known = is_known && (own != named.end() ? !env->needs_data(own->second) : symbol != nullptr && symbol->hint.has_value());
      if (!is_known) return;
      symbols.push_back(x);
      values.push_back(own != named.end() ? own->second : symbol->expr);
    });
    if (is_known) env->decide(substitute(g.condition, symbols, values));
  }
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
std::string graph_file(const std::string& folder) { return folder + "/graph.txt"; }
std::string plan_file(const std::string& folder) { return folder + "/plan.json"; }

void write_file(const std::string& path, std::string_view bytes) {
  PendingFile file(path);
  file.write(bytes);
  file.commit();
}

void write_plan(const std::string& path, const GraphLibrary::Plan& plan) {
  JsonWriter w;
  const auto list = [&](std::string_view name, const auto& values) {
    w.key(name).begin_list();
    for (const auto v : values) w.value(v);
    w.end();
  };
  w.begin_object();
  list("taken", plan.taken);
  list("written", plan.written);
  w.key("is_number").begin_list();
  for (const bool b : plan.is_number) w.value(b);
  w.end().field("draws", plan.draws);
  std::vector<int64_t> fixed;  // places and values in turns
  for (const auto& [place, value] : plan.fixed) fixed.insert(fixed.end(), {static_cast<int64_t>(place), value});
  list("fixed", fixed);
  w.end();
  write_file(path, w.take());
}

GraphLibrary::Plan read_plan(const std::string& path, const Graph& graph) {
  const JsonDocument document(MappedFile::open(path)->bytes(), path);
  const Json j = document.root().of("plan");
  const auto places = [&](std::string_view name) {
    return j.field(name).map([&](const Json& p) {
      if (p.integer() < 0 || p.integer() >= static_cast<int64_t>(graph.inputs().size())) p.fail("expected the place of an input");
      return static_cast<std::size_t>(p.integer());
    });
  };
  GraphLibrary::Plan plan{places("taken"),
                          places("written"),
                          j.field("is_number").map([](const Json& b) { return b.boolean(); }),
                          j.field("draws").boolean(),
                          {}};
  const std::vector<int64_t> fixed = j.field("fixed").map([](const Json& n) { return n.integer(); });
  if (fixed.size() % 2) j.fail("expected a value for every output that is fixed");
  for (std::size_t k = 0; k < fixed.size(); k += 2) plan.fixed.emplace(static_cast<std::size_t>(fixed[k]), fixed[k + 1]);
  return plan;
}

}  // namespace

GraphLibrary::GraphLibrary(const Graph& graph, const Values& inputs, const CompileOptions& options, const std::string& file) {
  const Values examples = with_equal_sizes(inputs);
  std::vector<bool> used(graph.nodes().size());
  for (const auto& n : graph.nodes()) for_each_node(n->args, [&](const Node* a) { used[at(a)] = true; });
  for_each_node(graph.outputs, [&](const Node* a) { used[at(a)] = true; });
  const SymbolValues hints = hints_of(examples);
  Examples taken(dynamic_cast<const ShapeEnv*>(current_guard_env()));
  Values all = examples;
  for (std::size_t k = 0; k < examples.size(); k++) {
    const bool is_fixed = examples[k].is_number() && !(examples[k].is_int() && !examples[k].to_int().is_number());
    if (!used[at(graph.inputs()[k])] || is_fixed) continue;
    plan_.taken.push_back(k);
    taken.add(examples[k], hints);
  }
  const std::map<std::string, Expr> named = taken.name_underived();
  for (const auto& n : graph.nodes()) {
    if (n->kind != NodeKind::call || !n->op->mutates()) continue;
    INGOT_REQUIRE(n->op->def->rewires == Rewires::nothing, n->op->qualified(),
                  " changes the storage of an input, which has no compiled form; "
                  "compile without keep_inference_input_mutations",
                  provenance(*n));
    if (n->args[0].is_node()) note_written(graph, root_of(n->args[0].node()));
  }
  for (const Argument& a : graph.outputs) plan_.is_number.push_back(a.node()->meta.is_number());

  const Interpreter interpreter(graph);
  Traced traced = trace_functional(
      [&](const Values& given) {
        for (std::size_t k = 0; k < given.size(); k++) all[plan_.taken[k]] = given[k];
        return interpreter.run(all);
      },
      std::move(taken));
  plan_.draws = draws(traced.graph);
  for (std::size_t k = 0; k < traced.graph.outputs.size(); k++)
    if (const Argument& a = traced.graph.outputs[k]; a.is_value() && a.value().is_int())
      plan_.fixed[k] = a.value().to_int().value();
  compile(traced, file, options);
  pass_on_guards(traced.sizes, named);
  open(file);
}

GraphLibrary::GraphLibrary(Plan plan, const std::string& file) : plan_(std::move(plan)) { open(file); }

void GraphLibrary::open(const std::string& file) {
  runner_ = std::make_unique<ModelContainerRunner>(file);
  runner_->set_threads(num_threads());
}

Values GraphLibrary::run(const Values& arguments) {
  TensorList given;
  given.reserve(plan_.taken.size());
  for (const std::size_t k : plan_.taken) {
    given.push_back(arguments[k].is_tensor() ? arguments[k].tensor() : number_tensor(arguments[k]));
    INGOT_REQUIRE(
        !given.back()->special, "argument ", k,
        " of compiled code is no plain tensor: it runs neither under vmap nor in a trace; call the function that was compiled "
        "there, or take the gradient outside");
  }
  const TensorList found = plan_.draws ? run_drawing(std::move(given)) : runner_->boxed_run(std::move(given));
  for (const std::size_t k : plan_.written) {
    Storage& written = *arguments[k].tensor()->storage;
    outdate_stand_ins(written);
    if (!unseen_writes()) written.bump_version();
  }
  INGOT_ENSURE(found.size() + plan_.fixed.size() == plan_.is_number.size(), "the library returned ", found.size(), " values of ",
               plan_.is_number.size(), ", and ", plan_.fixed.size(), " are fixed");
  Values results;
  results.reserve(plan_.is_number.size());
  for (std::size_t k = 0, next = 0; k < plan_.is_number.size(); k++) {
    const auto fixed = plan_.fixed.find(k);
    if (fixed != plan_.fixed.end()) results.push_back(Value(fixed->second));
    else results.push_back(plan_.is_number[k] ? Value(found[next].item()) : Value(found[next])), next++;
  }
  return results;
}

void GraphLibrary::note_written(const Graph& graph, const Node* target) {
  for (std::size_t k = 0; k < graph.inputs().size(); k++)
    if (graph.inputs()[k] == target) plan_.written.push_back(k);
}

// The random stream of the thread goes on where the run leaves it.
TensorList GraphLibrary::run_drawing(TensorList given) {
  const std::lock_guard<std::mutex> lock(drawing_);
  Draw draw = default_generator()->state();
  const ModelLibrary& library = runner_->library();
  library.ingot_container_set_draw(runner_->container(), draw.seed, draw.offset);
  TensorList results = runner_->boxed_run(std::move(given));
  library.ingot_container_get_draw(runner_->container(), &draw.seed, &draw.offset);
  default_generator()->set_state(draw);
  return results;
}

CompiledGraph::CompiledGraph(const Graph& graph, const Values& examples, const CompileOptions& options,
                             const std::string& folder) {
  collect(graph);
  Graph computed;
  GraphCopier copier(graph, computed);
  for (const auto& n : graph.nodes()) copier.copy(*n);
  for (const Node* n : computed_) computed.outputs.push_back(copier(const_cast<Node*>(n)));
  computed = without_dead_code(computed);
  const bool acts =
      std::any_of(computed.nodes().begin(), computed.nodes().end(), [&](const auto& n) { return has_side_effect(computed, *n); });
  if (!computed_.empty() || acts) library_ = std::make_unique<GraphLibrary>(computed, examples, options, library_file(folder));
}

void CompiledGraph::save(const Graph& graph, const std::string& folder) const {
  if (library_) write_plan(plan_file(folder), library_->plan());
  write_file(graph_file(folder), print(graph, GraphForm::full));
}

CompiledGraph::CompiledGraph(const std::string& folder) {
  const Graph graph = parse_graph(MappedFile::open(graph_file(folder))->bytes(), {.file = graph_file(folder)});
  collect(graph);
  if (std::filesystem::exists(library_file(folder)))
    library_ = std::make_unique<GraphLibrary>(read_plan(plan_file(folder), graph), library_file(folder));
  INGOT_REQUIRE(library_ ? library_->plan().is_number.size() == computed_.size() : computed_.empty(), folder,
                ": expected a library with ", computed_.size(), " results");
}

void CompiledGraph::lay_out(const Values& arguments, Values& computed) const {
  if (with_gaps_.empty()) return;
  SymbolValues values;
  for (const auto& [name, place] : sizes_)
    values[name] = arguments[static_cast<std::size_t>(place.input)].tensor().size(place.dim).value();
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
  Values computed = library_ ? library_->run(arguments) : Values();
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
