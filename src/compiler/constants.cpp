#include "compiler/constants.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "codegen/data_object.hpp"
#include "model/cpu.h"
#include "tensor/impl.hpp"

namespace ingot {
namespace {

constexpr uint64_t kAlignment = 64;

// A name that C accepts, and that no other constant has.
std::string internal_name(const std::string& fqn, const std::vector<Model::Constant>& taken) {
  std::string name;
  for (char c : fqn) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) name = "_" + name;
  std::string unique = name;
  for (int k = 1; std::any_of(taken.begin(), taken.end(), [&](const auto& c) { return c.name == unique; }); k++) unique = text(name, "_", k);
  return unique;
}

// The tensor behind constant k of the program: the state's, or one that the graph brings along.
Tensor tensor_of(const loop::Lowered& lowered, const Graph& graph, const ProgramNames& names, std::size_t k) {
  const Node& n = *lowered.constants[k];
  if (n.kind == NodeKind::attribute) return std::get<Tensor>(*graph.find_attribute(n.target));
  return k < names.constants.size() ? names.constants[k].tensor : Tensor();
}

}  // namespace

void describe(Model& model, const loop::Lowered& lowered, const ProgramNames& names) {
  model.name = names.name;
  model.in_spec = names.in_spec;
  model.out_spec = names.out_spec;
  const loop::Program& p = model.run;
  auto is_written = [&](const Node* n) { return std::find(lowered.written.begin(), lowered.written.end(), n) != lowered.written.end(); };
  for (const Node* n : lowered.inputs) model.inputs.push_back({n->name, !n->meta.is_tensor(), is_written(n)});
  for (std::size_t k = 0; k < p.outputs.size(); k++)
    model.outputs.push_back(k < names.outputs.size() ? names.outputs[k] : text("output_", k));
  for (std::size_t k = 0; k < p.constants.size(); k++) {
    const Node& n = *lowered.constants[k];
    const bool is_literal = n.kind == NodeKind::attribute || k >= names.constants.size();
    Model::Constant c;
    c.fqn = is_literal ? n.target.empty() ? n.name : n.target : names.constants[k].fqn;
    c.name = internal_name(c.fqn, model.constants);
    c.kind = is_literal ? 3 : names.constants[k].kind;
    c.is_written = is_written(&n);
    const loop::Buffer& b = p.buffers[static_cast<std::size_t>(p.constants[k])];
    c.dtype = b.dtype;
    for (const Expr& e : b.sizes) c.sizes.push_back(e->i);
    for (const Expr& e : b.strides) c.strides.push_back(e->i);
    // The storage of its own that it needs; one that is shared with others is larger.
    int64_t last = 0, count = 1;
    for (std::size_t d = 0; d < c.sizes.size(); d++) last += (c.sizes[d] - 1) * c.strides[d], count *= c.sizes[d];
    c.bytes = count == 0 ? 0 : static_cast<uint64_t>(last + 1) * static_cast<uint64_t>(size_of(c.dtype));
    model.constants.push_back(std::move(c));
  }
}

Object lay_out_constants(Model& model, const loop::Lowered& lowered, const Graph& graph, const ProgramNames& names, Model::Weights::Kind kind,
                         const Target& target, const std::string& output) {
  INGOT_REQUIRE(kind != Model::Weights::Kind::external, "weights in a file beside ", output, " are not written yet");
  model.weights.kind = kind;
  if (kind == Model::Weights::Kind::none) return {};
  std::vector<DataPart> parts;
  std::map<const void*, uint64_t> placed;
  uint64_t end = 0;
  for (std::size_t k = 0; k < model.constants.size(); k++) {
    Model::Constant& c = model.constants[k];
    const Tensor t = tensor_of(lowered, graph, names, k);
    INGOT_REQUIRE(t.defined(), "weight ", c.fqn, " is not in the program and was not supplied; compile without weights, or supply it");
    if (c.bytes == 0) continue;
    const void* data = t.data_ptr();
    // What is written must not be shared; what is not may be.
    const auto [at, is_new] = c.is_written ? std::pair{placed.end(), true} : placed.emplace(data, end);
    c.position = is_new ? end : at->second;
    if (!is_new && at->second + c.bytes <= end) continue;
    c.position = end;
    parts.push_back({data, c.bytes, end});
    end = (end + c.bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  model.weights.bytes = end;
  return end == 0 ? Object{} : data_object("weights", "ingot_weights", parts, end, arch_of(target));
}

CodeName code_name(const Target& target) {
  CodeName name;
  name.level = target.cpu;
  auto add = [&](uint64_t id, const char* feature) {
    if (has_feature(target, feature)) name.features.push_back(id);
  };
#define INGOT_ADD(id, number, feature) add(number, feature);
  if (arch_of(target) == Arch::x86_64) { INGOT_CPU_FEATURES_X86_64(INGOT_ADD) }
  else { INGOT_CPU_FEATURES_AARCH64(INGOT_ADD) }
#undef INGOT_ADD
  return name;
}

}  // namespace ingot
