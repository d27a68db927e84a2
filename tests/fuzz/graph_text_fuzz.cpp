// Any bytes as the text of a graph: a user error, or a graph that prints and reads back as itself.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.hpp"
#include "graph/same.hpp"
#include "graph/text.hpp"
#include "graph/verify.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace ingot;
  Graph g;
  try {
    g = parse_graph(std::string_view(reinterpret_cast<const char*>(data), size));
    verify(g, GraphForm::plain);  // annotations may say anything, and read back
  } catch (const UserError&) {
    return 0;
  }
  // From here on an exception of any kind is a fault: it ends the process.
  for (const GraphForm form : {GraphForm::plain, GraphForm::readable, GraphForm::full}) {
    const Graph back = parse_graph(print(g, form), {.attributes = &g.attributes});
    INGOT_ENSURE(same(g, back), difference(g, back));
  }
  return 0;
}
