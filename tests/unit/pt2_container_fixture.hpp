// Exported-program archives and files of torch.save, put together from text, for tests of the
// container.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "unit/zip_fixture.hpp"

namespace ingot {

// ---- programs

inline std::string tensor_name(std::string_view name) { return text(R"({"as_tensor": {"name": ")", name, R"("}})"); }
inline std::string int_list(const std::vector<int64_t>& numbers) {
  std::string out;
  for (const int64_t n : numbers) out += text(out.empty() ? "" : ", ", R"({"as_int": )", n, "}");
  return text("[", out, "]");
}

// The metadata of a tensor; `layout` and `device` as a test wants them.
struct Meta {
  std::vector<int64_t> sizes = {2}, strides = {1};
  int dtype = 7;
  int64_t offset = 0;
  bool requires_grad = true;
  int layout = 7;
  std::string device = "cpu";
  std::string json() const {
    return text(R"({"dtype": )", dtype, R"(, "sizes": )", int_list(sizes), R"(, "requires_grad": )",
                requires_grad ? "true" : "false", R"(, "device": {"type": ")", device, R"(", "index": null}, "strides": )",
                int_list(strides), R"(, "storage_offset": {"as_int": )", offset, R"(}, "layout": )", layout, "}");
  }
};

struct Payload {
  std::string name, file = "weight_0";
  Meta meta = {};
  bool is_param = true, use_pickle = false;
  bool is_custom = false;
  std::string json() const {
    return text("\"", name, R"(": {"path_name": ")", file, R"(", "is_param": )", is_param ? "true" : "false",
                R"(, "use_pickle": )", use_pickle ? "true" : "false", R"(, "tensor_meta": )",
                is_custom ? std::string("null") : meta.json(), "}");
  }
};
inline std::string config(const std::vector<Payload>& payloads) {
  std::string out;
  for (const Payload& p : payloads) out += (out.empty() ? "" : ", ") + p.json();
  return text(R"({"config": {)", out, "}}");
}

// A program that takes x, and state under the graph's names p_0, p_1, …; it returns x + x. A spec
// is the text of one input spec, in which ARG stands for the graph's name.
inline std::string parameter(std::string_view name) {
  return text(R"({"parameter": {"arg": {"name": "ARG"}, "parameter_name": ")", name, R"("}})");
}
inline std::string buffer(std::string_view name, bool persistent = true) {
  return text(R"({"buffer": {"arg": {"name": "ARG"}, "buffer_name": ")", name, R"(", "persistent": )",
              persistent ? "true" : "false", "}}");
}
inline std::string constant(std::string_view name) {
  return text(R"({"tensor_constant": {"arg": {"name": "ARG"}, "tensor_constant_name": ")", name, R"("}})");
}
inline std::string program_text(std::vector<std::string> specs = {}, std::string_view target = "torch.ops.aten.add.Tensor") {
  std::string inputs, input_specs, values;
  for (std::size_t i = 0; i < specs.size(); i++) {
    const std::string name = text("p_", i);
    std::string spec = specs[i];
    spec.replace(spec.find("ARG"), 3, name);
    inputs += tensor_name(name) + ", ";
    input_specs += spec + ", ";
    values += text("\"", name, "\": ", Meta().json(), ", ");
  }
  const std::string argument = tensor_name("x"), result = tensor_name("y");
  const std::string leaf = R"({\"type\": null, \"context\": null, \"children_spec\": []})";
  return text(
      R"({"graph_module": {"graph": {"inputs": [)", inputs, argument, R"(], "outputs": [)", result,
      R"(], "nodes": [{"target": ")", target, R"(", "inputs": [{"name": "self", "arg": )", argument,
      R"(, "kind": 1}, {"name": "other", "arg": )", argument, R"(, "kind": 1}], "outputs": [)", result,
      R"(], "metadata": {}, "is_hop_single_tensor_return": null, "name": "y"}], "tensor_values": {)", values, R"("x": )",
      Meta{.requires_grad = false}.json(), R"(, "y": )", Meta{.requires_grad = false}.json(),
      R"(}, "sym_int_values": {}, "sym_bool_values": {}, "is_single_tensor_return": false, "custom_obj_values": {}, "sym_float_values": {}}, )",
      R"("signature": {"input_specs": [)", input_specs, R"({"user_input": {"arg": )", argument,
      R"(}}], "output_specs": [{"user_output": {"arg": )", result,
      R"(}}]}, "module_call_graph": [{"fqn": "", "signature": {"inputs": [], "outputs": [], )",
      R"("in_spec": "[1, {\"type\": \"builtins.tuple\", \"context\": \"null\", \"children_spec\": [{\"type\": \"builtins.tuple\", )",
      R"(\"context\": \"null\", \"children_spec\": [)", leaf,
      R"(]}, {\"type\": \"builtins.dict\", \"context\": \"[]\", \"children_spec\": []}]}]", "out_spec": "[1, )", leaf,
      R"(]", "forward_arg_names": ["x"]}}], "metadata": {}, "treespec_namedtuple_fields": {}}, "opset_version": {"aten": 10}, )",
      R"("range_constraints": {}, "schema_version": {"major": 8, "minor": 17}, "verifiers": ["TRAINING"], )",
      R"("torch_version": "2.11.0", "guards_code": []})");
}

// The entries of an archive with one program and no state; a test changes some of them.
struct Pt2Entries {
  std::string top = "archive/";
  std::vector<ZipEntry> all = {};

  static Pt2Entries plain(std::vector<std::string> specs = {}, const std::vector<Payload>& weights = {},
                          const std::vector<Payload>& constants = {}) {
    Pt2Entries e;
    e.set("archive_format", "pt2")
        .set("archive_version", "0")
        .set("byteorder", "little")
        .set("models/model.json", program_text(std::move(specs)));
    e.set("data/weights/model_weights_config.json", config(weights))
        .set("data/constants/model_constants_config.json", config(constants));
    return e;
  }
  Pt2Entries& set(const std::string& name, const std::string& content) {
    remove(name);
    all.emplace_back(top + name, content);
    return *this;
  }
  Pt2Entries& remove(const std::string& name) {
    std::erase_if(all, [&](const ZipEntry& e) { return e.name == top + name; });
    return *this;
  }
  std::string bytes(const ZipEnd& end = {}) const { return zip(all, end); }
};

template <class T>
std::string raw(std::initializer_list<T> values) {
  std::string out;
  for (const T v : values) out += le(v);
  return out;
}

// ---- pickles

namespace pickled {
inline std::string global(std::string_view module, std::string_view name) { return text("c", module, "\n", name, "\n"); }
inline std::string string(std::string_view s) { return "X" + le<uint32_t>(s.size()) + std::string(s); }
inline std::string integer(int64_t n) { return n >= 0 && n < 256 ? "K" + le<uint8_t>(n) : "\x8a" + le<uint8_t>(8) + le(n); }
inline std::string tuple(const std::vector<std::string>& items) {
  std::string out = "(";
  for (const std::string& i : items) out += i;
  return out + "t";
}
inline std::string list(const std::vector<std::string>& items) {
  std::string out = "](";
  for (const std::string& i : items) out += i;
  return out + "e";
}
inline std::string dict(const std::vector<std::pair<std::string, std::string>>& items) {
  std::string out = "}(";
  for (const auto& [key, value] : items) out += string(key) + value;
  return out + "u";
}
inline std::string integers(const std::vector<int64_t>& numbers) {
  std::vector<std::string> out;
  for (const int64_t n : numbers) out.push_back(integer(n));
  return tuple(out);
}
inline std::string call(std::string_view module, std::string_view name, const std::vector<std::string>& args) {
  return global(module, name) + tuple(args) + "R";
}
inline const std::string kTrue = "\x88", kFalse = "\x89", kNone = "N";
inline std::string ordered_dict() { return global("collections", "OrderedDict") + ")R"; }
inline std::string storage(std::string_view type, std::string_view key, int64_t count) {
  const bool untyped = type == "UntypedStorage";
  return tuple(
             {string("storage"), global(untyped ? "torch.storage" : "torch", type), string(key), string("cpu"), integer(count)}) +
         "Q";
}
inline std::string tensor(std::string_view key, int64_t count, const std::vector<int64_t>& sizes,
                          const std::vector<int64_t>& strides, int64_t offset = 0, std::string_view type = "FloatStorage") {
  return call("torch._utils", "_rebuild_tensor_v2",
              {storage(type, key, count), integer(offset), integers(sizes), integers(strides), kFalse, ordered_dict()});
}
inline std::string parameter(const std::string& tensor, bool requires_grad = true) {
  return call("torch._utils", "_rebuild_parameter", {tensor, requires_grad ? kTrue : kFalse, ordered_dict()});
}
inline std::string program(const std::string& value) { return "\x80\x02" + value + "."; }
}  // namespace pickled

// A file of torch.save whose object the pickle makes, with its storages by key.
inline std::string torch_save(const std::string& value, const std::map<std::string, std::string>& storages = {}) {
  std::vector<ZipEntry> entries = {
      {"archive/data.pkl", pickled::program(value)}, {"archive/byteorder", "little"}, {"archive/version", "3\n"}};
  for (const auto& [key, bytes] : storages) entries.emplace_back("archive/data/" + key, bytes);
  return zip(entries);
}

}  // namespace ingot
