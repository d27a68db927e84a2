#include "ops/families.hpp"

namespace ingot {

#define FAMILY(name) Family name##_family();
#include "ops/families.list"
#undef FAMILY

std::vector<Family> op_families() {
  return {
#define FAMILY(name) name##_family(),
#include "ops/families.list"
#undef FAMILY
  };
}

}  // namespace ingot
