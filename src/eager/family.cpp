// One family of ops for the archive: INGOT_FAMILY names its source, which defines kOps. Every entry of kOps becomes a
// variable of its own, named by the op, so that the linker can drop it alone.
#include <array>
#include <utility>

#include "eager/linked_op.hpp"

#define constinit constexpr  // the entries are read here while this is compiled
#include INGOT_FAMILY

namespace ingot {
namespace {

constexpr std::size_t index_of_op(std::string_view name) {
  std::size_t i = 0;
  while (i < std::size(kOps) && name_in_schema(kOps[i].schema) != name) i++;
  return i;
}

template <std::size_t I>
constexpr auto name_of_entry() {
  constexpr std::string_view name = name_in_schema(kOps[I].schema);
  char text[name.size() + 1] = {};
  std::copy(name.begin(), name.end(), text);
  return OpName<name.size() + 1>(text);
}

}  // namespace

template <OpName Name>
  requires(index_of_op(Name.text) < std::size(kOps))
LinkedOp linked_op<Name>{kOps[index_of_op(Name.text)]};

namespace {

template <std::size_t... I>
constexpr std::array<LinkedOp*, sizeof...(I)> entries(std::index_sequence<I...>) {
  return {&linked_op<name_of_entry<I>()>...};
}
// Makes the compiler emit all of them; the linker drops this list.
[[gnu::used]] constexpr auto kEntries = entries(std::make_index_sequence<std::size(kOps)>());

}  // namespace
}  // namespace ingot
