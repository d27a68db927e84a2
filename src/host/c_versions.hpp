// Programs that were compiled with another ingot/ingot.h than this library.
#pragma once
#include "ingot/ingot.h"

namespace ingot {

// The caller's options with defaults for the fields that its header does not have; null: defaults
// alone. User error for a size that is none, and for a field that this library does not know.
ingot_options options_of(const ingot_options* given);

}  // namespace ingot
