// The table of ATen's schemas as bytes of the library, and its index by name.
#include <algorithm>
#include <unordered_map>

#include "base/error.hpp"
#include "op/data_dependent.hpp"
#include "op/schema.hpp"

#ifndef INGOT_DATA_DIR
#error "INGOT_DATA_DIR must name the folder that holds aten_schemas.tsv"
#endif

// The assembler reads the file, so that half a megabyte of text costs the compiler nothing.
__asm__(
    ".pushsection .rodata\n"
    ".global ingot_aten_table_begin\n"
    ".hidden ingot_aten_table_begin\n"
    ".global ingot_aten_table_end\n"
    ".hidden ingot_aten_table_end\n"
    "ingot_aten_table_begin:\n"
    ".incbin \"" INGOT_DATA_DIR
    "/aten_schemas.tsv\"\n"
    "ingot_aten_table_end:\n"
    ".byte 0\n"
    ".popsection\n");

extern "C" {
__attribute__((visibility("hidden"))) extern const char ingot_aten_table_begin[];
__attribute__((visibility("hidden"))) extern const char ingot_aten_table_end[];
}

namespace ingot {

namespace {

constexpr std::string_view kDefaultNamespace = "aten";

struct Index {
  // Keys are slices of the table, with and (for the namespace a plain name means) without "aten::".
  std::unordered_map<std::string_view, std::vector<std::string_view>> schemas;  // by name
  std::unordered_map<std::string_view, std::string_view> tags;                  // by name.overload

  Index() {
    add_lines(true);
    add_lines(false);
  }

 private:
  // Two rounds, because a plain name belongs to aten wherever aten's lines stand in the table.
  void add_lines(bool of_aten) {
    std::string_view rest = aten_schema_table();
    while (!rest.empty()) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
      if (line.empty()) continue;
      const std::string_view schema = line.substr(0, line.find('\t'));
      const std::string_view line_tags = line.substr(std::min(schema.size() + 1, line.size()));
      const std::string_view full = schema.substr(0, schema.find('('));
      const std::size_t colons = full.find("::");
      INGOT_ENSURE(colons != full.npos, "a line of the schema table has no namespace: ", line);
      if ((full.substr(0, colons) == kDefaultNamespace) == of_aten) add(full, colons, schema, line_tags);
    }
  }

  void add(std::string_view full, std::size_t colons, std::string_view schema, std::string_view line_tags) {
    const std::string_view full_name = full.substr(0, full.find('.'));
    auto& exact = schemas[full_name];
    exact.push_back(schema);
    tags[full] = line_tags;

    auto& plain = schemas[full_name.substr(colons + 2)];
    const std::string_view ns = full.substr(0, colons + 2);
    if (!plain.empty() && !plain.front().starts_with(ns)) return;
    plain.push_back(schema);
    tags.try_emplace(full.substr(colons + 2), line_tags);
  }
};

const Index& index() {
  static const Index built;  // once, by the first thread that asks
  return built;
}

}  // namespace

std::string_view aten_schema_table() {
  return {ingot_aten_table_begin, static_cast<std::size_t>(ingot_aten_table_end - ingot_aten_table_begin)};
}

std::vector<std::string_view> find_aten_schemas(std::string_view name) {
  const auto it = index().schemas.find(name);
  return it == index().schemas.end() ? std::vector<std::string_view>() : it->second;
}

std::string_view aten_schema_tags(std::string_view qualified) {
  const auto it = index().tags.find(qualified);
  return it == index().tags.end() ? std::string_view() : it->second;
}

bool depends_on_data(const Op& op) {
  const std::string_view tags = aten_schema_tags(op.name);
  return tags.find("dynamic_output_shape") != tags.npos || tags.find("data_dependent_output") != tags.npos;
}

}  // namespace ingot
