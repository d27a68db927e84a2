#include "compiler/model_interface.hpp"

#include <cctype>

#include "base/error.hpp"

#ifndef INGOT_INCLUDE_DIR
#error "INGOT_INCLUDE_DIR must name the folder that holds ingot/model.h"
#endif

// The assembler reads the files: what is installed is what is written into the headers of models.
#define INGOT_FILE(symbol, name)                                                                                       \
  __asm__(".pushsection .rodata\n.hidden " #symbol "\n.global " #symbol "\n" #symbol ":\n.incbin \"" INGOT_INCLUDE_DIR \
          "/ingot/" name "\"\n.byte 0\n.popsection\n");                                                                \
  extern "C" __attribute__((visibility("hidden"))) const char symbol[]
INGOT_FILE(ingot_text_of_abi_h, "abi.h");
INGOT_FILE(ingot_text_of_aoti_h, "aoti.h");
INGOT_FILE(ingot_text_of_model_h, "model.h");

namespace ingot {
namespace {

constexpr std::string_view kExport = "\nINGOT_EXPORT ";

void add_functions(std::string_view header, std::vector<InterfaceFunction>& all) {
  for (std::size_t at = header.find(kExport); at != header.npos; at = header.find(kExport, at + 1)) {
    const std::size_t end = header.find(';', at), open = header.find('(', at);
    INGOT_ENSURE(open < end && end != header.npos, "a function is declared without parameters: ", header.substr(at, 80));
    std::size_t begin = open;
    while (std::isalnum(static_cast<unsigned char>(header[begin - 1])) || header[begin - 1] == '_') begin--;
    all.push_back({header.substr(at + 1, end - at), header.substr(begin, open - begin)});
  }
}

}  // namespace

std::vector<InterfaceFunction> model_functions() {
  std::vector<InterfaceFunction> all;
  add_functions(ingot_text_of_aoti_h, all);
  add_functions(ingot_text_of_model_h, all);
  return all;
}

std::string model_headers() {
  constexpr std::string_view kInclude = "#include \"ingot/";
  std::string all;
  for (const std::string_view header : {ingot_text_of_abi_h, ingot_text_of_aoti_h, ingot_text_of_model_h}) {
    all += header;
    for (std::size_t at = all.find(kInclude); at != all.npos; at = all.find(kInclude)) all.erase(at, all.find('\n', at) + 1 - at);
    all += '\n';
  }
  return all;
}

}  // namespace ingot
