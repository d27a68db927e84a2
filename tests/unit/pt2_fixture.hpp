// Exported programs written by hand, as the JSON of an archive's models/NAME.json.
#pragma once
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "format/pt2/load.hpp"
#include "format/pt2/program.hpp"
#include "ingot/ingot.hpp"
#include "unit/io_fixture.hpp"

namespace ingot::pt2_json {

inline std::string joined(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& p : parts) out += (out.empty() ? "" : ", ") + p;
  return out;
}

// ---- arguments
inline std::string name_json(std::string_view n) { return text(R"({"name": ")", n, R"("})"); }
inline std::string val(std::string_view n) { return text(R"({"as_tensor": )", name_json(n), "}"); }
inline std::string vals(const std::vector<std::string>& names) {
  std::vector<std::string> all;
  for (const std::string& n : names) all.push_back(name_json(n));
  return text(R"({"as_tensors": [)", joined(all), "]}");
}
inline std::string sym_int(std::string_view n) { return text(R"({"as_sym_int": {"as_name": ")", n, R"("}})"); }
inline std::string sym_bool(std::string_view n) { return text(R"({"as_sym_bool": {"as_name": ")", n, R"("}})"); }
inline std::string sym_float(std::string_view n) { return text(R"({"as_sym_float": {"as_name": ")", n, R"("}})"); }
inline std::string as(std::string_view tag, std::string_view content) { return text(R"({")", tag, R"(": )", content, "}"); }
inline std::string integer(int64_t v) { return as("as_int", std::to_string(v)); }
inline std::string str(std::string_view v) { return as("as_string", text("\"", v, "\"")); }

// An argument of a node; positional, or keyword.
inline std::string arg(std::string_view name, std::string_view value, int kind = 1) {
  return text(R"({"name": ")", name, R"(", "arg": )", value, R"(, "kind": )", kind, "}");
}
inline std::string node(std::string_view target, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                        std::string_view name, std::string_view more = R"("metadata": {}, "is_hop_single_tensor_return": null)") {
  return text(R"({"target": ")", target, R"(", "inputs": [)", joined(inputs), R"(], "outputs": [)", joined(outputs),
              R"(], "name": ")", name, R"(", )", more, "}");
}
inline std::string op_node(std::string_view op, const std::vector<std::string>& inputs, std::string_view result) {
  return node(text("torch.ops.aten.", op), inputs, {val(result)}, result);
}

// ---- values
inline std::string expression(std::string_view v, std::string_view hint = "null") {
  return text(R"({"as_expr": {"expr_str": ")", v, R"(", "hint": )", hint, "}}");
}
// "3" is a number, anything else the text of an expression.
inline std::string number(std::string_view v) {
  const bool plain = v.find_first_not_of("-0123456789") == v.npos;
  return plain ? as("as_int", v) : expression(v);
}
inline std::string numbers(const std::vector<std::string>& list) {
  std::vector<std::string> all;
  for (const std::string& v : list) all.push_back(number(v));
  return "[" + joined(all) + "]";
}
inline std::string meta(const std::vector<std::string>& sizes, const std::vector<std::string>& strides, int dtype = 7,
                        std::string_view offset = "0", std::string_view device = R"({"type": "cpu", "index": null})") {
  return text(R"({"dtype": )", dtype, R"(, "sizes": )", numbers(sizes), R"(, "requires_grad": false, "device": )", device,
              R"(, "strides": )", numbers(strides), R"(, "storage_offset": )", number(offset), R"(, "layout": 7})");
}
inline std::string entry(std::string_view name, std::string_view value) { return text("\"", name, "\": ", value); }

inline constexpr std::string_view kS0 = "Symbol('s0', positive=True, integer=True)";
inline constexpr std::string_view kS1 = "Symbol('s1', positive=True, integer=True)";

// ---- a program. A graph of a function f(x) = x + x unless a test says otherwise.
struct GraphJson {
  std::vector<std::string> inputs, nodes, outputs, tensor_values, sym_ints, sym_bools, sym_floats, objects;
  bool bare = false;
  std::string json() const {
    return text(R"({"inputs": [)", joined(inputs), R"(], "outputs": [)", joined(outputs), R"(], "nodes": [)", joined(nodes),
                R"(], "tensor_values": {)", joined(tensor_values), R"(}, "sym_int_values": {)", joined(sym_ints),
                R"(}, "sym_bool_values": {)", joined(sym_bools), R"(}, "sym_float_values": {)", joined(sym_floats),
                R"(}, "custom_obj_values": {)", joined(objects), R"(}, "is_single_tensor_return": )", bare ? "true" : "false",
                "}");
  }
  std::string as_argument(std::string_view name) const {
    return text(R"({"as_graph": {"name": ")", name, R"(", "graph": )", json(), "}}");
  }
};

struct ProgramJson {
  GraphJson graph;
  std::vector<std::string> input_specs, output_specs, ranges, guards, calls, namedtuples;
  std::string version = R"({"major": 8, "minor": 17})", verifiers = R"(["TRAINING"])", more;
  std::string graph_text;  // instead of graph

  ProgramJson& user(std::string_view argument) {
    graph.inputs.emplace_back(argument);
    input_specs.push_back(text(R"({"user_input": {"arg": )", argument, "}}"));
    return *this;
  }
  ProgramJson& input(std::string_view name, std::string_view tensor_meta = {}) {
    if (!tensor_meta.empty()) graph.tensor_values.push_back(entry(name, tensor_meta));
    return user(val(name));
  }
  ProgramJson& state(std::string_view kind, std::string_view name, std::string_view fqn, std::string_view rest = {}) {
    graph.inputs.push_back(val(name));
    input_specs.push_back(
        text(R"({")", kind, R"(": {"arg": )", name_json(name), R"(, ")", kind, R"(_name": ")", fqn, "\"", rest, "}}"));
    return *this;
  }
  ProgramJson& then(std::string_view n) {
    graph.nodes.emplace_back(n);
    return *this;
  }
  ProgramJson& returns(std::string_view argument) {
    graph.outputs.emplace_back(argument);
    output_specs.push_back(text(R"({"user_output": {"arg": )", argument, "}}"));
    return *this;
  }
  // An output that is written somewhere: {"buffer_mutation": {"arg": …, "buffer_name": …}}.
  ProgramJson& writes(std::string_view tag, std::string_view value, std::string_view rest) {
    graph.outputs.push_back(val(value));
    output_specs.push_back(text(R"({")", tag, R"(": {"arg": )", name_json(value), rest, "}}"));
    return *this;
  }

  std::string json() const {
    return text(R"({"graph_module": {"graph": )", graph_text.empty() ? graph.json() : graph_text,
                R"(, "signature": {"input_specs": [)", joined(input_specs), R"(], "output_specs": [)", joined(output_specs),
                R"(]}, "module_call_graph": [)", joined(calls), R"(], "metadata": {}, "treespec_namedtuple_fields": {)",
                joined(namedtuples), R"(}}, "opset_version": {"aten": 10}, "range_constraints": {)", joined(ranges),
                R"(}, "schema_version": )", version, R"(, "verifiers": )", verifiers,
                R"(, "torch_version": "2.11.0", "guards_code": [)", joined(guards), "]", more, "}");
  }
};

// With what the file says about itself, for the writer.
inline Pt2Program read_all(const std::string& json, std::map<std::string, StateEntry> state = {}) {
  Pt2Program p;
  p.program.name = "m.pt2";
  p.program.state = std::move(state);
  read_program(json, "m.json", p);
  return p;
}
inline Program read(const std::string& json, std::map<std::string, StateEntry> state = {}) {
  return read_all(json, std::move(state)).program;
}
inline Program read(const ProgramJson& p, std::map<std::string, StateEntry> state = {}) {
  return read(p.json(), std::move(state));
}

inline StateEntry state_of(const Tensor& t) {
  StateEntry e;
  e.tensor = t;
  e.sizes = t.sizes();
  e.dtype = t.dtype();
  return e;
}

inline std::string error_of(const ProgramJson& p) {
  return user_error([&] { (void)read(p); });
}
// What running it refuses.
inline std::string refusal(const ProgramJson& p, const Values& in) {
  Program program = read(p);
  return user_error([&] { (void)program.run(in); });
}
inline void expect_in(std::string_view part, std::string_view whole) { EXPECT_NE(whole.find(part), whole.npos) << whole; }

inline std::vector<float> floats(const Value& v) { return v.tensor().to_vector<float>(); }
using Floats = std::vector<float>;

}  // namespace ingot::pt2_json
