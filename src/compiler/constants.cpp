#include "compiler/constants.hpp"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "base/fixed_input.hpp"
#include "codegen/data_object.hpp"
#include "io/file.hpp"
#include "io/safetensors.hpp"
#include "model/cpu.h"
#include "tensor/impl.hpp"

namespace ingot {
namespace {

constexpr uint64_t kAlignment = 64;

std::vector<int64_t> numbers(const Shape& s) {
  std::vector<int64_t> all;
  for (Int n : s) all.push_back(n.value());
  return all;
}

// A name that C accepts, and that no other constant has.
std::string internal_name(const std::string& fqn, const std::vector<Model::Constant>& taken) {
  std::string name;
  for (char c : fqn) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) name = "_" + name;
  std::string unique = name;
  for (int k = 1; std::any_of(taken.begin(), taken.end(), [&](const auto& c) { return c.name == unique; }); k++)
    unique = text(name, "_", k);
  return unique;
}

// The tensor behind constant k of the program: the state's, or one that the graph brings along.
Tensor tensor_of(const loop::Lowered& lowered, const Graph& graph, const ProgramNames& names, std::size_t k) {
  const Node& n = *lowered.constants[k];
  if (n.kind == NodeKind::attribute) return std::get<Tensor>(*graph.find_attribute(n.target));
  return k < names.constants.size() ? names.constants[k].tensor : Tensor();
}

// The same, which must be there.
Tensor weight_of(const loop::Lowered& lowered, const Graph& graph, const ProgramNames& names, std::size_t k,
                 const std::string& fqn) {
  const Tensor t = tensor_of(lowered, graph, names, k);
  INGOT_REQUIRE(t.defined(), "weight ", fqn,
                " is not in the program and was not supplied; compile without weights, or supply it");
  return t;
}

// The tensor as the file has it: itself where its elements are dense and row-major, else its storage from the first element
// on as one row. A complex128, which the format does not have, is a row of pairs.
Tensor as_stored(const Tensor& t, const Model::Constant& c) {
  const bool is_pair = c.dtype == DType::c128;
  const auto elements = static_cast<int64_t>(c.bytes) / size_of(c.dtype);
  if (t.is_contiguous() && !is_pair && t.numel() == elements) return t;
  Geometry row = Geometry::contiguous({is_pair ? 2 * elements : elements}, is_pair ? DType::f64 : c.dtype);
  row.offset = t.storage_offset() * (is_pair ? 2 : 1);
  return make_alias(t, std::move(row));
}

// Those in the storage of another are where that one is.
void place_shared(Model& model) {
  for (Model::Constant& c : model.constants)
    if (c.shares) c.position = model.constants[*c.shares].position + c.shared_from;
}

// The weights beside the library, under their original names. Names of one tensor share its bytes; the format has no word
// for that, so the file's metadata says `same_as.NAME` for the ones that are not in it, and for those that are parts of another
// where they begin: `same_as.NAME` = `OTHER+BYTES`.
void write_weights_file(Model& model, const loop::Lowered& lowered, const Graph& graph, const ProgramNames& names,
                        PendingFile& file) {
  std::vector<std::pair<std::string, Tensor>> tensors;
  std::map<std::string, std::string> metadata = {{"format", "ingot"}};
  std::map<std::pair<const void*, uint64_t>, std::string> placed;  // by address and length
  std::map<std::string, std::string> entry_of;                     // by internal name
  for (std::size_t k = 0; k < lowered.constants.size(); k++) {
    const Model::Constant& c = model.constants[k];
    const Tensor t = weight_of(lowered, graph, names, k, c.fqn);
    if (c.bytes == 0) continue;
    // Two constants may have one name only where the graph brought one of them along.
    const bool is_taken = std::any_of(tensors.begin(), tensors.end(), [&](const auto& e) { return e.first == c.fqn; });
    const std::string name = is_taken ? c.name : c.fqn;
    if (c.shares) {
      const std::string from = c.shared_from > 0 ? text("+", c.shared_from) : "";
      metadata["same_as." + name] = model.constants[*c.shares].fqn + from;
      continue;
    }
    if (!c.is_written) {
      const auto [at, is_new] = placed.emplace(std::pair(t.data_ptr(), c.bytes), name);
      entry_of[c.name] = at->second;
      if (!is_new) {
        metadata["same_as." + name] = at->second;
        continue;
      }
    } else {
      entry_of[c.name] = name;
    }
    tensors.emplace_back(name, as_stored(t, c));
  }
  const SafeTensorsLayout saved = write_safetensors(file, tensors, metadata);
  for (Model::Constant& c : model.constants)
    if (c.bytes > 0 && !c.shares) c.position = saved.positions.at(entry_of.at(c.name));
  place_shared(model);
  model.weights.bytes = saved.bytes;
  model.weights.hash = XXH3_64bits(saved.head.data(), saved.head.size());
}

}  // namespace

void describe(Model& model, const loop::Lowered& lowered, const ProgramNames& names) {
  model.name = names.name;
  model.in_spec = names.in_spec;
  model.out_spec = names.out_spec;
  if (!names.constant_results.empty()) model.metadata.emplace_back(kConstantResults, to_metadata(names.constant_results));
  for (const auto& [leaf, value] : names.fixed) model.metadata.emplace_back(text(kFixedInput, leaf), value);
  const loop::Program& p = model.levels[0].run;
  auto is_written = [&](const Node* n) {
    return std::find(lowered.written.begin(), lowered.written.end(), n) != lowered.written.end();
  };
  for (std::size_t k = 0; k < lowered.inputs.size(); k++) {
    const Node* n = lowered.inputs[k];
    model.inputs.push_back({k < names.inputs.size() ? names.inputs[k] : n->name, !n->meta.is_tensor(), is_written(n)});
  }
  for (std::size_t k = 0; k < p.outputs.size(); k++)
    model.outputs.push_back(k < names.outputs.size() ? names.outputs[k] : text("output_", k));
  for (std::size_t k = 0; k < p.constants.size(); k++) {
    const loop::Buffer& b = p.buffers[static_cast<std::size_t>(p.constants[k])];
    Model::Constant c;
    c.dtype = b.dtype;
    const bool is_folded = k >= lowered.constants.size();
    if (is_folded) {
      c.fqn = "folded." + b.name;
      c.kind = 4;
    } else {
      const Node& n = *lowered.constants[k];
      const bool is_literal = n.kind == NodeKind::attribute || k >= names.constants.size();
      c.fqn = is_literal ? n.target.empty() ? n.name : n.target : names.constants[k].fqn;
      c.kind = is_literal ? 3 : names.constants[k].kind;
      c.is_written = is_written(&n);
      if (const Tensor t = is_literal ? Tensor() : names.constants[k].tensor; t.defined())
        c.on_gpu = t.device().type != DeviceType::cpu;
    }
    c.name = internal_name(c.fqn, model.constants);
    for (const Expr& e : b.sizes) c.sizes.push_back(e->i);
    for (const Expr& e : b.strides) c.strides.push_back(e->i);
    // The storage of its own that it needs; one that is shared with others is larger.
    int64_t last = 0, count = 1;
    for (std::size_t d = 0; d < c.sizes.size(); d++) last += (c.sizes[d] - 1) * c.strides[d], count *= c.sizes[d];
    c.bytes = count == 0 || is_folded ? 0 : static_cast<uint64_t>(last + 1) * static_cast<uint64_t>(size_of(c.dtype));
    if (!is_folded && k < names.constants.size()) {
      const ProgramNames::Constant& named = names.constants[k];
      c.shares = named.shares;
      c.shared_from = static_cast<uint64_t>(named.shared_from * size_of(c.dtype));
      if (c.shares) c.is_written = is_written(lowered.constants[*c.shares]);
      if (named.geometry) {
        c.sizes = numbers(named.geometry->sizes);
        c.strides = numbers(named.geometry->strides);
      }
    }
    model.constants.push_back(std::move(c));
  }
}

Object lay_out_constants(Model& model, const loop::Lowered& lowered, const Graph& graph, const ProgramNames& names,
                         Model::Weights::Kind kind, PendingFile* weights_file, std::vector<DataPart>& parts) {
  model.weights.kind = kind;
  if (kind == Model::Weights::Kind::none) return {};
  if (kind == Model::Weights::Kind::external) {
    write_weights_file(model, lowered, graph, names, *weights_file);
    return {};
  }
  struct Placed {
    uint64_t position, bytes;
  };
  std::map<const void*, Placed> placed;
  uint64_t end = 0;
  for (std::size_t k = 0; k < lowered.constants.size(); k++) {
    Model::Constant& c = model.constants[k];
    const Tensor t = weight_of(lowered, graph, names, k, c.fqn);
    if (c.bytes == 0) continue;
    const void* data = t.data_ptr();
    if (c.shares) continue;
    // What is written must not be shared; what is not may be.
    if (const auto found = placed.find(data); found != placed.end() && !c.is_written && c.bytes <= found->second.bytes) {
      c.position = found->second.position;
      continue;
    }
    c.position = end;
    if (!c.is_written) placed.insert_or_assign(data, Placed{end, c.bytes});
    parts.push_back({data, c.bytes, end});
    end = (end + c.bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  place_shared(model);
  model.weights.bytes = end;
  if (kind == Model::Weights::Kind::appended) {
    uint64_t mark = end;
    for (const DataPart& p : parts) mark = XXH3_64bits_withSeed(p.bytes, p.size, mark);
    model.weights.hash = mark;
    model.weights.bytes += sizeof mark;
    return {};
  }
  return end == 0 ? Object{} : data_object("weights", "ingot_weights", parts, end, arch_of(model.levels[0].target));
}

void append_weights(const std::string& library, const Model& model, const std::vector<DataPart>& parts,
                    const std::string& output) {
  constexpr uint64_t kUnit = 16384;
  const Ref<MappedFile> code = MappedFile::open(library);
  PendingFile file(output);
  const std::string zeros(kUnit, '\0');
  file.write(code->bytes());
  file.write(std::string_view(zeros).substr(0, (kUnit - code->size() % kUnit) % kUnit));
  uint64_t end = 0;
  const auto fill_up_to = [&](uint64_t position) {
    for (; end < position; end += std::min(position - end, kUnit))
      file.write(std::string_view(zeros).substr(0, std::min(position - end, kUnit)));
  };
  for (const DataPart& p : parts) {
    fill_up_to(p.position);
    file.write(p.bytes, p.size);
    end += p.size;
  }
  fill_up_to(model.weights.bytes - sizeof model.weights.hash);
  file.write(&model.weights.hash, sizeof model.weights.hash);
  file.commit();
}

Model::Level level_for(const Target& target) {
  Model::Level level{target, target.cpu, {}, {}, {}};
  auto add = [&](uint64_t id, const char* feature) {
    if (has_feature(target, feature)) level.features.push_back(id);
  };
#define INGOT_ADD(id, number, feature) add(number, feature);
  if (arch_of(target) == Arch::x86_64) {
    INGOT_CPU_FEATURES_X86_64(INGOT_ADD)
  } else {
    INGOT_CPU_FEATURES_AARCH64(INGOT_ADD)
  }
#undef INGOT_ADD
  return level;
}

}  // namespace ingot
