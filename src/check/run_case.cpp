#include "check/run_case.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>

#include "base/error.hpp"
#include "check/spectral.hpp"
#include "import/pt2.hpp"
#include "import/zoo_weights.hpp"
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

// The elements of `t` in a tensor of other strides, copied one by one: strides may be those of an expanded tensor.
Tensor with_strides(const Tensor& t, const std::vector<int64_t>& strides) {
  Geometry g;
  g.sizes = t.sizes();
  g.strides = Shape(strides);
  g.dtype = t.dtype();
  const Tensor out = make_tensor(std::move(g));
  const int64_t n = t.numel().value(), item = t.itemsize();
  const std::vector<int64_t> sizes = t.sizes().values();
  const char* from = static_cast<const char*>(t.data_ptr());
  char* to = static_cast<char*>(out.data_ptr());
  std::vector<int64_t> index(sizes.size());
  for (int64_t i = 0; i < n; i++, from += item) {
    int64_t at = 0;
    for (std::size_t d = 0; d < sizes.size(); d++) at += index[d] * strides[d];
    std::memcpy(to + at * item, from, static_cast<std::size_t>(item));
    for (std::size_t d = sizes.size(); d-- > 0 && ++index[d] == sizes[d];) index[d] = 0;
  }
  return out;
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
  bool gradients_only;
  std::string_view reason;
};
constexpr Excuse kExcuses[] = {
    {"aten.as_strided_scatter", true,
     "PyTorch's gradient of self is that of the part which src overwrites, where the result does not depend on self"},
    {"masked_select/f32_2", false,
     "the exported program asserts that at most 10 elements are selected, and its input selects 49"},
    {"matrix_exp/bf16_", false,
     "PyTorch reads the bytes of its double coefficients as bfloat16 numbers; its results are NaN"},
    {"matrix_exp/f16_", false, "as bfloat16"},
};
const Excuse* find_excuse(const Case& c) {
  for (const Excuse& e : kExcuses)
    if (e.what == c.entry || (e.what.ends_with('_') && c.entry.starts_with(e.what)) ||
        std::any_of(c.targets.begin(), c.targets.end(), [&](std::string_view t) {
          return t.substr(0, t.rfind('.')) == e.what;
        }))
      return &e;
  return nullptr;
}

// Whether a program's results may be memory that nobody wrote.
bool is_uninitialised(const std::vector<std::string>& targets) {
  return std::any_of(targets.begin(), targets.end(), [](const std::string& t) {
    return t.starts_with("aten.empty") || t.starts_with("aten.new_empty");
  });
}

// The dim along which the program orders its first input, if it picks among equal elements in an order that PyTorch
// leaves open: its indices then need not be ours.
std::optional<int64_t> ordered_dim(const Graph& graph) {
  constexpr std::string_view kOrdering[] = {"argsort", "kthvalue", "sort", "topk"};
  for (const auto& n : graph.nodes()) {
    if (n->kind != NodeKind::call || std::find(std::begin(kOrdering), std::end(kOrdering), n->op->schema.name) == std::end(kOrdering)) continue;
    const auto constant = [&](std::string_view arg) {
      const int i = n->op->schema.index_of(arg);
      return i >= 0 && n->args[static_cast<std::size_t>(i)].is_value() ? n->args[static_cast<std::size_t>(i)].value() : Value();
    };
    const bool is_stable = constant("stable").bool_or(false);
    if (!is_stable && constant("dim").is_int()) return constant("dim").to_int64();
  }
  return std::nullopt;
}

// Whether two index tensors pick equal elements of `input`.
bool same_picks(const Tensor& input, int64_t dim, const Tensor& got, const Tensor& want) {
  const auto picked = [&](const Tensor& index) {
    const bool full = index.dim() == input.dim();
    return aten<"gather">(input, dim, full ? index : index.unsqueeze(dim));
  };
  return compare(picked(got), picked(want), {}).message.empty();
}

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
  CaseRun(const Case& c, const std::string& data, const CheckOptions& options)
      : case_(c), options_(options), data_(SafeTensors::open(data)), program_(load_pt2(c.program)) {}

  CheckResult run() {
    const Excuse* excuse = find_excuse(case_);
    if (excuse && !excuse->gradients_only) return outcome(Outcome::skipped, excuse->reason);
    CheckResult result;
    for (const auto& n : program_.graph.nodes())
      if (n->kind == NodeKind::unsupported) result.missing_ops.push_back(n->target);
    if (!case_.weights.empty()) supply_zoo_weights(program_, read_zoo_weights(case_.weights));
    ordered_dim_ = ordered_dim(program_.graph);
    try {
      if (case_.kind == Case::Kind::train) train(result);
      else forward(excuse, result);
    } catch (const std::exception& e) {
      result.message = on_one_line(e.what());
      note_unknown_op(result.message, result);
    }
    if (!result.message.empty()) result.outcome = Outcome::failed;
    return result;
  }

 private:
  const Case& case_;
  const CheckOptions& options_;
  SafeTensors data_;
  ExportedProgram program_;
  bool only_kind_ = false;  // the program drew random numbers, or returns memory nobody wrote
  std::optional<int64_t> ordered_dim_;

  Tensor stored(const std::string& key) const { return data_.contains(key) ? data_.get(key) : Tensor(); }

  void forward(const Excuse* excuse, CheckResult& result) {
    const bool has_gradients = case_.kind == Case::Kind::op ? case_.has_gradients : data_.contains("tangent.0");
    const bool gradients = options_.gradients && has_gradients && !excuse;
    const Draw before = default_generator()->state();
    const TensorList inputs = make_inputs(gradients);
    const TensorList outputs = results_of(inputs, gradients);
    only_kind_ = case_.is_random || is_uninitialised(case_.targets) || default_generator()->state() != before;
    result.in_part = only_kind_ || (options_.gradients && has_gradients && excuse);
    check_outputs(inputs, outputs, result);
    for (const auto& [name, entry] : program_.state)
      if (const Tensor want = stored("buffer." + name); want.defined())
        note(result, "buffer." + name, difference(entry.tensor, want));
    if (gradients && result.message.empty()) check_gradients(inputs, outputs, result);
  }

  // The first batch: its loss, and the gradients of the parameters.
  void train(CheckResult& result) {
    for (auto& [name, entry] : program_.state)
      if (entry.is_parameter && entry.requires_grad) entry.tensor.requires_grad_(options_.gradients);
    const TensorList outputs = results_of({stored("x.0"), stored("y.0")}, options_.gradients);
    if (outputs.empty()) return note(result, "loss", {"the program has no result", 0, 0});
    note(result, "loss", difference(outputs[0], stored("loss")));
    if (!options_.gradients) return;
    TensorList parameters;
    std::vector<std::string> keys;
    for (const auto& [name, entry] : program_.state)
      if (data_.contains("grad." + name)) {
        parameters.push_back(entry.tensor);
        keys.push_back("grad." + name);
      }
    const TensorList grads = grad({outputs[0]}, parameters, {}, {.allow_unused = true});
    for (std::size_t i = 0; i < grads.size(); i++) note(result, keys[i], difference(grads[i], stored(keys[i])));
  }

  TensorList results_of(const TensorList& inputs, bool gradients) {
    TensorList outputs;
    const GradModeGuard mode(gradients);
    for (const Value& v : program_.run(Values(inputs.begin(), inputs.end()))) collect_tensors(v, outputs);
    return outputs;
  }

  // The program may write to its inputs, so each is a copy; an op's have PyTorch's strides.
  TensorList make_inputs(bool gradients) const {
    TensorList inputs;
    for (std::size_t i = 0;; i++) {
      const std::string key = text("in.", i);
      const Tensor t = stored(key);
      if (!t.defined()) return inputs;
      const auto strides = case_.strides.find(key);
      const bool known = strides != case_.strides.end() && strides->second.size() == static_cast<std::size_t>(t.dim());
      INGOT_REQUIRE(known || case_.kind != Case::Kind::op, case_.name, ": the index has no strides for ", key);
      inputs.push_back(known ? with_strides(t, strides->second) : aten<"clone">(t));
      if (gradients && data_.contains(text("grad.", i))) inputs.back().requires_grad_();
    }
  }

  Difference difference(const Tensor& got, const Tensor& want) const {
    if (only_kind_) return compare_kind(got, want);
    const Tolerance usual = case_.kind == Case::Kind::op ? tolerance_for(want.dtype(), case_.entry, case_.targets)
                                                         : model_tolerance(want);
    return compare(got, want, options_.tolerance.value_or(usual));
  }

  void note(CheckResult& result, const std::string& what, const Difference& d) const {
    if (result.where.empty() || d.worst > result.worst) {
      result.worst = d.worst;
      result.largest = d.largest;
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
      if (i >= outputs.size()) return note(result, key, {text("there are only ", outputs.size(), " outputs"), 0, 0});
      const Tensor& want = wanted[i];
      const Difference d = difference(aligned[i], want);
      const bool tie = !d.message.empty() && ordered_dim_ && compare_kind(outputs[i], want).message.empty() &&
                       want.dtype() == DType::i64 && same_picks(inputs[0], *ordered_dim_, outputs[i], want);
      if (!tie) note(result, key, d);
      if (!options_.strides || !result.message.empty()) continue;
      const auto strides = case_.strides.find(key);
      if (strides != case_.strides.end() && outputs[i].strides().values() != strides->second)
        note(result, key, {text("got strides ", outputs[i].strides(), ", want ", Shape(strides->second), " for size ",
                                outputs[i].sizes()), 0, 0});
    }
    if (i < outputs.size()) note(result, "outputs", {text("got ", outputs.size(), ", want ", i), 0, 0});
  }

  void check_gradients(const TensorList& inputs, const TensorList& outputs, CheckResult& result) const {
    TensorList roots, tangents, leaves, wanted;
    std::vector<std::size_t> numbers;
    for (std::size_t i = 0; i < outputs.size(); i++) wanted.push_back(stored(text("tangent.", i)));
    if (const SpectralFreedom* freedom = spectral_freedom(case_.targets)) wanted = align_tangents(*freedom, outputs, stored_outputs(), wanted);
    for (std::size_t i = 0; i < outputs.size(); i++) {
      if (!wanted[i].defined()) continue;
      if (!outputs[i].requires_grad()) return note(result, text("out.", i), {"it does not require grad", 0, 0});
      roots.push_back(outputs[i]);
      tangents.push_back(wanted[i]);
    }
    for (std::size_t i = 0; i < inputs.size(); i++) {
      if (!inputs[i].requires_grad()) continue;
      leaves.push_back(inputs[i]);
      numbers.push_back(i);
    }
    if (leaves.empty()) return;
    const TensorList grads = grad(roots, leaves, tangents, {.allow_unused = true});
    for (std::size_t k = 0; k < grads.size(); k++) {
      const std::string key = text("grad.", numbers[k]);
      note(result, key, difference(grads[k], stored(key)));
    }
  }
};

}  // namespace

CheckResult check_case(const Case& c, const CheckOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  CheckResult result;
  for (const std::string& data : c.data) {
    CheckResult r;
    try {
      r = CaseRun(c, data, options).run();
    } catch (const std::exception& e) {
      r = outcome(Outcome::failed, e.what());
    }
    if (r.outcome == Outcome::failed && c.data.size() > 1) r.message = text(data.substr(data.rfind('/') + 1), ": ", r.message);
    if (r.outcome != Outcome::passed || r.worst >= result.worst) result = std::move(r);
    if (result.outcome != Outcome::passed) break;
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace ingot
