// Where what was compiled is kept.
#pragma once
#include <string>

namespace ingot {

// Where caches of this user lie: $INGOT_CACHE_DIR, or ingot in $XDG_CACHE_HOME or ~/.cache.
std::string default_cache_folder();

}  // namespace ingot
