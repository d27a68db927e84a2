#include "compiler/program_calls.hpp"

#include "base/error.hpp"
#include "program/write_back.hpp"
#include "tensor/impl.hpp"

namespace ingot {
namespace {

using InputKind = InputSpec::Kind;

}  // namespace

Tensor number_tensor(const Value& v) {
  const DType dtype = v.is_bool() ? DType::b8 : v.is_int() ? DType::i64 : DType::f64;
  Tensor t = make_tensor(Geometry::contiguous({}, dtype));
  return t.fill_(v.to_scalar());
}

TensorList library_inputs(const Program& program, Args given, std::size_t entry) {
  const std::vector<InputSpec>& specs = program.entries.at(entry).inputs;
  std::size_t users = 0, fixed = 0;
  for (const InputSpec& s : specs)
    if (s.kind == InputKind::user) s.node == nullptr ? fixed++ : users++;
  const bool with_fixed = fixed > 0 && given.size() == users + fixed;
  INGOT_REQUIRE(with_fixed || given.size() == users, program.name, ": expected ", users, " inputs, found ", given.size());
  TensorList inputs;
  std::size_t next = 0;
  for (const InputSpec& s : specs) {
    if (s.kind == InputKind::token && s.node != nullptr) inputs.push_back(make_tensor(Geometry::contiguous({0}, DType::f32)));
    if (s.kind != InputKind::user) continue;
    if (s.node == nullptr) {
      if (!with_fixed) continue;
      const Value& v = given[next++];
      INGOT_REQUIRE(!program.check_inputs || v.same(s.fixed), "input ", s.name, " must be ", s.fixed, ", got ", v);
      continue;
    }
    const Value& v = given[next++];
    INGOT_REQUIRE(v.is_tensor() || v.is_number(), program.name, ": input ", s.name, ": expected a tensor or a number, found ",
                  v.kind_name());
    inputs.push_back(v.is_tensor() ? v.tensor() : number_tensor(v));
  }
  return inputs;
}

Values caller_results(Program& program, const TensorList& outputs, std::size_t place) {
  Values returned;
  std::size_t next = 0;
  const EntryPoint& entry = program.entries.at(place);
  for (std::size_t i = 0; i < entry.outputs.size(); i++) {
    if (!entry.outputs[i].is_returned()) continue;
    const Argument& a = entry.graph.outputs[i];
    if (a.is_value()) {  // a constant, which the library does not return
      returned.push_back(a.value());
      continue;
    }
    INGOT_REQUIRE(next < outputs.size(), program.name, ": the library returned ", outputs.size(),
                  " values, the program returns more");
    const Tensor& t = outputs[next++];
    const bool is_tensor = entry.outputs[i].is_gradient() || (a.is_node() && a.node()->meta.is_tensor());
    returned.push_back(is_tensor ? Value(t) : Value(t.item()));
  }
  INGOT_REQUIRE(next == outputs.size(), program.name, ": the library returned ", outputs.size(), " values, the program returns ",
                next);
  return program.keep_gradients(entry, returned);
}

void take_back_state(Program& program, const std::unordered_map<std::string, Tensor>& constants, std::size_t entry) {
  const std::set<std::size_t> declared = declared_writes(program.entries.at(entry));
  std::set<const Storage*> written;
  std::size_t placeholder = 0;
  for (const InputSpec& s : program.entries.at(entry).inputs) {
    if (s.node == nullptr) continue;
    const auto state = s.kind == InputKind::user ? program.state.end() : program.state.find(s.name);
    if (state != program.state.end() && state->second.tensor.defined() && declared.contains(placeholder))
      written.insert(state->second.tensor->storage.get());
    placeholder++;
  }
  for (const auto& [name, now] : constants) {
    const auto state = program.state.find(name);
    if (state == program.state.end() || !state->second.tensor.defined()) continue;
    Tensor& tensor = state->second.tensor;
    if (!state->second.is_parameter || written.contains(tensor->storage.get())) tensor.copy_(now);
  }
}

}  // namespace ingot
