#include "host/torch/callable.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "base/dtype_code.hpp"
#include "base/error.hpp"
#include "base/library_metadata.hpp"
#include "io/json.hpp"
#include "program/tree_spec.hpp"
#include "io/json_writer.hpp"
#include "tensor/impl.hpp"

namespace ingot {
namespace {

std::string shown_keys(const Values& keys) {
  std::string out = "{";
  for (const Value& k : keys) out += text(out.size() > 1 ? ", " : "", to_text(k));
  return out + "}";
}

bool same_keys(Values a, Values b) {
  const auto sorted = [](const Values& keys) {
    std::multiset<std::string> texts;
    for (const Value& k : keys) texts.insert(to_text(k));
    return texts;
  };
  return sorted(a) == sorted(b);
}

}  // namespace

TreeSpec parse_call_spec(const std::string& spec, const std::string& what) {
  const JsonDocument document(json_string(spec), what);
  return read_tree_spec(document.root(), {});
}

CallableModel::CallableModel(std::shared_ptr<ModelContainerRunner> runner) : runner_(std::move(runner)) {
  const auto [in, out] = runner_->call_spec();
  has_spec_ = !in.empty() && !out.empty();
  if (!has_spec_) return;
  in_spec_ = parse_call_spec(in, "the model's in_spec");
  out_spec_ = parse_call_spec(out, "the model's out_spec");
  INGOT_REQUIRE(in_spec_.children.size() == 2, "the model's in_spec is no pair of positional and keyword arguments");
  const ModelLibrary& library = runner_->library();
  const std::size_t entries = library.is_own() ? library.ingot_model_metadata_count() : 0;
  const std::string prefix = metadata_prefix(runner_->entry_name());
  for (std::size_t k = 0; k < entries; k++) {
    const char *name = nullptr, *value = nullptr;
    library.ingot_model_metadata(k, &name, &value);
    std::string_view key = name;
    if (!key.starts_with(prefix)) continue;
    key.remove_prefix(prefix.size());
    if (key == kConstantResults) constant_results_ = constant_results_of(value, kConstantResults);
    if (key.starts_with(kFixedInput)) fixed_.emplace(std::strtoul(key.data() + kFixedInput.size(), nullptr, 10), value);
  }
}

TensorList CallableModel::flat_inputs(const Tree& args, const Tree& kwargs) const {
  Values leaves;
  if (has_spec_) {
    const Values& expected = in_spec_.children[1].keys;
    INGOT_REQUIRE(same_keys(kwargs.keys(), expected), "Ran into a kwarg keyword mismatch: Got the following keywords ",
                  shown_keys(kwargs.keys()), " but expected ", shown_keys(expected));
    leaves = flatten(Tree::tuple({args, kwargs}), in_spec_, "inputs");
  } else {
    leaves = flatten(args).leaves;
  }
  // Fixed at export: what a library of ours says so of; of others' everything that is no tensor.
  const ModelLibrary& library = runner_->library();
  const bool takes_numbers =
      library.is_own() && runner_->description("a call").info().input_count + fixed_.size() == leaves.size();
  TensorList inputs;
  for (std::size_t k = 0; k < leaves.size(); k++) {
    if (const auto fixed = fixed_.find(k); fixed != fixed_.end()) {
      INGOT_REQUIRE(to_text(leaves[k]) == fixed->second, "input ", leaf_names(in_spec_, "inputs")[k], " must be ", fixed->second,
                    ", got ", leaves[k], ": the model was compiled for that value");
    } else if (leaves[k].is_tensor()) {
      inputs.push_back(leaves[k].tensor());
    } else if (takes_numbers && leaves[k].is_number()) {
      const ingot_value_info info = runner_->description("a call").input(inputs.size());
      const DType dtype = dtype_of_code(info.dtype).value_or(DType::i64);
      Tensor t = make_tensor(Geometry::contiguous({}, dtype));
      inputs.push_back(t.fill_(leaves[k].to_scalar()));
    }
  }
  return inputs;
}

Tree CallableModel::operator()(const Tree& args, const Tree& kwargs) const {
  const TensorList outputs = runner_->boxed_run(flat_inputs(args, kwargs));
  Values leaves;
  for (std::size_t next = 0; next < outputs.size() || constant_results_.contains(leaves.size());) {
    const auto constant = constant_results_.find(leaves.size());
    leaves.push_back(constant == constant_results_.end() ? Value(outputs[next++]) : constant->second);
  }
  if (has_spec_) {
    INGOT_REQUIRE(leaves.size() == out_spec_.leaves(), "the model returned ", leaves.size(), " values, its out_spec has ",
                  out_spec_.leaves());
    return unflatten(leaves, out_spec_);
  }
  return Tree::tuple({leaves.begin(), leaves.end()});
}

}  // namespace ingot
