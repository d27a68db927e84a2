// What the compiler asks of a kind of machine. docs/adding-a-backend.md says how one is added.
#pragma once
#include <cstddef>
#include <vector>

#include "codegen/model.hpp"
#include "loop/program.hpp"

namespace ingot {

struct Backend {
  // A level without its programs: what it is called, and what a machine must have to run it.
  Model::Level (*level_for)(const Target& target);
  // Computations to kernels of this machine (loop/schedule.hpp says what that requires and
  // ensures).
  void (*schedule)(loop::Program& program, const Target& target);
  // The products (loop::Product) that there is code for: those that `schedule` makes, and all that
  // a program may have.
  std::vector<loop::Microkernel> (*microkernels)(const Target& target);
  // Object code with the functions of one level, whose programs are scheduled and have their memory
  // (codegen/level.hpp). With `text`, unless it is null, which is given the code as people read it,
  // too.
  std::vector<Object> (*generate_code)(const Model& model, std::size_t level, CodeText* text);
};

// The one that makes code for the target.
const Backend& backend_of(const Target& target);

}  // namespace ingot
