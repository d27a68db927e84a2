#include "aot/signature.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "graph/text.hpp"

namespace ingot::aot {
namespace {

// Takes names one after the other, and says at the end whether all were.
class Names {
 public:
  Names(std::vector<std::string> names, std::string_view what) : names_(std::move(names)), what_(what) {}
  const std::string& next() {
    INGOT_ENSURE(next_ < names_.size(), "the graph has ", names_.size(), " ", what_, "s, and more are expected");
    return names_[next_++];
  }
  std::size_t left() const { return names_.size() - next_; }
  void require_none_left() const {
    INGOT_ENSURE(left() == 0, left(), " of ", names_.size(), " ", what_, "s of the graph are nothing to the module");
  }
  const std::string& at(std::size_t k) const {
    INGOT_ENSURE(k < names_.size(), what_, " ", k, " of ", names_.size());
    return names_[k];
  }

 private:
  std::vector<std::string> names_;
  std::string_view what_;
  std::size_t next_ = 0;
};

std::string quoted(const std::string& s) { return "'" + s + "'"; }

template <class List, class F>
std::string joined(const List& l, const F& f) {
  std::string s;
  for (const auto& e : l) s += (s.empty() ? "" : ", ") + f(e);
  return s;
}

}  // namespace

void NameMap::set(std::string key, std::string value) {
  const auto it = std::find_if(entries_.begin(), entries_.end(), [&](const auto& e) { return e.first == key; });
  if (it == entries_.end()) entries_.emplace_back(std::move(key), std::move(value));
  else it->second = std::move(value);
}

const std::string* NameMap::find(std::string_view key) const {
  const auto it = std::find_if(entries_.begin(), entries_.end(), [&](const auto& e) { return e.first == key; });
  return it == entries_.end() ? nullptr : &it->second;
}

std::string to_text(const NameMap& m) {
  return "{" + joined(m.entries(), [](const auto& e) { return quoted(e.first) + ": " + quoted(e.second); }) + "}";
}
std::string to_text(const std::vector<std::string>& l) { return "[" + joined(l, quoted) + "]"; }

GraphSignature make_signature(const Graph& g, const Metadata& meta, const SignatureNames& names, TreeSpec in_spec,
                              TreeSpec out_spec) {
  INGOT_REQUIRE(!meta.has_wrappers, "aot_export_module does not support tensor subclass inputs for now.");  // R172
  GraphSignature s;
  s.parameters = names.parameters;
  s.buffers = names.buffers;
  s.in_spec = std::move(in_spec);
  s.out_spec = std::move(out_spec);

  std::vector<std::string> input_names, output_names;
  for (const Node* n : g.inputs()) input_names.push_back(n->name);
  for (const Argument& a : g.outputs) output_names.push_back(print(a));
  Names inputs(input_names, "input"), outputs(output_names, "output");
  for (int k = 0; k < meta.tokens; k++) s.input_tokens.push_back(inputs.next()), s.output_tokens.push_back(outputs.next());
  const auto tokens = static_cast<std::size_t>(meta.tokens);
  for (const std::string& p : s.parameters) s.inputs_to_parameters.set(inputs.next(), p);
  for (const std::string& b : s.buffers) s.inputs_to_buffers.set(inputs.next(), b);
  while (inputs.left() > 0) s.user_inputs.push_back(inputs.next());
  INGOT_ENSURE(input_names.size() == meta.inputs.size() + tokens, "the graph has ", input_names.size(), " inputs, the function ",
               meta.inputs.size());

  const std::size_t parameters = s.parameters.size(), state = parameters + s.buffers.size();
  for (const int i : meta.mutated_out_of_graph()) {
    const auto k = static_cast<std::size_t>(i);
    INGOT_REQUIRE(k >= parameters, "the parameter ", s.parameters[k],
                  " is written in the forward: an exported graph can have new values of buffers and of inputs, "
                  "not of parameters. Make it a buffer, or write a copy of it");
    if (k < state) s.buffers_to_mutate.set(outputs.next(), s.buffers[k - parameters]);
    else s.user_inputs_to_mutate.set(outputs.next(), input_names[tokens + k]);
  }
  for (std::size_t k = 0; k < meta.outputs.size(); k++) s.user_outputs.push_back(outputs.next());
  if (names.output_loss_index) {
    BackwardSignature b;
    for (std::size_t k = 0; k < names.gradients.size(); k++) {
      if (!names.gradients[k]) continue;
      if (k < state) b.gradients_to_parameters.set(outputs.next(), k < parameters ? s.parameters[k] : s.buffers[k - parameters]);
      else b.gradients_to_user_inputs.set(outputs.next(), input_names[tokens + k]);
    }
    b.loss_output = outputs.at(static_cast<std::size_t>(*names.output_loss_index));
    s.backward_signature = std::move(b);
  }
  outputs.require_none_left();
  return s;
}

}  // namespace ingot::aot
