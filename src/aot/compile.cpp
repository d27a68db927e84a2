#include "aot/compile.hpp"

#include <algorithm>
#include <cstdio>
#include <mutex>

#include "aot/dedupe.hpp"
#include "aot/graphs.hpp"
#include "aot/inputs.hpp"
#include "aot/output_strides.hpp"
#include "aot/runtime.hpp"
#include "aot/synthetic_base.hpp"
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

FlatCallable compile_inference(const FlatFunction& f, const Values& fakes, const Metadata& meta, ShapeEnv& sizes, const AotOptions& options) {
  const auto graph = std::make_shared<const Graph>(base_graph(f, fakes, meta, sizes, options.decompositions));
  const Boxed run = (options.inference ? options.inference : options.forward)(graph, metas_of_inputs(*graph));
  return [meta, run](const Values& arguments) {
    Values results;
    {
      const Scoped<bool> no_grad(thread_state().grad_mode, false);
      Values list = arguments;
      results = run(list);
    }
    return finish_call(meta, arguments, results);
  };
}

// ---- with gradients (R068)

// The backward is compiled when it is first asked for (R151).
class Backward {
 public:
  // `saved`: strides of the saved tensors as the compiled forward has them, after `integers` inputs (R073).
  Backward(Graph graph, Compiler compiler, std::size_t integers, const OutputStrides& saved)
      : graph_(std::make_shared<const Graph>(std::move(graph))), compiler_(std::move(compiler)), examples_(metas_of_inputs(*graph_)) {
    for (std::size_t k = 0; k < saved.size(); k++) examples_[integers + k] = with_strides(examples_[integers + k].tensor(), saved[k]);
  }

  void compile() {
    std::call_once(once_, [&] { compiled_ = compiler_(graph_, examples_); });
  }
  TensorList run(Values& arguments) {
    compile();
    const Values found = compiled_(arguments);
    TensorList gradients;
    for (const Value& v : found) gradients.push_back(v.is_tensor() ? v.tensor() : Tensor());
    return gradients;
  }

 private:
  std::shared_ptr<const Graph> graph_;
  Compiler compiler_;
  Values examples_;
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
  Training(Metadata meta, Boxed forward, Parts parts, Compiler backward, const OutputStrides& saved)
      : meta_(std::move(meta)), forward_(std::move(forward)), saved_tensors_(static_cast<std::size_t>(parts.saved_tensors)), tracked_(meta_.with_tangents()) {
    INGOT_ENSURE(parts.backward.outputs.size() == meta_.inputs.size(), "the backward has ", parts.backward.outputs.size(), " results for ", meta_.inputs.size(),
                 " inputs");
    for (std::size_t k = 0; k < meta_.inputs.size(); k++)  // R071
      without_gradient_.push_back(parts.backward.outputs[k].is_none() && !(meta_.inputs[k].mutation() == Mutation::in_graph && meta_.inputs[k].mutates_storage_metadata));
    // Where no input has one the outputs have a history all the same, as they have without a compiler.
    if (std::all_of(without_gradient_.begin(), without_gradient_.end(), [](bool w) { return w; })) without_gradient_.assign(meta_.inputs.size(), false);
    backward_ = std::make_shared<Backward>(std::move(parts.backward), std::move(backward), static_cast<std::size_t>(parts.saved_integers), saved);
    const std::size_t first = meta_.mutated_out_of_graph().size();
    for (const std::size_t k : tracked_) refuses_writes_.push_back(k >= first && k - first < meta_.outputs.size() && meta_.outputs[k - first].multi_output);
  }

  Backward& backward() const { return *backward_; }

  Values operator()(const Values& arguments) const {
    TensorList inputs;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < arguments.size(); i++) {
      if (!arguments[i].is_tensor()) continue;
      inputs.push_back(without_gradient_[i] ? detached(arguments[i].tensor()) : arguments[i].tensor());
      places.push_back(i);
    }
    Values results;
    const TensorList tracked = custom_function(
        "CompiledFunction", inputs, [&](FunctionContext& c, const TensorList&) { return run_forward(c, arguments, results); },
        [backward = backward_, places](FunctionContext& c, const TensorList& tangents) {
          return run_backward(*backward, c, tangents, places);
        });
    for (std::size_t k = 0; k < tracked_.size(); k++) results[tracked_[k]] = tracked[k];
    return finish_call(meta_, arguments, results);
  }

 private:
  Metadata meta_;
  Boxed forward_;
  std::size_t saved_tensors_;
  std::shared_ptr<Backward> backward_;
  std::vector<std::size_t> tracked_;  // of what the forward returns, in the order of the tangents
  std::vector<bool> without_gradient_;  // by input: the backward has none for it, so autograd need not know of it
  std::vector<bool> refuses_writes_;  // by those: a view that autograd lets nobody write, and so should know as a view

  TensorList run_forward(FunctionContext& c, const Values& arguments, Values& results) const {
    Values list = arguments;
    Values all = forward_(list);
    const auto returned = static_cast<std::size_t>(meta_.returned());
    INGOT_ENSURE(all.size() >= returned + saved_tensors_, "the compiled forward returned ", all.size(), " values");
    TensorList saved;
    for (std::size_t k = returned; k < returned + saved_tensors_; k++) {
      const AutogradMeta* m = autograd_meta(all[k].tensor());
      saved.push_back(m && m->view ? detached(all[k].tensor()) : all[k].tensor());  // a view would keep its base's history alive (R142)
    }
    c.save(saved);
    c.data = Values(all.begin() + static_cast<std::ptrdiff_t>(returned + saved_tensors_), all.end());
    results.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(returned));
    TensorList tracked;
    for (std::size_t k = 0; k < tracked_.size(); k++) {
      const Tensor& t = results[tracked_[k]].tensor();
      tracked.push_back(refuses_writes_[k] ? t : detached(t));  // a view of nothing: its history is the node's
    }
    return tracked;
  }

  static TensorList run_backward(Backward& backward, FunctionContext& c, const TensorList& tangents, const std::vector<std::size_t>& places) {
    Values list = std::any_cast<Values>(c.data);
    TensorList made_of = c.saved();
    made_of.insert(made_of.end(), tangents.begin(), tangents.end());
    TensorList gradients;
    {
      const Scoped<bool> no_grad(thread_state().grad_mode, false);
      for (const Tensor& t : made_of) list.push_back(t);
      for (std::size_t k = list.size() - tangents.size(); k < list.size(); k++) list[k] = aten<"contiguous">(list[k].tensor());
      gradients = backward.run(list);
    }
    TensorList of_tensors;
    for (const std::size_t p : places) of_tensors.push_back(gradients[p]);
    const bool again = thread_state().grad_mode && std::any_of(made_of.begin(), made_of.end(), [](const Tensor& t) { return requires_grad(t); });
    return again ? without_double_backward(of_tensors, made_of) : of_tensors;
  }
};

FlatCallable compile_training(const FlatFunction& f, const Values& fakes, const Metadata& meta, ShapeEnv& sizes, const AotOptions& options) {
  const Graph joint = joint_graph(f, fakes, meta, sizes, options.decompositions);
  std::vector<int> written;
  for (std::size_t k = 0; k < meta.inputs.size(); k++)
    if (meta.inputs[k].mutates_data || meta.inputs[k].mutates_metadata) written.push_back(static_cast<int>(k));
  Parts parts = options.partition({joint, meta.returned(), written});
  const auto forward = std::make_shared<const Graph>(std::move(parts.forward));
  Boxed run;
  OutputStrides saved;  // R073
  {
    const Scoped<bool> no_grad(thread_state().grad_mode, false);
    const OutputStridesScope strides;
    run = options.forward(forward, metas_of_inputs(*forward));
    const auto first = static_cast<std::size_t>(meta.returned());
    for (std::size_t k = first; k < std::min(strides.reported().size(), first + static_cast<std::size_t>(parts.saved_tensors)); k++)
      saved.push_back(strides.reported()[k]);
  }
  const bool compile_backward_now = parts.saved_integers > 0;
  const auto training = std::make_shared<Training>(meta, std::move(run), std::move(parts), options.backward ? options.backward : options.forward, saved);
  if (compile_backward_now) {  // R074: while the environment of its sizes is there
    try {
      training->backward().compile();
    } catch (const std::exception& e) {
      const std::string what = text("failed to eagerly compile backwards for dynamic, suppressing in case backwards not needed: ", e.what());
      if (options.log) options.log(what);
      else std::fprintf(stderr, "%s\n", what.c_str());
    }
  }
  return [training](const Values& arguments) { return (*training)(arguments); };
}

// R017: nothing that anybody could ask gradients of.
bool has_nothing_to_differentiate(const Metadata& m) {
  return std::none_of(m.outputs.begin(), m.outputs.end(), [](const OutputInfo& o) { return o.requires_grad; }) &&
         std::none_of(m.inputs.begin(), m.inputs.end(), [](const InputInfo& i) { return i.requires_grad && i.mutates_data && !i.under_no_grad; });
}

std::vector<OpenSize> open_sizes(const Values& arguments, const AotOptions& options) {
  if (!options.dynamic) return {};
  std::vector<OpenSize> open = every_size_open(arguments);
  std::erase_if(open, [&](const OpenSize& o) { return o.input < options.params_and_buffers; });
  if (!options.one_symbol_for_equal_sizes)
    for (std::size_t k = 0; k < open.size(); k++) open[k].name = text("s", k);
  return open;
}

}  // namespace

Boxed nop(std::shared_ptr<const Graph> graph, const Values&) {
  return [graph, interpreter = std::make_shared<const Interpreter>(*graph)](Values& arguments) {
    const Values taken = std::move(arguments);
    arguments.clear();
    return interpreter->run(taken);
  };
}

FlatCallable compile(const FlatFunction& f, const Values& arguments, const AotOptions& options, int id) {
  const auto sizes = std::make_shared<ShapeEnv>();
  const GuardScope guards(*sizes);
  const auto fake = [&](const Values& given) { return fake_inputs(given, open_sizes(given, options), *sizes); };
  Prepared p{f, arguments, fake(arguments), {}};
  const bool may_train = thread_state().grad_mode &&
                         std::any_of(p.fakes.begin(), p.fakes.end(), [](const Value& v) { return v.is_tensor() && requires_grad(v.tensor()); });
  p.meta = collect_metadata(f, p.fakes, options.keep_inference_input_mutations, may_train);
  if (may_train && has_nothing_to_differentiate(p.meta)) p.meta.is_train = false;
  const Dedupe dedupe(p, options.params_and_buffers, id);
  const SyntheticBase bases(p, fake);
  const FlatCallable graph = p.meta.is_train ? compile_training(p.f, p.fakes, p.meta, *sizes, options) : compile_inference(p.f, p.fakes, p.meta, *sizes, options);
  return [sizes, inner = dedupe.around(bases.around(graph))](const Values& args) { return inner(args); };
}

}  // namespace ingot::aot
