// The log of ingot/ingot.h.
#include "base/log.hpp"
#include "ingot/ingot.h"

void ingot_set_log(ingot_log_function write, void* context) { ingot::set_log(write, context); }
