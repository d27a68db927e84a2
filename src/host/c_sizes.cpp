// Sizes of outputs without a run (ingot/ingot.h): the library says what its inputs decide, the
// texts of the sizes are computed here.
#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "expr/text.hpp"
#include "host/c_session.hpp"
#include "host/c_status.hpp"
#include "host/dlpack_tensors.hpp"
#include "ingot/expr.hpp"
#include "ingot/int.hpp"

using namespace ingot;

namespace {

// What the symbols of the entry are: numbers, and those that data decides themselves.
Names symbol_names(const LibraryEntry& entry, const std::vector<int64_t>& values) {
  Names names;
  for (std::size_t k = 0; k < entry.info().symbol_count; k++) {
    const ingot_symbol_info symbol = entry.symbol(k);
    names.add(symbol.name, k < values.size() ? Int(values[k]).expr() : Expr::symbol(symbol.name, symbol.min, symbol.max));
  }
  return names;
}

}  // namespace

ingot_status ingot_session_output_sizes(const ingot_session* s, const DLTensor* const* inputs, size_t input_count, size_t k,
                                        int64_t* sizes, int32_t rank) {
  return guarded([&] {
    const LibraryEntry entry = checked(s).session.description("ingot_session_output_sizes");
    const ingot_value_info output = entry.output(k);
    INGOT_REQUIRE(rank == output.rank, "output ", k, " (", output.name, "): expected room for ", output.rank, " sizes, found ",
                  rank);
    if (rank > 0) require_place(sizes);
    require_inputs(*s, inputs, input_count);
    std::vector<ingot_tensor_info> given;
    for (std::size_t i = 0; i < input_count; i++) given.push_back(described(inputs[i], input_text(*s, i)));
    const Names names = symbol_names(entry, entry.symbol_values(given));
    std::vector<int64_t> found;
    for (int32_t d = 0; d < rank; d++) {
      const Int size(parse(output.sizes[d], names));
      INGOT_REQUIRE(size.is_number(), "output ", k, " (", output.name, "): size of dim ", d, ": elements of the inputs decide ",
                    output.sizes[d], ": it is known after a run");
      found.push_back(size.number());
    }
    std::copy(found.begin(), found.end(), sizes);
  });
}
