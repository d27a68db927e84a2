// Loop programs that are scheduled (schedule.hpp) to code for a processor.
#pragma once
#include <cstddef>
#include <vector>

#include "codegen/model.hpp"

namespace ingot::cpu {

// Object code with the functions of one level (codegen/level.hpp).
std::vector<Object> generate_code(const Model& model, std::size_t level, CodeText* text);

}  // namespace ingot::cpu
