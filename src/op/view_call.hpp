// A call on raw memory, as a model library makes it (ingot_eager_call and ingot_host_op_call of
// model/program.h).
#pragma once
#include <functional>
#include <span>

#include "model/program.h"
#include "op/call_text.hpp"

namespace ingot {

// Runs the call's kernel on the tensors' memory, below every layer. A result whose view has data is
// written there; the op decides the size of the others, which get `allocate`'s memory (it throws
// where there is none), dense and row-major. A result that is None leaves its view alone; one that
// is a list has a view for each of its tensors.
void call_on_views(const ParsedCall& call, const ingot_view* tensors, const int64_t* integers, std::span<ingot_view> results,
                   const std::function<void*(int64_t bytes)>& allocate);

}  // namespace ingot
