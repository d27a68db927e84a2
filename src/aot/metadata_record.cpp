#include "aot/metadata_record.hpp"

#include <algorithm>

#include "base/dtype.hpp"
#include "base/error.hpp"

namespace ingot::aot {
namespace {

constexpr InputField kInputFields[] = {
    {"is_leaf", &InputInfo::is_leaf},
    {"mutates_data", &InputInfo::mutates_data},
    {"mutates_metadata", &InputInfo::mutates_metadata},
    {"mutations_hidden_from_autograd", &InputInfo::hidden_from_autograd},
    {"mutations_under_no_grad_or_inference_mode", &InputInfo::under_no_grad},
    {"mutation_inductor_storage_resize", &InputInfo::resizes_storage},
    {"mutates_storage_metadata", &InputInfo::mutates_storage_metadata},
    {"requires_grad", &InputInfo::requires_grad},
    {"changes_requires_grad", &InputInfo::changes_requires_grad},
    {"keep_input_mutations", &InputInfo::keep_mutations},
};

bool same(const InputInfo& a, const InputInfo& b) {
  return std::all_of(std::begin(kInputFields), std::end(kInputFields),
                     [&](const InputField& f) { return a.*f.value == b.*f.value; });
}
bool same(const OutputInfo& a, const OutputInfo& b) {
  return a.kind == b.kind && a.is_tensor == b.is_tensor && a.base == b.base && a.dynamic_dims == b.dynamic_dims &&
         a.requires_grad == b.requires_grad && a.stands_in_for_input == b.stands_in_for_input &&
         a.stands_in_for_output == b.stands_in_for_output && a.stand_in_by == b.stand_in_by;
}
bool same_tangent(const Tensor& a, const Tensor& b) { return a.sizes().same(b.sizes()) && a.dtype() == b.dtype(); }

template <class T, class F>
bool all_same(const std::vector<T>& a, const std::vector<T>& b, const F& f) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), f);
}

std::string to_text(const std::vector<int>& l) {
  std::string s;
  for (const int k : l) s += text(s.empty() ? "" : ", ", k);
  return "[" + s + "]";
}

std::string_view to_text(Mutation m) {
  switch (m) {
    case Mutation::none: return "NOT_MUTATED";
    case Mutation::in_graph: return "MUTATED_IN_GRAPH";
    case Mutation::out_of_graph: return "MUTATED_OUT_GRAPH";
  }
  return "";
}

}  // namespace

std::span<const InputField> input_fields() { return kInputFields; }

bool same_record(const Metadata& a, const Metadata& b) {
  return all_same(a.inputs, b.inputs, [](const InputInfo& x, const InputInfo& y) { return same(x, y); }) &&
         all_same(a.outputs, b.outputs, [](const OutputInfo& x, const OutputInfo& y) { return same(x, y); }) &&
         a.intermediate_bases == b.intermediate_bases && a.tokens == b.tokens && a.keep_mutations == b.keep_mutations &&
         all_same(a.tangents, b.tangents, same_tangent);
}

std::string to_text(const Metadata& m) {
  std::string s;
  for (std::size_t k = 0; k < m.inputs.size(); k++) {
    s += text("input ", k, ": ", to_text(m.inputs[k].mutation()));
    for (const InputField& f : kInputFields)
      if (m.inputs[k].*f.value) s += text(" ", f.name);
    s += "\n";
  }
  for (std::size_t k = 0; k < m.outputs.size(); k++) {
    const OutputInfo& o = m.outputs[k];
    s += text("output ", k, ": ", to_text(o.kind), o.base < 0 ? "" : text(" ", o.base), o.is_tensor ? "" : " no tensor",
              o.requires_grad ? " requires_grad" : "");
    if (!o.stand_in_by.empty()) s += text(" ", o.stand_in_by);
    if (o.stands_in_for_input >= 0) s += text(" of input ", o.stands_in_for_input);
    if (o.stands_in_for_output >= 0) s += text(" of output ", o.stands_in_for_output);
    if (!o.dynamic_dims.empty()) s += text(" dynamic_dims=", to_text(o.dynamic_dims));
    s += "\n";
  }
  s +=
      text("num_intermediate_bases=", m.intermediate_bases, " keep_input_mutations=", m.keep_mutations, " is_train=", m.is_train);
  if (!m.static_parameters.empty()) s += text(" static_parameter_indices=", to_text(m.static_parameters));
  if (m.tokens > 0) s += text(" tokens=", m.tokens);
  if (m.grad_mode) s += text(" grad_enabled_mutation=", *m.grad_mode);
  s += "\n";
  for (std::size_t k = 0; k < m.tangents.size(); k++)
    s += text("tangent ", k, ": ", short_name_of(m.tangents[k].dtype()), to_text(m.tangents[k].sizes()), "\n");
  return s;
}

Metadata dense_record(const Metadata& m, const DenseLayout& inputs, const DenseLayout& returned) {
  if (!m.has_wrappers) return m;
  Metadata dense = m;
  dense.has_wrappers = false;
  dense.inputs.clear();
  dense.outputs.clear();
  for (std::size_t k = 0; k < m.inputs.size(); k++) dense.inputs.insert(dense.inputs.end(), inputs[k].leaves(), m.inputs[k]);
  const std::size_t first = m.mutated_out_of_graph().size(), before = first == 0 ? 0 : returned.first_of(first);
  for (std::size_t k = 0; k < m.outputs.size(); k++)
    for (std::size_t i = 0; i < returned[first + k].leaves(); i++) {
      OutputInfo o = m.outputs[k];
      if (o.base >= 0) {
        const auto base = static_cast<std::size_t>(o.base);
        o.base = static_cast<int>((o.base_is_input() ? inputs.first_of(base) : returned.first_of(first + base) - before) + i);
      }
      dense.outputs.push_back(std::move(o));
    }
  dense.tangents.clear();
  for (const Value& v : unwrapped(Values(m.tangents.begin(), m.tangents.end()))) dense.tangents.push_back(v.tensor());
  return dense;
}

Metadata runtime_record(Metadata m) {
  INGOT_ENSURE(!m.is_runtime_record, "the record of a function was made ready to run before");
  m.is_runtime_record = true;
  m.tangents.clear();
  return m;
}

}  // namespace ingot::aot
