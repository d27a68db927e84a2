#include "format/pt2/write.hpp"

#include <set>
#include <tuple>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "format/pt2/enums.hpp"
#include "io/dense.hpp"
#include "io/json_writer.hpp"
#include "io/zip_writer.hpp"
#include "tensor/geometry.hpp"

namespace ingot {

namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::string_view kTop = "archive/";

std::string numbers(const Shape& shape) {
  std::string out;
  for (const Int n : shape) out += text(out.empty() ? "" : ", ", "{\"as_int\": ", n.value(), "}");
  return out;
}

// Weights are parameters and the buffers a state dict has; lifted constants and other buffers are
// constants. What no input stands for goes where it came from.
std::set<std::string> constants_of(const Program& p) {
  std::set<std::string> out, inputs;
  using Kind = InputSpec::Kind;
  for (const InputSpec& s : p.main().inputs) {
    inputs.insert(s.name);
    if (s.kind == Kind::constant || (s.kind == Kind::buffer && !s.persistent)) out.insert(s.name);
  }
  for (const auto& [name, e] : p.state)
    if (!inputs.contains(name) && e.entry.find("data/constants/") != e.entry.npos) out.insert(name);
  return out;
}

// The payloads and the config of one folder.
class FolderWriter {
 public:
  FolderWriter(ZipWriter& zip, std::string folder, std::string prefix, const std::string& what)
      : zip_(zip), folder_(text(kTop, "data/", folder, "/")), prefix_(std::move(prefix)), what_(what) {}

  void add(const std::string& name, const StateEntry& e) {
    const std::string where = text(what_, ": ", shown_name(name));
    const Tensor& t = e.tensor;
    const bool is_object = e.entry.find("/custom_obj_") != e.entry.npos;
    INGOT_REQUIRE(!is_object, where, " is a custom class object and cannot be written");
    Geometry g = Geometry::contiguous(e.sizes, e.dtype);
    if (t.defined()) {
      require_bytes(t, where);
      g = t->geom;
    } else if (e.strides.size() == e.sizes.size()) {
      g.strides = e.strides;
      g.offset = e.offset;
    }
    config_ += config_.empty() ? "" : ", ";
    config_ += json_name(name, what_);
    const auto boolean = [](bool b) { return b ? "true" : "false"; };
    config_ +=
        text(R"(: {"path_name": ")", payload(e), R"(", "is_param": )", boolean(e.is_parameter),
             R"(, "use_pickle": false, "tensor_meta": {"dtype": )", schema_number(g.dtype), R"(, "sizes": [)", numbers(g.sizes),
             R"(], "requires_grad": )", boolean(e.requires_grad), R"(, "device": {"type": "cpu", "index": null}, "strides": [)",
             numbers(g.strides), R"(], "storage_offset": {"as_int": )", g.offset.value(), R"(}, "layout": 7}})");
  }

  void finish(std::string_view kind) {
    zip_.add(text(folder_, "model_", kind, "_config.json"), text(R"({"config": {)", config_, "}}"));
  }

 private:
  ZipWriter& zip_;
  std::string folder_, prefix_;
  const std::string& what_;
  std::string config_;
  int64_t next_ = 0;
  // By storage and dtype: a payload has one dtype. The tensors of the program keep the storages
  // alive.
  std::map<std::tuple<const Storage*, DType>, std::string> written_;
  std::map<std::string, std::string> absent_;  // by entry: names of payloads that are left out

  // The name of the payload that has the tensor's whole storage, or had it where it was left out:
  // tensors that shared one share it still.
  std::string payload(const StateEntry& e) {
    const Tensor& t = e.tensor;
    if (!t.defined()) {
      std::string& name = absent_[e.entry];
      if (name.empty() || e.entry.empty()) name = text(prefix_, next_++);
      return name;
    }
    std::string& name = written_[{t->storage.get(), t.dtype()}];
    if (!name.empty()) return name;
    name = text(prefix_, next_++);
    const Storage& s = *t->storage;
    zip_.add(folder_ + name, {static_cast<const char*>(s.data()), static_cast<std::size_t>(s.nbytes().value())});
    return name;
  }
};

}  // namespace

void save_pt2(const std::string& path, const Program& program, std::string_view json) {
  const std::string what = text("cannot write pt2 file ", path);
  const std::set<std::string> constants = constants_of(program);
  ZipWriter zip(path, kAlignment);
  const auto add = [&](std::string_view name, std::string_view content) { zip.add(text(kTop, name), content); };
  for (const bool constant : {false, true}) {
    const std::string_view kind = constant ? "constants" : "weights";
    FolderWriter folder(zip, std::string(kind), constant ? "tensor_" : "weight_", what);
    for (const auto& [name, e] : program.state)
      if (constants.contains(name) == constant) folder.add(name, e);
    folder.finish(kind);
  }
  add("models/model.json", json);
  add("data/sample_inputs/model.pt", "");  // PyTorch wants the entry; without bytes it counts as none
  add("archive_format", "pt2");
  add("archive_version", "0");
  add(".data/version", "6\n");
  add("byteorder", "little");
  zip.finish();
}

void save_pt2(const std::string& path, const Pt2Program& p) { save_pt2(path, p.program, program_json(p)); }

}  // namespace ingot
