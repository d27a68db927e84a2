// The ops that the program leaves to its process (host_op.h).
#pragma once

namespace ingot::model {

// Does the process have every op that the program names? Asked when a container is made, so that no
// run finds out.
bool check_host_ops();

}  // namespace ingot::model
