#include "aot/training.hpp"

#include <algorithm>
#include <utility>

#include "aot/compile_report.hpp"
#include "aot/runtime.hpp"
#include "autograd/custom_function.hpp"
#include "autograd/meta.hpp"
#include "base/error.hpp"
#include "ingot/state.hpp"
#include "op/tensors.hpp"

namespace ingot::aot {
namespace {

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

// ---- tangents that are wrappers (R147, R166)

std::string class_name(const WrapperLayout& l) { return l.cls ? l.cls->name() : "Tensor"; }
std::string class_names(const DenseLayout& l) {
  std::string s = "[";
  for (std::size_t k = 0; k < l.outer_size(); k++) s += (k == 0 ? "" : ", ") + class_name(l[k]);
  return s + "]";
}

// The plain tensors that the backward takes.
Values dense_tangents(const DenseLayout& want, Values tangents) {
  INGOT_REQUIRE(tangents.size() == want.outer_size(),
                "The grad inputs should be same number as forward output tangents: expected ", want.outer_size(), ", found ",
                tangents.size());
  const DenseLayout found(tangents);
  for (std::size_t k = 0; k < tangents.size(); k++) {
    INGOT_REQUIRE(want[k].cls == found[k].cls,
                  "We incorrectly attempted to compile the backward with incorrect subclass metadata.\n"
                  "If you run into this error, please file an issue.\nExpected grad_output types: ",
                  class_names(want), "\nGot grad_output types: ", class_names(found));
    INGOT_REQUIRE(same_classes(want[k], found[k]),
                  "The grad inputs should be same tensor subclass type as forward output: expected ", to_text(want[k]),
                  ", found ", to_text(found[k]));
    if (same_metadata(want[k], found[k])) continue;
    const Tensor fitted = found[k].cls->with_metadata(tangents[k].tensor(), want[k].metadata);
    INGOT_REQUIRE(fitted.defined() && same_metadata(want[k], layout_of(fitted)),
                  "During the backward, we encountered a tensor subclass where we guessed its metadata incorrectly.\n"
                  "Expected metadata: ",
                  to_text(want[k]), "\nRuntime metadata: ", to_text(found[k]), "\nshape: ", tangents[k].tensor().sizes());
    tangents[k] = fitted;
  }
  return unwrapped(tangents);
}

TensorList run_backward(Backward& backward, const Border& border, FunctionContext& c, const TensorList& tangents) {
  const JointLayouts& layouts = border.layouts;
  Values list = c.data.has_value() ? std::any_cast<Values>(c.data) : Values();
  TensorList saved = c.saved();
  const bool tracked = thread_state().grad_mode;
  Values found;
  {
    const Scoped<bool> no_grad(thread_state().grad_mode, false);
    list.insert(list.end(), saved.begin(), saved.end());
    const auto add = [&](const Tensor& t) { list.push_back(aten<"contiguous">(t)); };  // R148
    if (!layouts.tangents.has_wrappers() && std::none_of(tangents.begin(), tangents.end(), is_wrapper))
      std::for_each(tangents.begin(), tangents.end(), add);
    else
      for (const Value& v : dense_tangents(layouts.tangents, Values(tangents.begin(), tangents.end()))) add(v.tensor());
    if (!tracked) {  // R131: nobody but the graph has them
      saved.clear();
      release_saved_early(c);
    }
    found = backward.run(list, tracked);
    found.erase(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(border.tokens));
    found = layouts.gradients.wrapped(std::move(found));
  }
  TensorList gradients;
  gradients.reserve(border.places.size());
  for (const std::size_t p : border.places) gradients.push_back(found[p].is_tensor() ? found[p].tensor() : Tensor());
  if (!tracked) return gradients;
  TensorList made_of = saved;
  made_of.insert(made_of.end(), tangents.begin(), tangents.end());
  return std::any_of(made_of.begin(), made_of.end(), [](const Tensor& t) { return requires_grad(t); })
             ? without_double_backward(gradients, made_of)
             : gradients;
}

}  // namespace

Backward::Backward(std::shared_ptr<const Graph> graph, Compiler compiler, CompilerRun compiler_run, Values examples,
                   bool writes_tracked, std::function<void(const std::string&)> compiled)
    : writes_tracked_(writes_tracked), deterministic_(are_deterministic_algorithms_enabled()),
      compile_([graph = std::move(graph), compiler = std::move(compiler), compiler_run = std::move(compiler_run),
                examples = std::move(examples), compiled = std::move(compiled)] {
        const CompileReportScope scope;
        Boxed run = compiler_run(compiler, graph, examples, GraphKind::backward);
        if (compiled && !scope.report().artifact.empty()) compiled(scope.report().artifact);
        return run;
      }) {}

Backward::Backward(Boxed compiled, bool writes_tracked)
    : writes_tracked_(writes_tracked), deterministic_(are_deterministic_algorithms_enabled()), compiled_(std::move(compiled)) {}

void Backward::compile() {
  if (compile_) once_.run([&] { compiled_ = compile_(); });
}

Values Backward::run(Values& arguments, bool tracked) {
  INGOT_REQUIRE(!tracked || !writes_tracked_,
                "aot_autograd does not support input mutations with requires_grad in backward for create_graph=True");
  INGOT_REQUIRE(
      deterministic_ || !are_deterministic_algorithms_enabled(),
      "This compiled backward function is being run with torch.use_deterministic_algorithms(True), but it was previously generated during the forward "
      "function while torch.use_deterministic_algorithms(False) was set.");
  compile();
  return compiled_(arguments);
}

Training::Training(Metadata meta, JointLayouts layouts, Boxed forward, int saved_tensors, std::shared_ptr<Backward> backward,
                   std::vector<bool> without_gradient)
    : meta_(std::move(meta)), forward_(std::move(forward)), saved_tensors_(static_cast<std::size_t>(saved_tensors)),
      backward_(std::move(backward)), without_gradient_(std::move(without_gradient)), tracked_(meta_.with_tangents()) {
  std::vector<std::size_t> places;
  for (std::size_t k = 0; k < meta_.inputs.size(); k++)
    if (meta_.inputs[k].is_tensor) places.push_back(k);
  border_ = std::make_shared<const Border>(Border{std::move(layouts), std::move(places), static_cast<std::size_t>(meta_.tokens)});
  const std::size_t first = meta_.mutated_out_of_graph().size();
  for (const std::size_t k : tracked_)
    refuses_writes_.push_back(k >= first && k - first < meta_.outputs.size() && meta_.outputs[k - first].multi_output);
}

Values Training::operator()(Values arguments) const {
  TensorList inputs;
  inputs.reserve(border_->places.size());
  for (const std::size_t p : border_->places)
    inputs.push_back(without_gradient_[p] ? detached(arguments[p].tensor()) : arguments[p].tensor());
  const Values needed = needed_afterwards(meta_, arguments);
  Values results;
  const TensorList tracked = custom_function(
      "CompiledFunction", inputs,
      [&](FunctionContext& c, const TensorList&) { return run_forward(c, std::move(arguments), results); },
      [backward = backward_, border = border_](FunctionContext& c, const TensorList& tangents) {
        return run_backward(*backward, *border, c, tangents);
      });
  for (std::size_t k = 0; k < tracked_.size(); k++) results[tracked_[k]] = tracked[k];
  return finish_call(meta_, needed, results, tracked.empty() ? Ref<GradNode>() : grad_fn(tracked[0]));
}

TensorList Training::run_forward(FunctionContext& c, Values arguments, Values& results) const {
  Values list = border_->layouts.inputs.has_wrappers() ? unwrapped(arguments) : std::move(arguments);
  const std::size_t tokens = border_->tokens;
  list.insert(list.begin(), tokens, Value());
  results = forward_(list);
  results.erase(results.begin(), results.begin() + static_cast<std::ptrdiff_t>(std::min(tokens, results.size())));
  const std::size_t returned = border_->layouts.returned.dense_size(), end = returned + saved_tensors_;
  INGOT_REQUIRE(results.size() >= end, "Expected the number actual unwrapped-subclass outputs ", results.size(),
                " to equal the number of args calculated from subclasses (", returned,
                ") plus the number of additional activations saved for the backward pass (", saved_tensors_, ")");
  TensorList saved;
  saved.reserve(saved_tensors_);
  for (std::size_t k = returned; k < end; k++) {
    INGOT_REQUIRE(results[k].is_tensor(), "a compiled forward should return a tensor to save as result ", k, ", found ",
                  results[k].kind_name(), "; what a compiler makes has one value for each output of the graph");  // R142
    // A view would keep its base's history alive (R142), and a tensor without history may get one
    // that leads here.
    const Tensor& t = results[k].tensor();
    saved.push_back(requires_grad(t) && !autograd_meta(t)->view ? t : detached(t));
  }
  c.to_save = std::move(saved);
  if (results.size() > end) c.data = Values(results.begin() + static_cast<std::ptrdiff_t>(end), results.end());
  results.resize(returned);
  results = border_->layouts.returned.wrapped(std::move(results));
  TensorList tracked;
  for (std::size_t k = 0; k < tracked_.size(); k++) {
    const Tensor& t = results[tracked_[k]].tensor();
    tracked.push_back(refuses_writes_[k] ? t : detached(t));  // a view of nothing: its history is the node's
  }
  return tracked;
}

}  // namespace ingot::aot
