#include "host/c_versions.hpp"

#include <cstddef>
#include <string_view>
#include <utility>

#include "base/sized_structure.hpp"
#include "host/c_status.hpp"

namespace ingot {
namespace {

// The header is installed as it is, so its numbers are written by hand.
#define INGOT_DIGITS(number) #number
#define INGOT_DOTTED(major, minor, patch) INGOT_DIGITS(major) "." INGOT_DIGITS(minor) "." INGOT_DIGITS(patch)
static_assert(std::string_view(INGOT_VERSION) == INGOT_DOTTED(INGOT_VERSION_MAJOR, INGOT_VERSION_MINOR, INGOT_VERSION_PATCH),
              "the version in ingot/ingot.h is that of project() in CMakeLists.txt");

}  // namespace

ingot_options options_of(const ingot_options* given) {
  ingot_options options = INGOT_OPTIONS_INIT;
  if (!given) return options;
  constexpr std::size_t kKnown = sizeof options;
  const StructureFault fault = copy_structure(*given, sizeof options.size, &options);
  INGOT_REQUIRE(fault.kind != StructureFault::size, "ingot_options: size: expected sizeof(ingot_options), which is ", kKnown,
                " in version " INGOT_VERSION ", found ", fault.at, "; begin with `ingot_options o = INGOT_OPTIONS_INIT;`");
  INGOT_REQUIRE(
      fault.kind != StructureFault::unknown_field, "ingot_options: a field at byte ", fault.at,
      " is set, of a later ingot.h than that of this library, which knows the first ", kKnown,
      " bytes; expected the library of the header that the program was compiled with or a later one, found " INGOT_VERSION);
  return options;
}

}  // namespace ingot

using namespace ingot;

const char* ingot_version(void) { return INGOT_VERSION; }

ingot_status ingot_check_version(int32_t major, int32_t minor, int32_t patch) {
  return guarded([&] {
    const bool is_same_line = major == INGOT_VERSION_MAJOR && (major != 0 || minor == INGOT_VERSION_MINOR);
    const bool is_new_enough = std::pair<int32_t, int32_t>(INGOT_VERSION_MINOR, INGOT_VERSION_PATCH) >= std::pair(minor, patch);
    INGOT_REQUIRE(is_same_line && is_new_enough, "libingot_runtime.so: expected ", major, ".", minor, ".", patch,
                  major == 0 ? " or a later patch of it" : " or a later version of the same major number",
                  ", with whose ingot.h the program was compiled, found " INGOT_VERSION
                  "; install that version, or compile the program with the header of this one");
  });
}
