#include "compiler/graph_library.hpp"

#include <algorithm>
#include <array>

#include "autograd/unseen_writes.hpp"
#include "base/error.hpp"
#include "base/index.hpp"
#include "base/parallel.hpp"
#include "compiler/functional_graph.hpp"
#include "compiler/program_calls.hpp"
#include "expr/evaluate.hpp"
#include "graph/copy.hpp"
#include "expr/if_known.hpp"
#include "graph/interpret.hpp"
#include "graph/node_table.hpp"
#include "graph/source.hpp"
#include "graph/storage_of.hpp"
#include "io/file.hpp"
#include "io/json.hpp"
#include "io/json_writer.hpp"
#include "loop/lowerer.hpp"
#include "op/applied.hpp"
#include "op/call.hpp"
#include "pass/compiler_passes.hpp"
#include "pass/functional_trace.hpp"
#include "tensor/geometry.hpp"
#include "tensor/impl.hpp"
#include "tensor/random.hpp"
#include "tensor/stand_in.hpp"

namespace ingot::aot {
namespace {

bool draws(const Graph& g) {
  return std::any_of(g.nodes().begin(), g.nodes().end(),
                     [](const auto& n) { return n->kind == NodeKind::call && n->op->form() == Form::random; }) ||
         std::any_of(g.attributes.begin(), g.attributes.end(), [](const auto& entry) {
           const auto* inner = std::get_if<std::shared_ptr<const Graph>>(&entry.second);
           return inner && draws(**inner);
         });
}

// Sizes that the environment knows to be equal have one name: a library that is made of the
// forward's results does not see why.
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

// Values for the symbols of the graph's inputs: what the function was traced on, and for those that
// its data decides, and that are sizes of what the forward kept, any that their range has. They
// rise or fall, whichever makes sizes that say how a tensor lies: one is the difference of two
// numbers.
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
  SymbolValues rising = with_steps(first, step);
  if (has_many_of_each(examples, rising)) return rising;
  const SymbolValues falling = with_steps(first + step * static_cast<int64_t>(symbols.size()), -step);
  return has_many_of_each(examples, falling) ? falling : rising;
}

// Which inputs the graph looks at.
std::vector<bool> used_inputs(const Graph& graph) {
  std::vector<bool> used(graph.nodes().size());
  for (const auto& n : graph.nodes()) for_each_node(n->args, [&](const Node* a) { used[at(a)] = true; });
  for_each_node(graph.outputs, [&](const Node* a) { used[at(a)] = true; });
  return used;
}

std::vector<ViewByPlace> written_by_place(const Node& n) {
  if (n.kind != NodeKind::call || keywords_argument(*n.op) < 0) return {};
  Values args;
  for (const Argument& a : n.args) args.push_back(loop::meta_of(a));
  return views_by_place(op(args[at(operator_argument(*n.op))].string()), {*n.op, args});
}

// A library has the elements of an argument, not its storage: views of that by their places
// (as_strided) are of those elements, lying as they do in the example.
void require_own_elements(const Graph& graph, const std::vector<std::size_t>& taken, const Examples& examples) {
  for (const auto& n : graph.nodes()) {
    for (const ViewByPlace& v : written_by_place(*n))
      for (std::size_t k = 0; k < taken.size(); k++) {
        const Value& input = graph.inputs()[taken[k]]->meta;
        if (examples.lies_otherwise[k] && input.is_tensor() && input.tensor().is_same(v.base)) loop::refuse_other_elements(*n);
      }
    if (n->kind != NodeKind::call || !n->op->def->view.from_storage || !n->args[0].is_node()) continue;
    const Node* base = storage_of(n->args[0].node());
    if (!base->meta.is_tensor()) continue;
    const Geometry& own = base->meta.tensor()->geom;
    // What a second trace makes is laid out as recorded, where that leaves no gaps (lying_as).
    const bool is_computed = base->kind != NodeKind::placeholder;
    if (is_computed && examples.any_lies_otherwise() && !loop::dense_order(own)) loop::refuse_other_elements(*n);
    for (std::size_t k = 0; k < taken.size(); k++) {
      if (graph.inputs()[taken[k]] != base) continue;
      const bool is_outside = n->op->is_view() && n->meta.is_tensor() &&
                              less_if_known(required_bytes(own), required_bytes(n->meta.tensor()->geom)).value_or(false);
      if (examples.lies_otherwise[k] || !own.offset.same(0) || is_outside) loop::refuse_other_elements(*n);
    }
  }
}

// Whether an op of the graph writes views that are said by their places in a storage which begins
// elsewhere than at the base's first element.
bool lies_elsewhere(const ViewByPlace& v) { return !v.base.storage_offset().same(0); }
bool any_lies_elsewhere(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(),
                             [](const auto& n) { return std::ranges::any_of(written_by_place(*n), lies_elsewhere); });
}

// The graph over tensors that begin where their storages do, as those of the examples: such places
// are counted from the base's first element.
Graph with_places_from_first(const Graph& graph) {
  Graph to;
  GraphCopier copier(graph, to);
  for (const auto& n : graph.nodes()) {
    std::vector<std::pair<std::size_t, Argument>> places;
    for (const ViewByPlace& v : written_by_place(*n)) {
      if (!lies_elsewhere(v)) continue;
      const Int first = v.base.storage_offset();
      const Argument& place = n->args[v.offset];
      const Value from_first = loop::meta_of(place).to_int() - first;
      if (place.is_value()) {
        places.emplace_back(v.offset, Argument(from_first));
        continue;
      }
      if (!first.is_number()) loop::refuse_other_elements(*n);
      Node* difference = to.scalar(ScalarFunction::sub, {copier(place), Argument(Value(first))});
      difference->meta = from_first;
      places.emplace_back(v.offset, Argument(difference));
    }
    Node* copy = copier.copy(*n);
    for (auto& [at, place] : places) copy->args[at] = place;
  }
  copier.copy_outputs();
  return to;
}
Pass places_from_first_pass() { return {kPlacesFromFirst.name, with_places_from_first, kPlacesFromFirst.required}; }

// A result of the trace as the graph says that it lies: whoever calls the library goes by that, and
// a trace over examples that lie otherwise has another order of dims. Where the graph says that
// there are gaps, the library's tensor is dense, and is laid out after the run.
Value lying_as(const Value& found, const Value& meta) {
  if (!found.is_tensor() || !meta.is_tensor()) return found;
  const std::optional<std::vector<std::size_t>> inner_first = loop::dense_order(meta.tensor()->geom);
  if (!inner_first) return found;
  const Tensor& t = found.tensor();
  Int stride = 1;
  bool lies_so = true;
  for (const std::size_t d : *inner_first) {
    lies_so = lies_so && (t.sizes()[d].same(1) || t.strides()[d].same(stride));
    stride = stride * t.sizes()[d];
  }
  if (lies_so) return found;
  Shape outer_first, back = Shape::filled(inner_first->size(), 0);
  for (std::size_t k = inner_first->size(); k-- > 0;) {
    back[(*inner_first)[k]] = outer_first.dim();
    outer_first.push_back(static_cast<int64_t>((*inner_first)[k]));
  }
  const Tensor row_major = aten<"clone">(aten<"permute">(t, outer_first), MemoryFormat::contiguous);
  return aten<"permute">(row_major, back);
}

// The same for what a node makes on the way: an op that goes by places (as_strided_scatter) means
// those that the graph says. Views lie as what they are taken of.
Value made_lying_as_recorded(const Node& n, const Value& found) {
  const Node& call = n.kind == NodeKind::item ? *n.args[0].node() : n;
  return call.kind != NodeKind::call || call.op->mutates() || call.op->aliases() ? found : lying_as(found, n.meta);
}

// The arguments that the graph writes.
std::vector<std::size_t> written_inputs(const Graph& graph) {
  std::vector<std::size_t> written;
  for (const auto& n : graph.nodes()) {
    if (n->kind != NodeKind::call || !n->op->mutates()) continue;
    INGOT_REQUIRE(n->op->def->effects.rewires == Rewires::nothing, n->op->qualified(),
                  " changes the storage of an input, which has no compiled form; "
                  "compile without keep_inference_input_mutations",
                  provenance(*n));
    if (!n->args[0].is_node()) continue;
    const Node* target = storage_of(n->args[0].node());
    for (std::size_t k = 0; k < graph.inputs().size(); k++)
      if (graph.inputs()[k] == target) written.push_back(k);
  }
  return written;
}

}  // namespace

void write_plan(const std::string& path, const GraphPlan& plan) {
  JsonWriter w;
  const auto list = [&](std::string_view name, const auto& values) {
    w.key(name).begin_list();
    for (const auto v : values) w.value(v);
    w.end();
  };
  w.begin_object().field("computes", plan.computes);
  list("taken", plan.taken);
  list("written", plan.written);
  w.key("is_number").begin_list();
  for (const bool b : plan.is_number) w.value(b);
  w.end().field("draws", plan.draws);
  std::vector<int64_t> fixed;  // places and values in turns
  for (const auto& [place, value] : plan.fixed) fixed.insert(fixed.end(), {static_cast<int64_t>(place), value});
  list("fixed", fixed);
  w.end();
  PendingFile file(path);
  file.write(w.take());
  file.commit();
}

GraphPlan read_plan(const std::string& path, const Graph& graph) {
  const JsonDocument document(MappedFile::open(path)->bytes(), path);
  const Json j = document.root().of("plan");
  const auto places = [&](std::string_view name) {
    return j.field(name).map([&](const Json& p) {
      if (p.integer() < 0 || p.integer() >= static_cast<int64_t>(graph.inputs().size())) p.fail("expected the place of an input");
      return static_cast<std::size_t>(p.integer());
    });
  };
  GraphPlan plan{j.field("computes").boolean(),
                 places("taken"),
                 places("written"),
                 j.field("is_number").map([](const Json& b) { return b.boolean(); }),
                 j.field("draws").boolean(),
                 {}};
  const std::vector<int64_t> fixed = j.field("fixed").map([](const Json& n) { return n.integer(); });
  if (fixed.size() % 2) j.fail("expected a value for every output that is fixed");
  for (std::size_t k = 0; k < fixed.size(); k += 2) plan.fixed.emplace(static_cast<std::size_t>(fixed[k]), fixed[k + 1]);
  return plan;
}

GraphPart part_of(std::string entry, const Graph& graph, const Values& inputs) {
  GraphPart part;
  Traced traced;
  part.plan.computes = true;
  const Values examples = with_equal_sizes(inputs);
  const std::vector<bool> used = used_inputs(graph);
  const SymbolValues hints = hints_of(examples);
  Examples taken(dynamic_cast<ShapeEnv*>(current_guard_env()));
  for (std::size_t k = 0; k < examples.size(); k++) {
    const bool is_fixed = examples[k].is_number() && !(examples[k].is_int() && !examples[k].to_int().is_number());
    if (!used[at(graph.inputs()[k])] || is_fixed) continue;
    part.plan.taken.push_back(k);
    taken.add(examples[k], hints);
  }
  require_own_elements(graph, part.plan.taken, taken);
  part.named = taken.name_underived();
  part.plan.written = written_inputs(graph);
  for (const Argument& a : graph.outputs) part.plan.is_number.push_back(a.node()->meta.is_number());
  std::optional<Graph> moved;
  if (any_lies_elsewhere(graph)) moved = run_passes(graph, std::array{places_from_first_pass()});
  const Graph& over_examples = moved ? *moved : graph;
  if (std::optional<Traced> functional = as_functional({over_examples, part.plan.taken, examples, taken, part.named})) {
    traced = *std::move(functional);
  } else {
    const Interpreter interpreter(over_examples, taken.any_lies_otherwise() ? made_lying_as_recorded : Interpreter::Made());
    Values all = examples;
    traced = trace_functional(
        [&](const Values& given) {
          for (std::size_t k = 0; k < given.size(); k++) all[part.plan.taken[k]] = given[k];
          Values results = interpreter.run(all);
          for (std::size_t k = 0; k < results.size(); k++) results[k] = lying_as(results[k], graph.outputs[k].node()->meta);
          return results;
        },
        std::move(taken));
  }
  part.plan.draws = draws(traced.graph);
  for (std::size_t k = 0; k < traced.graph.outputs.size(); k++)
    if (const Argument& a = traced.graph.outputs[k]; a.is_value() && a.value().is_int())
      part.plan.fixed[k] = a.value().to_int().value();
  hand_on_roles(graph, part.plan.taken, traced.graph);
  part.entry = function_entry(std::move(entry), std::move(traced.graph), std::move(traced.sizes));
  return part;
}

void pass_on_guards(const ShapeEnv& sizes, const NamedSizes& named) {
  auto* env = dynamic_cast<ShapeEnv*>(current_guard_env());
  if (!env) return;
  for (const Guard& g : sizes.guards()) {
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

GraphLibrary::GraphLibrary(const std::string& file, const std::vector<std::string>& entries) {
  for (const std::string& entry : entries)
    runners_.push_back(runners_.empty() ? std::make_unique<ModelContainerRunner>(
                                              file, RunnerOptions{.num_models = entries.size(), .entry = entry})
                                        : std::make_unique<ModelContainerRunner>(*runners_[0], entry));
  runners_[0]->set_threads(num_threads());
}

Values GraphLibrary::run(std::size_t entry, const GraphPlan& plan, const Values& arguments) {
  TensorList given;
  given.reserve(plan.taken.size());
  for (const std::size_t k : plan.taken) {
    given.push_back(arguments[k].is_tensor() ? arguments[k].tensor() : number_tensor(arguments[k]));
    INGOT_REQUIRE(
        !given.back()->special, "argument ", k,
        " of compiled code is no plain tensor: it runs neither under vmap nor in a trace; call the function that was compiled "
        "there, or take the gradient outside");
  }
  ModelContainerRunner& runner = *runners_[entry];
  const TensorList found = plan.draws ? run_drawing(runner, std::move(given)) : runner.boxed_run(std::move(given));
  for (const std::size_t k : plan.written) {
    Storage& written = *arguments[k].tensor()->storage;
    outdate_stand_ins(written);
    if (!unseen_writes()) written.bump_version();
  }
  INGOT_ENSURE(found.size() + plan.fixed.size() == plan.is_number.size(), "the library returned ", found.size(), " values of ",
               plan.is_number.size(), ", and ", plan.fixed.size(), " are fixed");
  Values results;
  results.reserve(plan.is_number.size());
  for (std::size_t k = 0, next = 0; k < plan.is_number.size(); k++) {
    const auto fixed = plan.fixed.find(k);
    if (fixed != plan.fixed.end()) results.push_back(Value(fixed->second));
    else results.push_back(plan.is_number[k] ? Value(found[next].item()) : Value(found[next])), next++;
  }
  return results;
}

// The random stream of the thread goes on where the run leaves it.
TensorList GraphLibrary::run_drawing(ModelContainerRunner& runner, TensorList given) {
  const std::lock_guard<std::mutex> lock(drawing_);
  Draw draw = default_generator()->state();
  const ModelLibrary& library = runner.library();
  library.ingot_container_set_draw(runner.container(), draw.seed, draw.offset);
  TensorList results = runner.boxed_run(std::move(given));
  library.ingot_container_get_draw(runner.container(), &draw.seed, &draw.offset);
  default_generator()->set_state(draw);
  return results;
}

}  // namespace ingot::aot
