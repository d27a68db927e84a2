#include "aot/compile.hpp"

#include <algorithm>
#include <map>

#include "aot/compiler_turn.hpp"
#include "aot/debug_assert.hpp"
#include "aot/dedupe.hpp"
#include "aot/graphs.hpp"
#include "aot/inputs.hpp"
#include "aot/log.hpp"
#include "aot/metadata_record.hpp"
#include "aot/output_strides.hpp"
#include "aot/runtime.hpp"
#include "aot/synthetic_base.hpp"
#include "aot/training.hpp"
#include "autograd/meta.hpp"
#include "base/error.hpp"
#include "graph/interpret.hpp"
#include "ingot/autograd.hpp"
#include "op/tensors.hpp"

namespace ingot::aot {
namespace {

Values metas_of_inputs(const Graph& g) {
  Values metas;
  for (const Node* n : g.inputs()) metas.push_back(n->meta);
  return metas;
}

// ---- without gradients (R067)

FlatCallable compile_inference(const Prepared& p, const AotOptions& options, ShapeEnv& sizes, const CompilerTurn& turn) {
  BaseGraph base = base_graph(p.f, p.fakes, p.meta, sizes, options.decompositions);
  const auto graph = std::make_shared<const Graph>(std::move(base.graph));
  const Log log(turn.id(), options);
  log.metadata(p.meta);
  log.graph(GraphKind::inference, *graph);
  const Boxed run = turn(options.inference ? options.inference : options.forward, graph, metas_of_inputs(*graph), GraphKind::inference);
  return [meta = runtime_record(p.meta), run, takes_wrappers = base.inputs.has_wrappers(), returned = std::move(base.returned)](Values arguments) {
    const Values needed = needed_afterwards(meta, arguments);
    Values results;
    {
      const Scoped<bool> no_grad(thread_state().grad_mode, false);
      if (takes_wrappers) arguments = unwrapped(arguments);
      results = returned.wrapped(run(arguments));
    }
    return finish_call(meta, needed, results);
  };
}

// ---- with gradients (R068)

// R074: sizes that are saved make the backward's turn come now; otherwise its context is there, and nothing happens in it (R195).
void compile_ahead(Backward& backward, int saved_integers, const Log& log, int id) {
  if (saved_integers == 0) {
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
  INGOT_ENSURE(backward.outputs.size() == none.size(), "the backward has ", backward.outputs.size(), " results for ", none.size(), " inputs");
  for (std::size_t k = 0; k < none.size(); k++)
    none[k] = backward.outputs[k].is_none() && !(p.meta.inputs[k].mutation() == Mutation::in_graph && p.meta.inputs[k].mutates_storage_metadata);
  return none;
}

FlatCallable compile_training(const Prepared& p, const AotOptions& options, ShapeEnv& sizes, const CompilerTurn& turn) {
  const JointGraph joint = joint_graph(p.f, p.fakes, p.meta, sizes, options.decompositions);
  const JointLayouts& layouts = joint.layouts;
  const Log log(turn.id(), options);
  log.metadata(p.meta);
  log.graph(GraphKind::joint, joint.graph);
  const Scoped<bool> no_grad(thread_state().grad_mode, false);
  Parts parts = [&] {
    const CompileScope scope(turn.id(), GraphKind::joint);
    const std::vector<int> written = layouts.inputs.dense_places([&](std::size_t k) { return p.meta.inputs[k].mutates_data; });
    const std::vector<int> later = layouts.inputs.dense_places([&](std::size_t k) { return std::ranges::count(joint.written_by_backward, static_cast<int>(k)) > 0; });
    return options.partition({joint.graph, static_cast<int>(layouts.returned.dense_size()), written, later});
  }();
  log.graph(GraphKind::forward, parts.forward);
  log.graph(GraphKind::backward, parts.backward);
  const auto forward = std::make_shared<const Graph>(std::move(parts.forward));
  Values examples = metas_of_inputs(parts.backward);
  Boxed run;
  {
    const OutputStridesScope strides;
    run = turn(options.forward, forward, metas_of_inputs(*forward), GraphKind::forward);
    const std::size_t first = layouts.returned.dense_size(), integers = static_cast<std::size_t>(parts.saved_integers);
    const std::size_t end = std::min(strides.reported().size(), first + static_cast<std::size_t>(parts.saved_tensors));
    for (std::size_t k = first; k < end; k++)  // R073
      examples[integers + k - first] = with_strides(examples[integers + k - first].tensor(), strides.reported()[k]);
  }
  const bool writes_tracked = std::ranges::any_of(joint.written_by_backward, [&](int k) { return requires_grad(p.fakes[static_cast<std::size_t>(k)].tensor()); });
  std::vector<bool> unknown = without_gradient(p, layouts, parts.backward);
  const auto backward = std::make_shared<Backward>(std::move(parts.backward), options.backward ? options.backward : options.forward, turn, std::move(examples), writes_tracked);
  compile_ahead(*backward, parts.saved_integers, log, turn.id());
  return [training = std::make_shared<Training>(runtime_record(p.meta), layouts, std::move(run), parts.saved_tensors, backward, std::move(unknown))](
             const Values& arguments) { return (*training)(arguments); };
}

// R013. An environment that the caller brought has symbols already, whose names stay theirs.
std::vector<OpenSize> open_sizes(const Values& arguments, const AotOptions& options, const ShapeEnv& env) {
  INGOT_REQUIRE(options.sizes || std::none_of(arguments.begin(), arguments.end(), has_open_sizes),
                "the arguments to compile for are fakes with open sizes, whose environment is not known; give AotOptions::sizes the ShapeEnv they were made in");
  if (!options.dynamic) return {};
  std::vector<OpenSize> open = every_size_open(arguments);
  std::erase_if(open, [&](const OpenSize& o) {
    const Value& v = arguments[static_cast<std::size_t>(o.input)];
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

void check_records(const Prepared& p, const Metadata& given, const Dedupe& dedupe, const SyntheticBase& bases) {
  if (bases.changes_arguments()) {
    Prepared again = p;
    again.collect_again();
    require_record(p.meta, again.meta, "each time it runs");
  } else if (const std::optional<Metadata> expected = dedupe.expected_record(given)) {
    require_record(*expected, p.meta, "where repeated arguments are left out");
  }
}

}  // namespace

bool has_nothing_to_differentiate(const Metadata& m) {
  return std::none_of(m.outputs.begin(), m.outputs.end(), [](const OutputInfo& o) { return o.requires_grad; }) &&
         std::none_of(m.inputs.begin(), m.inputs.end(), [](const InputInfo& i) { return i.requires_grad && i.mutates_data && !i.under_no_grad; });
}

Boxed nop(std::shared_ptr<const Graph> graph, const Values&) {
  return [graph, interpreter = std::make_shared<const Interpreter>(*graph)](Values& arguments) {
    const Values taken = std::move(arguments);
    arguments.clear();
    return interpreter->run(taken);
  };
}

void require_known_output(const Tree& output) {
  const Value& v = output.leaf();
  INGOT_REQUIRE(output.is_leaf() && (v.is_tensor() || v.is_number() || v.is_string() || v.is_none()), "Found ",
                output.is_leaf() ? std::string(v.kind_name()) : output.type(),
                " in output, which is not a known type. If this type holds tensors, you need to register a pytree for it.");
}

FlatCallable compile(const FlatFunction& f, const Values& arguments, const AotOptions& options, int id) {
  const std::shared_ptr<ShapeEnv> sizes = options.sizes ? options.sizes : std::make_shared<ShapeEnv>();
  const GuardScope guards(*sizes);
  const auto fake = [&](const Values& given) { return fake_inputs(given, open_sizes(given, options, *sizes), *sizes); };
  Prepared p{f, arguments, fake(arguments), {}};
  const bool may_train = thread_state().grad_mode &&
                         std::any_of(p.fakes.begin(), p.fakes.end(), [](const Value& v) { return v.is_tensor() && requires_grad(v.tensor()); });
  p.meta = collect_metadata(f, p.fakes, options.keep_inference_input_mutations, may_train);
  if (may_train && has_nothing_to_differentiate(p.meta)) p.meta.is_train = false;
  const Metadata given = p.meta;
  const Dedupe dedupe(p, options.params_and_buffers, id);
  const SyntheticBase bases(p, fake);
  if (options.debug_assert) check_records(p, given, dedupe, bases);
  const CompilerTurn turn(id, sizes);
  FlatCallable graph = p.meta.is_train ? compile_training(p, options, *sizes, turn) : compile_inference(p, options, *sizes, turn);
  if (options.debug_assert && p.meta.is_train) graph = with_gradients_as_assumed(std::move(graph), p.fakes, options.params_and_buffers, id);
  return [sizes, inner = dedupe.around(bases.around(graph))](Values args) { return inner(std::move(args)); };
}

}  // namespace ingot::aot
