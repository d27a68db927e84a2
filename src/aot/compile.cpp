#include "aot/compile.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <utility>

#include "aot/boxed.hpp"
#include "aot/compile_report.hpp"
#include "aot/compiler_run.hpp"
#include "aot/debug_assert.hpp"
#include "aot/graphs.hpp"
#include "aot/inputs.hpp"
#include "aot/log.hpp"
#include "aot/metadata_record.hpp"
#include "aot/own_tokens.hpp"
#include "aot/passes.hpp"
#include "aot/tracing_context.hpp"
#include "autograd/meta.hpp"
#include "base/error.hpp"
#include "graph/interpret.hpp"
#include "ingot/autograd.hpp"
#include "op/tensors.hpp"
#include "tensor/random.hpp"

namespace ingot::aot {
namespace {

Values metas_of_inputs(const Graph& g) {
  Values metas;
  for (const Node* n : g.inputs()) metas.push_back(n->meta);
  return metas;
}

// R156: the first call returns what the graph would, without data.
Boxed fake_first(Boxed run, const Graph& graph, const OutputStrides& strides) {
  Values fakes;
  for (std::size_t k = 0; k < graph.outputs.size(); k++) {
    const Argument& a = graph.outputs[k];
    const Value v = a.is_node() ? a.node()->meta : a.is_value() ? a.value() : Value();
    fakes.push_back(v.is_tensor() && k < strides.size() ? Value(with_strides(v.tensor(), strides[k])) : v);
  }
  return [run = std::move(run), fakes = std::move(fakes), is_first = std::make_shared<std::atomic<bool>>(true)](
             Values& arguments) { return is_first->exchange(false) ? fakes : run(arguments); };
}

// Compiles a forward, or the only graph.
struct CompiledGraph {
  Boxed run;
  CompileReport report;
};
CompiledGraph compile_first(const Compiler& compiler, const std::shared_ptr<const Graph>& graph, GraphKind kind,
                            const AotOptions& options, const CompilerRun& compiler_run) {
  const CompileReportScope scope;
  Boxed run = compiler_run(compiler, graph, metas_of_inputs(*graph), kind);
  if (options.context && options.context->fakify_first_call) run = fake_first(std::move(run), *graph, scope.report().strides);
  return {std::move(run), scope.report()};
}

// R046, R067: the front end has the record of the function over plain tensors before a compiler has
// the graph.
void publish(const AotOptions& options, const Metadata& meta, const JointLayouts& layouts) {
  if (!options.context) return;
  Metadata& m = options.context->metadata.emplace(dense_record(meta, layouts.inputs, layouts.returned));
  for (int k = 0; k < options.params_and_buffers && options.context->inlines_modules; k++) m.static_parameters.push_back(k);
}

// ---- without gradients (R067)

FlatCallable compile_inference(const Prepared& p, Assembly& a, const AotOptions& options, ShapeEnv& sizes,
                               const CompilerRun& compiler_run, const WhenCompiled& tell) {
  BaseGraph base = base_graph(p.f, p.fakes, p.meta, sizes, options.decompositions);
  a.layouts.inputs = std::move(base.inputs);
  a.layouts.returned = std::move(base.returned);
  if (options.unlift_effect_tokens && a.meta.tokens > 0)
    base.graph = run_passes(base.graph, std::array{own_tokens_pass(std::exchange(a.meta.tokens, 0))});
  const auto graph = std::make_shared<const Graph>(std::move(base.graph));
  const Log log(compiler_run.id(), options);
  log.metadata(p.meta);
  log.graph(GraphKind::inference, *graph);
  publish(options, p.meta, a.layouts);
  CompiledGraph c =
      compile_first(options.inference ? options.inference : options.forward, graph, GraphKind::inference, options, compiler_run);
  if (tell && !c.report.artifact.empty()) tell(a, c.report.artifact, "");  // R189
  return around_arguments(a, around_graphs(a, std::move(c.run), nullptr));
}

// ---- with gradients (R068)

// R074: sizes that are saved have the backward compiled now; otherwise its context is there, and
// nothing happens in it (R195). Guards are made when this function is: what the backward needs of
// open sizes they can check only if it is compiled by then.
void compile_ahead(Backward& backward, bool is_wanted, const Log& log, int id) {
  if (!is_wanted) {
    const CompileScope scope(id, GraphKind::backward);
    return;
  }
  try {
    backward.compile();
  } catch (const std::exception& e) {
    log.note(text("failed to eagerly compile backwards for dynamic, suppressing in case backwards not needed: ", e.what()));
  }
}

// R071: every input whose slot in the backward's outputs is none, if no tensor is a wrapper.
std::vector<bool> without_gradient(const Prepared& p, const JointLayouts& layouts, const Graph& backward) {
  std::vector<bool> none(p.meta.inputs.size());
  if (layouts.has_wrappers()) return none;
  const std::size_t first = backward.outputs.size() - none.size();  // tokens before
  INGOT_ENSURE(backward.outputs.size() >= none.size(), "the backward has ", backward.outputs.size(), " results for ", none.size(),
               " inputs");
  for (std::size_t k = 0; k < none.size(); k++)
    none[k] = backward.outputs[first + k].is_none() &&
              !(p.meta.inputs[k].mutation() == Mutation::in_graph && p.meta.inputs[k].mutates_storage_metadata);
  return none;
}

// The two graphs of a function with gradients, as far as they are compiled.
struct CompiledPair {
  Boxed forward;
  std::shared_ptr<Backward> backward;
};

// What the forward returns after its results, for the backward.
struct Saved {
  std::size_t first = 0, tensors = 0, integers = 0;
};

// By the compiler of both; the forward alone where the backward has no compiled form, and nothing
// where there is no such compiler, or it fails: whether the backward is needed is not known yet.
struct CompiledTogether {
  CompiledGraph forward;
  Boxed backward;
};
CompiledTogether compile_together(const GraphPair& pair, const AotOptions& options, const CompilerRun& compiler_run,
                                  const Log& log) {
  if (!options.together || (options.context && options.context->fakify_first_call)) return {};
  const CompileReportScope report;
  try {
    BoxedPair made = compiler_run(options.together, pair);
    if (!made.backward) log.note(text("forward and backward are not compiled together: ", made.why_alone));
    return {{std::move(made.forward), report.report()}, std::move(made.backward)};
  } catch (const UserError& e) {
    log.note(text("forward and backward are not compiled together: ", e.what()));
    return {};
  }
}

// Together, or each by its own compiler; the backward later, where that can wait.
CompiledPair compile_pair(const GraphPair& pair, const Saved& saved, const Assembly& a, const AotOptions& options,
                          const CompilerRun& compiler_run, const Log& log, const WhenCompiled& tell) {
  CompiledTogether both = compile_together(pair, options, compiler_run, log);
  if (both.backward) {
    const CompileScope scope(compiler_run.id(), GraphKind::backward);  // R195
    if (const std::string& key = both.forward.report.artifact; tell && !key.empty()) tell(a, key, key);
    return {std::move(both.forward.run), std::make_shared<Backward>(std::move(both.backward), a.writes_tracked)};
  }
  CompiledGraph forward = both.forward.run
                              ? std::move(both.forward)
                              : compile_first(options.forward, pair.forward, GraphKind::forward, options, compiler_run);
  Values examples = pair.backward_examples;
  const OutputStrides& strides = forward.report.strides;
  const std::size_t end = std::min(strides.size(), saved.first + saved.tensors);
  for (std::size_t k = saved.first; k < end; k++) {
    Value& example = examples[saved.integers + k - saved.first];
    example = with_strides(example.tensor(), strides[k]);  // R073
  }
  std::function<void(const std::string&)> compiled;
  if (tell && !forward.report.artifact.empty())  // R190
    compiled = [tell, a, forward = forward.report.artifact](const std::string& backward) { tell(a, forward, backward); };
  const bool is_guarded =
      options.guards && !options.debug_assert && std::any_of(examples.begin(), examples.end(), has_open_sizes);
  const auto backward = std::make_shared<Backward>(pair.backward, options.backward ? options.backward : options.forward,
                                                   compiler_run, std::move(examples), a.writes_tracked, std::move(compiled));
  compile_ahead(*backward, saved.integers > 0 || is_guarded, log, compiler_run.id());
  return {std::move(forward.run), backward};
}

FlatCallable compile_training(const Prepared& p, Assembly& a, const AotOptions& options, ShapeEnv& sizes,
                              const CompilerRun& compiler_run, const WhenCompiled& tell) {
  const JointGraph joint = joint_graph(p.f, p.fakes, p.meta, sizes, options.decompositions);
  a.layouts = joint.layouts;
  const JointLayouts& layouts = a.layouts;
  const Log log(compiler_run.id(), options);
  log.metadata(p.meta);
  log.graph(GraphKind::joint, joint.graph);
  const Scoped<bool> no_grad(thread_state().grad_mode, false);
  const int tokens = a.meta.tokens;
  Parts parts = [&] {
    const CompileScope scope(compiler_run.id(), GraphKind::joint);
    std::vector<int> written = layouts.inputs.dense_places([&](std::size_t k) { return p.meta.inputs[k].mutates_data; });
    std::vector<int> later = layouts.inputs.dense_places(
        [&](std::size_t k) { return std::ranges::count(joint.written_by_backward, static_cast<int>(k)) > 0; });
    for (std::vector<int>* places : {&written, &later})
      for (int& place : *places) place += tokens;
    return options.partition({joint.graph, static_cast<int>(layouts.returned.dense_size()) + tokens, written, later});
  }();
  for (const Graph* part : {&parts.forward, &parts.backward}) verify_made("partition", *part, joint.graph);  // whosever it is
  if (options.unlift_effect_tokens && tokens > 0) {
    parts.forward = run_passes(parts.forward, std::array{own_tokens_pass(std::exchange(a.meta.tokens, 0))});
    parts.backward = run_passes(parts.backward, std::array{own_tokens_of_backward_pass(tokens)});
  }
  const std::size_t results = static_cast<std::size_t>(a.meta.tokens) + layouts.returned.dense_size();
  say_roles(parts, results);
  log.graph(GraphKind::forward, parts.forward);
  log.graph(GraphKind::backward, parts.backward);
  publish(options, p.meta, layouts);
  a.saved_tensors = parts.saved_tensors;
  a.backward_writes = !joint.written_by_backward.empty();
  a.writes_tracked = std::ranges::any_of(joint.written_by_backward,
                                         [&](int k) { return requires_grad(p.fakes[static_cast<std::size_t>(k)].tensor()); });
  a.without_gradient = without_gradient(p, layouts, parts.backward);
  Values forward_examples = metas_of_inputs(parts.forward), backward_examples = metas_of_inputs(parts.backward);
  const GraphPair pair{std::make_shared<const Graph>(std::move(parts.forward)),
                       std::make_shared<const Graph>(std::move(parts.backward)), std::move(forward_examples),
                       std::move(backward_examples)};
  const Saved saved{results, static_cast<std::size_t>(parts.saved_tensors), static_cast<std::size_t>(parts.saved_integers)};
  CompiledPair compiled = compile_pair(pair, saved, a, options, compiler_run, log, tell);
  FlatCallable graphs = around_graphs(a, std::move(compiled.forward), std::move(compiled.backward));
  if (options.debug_assert)
    graphs = with_gradients_as_assumed(std::move(graphs), p.fakes, options.params_and_buffers, compiler_run.id());
  return around_arguments(a, std::move(graphs));
}

// R013. An environment that the caller brought has symbols already, whose names stay theirs.
std::vector<OpenSize> open_sizes(const Values& arguments, const AotOptions& options, const ShapeEnv& env) {
  INGOT_REQUIRE(
      options.sizes || std::none_of(arguments.begin(), arguments.end(), has_open_sizes),
      "the arguments to compile for are fakes with open sizes, whose environment is not known; give AotOptions::sizes the ShapeEnv they were made in");
  // R137: what a function compiled for open sizes returned has them open here, too.
  const auto is_marked = [](const Value& v, int dim) {
    const AutogradMeta* m = v.is_tensor() ? autograd_meta(v.tensor()) : nullptr;
    return m && (dim < 0 ? m->open_dims != 0 : m->open_dims >> dim & 1);
  };
  if (!options.dynamic && std::none_of(arguments.begin(), arguments.end(), [&](const Value& v) { return is_marked(v, -1); }))
    return {};
  std::vector<OpenSize> open = every_size_open(arguments);
  std::erase_if(open, [&](const OpenSize& o) {
    const Value& v = arguments[static_cast<std::size_t>(o.input)];
    if (!options.dynamic && !is_marked(v, o.dim)) return true;
    return (o.input < options.params_and_buffers && options.static_weight_shapes) || (v.is_tensor() && v.tensor()->is_fake());
  });
  std::map<std::string, std::string> names;
  int next = 0;
  for (OpenSize& o : open) {
    const auto [name, is_new] = names.emplace(o.name, "");
    while (is_new && (name->second.empty() || env.find(name->second))) name->second = text("s", next++);
    o.name = name->second;
  }
  if (!options.one_symbol_for_equal_sizes)
    for (std::size_t k = 0; k < open.size(); k++) open[k].name = text("s", k);
  return open;
}

// R004. A random stream and a function are objects that the graph knows nothing of.
bool is_known_leaf(const Value& v) {
  return v.is_tensor() || (v.is_number() && !v.is_complex()) || v.is_string() || v.is_none() || v.is_generator() ||
         v.is_function();
}

// R079.
void publish_repeats(TracingContext& context, const Dedupe& dedupe) {
  const std::vector<std::size_t> places = dedupe.places();
  INGOT_REQUIRE(context.argument_sources.empty() || places.empty() || context.argument_sources.size() == places.size(),
                "sources are known of ", context.argument_sources.size(), " arguments, and the function has ", places.size());
  for (std::size_t k = 0; k < places.size() && !context.argument_sources.empty(); k++) {
    const auto first = static_cast<std::size_t>(std::find(places.begin(), places.end(), places[k]) - places.begin());
    if (first < k) context.repeats.push_back({context.argument_sources[first], context.argument_sources[k]});
  }
}

// R080, R092. `without_repeats`: of the function between the two.
void check_records(const Prepared& p, const Metadata& given, const Metadata& without_repeats, const Dedupe& dedupe,
                   const SyntheticBase& bases) {
  if (const std::optional<Metadata> expected = dedupe.expected_record(given))
    require_record(*expected, without_repeats, "where repeated arguments are left out");
  if (const std::optional<Metadata> expected = bases.expected_record(without_repeats, p))
    require_record(*expected, p.meta, "where arguments that overlap are one");
}

}  // namespace

bool has_nothing_to_differentiate(const Metadata& m) {
  return std::none_of(m.outputs.begin(), m.outputs.end(), [](const OutputInfo& o) { return o.requires_grad; }) &&
         std::none_of(m.inputs.begin(), m.inputs.end(),
                      [](const InputInfo& i) { return i.requires_grad && i.mutates_data && !i.under_no_grad; });
}

Boxed nop(std::shared_ptr<const Graph> graph, const Values&) {
  return make_boxed([graph, interpreter = std::make_shared<const Interpreter>(*graph)](const Values& arguments) {
    return interpreter->run(arguments);
  });
}

void require_known_output(const Tree& output) {
  const Value& v = output.leaf();
  INGOT_REQUIRE(output.is_leaf() && is_known_leaf(v), "Found ", output.is_leaf() ? std::string(v.kind_name()) : output.type(),
                " in output, which is not a known type. If this type holds tensors, you need to register a pytree for it.");
}

Values fakes_of(const Values& arguments, const AotOptions& options, ShapeEnv& sizes) {
  return fake_inputs(arguments, open_sizes(arguments, options, sizes), sizes);
}

Guards guards_of(const Values& arguments, const Values& fakes, const ShapeEnv& sizes, const Assembly& assembly,
                 const AotOptions& options, Surroundings around) {
  if (!options.guards || options.debug_assert) return {};
  return {arguments, fakes, sizes, assembly, options, std::move(around)};
}

Compiled compile(const FlatFunction& f, const Values& arguments, const AotOptions& options, int id, const WhenCompiled& tell) {
  INGOT_REQUIRE(!options.functionalize_rng_ops,
                "CUDA not available: the stream of random numbers can be an argument of the graphs where it is that of a "
                "graphics processor, and there is none; compile without functionalize_rng_ops");  // R167
  require_skippable(pass_names());
  const OwnStream stream;  // R015: whatever a compiler draws
  Surroundings around = Surroundings::now();
  const nn::TrainingReads reads;
  for (std::size_t k = 0; k < arguments.size(); k++)
    INGOT_REQUIRE(
        is_known_leaf(arguments[k]), "Found ", arguments[k].kind_name(), " in input ", k,
        ", which is not a known type. A compiled function takes tensors, integers, floats, bools, strings and None, in any "
        "container; let the function bring along what is fixed");
  const std::shared_ptr<ShapeEnv> sizes = options.sizes ? options.sizes : std::make_shared<ShapeEnv>();
  const GuardScope scope(*sizes);
  const auto fake = [&](const Values& given) { return fakes_of(given, options, *sizes); };
  const Values fakes = fake(arguments);
  Prepared p{f, arguments, fakes, {}};
  const bool may_train = thread_state().grad_mode && std::any_of(p.fakes.begin(), p.fakes.end(), [](const Value& v) {
                           return v.is_tensor() && requires_grad(v.tensor());
                         });
  p.meta = collect_metadata(f, p.fakes, options.keep_inference_input_mutations, may_train);
  if (may_train && has_nothing_to_differentiate(p.meta)) p.meta.is_train = false;
  const Metadata given = p.meta;
  const Dedupe dedupe(p, options.params_and_buffers, id);
  const Metadata without_repeats = p.meta;
  const SyntheticBase bases(p, fake, options.most_sharing_with_open_sizes);
  if (options.debug_assert) check_records(p, given, without_repeats, dedupe, bases);
  if (options.context) publish_repeats(*options.context, dedupe);
  if (!options.view_replay_for_aliased_outputs)
    for (OutputInfo& o : p.meta.outputs) o.can_replay = false;
  const CompilerRun compiler_run(id, sizes);
  Assembly a{runtime_record(p.meta), dedupe, bases, {}, 0, false, false, {}};
  FlatCallable run = (p.meta.is_train ? compile_training : compile_inference)(p, a, options, *sizes, compiler_run, tell);
  Compiled c{[sizes, run = std::move(run)](Values args) { return run(std::move(args)); },
             guards_of(arguments, fakes, *sizes, a, options, std::move(around))};
  c.guards.add_modules(reads.reads());
  return c;
}

}  // namespace ingot::aot
