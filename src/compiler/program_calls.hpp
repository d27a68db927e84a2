// What a program and the library made of it are to each other when one of their entry points is
// called.
#pragma once
#include <string>
#include <unordered_map>

#include "program/program.hpp"

namespace ingot {

// A number as libraries take and return it: a tensor of one element.
Tensor number_tensor(const Value& v);

// The tensors that the library takes for the inputs that `program.run` takes: numbers are tensors
// of one element, and effect tokens, which no caller knows of, are empty.
TensorList library_inputs(const Program& program, Args given, std::size_t entry = 0);

// What the program's caller gets: numbers come back as tensors of one element; None and texts,
// which the program fixes, do not come back at all. Gradients, which a library returns after the
// results, are the program's, as after a run.
Values caller_results(Program& program, const TensorList& outputs, std::size_t entry = 0);

// The program's state after the library's run, which wrote its own: what is no parameter, and
// parameters that the program says it writes or that lie in what it writes, get what the library
// has of them now. `constants`: by their names.
void take_back_state(Program& program, const std::unordered_map<std::string, Tensor>& constants, std::size_t entry = 0);

}  // namespace ingot
