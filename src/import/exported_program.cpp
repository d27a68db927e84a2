#include "import/exported_program.hpp"

#include <algorithm>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "graph/interpret.hpp"
#include "io/dense.hpp"
#include "op/call.hpp"

namespace ingot {

namespace {

// Whether the output is a leaf of what the caller gets.
bool is_result(const OutputSpec& s) { return s.kind == OutputSpec::Kind::user || s.kind == OutputSpec::Kind::loss; }

Value state_value(const ExportedProgram& p, const InputSpec& s) {
  const auto it = p.state.find(s.name);
  INGOT_ENSURE(it != p.state.end(), p.name, ": no entry for ", s.name);
  INGOT_REQUIRE(it->second.tensor.defined(), "weight ", s.name, " (", it->second.entry,
                ") is not in the archive and was not supplied");
  return it->second.tensor;
}

}  // namespace

std::vector<const InputSpec*> ExportedProgram::user_inputs() const {
  std::vector<const InputSpec*> out;
  for (const InputSpec& s : inputs)
    if (s.kind == InputSpec::Kind::user && s.node != nullptr) out.push_back(&s);
  return out;
}

void ExportedProgram::supply(std::string_view key, const Tensor& t) {
  const auto it = state.find(std::string(key));
  INGOT_REQUIRE(it != state.end(), name, ": it has no parameter or buffer ", shown_name(key));
  StateEntry& e = it->second;
  INGOT_REQUIRE(t.dtype() == e.dtype && t.sizes() == e.sizes, name, ": ", key, " should be ", e.dtype, " of size ",
                e.sizes, ", found ", t.dtype(), " of size ", t.sizes());
  e.tensor = t;
}

Values ExportedProgram::run(Args given) {
  const auto expected = user_inputs();
  INGOT_REQUIRE(given.size() == expected.size(), name, " takes ", expected.size(), " inputs, found ", given.size());
  Values values;
  std::map<std::string, Tensor> user;  // by the graph's name: targets of mutations
  std::size_t next = 0;
  for (const InputSpec& s : inputs) {
    if (s.node == nullptr) continue;
    if (s.kind == InputSpec::Kind::user) {
      if (given[next].is_tensor()) user[s.name] = given[next].tensor();
      values.push_back(given[next++]);
    } else if (s.kind == InputSpec::Kind::token) {
      values.push_back(make_tensor(Geometry::contiguous({0}, DType::f32)));
    } else {
      values.push_back(state_value(*this, s));
    }
  }
  const Values all = Interpreter(graph).run(values);

  Values results;
  std::vector<std::pair<Tensor, Tensor>> writes;
  for (std::size_t i = 0; i < outputs.size(); i++) {
    const OutputSpec& s = outputs[i];
    if (is_result(s)) results.push_back(all[i]);
    else if (s.kind == OutputSpec::Kind::buffer_mutation || s.kind == OutputSpec::Kind::parameter_mutation)
      writes.emplace_back(state.at(s.target).tensor, all[i].tensor());
    else if (s.kind == OutputSpec::Kind::user_input_mutation)
      writes.emplace_back(user.at(s.target), all[i].tensor());
  }
  // A result that is also written back must not change under the caller when its target is written next time.
  for (auto& [target, source] : writes) aten<"copy_">(target, source);
  return results;
}

}  // namespace ingot
