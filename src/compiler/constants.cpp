#include "compiler/constants.hpp"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "base/checksum.hpp"
#include "base/dtype.hpp"
#include "base/error.hpp"
#include "codegen/data_object.hpp"
#include "host/compiled_file.hpp"
#include "io/file.hpp"
#include "io/safetensors.hpp"
#include "tensor/impl.hpp"

namespace ingot {
namespace {

constexpr uint64_t kAlignment = 64;

// The tensor of constant k, which must be there.
const Tensor& weight_of(const Model& model, const std::vector<Tensor>& tensors, std::size_t k) {
  INGOT_REQUIRE(tensors[k].defined(), "weight ", model.constants[k].fqn,
                " is not in the program and was not supplied; compile without weights, or supply it");
  return tensors[k];
}

// The tensor as the file has it: itself where its elements are dense and row-major, else its
// storage from the first element on as one row. A complex128, which the format does not have, is a
// row of pairs.
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

// The weights beside the library, under their original names. Names of one tensor share its bytes;
// the format has no word for that, so the file's metadata says `same_as.NAME` for the ones that are
// not in it, and for those that are parts of another where they begin: `same_as.NAME` =
// `OTHER+BYTES`.
void write_weights_file(Model& model, const std::vector<Tensor>& weights, PendingFile& file) {
  std::vector<std::pair<std::string, Tensor>> tensors;
  std::map<std::string, std::string> metadata = {{"format", "ingot"}};
  std::map<std::pair<const void*, uint64_t>, std::string> placed;  // by address and length
  std::map<std::string, std::string> entry_of;                     // by internal name
  for (std::size_t k = 0; k < weights.size(); k++) {
    const Model::Constant& c = model.constants[k];
    const Tensor& t = weight_of(model, weights, k);
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

Object lay_out_constants(Model& model, const std::vector<Tensor>& tensors, Model::Weights::Kind kind, PendingFile* weights_file,
                         std::vector<DataPart>& parts) {
  model.weights.kind = kind;
  if (kind == Model::Weights::Kind::none) return {};
  if (kind == Model::Weights::Kind::external) {
    write_weights_file(model, tensors, *weights_file);
    return {};
  }
  struct Placed {
    uint64_t position, bytes;
  };
  std::map<const void*, Placed> placed;
  uint64_t end = 0;
  for (std::size_t k = 0; k < tensors.size(); k++) {
    Model::Constant& c = model.constants[k];
    const Tensor& t = weight_of(model, tensors, k);
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
  return end == 0 ? Object{} : data_object("weights", "ingot_weights", parts, end, arch_of(model.levels[0].host));
}

void append_weights(const std::string& library, const Model& model, const std::vector<DataPart>& parts,
                    const std::string& output) {
  constexpr uint64_t kUnit = 16384;
  const Ref<MappedFile> code = MappedFile::open(library);
  const std::string zeros(kUnit, '\0');
  const auto each_piece = [&](const auto& write) {
    write(code->bytes());
    write(std::string_view(zeros).substr(0, (kUnit - code->size() % kUnit) % kUnit));
    uint64_t end = 0;
    const auto fill_up_to = [&](uint64_t position) {
      for (; end < position; end += std::min(position - end, kUnit))
        write(std::string_view(zeros).substr(0, std::min(position - end, kUnit)));
    };
    for (const DataPart& p : parts) {
      fill_up_to(p.position);
      write(std::string_view(static_cast<const char*>(p.bytes), p.size));
      end += p.size;
    }
    fill_up_to(model.weights.bytes - sizeof model.weights.hash);
    write(std::string_view(reinterpret_cast<const char*>(&model.weights.hash), sizeof model.weights.hash));
  };
  if (const std::optional<LibraryNote> note = library_note(code->bytes())) {
    Checksum sum;
    each_piece([&](std::string_view bytes) { sum.add(bytes); });
    const Checksum::Bytes checksum = sum.value();
    std::memcpy(code->data() + note->checksum_at, checksum.data(), checksum.size());  // in this process's own pages
  }
  PendingFile file(output);
  each_piece([&](std::string_view bytes) { file.write(bytes); });
  file.commit();
}

}  // namespace ingot
