#include "aot/compile.hpp"

#include <algorithm>
#include <map>
#include <mutex>

#include "aot/compiler_turn.hpp"
#include "aot/debug_assert.hpp"
#include "aot/dedupe.hpp"
#include "aot/graphs.hpp"
#include "aot/inputs.hpp"
#include "aot/log.hpp"
#include "aot/metadata_record.hpp"
#include "aot/runtime.hpp"
#include "aot/synthetic_base.hpp"
#include "autograd/meta.hpp"
#include "base/error.hpp"
#include "graph/interpret.hpp"
#include "ingot/autograd.hpp"
#include "op/tensors.hpp"

namespace ingot::aot {
namespace {

// ---- without gradients (R067)

FlatCallable compile_inference(const Prepared& p, const AotOptions& options, ShapeEnv& sizes, const CompilerTurn& turn) {
  const auto graph = std::make_shared<const Graph>(base_graph(p.f, p.fakes, p.meta, sizes, options.decompositions));
  const Log log(turn.id(), options);
  log.metadata(p.meta);
  log.graph(GraphKind::inference, *graph);
  const Boxed run = turn(options.inference ? options.inference : options.forward, graph, GraphKind::inference);
  return [meta = runtime_record(p.meta), run](Values arguments) {
    const Values needed = needed_afterwards(meta, arguments);
    Values results;
    {
      const Scoped<bool> no_grad(thread_state().grad_mode, false);
      results = run(arguments);
    }
    return finish_call(meta, needed, results);
  };
}

// ---- with gradients (R068)

// The backward is compiled when it is first asked for (R151).
class Backward {
 public:
  // `places`: of the tensors among the arguments of the function, which has a gradient for each of its arguments. `writes_tracked`: it
  // writes an argument that requires grad.
  Backward(Graph graph, Compiler compiler, CompilerTurn turn, std::vector<std::size_t> places, bool writes_tracked)
      : graph_(std::make_shared<const Graph>(std::move(graph))), compiler_(std::move(compiler)), turn_(std::move(turn)), places_(std::move(places)),
        writes_tracked_(writes_tracked) {}

  void compile() {
    std::call_once(once_, [&] { compiled_ = turn_(compiler_, graph_, GraphKind::backward); });
  }

  // The gradients of the tensors. `tracked`: they are to have gradients themselves.
  TensorList run(Values& arguments, bool tracked) {
    INGOT_REQUIRE(!tracked || !writes_tracked_, "aot_autograd does not support input mutations with requires_grad in backward for create_graph=True");  // R149
    compile();
    const Values found = compiled_(arguments);
    TensorList gradients;
    gradients.reserve(places_.size());
    for (const std::size_t p : places_) gradients.push_back(found[p].is_tensor() ? found[p].tensor() : Tensor());
    return gradients;
  }

 private:
  std::shared_ptr<const Graph> graph_;
  Compiler compiler_;
  CompilerTurn turn_;
  std::vector<std::size_t> places_;
  bool writes_tracked_;
  std::once_flag once_;
  Boxed compiled_;
};

// R150: gradients of gradients end in words.
TensorList without_double_backward(const TensorList& gradients, const TensorList& made_of) {
  const auto forward = [&](FunctionContext&, const TensorList&) {
    TensorList out;
    for (const Tensor& t : gradients) out.push_back(t.defined() ? detached(t) : t);
    return out;
  };
  const auto backward = [](FunctionContext&, const TensorList&) -> TensorList {
    throw_user_error("torch.compile with aot_autograd does not currently support double backward");
  };
  return custom_function("CompiledFunctionBackward", made_of, forward, backward);
}

class Training {
 public:
  // `places`: of the tensors among the arguments.
  Training(Metadata meta, Boxed forward, int saved_tensors, std::shared_ptr<Backward> backward, std::vector<std::size_t> places)
      : meta_(std::move(meta)), forward_(std::move(forward)), returned_(static_cast<std::size_t>(meta_.returned())),
        saved_tensors_(static_cast<std::size_t>(saved_tensors)), places_(std::move(places)), backward_(std::move(backward)),
        tracked_(meta_.with_tangents()) {
    const std::size_t first = meta_.mutated_out_of_graph().size();
    for (const std::size_t k : tracked_) refuses_writes_.push_back(k >= first && k - first < meta_.outputs.size() && meta_.outputs[k - first].multi_output);
  }

  Values operator()(const Values& arguments) const {
    TensorList inputs;
    inputs.reserve(places_.size());
    for (const std::size_t p : places_) inputs.push_back(arguments[p].tensor());
    Values results;
    const TensorList tracked = custom_function(
        "CompiledFunction", inputs, [&](FunctionContext& c, const TensorList&) { return run_forward(c, arguments, results); },
        [backward = backward_](FunctionContext& c, const TensorList& tangents) { return run_backward(*backward, c, tangents); });
    for (std::size_t k = 0; k < tracked_.size(); k++) results[tracked_[k]] = tracked[k];
    return finish_call(meta_, arguments, results, tracked.empty() ? Ref<GradNode>() : grad_fn(tracked[0]));
  }

 private:
  Metadata meta_;
  Boxed forward_;
  std::size_t returned_, saved_tensors_;
  std::vector<std::size_t> places_;
  std::shared_ptr<Backward> backward_;
  std::vector<std::size_t> tracked_;  // of what the forward returns, in the order of the tangents
  std::vector<bool> refuses_writes_;  // by those: a view that autograd lets nobody write, and so should know as a view

  TensorList run_forward(FunctionContext& c, const Values& arguments, Values& results) const {
    Values list = arguments;
    results = forward_(list);
    const std::size_t end = returned_ + saved_tensors_;
    INGOT_ENSURE(results.size() >= end, "the compiled forward returned ", results.size(), " values");
    TensorList saved;
    saved.reserve(saved_tensors_);
    for (std::size_t k = returned_; k < end; k++) {
      // A view would keep its base's history alive (R142), and a tensor without history may get one that leads here.
      const Tensor& t = results[k].tensor();
      saved.push_back(requires_grad(t) && !autograd_meta(t)->view ? t : detached(t));
    }
    c.to_save = std::move(saved);
    if (results.size() > end) c.data = Values(results.begin() + static_cast<std::ptrdiff_t>(end), results.end());
    results.resize(returned_);
    TensorList tracked;
    for (std::size_t k = 0; k < tracked_.size(); k++) {
      const Tensor& t = results[tracked_[k]].tensor();
      tracked.push_back(refuses_writes_[k] ? t : detached(t));  // a view of nothing: its history is the node's
    }
    return tracked;
  }

  static TensorList run_backward(Backward& backward, FunctionContext& c, const TensorList& tangents) {
    Values list = c.data.has_value() ? std::any_cast<Values>(c.data) : Values();
    TensorList made_of = c.saved();
    made_of.insert(made_of.end(), tangents.begin(), tangents.end());
    TensorList gradients;
    const bool tracked = thread_state().grad_mode;
    {
      const Scoped<bool> no_grad(thread_state().grad_mode, false);
      for (const Tensor& t : made_of) list.push_back(t);
      for (std::size_t k = list.size() - tangents.size(); k < list.size(); k++) list[k] = aten<"contiguous">(list[k].tensor());
      gradients = backward.run(list, tracked);
    }
    const bool again = tracked && std::any_of(made_of.begin(), made_of.end(), [](const Tensor& t) { return requires_grad(t); });
    return again ? without_double_backward(gradients, made_of) : gradients;
  }
};

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

FlatCallable compile_training(const Prepared& p, const AotOptions& options, ShapeEnv& sizes, const CompilerTurn& turn) {
  const JointGraph joint = joint_graph(p.f, p.fakes, p.meta, sizes, options.decompositions);
  const Log log(turn.id(), options);
  log.metadata(p.meta);
  log.graph(GraphKind::joint, joint.graph);
  std::vector<int> written;
  for (std::size_t k = 0; k < p.meta.inputs.size(); k++)
    if (p.meta.inputs[k].mutates_data) written.push_back(static_cast<int>(k));
  const Scoped<bool> no_grad(thread_state().grad_mode, false);
  Parts parts = [&] {
    const CompileScope scope(turn.id(), GraphKind::joint);
    return options.partition({joint.graph, p.meta.returned(), written, joint.written_by_backward});
  }();
  log.graph(GraphKind::forward, parts.forward);
  log.graph(GraphKind::backward, parts.backward);
  Boxed run = turn(options.forward, std::make_shared<const Graph>(std::move(parts.forward)), GraphKind::forward);
  std::vector<std::size_t> places;
  for (std::size_t k = 0; k < p.fakes.size(); k++)
    if (p.fakes[k].is_tensor()) places.push_back(k);
  const auto backward = std::make_shared<Backward>(std::move(parts.backward), options.backward ? options.backward : options.forward, turn, places,
                                                   std::any_of(joint.written_by_backward.begin(), joint.written_by_backward.end(), [&](int k) {
                                                     return requires_grad(p.fakes[static_cast<std::size_t>(k)].tensor());
                                                   }));
  compile_ahead(*backward, parts.saved_integers, log, turn.id());
  return [training = std::make_shared<Training>(runtime_record(p.meta), std::move(run), parts.saved_tensors, backward, std::move(places))](const Values& arguments) {
    return (*training)(arguments);
  };
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
