#include "import/check.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/error.hpp"
#include "import/compare.hpp"
#include "import/json.hpp"
#include "import/pt2.hpp"
#include "import/spectral.hpp"
#include "ingot/autograd.hpp"
#include "io/file.hpp"
#include "io/safetensors.hpp"
#include "op/call.hpp"
#include "tensor/impl.hpp"
#include "tensor/random.hpp"

namespace ingot {

namespace {

using Outcome = CheckResult::Outcome;

CheckResult failure(std::string message) {
  std::replace(message.begin(), message.end(), '\n', ' ');
  return {Outcome::failed, std::move(message), {}, 0, false};
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
const Excuse* find_excuse(const GoldenCase& c) {
  for (const Excuse& e : kExcuses)
    if (e.what == c.name || (e.what.ends_with('_') && c.name.starts_with(e.what)) || std::any_of(c.targets.begin(), c.targets.end(), [&](std::string_view t) {
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

class CaseRun {
 public:
  CaseRun(const GoldenCase& c, const CheckOptions& options)
      : case_(c), options_(options), data_(SafeTensors::open(c.path + ".safetensors")) {}

  CheckResult run() {
    CheckResult result;
    const Excuse* excuse = find_excuse(case_);
    if (excuse && !excuse->gradients_only) return {Outcome::excused, std::string(excuse->reason), {}, 0, false};
    ExportedProgram program = load_pt2(case_.path + ".pt2");
    for (const auto& n : program.graph.nodes())
      if (n->kind == NodeKind::unsupported) result.missing_ops.push_back(n->target);
    if (!result.missing_ops.empty()) {
      result.outcome = Outcome::missing_op;
      result.message = "unsupported operators";
      return result;
    }
    ordered_dim_ = ordered_dim(program.graph);
    const bool gradients = options_.gradients && case_.has_gradients && !excuse;
    const Draw before = default_generator()->state();
    const TensorList inputs = make_inputs(gradients);
    TensorList outputs;
    {
      GradModeGuard mode(gradients);
      for (const Value& v : program.run(Values(inputs.begin(), inputs.end()))) collect_tensors(v, outputs);
    }
    only_kind_ = case_.is_random || is_uninitialised(case_.targets) || default_generator()->state() != before;
    result.in_part = only_kind_ || (options_.gradients && case_.has_gradients && excuse);
    check_outputs(inputs, outputs, result);
    if (gradients && result.message.empty()) check_gradients(inputs, outputs, result);
    if (!result.message.empty()) result.outcome = Outcome::failed;
    return result;
  }

 private:
  const GoldenCase& case_;
  const CheckOptions& options_;
  SafeTensors data_;
  bool only_kind_ = false;  // the program drew random numbers, or returns memory nobody wrote
  std::optional<int64_t> ordered_dim_;

  Tensor stored(const std::string& key) const { return data_.contains(key) ? data_.get(key) : Tensor(); }

  TensorList make_inputs(bool gradients) const {
    TensorList inputs;
    for (std::size_t i = 0;; i++) {
      const std::string key = text("in.", i);
      const Tensor t = stored(key);
      if (!t.defined()) return inputs;
      const auto strides = case_.strides.find(key);
      INGOT_REQUIRE(strides != case_.strides.end() && strides->second.size() == static_cast<std::size_t>(t.dim()),
                    case_.name, ": the index has no strides for ", key);
      inputs.push_back(with_strides(t, strides->second));
      if (gradients && data_.contains(text("grad.", i))) inputs.back().requires_grad_();
    }
  }

  Difference difference(const Tensor& got, const Tensor& want) const {
    return only_kind_ ? compare_kind(got, want) : compare(got, want, tolerance_for(want.dtype(), case_.name, case_.targets));
  }

  void note(CheckResult& result, const std::string& what, const Difference& d) const {
    result.worst = std::max(result.worst, d.worst);
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
      if (i >= outputs.size()) return note(result, key, {text("there are only ", outputs.size(), " outputs"), 0});
      const Tensor& want = wanted[i];
      const Difference d = difference(aligned[i], want);
      const bool tie = !d.message.empty() && ordered_dim_ && compare_kind(outputs[i], want).message.empty() &&
                       want.dtype() == DType::i64 && same_picks(inputs[0], *ordered_dim_, outputs[i], want);
      if (!tie) note(result, key, d);
      if (!options_.strides || !result.message.empty()) continue;
      const auto strides = case_.strides.find(key);
      if (strides != case_.strides.end() && outputs[i].strides().values() != strides->second)
        note(result, key, {text("got strides ", outputs[i].strides(), ", want ", Shape(strides->second), " for size ",
                                outputs[i].sizes()), 0});
    }
    if (i < outputs.size()) note(result, "outputs", {text("got ", outputs.size(), ", want ", i), 0});
  }

  void check_gradients(const TensorList& inputs, const TensorList& outputs, CheckResult& result) const {
    TensorList roots, tangents, leaves, wanted;
    std::vector<std::size_t> numbers;
    for (std::size_t i = 0; i < outputs.size(); i++) wanted.push_back(stored(text("tangent.", i)));
    if (const SpectralFreedom* freedom = spectral_freedom(case_.targets)) wanted = align_tangents(*freedom, outputs, stored_outputs(), wanted);
    for (std::size_t i = 0; i < outputs.size(); i++) {
      if (!wanted[i].defined()) continue;
      if (!outputs[i].requires_grad()) return note(result, text("out.", i), {"it does not require grad", 0});
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

// Composites and gradients call further ops; these are found missing only when they run.
bool note_unknown_op(std::string_view message, CheckResult& result) {
  constexpr std::string_view kStart = "unknown op '";
  const std::size_t at = message.find(kStart);
  if (at == message.npos) return false;
  const std::string_view name = message.substr(at + kStart.size());
  result.missing_ops.emplace_back(name.substr(0, name.find('\'')));
  result.outcome = Outcome::missing_op;
  return true;
}

}  // namespace

std::vector<GoldenCase> read_golden_index(const std::string& folder) {
  const std::string path = folder + "/index.json";
  const Ref<MappedFile> file = MappedFile::open(path);
  const JsonDocument document(file->bytes(), path);
  std::vector<GoldenCase> cases;
  for (const auto& [name, entry] : document.root().fields()) {
    GoldenCase& c = cases.emplace_back();
    c.name = name;
    c.path = text(folder, "/", name);
    c.has_gradients = entry.field("grad").boolean();
    c.is_random = entry.field("random").boolean();
    c.targets = entry.field("targets").map([](const Json& t) { return t.string(); });
    for (const auto& [key, strides] : entry.field("strides").fields())
      c.strides[std::string(key)] = strides.map([](const Json& s) { return s.integer(); });
  }
  std::sort(cases.begin(), cases.end(), [](const GoldenCase& a, const GoldenCase& b) { return a.name < b.name; });
  return cases;
}

CheckResult check_case(const GoldenCase& c, const CheckOptions& options) {
  try {
    return CaseRun(c, options).run();
  } catch (const std::exception& e) {
    CheckResult result = failure(e.what());
    note_unknown_op(e.what(), result);
    return result;
  }
}

}  // namespace ingot
