// A run of a model has no conj that stands in for a view (tensor/stand_in.hpp): the compiler
// refused what would need one.
#include "tensor/stand_in.hpp"

namespace ingot {

bool is_stand_in(const Storage&, std::string_view) { return false; }
void require_current(const Storage&, std::string_view) {}
void forget_stand_in(const Storage&) {}

}  // namespace ingot
