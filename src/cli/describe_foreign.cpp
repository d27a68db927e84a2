#include "cli/describe_foreign.hpp"

#include <filesystem>

#include "base/error.hpp"
#include "host/elf_file.hpp"
#include "model/program.h"

namespace ingot {
namespace {

// Pointers in what an image has are addresses in it.
uint64_t address_of(const void* p) { return reinterpret_cast<uint64_t>(p); }

class TableReader {
 public:
  TableReader(const ElfImage& image, uint64_t address) : image_(image), program_(image.read<ingot_program>(address)) {
    INGOT_REQUIRE(program_.version == INGOT_PROGRAM_VERSION, "it was made by another version of Ingot (its table is version ",
                  program_.version, ", this program reads ", static_cast<int>(INGOT_PROGRAM_VERSION), ")");
  }

  LibraryDescription read() const {
    LibraryDescription d;
    d.name = text(program_.name);
    if (program_.weights == INGOT_WEIGHTS_EXTERNAL) d.weights_file = text(program_.external_file);
    for (uint32_t k = 0; k < program_.entry_count; k++) d.entries.push_back(entry(item(program_.entries, k)));
    for (uint32_t k = 0; k < program_.constant_count; k++) {
      const auto c = item(program_.constants, k);
      d.constants.push_back({text(c.name), text(c.fqn), dtype_text(c.dtype), constant_kind(c.kind), c.bytes});
    }
    for (uint32_t k = 0; k < program_.level_count; k++) d.levels.push_back(text(item(program_.levels, k).name));
    for (uint32_t k = 0; k < program_.metadata_count; k++)
      d.metadata.emplace_back(text(item(program_.metadata, 2 * k)), text(item(program_.metadata, 2 * k + 1)));
    return d;
  }

 private:
  const ElfImage& image_;
  ingot_program program_;

  template <class T>
  T item(const T* first, uint32_t k) const {
    return image_.read<T>(address_of(first) + uint64_t{k} * sizeof(T));
  }
  std::string text(const char* s) const { return s ? image_.text(address_of(s)) : std::string(); }

  // Of an input or an output.
  template <class Value>
  std::string type_of(const Value& v) const {
    INGOT_REQUIRE(v.rank >= 0 && v.rank <= INGOT_MAX_RANK, "it is damaged: a tensor of rank ", v.rank);
    std::string out = dtype_text(v.dtype) + "[";
    for (int32_t d = 0; d < v.rank; d++) out += (d ? ", " : "") + text(item(v.sizes, static_cast<uint32_t>(d)));
    return out + "]";
  }
  EntryText entry(const ingot_entry& e) const {
    EntryText out;
    out.name = text(e.name);
    for (uint32_t k = 0; k < e.input_count; k++) {
      const auto v = item(e.inputs, k);
      out.inputs.push_back({text(v.name), type_of(v), "", v.is_number != 0, v.is_written != 0});
    }
    for (uint32_t k = 0; k < e.output_count; k++) {
      const auto v = item(e.outputs, k);
      out.outputs.push_back({text(v.name), type_of(v), "", false, false});
    }
    for (uint32_t k = 0; k < e.symbol_count; k++) {
      const auto s = item(e.symbols, k);
      out.symbols.push_back({text(s.name), s.min, s.max});
    }
    for (uint32_t k = 0; k < e.guard_count; k++) out.guards.push_back(text(item(e.guards, k).condition));
    return out;
  }
};

}  // namespace

LibraryDescription describe_foreign(const std::string& path) {
  LibraryDescription d;
  try {
    const ElfImage image(path);
    if (const auto table = image.symbol("ingot_model_table")) {
      d = TableReader(image, image.read<uint64_t>(*table)).read();
    } else {
      INGOT_REQUIRE(!image.symbol("ingot_model_name"),
                    "it was made by an older version of Ingot, which put nothing there to read");
      INGOT_REQUIRE(image.symbol("AOTInductorModelContainerRun"), "it is no model library");
      d.is_own = false;
      d.entries.push_back({"forward", {}, {}, {}, {}});
    }
  } catch (const UserError& e) {
    throw_user_error(ingot::text(path, ": ", e.what()));
  }
  d.machine = elf_machine(path);
  d.file_bytes = std::filesystem::file_size(path);
  return d;
}

}  // namespace ingot
