#include "check/run_case.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "check/case_inputs.hpp"
#include "check/spectral.hpp"
#include "check/zoo_weights.hpp"
#include "graph/interpret.hpp"
#include "format/load.hpp"
#include "ingot/autograd.hpp"
#include "io/safetensors.hpp"
#include "op/call.hpp"
#include "tensor/impl.hpp"
#include "tensor/random.hpp"

namespace ingot {

namespace {

using Outcome = CheckResult::Outcome;

std::string on_one_line(std::string message) {
  std::replace(message.begin(), message.end(), '\n', ' ');
  return message;
}

CheckResult outcome(Outcome o, std::string_view message) {
  CheckResult r;
  r.outcome = o;
  r.message = on_one_line(std::string(message));
  return r;
}

// The tensors among the results, nested lists flattened.
void collect_tensors(const Value& v, TensorList& out) {
  if (v.is_tensor()) out.push_back(v.tensor());
  else if (v.is_tensors()) out.insert(out.end(), v.tensors().begin(), v.tensors().end());
  else if (v.is_values())
    for (const Value& e : v.values()) collect_tensors(e, out);
}

// What PyTorch's numbers cannot decide.
struct Excuse {
  std::string_view what;  // a case, the start of its name up to '_', or an operator without overload
  std::string_view key;   // only this tensor; empty: the whole case
  std::string_view reason;
};
constexpr Excuse kExcuses[] = {
    {"aten.as_strided_scatter", "grad.0",
     "PyTorch's gradient of self is that of the part which src overwrites, where the result does not depend on self"},
    {"masked_select/f32_2", "", "the exported program asserts that at most 10 elements are selected, and its input selects 49"},
    {"matrix_exp/bf16_", "", "PyTorch reads the bytes of its double coefficients as bfloat16 numbers; its results are NaN"},
    {"matrix_exp/f16_", "", "as bfloat16"},
};
const Excuse* find_excuse(const Case& c) {
  for (const Excuse& e : kExcuses)
    if (e.what == c.entry || (e.what.ends_with('_') && c.entry.starts_with(e.what)) ||
        std::any_of(c.targets.begin(), c.targets.end(), [&](std::string_view t) { return t.substr(0, t.rfind('.')) == e.what; }))
      return &e;
  return nullptr;
}

// Whether a program's results may be memory that nobody wrote.
bool is_uninitialised(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(),
                     [](const auto& n) { return n->kind == NodeKind::call && n->op->def->result.uninitialised; });
}

// The dim along which the program orders its first input, if it picks among equal elements in an
// order that PyTorch leaves open: its indices then need not be ours.
std::optional<int64_t> ordered_dim(const Graph& graph) {
  for (const auto& n : graph.nodes()) {
    const bool of_first_input =
        !n->args.empty() && n->args[0].is_node() && !graph.inputs().empty() && n->args[0].node() == graph.inputs()[0];
    if (n->kind != NodeKind::call || !of_first_input || !n->op->def->result.order_is_free) continue;
    const auto constant = [&](std::string_view arg) {
      const int i = n->op->schema.index_of(arg);
      return i >= 0 && n->args[static_cast<std::size_t>(i)].is_value() ? n->args[static_cast<std::size_t>(i)].value() : Value();
    };
    const bool is_stable = constant("stable").bool_or(false);
    if (!is_stable && constant("dim").is_int()) return constant("dim").to_int64();
  }
  return std::nullopt;
}

// Whether two index tensors pick equal elements of `input`, and the first none twice.
bool same_picks(const Tensor& input, int64_t dim, const Tensor& got, const Tensor& want) {
  const auto full = [&](const Tensor& index) { return index.dim() == input.dim() ? index : index.unsqueeze(dim); };
  const auto picked = [&](const Tensor& index) { return aten<"gather">(input, dim, full(index)); };
  const Tensor sorted = atens<"sort">(full(got), dim, false)[0], steps = aten<"diff">(sorted, 1, dim);
  const bool distinct = input.dim() == 0 || aten<"eq.Scalar">(steps, 0).sum().item_double() == 0;
  return distinct && compare(picked(got), picked(want), {}).message.empty();
}

constexpr int64_t kStoredElements = 60000;

// Composites and gradients call further ops; these are found missing only when they run.
void note_unknown_op(std::string_view message, CheckResult& result) {
  constexpr std::string_view kStart = "unknown op '";
  const std::size_t at = message.find(kStart);
  if (at == message.npos) return;
  const std::string_view name = message.substr(at + kStart.size());
  result.missing_ops.emplace_back(name.substr(0, name.find('\'')));
}

// One call of a case's program.
class CaseRun {
 public:
  // `execute`: how the program is run; empty: eagerly.
  CaseRun(const Case& c, const std::string& data, const CheckOptions& options, const Execute& execute)
      : case_(c), options_(options), execute_(execute), data_(SafeTensors::open(data)), program_(load_program(c.program)) {}

  CheckResult run() {
    const Excuse* excuse = find_excuse(case_);
    if (excuse && excuse->key.empty()) return outcome(Outcome::skipped, excuse->reason);
    CheckResult result;
    for (const Node* n : program_.main().unsupported_nodes()) result.missing_ops.push_back(n->target);
    if (!case_.weights.empty()) supply_zoo_weights(program_, read_zoo_weights(case_.weights));
    ordered_dim_ = ordered_dim(program_.main().graph);
    try {
      if (case_.kind == Case::Kind::train) train(result);
      else forward(excuse, result);
    } catch (const std::exception& e) {
      result.message = on_one_line(e.what());
      note_unknown_op(result.message, result);
    }
    if (!result.message.empty()) result.outcome = Outcome::failed;
    else if (result.where.empty()) return outcome(Outcome::skipped, "the case stores nothing to compare");
    return result;
  }

 private:
  const Case& case_;
  const CheckOptions& options_;
  const Execute& execute_;
  SafeTensors data_;
  Program program_;
  bool only_kind_ = false;  // the program drew random numbers, or returns memory nobody wrote
  std::optional<int64_t> ordered_dim_;

  Tensor stored(const std::string& key) const { return data_.contains(key) ? data_.get(key) : Tensor(); }

  void forward(const Excuse* excuse, CheckResult& result) {
    const auto tangents = keys_with("tangent.");
    const bool has_gradients = case_.kind == Case::Kind::op ? case_.has_gradients : !tangents.empty();
    const bool gradients = options_.gradients && has_gradients;
    const Draw before = default_generator()->state();
    const TensorList inputs = case_inputs(case_, data_, gradients);
    const std::map<std::string, Tensor> kept = unchanged_buffers();
    const TensorList outputs = results_of(inputs, gradients);
    only_kind_ = case_.is_random || is_uninitialised(program_.main().graph) || default_generator()->state() != before;
    if (only_kind_) result.partly = "only sizes and dtypes: the values are random or uninitialised";
    else if (gradients && excuse) result.partly = text("without ", excuse->key, ": ", excuse->reason);
    else if (options_.gradients && tangents.empty() && case_.kind == Case::Kind::model) result.partly = "no gradients are stored";
    check_outputs(inputs, outputs, result);
    check_buffers(kept, result);
    if (gradients && result.message.empty()) check_gradients(inputs, outputs, excuse ? excuse->key : "", result);
  }

  std::vector<std::string> keys_with(std::string_view prefix) const {
    std::vector<std::string> keys;
    for (const std::string& key : data_.names())
      if (key.starts_with(prefix)) keys.push_back(key);
    return keys;
  }

  // Buffers that the call must leave alone, as they are before it: those whose value after it is
  // not stored.
  std::map<std::string, Tensor> unchanged_buffers() const {
    std::map<std::string, Tensor> kept;
    for (const auto& [name, entry] : program_.state)
      if (!entry.is_parameter && entry.tensor.defined() && !data_.contains("buffer." + name))
        kept[name] = aten<"clone">(entry.tensor);
    return kept;
  }

  void check_buffers(const std::map<std::string, Tensor>& kept, CheckResult& result) const {
    for (const auto& [name, before] : kept) {
      const Difference d = compare(program_.state.at(name).tensor, before, {});
      if (!d.message.empty()) note(result, "buffer." + name, {"the call changed it: " + d.message, d.worst, d.largest});
    }
    for (const std::string& key : keys_with("buffer.")) {
      const auto it = program_.state.find(key.substr(7));
      if (it == program_.state.end()) note(result, key, structural("the program has no such buffer"));
      else note(result, key, difference(it->second.tensor, stored(key)));
    }
  }

  // The first batch: its loss, and the gradients of the parameters.
  void train(CheckResult& result) {
    TensorList inputs;
    for (std::size_t i = 0; data_.contains(text("in.", i)); i++) inputs.push_back(stored(text("in.", i)));
    if (inputs.empty()) inputs = {stored("x.0"), stored("y.0")};
    require_gradients(program_, options_.gradients);
    const TensorList outputs = results_of(inputs, options_.gradients);
    if (outputs.empty()) return note(result, "loss", structural("the program has no result"));
    note(result, "loss", difference(outputs[0], stored("loss")));
    if (!options_.gradients) return;
    const std::map<std::string, Tensor> grads = parameter_gradients(program_, outputs[0]);
    if (grads.empty()) return note(result, "grad", structural("no gradient is stored"));
    std::optional<std::map<std::string, Tensor>> exact;
    for (const auto& [key, got] : grads) {
      const Tensor want = stored(key);
      Difference d = difference(got, want, true);
      if (!d.message.empty() && compare_kind(got, want).message.empty()) {
        if (!exact) exact = gradients_in_float64(inputs);
        if (exact->contains(key))
          d = unless_rounding(d, difference(no_further(got, want, exact->at(key), true), want, true), Exact::ours);
      }
      note(result, key, d);
    }
  }

  static void require_gradients(Program& program, bool on) {
    for (auto& [name, entry] : program.state)
      if (entry.is_parameter && entry.requires_grad) entry.tensor.requires_grad_(on);
  }
  // Of those that the case stores, by the names that they have there.
  std::map<std::string, Tensor> parameter_gradients(const Program& program, const Tensor& loss) const {
    TensorList parameters;
    std::vector<std::string> keys;
    for (const auto& [name, entry] : program.state)
      if (data_.contains("grad." + name)) {
        parameters.push_back(entry.tensor);
        keys.push_back("grad." + name);
      }
    std::map<std::string, Tensor> named;
    if (keys.empty()) return named;
    const TensorList grads = grad({loss}, parameters, {}, {.allow_unused = true});
    for (std::size_t i = 0; i < grads.size(); i++) named[keys[i]] = grads[i];
    return named;
  }
  // None where the program has no such form.
  std::map<std::string, Tensor> gradients_in_float64(const TensorList& inputs) const {
    try {
      Program program = program_in_float64();
      require_gradients(program, true);
      TensorList outputs;
      for (const Value& v : program.run(in_float64(inputs))) collect_tensors(v, outputs);
      return parameter_gradients(program, outputs.at(0));
    } catch (const UserError&) {
      return {};
    }
  }

  TensorList results_of(const TensorList& inputs, bool gradients) {
    TensorList outputs;
    const GradModeGuard mode(gradients);
    const Values in(inputs.begin(), inputs.end());
    for (const Value& v : execute_ ? execute_(program_, in) : program_.run(in)) collect_tensors(v, outputs);
    return outputs;
  }

  Difference difference(const Tensor& got, const Tensor& want, bool is_gradient = false) const {
    if (only_kind_) return compare_kind(got, want);
    const Tolerance usual = case_.kind == Case::Kind::op ? tolerance_for(want.dtype(), is_gradient, case_.entry, case_.targets)
                                                         : model_tolerance(want);
    return compare(got, want, options_.tolerance.value_or(usual));
  }

  // A fault that no number measures.
  static Difference structural(std::string message) { return {std::move(message), HUGE_VAL, HUGE_VAL}; }

  static void note(CheckResult& result, const std::string& what, const Difference& d) {
    result.largest = std::max(result.largest, d.largest);
    if (result.where.empty() || d.worst > result.worst) {
      result.worst = d.worst;
      result.where = what;
    }
    if (result.message.empty() && !d.message.empty()) result.message = text(what, ": ", d.message);
  }

  TensorList stored_outputs() const {
    TensorList l;
    for (std::size_t i = 0; data_.contains(text("out.", i)); i++) l.push_back(stored(text("out.", i)));
    return l;
  }

  void check_outputs(const TensorList& inputs, const TensorList& outputs, CheckResult& result) const {
    std::size_t i = 0;
    const TensorList wanted = stored_outputs();
    const SpectralFreedom* freedom = spectral_freedom(case_.targets);
    const TensorList aligned = freedom ? align_results(*freedom, outputs, wanted) : outputs;
    for (; i < wanted.size(); i++) {
      const std::string key = text("out.", i);
      if (i >= outputs.size()) return note(result, key, structural(text("there are only ", outputs.size(), " outputs")));
      const Tensor& want = wanted[i];
      if (const std::string fault = wrong_size_of_cut(outputs[i], want, i); !fault.empty()) note(result, key, structural(fault));
      Difference d = difference(is_cut(aligned[i], want) ? first_elements(aligned[i]) : aligned[i], want);
      const bool tie = !d.message.empty() && ordered_dim_ && !inputs.empty() && compare_kind(outputs[i], want).message.empty() &&
                       want.dtype() == DType::i64 && same_picks(inputs[0], *ordered_dim_, outputs[i], want);
      if (tie) d = {};
      if (!d.message.empty()) d = held_to_stored(d, key, aligned[i], want, false);
      if (!d.message.empty()) d = unless_rounding(d, difference(held_to_float64(aligned[i], want, i), want), Exact::ours);
      note(result, key, d);
      if (!options_.strides || !result.message.empty()) continue;
      const auto strides = case_.strides.find(key);
      if (strides != case_.strides.end() && outputs[i].strides().values() != strides->second)
        note(result, key,
             structural(text("got strides ", outputs[i].strides(), ", want ", Shape(strides->second), " for size ",
                             outputs[i].sizes())));
    }
    if (i < outputs.size()) note(result, "outputs", structural(text("got ", outputs.size(), ", want ", i)));
  }

  // The same program with double for every floating type that it has or names, and two of them for
  // every complex one.
  Program program_in_float64() const {
    Program program = load_program(case_.program);
    if (!case_.weights.empty()) supply_zoo_weights(program, read_zoo_weights(case_.weights));
    program.check_inputs = false;
    std::map<const void*, Tensor> made;  // what has several names stays one
    for (auto& [name, entry] : program.state) {
      if (!entry.tensor.defined()) continue;
      Tensor& t = made[entry.tensor.operator->()];
      if (!t.defined()) t = in_float64(entry.tensor);
      entry.tensor = t;
    }
    for (const auto& n : program.main().graph.nodes())
      for (Argument& a : n->args) a = in_float64(a);
    return program;
  }
  static DType in_float64(DType t) { return is_floating(t) ? DType::f64 : is_complex(t) ? DType::c128 : t; }
  static Tensor in_float64(const Tensor& t) { return t.defined() ? t.to(in_float64(t.dtype())) : t; }
  static Values in_float64(const TensorList& inputs) {
    Values in;
    for (const Tensor& t : inputs) in.push_back(in_float64(t));
    return in;
  }
  static Argument in_float64(const Argument& a) {
    if (a.is_value()) return a.value().is_dtype() ? Argument(Value(in_float64(a.value().dtype()))) : a;
    if (!a.is_list()) return a;
    std::vector<Argument> elements;
    for (const Argument& e : a.elements()) elements.push_back(in_float64(e));
    return Argument::list(std::move(elements));
  }

  // Where the case has what PyTorch computed in float64, of the same numbers.
  Difference held_to_stored(const Difference& d, const std::string& key, const Tensor& got, const Tensor& want,
                            bool is_gradient) const {
    const Tensor exact = stored("exact." + key);
    if (d.message.empty() || !exact.defined() || !compare_kind(got, want).message.empty()) return d;
    return unless_rounding(d, difference(no_further(got, want, exact, true), want, is_gradient), Exact::pytorchs);
  }

  Tensor held_to_float64(const Tensor& got, const Tensor& want, std::size_t i) const {
    if (only_kind_ || in_float64(want.dtype()) == want.dtype() || !compare_kind(got, want).message.empty()) return got;
    TensorList exact;
    const GradModeGuard no_grad(false);
    try {
      for (const Value& v : program_in_float64().run(in_float64(case_inputs(case_, data_, false)))) collect_tensors(v, exact);
    } catch (const UserError&) {
      return got;  // an op that has no such form
    }
    return i < exact.size() ? no_further(got, want, exact[i], case_.kind != Case::Kind::op) : got;
  }

  // Large outputs are stored flattened and cut to their first elements. Their size is what the
  // program says.
  static bool is_cut(const Tensor& got, const Tensor& want) {
    return want.dim() == 1 && want.numel().value() == kStoredElements && got.numel().value() > kStoredElements;
  }
  static Tensor first_elements(const Tensor& t) { return aten<"reshape">(t, Shape{-1}).narrow(0, 0, kStoredElements); }
  std::string wrong_size_of_cut(const Tensor& got, const Tensor& want, std::size_t i) const {
    if (!is_cut(got, want)) return {};
    const auto leaves = program_.main().result_leaves();
    if (i >= leaves.size() || !leaves[i].meta.is_tensor()) return {};
    const Shape& sizes = leaves[i].meta.tensor().sizes();
    return sizes.is_symbolic() || sizes == got.sizes() ? "" : text("got size ", got.sizes(), ", want ", sizes);
  }

  void check_gradients(const TensorList& inputs, const TensorList& outputs, std::string_view excused, CheckResult& result) const {
    TensorList roots, tangents, leaves, wanted;
    std::vector<std::size_t> numbers;
    for (std::size_t i = 0; i < outputs.size(); i++) wanted.push_back(stored(text("tangent.", i)));
    if (const SpectralFreedom* freedom = spectral_freedom(case_.targets))
      wanted = align_tangents(*freedom, outputs, stored_outputs(), wanted);
    for (std::size_t i = 0; i < outputs.size(); i++) {
      if (!wanted[i].defined()) continue;
      if (!outputs[i].requires_grad()) return note(result, text("out.", i), structural("it does not require grad"));
      roots.push_back(outputs[i]);
      tangents.push_back(wanted[i]);
    }
    for (std::size_t i = 0; i < inputs.size(); i++) {
      if (!inputs[i].requires_grad()) continue;
      leaves.push_back(inputs[i]);
      numbers.push_back(i);
    }
    if (leaves.size() != keys_with("grad.").size())
      return note(result, "grad",
                  structural(text(keys_with("grad.").size(), " gradients are stored, for ", leaves.size(), " inputs")));
    if (leaves.empty()) return note(result, "grad", structural("the case has tangents, and no gradients"));
    const TensorList grads = grad(roots, leaves, tangents, {.allow_unused = true});
    for (std::size_t k = 0; k < grads.size(); k++) {
      const std::string key = text("grad.", numbers[k]);
      if (key == excused) continue;
      const Tensor want = stored(key);
      note(result, key, held_to_stored(difference(grads[k], want, true), key, grads[k], want, true));
    }
  }
};

}  // namespace

CheckResult check_case(const Case& c, const CheckOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  CheckResult result;
  Execute execute;
  for (const std::string& data : c.data) {
    CheckResult r;
    try {
      if (options.prepare && !execute && !(find_excuse(c) && find_excuse(c)->key.empty())) {
        Program program = load_program(c.program);
        if (!c.weights.empty()) supply_zoo_weights(program, read_zoo_weights(c.weights));
        execute = options.prepare(program);
      }
      r = CaseRun(c, data, options, execute).run();
    } catch (const std::exception& e) {
      r = outcome(Outcome::failed, e.what());
    }
    if (r.partly.empty()) r.partly = result.partly;
    if (r.outcome == Outcome::failed && c.data.size() > 1) r.message = text(data.substr(data.rfind('/') + 1), ": ", r.message);
    if (r.outcome != Outcome::passed || r.worst >= result.worst) result = std::move(r);
    if (result.outcome != Outcome::passed) break;
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace ingot
